"""The CSV of a figure read by its form: panels of traces, with the labels and looks of the static figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.exhibits.style import LOOKS, Look, title_of
from lookalike.report._curve_data import Axes, Floats, Kind, Panel, Trace

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.report._curve_forms import Form

PRINTED = ", printed"


def panels_of(frame: pd.DataFrame, form: Form, titles: Mapping[str, str]) -> list[Panel]:
    """Return the panels of a figure that have something to show.

    Parameters
    ----------
    frame : DataFrame
        The figure's CSV.
    form : Form
        How it is read.
    titles : mapping
        Ids of subsets and methods to their titles; ids that it lacks have the printed names of the papers.

    Returns
    -------
    list of Panel
        Of the same looks in all panels; panels without a single x are left out.
    """
    table = frame if form.layout is None else form.layout(frame)
    looks = _looks(table, form)
    names = list(dict.fromkeys(table[form.panel].fillna("").astype(str))) if form.panel else [""]
    found = []
    for name in names:
        rows = table if not form.panel else table[table[form.panel].fillna("").astype(str) == name]
        axes = _axes(form, name, table.attrs, titles)
        traces = [trace for trace in _traces(rows, form, looks, titles) if len(trace.x)]
        if axes is not None and any(trace.kind not in ("level", "upright") for trace in traces):
            found.append(Panel(replace(axes), tuple(traces)))
    return _lettered(found) if form.lettered else found


def _lettered(panels: list[Panel]) -> list[Panel]:
    """Titles as the static figures have them: ``(A)  10 classes`` where there are several with a title."""
    if len(panels) < 2 or not all(panel.axes.title for panel in panels):
        return panels
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    titles = [f"({letters[place % 26]})  {panel.axes.title}" for place, panel in enumerate(panels)]
    return [replace(panel, axes=replace(panel.axes, title=title)) for panel, title in zip(panels, titles, strict=True)]


def _axes(form: Form, name: str, attributes: Mapping[Any, Any], titles: Mapping[str, str]) -> Axes | None:
    """Axes of one panel, with what its layout has found in the CSV; None for a panel that the form does not know."""
    if isinstance(form.axes, Axes):
        axes: Axes | None = replace(form.axes, title=titles.get(name, name))
    else:
        axes = form.axes.get(name)
    if axes is None:
        return None
    label = attributes.get("y_labels", {}).get(name)
    ticks = attributes.get("x_ticks", {}).get(name)
    return replace(axes, y_label=label or axes.y_label, x_ticks=ticks or axes.x_ticks)


def _looks(table: pd.DataFrame, form: Form) -> dict[str, Look]:
    """Looks of all series of a figure; a printed one has that of its method."""
    series = [str(name) for name in dict.fromkeys(table[form.series])]
    own = [name for name in series if name not in form.fixed and not name.endswith(PRINTED)]
    looks = {**form.looks(own), **form.fixed}
    for name in series:
        base = name.removesuffix(PRINTED)
        looks.setdefault(name, looks.get(base) or LOOKS.get(base) or form.looks([base])[base])
    return looks


def _traces(rows: pd.DataFrame, form: Form, looks: Mapping[str, Look], titles: Mapping[str, str]) -> list[Trace]:
    found = []
    for series, of_series in rows.groupby(form.series, sort=False):
        members = of_series.groupby(form.members, sort=False) if form.members else [("", of_series)]
        for member, points in members:
            thin = str(series) in form.thin or str(member) in form.thin
            found.append(_trace(points, str(series), form, looks[str(series)], titles, thin=thin))
    # what is thin lies behind
    return sorted(found, key=lambda trace: not trace.thin)


def _trace(
    points: pd.DataFrame, series: str, form: Form, look: Look, titles: Mapping[str, str], *, thin: bool
) -> Trace:
    x, y = (points[column].to_numpy(dtype=np.float64, na_value=np.nan) for column in (form.x, form.y))
    low, high = _bounds(points, y, form.spread)
    hollow = "printed" in series.split(", ")[-1].split()
    kind: Kind = "line"
    if (series in form.levels or np.isnan(x).all()) and not np.isnan(y).all():
        kind = "level"
        x, y, low, high = (np.array([value]) for value in (np.nan, np.nanmean(y), np.nan, np.nan))
    elif np.isnan(y).all() and np.isnan(low).all():
        kind = "upright"
        kept = np.unique(x)
        x, y, low, high = kept, *(np.full(len(kept), np.nan) for _ in range(3))
    elif hollow or series in form.points:
        kind = "points"
    notes = tuple(points[form.note].fillna("").astype(str)) if form.note and kind in ("line", "points") else ()
    label = label_of(series, form, titles)
    return Trace(label, look, x, y, low, high, kind, hollow, form.band, thin, notes=notes)


def _bounds(points: pd.DataFrame, y: Floats, spread: Sequence[str]) -> tuple[Floats, Floats]:
    """Least and largest value of each point; NaN where the CSV has none."""
    columns = [points[column].to_numpy(dtype=np.float64, na_value=np.nan) for column in spread]
    if not columns:
        return np.full(len(y), np.nan), np.full(len(y), np.nan)
    return (y - columns[0], y + columns[0]) if len(columns) == 1 else (columns[0], columns[1])


def label_of(series: str, form: Form, titles: Mapping[str, str]) -> str:
    """Return what the legend calls a series: the form's name, else the title of its method."""
    if series in form.names:
        return form.names[series]
    base, comma, rest = series.partition(", ")
    title = form.title(base) if form.title is not None else title_of(base, titles)
    return title + comma + rest
