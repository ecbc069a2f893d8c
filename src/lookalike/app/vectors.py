"""Files of vectors: arrays of NumPy, sparse matrices of SciPy, and tables with ids and labels."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike

from lookalike.app.rows import VECTORS, Rows, Table, load_npy, make_rows
from lookalike.core.arrays import Array, Matrix
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, arrow_file, reading, reading_npz
from lookalike.core.tables import as_texts, read_columns

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = f"{', '.join(VECTORS[:-1])} or {VECTORS[-1]}"
ID_COLUMNS, LABEL_COLUMNS = ("id", "__index_level_0__", ""), ("label",)
"""Columns of ids (the second and third are how pandas writes the index of a table) and of labels by default."""
_UNNAMED = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # what pandas calls an index that has no name
_NO_DIMENSION = "name the column by --id-column or --label-column, or drop it"
_LONGEST = 80  # letters of a reason of Arrow's, which may hold a whole line


def is_vectors(source: PathLike) -> bool:
    """Tell whether a source of rows is a file of vectors, by its name, and refuse a file of neither kind."""
    if (suffix := Path(source).suffix.lower()) in VECTORS:
        return True
    if Path(source).is_file():
        ends = f"ends in {suffix}" if suffix else "has no ending"
        raise LookalikeError(f"{source} is a file that {ends}: name a folder of images, or save vectors as {FORMATS}")
    return False


def read_vectors(
    path: PathLike,
    *,
    id_column: str | None = None,
    label_column: str | None = None,
    labels: Table | ArrayLike | None = None,
    triplets: Table | None = None,
) -> Rows:
    """Read a file of vectors, a row each, with its ids and labels; what cannot be used is a `LookalikeError`.

    ``.npy`` is a dense array, ``.npz`` a matrix as `scipy.sparse.save_npz` writes it; ``.parquet`` and ``.csv`` have
    one column a dimension, the first also a column of lists. Ids are in the column ``id`` by default, in the index of
    a table that pandas wrote, or else row numbers from 0. Labels are in ``label``, or as `make_rows` takes them.
    """
    file, named = Path(path), os.fspath(path)
    suffix = file.suffix.lower()
    if suffix not in VECTORS:
        raise LookalikeError(f"{named} must end in {FORMATS}: save vectors as one of these")
    with reading(file, "file of vectors"):
        if suffix in (".npy", ".npz"):
            for column in filter(None, (id_column, label_column)):
                raise LookalikeError(f"{named} has rows and no columns by name, so none named {column}: leave it out")
            found: dict[str, Any] = {"X": load_npy(file) if suffix == ".npy" else _read_npz(file)}
        else:
            read = _read_csv if suffix == ".csv" else _read_parquet
            found = _from_table(read(file, id_column, label_column), file, id_column, label_column)
    given = found.pop("labels", None)
    return make_rows(labels=given if labels is None else labels, triplets=triplets, source=named, **found)


def _read_npz(file: Path) -> Matrix:
    """Read a sparse matrix in any of SciPy's formats."""
    what_now = "save a matrix by scipy.sparse.save_npz, or a dense array by numpy.save"
    with reading_npz(file, what_now) as arrays, np.errstate(invalid="ignore"):  # what is no index is refused
        if not {"format", "shape", "data"} <= set(arrays.files):
            has = ", ".join(arrays.files[:8]) or "nothing"
            raise ValueError(f"it holds {has}, and no sparse matrix")
        matrix = sp.csr_array(sp.load_npz(file))
        matrix.check_format(full_check=True)
        matrix.sum_duplicates()
        return matrix


def _read_parquet(file: Path, *_: str | None) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(arrow_file(file)).read()
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None):  # of a damaged page, Arrow's error has no number
            raise
        reason = " ".join(str(error).split())[:_LONGEST]
        raise LookalikeError(f"{file} is no Parquet file, or damaged ({reason}): write it again") from error


def _read_csv(file: Path, id_column: str | None, label_column: str | None) -> pa.Table:
    def dimensions(names: Sequence[str]) -> list[str]:
        if _are_numbers(names):
            raise LookalikeError(f"{file} has numbers in its first line: write the names of the columns there")
        return _sorted_columns(names, file, id_column, label_column)[2]

    return read_columns(file, dimensions, "file of vectors", _NO_DIMENSION)


def _are_numbers(names: Sequence[str]) -> bool:
    """Tell whether a first line has numbers: some with decimals, or whole ones that do not count the columns."""
    if any(re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+|\d+(\.\d*)?[eE][+-]?\d+)", name) for name in names):
        return True
    named = [name for name in names if name]  # pandas gives an index no name, and columns without names numbers from 0
    counts = [[str(place + start) for place in range(len(named))] for start in (0, 1)]
    return all(re.fullmatch(r"[+-]?\d+", name) for name in named) and named not in counts


def _sorted_columns(
    names: Sequence[str], file: Path, id_column: str | None, label_column: str | None, index: Sequence[str] = ()
) -> tuple[str | None, str | None, list[str], list[str]]:
    """Return columns of ids, of labels, of dimensions, and what else is none: ids, labels, an `index` of pandas."""
    counts = Counter(names)
    for name in (id_column, label_column, *counts):
        if name is not None and counts[name] != 1:
            found = f"{counts[name]} columns of the name {name}, and needs one"
            raise LookalikeError(f"{file} has {found}: it has {', '.join(names[:8])}")
    labels = label_column or next((name for name in LABEL_COLUMNS if name in names and name != id_column), None)
    # no level of several is an id
    usual_ids = [name for name in (*ID_COLUMNS, *index) if len(index) < 2 or name not in index]
    ids = id_column or next((name for name in usual_ids if name in names and name != labels), None)
    others = [name for name in names if name not in (ids, labels)]
    usual = {*ID_COLUMNS, *LABEL_COLUMNS, *index}
    left_out = [name for name in others if name in usual or _UNNAMED.fullmatch(name)]
    return ids, labels, [name for name in others if name not in left_out], left_out


def _title(name: str) -> str:
    """Return what a sentence calls a column."""
    return "the index" if _UNNAMED.fullmatch(name) else f"column {name}"


def _from_table(table: pa.Table, file: Path, id_column: str | None, label_column: str | None) -> dict[str, Any]:
    """Take ids, labels and vectors from the columns of a table, as `make_rows` takes them."""
    index: list[str] = []  # of a table that pandas wrote, a column each level; "" for one that is only counted
    with suppress(TypeError, ValueError, LookupError):  # another program wrote it, or its notes are damaged
        index = [name if isinstance(name, str) else "" for name in table.schema.pandas_metadata["index_columns"]]
    ids, labels, names, left_out = _sorted_columns(table.column_names, file, id_column, label_column, index)
    taken = table.select(names).to_pandas(ignore_metadata=True)
    found: dict[str, Any] = {"columns": names}
    lists = [name for name in names if isinstance(next(iter(taken[name].dropna()), None), np.ndarray)]
    if len(lists) == 1:
        found = {"columns": (), "X": _stacked(taken[lists[0]], lists[0], file)}
        origin = f"column {lists[0]}"
    else:
        kinds = {name: _numbers(taken[name]) for name in names}
        for name in (name for name, values in kinds.items() if values is None):
            kind = table.schema.field(name).type
            raise LookalikeError(f"{file} has values of type {kind} under {name}, and no numbers: {_NO_DIMENSION}")
        wide = any(str(table.schema.field(name).type) == "double" for name in names)
        found["X"] = np.empty((table.num_rows, len(names)), np.float64 if wide else np.float32)
        for place, values in enumerate(kinds.values()):
            found["X"][:, place] = values
        origin = f"columns {names[0]} to {names[-1]}" if len(names) > 1 else f"column {', '.join(names)}"
        if left_out:
            origin += f" (not {', '.join(dict.fromkeys(map(_title, left_out)))})"
    for noun, column in (("ids", ids), ("labels", labels)):
        if column is not None:
            found[noun] = as_texts(table[column].to_pylist(), f"column {column} of {file}")
            origin += f", {noun} from {_title(column)}"
    return found | {"origin": origin}


def _numbers(column: pd.Series) -> Array | None:
    """Return a column as numbers, those of a database too; None where it holds others."""
    values = column.to_numpy()
    if values.dtype == object and {type(value) for value in values.tolist()} <= {Decimal, bool, type(None)}:
        values = values.astype(np.float64)
    return values if values.dtype.kind in "fiub" else None


def _stacked(column: pd.Series, name: str, file: Path) -> Array:
    """Return the lists of a column, which must be of one length, as rows."""
    lengths = np.array([0 if vector is None else len(vector) for vector in column])
    row = int(np.argmax(lengths != lengths[0]))
    values = None if row else _numbers(pd.Series(np.concatenate(column.to_numpy())))
    if values is None:
        lists = f"{file} has a list under {name}, in row {row} (from 0), that is no vector of {lengths[0]} numbers"
        raise LookalikeError(f"{lists}: give all rows as many")
    return values.reshape(len(lengths), -1)
