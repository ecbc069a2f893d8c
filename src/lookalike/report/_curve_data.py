"""What a figure of curves consists of once its CSV is read: panels, and in each of them traces.

Between the table of forms (`lookalike.report._curve_forms`), which says how a figure's CSV is to be read, and the plots
(`lookalike.report._curve_plots`), which know nothing of exhibits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from lookalike.exhibits.style import Look

Floats = npt.NDArray[np.float64]
Scale = Literal["linear", "log", "start and log"]
"""``start and log`` is linear from 0 to 1 and logarithmic from there, so that a start at 0 has a place."""
Kind = Literal["line", "points", "level", "upright"]


@dataclass(frozen=True)
class Trace:
    """One line, or one set of points, of a panel."""

    label: str
    look: Look
    x: Floats
    """Shape (n,); of a ``level`` NaN."""
    y: Floats
    """Shape (n,); of an ``upright`` NaN, and where there is only a range."""
    low: Floats
    """Shape (n,), absolute; NaN where there is no error."""
    high: Floats
    kind: Kind = "line"
    hollow: bool = False
    """Whether it is printed in a paper."""
    band: bool = False
    """Whether errors are a band, not bars."""
    thin: bool = False
    """Whether it stands behind the others, without markers."""
    notes: tuple[str, ...] = ()
    """What is told of each point besides its numbers; n words, or none."""


@dataclass(frozen=True)
class Axes:
    """Names, scales and numbers of the two axes of a panel."""

    title: str = ""
    x_label: str = ""
    y_label: str = ""
    x_scale: Scale = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    x_told: str = "{:,.6g}"
    """How the pointer tells an x: a format, ``time`` for seconds, or ``nonzero share``."""
    y_told: str = "{:.3f}"
    from_zero: bool = False
    """Whether y starts at 0."""
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    x_ticks: Mapping[float, str] | None = None
    y_ticks: Mapping[float, str] | None = None
    by_point: bool = False
    """Whether the pointer reads the point beneath it: where series have no x in common."""
    across: bool = False
    """Whether x runs downwards, as in a plot of rows."""
    steps: bool = False
    """Whether lines are histograms."""
    bare: bool = False
    """Whether lines have no markers."""
    reversed: bool = False
    """Whether x falls to the right."""


@dataclass(frozen=True)
class Panel:
    """One panel with all that is drawn in it."""

    axes: Axes
    traces: tuple[Trace, ...]
