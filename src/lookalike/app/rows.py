"""Rows to learn from, to rank or to evaluate: vectors of one's own, or images until they are described."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.app.sources import (
    TRIPLET_COLUMNS,
    ImageSet,
    Table,
    first_reason,
    read_table,
    settle_labels,
    settle_triplets,
    with_reasons,
)
from lookalike.core.arrays import Array, Ints, Matrix, Reals, Texts
from lookalike.core.errors import LookalikeError
from lookalike.core.files import HEADER_FAILS, PathLike, arrow_file, check_regular, reading, reading_npz
from lookalike.core.tables import as_texts, read_columns
from lookalike.learners.base import is_sparse

if TYPE_CHECKING:
    import pyarrow as pa

VECTORS = (".npy", ".npz", ".parquet", ".csv")
"""What names of files of vectors end in."""
FORMATS = f"{', '.join(VECTORS[:-1])} or {VECTORS[-1]}"
ID_COLUMNS, LABEL_COLUMNS = ("id", "__index_level_0__", ""), ("label",)
"""Columns of ids (the second and third are how pandas writes the index of a table) and of labels by default."""
_UNNAMED = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # what pandas calls an index that has no name
_ID_BYTES = 8  # of the digest of a row: of a million rows, two are taken for one in one case of ten million
_LONGEST = 80  # letters of a reason of Arrow's, which may hold a whole line
_COUNTS = {"id", "ids", "index", "idx", "row", "rows", "rowid", "rowname", "rownames", "rownumber", "unnamed"}
"""What names of columns that number rows are, without digits and punctuation; other names may be of a count too."""
_FEWEST_COUNTED = 10  # rows; fewer are counted by chance
_NO_IDS = ", where ids are row numbers from 0"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one source: a folder of images, a file of vectors, or arrays."""

    source: str
    """What sentences call it."""
    ids: Texts
    """A name of each row, no two the same: the path of an image, the id of a vector or its row number."""
    X: Matrix | None = None
    """Vectors, a dense array or CSR of float32 or float64, shape (n, d); None for images."""
    labels: Texts | None = None
    """Class of each row, "" where it has none; None where there are no labels."""
    triplets: Ints | None = None
    """Row numbers (query, positive, negative), shape (n_triplets, 3), where there are triplets."""
    left_out: pd.DataFrame = field(default_factory=lambda: with_reasons([]))
    """``path`` (of a vector, its id) and ``reason`` of what cannot be used."""
    triplets_left_out: Mapping[str, int] = field(default_factory=dict)
    """How many triplets cannot be used, by reason."""
    images: ImageSet | None = None
    """The images, in the order of the rows."""
    origin: str = ""
    """Where ids and labels come from."""
    columns: tuple[str, ...] = ()
    """Names of the dimensions, where a table has a column for each."""
    numbered: bool = False
    """Whether ids are row numbers, which say nothing of what a row is."""

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def from_images(cls, found: ImageSet) -> Rows:
        """Make rows of images, which are not described yet."""
        return cls(
            str(found.root),
            found.images["path"].to_numpy(str),
            labels=found.images["label"].to_numpy(str),
            triplets=found.triplets,
            left_out=found.left_out,
            triplets_left_out=found.triplets_left_out,
            images=found,
        )

    @property
    def noun(self) -> str:
        """Return what sentences call a row."""
        return "vector" if self.images is None else "image"

    @property
    def key(self) -> str:
        """Return what tables call `ids`."""
        return "id" if self.images is None else "path"

    @cached_property
    def contents(self) -> Texts:
        """Return a digest of each row's numbers, or of its file: rows of the same content have the same."""
        if self.images is not None:
            return self.images.images["sha256"].to_numpy(str)
        with np.errstate(over="ignore"):  # too large a number is refused where it is used
            return np.array([hashlib.blake2b(part, digest_size=_ID_BYTES).hexdigest() for part in _row_bytes(self.X)])

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Return some of the rows, without triplets."""
        whole = np.array_equal(rows, np.arange(len(self)))
        if whole and self.triplets is None:
            return self
        images = self.images
        if images is not None:
            images = replace(images, images=images.images.iloc[rows].reset_index(drop=True), triplets=None)
        labels = None if self.labels is None else self.labels[rows]
        X = self.X if self.X is None or whole else self.X[rows]
        return replace(self, ids=self.ids[rows], X=X, labels=labels, triplets=None, images=images)

    def related(self) -> Rows:
        """Return the rows that triplets name, or where there are none, those that have a label."""
        if self.triplets is not None:
            rows = np.unique(self.triplets).astype(np.intp)
            return replace(self.take(rows), triplets=np.searchsorted(rows, self.triplets).astype(np.int32))
        self.check_related()
        return self.take(np.flatnonzero(self.labels != ""))

    def check_related(self) -> None:
        """Refuse rows of which neither labels nor triplets say which are alike."""
        if self.triplets is None and (self.labels is None or not (self.labels != "").any()):
            column = "give it a column label, name a column by --label-column, or " if self.origin else ""
            raise LookalikeError(
                f"{self.source} has no labels: {column}give labels or triplets by id in a file, by --labels or "
                "--triplets"
            )


class _Found(NamedTuple):
    """What a file of vectors holds."""

    X: Matrix
    ids: list[str] | None = None
    labels: list[str] | None = None
    origin: str = ""
    columns: tuple[str, ...] = ()


def is_vectors(source: object) -> bool:
    """Tell whether a source of rows is a file of vectors, by its name, and refuse a file of neither kind."""
    if not isinstance(source, str | os.PathLike):
        raise LookalikeError(
            f"rows cannot be read from a {type(source).__name__}: give the path of a folder of images or of a file of "
            "vectors, or make rows of arrays by lookalike.app.rows.make_rows"
        )
    if kind := _kind_of_parts(Path(source)):
        raise LookalikeError(
            f"{os.fspath(source)} is a folder of {kind} files: write their rows into one {kind} file, and name that"
        )
    if (suffix := Path(source).suffix.lower()) in VECTORS:
        return True
    if Path(source).is_file():
        ends = f"ends in {suffix}" if suffix else "has no ending"
        raise LookalikeError(
            f"{os.fspath(source)} is a file that {ends}: name a folder of images, or save vectors as {FORMATS}"
        )
    return False


def _kind_of_parts(folder: Path) -> str:
    """Return how names of files end where a folder has only files of vectors, or partitions of a table, else ""."""
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.X_OK):
        return ""
    names = [name for name in os.listdir(folder) if not name.startswith((".", "_"))]
    if any("=" in name for name in names) and next(folder.glob("*=*/**/*.parquet"), None):
        return ".parquet"
    kinds = {"" if (folder / name).is_dir() else Path(name).suffix.lower() for name in names}
    return min(kinds) if kinds and kinds <= set(VECTORS) else ""


def read_vectors(
    path: PathLike,
    *,
    id_column: str | None = None,
    label_column: str | None = None,
    labels: Table | ArrayLike | None = None,
    triplets: Table | None = None,
) -> Rows:
    """Read a file of vectors, a row each, with its ids and labels.

    Parameters
    ----------
    path : path-like
        ``.npy``, a dense array; ``.npz``, a matrix as `scipy.sparse.save_npz` writes it; ``.parquet``, with a column of
        lists or one column a dimension; ``.csv``, with a header and one column a dimension.
    id_column : str, optional
        Column of ids; by default ``id``, the index of a table that pandas wrote, or else row numbers from 0.
    label_column : str, optional
        Column of labels; ``label`` by default, if there is one.
    labels, triplets
        As of `make_rows`, in place of labels in the file.

    Returns
    -------
    Rows

    Raises
    ------
    LookalikeError
        If the file is of another kind or shape, or holds NaN, an empty cell, or an id twice.
    """
    file, named = Path(path), os.fspath(path)
    suffix = file.suffix.lower()
    if suffix not in VECTORS:
        raise LookalikeError(f"{named} must end in {FORMATS}: save vectors as one of these")
    with reading(file, "file of vectors"):
        if suffix in (".npy", ".npz"):
            for column in filter(None, (id_column, label_column)):
                raise LookalikeError(
                    f"{named} has rows and no columns by name, so none named {column}: leave the name out, and give "
                    "labels or triplets by row number"
                )
            found = _Found(_load_npy(file)) if suffix == ".npy" else _read_npz(file)
        else:
            names = (id_column, label_column)
            found = _read_csv(file, *names) if suffix == ".csv" else _read_parquet(file, *names)
    given = found.labels if labels is None else labels
    rows = make_rows(found.X, found.ids, given, triplets, source=named, columns=found.columns)
    return replace(rows, origin=found.origin)


def make_rows(
    X: Matrix,
    ids: Sequence[object] | None = None,
    labels: Table | ArrayLike | None = None,
    triplets: Table | None = None,
    *,
    source: str = "the array",
    columns: Sequence[str] = (),
) -> Rows:
    """Make rows of arrays, checked.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n, d)
        Numbers; float32 and float64 are kept, and others become float32.
    ids : sequence of length n, optional
        By default the index of a DataFrame, or else row numbers from 0.
    labels : path-like, DataFrame or array-like of length n, optional
        A label of each row, in an array, a list or ``.npy``; a Series whose index holds the ids; or a table (of
        ``.csv``) with the columns ``id`` and ``label``. None, NaN and "" are no label. Shape (n, 1) will do, too.
    triplets : path-like or DataFrame, optional
        Columns ``query``, ``positive`` and ``negative``, ids of rows.
    source : str, default="the array"
        What sentences call the rows.
    columns : sequence of str of length d, optional
        Names of the dimensions; by default those of a DataFrame.

    Returns
    -------
    Rows

    Raises
    ------
    LookalikeError
        If X is no table of finite numbers or has a column that numbers the rows, ids are missing or there twice, or
        labels or triplets do not fit to them.
    """
    if isinstance(labels, pd.Series):
        labels = _in_order(labels, ids, getattr(X, "index", None), source)
    if isinstance(X, pd.DataFrame):
        ids = list(X.index) if ids is None else ids
        columns, X = columns or tuple(map(str, X.columns)), _values_of(X)
    columns = tuple(columns) if len(set(columns)) == len(columns) else ()  # what is there twice names nothing
    names = None if ids is None else as_texts(ids, "the ids")
    X = _checked_vectors(X, names, source)
    _refuse_counts(X, columns, source)
    row_numbers = np.arange(X.shape[0]).astype(str)
    known = row_numbers if names is None else _checked_ids(names, X.shape[0], source)
    row_of = {name: row for row, name in enumerate(known.tolist())}
    values, left_out = None, list[tuple[str, str]]()
    lost = f"it has no row in {source}" + (_NO_IDS if names is None else "")
    if labels is not None:
        values, left_out = _labels_by_id(labels, row_of, source, lost)
    numbers, triplets_left_out = None, dict[str, int]()
    if triplets is not None:
        table, named = _read_table(triplets, TRIPLET_COLUMNS, "table of triplets")
        unknown = sorted(set(table.to_numpy().ravel()) - row_of.keys() - {""})
        left_out += [(name, lost) for name in unknown]
        numbers, triplets_left_out = settle_triplets(table, row_of, "with an id that has no row")
        if not len(numbers):
            reason = first_reason(with_reasons(left_out))
            raise LookalikeError(f"{named} holds no triplet of three ids of {source}{reason}: correct its ids")
    return Rows(
        source,
        known,
        X,
        values,
        numbers,
        with_reasons(left_out),
        triplets_left_out,
        columns=columns,
        numbered=np.array_equal(known, row_numbers),
    )


def _in_order(
    labels: pd.Series[Any], ids: Sequence[object] | None, index: pd.Index[Any] | None, source: str
) -> pd.Series[Any]:
    """Return labels in the order of the ids, where their index holds these; as they are, where it holds others."""
    own = labels.index
    if ids is None:
        if isinstance(index, pd.Index) and not own.equals(index) and set(own) == set(index):
            raise LookalikeError(f"the labels have the ids of {source} in another order: give labels.loc[X.index]")
        return labels
    names, row_of = as_texts(ids, "the ids"), {name: row for row, name in enumerate(as_texts(own, "the index"))}
    # a plain count is no id, and ids of the same table are in the order of its labels
    is_count = own.equals(pd.RangeIndex(len(own))) or (isinstance(ids, pd.Series) and own.equals(ids.index))
    if is_count or len(row_of) < len(own) or not row_of.keys() >= set(names):
        return labels
    return labels.iloc[[row_of[name] for name in names]]


def _values_of(X: pd.DataFrame) -> Array:
    """Return the numbers of a frame; those of types that may lack a value, which NumPy has not, as float64."""
    values = X.to_numpy()
    if values.dtype == object and all(map(pd.api.types.is_numeric_dtype, X.dtypes)):
        values = X.to_numpy(np.float64, na_value=np.nan)
    return values


def _read_table(table: Table | ArrayLike, columns: Sequence[str], what: str) -> tuple[pd.DataFrame, str]:
    """Read a table of ids, and refuse what is written as vectors are."""
    if isinstance(table, str | os.PathLike) and Path(table).suffix.lower() in VECTORS[:-1]:
        raise LookalikeError(f"{os.fspath(table)} is no {what}, which ends in .csv: export it as CSV")
    return read_table(table, columns, what)


def _labels_by_id(
    labels: Table | ArrayLike, row_of: Mapping[str, int], source: str, lost: str
) -> tuple[Texts, list[tuple[str, str]]]:
    """Return the label of every row, "" where it has none, and (id, reason) of labels that belong to none."""
    named = "the labels"
    if isinstance(labels, str | os.PathLike) and Path(labels).suffix.lower() == ".npy":
        named = os.fspath(labels)
        with reading(named, "file of labels"):
            labels = _load_npy(Path(named))
    elif isinstance(labels, str | os.PathLike | pd.DataFrame):
        table, named = _read_table(labels, ["id", "label"], "table of labels")

        def find(names: Iterable[str]) -> tuple[dict[str, str], list[tuple[str, str]]]:
            names = dict.fromkeys(names)
            known = {name: name for name in names if name in row_of}
            return known, [(name, lost) for name in names if name not in known]

        table, left_out = settle_labels(table, find)
        if table.empty:
            reason = first_reason(with_reasons(left_out))
            what_now = "correct its ids"
            if lost.endswith(_NO_IDS):
                what_now = "save one label for each row as .npy, or give the rows ids, in .csv or .parquet"
            raise LookalikeError(f"{named} holds no label of an id of {source}{reason}: {what_now}")
        values = np.full(len(row_of), "", dtype=object)
        values[table["id"].map(row_of)] = table["label"]
        return values.astype(str), left_out
    values = np.asarray(labels, dtype=object)
    if values.shape not in ((len(row_of),), (len(row_of), 1)):
        raise LookalikeError(
            f"{named} of shape {values.shape} are not one for each of {len(row_of):,} rows of {source}: add or drop"
        )
    return np.array(as_texts(values.ravel(), named), dtype=str), []


def _checked_ids(names: list[str], n: int, source: str) -> Texts:
    """Refuse ids that are not one for each row."""
    if len(names) != n:
        raise LookalikeError(f"there are {len(names):,} ids for {n:,} rows of {source}: give one for each")
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name:
            raise LookalikeError(f"{source} has no id in row {row} (from 0): give each row one")
        if name in first:
            raise LookalikeError(
                f"{source} has the id {name} twice, in rows {first[name]} and {row} (from 0): give each row its own"
            )
        first[name] = row
    return np.array(names, dtype=str)


def _checked_vectors(X: Matrix, names: list[str] | None, source: str) -> Matrix:
    """Return vectors in float32 or float64, and refuse what is no table of finite numbers."""
    X = sp.csr_array(X) if is_sparse(X) else np.asarray(X)
    if X.dtype.kind not in "fiub":
        raise LookalikeError(f"{source} holds values of type {X.dtype}, which are no real numbers: save numbers")
    if X.ndim != 2:
        raise LookalikeError(f"{source} has shape {X.shape}: vectors need two dimensions, a row for each")
    if 0 in X.shape:
        what = "rows" if X.shape[0] == 0 else "columns of numbers"
        raise LookalikeError(f"{source} has no {what}: check how it was written")
    kind = np.float64 if X.dtype.kind == "f" and X.dtype.itemsize >= 8 else np.float32
    with np.errstate(over="ignore"):  # infinity is refused below
        X = X.astype(kind, copy=False)
    values = X.data if is_sparse(X) else X
    if not (finite := np.isfinite(values)).all():
        places = np.argwhere(~finite)[:, 0]
        bad = np.unique(np.searchsorted(X.indptr, places, "right") - 1 if is_sparse(X) else places)
        where = f"row {bad[0]} (from 0)" if names is None else f"the row of id {names[bad[0]]}"
        others = f" and {len(bad) - 1:,} other rows" if len(bad) > 1 else ""
        raise LookalikeError(
            f"{source} has NaN, infinity or an empty cell in {where}{others}: give numbers, or drop these rows"
        )
    return X


def _refuse_counts(X: Matrix, columns: Sequence[str], source: str) -> None:
    """Refuse a dimension that numbers the rows, which tells their classes apart where these are sorted."""
    n, d = X.shape
    if is_sparse(X) or n < 2:
        return
    with np.errstate(over="ignore"):
        counting = (n >= _FEWEST_COUNTED) & np.isin(X[0], (0, 1)) & (X[-1] - X[0] == n - 1)
    named = np.array([re.sub(r"[\W\d_]", "", name.lower()) in _COUNTS for name in columns] or [False] * d)
    for place in np.flatnonzero(counting | named).tolist():
        steps = np.diff(numbers := np.sort(X[:, place]))
        if (steps == 1).all() or (named[place] and (steps >= 1).all() and (numbers % 1 == 0).all()):
            where = f"under {columns[place]}" if columns else f"in column {place} (from 0)"
            what_now = (
                "name that column by --id-column (in Python, give it as ids), or drop it"
                if columns
                else "drop that column"
            )
            raise LookalikeError(
                f"{source} numbers its rows {where}, which learning would take for a dimension: {what_now}"
            )


def _row_bytes(X: Matrix) -> Iterable[bytes]:
    """Yield what is the same for rows of the same numbers, however they are stored."""
    if is_sparse(X):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        values = X.data.astype(np.float32)
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            yield X.indices[start:stop].astype(np.int64).tobytes() + values[start:stop].tobytes()
    else:
        for row in X:
            yield np.asarray(row, dtype=np.float32).tobytes()


def _load_npy(file: Path) -> Array:
    """Read an array of a file that `reading` watches over, into memory that the file does account for."""
    check_regular(file)
    with file.open("rb") as stream:
        if not stream.read(6) == b"\x93NUMPY":
            raise LookalikeError(f"{file} is no array of NumPy: save it by numpy.save")
    try:
        values = np.array(np.load(file, mmap_mode="r", allow_pickle=False))
        if values.dtype.kind == "U" and values.size:
            codes = np.ascontiguousarray(values).view(np.dtype("u4").newbyteorder(values.dtype.byteorder))
            if codes.max() > sys.maxunicode:
                raise ValueError("its text has letters that do not exist")
        return values
    except HEADER_FAILS as error:
        if "object" in str(error).lower():
            return _unpickled(file)
        raise LookalikeError(f"{file} cannot be read ({str(error)[:_LONGEST]}): save it by numpy.save") from error


class _Parts:
    """Stands in for what an array of objects is pickled as, and keeps what it is made of."""

    state: tuple[Any, ...] = ()

    def __init__(self, *_: object) -> None:
        pass

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state


class _Unpickler(pickle.Unpickler):
    """Reads text and numbers of an array, and calls nothing that a pickle names."""

    def find_class(self, module: str, name: str) -> type[_Parts]:
        if module.startswith("numpy") and name in ("_reconstruct", "ndarray", "dtype"):
            return _Parts
        raise pickle.UnpicklingError(f"{module}.{name}")


def _unpickled(file: Path) -> Array:
    """Read an array of objects, as which pandas gives text."""
    try:
        with file.open("rb") as stream:
            np.lib.format.read_magic(stream)
            np.lib.format.read_array_header_1_0(stream)
            _, shape, _, by_columns, values = _Unpickler(stream).load().state
        if not shape or any(isinstance(value, _Parts) for value in values):
            raise pickle.UnpicklingError("a value is of another kind")
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array.reshape(shape, order="F" if by_columns else "C")
    except (*HEADER_FAILS, pickle.UnpicklingError, EOFError, AttributeError, LookupError) as error:
        raise LookalikeError(f"{file} holds objects other than Python's text and numbers: save it as text") from error


def _read_npz(file: Path) -> _Found:
    """Read a sparse matrix in any of SciPy's formats."""
    with reading_npz(file, "save a matrix by scipy.sparse.save_npz, or a dense array by numpy.save") as arrays:
        if not {"format", "shape", "data"} <= set(arrays.files):
            has = ", ".join(arrays.files[:8]) or "nothing"
            raise ValueError(f"it holds {has}, and no sparse matrix")
        matrix = sp.csr_array(sp.load_npz(file))
        matrix.check_format(full_check=True)
        matrix.sum_duplicates()
        return _Found(matrix)


def _read_parquet(file: Path, id_column: str | None, label_column: str | None) -> _Found:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(arrow_file(file)).read()
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None):  # of a damaged page, Arrow's error has no number
            raise
        reason = " ".join(str(error).split())[:_LONGEST]
        raise LookalikeError(f"{file} is no Parquet file, or damaged ({reason}): write it again") from error
    return _from_table(table, file, id_column, label_column)


def _read_csv(file: Path, id_column: str | None, label_column: str | None) -> _Found:
    def dimensions(names: Sequence[str]) -> list[str]:
        if _are_numbers(names):
            raise LookalikeError(f"{file} has numbers in its first line: write the names of the columns there")
        return _sorted_columns(names, id_column, label_column, file).dimensions

    what_now = "name the column by --id-column or --label-column, or drop it"
    return _from_table(read_columns(file, dimensions, "file of vectors", what_now), file, id_column, label_column)


def _are_numbers(names: Sequence[str]) -> bool:
    """Tell whether a first line has numbers: some with decimals, or whole ones that do not count the columns."""
    if any(re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+|\d+(\.\d*)?[eE][+-]?\d+)", name) for name in names):
        return True
    named = [name for name in names if name]  # pandas gives an index no name, and columns without names numbers from 0
    counts = [[str(place + start) for place in range(len(named))] for start in (0, 1)]
    return all(re.fullmatch(r"[+-]?\d+", name) for name in named) and named not in counts


class _Columns(NamedTuple):
    """Which column of a table holds what."""

    ids: str | None
    labels: str | None
    dimensions: list[str]
    left_out: list[str]
    """An index, ids or labels besides those that were asked for."""


def _sorted_columns(
    names: Sequence[str], id_column: str | None, label_column: str | None, file: Path, index: Sequence[str] = ()
) -> _Columns:
    """Tell apart ids, labels, dimensions and what is none of these; `index` are the columns of the index of pandas."""
    for name, count in Counter(names).items():
        if count > 1:
            raise LookalikeError(f"{file} has the column {name} more than once: keep one of them")
    for noun, asked in (("ids", id_column), ("labels", label_column)):
        if asked is not None and asked not in names:
            raise LookalikeError(f"{file} has no column {asked} of {noun}: it has {', '.join(names[:8])}")
    # no level of several is an id
    usual_ids = [name for name in (*ID_COLUMNS, *index) if len(index) < 2 or name not in index]
    labels = label_column or next((name for name in LABEL_COLUMNS if name in names and name != id_column), None)
    ids = id_column or next((name for name in usual_ids if name in names and name != labels), None)
    others = [name for name in names if name not in (ids, labels)]
    usual = {*ID_COLUMNS, *LABEL_COLUMNS, *index}
    left_out = [name for name in others if name in usual or _UNNAMED.fullmatch(name)]
    return _Columns(ids, labels, [name for name in others if name not in left_out], left_out)


def _index_of(schema: pa.Schema) -> list[str]:
    """Return the columns of the index of a table that pandas wrote, a level each; "" for one that is only counted."""
    with suppress(TypeError, ValueError, LookupError):  # another program wrote it, or its notes are damaged
        return [name if isinstance(name, str) else "" for name in schema.pandas_metadata["index_columns"]]
    return []


def _title(name: str) -> str:
    """Return what a sentence calls a column."""
    return "the index" if _UNNAMED.fullmatch(name) else f"column {name}"


def _from_table(table: pa.Table, file: Path, id_column: str | None, label_column: str | None) -> _Found:
    """Take ids, labels and vectors from the columns of a table."""
    from pyarrow import types

    index = _index_of(table.schema)
    ids, labels, rest, left_out = _sorted_columns(table.column_names, id_column, label_column, file, index)
    taken = {name: _storage(table.column(name)) for name in rest}
    lists = [name for name, column in taken.items() if hasattr(column.type, "value_field")]
    if len(lists) > 1:
        raise LookalikeError(f"{file} has lists under {' and '.join(lists[:3])}: keep the column of vectors only")
    if lists:
        X, columns, dimensions = _stacked(taken[lists[0]], lists[0], file), f"column {lists[0]}", list[str]()
    else:
        for name, column in taken.items():
            if not _are_numeric(column.type):
                what = "text" if "string" in str(column.type) else str(column.type)
                raise LookalikeError(
                    f"{file} has {what} under {name}, and no numbers: name it by "
                    "--id-column or --label-column, or drop it"
                )
        wide = any(types.is_float64(column.type) for column in taken.values())
        X = np.empty((table.num_rows, len(rest)), np.float64 if wide else np.float32)
        for place, column in enumerate(taken.values()):
            X[:, place] = column.to_numpy()
        dimensions = rest
        columns = f"columns {rest[0]} to {rest[-1]}" if len(rest) > 1 else f"column {', '.join(rest)}"
        if left_out:
            columns += f" (not {', '.join(dict.fromkeys(map(_title, left_out)))})"
    named = {noun: name for noun, name in (("ids", ids), ("labels", labels)) if name is not None}
    texts = {noun: as_texts(table[name].to_pylist(), f"column {name} of {file}") for noun, name in named.items()}
    origins = [f"{noun} from {_title(name)}" for noun, name in named.items()]
    return _Found(X, texts.get("ids"), texts.get("labels"), ", ".join([columns, *origins]), tuple(dimensions))


def _storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as what stores it: a tensor as lists, and decimals and truths as numbers."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(column.type, pa.FixedShapeTensorType):
        column = column.cast(column.type.storage_type)
    if types.is_decimal(column.type):
        return column.cast(pa.float64())
    return column.cast(pa.int8()) if types.is_boolean(column.type) else column


def _are_numeric(kind: pa.DataType) -> bool:
    from pyarrow import types

    return any(check(kind) for check in (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean))


def _stacked(column: pa.ChunkedArray, name: str, file: Path) -> Reals:
    """Return the lists of a column, which must be of one length, as rows."""
    import pyarrow as pa
    from pyarrow import compute

    if not _are_numeric(kind := column.type.value_type):
        raise LookalikeError(f"{file} has lists of {kind} under {name}: write lists of numbers")
    missing = np.flatnonzero(column.is_null().to_numpy())
    if len(missing):
        raise LookalikeError(f"{file} has no vector under {name} in row {missing[0]} (from 0): give each row one")
    lengths = compute.list_value_length(column).to_numpy()
    if len(lengths) and not (lengths == lengths[0]).all():
        place = int(np.flatnonzero(lengths != lengths[0])[0])
        raise LookalikeError(
            f"{file} has vectors of several lengths under {name}: {lengths[0]} numbers in row 0, {lengths[place]} in "
            f"row {place} (from 0); give all rows as many"
        )
    parts = [_storage(pa.chunked_array([chunk.flatten()])).to_numpy() for chunk in column.chunks]
    return np.concatenate(parts).reshape(len(lengths), -1) if parts and len(lengths) else np.empty((0, 1), np.float32)
