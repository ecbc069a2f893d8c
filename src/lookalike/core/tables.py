"""Reads tables that users write, as text, and says what is wrong with the line: labels, triplets, plans, ratings."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, reading

LARGEST_TABLE = 2**28
"""Bytes of a table: two million triplets fit, and as cells, which take twenty times as much memory, more may not."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # one slash: a Path has lost the other
_STARTS = {b"PK\x03\x04": "is a spreadsheet or a zip file: export it as CSV", b"\x1f\x8b": "is compressed: unpack it"}
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_WHOLE = re.compile("[0-9]{1,19}")  # \d also matches the digits of other scripts, and int refuses thousands of them


def read_cells(path: PathLike, columns: Sequence[str], *, what: str = "table", exact: bool = False) -> pd.DataFrame:
    """Read columns of a CSV file as text, "" where nothing stands; the index is the line that each row starts on.

    In an `exact` file, which a program wrote, spaces around cells belong to them and no row is shorter than the header.
    """
    (_, header), *rows = read_rows(path, columns, what=what, exact=exact)
    places = _places(header, columns, path)
    for line, cells in rows:
        n_fields = len(cells) if len(cells) <= len(header) else count_fields(cells)
        if n_fields > len(header) or (exact and len(cells) < len(header)):
            raise LookalikeError(
                f"{path}, line {line} has {n_fields} fields, the header has {len(header)}: put quotation marks around "
                "text with commas, or export the file again"
            )
    found = [[cells[place] if place < len(cells) else "" for place in places] for _, cells in rows]
    return pd.DataFrame(found, columns=list(columns), index=[line for line, _ in rows], dtype=str)


def read_rows(
    path: PathLike, columns: Sequence[str] = (), *, what: str = "table", exact: bool = False
) -> list[tuple[int, list[str]]]:
    """Read the rows of a CSV file with their lines, the header first; `columns` tell another separator than commas."""
    text = _read_text(Path(path), what)
    first = text.lstrip().partition("\n")[0]
    names = {mark: {name.strip(' "\r') for name in first.split(mark)} for mark in (",", *_SEPARATORS)}
    separator = max(names, key=lambda mark: len(names[mark].intersection(columns)))  # of equals, commas
    if separator in _SEPARATORS:
        raise LookalikeError(f"{path} separates its columns by {_SEPARATORS[separator]}: export it with commas")
    try:
        rows = list(parse_rows(text, exact=exact))
    except csv.Error as error:
        raise LookalikeError(f"{path}, {error}: correct its quotation marks or export it again") from error
    if not rows:
        raise LookalikeError(f"{path} is empty: write the names of the columns into its first line, and rows below")
    return rows


def parse_rows(
    text: str, separator: str = ",", *, exact: bool = False, strict: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of CSV text that hold something, each with the line that it starts on."""
    # with newline="" a cell keeps its own line ends
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=separator, strict=strict, skipinitialspace=not exact)
    line = 1
    try:
        for fields in reader:
            cells = fields if exact else [field.strip() for field in fields]
            if any(cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise csv.Error(f"line {line} is no CSV ({error})") from error


def count_fields(cells: Sequence[str]) -> int:
    """Count the fields up to the last that holds something: spreadsheets leave empty ones behind it."""
    return max((number for number, cell in enumerate(cells, start=1) if cell), default=0)


def text_cells(table: pd.DataFrame, columns: Sequence[str], named: str) -> pd.DataFrame:
    """Return columns of a user's DataFrame as text without spaces around it; what is missing is ""."""
    found = table.iloc[:, _places(table.columns, columns, named)].set_axis(list(columns), axis=1)
    # pandas 2 makes "nan", "None" and "<NA>" of what is missing
    text = found.astype(object).map(lambda cell: str(cell).strip()).where(found.notna(), "").astype(str)
    return text[(text != "").any(axis=1)]


def whole_numbers(cells: pd.DataFrame, types: Mapping[str, str], path: PathLike) -> pd.DataFrame:
    """Return what `read_cells` read with columns as numbers of these types; they count, so none has a sign."""
    for column, name in types.items():
        largest = np.iinfo(name).max
        for line, cell in cells[column].items():
            if not _WHOLE.fullmatch(cell) or int(cell) > largest:
                raise LookalikeError(
                    f"{path}, line {line} has {cell[:40]!r} under {column}, which is no whole number in the "
                    "digits 0 to 9, or too large: correct it"
                )
    return cells.assign(**{column: np.array(cells[column], dtype=name) for column, name in types.items()})


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


def _read_text(path: Path, what: str) -> str:
    """Read a file that is text in UTF-8, or say why it cannot be read."""
    if _ADDRESS.match(str(path)) and not os.path.exists(path):
        raise LookalikeError(f"{path} is an address: download it and name the file")
    with reading(path, what, largest=LARGEST_TABLE):
        content = path.read_bytes()
    for start, reason in _STARTS.items():
        if content.startswith(start):
            raise LookalikeError(f"{path} {reason}")
    if b"\0" in content:
        raise LookalikeError(f"{path} holds zero bytes, so it is UTF-16 or no text: export it as UTF-8")
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise LookalikeError(f"{path} is not written in UTF-8 (line {line}): export it as UTF-8") from error
