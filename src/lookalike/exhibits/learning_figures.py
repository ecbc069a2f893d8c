"""What happens while learners learn: curves over training steps or iterations, past those of OASIS in JMLR Figure 5.

Single rankers and their averages (JMLR Figure 7), projections onto the positive semidefinite cone (Figure 9), MCML over
its iterations and how symmetric W is. Numbers are means over folds, error bars standard errors of the mean. Where
curves lie close together, the vertical axis does not start at 0, and the caption says so.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.exhibits.context import Context, SubsetInfo
from lookalike.exhibits.facts import PAPER_OF_TEXT
from lookalike.exhibits.figures import CURVE_COLUMNS, Plot, curve_point, draw_euclidean, hollow
from lookalike.exhibits.panels import (
    MARKS,
    NO_PRINTED,
    error_bars_sentence,
    finish,
    legend_entry,
    line_with_bars,
    new_panels,
    not_drawn_sentence,
    places_to_mark,
    room_above,
    say_empty,
    thousands,
    why_empty,
)
from lookalike.exhibits.reference import printed_number
from lookalike.exhibits.style import BLUE, GREY, LOOKS, ORANGE, VERMILLION, Look, looks_of, paper_style, title_of
from lookalike.ranking.statistics import summarise

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

RANKER_COLUMNS = ("subset", "series", "n_rankers", "ranker", "step", "map", "sem", "n_folds", "aggressiveness")
SYMMETRY_COLUMNS = ("subset", "series", "step", "symmetry_index", "sem", "n_folds")
NOT_FROM_ZERO = "The vertical axis does not start at 0."
SINGLE = "#b8b8b8"
"""Colour of single rankers, which stand behind their averages."""
AVERAGES = (Look(BLUE, "s"), Look(VERMILLION, "o"))
"""Looks of averages, from the smallest; `looks_of` has more."""
LOG_FROM = 1.0
"""Iteration from which the axis is logarithmic; up to it it is linear, so that the start has a place."""


def ranker_curves(rankers: pd.DataFrame | None, context: Context, paper: str) -> Plot:
    """Test mAP of single rankers and of their averages along the steps of each ranker (JMLR Figure 7).

    Parameters
    ----------
    rankers : DataFrame or None
        ``subset, fold, series, n_rankers, ranker, step, map, aggressiveness``: ``series`` is ``single`` or names an
        average.
    context : Context
        One panel a subset.
    paper : str
        Paper id, for the titles of panels.

    Returns
    -------
    Plot
        Frame columns `RANKER_COLUMNS`; every single ranker has a curve of its own, ``ranker`` is -1 for averages.
    """
    import pandas as pd

    own = context.own(rankers)
    records: list[dict[str, Any]] = []
    with paper_style():
        figure, axes = new_panels(context, paper)
        for axis, subset in zip(axes, context.subsets, strict=True):
            axis.set_xlabel("Training steps of each ranker")
            axis.set_ylabel("Mean average precision")
            axis.xaxis.set_major_formatter(thousands)
            last = 0.0
            if own is not None:
                last = _draw_rankers(axis, own[own["subset"] == subset.id], subset, records)
            axis.set_xlim(0, 1.02 * last if last else 60_000)
            if not last:
                say_empty(axis, NO_PRINTED if context.not_run is not None else "no ranker was run here")
        finish(figure, axes, context)
    frame = pd.DataFrame(records, columns=list(RANKER_COLUMNS))
    return Plot(figure, frame.astype({"n_rankers": np.int64, "ranker": np.int64, "n_folds": np.int64}))


def projection_curves(curves: pd.DataFrame | None, context: Context, paper: str) -> Plot:
    """Test mAP of OASIS along its steps, without and with projections onto positive semidefinite W (JMLR Figure 9).

    Parameters
    ----------
    curves : DataFrame or None
        Curve table: ``subset, method, fold, step, images, map``; the test images of ``oasis`` and of the ways of
        projecting that the context names.
    context : Context
        One panel a subset.
    paper : str
        Paper id, for the titles of panels.

    Returns
    -------
    Plot
        Frame columns `lookalike.exhibits.figures.CURVE_COLUMNS`; ``series`` is the method.
    """
    import pandas as pd

    methods = ("oasis", *context.projected)
    own, looks = context.own(curves), looks_of(methods)
    records: list[dict[str, Any]] = []
    with paper_style():
        figure, axes = new_panels(context, paper)
        for axis, subset in zip(axes, context.subsets, strict=True):
            axis.set_xlabel("Training steps")
            axis.set_ylabel("Mean average precision")
            axis.xaxis.set_major_formatter(thousands)
            last = 0.0
            for place, method in enumerate(methods):
                if own is None:
                    break
                chosen = (own["subset"] == subset.id) & (own["method"] == method) & (own["images"] == "test")
                label = "OASIS, not projected" if method == "oasis" else title_of(method, context.method_titles)
                shift = place / len(methods)
                reached = _draw_curve(axis, own[chosen], subset, method, label, looks[method], shift, records)
                last = max(last, reached)
            axis.set_xlim(0, 1.02 * last if last else 60_000)
            if not last:
                say_empty(axis, why_empty(context, subset, "oasis"))
        finish(figure, axes, context)
    return Plot(figure, pd.DataFrame(records, columns=list(CURVE_COLUMNS)).astype({"n_folds": np.int64}))


def mcml_curves(metrics: pd.DataFrame | None, curves: pd.DataFrame | None, context: Context) -> Plot:
    """Mean average precision of MCML over training and test images along its iterations.

    No paper shows it. The curve goes on past the iteration after which MCML ends by itself. A fold in which no step
    lowers the objective any more keeps its last value, so that the mean is always over the same folds.

    Parameters
    ----------
    metrics : DataFrame or None
        Tidy metrics; ``map`` of ``euclidean`` is the dashed line (else step 0 of the test curve).
    curves : DataFrame or None
        Curve table: ``subset, method, fold, step, images, map``; ``step`` is the iteration.
    context : Context
        One panel a subset.

    Returns
    -------
    Plot
        Frame columns `lookalike.exhibits.figures.CURVE_COLUMNS`; the series ``end`` has the mean last iteration and
        nothing else.
    """
    import pandas as pd

    own, own_metrics = context.own(curves), context.own(metrics)
    records: list[dict[str, Any]] = []
    with paper_style():
        figure, axes = new_panels(context, "")
        for axis, subset in zip(axes, context.subsets, strict=True):
            axis.set_xlabel("Iterations")
            axis.set_ylabel("Mean average precision")
            last = 0.0 if own is None else _draw_mcml(axis, own, subset, context, records)
            if last:
                draw_euclidean(axis, own, own_metrics, subset, "mcml", records, label_left=True)
            _iteration_axis(axis, last)
            room_above(axis, last == 0, why_empty(context, subset, "mcml"))
        finish(figure, axes, context)
    return Plot(figure, pd.DataFrame(records, columns=list(CURVE_COLUMNS)).astype({"n_folds": np.int64}))


def symmetry_curves(curves: pd.DataFrame | None, context: Context, reference: pd.DataFrame) -> Plot:
    """Share of W that is symmetric along the steps of OASIS, ||sym W|| / ||W|| (JMLR section 6.1).

    Parameters
    ----------
    curves : DataFrame or None
        Curve table: ``subset, method, fold, step, images, symmetry_index``.
    context : Context
        One panel a subset.
    reference : DataFrame
        Printed numbers: the index that the running text prints is drawn where nothing was run, and of subsets that
        may be held against it.

    Returns
    -------
    Plot
        Frame columns `SYMMETRY_COLUMNS`.
    """
    import pandas as pd

    own = context.own(curves)
    records: list[dict[str, Any]] = []
    with paper_style():
        figure, axes = new_panels(context, "")
        for axis, subset in zip(axes, context.subsets, strict=True):
            axis.set_xlabel("Training steps")
            axis.set_ylabel("Symmetry index of W")
            axis.xaxis.set_major_formatter(thousands)
            last = 0.0 if own is None or "symmetry_index" not in own else _draw_symmetry(axis, own, subset, records)
            if shows_printed_symmetry(context, subset):
                _draw_printed_symmetry(axis, reference, subset, context, records)
            axis.set_xlim(0, 1.02 * last if last else 60_000)
            if not last:
                axis.set_ylim(0, 1.05)
            if not any(record["subset"] == subset.id for record in records):
                say_empty(axis, why_empty(context, subset, "oasis"))
        finish(figure, axes, context)
    return Plot(figure, pd.DataFrame(records, columns=list(SYMMETRY_COLUMNS)).astype({"n_folds": np.int64}))


def shows_printed_symmetry(context: Context, subset: SubsetInfo) -> bool:
    """Whether a panel has the printed index: of the paper's own classes, or alone where nothing was run."""
    return context.not_run is not None or (subset.comparable and bool(subset.printed.get(PAPER_OF_TEXT)))


def notes_on_rankers(context: Context, plot: Plot) -> str:
    """Sentences of the caption: over how many folds the curves are, and that steps are those of each ranker."""
    if plot.frame.empty:
        return ""
    single = plot.frame[plot.frame["series"] == "single"]
    n_single = int(single["ranker"].nunique())
    means = " A thin line is the mean of one ranker over the folds." if plot.frame["n_folds"].max() > 1 else ""
    C = f"C = {plot.frame['aggressiveness'].iloc[0]:g}"
    bars = error_bars_sentence(plot.frame, context)
    return f"{n_single} rankers a fold, {C}. {bars}{means} {NOT_FROM_ZERO}"


def notes_on_mcml(context: Context, plot: Plot) -> str:
    """Sentences of the caption: after how many iterations MCML ends, and why a panel has no curve."""
    ends = plot.frame[plot.frame["series"] == "end"]
    titles = {subset.id: subset.title for subset in context.subsets}
    means = [
        f"{step:,.0f} ({titles[subset]})"
        for subset, step in ends[["subset", "step"]].itertuples(index=False, name=None)
    ]
    sentences = [error_bars_sentence(plot.frame[plot.frame["series"].isin(tuple(_NAMES))], context)]
    if means:
        sentences.append(f"Iterations after which it ends by itself, mean over folds: {', '.join(means)}.")
    drawn = set(plot.frame.loc[plot.frame["series"].isin(tuple(_NAMES)), "subset"])
    empty = tuple(subset for subset in context.subsets if subset.id not in drawn)
    sentences.append(not_drawn_sentence(replace(context, subsets=empty), ("mcml",)))
    return " ".join(filter(None, sentences))


def notes_on_projections(context: Context, plot: Plot) -> str:
    """Sentences of the caption: at which C, and what a point of a curve is."""
    if plot.frame.empty:
        return ""
    none = "" if context.projected else "No way of projecting was run. "
    each = "each point is the test mAP of the model that a fit of so many steps gives"
    bars = error_bars_sentence(plot.frame, context)
    return f"{bars} C = {context.traced_aggressiveness:g}; {each}. {none}{NOT_FROM_ZERO}"


def notes_on_symmetry(context: Context, plot: Plot) -> str:
    """Sentences of the caption: at which C, and what is printed, where it is drawn."""
    sentences = []
    if (plot.frame["series"] == "oasis").any():
        sentences.append(error_bars_sentence(plot.frame, context))
        sentences.append(f"C = {context.traced_aggressiveness:g}. {NOT_FROM_ZERO}")
    printed = plot.frame.loc[plot.frame["series"] == "oasis, printed", "symmetry_index"]
    if len(printed):
        source = "which JMLR section 6.1 prints for OASIS after training"
        sentences.append(f"Dotted, with a hollow marker: {printed.iloc[0]:g}, {source}.")
    return " ".join(sentences)


def _draw_rankers(axis: Axes, rows: pd.DataFrame, subset: SubsetInfo, records: list[dict[str, Any]]) -> float:
    """Thin lines of single rankers and a line with bars of each average; returns the last step."""
    aggressiveness = rows["aggressiveness"].iloc[0] if len(rows) else math.nan
    by = ("series", "n_rankers", "ranker", "step")
    summary = summarise(rows, by=by, value="map").sort_values(["n_rankers", "ranker", "step"])
    last = 0.0
    for _, single in summary[summary["series"] == "single"].groupby("ranker"):
        axis.plot(single["step"], single["mean"], color=SINGLE, linewidth=0.6, zorder=1.7)
        last = max(last, float(single["step"].max()))
    if last:
        legend_entry(axis, "single rankers", color=SINGLE, linewidth=0.6)
    averages = summary[summary["series"] != "single"]
    looks = _looks_of_averages(list(dict.fromkeys(averages["series"])))
    for place, (series, average) in enumerate(averages.groupby("series", sort=False)):
        x, mean, sem = (average[column].to_numpy(dtype=float) for column in ("step", "mean", "sem"))
        places = _places(x, place / len(looks))
        line_with_bars(axis, x, mean, sem, places, f"{series} rankers", looks[str(series)])
        last = max(last, float(x[-1]))
    for row in summary.itertuples():
        point = curve_point(subset, str(row.series), row.step, row.mean, row.sem, row.n_folds)
        identity = {"n_rankers": row.n_rankers, "ranker": row.ranker, "aggressiveness": aggressiveness}
        records.append({**point, **identity})
    return last


def _looks_of_averages(series: list[str]) -> dict[str, Look]:
    more = looks_of(series[len(AVERAGES) :])
    return {**dict(zip(series, AVERAGES, strict=False)), **more}


def _draw_curve(
    axis: Axes,
    rows: pd.DataFrame,
    subset: SubsetInfo,
    series: str,
    label: str,
    look: Look,
    shift: float,
    records: list[dict[str, Any]],
) -> float:
    """One curve of mAP over steps; returns its last step, 0 where there is none."""
    summary = summarise(rows, by=("step",), value="map").sort_values("step")
    if summary.empty:
        return 0.0
    x, mean, sem = (summary[column].to_numpy(dtype=float) for column in ("step", "mean", "sem"))
    line_with_bars(axis, x, mean, sem, _places(x, shift), label, look)
    for row in summary.itertuples():
        records.append(curve_point(subset, series, row.step, row.mean, row.sem, row.n_folds))
    return float(x[-1])


def _places(x: np.ndarray, shift: float) -> np.ndarray:
    """Places to mark; each curve's a share `shift` (0..1) of their distance further right, beside the others'."""
    spacing = max(x[-1] / MARKS, np.finfo(float).tiny)
    return places_to_mark(x, spacing * (0.5 + shift), spacing)


def _draw_mcml(
    axis: Axes, curves: pd.DataFrame, subset: SubsetInfo, context: Context, records: list[dict[str, Any]]
) -> float:
    """Training and test curve and the line where MCML ended; returns the last iteration, 0 where there is no curve."""
    last = 0.0
    for images, look, shift in (("train", Look(ORANGE, "^"), 0.0), ("test", LOOKS["mcml"], 0.5)):
        chosen = (curves["subset"] == subset.id) & (curves["method"] == "mcml") & (curves["images"] == images)
        if not chosen.any():
            continue
        values = _kept_after_the_end(curves[chosen])
        x, mean = values.index.to_numpy(dtype=float), values.mean(axis=1).to_numpy(dtype=float)
        sem = (values.std(axis=1) / math.sqrt(values.shape[1])).to_numpy(dtype=float)
        # as far apart as they stand on a logarithmic axis
        line_with_bars(axis, x, mean, sem, _places(np.log1p(x), shift), f"MCML, {_NAMES[images]}", look)
        last = max(last, float(x[-1]))
        for point in zip(x.astype(int), mean, sem, strict=True):
            records.append(curve_point(subset, images, *point, values.shape[1]))
    ends = context.ended_after.get((subset.id, "mcml"), ())
    if last and ends:
        end = float(np.mean(ends))
        axis.axvline(
            end, color=GREY, linestyle=":", linewidth=1.1, label="MCML ends by itself, mean over folds", zorder=1.2
        )
        records.append(curve_point(subset, "end", end, math.nan, math.nan, len(ends)))
    return last


_NAMES = {"train": "training images", "test": "test images"}


def _kept_after_the_end(rows: pd.DataFrame) -> pd.DataFrame:
    """MAP by iteration (rows) and fold (columns), where each fold has a number or has ended and keeps its last."""
    values = rows.pivot(index="step", columns="fold", values="map").sort_index()
    ends = values.apply(lambda fold: fold.last_valid_index())
    ended = np.asarray(values.index)[:, None] > ends.to_numpy()[None, :]
    kept: pd.DataFrame = values.ffill()[(values.notna().to_numpy() | ended).all(axis=1)]
    return kept


def _iteration_axis(axis: Axes, last: float) -> None:
    """Logarithmic iterations with a place for the start."""
    from matplotlib.ticker import FuncFormatter

    axis.set_xscale("symlog", linthresh=LOG_FROM, linscale=0.4)
    axis.set_xlim(0, 1.1 * max(last, 10.0))
    decades = [10.0**power for power in range(1 + math.floor(math.log10(1.1 * max(last, 10.0))))]
    axis.set_xticks([0, *decades])
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, position: f"{value:,.0f}"))


def _draw_symmetry(axis: Axes, curves: pd.DataFrame, subset: SubsetInfo, records: list[dict[str, Any]]) -> float:
    """Symmetry index of OASIS; returns the last step, 0 where there is no curve."""
    # training and test images have the same W
    chosen = (curves["subset"] == subset.id) & (curves["method"] == "oasis") & (curves["images"] == "test")
    rows = curves[chosen & curves["symmetry_index"].notna()]
    summary = summarise(rows, by=("step",), value="symmetry_index").sort_values("step")
    if summary.empty:
        return 0.0
    x, mean, sem = (summary[column].to_numpy(dtype=float) for column in ("step", "mean", "sem"))
    line_with_bars(axis, x, mean, sem, _places(x, 0.0), "OASIS", LOOKS["oasis"])
    for row in summary.itertuples():
        records.append(_symmetry_point(subset, "oasis", row.step, row.mean, row.sem, row.n_folds))
    return float(x[-1])


def _draw_printed_symmetry(
    axis: Axes, reference: pd.DataFrame, subset: SubsetInfo, context: Context, records: list[dict[str, Any]]
) -> None:
    """Printed index as a dotted line, and as a hollow marker beside the right edge."""
    row = printed_number(reference, PAPER_OF_TEXT, "text", "", "oasis", "symmetry_index")
    if row is None:
        return
    value, look = float(row["value"]), hollow("oasis")
    axis.axhline(value, color=look["color"], linestyle=(0, (1, 2)), linewidth=1.0, zorder=1.5)
    axis.errorbar([1.03], [value], transform=axis.get_yaxis_transform(), clip_on=False, **look)
    shown = {key: look[key] for key in ("color", "marker", "markerfacecolor", "markeredgewidth")}
    label = f"{title_of('oasis', context.method_titles)}, printed (JMLR section 6.1)"
    legend_entry(axis, label, **shown, markersize=5.5, linestyle=(0, (1, 2)))
    records.append(_symmetry_point(subset, "oasis, printed", math.nan, value, math.nan, 0))


def _symmetry_point(subset: SubsetInfo, series: str, step: Any, value: Any, sem: Any, n_folds: Any) -> dict[str, Any]:
    point = {"subset": subset.id, "series": series, "step": step, "symmetry_index": value}
    return {**point, "sem": sem, "n_folds": n_folds}
