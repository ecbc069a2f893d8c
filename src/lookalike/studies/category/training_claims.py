"""Rules about curves along training: where OASIS saturates and stops, its rankers, its mistakes, projections of W."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pandas as pd

from lookalike.exhibits.verdicts import FAILS, HOLDS, LIMITED, MARGIN, NOT_TESTED, OPEN, Finding, Interval
from lookalike.studies.category.evidence import UndecidedError, by_t, each, missing, subset_rule
from lookalike.studies.category.study import CategoryStudy, Subset
from lookalike.studies.metrics import select

SAME = 0.001
"""Up to this two numbers of one fold are the same but for ties and rounding."""
PRINTED_TRIPLETS = 2_800_000
"""Triplets of 10 classes as JMLR's Figure 5 counts them."""
SLOW_DECLINE = 0.1
"""A decline is slow that has cost at most this share of the peak when the trace ends."""
AFTER_PEAK = 2
"""A decline can be called slow only where the trace goes on to so many times the step of the peak."""
NEAR = 1.5
"""Up to so many times a validation stop, or a part of it, a traced step stands for it."""
SATURATED = 0.95
"""A curve has saturated where it has made this share of its rise."""
NO_CURVE = "no learning curve of OASIS"
NOT_TRACED = "the curves of the schemes of projection were not traced"
TWO_FOLDS = "fewer than two folds have both curves"


def traced(
    study: CategoryStudy, subset: Subset, metric: str = "traced_map", lacking: str = NO_CURVE, method: str = "oasis"
) -> pd.DataFrame:
    """A traced number, steps x folds; not tested where there is none."""
    curves = study.curves(subset, method, metric)
    if curves is None:
        raise UndecidedError(NOT_TESTED, lacking)
    return curves


def mean_curve(study: CategoryStudy, subset: Subset, metric: str = "traced_map", lacking: str = NO_CURVE) -> pd.Series:
    """Mean over folds of a traced number of OASIS, by step; steps that not all folds have are left out."""
    return traced(study, subset, metric, lacking).dropna().mean(axis=1)


def rising_at_end(curve: pd.Series) -> str:
    """Words on a curve whose peak is its last traced step, so that a longer trace might have a higher one; else ""."""
    return f"still rising at the last traced step, {int(curve.index[-1]):,}" if curve.argmax() == len(curve) - 1 else ""


def saturation_of(study: CategoryStudy, subset: Subset) -> tuple[int, str]:
    """First step at which OASIS's mean curve has made `SATURATED` of its rise so far, and whether it rises to the end.

    The step is 0 where it never rises, and the words are "" where its peak is not the last traced step.
    """
    curve = mean_curve(study, subset)
    start, peak = float(curve.iloc[0]), float(curve.max())
    reached = curve.index[int(np.argmax(curve.to_numpy() >= start + SATURATED * (peak - start)))]
    return int(reached) if peak > start else 0, rising_at_end(curve)


@subset_rule
def saturates_early(study: CategoryStudy, subset: Subset, times: float, *, of_all_triplets: bool = False) -> Finding:
    """Holds where the test mAP of OASIS saturates no later than at twice the printed step, or share of triplets."""
    in_print = study.printed_number("var10_saturation_steps")
    step, rising = saturation_of(study, subset)
    if not step:
        return Finding(FAILS, "test mAP never rises above its start")
    # of c classes with n training images each JMLR counts cn (n - 1) (c - 1)n / 2 triplets
    n_train = study.settings["splits"]["train"]
    n_images = subset.n_classes * n_train
    n_triplets = n_images * (n_train - 1) * (n_images - n_train) // 2 if of_all_triplets else 1
    if n_triplets <= 0:
        return Finding(OPEN, "the number of classes is not known")
    level = in_print / (PRINTED_TRIPLETS if of_all_triplets else 1)
    told = f"saturated at step {step:,}, {in_print:,.0f} in print"
    if of_all_triplets:
        share = f"{100 * step / n_triplets:.2g}%, {100 * level:.3g}% in print"
        told = f"saturated after {step:,} of {n_triplets:,} triplets ({share})"
    # a longer trace of a curve that still rises could only saturate later
    soon = OPEN if rising else HOLDS
    told += f", {rising}" if rising else ""
    return Finding(soon if step / n_triplets <= times * level else FAILS, told)


def more_classes_saturate_later(study: CategoryStudy) -> Finding:
    """Holds where test mAP saturates later on the subset with the most classes than on each other one, at equal C."""
    found_in: dict[Subset, tuple[int, str]] = {}
    for subset in study.subsets:
        with suppress(UndecidedError):
            found_in[subset] = saturation_of(study, subset)
    steps = {subset.id: float(step) for subset, (step, _) in found_in.items() if step}
    found = _most_against_fewer(study, steps, "saturated at step {:,.0f}", lambda most, fewer: most > fewer)
    if found.verdict == OPEN:
        return found
    # where a rising curve saturates, a longer trace could only move to later steps
    largest = max(subset.n_classes for subset in found_in)
    fails = found.verdict == FAILS
    later = [words for subset, (_, words) in found_in.items() if (subset.n_classes == largest) is fails]
    rising = [subset.title for subset, (_, words) in found_in.items() if words]
    never = [subset.title for subset, (step, _) in found_in.items() if not step]
    told = f"; still rising at the last traced step: {', '.join(rising)}" if rising else ""
    told += f"; never above the start: {', '.join(never)}" if never else ""
    # the draft trained the largest subset with a smaller C
    C = f"at equal C, {study.settings['traced_aggressiveness']:g}"
    return Finding(OPEN if any(later) or never else found.verdict, f"{C}: {found.evidence}{told}")


def more_classes_take_smaller_aggressiveness(study: CategoryStudy) -> Finding:
    """Holds where validation chooses a smaller C on the subset with the most classes than on each other one."""
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


@subset_rule
def declines_slowly(study: CategoryStudy, subset: Subset) -> Finding:
    """Holds where the test mAP of OASIS has lost at most 10% of its peak by the last traced step."""
    curve = mean_curve(study, subset)
    peak, last = int(curve.index[int(curve.argmax())]), int(curve.index[-1])
    if rising := rising_at_end(curve):
        return Finding(OPEN, rising)
    lost = 1 - float(curve.iloc[-1] / curve.max())
    told = f"peak {100 * curve.max():.1f} at step {peak:,}, {100 * lost:.1f}% of it lost by step {last:,}"
    if last < AFTER_PEAK * peak and lost <= SLOW_DECLINE:
        return Finding(OPEN, f"{told}, too soon after the peak to tell")
    return Finding(HOLDS if lost <= SLOW_DECLINE else FAILS, told)


@subset_rule
def validation_stop_generalizes(study: CategoryStudy, subset: Subset) -> Finding:
    """Holds where stopping by validation costs at most two points of mAP against the best stop on test images."""
    if rising := rising_at_end(mean_curve(study, subset)):
        return Finding(OPEN, f"the test curve is {rising}: its best stop is not known")
    differences = study.values(subset, "oasis") - traced(study, subset).max()
    lacking = missing(study, subset, ("oasis",), "mAP of two folds")
    names = "mAP at the validation stop minus the peak of the test curve"
    return by_t(study, differences, names, lacking, (-2 * MARGIN, math.inf))


@subset_rule
def identity_is_euclidean(study: CategoryStudy, subset: Subset) -> Finding:
    """Holds where OASIS before its first step has the mAP of the Euclidean distance, to 0.1 points in every fold."""
    differences = (traced(study, subset).T[0] - study.values(subset, "euclidean")).dropna().abs()
    if differences.empty:
        raise missing(study, subset, ("euclidean",), "mAP")
    largest = float(differences.max())
    return Finding(HOLDS if largest <= SAME else FAILS, f"largest difference in a fold {100 * largest:.2f} points")


@subset_rule
def symmetry_index_decreases_from_one(study: CategoryStudy, subset: Subset) -> Finding:
    """Holds where the symmetry index starts at 1 and decreases until the test mAP of OASIS peaks."""
    precision = mean_curve(study, subset)
    peak, rising = int(precision.index[int(precision.argmax())]), rising_at_end(precision)
    curve = mean_curve(study, subset, "symmetry_index", "the symmetry index was not traced")
    curve = curve[curve.index <= peak]
    # noise may lift it by up to 0.005 above its lowest value so far
    rise = float((curve - curve.cummin()).max())
    falls = abs(curve.iloc[0] - 1) <= 0.001 and curve.iloc[-1] < curve.iloc[0] and not rise > 0.005
    ends = f"from {curve.iloc[0]:.3f} to {curve.iloc[-1]:.3f} at the peak of test mAP, step {peak:,}"
    lifted = f"up by {rise:.3f} on the way (0.005 may be noise)" if rise > 0 else "never up on the way"
    told = f"{ends}, {lifted}{'; test mAP is ' * bool(rising)}{rising}"
    return Finding(FAILS if not falls else OPEN if rising else HOLDS, told)


def rankers_of(study: CategoryStudy, subset: Subset) -> tuple[pd.DataFrame, list[str]]:
    """Rankers past their untrained start (JMLR 5.4), ``series`` being ``single`` or an average; and the averages."""
    rows = select(study.numbers, subset=subset.id, metric="ranker_map")
    rows = rows[rows["x"] > 0]
    if rows.empty:
        raise UndecidedError(NOT_TESTED, "no rankers were trained in parallel")
    rows = rows.assign(series=rows["method"].where(~rows["method"].str.startswith("ranker "), "single"))
    return rows, sorted(set(rows["series"]) - {"single"}, key=lambda name: (len(name), name))


@subset_rule
def averages_beat_single_rankers(study: CategoryStudy, subset: Subset) -> Finding:
    """Holds where averages of rankers have a higher test mAP than single rankers, averaged over steps (t-test)."""
    rows, averages = rankers_of(study, subset)
    means = rows.pivot_table(index="fold", columns="series", values="value")

    def decide(average: str) -> Finding:
        lacking = UndecidedError(OPEN, f"{average}: fewer than two folds to compare")
        return by_t(study, means[average] - means["single"], f"{average} minus single rankers", lacking)

    return each(decide, averages)


@subset_rule
def averages_need_fewer_steps(study: CategoryStudy, subset: Subset) -> Finding:
    """Holds where an average of rankers reaches the best test mAP of single ones after fewer steps of each."""
    rows, averages = rankers_of(study, subset)
    curves = rows.groupby(["series", "x"])["value"].mean()
    peak = int(curves.loc["single"].idxmax())
    if rising := rising_at_end(curves.loc["single"]):
        return Finding(OPEN, f"single rankers are {rising}: their best is not known")

    def decide(average: str) -> Finding:
        reached = curves.loc[average][curves.loc[average] >= curves.loc["single"].max()].index
        when = f"as good at step {int(reached[0]):,}" if len(reached) else "never as good"
        return Finding(HOLDS if len(reached) and reached[0] < peak else FAILS, f"{average} {when}")

    found = each(decide, averages)
    return Finding(found.verdict, f"single rankers best at step {peak:,}; {found.evidence}")


@subset_rule
def single_rankers_agree(study: CategoryStudy, subset: Subset) -> Finding:
    """Holds where rankers trained on other triplets differ in test mAP by at most one point (standard deviation)."""
    rows, _ = rankers_of(study, subset)
    last = rows[(rows["series"] == "single") & (rows["x"] == rows["x"].max())]
    spread = float(last.groupby("fold")["value"].std().mean())
    if math.isnan(spread):
        return Finding(OPEN, "a single ranker has no spread")
    told = f"standard deviation {100 * spread:.2f} points over {last['method'].nunique()} rankers"
    return Finding(HOLDS if spread <= MARGIN else FAILS, told)


@subset_rule
def mistake_bound_holds(study: CategoryStudy, subset: Subset) -> Finding:
    """Holds where OASIS makes no more mistakes than the bound of Theorem 1, for every matrix U, at every step."""
    mistakes = traced(study, subset, "mistakes", "mistakes were not counted")
    limits = select(study.numbers, subset=subset.id, metric="bound")
    made = [mistakes.loc[x, fold] for x, fold in zip(limits["x"], limits["fold"], strict=True)]
    broken = int((np.asarray(made) > limits["value"]).sum())
    tightest = limits[limits["x"] == limits["x"].max()].groupby("method")["value"].mean().sort_values(kind="stable")
    told = f"{mistakes.iloc[-1].mean():,.0f} mistakes after {int(mistakes.index[-1]):,} steps"
    bound = f"tightest bound {tightest.iloc[0]:,.0f} (U = {tightest.index[0]})"
    return Finding(FAILS if broken else HOLDS, f"{told}, {bound}, broken at {broken} of {len(limits)} points")


def traced_schemes(study: CategoryStudy, subset: Subset) -> list[str]:
    """The schemes of projection onto positive semidefinite W (JMLR 6.2) whose test curves a subset has."""
    return [of for of in study.settings["projected"] if study.curves(subset, of) is not None]


def schemes_during(study: CategoryStudy) -> tuple[str, str]:
    """The schemes that project most and least often during training; "" where there are not two."""
    intervals = study.settings["projection_intervals"]
    during = sorted((intervals[of], of) for of in study.settings["projected"] if intervals.get(of) is not None)
    return (during[0][1], during[-1][1]) if len(during) > 1 else ("", "")


def at_validation_stop(
    study: CategoryStudy, subset: Subset, first: str, second: str, bounds: Interval | None = None
) -> Finding:
    """Test mAP of a traced method minus that of another, both as OASIS's validation stop would end them."""
    stops = study.stops(subset)
    if stops.empty:
        raise UndecidedError(NOT_TESTED, "no validation stop of OASIS at the traced C is known")
    at_end = study.recorded(subset, "oasis", "traced_stop_at_last_step").astype(bool)
    if at_end.sum() >= max(1, LIMITED * len(at_end)):
        told = f"in {at_end.sum()} of {len(at_end)} folds validation stops OASIS at the last traced step or later"
        raise UndecidedError(OPEN, told)
    curves = [traced(study, subset, lacking=NOT_TRACED, method=of) for of in (first, second)]
    # the traced step nearest to the mean stop, which no test image chose
    steps = curves[0].index.intersection(curves[1].index).to_numpy(dtype=np.int64)
    if not len(steps):
        raise UndecidedError(OPEN, "the curves have no traced step in common")
    nearest = int(steps[np.abs(steps - stops.mean()).argmin()])
    if not stops.mean() / NEAR <= nearest <= stops.mean() * NEAR:
        told = f"no traced step of both curves is near the validation stop of OASIS, {stops.mean():,.0f}"
        raise UndecidedError(OPEN, told)
    names = f"{study.title_of(first)} minus {study.title_of(second)}"
    differences = curves[0].T[nearest] - curves[1].T[nearest]
    found = by_t(study, differences, names, UndecidedError(OPEN, TWO_FOLDS), bounds)
    where = f"at step {nearest:,} (validation stop of OASIS: {stops.mean():,.0f})"
    return Finding(found.verdict, f"{found.evidence} {where}")


def past_peaks(study: CategoryStudy, subset: Subset, first: str, second: str) -> list[pd.DataFrame]:
    """Test curves on their own steps, up to the smaller of their last steps; undecided where one still rises there."""
    curves = [traced(study, subset, lacking=NOT_TRACED, method=method) for method in (first, second)]
    # on common steps alone, a peak between them would be lost
    end = min(of.index.max() for of in curves)
    cut = [of[of.index <= end] for of in curves]
    for method, of in zip((first, second), cut, strict=True):
        if rising := rising_at_end(of.mean(axis=1)):
            raise UndecidedError(OPEN, f"{study.title_of(method)} is {rising}: its peak is not known")
    return cut


@subset_rule
def projecting_often_slows_the_decline(study: CategoryStudy, subset: Subset) -> Finding:
    """Holds where test mAP loses less of its peak with projections every few steps than without (t-test)."""
    often, _ = schemes_during(study)
    lost = [1 - of.ffill().iloc[-1] / of.max() for of in past_peaks(study, subset, "oasis", often)]
    most = max(float(share.mean()) for share in lost)
    if most < 0.01:
        return Finding(OPEN, f"no decline by the last traced step: {100 * most:.1f}% of the peak lost at most")
    names = f"% of the peak lost, {study.title_of('oasis')} minus {study.title_of(often)}"
    return by_t(study, lost[0] - lost[1], names, UndecidedError(OPEN, TWO_FOLDS))


@subset_rule
def projecting_rarely_beats_often(study: CategoryStudy, subset: Subset) -> Finding:
    """Holds where projecting after many steps reaches a higher test mAP than projecting every few steps (t-test)."""
    often, rarely = schemes_during(study)
    peaks = [of.max() for of in past_peaks(study, subset, rarely, often)]
    names = f"peak of test mAP, {study.title_of(rarely)} minus {study.title_of(often)}"
    return by_t(study, peaks[0] - peaks[1], names, UndecidedError(OPEN, TWO_FOLDS))


@subset_rule
def projecting_at_the_end_is_best(study: CategoryStudy, subset: Subset) -> Finding:
    """Holds where projecting once, after learning, has the highest test mAP at the validation stop of OASIS."""
    intervals, schemes = study.settings["projection_intervals"], study.settings["projected"]
    ends = [scheme for scheme in schemes if intervals.get(scheme, 0) is None][:1]
    others = [scheme for scheme in schemes if scheme not in ends]
    if not ends or not others:
        return Finding(OPEN, "no schemes of projection were run, at the end and during training")
    traced = traced_schemes(study, subset)
    compared = [of for of in others if {ends[0], of} <= set(traced)]
    if not compared:
        raise UndecidedError(NOT_TESTED, NOT_TRACED)

    def decide(scheme: str) -> Finding:
        # a scheme that still rises may have its best stop later than OASIS
        past_peaks(study, subset, ends[0], scheme)
        return at_validation_stop(study, subset, ends[0], scheme)

    return each(decide, compared)
