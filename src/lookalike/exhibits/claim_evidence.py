"""What the rules about the papers' claims stand on: a study's numbers, held against each other with their intervals.

Everything here belongs to `lookalike.exhibits.claim_rules`, which says what each claim needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lookalike.exhibits.compare import K_MAX
from lookalike.exhibits.context import Context, SubsetInfo
from lookalike.exhibits.facts import PAPER_OF_TEXT
from lookalike.exhibits.reference import printed_number
from lookalike.exhibits.runtime import minutes_of, times_over
from lookalike.exhibits.style import title_of
from lookalike.exhibits.tables import p_value, significant
from lookalike.ranking.comparison import CorrectedT, corrected_t_test, holm

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.exhibits.catalogue import Numbers

HOLDS, FAILS, OPEN = "holds", "does not hold", "not decidable here"
LEFT_OUT = "left out"
"""Of what did not converge or is not traced on a subset, which does not count."""
MARGIN = 0.01
"""Differences of mAP up to this are none in practice: one point, the last digit that the papers print."""
SATURATED = 0.95
"""A curve has saturated where it has made this share of its rise."""
BY_T = " (t)"
"""Marks evidence that one interval alone decides, that of the corrected resampled t-test: only OASIS against a method
has the bootstrap's beside it."""
TITLES = {
    "rca": "RCA",
    "mmc": "MMC",
    "lmnn-naive": "LMNN (naive)",
    "oasis-proj": "Proj-OASIS",
    "oasis-online-proj": "Online-Proj-OASIS",
    "oasis-dissim": "Dissim-OASIS",
}
"""Titles of methods that a study which does not run them does not name."""


NOT_TRACED = "the curves of the schemes of projection were not traced"


class Finding(NamedTuple):
    """What a rule finds."""

    verdict: str
    """`HOLDS`, `FAILS` or `OPEN`."""
    evidence: str
    """The figures, or why there are none."""


def of_subsets(context: Context, decide: Callable[[SubsetInfo], Finding]) -> Finding:
    """One finding of all subsets, each under its title; what they all say alike is said once."""
    findings = [(subset, decide(subset)) for subset in context.subsets]
    verdict, _ = together([finding for _, finding in findings])
    said = {finding.evidence for _, finding in findings}
    alike = len(said) == 1 < len(findings)
    evidence = said if alike else [f"{subset.title}: {finding.evidence}" for subset, finding in findings]
    return Finding(OPEN if verdict == LEFT_OUT else verdict, "; ".join(evidence))


def of_pairs(context: Context, methods: Sequence[str], decide: Callable[[SubsetInfo, str], Finding]) -> Finding:
    """One finding of all subsets and methods."""

    def of_pair(subset: SubsetInfo, method: str) -> Finding:
        # it may have ended in some folds; a mean over these would be of the easier ones
        if (subset.id, method) in context.not_converged:
            return did_not_converge(method, context)
        return decide(subset, method)

    return of_subsets(context, lambda subset: together([of_pair(subset, method) for method in methods]))


def together(findings: Sequence[Finding]) -> Finding:
    """Holds if all do, fails as soon as one does, else open; what was left out does not count beside others."""
    verdicts = {finding.verdict for finding in findings}
    if FAILS in verdicts:
        verdict = FAILS
    elif OPEN in verdicts or not verdicts:
        verdict = OPEN
    else:
        verdict = HOLDS if HOLDS in verdicts else LEFT_OUT
    evidence = dict.fromkeys(finding.evidence for finding in findings if finding.evidence)
    return Finding(verdict, ", ".join(evidence))


def did_not_converge(method: str, context: Context) -> Finding:
    """Finding of a method that has no result on a subset: it is left out, as in the papers."""
    return Finding(LEFT_OUT, f"{name_of(method, context)} did not converge")


def _verdict_of(inside: bool | None) -> str:
    return OPEN if inside is None else HOLDS if inside else FAILS


def within(intervals: Iterable[tuple[float, float]], low: float, high: float) -> bool | None:
    """True where every interval lies within [low, high], False where all lie beyond it on the same side, else None."""
    intervals = list(intervals)
    if any(math.isnan(end) for interval in intervals for end in interval):
        return None
    if all(low <= a and b <= high for a, b in intervals):
        return True
    beyond = all(b < low for _, b in intervals) or all(a > high for a, _ in intervals)
    return False if beyond else None


def superior_by(intervals: Sequence[tuple[float, float]]) -> str:
    """Holds above 0; fails below 0, and where a difference, if any, is within the margin."""
    if any(math.isnan(end) for interval in intervals for end in interval):
        return OPEN
    if all(low > 0 for low, _ in intervals):
        return HOLDS
    below = all(high < 0 for _, high in intervals)
    return FAILS if below or within(intervals, -MARGIN, MARGIN) else OPEN


def _comparison_row(numbers: Numbers, context: Context, subset: SubsetInfo, method: str) -> Any:
    own = context.own(numbers.comparison)
    if own is None:
        return None
    rows = own[(own["subset"] == subset.id) & (own["method"] == method) & (own["reference"] == "oasis")]
    found: Iterable[Any] = rows[rows["difference"].notna()].itertuples()
    return next(iter(found), None)


def oasis_superior(numbers: Numbers, context: Context, subset: SubsetInfo, method: str) -> Finding:
    """OASIS over a method by the verdict of the comparison."""
    row = _comparison_row(numbers, context, subset, method)
    if row is None:
        return missing(context, subset, (method,), "comparison with OASIS")
    decided = {"better": HOLDS, "worse": FAILS}.get(row.verdict)
    if decided is None:
        decided = FAILS if within(_intervals_of(row), -MARGIN, MARGIN) else OPEN
    # the verdict needs the p-value too, so it is part of what decides
    return Finding(decided, f"OASIS minus {name_of(method, context)} {_both_intervals(row)}, p {p_value(row.p_holm)}")


def oasis_minus(
    numbers: Numbers, context: Context, subset: SubsetInfo, method: str, low: float, high: float
) -> Finding:
    """Both intervals of OASIS minus a method against the range [low, high]."""
    row = _comparison_row(numbers, context, subset, method)
    if row is None:
        return missing(context, subset, (method,), "comparison with OASIS")
    verdict = _verdict_of(within(_intervals_of(row), low, high))
    return Finding(verdict, f"OASIS minus {name_of(method, context)} {_both_intervals(row)}")


def _intervals_of(row: Any) -> list[tuple[float, float]]:
    return [(row.t_low, row.t_high), (row.bootstrap_low, row.bootstrap_high)]


def _both_intervals(row: Any) -> str:
    """The difference in points, with the range that holds both intervals."""
    lows, highs = zip(*_intervals_of(row), strict=True)
    return f"{100 * row.difference:+.1f} [{100 * min(lows):+.1f}, {100 * max(highs):+.1f}]"


def in_points(test: CorrectedT) -> str:
    """``+4.0 [+2.1, +5.9] (t)``: a mean difference and its 95% interval by the corrected t-test alone, in points."""
    return f"{100 * test.mean:+.1f} [{100 * test.low:+.1f}, {100 * test.high:+.1f}]{BY_T}"


def printed(numbers: Numbers, metric: str) -> float | None:
    """Number of OASIS that the running text of JMLR prints; None where the printed numbers are not at hand."""
    if numbers.reference is None:
        return None
    row = printed_number(numbers.reference, PAPER_OF_TEXT, "text", "", "oasis", metric)
    return None if row is None or math.isnan(row["value"]) else float(row["value"])


def name_of(method: str, context: Context) -> str:
    """Title of a method, also of one that the study does not run."""
    return title_of(method, {**TITLES, **context.method_titles})


def missing(context: Context, subset: SubsetInfo, methods: Sequence[str], what: str) -> Finding:
    """Why methods cannot be decided on a subset: one did not converge, was not run, or lacks `what`."""
    for method in methods:
        if (subset.id, method) in context.not_converged:
            return did_not_converge(method, context)
    run = {*context.methods, *context.variants, *context.timed, *context.projected}
    not_run = [name_of(method, context) for method in methods if method not in run]
    if not_run:
        return Finding(OPEN, f"{' and '.join(not_run)} not run")
    return Finding(OPEN, f"{' and '.join(name_of(method, context) for method in methods)}: no {what}")


def folds_of(numbers: Numbers, context: Context, subset: SubsetInfo, method: str, metric: str = "map") -> pd.Series:
    """One number of each fold, index ``fold``; empty where there is none."""
    import pandas as pd

    own = context.own(numbers.metrics)
    if own is None or (subset.id, method) in context.not_converged:
        return pd.Series(dtype=np.float64)
    rows = own[(own["subset"] == subset.id) & (own["method"] == method) & (own["metric"] == metric)]
    values: pd.Series = rows.set_index("fold")["value"]
    return values


def t_test(differences: pd.Series, context: Context) -> CorrectedT | None:
    """Corrected t-test over the folds that have a difference; None with fewer than two."""
    values = differences.dropna().to_numpy(dtype=np.float64)
    return corrected_t_test(values, context.n_train, context.n_test) if len(values) > 1 else None


def difference_within(test: CorrectedT, low: float, high: float) -> str:
    """Verdict of an interval of the corrected t against the range [low, high]."""
    return _verdict_of(within([(test.low, test.high)], low, high))


def above(numbers: Numbers, context: Context, method: str, other: str, subset: SubsetInfo) -> Finding:
    """A method over another in mAP."""
    test = t_test(folds_of(numbers, context, subset, method) - folds_of(numbers, context, subset, other), context)
    if test is None:
        return missing(context, subset, (method, other), "mAP of two folds")
    names = f"{name_of(method, context)} minus {name_of(other, context)}"
    return Finding(superior_by([(test.low, test.high)]), f"{names} {in_points(test)}")


def best_at_every_k(numbers: Numbers, context: Context, subset: SubsetInfo, method: str) -> Finding:
    """OASIS over a method in precision at top k, by the rule of `lookalike.exhibits.claim_rules`."""
    own = context.own(numbers.metrics)
    if own is None:
        return missing(context, subset, (method,), "precision at k")
    rows = own[(own["subset"] == subset.id) & own["metric"].str.startswith("p@")]
    curves = {
        of: rows[rows["method"] == of].pivot_table(index="fold", columns="metric", values="value")
        for of in ("oasis", method)
    }
    differences = (curves["oasis"] - curves[method]).dropna(axis=0, how="all").dropna(axis=1)
    # at the size of the gallery all rankings have the same images
    last = max((_k_of(metric) for metric in rows["metric"]), default=0)
    differences = differences[[k for k in differences if _k_of(k) <= min(K_MAX, last - 1)]]
    average = t_test(differences.mean(axis=1), context) if differences.size else None
    if average is None:
        return missing(context, subset, (method,), "precision at k of two folds")
    tests = [corrected_t_test(differences[k].to_numpy(), context.n_train, context.n_test) for k in differences]
    adjusted = holm([test.p for test in tests])
    n_lower = sum(test.mean <= 0 for test in tests)
    lower_for_sure = any(test.mean < 0 and p < 0.05 for test, p in zip(tests, adjusted, strict=True))
    where = f"at {len(tests) - n_lower} of {len(tests)} k, on average {in_points(average)}"
    figures = f"OASIS above {name_of(method, context)} {where}"
    if n_lower:
        # the k at which OASIS is lower are decided by their p-values
        least = min(p for test, p in zip(tests, adjusted, strict=True) if test.mean <= 0)
        figures += f", p {p_value(float(least))} where it is not"
    if average.high < 0 or lower_for_sure:
        return Finding(FAILS, figures)
    return Finding(HOLDS if not n_lower and average.low > 0 else OPEN, figures)


def _k_of(metric: object) -> int:
    return int(str(metric).removeprefix("p@"))


def does_not_end(numbers: Numbers, context: Context, method: str) -> Finding:
    """Holds where the study's own limit ended a fit, fails where all fits ended by themselves."""
    times = minutes_of(numbers.fits, context)

    def decide(subset: SubsetInfo) -> Finding:
        title = name_of(method, context)
        if (subset.id, method) in context.not_converged:
            return Finding(HOLDS, f"{title}: {context.not_converged[subset.id, method]}")
        if (subset.id, method) in times:
            return Finding(FAILS, f"{title} took {significant(times[subset.id, method][0])} minutes")
        return missing(context, subset, (method,), "times")

    return of_subsets(context, decide)


def slower(numbers: Numbers, context: Context, fast: str, slow: Sequence[str], factor: float) -> Finding:
    """The mean CPU time of each slow method over that of the fast one is at least, and of 1 more than, the factor."""
    times = minutes_of(numbers.fits, context)

    def decide(subset: SubsetInfo, method: str) -> Finding:
        ratio = _time_ratio(times, subset, method, fast)
        if ratio is None:
            return missing(context, subset, (method, fast), "times")
        return Finding(HOLDS if ratio >= factor and ratio != 1 else FAILS, _ratio_figures(ratio, method, fast, context))

    return of_pairs(context, slow, decide)


def slower_on_average(numbers: Numbers, context: Context, fast: str, slow: str, factor: float) -> Finding:
    """The geometric mean over subsets of the slow method's CPU time over that of the fast one is at least the factor.

    A subset on which a method did not converge is left out; one without times leaves it open.
    """
    times = minutes_of(numbers.fits, context)
    ratios: list[float] = []

    def decide(subset: SubsetInfo, method: str) -> Finding:
        ratio = _time_ratio(times, subset, method, fast)
        if ratio is None:
            return missing(context, subset, (method, fast), "times")
        ratios.append(ratio)
        return Finding(HOLDS, _ratio_figures(ratio, method, fast, context))

    found = of_pairs(context, [slow], decide)
    if found.verdict != HOLDS:
        return found
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    figures = f"; geometric mean {times_over(mean)}" if len(ratios) > 1 else ""
    return Finding(HOLDS if mean >= factor else FAILS, found.evidence + figures)


def _time_ratio(
    times: Mapping[tuple[str, str], tuple[float, float]], subset: SubsetInfo, slow: str, fast: str
) -> float | None:
    over, under = (times.get((subset.id, of), (math.nan, math.nan))[0] for of in (slow, fast))
    return over / under if over > 0 and under > 0 else None


def _ratio_figures(ratio: float, slow: str, fast: str, context: Context) -> str:
    return f"{name_of(slow, context)} {times_over(ratio)} the time of {name_of(fast, context)}"


def mean_curve(
    numbers: Numbers, context: Context, subset: SubsetInfo, method: str, column: str = "map"
) -> pd.Series | None:
    """Mean over folds of a traced number on the test images, by step; steps that not all folds have are left out."""
    folds = curves_of_folds(numbers, context, subset, method, column)
    if folds is None:
        return None
    mean = folds.dropna().mean(axis=1)
    return mean if len(mean) > 1 else None


class Saturation(NamedTuple):
    """Where the mean test curve of OASIS saturates."""

    step: int | None
    """First step at which the curve has made `SATURATED` of its rise so far; None where it never rises."""
    rising: bool
    """Whether the peak is the last traced step: then it saturates at this step or later."""
    last: int
    """The last traced step."""


def saturation_of(numbers: Numbers, context: Context, subset: SubsetInfo) -> Saturation | None:
    """Where the test mAP of OASIS saturates; None untraced."""
    curve = mean_curve(numbers, context, subset, "oasis")
    if curve is None:
        return None
    return Saturation(saturation(curve), int(curve.argmax()) == len(curve) - 1, int(curve.index[-1]))


def curves_of_folds(
    numbers: Numbers, context: Context, subset: SubsetInfo, method: str, column: str = "map"
) -> pd.DataFrame | None:
    """A traced number on the test images, steps x folds; None where it was not traced."""
    own = context.own(numbers.curves)
    if own is None or column not in own:
        return None
    rows = own[(own["subset"] == subset.id) & (own["method"] == method) & (own["images"] == "test")]
    rows = rows[rows[column].notna()]
    return None if rows.empty else rows.pivot_table(index="step", columns="fold", values=column).sort_index()


def saturation(curve: pd.Series) -> int | None:
    """First step at which the curve has made `SATURATED` of its rise; None where it never rises."""
    start, peak = float(curve.iloc[0]), float(curve.max())
    if not peak > start:
        return None
    return int(curve.index[int(np.argmax(curve.to_numpy() >= start + SATURATED * (peak - start)))])


def rankers_of(numbers: Numbers, context: Context, subset: SubsetInfo) -> pd.DataFrame | None:
    """Trained rankers and their averages of a subset."""
    own = context.own(numbers.rankers)
    if own is None:
        return None
    rows = own[(own["subset"] == subset.id) & (own["step"] > 0)]
    return None if rows.empty else rows


def averages_in(rankers: pd.DataFrame) -> list[str]:
    """The series that are averages, of few rankers before those of many; needs single ones to hold them against."""
    names = set(rankers["series"].astype(str))
    return sorted(names - {"single"}, key=lambda name: (len(name), name)) if "single" in names else []


def symmetry_between(numbers: Numbers, context: Context, subset: SubsetInfo, low: float, high: float) -> Finding:
    """The mean symmetry index of OASIS over folds against a range."""
    own = context.own(numbers.fits)
    if own is None or "symmetry_index" not in own:
        return Finding(OPEN, "no symmetry index was recorded")
    rows = own[(own["subset"] == subset.id) & (own["method"] == "oasis")]
    index = rows["symmetry_index"].astype(np.float64)
    if not index.notna().any():
        return Finding(OPEN, "no symmetry index was recorded")
    return Finding(HOLDS if low <= index.mean() <= high else FAILS, f"index {index.mean():.3f}")


def end_scheme(context: Context) -> str:
    """The scheme that projects once, after learning; "" where there is none."""
    at_end = (scheme for scheme in context.projected if context.projection_intervals.get(scheme, 0) is None)
    return next(at_end, "")


def schemes(context: Context) -> tuple[str, str]:
    """The schemes that project most and least often during training; "" where there are not two."""
    intervals = {scheme: context.projection_intervals.get(scheme) for scheme in context.projected}
    during = sorted((steps, scheme) for scheme, steps in intervals.items() if steps is not None)
    return (during[0][1], during[-1][1]) if len(during) > 1 else ("", "")


def traced_schemes(numbers: Numbers, context: Context, subset: SubsetInfo) -> list[str]:
    """The schemes of projection whose test curves a subset has."""
    return [of for of in context.projected if curves_of_folds(numbers, context, subset, of) is not None]


def at_validation_stop(
    numbers: Numbers, context: Context, subset: SubsetInfo, first: str, second: str
) -> tuple[CorrectedT | None, str]:
    """Test mAP of a traced method minus that of another, both as OASIS's validation stop would end them.

    Both are read at the step nearest to the mean stop over folds at which both were traced; no test image chose it.

    Returns
    -------
    tuple of (CorrectedT or None, str)
        None with the reason, or the test with what is to be said of the step.
    """
    stops = context.selected_steps.get(subset.id, ())
    if not stops:
        return None, "no validation stop of OASIS at the traced C is known"
    curves = [curves_of_folds(numbers, context, subset, method) for method in (first, second)]
    if curves[0] is None or curves[1] is None:
        return None, NOT_TRACED
    steps = curves[0].index.intersection(curves[1].index).to_numpy(dtype=np.int64)
    if not len(steps):
        return None, "the curves have no traced step in common"
    stop = float(np.mean(stops))
    nearest = int(steps[np.abs(steps - stop).argmin()])
    values = [of[of.index == nearest].iloc[0] for of in curves if of is not None]
    test = t_test(values[0] - values[1], context)
    if test is None:
        return None, "fewer than two folds have both curves"
    return test, f"at step {nearest:,} (validation stop of OASIS: {stop:,.0f})"


def peaks(curves: pd.DataFrame) -> pd.Series:
    """Highest point of each fold's curve."""
    highest: pd.Series = curves.max()
    return highest


def lost_shares(curves: pd.DataFrame) -> pd.Series:
    """Share of its peak that each fold's curve has lost at its end."""
    lost: pd.Series = 1 - curves.ffill().iloc[-1] / curves.max()
    return lost


def to_common_end(first: pd.DataFrame, second: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both sets of curves on their own steps, up to the smaller of the two last steps."""
    end = min(first.index.max(), second.index.max())
    return first[first.index <= end], second[second.index <= end]


def superior_curve(
    first: pd.DataFrame | None,
    second: pd.DataFrame | None,
    context: Context,
    number: Callable[[pd.DataFrame], pd.Series],
    name: str,
    other: str,
    what: str,
) -> Finding:
    """A number of two sets of curves up to their common end, first minus second, over folds; the first's superiority.

    Each curve is read on its own steps: on common ones alone, a peak between them would be lost.
    """
    if first is None or second is None:
        return Finding(LEFT_OUT, NOT_TRACED)
    first, second = to_common_end(first, second)
    test = t_test(number(first) - number(second), context)
    if test is None:
        return Finding(OPEN, "fewer than two folds have both curves")
    names = f"{name_of(name, context)} minus {name_of(other, context)}"
    return Finding(superior_by([(test.low, test.high)]), f"{what}, {names} {in_points(test)}")
