"""Exhibits that are declared in a study's exhibits.yaml: which rows of results they show, and how they lay them out.

A study gives rows of results and printed rows with a column for each part of their setting, such as ``codebook`` and
``landmark``, and the titles of values of a column, whose order is that of a table's rows and columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
from pydantic import Field

from lookalike.core.settings.model import ABSENT, Absent, Section

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study


class Layout(Section):
    """A table of cells: the columns of results that make its rows, its columns and its blocks."""

    rows: str
    columns: str = "method"
    blocks: str = ""
    form: str = ".1f"
    """Format of a mean and its standard deviation, or the name of one of `lookalike.exhibits.tables.FORMS`."""
    forms: dict[str, str] = Field({})
    """Metric to its format, where it has another one."""
    spread: str = ""
    """Format of a standard deviation that has another one."""
    interval: bool = False
    """Whether a mean stands with the interval of its contrast in place of a standard deviation."""
    printed: str = "g"
    """Format of a printed number; ``as ours`` writes it, and its standard deviation, like ours."""
    scale: float = 1
    """What numbers are multiplied by where cells write them."""
    best: str = ""
    """``max`` or ``min``: which number of a row is bold."""
    minus: str = ""
    """Method that is taken from all others, in a column of differences with their intervals behind each."""
    over: str = ""
    """Method over whose numbers all others are given once more, as ratios below."""
    below: dict[str, str] = Field({})
    """Metric to its title: differences of the first method from all others, with each interval, below."""


class AxisEntry(Section):
    """An axis of a figure."""

    label: str
    scale: Literal["linear", "log"] = "linear"
    low: Absent[float] = ABSENT
    high: Absent[float] = ABSENT
    tick_form: Literal["", "short"] = ""
    at_points: bool = False
    """Whether ticks stand at the points alone."""
    text: str = "{:,.6g}"


class Level(Section):
    """A straight line at the mean of a metric of one method."""

    name: str
    method: str
    metric: str
    where: dict[str, str] = Field({})
    """Column to value: the panels that have it; all if left out."""
    has_value: bool = False
    """Whether its value stands beside it."""


class Curves(Section):
    """A figure of means over repeats, with standard errors."""

    panels: list[str]
    """Columns of results whose values make the panels."""
    x: AxisEntry
    y: AxisEntry
    last: float = math.inf
    """The largest x that is shown."""
    minus: str = ""
    """Method that is taken from all others, repeat by repeat."""
    level: Absent[Level] = ABSENT
    upright: Absent[Level] = ABSENT
    zero: str = ""
    """Name of a line at zero."""
    printed: dict[str, float | Literal["upright"]] = Field({})
    """Printed metric to the x at which it stands, or to the upright line."""
    printed_methods: list[str] = Field([])
    """Methods whose printed numbers are shown; all that the figure shows if left out."""
    apart: float = 0
    """How far curves stand beside each other, so that error bars do not cover each other; in decades on a logarithmic
    axis."""
    training: str = ""
    """Metric of training images, whose curves have a look of their own."""
    thin: str = ""
    """Title of methods that are thin lines behind the others."""


class Declared(Section):
    """One entry of exhibits.yaml."""

    title: str
    caption: str
    where: dict[str, str | list[str]] = Field({})
    """Column to the value, or the values, that rows have. A study without one of its settings has no such exhibit."""
    shows: list[str] = Field(["methods"])
    """Methods that it shows, by id or by the key of the study's settings that lists them."""
    runs: list[str] = Field([])
    """Methods that it does not show, and without whose runs it has nothing to show."""
    without: dict[str, list[str]] = Field({})
    """Column to values that are left out."""
    real: bool = False
    """Whether it is of photographs that no code made."""
    condition: str = "settings that ask for it"
    titles: dict[str, dict[str, str]] = Field({})
    """Column to titles that differ from those of the study."""
    unit: str | dict[str, str] = "percent"
    """Unit of its numbers, or of those of each metric."""
    table: Absent[Layout] = ABSENT
    figure: Absent[Curves] = ABSENT
    text: dict[str, str] = Field({})
    """Metrics that a paper tells in its text, to their titles."""
    forms: dict[str, str] = Field({})
    """Metric of the text to the format of ours, where it is no whole number."""
    notes: list[str] = Field([])

    @property
    def needed(self) -> list[str]:
        """Methods whose numbers it needs: those that it shows, and those that they are compared with."""
        figure, table = self.figure, self.table
        lines = [] if figure is None else [line.method for line in (figure.level, figure.upright) if line is not None]
        others = [figure.minus if figure is not None else "", *((table.minus, table.over) if table is not None else ())]
        return list(dict.fromkeys(filter(None, (*self.shows, *self.runs, *lines, *others))))

    @property
    def metrics(self) -> list[str]:
        """Metrics that it shows."""
        metric = self.where.get("metric", [])
        return [metric] if isinstance(metric, str) else metric


def chosen(rows: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows that have these values; of a list each value passes."""
    for column, value in where.items():
        rows = rows[rows[column].isin(value if isinstance(value, list) else [value])]
    return rows


def values_of(declared: Declared, study: Study, axis: str) -> dict[str, str]:
    """Return the values of an axis with their titles, in their order: those of the entry, else those of the study."""
    if axis == "method":
        found = {method: study.title_of(method) for method in study.methods_named(declared.shows)}
    else:
        found = dict(study.titles_of(axis))
    given = declared.where.get(axis)
    if given is not None:
        found = {value: found.get(value, value) for value in ([given] if isinstance(given, str) else given)}
    titles, left_out = declared.titles.get(axis, {}), declared.without.get(axis, [])
    return {value: titles.get(value, title) for value, title in found.items() if value not in left_out}


def keyed(rows: pd.DataFrame, axes: list[str]) -> pd.MultiIndex:
    """Return the values of some columns as an index."""
    return pd.MultiIndex.from_frame(rows[axes])
