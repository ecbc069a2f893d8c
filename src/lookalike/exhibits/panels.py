"""What all figures of curves share: their panels, their legend, and lines with error bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.exhibits.context import Context, SubsetInfo
from lookalike.exhibits.style import GREY, VERMILLION, Look, new_figure, title_of
from lookalike.exhibits.tables import STAR, block_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS = 9
"""About how many points of a curve carry a marker and an error bar; the line goes through all of them."""
NO_PRINTED = "no printed numbers"
"""What a panel says where nothing was run and the paper prints no numbers of it."""
LEGEND_ROW = 0.16
"""Height of a row of the legend, in inches."""
MARKER, CAP = 2.4, 3.0
"""Size of these markers, and half the width of their error bars' caps, in points."""


def new_panels(context: Context, paper: str) -> tuple[Figure, list[Axes]]:
    """One panel a subset, in rows of at most three (four make two rows of two); several have letters, as in print."""
    n = len(context.subsets)
    n_columns = 2 if n == 4 else min(n, 3)
    n_rows = math.ceil(n / n_columns)
    width = {1: 3.6, 2: 6.2, 3: 7.4}[n_columns]
    figure = new_figure(width, 0.45 + 2.35 * n_rows)
    axes = list(figure.subplots(n_rows, n_columns, squeeze=False).ravel())
    for spare in axes[n:]:
        spare.remove()
    for place, (axis, subset) in enumerate(zip(axes[:n], context.subsets, strict=True)):
        letter = f"({_letters(place)})  " if n > 1 else ""
        axis.set_title(letter + block_title(subset, context, paper), loc="left")
    return figure, axes[:n]


def _letters(place: int) -> str:
    """Return A, B, ... Z, AA, AB, ... for 0, 1, ..."""
    before, last = divmod(place, 26)
    return (_letters(before - 1) if before else "") + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[last]


def finish(figure: Figure, axes: list[Axes], context: Context) -> None:
    """One legend for all panels, in the order in which series were first drawn, and what to know about the data."""
    entries: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        columns = _legend_columns(list(entries), figure.get_figwidth())
        rows = math.ceil(len(entries) / columns)
        # a tall legend does not take its room from the panels
        figure.set_figheight(figure.get_figheight() + LEGEND_ROW * max(0, rows - 2))
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns)
    if context.not_run_sentence:
        figure.suptitle(context.not_run_sentence, fontsize=8, color=VERMILLION)
    elif context.synthetic:
        figure.suptitle("Synthetic images", fontsize=7.5, color=GREY, x=0.99, ha="right")


def _legend_columns(labels: list[str], inches: float) -> int:
    """As few rows as fit, evenly filled: about 18 letters an inch, of which line and gaps take 8 in each column."""
    for columns in range(len(labels), 1, -1):
        # filled downwards, the first columns with one entry more where they do not come out even
        widths = [max(map(len, column)) + 8 for column in np.array_split(np.array(labels), columns)]
        if sum(widths) <= 18 * inches:
            n_rows = math.ceil(len(labels) / columns)
            return math.ceil(len(labels) / n_rows)
    return 1


def room_above(axis: Axes, empty: bool, why: str = NO_PRINTED) -> None:
    """Let the axis start at 0; where a panel has nothing to show, say why."""
    _, top = axis.get_ylim()
    axis.set_ylim(0, min(1.0, top * 1.04))
    if empty:
        say_empty(axis, why)


def say_empty(axis: Axes, why: str) -> None:
    """Say in a panel that has nothing to show why it is so."""
    axis.set_yticks([])
    axis.text(0.5, 0.5, why, transform=axis.transAxes, ha="center", va="center", color=GREY)


def why_empty(context: Context, subset: SubsetInfo, method: str) -> str:
    """Why a panel of one method has nothing to show: nothing was run, the method was not, or it did not end in time."""
    if context.not_run is not None:
        return NO_PRINTED
    title = title_of(method, context.method_titles)
    if (subset.id, method) in context.not_converged:
        return f"{title} did not end within its time limit ({STAR})"
    return f"{title} was not run here"


def starred_title(method: str, context: Context) -> str:
    """Title of a method in the legend, with a star where it has no result in some panel."""
    star = f" ({STAR})" if any((subset.id, method) in context.not_converged for subset in context.subsets) else ""
    return title_of(method, context.method_titles) + star


def not_drawn_sentence(context: Context, methods: Sequence[str]) -> str:
    """Explain each star of `starred_title`; "" where there is none.

    Examples
    --------
    ``*: not drawn, since a fit did not end within its time limit: MCML on 50 classes: the final fit took more than
    600 s of CPU time (5 of 5 folds).``
    """
    reasons = [
        f"{title_of(method, context.method_titles)} on {subset.title}: {context.not_converged[subset.id, method]}"
        for method in methods
        for subset in context.subsets
        if (subset.id, method) in context.not_converged
    ]
    if not reasons or context.not_run is not None:
        return ""
    return f"{STAR}: not drawn, since a fit did not end within its time limit: {'; '.join(reasons)}."


def error_bars_sentence(frame: pd.DataFrame, context: Context, bars: str = "standard error of the mean") -> str:
    """What error bars of means over folds are, and over how many of the study's partitions; "" without a mean.

    Examples
    --------
    ``Error bars: standard error of the mean over 3 of these partitions.``
    """
    over = folds_phrase(frame, context)
    if not over:
        return ""
    n_folds = frame.loc[frame["n_folds"] > 0, "n_folds"]
    return f"Error bars: {bars} over {over}." if int(n_folds.max()) > 1 else "One fold; no error bars."


def folds_phrase(frame: pd.DataFrame, context: Context) -> str:
    """``5 folds``, ``3 of these partitions`` or ``2 to 5 folds``, by the means in a frame; "" without one."""
    counts = sorted({int(n) for n in frame["n_folds"] if n > 0})
    if not counts:
        return ""
    least, most = counts[0], counts[-1]
    if least < most:
        return f"{least} to {most} folds"
    if most < context.n_folds:
        return f"{most} of these partitions" if most > 1 else "one of these partitions"
    return f"{most} folds"


def legend_entry(axis: Axes, label: str, **look: Any) -> None:
    """Put an entry into the legend that looks like the series: line and marker together."""
    axis.plot([], [], label=label, **look)


def thousands(value: float, position: float | None = None) -> str:
    """Label of a tick in thousands: ``0``, ``10K``."""
    return "0" if value == 0 else f"{value / 1000:g}K"


def places_to_mark(x: np.ndarray, first: float, spacing: float) -> np.ndarray:
    """Places of the points nearest to first, first + spacing, ...: few enough for markers with error bars."""
    targets = np.arange(first, x[-1] + spacing / 2, spacing)
    return np.unique(np.abs(x[:, None] - targets).argmin(axis=0))


def line_with_bars(
    axis: Axes, x: np.ndarray, mean: np.ndarray, sem: np.ndarray, marked: np.ndarray, label: str, look: Look
) -> None:
    """Draw a line through all points, markers with error bars on some of them, under one legend entry."""
    legend_entry(axis, label, color=look.colour, marker=look.marker, linestyle=look.line)
    axis.plot(x, mean, color=look.colour, linestyle=look.line, zorder=2)
    bars = np.nan_to_num(sem[marked])
    axis.plot(
        x[marked], mean[marked], linestyle="none", marker=look.marker, color=look.colour, markersize=MARKER, zorder=2.5
    )
    # bars stand before their marker and their caps are wider than it, so that short ones are seen too
    axis.errorbar(
        x[marked], mean[marked], yerr=bars, linestyle="none", color=look.colour, elinewidth=0.8, capsize=CAP,
        capthick=0.8, zorder=3,
    )  # fmt: skip
