"""Rules about the claims of the Deep Ranking paper (sections 6.4 to 6.7): most bound paired differences of systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import NamedTuple

from lookalike.exhibits.verdicts import (
    AS_CLAIMED,
    FAILS,
    HOLDS,
    NOT_AS_CLAIMED,
    NOT_TESTED,
    OPEN,
    Finding,
    verdict_of,
    within,
)
from lookalike.studies.finegrained.pictures import filters_of, pretrained_colours
from lookalike.studies.finegrained.study import Difference, FinegrainedStudy
from lookalike.studies.finegrained.systems import ALL, CONVNET, DEEP, PER_TRIPLET, PRECISION, SCORE, weighted_systems

BOTH = (PRECISION, SCORE)
LEARNED = 0.7
"""Filters whose median correlation with their random start is higher have half of their energy from that."""
ABOVE_0 = math.nextafter(0.0, 1.0)
"""Above 0 is not 0: two systems that rank alike do not bear out that one is better."""
UNITS = {PRECISION: ("points", ".1f"), SCORE: ("triplets", ",.0f"), PER_TRIPLET: ("% of triplets", ".1f")}
"""Metric to the unit of its differences and their format."""


class Bound(NamedTuple):
    """What a claim asks of one difference: that a minus b lies within [low, high]."""

    a: str
    b: str
    subset: str
    metric: str
    low: float
    high: float


def better(
    study: FinegrainedStudy, *, pairs: Sequence[Sequence[str]], metrics: Sequence[str] = BOTH, but: str = ""
) -> Finding:
    """Holds if the interval of every difference, first minus second, lies above 0; fails if one lies below 0."""
    return decided(study, _bounds(pairs, metrics, ABOVE_0, math.inf), but)


def between(
    study: FinegrainedStudy,
    *,
    pairs: Sequence[Sequence[str]],
    metrics: Sequence[str],
    low: float = -math.inf,
    high: float = math.inf,
    but: str = "",
) -> Finding:
    """Holds if the interval of every difference lies within the claim's bounds; fails if one lies outside."""
    return decided(study, _bounds(pairs, metrics, low, high), but)


def score_falls(study: FinegrainedStudy) -> Finding:
    """Holds if the score never rises with the share, and the interval of last minus first lies below 0."""
    there = [system for system, subset, metric in study.values if (subset, metric) == (ALL, SCORE)]
    shares = weighted_systems(there, study.settings["chosen_percent"])
    if len(shares) < 2:
        return decided(study, _bounds([["deep-ranking", "multiscale-weighted-000"]], [SCORE], -math.inf, -ABOVE_0))
    systems = list(shares.values())
    found = decided(study, _bounds([[systems[-1], systems[0]]], [SCORE], -math.inf, -ABOVE_0))
    scores = [study.value(system, SCORE).value for system in systems]
    told = ", ".join(f"{score:,.0f} at {share}%" for share, score in zip(shares, scores, strict=True))
    rises = [f"{a}% to {b}%" for (a, x), (b, y) in pairwise(zip(shares, scores, strict=True)) if y > x]
    return replace(
        found,
        verdict=OPEN if rises and found.verdict == HOLDS else found.verdict,
        evidence=f"{found.evidence}; scores: {told}",
        by_numbers=f"{NOT_AS_CLAIMED} ({', '.join(rises)})" if rises else AS_CLAIMED,
    )


def colourful_filters(study: FinegrainedStudy) -> Finding:
    """Holds if the filters of DeepRanking have a larger share of colour than those of the ConvNet it starts from.

    Judged by the 95% interval of the difference of means. Filters of shallow paths are left out where half of their
    energy is their random start's: the colours of that were drawn.
    """
    if study.in_print:
        return Finding(OPEN, "no number is printed")
    if not study.has("filters"):
        why = study.why_not_run(DEEP)
        return Finding(NOT_TESTED if why else OPEN, why or f"there are no filters of {study.title_of(DEEP)}")
    filters = filters_of(study)
    alike = filters.groupby("path")["like_start"].transform("median")
    learned = filters[(filters["path"] == CONVNET) | (alike < LEARNED)]
    shares, before = 100 * learned["colour_share"], 100 * pretrained_colours(study)
    difference = float(shares.mean() - before.mean())
    reach = 1.959964 * math.sqrt(shares.var() / len(shares) + before.var() / len(before))
    low, high = difference - reach, difference + reach
    left = sorted(set(filters["path"]) - set(learned["path"]))
    evidence = (
        f"{shares.mean():.0f}% of the energy of {len(shares)} filters is colour, of {len(before)} pre-trained ones "
        f"{before.mean():.0f}%: {difference:+.1f} [{low:.1f}, {high:.1f}] points"
    )
    told = f"; left out, as more like their random start: {', '.join(left)}" if left else ""
    numbers = AS_CLAIMED if difference > 0 else NOT_AS_CLAIMED
    return Finding(verdict_of(within([(low, high)], ABOVE_0, math.inf)), evidence + told, numbers)


def _bounds(pairs: Sequence[Sequence[str]], metrics: Sequence[str], low: float, high: float) -> list[Bound]:
    """Bounds of pairs of systems; a third name is the subset of the triplets."""
    asked = product(pairs, metrics)
    return [Bound(a, b, subset[0] if subset else ALL, metric, low, high) for (a, b, *subset), metric in asked]


def decided(study: FinegrainedStudy, bounds: Sequence[Bound], but: str = "") -> Finding:
    """Decide a claim by differences that each have to lie within bounds; `but` leaves it open, whatever numbers say."""
    # imported here because plans import this module, and SciPy is slow to load
    from lookalike.ranking.comparison import LEVEL, holm

    known: list[tuple[Bound, Difference]] = []
    missing: dict[tuple[str, str], None] = {}
    told: dict[str, list[str]] = {}
    for bound in bounds:
        one = study.difference(bound.a, bound.b, bound.metric, bound.subset)
        if one is None:
            missing[_why_missing(study, bound)] = None
            continue
        known.append((bound, one))
        told.setdefault(_pair(study, bound), []).append(_text(bound, one))
    # p-values are those of a bound at 0; one of several that lies beyond it by chance does not refute a claim
    p_values = holm([one.p if ABOVE_0 in (bound.low, -bound.high) else math.nan for bound, one in known])
    verdicts = {verdict for verdict, _ in missing}
    of_pairs: dict[str, set[str]] = {}
    for (bound, one), p in zip(known, p_values, strict=True):
        verdict = verdict_of(within([(one.low, one.high)], bound.low, bound.high))
        of_pairs.setdefault(_pair(study, bound), set()).add(OPEN if verdict == FAILS and p >= LEVEL else verdict)
    verdicts.update(*of_pairs.values())
    verdict = next(verdict for verdict in (FAILS, NOT_TESTED, OPEN, HOLDS) if verdict in verdicts)
    # what decided comes first
    pairs = sorted(told, key=lambda pair: verdict not in of_pairs[pair])
    evidence = [f"{pair} {' and '.join(told[pair])}" for pair in pairs]
    evidence += [reason for _, reason in missing]
    # such a claim is about a golden feature that makes the relevance, as in the paper
    if but and verdict in (HOLDS, FAILS) and not study.settings.get("golden_makes_relevance"):
        verdict, evidence = OPEN, [*evidence, but]
    return Finding(verdict, "; ".join(evidence), _by_numbers(study, known, bool(missing)))


def _by_numbers(study: FinegrainedStudy, known: Sequence[tuple[Bound, Difference]], lacks: bool) -> str:
    """What the differences say without intervals; a missing one might break a claim, but not mend a broken one."""
    against = [bound for bound, one in known if not bound.low <= one.value <= bound.high]
    if not against:
        return "" if lacks else AS_CLAIMED
    named = [f"{'precision' if b.metric == PRECISION else 'score'} of {_pair(study, b, ALL)}" for b in against]
    return f"{NOT_AS_CLAIMED} ({'; '.join(named)})" if lacks or len(known) > 1 else NOT_AS_CLAIMED


def _pair(study: FinegrainedStudy, bound: Bound, subset: str = "") -> str:
    negatives = "" if ALL in (bound.subset, subset) else f" on {bound.subset} negatives"
    return f"{study.title_of(bound.a)} minus {study.title_of(bound.b)}{negatives}"


def _text(bound: Bound, one: Difference) -> str:
    """``+3.4 [1.2, 5.6] points``."""
    unit, form = UNITS[bound.metric]
    interval = "" if math.isnan(one.low) else f" [{one.low:{form}}, {one.high:{form}}]"
    return f"{one.value:+{form}}{interval} {unit}".replace(" %", "%")


def _why_missing(study: FinegrainedStudy, bound: Bound) -> tuple[str, str]:
    """Verdict and reason where a difference is not there."""
    for system in (bound.a, bound.b):
        if system not in study.measured:
            reason = "" if study.in_print else study.why_not_run(system)
            return (NOT_TESTED, reason) if reason else (OPEN, f"{study.title_of(system)} has no result here")
    if bound.subset != ALL and (bound.a, bound.subset, bound.metric) not in study.values:
        return OPEN, f"no triplet is known to have {'an' * (bound.subset[0] in 'io')} {bound.subset} negative"
    return OPEN, f"{study.title_of(bound.a)} and {study.title_of(bound.b)} were not held against each other"
