"""Training time of OASIS and LMNN, ours and printed, over the number of images (JMLR Figure 4, NIPS Figure 1b)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.polynomial.polynomial import polyval

from lookalike.exhibits.labels import on_free_sides
from lookalike.exhibits.model import Axis, Figure, Label, Panel, Series
from lookalike.exhibits.printed import DAY, HOUR, MINUTE, MISSING, YEAR, beside_print, human_time
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import GREY, LOOKS, Look
from lookalike.studies.metrics import rows_in
from lookalike.studies.web.study import WebStudy

JMLR, NIPS = "oasis-jmlr-2010", "oasis-nips-2009"
LEARNER_OF = {"oasis": "OASIS", "fast-lmnn": "LMNN"}
"""How the printed numbers call a learner, to its name here."""
UNITS = {"OASIS": "images", "LMNN": "rows"}
"""What a learner's size counts."""
OWN, EXTRAPOLATED, LAW = "OASIS, the study's own run", "LMNN, extrapolated", "OASIS: power law"
BLUE, PURPLE = LOOKS["oasis"], LOOKS["lmnn"]
SERIES = {
    "OASIS": ("OASIS, ours", BLUE, True),
    "LMNN": ("LMNN, ours", PURPLE, True),
    OWN: (OWN, Look(BLUE.colour, "*"), False),
    "OASIS, printed": ("OASIS, printed (NIPS)", BLUE, False),
    "LMNN, printed": ("LMNN, printed (NIPS)", PURPLE, False),
    "OASIS, printed (JMLR)": ("OASIS, printed (JMLR)", Look(BLUE.colour, "s"), False),
    LAW: ("OASIS, fitted", Look(GREY, "", ":"), True),
    EXTRAPOLATED: (EXTRAPOLATED, Look(PURPLE.colour, "", "--"), True),
}
"""Series to its name in the legend, its look, and whether it is a line."""
SAME_SIZE = 1.1
"""Two collections are of one size, as far as a comparison goes, if neither has more than this times the other's."""
TICKS = (0.001, 0.01, 0.1, 1, 10, MINUTE, 10 * MINUTE, HOUR, 10 * HOUR, 4 * DAY, 40 * DAY, YEAR, 10 * YEAR, 100 * YEAR)
"""Seconds at which the axis of times has a tick: about a power of ten apart, each a number that people say."""
FIT_FROM = 100
"""Size from which LMNN's times are continued: below, fixed costs hide how they grow."""
LEAST_SIZES = 3
"""Sizes without which nothing is fitted or continued: a line goes through any two points."""
BELIEVED = 10
"""Times the largest measured size to which LMNN's times are continued: a fit to small sizes says little further on."""
ABOUT = (
    "OASIS is timed up to the step with the best validation mAP, each size on a simulated collection of its own; LMNN "
    "learns rows of a synthetic set in the shape of MNIST: 10 classes, 784 features. Star: this study's own training.",
    "Hollow markers are printed times, of other machines: circles and diamonds as NIPS Figure 1b labels them, the "
    "square by JMLR section 5.2.1. The paper's LMNN learns MNIST, and its time at the largest size is a projection.",
)


@exhibit(
    "oasis-jmlr-2010/fig4",
    "oasis-nips-2009/fig1b",
    title="Training time over the number of images",
    needs=("runtime",),
    optional=("fits",),
    shows=("runtime",),
    when=lambda study: study.runtime,
)
def runtime(study: WebStudy) -> Figure:
    """How training time grows with the number of images, for OASIS and for LMNN."""
    measured, printed = measured_times(study.table("runtime")), printed_times(study)
    through, own = continued_through(measured), measured[measured["series"] == "OASIS"]
    law, parts = power_law(own), [measured, printed]
    if law is not None:
        ends = np.array([own["n_images"].min(), own["n_images"].max()])
        parts.append(_drawn(LAW, "OASIS", ends, law.factor * ends**law.exponent, "fitted"))
    largest = through["n_images"].max()
    if len(printed) and printed["n_images"].max() > largest:
        sizes = np.geomspace(largest, min(printed["n_images"].max(), BELIEVED * largest), 20).round()
        parts.append(_drawn(EXTRAPOLATED, "LMNN", sizes, polyval(sizes, second_degree(through)), "extrapolated"))
    frame = pd.concat([part for part in parts if len(part)], ignore_index=True)
    frame["note"] = [note_of(row) for row in rows_in(frame)]
    notes = tuple(notes_of(study, frame, through, law))
    figure = Figure(frame.drop(columns="cut_off"), (panel_of(frame),), beside(study, measured), notes, size=(5.4, 3.65))
    return on_free_sides(figure, labels_of(frame))


def measured_times(runtime: pd.DataFrame) -> pd.DataFrame:
    """Median, least and largest processor seconds of each learner and size, without runs that learned nothing."""
    # no line is fitted through a time that ended at a limit of steps or of time
    learned = runtime.assign(cut_off=runtime["stopped"].isin(["limit", "time limit"]))[~is_unlearned(runtime)]
    groups = learned.groupby(["own_run", "learner", "n_images"], sort=True)
    times = groups["cpu_seconds"].agg(seconds="median", low="min", high="max", n_repeats="size")
    ends = groups["stopped"].agg(lambda ends: ", ".join(dict.fromkeys(ends)))
    others = groups.agg({"steps": "median", "lower_bound": "any", "n_threads": "max", "cut_off": "any"})
    rows: pd.DataFrame = times.assign(steps=others.pop("steps"), stopped=ends).join(others).reset_index()
    is_own = rows.pop("own_run").to_numpy(dtype=bool)
    rows.insert(0, "series", np.where(is_own, OWN, rows["learner"]))
    rows.insert(9, "source", np.where(is_own, "own run", "measured"))
    return rows


def is_unlearned(runtime: pd.DataFrame) -> pd.Series:
    """Tell of each run whether its best step was its start, so that it has no time."""
    return (runtime["cpu_seconds"] <= 0) | ((runtime["learner"] == "OASIS") & (runtime["steps"] == 0))


def printed_times(study: WebStudy) -> pd.DataFrame:
    """Times of NIPS Figure 1b and of JMLR section 5.2.1, in seconds."""
    rows = pd.concat([printed_sizes(study, paper) for paper in (NIPS, JMLR)], ignore_index=True)
    learners = rows["method"].map(LEARNER_OF)
    series: pd.Series = learners + ", printed" + np.where(rows["paper"] == JMLR, " (JMLR)", "")
    return _drawn(series, learners, rows["n_images"], MINUTE * rows["value"], "printed")


def printed_sizes(study: WebStudy, paper: str) -> pd.DataFrame:
    """Printed times of a paper in minutes with their number of images: one in JMLR, seven in NIPS Figure 1b."""
    if paper == NIPS:
        rows = study.printed_in("fig1b", NIPS)
        return rows.assign(n_images=rows["setting"].str.removeprefix("images=").astype(int))
    text = study.printed_in("text", paper)
    return text[text["metric"] == "web_training_time"].assign(metric="train_time", n_images=paper_images(study))


def paper_images(study: WebStudy) -> int:
    """Training images of the papers (JMLR Table 1); 0 where the printed numbers lack them."""
    rows = study.printed_in("table1", JMLR)
    return int(rows.loc[(rows["setting"] == "training") & (rows["metric"] == "images"), "value"].sum())


def _drawn(series: Any, learner: Any, n_images: Any, seconds: Any, source: str) -> pd.DataFrame:
    """Points that were not measured."""
    points = {"series": series, "learner": learner, "n_images": np.asarray(n_images, dtype=np.int64)}
    nothing = {"n_repeats": 0, "stopped": "", "lower_bound": False, "n_threads": 0, "cut_off": False}
    return pd.DataFrame({**points, "seconds": seconds, "source": source, **nothing})


class PowerLaw(NamedTuple):
    """``seconds = factor * n ** exponent``, by least squares in logarithms of both."""

    exponent: float
    half_width: float
    """Half of the 95% interval of the exponent (Student's t, sizes - 2 degrees of freedom)."""
    factor: float
    n_sizes: int

    def __str__(self) -> str:
        return f"{self.exponent:.2f} ± {self.half_width:.2f}"


def power_law(times: pd.DataFrame) -> PowerLaw | None:
    """Fit how time grows with the number of images, over fits that ended by their own rule; None below three sizes."""
    from scipy.special import stdtrit

    times = times[~times["cut_off"].astype(bool)]
    x, y = (np.log(times[column].to_numpy(dtype=np.float64)) for column in ("n_images", "seconds"))
    if len(np.unique(x)) < LEAST_SIZES:
        return None
    centred = x - x.mean()
    exponent = float(centred @ y / (centred @ centred))
    residuals, free = y - y.mean() - exponent * centred, len(x) - 2
    half_width = float(stdtrit(free, 0.975)) * math.sqrt(residuals @ residuals / free / (centred @ centred))
    return PowerLaw(exponent, half_width, math.exp(y.mean() - exponent * x.mean()), len(x))


def continued_through(measured: pd.DataFrame) -> pd.DataFrame:
    """LMNN's times through which it is continued: of `FIT_FROM` rows or more and not cut off; none if too few."""
    chosen = measured[(measured["series"] == "LMNN") & (measured["n_images"] >= FIT_FROM) & ~measured["cut_off"]]
    return chosen if len(chosen) >= LEAST_SIZES else chosen.iloc[:0]


def second_degree(times: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Coefficients of 1, n and n^2 of a polynomial of second degree through times, none of them negative."""
    from scipy.optimize import nnls

    x, y = (times[column].to_numpy(dtype=np.float64) for column in ("n_images", "seconds"))
    scale = x.max()
    # not negative, so that time never falls; relative residuals, so that the largest size does not decide alone
    terms = np.stack([np.ones_like(x), x / scale, (x / scale) ** 2], axis=1)
    return np.asarray(nnls(terms / y[:, None], np.ones_like(y))[0] / scale ** np.arange(3))


def beside(study: WebStudy, measured: pd.DataFrame) -> pd.DataFrame:
    """Our times beside the printed ones of the paper at hand in minutes, without a verdict."""
    printed = printed_sizes(study, study.paper)
    rows = printed[["setting", "method", "metric", "n_images"]]
    found = [time_at(measured, LEARNER_OF[row.method], row.n_images) for row in rows_in(rows)]
    minutes, remarks = [seconds / MINUTE for seconds, _ in found], [remark for _, remark in found]
    ours = rows.assign(ours=minutes, ours_std=math.nan, remark=remarks)
    cells = beside_print(ours, printed.drop(columns="n_images"))
    cells["ours_cell"] = [human_time(MINUTE * value) or MISSING for value in cells["ours"]]
    return cells.assign(unit="minutes", printed_cell=[f"{minutes:,g} min" for minutes in cells["printed"]])


def time_at(measured: pd.DataFrame, learner: str, n_images: int) -> tuple[float, str]:
    """Seconds of a learner at about so many images, and what has to be said of them; NaN where there is no time."""
    own, through = measured[measured["learner"] == learner], continued_through(measured)
    near = own[np.maximum(own["n_images"] / n_images, n_images / own["n_images"]) <= SAME_SIZE]
    if len(near):
        (found,) = rows_in(near.loc[[(near["n_images"] - n_images).abs().idxmin()]])
        remarks = ["the study's own run" if found.source == "own run" else ""]
        remarks.append(f"stopped: {found.stopped}" if found.cut_off else "")
        return float(found.seconds), "; ".join(filter(None, remarks))
    if learner != "LMNN" or through.empty or n_images > BELIEVED * through["n_images"].max():
        return math.nan, ""
    return float(polyval(n_images, second_degree(through))), "extrapolated"


def panel_of(frame: pd.DataFrame) -> Panel:
    """Lines of ours, hollow printed points, and the two lines that continue them."""
    least, most = frame["seconds"].min() / 4, frame["seconds"].max() * 4
    left, right = frame["n_images"].min() / 5, 6.0 * frame["n_images"].max()
    ticks = tuple((tick, human_time(tick)) for tick in TICKS if least <= tick <= most)
    label, form = "Training images (OASIS) or rows (LMNN)", "{:,.0f} images or rows"
    x = Axis(label, "log", left, right, tick_form="short", text=form)
    y = Axis("Training time (ours: processor time)", "log", least, most, ticks=ticks, text="time")
    series = []
    for key, rows in frame.groupby("series", sort=False):
        name, look, is_line = SERIES[str(key)]
        if key == EXTRAPOLATED:
            name += f" {rows['n_images'].max() / rows['n_images'].min():,.0f}-fold"
        low, high = ("low", "high") if (rows["n_repeats"] > 1).any() else ("", "")
        drawn = Series(name, {"series": key}, "n_images", "seconds", look, low, high, note="note")
        series.append(replace(drawn, kind="line" if is_line else "points", hollow="printed" in str(key)))
    return Panel("", x, y, tuple(series))


def labels_of(frame: pd.DataFrame) -> Iterator[Label]:
    """Arrows of lower bounds, then printed times, then those of ours at the ends of lines."""
    bounds, printed = frame["lower_bound"].astype(bool), frame["source"] == "printed"
    ends = ~frame.duplicated("series", keep="last") & ~printed & (frame["source"] != "fitted")
    for chosen, side, text in ((bounds, "above", "↑"), (printed, "above", ""), (ends, "right", "")):
        for row in rows_in(frame[chosen]):
            colour = SERIES[row.series][1].colour
            yield Label(row.n_images, row.seconds, text or human_time(row.seconds), colour, side)


def note_of(row: Any) -> str:
    """Say what is known of a time besides: how the fit ended, whether it had not, and how many repeats there were."""
    if row.source not in ("measured", "own run"):
        return str(row.source)
    parts = [row.stopped, "a lower bound" if row.lower_bound else ""]
    parts.append(f"median of {row.n_repeats} repeats" if row.n_repeats > 1 else "")
    return ", ".join(filter(None, parts))


def notes_of(study: WebStudy, frame: pd.DataFrame, through: pd.DataFrame, law: PowerLaw | None) -> Iterator[str]:
    """Say what was timed and how it ended, how time grows, and what is extrapolated or printed."""
    measured, runtime = frame[frame["source"].isin(["measured", "own run"])], study.table("runtime")
    threads = " and ".join(str(n_threads) for n_threads in sorted(set(measured["n_threads"])))
    machine = f" on {study.processors}" if study.processors else ""
    yield f"Filled markers are ours: processor time of training, summed over all threads ({threads}){machine}."
    yield from ABOUT
    ends = [
        f"{series} at {', '.join(f'{n:,}' for n in rows['n_images'])} {UNITS[rows['learner'].iloc[0]]} ({stopped})"
        for (series, stopped), rows in measured.groupby(["series", "stopped"], sort=False)
    ]
    yield f"How each training ended: {'; '.join(ends)}. Repeated runs show their median, least and largest time."
    if measured["lower_bound"].any():
        yield "Arrows mark lower bounds: mAP still grew (OASIS), or the fit had not converged (LMNN)."
    if law is not None:
        yield (
            f"Dotted: the power law through our times of OASIS, time ~ images^{law} (least squares in logarithms over "
            f"{law.n_sizes} sizes that ended by themselves, ±: 95% interval)."
        )
    if (printed := power_law(frame[frame["series"] == "OASIS, printed"])) is not None:
        yield f"The printed times of OASIS grow as images^{printed}."
    line = frame[frame["series"] == EXTRAPOLATED]
    if len(line):
        yield (
            "Dashed: a polynomial of second degree (no coefficient negative) through the times of LMNN at "
            f"{len(through)} sizes from {FIT_FROM} rows on, drawn on to "
            f"{line['n_images'].max() / through['n_images'].max():,.0f} times as many rows as were measured."
        )
    nothing = runtime[is_unlearned(runtime)].drop_duplicates(["learner", "n_images"])
    unlearned = [f"{row.learner} at {row.n_images:,} {UNITS[row.learner]}" for row in rows_in(nothing)]
    if unlearned:
        yield f"Some runs have no time, since no step beat the start on validation images: {', '.join(unlearned)}."
