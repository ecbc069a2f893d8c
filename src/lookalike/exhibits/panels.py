"""What all figures of curves share: their panels, their legend, and lines with error bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lookalike.exhibits.style import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS = 9
"""About how many points of a curve carry a marker and an error bar; the line goes through all of them."""
MARKER, CAP = 2.4, 3.0
"""Size of these markers, and half the width of their error bars' caps, in points."""


def say_empty(axis: Axes, why: str) -> None:
    """Say in a panel that has nothing to show why it is so."""
    axis.set_yticks([])
    axis.text(0.5, 0.5, why, transform=axis.transAxes, ha="center", va="center", color=GREY)


def legend_entry(axis: Axes, label: str, **look: Any) -> None:
    """Put an entry into the legend that looks like the series: line and marker together."""
    axis.plot([], [], label=label, **look)
