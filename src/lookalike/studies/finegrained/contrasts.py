"""What the fine-grained study contrasts: precision and scores of pairs of systems, and the colour of filters.

Intervals are of a paired bootstrap over query images, and over the seeds of networks together with them; those of
filters over seeds alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pandas as pd

from lookalike.exhibits.claims import claims_of
from lookalike.exhibits.contrasts import Contrast, Unit, over_folds
from lookalike.ranking import triplet_metrics
from lookalike.studies.finegrained.pictures import SHARE, START_SHARE, filters_of
from lookalike.studies.finegrained.study import FinegrainedStudy
from lookalike.studies.finegrained.systems import ALL, CONVNET, DEEP, PAPER, PER_TRIPLET, PRECISION, SCORE

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
    outcomes, triplets = study.table("outcomes"), study.table("triplets")
    trainings = {system: study.trainings(system) for system in study.systems()}
    given = triplet_metrics.Bootstrap(
        study.seed, study.score.k, study.score.resamples, study.table("manifest"), trainings
    )
    levels = triplet_metrics.intervals(outcomes, triplets, study.table("pairs"), given)
    differences = triplet_metrics.contrasts(outcomes, triplets, claimed_pairs(study), given)
    return contrasts_of(study, levels, differences)


def claimed_pairs(study: FinegrainedStudy) -> list[tuple[str, str]]:
    """Return the pairs of measured systems that claims are about, each once."""
    found: dict[frozenset[str], tuple[str, str]] = {}
    for part in (part for claim in claims_of(study.claim_rows) for part in claim.contrasts):
        first, second = ([own for name in names for own in study.role(name)] for names in (part.first, part.second))
        for pair in product(first, second):
            if study.measured.issuperset(pair):
                found.setdefault(frozenset(pair), pair)
    return list(found.values())


def contrasts_of(study: FinegrainedStudy, levels: pd.DataFrame, differences: pd.DataFrame) -> list[Contrast]:
    """Return contrasts of the levels and differences that a bootstrap gave."""
    names = dict(zip(triplet_metrics.metric_names(study.score.k), UNITS, strict=True))
    of_paper = study.printed[study.printed["paper"].eq(PAPER)].dropna(subset="value")
    in_print = of_paper.drop_duplicates(["method", "metric"]).set_index(["method", "metric"])["value"]

    def printed(system: str, metric: str) -> float:
        # the paper's score a triplet follows from its score
        level = in_print.get((system, SCORE if metric == PER_TRIPLET else metric), math.nan)
        return float(100 / PAPER_TRIPLETS * level if metric == PER_TRIPLET else level)

    rows = []
    for first, second, subset, metric, *numbers in differences.itertuples(index=False):
        name, is_all = names[metric], subset == triplet_metrics.ALL
        gap = printed(first, name) - printed(second, name) if is_all else math.nan
        row = Contrast(ALL, name if is_all else f"{name}, {subset} negatives", first, second, *numbers)
        rows.append(limited(study, replace(row, unit=UNITS[name], printed=gap)))
    columns = ["system", "metric", "value", "low", "high", "n_queries"]
    own = levels.loc[levels["subset"] == triplet_metrics.ALL, columns]
    for system, metric, mean, low, high, n in own.itertuples(index=False):
        name = names[metric]
        # counts of other triplets than print's do not stand beside its own
        beside = printed(system, name) if name == PRECISION else math.nan
        row = Contrast(ALL, name, system, "", mean, low, high, n=n, unit=LEVELS[name], printed=beside)
        rows.append(limited(study, row))
    return [*rows, *colours(study)]


def limited(study: FinegrainedStudy, row: Contrast) -> Contrast:
    """Return a row of query images with what limits the networks in it, and what its interval is over."""
    systems = [system for system in (row.first, row.second) if system]
    codes = [f"{system}:{limit}" for system in systems for limit in study.limits_of(system)]
    kind = "seeds and query images" if any(study.n_seeds.get(system, 1) > 1 for system in systems) else "query images"
    return replace(row, interval=kind, limits=";".join(codes), data=study.origin)


def colours(study: FinegrainedStudy) -> Iterator[Contrast]:
    """Share of colour of DeepRanking's filters, beside those that it starts from: of a classifier, and random ones.

    Filters of shallow paths are left out where half of their energy is their random start's. The others have to gain
    colour over that start, because two thirds of the energy of random filters is colour.
    """
    gaps: dict[tuple[str, str], list[float]] = {}
    for filters in map(filters_of, study.paths("filters")):
        is_deep = filters["path"] == CONVNET
        is_learned = filters.groupby("path")["like_start"].transform("median") < LEARNED
        gap = filters.loc[is_deep | is_learned, SHARE].mean() - filters.loc[is_deep, START_SHARE].mean()
        gaps.setdefault(("colour of filters", CONVNET), []).append(gap)
        if (shallow := is_learned & ~is_deep).any():
            gain = filters.loc[shallow, SHARE].mean() - filters.loc[shallow, START_SHARE].mean()
            gaps.setdefault(("colour of filters beyond their start", ""), []).append(gain)
    for (metric, second), values in gaps.items():
        row = limited(study, Contrast(ALL, metric, DEEP, second))
        yield replace(over_folds(row, 100 * pd.Series(values), n_train=1, n_test=0), interval="seeds")
