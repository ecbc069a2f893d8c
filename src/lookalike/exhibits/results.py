"""The one table of results: a row is one measured number, whatever the study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from lookalike.core.files import PathLike, read_table, write_table

COLUMN_TYPES = dict.fromkeys(("study", "setting", "method", "repeat", "metric"), "str")
COLUMN_TYPES |= {"x": "float64", "value": "float64", "unit": "str"}
"""``setting`` is what the papers' tables have a block of (``classes=10``, ``codebook=10k``), ``repeat`` the fold, draw,
seed or landmark, and ``x`` what a curve runs along, NaN elsewhere."""
TIMED_OUT, UNFINISHED = "timed out", "unfinished"
LAST_STEP, GRID_END = "chose the last step", "chose an end of its grid"
"""Metrics of a fit, 1 or 0: it ran into its time limit and has no result; it reached its limit of steps; the last
traced step was chosen; an end of a grid was chosen."""


def results_frame(rows: pd.DataFrame | Iterable[Mapping[str, object]]) -> pd.DataFrame:
    """Return rows of results as a frame; a column that is left out is "", or NaN for a number."""
    given = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    texts = [column for column, kind in COLUMN_TYPES.items() if kind == "str"]
    table = given.reindex(columns=list(COLUMN_TYPES)).astype(COLUMN_TYPES | dict.fromkeys(texts, "object"))
    return table.fillna(dict.fromkeys(texts, ""))


def write_results(rows: pd.DataFrame | Iterable[Mapping[str, object]], path: PathLike) -> None:
    """Write rows of results as a table that `read_results` reads."""
    write_table(results_frame(rows), path)


def read_results(path: PathLike) -> pd.DataFrame:
    """Read a table of results."""
    table: pd.DataFrame = read_table(path)[list(COLUMN_TYPES)]
    return table


def select(rows: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Return the rows with these values, such as ``metric="map", subset="var10"``; of a list each value passes."""
    for column, value in values.items():
        wanted = rows[column].isin(value) if isinstance(value, (list, tuple, set)) else rows[column] == value
        rows = rows[wanted]
    return rows


def rows_in(frame: pd.DataFrame) -> Iterable[Any]:
    """Return the rows of a frame as named tuples."""
    return frame.itertuples(index=False)


def with_parts(rows: pd.DataFrame) -> pd.DataFrame:
    """Add a column for each part of a setting: ``codebook`` and ``landmark`` of ``codebook=10k;landmark=tower``."""
    found = rows["setting"].drop_duplicates()
    parts = [dict(part.split("=", 1) for part in setting.split(";") if "=" in part) for setting in found]
    named = pd.DataFrame(parts, index=found.to_numpy(), dtype="object")
    return rows.join(named, on="setting") if len(named.columns) else rows
