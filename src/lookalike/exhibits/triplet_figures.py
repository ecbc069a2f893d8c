"""Figures of the fine-grained study: Deep Ranking's Figure 6, training curves, and the differences of the claims.

Every function returns the figure and the numbers that it plots. The paper prints no numbers of its Figure 6; what its
Table 1 prints of the network at the chosen share is drawn where ours may be held against it, or nothing was run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.exhibits.drawing import short_count
from lookalike.exhibits.figures import Plot
from lookalike.exhibits.reference import printed_number
from lookalike.exhibits.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LOOKS,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    Look,
    new_figure,
    paper_style,
)
from lookalike.exhibits.triplet_context import (
    ALL,
    DEEP,
    PAPER,
    PRECISION,
    SCORE,
    UNIFORM,
    WEIGHTED,
    TripletContext,
    contrast_pairs,
    empty_panel,
    ordered_systems,
    sampled_share,
    say_about_data,
    short_title,
)
from lookalike.exhibits.triplet_evidence import UNITS, Difference, Study, difference, printed_study, study_of
from lookalike.exhibits.triplet_values import measured

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAMPLING_COLUMNS = ("series", "system", "percent", "metric", "value", "low", "high", "n_triplets", "n_queries")
"""``series`` is ``weighted``, ``uniform`` or ``printed``; precision in percent, score in triplets."""
CURVE_COLUMNS = ("system", "phase", "seen", "quantity", "part", "value")
"""``phase`` is ``classification`` or ``ranking``, ``part`` ``training`` or ``validation``; precision in percent."""
CONTRAST_COLUMNS = ("system_a", "system_b", "metric", "difference", "low", "high", "p_value", "printed", "excludes_0")
PRINTED = "printed"
LOOK = {WEIGHTED: Look(VERMILLION, "o"), UNIFORM: Look(BLUE, "D")}
FROM_CURVES = {
    "ranking": {"loss": ("loss", "validation_loss"), "precision": ("triplet_accuracy", "validation_precision")},
    "classification": {"loss": ("loss", "validation_loss"), "precision": ("accuracy", "validation_accuracy")},
}
"""Phase and quantity to the columns of a curve, of training and of validation."""
ROW_HEIGHT = 0.19
"""Of one difference in the forest plot, in inches."""


def sampling_curves(intervals: pd.DataFrame | None, context: TripletContext, reference: pd.DataFrame) -> Plot:
    """Figure 6: both metrics over the percent of out-of-class negatives, weighted sampling beside uniform.

    Parameters
    ----------
    intervals : DataFrame or None
        As in `lookalike.exhibits.triplet_values.measured`; systems ``multiscale-weighted-...``,
        ``multiscale-uniform-...`` and ``deep-ranking``, which is weighted at the chosen share.
    context : TripletContext
    reference : DataFrame
        Printed numbers, from `lookalike.exhibits.reference.load`.

    Returns
    -------
    Plot
        Frame columns `SAMPLING_COLUMNS`.
    """
    import pandas as pd

    records = _sampled(intervals, context)
    with paper_style():
        figure = new_figure(6.4, 3.2)
        axes: Sequence[Axes] = figure.subplots(1, 2)
        titles = {PRECISION: "Similarity precision (%)", SCORE: f"Score at top {context.k} (triplets)"}
        for axis, (metric, title) in zip(axes, titles.items(), strict=True):
            axis.set_ylabel(title)
            axis.yaxis.set_major_formatter(_with_commas)
            axis.set_xlabel("Out-of-class negatives (%)")
            own = [record for record in records if record["metric"] == metric]
            _draw_sampled(axis, own, context)
            printed = _printed_point(axis, metric, context, reference)
            records += printed
            if own or printed:
                _mark_chosen(axis, context)
            else:
                empty_panel(axis, "not run" if context.not_run or context.deep_not_run else "no such network")
        _legend_below(figure, axes, rows=2)
        say_about_data(figure, context)
    frame = pd.DataFrame(records, columns=list(SAMPLING_COLUMNS))
    return Plot(figure, frame.astype({"percent": np.int64, "n_triplets": np.int64, "n_queries": np.int64}))


def notes_on_sampling(plot: Plot, context: TripletContext) -> str:
    """Sentences of the caption: what bands, bars and marks are, and what is drawn of print."""
    frame = plot.frame
    own = frame[frame["series"] != PRINTED]
    parts = []
    if len(own):
        parts.append(
            "Multiscale networks, each trained once: the chance in training is not in band and bar, the 95% interval "
            "of a bootstrap over query images."
        )
        parts.append(f"Dotted: {context.chosen_percent}%, the share of DeepRanking.")
        shares = set(own.loc[own["series"] == UNIFORM, "percent"])
        if shares:
            parts.append("Uniform sampling draws images alike, and keeps the order of relevance and its margin.")
        if context.pool:
            parts.append(f"{context.pool}.")
    elif not context.not_run and context.deep_not_run:
        parts.append(f"{context.title_of(DEEP)}: {context.why_not_run(DEEP)}.")
    if (frame["series"] == PRINTED).any():
        parts.append("Hollow: DeepRanking in Table 1; the curves in print have no numbers.")
    return " ".join(parts)


def training_curves(curves: pd.DataFrame | None, context: TripletContext) -> Plot:
    """Precision and loss over what a network has seen, a column of panels for each phase of training.

    Parameters
    ----------
    curves : DataFrame or None
        ``system`` and ``seen`` (triplets, or images where a network is trained to classify); ``loss``,
        ``validation_loss``, and as fractions ``triplet_accuracy`` and ``validation_precision`` of ranking or
        ``accuracy`` and ``validation_accuracy`` of classification. What was not measured is NaN.
    context : TripletContext

    Returns
    -------
    Plot
        Frame columns `CURVE_COLUMNS`.
    """
    import pandas as pd

    own = None if context.not_run is not None or curves is None or curves.empty else curves
    records = [] if own is None else _curve_records(own)
    phases = [phase for phase in ("classification", "ranking") if any(one["phase"] == phase for one in records)]
    shown = phases or ["ranking"]
    systems = ordered_systems({record["system"] for record in records})
    looks = dict(zip(systems, _many_looks(len(systems)), strict=True))
    with paper_style():
        figure = new_figure(3.5 * len(shown) + 0.4, 4.4)
        axes = figure.subplots(2, len(shown), sharex="col", squeeze=False)
        for column, phase in enumerate(shown):
            upper, lower = axes[0][column], axes[1][column]
            of_phase = [record for record in records if record["phase"] == phase]
            is_ranking = phase == "ranking"
            upper.set_ylabel("Precision on triplets (%)" if is_ranking else "Images classified rightly (%)")
            lower.set_ylabel("Hinge loss" if is_ranking else "Cross-entropy")
            lower.set_xlabel("Triplets seen" if is_ranking else "Images seen")
            lower.xaxis.set_major_formatter(lambda value, position: short_count(value))
            for axis, quantity in ((upper, "precision"), (lower, "loss")):
                _draw_curves(axis, of_phase, quantity, looks, context)
                if not of_phase:
                    empty_panel(axis)
            if len(shown) > 1:
                upper.set_title(phase.capitalize(), loc="left")
        _legend_below(figure, [axis for row in axes for axis in row], rows=math.ceil(len(systems) / 2))
        say_about_data(figure, context)
    return Plot(figure, pd.DataFrame(records, columns=list(CURVE_COLUMNS)))


def notes_on_curves(plot: Plot, context: TripletContext) -> str:
    """Sentences of the caption: what is thick and thin, and of which images validation is."""
    frame = plot.frame
    if frame.empty:
        return "" if context.not_run else f"Networks: {context.why_not_run(DEEP) or 'no curve was recorded'}."
    parts = [
        "Solid: triplets of held-out training images, the same for all networks; faint: the triplets that a network is "
        "trained on, in its own mix of negatives, as they go by."
    ]
    if set(frame["phase"]) == {"classification", "ranking"}:
        parts.append("A ranking network starts from the weights of the ConvNet.")
    parts.append("No rated triplet is among them.")
    return " ".join(parts)


def contrast_forest(
    contrasts: pd.DataFrame | None, intervals: pd.DataFrame | None, context: TripletContext, reference: pd.DataFrame
) -> Plot:
    """Paired differences that the claims are about, with their intervals, precision beside score.

    Parameters
    ----------
    contrasts, intervals : DataFrame or None
        As in `lookalike.exhibits.triplet_claims.claims_table`.
    context : TripletContext
    reference : DataFrame
        Printed numbers; their differences in precision are hollow marks, those in score only where the scores may be
        held against each other.

    Returns
    -------
    Plot
        Frame columns `CONTRAST_COLUMNS`, from the paper's first claim on; ``printed`` is NaN where nothing is.
    """
    import pandas as pd

    study, of_print = study_of(contrasts, intervals, context), printed_study(reference, context)
    there = {system for key in study.differences for system in key[:2]} | {system for system, _, _ in of_print.values}
    pairs = contrast_pairs(there, context.chosen_percent)
    records = [
        record for metric in (PRECISION, SCORE) for record in _contrast_records(metric, pairs, study, of_print, context)
    ]
    drawn = [pair for pair in pairs if pair in {(one["system_a"], one["system_b"]) for one in records}]
    with paper_style():
        figure = new_figure(7.4, 1.1 + ROW_HEIGHT * max(8, len(drawn)))
        axes: Sequence[Axes] = figure.subplots(1, 2, sharey=True)
        for axis, metric in zip(axes, (PRECISION, SCORE), strict=True):
            own = [record for record in records if record["metric"] == metric]
            _draw_contrasts(axis, own, drawn)
            what = "Precision" if metric == PRECISION else f"Score-{context.k}"
            axis.set_xlabel(f"{what}, difference ({UNITS[metric][0]})")
            axis.xaxis.set_major_formatter(_with_commas)
            if not own:
                axis.text(0.5, 0.5, "not run", transform=axis.transAxes, ha="center", va="center", color=GREY)
        names = {system: short_title(system, context.method_titles) for pair in drawn for system in pair}
        axes[0].set_yticks(range(len(drawn)), [f"{names[a]} − {names[b]}" for a, b in drawn])
        axes[0].set_ylim(len(drawn) - 0.4, -0.6)
        _legend_below(figure, axes)
        say_about_data(figure, context)
    frame = pd.DataFrame(records, columns=list(CONTRAST_COLUMNS))
    return Plot(figure, frame.astype({"excludes_0": bool}))


def notes_on_contrasts(plot: Plot, context: TripletContext) -> str:
    """Sentences of the caption: what is subtracted, what bars are, and what hollow marks are."""
    frame = plot.frame
    parts = []
    if frame["difference"].notna().any():
        parts.append(
            "Each row is the first system minus the second on the same triplets; bars: 95% interval of a paired "
            "bootstrap over query images, not adjusted for their number, and without the chance in training, as each "
            "network was trained once. Grey: the interval holds 0."
        )
    if frame["printed"].notna().any():
        parts.append("Hollow: differences of the precision that Tables 1 and 2 print, of the paper's own triplets.")
    return " ".join(parts)


def _many_looks(n: int) -> list[Look]:
    """Lines that differ in colour, then in dashes; yellow is too pale for lines on white."""
    colours = (BLACK, BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
    looks = [Look(colour, "", line) for line in ("-", "--", ":", "-.") for colour in colours]
    return list(islice(cycle(looks), n))


def _with_commas(value: float, position: float | None = None) -> str:
    """Label of a tick: ``2,500``, ``84.5``."""
    return f"{value:,.10g}"


def _sampled(intervals: pd.DataFrame | None, context: TripletContext) -> list[dict[str, Any]]:
    """Records of both series, by share; ``deep-ranking`` stands for the network of its share."""
    values = measured(intervals, context)
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for system in sorted({system for system, _, _ in values}, key=lambda system: system != DEEP):
        share = sampled_share(system, context.chosen_percent)
        for metric in (PRECISION, SCORE):
            number = values.get((system, ALL, metric))
            if share is None or number is None or math.isnan(number.value):
                continue
            told = (share[0], system, share[1], metric, *number[:5])
            found.setdefault((metric, *share), dict(zip(SAMPLING_COLUMNS, told, strict=True)))
    order = sorted(found, key=lambda key: (key[0] != PRECISION, key[1] != WEIGHTED, key[2]))
    return [found[key] for key in order]


def _draw_sampled(axis: Axes, records: Sequence[Mapping[str, Any]], context: TripletContext) -> None:
    weighted = [record for record in records if record["series"] == WEIGHTED]
    look = LOOK[WEIGHTED]
    if weighted:
        x, y, low, high = ([record[key] for record in weighted] for key in ("percent", "value", "low", "high"))
        axis.fill_between(x, low, high, color=look.colour, alpha=0.18, linewidth=0)
        axis.plot(x, y, color=look.colour, marker=look.marker, label="weighted sampling")
        if len(x) == 1:
            axis.errorbar(x, y, yerr=_reach(weighted), color=look.colour, linestyle="none", capsize=3)
    uniform = [record for record in records if record["series"] == UNIFORM]
    look = LOOK[UNIFORM]
    if uniform:
        axis.errorbar(
            [record["percent"] for record in uniform], [record["value"] for record in uniform], yerr=_reach(uniform),
            color=look.colour, marker=look.marker, markersize=6, linestyle="none", capsize=3, label="uniform sampling",
            zorder=3.5,
        )  # fmt: skip


def _reach(records: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """How far intervals reach below and above their values; 0 where there is no interval."""
    below = [record["value"] - record["low"] for record in records]
    above = [record["high"] - record["value"] for record in records]
    return np.maximum(np.nan_to_num(np.array([below, above], dtype=np.float64)), 0.0)


def _printed_point(axis: Axes, metric: str, context: TripletContext, reference: pd.DataFrame) -> list[dict[str, Any]]:
    """DeepRanking of Table 1, where ours may be held against it or there is none of ours."""
    row = printed_number(reference, PAPER, "table1", "", DEEP, metric)
    if row is None or (context.not_run is None and context.why_not_comparable(metric)):
        return []
    value = float(row["value"])
    axis.plot(
        [context.chosen_percent], [value], linestyle="none", marker="o", markersize=6, markerfacecolor="none",
        markeredgecolor=BLACK, label="DeepRanking, printed (Table 1)",
    )  # fmt: skip
    told = (PRINTED, DEEP, context.chosen_percent, metric, value, math.nan, math.nan, 0, 0)
    return [dict(zip(SAMPLING_COLUMNS, told, strict=True))]


def _mark_chosen(axis: Axes, context: TripletContext) -> None:
    axis.axvline(
        context.chosen_percent, color=BLACK, linestyle=":", linewidth=0.9, zorder=1.5,
        label=f"share of DeepRanking ({context.chosen_percent}%)",
    )  # fmt: skip
    _, right = axis.get_xlim()
    axis.set_xlim(-4, right if right > context.chosen_percent + 2 else 104)


def _curve_records(curves: pd.DataFrame) -> list[dict[str, Any]]:
    """Records of every curve, fractions in percent; a curve with ``accuracy`` is one of classification."""
    records = []
    for system in ordered_systems(curves["system"]):
        rows = curves[curves["system"] == system].sort_values("seen", kind="stable")
        is_class = "accuracy" in rows and bool(rows["accuracy"].notna().any())
        phase = "classification" if is_class else "ranking"
        for quantity, columns in FROM_CURVES[phase].items():
            scale = 100 if quantity == "precision" else 1
            for part, column in zip(("training", "validation"), columns, strict=True):
                points = rows[["seen", column]].dropna() if column in rows else rows.iloc[:0]
                for seen, value in points.itertuples(index=False, name=None):
                    told = (system, phase, int(seen), quantity, part, scale * float(value))
                    records.append(dict(zip(CURVE_COLUMNS, told, strict=True)))
    return records


def _draw_curves(
    axis: Axes, records: Sequence[Mapping[str, Any]], quantity: str, looks: Mapping[str, Look], context: TripletContext
) -> None:
    """Validation as a line with the legend's entry, training faint behind it."""
    for system, look in looks.items():
        own = [record for record in records if record["system"] == system and record["quantity"] == quantity]
        by_part = {part: [one for one in own if one["part"] == part] for part in ("training", "validation")}
        for part, rows in by_part.items():
            points = [(one["seen"], one["value"]) for one in rows]
            if points:
                is_main = part == "validation" or not by_part["validation"]
                axis.plot(
                    *zip(*points, strict=True), color=look.colour, linestyle=look.line,
                    linewidth=1.3 if is_main else 0.9, alpha=1.0 if part == "validation" else 0.35,
                    label=context.title_of(system) if is_main else None,
                )  # fmt: skip


def _contrast_records(
    metric: str, pairs: Sequence[tuple[str, str]], study: Study, of_print: Study, context: TripletContext
) -> list[dict[str, Any]]:
    shows_printed = context.not_run is not None or metric == PRECISION or not context.why_not_comparable(metric)
    records = []
    for a, b in pairs:
        own = difference(study, a, b, metric)
        printed = difference(of_print, a, b, metric) if shows_printed else None
        if own is None and printed is None:
            continue
        found = own or Difference(math.nan)
        excludes_0 = found.low > 0 or found.high < 0
        told = (a, b, metric, *found, math.nan if printed is None else printed.value, excludes_0)
        records.append(dict(zip(CONTRAST_COLUMNS, told, strict=True)))
    return records


def _draw_contrasts(axis: Axes, records: Sequence[Mapping[str, Any]], pairs: Sequence[tuple[str, str]]) -> None:
    places = {pair: place for place, pair in enumerate(pairs)}
    axis.axvline(0, color=BLACK, linewidth=0.8, zorder=1.5)
    axis.grid(visible=False, axis="y")
    for excludes_0, label in ((True, "interval without 0"), (False, "interval with 0")):
        rows = [one for one in records if one["excludes_0"] == excludes_0 and not math.isnan(one["difference"])]
        if rows:
            reach = _reach([{**one, "value": one["difference"]} for one in rows])
            axis.errorbar(
                [one["difference"] for one in rows], [places[one["system_a"], one["system_b"]] for one in rows],
                xerr=reach, linestyle="none", marker="o", color=LOOKS["oasis"].colour if excludes_0 else GREY,
                capsize=2, label=label, zorder=3,
            )  # fmt: skip
    printed = [one for one in records if not math.isnan(one["printed"])]
    if printed:
        axis.plot(
            [one["printed"] for one in printed], [places[one["system_a"], one["system_b"]] for one in printed],
            linestyle="none", marker="D", markersize=4.5, markerfacecolor="none", markeredgecolor=BLACK,
            label="printed", zorder=2.5,
        )  # fmt: skip


def _legend_below(figure: Figure, axes: Sequence[Axes], rows: int = 1) -> None:
    """One legend for all panels, each entry once."""
    entries: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        columns = math.ceil(len(entries) / max(1, rows))
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns)
