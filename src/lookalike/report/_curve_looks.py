"""How traces of a plot look in bokeh's words and in writing, and where their numbers stand on an axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lookalike.exhibits.printed import human_time
from lookalike.report._curve_data import Axes, Floats, Trace

MARKERS = {
    "o": "circle", "s": "square", "^": "triangle", "v": "inverted_triangle", "D": "diamond", "d": "diamond",
    "X": "x", "P": "cross", "*": "star", "<": "triangle", ">": "triangle", "h": "hex",
}  # fmt: skip
"""Markers of the static figures to those of bokeh."""
TURNS = {"<": math.pi / 2, ">": -math.pi / 2}
"""Radians by which a marker is turned, against the clock: triangles of bokeh point up."""
SIGNS = {
    "o": "●", "s": "■", "^": "▲", "v": "▼", "D": "◆", "d": "◆", "X": "✖", "P": "✚", "*": "★", "<": "◀", ">": "▶",
    "h": "⬢",
}  # fmt: skip
"""The same as signs of writing."""
HOLLOW_SIGNS = {"o": "○", "s": "□", "^": "△", "v": "▽", "D": "◇", "d": "◇", "*": "☆", "<": "◁", ">": "▷", "h": "⬡"}
LINE_SIGNS = {"-": "━", "--": "╍", ":": "┈", "-.": "╌"}
MISSING = "–"
DASHES = {"-": "solid", "--": "dashed", ":": "dotted", "-.": "dashdot"}
"""Lines of the static figures to those of bokeh."""
LOG_START = 0.4
"""Room of the linear piece of a ``start and log`` axis, in decades."""


def sign_of(trace: Trace) -> str:
    """Return the sign of writing that stands for a trace in legends: its marker, or its line where it has none."""
    if trace.look.marker and trace.kind in ("line", "points") and not trace.thin:
        return (HOLLOW_SIGNS if trace.hollow else SIGNS).get(trace.look.marker, "●")
    return LINE_SIGNS["-" if trace.kind == "line" and not trace.look.marker and is_range(trace) else trace.look.line]


def told(spec: str, value: float) -> str:
    """Return a number as the pointer tells it: by a format, as a duration, or as sparsity; a dash for none."""
    if math.isnan(value):
        return MISSING
    if spec == "time":
        return human_time(value)
    if spec == "nonzero share":
        return f"sparsity {100 - value:.4g}%"
    return spec.format(value)


def swatch(trace: Trace) -> str:
    """Return the sign of a trace in its colour, as markup."""
    return f'<span style="color:{trace.look.colour}">{sign_of(trace)}</span>'


def is_range(trace: Trace) -> bool:
    """Return whether a trace is only how far something reaches."""
    return bool(np.isnan(trace.y).all() and np.isfinite(trace.low).any())


def place_of(axes: Axes, x: Floats) -> Floats:
    """Return where x (any shape) stands on its axis."""
    if axes.x_scale != "start and log":
        return x
    placed: Floats = np.where(x <= 1, LOG_START * x, LOG_START + np.log10(np.maximum(x, 1)))
    return placed


def finite(parts: Sequence[Floats], *, positive: bool) -> Floats:
    """Return the numbers among several arrays, those above 0 for a logarithmic axis."""
    values = np.concatenate([np.empty(0), *parts])
    chosen: Floats = values[np.isfinite(values) & ((values > 0) if positive else True)]
    return chosen


def add_glyph(plot: Any, kind: str, name: str, columns: Mapping[str, Any], **look: Any) -> Any:
    """Add a glyph whose columns are called as its properties; leaner than the methods of bokeh's figures.

    Parameters
    ----------
    plot : bokeh figure
    kind : str
        Class of the glyph, such as ``Line``.
    name : str
        Name of the renderer, by which the page fades it.
    columns : mapping of str to array
        Property to its values.
    **look
        Properties that all points share.

    Returns
    -------
    bokeh GlyphRenderer
    """
    from bokeh.models import ColumnDataSource, glyphs

    glyph = getattr(glyphs, kind)(**{column: column for column in columns}, **look)
    return plot.add_glyph(ColumnDataSource(dict(columns)), glyph, name=name)


def marker_of(trace: Trace) -> dict[str, Any]:
    """Return the look of a marker, as bokeh names it; a printed one is hollow."""
    star = trace.look.marker == "*"
    return {
        "marker": MARKERS[trace.look.marker or "o"],
        "angle": TURNS.get(trace.look.marker, 0.0),
        "size": 13 if star else 9 if trace.hollow else 6,
        "line_color": trace.look.colour,
        "line_width": 1.6 if trace.hollow or trace.look.marker in ("X", "P") else 1,
        "fill_color": None if trace.hollow else trace.look.colour,
    }
