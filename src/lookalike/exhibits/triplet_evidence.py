"""What the rules about the claims of the Deep Ranking paper stand on: paired differences of systems, with intervals.

The differences are those of contrasts.parquet, by a bootstrap over query images that draws both systems' triplets
together. The paper's own numbers go through the same rules, without intervals. What each claim
needs is in `lookalike.exhibits.triplet_claims`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lookalike.exhibits.claim_evidence import FAILS, HOLDS, OPEN, within
from lookalike.exhibits.tables import NOT_RUN
from lookalike.exhibits.triplet_context import (
    ALL,
    PAPER,
    PAPER_TRIPLETS,
    PER_TRIPLET,
    PRECISION,
    SCORE,
    TripletContext,
)
from lookalike.exhibits.triplet_values import Measured, Values, measured, named_alike
from lookalike.ranking.comparison import LEVEL, holm

if TYPE_CHECKING:
    import pandas as pd

AS_CLAIMED, NOT_AS_CLAIMED = "as claimed", "not as claimed"
JUST_ABOVE_0 = math.nextafter(0.0, 1.0)
"""Above 0 is not 0: two systems that rank alike do not bear out that one is better."""
UNITS = {PRECISION: ("points", ".1f"), SCORE: ("triplets", ",.0f"), PER_TRIPLET: ("% of triplets", ".1f")}
"""Metric to the unit of its differences and their format."""


class Difference(NamedTuple):
    """One system minus another, with its 95% interval; the interval is NaN for printed numbers."""

    value: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    """Two-sided p-value of no difference."""


class Bound(NamedTuple):
    """What a claim asks of one difference: that a minus b lies within [low, high]."""

    a: str
    b: str
    metric: str
    subset: str = ALL
    low: float = -math.inf
    high: float = math.inf


class Study(NamedTuple):
    """What rules decide by."""

    differences: Mapping[tuple[str, str, str, str], Difference]
    """By system a, system b, subset and metric; each pair in one order."""
    values: Values
    context: TripletContext
    printed: bool = False
    """Whether these are the paper's numbers."""


class Decision(NamedTuple):
    """What a rule finds."""

    verdict: str
    """One of `lookalike.exhibits.triplet_claims.VERDICTS`."""
    evidence: str
    """The figures, or why there are none."""
    by_numbers: str = ""
    """What the differences say without their intervals; "" where one is missing."""


def study_of(contrasts: pd.DataFrame | None, intervals: pd.DataFrame | None, context: TripletContext) -> Study:
    """Return our numbers as rules read them; none where nothing was run.

    Parameters
    ----------
    contrasts : DataFrame or None
        contrasts.parquet.
    intervals : DataFrame or None
        intervals.parquet.
    context : TripletContext
    """
    found = {}
    if contrasts is not None and context.not_run is None:
        rows: Iterable[Any] = named_alike(contrasts).itertuples()
        for row in rows:
            key = (str(row.system_a), str(row.system_b), str(row.subset), str(row.metric))
            found[key] = Difference(*(float(x) for x in (row.difference, row.low, row.high, row.p_value)))
    return Study(found, measured(intervals, context), context)


def printed_study(reference: pd.DataFrame, context: TripletContext) -> Study:
    """Return the paper's own numbers as rules read them: differences without intervals.

    Parameters
    ----------
    reference : DataFrame
        Printed numbers, from `lookalike.exhibits.reference.load`.
    context : TripletContext
        Ours, for titles.
    """
    rows: Iterable[Any] = reference[(reference["paper"] == PAPER) & reference["value"].notna()].itertuples()
    values = {
        (str(row.method), ALL, str(row.metric)): Measured(float(row.value), n_triplets=PAPER_TRIPLETS) for row in rows
    }
    return Study({}, values, context, printed=True)


def above(pairs: Sequence[tuple[str, str]], metrics: Sequence[str], subset: str = ALL) -> list[Bound]:
    """Ask of every pair that the first is better than the second, in each metric."""
    return [Bound(a, b, metric, subset, low=JUST_ABOVE_0) for a, b in pairs for metric in metrics]


def below(pairs: Sequence[tuple[str, str]], metrics: Sequence[str], subset: str = ALL) -> list[Bound]:
    """Ask of every pair that the first is worse than the second, in each metric."""
    return [Bound(a, b, metric, subset, high=-JUST_ABOVE_0) for a, b in pairs for metric in metrics]


def difference(study: Study, a: str, b: str, metric: str, subset: str = ALL) -> Difference | None:
    """Return a minus b in one metric, whichever way it was taken; None where it is not known.

    Score per triplet is worked out from the score where it was not taken itself.
    """
    if study.printed:
        first, second = (_printed_value(study, system, metric, subset) for system in (a, b))
        return None if math.isnan(first - second) else Difference(first - second)
    found = study.differences.get((a, b, subset, metric))
    if found is None and (b, a, subset, metric) in study.differences:
        turned = study.differences[b, a, subset, metric]
        found = Difference(-turned.value, -turned.high, -turned.low, turned.p)
    if found is None and metric == PER_TRIPLET:
        score = difference(study, a, b, SCORE, subset)
        counted = study.values.get((a, subset, SCORE))
        if score is not None and counted is not None and counted.n_triplets:
            share = 100 / counted.n_triplets
            return Difference(share * score.value, share * score.low, share * score.high, score.p)
    return None if found is None or math.isnan(found.value) else found


def decided(study: Study, bounds: Sequence[Bound]) -> Decision:
    """Decide a claim by several differences, each of which has to lie within its bounds.

    It fails as soon as one lies clearly beyond, else is not run where one was not run, else not decidable where an
    interval reaches beyond or a difference is missing, else holds.

    Parameters
    ----------
    study : Study
    bounds : sequence of Bound

    Returns
    -------
    Decision
    """
    found = [(bound, difference(study, bound.a, bound.b, bound.metric, bound.subset)) for bound in bounds]
    known = [(bound, one) for bound, one in found if one is not None]
    # one of several that lies beyond its bound by chance does not refute a claim; p-values are those of a bound at 0
    p_values = holm([one.p if _is_at_0(bound) else math.nan for bound, one in known])
    verdicts, told, against = [], [], []
    for (bound, one), p in zip(known, p_values, strict=True):
        inside = within([(one.low, one.high)], bound.low, bound.high)
        verdicts.append(HOLDS if inside else FAILS if inside is False and not p >= LEVEL else OPEN)
        told.append(_told(study, bound, one))
        if not bound.low <= one.value <= bound.high:
            against.append(_pair(study, bound))
    missing = dict.fromkeys(_why_missing(study, bound) for bound, one in found if one is None)
    verdicts += [verdict for verdict, _ in missing]
    # a difference that is missing might still break a claim, but not mend one that another breaks
    by_numbers = "" if missing else AS_CLAIMED
    if against:
        by_numbers = f"{NOT_AS_CLAIMED} ({'; '.join(against)})" if len(bounds) > 1 else NOT_AS_CLAIMED
    verdict = next(verdict for verdict in (FAILS, NOT_RUN, OPEN, HOLDS) if verdict in verdicts)
    return Decision(verdict, "; ".join([*_joined(told), *(reason for _, reason in missing)]), by_numbers)


def _is_at_0(bound: Bound) -> bool:
    return JUST_ABOVE_0 in (bound.low, -bound.high)


def _printed_value(study: Study, system: str, metric: str, subset: str) -> float:
    known = study.values.get((system, subset, SCORE if metric == PER_TRIPLET else metric))
    if known is None:
        return math.nan
    return 100 * known.value / known.n_triplets if metric == PER_TRIPLET else known.value


def _pair(study: Study, bound: Bound) -> str:
    what = "precision" if bound.metric == PRECISION else "score"
    return f"{what} of {study.context.title_of(bound.a)} minus {study.context.title_of(bound.b)}"


def _told(study: Study, bound: Bound, one: Difference) -> tuple[str, str]:
    """The pair and its difference, such as ``+3.4 [1.2, 5.6] points``."""
    unit, form = UNITS[bound.metric]
    interval = "" if math.isnan(one.low) else f" [{one.low:{form}}, {one.high:{form}}]"
    negatives = "" if bound.subset == ALL else f" on {bound.subset} negatives"
    pair = f"{study.context.title_of(bound.a)} minus {study.context.title_of(bound.b)}{negatives}"
    return pair, f"{one.value:+{form}}{interval} {unit}".replace(" %", "%")


def _joined(told: Sequence[tuple[str, str]]) -> list[str]:
    """Differences of one pair together, in the order of the pairs."""
    pairs: dict[str, list[str]] = {}
    for pair, difference_ in told:
        pairs.setdefault(pair, []).append(difference_)
    return [f"{pair} {' and '.join(differences)}" for pair, differences in pairs.items()]


def _why_missing(study: Study, bound: Bound) -> tuple[str, str]:
    """Verdict and reason where a difference is not there."""
    context = study.context
    for system in (bound.a, bound.b):
        if not any(known == system for known, _, _ in study.values):
            reason = None if study.printed else context.why_not_run(system)
            if reason is not None:
                return NOT_RUN, reason
            return OPEN, f"{context.title_of(system)} has no result here"
    if bound.subset != ALL and (bound.a, bound.subset, bound.metric) not in study.values:
        return OPEN, f"no triplet is known to have {'an' * (bound.subset[0] in 'io')} {bound.subset} negative"
    pair = f"{context.title_of(bound.a)} and {context.title_of(bound.b)}"
    return OPEN, f"{pair} were not held against each other"
