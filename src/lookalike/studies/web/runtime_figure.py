"""Training time of OASIS and LMNN, ours and printed, over the number of images (JMLR Figure 4, NIPS Figure 1b)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
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
from lookalike.exhibits.statuses import Status
from lookalike.exhibits.style import GREY, LOOKS, Look
from lookalike.studies.metrics import rows_in
from lookalike.studies.web.study import WHY_NOT_COMPARABLE, WebStudy

JMLR, NIPS = "oasis-jmlr-2010", "oasis-nips-2009"
OASIS, LMNN = "OASIS", "LMNN"
LEARNER_OF = {"oasis": OASIS, "fast-lmnn": LMNN}
"""How the printed numbers call a learner, to its name here."""
UNITS = {OASIS: "images", LMNN: "rows"}
"""What a learner's size counts."""
MEASURED, OWN_RUN, PRINTED, EXTRAPOLATED, FITTED = "measured", "own run", "printed", "extrapolated", "fitted"
OWN_SERIES, EXTRAPOLATION, POWER_LAW = f"{OASIS}, the study's own run", f"{LMNN}, extrapolated", f"{OASIS}: power law"
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
EXTRAPOLATED_POINTS = 20
SIZE = (5.4, 3.65)
"""Width and height of the panel, in inches."""

LIMITS = ("limit", "time limit")
"""How a run ends that its own rule has not ended: at a limit of steps or of time."""

Floats = npt.NDArray[np.float64]


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
    largest = int(printed["n_images"].max()) if len(printed) else 0
    beside = [printed, law_line(measured), continued(measured, largest)]
    frame = pd.concat([measured, *(part for part in beside if len(part))], ignore_index=True)
    frame["note"] = [note_of(row) for row in rows_in(frame)]
    cells, notes = times_beside_print(study, measured), notes_of(study, frame)
    figure = Figure(frame.drop(columns="cut_off"), (panel_of(frame),), cells, tuple(notes), size=SIZE)
    return on_free_sides(figure, times_in_words(frame))


def measured_times(runtime: pd.DataFrame) -> pd.DataFrame:
    """Median, least and largest processor seconds of each learner and size, without runs that learned nothing."""
    learned = runtime[~is_unlearned(runtime)]
    # whether a repeat ended at a limit: no line is fitted through such a time
    learned = learned.assign(cut_off=learned["stopped"].isin(LIMITS))
    groups = learned.groupby(["own_run", "learner", "n_images"], sort=True)
    times = groups["cpu_seconds"].agg(seconds="median", low="min", high="max", n_repeats="size")
    ends = groups["stopped"].agg(lambda ends: ", ".join(dict.fromkeys(ends)))
    others = groups.agg({"steps": "median", "lower_bound": "any", "n_threads": "max", "cut_off": "any"})
    rows: pd.DataFrame = times.assign(steps=others.pop("steps"), stopped=ends).join(others).reset_index()
    is_own = rows.pop("own_run").to_numpy(dtype=bool)
    rows.insert(0, "series", np.where(is_own, OWN_SERIES, rows["learner"]))
    rows.insert(9, "source", np.where(is_own, OWN_RUN, MEASURED))
    return rows


def is_unlearned(runtime: pd.DataFrame) -> pd.Series:
    """Tell of each run whether its best step was its start, so that it has no time."""
    return (runtime["cpu_seconds"] <= 0) | ((runtime["learner"] == OASIS) & (runtime["steps"] == 0))


def printed_times(study: WebStudy) -> pd.DataFrame:
    """Times of NIPS Figure 1b and of JMLR section 5.2.1, in seconds."""
    nips, jmlr = (printed_sizes(study, paper) for paper in (NIPS, JMLR))
    learners = nips["method"].map(LEARNER_OF)
    nips = nips.assign(series=learners + ", printed", learner=learners)
    rows = pd.concat([nips, jmlr.assign(series="OASIS, printed (JMLR)", learner=OASIS)], ignore_index=True)
    rows = rows.assign(seconds=MINUTE * rows["value"])[["series", "learner", "n_images", "seconds"]]
    return rows.assign(source=PRINTED, n_repeats=0, stopped="", lower_bound=False, n_threads=0, cut_off=False)


def printed_sizes(study: WebStudy, paper: str) -> pd.DataFrame:
    """Printed times of a paper in minutes with their number of images: one in JMLR, seven in NIPS Figure 1b."""
    if paper == NIPS:
        rows = study.printed_in("fig1b", NIPS)
        return rows.assign(n_images=rows["setting"].str.removeprefix("images=").astype(int))
    text = study.printed_in("text", paper)
    rows = text[text["metric"] == "web_training_time"]
    return rows.assign(metric="train_time", n_images=paper_images(study))


def paper_images(study: WebStudy) -> int:
    """Training images of the papers (JMLR Table 1); 0 where the printed numbers lack them."""
    rows = study.printed_in("table1", JMLR)
    found = rows.loc[(rows["setting"] == "training") & (rows["metric"] == "images"), "value"]
    return int(found.iloc[0]) if len(found) else 0


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

    times = times[~times["cut_off"]]
    x, y = (np.log(times[column].to_numpy(dtype=np.float64)) for column in ("n_images", "seconds"))
    if len(np.unique(x)) < LEAST_SIZES:
        return None
    centred = x - x.mean()
    exponent = float(centred @ y / (centred @ centred))
    residuals, free = y - y.mean() - exponent * centred, len(x) - 2
    half_width = float(stdtrit(free, 0.975)) * math.sqrt(residuals @ residuals / free / (centred @ centred))
    return PowerLaw(exponent, half_width, math.exp(y.mean() - exponent * x.mean()), len(x))


def growth(measured: pd.DataFrame, learner: str) -> PowerLaw | None:
    """Fit how the time of OASIS grows, without the study's own run, or that of LMNN where it is continued from."""
    return power_law(continued_through(measured) if learner == LMNN else measured[measured["series"] == OASIS])


def law_line(measured: pd.DataFrame) -> pd.DataFrame:
    """The two ends of the power law of OASIS."""
    own = measured[measured["series"] == OASIS]
    law = power_law(own)
    if law is None:
        return pd.DataFrame()
    ends = np.array([own["n_images"].min(), own["n_images"].max()])
    return _drawn(POWER_LAW, ends, law.factor * ends**law.exponent, FITTED)


def continued_through(measured: pd.DataFrame) -> pd.DataFrame:
    """LMNN's times through which it is continued: of `FIT_FROM` rows or more and not cut off; none if too few."""
    chosen = measured[(measured["series"] == LMNN) & (measured["n_images"] >= FIT_FROM) & ~measured["cut_off"]]
    return chosen if len(chosen) >= LEAST_SIZES else chosen.iloc[:0]


def second_degree(times: pd.DataFrame) -> Floats:
    """Coefficients of 1, n and n^2 of a polynomial of second degree through times, none of them negative."""
    from scipy.optimize import nnls

    x, y = (times[column].to_numpy(dtype=np.float64) for column in ("n_images", "seconds"))
    scale = x.max()
    # not negative, so that time never falls; relative residuals, so that the largest size does not decide alone
    terms = np.stack([np.ones_like(x), x / scale, (x / scale) ** 2], axis=1)
    coefficients, _ = nnls(terms / y[:, None], np.ones_like(y))
    return np.asarray(coefficients / scale ** np.arange(3))


def continued(measured: pd.DataFrame, size: float) -> pd.DataFrame:
    """Continue LMNN's times by `second_degree` from the largest that was measured to a larger one, not `BELIEVED`."""
    through = continued_through(measured)
    if through.empty or size <= through["n_images"].max():
        return pd.DataFrame()
    largest = float(through["n_images"].max())
    n_images = np.geomspace(largest, min(size, BELIEVED * largest), EXTRAPOLATED_POINTS).round()
    return _drawn(EXTRAPOLATION, n_images, polyval(n_images, second_degree(through)), EXTRAPOLATED)


def _drawn(series: str, n_images: Any, seconds: Any, source: str) -> pd.DataFrame:
    """Points of a line that was not measured."""
    learner = OASIS if series == POWER_LAW else LMNN
    points = {"series": series, "learner": learner, "n_images": np.asarray(n_images, dtype=np.int64)}
    nothing = {"n_repeats": 0, "stopped": "", "lower_bound": False, "n_threads": 0, "cut_off": False}
    return pd.DataFrame({**points, "seconds": seconds, "source": source, **nothing})


def times_beside_print(study: WebStudy, measured: pd.DataFrame) -> pd.DataFrame:
    """Our times beside the printed ones of the paper at hand in minutes, without a verdict."""
    printed = printed_sizes(study, study.paper)
    rows = printed[["setting", "method", "metric", "n_images"]]
    found = [time_at(measured, LEARNER_OF[row.method], row.n_images) for row in rows_in(rows)]
    minutes, remarks = [seconds / MINUTE for seconds, _ in found], [remark for _, remark in found]
    ours = rows.assign(ours=minutes, ours_std=math.nan, remark=remarks)
    cells = beside_print(ours, printed.drop(columns="n_images"), judge=_without_verdict)
    cells["ours_cell"] = [human_time(MINUTE * value) or MISSING for value in cells["ours"]]
    printed_cells = [f"{minutes:,g} min" for minutes in cells["printed"]]
    return cells.drop(columns="remark").assign(unit="minutes", printed_cell=printed_cells)


def time_at(measured: pd.DataFrame, learner: str, n_images: int) -> tuple[float, str]:
    """Seconds of a learner at about so many images, and what has to be said of them; NaN where there is no time."""
    own = measured[measured["learner"] == learner]
    ratio = np.maximum(own["n_images"] / n_images, n_images / own["n_images"])
    near = own[ratio <= SAME_SIZE]
    if len(near):
        found = near.loc[[(near["n_images"] - n_images).abs().idxmin()]]
        remarks = ["the study's own run"] if (found["source"] == OWN_RUN).any() else []
        remarks += [f"stopped: {found['stopped'].item()}"] if found["cut_off"].item() else []
        return float(found["seconds"].item()), "; ".join(remarks)
    through = continued_through(measured)
    if learner != LMNN or through.empty or n_images > BELIEVED * through["n_images"].max():
        return math.nan, ""
    return float(polyval(n_images, second_degree(through))), "extrapolated"


def _without_verdict(cell: Mapping[str, Any]) -> tuple[str, str]:
    """Status and reason of a printed time."""
    learner = LEARNER_OF[cell["method"]]
    if math.isnan(cell["ours"]):
        return Status.NO_RESULT, f"this run has no time of {learner} on about {cell['n_images']:,} images"
    data = WHY_NOT_COMPARABLE if learner == OASIS else "synthetic vectors"
    return Status.NOT_COMPARABLE, "; ".join(filter(None, (cell["remark"], data, "other machine and implementation")))


def panel_of(frame: pd.DataFrame) -> Panel:
    """Lines of ours, hollow printed points, and the two lines that continue them."""
    low, high = frame["seconds"].min() / 4, frame["seconds"].max() * 4
    left, right = frame["n_images"].min() / 5, 6.0 * frame["n_images"].max()
    ticks = tuple((tick, human_time(tick)) for tick in TICKS if low <= tick <= high)
    label, form = "Training images (OASIS) or rows (LMNN)", "{:,.0f} images or rows"
    x = Axis(label, "log", left, right, tick_form="short", text=form)
    y = Axis("Training time (ours: processor time)", "log", low, high, ticks=ticks, text="time")
    names = series_names(frame)
    series = [series_of(str(name), names, rows) for name, rows in frame.groupby("series", sort=False)]
    return Panel("", x, y, tuple(series))


def series_names(frame: pd.DataFrame) -> dict[str, str]:
    """Names of series in the legend; that of an extrapolation says how far it goes."""
    law, sizes = power_law(frame[frame["series"] == OASIS]), frame.loc[frame["series"] == EXTRAPOLATION, "n_images"]
    names = {OASIS: "OASIS, ours", LMNN: "LMNN, ours", OWN_SERIES: "OASIS, the study's own run"}
    names |= {f"{learner}, printed": f"{learner}, printed (NIPS)" for learner in (OASIS, LMNN)}
    names |= {POWER_LAW: f"OASIS, fitted: images^{law.exponent:.2f}"} if law else {}
    return names | {EXTRAPOLATION: f"LMNN, extrapolated {sizes.max() / sizes.min():,.0f}-fold"}


def series_of(name: str, names: Mapping[str, str], rows: pd.DataFrame) -> Series:
    """Points or a line of one series, with the least and the largest time where there are repeats."""
    source = rows["source"].iloc[0]
    drawn: Series = Series(names.get(name, name), {"series": name}, "n_images", "seconds", look_of(name), note="note")
    drawn = replace(drawn, kind="points" if source in (OWN_RUN, PRINTED) else "line", hollow=source == PRINTED)
    return replace(drawn, low="low", high="high") if (rows["n_repeats"] > 1).any() else drawn


def look_of(series: str) -> Look:
    """Look of a series: the colour of its learner."""
    of_learner = LOOKS["oasis" if series.startswith(OASIS) else "lmnn"]
    others = {OWN_SERIES: Look(of_learner.colour, "*"), "OASIS, printed (JMLR)": Look(of_learner.colour, "s")}
    others |= {EXTRAPOLATION: Look(of_learner.colour, "", "--"), POWER_LAW: Look(GREY, "", ":")}
    return others.get(series, of_learner)


def times_in_words(frame: pd.DataFrame) -> Iterator[Label]:
    """Arrows of lower bounds, then printed times, then those of ours at the ends of lines."""
    bounds, printed = frame["lower_bound"].astype(bool), frame["source"] == PRINTED
    ends = ~frame.duplicated("series", keep="last") & ~printed & (frame["source"] != FITTED)
    for chosen, side, text in ((bounds, "above", "↑"), (printed, "above", ""), (ends, "right", "")):
        for row in rows_in(frame[chosen]):
            yield Label(row.n_images, row.seconds, text or human_time(row.seconds), look_of(row.series).colour, side)


def note_of(row: Any) -> str:
    """Say what is known of a time besides: how the fit ended, whether it had not, and how many repeats there were."""
    if row.source not in (MEASURED, OWN_RUN):
        return str(row.source)
    parts = [row.stopped, "a lower bound" if row.lower_bound else ""]
    parts.append(f"median of {row.n_repeats} repeats" if row.n_repeats > 1 else "")
    return ", ".join(filter(None, parts))


def notes_of(study: WebStudy, frame: pd.DataFrame) -> list[str]:
    """Say what was timed and how it ended, how time grows, and what is extrapolated or printed."""
    measured, runtime = frame[frame["source"].isin([MEASURED, OWN_RUN])], study.table("runtime")
    notes = _timed_notes(study, measured)
    ends = [
        f"{series} at {', '.join(f'{n:,}' for n in rows['n_images'])} {UNITS[rows['learner'].iloc[0]]} ({stopped})"
        for (series, stopped), rows in measured.groupby(["series", "stopped"], sort=False)
    ]
    notes.append(f"How each training ended: {'; '.join(ends)}.")
    if measured["cut_off"].any():
        notes.append("No line is fitted through runs that ended at a limit.")
    if measured["lower_bound"].any():
        notes.append("Arrows mark lower bounds: mAP still grew (OASIS), or the fit had not converged (LMNN).")
    notes += _growth_notes(frame)
    nothing = runtime[is_unlearned(runtime)].drop_duplicates(["learner", "n_images"])
    unlearned = [f"{row.learner} at {row.n_images:,} {UNITS[row.learner]}" for row in rows_in(nothing)]
    if unlearned:
        notes.append(
            f"Some runs have no time, since no step beat the start on validation images: {', '.join(unlearned)}."
        )
    notes.append(
        "Hollow markers are printed times, of other machines: circles and diamonds as NIPS Figure 1b labels them, the "
        "square by JMLR section 5.2.1. The paper's LMNN learns MNIST, and its time at the largest size is a projection."
    )
    return notes


def _timed_notes(study: WebStudy, measured: pd.DataFrame) -> list[str]:
    chosen = (
        ""
        if study.runtime is None
        else f" (C = {study.runtime.aggressiveness:g}, patience = {study.runtime.patience:g})"
    )
    repeats = [f"{row.n_repeats} of {row.series}" for row in rows_in(measured[measured["n_repeats"] > 1])]
    threads = " and ".join(str(n_threads) for n_threads in sorted(set(measured["n_threads"])))
    machine = f" on {study.processors}" if study.processors else ""
    notes = [
        f"Filled markers are ours: processor time of training, summed over all threads ({threads}){machine}.",
        f"OASIS{chosen} is timed up to the step with the best validation mAP. Each size is a simulated collection of "
        "its own, with as many topics as suit its size.",
    ]
    if (measured["learner"] == LMNN).any():
        notes.append("LMNN learns rows of a synthetic set in the shape of MNIST: 10 classes, 784 features.")
    if (measured["source"] == OWN_RUN).any():
        notes.append("Star: the training of this study itself, with its own collection, C and stopping rule.")
    if repeats:
        notes.append(f"Repeated runs show their median, with bars from the least to the largest: {', '.join(repeats)}.")
    return notes


def _growth_notes(frame: pd.DataFrame) -> list[str]:
    notes = []
    law, printed = (power_law(frame[frame["series"] == name]) for name in (OASIS, "OASIS, printed"))
    if law is not None:
        notes.append(
            f"Dotted: the power law through our times of OASIS, time ~ images^{law} (least squares in logarithms over "
            f"{law.n_sizes} sizes, ±: 95% interval)."
        )
    else:
        notes.append(f"No power law is fitted to ours of OASIS: fewer than {LEAST_SIZES} sizes ended by themselves.")
    notes += [f"The printed times of OASIS grow as images^{printed}."] if printed else []
    line = frame[frame["series"] == EXTRAPOLATION]
    if len(line):
        sizes, last = continued_through(frame)["n_images"], line.iloc[-1]
        notes.append(
            "Dashed: a polynomial of second degree (no coefficient negative) through the times of LMNN at "
            f"{len(sizes)} sizes from {FIT_FROM} rows on, drawn on to {last['n_images'] / sizes.max():,.0f} times as "
            f"many rows as were measured. At {last['n_images']:,} rows it guesses {human_time(last['seconds'])}."
        )
    return notes
