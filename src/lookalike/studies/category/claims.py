"""Rules that decide the papers' claims about Caltech-256 from the numbers of a study (JMLR 5.3 and 6, draft 5.2).

What did not converge, as in the papers, and what was not traced on a subset do not count beside other subsets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from lookalike.exhibits.printed import minutes_text, p_value, times_over
from lookalike.exhibits.verdicts import (
    AS_CLAIMED,
    FAILS,
    HOLDS,
    LEFT_OUT,
    MARGIN,
    NOT_AS_CLAIMED,
    NOT_TESTED,
    OPEN,
    Claim,
    Finding,
    Interval,
    of_parts,
    together,
    triplets_seen,
    verdict_of,
    within,
)
from lookalike.ranking.comparison import holm
from lookalike.studies.category.comparison import compared_with
from lookalike.studies.category.evidence import attempt, by_t, each, in_points, missing, subset_rule, t_test
from lookalike.studies.category.precision import K_MAX
from lookalike.studies.category.study import PRINTED_TABLE, CategoryStudy, Subset
from lookalike.studies.category.times import minutes_of, triplets_of
from lookalike.studies.category.training_claims import at_validation_stop, traced_schemes
from lookalike.studies.metrics import rows_in, select

OVERFITTED_TIMES = 5
"""A method overfits that gains this many times as much on its training images as on new ones."""


def oasis_minus(study: CategoryStudy, subset: Subset, method: str) -> tuple[dict[str, Any], list[Interval], str]:
    """OASIS minus a method: row of the comparison, intervals by t-test and bootstrap, and both in words."""
    row = compared_with(study, subset, method)
    if row is None:
        raise missing(study, subset, (method,), "comparison with OASIS")
    intervals = [(row[f"{of}_low"], row[f"{of}_high"]) for of in ("t", "bootstrap")]
    lows, highs = zip(*intervals, strict=True)
    told = f"{100 * row['difference']:+.1f} points [{100 * min(lows):+.1f}, {100 * max(highs):+.1f}]"
    return row, intervals, f"OASIS minus {study.title_of(method)} {told}"


@subset_rule
def oasis_is_better(study: CategoryStudy, subset: Subset, than: Sequence[str]) -> Finding:
    """Holds where OASIS has a higher mAP than each method: both 95% intervals lie above 0, and p is below 0.05."""

    def decide(method: str) -> Finding:
        row, intervals, told = oasis_minus(study, subset, method)
        small = FAILS if within(intervals, -MARGIN, MARGIN) else OPEN
        verdict = {"better": HOLDS, "worse": FAILS}.get(row["verdict"], small)
        # the verdict needs the p-value too, so it is part of what decides
        return Finding(verdict, f"{told}, p {p_value(row['p_holm'])}")

    return each(decide, than)


@subset_rule
def oasis_gains_within(
    study: CategoryStudy,
    subset: Subset,
    methods: Sequence[str],
    low: float,
    high: float = math.inf,
    *,
    and_projections: bool = False,
) -> Finding:
    """Holds where both 95% intervals of OASIS minus each method lie in the claim's range; fails where both miss it."""

    def decide(method: str) -> Finding:
        _, intervals, told = oasis_minus(study, subset, method)
        return Finding(verdict_of(within(intervals, low, high)), told)

    gains = [attempt(decide, method) for method in methods]
    schemes = traced_schemes(study, subset) if and_projections else []
    # curves along training keep no ranks to draw bootstraps from: the corrected t decides alone
    gains += [attempt(at_validation_stop, study, subset, "oasis", of, (low, high)) for of in schemes]
    return together(gains)


@subset_rule
def oasis_is_best_at_every_k(study: CategoryStudy, subset: Subset, than: Sequence[str]) -> Finding:
    """Holds where OASIS has the higher precision at every k, and on average over k by the corrected t-test."""
    return each(lambda method: _at_every_k(study, subset, method), than)


def _at_every_k(study: CategoryStudy, subset: Subset, method: str) -> Finding:
    lacking = missing(study, subset, (method,), "precision at k of two folds")
    oasis, other = (study.curves(subset, of, "p@k") for of in ("oasis", method))
    # it may have ended in some folds; a mean over these would be of the easier ones
    if oasis is None or other is None or (subset.id, method) in study.not_converged:
        raise lacking
    differences = (oasis - other).T.dropna(axis=0, how="all").dropna(axis=1)
    # at the size of the gallery all rankings have the same images
    last = int(max(oasis.index.max(), other.index.max()))
    differences = differences[[k for k in range(1, min(K_MAX, last - 1) + 1) if k in differences]]
    average = t_test(study, differences.mean(axis=1)) if differences.size else None
    if average is None:
        raise lacking
    tests = [test for k in differences if (test := t_test(study, differences[k]))]
    # OASIS is lower for sure at a k by the p-value that is adjusted over all k
    adjusted = holm([test.p for test in tests])
    lower = [float(p) for test, p in zip(tests, adjusted, strict=True) if test.mean <= 0]
    lower_for_sure = any(test.mean < 0 and p < 0.05 for test, p in zip(tests, adjusted, strict=True))
    where = f"at {len(tests) - len(lower)} of {len(tests)} values of k, on average by {in_points(average)}"
    # the k at which OASIS is lower are decided by their p-values
    where += f", p {p_value(min(lower))} where it is not" if lower else ""
    figures = f"OASIS above {study.title_of(method)} {where}"
    if average.high < 0 or lower_for_sure:
        return Finding(FAILS, figures)
    return Finding(HOLDS if not lower and average.low > 0 else OPEN, figures)


@subset_rule
def ranks_higher(study: CategoryStudy, subset: Subset, better: Sequence[str], worse: Sequence[str]) -> Finding:
    """Holds where the 95% interval of each difference in mAP, by the corrected t-test over folds, lies above 0."""
    pairs = [(first, second) for first in better for second in worse]
    return each(lambda pair: minus(study, subset, *pair), pairs)


@subset_rule
def is_near(study: CategoryStudy, subset: Subset, method: str, other: str, margin: float) -> Finding:
    """Holds where the 95% interval of the difference in mAP, by the corrected t-test, lies within a margin."""
    return minus(study, subset, method, other, (-margin, margin))


def minus(study: CategoryStudy, subset: Subset, first: str, second: str, bounds: Interval | None = None) -> Finding:
    """One method minus another in mAP, within bounds or, without them, above 0."""
    differences = study.values(subset, first) - study.values(subset, second)
    names = f"{study.title_of(first)} minus {study.title_of(second)}"
    return by_t(study, differences, names, missing(study, subset, (first, second), "mAP of two folds"), bounds)


def by_printed_numbers(study: CategoryStudy, claim: Claim) -> str:
    """What a paper's table of mAP says of a claim about differences, without intervals; "" of any other claim."""
    asked: dict[str, Any] = {"better": ["oasis"], "low": 0.0, "high": math.inf, **claim.parameters}
    if "margin" in asked:
        asked |= {"better": [asked["method"]], "methods": [asked["other"]]}
        asked |= {"low": -asked["margin"], "high": asked["margin"]}
    others = asked.get("than") or asked.get("worse") or asked.get("methods") or ()
    rules = (oasis_is_better, oasis_gains_within, ranks_higher, is_near)
    if claim.rule not in [one.__name__ for one in rules] or claim.paper not in PRINTED_TABLE:
        return ""
    printed = study.printed_in(PRINTED_TABLE[claim.paper], claim.paper)
    printed = printed[(printed["metric"] == "map") & printed["setting"].isin(claim.settings) & printed["value"].notna()]
    maps = {(row.setting, row.method): row.value / 100 for row in rows_in(printed)}
    pairs = product(claim.settings, asked["better"], others)
    gaps = [maps[of, one] - maps[of, other] for of, one, other in pairs if {(of, one), (of, other)} <= set(maps)]
    against = sum(not asked["low"] <= round(gap, 6) <= asked["high"] for gap in gaps)
    if not against:
        return AS_CLAIMED if gaps else ""
    return f"{NOT_AS_CLAIMED} (in {against} of {len(gaps)} comparisons)"


@subset_rule
def overfits(study: CategoryStudy, subset: Subset, method: str) -> Finding:
    """Holds where the gain over Euclidean is 5 times as large on training as on test images, and larger by t-test."""
    # over the Euclidean distance, which learns nothing
    on_training, on_test = (
        study.values(subset, method, metric) - study.values(subset, "euclidean", metric)
        for metric in ("train_map", "map")
    )
    lacking = missing(study, subset, (method, "euclidean"), "training and test mAP")
    found = by_t(study, on_training - on_test, "difference", lacking, (MARGIN, math.inf))
    train, test = (100 * float(gain.mean()) for gain in (on_training, on_test))
    verdict = found.verdict if (train > 0 and train >= OVERFITTED_TIMES * test) or found.verdict == OPEN else FAILS
    told = f"gain over Euclidean {train:+.1f} points on training and {test:+.1f} on test images"
    return Finding(verdict, f"{told}, {found.evidence}")


@subset_rule
def does_not_end(study: CategoryStudy, subset: Subset, method: str) -> Finding:
    """Holds where a method does not converge within the time limit of this study; the papers' was five days."""
    title, key = study.title_of(method), (subset.id, method)
    if key in study.not_converged:
        return Finding(HOLDS, f"{title}: {study.not_converged[key]}")
    if key in (times := minutes_of(study)):
        return Finding(FAILS, f"{title} took {minutes_text(times[key][0])}")
    raise missing(study, subset, (method,), "times")


@subset_rule
def takes_longest(study: CategoryStudy, subset: Subset, method: str, than: Sequence[str]) -> Finding:
    """Holds where a method takes more CPU time, for choosing and fitting, than each other one that ended."""
    seconds = {}
    for of in (method, *than):
        parts = [study.recorded(subset, of, f"cpu_seconds_{part}") for part in ("selection", "fit")]
        if n_folds := max(map(len, parts)):
            seconds[of] = float(sum(part.sum() for part in parts)) / n_folds
    ended = [of for of in than if of in seconds and (subset.id, of) not in study.not_converged]
    if method not in seconds or not ended:
        raise missing(study, subset, (method,), "times to hold against others")
    slowest, stopped = max(ended, key=seconds.__getitem__), (subset.id, method) in study.not_converged
    minutes = {of: minutes_text(seconds[of] / 60) for of in (method, slowest)}
    told = f"{study.title_of(method)} {minutes[method]}{' and more' if stopped else ''}"
    # a limit of its own that is shorter than what others took decides nothing
    verdict = HOLDS if seconds[method] > seconds[slowest] else LEFT_OUT if stopped else FAILS
    return Finding(verdict, f"{told}, {study.title_of(slowest)} {minutes[slowest]}")


def takes_longer(
    study: CategoryStudy, methods: Sequence[str], than: str, times: float, *, on_average: bool = False
) -> Finding:
    """Holds where the mean CPU time is the claimed multiple of the other method's, in total and by the triplet seen."""
    minutes, triplets = minutes_of(study), triplets_of(study)
    known = {method for _, method in (*minutes, *study.not_converged)}
    # of several implementations those count that were run
    run = [method for method in methods if method in known] or methods
    ratios: list[list[float]] = []

    def decide(subset: Subset, method: str) -> Finding:
        slow, fast = (minutes.get((subset.id, of), (math.nan, math.nan))[0] for of in (method, than))
        if not (slow > 0 and fast > 0):
            raise missing(study, subset, (method, than), "times")
        seen = [triplets.get((subset.id, of), math.nan) for of in (method, than)]
        if idle := [study.title_of(of) for of, n in zip((method, than), seen, strict=True) if n == 0]:
            return Finding(OPEN, f"validation lets {' and '.join(idle)} learn from no triplet")
        by_triplet = slow / fast * seen[1] / seen[0]
        # a method that takes all images in every iteration has no time by the triplet
        ratios.append([slow / fast] if math.isnan(by_triplet) else [slow / fast, by_triplet])
        told = f"{study.title_of(method)} takes {times_over(slow / fast)} the time of {study.title_of(than)}"
        told += "" if math.isnan(by_triplet) else f", {times_over(by_triplet)} by the triplet"
        counts = [triplets_seen(study.title_of(of), n, 60 * time)
                  for of, n, time in zip((method, than), seen, (slow, fast), strict=True)]  # fmt: skip
        told += f" (seen: {', '.join(counts)})" if triplets else ""
        return Finding(HOLDS if on_average else _at_least(ratios[-1], times), told)

    parts = {subset.title: each(lambda method, of=subset: decide(of, method), run) for subset in study.subsets}
    found = of_parts(parts)
    if not on_average or found.verdict != HOLDS:
        return found
    means = [math.exp(sum(map(math.log, of)) / len(of)) for of in zip(*ratios, strict=False)]
    told = f"; geometric mean {' and '.join(map(times_over, means))}" if len(ratios) > 1 else ""
    return Finding(_at_least(means, times), found.evidence + told)


def _at_least(ratios: Sequence[float], times: float) -> str:
    """Holds where all ratios are at least a factor, and where this is 1 more than 1; fails where none is."""
    met = [ratio >= times and ratio != 1 for ratio in ratios]
    return HOLDS if all(met) else OPEN if any(met) else FAILS


@subset_rule
def selection_hardly_matters(study: CategoryStudy, subset: Subset, method: str) -> Finding:
    """Holds where validation mAP varies less over the candidates of a hyper-parameter than over the folds."""
    if not study.has("selections"):
        return Finding(OPEN, "no validation scores of the candidates are gathered here")
    rows = select(study.own(study.table("selections")), subset=subset.id, method=method)
    named = {"representation", "subset", "method", "fold", "step", "map", "loss_rate"}
    candidate = [column for column in rows.columns if column not in named and rows[column].nunique() > 1]
    if len(candidate) != 1 or rows["fold"].nunique() < 2:
        return Finding(NOT_TESTED, f"{study.title_of(method)} was not run with several candidates on several folds")
    scores = rows.pivot_table(index="fold", columns=candidate[0], values="map", aggfunc="max")
    of_candidates, of_folds = float(scores.mean(axis=0).std()), float(scores.mean(axis=1).std())
    told = f"{100 * of_candidates:.2f} over {scores.shape[1]} candidates, {100 * of_folds:.2f} over {len(scores)} folds"
    return Finding(HOLDS if of_candidates < of_folds else FAILS, f"standard deviation in points: {told}")


@subset_rule
def symmetry_index_is(
    study: CategoryStudy, subset: Subset, low: float = -math.inf, near_print: float | None = None
) -> Finding:
    """Holds where the mean symmetry index of W after training is at least 0.9, or within 0.02 of the printed one."""
    high = math.inf
    if near_print is not None:
        level = study.printed_number("symmetry_index")
        low, high = level - near_print, level + near_print
    index = study.recorded(subset, "oasis", "symmetry_index").astype(np.float64)
    if index.empty:
        return Finding(OPEN, "no symmetry index was recorded")
    return Finding(HOLDS if low <= index.mean() <= high else FAILS, f"symmetry index {index.mean():.3f}")
