"""Curves in the papers' form: mAP along training (JMLR Figure 5, draft Figure 3) and precision at top k.

Precision is drawn of all compared methods (JMLR Figure 6, draft Figure 4) and of OASIS beside its symmetric variants
(JMLR Figure 8, draft Figure 5). Every function returns the figure and the numbers that it plots. Numbers are fractions,
error bars standard errors of the mean over folds, as in the papers. Where the images are not in place, the panels show
the printed numbers and say what to do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.exhibits.compare import K_MAX, TABLE_METHODS
from lookalike.exhibits.context import Context, SubsetInfo
from lookalike.exhibits.panels import (
    CAP,
    MARKS,
    NO_PRINTED,
    finish,
    legend_entry,
    line_with_bars,
    new_panels,
    places_to_mark,
    room_above,
    starred_title,
    thousands,
    why_empty,
)
from lookalike.exhibits.reference import PRINTED_TABLE, printed_number
from lookalike.exhibits.style import (
    BLACK,
    BLUE,
    GREY,
    LOOKS,
    Look,
    looks_of,
    paper_style,
    title_of,
)
from lookalike.exhibits.tables import STAR
from lookalike.ranking.statistics import summarise

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CURVE_COLUMNS = ("subset", "series", "step", "map", "sem", "n_folds")
"""Columns of the frames of curves of mAP."""


@dataclass(frozen=True)
class Plot:
    """One figure with the numbers that it plots."""

    figure: Figure
    frame: pd.DataFrame


def training_curves(
    metrics: pd.DataFrame | None,
    curves: pd.DataFrame | None,
    context: Context,
    reference: pd.DataFrame,
    paper: str,
) -> Plot:
    """Mean average precision over training and test images along the steps of OASIS (JMLR Figure 5, draft Figure 3).

    Parameters
    ----------
    metrics : DataFrame or None
        Tidy metrics; ``map`` of ``euclidean`` is the dashed line (else step 0 of the test curve).
    curves : DataFrame or None
        Curve table: ``subset, method, fold, aggressiveness, step, images, map, loss_rate``.
    context : Context
        One panel a subset; ``selected_steps`` gives the vertical line at the mean validation stop.
    reference : DataFrame
        Printed numbers.
    paper : str
        Paper id: whose printed mAP is drawn where it is comparable.

    Returns
    -------
    Plot
        Frame columns: ``subset, series, step, map, sem, n_folds``.
    """
    import pandas as pd

    own, own_metrics = context.own(curves), context.own(metrics)
    records: list[dict[str, Any]] = []
    with paper_style():
        figure, axes = new_panels(context, paper)
        for axis, subset in zip(axes, context.subsets, strict=True):
            axis.set_xlabel("Training steps")
            axis.set_ylabel("Mean average precision")
            axis.xaxis.set_major_formatter(thousands)
            last = _draw_training(axis, own, subset, records)
            stop = _draw_stop(axis, context, subset, records)
            # the value stands at the end of the dashed line that is farther from the dotted one
            draw_euclidean(axis, own, own_metrics, subset, "oasis", records, label_left=stop > last / 2)
            if shows_printed(context, subset):
                _draw_printed_map(axis, reference, paper, subset, context, records)
            axis.set_xlim(0, 1.02 * last if last else 60_000)
            empty = not any(record["subset"] == subset.id for record in records)
            room_above(axis, empty, why_empty(context, subset, "oasis"))
        finish(figure, axes, context)
    return Plot(figure, pd.DataFrame(records, columns=list(CURVE_COLUMNS)).astype({"n_folds": np.int64}))


def precision_curves(
    metrics: pd.DataFrame | None,
    curves: pd.DataFrame | None,
    context: Context,
    reference: pd.DataFrame,
    paper: str,
) -> Plot:
    """Precision at top k against k for every method, with chance (JMLR Figure 6, draft Figure 4).

    Parameters
    ----------
    metrics : DataFrame or None
        Tidy metrics: ``p@1``, ``p@2``, ...
    curves : DataFrame or None
        Not used; all drawing functions take the same arguments.
    context : Context
        One panel a subset. Chance is (n_test - 1) / (n_classes n_test - 1): the share of positives in a gallery.
    reference : DataFrame
        Printed numbers: the main table's precision at 1, 10 and 50 stands as hollow markers where it is comparable.
    paper : str
        Paper id.

    Returns
    -------
    Plot
        Frame columns: ``subset, series, k, precision, error, error_is, n_folds``.
    """
    return _precision_figure(metrics, context, context.methods, paper, reference)


def variant_curves(
    metrics: pd.DataFrame | None,
    curves: pd.DataFrame | None,
    context: Context,
    reference: pd.DataFrame,
    paper: str,
) -> Plot:
    """Precision at top k of OASIS and of its symmetric variants, with chance (JMLR Figure 8, draft Figure 5).

    Neither paper prints a number of it. Parameters and result as of `precision_curves`; the variants are the context's.
    """
    return _precision_figure(metrics, context, methods_of_variants(context), paper, None)


def methods_of_variants(context: Context) -> tuple[str, ...]:
    """Methods of the figure of symmetric variants: OASIS, then the variants that were run."""
    return ("oasis", *context.variants)


def _precision_figure(
    metrics: pd.DataFrame | None,
    context: Context,
    methods: Sequence[str],
    paper: str,
    reference: pd.DataFrame | None,
) -> Plot:
    """Precision of the methods; with printed numbers of the paper's main table where `reference` is given."""
    import pandas as pd

    own, looks = context.own(metrics), looks_of(methods)
    records: list[dict[str, Any]] = []
    with paper_style():
        figure, axes = new_panels(context, paper)
        for axis, subset in zip(axes, context.subsets, strict=True):
            axis.set_xlabel("Number of neighbours k")
            axis.set_ylabel("Precision at top k")
            n_gallery = subset.n_classes * context.n_test - 1
            k_max = max(2, min(K_MAX, n_gallery)) if subset.n_classes else K_MAX
            if own is not None:
                for place, method in enumerate(methods):
                    shift = place / max(1, len(methods))
                    _draw_precision(axis, own, subset, method, shift, looks[method], k_max, context, records)
                _say_not_drawn(axis, subset, methods, context)
            if reference is not None and shows_printed(context, subset):
                _draw_printed_precision(axis, reference, paper, subset, context, records)
            empty = not any(record["subset"] == subset.id for record in records)
            if subset.n_classes:
                _draw_chance(axis, (context.n_test - 1) / n_gallery, subset, records)
            axis.set_xlim(-2, k_max + 1)
            room_above(axis, empty, NO_PRINTED if context.not_run is not None else "not run here")
        finish(figure, axes, context)
    columns = ["subset", "series", "k", "precision", "error", "error_is", "n_folds"]
    return Plot(figure, pd.DataFrame(records, columns=columns).astype({"n_folds": np.int64}))


def shows_printed(context: Context, subset: SubsetInfo) -> bool:
    """Whether a panel has the paper's numbers: beside ours where they are comparable, alone where nothing was run."""
    return subset.comparable or context.not_run is not None


def stop_label(context: Context) -> str:
    """Name of the vertical line in figures of learning curves."""
    return f"validation stop at C = {context.traced_aggressiveness:g}"


def _draw_training(axis: Axes, curves: pd.DataFrame | None, subset: SubsetInfo, records: list[dict[str, Any]]) -> float:
    """Training and test curve; returns the last step, 0 where there is no curve."""
    if curves is None:
        return 0.0
    last = 0.0
    for images, look in (("train", Look(BLUE, "s")), ("test", LOOKS["oasis"])):
        chosen = (curves["subset"] == subset.id) & (curves["method"] == "oasis") & (curves["images"] == images)
        rows = curves[chosen]
        if rows.empty:
            continue
        summary = summarise(rows, by=("step",), value="map").sort_values("step")
        x, mean, sem = (summary[column].to_numpy(dtype=float) for column in ("step", "mean", "sem"))
        spacing = max(1.0, x[-1] / MARKS)
        # training and test bars stand beside, not upon, each other
        places = places_to_mark(x, spacing if images == "test" else spacing / 2, spacing)
        label = {"train": "OASIS, training images", "test": "OASIS, test images"}[images]
        line_with_bars(axis, x, mean, sem, places, label, look)
        last = max(last, float(x[-1]))
        for row in summary.itertuples():
            records.append(curve_point(subset, images, row.step, row.mean, row.sem, row.n_folds))
    return last


def draw_euclidean(
    axis: Axes,
    curves: pd.DataFrame | None,
    metrics: pd.DataFrame | None,
    subset: SubsetInfo,
    method: str,
    records: list[dict[str, Any]],
    *,
    label_left: bool,
) -> None:
    """Dashed line of the Euclidean baseline on test images: its own mAP, else the method's before its first step."""
    values = None
    if metrics is not None:
        chosen = (metrics["subset"] == subset.id) & (metrics["method"] == "euclidean") & (metrics["metric"] == "map")
        values = metrics.loc[chosen, ["value"]]
    if (values is None or values.empty) and curves is not None:
        of_method = (curves["subset"] == subset.id) & (curves["method"] == method)
        start = of_method & (curves["images"] == "test") & (curves["step"] == 0)
        values = curves.loc[start, ["map"]].rename(columns={"map": "value"})
    if values is None or values.empty:
        return
    mean, n = float(values["value"].mean()), len(values)
    sem = float(values["value"].std()) / math.sqrt(n) if n > 1 else math.nan
    axis.axhline(mean, color=BLACK, linestyle="--", linewidth=1.0, label="Euclidean, test images", zorder=1.5)
    place, shift, side = (0, 3, "left") if label_left else (1, -3, "right")
    # above dotted and grid lines, beneath the curves
    axis.annotate(
        f"{mean:.2f}", (place, mean), xycoords=("axes fraction", "data"), xytext=(shift, -3),
        textcoords="offset points", ha=side, va="top", fontsize=6.5, zorder=1.6,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )  # fmt: skip
    records.append(curve_point(subset, "euclidean", math.nan, mean, sem, n))


def _draw_stop(axis: Axes, context: Context, subset: SubsetInfo, records: list[dict[str, Any]]) -> float:
    """Vertical line at the mean validation stop; returns its step, 0 where there is none."""
    steps = context.selected_steps.get(subset.id, ())
    if not steps or context.not_run is not None:
        return 0.0
    mean = float(np.mean(steps))
    axis.axvline(mean, color=GREY, linestyle=":", linewidth=1.1, label=stop_label(context), zorder=1.2)
    records.append(curve_point(subset, "validation stop", mean, math.nan, math.nan, len(steps)))
    return mean


def _draw_printed_map(
    axis: Axes, reference: pd.DataFrame, paper: str, subset: SubsetInfo, context: Context, records: list[dict[str, Any]]
) -> None:
    """Printed test mAP of OASIS and Euclidean, with its standard deviation, beside the right edge."""
    for method in ("oasis", "euclidean"):
        row = printed_number(reference, paper, PRINTED_TABLE[paper], subset.printed.get(paper, ""), method, "map")
        if row is None or math.isnan(row["value"]):
            continue
        value, std = row["value"] / 100, row["spread"] / 100
        if context.not_run is not None:
            axis.axhline(value, color=LOOKS[method].colour, linestyle=(0, (1, 2)), linewidth=1.0)
        axis.errorbar(
            [1.03], [value], yerr=[std], transform=axis.get_yaxis_transform(), clip_on=False, **hollow(method)
        )
        _printed_entry(axis, method, paper, context, ", test images")
        records.append(curve_point(subset, f"{method}, printed", math.nan, value, math.nan, 0))


def hollow(method: str) -> dict[str, Any]:
    """Look of a printed number: the method's marker, hollow."""
    look = LOOKS[method]
    return {
        "linestyle": "none",
        "marker": look.marker,
        "markersize": 3.6,
        "markerfacecolor": "none",
        "markeredgewidth": 0.9,
        "color": look.colour,
        "elinewidth": 0.6,
        "capsize": CAP,
    }


def _printed_entry(axis: Axes, method: str, paper: str, context: Context, what: str = "") -> None:
    """Legend: one entry for all hollow markers beside our curves, one a method where they stand alone."""
    look = {key: value for key, value in hollow(method).items() if key not in ("elinewidth", "capsize")}
    look["markersize"] = 5.5
    if context.not_run is not None:
        label = f"{title_of(method, context.method_titles)}{what}, printed ({_table_name(paper)})"
        legend_entry(axis, label, **look)
    else:
        legend_entry(axis, f"hollow: printed ({_table_name(paper)})", **{**look, "marker": "o", "color": GREY})


def _draw_precision(
    axis: Axes,
    metrics: pd.DataFrame,
    subset: SubsetInfo,
    method: str,
    shift: float,
    look: Look,
    k_max: int,
    context: Context,
    records: list[dict[str, Any]],
) -> None:
    """Curve of one method; none where some fold did not converge, since those that did are the easier ones."""
    title = starred_title(method, context)
    if (subset.id, method) in context.not_converged:
        legend_entry(axis, title, color=look.colour, marker=look.marker, linestyle=look.line)
        return
    at_k = metrics["metric"].str.startswith("p@")
    rows = metrics[(metrics["subset"] == subset.id) & (metrics["method"] == method) & at_k]
    rows = rows.assign(k=rows["metric"].str.removeprefix("p@").astype(int))
    summary = summarise(rows[rows["k"] <= k_max], by=("k",)).sort_values("k")
    if summary.empty:
        return
    k, mean, sem = (summary[column].to_numpy(dtype=float) for column in ("k", "mean", "sem"))
    spacing = max(1.0, k_max / (MARKS - 1))
    # each method's bars start a little further right, so that they do not cover each other
    places = np.union1d([0], places_to_mark(k, 1 + spacing * (1 + shift) / 2, spacing))
    line_with_bars(axis, k, mean, sem, places.astype(int), title, look)
    for row in summary.itertuples():
        records.append(_precision_point(subset, method, row.k, row.mean, row.sem, "s.e.m.", row.n_folds))


def _draw_printed_precision(
    axis: Axes, reference: pd.DataFrame, paper: str, subset: SubsetInfo, context: Context, records: list[dict[str, Any]]
) -> None:
    """Printed precision at 1, 10 and 50 of every method as hollow markers with their standard deviations."""
    shown = [method for method in TABLE_METHODS if context.not_run is not None or method in context.methods]
    for place, method in enumerate(shown):
        points = []
        for k in (1, 10, 50):
            row = printed_number(
                reference, paper, PRINTED_TABLE[paper], subset.printed.get(paper, ""), method, f"p@{k}"
            )
            if row is not None and not math.isnan(row["value"]):
                points.append((k, row["value"] / 100, row["spread"] / 100))
        if not points:
            continue
        x, value, std = np.array(points).T
        # beside each other, so that none covers another; the frame has the true k
        axis.errorbar(x + 0.9 * (place - (len(shown) - 1) / 2), value, yerr=std, **hollow(method))
        _printed_entry(axis, method, paper, context)
        for point in points:
            records.append(_precision_point(subset, f"{method}, printed", *point, "standard deviation", 0))


def _say_not_drawn(axis: Axes, subset: SubsetInfo, methods: Sequence[str], context: Context) -> None:
    titles = [
        title_of(method, context.method_titles) for method in methods if (subset.id, method) in context.not_converged
    ]
    if titles:
        axis.text(
            0.99, 0.99, f"{STAR} not drawn: {', '.join(titles)}", transform=axis.transAxes, ha="right", va="top",
            fontsize=6.5, color=GREY,
        )  # fmt: skip


def _draw_chance(axis: Axes, chance: float, subset: SubsetInfo, records: list[dict[str, Any]]) -> None:
    axis.axhline(chance, color=BLACK, linestyle="--", linewidth=0.9, label="chance", zorder=1.5)
    records.append(_precision_point(subset, "chance", math.nan, chance, math.nan, "", 0))


def _table_name(paper: str) -> str:
    return PRINTED_TABLE[paper].replace("table", "Table ")


def curve_point(subset: SubsetInfo, series: str, step: Any, value: Any, sem: Any, n_folds: Any) -> dict[str, Any]:
    """One row of a frame with `CURVE_COLUMNS`."""
    return {"subset": subset.id, "series": series, "step": step, "map": value, "sem": sem, "n_folds": n_folds}


def _precision_point(
    subset: SubsetInfo, series: str, k: Any, value: Any, error: Any, error_is: str, n_folds: Any
) -> dict[str, Any]:
    point = {"subset": subset.id, "series": series, "k": k, "precision": value}
    return {**point, "error": error, "error_is": error_is, "n_folds": n_folds}
