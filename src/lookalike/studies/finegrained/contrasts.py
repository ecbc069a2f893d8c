"""What the fine-grained study contrasts: precision and scores of pairs of systems, and the colour of filters.

Intervals are of a paired bootstrap over query images, and over the seeds of networks together with them; those of
filters over seeds alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.arrays import Doubles
from lookalike.exhibits.contrasts import Contrast, Unit
from lookalike.ranking import triplet_metrics
from lookalike.studies.finegrained.pictures import SHARE, filters_of, started_from
from lookalike.studies.finegrained.study import FinegrainedStudy
from lookalike.studies.finegrained.systems import ALL, CONVNET, DEEP, PER_TRIPLET, PRECISION, SCORE

QUERIES, SEEDS_AND_QUERIES, OVER_SEEDS = "query images", "seeds and query images", "seeds"
UNITS: dict[str, Unit] = {PRECISION: "points", SCORE: "triplets", PER_TRIPLET: "% of triplets"}
LEVELS: dict[str, Unit] = {PRECISION: "percent", SCORE: "count", PER_TRIPLET: "percent"}
PAPER_TRIPLETS = 14_000
"""About how many triplets the paper rates (section 6.2)."""
LEARNED = 0.7
"""Filters whose median correlation with their random start is higher have half of their energy from that."""


def contrasts(study: FinegrainedStudy) -> list[Contrast]:
    """Return every contrast of a study, each with its printed number."""
    if not study.has("outcomes"):
        return list(colours(study))
    triplets = study.table("triplets")
    given: dict[str, Any] = {
        "seed": study.seed,
        "k": study.k,
        "n_resamples": study.score.resamples,
        "manifest": study.table("manifest"),
        "trainings": {system: study.trainings(system) for system in study.systems()},
    }
    outcomes, pairs = study.table("outcomes"), study.compared_pairs()
    levels = triplet_metrics.intervals(outcomes, triplets, study.table("pairs"), **given)
    differences = triplet_metrics.contrasts(outcomes, triplets, pairs_of_systems=pairs, **given)
    return contrasts_of(study, levels, differences)


def contrasts_of(study: FinegrainedStudy, levels: pd.DataFrame, differences: pd.DataFrame) -> list[Contrast]:
    """Return contrasts of the levels and differences that a bootstrap gave."""
    names = dict(zip(triplet_metrics.metric_names(study.k), UNITS, strict=True))
    in_print = study.printed_numbers.set_index(["method", "metric"])["value"]
    in_print = in_print[~in_print.index.duplicated()]

    def printed(system: str, metric: str) -> float:
        # the paper's score a triplet follows from its score
        level = in_print.get((system, SCORE if metric == PER_TRIPLET else metric), math.nan)
        return float(100 / PAPER_TRIPLETS * level if metric == PER_TRIPLET else level)

    rows = []
    for first, second, subset, metric, *numbers in differences.itertuples(index=False):
        name = names[metric]
        gap = printed(first, name) - printed(second, name) if subset == triplet_metrics.ALL else math.nan
        called = name if subset == triplet_metrics.ALL else f"{name}, {subset} negatives"
        row = limited(study, Contrast(ALL, called, first, second, *numbers))
        rows.append(replace(row, unit=UNITS[name], printed=gap))
    for level in levels[levels["subset"] == triplet_metrics.ALL].to_dict("records"):
        name, system = names[level["metric"]], level["system"]
        # counts of other triplets than print's do not stand beside its own
        beside = printed(system, name) if name == PRECISION else math.nan
        row = Contrast(ALL, name, system, "", n=level["n_queries"], unit=LEVELS[name], printed=beside)
        rows.append(limited(study, replace(row, mean=level["value"], low=level["low"], high=level["high"])))
    return [*rows, *colours(study)]


def limited(study: FinegrainedStudy, row: Contrast) -> Contrast:
    """Return a row of query images with what limits the networks in it, and what its interval is over."""
    systems = [system for system in (row.first, row.second) if system]
    codes = [f"{system}:{limit}" for system in systems for limit in study.limits_of(system)]
    kind = SEEDS_AND_QUERIES if any(study.n_seeds(system) > 1 for system in systems) else QUERIES
    return replace(row, interval=kind, limits=";".join(codes), data=study.origin)


def colours(study: FinegrainedStudy) -> Iterator[Contrast]:
    """Share of colour of DeepRanking's filters, beside those that it starts from: of a classifier, and random ones.

    Filters of shallow paths are left out where half of their energy is their random start's. The others have to gain
    colour over that start, because two thirds of the energy of random filters is colour.
    """
    gaps: dict[tuple[str, str], list[float]] = {}
    for path in study.paths("filters"):
        filters, before = filters_of(path), started_from(path)
        alike = filters.groupby("path")["like_start"].transform("median")
        learned = filters[(filters["path"] == CONVNET) | (alike < LEARNED)]
        gap = learned[SHARE].mean() - before.loc[before["path"] == CONVNET, SHARE].mean()
        gaps.setdefault(("colour of filters", CONVNET), []).append(gap)
        shallow = set(learned["path"]) - {CONVNET}
        if shallow:
            after, start = (frame.loc[frame["path"].isin(shallow), SHARE].mean() for frame in (learned, before))
            gaps.setdefault(("colour of filters beyond their start", ""), []).append(after - start)
    for (metric, second), values in gaps.items():
        row = replace(limited(study, Contrast(ALL, metric, DEEP, second)), interval=OVER_SEEDS)
        yield over_seeds(row, 100 * np.array(values))


def over_seeds(row: Contrast, values: Doubles) -> Contrast:
    """Return a row with the mean of a number of several seeds, and the interval of Student's t; NaN ends of one."""
    # heavy, and every plan imports this room
    from scipy import stats

    mean, n = float(values.mean()), len(values)
    reach = float(stats.sem(values) * stats.t.ppf(0.975, n - 1)) if n > 1 else math.nan
    return replace(row, mean=mean, low=mean - reach, high=mean + reach, n=n)
