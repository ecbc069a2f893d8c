"""Tables of the report: sheets of exhibits and data frames, in words for readers from the files beside this one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pandas as pd
import yaml
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from lookalike.exhibits.model import Sheet
from lookalike.exhibits.style import TITLES
from lookalike.exhibits.tables import html
from lookalike.report.pages import view_id
from lookalike.report.results import ShownExhibit

GLOSSARY, NAMES = (Path(__file__).with_name(name) for name in ("glossary.yaml", "names.yaml"))
COLUMNS, VALUES, LIBRARIES = cast(
    "tuple[dict[str, str], ...]", tuple(yaml.safe_load(NAMES.read_text(encoding="utf-8")).values())
)
"""Keys of the code to what pages call them."""
MOST_ROWS = 250
"""Rows of a data frame that a page shows; the file has all."""
MISSING = "–"
"""What stands where there is no number, so that no cell is empty to a screen reader."""
KEY = re.compile(r"[a-z]+(_[a-z0-9]+)+")
"""A value that is a key of the code and has no words of its own is shown with spaces."""
Titles = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Grid:
    """A table as markup, and what is said of it."""

    caption: str
    html: str
    n_rows: int
    rest: int = 0
    """Rows that are in the file and not here."""
    sortable: bool = True
    title: str = ""
    """What it is of, where it is one of several parts; it stands in the table's head."""


def terms() -> dict[str, str]:
    """Return a plain sentence for every term of the glossary, in alphabetical order."""
    written = yaml.safe_load(GLOSSARY.read_text(encoding="utf-8"))
    return dict(sorted(written.items(), key=lambda item: item[0].lower()))


def grids_of(exhibit: ShownExhibit) -> list[Grid]:
    """Return the tables of an exhibit's sheets, as its files show them, with a dash where a number is missing."""
    grids, n_sheets = [], len(exhibit.sheets)
    for place, sheet in enumerate(exhibit.sheets):
        title = sheet.heading or sheet.title
        part = f", part {place + 1} of {n_sheets}{f': {title}' if title else ''}" if n_sheets > 1 else ""
        cells = [zip(row, sheet.numbers, strict=True) for row in sheet.rows]
        rows = [tuple(MISSING if is_number and cell in ("", "-") else cell for cell, is_number in row) for row in cells]
        markup = html([replace(sheet, rows=tuple(rows))], f"{view_id(exhibit)}-{place}")
        own = sheet.title if part else ""
        grids.append(Grid(f"{_title(exhibit)}{part}", markup, len(rows), sortable=False, title=own))
    return grids


def _title(exhibit: ShownExhibit) -> str:
    return f"{exhibit.heading}, {exhibit.dataset_title}"


def frame_grid(
    frame: pd.DataFrame, caption: str, name: str, titles: Titles | None = None, limit: int = MOST_ROWS
) -> Grid:
    """Return a data frame as a sortable table of `limit` rows; with `titles` its values are in words.

    `name` makes ids unique on a page.
    """
    columns = [(str(column), values) for column, values in frame.head(limit).items()]
    heads = tuple(COLUMNS.get(column, column.removeprefix("n_").replace("_", " ")) for column, _ in columns)
    numbers = tuple(bool(is_numeric_dtype(values)) and not is_bool_dtype(values) for _, values in columns)
    texts = [
        [text_of(value, None if titles is None else titles.get(column, {})) for value in values.tolist()]
        for column, values in columns
    ]
    rows = tuple(zip(*texts, strict=True))
    return Grid(caption, html([Sheet("", heads, rows, numbers)], name), len(rows), len(frame) - len(rows))


def telling(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of a frame that tell its rows apart; one row keeps what it has."""
    least = min(len(frame), 2)
    return frame[[column for column in frame if frame[column].nunique() >= least]]


def drawn_grid(exhibit: ShownExhibit) -> Grid | None:
    """Return what a figure draws, as a table; None for what is a table itself."""
    frame = exhibit.table() if exhibit.kind != "table" else pd.DataFrame()
    caption = f"Plotted numbers: {_title(exhibit)}"
    return None if frame.empty else frame_grid(telling(frame), caption, f"{view_id(exhibit)}-drawn", exhibit.titles)


def text_of(value: object, titles: Mapping[str, str] | None = None) -> str:
    """Return a value as a cell has it: numbers short, with separators of thousands; with `titles` keys are words."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        if titles is None:
            return value
        named = titles.get(value) or VALUES.get(value) or TITLES.get(value, "")
        return named or (value.replace("_", " ") if KEY.fullmatch(value) else value)
    is_short = isinstance(value, float) and not value.is_integer() and abs(value) < 1000
    return f"{value:.4g}" if is_short else f"{value:,.0f}"
