"""Which images a user means: a folder of class folders, or a table of labels or triplets with the folder it names.

What is wrong with an image is found here, once, and kept as a reason; only a folder without any usable image is an
error. The rows that come out are in the order of their paths, so that nothing later depends on the file system.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lookalike.errors import LookalikeError

if TYPE_CHECKING:
    import pandas as pd

MIN_SIDE = 32
"""Pixels that an image must have a side; smaller ones are left out."""

COLUMNS = ("path", "label", "sha256", "width", "height")
LABEL_COLUMNS = ("path", "label")
TRIPLET_COLUMNS = ("query", "positive", "negative")

Progress = Callable[[int, int], None]
"""``progress(done, total)``."""
Table = Any
"""A path of a CSV file, or a DataFrame with its columns."""


@dataclass(frozen=True, eq=False)
class ImageSet:
    """The images that a user means.

    Attributes
    ----------
    root : Path
        Folder that paths are relative to.
    images : pandas.DataFrame
        Of usable images, a row each: `COLUMNS`; ``label`` is "" where there is none.
    left_out : pandas.DataFrame
        Of the others: ``path`` and ``reason``.
    triplets : ndarray of shape (m, 3), int32, or None
        Rows (query, positive, negative) of row numbers of `images`.
    triplets_left_out : int
        Triplets that name an image which is left out, or one image twice.
    """

    root: Path
    images: pd.DataFrame
    left_out: pd.DataFrame
    triplets: npt.NDArray[np.int32] | None = None
    triplets_left_out: int = 0

    @property
    def paths(self) -> list[Path]:
        """The files of `images`."""
        return [self.root / path for path in self.images["path"]]


def read_images(folder: str | os.PathLike[str], *, n_threads: int = 1, progress: Progress | None = None) -> ImageSet:
    """Read images that lie anywhere in a folder; the folder that one lies in, seen from the top, is its label.

    Parameters
    ----------
    folder : path-like
    n_threads : int, default=1
        Images that are read at a time; the result does not depend on it.
    progress : callable, optional
        Called with the number of files done and of all.

    Returns
    -------
    ImageSet
        Copies of one file are kept, each a row.

    Raises
    ------
    LookalikeError
        When there is no such folder, or no image in it that can be read.
    """
    from lookalike.datasets.scan import scan_photographs

    found = scan_photographs(folder, n_threads=n_threads, progress=progress)
    found["label"] = [path.split("/")[0] if "/" in path else "" for path in found["path"]]
    return _from_manifest(Path(folder), found)


def read_class_folders(
    folder: str | os.PathLike[str], *, n_threads: int = 1, progress: Progress | None = None
) -> ImageSet:
    """Read a folder that holds one folder of images per class.

    Parameters
    ----------
    folder, n_threads, progress
        As of `read_images`.

    Returns
    -------
    ImageSet
        A file that is there twice is one image; one that lies in two classes is left out.

    Raises
    ------
    LookalikeError
        When there is no such folder, it holds no class folders, or no image can be read.
    """
    from lookalike.datasets.scan import scan_folder

    found = scan_folder(folder, clutter_labels=(), n_threads=n_threads, progress=progress)
    return distinct(_from_manifest(Path(folder), found))


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
    n_threads, progress
        As of `read_images`.

    Returns
    -------
    ImageSet
        As of `read_class_folders`.

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
    return distinct(ImageSet(root, images, _reasons(left_out + damaged)))


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
    n_threads, progress
        As of `read_images`.

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
        _reasons(damaged),
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


def distinct(found: ImageSet) -> ImageSet:
    """Leave out copies of one file, and a file altogether that has several labels."""
    images = found.images
    labels = images.groupby("sha256")["label"].nunique()
    ambiguous = images["sha256"].map(labels) > 1
    copies = images["sha256"].duplicated() & ~ambiguous
    first = images.drop_duplicates("sha256").set_index("sha256")["path"]
    reasons = [(path, "its file lies in several classes") for path in images.loc[ambiguous, "path"]]
    reasons += [
        (path, f"the same file as {first[sha256]}")
        for path, sha256 in images.loc[copies, ["path", "sha256"]].itertuples(index=False)
    ]
    known = list(found.left_out.itertuples(index=False, name=None))
    kept = images[~ambiguous & ~copies].reset_index(drop=True)
    return ImageSet(found.root, kept, _reasons(known + reasons))


def _from_manifest(root: Path, manifest: pd.DataFrame) -> ImageSet:
    """Take the usable rows of a manifest: `visterms` enlarges those that are too small for its pyramid."""
    sides = manifest[["width", "height"]].min(axis=1)
    usable = (manifest["status"] == "ok") | ((manifest["status"] == "too_small") & (sides >= MIN_SIDE))
    if not usable.any():
        raise LookalikeError(
            f"{root} holds no image of at least {MIN_SIDE} x {MIN_SIDE} pixels: give a folder of photographs"
        )
    images = manifest.loc[usable, list(COLUMNS)].reset_index(drop=True)
    others = manifest[~usable & (manifest["reason"] != "hidden")]
    return ImageSet(root, images, _reasons(others[["path", "reason"]].itertuples(index=False, name=None)))


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
        try:
            found = pd.read_csv(table, dtype=str, keep_default_na=False, encoding="utf-8-sig", skipinitialspace=True)
        except FileNotFoundError:
            raise LookalikeError(f"there is no file {named}: check the name") from None
        except (OSError, ValueError) as error:  # pandas' parser errors are ValueErrors, a wrong encoding too
            reason = getattr(error, "strerror", None) or str(error).strip().splitlines()[0]
            raise LookalikeError(f"{named} cannot be read as CSV: {reason}; export it again, as UTF-8") from error
    found = found.rename(columns=lambda name: str(name).strip())
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
    from lookalike.datasets.images import load_rgb

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


def _reasons(rows: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(rows), columns=["path", "reason"], dtype=str)


def _first(damaged: Sequence[tuple[str, str]]) -> str:
    """Return the first reason in brackets, if there is one."""
    return f" ({damaged[0][0]}: {damaged[0][1]})" if damaged else ""
