"""Mistakes of OASIS beside what JMLR Theorem 1 allows, along one sequence of triplets in each fold.

No paper draws it. The theorem holds for every matrix U that OASIS is compared with, so every bound must lie above the
mistakes; a bound above the number of triplets says nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.exhibits.context import Context, SubsetInfo
from lookalike.exhibits.figures import Plot
from lookalike.exhibits.panels import (
    MARKER,
    MARKS,
    NO_PRINTED,
    finish,
    folds_phrase,
    legend_entry,
    new_panels,
    places_to_mark,
    say_empty,
)
from lookalike.exhibits.style import BLACK, BLUE, GREEN, GREY, LOOKS, PURPLE, Look, looks_of, paper_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = ("subset", "series", "step", "value", "low", "high", "n_folds", "ratio", "n_folds_below")
MISTAKES, TRIPLETS = "mistakes", "triplets"
COMPARATORS = {
    "I": Look(BLACK, "X"),
    "W": Look(BLUE, "s"),
    "W / 2": Look(GREEN, "^"),
    "2 W": Look(PURPLE, "D"),
}
"""Looks of the bounds by the matrix U; `looks_of` has others."""


def bound_curves(bounds: pd.DataFrame | None, context: Context) -> Plot:
    """Mistakes of OASIS so far, and the bound on them by each matrix, over the triplets seen, both axes logarithmic.

    Parameters
    ----------
    bounds : DataFrame or None
        ``subset, fold, comparator, step, mistakes, bound``: both cumulative, ``comparator`` the matrix U.
    context : Context
        One panel a subset.

    Returns
    -------
    Plot
        Frame columns `COLUMNS`; ``series`` is ``mistakes``, ``triplets`` (how many were seen) or ``bound, U = ...``;
        ``value`` is the mean over folds, ``low`` and ``high`` the least and the largest; of bounds, ``ratio`` is the
        mean over folds of bound / mistakes (NaN before the first mistake of some fold), ``n_folds_below`` the folds
        whose bound is below their mistakes.
    """
    import pandas as pd

    own = context.own(bounds)
    records: list[dict[str, Any]] = []
    with paper_style():
        figure, axes = new_panels(context, "")
        for axis, subset in zip(axes, context.subsets, strict=True):
            axis.set_xlabel("Triplets seen")
            axis.set_ylabel("Mistakes, bound on mistakes")
            rows = None if own is None else own[own["subset"] == subset.id]
            if rows is None or rows.empty:
                say_empty(axis, NO_PRINTED if context.not_run is not None else "mistakes were not counted here")
                axis.set_xticks([])
                continue
            _draw_bounds(axis, rows, subset, records)
            axis.set_xscale("log")
            axis.set_yscale("log")
        finish(figure, axes, context)
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    return Plot(figure, frame.astype({"n_folds": np.int64, "n_folds_below": np.int64}))


def notes_on_bounds(context: Context, plot: Plot) -> str:
    """Sentences of the caption: whether every bound holds, and how far the tightest is from the mistakes at the end."""
    frame = plot.frame
    if frame.empty:
        return ""
    bounds = frame[frame["series"].str.startswith("bound")]
    n_below = int(bounds["n_folds_below"].sum())
    n_folds = int(bounds["n_folds"].max())
    holds = f"they do at every step shown of {f'all {n_folds} folds' if n_folds > 1 else 'the fold'}"
    if n_below:
        holds = f"at {n_below} of {int(bounds['n_folds'].sum())} points of single folds they do not"
    ends = [
        _end_sentence(bounds[bounds["subset"] == subset.id], subset)
        for subset in context.subsets
        if (bounds["subset"] == subset.id).any()
    ]
    over = folds_phrase(bounds, context)
    lines = f"Lines: means over {over}; bands: from the least to the largest of them." if n_folds > 1 else ""
    tightest = f"After the last triplet the tightest is {'; '.join(ends)}."
    return f"{lines} All bounds must lie above the mistakes, and {holds}. {tightest}".strip()


def _end_sentence(bounds: pd.DataFrame, subset: SubsetInfo) -> str:
    last = bounds[bounds["step"] == bounds["step"].max()]
    tightest: Any = next(last.sort_values("value", kind="stable").itertuples())
    times = "" if math.isnan(tightest.ratio) else f", {tightest.ratio:.1f} times the mistakes"
    return f"that of {tightest.series.removeprefix('bound, ')}{times} ({subset.title})"


def _draw_bounds(axis: Axes, rows: pd.DataFrame, subset: SubsetInfo, records: list[dict[str, Any]]) -> None:
    """Every bound from the largest at the end to the smallest, then the mistakes, as the lines lie."""
    comparators = list(dict.fromkeys(rows["comparator"]))
    looks = {**looks_of([name for name in comparators if name not in COMPARATORS]), **COMPARATORS}
    # every comparator has the same mistakes beside it
    mistakes = rows[rows["comparator"] == comparators[0]]
    places = 1 + len(comparators)
    for place, name in enumerate(comparators):
        of_one = rows[rows["comparator"] == name]
        summary = _over_folds(of_one, "bound")
        label = f"bound, U = {name}"
        _line_with_band(axis, summary, place / places, label, looks[name])
        records += _records(summary, subset, label)
    summary = _over_folds(mistakes, "mistakes")
    _line_with_band(axis, summary, len(comparators) / places, "mistakes of OASIS", LOOKS["oasis"])
    records += _records(summary, subset, MISTAKES)
    steps = summary["step"].to_numpy(dtype=float)
    axis.plot(steps, steps, color=GREY, linestyle=":", linewidth=1.1, label="triplets seen", zorder=1.5)
    seen = summary.assign(value=steps, low=steps, high=steps)
    records += _records(seen, subset, TRIPLETS)


def _over_folds(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean and range over folds by step; of bounds the mean ratio to the mistakes, and folds that are below them."""
    is_bound = column == "bound"
    with_ratio = rows.assign(
        ratio=rows["bound"] / rows["mistakes"].where(rows["mistakes"] > 0) if is_bound else math.nan,
        below=(rows["bound"] < rows["mistakes"]) if is_bound else False,
    )
    groups = with_ratio.groupby("step", sort=True)
    summary = groups[column].agg(value="mean", low="min", high="max", n_folds="count").reset_index()
    summary["ratio"] = groups["ratio"].agg(lambda ratios: ratios.mean(skipna=False)).to_numpy(dtype=float)
    summary["n_folds_below"] = groups["below"].sum().to_numpy(dtype=int)
    return summary


def _line_with_band(axis: Axes, summary: pd.DataFrame, shift: float, label: str, look: Look) -> None:
    """Line through the means with markers on some, and a band from the least to the largest fold."""
    # a logarithmic axis has no place for no mistake
    shown = summary[summary["value"] > 0]
    legend_entry(axis, label, color=look.colour, marker=look.marker, linestyle=look.line)
    if shown.empty:
        return
    x, mean, low, high = (shown[column].to_numpy(dtype=float) for column in ("step", "value", "low", "high"))
    axis.fill_between(x, np.maximum(low, np.minimum(mean, 1.0)), high, color=look.colour, alpha=0.2, linewidth=0)
    axis.plot(x, mean, color=look.colour, linestyle=look.line, zorder=2)
    place = np.log(x) - np.log(x[0])
    spacing = max(place[-1] / MARKS, np.finfo(float).tiny)
    marked = places_to_mark(place, spacing * (0.5 + shift) if place[-1] else 0.0, spacing)
    axis.plot(
        x[marked], mean[marked], linestyle="none", marker=look.marker, color=look.colour, markersize=MARKER, zorder=2.5
    )


def _records(summary: pd.DataFrame, subset: SubsetInfo, series: str) -> list[dict[str, Any]]:
    named = summary.assign(subset=subset.id, series=series)
    return [dict(zip(COLUMNS, row, strict=True)) for row in named[list(COLUMNS)].itertuples(index=False, name=None)]
