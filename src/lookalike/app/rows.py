"""Rows to learn from, to rank or to evaluate: vectors of one's own, or images until they are described."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike

from lookalike.core.arrays import Array, Ints, Matrix, Texts
from lookalike.core.errors import LookalikeError, first_reason
from lookalike.core.files import HEADER_FAILS, PathLike, check_regular, reading
from lookalike.core.tables import as_texts, read_cells, sort_out, text_cells
from lookalike.learners.centring import is_sparse

VECTORS = (".npy", ".npz", ".parquet", ".csv")
"""What names of files of vectors end in."""
TRIPLET_COLUMNS = ["query", "positive", "negative"]
JUDGED_COLUMNS = ["reference", "nearer", "farther"]
"""The same, as people who judged are asked."""
Table = PathLike | pd.DataFrame
"""A path of a CSV file, or a DataFrame with its columns."""
Reasons = list[tuple[str, str]]
"""Paths (or ids) that are left out, and why."""
Find = Callable[[Iterable[str]], tuple[dict[str, str], Reasons]]
"""Finds names in a source: what each means there, and why others mean nothing."""
_BY_ROW = ("ids", "X", "labels", "sha256", "sizes")
_ID_BYTES = 8  # of the digest of a row: of a million rows, two are taken for one in one case of ten million
_COUNTS = {"id", "ids", "index", "idx", "row", "rows", "rowid", "rowname", "rownames", "rownumber", "unnamed"}
"""What names of columns that number rows are, without digits and punctuation; other names may be of a count too."""
_FEWEST_COUNTED = 10  # rows; fewer are counted by chance
_LONGEST = 80  # letters of a reason of NumPy's


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one source: a folder of images, a file of vectors, or arrays."""

    source: str  # what sentences call it
    ids: Texts  # a name of each row, no two the same: the path of an image, the id of a vector or its row number
    labels: Texts  # class of each row, "" where it has none
    X: Matrix | None = None  # vectors, a dense array or CSR of float32 or float64, (n, d); None for images
    triplets: Ints | None = None  # row numbers (query, positive, negative), where there are triplets
    left_out: Reasons = field(default_factory=list)
    triplets_left_out: Mapping[str, int] = field(default_factory=dict)  # how many cannot be used, by reason
    root: Path | None = None  # folder that paths of images start from; None for vectors
    sha256: Texts | None = None  # of each file of an image
    sizes: Ints | None = None  # width and height of each image
    origin: str = ""  # where ids and labels of vectors come from
    columns: tuple[str, ...] = ()  # names of the dimensions, where a table has a column for each

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def noun(self) -> str:
        """Return what sentences call a row."""
        return "vector" if self.root is None else "image"

    @property
    def key(self) -> str:
        """Return what tables call `ids`."""
        return "id" if self.root is None else "path"

    @property
    def files(self) -> tuple[list[Path], list[str]]:
        """Return the files of images, and the SHA-256 of each."""
        return [Path(self.root or "", path) for path in self.ids], self.contents.tolist()

    @cached_property
    def contents(self) -> Texts:
        """Return a digest of each row's numbers, or of its file: rows of the same content have the same."""
        if self.sha256 is not None:
            return self.sha256
        with np.errstate(over="ignore"):  # too large a number is refused where it is used
            return np.array([hashlib.blake2b(part, digest_size=_ID_BYTES).hexdigest() for part in _row_bytes(self.X)])

    def table(self) -> pd.DataFrame:
        """Return what is known of each row: its id or path, label, and of images sha256, width and height."""
        table = pd.DataFrame({self.key: self.ids, "label": self.labels})
        if self.sizes is None:
            return table
        return table.assign(sha256=self.sha256, width=self.sizes[:, 0], height=self.sizes[:, 1])

    def take(self, rows: Array) -> Rows:
        """Return some of the rows, without triplets."""
        if np.array_equal(rows, np.arange(len(self))):
            return replace(self, triplets=None)
        parts = {name: part[rows] for name in _BY_ROW if (part := getattr(self, name)) is not None}
        return replace(self, **parts, triplets=None)

    def related(self) -> Rows:
        """Return the rows that triplets name, or where there are none, those that have a label."""
        if self.triplets is not None:
            rows = np.unique(self.triplets)
            return replace(self.take(rows), triplets=np.searchsorted(rows, self.triplets).astype(np.int32))
        self.check_related()
        return self.take(np.flatnonzero(self.labels != ""))

    def check_related(self) -> None:
        """Refuse rows of which neither labels nor triplets say which are alike."""
        if self.triplets is None and not (self.labels != "").any():
            column = "give it a column label, name a column by --label-column, or " if self.origin else ""
            what_now = f"{column}give labels or triplets by id in a file, by --labels or --triplets"
            raise LookalikeError(f"{self.source} has no labels: {what_now}")


def make_rows(
    X: Matrix,
    ids: Sequence[object] | None = None,
    labels: Table | ArrayLike | None = None,
    triplets: Table | None = None,
    *,
    source: str = "the array",
    columns: Sequence[str] = (),
    origin: str = "",
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
    source, origin : str, optional
        What sentences call the rows, and where ids and labels come from.
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
        labels = _in_order(labels, X.index if ids is None and isinstance(X, pd.DataFrame) else ids)
    if isinstance(X, pd.DataFrame):
        ids = list(X.index) if ids is None else ids
        columns, table, X = columns or tuple(map(str, X.columns)), X, X.to_numpy()
        if X.dtype == object and all(map(pd.api.types.is_numeric_dtype, table.dtypes)):
            X = table.to_numpy(np.float64, na_value=np.nan)  # types that may lack a value, which NumPy has not
    columns = tuple(columns) if len(set(columns)) == len(columns) else ()  # what is there twice names nothing
    names = None if ids is None else as_texts(ids, "the ids")
    X = _checked_vectors(X, names, source)
    _refuse_counts(X, columns, source)
    n = X.shape[0]
    known = np.array(np.arange(n) if names is None else names, dtype=str)
    if len(known) != n:
        raise LookalikeError(f"there are {len(known):,} ids for {n:,} rows of {source}: give one for each")
    row = int(np.argmax((known == "") | pd.Index(known).duplicated()))
    if known[row] in ("", *known[:row]):
        raise LookalikeError(f"{source} has no id of its own in row {row} (from 0) but '{known[row]}': give it one")
    row_of = {name: row for row, name in enumerate(known.tolist())}
    lost = f"it has no row in {source}" + (", where ids are row numbers from 0" if names is None else "")

    def find(asked: Iterable[str]) -> tuple[dict[str, str], Reasons]:
        asked = dict.fromkeys(asked)
        return {name: name for name in asked if name in row_of}, [(name, lost) for name in asked if name not in row_of]

    values, left_out = (np.full(len(known), ""), []) if labels is None else _labels_of(labels, row_of, source, find)
    numbers, triplets_left_out = None, dict[str, int]()
    if triplets is not None:
        judged, named, asked = read_triplets(triplets)
        left_out += find(asked)[1]
        refusal = f"{named} holds no triplet of three ids of {source}{first_reason(left_out)}: correct its ids"
        numbers, triplets_left_out = settle_triplets(judged, row_of, "with an id that has no row", refusal)
    parts: Any = {"triplets": numbers, "left_out": left_out, "triplets_left_out": triplets_left_out}
    return Rows(source, known, values, X, **parts, origin=origin, columns=columns)


def _in_order(labels: pd.Series[Any], ids: Sequence[object] | pd.Index[Any] | None) -> pd.Series[Any]:
    """Return labels in the order of the ids, where their index holds these; as they are, where it holds others."""
    own, names = labels.index, as_texts(() if ids is None else ids, "the ids")
    # a plain count is no id, and ids of the same table are in the order of its labels
    is_count = own.equals(pd.RangeIndex(len(own))) or (isinstance(ids, pd.Series) and own.equals(ids.index))
    named = labels.set_axis(as_texts(own, "the index"))
    if is_count or not names or not named.index.is_unique or not set(names) <= set(named.index):
        return labels
    return named.loc[names]


def read_table(table: Table | ArrayLike | None, columns: Sequence[str], what: str) -> tuple[pd.DataFrame, str]:
    """Return the columns of a CSV file or DataFrame as text, and what to call it in a sentence."""
    if isinstance(table, pd.DataFrame):
        found, named = text_cells(table, columns, "the table"), "the table"
    elif not isinstance(table, str | os.PathLike) or Path(table).suffix.lower() in VECTORS[:-1]:
        wrong = os.fspath(table) if isinstance(table, str | os.PathLike) else f"a {type(table).__name__}"
        raise LookalikeError(f"{wrong} is no {what}: give a CSV file, or a DataFrame, with {', '.join(columns)}")
    else:
        found, named = read_cells(table, columns, what=what), os.fspath(table)
    if found.empty:
        raise LookalikeError(f"{named} has no rows: list some in it")
    return found, named


def settle_labels(table: pd.DataFrame, find: Find) -> tuple[pd.DataFrame, Reasons]:
    """Return keys that `find` finds, as it does, with their one label, and (key, reason) of the others."""
    key = table.columns[0]
    table = table.rename(columns={key: "key"})
    missing = {"it has no label": table["label"] == "", "the label {label!r} has no {key}": table["key"] == ""}
    table, broken = sort_out(table, missing)
    found, lost = find(table["key"])
    table = table[table["key"].isin(list(found))]
    table = table.assign(key=table["key"].map(found)).drop_duplicates()
    table, twice = sort_out(table, {"it has two labels": table["key"].duplicated(keep=False)})
    bad = [(words, row) for words, rows in broken for row in rows.itertuples()]
    left_out = [(str(row.key), words.format(label=row.label, key=key)) for words, row in bad]
    left_out += [(name, words) for words, rows in twice for name in rows["key"].unique()]
    return table.rename(columns={"key": key}), lost + left_out


def read_triplets(triplets: Table) -> tuple[pd.DataFrame, str, list[str]]:
    """Return a table of triplets, whose columns may be `JUDGED_COLUMNS`, what to call it, and the names in it."""
    header: Iterable[str] = ()
    if isinstance(triplets, pd.DataFrame):
        header = triplets.columns
    elif isinstance(triplets, str | os.PathLike) and os.path.isfile(triplets):
        with open(triplets, encoding="utf-8-sig", errors="replace") as stream:
            header = stream.readline().strip().split(",")
    columns = JUDGED_COLUMNS if set(JUDGED_COLUMNS) <= set(header) else TRIPLET_COLUMNS
    table, named = read_table(triplets, columns, "table of triplets")
    return table.set_axis(TRIPLET_COLUMNS, axis=1), named, sorted(set(table.to_numpy().ravel()) - {""})


def settle_triplets(
    table: pd.DataFrame, number_of: Mapping[str, int], unusable: str, refusal: str
) -> tuple[Ints, dict[str, int]]:
    """Return the row numbers of triplets of three rows, if there is one, and how many others there are by reason."""
    numbers = table[TRIPLET_COLUMNS].apply(lambda texts: texts.map(number_of).fillna(-1).astype(np.int32))
    triples = np.sort(numbers, axis=1)
    rules = {unusable: triples[:, 0] < 0, "with one of them twice": (triples[:, 1:] == triples[:, :-1]).any(axis=1)}
    usable, broken = sort_out(numbers, rules)
    if usable.empty:
        raise LookalikeError(refusal)
    return np.ascontiguousarray(usable.to_numpy()), {words: len(rows) for words, rows in broken if len(rows)}


def _labels_of(labels: Table | ArrayLike, row_of: Mapping[str, int], source: str, find: Find) -> tuple[Texts, Reasons]:
    """Return the label of every row, "" where it has none, and (id, reason) of labels that belong to none."""
    named = "the labels"
    if isinstance(labels, str | os.PathLike) and Path(labels).suffix.lower() == ".npy":
        named = os.fspath(labels)
        with reading(named, "file of labels"):
            labels = load_npy(Path(named))
    elif isinstance(labels, str | os.PathLike | pd.DataFrame):
        table, named = read_table(labels, ["id", "label"], "table of labels")
        table, left_out = settle_labels(table, find)
        if table.empty:
            reason, what_now = first_reason(left_out), "correct its ids, or save one label for each row as .npy"
            raise LookalikeError(f"{named} holds no label of an id of {source}{reason}: {what_now}")
        values = np.full(len(row_of), "", dtype=object)
        values[table["id"].map(row_of)] = table["label"]
        return values.astype(str), left_out
    values = np.asarray(labels, dtype=object)
    if values.shape not in ((len(row_of),), (len(row_of), 1)):
        n = len(row_of)
        raise LookalikeError(f"{named} of shape {values.shape} are not one for each of {n:,} rows of {source}: mend it")
    return np.array(as_texts(values.ravel(), named), dtype=str), []


def load_npy(file: Path) -> Array:
    """Read an array of a file that `reading` watches over, into memory that the file does account for."""
    check_regular(file)
    try:
        values = np.array(np.lib.format.open_memmap(file, mode="r"))
        if values.dtype.kind == "U":  # which may have letters that do not exist, and NumPy then ends by SystemError
            values.tobytes().decode("utf-32-be" if values.dtype.str[0] == ">" else "utf-32-le", "surrogatepass")
        return values
    except HEADER_FAILS as error:
        what_now = "save it by numpy.save, text as in numpy.save(name, labels.astype(str))"
        raise LookalikeError(f"{file} cannot be read ({str(error)[:_LONGEST]}): {what_now}") from error


def _checked_vectors(X: Matrix, names: list[str] | None, source: str) -> Matrix:
    """Return vectors in float32 or float64, and refuse what is no table of finite numbers."""
    X = sp.csr_array(X) if is_sparse(X) else np.asarray(X)
    if X.dtype.kind not in "fiub" or X.ndim != 2 or 0 in X.shape:
        raise LookalikeError(f"{source} holds {X.dtype} of shape {X.shape}: save real numbers, a row for each vector")
    kind = np.float64 if X.dtype.kind == "f" and X.dtype.itemsize >= 8 else np.float32
    with np.errstate(over="ignore"):  # infinity is refused below
        X = X.astype(kind, copy=False)
    finite = np.isfinite(X.data if is_sparse(X) else X)
    if not finite.all():
        places = np.argwhere(~finite)[:, 0]
        row = np.searchsorted(X.indptr, places[0], "right") - 1 if is_sparse(X) else places[0]
        where = f"row {row} (from 0)" if names is None else f"the row of id {names[row]}"
        raise LookalikeError(f"{source} has NaN, infinity or an empty cell in {where}: give numbers in all rows")
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
            counts = f"{source} numbers its rows {where}, which learning would take for a dimension"
            raise LookalikeError(f"{counts}: name it by --id-column (in Python, as ids), or drop it")


def _row_bytes(X: Matrix) -> Iterable[bytes]:
    """Yield what is the same for rows of the same numbers, however they are stored."""
    if not is_sparse(X):
        yield from (np.asarray(row, dtype=np.float32).tobytes() for row in X)
        return
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    values = X.data.astype(np.float32)
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        yield X.indices[start:stop].astype(np.int64).tobytes() + values[start:stop].tobytes()
