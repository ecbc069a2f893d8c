"""What the rules about claims stand on: differences over folds with their intervals, and curves along training."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lookalike.exhibits.printed import p_value
from lookalike.exhibits.verdicts import (
    LEFT_OUT,
    OPEN,
    Finding,
    Interval,
    of_parts,
    superior,
    together,
    verdict_of,
    within,
)
from lookalike.ranking.comparison import CorrectedT, corrected_t_test
from lookalike.studies.category.comparison import compared_with
from lookalike.studies.category.precision import JMLR
from lookalike.studies.category.study import CategoryStudy, Subset

SATURATED = 0.95
"""A curve has saturated where it has made this share of its rise."""
NOT_TRACED = "the curves of the schemes of projection were not traced"
TWO_FOLDS = "fewer than two folds have both curves"

Curves = Callable[["pd.DataFrame"], "pd.Series"]


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


def at_step(curves: pd.DataFrame, step: int) -> pd.Series:
    """Values of all folds at one step."""
    values: pd.Series = curves[curves.index == step].iloc[0]
    return values


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


def superior_curve(study: CategoryStudy, subset: Subset, first: str, second: str, number: Curves, what: str) -> Finding:
    """A number of two sets of curves up to their common end, first minus second over folds: is the first superior."""
    pair = to_common_end(study, subset, first, second)
    if not pair:
        return Finding(LEFT_OUT, NOT_TRACED)
    names = f"{what}, {study.title_of(first)} minus {study.title_of(second)}"
    return by_t(study, number(pair[0]) - number(pair[1]), names) or Finding(OPEN, TWO_FOLDS)


# what rules stand on


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


def t_of(study: CategoryStudy, differences: pd.Series) -> CorrectedT:
    """Corrected t-test over folds."""
    splits = study.settings["splits"]
    return corrected_t_test(differences.to_numpy(dtype=np.float64), splits["train"], splits["test"])


def t_test(study: CategoryStudy, differences: pd.Series) -> CorrectedT | None:
    """Corrected t-test over the folds that have a difference; None with fewer than two."""
    known = differences.dropna()
    return t_of(study, known) if len(known) > 1 else None


def by_t(study: CategoryStudy, differences: pd.Series, names: str, bounds: Interval | None = None) -> Finding | None:
    """What an interval of the corrected t says: within bounds or, without them, above 0; None without two folds."""
    test = t_test(study, differences)
    if test is None:
        return None
    interval = [(test.low, test.high)]
    verdict = superior(interval) if bounds is None else verdict_of(within(interval, *bounds))
    numbers = {f"{names}, {name}": getattr(test, name) for name in ("mean", "low", "high")}
    return Finding(verdict, f"{names} {in_points(test)}", numbers)


def in_points(test: CorrectedT) -> str:
    """``+4.0 [+2.1, +5.9] (t)``: a mean difference and its 95% interval by the corrected t-test alone, in points."""
    return f"{100 * test.mean:+.1f} [{100 * test.low:+.1f}, {100 * test.high:+.1f}] (t)"


def mean_curve(study: CategoryStudy, subset: Subset, metric: str = "traced_map") -> pd.Series | None:
    """Mean over folds of a traced number of OASIS, by step; steps that not all folds have are left out."""
    folds = study.curves(subset, "oasis", metric)
    mean = None if folds is None else folds.dropna().mean(axis=1)
    return mean if mean is not None and len(mean) > 1 else None


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
