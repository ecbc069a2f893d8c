"""Rules that decide the papers' claims about Caltech-256 from the numbers of a study (JMLR 5.3 and 6, draft 5.2).

A claim about several subsets holds only if it holds on all of them, fails as soon as it fails on one, and is open
otherwise; what did not converge, as in the papers, and what is not traced on a subset are left out. Two methods are
held against each other by the intervals of `lookalike.ranking.comparison`. Evidence marked ``(t)`` is decided by the
corrected resampled t-test over folds alone; only OASIS against a method has a bootstrap beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lookalike.exhibits.printed import p_value, significant, times_over
from lookalike.exhibits.verdicts import (
    FAILS,
    HOLDS,
    LEFT_OUT,
    MARGIN,
    OPEN,
    Finding,
    Interval,
    Rule,
    of_parts,
    rule,
    superior,
    together,
    verdict_of,
    within,
)
from lookalike.ranking.comparison import CorrectedT, corrected_t_test, holm
from lookalike.studies.category.comparison import compared_with
from lookalike.studies.category.precision import JMLR, K_MAX
from lookalike.studies.category.study import CategoryStudy, Subset
from lookalike.studies.category.times import minutes_of
from lookalike.studies.metrics import select

SAME = 0.001
"""Up to this two numbers of one fold are the same but for ties and rounding."""
PRINTED_TRIPLETS = 2_800_000
"""Triplets of 10 classes as JMLR's Figure 5 counts them."""
OVERFITTED_TIMES = 5
"""A method overfits that gains this many times as much on its training images as on new ones."""
SLOW_DECLINE = 0.1
"""A decline is slow that has cost at most this share of the peak when the trace ends."""
SATURATED = 0.95
"""A curve has saturated where it has made this share of its rise."""
NOT_TRACED = "the curves of the schemes of projection were not traced"
TWO_FOLDS = "fewer than two folds have both curves"
NO_CURVE = Finding(LEFT_OUT, "no learning curve of OASIS")
NO_RANKERS = Finding(LEFT_OUT, "no rankers were trained in parallel")


def per_subset(decide: Rule) -> Rule:
    """Make a rule of what decides one subset: one finding of all subsets, each under its title."""

    @wraps(decide)
    def of_all(study: CategoryStudy, **parameters: Any) -> Finding:
        return of_parts({subset.title: decide(study, subset, **parameters) for subset in study.subsets})

    return of_all


def of_pairs(study: CategoryStudy, methods: Iterable[str], decide: Callable[[Subset, str], Finding]) -> Finding:
    """One finding of all subsets and methods; what did not converge on a subset is left out, as in the papers."""

    def of_pair(subset: Subset, method: str) -> Finding:
        # it may have ended in some folds; a mean over these would be of the easier ones
        failed = (subset.id, method) in study.not_converged
        return missing(study, subset, (method,), "") if failed else decide(subset, method)

    parts = {subset.title: together([of_pair(subset, method) for method in methods]) for subset in study.subsets}
    return of_parts(parts)


def missing(study: CategoryStudy, subset: Subset, methods: Sequence[str], what: str) -> Finding:
    """Why methods cannot be decided on a subset: one did not converge, was not run, or lacks `what`."""
    for method in methods:
        if (subset.id, method) in study.not_converged:
            return Finding(LEFT_OUT, f"{study.title_of(method)} did not converge")
    not_run = [study.title_of(method) for method in methods if method not in study.run]
    if not_run:
        return Finding(OPEN, f"{' and '.join(not_run)} not run")
    return Finding(OPEN, f"{' and '.join(map(study.title_of, methods))}: no {what}")


def printed(study: CategoryStudy, metric: str) -> float:
    """Return a number of OASIS that the running text of JMLR prints; NaN where it is not at hand."""
    text = study.printed_in("text", JMLR)
    rows = text.loc[(text["metric"] == metric) & (text["method"] == "oasis"), "value"]
    return float(rows.iloc[0]) if len(rows) else math.nan


def by_t(study: CategoryStudy, differences: pd.Series, names: str, bounds: Interval | None = None) -> Finding | None:
    """What an interval of the corrected t says: within bounds or, without them, above 0; None without two folds."""
    test = t_test(study, differences)
    if test is None:
        return None
    interval = [(test.low, test.high)]
    verdict = superior(interval) if bounds is None else verdict_of(within(interval, *bounds))
    numbers = {f"{names}, {name}": getattr(test, name) for name in ("mean", "low", "high")}
    return Finding(verdict, f"{names} {in_points(test)}", numbers)


def t_test(study: CategoryStudy, differences: pd.Series) -> CorrectedT | None:
    """Corrected t-test over the folds that have a difference; None with fewer than two."""
    known = differences.dropna()
    return t_of(study, known) if len(known) > 1 else None


def t_of(study: CategoryStudy, differences: pd.Series) -> CorrectedT:
    """Corrected t-test over folds."""
    splits = study.settings["splits"]
    return corrected_t_test(differences.to_numpy(dtype=np.float64), splits["train"], splits["test"])


def in_points(test: CorrectedT) -> str:
    """``+4.0 [+2.1, +5.9] (t)``: a mean difference and its 95% interval by the corrected t-test alone, in points."""
    return f"{100 * test.mean:+.1f} [{100 * test.low:+.1f}, {100 * test.high:+.1f}] (t)"


def mean_curve(study: CategoryStudy, subset: Subset, metric: str = "traced_map") -> pd.Series | None:
    """Mean over folds of a traced number of OASIS, by step; steps that not all folds have are left out."""
    folds = study.curves(subset, "oasis", metric)
    mean = None if folds is None else folds.dropna().mean(axis=1)
    return mean if mean is not None and len(mean) > 1 else None


def at_step(curves: pd.DataFrame, step: int) -> pd.Series:
    """Values of all folds at one step."""
    values: pd.Series = curves[curves.index == step].iloc[0]
    return values


# what OASIS gains over a method, by both intervals


def oasis_minus(
    study: CategoryStudy,
    subset: Subset,
    method: str,
    verdict: Callable[[dict[str, Any], list[Interval]], str],
    *,
    p_too: bool = False,
) -> Finding:
    """OASIS minus a method by the comparison: ``verdict(row, its two intervals)``, by the t-test and by the bootstrap.

    The evidence is the difference in points, with the range that holds both intervals, and with its p-value if asked.
    """
    row = compared_with(study, subset, method)
    if row is None:
        return missing(study, subset, (method,), "comparison with OASIS")
    intervals = [(row[f"{of}_low"], row[f"{of}_high"]) for of in ("t", "bootstrap")]
    lows, highs = zip(*intervals, strict=True)
    told = f"{100 * row['difference']:+.1f} [{100 * min(lows):+.1f}, {100 * max(highs):+.1f}]"
    p = f", p {p_value(row['p_holm'])}" if p_too else ""
    numbers = {f"oasis minus {method}, {name}": float(row[name]) for name in ("difference", "t_low", "t_high")}
    return Finding(verdict(row, intervals), f"OASIS minus {study.title_of(method)} {told}{p}", numbers)


@rule
def oasis_is_better(study: CategoryStudy, than: Sequence[str]) -> Finding:
    """OASIS has a higher mAP than each method, by the verdict of the comparison.

    It holds where that is "better", fails where it is "worse" or where both intervals lie within `MARGIN`.
    """

    def verdict(row: dict[str, Any], intervals: Sequence[Interval]) -> str:
        small = FAILS if within(intervals, -MARGIN, MARGIN) else OPEN
        return {"better": HOLDS, "worse": FAILS}.get(row["verdict"], small)

    # the verdict needs the p-value too, so it is part of what decides
    return of_pairs(study, than, lambda subset, method: oasis_minus(study, subset, method, verdict, p_too=True))


@rule
@per_subset
def oasis_gains_within(
    study: CategoryStudy,
    subset: Subset,
    methods: Sequence[str],
    low: float,
    high: float = math.inf,
    *,
    and_projections: bool = False,
) -> Finding:
    """OASIS minus each method in mAP lies within a range: both intervals; fails where both lie beyond it on one side.

    Ways of projecting onto positive semidefinite W, if asked for, are decided likewise where their curves are traced,
    by the test mAP where validation stops OASIS and by the corrected t alone.
    """

    def verdict(row: dict[str, Any], intervals: Sequence[Interval]) -> str:
        return verdict_of(within(intervals, low, high))

    findings = [oasis_minus(study, subset, method, verdict) for method in methods]
    schemes = traced_schemes(study, subset) if and_projections else []
    findings += [at_validation_stop(study, subset, "oasis", of, (low, high), LEFT_OUT) for of in schemes]
    return together(findings)


@rule
def oasis_is_best_at_every_k(study: CategoryStudy, than: Sequence[str]) -> Finding:
    """OASIS has the highest precision at top k for every k.

    Per method, over the folds that both have: it holds where the mean difference is positive at every k and the
    interval (corrected t) of its average over k lies above 0; it fails where that interval lies below 0, or where OASIS
    is lower at some k with a p-value below 0.05, adjusted by Holm's method over all k.
    """
    return of_pairs(study, than, lambda *of: _at_every_k(study, *of))


def _at_every_k(study: CategoryStudy, subset: Subset, method: str) -> Finding:
    curves = [study.curves(subset, of, "p@k") for of in ("oasis", method)]
    last = max((int(of.index.max()) for of in curves if of is not None), default=0)
    lacking = missing(study, subset, (method,), "precision at k of two folds")
    if curves[0] is None or curves[1] is None:
        return lacking
    differences = (curves[0] - curves[1]).T.dropna(axis=0, how="all").dropna(axis=1)
    # at the size of the gallery all rankings have the same images
    differences = differences[[k for k in range(1, min(K_MAX, last - 1) + 1) if k in differences]]
    average = t_test(study, differences.mean(axis=1)) if differences.size else None
    if average is None:
        return lacking
    tests = [t_of(study, differences[k]) for k in differences]
    adjusted = holm([test.p for test in tests])
    lower = [float(p) for test, p in zip(tests, adjusted, strict=True) if test.mean <= 0]
    lower_for_sure = any(test.mean < 0 and p < 0.05 for test, p in zip(tests, adjusted, strict=True))
    where = f"at {len(tests) - len(lower)} of {len(tests)} k, on average {in_points(average)}"
    # the k at which OASIS is lower are decided by their p-values
    where += f", p {p_value(min(lower))} where it is not" if lower else ""
    figures = f"OASIS above {study.title_of(method)} {where}"
    if average.high < 0 or lower_for_sure:
        return Finding(FAILS, figures)
    return Finding(HOLDS if not lower and average.low > 0 else OPEN, figures)


# one method over another, over folds


@rule
@per_subset
def ranks_higher(study: CategoryStudy, subset: Subset, better: Sequence[str], worse: Sequence[str]) -> Finding:
    """Each of some methods has a higher mAP than each of others, in the differences of folds (corrected t).

    Holds where the interval lies above 0, fails where it lies below 0 or within `MARGIN`.
    """
    pairs = [(first, second) for first in better for second in worse]
    return together([minus(study, subset, *pair) for pair in pairs])


@rule
@per_subset
def is_near(study: CategoryStudy, subset: Subset, method: str, other: str, margin: float) -> Finding:
    """A method has about the mAP of another: the interval of their difference (corrected t) lies within a margin."""
    return minus(study, subset, method, other, (-margin, margin))


def minus(study: CategoryStudy, subset: Subset, first: str, second: str, bounds: Interval | None = None) -> Finding:
    """One method minus another in mAP, within bounds or, without them, above 0."""
    differences = study.values(subset, first) - study.values(subset, second)
    names = f"{study.title_of(first)} minus {study.title_of(second)}"
    return by_t(study, differences, names, bounds) or missing(study, subset, (first, second), "mAP of two folds")


@rule
@per_subset
def overfits(study: CategoryStudy, subset: Subset, method: str) -> Finding:
    """A method fits its training images much better than new ones, by two conditions.

    Its training minus test mAP, less the same of the Euclidean distance, which learns nothing: over folds (corrected t)
    the interval lies above `MARGIN`. And over the Euclidean distance it gains on training images at least
    `OVERFITTED_TIMES` times what it gains on test images. Fails where that interval lies below `MARGIN`, or where it
    gains less.
    """
    gains = [
        study.values(subset, method, metric) - study.values(subset, "euclidean", metric)
        for metric in ("train_map", "map")
    ]
    found = by_t(study, gains[0] - gains[1], "gap less Euclidean's", (MARGIN, math.inf))
    if found is None:
        return missing(study, subset, (method, "euclidean"), "training and test mAP")
    train, test = (100 * float(gain.mean()) for gain in gains)
    verdict = found.verdict if (train > 0 and train >= OVERFITTED_TIMES * test) or found.verdict == OPEN else FAILS
    told = f"gains over Euclidean {train:+.1f} on training and {test:+.1f} on test images"
    return Finding(verdict, f"{found.evidence}, {told}", found.numbers)


# time


@rule
@per_subset
def does_not_end(study: CategoryStudy, subset: Subset, method: str) -> Finding:
    """A method does not converge within the time limit (the papers': five days; here: that of this study)."""
    title, key = study.title_of(method), (subset.id, method)
    if key in study.not_converged:
        return Finding(HOLDS, f"{title}: {study.not_converged[key]}")
    if key in (times := minutes_of(study)):
        return Finding(FAILS, f"{title} took {significant(times[key][0])} minutes")
    return missing(study, subset, (method,), "times")


@rule
def takes_longer(
    study: CategoryStudy, methods: Sequence[str], than: str, times: float, *, on_average: bool = False
) -> Finding:
    """The mean CPU time of each method over that of another is at least a factor, and where this is 1 more than 1.

    With `on_average` the geometric mean over subsets decides. Of several implementations those count that were run.
    """
    minutes = minutes_of(study)
    known = {method for _, method in (*minutes, *study.not_converged)}
    ratios: list[float] = []

    def decide(subset: Subset, method: str) -> Finding:
        slow, fast = (minutes.get((subset.id, of), (math.nan, math.nan))[0] for of in (method, than))
        if not (slow > 0 and fast > 0):
            return missing(study, subset, (method, than), "times")
        ratios.append(slow / fast)
        told = f"{study.title_of(method)} {times_over(ratios[-1])} the time of {study.title_of(than)}"
        return Finding(HOLDS if on_average or (ratios[-1] >= times and ratios[-1] != 1) else FAILS, told)

    found = of_pairs(study, [method for method in methods if method in known] or methods, decide)
    if not on_average or found.verdict != HOLDS:
        return found
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    told = f"; geometric mean {times_over(mean)}" if len(ratios) > 1 else ""
    return Finding(HOLDS if mean >= times else FAILS, found.evidence + told, {"ratio": mean})


# curves of OASIS along training


class Saturation(NamedTuple):
    """Where the mean test curve of OASIS saturates."""

    step: int | None
    """First step at which the curve has made `SATURATED` of its rise so far; None where it never rises."""
    rising: bool
    """Whether the peak is the last traced step: then it saturates at this step or later."""
    last: int
    """The last traced step."""


def saturation_of(study: CategoryStudy, subset: Subset) -> Saturation | None:
    """Where the test mAP of OASIS saturates; None untraced."""
    curve = mean_curve(study, subset)
    if curve is None:
        return None
    start, peak = float(curve.iloc[0]), float(curve.max())
    reached = curve.index[int(np.argmax(curve.to_numpy() >= start + SATURATED * (peak - start)))]
    step = int(reached) if peak > start else None
    return Saturation(step, int(curve.argmax()) == len(curve) - 1, int(curve.index[-1]))


@rule
@per_subset
def saturates_early(study: CategoryStudy, subset: Subset, times: float, *, of_all_triplets: bool = False) -> Finding:
    """The test mAP of OASIS saturates about as early in training as in print, or earlier.

    The mean test curve over folds has made 95% of its rise from the start to its peak within so many times the
    printed 35,000 steps, or within so many times the printed share of all triplets, 35,000 of 2.8 million; of c classes
    with n training images each JMLR counts cn (n - 1) (c - 1)n / 2. Fails where it is later, or where there is no rise.
    Open where the peak is the last traced step: a longer trace could only saturate later.
    """
    in_print = printed(study, "var10_saturation_steps")
    traced = saturation_of(study, subset)
    if traced is None:
        return NO_CURVE
    if traced.step is None:
        return Finding(FAILS, "test mAP never rises above its start")
    n_train = study.settings["splits"]["train"]
    n_images = subset.n_classes * n_train
    n_triplets = n_images * (n_train - 1) * (n_images - n_train) // 2 if of_all_triplets else 1
    if n_triplets <= 0:
        return Finding(OPEN, "the number of classes is not known")
    level = in_print / (PRINTED_TRIPLETS if of_all_triplets else 1)
    told = f"saturated at step {traced.step:,}, {in_print:,.0f} in print"
    if of_all_triplets:
        share = f"{100 * traced.step / n_triplets:.2g}%, {100 * level:.3g}% in print"
        told = f"saturated after {traced.step:,} of {n_triplets:,} triplets ({share})"
    soon = OPEN if traced.rising else HOLDS
    verdict = soon if traced.step / n_triplets <= times * level else FAILS
    rising = f", still rising at the last traced step, {traced.last:,}" if traced.rising else ""
    return Finding(verdict, told + rising, {"step": traced.step})


@rule
def more_classes_saturate_later(study: CategoryStudy) -> Finding:
    """Test mAP saturates later on the subset with the most classes than on each that has fewer, at equal C.

    By the steps of `saturates_early`; the curves are all traced at the same C, where the draft trained the largest
    subset with a smaller one. Open where a curve with fewer classes still rises at its end.
    """
    traced = {subset: of for subset in study.subsets if (of := saturation_of(study, subset)) and of.step}
    steps = {subset.id: float(of.step or 0) for subset, of in traced.items()}
    found = _most_against_fewer(study, steps, "saturated at step {:,.0f}", lambda most, fewer: most > fewer)
    if found.verdict == OPEN:
        return found
    largest = max(subset.n_classes for subset in traced)
    rising = [subset.title for subset, of in traced.items() if of.rising and subset.n_classes < largest]
    told = f"; still rising at the last traced step: {', '.join(rising)}" if rising else ""
    C = f"at equal C, {study.settings['traced_aggressiveness']:g}"
    return Finding(OPEN if rising and found.verdict == HOLDS else found.verdict, f"{C}: {found.evidence}{told}")


@rule
def more_classes_take_smaller_aggressiveness(study: CategoryStudy) -> Finding:
    """Validation chooses a smaller aggressiveness on the subset with the most classes than on each that has fewer.

    Medians over folds of what was chosen for OASIS.
    """
    chosen = {subset.id: study.recorded(subset, "oasis", "aggressiveness").median() for subset in study.subsets}
    known = {subset: float(median) for subset, median in chosen.items() if not math.isnan(median)}
    return _most_against_fewer(study, known, "median C {:g}", lambda most, fewer: most < fewer)


def _most_against_fewer(
    study: CategoryStudy, values: dict[str, float], form: str, holds: Callable[[float, float], bool]
) -> Finding:
    """A value of the subset with the most classes against that of each subset with fewer."""
    known = [subset for subset in study.subsets if subset.id in values]
    most = max(known, key=lambda subset: subset.n_classes, default=None)
    fewer = [subset for subset in known if most is not None and subset.n_classes < most.n_classes]
    if most is None or not fewer:
        return Finding(OPEN, "there are no two subsets of different size to compare")
    told = "; ".join(f"{subset.title}: {form.format(values[subset.id])}" for subset in (*fewer, most))
    return Finding(HOLDS if all(holds(values[most.id], values[of.id]) for of in fewer) else FAILS, told)


@rule
@per_subset
def declines_slowly(study: CategoryStudy, subset: Subset) -> Finding:
    """After its peak, the test mAP of OASIS declines slowly.

    At the last traced step the mean test curve has lost at most `SLOW_DECLINE` of its peak. Open where the peak is the
    last step: the trace ends before a decline.
    """
    curve = mean_curve(study, subset)
    if curve is None:
        return NO_CURVE
    peak, last = int(curve.index[int(curve.argmax())]), int(curve.index[-1])
    if peak == last:
        return Finding(OPEN, f"still rising at the last traced step, {last:,}")
    lost = 1 - float(curve.iloc[-1] / curve.max())
    told = f"peak {100 * curve.max():.1f} at step {peak:,}, {100 * lost:.1f}% of it lost by step {last:,}"
    return Finding(HOLDS if lost <= SLOW_DECLINE else FAILS, told, {"lost": lost})


@rule
@per_subset
def validation_stop_generalizes(study: CategoryStudy, subset: Subset) -> Finding:
    """Stopping where held-out images say so is about as precise as the best stop on the test images would be.

    Test mAP of OASIS as chosen by validation minus the peak of the fold's traced test curve, over folds (corrected t):
    holds where the interval lies above -2 `MARGIN`, fails where it lies below.
    """
    curves = study.curves(subset, "oasis")
    if curves is None:
        return NO_CURVE
    differences = study.values(subset, "oasis") - curves.max()
    found = by_t(study, differences, "as chosen minus the peak of the test curve", (-2 * MARGIN, math.inf))
    return found or missing(study, subset, ("oasis",), "mAP of two folds")


@rule
@per_subset
def identity_is_euclidean(study: CategoryStudy, subset: Subset) -> Finding:
    """OASIS at step 0 has the mAP of the Euclidean distance: within `SAME` in every fold."""
    curves = study.curves(subset, "oasis")
    if curves is None or 0 not in curves.index:
        return NO_CURVE
    differences = (at_step(curves, 0) - study.values(subset, "euclidean")).dropna().abs()
    if differences.empty:
        return missing(study, subset, ("euclidean",), "mAP")
    largest = float(differences.max())
    return Finding(HOLDS if largest <= SAME else FAILS, f"largest difference of a fold {100 * largest:.2f} points")


# what is learned besides: selection, rankers, mistakes, symmetry


@rule
@per_subset
def selection_hardly_matters(study: CategoryStudy, subset: Subset, method: str) -> Finding:
    """The choice of its hyper-parameter hardly changes a method's validation mAP.

    Holds where the variance over the candidates (of their means over folds) is smaller than the variance over folds (of
    their means over candidates). Needs the validation scores of every candidate.
    """
    if not study.has("selections"):
        return Finding(OPEN, "no validation scores of the candidates are gathered here")
    rows = select(study.own(study.table("selections")), subset=subset.id, method=method)
    named = {"representation", "subset", "method", "fold", "step", "map", "loss_rate"}
    candidate = [column for column in rows.columns if column not in named and rows[column].nunique() > 1]
    if len(candidate) != 1 or rows["fold"].nunique() < 2:
        return Finding(OPEN, f"{study.title_of(method)} was not run with several candidates on several folds")
    scores = rows.pivot_table(index="fold", columns=candidate[0], values="map", aggfunc="max")
    of_candidates, of_folds = float(scores.mean(axis=0).std()), float(scores.mean(axis=1).std())
    told = f"{100 * of_candidates:.2f} over {scores.shape[1]} candidates, {100 * of_folds:.2f} over {len(scores)} folds"
    return Finding(HOLDS if of_candidates < of_folds else FAILS, f"standard deviation {told}")


@rule
@per_subset
def averages_beat_single_rankers(study: CategoryStudy, subset: Subset) -> Finding:
    """The average of several rankers has a higher test mAP than a single ranker after the same number of steps.

    Mean over the traced steps (the untrained start not counted) of the average minus the mean of the single rankers,
    over folds (corrected t): holds where the interval lies above 0, fails where it lies below 0 or within `MARGIN`.
    """
    rows, averages = rankers_of(study, subset)
    means = rows.pivot_table(index="fold", columns="series", values="value")
    found = [(of, by_t(study, means[of] - means["single"], f"{of} minus single")) for of in averages]
    findings = [one or Finding(OPEN, f"{of}: no folds to compare") for of, one in found]
    return together(findings) if len(rows) else NO_RANKERS


@rule
@per_subset
def averages_need_fewer_steps(study: CategoryStudy, subset: Subset) -> Finding:
    """An average of rankers reaches what single ones reach at best, after fewer steps of each.

    In the mean curves over folds: the first step at which the average is at least at the peak of the mean single ranker
    is before the step of that peak. Fails where the average comes later or never.
    """
    rows, averages = rankers_of(study, subset)
    if rows.empty:
        return NO_RANKERS
    curves = rows.groupby(["series", "x"])["value"].mean()
    peak = int(curves.loc["single"].idxmax())
    findings = []
    for series in averages:
        reached = curves.loc[series][curves.loc[series] >= curves.loc["single"].max()].index
        when = f"at step {int(reached[0]):,}" if len(reached) else "never"
        findings.append(Finding(HOLDS if len(reached) and reached[0] < peak else FAILS, f"{series} there {when}"))
    found = together(findings)
    return Finding(found.verdict, f"single at its best at step {peak:,}, {found.evidence}")


@rule
@per_subset
def single_rankers_agree(study: CategoryStudy, subset: Subset) -> Finding:
    """Runs with other triplets come to about the same test mAP.

    At the last step the standard deviation over single rankers, averaged over folds, is at most `MARGIN`.
    """
    rows, _ = rankers_of(study, subset)
    if rows.empty:
        return NO_RANKERS
    last = rows[(rows["series"] == "single") & (rows["x"] == rows["x"].max())]
    spread = float(last.groupby("fold")["value"].std().mean())
    if math.isnan(spread):
        return Finding(OPEN, "a single ranker has no spread")
    told = f"standard deviation {100 * spread:.2f} points over {last['method'].nunique()} rankers"
    return Finding(HOLDS if spread <= MARGIN else FAILS, told)


def rankers_of(study: CategoryStudy, subset: Subset) -> tuple[pd.DataFrame, list[str]]:
    """Rankers past their start, ``series`` being ``single`` or an average; and the averages, of few before of many."""
    rows = select(study.numbers, subset=subset.id, metric="ranker_map")
    rows = rows[rows["x"] > 0]
    rows = rows.assign(series=rows["method"].where(~rows["method"].str.startswith("ranker "), "single"))
    return rows, sorted(set(rows["series"]) - {"single"}, key=lambda name: (len(name), name))


@rule
@per_subset
def mistake_bound_holds(study: CategoryStudy, subset: Subset) -> Finding:
    """OASIS makes no more mistakes than the bound of Theorem 1, for every matrix compared with and at every step."""
    mistakes = study.curves(subset, "oasis", "mistakes")
    limits = select(study.numbers, subset=subset.id, metric="bound")
    if mistakes is None:
        return Finding(LEFT_OUT, "mistakes were not counted")
    made = [mistakes.loc[x, fold] for x, fold in zip(limits["x"], limits["fold"], strict=True)]
    broken = int((np.asarray(made) > limits["value"]).sum())
    tightest = limits[limits["x"] == limits["x"].max()].groupby("method")["value"].mean().sort_values(kind="stable")
    told = f"{mistakes.iloc[-1].mean():,.0f} mistakes after {int(mistakes.index[-1]):,} steps"
    bound = f"bound {tightest.iloc[0]:,.0f} ({tightest.index[0]})"
    return Finding(FAILS if broken else HOLDS, f"{told}, {bound}; broken at {broken} of {len(limits)} points")


@rule
@per_subset
def symmetry_index_is(
    study: CategoryStudy, subset: Subset, low: float = -math.inf, near_print: float | None = None
) -> Finding:
    """The mean symmetry index of W of OASIS after training is at least a number, or so near to the printed one."""
    high = math.inf
    if near_print is not None:
        level = printed(study, "symmetry_index")
        low, high = level - near_print, level + near_print

    index = study.recorded(subset, "oasis", "symmetry_index").astype(np.float64)
    if index.empty:
        return Finding(OPEN, "no symmetry index was recorded")
    verdict = HOLDS if low <= index.mean() <= high else FAILS
    return Finding(verdict, f"index {index.mean():.3f}", {"index": float(index.mean())})


@rule
@per_subset
def symmetry_index_decreases_from_one(study: CategoryStudy, subset: Subset) -> Finding:
    """The symmetry index starts at 1 and decreases along training.

    In the mean curve of OASIS over folds it starts within 0.001 of 1, ends lower, and is nowhere more than 0.005 above
    its lowest value so far.
    """
    curve = mean_curve(study, subset, "symmetry_index")
    if curve is None:
        return Finding(LEFT_OUT, "the symmetry index was not traced")
    rise = float((curve - curve.cummin()).max())
    falls = abs(curve.iloc[0] - 1) <= 0.001 and curve.iloc[-1] < curve.iloc[0] and not rise > 0.005
    ends = f"from {curve.iloc[0]:.3f} to {curve.iloc[-1]:.3f} at step {int(curve.index[-1]):,}"
    return Finding(HOLDS if falls else FAILS, f"{ends}, {rise:.3f} above its lowest value at most")


# projections onto positive semidefinite W (JMLR section 6.2)


def schemes_during(study: CategoryStudy) -> tuple[str, str]:
    """The schemes that project most and least often during training; "" where there are not two."""
    intervals = study.settings["projection_intervals"]
    during = sorted((intervals[of], of) for of in study.settings["projected"] if intervals.get(of) is not None)
    return (during[0][1], during[-1][1]) if len(during) > 1 else ("", "")


def traced_schemes(study: CategoryStudy, subset: Subset) -> list[str]:
    """The schemes of projection whose test curves a subset has."""
    return [of for of in study.settings["projected"] if study.curves(subset, of) is not None]


def at_validation_stop(
    study: CategoryStudy, subset: Subset, first: str, second: str, bounds: Interval | None = None, without: str = OPEN
) -> Finding:
    """Test mAP of a traced method minus that of another, both as OASIS's validation stop would end them.

    Both are read at the step nearest to the mean stop over folds at which both were traced; no test image chose it.
    """
    curves = [study.curves(subset, method) for method in (first, second)]
    stops = study.stops(subset)
    if stops.empty:
        return Finding(without, "no validation stop of OASIS at the traced C is known")
    if curves[0] is None or curves[1] is None:
        return Finding(without, NOT_TRACED)
    steps = curves[0].index.intersection(curves[1].index).to_numpy(dtype=np.int64)
    if not len(steps):
        return Finding(without, "the curves have no traced step in common")
    nearest = int(steps[np.abs(steps - stops.mean()).argmin()])
    names = f"{study.title_of(first)} minus {study.title_of(second)}"
    found = by_t(study, at_step(curves[0], nearest) - at_step(curves[1], nearest), names, bounds)
    if found is None:
        return Finding(without, TWO_FOLDS)
    where = f"at step {nearest:,} (validation stop of OASIS: {stops.mean():,.0f})"
    return Finding(found.verdict, f"{found.evidence} {where}", found.numbers)


def to_common_end(study: CategoryStudy, subset: Subset, *methods: str) -> list[pd.DataFrame]:
    """Test curves on their own steps, up to the smallest of their last steps; none where one was not traced.

    On common steps alone, a peak between them would be lost.
    """
    curves = [found for method in methods if (found := study.curves(subset, method)) is not None]
    if len(curves) < len(methods):
        return []
    end = min(of.index.max() for of in curves)
    return [of[of.index <= end] for of in curves]


def lost_shares(curves: pd.DataFrame) -> pd.Series:
    """Share of its peak that each fold's curve has lost at its end."""
    lost: pd.Series = 1 - curves.ffill().iloc[-1] / curves.max()
    return lost


def superior_curve(
    study: CategoryStudy,
    subset: Subset,
    first: str,
    second: str,
    number: Callable[[pd.DataFrame], pd.Series],
    what: str,
) -> Finding:
    """A number of two sets of curves up to their common end, first minus second over folds: is the first superior."""
    pair = to_common_end(study, subset, first, second)
    if not pair:
        return Finding(LEFT_OUT, NOT_TRACED)
    names = f"{what}, {study.title_of(first)} minus {study.title_of(second)}"
    return by_t(study, number(pair[0]) - number(pair[1]), names) or Finding(OPEN, TWO_FOLDS)


@rule
@per_subset
def projecting_often_slows_the_decline(study: CategoryStudy, subset: Subset) -> Finding:
    """Projecting onto positive matrices every few steps makes the test mAP decline more slowly than not at all.

    The share of the peak that is lost at the last traced step, OASIS without projection minus OASIS projected most
    often, over folds (corrected t): holds where the interval lies above 0, fails where it lies below 0 or within
    `MARGIN`. Open where neither loses 1% of its peak: nothing declines yet.
    """
    often, _ = schemes_during(study)
    pair = to_common_end(study, subset, "oasis", often)
    most = max(float(lost_shares(curves).mean()) for curves in pair) if pair else 1.0
    if most < 0.01:
        return Finding(OPEN, f"no decline by the last traced step: {100 * most:.1f}% of the peak lost at most")
    return superior_curve(study, subset, "oasis", often, lost_shares, "% of the peak lost")


@rule
@per_subset
def projecting_rarely_beats_often(study: CategoryStudy, subset: Subset) -> Finding:
    """Projecting after many steps reaches a higher test mAP than projecting every few steps.

    The peak of the test mAP, over folds (corrected t): holds where the interval of the difference lies above 0, fails
    where it lies below 0 or within `MARGIN`.
    """
    often, rarely = schemes_during(study)
    return superior_curve(study, subset, rarely, often, lambda curves: curves.max(), "peak of test mAP")


@rule
@per_subset
def projecting_at_the_end_is_best(study: CategoryStudy, subset: Subset) -> Finding:
    """Projecting only once, after learning, has the highest test mAP of the schemes where validation stops OASIS.

    Against each other scheme, at the traced step nearest to the mean validation stop, over folds (corrected t): holds
    where the interval of the difference lies above 0, fails where it lies below 0 or within `MARGIN`.
    """
    intervals, schemes = study.settings["projection_intervals"], study.settings["projected"]
    ends = [scheme for scheme in schemes if intervals.get(scheme, 0) is None]
    others = [scheme for scheme in schemes if scheme not in ends[:1]]
    if not ends or not others:
        return Finding(OPEN, "no schemes of projection were run, at the end and during training")
    traced = traced_schemes(study, subset)
    found = [at_validation_stop(study, subset, ends[0], of) for of in others if {ends[0], of} <= set(traced)]
    return together(found or [Finding(LEFT_OUT, NOT_TRACED)])
