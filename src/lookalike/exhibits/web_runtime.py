"""Runtime against number of images (OASIS JMLR Figure 4, NIPS Figure 1b): OASIS, LMNN, and both in print.

The papers set OASIS on web images beside LMNN with active sets on MNIST, and continue the times of LMNN by a polynomial
of second degree. Ours are OASIS on simulated collections of several sizes and LMNN on a labelled synthetic set of
MNIST's shape. Both axes are logarithmic here, so that how time grows is a slope.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.exhibits import compare as compared
from lookalike.exhibits.figures import Plot
from lookalike.exhibits.panels import say_empty
from lookalike.exhibits.reference import printed_number
from lookalike.exhibits.runtime import OTHER_MACHINE, TRAIN_TIME
from lookalike.exhibits.style import GREY, LOOKS, VERMILLION, Look, new_figure, paper_style
from lookalike.exhibits.web_context import JMLR, NIPS, WebContext
from lookalike.exhibits.web_scaling import (
    DAY,
    HOUR,
    MINUTE,
    YEAR,
    PowerLaw,
    human_time,
    polynomial,
    power_law,
    second_degree,
    short_count,
    sizes_to_continue,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = (
    "series",
    "learner",
    "n_images",
    "seconds",
    "low",
    "high",
    "n_repeats",
    "steps",
    "stopped",
    "source",
    "lower_bound",
    "n_threads",
)
"""Columns of the figure's frame; times in seconds, ``low`` and ``high`` the least and largest of the repeats.

``stopped`` has every way in which a repeat ended, such as ``saturated, limit``; ``n_threads`` the most of them, 0 in
print.
"""
OASIS, LMNN = "OASIS", "LMNN"
METHOD_OF = {OASIS: "oasis", LMNN: "lmnn"}
PRINTED_METHOD = {OASIS: "oasis", LMNN: "fast-lmnn"}
"""Learner to how the printed numbers call it."""
MEASURED, OWN_RUN, PRINTED, EXTRAPOLATED = "measured", "own run", "printed", "extrapolated"
CUT_OFF = ("limit", "time limit")
"""How a fit ended that was not at its end: no fit goes through its time."""
UNITS = {OASIS: "images", LMNN: "rows"}
"""What a learner's size counts."""
SAME_SIZE = 1.1
"""Two collections are of one size, as far as a comparison goes, if neither has more than this times the other's."""
TICKS = (0.001, 0.01, 0.1, 1, 10, MINUTE, 10 * MINUTE, HOUR, 10 * HOUR, 4 * DAY, 40 * DAY, YEAR, 10 * YEAR, 100 * YEAR)
"""Seconds at which the axis of times has a tick: about a power of ten apart, each a number that people say."""


def runtime_curves(runtime: pd.DataFrame | None, context: WebContext, reference: pd.DataFrame) -> Plot:
    """Training time over the number of images, both axes logarithmic (JMLR Figure 4, NIPS Figure 1b).

    Parameters
    ----------
    runtime : DataFrame or None
        ``learner`` ("OASIS" or "LMNN"), ``n_images``, ``repeat``, ``steps``, ``cpu_seconds``, ``stopped``
        ("saturated", "converged", "limit" or "time limit"), ``n_threads``; ``lower_bound`` and ``own_run`` (the study's
        own training), False where there are no such columns. None where nothing was run.
    context : WebContext
    reference : DataFrame
        Printed numbers; those of NIPS Figure 1b and the training time of JMLR section 5.2.1 are hollow markers.

    Returns
    -------
    Plot
        Frame columns `COLUMNS`: medians of the repeats, the printed times, and LMNN's continued to the largest size in
        print. Runs in which nothing was learned have no time, and are left out.
    """
    import pandas as pd

    measured = [] if context.not_run else measured_times(runtime)
    printed = printed_times(reference)
    records = [*measured, *printed]
    with paper_style():
        figure = new_figure(5.4, 4.1)
        axis = figure.subplots()
        axis.set(xscale="log", yscale="log")
        axis.set_xlabel("Training images (OASIS) or rows (LMNN)")
        axis.set_ylabel("Training time (ours: processor time)")
        largest = max((record["n_images"] for record in printed), default=0)
        for learner in (OASIS, LMNN):
            own = [record for record in measured if record["series"] == learner]
            _draw_measured(axis, own, learner)
            if learner == LMNN:
                records += _draw_extrapolation(axis, own, largest)
            else:
                _draw_power_law(axis, own)
        _draw_own_run(axis, [record for record in measured if record["source"] == OWN_RUN])
        _draw_printed(axis, printed)
        if records:
            _human_ticks(axis, [record["seconds"] for record in records])
            _name_times(axis, records)
        else:
            empty_panel(axis)
        _legend(figure, axis, context)
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    counts = {"n_images": np.int64, "n_repeats": np.int64, "n_threads": np.int64}
    return Plot(figure, frame.astype({**counts, "stopped": str, "lower_bound": bool}))


def measured_times(runtime: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Return one record a learner and size: median, least and largest CPU seconds of its repeats, by rising size.

    The study's own training is a series of its own. Runs in which nothing was learned are no part (`unlearned`).
    """
    if runtime is None or runtime.empty:
        return []
    records = []
    table = runtime.assign(**{mark: _marked(runtime, mark) for mark in ("lower_bound", "own_run")})
    timed = table[~_is_unlearned(table)].dropna(subset=["cpu_seconds"])
    groups: Any = timed.groupby(["own_run", "learner", "n_images"], sort=True)
    for (is_own, learner, n_images), rows in groups:
        seconds = rows["cpu_seconds"].to_numpy(dtype=np.float64)
        numbers = float(np.median(seconds)), float(seconds.min()), float(seconds.max()), len(seconds)
        series = f"{learner}, the study's own run" if is_own else str(learner)
        stopped = ", ".join(dict.fromkeys(map(str, rows["stopped"])))
        told = float(rows["steps"].median()), stopped, OWN_RUN if is_own else MEASURED
        values = (series, str(learner), int(n_images), *numbers, *told)
        marks = bool(rows["lower_bound"].any()), int(rows["n_threads"].max())
        records.append(dict(zip(COLUMNS, (*values, *marks), strict=True)))
    return records


def unlearned(runtime: pd.DataFrame | None) -> list[tuple[str, int]]:
    """Return learner and size of the runs whose best step was their start, so that they have no time."""
    if runtime is None or runtime.empty:
        return []
    rows = runtime[_is_unlearned(runtime)]
    pairs = zip(rows["learner"], rows["n_images"], strict=True)
    return sorted({(str(learner), int(n_images)) for learner, n_images in pairs})


def _is_unlearned(runtime: pd.DataFrame) -> pd.Series:
    return (runtime["cpu_seconds"] <= 0) | ((runtime["learner"] == OASIS) & (runtime["steps"] == 0))


def _marked(runtime: pd.DataFrame, mark: str) -> pd.Series | bool:
    """A column that files of earlier runs lack."""
    return runtime[mark].eq(True) if mark in runtime else False


def printed_times(reference: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the times of NIPS Figure 1b and of JMLR section 5.2.1, in seconds."""
    records = []
    of_figure = reference[(reference["paper"] == NIPS) & (reference["exhibit"] == "fig1b")]
    learner_of = {printed: learner for learner, printed in PRINTED_METHOD.items()}
    rows: Any = of_figure[of_figure["metric"] == TRAIN_TIME].itertuples()
    for row in rows:
        n_images = int(str(row.setting).removeprefix("images="))
        learner = learner_of[str(row.method)]
        records.append(_of_print(f"{learner}, printed", learner, n_images, MINUTE * row.value))
    time = printed_number(reference, JMLR, "text", "", "oasis", "web_training_time")
    n_images = paper_images(reference)
    if time is not None and n_images:
        records.append(_of_print("OASIS, printed (JMLR)", OASIS, n_images, MINUTE * time["value"]))
    return records


def paper_images(reference: pd.DataFrame) -> int:
    """Training images of the papers (JMLR Table 1); 0 where the printed numbers lack them."""
    rows = reference[
        (reference["paper"] == JMLR)
        & (reference["exhibit"] == "table1")
        & (reference["setting"] == "training")
        & (reference["metric"] == "images")
    ]
    return int(rows["value"].iloc[0]) if len(rows) else 0


def scaling(records: Sequence[Mapping[str, Any]], learner: str = OASIS) -> PowerLaw | None:
    """Fit how the time of a learner grows over records of fits that ended by their own rule, the study's own run aside.

    Parameters
    ----------
    records : sequence of mapping
        Of `measured_times` or `printed_times`.
    learner : {"OASIS", "LMNN"}

    Returns
    -------
    PowerLaw or None
    """
    own = [one for one in records if one["learner"] == learner and one["source"] != OWN_RUN and not was_cut_off(one)]
    return power_law([one["n_images"] for one in own], [one["seconds"] for one in own])


def was_cut_off(record: Mapping[str, Any]) -> bool:
    """Return whether any repeat of a record ended at a limit."""
    return any(end in CUT_OFF for end in record["stopped"].split(", "))


def lmnn_sizes(measured: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the sizes through which LMNN's times are continued, without fits that were cut off."""
    sizes = [one["n_images"] for one in measured if one["series"] == LMNN and not was_cut_off(one)]
    return [int(size) for size in sizes_to_continue(sizes)]


def lmnn_polynomial(measured: Sequence[Mapping[str, Any]]) -> np.ndarray | None:
    """Return the coefficients of `second_degree` through `lmnn_sizes`; None where nothing is to be continued."""
    chosen = set(lmnn_sizes(measured))
    own = [one for one in measured if one["series"] == LMNN and one["n_images"] in chosen]
    return second_degree([one["n_images"] for one in own], [one["seconds"] for one in own])


def compare_runtime(
    runtime: pd.DataFrame | None, context: WebContext, reference: pd.DataFrame, paper: str
) -> pd.DataFrame:
    """Set our times beside the printed ones, without a verdict.

    Parameters
    ----------
    runtime, context, reference
        As in `runtime_curves`.
    paper : {"oasis-jmlr-2010", "oasis-nips-2009"}
        JMLR prints one time, of the whole collection; NIPS Figure 1b those of five sizes, and two of LMNN.

    Returns
    -------
    DataFrame
        Columns `lookalike.exhibits.compare.COLUMNS`, in minutes, ``subset`` being the number of images.
    """
    measured = [] if context.not_run else measured_times(runtime)
    rows = []
    for learner, n_images, row in _printed_rows(reference, paper):
        found = _of_size(measured, learner, n_images)
        minutes = found["seconds"] / MINUTE if found else math.nan
        said = ""
        if found is None and learner == LMNN and (fit := lmnn_polynomial(measured)) is not None:
            minutes, said = float(polynomial(fit, n_images)) / MINUTE, "extrapolated"
        elif found is not None:
            own = "the study's own run" if found["source"] == OWN_RUN else ""
            cut = f"stopped: {found['stopped']}" if was_cut_off(found) else ""
            said = "; ".join(filter(None, (own, cut)))
        judged = _without_verdict(row, context, learner, n_images, minutes, said)
        rows.append(compared.compared_row(row, f"{n_images:,} images", minutes, math.nan, *judged))
    return compared.comparison_frame(rows)


def _of_print(series: str, learner: str, n_images: int, seconds: float) -> dict[str, Any]:
    values = (series, learner, n_images, float(seconds), math.nan, math.nan, 0, math.nan, "", PRINTED, False, 0)
    return dict(zip(COLUMNS, values, strict=True))


def _printed_rows(reference: pd.DataFrame, paper: str) -> list[tuple[str, int, pd.Series]]:
    """Learner, number of images and row of every printed time."""
    if paper == JMLR:
        row = printed_number(reference, JMLR, "text", "", "oasis", "web_training_time")
        n_images = paper_images(reference)
        return [(OASIS, n_images, row.replace({"web_training_time": TRAIN_TIME}))] if row is not None else []
    learner_of = {printed: learner for learner, printed in PRINTED_METHOD.items()}
    of_figure = reference[(reference["paper"] == NIPS) & (reference["exhibit"] == "fig1b")]
    return [
        (learner_of[row["method"]], int(row["setting"].removeprefix("images=")), row)
        for _, row in of_figure[of_figure["metric"] == TRAIN_TIME].iterrows()
    ]


def _without_verdict(
    row: pd.Series, context: WebContext, learner: str, n_images: int, minutes: float, said: str
) -> tuple[str, str]:
    if context.not_run_sentence is not None:
        return context.not_run_sentence, "nothing was run"
    if math.isnan(minutes):
        return compared.NO_RESULT, f"this run has no time of {learner} on about {n_images:,} images"
    data = context.why_not_comparable if learner == OASIS else "synthetic vectors"
    return compared.NOT_COMPARABLE, "; ".join(filter(None, (said, data, OTHER_MACHINE)))


def _of_size(measured: Sequence[Mapping[str, Any]], learner: str, n_images: int) -> Mapping[str, Any] | None:
    near = [
        one
        for one in measured
        if one["learner"] == learner and max(one["n_images"], n_images) <= SAME_SIZE * min(one["n_images"], n_images)
    ]
    return min(near, key=lambda one: abs(one["n_images"] - n_images), default=None)


def _draw_measured(axis: Axes, records: Sequence[Mapping[str, Any]], learner: str) -> None:
    if not records:
        return
    look = LOOKS[METHOD_OF[learner]]
    x, y, low, high = (np.array([one[key] for one in records]) for key in ("n_images", "seconds", "low", "high"))
    axis.plot(x, y, color=look.colour, marker=look.marker, markersize=4.5, label=f"{learner}, ours", zorder=3)
    axis.errorbar(x, y, yerr=[y - low, high - y], linestyle="none", color=look.colour, elinewidth=0.8, zorder=2.9)
    _draw_arrows(axis, records)


def _draw_own_run(axis: Axes, records: Sequence[Mapping[str, Any]]) -> None:
    """Large stars: they belong to no line, since other settings and rules decided them."""
    if not records:
        return
    colour = LOOKS["oasis"].colour
    x, y, low, high = (np.array([one[key] for one in records]) for key in ("n_images", "seconds", "low", "high"))
    axis.errorbar(x, y, yerr=[y - low, high - y], linestyle="none", color=colour, elinewidth=0.8, zorder=3.1)
    axis.plot(
        x, y, linestyle="none", marker="*", markersize=11, markeredgecolor="white", markeredgewidth=0.6, color=colour,
        label="OASIS, own run", zorder=3.4,
    )  # fmt: skip
    _draw_arrows(axis, records)


def _draw_arrows(axis: Axes, records: Sequence[Mapping[str, Any]]) -> None:
    """Upwards from times that are lower bounds."""
    for one in records:
        if one["lower_bound"]:
            colour = LOOKS[METHOD_OF[one["learner"]]].colour
            axis.annotate(
                "", (one["n_images"], one["seconds"]), xytext=(0, 16), textcoords="offset points", zorder=3,
                arrowprops={"arrowstyle": "<-", "color": colour, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 2},
            )  # fmt: skip


def _draw_power_law(axis: Axes, records: Sequence[Mapping[str, Any]]) -> None:
    law = scaling(records)
    if law is None:
        return
    ends = np.array([min(one["n_images"] for one in records), max(one["n_images"] for one in records)])
    axis.plot(
        ends, law.seconds(ends), color=GREY, linestyle=":", linewidth=1.1, zorder=2,
        label=f"OASIS: (images)$^{{{law.exponent:.2f}}}$",
    )  # fmt: skip


def _draw_extrapolation(axis: Axes, records: Sequence[Mapping[str, Any]], largest: int) -> list[dict[str, Any]]:
    fit = lmnn_polynomial(records)
    if fit is None or largest <= (last := max(lmnn_sizes(records))):
        return []
    sizes = np.geomspace(last, largest, 60)
    seconds = polynomial(fit, sizes)
    colour = LOOKS["lmnn"].colour
    axis.plot(sizes, seconds, color=colour, linestyle="--", label="LMNN, extrapolated", zorder=2.5)
    values = ("LMNN, extrapolated", LMNN, largest, float(seconds[-1]), math.nan, math.nan, 0, math.nan, "")
    return [dict(zip(COLUMNS, (*values, EXTRAPOLATED, False, 0), strict=True))]


def _draw_printed(axis: Axes, printed: Sequence[Mapping[str, Any]]) -> None:
    series = list(dict.fromkeys(one["series"] for one in printed))
    for name in series:
        own = [one for one in printed if one["series"] == name]
        look = LOOKS[METHOD_OF[own[0]["learner"]]]
        marker = "s" if name.endswith("(JMLR)") else look.marker
        axis.plot(
            [one["n_images"] for one in own], [one["seconds"] for one in own], label=name, zorder=3.5,
            **_hollow(Look(look.colour, marker)),
        )  # fmt: skip


def _hollow(look: Look) -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": look.marker,
        "markersize": 6.0,
        "markerfacecolor": "white",
        "markeredgewidth": 1.0,
        "color": look.colour,
    }


def _name_times(axis: Axes, records: Sequence[Mapping[str, Any]]) -> None:
    """Write times beside points: those at the least and the largest size outside, all others that are told above."""
    least = min(record["n_images"] for record in records)
    largest = max(record["n_images"] for record in records)
    for is_right in (False, True):
        ends = [
            one
            for one in records
            if (one["n_images"] * SAME_SIZE >= largest if is_right else one["n_images"] <= SAME_SIZE * least)
        ]
        _name_ends(axis, ends, is_right=is_right)
    for record in records:
        own = [one for one in records if one["series"] == record["series"]]
        is_last = record is own[-1]
        inside = SAME_SIZE * least < record["n_images"] < largest / SAME_SIZE
        if inside and (record["source"] not in (MEASURED, OWN_RUN) or is_last):
            # where our lines of small collections end, LMNN's is the lower one; above the own run's may be an arrow
            below = record["source"] == OWN_RUN or record["series"] == LMNN
            axis.annotate(
                human_time(record["seconds"]), (record["n_images"], record["seconds"]),
                xytext=(3, -6) if below else (0, 6), textcoords="offset points", ha="left" if below else "center",
                va="top" if below else "bottom", fontsize=6.5, color=_colour(record), zorder=4,
            )  # fmt: skip


def _name_ends(axis: Axes, records: Sequence[Mapping[str, Any]], *, is_right: bool) -> None:
    """Write times to the left or right of points of one size, from the bottom, as far apart as the letters need."""
    low, high = (math.log(limit) for limit in axis.get_ylim())
    height = 72 * 2.9
    last = -math.inf
    for record in sorted(records, key=lambda one: one["seconds"]):
        place = height * (math.log(record["seconds"]) - low) / (high - low)
        shown = max(place, last + 8)
        last = shown
        axis.annotate(
            human_time(record["seconds"]), (record["n_images"], record["seconds"]),
            xytext=(6 if is_right else -6, shown - place), textcoords="offset points", va="center",
            ha="left" if is_right else "right", fontsize=6.5, color=_colour(record), annotation_clip=False, zorder=4,
        )  # fmt: skip


def _colour(record: Mapping[str, Any]) -> str:
    return LOOKS[METHOD_OF[record["learner"]]].colour


def _human_ticks(axis: Axes, seconds: Sequence[float]) -> None:
    low, high = min(seconds) / 4, max(seconds) * 4
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axis.set_ylim(low, high)
    axis.set_yticks(ticks, [human_time(tick) for tick in ticks])
    plain_log_ticks(axis)
    axis.xaxis.set_major_formatter(lambda value, position: short_count(value))
    axis.margins(x=0.12)


def _legend(figure: Figure, axis: Axes, context: WebContext) -> None:
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
    say_about_data(figure, context)


def plain_log_ticks(axis: Axes) -> None:
    """Let logarithmic axes have ticks at powers of ten alone: the others say little and take most of drawing's time."""
    axis.minorticks_off()


def empty_panel(axis: Axes) -> None:
    """Say in a panel that nothing was run, without ticks of an axis that has no numbers."""
    axis.set(xscale="linear", yscale="linear")
    axis.set_xticks([])
    say_empty(axis, "not run")


def say_about_data(figure: Figure, context: WebContext) -> None:
    """Write above the panels what to know about the data: why nothing was run, or that they are simulated."""
    if context.not_run_sentence:
        figure.suptitle(context.not_run_sentence, fontsize=8, color=VERMILLION)
    else:
        figure.suptitle("Simulated data", fontsize=7.5, color=GREY, x=0.99, ha="right")
