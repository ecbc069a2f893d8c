"""What the fine-grained study contrasts: precision and scores of pairs of systems, and the colour of filters.

Intervals are of a paired bootstrap over query images, and over the seeds of networks together with them; those of
filters over seeds alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

import numpy as np

from lookalike.core.arrays import Doubles
from lookalike.exhibits.contrasts import Contrast, Unit
from lookalike.studies.finegrained.pictures import SHARE, filters_of, started_from
from lookalike.studies.finegrained.study import PAPER_TRIPLETS, FinegrainedStudy
from lookalike.studies.finegrained.systems import (
    ALL,
    CONVNET,
    DEEP,
    PER_TRIPLET,
    PRECISION,
    SCORE,
)

QUERIES, SEEDS_AND_QUERIES, OVER_SEEDS = "query images", "seeds and query images", "seeds"
UNITS: dict[str, Unit] = {PRECISION: "points", SCORE: "triplets", PER_TRIPLET: "% of triplets"}
LEVELS: dict[str, Unit] = {PRECISION: "percent", SCORE: "count", PER_TRIPLET: "percent"}
LEARNED = 0.7
"""Filters whose median correlation with their random start is higher have half of their energy from that."""


def contrasts(study: FinegrainedStudy) -> list[Contrast]:
    """Every contrast of a study, each with its printed number."""
    printed = study.printed_study()
    found = {}
    for metric in UNITS:
        for first, second in permutations(printed.measured, 2):
            found[ALL, metric, first, second] = printed_gap(printed, first, second, metric)
        # counts of other triplets than print's do not stand beside its own
        levels_of = printed.measured if LEVELS[metric] != "count" else ()
        found |= {(ALL, metric, system, ""): printed.value(system, metric).value for system in levels_of}
    ours = {row.key: row for row in (*differences(study), *levels(study), *colours(study))}
    return [replace(row, printed=found.get(key, math.nan)) for key, row in ours.items()]


def printed_gap(printed: FinegrainedStudy, first: str, second: str, metric: str) -> float:
    """Printed number of a system minus that of another; the paper's score a triplet follows from its score."""
    if metric == PER_TRIPLET:
        return 100 / PAPER_TRIPLETS * printed_gap(printed, first, second, SCORE)
    return printed.value(first, metric).value - printed.value(second, metric).value


def differences(study: FinegrainedStudy) -> Iterator[Contrast]:
    """Paired differences of systems on all triplets and on those of a kind."""
    for (first, second, subset, metric), found in study.differences.items():
        name = metric if subset == ALL else f"{metric}, {subset} negatives"
        # a share of the triplets is of as many queries as its score
        n = study.value(first, SCORE if metric == PER_TRIPLET else metric, subset).n_queries
        ends = (found.value, found.low, found.high, found.p)
        row = Contrast(ALL, name, first, second, *ends, n=n, unit=UNITS[metric], data=study.origin)
        yield limited(study, row)


def levels(study: FinegrainedStudy) -> Iterator[Contrast]:
    """Return what every system reaches on all triplets."""
    for (system, subset, metric), found in study.values.items():
        if subset == ALL:
            row = Contrast(ALL, metric, system, "", found.value, found.low, found.high, data=study.origin)
            yield limited(study, replace(row, n=found.n_queries, unit=LEVELS[metric]))


def limited(study: FinegrainedStudy, row: Contrast) -> Contrast:
    """Return a row of query images with what limits the networks in it, and what its interval is over."""
    systems = [system for system in (row.first, row.second) if system]
    codes = [f"{system}:{limit}" for system in systems for limit in study.limits_of(system)]
    has_seeds = any(study.value(system, PRECISION).n_seeds > 1 for system in systems)
    return replace(row, interval=SEEDS_AND_QUERIES if has_seeds else QUERIES, limits=";".join(codes))


def colours(study: FinegrainedStudy) -> Iterator[Contrast]:
    """Share of colour of DeepRanking's filters, beside those that it starts from: of a classifier, and random ones.

    Filters of shallow paths are left out where half of their energy is their random start's. The others have to gain
    colour over that start, because two thirds of the energy of random filters is colour.
    """
    beside_classifier, beyond_start = [], []
    for path in study.paths("filters"):
        filters, before = filters_of(path), started_from(path)
        alike = filters.groupby("path")["like_start"].transform("median")
        learned = filters[(filters["path"] == CONVNET) | (alike < LEARNED)]
        beside_classifier.append(learned["colour_share"].mean() - before.loc[before["path"] == CONVNET, SHARE].mean())
        shallow = set(learned["path"]) - {CONVNET}
        if shallow:
            pair = (frame.loc[frame["path"].isin(shallow), SHARE].mean() for frame in (learned, before))
            beyond_start.append(next(pair) - next(pair))
    for metric, second, gaps in (
        ("colour of filters", CONVNET, beside_classifier),
        ("colour of filters beyond their start", "", beyond_start),
    ):
        if gaps:
            mean, low, high = over_seeds(100 * np.array(gaps))
            row = Contrast(ALL, metric, DEEP, second, mean, low, high, n=len(gaps))
            yield replace(limited(study, row), interval=OVER_SEEDS, data=study.origin)


def over_seeds(values: Doubles) -> tuple[float, float, float]:
    """Return the mean of a number of several seeds, and the interval of Student's t; NaN ends for a single one."""
    # heavy, and every plan imports this room
    from scipy import special

    mean, n = float(values.mean()), len(values)
    if n < 2:
        return mean, math.nan, math.nan
    reach = float(special.stdtrit(n - 1, 0.975) * values.std(ddof=1) / math.sqrt(n))
    return mean, mean - reach, mean + reach
