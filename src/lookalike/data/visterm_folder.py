"""A folder of visterm counts in the place of images: what can be published of images that cannot.

It holds ``manifest.csv`` (a row an image, its columns those of a manifest and ``in_pool``: whether palette and codebook
were learned from it), ``counts.npz`` (SciPy CSR, images x words, raw counts) and, if it is known, ``palette.npy``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lookalike.core.arrays import Array, Truths
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, read_csr, together, write_array, write_csr, write_table
from lookalike.core.tables import read_cells, refuse, whole_numbers
from lookalike.data.scan import COLUMN_TYPES, STATUSES

if TYPE_CHECKING:
    import scipy.sparse as sp

MANIFEST, COUNTS, PALETTE = "manifest.csv", "counts.npz", "palette.npy"
NEEDED = (MANIFEST, COUNTS)
COLUMNS = [*(column for column in COLUMN_TYPES if column != "image_id"), "in_pool"]
_TRUTHS = {"True": True, "False": False, "TRUE": True, "FALSE": False}  # the latter of spreadsheets
_SIZES = {column: COLUMN_TYPES[column] for column in ("width", "height", "bytes")}


def write_visterm_folder(
    folder: PathLike, manifest: pd.DataFrame, in_pool: Truths, counts: sp.csr_array, palette: Array | None = None
) -> None:
    """Write such a folder; `manifest` and `counts` have a row for each image, in one order."""
    target = Path(folder)
    with together():
        if palette is not None:
            write_array(palette, target / PALETTE)
        write_csr(counts, target / COUNTS)
        write_table(manifest.assign(in_pool=in_pool)[COLUMNS], target / MANIFEST)


def labels_in(folder: PathLike) -> list[str]:
    """Return the first part of every image's label, none where the folder is away: plans need them."""
    manifest = Path(folder, MANIFEST)
    if not manifest.is_file():
        return []
    return [label.partition("/")[0] for label in read_cells(manifest, ["label"], what="manifest", exact=True)["label"]]


def anonymous(manifest: pd.DataFrame) -> pd.DataFrame:
    """Return a manifest without names of files: images are numbered in each folder, in the order of their paths."""
    table = manifest.sort_values("path", kind="stable")
    folders = table["label"].str.partition("/")[0]
    numbers = (table.groupby(folders).cumcount() + 1).astype(str)
    width = max(4, int(numbers.str.len().max()))
    paths = (folders + "/" + numbers.str.zfill(width)).str.removeprefix("/") + ".jpg"
    return table.assign(path=paths, label=folders, sha256="").sort_index()


def small_counts(counts: sp.csr_array) -> sp.csr_array:
    """Return the counts in as few bytes as hold them."""
    small: sp.csr_array = counts.astype(np.min_scalar_type(counts.data.max(initial=0)))
    return small


def read_visterm_folder(folder: PathLike, n_words: int) -> tuple[pd.DataFrame, pd.DataFrame, sp.csr_array]:
    """Read the manifest, the images of the codebook's pool (``image_id`` and ``label``) and the counts."""
    source = Path(folder)
    if missing := [name for name in NEEDED if not (source / name).is_file()]:
        raise LookalikeError(f"{source} holds no {' and no '.join(missing)}: put a folder of visterm counts there")
    table = read_cells(source / MANIFEST, COLUMNS, what="manifest", exact=True)
    table = whole_numbers(table, _SIZES, source / MANIFEST)
    rules = {
        f"has {{{column}!r}} under {column}: write one of {', '.join(known)}": ~table[column].isin(known)
        for column, known in (("status", STATUSES), ("in_pool", tuple(_TRUTHS)))
    }
    refuse(table, rules, source / MANIFEST)
    table = table.assign(image_id=range(len(table)), in_pool=table["in_pool"].map(_TRUTHS)).reset_index(drop=True)
    table = table.astype(COLUMN_TYPES | {"in_pool": "bool"})
    needed = "put a sparse matrix of whole numbers from SciPy there"
    counts = read_csr(source / COUNTS, needed)
    if counts.dtype.kind not in "iu" or (counts.nnz and counts.data.min() < 0):
        raise LookalikeError(f"{source / COUNTS} holds what is no count: {needed}")
    if counts.shape != (len(table), n_words):
        found = " x ".join(f"{size:,}" for size in counts.shape)
        raise LookalikeError(
            f"{source / COUNTS} has {found} counts, not {len(table):,} x {n_words:,}: it needs a row for each image of "
            f"{MANIFEST}, and the study a representation with as many words as there are columns"
        )
    return table[list(COLUMN_TYPES)], table.loc[table["in_pool"], ["image_id", "label"]], counts.astype(np.int32)
