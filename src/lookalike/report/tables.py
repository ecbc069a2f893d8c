"""Tables of the report that are no exhibit's own: data frames as sheets, which `lookalike.exhibits.sheets` writes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from lookalike.exhibits.sheets import Sheet, html

MOST_ROWS = 250
"""Rows of a data frame that a page shows; the file has all."""
MISSING = "–"
"""What stands where there is no number, so that no cell is empty to a screen reader."""
TOLD = ("ours", "printed", "unit", "status", "reason")
"""Columns of numbers beside print that come last, in this order; those before them name the number."""
UNTOLD = ("last_digit", "note", "ours_std", "printed_std", "ours_cell", "printed_cell")
"""Columns that nobody reads, or that the cells' texts tell already."""
TITLES = {
    "cpu_seconds": "CPU seconds",
    "longest_seconds": "longest, seconds",
    "peak_megabytes": "peak memory, MB",
    "printed_std": "printed std",
    "ours_std": "our std",
}


@dataclass(frozen=True)
class Grid:
    """A table as markup, and what is said of it."""

    caption: str
    html: str
    n_rows: int
    rest: int = 0
    """Rows that are in the file and not here."""
    sortable: bool = True


def grids_of(sheets: Sequence[Sheet], caption: str, name: str) -> list[Grid]:
    """Tables of an exhibit's sheets, as its files show them; `name` makes ids unique on a page."""
    return [
        Grid(_part(caption, sheet, place, len(sheets)), html([_spoken(sheet)], f"{name}-{place}"), len(sheet.rows),
             sortable=False)
        for place, sheet in enumerate(sheets)
    ]  # fmt: skip


def _part(caption: str, sheet: Sheet, place: int, total: int) -> str:
    title = sheet.heading or sheet.title
    return caption if total < 2 else f"{caption}, part {place + 1} of {total}{f': {title}' if title else ''}"


def _spoken(sheet: Sheet) -> Sheet:
    """The same sheet with a dash where a number is missing."""
    rows = tuple(
        tuple(MISSING if is_number and cell in ("", "-") else cell
              for cell, is_number in zip(row, sheet.numbers, strict=True))
        for row in sheet.rows
    )  # fmt: skip
    return replace(sheet, rows=rows)


def frame_grid(frame: pd.DataFrame, caption: str, name: str, limit: int = MOST_ROWS, right: Sequence[str] = ()) -> Grid:
    """A data frame as a sortable table of `limit` rows; columns of text named in `right` are aligned as numbers are."""
    shown = frame.head(limit)
    heads = tuple(TITLES.get(str(column), str(column).replace("_", " ")) for column in shown)
    columns = [shown[column] for column in shown]
    numbers = tuple(
        column.name in right or (bool(is_numeric_dtype(column)) and not is_bool_dtype(column)) for column in columns
    )
    rows = tuple(zip(*([text_of(value) for value in column.tolist()] for column in columns), strict=True))
    return Grid(caption, html([Sheet("", heads, rows, numbers)], name), len(rows), len(frame) - len(rows))


def comparison_grid(cells: pd.DataFrame, caption: str, name: str) -> Grid:
    """Ours beside the printed numbers: the texts of both cells, without columns that say nothing."""
    shown = cells.drop(columns=[column for column in UNTOLD if column in cells])
    texts = [column for column in ("ours", "printed") if f"{column}_cell" in cells]
    shown = shown.assign(**{column: cells[f"{column}_cell"] for column in texts})
    names = [name for name in shown if name not in TOLD and shown[name].nunique(dropna=False) > 1]
    kept = [*names, *(column for column in TOLD if column in shown and shown[column].notna().any())]
    return frame_grid(shown[kept], caption, name, right=texts)


def text_of(value: Any) -> str:
    """A value as a cell shows it."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.4g}"
    return f"{value:,.0f}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
