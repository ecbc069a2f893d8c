"""CSV files of a release of rated triplets to rows, and a tally of whatever cannot be used.

The first step of `lookalike.datasets.rated_triplets`. People edit such files with spreadsheets, so the spelling of the
columns, the separator and the encoding are guessed; what is still no row is counted, with one example, and passed over.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = (",", ";", "\t")
_NEEDED = ("image1path", "image2path", "similarity")
_KINDS = {"inclass": "in-class", "outofclass": "out-of-class"}
RATED = "rated"
"""Kind of a triplet that nobody said more of."""

_MAX_EXAMPLE = 300


class Rejections:
    """Tally of what could not be used: a reason, how many rows or files, and the first of them in order of text."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._examples: dict[str, str] = {}

    def add(self, reason: str, example: str, rows: int = 1) -> None:
        """Count so many rows or files under a reason."""
        self._rows[reason] = self._rows.get(reason, 0) + rows
        # not the first met but the first by name: the table then does not depend on the order of rows
        self._examples[reason] = min(self._examples.get(reason, example), example)

    def table(self) -> pd.DataFrame:
        """Return ``reason``, ``rows`` int32 and ``example``, sorted by reason."""
        import pandas as pd

        reasons = sorted(self._rows)
        columns = {
            "reason": reasons,
            "rows": [self._rows[reason] for reason in reasons],
            "example": [self._examples[reason][:_MAX_EXAMPLE] for reason in reasons],
        }
        return pd.DataFrame(columns).astype({"reason": "str", "rows": "int32", "example": "str"})

    def summary(self) -> str:
        """Return the tally in words, "" where nothing was rejected."""
        return ", ".join(f"{reason} ({self._rows[reason]})" for reason in sorted(self._rows))


class RatingRow(NamedTuple):
    """One row of a CSV file: two images and whether they are rated alike."""

    file: str
    line: int
    name1: str
    path1: str
    name2: str
    path2: str
    sign: int
    text_query: str
    kind: str
    triplet: str

    @property
    def example(self) -> str:
        """The row as the table of rejections shows it, without its line: rows may come in any order."""
        return f"{self.file}: {self.path1 or self.name1} | {self.path2 or self.name2} | {self.text_query}"


def read_rating_rows(root: Path, rejections: Rejections) -> list[RatingRow]:
    """Read the rows of every CSV file below a folder that has the columns of rated triplets.

    Parameters
    ----------
    root : Path
        The folder of the release; ``training/`` and ``pool/`` at its top hold no ratings.
    rejections : Rejections
        Takes what cannot be used.

    Returns
    -------
    list of RatingRow
        By file, then by line.

    Raises
    ------
    LookalikeError
        When there is no folder, or no CSV file with the columns Image1_Path, Image2_Path and Similarity.
    """
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        raise LookalikeError(f"the folder of rated triplets {root} {what}: give the folder that holds their CSV file")
    rows: list[RatingRow] = []
    found = False
    for file in _csv_files(root):
        table = _rating_table(root / file)
        if isinstance(table, str):
            rejections.add(table, file)
            continue
        found = True
        rows += _rows_of(file, table, rejections)
    if not found:
        raise LookalikeError(
            f"{root} holds no CSV file with the columns Image1, Image1_Path, Image2, Image2_Path, Similarity and Text "
            "Query: put the ratings there"
        )
    return rows


def read_columns(path: Path, columns: Sequence[str]) -> list[tuple[str, ...]] | None:
    """Read named columns of a CSV file, tolerant of spelling, separator and encoding.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        As `column_key` spells them.

    Returns
    -------
    list of tuple of str
        Stripped values, "" where a row is too short; None when the file lacks one of the columns or cannot be read.
    """
    table = _table_with(path, columns)
    if isinstance(table, str):
        return None
    header, lines = table
    places = [header.index(column) for column in columns]
    return [tuple(_cell(cells, place) for place in places) for _, cells in lines]


def column_key(name: str) -> str:
    """Spell a column or a text query so that case, blanks and punctuation do not matter."""
    return re.sub(r"[\W_]+", "", name.casefold())


def clean_query(text: str) -> str:
    """Return a text query with its blanks collapsed."""
    return " ".join(text.split())


_Table = tuple[list[str], list[tuple[int, list[str]]]]


def _csv_files(root: Path) -> Iterator[str]:
    """CSV files at any depth, relative to `root`, sorted, but for what holds no ratings by its place."""
    found = []
    for folder, subfolders, files in os.walk(root):
        inside = Path(folder).relative_to(root).as_posix()
        if inside == ".":
            subfolders[:] = [name for name in subfolders if name.casefold() not in ("training", "pool")]
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        paths = [name if inside == "." else f"{inside}/{name}" for name in files if name.lower().endswith(".csv")]
        found += [path for path in paths if path.casefold() != "pool.csv" and path.rpartition("/")[2][0] != "."]
    return iter(sorted(found))


def _rating_table(path: Path) -> _Table | str:
    """Header and lines of a CSV file of ratings, or why it is none."""
    return _table_with(path, _NEEDED)


def _table_with(path: Path, needed: Sequence[str]) -> _Table | str:
    """Header (as `column_key` spells it) and lines of a CSV file that has some columns, or why it is none."""
    try:
        text = _decode(path.read_bytes())
    except OSError:
        return "CSV that cannot be read"
    for separator in _SEPARATORS:
        try:
            lines = _lines(text, separator)
        except csv.Error:
            return "CSV that cannot be read"
        header = [column_key(cell) for cell in lines[0][1]] if lines else []
        if all(column in header for column in needed):
            return header, lines[1:]
    return "CSV without the columns of ratings"


def _lines(text: str, separator: str) -> list[tuple[int, list[str]]]:
    """Lines with their number, but for blank ones."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    return [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]


def _decode(raw: bytes) -> str:
    """Text of a file in UTF-8 or UTF-16 with or without a mark, or in the encoding of a western spreadsheet."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace")
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1")


def _cell(cells: Sequence[str], place: int) -> str:
    return cells[place].strip() if 0 <= place < len(cells) else ""


def _rows_of(file: str, table: _Table, rejections: Rejections) -> Iterator[RatingRow]:
    """Rows of one CSV file that say something about two images."""
    header, lines = table
    columns = ("image1", "image1path", "image2", "image2path", "similarity", "textquery", "kind", "triplet")
    places = [header.index(column) if column in header else -1 for column in columns]
    for line, cells in lines:
        name1, path1, name2, path2, similarity, query, kind, triplet = (_cell(cells, place) for place in places)
        row = RatingRow(
            file, line, name1, path1, name2, path2, 0, clean_query(query), _KINDS.get(column_key(kind), RATED), triplet
        )
        sign = _sign(similarity)
        if not (path1 or name1) or not (path2 or name2):
            rejections.add("row without two images", row.example)
        elif sign == 0:
            rejections.add("similarity is neither 1 nor -1", f"{row.example} | {similarity!r}")
        else:
            yield row._replace(sign=sign)


def _sign(similarity: str) -> int:
    """1 or -1 for what can be read as that, else 0."""
    try:
        value = float(similarity.replace("\u2212", "-"))  # a minus sign that word processors put for the hyphen
    except ValueError:
        return 0
    return int(value) if value in (1.0, -1.0) else 0
