"""A panel of curves as a bokeh plot whose numbers are read with the pointer.

A plot has no tools but those that look: no zoom that would catch the wheel of someone who scrolls, no toolbar to tab
through. What the pointer reads is said by `lookalike.report._curve_readout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.exhibits.panels import MARKS
from lookalike.exhibits.printed import human_time
from lookalike.exhibits.style import BLACK, GREY
from lookalike.report._curve_data import Axes, Floats, Panel, Trace
from lookalike.report._curve_looks import DASHES, LOG_START, add_glyph, finite, is_range, marker_of, place_of
from lookalike.report._curve_readout import read_points, read_strips
from lookalike.studies.web.runtime_figure import TICKS

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure

HEIGHT = 300
"""Height of a panel, in CSS pixels."""
ROW, ROWS_BESIDES = 22, 90
"""Of a plot of rows: height of a row, and of all that is no row."""
FEW = 26
"""Points of a line that all have a marker."""
SHORT_COUNT = """
const size = Math.abs(tick)
if (size >= 1e6) return +(tick / 1e6).toPrecision(6) + "M"
if (size >= 1e3) return +(tick / 1e3).toPrecision(6) + "K"
return String(+tick.toPrecision(6))
"""
"""Ticks as `lookalike.exhibits.drawing.short_count` writes them."""
PLAIN = "return (+tick.toPrecision(6)).toLocaleString('en', { maximumFractionDigits: 8 })"
NAMED = "return names[String(tick)] ?? ''"


def plot_height(panel: Panel) -> int:
    """Return the height of a panel in CSS pixels."""
    return ROWS_BESIDES + ROW * len(panel.axes.x_ticks or {}) if panel.axes.across else HEIGHT


def plot_of(panel: Panel, names: Sequence[str]) -> Figure:
    """Return the plot of one panel.

    Parameters
    ----------
    panel : Panel
    names : sequence of str
        Labels of the whole figure's legend; every glyph is called ``series-`` and its place there, by which the page
        mutes it.

    Returns
    -------
    bokeh figure
    """
    from bokeh.models import CrosshairTool, Range1d
    from bokeh.plotting import figure

    axes = panel.axes
    x_range, y_range = _x_range(panel), _y_range(panel)
    ranges: dict[str, Any] = {
        "x_range": Range1d(start=x_range[0], end=x_range[1]),
        "y_range": Range1d(start=y_range[0], end=y_range[1]),
    }
    scales: dict[str, Any] = {"x_axis_type": "log" if axes.x_scale == "log" else "linear", "y_axis_type": axes.y_scale}
    if axes.across:
        ranges = {
            "x_range": Range1d(start=y_range[0], end=y_range[1]),
            "y_range": Range1d(start=x_range[0], end=x_range[1]),
        }
        scales = {"x_axis_type": axes.y_scale, "y_axis_type": "linear"}
    plot = figure(
        height=plot_height(panel), sizing_mode="stretch_width", min_width=200, toolbar_location=None, tools="",
        title=axes.title, background_fill_color="#ffffff", border_fill_color="#ffffff", **ranges, **scales,
    )  # fmt: skip
    _dress(plot, axes)
    for trace in panel.traces:
        _draw(plot, trace, axes, f"series-{names.index(trace.label)}", x_range, y_range)
    if axes.by_point:
        read_points(plot, panel, names)
    else:
        read_strips(plot, panel)
        plot.add_tools(CrosshairTool(dimensions="width" if axes.across else "height", line_color=GREY, line_alpha=0.6))
    return plot


def _dress(plot: Any, axes: Axes) -> None:
    """Labels, ticks and colours of the static figures."""
    from bokeh.models import CustomJSTickFormatter, FixedTicker, LogTicker
    from bokeh.models.annotations import Span

    across, up = (plot.yaxis[0], plot.xaxis[0]) if axes.across else (plot.xaxis[0], plot.yaxis[0])
    across.axis_label, up.axis_label = axes.x_label or None, axes.y_label
    for axis, scale, code in (
        (across, axes.x_scale, SHORT_COUNT),
        (up, axes.y_scale, SHORT_COUNT if axes.across else PLAIN),
    ):
        axis.formatter = CustomJSTickFormatter(code=code)
        if scale == "log":
            axis.ticker = LogTicker(mantissas=[1], desired_num_ticks=5)
        axis.axis_label_text_font_style = "normal"
        axis.minor_tick_line_color = None
    for axis, ticks in ((across, axes.x_ticks), (up, axes.y_ticks)):
        if ticks is not None:
            axis.ticker = FixedTicker(ticks=list(ticks))
            axis.formatter = CustomJSTickFormatter(args={"names": _by_text(ticks)}, code=NAMED)
    if axes.x_scale == "start and log":
        decades = {LOG_START + power: f"{10**power:,}" for power in range(8)}
        across.ticker = FixedTicker(ticks=[0.0, *decades])
        across.formatter = CustomJSTickFormatter(
            code=f"return tick == 0 ? '0' : (10 ** Math.round(tick - {LOG_START})).toLocaleString('en')"
        )
    if axes.y_told == "time":
        times = {float(tick): human_time(tick) for tick in TICKS}
        up.ticker = FixedTicker(ticks=list(times))
        up.formatter = CustomJSTickFormatter(args={"names": _by_text(times)}, code=NAMED)
    if axes.across and axes.y_scale == "linear":
        plot.add_layout(Span(location=0, dimension="height", line_color=BLACK, line_width=1))
    plot.grid.grid_line_color = "#e4e4e4"
    plot.outline_line_color = None
    plot.title.text_font_size = "11pt"
    plot.title.text_font_style = "normal"


def _by_text(ticks: Any) -> dict[str, str]:
    """Names of ticks by how a browser writes their numbers: ``1``, ``0.1``."""
    return {f"{place:.12g}": name for place, name in ticks.items()}


def _x_range(panel: Panel) -> tuple[float, float]:
    axes = panel.axes
    if axes.x_range is not None:
        return axes.x_range
    if axes.across:
        return len(axes.x_ticks or {}) - 0.4, -0.6
    is_log = axes.x_scale == "log"
    values = finite([place_of(axes, trace.x) for trace in panel.traces], positive=is_log)
    low, high = float(values.min()), float(values.max())
    if is_log:
        room = (high / low) ** 0.06 if high > low else 2.0
        return (high * room, low / room) if axes.reversed else (low / room, high * room)
    room = 0.03 * (high - low) or 0.5
    return low - room, high + room


def _y_range(panel: Panel) -> tuple[float, float]:
    axes = panel.axes
    if axes.y_range is not None:
        return axes.y_range
    is_log = axes.y_scale == "log"
    values = finite([part for trace in panel.traces for part in (trace.y, trace.low, trace.high)], positive=is_log)
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if is_log:
        room = (high / low) ** 0.06 if high > low else 2.0
        return low / room, high * room
    room = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    return (0.0 if axes.from_zero else low - room), high + room


def _draw(
    plot: Any, trace: Trace, axes: Axes, name: str, x_range: tuple[float, float], y_range: tuple[float, float]
) -> None:
    """All glyphs of one trace."""
    colour, alpha = trace.look.colour, 0.45 if trace.thin else 1.0
    line: dict[str, Any] = {
        "line_color": colour, "line_dash": DASHES[trace.look.line], "line_width": 1.0 if trace.thin else 1.8,
        "line_alpha": alpha,
    }  # fmt: skip
    if trace.kind == "level":
        line |= {"line_dash": "dotted"} if trace.hollow else {}
        _line(plot, axes, np.array(x_range), np.repeat(trace.y[:1], 2), name, line)
        if trace.hollow:
            _marks(plot, axes, np.array(x_range[1:]), trace.y[:1], trace, name)
        return
    if trace.kind == "upright":
        for x in place_of(axes, trace.x):
            _line(plot, axes, np.array([x, x]), np.array(y_range), name, line)
        return
    shown = np.isfinite(trace.x) & ((trace.x > 0) if axes.x_scale == "log" else True)
    shown &= np.isfinite(trace.y) & ((trace.y > 0) if axes.y_scale == "log" else True) | is_range(trace)
    x, y, low, high = (part[shown] for part in (place_of(axes, trace.x), trace.y, trace.low, trace.high))
    marked = _marked(x, axes) if trace.kind == "line" and not axes.by_point else np.arange(len(x))
    _spread(plot, axes, trace, name, x, low, high, marked)
    if trace.kind == "line" and not is_range(trace):
        if axes.steps:
            add_glyph(plot, "Step", name, {"x": x, "y": y}, mode="center", **line)
        else:
            _line(plot, axes, x, y, name, line)
    bare = trace.thin or axes.by_point or is_range(trace) or (axes.bare and trace.kind == "line")
    if trace.look.marker and not bare:
        _marks(plot, axes, x[marked], y[marked], trace, name)


def _marked(x: Floats, axes: Axes) -> Any:
    """Places of about as many markers as in the static figure, all where there are few points."""
    if len(x) <= FEW:
        return np.arange(len(x))
    along = np.log(x) if axes.x_scale == "log" else x
    targets = np.linspace(along[0], along[-1], MARKS + 1)
    return np.unique(np.abs(along[:, None] - targets).argmin(axis=0))


def _line(plot: Any, axes: Axes, x: Floats, y: Floats, name: str, look: dict[str, Any]) -> None:
    add_glyph(plot, "Line", name, {"x": y, "y": x} if axes.across else {"x": x, "y": y}, **look)


def _marks(plot: Any, axes: Axes, x: Floats, y: Floats, trace: Trace, name: str) -> None:
    add_glyph(plot, "Scatter", name, {"x": y, "y": x} if axes.across else {"x": x, "y": y}, **marker_of(trace))


def _spread(plot: Any, axes: Axes, trace: Trace, name: str, x: Floats, low: Floats, high: Floats, marked: Any) -> None:
    """Band, bars or range of a trace."""
    has = np.isfinite(low) & np.isfinite(high)
    if not has.any() or trace.thin:
        return
    if axes.y_scale == "log":
        low = np.maximum(low, np.nanmin(np.where(high > 0, high, np.nan)) / 1e3)
    colour = trace.look.colour
    if trace.band and has.sum() > 1:
        area = {"x": x[has], "y1": low[has], "y2": high[has]}
        add_glyph(plot, "VArea", name, area, fill_color=colour, fill_alpha=0.18)
        return
    kept = np.arange(len(x)) if is_range(trace) else np.asarray(marked)
    kept = kept[has[kept]]
    names = ("y0", "x0", "y1", "x1") if axes.across else ("x0", "y0", "x1", "y1")
    ends = dict(zip(names, (x[kept], low[kept], x[kept], high[kept]), strict=True))
    add_glyph(plot, "Segment", name, ends, line_color=colour, line_width=6 if is_range(trace) else 1.2)
