"""Images that a user names: in a table of labels or triplets with the folder it starts from, or one by one.

A path that is named is read wherever it leads, through links too.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.errors import LookalikeError
from lookalike.own_images.csv_files import read_csv
from lookalike.own_images.image_set import COLUMNS, MIN_SIDE, ImageSet, Progress, distinct, with_reasons

if TYPE_CHECKING:
    import pandas as pd

LABEL_COLUMNS = ("path", "label")
TRIPLET_COLUMNS = ("query", "positive", "negative")

Table = Any
"""A path of a CSV file, or a DataFrame with its columns."""


def read_labels(
    folder: str | os.PathLike[str], labels: Table, *, n_threads: int = 1, progress: Progress | None = None
) -> ImageSet:
    """Read the images of a table of labels.

    Parameters
    ----------
    folder : path-like
        What the table's paths are relative to.
    labels : path-like or DataFrame
        Columns ``path`` and ``label``; others are not used.
    n_threads : int, default=1
        Images that are read at a time; the result does not depend on it.
    progress : callable, optional
        Called with the number of files done and of all.

    Returns
    -------
    ImageSet
        A file that is there twice is one image; one that has two labels is left out.

    Raises
    ------
    LookalikeError
        When the folder or the table is missing, the table has other columns or no rows, or no image can be read.
    """
    import pandas as pd

    root = _folder(folder)
    table, named = _read_table(labels, LABEL_COLUMNS)
    unlabelled = table["label"] == ""
    left_out = [(path, "it has no label") for path in table.loc[unlabelled, "path"]]
    table = table[~unlabelled].drop_duplicates()
    twice = table["path"].duplicated(keep=False)
    left_out += [(path, "it has two labels") for path in dict.fromkeys(table.loc[twice, "path"])]
    table = table[~twice]
    facts, damaged = _look_at_files(root, table["path"].tolist(), n_threads, progress)
    if not facts:
        raise LookalikeError(f"{named} names no image that can be used{_first(damaged + left_out)}: check its paths")
    images = pd.DataFrame(facts, columns=["path", "sha256", "width", "height"]).merge(table, on="path")
    images = images[list(COLUMNS)].sort_values("path", ignore_index=True)
    return distinct(ImageSet(root, images, with_reasons(left_out + damaged)))


def read_triplets(
    folder: str | os.PathLike[str], triplets: Table, *, n_threads: int = 1, progress: Progress | None = None
) -> ImageSet:
    """Read the images of a table of triplets.

    Parameters
    ----------
    folder : path-like
        What the table's paths are relative to.
    triplets : path-like or DataFrame
        Columns ``query``, ``positive`` and ``negative``: paths of images, of which the first is more like the second
        than like the third.
    n_threads : int, default=1
        Images that are read at a time; the result does not depend on it.
    progress : callable, optional
        Called with the number of files done and of all.

    Returns
    -------
    ImageSet
        With `triplets`; a file that is there under two paths is one image.

    Raises
    ------
    LookalikeError
        When the folder or the table is missing, the table has other columns or no rows, or no triplet can be used.
    """
    import pandas as pd

    root = _folder(folder)
    table, named = _read_table(triplets, TRIPLET_COLUMNS)
    paths = sorted({path for column in TRIPLET_COLUMNS for path in table[column]})
    facts, damaged = _look_at_files(root, paths, n_threads, progress)
    rows: dict[str, int] = {}
    kept = []
    number_of: dict[str, int] = {}
    for path, sha256, width, height in facts:
        if sha256 not in rows:
            rows[sha256] = len(rows)
            kept.append((path, "", sha256, width, height))
        number_of[path] = rows[sha256]
    numbers = np.array([[number_of.get(path, -1) for path in row] for row in table.itertuples(index=False)], np.int32)
    usable = (numbers >= 0).all(axis=1) & (numbers[:, 0] != numbers[:, 1]) & (numbers[:, 0] != numbers[:, 2])
    usable &= numbers[:, 1] != numbers[:, 2]
    if not usable.any():
        raise LookalikeError(f"{named} holds no triplet of three images that can be used{_first(damaged)}: mend it")
    return ImageSet(
        root,
        pd.DataFrame(kept, columns=list(COLUMNS)),
        with_reasons(damaged),
        np.ascontiguousarray(numbers[usable]),
        int((~usable).sum()),
    )


def read_files(paths: Sequence[str | os.PathLike[str]], *, n_threads: int = 1) -> pd.DataFrame:
    """Read images that are named one by one, such as queries.

    Returns
    -------
    DataFrame
        `COLUMNS`, in the order given, ``path`` as it was given.

    Raises
    ------
    LookalikeError
        When one of them cannot be used.
    """
    import pandas as pd

    rows, damaged = _look_at_files(Path(), [os.fspath(path) for path in paths], n_threads, None)
    for path, reason in damaged:
        raise LookalikeError(f"the query {path} cannot be used ({reason}): name a file that holds an image")
    table = pd.DataFrame(rows, columns=["path", "sha256", "width", "height"])
    table.insert(1, "label", "")
    return table


def _folder(folder: str | os.PathLike[str]) -> Path:
    root = Path(folder)
    if not root.is_dir():
        raise LookalikeError(f"there is no folder {root}: name the one that the table's paths start from")
    return root


def _read_table(table: Table, columns: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """Return the columns of a CSV file or DataFrame as text, and what to call it in a sentence."""
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        found, named = table.astype(str), "the table"
    else:
        named = str(table)
        found = read_csv(table, columns, dtype=str, keep_default_na=False, skipinitialspace=True)
    found = found.rename(columns=lambda name: str(name).strip()).fillna("")  # a short row has no text at its end
    missing = [name for name in columns if name not in found.columns]
    if missing:
        has = ", ".join(map(str, found.columns[:8])) or "none"
        raise LookalikeError(
            f"{named} lacks the column {missing[0]}: it needs {', '.join(columns)}, separated by commas, and has {has}"
        )
    if found.empty:
        raise LookalikeError(f"{named} has no rows: list images in it")
    return found[list(columns)].apply(lambda column: column.str.strip()), named


def _look_at_files(
    root: Path, paths: Sequence[str], n_threads: int, progress: Progress | None
) -> tuple[list[tuple[str, str, int, int]], list[tuple[str, str]]]:
    """Decode files; return (path, sha256, width, height) of usable ones, and (path, reason) of the others."""
    from lookalike.core.images import load_rgb

    def look(path: str) -> tuple[str, str, int, int] | tuple[str, str]:
        try:
            height, width = load_rgb(root / path).shape[:2]
            with (root / path).open("rb") as stream:
                sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        except LookalikeError as error:
            return path, str(error)
        except OSError as error:
            return path, f"it cannot be read: {error.strerror}"
        if min(width, height) < MIN_SIDE:
            return path, f"{width} x {height} pixels, and an image needs {MIN_SIDE} or more a side"
        return path, sha256, width, height

    usable, damaged = [], []
    with warnings.catch_warnings(), ThreadPoolExecutor(max(1, n_threads)) as pool:
        warnings.filterwarnings("ignore", module="PIL")
        for done, facts in enumerate(pool.map(look, paths), start=1):
            if len(facts) == 2:
                damaged.append(facts)
            else:
                usable.append(facts)
            if progress is not None:
                progress(done, len(paths))
    return usable, damaged


def _first(damaged: Sequence[tuple[str, str]]) -> str:
    """Return the first reason in brackets, if there is one."""
    return f" ({damaged[0][0]}: {damaged[0][1]})" if damaged else ""
