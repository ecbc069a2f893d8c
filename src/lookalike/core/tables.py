"""Tables that users write: read as text, and held against rules, with the line that breaks one and what to do about it.

`refuse` takes the first row that breaks a rule for an error, `sort_out` leaves such rows out.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lookalike.core.arrays import Longs
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, arrow_file, reading

if TYPE_CHECKING:
    import pyarrow as pa

Rules = Mapping[str, ArrayLike]
"""What to say of a row that breaks a rule, with its cells in braces, and which rows break it."""
LARGEST_TABLE = 2**28
"""Bytes of a table: two million triplets fit, and as cells, which take twenty times as much memory, more may not."""
_STARTS = {b"PK\x03\x04": "is a spreadsheet or a zip file: export it as CSV", b"\x1f\x8b": "is compressed: unpack it"}
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_LONGEST_HEADER = 2**24  # bytes of a line; a million columns fit
_LONGEST = 40  # letters of a cell that ought to be a number, or of a reason of Arrow's, which may hold a whole line
_MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "<NA>"]  # in place of a number
_NO_NUMBER = re.compile(r"CSV column #(\d+).* value '(.*)'", re.DOTALL)  # Arrow on a cell
_WHOLE = re.compile("[0-9]{1,19}")  # \d also matches the digits of other scripts, and int refuses thousands of them


def read_cells(path: PathLike, columns: Sequence[str], *, what: str = "table", exact: bool = False) -> pd.DataFrame:
    """Read columns of a CSV file as text, "" where nothing stands; the index is the line that each row starts on.

    In an `exact` file, which a program wrote, spaces around cells belong to them and no row is shorter than the header.
    """
    rows = _fitting(read_rows(path, what=what, exact=exact), path, exact)
    _, header = next(rows)
    places = _places(header, columns, path)
    found = [(line, [cells[place] for place in places]) for line, cells in rows]
    return pd.DataFrame([row for _, row in found], columns=list(columns), index=[line for line, _ in found], dtype=str)


def read_rows(
    path: PathLike, *, what: str = "table", exact: bool = False, any_size: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file with the lines that they start on, the header first."""
    with reading(path, what, largest=None if any_size else LARGEST_TABLE):
        text = _decoded(Path(path).read_bytes(), path)
    _refuse_separator(text.lstrip().partition("\n")[0], path)
    return parse_rows(text, path, exact=exact)


def read_columns(path: PathLike, numbers: Callable[[list[str]], Iterable[str]], what: str, what_now: str) -> pa.Table:
    """Read a CSV file of any size: columns that `numbers` chooses by name as numbers, the others as text.

    Arrow reads it, many times as fast as `read_rows`. What Arrow refuses or takes otherwise is rewritten for it, as
    `read_rows` reads it. `what_now` says what to do about a column that holds no numbers.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    names, n_lines = _read_header(path, what)
    kinds = dict.fromkeys(names, pa.string()) | dict.fromkeys(numbers(names), pa.float32())
    convert = arrow.ConvertOptions(column_types=kinds, null_values=_MISSING)
    try:
        try:
            read = arrow.ReadOptions(column_names=names, skip_rows=n_lines)
            table = arrow.read_csv(arrow_file(path), read, convert_options=convert)
            if not _is_otherwise(table):
                return table
        except pa.ArrowInvalid as error:
            if (cell := _NO_NUMBER.search(str(error))) and re.fullmatch(r"[ !#-~]*", cell[2]):
                raise
        content = _rewritten(_fitting(read_rows(path, what=what, any_size=True), path))
        read = arrow.ReadOptions(column_names=names, skip_rows=1, block_size=min(max(content.size, 2**20), 2**31 - 1))
        return arrow.read_csv(pa.BufferReader(content), read, arrow.ParseOptions(newlines_in_values=True), convert)
    except pa.ArrowInvalid as error:
        if not (cell := _NO_NUMBER.search(str(error))):
            reason = " ".join(str(error).split())[:_LONGEST]
            raise LookalikeError(f"{path} cannot be read ({reason}): save it as .npy or .parquet") from error
        raise LookalikeError(
            f"{path} has {cell[2][:_LONGEST]!r} under {names[int(cell[1])]}, which is no number: correct that cell, or "
            f"{what_now}"
        ) from error


def _is_otherwise(table: pa.Table) -> bool:
    """Tell whether `read_rows` may read a table otherwise: by an empty row, or a mark, line break, zero byte or space.

    Arrow cuts rows at line breaks in quotation marks where a block ends, and takes no mark behind a space for one.
    """
    from pyarrow import compute, types

    empty = np.ones(len(table), dtype=bool)
    for column in table.columns:
        is_text = types.is_string(column.type)
        if is_text and compute.any(compute.match_substring_regex(column, r'["\r\n\x00]|^ ')).as_py():
            return True
        if empty.any():
            empty &= (compute.equal(column, "") if is_text else column.is_null()).to_numpy()
    return bool(empty.any())


def _rewritten(rows: Iterable[tuple[int, list[str]]]) -> pa.Buffer:
    """Return rows as a CSV file, the names in a line of their own, in memory that is Arrow's, not Python's."""
    import pyarrow as pa

    content = pa.BufferOutputStream()
    stream = io.TextIOWrapper(content, "utf-8", newline="")
    _ = next(iter(rows))
    stream.write("\n")
    csv.writer(stream).writerows(cells for _, cells in rows)
    stream.detach()
    return content.getvalue()


def _read_header(path: PathLike, what: str) -> tuple[list[str], int]:
    """Return the names of the columns of a CSV file of any size, and how many lines they and empty ones above take."""
    taken: list[str] = []

    def lines(stream: BinaryIO) -> Iterator[str]:
        for line in iter(partial(stream.readline, _LONGEST_HEADER), b""):
            for part in io.StringIO(_decoded(line, path), newline=""):  # carriage returns end lines too
                _refuse_separator(part, path)
                taken.append(part)
                yield part

    with reading(path, what), Path(path).open("rb") as stream:
        return next(parse_rows(lines(stream), path))[1], len(taken)


def _refuse_separator(first: str, path: PathLike) -> None:
    """Refuse a first line that has another separator than commas."""
    if "," not in first and (separators := [mark for mark in _SEPARATORS if mark in first]):
        raise LookalikeError(f"{path} separates its columns by {_SEPARATORS[separators[0]]}: export it with commas")


def _fitting(
    rows: Iterator[tuple[int, list[str]]], path: PathLike, exact: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with as many cells as the first has, which is the header, or refuse one that has more."""
    line, header = next(rows)
    yield line, header
    for line, cells in rows:
        n_fields = len(cells) if len(cells) <= len(header) else count_fields(cells)
        if n_fields > len(header) or (exact and len(cells) < len(header)):
            raise LookalikeError(
                f"{path}, line {line} has {n_fields} fields, the header has {len(header)}: put quotation marks around "
                "text with commas, or export the file again"
            )
        yield line, cells[: len(header)] + [""] * (len(header) - len(cells))


def parse_rows(
    text: str | Iterable[str], named: PathLike, separator: str = ",", *, exact: bool = False, strict: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of CSV text, or of its lines, that hold something, each with the line that it starts on."""
    # with newline="" a cell keeps its own line ends
    lines = io.StringIO(text, newline="") if isinstance(text, str) else text
    reader = csv.reader(lines, delimiter=separator, strict=strict, skipinitialspace=not exact)
    line, is_empty = 1, True
    try:
        for fields in reader:
            cells = fields if exact else [field.strip() for field in fields]
            if any(cells):
                yield line, cells
                is_empty = False
            line = reader.line_num + 1
    except csv.Error as error:
        why = f"line {line} is no CSV ({error}): correct its quotation marks or export it again"
        raise LookalikeError(f"{named}, {why}") from error
    if is_empty:
        raise LookalikeError(f"{named} is empty: write the names of the columns into its first line, and rows below")


def count_fields(cells: Sequence[str]) -> int:
    """Count the fields up to the last that holds something: spreadsheets leave empty ones behind it."""
    return max((number for number, cell in enumerate(cells, start=1) if cell), default=0)


def text_cells(table: pd.DataFrame, columns: Sequence[str], named: str) -> pd.DataFrame:
    """Return columns of a user's DataFrame as text without spaces around it; what is missing is ""."""
    found = table.iloc[:, _places(table.columns, columns, named)].set_axis(list(columns), axis=1)
    text = found.apply(lambda column: pd.Series(as_texts(column, f"column {column.name} of {named}"), found.index, str))
    return text[(text != "").any(axis=1)]


def as_texts(values: Iterable[Any], named: str) -> list[str]:
    """Return values as text without spaces around it; what is missing (None, NaN, NA) is "".

    Bytes are text in UTF-8, or in hexadecimal digits where any of them are not.
    """
    values = list(values)
    decoded = {value: value.decode("utf-8", "surrogateescape").strip() for value in values if isinstance(value, bytes)}
    if not all(text.isprintable() for text in decoded.values()):
        decoded = {value: value.hex() for value in decoded}
    return [
        value.strip() if isinstance(value, str) else decoded[value] if isinstance(value, bytes) else _text(value, named)
        for value in values
    ]


def _text(value: Any, named: str) -> str:
    if not isinstance(value, Hashable):
        raise LookalikeError(f"there is a {type(value).__name__} in {named}: give each row one text or number")
    return "" if pd.api.types.is_scalar(value) and pd.isna(value) else str(value).strip()  # type: ignore[call-overload]


def refuse(table: pd.DataFrame, rules: Rules, named: PathLike = "") -> None:
    """Refuse the first row that breaks a rule, with the words of the first that it breaks behind file and line."""
    first = _first_broken(table, rules)
    for place in np.flatnonzero(first < len(rules))[:1]:
        words = list(rules)[first[place]].format(**table.iloc[place])
        raise LookalikeError(f"{named}, line {table.index[place]} {words}" if named else words)


def sort_out(table: pd.DataFrame, rules: Rules) -> tuple[pd.DataFrame, list[tuple[str, pd.DataFrame]]]:
    """Return the rows that break no rule, and with the words of each rule those of which it is the first broken."""
    first = _first_broken(table, rules)
    return table[first == len(rules)], [(words, table[first == place]) for place, words in enumerate(rules)]


def _first_broken(table: pd.DataFrame, rules: Rules) -> Longs:
    """Return the place of the first rule that each row breaks; that behind the last for one that breaks none."""
    broken = [np.asarray(rows, dtype=bool) for rows in rules.values()]
    return np.asarray(np.argmax([*broken, np.ones(len(table), dtype=bool)], axis=0))


def whole_numbers(cells: pd.DataFrame, types: Mapping[str, str], path: PathLike) -> pd.DataFrame:
    """Return what `read_cells` read with columns as whole numbers of these types; they count, so none has a sign."""
    found = {}
    for column, kind in types.items():
        largest = np.iinfo(kind).max
        broken = [not _WHOLE.fullmatch(cell) or int(cell) > largest for cell in cells[column]]
        words = (
            f"has {{cell!r}} under {column}, which is no whole number in the digits 0 to 9, or too large: correct it"
        )
        refuse(cells.assign(cell=cells[column].str[:_LONGEST]), {words: broken}, path)
        found[column] = np.array(cells[column], dtype=kind)
    return cells.assign(**found)


def _places(names: Iterable[object], columns: Sequence[str], named: PathLike) -> list[int]:
    """Return where columns stand in a header, each of which must be there once."""
    header = [str(name).strip() for name in names]
    for column in columns:
        if column not in header:
            has = ", ".join(header[:8]) or "none"
            raise LookalikeError(f"{named} lacks the column {column}: it needs {', '.join(columns)}, and has {has}")
        if header.count(column) > 1:
            raise LookalikeError(f"{named} has the column {column} more than once: keep one of them")
    return [header.index(column) for column in columns]


def _decoded(content: bytes, path: PathLike) -> str:
    """Return the text of a file that is written in UTF-8, or say what it is instead."""
    for start, reason in _STARTS.items():
        if content.startswith(start):
            raise LookalikeError(f"{path} {reason}")
    if b"\0" in content:
        raise LookalikeError(f"{path} holds zero bytes, so it is UTF-16 or no text: export it as UTF-8")
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line, name = content.count(b"\n", 0, error.start) + 1, shlex.quote(os.fspath(path))
        raise LookalikeError(
            f"{path} is not written in UTF-8 (line {line}) but perhaps in Latin-1: export it as UTF-8, or run "
            f"iconv -f latin1 -t utf-8 {name} > utf-8.csv"
        ) from error
