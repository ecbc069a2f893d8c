"""Figures with Bokeh: the panels of `lookalike.exhibits.drawing`, read off with the pointer on a page.

The pointer tells the numbers of all series at the nearest x; where series have no x in common, the point beneath it.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.exhibits.drawing import SIDES, label_of, marked_points, placed, rows_of, values_of
from lookalike.exhibits.model import Axis, Figure, Label, Line, Panel, Series
from lookalike.exhibits.printed import human_time
from lookalike.exhibits.style import GREY, sign_of

Floats = npt.NDArray[np.float64]
Ends = tuple[float, float]

HEIGHT = 300
"""Height of a panel, in CSS pixels."""
ROW, BESIDES = 22, 90
"""Of a panel of named rows: height of a row, and of all that is no row."""
MARKERS = {
    "o": "circle", "s": "square", "^": "triangle", "v": "inverted_triangle", "D": "diamond", "d": "diamond",
    "X": "x", "P": "cross", "*": "star", "<": "triangle", ">": "triangle", "h": "hex",
}  # fmt: skip
"""Markers of the static figures to those of Bokeh."""
TURNS = {"<": math.pi / 2, ">": -math.pi / 2}
"""Radians by which a marker is turned, against the clock: triangles of Bokeh point up."""
DASHES = {"-": "solid", "--": "dashed", ":": "dotted", "-.": "dashdot"}
MISSING = "–"
TIP = '<div class="curves-tip" style="font:12px/1.35 sans-serif;color:#111">{}</div>'
UNSEEN = {"fill_alpha": 0.0, "line_alpha": 0.0}
SHORT_COUNT = """
const [worth, unit] = Math.abs(tick) >= 1e6 ? [1e6, "M"] : Math.abs(tick) >= 1e3 ? [1e3, "K"] : [1, ""]
return +(tick / worth).toPrecision(6) + unit
"""
PLAIN = "return (+tick.toPrecision(6)).toLocaleString('en', { maximumFractionDigits: 8 })"
NAMED = "return names[String(tick)] ?? ''"


@dataclass(frozen=True)
class Trace:
    """One series, or one straight line, of a panel with its numbers; arrays have shape (n,)."""

    series: Series
    x: Floats
    y: Floats
    low: Floats
    high: Floats
    notes: tuple[str, ...] = ()
    straight: Literal["", "level", "upright"] = ""

    def placed(self, form: Axis) -> Floats:
        """Where its points stand along x."""
        return placed(self.x, form, self.series.aside)

    @property
    def is_range(self) -> bool:
        """Whether it is only how far something reaches."""
        return bool(np.isnan(self.y).all() and np.isfinite(self.low).any())

    @property
    def sign(self) -> str:
        """The sign of writing that stands for it in legends."""
        look, marker = self.series.look, "" if self.series.thin else self.series.look.marker
        return sign_of(replace(look, marker=marker), hollow=self.series.hollow)

    @property
    def swatch(self) -> str:
        """Its sign in its colour, as markup."""
        return f'<span style="color:{self.series.look.colour}">{self.sign}</span>'


@dataclass(frozen=True)
class Curves:
    """A figure's curves as a page writes them."""

    place: str
    """Id of their element; each plot has this and its number."""
    plots: tuple[str, ...]
    """What each plot shows, in words."""
    legend: tuple[Trace, ...]
    """The first trace of each name; glyphs are called ``series-`` and its place here, by which a page fades them."""
    by_point: bool
    """Whether points are read, not strips."""
    data: str
    """The plots as Bokeh's JSON; nothing in it ends a script element."""


def curves_of(figure: Figure, place: str) -> Curves | None:
    """Plots of a figure below an element with the id `place`; None with nothing to show, or without Bokeh."""
    shown = [(panel, traces) for panel in figure.panels if (traces := _traces(panel, figure))]
    if not shown or find_spec("bokeh") is None:
        return None
    from bokeh.embed import json_item

    legend: dict[str, Trace] = {}
    for trace in sorted((trace for _, traces in shown for trace in traces), key=lambda trace: bool(trace.straight)):
        if trace.series.name:
            legend.setdefault(trace.series.name, trace)
    plots = [dict(json_item(_plot(panel, traces, list(legend)))) for panel, traces in shown]
    items = [{**plot, "target_id": f"{place}-{number}"} for number, plot in enumerate(plots)]
    # no text of the data may end the script element in which it stands
    data = json.dumps(items, separators=(",", ":"), allow_nan=False, ensure_ascii=False).replace("<", "\\u003c")
    says = tuple(_says(panel) for panel, _ in shown)
    return Curves(place, says, tuple(legend.values()), shown[0][0].reads_points, data)


def _traces(panel: Panel, figure: Figure) -> list[Trace]:
    """Series that have a point, thin ones first, and the straight lines; none where no series has a point."""
    found = []
    for series in sorted(panel.series, key=lambda one: not one.thin):
        rows = rows_of(figure.frame, series)
        notes = tuple(rows[series.note].fillna("").astype(str)) if series.note else ()
        found += [Trace(series, *values_of(rows, series), notes)] if len(rows) else []
    return [*map(_of_line, panel.lines), *found] if found else []


def _of_line(line: Line) -> Trace:
    at, nothing = np.array([line.at]), np.array([np.nan])
    series = Series(line.name, {}, "", "", line.look)
    if line.upright:
        return Trace(series, at, nothing, nothing, nothing, straight="upright")
    return Trace(series, nothing, at, nothing, nothing, straight="level")


def _plot(panel: Panel, traces: Sequence[Trace], names: Sequence[str]) -> Any:
    """One panel; every glyph is called ``series-`` and its place in the figure's legend, by which the page fades it."""
    from bokeh.models import CrosshairTool, Range1d
    from bokeh.plotting import figure

    reach = {side: [part for trace in traces if trace.series.sideways is side for part in (trace.low, trace.high)]
             for side in (False, True)}  # fmt: skip
    x_range = _range(panel.x, [*(trace.placed(panel.x) for trace in traces), *reach[True]], 0.03)
    y_range = _range(panel.y, [*(trace.y for trace in traces), *reach[False]], 0.06)
    plot = figure(
        height=max(HEIGHT, BESIDES + ROW * len(panel.y.ticks or ())), sizing_mode="stretch_width", min_width=200,
        x_range=Range1d(start=x_range[0], end=x_range[1]), y_range=Range1d(start=y_range[0], end=y_range[1]),
        toolbar_location=None, tools="", title=panel.title,
        x_axis_type="log" if panel.x.scale == "log" else "linear",
        y_axis_type="log" if panel.y.scale == "log" else "linear",
    )  # fmt: skip
    _dress(plot, panel)
    plot.yaxis[0].axis_label = label_of(panel.y, y_range) or None
    for trace in traces:
        _draw(plot, trace, panel, _called(trace, names), (x_range, y_range))
    for label in panel.labels:
        _write(plot, label)
    if panel.reads_points:
        _read_points(plot, panel, traces, names)
    else:
        _read_strips(plot, panel, traces)
        plot.add_tools(CrosshairTool(dimensions="height", line_color=GREY, line_alpha=0.6))
    return plot


def _called(trace: Trace, names: Sequence[str]) -> str:
    return f"series-{names.index(trace.series.name)}" if trace.series.name else "line"


def _dress(plot: Any, panel: Panel) -> None:
    """Labels, ticks and colours of the static figures."""
    from bokeh.models import CustomJSTickFormatter, FixedTicker, LogTicker

    for axis, form in ((plot.xaxis[0], panel.x), (plot.yaxis[0], panel.y)):
        axis.axis_label = form.label or None
        axis.axis_label_text_font_style = "normal"
        axis.minor_tick_line_color = None
        axis.formatter = CustomJSTickFormatter(code=SHORT_COUNT if form.tick_form else PLAIN)
        if form.ticks:
            names = {f"{place:.12g}": name for place, name in form.ticks}
            axis.ticker = FixedTicker(ticks=[place for place, _ in form.ticks])
            axis.formatter = CustomJSTickFormatter(args={"names": names}, code=NAMED)
        elif form.scale == "log":
            axis.ticker = LogTicker(mantissas=[1], desired_num_ticks=5)
    plot.background_fill_color = plot.border_fill_color = "#ffffff"
    plot.grid.grid_line_color = "#e4e4e4"
    plot.outline_line_color = None
    plot.title.text_font_size = "11pt"
    plot.title.text_font_style = "normal"


def _range(form: Axis, parts: Sequence[Floats], share: float) -> Ends:
    """Ends of an axis: those of its form, else the data's with some room."""
    is_log = form.scale == "log"
    values = np.concatenate([np.empty(0), *parts])
    values = values[np.isfinite(values) & ((values > 0) if is_log else True)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (1.0, 2.0)
    if is_log:
        room = (high / low) ** 0.06 if high > low else 2.0
        low, high = low / room, high * room
    else:
        room = share * (high - low) or 0.05 * abs(high) or 0.5
        low, high = low - room, high + room
    low, high = low if form.low is None else form.low, high if form.high is None else form.high
    return (high, low) if form.reversed else (low, high)


def _glyph(plot: Any, kind: str, name: str, columns: Mapping[str, Any], **look: Any) -> Any:
    """Add a glyph whose columns are called as its properties; leaner than the methods of Bokeh's figures."""
    from bokeh.models import ColumnDataSource, glyphs

    glyph = getattr(glyphs, kind)(**{column: column for column in columns}, **look)
    return plot.add_glyph(ColumnDataSource(dict(columns)), glyph, name=name)


def _draw(plot: Any, trace: Trace, panel: Panel, name: str, ranges: tuple[Ends, Ends]) -> None:
    """All glyphs of one trace."""
    line: dict[str, Any] = {
        "line_color": trace.series.look.colour, "line_dash": DASHES.get(trace.series.look.line, "solid"),
        "line_width": 1.0 if trace.series.thin else 1.8, "line_alpha": 0.45 if trace.series.thin else 1.0,
    }  # fmt: skip
    if trace.straight:
        is_upright = trace.straight == "upright"
        x = np.repeat(trace.x, 2) if is_upright else np.asarray(ranges[0])
        y = np.asarray(ranges[1]) if is_upright else np.repeat(trace.y, 2)
        _glyph(plot, "Line", name, {"x": x, "y": y}, **line)
        return
    shown = np.isfinite(trace.x) & ((trace.x > 0) if panel.x.scale == "log" else True)
    shown &= (np.isfinite(trace.y) & ((trace.y > 0) if panel.y.scale == "log" else True)) | trace.is_range
    x, y, low, high = (part[shown] for part in (trace.placed(panel.x), trace.y, trace.low, trace.high))
    every = trace.series.kind == "points" or trace.series.each or panel.reads_points
    marked = np.arange(len(x)) if every else marked_points(x, panel.x)
    _spread(plot, panel, trace, name, (x, y, low, high), marked)
    if trace.series.kind != "points" and not trace.is_range:
        is_stepped = trace.series.kind == "steps"
        extra: dict[str, Any] = {"mode": "center"} if is_stepped else {}
        _glyph(plot, "Step" if is_stepped else "Line", name, {"x": x, "y": y}, **line, **extra)
    # the points that the pointer reads are drawn with what it reads
    if trace.series.look.marker and not (trace.series.thin or panel.reads_points or trace.is_range):
        _glyph(plot, "Scatter", name, {"x": x[marked], "y": y[marked]}, **_marker(trace))


def _write(plot: Any, label: Label) -> None:
    """Words at a place."""
    from bokeh.models.annotations import Label as Words

    across, up, dx, dy = SIDES[label.side]
    where: dict[str, Any] = {"x": label.x, "y": label.y, "x_offset": dx, "y_offset": dy}
    where |= {"text_align": across, "text_baseline": "middle" if up == "center" else up}
    plot.add_layout(Words(text=label.text, text_color=label.colour, text_font_size="9pt", **where))


def _marker(trace: Trace) -> dict[str, Any]:
    """Look of a marker, as Bokeh names it; a printed one is hollow."""
    return {
        "marker": MARKERS[trace.series.look.marker or "o"],
        "angle": TURNS.get(trace.series.look.marker, 0.0),
        "size": 13 if trace.series.look.marker == "*" else 9 if trace.series.hollow else 6,
        "line_color": trace.series.look.colour,
        "line_width": 1.6 if trace.series.hollow or trace.series.look.marker in ("X", "P") else 1,
        "fill_color": None if trace.series.hollow else trace.series.look.colour,
    }


def _spread(plot: Any, panel: Panel, trace: Trace, name: str, numbers: Sequence[Floats], marked: Any) -> None:
    """Band, bars or range of a trace."""
    x, y, low, high = numbers
    has = np.isfinite(low) & np.isfinite(high)
    if not has.any() or trace.series.thin:
        return
    if panel.y.scale == "log":
        low = np.maximum(low, np.nanmin(np.where(high > 0, high, np.nan)) / 1e3)
    if trace.series.band and has.sum() > 1:
        area = {"x": x[has], "y1": low[has], "y2": high[has]}
        _glyph(plot, "VArea", name, area, fill_color=trace.series.look.colour, fill_alpha=0.18)
        return
    kept = np.arange(len(x)) if trace.is_range else np.asarray(marked)
    kept = kept[has[kept]]
    ends = {"x0": x[kept], "y0": low[kept], "x1": x[kept], "y1": high[kept]}
    if trace.series.sideways:
        ends = {"x0": low[kept], "y0": y[kept], "x1": high[kept], "y1": y[kept]}
    _glyph(plot, "Segment", name, ends, line_color=trace.series.look.colour, line_width=6 if trace.is_range else 1.2)


def _read_points(plot: Any, panel: Panel, traces: Sequence[Trace], names: Sequence[str]) -> None:
    """Let the pointer tell the point beneath it: its series, x, y with bounds, and what else is known of it."""
    from bokeh.models import HoverTool

    for trace in traces:
        if trace.straight or not trace.series.look.marker:
            continue
        points = {"x": trace.placed(panel.x), "y": trace.y}
        look = _marker(trace)
        look["size"] += 2
        renderer = _glyph(plot, "Scatter", _called(trace, names), points, **look)
        notes = list(trace.notes or ("",) * len(trace.x))
        of, along, values = (panel.y, panel.x, trace.y) if trace.series.sideways else (panel.x, panel.y, trace.x)
        places = [_named(of, value) for value in values.tolist()]
        renderer.data_source.data.update({"t": places, "v": _values(trace, along), "n": notes})
        tip = TIP.format(f"<b>{trace.swatch} {_said(trace.series.name)}</b><br>@t<br>@v<br>@n")
        plot.add_tools(HoverTool(renderers=[renderer], tooltips=tip, mode="mouse", attachment="horizontal"))


def _read_strips(plot: Any, panel: Panel, traces: Sequence[Trace]) -> None:
    """Let the pointer tell all series at the x nearest to it, whose strip is tinted."""
    from bokeh.models import HoverTool

    every = np.concatenate([trace.x for trace in traces if not trace.straight])
    places = np.unique(every[np.isfinite(every) & ((every > 0) if panel.x.scale == "log" else True)])
    columns = {"t": [_named(panel.x, value) for value in places.tolist()]}
    rows: list[str] = []
    for trace in _merged(traces):
        texts = _texts(trace, places, panel)
        if len(set(texts)) == 1:
            rows.append(_row(trace, _said(texts[0])))
        else:
            columns[f"c{len(columns)}"] = texts
            rows.append(_row(trace, f"@c{len(columns) - 1}"))
    edges = _edges(places, is_log=panel.x.scale == "log")
    renderer = _glyph(plot, "VStrip", "read", {"x0": edges[:-1], "x1": edges[1:]}, **UNSEEN)
    renderer.hover_glyph = renderer.glyph.clone(fill_alpha=0.18, fill_color="#56B4E9")
    renderer.data_source.data.update(columns)
    tip = TIP.format(f"<b>@t</b><table>{''.join(rows)}</table>")
    plot.add_tools(HoverTool(renderers=[renderer], tooltips=tip, mode="mouse", limit=1, attachment="horizontal"))


def _merged(traces: Sequence[Trace]) -> list[Trace]:
    """One trace a name: several thin lines are told as the least and the largest of them. Straight lines come last."""
    found: dict[str, list[Trace]] = {}
    for trace in traces:
        found.setdefault(trace.series.name, []).append(trace)
    merged: list[Trace] = []
    for same in found.values():
        thick = [trace for trace in same if not trace.series.thin]
        if len(same) == 1 or thick:
            merged += thick or same
            continue
        points = {"x": np.concatenate([trace.x for trace in same]), "y": np.concatenate([trace.y for trace in same])}
        ends = pd.DataFrame(points).groupby("x")["y"].agg(["min", "max"])
        nothing = np.full(len(ends), np.nan)
        low, high = ends["min"].to_numpy(), ends["max"].to_numpy()
        merged.append(replace(same[0], x=ends.index.to_numpy(), y=nothing, low=low, high=high))
    return sorted(merged, key=lambda trace: bool(trace.straight))


def _texts(trace: Trace, places: Floats, panel: Panel) -> list[str]:
    """What is told of a trace at each place."""
    if trace.straight == "level":
        return [told(panel.y, float(trace.y[0]))] * len(places)
    if trace.straight == "upright":
        return [f"at {told(panel.x, float(trace.x[0]))}"] * len(places)
    values = dict(zip(trace.x.tolist(), _values(trace, panel.y), strict=True))
    return [values.get(place, MISSING) for place in places.tolist()]


def _values(trace: Trace, form: Axis) -> list[str]:
    """Each number with its error, its bounds, or its range."""
    # one repeat, or a line that is no measurement
    texts, exact = [], np.array_equal(trace.low, trace.high)
    middle = trace.x if trace.series.sideways else trace.y
    for y, low, high in zip(middle.tolist(), trace.low.tolist(), trace.high.tolist(), strict=True):
        value, least, most = (told(form, number) for number in (y, low, high))
        if exact or math.isnan(low):
            texts.append(value)
        elif math.isnan(y):
            texts.append(f"{least} to {most}")
        elif math.isclose(y - low, high - y, rel_tol=1e-6, abs_tol=1e-12):
            texts.append(f"{value} ± {told(form, high - y).lstrip('+')}")
        else:
            texts.append(f"{value} ({least} to {most})")
    return texts


def told(form: Axis, value: float) -> str:
    """A number as the pointer tells it: by the axis's format, or as a duration; a dash for none."""
    if math.isnan(value):
        return MISSING
    return human_time(value) if form.told == "time" else form.told.format(value)


def _named(form: Axis, value: float) -> str:
    """Name of the tick that stands there, else the number."""
    return dict(form.ticks or ()).get(value) or told(form, value)


def _edges(places: Floats, *, is_log: bool) -> Floats:
    """Bounds of strips half way between places; the outer ones as wide on both sides."""
    along = np.log(places) if is_log else places
    half = np.diff(along) / 2 if len(along) > 1 else np.array([0.5])
    edges = np.concatenate([along[:1] - half[:1], along[:-1] + half, along[-1:] + half[-1:]])
    return np.asarray(np.exp(edges) if is_log else edges)


def _said(text: str) -> str:
    """Text for a tip, in which Bokeh would take @ and $ for names of its own."""
    return html.escape(text).replace("@", "&#64;").replace("$", "&#36;")


def _row(trace: Trace, value: str) -> str:
    cell = '<td style="padding:0 0 0 .8em;text-align:right;white-space:nowrap">'
    return f"<tr><td>{trace.swatch} {_said(trace.series.name)}</td>{cell}{value}</td></tr>"


def _says(panel: Panel) -> str:
    """What a panel shows, in words."""
    x, title = panel.x.label, f"{panel.title}: " if panel.title else ""
    return f"Plot: {title}{panel.y.label}{f' over {x[:1].lower()}{x[1:]}' if x else ''}."
