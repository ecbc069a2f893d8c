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
from lookalike.exhibits.registry import Curves, Exhibit, Level
from lookalike.exhibits.results import TIMED_OUT, select
from lookalike.exhibits.style import BLACK, GREY, TRAINING, Look, look_of, looks_of
from lookalike.exhibits.tables import cells_of, keyed, values_of

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

Where = Mapping[str, str]
"""Column to value: the rows of one panel."""
PRINTED, UPRIGHT = ", printed", ", upright"
"""What stands behind a method in the column ``method`` of rows that are no curve."""
THIN = Look(GREY, "")


def figure_of(exhibit: Exhibit, study: Study) -> Figure:
    """Return a figure with a curve of each method in the panels."""
    layout = exhibit.curves
    titles = {axis: values_of(exhibit, study, axis) for axis in layout.panels}
    methods = values_of(exhibit, study, "method")
    places: list[Where] = [dict(zip(layout.panels, values, strict=True)) for values in product(*titles.values())]
    frame = frame_of(exhibit, study, places)
    names = [", ".join(titles[axis][value] for axis, value in place.items()) for place in places]
    panels = [panel_of(layout, study, frame, place, named(methods, place, titles)) for place in places]
    titled = [replace(panel, title=title) for panel, title in zip(panels, lettered(names), strict=True)]
    cells = compared(exhibit, study, methods) if layout.printed else None
    # panels of one part stand beside each other
    n_columns = len(titles[layout.panels[-1]]) if len(layout.panels) > 1 else 0
    return Figure(frame, tuple(titled), cells, tuple(exhibit.notes), n_columns=n_columns)


def named(methods: Mapping[str, str], place: Where, titles: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    """Return the names of curves: where panels have several metrics, with the title of the metric."""
    metric = titles.get("metric", {}).get(place.get("metric", ""), "")
    return {method: f"{title}, {metric}" for method, title in methods.items()} if metric else methods


def frame_of(exhibit: Exhibit, study: Study, places: list[Where]) -> pd.DataFrame:
    """Return the rows of the CSV: the curves, straight lines and printed points of all panels."""
    layout = exhibit.curves
    curves = curves_of(exhibit, study)
    parts = [curves]
    for place in places:
        for level in (layout.level, layout.upright) if len(select(curves, **place)) else ():
            parts += [level_row(layout, level, study, place)] if level is not None else []
        if layout.printed:
            parts.append(printed_points(exhibit, study, place, pd.concat(parts)))
    full = [part for part in parts if len(part)]
    return pd.concat(full, ignore_index=True) if full else curves


def curves_of(exhibit: Exhibit, study: Study) -> pd.DataFrame:
    """Return means over repeats at each x, with standard errors."""
    layout = exhibit.curves
    keys = [*dict.fromkeys((*layout.panels, "method")), "x"]
    panels = {axis: list(values_of(exhibit, study, axis)) for axis in layout.panels}
    rows = select(study.results, **{**exhibit.where, **panels})
    rows = rows[rows["x"] <= layout.last]
    methods = study.methods_named(exhibit.shows)
    rows = rows[rows["method"].isin([*methods, *filter(None, [layout.minus])])]
    rows = rows[~keyed(rows, ["setting", "method"]).isin(easier_parts(rows, study))]
    if layout.minus:
        wide = rows.pivot_table(index=[*layout.panels, "repeat", "x"], columns="method", values="value")
        if layout.minus in wide:
            gaps = wide.drop(columns=layout.minus).sub(wide[layout.minus], axis=0)
            rows = gaps.melt(ignore_index=False).dropna().reset_index()
        else:
            rows = rows.iloc[:0]
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


def level_row(layout: Curves, level: Level, study: Study, place: Where) -> pd.DataFrame:
    """Return the mean of a straight line in a panel, as a row without x, or, of an upright line, at x."""
    if any(place[column] != value for column, value in level.where.items()):
        return pd.DataFrame()
    rows = select(study.results, **{**place, "method": level.method, "metric": level.metric})
    values = rows["value"].dropna()
    if values.empty:
        return pd.DataFrame()
    numbers = {"sem": values.sem(), "n": len(values)}
    if level == layout.upright:
        return pd.DataFrame([{**place, "method": f"{level.method}{UPRIGHT}", "x": values.mean(), **numbers}])
    return pd.DataFrame([{**place, "method": level.method, "mean": values.mean(), **numbers}])


def printed_points(exhibit: Exhibit, study: Study, place: Where, frame: pd.DataFrame) -> pd.DataFrame:
    """Return what the paper prints, at its x, on settings whose numbers may stand beside print."""
    layout = exhibit.curves
    setting = place.get("setting", "")
    level = layout.level
    if not study.is_comparable(setting) or (level and any(place[name] != value for name, value in level.where.items())):
        return pd.DataFrame()
    methods = layout.printed_methods or study.methods_named(exhibit.shows)
    rows = select(study.printed_results(), metric=list(layout.printed), method=methods, setting=setting)
    rows = rows[rows["value"].notna()]
    own = select(frame, **place)
    stop = own.loc[own["method"].str.endswith(UPRIGHT), "x"].mean() if len(own) else math.nan
    where = {metric: stop if x == "upright" else x for metric, x in layout.printed.items()}
    # standard deviations are printed, in percent, and all error bars are standard errors
    mean, sem = rows["value"] / 100, rows["spread"] / 100 / math.sqrt(PARTITIONS)
    points = pd.DataFrame({"method": rows["method"] + PRINTED, "x": rows["metric"].map(where), "mean": mean})
    return points.assign(**place, low=mean - sem, high=mean + sem, sem=sem, n=0).dropna(subset="x")


def panel_of(layout: Curves, study: Study, frame: pd.DataFrame, place: Where, methods: Mapping[str, str]) -> Panel:
    """Return one panel: its curves, or why there are none."""
    own = select(frame, **place)
    there = set(own.loc[own["x"].notna(), "method"]) if len(own) else set()
    series = [*series_of(layout, place, methods, there), *printed_series(study, place, there)]
    axes = {name: axis_of(getattr(layout, name), own, name) for name in ("x", "y")}
    lines = list(lines_of(layout, own)) if series else []
    why = "" if series else study.why_absent(place.get("setting", ""), next(iter(methods), ""))
    return Panel("", axes["x"], axes["y"], tuple(series), tuple(lines), empty=why)


def series_of(layout: Curves, place: Where, methods: Mapping[str, str], there: set[str]) -> Iterator[Series]:
    """Yield the curves of a panel; methods of one title have one place in the legend."""
    usual = [method for method, title in methods.items() if title != layout.thin]
    looks = looks_of(usual) | dict.fromkeys((method for method in methods if method not in usual), THIN)
    # training images, of whatever method, have a look of their own
    looks |= dict.fromkeys(methods, TRAINING) if place.get("metric") == layout.training else {}
    for method, title in sorted(methods.items(), key=lambda pair: pair[1] != layout.thin):
        shift = layout.apart * (usual.index(method) - (len(usual) - 1) / 2) if method in usual else 0
        curve = Series(title, {**place, "method": method}, "x", "mean", looks[method], "low", "high", shift=shift)
        if method in there:
            yield replace(curve, thin=True, low="", high="") if title == layout.thin else curve


def printed_series(study: Study, place: Where, there: set[str]) -> Iterator[Series]:
    """Yield the printed points of a panel, as hollow points in the look of their method."""
    for name in sorted(there):
        method = name.removesuffix(PRINTED)
        if name != method:
            title, where = f"{study.title_of(method)}{PRINTED}", {**place, "method": name}
            look = look_of(method)
            yield Series(title, where, "x", "mean", look, "low", "high", kind="points", hollow=True)


def axis_of(axis: Axis, own: pd.DataFrame, name: str) -> Axis:
    """Return an axis as declared; what it leaves open ends a little beyond the points."""
    curves = own[~own["method"].str.endswith((PRINTED, UPRIGHT)) & own["x"].notna()] if len(own) else own
    if name == "x" and axis.at_points:
        axis = replace(axis, ticks=tuple((float(x), f"{x:g}") for x in sorted(set(curves["x"]))))
    if axis.high is None and axis.low is not None and axis.scale == "linear" and len(curves):
        most = float(curves["x" if name == "x" else "high"].max())
        axis = replace(axis, high=1.02 * most if name == "x" else min(1.0, 1.08 * most))
    return axis


def lines_of(layout: Curves, own: pd.DataFrame) -> Iterator[Line]:
    """Yield the straight lines of a panel."""
    dashed, dotted = Look(BLACK, "", "--"), Look(GREY, "", ":")
    if layout.zero:
        yield Line(layout.zero, 0, dashed)
    upright = own.loc[own["method"].str.endswith(UPRIGHT), "x"]
    # the value of the level stands at the end of its line that is farther from the upright one
    is_left = bool((upright > own["x"].max() / 2).any())
    if layout.level is not None:
        for mean in own.loc[own["x"].isna(), "mean"]:
            label = f"{mean:.2f}" if layout.level.has_value else ""
            yield Line(layout.level.name, float(mean), dashed, label=label, label_left=is_left)
    if layout.upright is not None:
        for x in upright:
            yield Line(layout.upright.name, float(x), dotted, upright=True)


def compared(exhibit: Exhibit, study: Study, methods: Mapping[str, str]) -> pd.DataFrame:
    """Return the numbers beside print, which the figure shows as points."""
    layout = exhibit.curves
    where = {**exhibit.where, "metric": list(layout.printed)}
    named = [*(layout.printed_methods or methods)]
    beside = exhibit.model_copy(update={"where": where, "shows": named, "figure": None})
    titles = {"setting": values_of(exhibit, study, "setting"), "metric": dict.fromkeys(layout.printed, "")}
    cells = cells_of(beside, study, [*titles, "method"], {**titles, "method": dict.fromkeys(named, "")})
    return cells[cells["is_printed"]].drop(columns=["is_printed", "is_lost"])
