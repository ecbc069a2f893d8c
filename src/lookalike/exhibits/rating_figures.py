"""What people think of the images that OASIS finds: precision by their ratings, by rank and by query.

These are JMLR Figures 3B, 3C and 3D, Figure 7 of the draft and NIPS Figure 1a. The numbers are those of
`lookalike.studies.human.statistics`; what the figures are called and what their captions say is in
`lookalike.exhibits.rating_catalogue`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lookalike.exhibits.context import Context
from lookalike.exhibits.figures import Plot
from lookalike.exhibits.panels import LEGEND_ROW, NO_PRINTED, line_with_bars, say_empty
from lookalike.exhibits.reference import printed_number
from lookalike.exhibits.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LOOKS,
    PURPLE,
    VERMILLION,
    Look,
    new_figure,
    paper_style,
    title_of,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

JMLR, NIPS = "oasis-jmlr-2010", "oasis-nips-2009"
K_MAX = 10
"""Found images of each query that the papers' raters judged."""
PRINTED_PEAK, PRINTED_P10 = "human_precision_peak", "human_p@10"
CURVE_COLUMNS = (
    "panel",
    "series",
    "query_image",
    "k",
    "precision",
    "error",
    "error_over_queries",
    "n_queries",
    "n_raters",
    "simulated",
)
"""``error_over_queries``: of the mean over the queries' own means; ``simulated``: whether any rater is."""
QUERY_COLUMNS = ("series", "order", "query_image", "precision", "error", "lowest", "highest", "n_raters", "simulated")
SELECTED_LOOKS = (
    Look(VERMILLION, "o"),
    Look(BLUE, "s"),
    Look(GREEN, "^"),
    Look(PURPLE, "D"),
    Look(BLACK, "v"),
)
"""Looks of the selected queries, from the highest mAP to the lowest."""
HUMAN, PALE = Look(BLUE, "s"), "#bcd3e6"
"""Look of raters, and the colour of their range."""


@dataclass(frozen=True)
class RatingNumbers:
    """What the figures are drawn from; each table as `lookalike.studies.human.statistics` makes it."""

    mean_curve: pd.DataFrame
    """``k, precision, standard_error, standard_error_queries``."""
    selected: pd.DataFrame
    """``position`` (rank by mAP), ``query_image, map, k, precision, standard_error, n_raters``."""
    per_query: pd.DataFrame
    """``order`` (by falling precision of OASIS), ``query_image, oasis, human, human_standard_error, human_minimum,
    human_maximum, n_raters``."""
    summary: Mapping[str, float]
    """Quantity to value: ``n_raters``, ``n_queries``, ``precision_at_10``, ``precision_peak``, ``precision_peak_k``,
    ``standard_deviation_over_queries``, ``standard_deviation_over_raters``, ``random_good``, ``answered_share``, ..."""
    simulated: bool
    """Whether any of the ratings is simulated."""
    n_random: int
    """How many random images are rated beside those for each query."""

    @property
    def n_retrieved(self) -> int:
        """How many images that OASIS finds are rated for each query."""
        return int(self.mean_curve["k"].max())


def rating_numbers(ratings: pd.DataFrame) -> RatingNumbers:
    """Work out everything that is drawn of ratings.

    Parameters
    ----------
    ratings : DataFrame
        From `lookalike.studies.human.collect.read_ratings` or `lookalike.studies.human.panel.simulated_panel`.

    Returns
    -------
    RatingNumbers
    """
    from lookalike.studies.human import statistics

    summary = statistics.summary(ratings)
    return RatingNumbers(
        mean_curve=statistics.mean_precision_curve(ratings),
        selected=statistics.selected_query_curves(ratings),
        per_query=statistics.coherence_per_query(ratings),
        summary={str(name): float(value) for name, value in zip(summary["quantity"], summary["value"], strict=True)},
        simulated=bool(ratings["simulated"].any()),
        n_random=int((ratings.drop_duplicates(["query", "position"])["role"] == "random").sum())
        // ratings["query"].nunique(),
    )


def mean_curve(numbers: RatingNumbers | None, context: Context, reference: pd.DataFrame) -> Plot:
    """Precision at top k over all queries and raters (JMLR Figure 3B).

    Parameters
    ----------
    numbers : RatingNumbers or None
        None where nothing was run.
    context : Context
    reference : DataFrame
        Printed numbers; those of the paper's raters stand beside ours, hollow.

    Returns
    -------
    Plot
        Frame columns `CURVE_COLUMNS`; series ``oasis``, ``random`` (share of random images that raters call good, at
        no k) and the printed numbers.
    """
    return _curves(("",), numbers, context, reference)


def selected_curves(numbers: RatingNumbers | None, context: Context, reference: pd.DataFrame) -> Plot:
    """Precision at top k of five queries that span the range of mAP (JMLR Figure 3C).

    Parameters and result as of `mean_curve`; series ``rank 1``, ``rank 6``, ..., by falling mAP.
    """
    return _curves(("selected",), numbers, context, reference)


def both_curves(numbers: RatingNumbers | None, context: Context, reference: pd.DataFrame) -> Plot:
    """Both figures as panels A and B (draft Figure 7). Parameters and result as of `mean_curve`."""
    return _curves(("A", "B"), numbers, context, reference)


def per_query(numbers: RatingNumbers | None, context: Context, reference: pd.DataFrame) -> Plot:
    """Precision of OASIS and of raters for each query, all other raters being the truth (JMLR Figure 3D).

    Parameters
    ----------
    numbers : RatingNumbers or None
        None where nothing was run.
    context : Context
    reference : DataFrame
        Not used; all drawing functions take the same arguments.

    Returns
    -------
    Plot
        Frame columns `QUERY_COLUMNS`; series ``oasis`` and ``human``.
    """
    return _queries(numbers, context, None)


def per_query_with_mean(numbers: RatingNumbers | None, context: Context, reference: pd.DataFrame) -> Plot:
    """Draw the same with the mean over queries, ours and the printed one (NIPS Figure 1a and its text).

    Parameters and result as of `per_query`; series also ``oasis, mean`` and ``oasis, printed mean``, without a query.
    """
    return _queries(numbers, context, reference)


def marks_printed_p10(numbers: RatingNumbers | None) -> bool:
    """Whether the axis of a curve reaches the k of the printed precision, so that it can stand beside ours."""
    return numbers is None or numbers.n_retrieved >= K_MAX


def source_label(numbers: RatingNumbers | None, context: Context) -> str:
    """What stands above a figure about images or ratings that are not real; "" where both are."""
    parts = ["Synthetic images"] if context.synthetic else []
    parts += ["simulated raters" if parts else "Simulated raters"] if numbers is not None and numbers.simulated else []
    return ", ".join(parts)


def printed_share(reference: pd.DataFrame, paper: str, metric: str) -> float:
    """Return a printed percentage about raters as a fraction; NaN where there is none."""
    row = printed_number(reference, paper, "text", "", "oasis", metric)
    return math.nan if row is None else float(row["value"]) / 100


def _curves(panels: tuple[str, ...], numbers: RatingNumbers | None, context: Context, reference: pd.DataFrame) -> Plot:
    """Figure of curves by rank; a panel is the mean ("" or A) or selected queries ("selected" or B)."""
    import pandas as pd

    records: list[dict[str, Any]] = []
    with paper_style():
        figure = new_figure(3.8 if len(panels) == 1 else 6.8, 2.9)
        axes = list(figure.subplots(1, len(panels), squeeze=False)[0])
        for axis, panel in zip(axes, panels, strict=True):
            letter = panel if panel in ("A", "B") else ""
            of_mean = panel in ("", "A")
            head = "All queries" if of_mean else "Selected queries, by rank of their mAP"
            axis.set_title(f"({letter})  {head}" if letter else head, loc="left")
            if of_mean:
                _draw_mean(axis, letter, numbers, reference, records)
            else:
                _draw_selected(axis, letter, numbers, records)
            k_max = K_MAX if numbers is None else numbers.n_retrieved
            axis.set(xlabel="Number of neighbours k", ylabel="Precision at top k", xlim=(0.5, k_max + 0.5))
            axis.set_xticks(range(1, k_max + 1))
            _from_zero_to_one(axis)
            if numbers is None and not of_mean:
                say_empty(axis, NO_PRINTED)
            if axis.get_legend_handles_labels()[1]:
                _legend_beneath(axis, 1 if of_mean else 2)
        _head(figure, numbers, context)
        figure.set_figheight(2.9 + LEGEND_ROW * 3)
    frame = pd.DataFrame(records, columns=list(CURVE_COLUMNS))
    return Plot(figure, frame.astype({"k": "Int64", "query_image": "Int64"}))


def _draw_mean(
    axis: Axes, panel: str, numbers: RatingNumbers | None, reference: pd.DataFrame, records: list[dict[str, Any]]
) -> None:
    """Mean curve with its standard error, the share of random images called good, and the printed numbers."""
    look = LOOKS["oasis"]
    if numbers is not None:
        table = numbers.mean_curve.sort_values("k")
        k, precision, error = (table[name].to_numpy(float) for name in ("k", "precision", "standard_error"))
        _line(axis, k, precision, error, title_of("oasis"), look)
        rows: Iterable[Any] = table.itertuples()
        for row in rows:
            point = _point(panel, "oasis", numbers, row.k, row.precision, row.standard_error)
            records.append(point | {"error_over_queries": row.standard_error_queries})
        random_good = numbers.summary.get("random_good", math.nan)
        if not math.isnan(random_good):
            axis.axhline(random_good, color=GREY, linestyle="--", linewidth=1.0, label="random images", zorder=1.5)
            records.append(_point(panel, "random", numbers, None, random_good, math.nan))
    last, peak = (printed_share(reference, JMLR, metric) for metric in (PRINTED_P10, PRINTED_PEAK))
    n_before = len(records)
    if not math.isnan(last) and marks_printed_p10(numbers):
        axis.plot(
            [K_MAX], [last], label="printed, at k = 10", linestyle="none", marker=look.marker, markersize=5,
            markerfacecolor="white", markeredgecolor=look.colour, clip_on=False, zorder=4,
        )  # fmt: skip
        records.append(_point(panel, "oasis, printed", numbers, K_MAX, last, math.nan))
    if not math.isnan(peak):
        label = "printed peak (its k is not printed)"
        axis.axhline(peak, color=look.colour, linestyle=(0, (1, 2)), linewidth=1.0, label=label, zorder=1.6)
        records.append(_point(panel, "oasis, printed peak", numbers, None, peak, math.nan))
    for record in records[n_before:]:
        record |= {"n_queries": 0, "n_raters": 0, "simulated": False}


def _draw_selected(axis: Axes, panel: str, numbers: RatingNumbers | None, records: list[dict[str, Any]]) -> None:
    """A curve for each selected query; bars of one k stand beside, not upon, each other."""
    if numbers is None:
        return
    groups = list(numbers.selected.sort_values(["position", "k"]).groupby("position", sort=True))
    for place, (position, table) in enumerate(groups):
        look = SELECTED_LOOKS[place % len(SELECTED_LOOKS)]
        shift = 0.09 * (place - (len(groups) - 1) / 2)
        k, precision, error = (table[name].to_numpy(float) for name in ("k", "precision", "standard_error"))
        label = f"rank {position}: mAP {table['map'].iloc[0]:.2f}"
        _line(axis, k + shift, precision, error, label, look)
        rows: Iterable[Any] = table.itertuples()
        for row in rows:
            point = _point(panel, f"rank {position}", numbers, row.k, row.precision, row.standard_error)
            records.append(point | {"query_image": row.query_image, "n_queries": 1, "n_raters": row.n_raters})


def _point(
    panel: str, series: str, numbers: RatingNumbers | None, k: int | None, precision: float, error: float
) -> dict[str, Any]:
    n_queries, n_raters = (int(numbers.summary[name]) if numbers else 0 for name in ("n_queries", "n_raters"))
    simulated = numbers is not None and numbers.simulated
    values = (panel, series, None, k, precision, error, math.nan, n_queries, n_raters, simulated)
    return dict(zip(CURVE_COLUMNS, values, strict=True))


def _queries(numbers: RatingNumbers | None, context: Context, reference: pd.DataFrame | None) -> Plot:
    """Figure of queries, sorted by the precision of OASIS; with means where `reference` is given."""
    import pandas as pd

    records: list[dict[str, Any]] = []
    with paper_style():
        figure = new_figure(4.6, 3.2)
        axis = figure.subplots()
        axis.set(xlabel="Query, sorted by the precision of OASIS", ylabel="Precision")
        if numbers is not None:
            _draw_queries(axis, numbers, context, records)
        if reference is not None:
            _draw_query_means(axis, numbers, reference, context, records)
        _from_zero_to_one(axis)
        axis.grid(axis="x", visible=False)
        if numbers is None:
            axis.set_xticks([])
            if not records:
                say_empty(axis, NO_PRINTED)
        if axis.get_legend_handles_labels()[1]:
            _legend_beneath(axis, 2)
        _head(figure, numbers, context)
    frame = pd.DataFrame(records, columns=list(QUERY_COLUMNS))
    return Plot(figure, frame.astype({"order": "Int64", "query_image": "Int64"}))


def _draw_queries(axis: Axes, numbers: RatingNumbers, context: Context, records: list[dict[str, Any]]) -> None:
    """OASIS and the mean rater of each query, with the standard error and the range of raters."""
    table = numbers.per_query.sort_values("order")
    order, oasis, human = (table[name].to_numpy(float) for name in ("order", "oasis", "human"))
    error, lowest, highest = (
        table[name].to_numpy(float) for name in ("human_standard_error", "human_minimum", "human_maximum")
    )
    _line(axis, order, oasis, np.full(len(order), np.nan), title_of("oasis", context.method_titles), LOOKS["oasis"])
    if not np.isnan(human).all():
        _line(axis, order, human, error, "raters, mean", HUMAN)
        axis.vlines(order, lowest, highest, color=PALE, linewidth=3.2, zorder=1.5, label="lowest to highest rater")
    axis.set_xlim(0.3, len(order) + 0.7)
    axis.set_xticks([1, *range(5, len(order) + 1, 5)] if len(order) > 7 else range(1, len(order) + 1))
    rows: Iterable[Any] = table.itertuples()
    nothing = math.nan
    for row in rows:
        key = (row.order, row.query_image)
        bounds = (row.human_standard_error, row.human_minimum, row.human_maximum, row.n_raters)
        of_oasis = ("oasis", *key, row.oasis, nothing, nothing, nothing, row.n_raters)
        for values in (of_oasis, ("human", *key, row.human, *bounds)):
            records.append(dict(zip(QUERY_COLUMNS, (*values, numbers.simulated), strict=True)))


def _draw_query_means(
    axis: Axes, numbers: RatingNumbers | None, reference: pd.DataFrame, context: Context, records: list[dict[str, Any]]
) -> None:
    """Mean precision over queries as lines: ours dashed, the printed one dotted."""
    title = title_of("oasis", context.method_titles)
    ours = math.nan if numbers is None else float(numbers.per_query["oasis"].mean())
    n_raters = 0 if numbers is None else int(numbers.summary["n_raters"])
    printed = printed_share(reference, NIPS, PRINTED_P10)
    simulated = numbers is not None and numbers.simulated
    lines = (
        ("oasis, mean", ours, "--", (n_raters, simulated), "mean"),
        ("oasis, printed mean", printed, ":", (0, False), "printed mean"),
    )
    for series, value, line, of_raters, label in lines:
        if not math.isnan(value):
            axis.axhline(
                value, color=LOOKS["oasis"].colour, linestyle=line, linewidth=1.0, zorder=1.2, label=f"{title}, {label}"
            )
            values = (series, None, None, value, math.nan, math.nan, math.nan, *of_raters)
            records.append(dict(zip(QUERY_COLUMNS, values, strict=True)))


def _line(axis: Axes, x: Floats, mean: Floats, error: Floats, label: str, look: Look) -> None:
    """A line with markers, and with error bars where there are errors: a single rater has none."""
    if np.isfinite(error).any():
        line_with_bars(axis, x, mean, error, np.arange(len(x)), label, look)
    else:
        axis.plot(x, mean, label=label, color=look.colour, marker=look.marker, markersize=3, linestyle=look.line)


def _from_zero_to_one(axis: Axes) -> None:
    """Precision from 0 to 1 with room for markers at both ends."""
    axis.set_ylim(-0.03, 1.03)
    axis.set_yticks(np.arange(0, 1.01, 0.2))


def _legend_beneath(axis: Axes, columns: int) -> None:
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.19), ncols=columns, handlelength=2.4)


def _head(figure: Figure, numbers: RatingNumbers | None, context: Context) -> None:
    """What to know about the data, above the panels."""
    if context.not_run_sentence is not None:
        figure.suptitle(context.not_run_sentence, fontsize=8, color=VERMILLION)
    elif source_label(numbers, context):
        figure.suptitle(source_label(numbers, context), fontsize=7.5, color=GREY, x=0.99, ha="right")
