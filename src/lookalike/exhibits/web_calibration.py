"""How the simulated collection compares with what the papers say of theirs: marginals of log and visterms.

The papers print four counts (OASIS JMLR Table 1) and two means in running text; all else of the simulation is a choice
(Zipf's law for words, long tails of queries), which the panels show for a reader to judge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.exhibits.figures import Plot
from lookalike.exhibits.reference import printed_number
from lookalike.exhibits.style import BLACK, BLUE, GREY, ORANGE, Look, new_figure, paper_style
from lookalike.exhibits.web_context import JMLR, PARTS, WebContext
from lookalike.exhibits.web_runtime import empty_panel, plain_log_ticks, say_about_data
from lookalike.exhibits.web_scaling import short_count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = ("quantity", "part", "source", "x", "y")
"""``y`` is a share; NaN for means and counts, which are in ``x``."""
LOOKS_OF_PARTS = {"train": Look(BLUE, "o"), "test": Look(ORANGE, "s", "--")}
BIN = 5
"""Numbers of non-zeros that are counted together."""
MOST_POINTS = 300
"""Points of a line on logarithmic axes."""
SMALL_NUMBERS = (1, 2, 3, 5, 10, 20)
"""Ticks of a logarithmic axis that reaches no further than 30."""
ZIPF_RANKS = (10, 1000)
"""Ranks of words between which the slope of their frequencies is told."""
COUNTED = ("queries", "images")
ABOUT_RELEVANT = "about 100 (JMLR section 5.2.1)"
"""Words of the text for the mean number of relevant images."""


@dataclass(frozen=True)
class Panel:
    """One quantity: its axes, how its distribution is drawn, and what print says of its mean."""

    title: str
    x: str
    y: str
    form: str
    """``histogram``, ``tail`` (share of at least x, both axes logarithmic) or ``rank`` (both logarithmic)."""
    printed: str = ""
    """Metric of the printed mean in the running text; "" where there is none."""


PANELS = {
    "nonzeros_per_image": Panel(
        "Words of an image",
        "Non-zeros of an image",
        f"Share of images (bins of {BIN})",
        "histogram",
        "nonzeros_per_image",
    ),
    "word_frequency": Panel("Word frequencies", "Rank of the word", "Share of images with it", "rank"),
    "relevant_per_image": Panel(
        "Relevant images", "Relevant images of an image", "Share with at least as many", "tail", "relevant_per_image"
    ),
    "images_per_query": Panel("Images of a query", "Images of a query", "Share with at least as many", "tail"),
    "queries_per_image": Panel("Queries of an image", "Queries of an image", "Share with at least as many", "tail"),
}


def calibration_panels(marginals: pd.DataFrame | None, context: WebContext, reference: pd.DataFrame) -> Plot:
    """Marginals of the simulated log and visterms, and the counts of JMLR Table 1, in small panels.

    Parameters
    ----------
    marginals : DataFrame or None
        ``quantity``, ``part`` ("train" or "test"), ``x``, ``y``: shares of a histogram; of ``word_frequency`` the share
        of images with the word of rank ``x``. None where nothing was run.
    context : WebContext
        ``counts`` are set beside the printed ones in the last panel.
    reference : DataFrame
        Printed numbers.

    Returns
    -------
    Plot
        Frame columns `COLUMNS`.
    """
    import pandas as pd

    own = None if context.not_run or marginals is None or marginals.empty else marginals
    records: list[dict[str, Any]] = []
    with paper_style():
        figure = new_figure(7.4, 4.6)
        axes = list(figure.subplots(2, 3).ravel())
        for place, (axis, (quantity, panel)) in enumerate(zip(axes, PANELS.items(), strict=False)):
            axis.set_title(f"({'ABCDE'[place]})  {panel.title}", loc="left")
            axis.set_xlabel(panel.x)
            axis.set_ylabel(panel.y)
            records += _draw_panel(axis, own, quantity, panel, reference)
            _tick_few(axis, [one["x"] for one in records if one["quantity"] == quantity and one["source"] == "tail"])
        axes[-1].set_title("(F)  Counts", loc="left")
        records += _draw_counts(axes[-1], context, reference)
        handles = _legend(context, drawn=own is not None)
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
        say_about_data(figure, context)
    return Plot(figure, pd.DataFrame(records, columns=list(COLUMNS)))


def notes_on_calibration(context: WebContext, plot: Plot) -> str:
    """Sentences of the caption: what lines are, simulated means beside printed ones, and the slope of frequencies."""
    frame = plot.frame
    parts = []
    for quantity in ("nonzeros_per_image", "relevant_per_image"):
        means = frame[(frame["quantity"] == quantity) & frame["source"].str.endswith(" mean")]
        told = [f"{context.source} {title} {x:.3g}" for title, x in _by_part(means)]
        printed = [f"printed {x:g}" for x in means.loc[means["source"] == "printed mean", "x"]]
        if quantity == "relevant_per_image":
            # a rough number in the text
            printed = [f"printed {ABOUT_RELEVANT}"]
        parts.append(f"{PANELS[quantity].x}, mean: {', '.join([*told, *printed])}.")
    slopes = _by_part(frame[(frame["quantity"] == "word_frequency") & (frame["source"] == "slope")])
    if slopes:
        told = [f"{title} {x:.2f}" for title, x in slopes]
        parts.append(f"Slope of log frequency over log rank, {ZIPF_RANKS[0]} to {ZIPF_RANKS[1]:,}: {', '.join(told)}.")
    parts.append("Dotted vertical: means; black: printed (JMLR Table 1 and running text).")
    return " ".join(parts)


def mean_of(rows: pd.DataFrame) -> float:
    """Return the mean of a histogram given as values ``x`` and shares ``y``; NaN without any share."""
    total = float(rows["y"].sum())
    return float((rows["x"] * rows["y"]).sum()) / total if total > 0 else math.nan


def tail_of(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the values above 0 of a histogram, rising, and the share of at least as much (float64, both)."""
    ordered = rows[rows["y"] > 0].sort_values("x")
    x, y = (ordered[column].to_numpy(dtype=np.float64) for column in ("x", "y"))
    share = np.cumsum(y[::-1])[::-1] / y.sum() if len(y) else y
    return x[x > 0], share[x > 0]


def zipf_slope(rows: pd.DataFrame) -> float:
    """Return the slope of log share over log rank between `ZIPF_RANKS`; NaN with fewer than three ranks there."""
    first, last = ZIPF_RANKS
    chosen = rows[(rows["x"] >= first) & (rows["x"] <= last) & (rows["y"] > 0)]
    if len(chosen) < 3:
        return math.nan
    x, y = (np.log(chosen[column].to_numpy(dtype=np.float64)) for column in ("x", "y"))
    return float(np.polyfit(x, y, 1)[0])


def _by_part(rows: pd.DataFrame) -> list[tuple[str, float]]:
    """Title and ``x`` of rows that belong to a part."""
    pairs = zip(rows["part"], rows["x"], strict=True)
    return [(PARTS[str(part)], float(x)) for part, x in pairs if part in PARTS]


def _draw_panel(
    axis: Axes, marginals: pd.DataFrame | None, quantity: str, panel: Panel, reference: pd.DataFrame
) -> list[dict[str, Any]]:
    records = []
    if panel.form != "histogram":
        axis.set(xscale="log", yscale="log")
        plain_log_ticks(axis)
        axis.xaxis.set_major_formatter(lambda value, position: short_count(value))
    for part, look in LOOKS_OF_PARTS.items():
        rows = None
        if marginals is not None:
            rows = marginals[(marginals["quantity"] == quantity) & (marginals["part"] == part)]
        if rows is None or rows.empty:
            continue
        x, y = _shape(rows, panel.form)
        drawn: dict[str, Any] = {"drawstyle": "steps-mid"} if panel.form == "histogram" else {}
        axis.plot(x, y, color=look.colour, linestyle=look.line, zorder=2.5, **drawn)
        records += [_record(quantity, part, panel.form, *point) for point in zip(x, y, strict=True)]
        if panel.form == "rank":
            slope = zipf_slope(rows)
            records += [_record(quantity, part, "slope", slope, math.nan)] if not math.isnan(slope) else []
        else:
            mean = mean_of(rows)
            axis.axvline(mean, color=look.colour, linestyle=":", linewidth=1.0, zorder=2)
            records.append(_record(quantity, part, "counted mean", mean, math.nan))
    printed = printed_number(reference, JMLR, "text", "", "", panel.printed) if panel.printed else None
    if printed is not None:
        axis.axvline(printed["value"], color=BLACK, linewidth=0.9, zorder=1.9)
        records.append(_record(quantity, "", "printed mean", float(printed["value"]), math.nan))
    if not records:
        empty_panel(axis)
    elif marginals is None:
        axis.set_yticks([])
    elif panel.form == "histogram":
        axis.set_ylim(bottom=0)
    return records


def _tick_few(axis: Axes, values: list[float]) -> None:
    """Let an axis of small whole numbers have ticks at those: powers of ten would leave it one."""
    largest = max(values, default=math.inf)
    if largest < 30:
        axis.set_xticks([tick for tick in SMALL_NUMBERS if tick <= largest])


def _shape(rows: pd.DataFrame, form: str) -> tuple[np.ndarray, np.ndarray]:
    """What is drawn of a marginal: a coarser histogram, the shares of at least x, or frequencies by rank."""
    if form == "tail":
        return _thinned(*tail_of(rows))
    ordered = rows.sort_values("x")
    x, y = (ordered[column].to_numpy(dtype=np.float64) for column in ("x", "y"))
    if form == "rank":
        return _thinned(x[y > 0], y[y > 0])
    # bins of whole numbers that begin at 0, the same ones in both parts
    edges = np.arange(0, x[-1] + BIN + 1, BIN) - 0.5
    shares, _ = np.histogram(x, bins=edges, weights=y)
    return (edges[:-1] + edges[1:]) / 2, shares


def _thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keep of rising `x` the points that a logarithmic axis can tell apart, the last one too."""
    if len(x) <= MOST_POINTS:
        return x, y
    kept = np.unique(np.searchsorted(x, np.geomspace(x[0], x[-1] * (1 - 1e-12), MOST_POINTS)))
    return x[kept], y[kept]


def _draw_counts(axis: Axes, context: WebContext, reference: pd.DataFrame) -> list[dict[str, Any]]:
    """Queries and images of both parts: filled ours, black rings the printed ones, on one logarithmic axis."""
    axis.set_xscale("log")
    axis.set_xlabel("Number")
    plain_log_ticks(axis)
    axis.xaxis.set_major_formatter(lambda value, position: short_count(value))
    records: list[dict[str, Any]] = []
    titles: list[str] = []
    for part, part_title in PARTS.items():
        for quantity in COUNTED:
            place = len(titles)
            titles.append(f"{part_title} {quantity}")
            look = LOOKS_OF_PARTS[part]
            counted = None if context.not_run else context.counts.get((part, quantity))
            if counted:
                axis.plot([counted], [place], linestyle="none", marker=look.marker, color=look.colour, zorder=3)
                records.append(_record(quantity, part, "counted", counted, math.nan))
            printed = printed_number(reference, JMLR, "table1", part_title, "", quantity)
            if printed is not None:
                axis.plot([printed["value"]], [place], zorder=2.5, **_ring())
                records.append(_record(quantity, part, "printed", float(printed["value"]), math.nan))
    axis.set_yticks(range(len(titles)), titles)
    axis.set_ylim(len(titles) - 0.4, -0.6)
    axis.margins(x=0.12)
    return records


def _ring() -> Mapping[str, Any]:
    return {
        "linestyle": "none",
        "marker": "o",
        "markersize": 8,
        "markerfacecolor": "none",
        "markeredgewidth": 1.0,
        "color": BLACK,
    }


def _legend(context: WebContext, *, drawn: bool) -> list[Any]:
    from matplotlib.lines import Line2D

    handles = []
    if drawn:
        for part, look in LOOKS_OF_PARTS.items():
            style: Any = look.line
            handles.append(
                Line2D(
                    [], [], color=look.colour, linestyle=style, marker=look.marker,
                    label=f"{context.source}, {PARTS[part]} part",
                )
            )  # fmt: skip
        handles.append(Line2D([], [], color=GREY, linestyle=":", label="mean"))
    return [*handles, Line2D([], [], **_ring(), label="printed"), Line2D([], [], color=BLACK, label="printed mean")]


def _record(quantity: str, part: str, source: str, x: float, y: float) -> dict[str, Any]:
    return dict(zip(COLUMNS, (quantity, part, source, float(x), float(y)), strict=True))
