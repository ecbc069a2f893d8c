"""What the fine-grained study contrasts: precision and scores of pairs of systems, and the colour of filters.

Intervals are of a paired bootstrap over query images. Printed numbers are rows of their own, without intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from lookalike.exhibits.contrasts import PRINT, REAL, SYNTHETIC, Contrast, Unit, printed_setting
from lookalike.studies.finegrained.pictures import filters_of, pretrained_colours
from lookalike.studies.finegrained.study import FinegrainedStudy
from lookalike.studies.finegrained.systems import ALL, CONVNET, DEEP, PAPER, PER_TRIPLET, PRECISION, SCORE

QUERIES, FILTERS = "query images", "filters"
UNITS: dict[str, Unit] = {PRECISION: "points", SCORE: "triplets", PER_TRIPLET: "% of triplets"}
LEVELS: dict[str, Unit] = {PRECISION: "percent", SCORE: "count", PER_TRIPLET: "percent"}
LEARNED = 0.7
"""Filters whose median correlation with their random start is higher have half of their energy from that."""


def contrasts(study: FinegrainedStudy) -> list[Contrast]:
    """Every contrast of a study, and the printed ones."""
    printed = list(in_print(study))
    # counts of other triplets than print's do not stand beside its own
    found = {row.key[1:]: row.mean for row in printed if row.unit != "count"}
    found |= {(metric, second, first): -mean for (metric, first, second), mean in found.items() if second}
    ours = {row.key: row for row in (*differences(study), *levels(study), *colours(study))}
    return [*(replace(row, printed=found.get(key[1:], math.nan)) for key, row in ours.items()), *printed]


def time_contrasts(study: FinegrainedStudy) -> list[Contrast]:
    """Return none: no claim about systems is about times."""
    return []


def differences(study: FinegrainedStudy) -> Iterator[Contrast]:
    """Paired differences of systems on all triplets and on those of a kind."""
    data = SYNTHETIC if study.synthetic else REAL
    for (first, second, subset, metric), found in study.differences.items():
        name = metric if subset == ALL else f"{metric}, {subset} negatives"
        # a share of the triplets is of as many queries as its score
        n = study.value(first, SCORE if metric == PER_TRIPLET else metric, subset).n_queries
        ends = (found.value, found.low, found.high, found.p)
        yield Contrast(ALL, name, first, second, *ends, n=n, interval=QUERIES, unit=UNITS[metric], data=data)


def levels(study: FinegrainedStudy) -> Iterator[Contrast]:
    """Return what every system reaches on all triplets."""
    for (system, subset, metric), found in study.values.items():
        if subset == ALL:
            ends = (found.value, found.low, found.high)
            yield Contrast(ALL, metric, system, "", *ends, n=found.n_queries, interval=QUERIES, unit=LEVELS[metric])


def in_print(study: FinegrainedStudy) -> Iterator[Contrast]:
    """The printed numbers of systems, and their differences."""
    printed, setting = study.printed_study(), printed_setting(PAPER, ALL)
    systems = sorted(printed.measured)
    for metric, unit in UNITS.items():
        for first, second in [*combinations(systems, 2), *((system, "") for system in systems)]:
            if second:
                found = printed.difference(first, second, metric)
                mean = math.nan if found is None else found.value
            else:
                mean = printed.value(first, metric).value
            if not math.isnan(mean):
                row = Contrast(setting, metric, first, second, mean, mean, mean, p=0.0, printed=mean, data=PRINT)
                yield replace(row, unit=unit if second else LEVELS[metric])


def colours(study: FinegrainedStudy) -> Iterator[Contrast]:
    """Share of colour of DeepRanking's filters minus that of those it starts from, by the interval of the means.

    Filters of shallow paths are left out where half of their energy is their random start's, whose colours were drawn.
    """
    if not study.has("filters"):
        return
    filters = filters_of(study)
    alike = filters.groupby("path")["like_start"].transform("median")
    learned = filters[(filters["path"] == CONVNET) | (alike < LEARNED)]
    shares, before = 100 * learned["colour_share"], 100 * pretrained_colours(study)
    gap = float(shares.mean() - before.mean())
    reach = 1.959964 * math.sqrt(shares.var() / len(shares) + before.var() / len(before))
    ends, data = (gap, gap - reach, gap + reach), SYNTHETIC if study.synthetic else REAL
    yield Contrast(ALL, "colour of filters", DEEP, CONVNET, *ends, n=len(shares), interval=FILTERS, data=data)
