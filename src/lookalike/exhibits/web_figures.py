"""Figures of the web study: precision at top k (OASIS JMLR Figure 3A, draft Figure 6), training, approximate search.

Every function returns the figure and the numbers that it plots; in figures precision is in percent, as the papers' text
prints it. What the study simulates is said above the panels and in every caption.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.exhibits import compare as compared
from lookalike.exhibits.figures import Plot
from lookalike.exhibits.reference import printed_number
from lookalike.exhibits.style import BLACK, GREY, LOOKS, OTHERS, Look, looks_of, new_figure, paper_style
from lookalike.exhibits.web_context import AVERAGED, JMLR, WebContext
from lookalike.exhibits.web_runtime import empty_panel, plain_log_ticks, say_about_data
from lookalike.exhibits.web_scaling import short_count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PRECISION_COLUMNS = ("series", "k", "precision", "standard_error", "n_queries", "n_gallery")
"""In percent; ``series`` is a method, ``chance`` or ``oasis, printed``."""
LEARNING_COLUMNS = ("series", "ranker", "step", "hours", "map", "loss_rate", "stopped")
"""``stopped`` says how the training of a row ``stop`` ended, and is empty in all others."""
RECALL_COLUMNS = ("series", "index", "rank", "parameter", "k", "recall", "milliseconds")
CHANCE, PRINTED, MEAN, STOP = "chance", "oasis, printed", "mean", "stop"
OF_LOG, OF_TOPIC = ("precision", "standard_error"), ("topic_precision", "topic_standard_error")
"""Columns of precision.parquet: relevance by the query log, and by the latent topic that made the query image."""
NO_RANKER = -1
"""Ranker of the averaged model in curves."""
PREFERRED_K = 10
"""Neighbours whose recall the figure of indices shows, where they were counted."""


def precision_curves(
    precision: pd.DataFrame | None,
    context: WebContext,
    reference: pd.DataFrame,
    columns: tuple[str, str] = OF_LOG,
) -> Plot:
    """Precision at top k over k, with bands of one standard error over query images.

    Parameters
    ----------
    precision : DataFrame or None
        ``method``, ``k``, ``precision``, ``standard_error``, ``topic_precision``, ``topic_standard_error`` (fractions),
        ``n_queries``, ``n_gallery``. Rows of a method ``chance`` are the level of a random order. None: nothing run.
    context : WebContext
        Without such rows the level is the mean share of relevant images that was counted in the test part.
    reference : DataFrame
        Printed numbers; precision at 1 (JMLR section 5.2.2) is a hollow marker beside precision by the log.
    columns : tuple of str
        Which of the two precisions, `OF_LOG` or `OF_TOPIC`.

    Returns
    -------
    Plot
        Frame columns `PRECISION_COLUMNS`, in percent.
    """
    import pandas as pd

    own = None if context.not_run or precision is None or precision.empty else precision
    of_log = columns == OF_LOG
    records = [] if own is None else _precisions(own, columns)
    methods = _ordered((record["series"] for record in records), context)
    looks = looks_of(methods)
    with paper_style():
        figure = new_figure(4.3, 3.3)
        axis = figure.subplots()
        axis.set_xlabel("Number of neighbours k")
        axis.set_ylabel("Precision at top k (%)" if of_log else "Top k of the query's latent topic (%)")
        for method in methods:
            _draw_precision(axis, [one for one in records if one["series"] == method], looks[method], context)
        records += _chance(axis, records, context, of_log=of_log)
        if of_log:
            records += _printed_precision(axis, reference)
        axis.set_ylim(bottom=0)
        axis.set_xlim(0, 1.03 * max((one["k"] for one in records if one["series"] in methods), default=compared.K_MAX))
        if not records:
            empty_panel(axis)
        _legend_below(figure, axis, columns=2)
        say_about_data(figure, context)
    counts = {"k": np.int64, "n_queries": np.int64, "n_gallery": np.int64}
    return Plot(figure, pd.DataFrame(records, columns=list(PRECISION_COLUMNS)).astype(counts))


def compare_precision(precision: pd.DataFrame | None, context: WebContext, reference: pd.DataFrame) -> pd.DataFrame:
    """Set precision at 1 of OASIS beside the printed one, without a verdict.

    Parameters
    ----------
    precision, context, reference
        As in `precision_curves`.

    Returns
    -------
    DataFrame
        Columns `lookalike.exhibits.compare.COLUMNS`, in percent; one row, or none where nothing is printed.
    """
    row = printed_number(reference, JMLR, "text", "", "oasis", "web_p@1")
    if row is None:
        return compared.comparison_frame([])
    ours, _ = precision_at(None if context.not_run else precision, "oasis", 1)
    if context.not_run_sentence is not None:
        judged = (context.not_run_sentence, "nothing was run")
    elif math.isnan(ours):
        judged = (compared.NO_RESULT, "this run has no p@1 of OASIS")
    else:
        judged = (compared.NOT_COMPARABLE, context.why_not_comparable)
    row = row.replace({"web_p@1": "p@1"})
    return compared.comparison_frame([compared.compared_row(row, "test", ours, math.nan, *judged)])


def precision_at(precision: pd.DataFrame | None, method: str, k: int) -> tuple[float, float]:
    """Return precision at k and its standard error in percent; NaN twice where there is no such row."""
    if precision is None:
        return math.nan, math.nan
    rows = precision[(precision["method"] == method) & (precision["k"] == k)]
    if rows.empty:
        return math.nan, math.nan
    return 100 * float(rows["precision"].iloc[0]), 100 * float(rows["standard_error"].iloc[0])


def notes_on_precision(context: WebContext, plot: Plot, *, of_log: bool) -> str:
    """Sentences of the caption: how many queries, what bands and lines are, and whose the marker is."""
    frame = plot.frame
    parts = []
    measured = frame[~frame["series"].isin((CHANCE, PRINTED))]
    if len(measured):
        n_queries, n_gallery = int(measured["n_queries"].max()), int(measured["n_gallery"].max())
        parts.append(
            f"{n_queries:,} query images drawn from the test images, each against all {n_gallery:,} of them but "
            "itself; bands: one standard error of the mean over query images."
        )
    if (frame["series"] == CHANCE).any():
        level = frame.loc[frame["series"] == CHANCE, "precision"].iloc[0]
        parts.append(f"Dashed grey: chance, {level:.2g}%.")
    if (frame["series"] == PRINTED).any():
        parts.append("Hollow: precision at 1 as JMLR section 5.2.2 prints it; curves in print have no numbers.")
    if "euclidean" in set(frame["series"]):
        parts.append(
            "The gap to Euclidean is made by the simulation, whose images share styles that mean nothing to queries, "
            "and cannot be read as the papers'."
        )
    return " ".join(parts)


def learning_curves(curve: pd.DataFrame | None, fits: pd.DataFrame | None, context: WebContext) -> Plot:
    """Validation mAP and rate of steps with a loss over training steps; hours of training along the top.

    Parameters
    ----------
    curve : DataFrame or None
        ``ranker``, ``step``, ``seconds``, ``map`` (fraction), ``loss_rate`` (fraction since the point before). Rows of
        ranker -1 are the averaged model's.
    fits : DataFrame or None
        ``ranker``, ``chosen_step``, which is marked, and ``stopped`` ("saturated" or "limit").
    context : WebContext

    Returns
    -------
    Plot
        Frame columns `LEARNING_COLUMNS`, mAP and rate in percent: series ``ranker``, ``mean`` (of several rankers at
        their common steps) or ``oasis-averaged``, and ``stop``.
    """
    import pandas as pd

    own = None if context.not_run or curve is None or curve.empty else curve
    records = [] if own is None else _curves(own)
    stops = [] if own is None else _stops(fits, records)
    with paper_style():
        figure = new_figure(4.6, 4.3)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(5, 4))
        upper.set_ylabel("Validation mAP (%)")
        lower.set_ylabel("Steps with a loss (%)")
        lower.set_xlabel("Training steps")
        lower.xaxis.set_major_formatter(lambda value, position: short_count(value))
        for axis, quantity in ((upper, "map"), (lower, "loss_rate")):
            _draw_curves(axis, records, quantity, context)
            for place, stop in enumerate(stops):
                label = "best mAP of a ranker" if place == 0 else None
                axis.axvline(stop["step"], color=BLACK, linestyle=":", linewidth=0.9, label=label, zorder=1.5)
        lower.set_ylim(bottom=0)
        if own is None:
            empty_panel(upper)
            empty_panel(lower)
        else:
            _hours_above(upper, own)
        _legend_below(figure, upper, columns=3)
        say_about_data(figure, context)
    frame = pd.DataFrame([*records, *stops], columns=list(LEARNING_COLUMNS))
    return Plot(figure, frame.astype({"ranker": np.int64, "step": np.int64}))


def notes_on_learning(context: WebContext, plot: Plot) -> str:
    """Sentences of the caption: which images mAP is of, what is thin and thick, which step is kept, the top axis."""
    frame = plot.frame
    parts = []
    rankers = sorted(set(frame.loc[frame["series"] == "ranker", "ranker"]))
    if len(rankers):
        images = f"{context.n_validation_images:,} training images" if context.n_validation_images else "images"
        parts.append(f"Mean average precision over {images} held out for validation.")
    if len(rankers) > 1:
        thick = "the averaged matrix" if (frame["series"] == AVERAGED).any() else "their mean, of curves not of models"
        parts.append(f"Thin: {len(rankers)} rankers on triplets of their own; thick: {thick}.")
    stops = frame[frame["series"] == STOP]
    if len(stops):
        steps = ", ".join(f"{step:,}" for step in sorted(set(stops["step"])))
        parts.append(f"Dotted: the step of the best validation mAP, whose matrix is kept ({steps}).")
        limited = sorted(stops.loc[stops["stopped"] == "limit", "ranker"])
        if limited:
            named = f"ranker{'s' * (len(limited) > 1)} {' and '.join(map(str, limited))}"
            whose = f" of {named}" if len(rankers) > 1 else ""
            parts.append(f"Training{whose} ended at its limit of steps, not because mAP had saturated.")
    above = plot.figure.axes[0].child_axes
    if above:
        parts.append(f"Top axis: {above[0].get_xlabel().lower()} until then, without the time of validation itself.")
    return " ".join(parts)


def recall_curves(approximate: pd.DataFrame | None, context: WebContext) -> Plot:
    """Recall of the exact first k over milliseconds a query, a line an index.

    Parameters
    ----------
    approximate : DataFrame or None
        ``index`` ("exact" or a factory string), ``rank`` (dimensions of the projection; 0: W itself), ``parameter``,
        ``k``, ``recall`` (fraction), ``milliseconds``, ``n_queries``, ``n_gallery``.
    context : WebContext

    Returns
    -------
    Plot
        Frame columns `RECALL_COLUMNS`, recall in percent, at one k: 10, or the least that was counted.
    """
    import pandas as pd

    own = None if context.not_run or approximate is None or approximate.empty else approximate
    records = [] if own is None else _recalls(own)
    series = list(dict.fromkeys(one["series"] for one in records))
    looks = _index_looks(series)
    with paper_style():
        figure = new_figure(4.6, 3.5)
        axis = figure.subplots()
        axis.set_xscale("log")
        axis.set_xlabel("Milliseconds a query")
        axis.set_ylabel(f"Recall of the exact first {records[0]['k'] if records else PREFERRED_K} (%)")
        for name in series:
            rows = sorted((one for one in records if one["series"] == name), key=lambda one: one["milliseconds"])
            _draw_recall(axis, rows, looks[name])
        axis.set_ylim(0, 105)
        axis.xaxis.set_major_formatter(lambda value, position: f"{value:g}")
        plain_log_ticks(axis)
        axis.margins(x=0.08)
        if not records:
            empty_panel(axis)
        _legend_below(figure, axis, columns=3)
        say_about_data(figure, context)
    counts = {"rank": np.int64, "parameter": np.int64, "k": np.int64}
    return Plot(figure, pd.DataFrame(records, columns=list(RECALL_COLUMNS)).astype(counts))


def series_of_index(index: str, rank: int) -> str:
    """Name of an index in legends and tables: ``IVF1024,Flat, 128 dims``; ``exact`` for the search by W itself."""
    return index if rank == 0 else f"{index}, {rank} dims"


def _precisions(precision: pd.DataFrame, columns: tuple[str, str]) -> list[dict[str, Any]]:
    rows: Any = precision.sort_values("k", kind="stable")
    records = []
    keys = ("method", "k", *columns, "n_queries", "n_gallery")
    for method, k, value, error, n_queries, n_gallery in zip(*(rows[key] for key in keys), strict=True):
        if not math.isnan(value):
            numbers = (str(method), int(k), 100 * float(value), 100 * float(error), int(n_queries), int(n_gallery))
            records.append(dict(zip(PRECISION_COLUMNS, numbers, strict=True)))
    return records


def _ordered(names: Any, context: WebContext) -> list[str]:
    """Methods with a curve: those of the study in its order, then any other; chance is no method."""
    found = list(dict.fromkeys(names))
    known = [method for method in context.methods if method in found]
    return [*known, *(name for name in found if name not in (*known, CHANCE))]


def _draw_precision(axis: Axes, records: Sequence[Mapping[str, Any]], look: Look, context: WebContext) -> None:
    x, y, error = (np.array([one[key] for one in records]) for key in ("k", "precision", "standard_error"))
    marked = len(x) <= 12
    axis.plot(
        x, y, color=look.colour, linestyle=look.line, marker=look.marker, markevery=None if marked else 0.12,
        markersize=3.5, label=context.title_of(str(records[0]["series"])), zorder=2.5,
    )  # fmt: skip
    error = np.nan_to_num(error)
    axis.fill_between(x, y - error, y + error, color=look.colour, alpha=0.2, linewidth=0, zorder=2)


def _chance(
    axis: Axes, records: Sequence[Mapping[str, Any]], context: WebContext, *, of_log: bool
) -> list[dict[str, Any]]:
    """Draw the level of a random order; its record where it was not measured but follows from counts."""
    measured = [one for one in records if one["series"] == CHANCE]
    new = []
    if measured:
        level = float(np.mean([one["precision"] for one in measured]))
    else:
        relevant, n_images = (context.counts.get(("test", name)) for name in ("relevant_per_image", "images"))
        if not of_log or not records or relevant is None or n_images is None or n_images < 2:
            return []
        level = 100 * relevant / (n_images - 1)
        new = [dict(zip(PRECISION_COLUMNS, (CHANCE, 1, level, math.nan, 0, int(n_images)), strict=True))]
    axis.axhline(level, color=GREY, linestyle="--", linewidth=1.0, label="chance", zorder=1.5)
    return new


def _printed_precision(axis: Axes, reference: pd.DataFrame) -> list[dict[str, Any]]:
    row = printed_number(reference, JMLR, "text", "", "oasis", "web_p@1")
    if row is None:
        return []
    look = LOOKS["oasis"]
    axis.plot(
        [1], [row["value"]], linestyle="none", marker=look.marker, markersize=6.5, markerfacecolor="none",
        markeredgewidth=1.1, color=look.colour, label=f"OASIS, printed: {row['value']:g}%", zorder=3.5,
    )  # fmt: skip
    return [dict(zip(PRECISION_COLUMNS, (PRINTED, 1, float(row["value"]), math.nan, 0, 0), strict=True))]


def _curves(curve: pd.DataFrame) -> list[dict[str, Any]]:
    """Records of every ranker, and of what is drawn thick beside several of them."""
    records = []
    for ranker, rows in curve.sort_values("step", kind="stable").groupby("ranker", sort=True):
        series = AVERAGED if ranker == NO_RANKER else "ranker"
        keys = ("step", "seconds", "map", "loss_rate")
        for step, seconds, value, rate in zip(*(rows[key] for key in keys), strict=True):
            records.append(_of_curve(series, int(str(ranker)), step, seconds, value, rate))
    several = curve[curve["ranker"] != NO_RANKER]
    n_rankers = several["ranker"].nunique()
    if n_rankers > 1 and not (curve["ranker"] == NO_RANKER).any():
        by_step = several.groupby("step")
        common = by_step["ranker"].nunique() == n_rankers
        means = by_step[["seconds", "map", "loss_rate"]].mean()[common]
        for step, seconds, value, rate in means.itertuples(name=None):
            records.append(_of_curve(MEAN, NO_RANKER, step, seconds, value, rate))
    return records


def _of_curve(series: str, ranker: int, step: float, seconds: float, value: float, rate: float) -> dict[str, Any]:
    values = (series, ranker, int(step), float(seconds) / 3600, 100 * float(value), 100 * float(rate), "")
    return dict(zip(LEARNING_COLUMNS, values, strict=True))


def _stops(fits: pd.DataFrame | None, records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if fits is None or "chosen_step" not in fits:
        return []
    rankers = {one["ranker"] for one in records if one["series"] == "ranker"}
    rows = fits[fits["ranker"].isin(rankers)].dropna(subset=["chosen_step"])
    ends = rows["stopped"] if "stopped" in rows else [""] * len(rows)
    chosen = sorted(
        {
            (int(step), int(ranker), str(end))
            for step, ranker, end in zip(rows["chosen_step"], rows["ranker"], ends, strict=True)
        }
    )
    unknown = (math.nan, math.nan, math.nan)
    return [
        dict(zip(LEARNING_COLUMNS, (STOP, ranker, step, *unknown, end), strict=True)) for step, ranker, end in chosen
    ]


def _draw_curves(axis: Axes, records: Sequence[Mapping[str, Any]], quantity: str, context: WebContext) -> None:
    """Rankers thin and the average thick; a single ranker is drawn as a line of its own."""
    rankers = sorted({one["ranker"] for one in records if one["series"] == "ranker"})
    thick = next((one["series"] for one in records if one["series"] in (MEAN, AVERAGED)), None)
    look = LOOKS["oasis"]
    for place, ranker in enumerate(rankers):
        rows = [one for one in records if one["series"] == "ranker" and one["ranker"] == ranker]
        label = (f"{len(rankers)} rankers" if len(rankers) > 1 else "OASIS") if place == 0 else None
        thin: dict[str, Any] = {"linewidth": 0.8} if thick else {"marker": "o", "markersize": 2.5}
        _draw_line(axis, rows, quantity, color=look.colour, label=label, **thin)
    if thick:
        label = context.title_of(AVERAGED) if thick == AVERAGED else "mean of the rankers' curves"
        rows = [one for one in records if one["series"] == thick]
        _draw_line(axis, rows, quantity, color=look.colour, label=label, linewidth=3.2, alpha=0.35, zorder=2.2)


def _draw_line(axis: Axes, rows: Sequence[Mapping[str, Any]], quantity: str, **look: Any) -> None:
    points = [(one["step"], one[quantity]) for one in rows if not math.isnan(one[quantity])]
    if points:
        axis.plot(*zip(*points, strict=True), **{"zorder": 2.5, **look})


def _hours_above(axis: Axes, curve: pd.DataFrame) -> None:
    """Second axis above the panel: training time of the first ranker, whose steps grow faster as fewer have a loss."""
    rankers = set(curve.loc[curve["ranker"] != NO_RANKER, "ranker"])
    ranker = min(rankers, default=NO_RANKER)
    points = curve[curve["ranker"] == ranker].dropna(subset=["seconds"]).drop_duplicates("step").sort_values("step")
    steps, seconds = (points[column].to_numpy(dtype=np.float64) for column in ("step", "seconds"))
    rising = np.concatenate([[True], np.diff(np.maximum.accumulate(seconds)) > 0])[: len(steps)]
    steps, seconds = steps[rising], seconds[rising]
    if len(steps) < 2:
        return
    units = (("Hours", 3600.0), ("Minutes", 60.0), ("Seconds", 1.0))
    unit, worth = next((unit for unit in units if seconds[-1] >= 2 * unit[1]), units[-1])
    times = seconds / worth
    above = axis.secondary_xaxis(
        "top", functions=(lambda step: _between(step, steps, times), lambda time: _between(time, times, steps))
    )
    whose = f", ranker {ranker}" if len(rankers) > 1 else ""
    above.set_xlabel(f"{unit} of training{whose}", fontsize=7.5)


def _between(values: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Interpolate through points of rising `x` and `y`, beyond them along their first and last piece."""
    values = np.asarray(values, dtype=np.float64)
    inside = np.interp(values, x, y)
    before = (values - x[0]) * (y[1] - y[0]) / (x[1] - x[0])
    after = (values - x[-1]) * (y[-1] - y[-2]) / (x[-1] - x[-2])
    return np.asarray(inside + np.minimum(before, 0) + np.maximum(after, 0))


def _recalls(approximate: pd.DataFrame) -> list[dict[str, Any]]:
    counted = sorted(set(approximate["k"]))
    k = PREFERRED_K if PREFERRED_K in counted else counted[0]
    records = []
    keys = ("index", "rank", "parameter", "recall", "milliseconds")
    rows = approximate[approximate["k"] == k]
    for index, rank, parameter, recall, milliseconds in zip(*(rows[key] for key in keys), strict=True):
        series = series_of_index(str(index), int(rank))
        values = (series, str(index), int(rank), int(parameter), int(k), 100 * float(recall), float(milliseconds))
        records.append(dict(zip(RECALL_COLUMNS, values, strict=True)))
    return records


def _index_looks(series: Sequence[str]) -> dict[str, Look]:
    """One colour and marker an index; exact search is black."""
    plain = [LOOKS[name] for name in ("soml-da", "oasis", "soml-tg", "lmnn")]
    free = [Look(look.colour, look.marker, line) for line in ("-", "--", ":") for look in (*plain, *OTHERS)]
    names = [name for name in series if name != "exact"]
    return {"exact": Look(BLACK, "*"), **dict(zip(names, free, strict=False))}


def _draw_recall(axis: Axes, rows: Sequence[Mapping[str, Any]], look: Look) -> None:
    x, y = [one["milliseconds"] for one in rows], [one["recall"] for one in rows]
    is_exact = rows[0]["series"] == "exact"
    axis.plot(
        x, y, color=look.colour, linestyle="none" if is_exact else look.line, marker=look.marker,
        markersize=9 if is_exact else 4, label=rows[0]["series"], zorder=3,
    )  # fmt: skip
    if len(rows) > 1:
        for one in (rows[0], rows[-1]):
            axis.annotate(
                f"{one['parameter']}", (one["milliseconds"], one["recall"]), xytext=(0, -6), textcoords="offset points",
                ha="center", va="top", fontsize=6, color=look.colour,
            )  # fmt: skip


def _legend_below(figure: Figure, axis: Axes, *, columns: int) -> None:
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)
