"""Tables of the report: from an exhibit's Markdown, its comparison or a data frame to cells that a template writes.

What a paper prints is laid out in Markdown by `lookalike.exhibits`, with every number as far as it is known; it is read
back from there so that a page and a file never differ. Cells carry the key that they are sorted by, for the numbers of
a table have signs, commas, intervals and deviations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lookalike.report.rich import pipe_cells

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 1000
"""Rows of a data frame that a page shows; the file has all."""
MISSING = "–"
"""What stands where there is no number, so that no cell is empty to a screen reader."""
_NUMBER = re.compile(r"[+-]?(\d[\d,]*\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_DIVIDER = re.compile(r"\|(\s*:?-+:?\s*\|)+")
_WHOSE = {"ours": "ours", "simulated": "ours", "paper": "paper"}
_TITLES = {
    "cpu_seconds": "CPU seconds",
    "longest_seconds": "longest, seconds",
    "peak_megabytes": "peak memory, MB",
    "printed_setting": "printed setting",
    "printed_std": "printed std",
    "ours_std": "our std",
    "difference_in_fold_std": "in std",
}


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes
    ----------
    text : str
        What it shows.
    key : str
        What its column is sorted by: a number, or text in lower case; "" sorts last.
    rows : int
        How many rows it spans.
    """

    text: str
    key: str = ""
    rows: int = 1


@dataclass(frozen=True)
class Column:
    """Head of a column: its title, and whether it has numbers."""

    title: str
    is_number: bool = False


@dataclass(frozen=True)
class Row:
    """Cells of one row, and whose numbers they are: ``ours``, ``paper`` or ""."""

    cells: tuple[Cell, ...]
    whose: str = ""


@dataclass(frozen=True)
class Grid:
    """A table to be written.

    Attributes
    ----------
    caption : str
        What it shows, for those who do not see what stands around it.
    columns : tuple of Column
    rows : tuple of Row
    sortable : bool
        Whether its rows stand for themselves, so that they may change places.
    rest : int
        How many rows were left out.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    sortable: bool = False
    rest: int = 0


@dataclass(frozen=True)
class Paragraph:
    """Text between tables; `strong` where it is set in bold, as what stands above a table is."""

    text: str
    strong: bool = False


def sort_key(text: str) -> str:
    """Return what a cell is sorted by: its first number where it begins with one, else its text in lower case.

    Examples
    --------
    ``"1,835 ± 210"`` gives ``"1835"``, ``"+7.9"`` gives ``"7.9"``, ``"–"`` gives ``""``.
    """
    text = text.strip().replace("\u2212", "-")
    if text in ("", "-", MISSING):
        return ""
    found = _NUMBER.match(text.lstrip("<>~≥≤ "))
    return found.group().replace(",", "").removeprefix("+") if found else text.lower()


def read_markdown(text: str, caption: str) -> list[Grid | Paragraph]:
    """Read tables and paragraphs back from an exhibit's Markdown.

    Parameters
    ----------
    text : str
        As `lookalike.exhibits.write` writes it: a heading, pipe tables, paragraphs, bold lines.
    caption : str
        Title of the exhibit; a table's own caption adds its number where there are several.

    Returns
    -------
    list of Grid or Paragraph
        In their order, without headings.
    """
    blocks: list[Grid | Paragraph] = []
    for chunk in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in chunk.strip().splitlines() if not line.startswith("#")]
        if not lines:
            continue
        if len(lines) > 1 and _DIVIDER.fullmatch(lines[1]):
            blocks.append(_grid(lines, caption))
            continue
        paragraph = " ".join(lines)
        strong = len(paragraph) > 4 and paragraph.startswith("**") and paragraph.endswith("**")
        blocks.append(Paragraph(paragraph.strip("*") if strong else paragraph, strong))
    return _numbered(blocks)


def comparison_grid(blocks: Iterable[Grid | Paragraph], caption: str) -> tuple[Grid | None, list[str]]:
    """The comparison among the blocks of ``*_compare.md``, sortable, and the sentences around it."""
    grid, sentences = None, []
    for block in blocks:
        if isinstance(block, Paragraph):
            sentences.append(block.text)
        else:
            rows = tuple(_unspanned(block))
            grid = _without_empty_columns(replace(block, caption=caption, sortable=True, rows=rows))
    return grid, sentences


def frame_grid(frame: pd.DataFrame, caption: str, *, limit: int = MOST_ROWS, digits: int = 4) -> Grid:
    """Lay out a data frame: a sortable table with numbers to a few significant digits.

    Parameters
    ----------
    frame : DataFrame
    caption : str
    limit : int
        The most rows that are shown.
    digits : int
        Significant digits of fractions; whole numbers are shown whole.

    Returns
    -------
    Grid
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    kinds = [is_numeric_dtype(kind) and not is_bool_dtype(kind) for kind in frame.dtypes]
    names = [str(name) for name in frame.columns]
    columns = tuple(
        Column(_TITLES.get(name, name.replace("_", " ")), kind) for name, kind in zip(names, kinds, strict=True)
    )
    shown = frame.head(limit)
    values = [[_shown(value, digits) for value in shown.iloc[:, place]] for place in range(len(columns))]
    rows = tuple(Row(tuple(Cell(text, sort_key(text)) for text in cells)) for cells in zip(*values, strict=True))
    return Grid(caption, columns, rows, sortable=True, rest=len(frame) - len(shown))


def _shown(value: object, digits: int) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, float):
        # whole numbers that a column with gaps made fractions, such as k of a curve
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:,.{digits}g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value) if hasattr(value, "strip") and str(value) else _plain(value, digits)


def _plain(value: object, digits: int) -> str:
    """Numbers of numpy as those of Python; any other value as text."""
    item = getattr(value, "item", None)
    return _shown(item(), digits) if item is not None else str(value) or MISSING


def _grid(lines: Sequence[str], caption: str) -> Grid:
    header, divider, *body = [pipe_cells(line) for line in lines]
    columns = tuple(Column(title, mark.strip().endswith(":")) for title, mark in zip(header, divider, strict=True))
    rows = [_padded(cells, len(columns)) for cells in body]
    return Grid(caption, columns, tuple(_spanned(rows)))


def _padded(cells: list[str], width: int) -> list[str]:
    return (cells + [""] * width)[:width]


def _spanned(rows: Sequence[list[str]]) -> list[Row]:
    """Rows whose first cell spans the rows beneath that have none: ours and the paper's under one name."""
    made: list[Row] = []
    for place, cells in enumerate(rows):
        whose = next((_WHOSE[word] for word in (cell.partition(",")[0] for cell in cells[:2]) if word in _WHOSE), "")
        rest = [_cell(text) for text in cells[1:]]
        if not cells[0] and place:
            made.append(Row(tuple(rest), whose))
            continue
        below = 0
        while place + below + 1 < len(rows) and not rows[place + below + 1][0]:
            below += 1
        made.append(Row((Cell(cells[0] or MISSING, sort_key(cells[0]), 1 + below), *rest), whose))
    return made


def _unspanned(grid: Grid) -> list[Row]:
    """The same rows with every first cell in its own row, for rows that may change places."""
    made: list[Row] = []
    for row in grid.rows:
        short = len(grid.columns) - len(row.cells)
        first = (Cell(MISSING),) if short else (replace(row.cells[0], rows=1),)
        made.append(Row((*first, *(row.cells if short else row.cells[1:])), row.whose))
    return made


def _without_empty_columns(grid: Grid) -> Grid:
    """The same table without columns that have nothing in any row, such as methods of numbers that are of none."""
    kept = [place for place in range(len(grid.columns)) if any(row.cells[place].text != MISSING for row in grid.rows)]
    return replace(
        grid,
        columns=tuple(grid.columns[place] for place in kept),
        rows=tuple(replace(row, cells=tuple(row.cells[place] for place in kept)) for row in grid.rows),
    )


def _cell(text: str) -> Cell:
    shown = f"{int(text):,}" if re.fullmatch(r"\d{5,}", text) else text
    return Cell(MISSING if text in ("", "-") else shown, sort_key(text))


def _numbered(blocks: list[Grid | Paragraph]) -> list[Grid | Paragraph]:
    """Captions that tell several tables of one exhibit apart."""
    total = sum(isinstance(block, Grid) for block in blocks)
    if total < 2:
        return blocks
    number, made = 0, list[Grid | Paragraph]()
    for block in blocks:
        if isinstance(block, Grid):
            number += 1
            block = replace(block, caption=f"{block.caption}, part {number} of {total}: {block.columns[0].title}")
        made.append(block)
    return made
