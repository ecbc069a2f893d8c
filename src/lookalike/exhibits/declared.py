"""Exhibits that are declared in a study's exhibits.yaml: which rows of results they show, and how they lay them out.

A study gives rows of results and printed rows with a column for each part of their setting, such as ``codebook`` and
``landmark``, and the titles of values of a column, whose order is that of a table's rows and columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import yaml
from pydantic import Field

from lookalike.core.settings.model import ABSENT, Absent, Section
from lookalike.exhibits.margins import margin
from lookalike.exhibits.model import Margin, Table
from lookalike.exhibits.printed import STAR, plus_minus, significant
from lookalike.exhibits.registry import Exhibit, declare
from lookalike.exhibits.results import TIMED_OUT
from lookalike.exhibits.words import gap

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

BEST: Mapping[str, Callable[[Iterable[float]], float]] = {"max": max, "min": min}


class Margins(Section):
    """Pairs of methods whose difference the front page shows."""

    pairs: list[list[str]]
    metric: str
    """Its name in sentences."""
    setting: str = ""
    """Words behind the title of the setting, such as ``visual words``."""
    interval: str


class Layout(Section):
    """A table of cells: the columns of results that make its rows, its columns and its blocks."""

    rows: str
    columns: str = "method"
    blocks: str = ""
    form: str = ".1f"
    """Format of a mean and its standard deviation, or ``significant``."""
    printed: str = "g"
    """Format of a printed number."""
    best: str = ""
    """``max`` or ``min``: which number of a row is bold."""
    minus: str = ""
    """Method that is taken from all others, in a column of differences with their intervals behind each."""


class Declared(Section):
    """One entry of exhibits.yaml."""

    title: str
    caption: str
    where: dict[str, str] = Field({})
    """Column to the value that all rows have. A study without one of its settings has no such exhibit."""
    without: dict[str, list[str]] = Field({})
    """Column to values that are left out."""
    real: bool = False
    """Whether it is of photographs that no code made."""
    condition: str = "settings that ask for it"
    titles: dict[str, dict[str, str]] = Field({})
    """Column to titles that differ from those of the study."""
    unit: str = "percent"
    table: Absent[Layout] = ABSENT
    text: dict[str, str] = Field({})
    """Metrics that a paper tells in its text, to their titles."""
    margins: Absent[Margins] = ABSENT
    notes: list[str] = Field([])


@cache
def declare_all(room: str, path: Path) -> None:
    """Make every entry of a study's exhibits.yaml an exhibit, once."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for id, entry in entries.items():
        declare(exhibit_of(id, room, Declared.model_validate(entry)))


def exhibit_of(id: str, room: str, declared: Declared) -> Exhibit:
    """Return the exhibit that an entry declares."""
    parts = {column: value for column, value in declared.where.items() if column != "metric"}

    def has_all(study: Study) -> bool:
        return not (declared.real and study.synthetic) and all(
            value in study.titles_of(column) for column, value in parts.items()
        )

    return Exhibit(
        id,
        room,
        declared.title,
        "table",
        partial(numbers_in_text if declared.text else table_of, declared),
        needs=("results",),
        optional=("times",),
        asks=tuple(declared.where.values()),
        shows=("methods",),
        when=has_all,
        condition=declared.condition,
        caption=declared.caption,
        drawn_by=f"studies/{room}/exhibits.yaml",
    )


def chosen(rows: pd.DataFrame, where: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows that have these values."""
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return rows


def table_of(declared: Declared, study: Study) -> Table:
    """Return a table: the mean of each cell over its repeats, the paper's number beneath, and ``*`` of lost fits."""
    layout = declared.table
    if layout is None:
        raise ValueError(f"{declared.title} has no table")
    axes = [axis for axis in (layout.blocks, layout.rows, layout.columns) if axis]
    fixed = {axis: [value] for axis, value in declared.where.items() if axis in axes}
    values = {axis: fixed.get(axis) or _kept(list(study.titles_of(axis)), declared.without.get(axis)) for axis in axes}
    rows = chosen(study.results, declared.where)
    rows = rows.assign(value=rows["value"].where(rows["unit"] != "fraction", 100 * rows["value"]))
    numbers = rows.groupby(axes)["value"].agg(ours="mean", ours_std="std", n="count")
    printed = chosen(study.printed_results(), declared.where).rename(
        columns={"value": "printed", "spread": "printed_std"}
    )
    cells = pd.DataFrame(product(*values.values()), columns=axes).assign(metric=declared.where.get("metric", ""))
    cells = cells.merge(numbers.reset_index(), on=axes, how="left")
    cells = cells.merge(printed[[*axes, "printed", "printed_std"]].drop_duplicates(axes), on=axes, how="left")
    lost = pd.MultiIndex.from_frame(cells[axes]).isin(lost_fits(study, declared, axes))
    # where a fit did not end, the others are the easier part
    cells.loc[lost, ["ours", "ours_std"]] = math.nan
    form = significant if layout.form == "significant" else partial(plus_minus, form=layout.form)
    written = pd.Series([form(*pair) for pair in zip(cells["ours"], cells["ours_std"], strict=True)], dtype=str)
    cells["ours_cell"] = written.mask(lost, STAR)
    cells["printed_cell"] = ["" if math.isnan(value) else format(value, layout.printed) for value in cells["printed"]]
    cells["unit"] = declared.unit
    titles = {axis: {**study.titles_of(axis), **declared.titles.get(axis, {})} for axis in axes}
    if layout.minus:
        cells = pd.concat([cells, differences(declared, layout, study, cells)], ignore_index=True)
        columns = [name for value in values[layout.columns] for name in (value, f"{value}, minus")]
        cells = cells.sort_values(layout.columns, key=lambda names: names.map(columns.index), kind="stable")
        minus = f"minus {titles['method'][layout.minus]}"
        titles[layout.columns] |= {f"{value}, minus": minus for value in values[layout.columns]}
    return Table(
        cells,
        (layout.rows,),
        layout.columns,
        layout.blocks,
        titles=titles,
        notes=tuple(declared.notes),
        compared=layout.columns if layout.best else "",
        best={str(cells["metric"].iloc[0]) if len(cells) else "": BEST[layout.best]} if layout.best else {},
        margins=margins_of(declared, study),
    )


def differences(declared: Declared, layout: Layout, study: Study, cells: pd.DataFrame) -> pd.DataFrame:
    """Return a cell behind each, with the difference from the method that is taken from all, and its interval."""
    found = []
    for cell in cells.to_dict("records"):
        setting = cell.get("setting", "")
        rows = study.contrasts.intervals(setting, cell["metric"], cell["method"], layout.minus)
        names = {axis: cell[axis] for axis in (layout.blocks, layout.rows, layout.columns) if axis}
        names |= {layout.columns: f"{cell[layout.columns]}, minus", "metric": cell["metric"], "unit": "points"}
        numbers: dict[str, object] = {"ours_cell": "", "printed_cell": ""}
        if rows:
            numbers |= {"ours": rows[0].mean, "low": rows[0].low, "high": rows[0].high, "n": rows[0].n}
            numbers["ours_cell"] = gap(rows, has_unit=False)
        found.append(names | numbers)
    return pd.DataFrame(found)


def _kept(values: list[str], left_out: list[str] | None) -> list[str]:
    """Return values without some."""
    return [value for value in values if value not in (left_out or ())]


def lost_fits(study: Study, declared: Declared, axes: list[str]) -> pd.MultiIndex:
    """Return the cells of fits that ran into their time limit."""
    rows = chosen(study.results, declared.where | {"metric": TIMED_OUT})
    return pd.MultiIndex.from_frame(rows.loc[rows["value"] > 0, axes].drop_duplicates())


def margins_of(declared: Declared, study: Study) -> tuple[Margin, ...]:
    """Return the differences of a table that the front page shows, ours beside print."""
    about = declared.margins
    if about is None:
        return ()
    metric = declared.where["metric"]
    setting = ";".join(f"{column}={value}" for column, value in declared.where.items() if column != "metric")
    ours, printed = (study.means(rows, setting, metric) for rows in (study.results, study.printed_results()))
    title = " ".join(filter(None, (study.setting_title(setting), about.setting)))
    names = {"setting": title, "metric": about.metric, "interval": about.interval}
    found = []
    for first, second in about.pairs:
        rows = study.contrasts.intervals(setting, metric, first, second)
        if rows and {first, second} <= ours.keys() and not math.isnan(rows[0].mean):
            found.append(margin(study, rows, ours, printed, **names))
    return tuple(found)


def numbers_in_text(declared: Declared, study: Study) -> Table:
    """Return numbers that a paper prints in its text, ours beside them; what it does not print is left out."""
    numbers = study.results[study.results["metric"].isin(declared.text)].groupby("metric")["value"]
    printed = study.printed_results()
    cells = printed[printed["metric"].isin(declared.text)].drop_duplicates("metric")
    cells = cells[["metric", "value", "spread"]].rename(columns={"value": "printed", "spread": "printed_std"})
    cells = cells.merge(numbers.agg(ours="mean", ours_std="std").reset_index(), on="metric", how="left")
    order = list(declared.text)
    cells = cells.sort_values("metric", key=lambda names: names.map(order.index), ignore_index=True)
    for side in ("ours", "printed"):
        pairs = zip(cells[side], cells[f"{side}_std"], strict=True)
        cells[f"{side}_cell"] = [plus_minus(mean, std, ",.10g" if side == "printed" else ",.0f") for mean, std in pairs]
    heads = {"metric": study.title, "ours_cell": "ours", "printed_cell": "paper"}
    numbers_are = frozenset(("ours_cell", "printed_cell"))
    return Table(cells.assign(unit=""), heads=heads, titles={"metric": declared.text}, numbers=numbers_are)
