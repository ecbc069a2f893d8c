"""What the pointer reads in a plot of curves: the words of its tips, and where it reads them.

Most plots are read in strips: wherever the pointer is, the x nearest to it is told with the numbers of all series.
Where series have no x in common the point beneath the pointer is told. Every number is written here, so that it is
what the CSV says.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lookalike.report._curve_data import Axes, Floats, Kind, Panel, Trace
from lookalike.report._curve_looks import MISSING, add_glyph, finite, marker_of, place_of, swatch, told

_UNSEEN = {"fill_alpha": 0.0, "line_alpha": 0.0}
_ORDER: tuple[Kind, ...] = ("line", "points", "level", "upright")
"""Kinds in the order in which a tip tells them."""


def read_points(plot: Any, panel: Panel, names: Sequence[str]) -> None:
    """Let the pointer tell the point beneath it: its series, x, y with bounds, and what else is known of it.

    Parameters
    ----------
    plot : bokeh figure
        Gets the points that are read, and their tool.
    panel : Panel
    names : sequence of str
        Labels of the figure's legend.
    """
    from bokeh.models import HoverTool

    axes = panel.axes
    read: list[tuple[Any, str]] = []
    for trace in panel.traces:
        if trace.kind not in ("line", "points") or not (trace.look.marker or trace.hollow):
            continue
        notes = trace.notes or ("",) * len(trace.x)
        look = marker_of(trace)
        look["size"] += 2
        name = f"series-{names.index(trace.label)}"
        renderer = add_glyph(plot, "Scatter", name, {"x": place_of(axes, trace.x), "y": trace.y}, **look)
        told_of = {"t": [told(axes.x_told, value) for value in trace.x], "v": _values(trace, axes), "n": list(notes)}
        renderer.data_source.data.update(told_of)
        tip = f"<b>{swatch(trace)} {_said(trace.label)}</b><br>@t<br>@v<br>@n"
        read.append((renderer, tip))
    for renderer, tip in read:
        plot.add_tools(HoverTool(renderers=[renderer], tooltips=_tip(tip), mode="mouse", attachment="horizontal"))


def read_strips(plot: Any, panel: Panel) -> None:
    """Let the pointer tell all series at the x nearest to it, whose strip is tinted.

    Parameters
    ----------
    plot : bokeh figure
        Gets invisible strips that carry what is told, and their tool.
    panel : Panel
    """
    from bokeh.models import HoverTool

    axes = panel.axes
    lines = [trace for trace in panel.traces if trace.kind in ("line", "points")]
    places = np.unique(finite([trace.x for trace in lines], positive=axes.x_scale == "log"))
    edges = _edges(place_of(axes, places), is_log=axes.x_scale == "log")
    ticks = axes.x_ticks or {}
    columns = {"t": [ticks[value] if value in ticks else told(axes.x_told, value) for value in places]}
    rows: list[str] = []
    for trace in _merged(panel.traces):
        texts = _texts(trace, places, axes)
        if len(set(texts)) == 1:
            rows.append(_row(trace, _said(texts[0])))
        else:
            columns[f"c{len(columns)}"] = texts
            rows.append(_row(trace, f"@c{len(columns) - 1}"))
    ends = ("y0", "y1") if axes.across else ("x0", "x1")
    kind = "HStrip" if axes.across else "VStrip"
    renderer = add_glyph(plot, kind, "read", dict(zip(ends, (edges[:-1], edges[1:]), strict=True)), **_UNSEEN)
    renderer.hover_glyph = renderer.glyph.clone(fill_alpha=0.18, fill_color="#56B4E9")
    renderer.data_source.data.update(columns)
    tip = f"<b>@t</b><table>{''.join(rows)}</table>"
    plot.add_tools(HoverTool(renderers=[renderer], tooltips=_tip(tip), mode="mouse", limit=1, attachment="horizontal"))


def _merged(traces: Sequence[Trace]) -> list[Trace]:
    """One trace a label: several thin lines are told as the least and the largest of them."""
    found: dict[str, list[Trace]] = {}
    for trace in traces:
        found.setdefault(trace.label, []).append(trace)
    merged: list[Trace] = []
    for same in found.values():
        thick = [trace for trace in same if not trace.thin]
        if len(same) == 1 or thick:
            merged += thick or same
            continue
        x = np.unique(np.concatenate([trace.x for trace in same]))
        values = np.array([[_at(trace.x, trace.y, place) for trace in same] for place in x])
        nothing = np.full(len(x), np.nan)
        merged.append(
            Trace(same[0].label, same[0].look, x, nothing, np.nanmin(values, 1), np.nanmax(values, 1), thin=True)
        )
    # curves first, then what does not change with x
    return sorted(merged, key=lambda trace: max(1, _ORDER.index(trace.kind)))


def _at(x: Floats, values: Floats, place: float) -> float:
    """The value at one place, NaN where there is none."""
    found = np.flatnonzero(x == place)
    return float(values[found[0]]) if len(found) else math.nan


def _texts(trace: Trace, places: Floats, axes: Axes) -> list[str]:
    """What is told of a trace at each place."""
    if trace.kind == "level":
        return [told(axes.y_told, float(trace.y[0]))] * len(places)
    if trace.kind == "upright":
        return [", ".join(f"at {told(axes.x_told, float(x))}" for x in trace.x)] * len(places)
    values = dict(zip(trace.x.tolist(), _values(trace, axes), strict=True))
    return [values.get(place, MISSING) for place in places.tolist()]


def _values(trace: Trace, axes: Axes) -> list[str]:
    """Each y with its error, its bounds, or its range."""
    texts = []
    # one repeat, or a line that is no measurement
    exact = np.array_equal(trace.low, trace.high)
    for y, low, high in zip(trace.y.tolist(), trace.low.tolist(), trace.high.tolist(), strict=True):
        value, least, most = (told(axes.y_told, number) for number in (y, low, high))
        if exact or math.isnan(low):
            texts.append(value)
        elif math.isnan(y):
            texts.append(f"{least} to {most}")
        elif math.isclose(y - low, high - y, rel_tol=1e-6, abs_tol=1e-12):
            texts.append(f"{value} ± {told(axes.y_told, high - y).lstrip('+')}")
        else:
            texts.append(f"{value} ({least} to {most})")
    return texts


def _edges(places: Floats, *, is_log: bool) -> Floats:
    """Bounds of strips half way between places; the outer ones as wide on both sides."""
    along = np.log(places) if is_log else places
    if len(along) == 1:
        edges = along[0] + np.array([-0.5, 0.5])
    else:
        inner = (along[1:] + along[:-1]) / 2
        edges = np.concatenate([[2 * along[0] - inner[0]], inner, [2 * along[-1] - inner[-1]]])
    return np.asarray(np.exp(edges) if is_log else edges)


def _said(text: str) -> str:
    """Text for a tip, in which bokeh would take @ and $ for names of its own."""
    return html.escape(text).replace("@", "&#64;").replace("$", "&#36;")


def _row(trace: Trace, value: str) -> str:
    cell = '<td style="padding:0 0 0 .8em;text-align:right;white-space:nowrap">'
    return f"<tr><td>{swatch(trace)} {_said(trace.label)}</td>{cell}{value}</td></tr>"


def _tip(content: str) -> str:
    return f'<div class="curves-tip" style="font:12px/1.35 sans-serif;color:#111">{content}</div>'
