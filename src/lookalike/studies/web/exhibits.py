"""Figures of the web study: precision at top k (JMLR Figure 3A) and training time over the size (JMLR Figure 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.polynomial import Polynomial

from lookalike.exhibits.drawing import Chart, Curve, ruler
from lookalike.exhibits.model import Axis, Drawn
from lookalike.exhibits.printed import DAY, HOUR, MINUTE, YEAR, human_time
from lookalike.exhibits.results import UNFINISHED, rows_in, select
from lookalike.exhibits.style import GREY, LOOKS, Look, looks_of
from lookalike.studies.web.results import N_GALLERY, N_QUERIES, SIZES, TRAIN_TIME
from lookalike.studies.web.study import WebStudy

JMLR, NIPS = "oasis-jmlr-2010", "oasis-nips-2009"
OURS, LIMITED, OWN = "ours", "ended at a limit", "this study's training"
OWN_LIMITED, EXTRAPOLATED = f"{OWN}, {LIMITED}", "extrapolated"
NIPS_PRINTED, JMLR_PRINTED = "printed (NIPS)", "printed (JMLR)"
MARKERS = {LIMITED: "^", OWN: "*", OWN_LIMITED: "*", JMLR_PRINTED: "s"}
"""Origin of a time to its marker, where it is not that of its method."""
TITLES = {"oasis": "OASIS", "lmnn": "LMNN"}
FIT_FROM, LEAST_SIZES = 100, 3
"""Size from which LMNN's times are continued, as fixed costs hide their growth below; and sizes that a curve takes."""
BELIEVED = 10
"""Times the largest measured size to which LMNN's times are continued: a fit to small sizes says little further on."""
TICKS = (0.001, 0.01, 0.1, 1, 10, MINUTE, 10 * MINUTE, HOUR, 10 * HOUR, 4 * DAY, 40 * DAY, YEAR, 10 * YEAR, 100 * YEAR)
"""Seconds at which the axis of times has a tick: about a power of ten apart, each a number that people say."""


def precision_by_log(study: WebStudy) -> Drawn:
    """Draw how many of the first k images share a query of the log with the query image."""
    table, n_images = study.precision(), study.counts["test", "images"]
    chance = 100 * study.counts["test", "relevant_per_image"] / (n_images - 1)
    frame = table.assign(
        low=table["precision"] - table["standard_error"], high=table["precision"] + table["standard_error"]
    )
    looks = looks_of([method for method in study.methods if method in set(frame["method"])])
    curves = [
        Curve(study.title_of(method), replace(look, band=True), select(frame, method=method), "k", "precision")
        for method, look in looks.items()
    ]
    x = Axis("Number of neighbours k", low=0, high=1.03 * float(frame["k"].max()), text="k = {:.0f}")
    y = Axis("Precision at top k (%)", low=0, text="{:.1f}%")
    chart = Chart(1, size=(4.3, 2.85))
    chart.panel("", x, y, curves).axhline(chance, label="chance", **ruler(GREY))
    notes = (
        f"Each of {study.size_of(N_QUERIES):,} query images, sampled from the test images, ranks all other "
        f"{study.size_of(N_GALLERY) - 1:,} of them. Bands: ± standard error over query images.",
        "The gap between OASIS and Euclidean is no evidence about the papers. It comes from the simulation, whose "
        "images share styles that mean nothing to queries.",
        "One shared query is enough: the papers' threshold theta on relevance is 0 here.",
        "The papers' figure shows OASIS alone: it has no curve of Euclidean and none of averaged models.",
        f"Chance is {chance:.2g}%, the share of relevant images among all.",
        "JMLR section 5.2.2 prints 1.5% at top 1, by the log of a real search engine. It is not in the figure, because "
        "it says nothing beside these curves. The printed curves have no numbers.",
    )
    chance_row = pd.DataFrame([{"method": "chance", "k": 1, "precision": chance}])
    frame = pd.concat([frame, chance_row], ignore_index=True)
    titles = {"method": {method: study.title_of(method) for method in looks}}
    return chart.drawn(frame, notes=notes, titles=titles)


def training_times(study: WebStudy) -> Drawn:
    """Draw how training time grows with the number of images, for OASIS and for LMNN."""
    measured, unlearned = measured_times(study)
    curve, printed = projection(measured), printed_times(study)
    if curve is not None:
        sizes = np.geomspace(curve.domain[0], curve.domain[1], 20).round()
        extrapolated = {"method": "lmnn", "n_images": sizes, "seconds": curve(sizes), "origin": EXTRAPOLATED}
        measured = pd.concat([measured, pd.DataFrame(extrapolated)], ignore_index=True)
    measured = measured.astype({"n_images": "int64"})
    frame = pd.concat([measured, printed[list(measured)]], ignore_index=True)
    least, most = frame["seconds"].min() / 4, 4 * frame["seconds"].max()
    ticks = tuple((tick, human_time(tick)) for tick in TICKS if least <= tick <= most)
    x = Axis("Training images (OASIS) or rows (LMNN)", "log", tick_form="short", text="{:,.0f} images or rows")
    y = Axis("Training time (ours: processor time)", "log", least, most, ticks=ticks, text="time")
    chart = Chart(1, size=(5.4, 3.65))
    chart.panel("", x, y, curves_of(frame))
    return chart.drawn(frame, notes=[*notes_of(measured, unlearned)], titles={"method": TITLES})


def measured_times(study: WebStudy) -> tuple[pd.DataFrame, list[str]]:
    """Return the median time of each method and size, and in words those that learned nothing."""
    rows = select(study.results, metric=[TRAIN_TIME, UNFINISHED])
    runs = rows.pivot(index=["setting", "method", "x", "repeat"], columns="metric", values="value").reset_index()
    nothing = runs[runs[TRAIN_TIME] <= 0]
    groups = runs[runs[TRAIN_TIME] > 0].groupby(["setting", "method", "x"], sort=False)
    found = groups.agg({TRAIN_TIME: "median", UNFINISHED: "max"}).reset_index()
    is_limited = found[UNFINISHED] > 0
    own, sized = np.where(is_limited, OWN_LIMITED, OWN), np.where(is_limited, LIMITED, OURS)
    origin = np.where(found["setting"] == SIZES, sized, own)
    times = found.rename(columns={"x": "n_images", TRAIN_TIME: "seconds"}).assign(origin=origin)
    return times[["method", "n_images", "seconds", "origin"]], [
        f"{TITLES[row.method]} at {row.x:,.0f}" for row in rows_in(nothing)
    ]


def printed_times(study: WebStudy) -> pd.DataFrame:
    """Return the times of NIPS Figure 1b, and that of JMLR section 5.2.1 with the images of its Table 1."""
    nips = study.printed_in("fig1b", NIPS)
    sizes = nips["setting"].str.removeprefix("images=").astype("int64")
    jmlr = select(study.printed_in("text", JMLR), metric="web_training_time").assign(metric=TRAIN_TIME)
    images = select(study.printed_in("table1", JMLR), setting="training", metric="images")["value"].sum()
    parts = [nips.assign(n_images=sizes, origin=NIPS_PRINTED), jmlr.assign(n_images=int(images), origin=JMLR_PRINTED)]
    rows = pd.concat(parts, ignore_index=True)
    return rows.assign(method=rows["method"].replace("fast-lmnn", "lmnn"), seconds=MINUTE * rows["value"])


def projection(times: pd.DataFrame) -> Polynomial | None:
    """Return LMNN's time as a polynomial of second degree, as the papers do; None below three sizes that ended.

    No coefficient is negative, so that it never falls. Its domain is from the largest size to ten times that.
    """
    from scipy.optimize import nnls

    own = select(times, method="lmnn", origin=OURS)
    own = own[own["n_images"] >= FIT_FROM]
    if len(own) < LEAST_SIZES:
        return None
    x, y = (own[column].to_numpy(dtype=np.float64) for column in ("n_images", "seconds"))
    # relative residuals, so that the largest size does not decide alone
    terms = np.stack([np.ones_like(x), x / x.max(), (x / x.max()) ** 2], axis=1)
    coefficients = nnls(terms / y[:, None], np.ones_like(y))[0] / x.max() ** np.arange(3)
    domain = [x.max(), BELIEVED * x.max()]
    return Polynomial(coefficients, domain, domain)


def curves_of(frame: pd.DataFrame) -> Iterator[Curve]:
    """Yield a curve of each method and origin, in the colour of its method; printed points are hollow."""
    for method, origin in frame[["method", "origin"]].drop_duplicates().itertuples(index=False):
        own, name, is_printed = LOOKS[method], f"{TITLES[method]}, {origin}", origin in (NIPS_PRINTED, JMLR_PRINTED)
        look = Look(own.colour, MARKERS.get(origin, own.marker), kind="line" if origin == OURS else "points")
        if origin == EXTRAPOLATED:
            look, name = Look(own.colour, "", "--"), f"{name} {BELIEVED}-fold"
        rows = select(frame, method=method, origin=origin)
        yield Curve(name, replace(look, hollow=is_printed), rows, "n_images", "seconds", None)


def notes_of(measured: pd.DataFrame, unlearned: list[str]) -> Iterator[str]:
    """Say what was timed and how it ended, how time grows, and what is extrapolated or printed."""
    yield (
        "Ours are processor seconds of training on one thread; of several rankers, the median. OASIS is timed up to "
        "the step with the best validation mAP, each size on a simulated collection of its own; LMNN learns rows of a "
        "synthetic set in the shape of MNIST: 10 classes, 784 features."
    )
    yield (
        "Hollow markers are printed times, of other machines: circles and diamonds as NIPS Figure 1b labels them, the "
        "square by JMLR section 5.2.1. The paper's LMNN learns MNIST, and its time at the largest size is a projection."
    )
    if measured["origin"].isin([LIMITED, OWN_LIMITED]).any():
        yield "What ended at a limit, of steps or of time, would have gone on."
    if words := growth(measured):
        yield f"JMLR section 5.2.4 says that the time of OASIS grows linearly. Ours grows as images^{words}"
    if EXTRAPOLATED in set(measured["origin"]):
        yield (
            "Dashed: a polynomial of second degree (no coefficient negative) through the times of LMNN from "
            f"{FIT_FROM} rows on, continued to {BELIEVED} times as many rows as were measured."
        )
    if unlearned:
        yield f"Some runs have no time, since no step beat the start on validation images: {', '.join(unlearned)}."


def growth(times: pd.DataFrame) -> str:
    """Return the power of the number of images with which OASIS's time grows, and of what that is the interval."""
    from scipy.stats import linregress, t

    own = select(times, method="oasis", origin=OURS)
    if len(own) < LEAST_SIZES:
        return ""
    line = linregress(np.log(own["n_images"]), np.log(own["seconds"]))
    half_width = t.ppf(0.975, len(own) - 2) * line.stderr
    return (
        f"{line.slope:.2f} ± {half_width:.2f} (least squares in logarithms over {len(own)} sizes that ended by "
        "themselves; ±: 95% interval)."
    )
