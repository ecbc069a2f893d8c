"""Figures that are declared: means of rows of results over repeats along x, a panel for each part of a setting.

Error bars are standard errors over repeats. A point that some repeats lack is left out: its mean would be of others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lookalike.exhibits.drawing import lettered
from lookalike.exhibits.model import Axis, Figure, Line, Panel, Series
from lookalike.exhibits.printed import PARTITIONS
from lookalike.exhibits.registry import Exhibit, Level
from lookalike.exhibits.results import TIMED_OUT, select
from lookalike.exhibits.style import BLACK, GREY, TRAINING, Look, look_of, looks_of
from lookalike.exhibits.tables import cells_of, keyed, values_of

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

Where = Mapping[str, str]
"""Column to value: the rows of one panel."""
PRINTED, UPRIGHT = ", printed", ", upright"
"""What stands behind a method in the column ``method`` of rows that are no curve."""
NO_ROWS = pd.DataFrame({name: pd.Series(dtype="object") for name in ("method", "mean")})
THIN, DASHED, DOTTED = Look(GREY, ""), Look(BLACK, "", "--"), Look(GREY, "", ":")


def figure_of(exhibit: Exhibit, study: Study) -> Figure:
    """Return a figure with a curve of each method in the panels."""
    layout, curves = exhibit.figure, curves_of(exhibit, study)
    titles = {axis: values_of(exhibit, study, axis) for axis in layout.panels}
    panels, names, parts = list[Panel](), list[str](), [curves]
    for values in product(*titles.values()):
        place = dict(zip(layout.panels, values, strict=True))
        panel, others = panel_of(exhibit, study, place, select(curves, **place))
        panels.append(panel)
        names.append(", ".join(titles[axis][value] for axis, value in place.items()))
        parts += [rows for rows in others if len(rows)]
    titled = [replace(panel, title=title) for panel, title in zip(panels, lettered(names), strict=True)]
    frame = pd.concat([rows for rows in parts if len(rows)] or [curves], ignore_index=True)
    cells = compared(exhibit, study) if layout.printed else None
    # panels of one part stand beside each other
    n_columns = len(titles[layout.panels[-1]]) if len(layout.panels) > 1 else 0
    return Figure(frame, tuple(titled), cells, tuple(exhibit.notes), n_columns=n_columns)


def curves_of(exhibit: Exhibit, study: Study) -> pd.DataFrame:
    """Return means over repeats at each x, with standard errors."""
    layout = exhibit.figure
    keys = [*dict.fromkeys((*layout.panels, "method")), "x"]
    panels = {axis: list(values_of(exhibit, study, axis)) for axis in layout.panels}
    rows = select(study.results, **{**exhibit.where, **panels})
    rows = rows[(rows["x"] <= layout.last) & rows["method"].isin([*study.methods_named(exhibit.shows), layout.minus])]
    rows = rows[~keyed(rows, ["setting", "method"]).isin(easier_parts(rows, study))]
    if layout.minus and len(rows):
        wide = rows.pivot_table(index=[*layout.panels, "repeat", "x"], columns="method", values="value")
        wide = wide.reindex(columns=wide.columns.union([layout.minus]))
        gaps = wide.drop(columns=layout.minus).sub(wide[layout.minus], axis=0)
        rows = gaps.melt(ignore_index=False).dropna().reset_index()
    found = rows.groupby(keys, sort=True)["value"].agg(mean="mean", std="std", n="count").reset_index()
    most = found.groupby(keys[:-1])["n"].transform("max")
    found = found[found["n"] == most].assign(sem=lambda frame: frame["std"] / np.sqrt(frame["n"]))
    found = found.assign(low=found["mean"] - found["sem"], high=found["mean"] + found["sem"])
    return found[[*keys, "mean", "low", "high", "sem", "n"]].reset_index(drop=True)


def easier_parts(rows: pd.DataFrame, study: Study) -> pd.MultiIndex:
    """Return settings and methods that lost fits: what is left is of the easier repeats; traces may have all."""
    keys = ["setting", "method"]
    fits = study.results[study.results["metric"] == TIMED_OUT].groupby(keys)["value"].agg(["sum", "count"])
    n_repeats = rows.groupby(keys)["repeat"].nunique()
    fits = fits[(fits["sum"] > 0) & (n_repeats.reindex(fits.index).fillna(0) < fits["count"])]
    return pd.MultiIndex.from_tuples(list(fits.index), names=keys) if len(fits) else keyed(rows.iloc[:0], keys)


def panel_of(exhibit: Exhibit, study: Study, place: Where, own: pd.DataFrame) -> tuple[Panel, list[pd.DataFrame]]:
    """Return one panel, with its curves or why there are none, and rows of what is no curve, for the CSV."""
    layout, methods = exhibit.figure, values_of(exhibit, study, "method")
    level, upright = (mean_of(line if len(own) else None, study, place) for line in (layout.level, layout.upright))
    upright = upright.rename(columns={"mean": "x"}).assign(method=upright["method"] + UPRIGHT)
    stop = float(upright["x"].mean())
    printed = printed_points(exhibit, study, place, stop)
    series = [*series_of(exhibit, study, place, set(own["method"]))]
    for name in sorted(set(printed["method"])):
        method, where = name.removesuffix(PRINTED), {**place, "method": name}
        about = f"{study.title_of(method)}{PRINTED}", where, "x", "mean", look_of(method), "low", "high"
        series.append(Series(*about, kind="points", hollow=True))
    axes = axis_of(layout.x, own, "x"), axis_of(layout.y, own, "y")
    if not series:
        return Panel("", *axes, empty=study.why_absent(place.get("setting", ""), next(iter(methods), ""))), []
    lines = [Line(layout.zero, 0, DASHED)] if layout.zero else []
    if layout.level is not None and len(level):
        value = float(level["mean"].mean())
        label = f"{value:.2f}" if layout.level.has_value else ""
        # it stands at the end of its line that is farther from the upright one
        is_left = 2 * stop > max(stop, *own["x"], *printed.get("x", ()))
        lines.append(Line(layout.level.name, value, DASHED, label=label, label_left=is_left))
    if layout.upright is not None and len(upright):
        lines.append(Line(layout.upright.name, stop, DOTTED, upright=True))
    return Panel("", *axes, series=tuple(series), lines=tuple(lines)), [level, upright, printed]


def mean_of(line: Level | None, study: Study, place: Where) -> pd.DataFrame:
    """Return the mean of a straight line in a panel as a row without x; none where the panel has no such line."""
    if line is None or any(place[column] != value for column, value in line.where.items()):
        return NO_ROWS
    values = select(study.results, **{**place, "method": line.method, "metric": line.metric})["value"].dropna()
    if values.empty:
        return NO_ROWS
    return pd.DataFrame(
        [{**place, "method": line.method, "mean": values.mean(), "sem": values.sem(), "n": len(values)}]
    )


def printed_points(exhibit: Exhibit, study: Study, place: Where, stop: float) -> pd.DataFrame:
    """Return what the paper prints, at its x, on settings whose numbers may stand beside print."""
    layout, setting = exhibit.figure, place.get("setting", "")
    is_elsewhere = layout.level and any(place[name] != value for name, value in layout.level.where.items())
    if not layout.printed or is_elsewhere or not study.is_comparable(setting):
        return NO_ROWS
    methods = layout.printed_methods or study.methods_named(exhibit.shows)
    rows = select(study.printed_results(), metric=list(layout.printed), method=methods, setting=setting)
    rows = rows[rows["value"].notna()]
    where = {metric: stop if x == "upright" else x for metric, x in layout.printed.items()}
    # standard deviations are printed, in percent, and all error bars are standard errors
    mean, sem = rows["value"] / 100, rows["spread"] / 100 / math.sqrt(PARTITIONS)
    points = pd.DataFrame({"method": rows["method"] + PRINTED, "x": rows["metric"].map(where), "mean": mean})
    return points.assign(**place, low=mean - sem, high=mean + sem, sem=sem, n=0).dropna(subset="x")


def series_of(exhibit: Exhibit, study: Study, place: Where, there: set[str]) -> Iterator[Series]:
    """Yield the curves of a panel; methods of one title have one place in the legend."""
    layout, methods = exhibit.figure, values_of(exhibit, study, "method")
    # where panels have several metrics, names have that of the metric
    metric = values_of(exhibit, study, "metric").get(place.get("metric", ""), "")
    usual = [method for method, title in methods.items() if title != layout.thin]
    looks = looks_of(usual) | dict.fromkeys((method for method in methods if method not in usual), THIN)
    # training images, of whatever method, have a look of their own
    looks |= dict.fromkeys(methods, TRAINING) if place.get("metric") == layout.training else {}
    for method, title in sorted(methods.items(), key=lambda pair: pair[1] != layout.thin):
        if method in there:
            name, where = f"{title}, {metric}" if metric else title, {**place, "method": method}
            if method in usual:
                shift = layout.apart * (usual.index(method) - (len(usual) - 1) / 2)
                yield Series(name, where, "x", "mean", looks[method], "low", "high", shift=shift)
            else:
                yield Series(name, where, "x", "mean", looks[method], kind="thin")


def axis_of(axis: Axis, curves: pd.DataFrame, name: str) -> Axis:
    """Return an axis as declared; what it leaves open ends a little beyond the points."""
    if name == "x" and axis.at_points:
        axis = replace(axis, ticks=tuple((float(x), f"{x:g}") for x in sorted(set(curves["x"]))))
    if axis.high is None and axis.low is not None and axis.scale == "linear" and len(curves):
        most = float(curves["x" if name == "x" else "high"].max())
        axis = replace(axis, high=1.02 * most if name == "x" else min(1.0, 1.08 * most))
    return axis


def compared(exhibit: Exhibit, study: Study) -> pd.DataFrame:
    """Return the numbers beside print, which the figure shows as points."""
    layout = exhibit.figure
    where = {**exhibit.where, "metric": list(layout.printed)}
    named = layout.printed_methods or [*values_of(exhibit, study, "method")]
    beside = exhibit.model_copy(update={"where": where, "shows": named})
    titles = {"setting": values_of(exhibit, study, "setting"), "metric": dict.fromkeys(layout.printed, "")}
    cells = cells_of(beside, study, [*titles, "method"], {**titles, "method": dict.fromkeys(named, "")})
    return cells[cells["is_printed"]].drop(columns=["is_printed", "is_lost"])
