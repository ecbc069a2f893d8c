"""Tables that users write: read as text, and held against rules, with the line that breaks one and what to do about it.

A table is a list of rules: that cells are whole numbers, filled, known elsewhere, there once, the same or different,
each with the words on a row where they are not. `refuse` takes the first such row for an error, `sort_out` leaves such
rows out.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lookalike.core.arrays import Longs
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, reading

LARGEST_TABLE = 2**28
"""Bytes of a table: two million triplets fit, and as cells, which take twenty times as much memory, more may not."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # one slash: a Path has lost the other
_STARTS = {b"PK\x03\x04": "is a spreadsheet or a zip file: export it as CSV", b"\x1f\x8b": "is compressed: unpack it"}
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_LONGEST_HEADER = 2**24  # bytes of a line; a million columns fit
_LONGEST = 40  # letters of a cell that ought to be a number
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
    file = Path(path)
    if _ADDRESS.match(str(file)) and not os.path.exists(file):
        raise LookalikeError(f"{path} is an address: download it and name the file")
    with reading(file, what, largest=LARGEST_TABLE):
        text = _decoded(file.read_bytes(), path)
    first = text.lstrip().partition("\n")[0]
    names = {mark: {name.strip(' "\r') for name in first.split(mark)} for mark in (",", *_SEPARATORS)}
    separator = max(names, key=lambda mark: len(names[mark].intersection(columns)))  # of equals, commas
    if separator in _SEPARATORS:
        raise LookalikeError(f"{path} separates its columns by {_SEPARATORS[separator]}: export it with commas")
    return _parsed(text, path, exact)


def read_header(path: PathLike, *, what: str = "table") -> list[str]:
    """Read the names of the columns of a CSV file of any size."""
    with reading(path, what), Path(path).open("rb") as stream:
        first = _decoded(stream.readline(_LONGEST_HEADER), path)
    separators = [mark for mark in _SEPARATORS if mark in first]
    if separators and "," not in first:
        raise LookalikeError(f"{path} separates its columns by {_SEPARATORS[separators[0]]}: export it with commas")
    if first and not first.strip(" ,\r\n"):
        raise LookalikeError(f"{path} begins with an empty line: delete it, the names of the columns come first")
    return _parsed(first, path)[0][1]  # a line may hold carriage returns, which end rows too


def _parsed(text: str, path: PathLike, exact: bool = False) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV file, of which there must be one."""
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


class Rule(NamedTuple):
    """What some columns of a table have to be, and the words on a row that breaks it, with its cells in braces."""

    words: str
    columns: tuple[str, ...]
    broken: Callable[[pd.DataFrame], ArrayLike]
    """Tells of each row of these columns whether it breaks the rule."""


def whole(column: str, kind: str) -> Rule:
    """Return the rule that a cell is a whole number that fits a type; numbers count, so none has a sign."""
    words = f"has {{cell!r}} under {column}, which is no whole number in the digits 0 to 9, or too large: correct it"
    largest = np.iinfo(kind).max
    broken = np.vectorize(lambda cell: not _WHOLE.fullmatch(cell) or int(cell) > largest, otypes=[bool])
    return Rule(words, (column,), lambda cells: broken(cells[column]))


def within(words: str, column: str, least: float, most: float) -> Rule:
    """Return the rule that a cell is a number from `least` to `most`."""
    return Rule(words, (column,), lambda cells: ~pd.to_numeric(cells[column], errors="coerce").between(least, most))


def filled(words: str, *columns: str) -> Rule:
    """Return the rule that no cell is missing."""
    return Rule(words, columns, lambda cells: (cells == "").any(axis=1))


def one_of(words: str, known: Iterable[object], *columns: str) -> Rule:
    """Return the rule that each cell is one of those that are known."""
    return Rule(words, columns, lambda cells: ~cells.isin(list(known)).all(axis=1))


def once(words: str, *columns: str) -> Rule:
    """Return the rule that no earlier row has the same cells."""
    return Rule(words, columns, pd.DataFrame.duplicated)


def same(words: str, *columns: str) -> Rule:
    """Return the rule that two cells of a row are the same."""
    return Rule(words, columns, lambda cells: cells.iloc[:, 0] != cells.iloc[:, 1])


def differing(words: str, *columns: str) -> Rule:
    """Return the rule that two cells of a row, or any two of several, differ."""
    pairs = list(combinations(range(len(columns)), 2))
    return Rule(words, columns, lambda cells: np.any([cells.iloc[:, i] == cells.iloc[:, j] for i, j in pairs], axis=0))


def refuse(table: pd.DataFrame, rules: Sequence[Rule], named: PathLike = "") -> None:
    """Refuse the first row that breaks a rule, with the words of the first that it breaks behind file and line."""
    first = _first_broken(table, rules)
    for place in np.flatnonzero(first < len(rules))[:1]:
        rule, cells = rules[first[place]], table.iloc[place]
        words = rule.words.format(cell=str(cells[rule.columns[0]])[:_LONGEST], **cells)
        raise LookalikeError(f"{named}, line {table.index[place]} {words}" if named else words)


def sort_out(table: pd.DataFrame, rules: Sequence[Rule]) -> tuple[pd.DataFrame, list[tuple[str, pd.DataFrame]]]:
    """Return the rows that break no rule, and with the words of each rule those of which it is the first broken."""
    first = _first_broken(table, rules)
    return table[first == len(rules)], [(rule.words, table[first == place]) for place, rule in enumerate(rules)]


def _first_broken(table: pd.DataFrame, rules: Sequence[Rule]) -> Longs:
    """Return the place of the first rule that each row breaks; that behind the last for one that breaks none."""
    broken = [np.asarray(rule.broken(table[list(rule.columns)]), dtype=bool) for rule in rules]
    return np.asarray(np.argmax([*broken, np.ones(len(table), dtype=bool)], axis=0))


def whole_numbers(cells: pd.DataFrame, types: Mapping[str, str], path: PathLike) -> pd.DataFrame:
    """Return what `read_cells` read with columns as whole numbers of these types."""
    refuse(cells, [whole(column, kind) for column, kind in types.items()], path)
    return cells.assign(**{column: np.array(cells[column], dtype=kind) for column, kind in types.items()})


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
        line = content.count(b"\n", 0, error.start) + 1
        raise LookalikeError(f"{path} is not written in UTF-8 (line {line}): export it as UTF-8") from error
