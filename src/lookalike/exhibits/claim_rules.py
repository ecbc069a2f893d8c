"""Rules that decide the papers' claims about Caltech-256 from the numbers of a study, one function a kind of claim.

A rule gets the numbers and a context whose subsets are those that the claim is about. It answers with one of `HOLDS`,
`FAILS` and `OPEN` and with the figures that it was decided by. A claim about several subsets holds only if it holds on
all of them, fails as soon as it fails on one, and is open otherwise; what did not converge, as in the papers, and what
is not traced on a subset are left out. Two methods are held against each other by the intervals of
`lookalike.ranking.comparison`; "equal" means that these lie within `MARGIN`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lookalike.exhibits.claim_evidence import (
    FAILS,
    HOLDS,
    LEFT_OUT,
    MARGIN,
    NOT_TRACED,
    OPEN,
    Finding,
    Saturation,
    above,
    at_validation_stop,
    averages_in,
    best_at_every_k,
    curves_of_folds,
    did_not_converge,
    difference_within,
    does_not_end,
    end_scheme,
    folds_of,
    in_points,
    lost_shares,
    mean_curve,
    missing,
    name_of,
    oasis_minus,
    oasis_superior,
    of_pairs,
    of_subsets,
    peaks,
    printed,
    rankers_of,
    saturation_of,
    schemes,
    slower,
    slower_on_average,
    superior_by,
    superior_curve,
    symmetry_between,
    t_test,
    to_common_end,
    together,
    traced_schemes,
)
from lookalike.exhibits.compare import TABLE_METHODS
from lookalike.exhibits.context import Context, SubsetInfo
from lookalike.exhibits.runtime import minutes_of

if TYPE_CHECKING:
    from lookalike.exhibits.catalogue import Numbers

Rule = Callable[["Numbers", Context], Finding]

RIVALS = tuple(method for method in TABLE_METHODS if method != "oasis")
VARIANTS = ("oasis-proj", "oasis-online-proj", "oasis-dissim")
"""The symmetric variants (JMLR section 6.1)."""
NO_CURVE = Finding(LEFT_OUT, "no learning curve of OASIS")
NO_CURVES = "no learning curves of subsets of different size"
NO_RISE = "test mAP never rises above its start"
NOT_AT_HAND = Finding(OPEN, "the printed numbers are not at hand")
NO_RANKERS = Finding(LEFT_OUT, "no rankers were trained in parallel")
SLIGHT = 0.03
"""Up to this a difference of mAP is slight: a third of what OASIS gains on 10 classes in print."""
SAME = 0.001
"""Up to this two numbers of one fold are the same but for ties and rounding."""
EARLY_TIMES = 2
"""Saturation is early up to this many times the printed step."""
PRINTED_TRIPLETS = 2_800_000
"""Triplets of 10 classes as JMLR's Figure 5 counts them."""
FEW_TIMES = 2
"""A fraction of all triplets is small up to this many times the printed one."""
OVERFITTED_TIMES = 5
"""A method overfits that gains this many times as much on its training images as on new ones."""
TWICE = 1.35
"""From here on a ratio of times counts as about 2: the draft calls the printed 58 over 42 minutes (Var10) so."""
SLOW_DECLINE = 0.1
"""A decline is slow that has cost at most this share of the peak when the trace ends."""
INDEX_MARGIN = 0.02
"""How far from the printed symmetry index still counts as about the same."""
SYMMETRIC = 0.9
"""Almost symmetric: an index of at least this."""


def oasis_best_map(numbers: Numbers, context: Context) -> Finding:
    """OASIS has a higher mAP than each compared method.

    By the verdict of the comparison: it holds where that is "better", fails where it is "worse" or where both
    intervals lie within `MARGIN`.
    """
    return of_pairs(context, RIVALS, lambda subset, method: oasis_superior(numbers, context, subset, method))


def oasis_never_worse(numbers: Numbers, context: Context) -> Finding:
    """OASIS is superior or equal to each compared method in mAP.

    Holds where both intervals of OASIS minus the method lie above -`MARGIN`, fails where both lie below it.
    """
    bounds = (-MARGIN, math.inf)
    return of_pairs(context, RIVALS, lambda subset, method: oasis_minus(numbers, context, subset, method, *bounds))


def symmetric_variants_at_most_equal(numbers: Numbers, context: Context) -> Finding:
    """The symmetric variants are slightly worse than OASIS, or equal to it.

    Holds where both intervals of OASIS minus the variant lie within -`MARGIN` and `SLIGHT`, fails where both lie
    outside on the same side.
    """
    bounds = (-MARGIN, SLIGHT)
    return of_pairs(context, VARIANTS, lambda subset, method: oasis_minus(numbers, context, subset, method, *bounds))


def symmetry_does_not_help(numbers: Numbers, context: Context) -> Finding:
    """No constraint on W helps: no symmetric variant and no way of projecting it is better than OASIS.

    Holds where both intervals of OASIS minus the variant lie above -`MARGIN`, fails where both lie below it. Ways of
    projecting onto positive semidefinite W are decided likewise where their curves are traced, by the test mAP where
    validation stops OASIS and by the corrected t alone.
    """
    bounds = (-MARGIN, math.inf)

    def of_variant(subset: SubsetInfo, method: str) -> Finding:
        if (subset.id, method) in context.not_converged:
            return did_not_converge(method, context)
        return oasis_minus(numbers, context, subset, method, *bounds)

    def of_scheme(subset: SubsetInfo, scheme: str) -> Finding:
        test, told = at_validation_stop(numbers, context, subset, "oasis", scheme)
        if test is None:
            return Finding(LEFT_OUT, told)
        figures = f"OASIS minus {name_of(scheme, context)} {in_points(test)} {told}"
        return Finding(difference_within(test, *bounds), figures)

    def decide(subset: SubsetInfo) -> Finding:
        findings = [of_variant(subset, method) for method in VARIANTS]
        findings += [of_scheme(subset, scheme) for scheme in traced_schemes(numbers, context, subset)]
        return together(findings)

    return of_subsets(context, decide)


def proj_equals_oasis(numbers: Numbers, context: Context) -> Finding:
    """Making W symmetric after training changes nothing in mAP.

    Holds where both intervals of OASIS minus Proj-OASIS lie within `MARGIN`, fails where both lie beyond it.
    """
    bounds = (-MARGIN, MARGIN)
    return of_pairs(
        context, ["oasis-proj"], lambda subset, method: oasis_minus(numbers, context, subset, method, *bounds)
    )


def oasis_best_at_every_k(numbers: Numbers, context: Context) -> Finding:
    """OASIS has the highest precision at top k for every k.

    Per compared method, over the folds that both have: it holds where the mean difference is positive at every k and
    the interval (corrected t) of its average over k lies above 0; it fails where that interval lies below 0, or where
    OASIS is lower at some k with a p-value below 0.05, adjusted by Holm's method over all k.
    """
    return of_pairs(context, RIVALS, lambda subset, method: best_at_every_k(numbers, context, subset, method))


def mcml_is_second(numbers: Numbers, context: Context) -> Finding:
    """MCML has the second highest mAP: above LEGO, LMNN and the Euclidean distance.

    Differences of folds, corrected t: holds where the interval lies above 0, fails where it lies below 0 or within
    `MARGIN`. A subset on which MCML did not converge is left out.
    """
    others = ("lego", "lmnn", "euclidean")
    return of_pairs(context, others, lambda subset, other: above(numbers, context, "mcml", other, subset))


def lego_above_lmnn(numbers: Numbers, context: Context) -> Finding:
    """LEGO has a higher mAP than LMNN. Decided as in `mcml_is_second`."""
    return of_pairs(context, ["lmnn"], lambda subset, other: above(numbers, context, "lego", other, subset))


def lmnn_near_euclidean(numbers: Numbers, context: Context) -> Finding:
    """LMNN has about the mAP of the untrained Euclidean distance.

    Differences of folds, corrected t: holds where the interval lies within 2 `MARGIN`, since the printed ones differ
    by a point themselves; fails where it lies beyond it.
    """

    def decide(subset: SubsetInfo) -> Finding:
        pair = [folds_of(numbers, context, subset, method) for method in ("lmnn", "euclidean")]
        test = t_test(pair[0] - pair[1], context)
        if test is None:
            return missing(context, subset, ("lmnn", "euclidean"), "mAP of two folds")
        return Finding(difference_within(test, -2 * MARGIN, 2 * MARGIN), f"LMNN minus Euclidean {in_points(test)}")

    return of_subsets(context, decide)


def lego_below_euclidean(numbers: Numbers, context: Context) -> Finding:
    """LEGO has a lower mAP than the Euclidean distance. Decided as in `mcml_is_second`, the other way round."""
    return of_pairs(context, ["lego"], lambda subset, other: above(numbers, context, "euclidean", other, subset))


def rca_is_inferior(numbers: Numbers, context: Context) -> Finding:
    """RCA, after a reduction of dimension, has a lower mAP than the compared methods.

    Decided as in `mcml_is_second`, for each of the five compared methods over RCA.
    """
    return of_pairs(context, TABLE_METHODS, lambda subset, method: above(numbers, context, method, "rca", subset))


def mmc_is_too_slow(numbers: Numbers, context: Context) -> Finding:
    """MMC, Xing and others' method, is too slow: its fits do not end within their time limit (that of this study)."""
    return does_not_end(numbers, context, "mmc")


def mcml_does_not_end(numbers: Numbers, context: Context) -> Finding:
    """MCML does not converge within the time limit (the papers': five days; here: that of this study)."""
    return does_not_end(numbers, context, "mcml")


def lmnn_does_not_end(numbers: Numbers, context: Context) -> Finding:
    """LMNN does not converge within the time limit (the papers': five days; here: that of this study)."""
    return does_not_end(numbers, context, "lmnn")


def lmnn_overfits(numbers: Numbers, context: Context) -> Finding:
    """LMNN fits its training images much better than new ones.

    Two conditions. Training minus test mAP of LMNN, less the same of the Euclidean distance, which learns nothing: over
    folds (corrected t) the interval lies above `MARGIN`. And over the Euclidean distance LMNN gains on training images
    at least `OVERFITTED_TIMES` times what it gains on test images. Fails where that interval lies below `MARGIN`, or
    where it gains less.
    """

    def decide(subset: SubsetInfo) -> Finding:
        train, on_test = (
            {of: folds_of(numbers, context, subset, of, metric) for of in ("lmnn", "euclidean")}
            for metric in ("train_map", "map")
        )
        gaps = {of: train[of] - on_test[of] for of in train}
        test = t_test(gaps["lmnn"] - gaps["euclidean"], context)
        if test is None:
            return missing(context, subset, ("lmnn", "euclidean"), "training and test mAP")
        gains = [100 * float((values["lmnn"] - values["euclidean"]).mean()) for values in (train, on_test)]
        figures = (
            f"gap less Euclidean's {in_points(test)}, gains over Euclidean {gains[0]:+.1f} on training and "
            f"{gains[1]:+.1f} on test images; training/test mAP: {_training_and_test(numbers, context, subset)}"
        )
        verdict = difference_within(test, MARGIN, math.inf)
        much_more = gains[0] > 0 and gains[0] >= OVERFITTED_TIMES * gains[1]
        return Finding(verdict if much_more or verdict == OPEN else FAILS, figures)

    return of_subsets(context, decide)


def _training_and_test(numbers: Numbers, context: Context, subset: SubsetInfo) -> str:
    """``LMNN 47.8/26.2, OASIS 91.4/38.5, ...``: mAP over training and test images, in percent."""
    told = []
    for method in ("lmnn", *(of for of in TABLE_METHODS if of != "lmnn")):
        pair = [100 * folds_of(numbers, context, subset, method, metric).mean() for metric in ("train_map", "map")]
        if not any(map(math.isnan, pair)):
            told.append(f"{name_of(method, context)} {pair[0]:.1f}/{pair[1]:.1f}")
    return ", ".join(told)


def saturates_early(numbers: Numbers, context: Context) -> Finding:
    """The test mAP of OASIS saturates about as early in training as in print, or earlier.

    The mean test curve over folds has made `SATURATED` of its rise from the start to its peak within `EARLY_TIMES` the
    printed 35,000 steps. Fails where it is later, or where there is no rise. Open where the peak is the last traced
    step: a longer trace could only saturate later.
    """
    step_in_print = printed(numbers, "var10_saturation_steps")
    if step_in_print is None:
        return NOT_AT_HAND
    limit = EARLY_TIMES * step_in_print

    def decide(subset: SubsetInfo) -> Finding:
        traced = saturation_of(numbers, context, subset)
        if traced is None:
            return NO_CURVE
        if traced.step is None:
            return Finding(FAILS, NO_RISE)
        figures = f"saturated at step {traced.step:,}, {step_in_print:,.0f} in print{_still_rising(traced)}"
        return Finding(_by_saturation(traced, traced.step <= limit), figures)

    return of_subsets(context, decide)


def _by_saturation(traced: Saturation, soon: bool) -> str:
    """Verdict of an upper limit on where a curve saturates; a curve that still rises saturates there or later."""
    if not soon:
        return FAILS
    return OPEN if traced.rising else HOLDS


def _still_rising(traced: Saturation) -> str:
    return f", still rising at the last traced step, {traced.last:,}" if traced.rising else ""


def more_classes_saturate_later(numbers: Numbers, context: Context) -> Finding:
    """Test mAP saturates later on the subset with the most classes than on each that has fewer, at equal C.

    By the steps of `saturates_early`; the curves are all traced at the same C, where the draft trained the largest
    subset with a smaller one. Open where a curve with fewer classes still rises at its end.
    """
    traced = {subset.id: saturation_of(numbers, context, subset) for subset in context.subsets}
    known = {subset: found for subset, found in traced.items() if found is not None and found.step is not None}
    steps = {subset: found.step for subset, found in known.items() if found.step is not None}
    found = _most_against_fewer(context, steps, "saturated at step {:,}", lambda most, fewer: most > fewer, NO_CURVES)
    if found.verdict == OPEN:
        return found
    largest = max((subset.n_classes for subset in context.subsets if subset.id in known), default=0)
    fewer = [subset for subset in context.subsets if subset.id in known and subset.n_classes < largest]
    rising = [subset.title for subset in fewer if known[subset.id].rising]
    told = f"; still rising at the last traced step: {', '.join(rising)}" if rising else ""
    verdict = OPEN if rising and found.verdict == HOLDS else found.verdict
    return Finding(verdict, f"at equal C, {context.traced_aggressiveness:g}: {found.evidence}{told}")


def declines_slowly(numbers: Numbers, context: Context) -> Finding:
    """After its peak, the test mAP of OASIS declines slowly.

    At the last traced step the mean test curve has lost at most `SLOW_DECLINE` of its peak. Open where the peak is
    the last step: the trace ends before a decline.
    """

    def decide(subset: SubsetInfo) -> Finding:
        curve = mean_curve(numbers, context, subset, "oasis")
        if curve is None:
            return NO_CURVE
        peak, last = int(curve.index[int(curve.argmax())]), int(curve.index[-1])
        if peak == last:
            return Finding(OPEN, f"still rising at the last traced step, {last:,}")
        lost = 1 - float(curve.iloc[-1] / curve.max())
        figures = f"peak {100 * curve.max():.1f} at step {peak:,}, {100 * lost:.1f}% of it lost by step {last:,}"
        return Finding(HOLDS if lost <= SLOW_DECLINE else FAILS, figures)

    return of_subsets(context, decide)


def few_triplets_suffice(numbers: Numbers, context: Context) -> Finding:
    """OASIS has learned after a small fraction of all triplets.

    It saturates (see `saturates_early`) within `FEW_TIMES` the printed fraction, 35,000 of 2.8 million. Of c classes
    with n training images each JMLR counts cn (n - 1) (c - 1)n / 2 triplets. Fails where it is later, or where there is
    no rise; open where the peak is the last traced step.
    """
    step_in_print = printed(numbers, "var10_saturation_steps")
    if step_in_print is None:
        return NOT_AT_HAND
    few = FEW_TIMES * step_in_print / PRINTED_TRIPLETS

    def decide(subset: SubsetInfo) -> Finding:
        traced = saturation_of(numbers, context, subset)
        if traced is None:
            return NO_CURVE
        if traced.step is None:
            return Finding(FAILS, NO_RISE)
        n_images = subset.n_classes * context.n_train
        n_triplets = n_images * (context.n_train - 1) * (n_images - context.n_train) // 2
        if n_triplets <= 0:
            return Finding(OPEN, "the number of classes is not known")
        share = traced.step / n_triplets
        figures = (
            f"saturated after {traced.step:,} of {n_triplets:,} triplets ({100 * share:.2g}%, "
            f"{100 * few / FEW_TIMES:.3g}% in print){_still_rising(traced)}"
        )
        return Finding(_by_saturation(traced, share <= few), figures)

    return of_subsets(context, decide)


def mcml_two_orders_slower(numbers: Numbers, context: Context) -> Finding:
    """MCML takes at least about two orders of magnitude more CPU time than OASIS: 10^1.5 times or more."""
    return slower(numbers, context, "oasis", ("mcml",), 10**1.5)


def lmnn_one_order_slower(numbers: Numbers, context: Context) -> Finding:
    """LMNN takes at least about one order of magnitude more CPU time than OASIS: 10^0.5 times or more.

    Both implementations count, that with the active set and the naive one, where both were run; the draft has the
    naive one alone.
    """
    both = ("lmnn", "lmnn-naive")
    known = {method for _, method in (*minutes_of(numbers.fits, context), *context.not_converged)}
    return slower(numbers, context, "oasis", [method for method in both if method in known] or both, 10**0.5)


def dissim_twice_as_slow(numbers: Numbers, context: Context) -> Finding:
    """Dissim-OASIS takes about twice the CPU time of OASIS or more.

    The geometric mean over subsets of the ratio of CPU times is at least `TWICE`; in print it is 1.38 on Var10 alone.
    """
    return slower_on_average(numbers, context, "oasis", "oasis-dissim", TWICE)


def active_set_is_faster(numbers: Numbers, context: Context) -> Finding:
    """LMNN with an active set takes less CPU time than the naive implementation."""
    return slower(numbers, context, "lmnn", ("lmnn-naive",), 1.0)


def active_set_is_slower(numbers: Numbers, context: Context) -> Finding:
    """LMNN with an active set takes more CPU time than the naive implementation."""
    return slower(numbers, context, "lmnn-naive", ("lmnn",), 1.0)


def lego_is_not_sensitive(numbers: Numbers, context: Context) -> Finding:
    """The choice of its regularization hardly changes LEGO's validation mAP.

    Holds where the variance over the candidates (of their means over folds) is smaller than the variance over folds
    (of their means over candidates). Needs the validation scores of every candidate.
    """

    def decide(subset: SubsetInfo) -> Finding:
        own = context.own(numbers.selections)
        if own is None:
            return Finding(OPEN, "no validation scores of the candidates are gathered here")
        rows = own[(own["subset"] == subset.id) & (own["method"] == "lego")]
        named = {"dataset", "representation", "subset", "method", "fold", "step", "map", "loss_rate"}
        candidate = [column for column in rows.columns if column not in named and rows[column].nunique() > 1]
        if len(candidate) != 1 or rows["fold"].nunique() < 2:
            return Finding(OPEN, "LEGO was not run with several candidates on several folds")
        scores = rows.pivot_table(index="fold", columns=candidate[0], values="map", aggfunc="max")
        over_candidates, over_folds = float(scores.mean(axis=0).std()), float(scores.mean(axis=1).std())
        figures = (
            f"standard deviation {100 * over_candidates:.2f} over {scores.shape[1]} candidates, "
            f"{100 * over_folds:.2f} over {scores.shape[0]} folds"
        )
        return Finding(HOLDS if over_candidates < over_folds else FAILS, figures)

    return of_subsets(context, decide)


def averages_beat_single_rankers(numbers: Numbers, context: Context) -> Finding:
    """The average of several rankers has a higher test mAP than a single ranker after the same number of steps.

    Mean over the traced steps (the untrained start not counted) of the average minus the mean of the single rankers,
    over folds (corrected t): holds where the interval lies above 0, fails where it lies below 0 or within `MARGIN`.
    """

    def decide(subset: SubsetInfo) -> Finding:
        rows = rankers_of(numbers, context, subset)
        if rows is None:
            return NO_RANKERS
        means = rows.pivot_table(index="fold", columns="series", values="map")
        findings = []
        for series in averages_in(rows):
            test = t_test(means[series] - means["single"], context)
            if test is None:
                findings.append(Finding(OPEN, f"{series}: no folds to compare"))
                continue
            decided = superior_by([(test.low, test.high)])
            findings.append(Finding(decided, f"{series} minus single {in_points(test)}"))
        return together(findings)

    return of_subsets(context, decide)


def averages_need_fewer_steps(numbers: Numbers, context: Context) -> Finding:
    """An average of rankers reaches what single ones reach at best, after fewer steps of each.

    In the mean curves over folds: the first step at which the average is at least at the peak of the mean single
    ranker is before the step of that peak. Fails where the average comes later or never.
    """

    def decide(subset: SubsetInfo) -> Finding:
        rows = rankers_of(numbers, context, subset)
        if rows is None:
            return NO_RANKERS
        curves = rows.groupby(["series", "step"])["map"].mean()
        single = curves.loc["single"]
        peak = int(single.index[int(single.argmax())])
        findings = []
        for series in averages_in(rows):
            reached = curves.loc[series][curves.loc[series] >= single.max()]
            when = f"at step {int(reached.index[0]):,}" if len(reached) else "never"
            earlier = len(reached) > 0 and int(reached.index[0]) < peak
            findings.append(Finding(HOLDS if earlier else FAILS, f"{series} there {when}"))
        found = together(findings)
        return Finding(found.verdict, f"single at its best at step {peak:,}, {found.evidence}")

    return of_subsets(context, decide)


def single_rankers_agree(numbers: Numbers, context: Context) -> Finding:
    """Runs with other triplets come to about the same test mAP.

    At the last step the standard deviation over single rankers, averaged over folds, is at most `MARGIN`.
    """

    def decide(subset: SubsetInfo) -> Finding:
        rows = rankers_of(numbers, context, subset)
        single = None if rows is None else rows[rows["series"] == "single"]
        if single is None or single.empty:
            return NO_RANKERS
        last = single[single["step"] == single["step"].max()]
        spread = float(last.groupby("fold")["map"].std().mean())
        if math.isnan(spread):
            return Finding(OPEN, "a single ranker has no spread")
        figures = f"standard deviation {100 * spread:.2f} points over {last['ranker'].nunique()} rankers"
        return Finding(HOLDS if spread <= MARGIN else FAILS, figures)

    return of_subsets(context, decide)


def mistake_bound_holds(numbers: Numbers, context: Context) -> Finding:
    """OASIS makes no more mistakes than the bound of Theorem 1, for every matrix compared with and at every step."""

    def decide(subset: SubsetInfo) -> Finding:
        own = context.own(numbers.bounds)
        rows = None if own is None else own[own["subset"] == subset.id]
        if rows is None or rows.empty:
            return Finding(LEFT_OUT, "mistakes were not counted")
        broken = int((rows["mistakes"] > rows["bound"]).sum())
        end = rows[rows["step"] == rows["step"].max()]
        tightest = end.groupby("comparator")["bound"].mean().sort_values(kind="stable")
        figures = (
            f"{end['mistakes'].mean():,.0f} mistakes after {int(end['step'].iloc[0]):,} steps, bound "
            f"{tightest.iloc[0]:,.0f} ({tightest.index[0]}); broken at {broken} of {len(rows)} points"
        )
        return Finding(FAILS if broken else HOLDS, figures)

    return of_subsets(context, decide)


def model_is_almost_symmetric(numbers: Numbers, context: Context) -> Finding:
    """W of OASIS ends almost symmetric although nothing makes it so.

    Its mean symmetry index is at least `SYMMETRIC`.
    """
    return of_subsets(context, lambda subset: symmetry_between(numbers, context, subset, SYMMETRIC, math.inf))


def symmetry_index_as_printed(numbers: Numbers, context: Context) -> Finding:
    """The symmetry index of W after training is about the printed one.

    Within `INDEX_MARGIN` of it.
    """
    index = printed(numbers, "symmetry_index")
    if index is None:
        return NOT_AT_HAND
    low, high = index - INDEX_MARGIN, index + INDEX_MARGIN
    return of_subsets(context, lambda subset: symmetry_between(numbers, context, subset, low, high))


def symmetry_index_decreases_from_one(numbers: Numbers, context: Context) -> Finding:
    """The symmetry index starts at 1 and decreases along training.

    In the mean curve of OASIS over folds it starts within 0.001 of 1, ends lower, and is nowhere more than 0.005 above
    its lowest value so far.
    """

    def decide(subset: SubsetInfo) -> Finding:
        curve = mean_curve(numbers, context, subset, "oasis", "symmetry_index")
        if curve is None:
            return Finding(LEFT_OUT, "the symmetry index was not traced")
        rise = float((curve - curve.cummin()).max())
        falls = abs(curve.iloc[0] - 1) <= 0.001 and curve.iloc[-1] < curve.iloc[0] and not rise > 0.005
        ends = f"from {curve.iloc[0]:.3f} to {curve.iloc[-1]:.3f} at step {int(curve.index[-1]):,}"
        figures = f"{ends}, {rise:.3f} above its lowest value at most"
        return Finding(HOLDS if falls else FAILS, figures)

    return of_subsets(context, decide)


def projecting_often_slows_the_decline(numbers: Numbers, context: Context) -> Finding:
    """Projecting onto positive matrices every few steps makes the test mAP decline more slowly than not at all.

    The share of the peak that is lost at the last traced step, OASIS without projection minus OASIS projected most
    often, over folds (corrected t): holds where the interval lies above 0, fails where it lies below 0 or within
    `MARGIN`. Open where neither loses 1% of its peak: nothing declines yet.
    """

    def decide(subset: SubsetInfo) -> Finding:
        often, _ = schemes(context)
        unprojected, projected = (curves_of_folds(numbers, context, subset, of) for of in ("oasis", often))
        if unprojected is not None and projected is not None:
            unprojected, projected = to_common_end(unprojected, projected)
            lost = max(float(lost_shares(curves).mean()) for curves in (unprojected, projected))
            if lost < 0.01:
                return Finding(OPEN, f"no decline by the last traced step: {100 * lost:.1f}% of the peak lost at most")
        return superior_curve(unprojected, projected, context, lost_shares, "oasis", often, "% of the peak lost")

    return of_subsets(context, decide)


def projecting_rarely_beats_often(numbers: Numbers, context: Context) -> Finding:
    """Projecting after many steps reaches a higher test mAP than projecting every few steps.

    The peak of the test mAP, over folds (corrected t): holds where the interval of the difference lies above 0, fails
    where it lies below 0 or within `MARGIN`.
    """

    def decide(subset: SubsetInfo) -> Finding:
        often, rarely = schemes(context)
        after_many, every_few = (curves_of_folds(numbers, context, subset, of) for of in (rarely, often))
        return superior_curve(after_many, every_few, context, peaks, rarely, often, "peak of test mAP")

    return of_subsets(context, decide)


def projecting_at_the_end_is_best(numbers: Numbers, context: Context) -> Finding:
    """Projecting only once, after learning, has the highest test mAP of the schemes where validation stops OASIS.

    Against each other scheme, at the traced step nearest to the mean validation stop, over folds (corrected t): holds
    where the interval of the difference lies above 0, fails where it lies below 0 or within `MARGIN`.
    """
    end = end_scheme(context)
    others = [scheme for scheme in context.projected if scheme != end]

    def against(subset: SubsetInfo, other: str) -> Finding:
        if not {end, other} <= set(traced_schemes(numbers, context, subset)):
            return Finding(LEFT_OUT, NOT_TRACED)
        test, told = at_validation_stop(numbers, context, subset, end, other)
        if test is None:
            return Finding(OPEN, told)
        names = f"{name_of(end, context)} minus {name_of(other, context)}"
        return Finding(superior_by([(test.low, test.high)]), f"{names} {in_points(test)} {told}")

    if not end or not others:
        return Finding(OPEN, "no schemes of projection were run, at the end and during training")
    return of_subsets(context, lambda subset: together([against(subset, other) for other in others]))


def more_classes_take_smaller_aggressiveness(numbers: Numbers, context: Context) -> Finding:
    """Validation chooses a smaller aggressiveness on the subset with the most classes than on each that has fewer.

    Medians over folds of what was chosen for OASIS.
    """
    own = context.own(numbers.fits)
    if own is None or "aggressiveness" not in own:
        return Finding(OPEN, "the chosen aggressiveness was not recorded")
    oasis = own[(own["method"] == "oasis") & own["aggressiveness"].notna()]
    chosen = {str(name): float(value) for name, value in oasis.groupby("subset")["aggressiveness"].median().items()}
    why_not = "the chosen aggressiveness of subsets of different size is not known"
    return _most_against_fewer(context, chosen, "median C {:g}", lambda most, fewer: most < fewer, why_not)


def validation_stop_generalizes(numbers: Numbers, context: Context) -> Finding:
    """Stopping where held-out images say so is about as precise as the best stop on the test images would be.

    Test mAP of OASIS as chosen by validation minus the peak of the fold's traced test curve, over folds (corrected t):
    holds where the interval lies above -2 `MARGIN`, fails where it lies below.
    """

    def decide(subset: SubsetInfo) -> Finding:
        curves = curves_of_folds(numbers, context, subset, "oasis")
        if curves is None:
            return NO_CURVE
        test = t_test(folds_of(numbers, context, subset, "oasis") - peaks(curves), context)
        if test is None:
            return missing(context, subset, ("oasis",), "mAP of two folds")
        verdict = difference_within(test, -2 * MARGIN, math.inf)
        return Finding(verdict, f"as chosen minus the peak of the test curve {in_points(test)}")

    return of_subsets(context, decide)


def identity_is_euclidean(numbers: Numbers, context: Context) -> Finding:
    """OASIS at step 0 has the mAP of the Euclidean distance.

    Within `SAME` in every fold.
    """

    def decide(subset: SubsetInfo) -> Finding:
        curves = curves_of_folds(numbers, context, subset, "oasis")
        if curves is None or 0 not in curves.index:
            return NO_CURVE
        start = curves[curves.index == 0].iloc[0]
        differences = (start - folds_of(numbers, context, subset, "euclidean")).dropna().abs()
        if differences.empty:
            return missing(context, subset, ("euclidean",), "mAP")
        largest = float(differences.max())
        verdict = HOLDS if largest <= SAME else FAILS
        return Finding(verdict, f"largest difference of a fold {100 * largest:.2f} points")

    return of_subsets(context, decide)


def _most_against_fewer(
    context: Context, values: Mapping[str, float], form: str, holds: Callable[[float, float], bool], why_not: str
) -> Finding:
    """A value of the subset with the most classes against that of each subset with fewer."""
    known = [subset for subset in context.subsets if subset.id in values]
    most = max(known, key=lambda subset: subset.n_classes, default=None)
    fewer = [subset for subset in known if most is not None and subset.n_classes < most.n_classes]
    if most is None or not fewer:
        return Finding(OPEN, why_not)
    figures = "; ".join(f"{subset.title}: {form.format(values[subset.id])}" for subset in (*fewer, most))
    return Finding(HOLDS if all(holds(values[most.id], values[of.id]) for of in fewer) else FAILS, figures)


RULES: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        oasis_best_map,
        oasis_best_at_every_k,
        oasis_never_worse,
        mcml_is_second,
        lego_above_lmnn,
        lmnn_near_euclidean,
        lego_below_euclidean,
        rca_is_inferior,
        mmc_is_too_slow,
        mcml_does_not_end,
        lmnn_does_not_end,
        lmnn_overfits,
        saturates_early,
        more_classes_saturate_later,
        declines_slowly,
        few_triplets_suffice,
        mcml_two_orders_slower,
        lmnn_one_order_slower,
        dissim_twice_as_slow,
        active_set_is_faster,
        active_set_is_slower,
        lego_is_not_sensitive,
        averages_beat_single_rankers,
        averages_need_fewer_steps,
        single_rankers_agree,
        mistake_bound_holds,
        model_is_almost_symmetric,
        symmetry_index_as_printed,
        symmetry_index_decreases_from_one,
        symmetric_variants_at_most_equal,
        symmetry_does_not_help,
        proj_equals_oasis,
        projecting_often_slows_the_decline,
        projecting_rarely_beats_often,
        projecting_at_the_end_is_best,
        more_classes_take_smaller_aggressiveness,
        validation_stop_generalizes,
        identity_is_euclidean,
    )
}
"""Name in claims.csv to rule."""
