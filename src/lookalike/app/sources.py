"""Which rows a user means: a file of vectors, class folders, any folder, a table of labels or triplets, or files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lookalike.app.rows import Reasons, Rows, Table, read_table, read_triplets, settle_labels, settle_triplets
from lookalike.core.errors import LookalikeError, first_reason
from lookalike.core.files import PathLike, check_folder
from lookalike.core.images import MIN_SIDE
from lookalike.core.progress import Progress
from lookalike.data.path_finder import locate
from lookalike.data.scan import look_at_all, look_at_image, scan_folder

FACTS = ["path", "sha256", "width", "height"]
UNUSABLE = "with an image that cannot be used"
"""Why a triplet of images is left out."""
_START = "name the folder that the table's paths start from"


def read_images(
    folder: PathLike,
    labels: Table | ArrayLike | None = None,
    triplets: Table | None = None,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Rows:
    """Read the images of class folders, or of a table of labels or triplets, whose paths start from a folder."""
    root = Path(folder)
    if labels is None and triplets is None:
        found = scan_folder(root, clutter_labels=(), n_threads=n_threads, progress=progress)
        return distinct(_usable(root, found))
    check_folder(root, _START)
    if triplets is not None:
        table, named, asked = read_triplets(triplets)
        located, lost = locate(root, asked)
        facts, left_out = _look_at_files(root, sorted(set(located.values())), n_threads, progress)
        left_out = lost + left_out
        images = facts.drop_duplicates("sha256", ignore_index=True).assign(label="")
        row_of = {sha256: row for row, sha256 in enumerate(images["sha256"])}
        number_of = {path: row_of[sha256] for path, sha256 in zip(facts["path"], facts["sha256"], strict=True)}
        rows = {text: number_of[path] for text, path in located.items() if path in number_of}
        refusal = f"{named} holds no triplet of three images that can be used{first_reason(left_out)}: correct it"
        numbers, triplets_left_out = settle_triplets(table, rows, UNUSABLE, refusal)
        return rows_of_images(root, images, left_out, triplets=numbers, triplets_left_out=triplets_left_out)
    table, named = read_table(labels, ["path", "label"], "table of labels")
    table, lost = settle_labels(table, partial(locate, root))
    facts, left_out = _look_at_files(root, table["path"].tolist(), n_threads, progress)
    if facts.empty:
        reason = first_reason(lost + left_out)
        raise LookalikeError(f"{named} names no image that can be used{reason}: check its paths")
    images = facts.merge(table, on="path").sort_values("path", ignore_index=True)
    return distinct(rows_of_images(root, images, lost + left_out))


def gallery_of(root: Path, manifest: pd.DataFrame) -> Rows:
    """Return the usable images of a manifest of a folder, copies too; the topmost folder is the label of one."""
    labels = [path.split("/")[0] if "/" in path else "" for path in manifest["path"]]
    return _usable(root, manifest.assign(label=labels))


def read_files(paths: Sequence[PathLike], *, n_threads: int = 1) -> Rows:
    """Read query images that are named one by one, in the order given; their paths are as they were given."""
    facts, left_out = _look_at_files(Path(), [os.fspath(path) for path in paths], n_threads, None)
    if facts.empty:
        raise LookalikeError(f"no query can be used{first_reason(left_out)}: name other images")
    if left_out:  # nothing in the rankings shows that one is lacking
        warnings.warn(f"{len(left_out):,} of {len(paths):,} queries left out{first_reason(left_out)}", stacklevel=4)
    return rows_of_images(Path(), facts.assign(label=""), left_out)


def rows_of_images(root: Path, images: pd.DataFrame, left_out: Reasons, **triplets: Any) -> Rows:
    """Make rows of a table of images, with their labels."""
    ids, labels, sha256 = (images[name].to_numpy(str) for name in ("path", "label", "sha256"))
    sizes = images[["width", "height"]].to_numpy(np.int32)
    return Rows(str(root), ids, labels, left_out=left_out, root=root, sha256=sha256, sizes=sizes, **triplets)


def distinct(rows: Rows) -> Rows:
    """Leave out copies of one file, and a file altogether that has several labels."""
    images = rows.table()
    labels = images.groupby("sha256")["label"].nunique()
    ambiguous = images["sha256"].map(labels) > 1
    copies = images["sha256"].duplicated() & ~ambiguous
    first = images.drop_duplicates("sha256").set_index("sha256")["path"]
    left_out = [(path, "its file lies in several classes") for path in images.loc[ambiguous, "path"]]
    left_out += [
        (path, f"the same file as {first[sha256]}")
        for path, sha256 in images.loc[copies, ["path", "sha256"]].itertuples(index=False)
    ]
    left_out += rows.left_out
    if (kept := np.flatnonzero(~ambiguous & ~copies)).size:
        return replace(rows.take(kept), left_out=left_out)
    raise LookalikeError(f"no image of {rows.root} can be used{first_reason(left_out)}: give each image one label")


def _look_at_files(
    root: Path, paths: Sequence[str], n_threads: int, progress: Progress | None
) -> tuple[pd.DataFrame, Reasons]:
    """Decode files, through links too; return what is known of usable ones, and why others cannot be used."""
    found = look_at_all(partial(look_at_image, root), paths, n_threads, progress)
    left_out = [(file.path, file.reason) for file in found if file.reason]
    return pd.DataFrame([vars(file) for file in found if not file.reason], columns=FACTS), left_out


def _usable(root: Path, manifest: pd.DataFrame) -> Rows:
    """Return the usable images of a manifest (`BagOfVisterms` enlarges small ones), and why others are not."""
    sides = manifest[["width", "height"]].min(axis=1)
    usable = (manifest["status"] == "ok") | ((manifest["status"] == "too_small") & (sides >= MIN_SIDE))
    if not usable.any():
        raise LookalikeError(f"{root} holds no image of {MIN_SIDE} x {MIN_SIDE} pixels or more: name another folder")
    others = manifest[~usable & (manifest["reason"] != "hidden")]
    return rows_of_images(root, manifest[usable], list(others[["path", "reason"]].itertuples(index=False, name=None)))
