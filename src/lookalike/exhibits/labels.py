"""Words beside the points of a panel, each on a side where it stands on no curve, no point and no other words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from lookalike.exhibits.drawing import SIDES, points_of
from lookalike.exhibits.model import Axis, Figure, Label, Panel

Floats = npt.NDArray[np.float64]

PLOT = 0.85 * 72
"""Points of print of an inch of a panel that its plot has; the rest are ticks and labels."""
LETTER, LINE, STEP = 4.3, 8.0, 2.0
"""Width of a letter, height of a line, and distance of the places that stand for a curve, in points of print."""
MARKER = 4.0
"""Half of a marker's size, in points of print."""
SHARES = {"left": 0.0, "bottom": 0.0, "center": 0.5, "right": 1.0, "top": 1.0}
"""How much of words lies before the place at which they are aligned."""


def on_free_sides(figure: Figure, labels: Iterable[Label]) -> Figure:
    """Label a figure of one panel: each on its own side or else the first free one; what is free nowhere is left out.

    Both axes need their ends, and the figure its size.
    """
    (panel,), ends, placed = figure.panels, PLOT * np.array(figure.size), []
    taken = np.concatenate(_drawn(panel, figure, ends))
    for label in labels:
        at = _places(np.array([[label.x, label.y]]), panel, ends)[0]
        for side in dict.fromkeys((label.side, *SIDES)):
            low, high = _box(at, label.text, side)
            # words stand beside their own marker, whatever its size
            others = taken[(np.abs(taken - at) > MARKER).any(axis=1)]
            is_taken = ((others > low - 1) & (others < high + 1)).all(axis=1).any()
            if not is_taken and (low >= 0).all() and (high <= ends).all():
                placed.append(replace(label, side=side))
                middle = (low[1] + high[1]) / 2
                taken = np.concatenate([taken, _along(np.array([[low[0], middle], [high[0], middle]]))])
                break
    return replace(figure, panels=(replace(panel, labels=tuple(placed)),))


def _drawn(panel: Panel, figure: Figure, ends: Floats) -> list[Floats]:
    """Return the places of every point, with the ends of its marker, and those along every line."""
    found, reach = [np.empty((0, 2))], MARKER * np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])
    for series, points in points_of(panel, figure.frame):
        places = _places(np.stack([points.x, points.y], axis=1), panel, ends)
        found.append((places[:, None] + reach).reshape(-1, 2) if series.kind == "points" else _along(places))
    levels = [line.at for line in panel.lines if not line.upright]
    sides = (np.array([[side, level] for side in (panel.x.low, panel.x.high)], dtype=np.float64) for level in levels)
    return [*found, *(_along(_places(both, panel, ends)) for both in sides)]


def _places(points: Floats, panel: Panel, ends: Floats) -> Floats:
    """Return where points stand in the plot, in points of print from its lower left corner."""

    def along(values: Floats, form: Axis, end: float) -> Floats:
        low, high, *rest = (np.log if form.scale == "log" else np.asarray)([form.low, form.high, *values])
        return np.asarray(end * (np.array(rest) - low) / (high - low))

    return np.stack([along(points[:, 0], panel.x, ends[0]), along(points[:, 1], panel.y, ends[1])], axis=1)


def _along(places: Floats) -> Floats:
    """Return places along a line, a `STEP` apart."""
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(places, axis=0).T))])
    steps = np.linspace(0, length[-1], 2 + int(length[-1] / STEP))
    return np.stack([np.interp(steps, length, column) for column in places.T], axis=1)


def _box(at: Floats, text: str, side: str) -> tuple[Floats, Floats]:
    """Return the lower left and upper right corner of words beside a place."""
    across, up, *shift = SIDES[side]
    size = np.array([LETTER * len(text), LINE])
    low = at + np.array(shift) - size * [SHARES[across], SHARES[up]]
    return low, low + size
