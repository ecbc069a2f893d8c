"""Which images a user means: a folder of class folders, any folder, a table of labels or triplets, or files by name."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookalike.core import errors
from lookalike.core.arrays import Ints
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, check_folder
from lookalike.core.images import MIN_SIDE
from lookalike.core.progress import Progress
from lookalike.core.tables import Rule, differing, filled, read_cells, sort_out, text_cells
from lookalike.data.path_finder import locate
from lookalike.data.scan import look_at_all, look_at_image, scan_folder, scan_photographs

COLUMNS = ["path", "label", "sha256", "width", "height"]
LABEL_COLUMNS = ["path", "label"]
TRIPLET_COLUMNS = ["query", "positive", "negative"]
_LABELLED = (filled("it has no label", "label"), filled("the label {label!r} has no {key}", "key"))
_ONE_LABEL = Rule("it has two labels", ("key",), lambda cells: cells.duplicated(keep=False))
UNUSABLE = "with an image that cannot be used"
"""Why a triplet of images is left out."""
_START = "name the folder that the table's paths start from"

Table = PathLike | pd.DataFrame
"""A path of a CSV file, or a DataFrame with its columns."""


@dataclass(frozen=True, eq=False)
class ImageSet:
    """The images that a user means."""

    root: Path
    """Folder that paths are relative to."""
    images: pd.DataFrame
    """`COLUMNS` of usable images, a row each; ``label`` is "" where there is none."""
    left_out: pd.DataFrame
    """``path`` and ``reason`` of the others."""
    triplets: Ints | None = None
    """Rows (query, positive, negative) of row numbers of `images`."""
    triplets_left_out: Mapping[str, int] = field(default_factory=dict)
    """How many triplets could not be used, by reason."""

    @property
    def paths(self) -> list[Path]:
        """Return the files of `images`."""
        return [self.root / path for path in self.images["path"]]

    def without(self, lost: Mapping[Path, str]) -> ImageSet:
        """Return the set without files that were lost since it was read, of which `lost` has the reasons."""
        inside = {path.relative_to(self.root).as_posix(): path for path in lost if path.is_relative_to(self.root)}
        named = {*self.left_out["path"]}  # one that is gone may not have been found again
        reasons = with_reasons((name, lost[path]) for name, path in inside.items() if name not in named)
        is_lost = self.images["path"].isin(inside).to_numpy()
        images, counts = self.images[~is_lost].reset_index(drop=True), Counter(self.triplets_left_out)
        left_out = pd.concat([reasons, self.left_out], ignore_index=True)
        if images.empty:
            raise LookalikeError(f"no image of {self.root} can be used{first_reason(left_out)}: read the folder again")
        triplets = None
        if self.triplets is not None:
            is_whole = ~is_lost[self.triplets].any(axis=1)
            triplets = (np.cumsum(~is_lost, dtype=np.int32) - 1)[self.triplets[is_whole]]
            counts += Counter({UNUSABLE: int((~is_whole).sum())})
        return ImageSet(self.root, images, left_out, triplets, counts)

    def files(self, rows: NDArray[np.intp]) -> tuple[list[Path], list[str]]:
        """Return the files of some of `images`, and the sha256 of each."""
        chosen = self.images.iloc[rows]
        return [self.root / path for path in chosen["path"]], chosen["sha256"].tolist()


def read_images(folder: PathLike, *, n_threads: int = 1, progress: Progress | None = None) -> ImageSet:
    """Read images that lie anywhere in a folder, copies too; its topmost folder is the label of one."""
    found = scan_photographs(folder, n_threads=n_threads, progress=progress)
    return image_set(Path(folder), found)


def image_set(root: Path, manifest: pd.DataFrame) -> ImageSet:
    """Take the usable images of a manifest; the topmost folder is the label of one."""
    labels = [path.split("/")[0] if "/" in path else "" for path in manifest["path"]]
    return _from_manifest(root, manifest.assign(label=labels))


def read_class_folders(folder: PathLike, *, n_threads: int = 1, progress: Progress | None = None) -> ImageSet:
    """Read a folder that holds one folder of images per class; the images are those of `distinct`."""
    found = scan_folder(folder, clutter_labels=(), n_threads=n_threads, progress=progress)
    return distinct(_from_manifest(Path(folder), found))


def read_labels(
    folder: PathLike, labels: Table | ArrayLike, *, n_threads: int = 1, progress: Progress | None = None
) -> ImageSet:
    """Read the images of a table of labels, whose paths start from a folder; they are those of `distinct`."""
    check_folder(root := Path(folder), _START)
    table, named = read_table(labels, LABEL_COLUMNS, "table of labels")
    table, left_out = settle_labels(table, partial(locate, root))
    facts, damaged = _look_at_files(root, table["path"].tolist(), n_threads, progress)
    reasons = with_reasons(left_out + damaged)
    if facts.empty:
        raise LookalikeError(f"{named} names no image that can be used{first_reason(reasons)}: check its paths")
    images = facts.merge(table, on="path")[COLUMNS].sort_values("path", ignore_index=True)
    return distinct(ImageSet(root, images, reasons))


def read_triplets(
    folder: PathLike, triplets: Table, *, n_threads: int = 1, progress: Progress | None = None
) -> ImageSet:
    """Read the images of a table of triplets, whose paths start from a folder; a file under two paths is one image."""
    check_folder(root := Path(folder), _START)
    table, named = read_table(triplets, TRIPLET_COLUMNS, "table of triplets")
    located, lost = locate(root, sorted(set(table.to_numpy().ravel()) - {""}))
    facts, damaged = _look_at_files(root, sorted(set(located.values())), n_threads, progress)
    reasons = with_reasons(lost + damaged)
    images = facts.drop_duplicates("sha256", ignore_index=True).assign(label="")
    row_of = {sha256: row for row, sha256 in enumerate(images["sha256"])}
    number_of = {path: row_of[sha256] for path, sha256 in zip(facts["path"], facts["sha256"], strict=True)}
    rows = {text: number_of[path] for text, path in located.items() if path in number_of}
    kept, triplets_left_out = settle_triplets(table, rows, UNUSABLE)
    if not len(kept):
        raise LookalikeError(
            f"{named} holds no triplet of three images that can be used{first_reason(reasons)}: correct it"
        )
    return ImageSet(root, images[COLUMNS], reasons, kept, triplets_left_out)


def read_files(paths: Sequence[PathLike], *, n_threads: int = 1) -> ImageSet:
    """Read query images that are named one by one, in the order given; their paths are as they were given."""
    facts, damaged = _look_at_files(Path(), [os.fspath(path) for path in paths], n_threads, None)
    reasons = with_reasons(damaged)
    if facts.empty:
        raise LookalikeError(f"no query can be used{first_reason(reasons)}: name other images")
    return ImageSet(Path(), facts.assign(label="")[COLUMNS], reasons)


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
    return ImageSet(found.root, kept, with_reasons(reasons + known))


def read_table(table: Table | ArrayLike, columns: Sequence[str], what: str) -> tuple[pd.DataFrame, str]:
    """Return the columns of a CSV file or DataFrame as text, and what to call it in a sentence."""
    if isinstance(table, pd.DataFrame):
        found, named = text_cells(table, columns, "the table"), "the table"
    elif isinstance(table, str | os.PathLike):
        found, named = read_cells(table, columns, what=what), os.fspath(table)
    else:
        raise LookalikeError(
            f"the {what} is of type {type(table).__name__}: give the path of a CSV file, or a pandas DataFrame, with "
            f"the columns {', '.join(columns)}"
        )
    if found.empty:
        raise LookalikeError(f"{named} has no rows: list some in it")
    return found, named


def settle_labels(
    table: pd.DataFrame, find: Callable[[pd.Series], tuple[Mapping[str, str], list[tuple[str, str]]]]
) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """Return the rows of a key and its one label whose key is found, as it is found, and (key, reason) of the others.

    `find` is like `locate`; the first column is the key, as which it comes back.
    """
    key = table.columns[0]
    table, broken = sort_out(table.rename(columns={key: "key"}), _LABELLED)
    found, lost = find(table["key"])
    table = table[table["key"].isin(list(found))]
    table, twice = sort_out(table.assign(key=table["key"].map(found)).drop_duplicates(), [_ONE_LABEL])
    bad = [(words, row) for words, rows in broken for row in rows.itertuples()]
    left_out = [(str(row.key), words.format(label=row.label, key=key)) for words, row in bad]
    left_out += [(name, words) for words, rows in twice for name in rows["key"].unique()]
    return table.rename(columns={"key": key}), lost + left_out


def settle_triplets(table: pd.DataFrame, number_of: Mapping[str, int], unusable: str) -> tuple[Ints, dict[str, int]]:
    """Return the row numbers of triplets of three rows, and how many others there are by reason."""
    numbers = table[TRIPLET_COLUMNS].apply(lambda texts: texts.map(number_of).fillna(-1).astype(np.int32))
    known = Rule(unusable, tuple(TRIPLET_COLUMNS), lambda cells: (cells < 0).any(axis=1))
    usable, broken = sort_out(numbers, [known, differing("with one of them twice", *TRIPLET_COLUMNS)])
    return np.ascontiguousarray(usable.to_numpy()), {words: len(rows) for words, rows in broken if len(rows)}


def _look_at_files(
    root: Path, paths: Sequence[str], n_threads: int, progress: Progress | None
) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """Decode files, through links too; return what is known of usable ones, and (path, reason) of the others."""
    found = look_at_all(partial(look_at_image, root), paths, n_threads, progress)
    usable = [facts for facts in found if len(facts) == 4]
    damaged = [(facts[0], facts[1]) for facts in found if len(facts) == 2]
    return pd.DataFrame(usable, columns=["path", "sha256", "width", "height"]), damaged


def first_reason(left_out: pd.DataFrame) -> str:
    """Return in brackets why the first file of a table was left out, if one was, and how many more were."""
    return errors.first_reason(list(left_out[["path", "reason"]].itertuples(index=False, name=None)))


def with_reasons(rows: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Make a table of (path, reason)."""
    return pd.DataFrame(list(rows), columns=["path", "reason"], dtype=str)


def _from_manifest(root: Path, manifest: pd.DataFrame) -> ImageSet:
    """Take the usable rows of a manifest: `BagOfVisterms` enlarges those that are too small for its pyramid."""
    sides = manifest[["width", "height"]].min(axis=1)
    usable = (manifest["status"] == "ok") | ((manifest["status"] == "too_small") & (sides >= MIN_SIDE))
    if not usable.any():
        raise LookalikeError(
            f"{root} holds no image of at least {MIN_SIDE} x {MIN_SIDE} pixels: name a folder of photographs"
        )
    images = manifest.loc[usable, COLUMNS].reset_index(drop=True)
    others = manifest[~usable & (manifest["reason"] != "hidden")]
    return ImageSet(root, images, with_reasons(others[["path", "reason"]].itertuples(index=False, name=None)))
