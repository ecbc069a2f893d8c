"""Claims of the papers: rows of claims.csv, each a predicate over contrasts that answers with an outcome and its rows.

A claim names the contrasts that it is about (``map: oasis - mcml, lego``), a predicate of `PREDICATES`, and its bounds.
Before the predicate stand the gates, alike for all claims: what was not run, and what this run cannot tell.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, NamedTuple

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.certainty import LEVEL, LOST, at_level, quantile, share_below, smallest_level
from lookalike.exhibits.contrasts import (
    NO_RESULT,
    NOT_RUN,
    VACUOUS,
    Contrast,
)
from lookalike.exhibits.statuses import Outcome

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

MARGIN = 1.0
"""Differences up to this are none in practice: one point of mAP, the last digit that the papers print."""


class Kind(StrEnum):
    """What a claim is about."""

    PRECISION = "precision"
    """How well a method ranks."""
    QUALITY = "quality"
    """Something else of a method or of what it learns, such as sparsity, symmetry or when it saturates."""
    IMPLEMENTATION = "implementation"
    """What a program takes, or what no right program could be against: the verdict is of our programs."""


class Reason(StrEnum):
    """Why a claim has its outcome."""

    DECIDED = ""
    NO_RULE = "no rule"
    NOT_RUN = "not run"
    IMPLEMENTATION = "implementation"
    PRINTED_NUMBER = "printed number"
    PROTOCOL = "protocol"
    SIMULATED = "simulated raters"
    LIMIT = "limit"
    NO_INTERVAL = "no interval"
    """It is decided, by numbers that have no interval, so that nothing says how sure it is."""
    AMONG_OTHERS = "not sure among others"
    """It is sure by itself, and not among all verdicts of its paper (Holm)."""


class Sought(NamedTuple):
    """Contrasts that a claim is about: a metric, and names of methods or of roles that methods have in a study."""

    metric: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    """Empty where the claim is about levels of the first. One of ``a|b`` is enough."""
    is_optional: bool = False
    """Whether the claim does without it where it was not measured."""


@dataclass(frozen=True)
class Claim:
    """One row of claims.csv."""

    id: str
    paper: str
    place: str
    exhibit: str
    text: str
    study: str
    kind: Kind
    settings: tuple[str, ...]
    contrasts: tuple[Sought, ...]
    predicate: str
    parameters: Mapping[str, Any]
    limits: tuple[str, ...]
    printed_number: str
    implementation: str
    protocol: str
    note: str


class Scope(NamedTuple):
    """The parts of a study that a claim is about."""

    settings: Sequence[str]
    """From small to large."""
    absent: Sequence[str] = ()
    """Printed settings of the claim that were not run, or have not what it is about."""


ABSENT = f":{NOT_RUN}"
"""Limit of a row that stands for a contrast that there is not, though its methods were run."""
NOWHERE = Scope(())


@dataclass(frozen=True)
class Verdict:
    """What a claim's contrasts say of it."""

    outcome: Outcome
    rows: tuple[Contrast, ...] = ()
    """The rows behind it, those that decided first."""
    reason: Reason = Reason.DECIDED
    scope: Scope = NOWHERE
    p: float = math.nan
    """How sure it is: the smallest level of intervals at which it comes out so, or at all where it is open by its
    predicate; NaN where chance has no part in it."""


Group = list[Contrast]
"""Every interval of one contrast."""


def claims_of(rows: Iterable[Mapping[str, str]]) -> list[Claim]:
    """Return the claims in rows of claims.csv, whose values are text."""
    found = []
    for row in rows:
        parts: dict[str, Any] = {**row, "contrasts": tuple(map(sought, filter(None, row["contrasts"].split(";"))))}
        for name in ("settings", "limits"):
            parts[name] = tuple(part for part in row[name].split(";") if part)
        found.append(Claim(**{**parts, "kind": Kind(row["kind"]), "parameters": json.loads(row["parameters"] or "{}")}))
    return found


def sought(text: str) -> Sought:
    """Read ``metric: first, first - second, second``; ``metric?: ...`` is left out where there is none."""
    metric, _, names = text.partition(": ")
    first, _, second = names.partition(" - ")
    firsts, seconds = (tuple(name.strip() for name in side.split(",") if name.strip()) for side in (first, second))
    return Sought(metric.replace("?", "").strip(), firsts, seconds, "?" in metric)


def decide(claim: Claim, study: Study) -> Verdict:
    """Decide a claim on a study: by the first gate that stops it, else by its predicate."""
    if study.not_run or not claim.predicate:
        return Verdict(Outcome.NOT_TESTED, reason=Reason.NOT_RUN if study.not_run else Reason.NO_RULE)
    if claim.predicate not in PREDICATES:
        raise LookalikeError(f"claim {claim.id}: there is no predicate {claim.predicate!r}")
    if not all(any(map(study.was_run, methods)) for methods in methods_of(claim, study)):
        return Verdict(Outcome.NOT_TESTED, reason=Reason.NOT_RUN)
    scope = study.scope_of(claim)
    groups, ask = groups_in(claim, study, scope.settings), partial(PREDICATES[claim.predicate], **claim.parameters)
    found = replace(ask(groups), scope=scope)
    if found.outcome is Outcome.LEFT_OUT:
        found = replace(found, outcome=Outcome.OPEN)
    if found.outcome is Outcome.NOT_TESTED:
        return replace(found, reason=Reason.NOT_RUN)
    limited = {limit for row in found.rows for _, limit in row.codes}
    for reason, stops in (
        (Reason.IMPLEMENTATION, claim.implementation and claim.kind is not Kind.IMPLEMENTATION),
        (Reason.PROTOCOL, claim.protocol and not study.follows_protocol() and found.outcome is not Outcome.OPEN),
        (Reason.PRINTED_NUMBER, claim.printed_number and study.other_data(scope.settings)),
        (Reason.SIMULATED, study.simulated),
        (Reason.LIMIT, limited & {*claim.limits}),
    ):
        if stops:
            return replace(found, outcome=Outcome.OPEN, reason=reason)
    p = p_of(groups, ask, found.outcome)
    has_interval = not math.isnan(p) or any(row.is_of_chance for row in found.rows)
    by_number = not has_interval and found.outcome is not Outcome.OPEN
    return replace(found, p=p, reason=Reason.NO_INTERVAL if by_number else Reason.DECIDED)


def p_of(groups: Sequence[Group], ask: Callable[[Sequence[Group]], Verdict], outcome: Outcome) -> float:
    """Return how sure an outcome is, or how near an open one is to being decided."""
    wanted = {Outcome.HOLDS, Outcome.FAILS} if outcome is Outcome.OPEN else {outcome}
    return smallest_level(
        lambda level: ask([[at_level(row, level) for row in group] for group in groups]).outcome in wanted
    )


def methods_of(claim: Claim, study: Study) -> list[list[str]]:
    """Return groups of methods that a claim depends on, of each of which one is enough."""
    parts = (part for part in claim.contrasts if not part.is_optional)
    names = dict.fromkeys(name for part in parts for name in (*part.first, *part.second))
    return [[method for role in name.split("|") for method in study.role(role)] for name in names]


def groups_in(claim: Claim, study: Study, settings: Sequence[str]) -> list[Group]:
    """Return the rows of a claim on some settings.

    Where a setting has only some of the contrasts, the others are not known; where it has none, it was not run.
    """
    found = []
    for setting in settings:
        parts = [(part, group) for part in claim.contrasts for group in groups_of(study, setting, part)]
        groups = [group for part, group in parts if not part.is_optional or NOT_RUN not in group[0].limits]
        is_partial = any(NOT_RUN not in row.limits for group in groups for row in group)
        found += [
            [replace(row, limits="") if is_partial and row.limits == ABSENT else row for row in group]
            for group in groups
        ]
    return found


def groups_of(study: Study, setting: str, part: Sought) -> list[Group]:
    """Return the rows of each contrast of a part of a claim; one without a number stands for what there is not."""
    first, second = (
        [method for name in names for role in name.split("|") for method in study.role(role)]
        for names in (part.first, part.second or ("",))
    )
    groups = []
    for pair in (pair for pair in product(first, second) if pair[0] != pair[1]):
        absent = [method for method in pair if method and not study.was_run(method, setting)]
        limits = ";".join(f"{method}:{NOT_RUN}" for method in absent) or ABSENT
        about = (setting, part.metric, *pair)
        groups.append(study.contrasts.intervals(*about) or [Contrast(*about, limits=limits)])
    return groups


def together(groups: Sequence[Group], ask: Callable[[Group], Outcome]) -> Verdict:
    """It holds if all do, fails as soon as one does, else is open; what was left out or not run counts only alone."""
    outcomes = [unknown(group) or ask(group) for group in groups]
    order = (Outcome.FAILS, Outcome.OPEN, Outcome.HOLDS, Outcome.LEFT_OUT, Outcome.NOT_TESTED)
    outcome = next((outcome for outcome in order if outcome in outcomes), Outcome.NOT_TESTED)
    decided = [group for group, found in zip(groups, outcomes, strict=True) if found is outcome]
    others = [group for group, found in zip(groups, outcomes, strict=True) if found is not outcome]
    return Verdict(outcome, tuple(row for group in (*decided, *others) for row in group))


def unknown(group: Group) -> Outcome | None:
    """Say of a contrast without a number that nothing could have come of it, that it was not run, or nothing."""
    absent = [{limit for _, limit in row.codes} for row in group if math.isnan(row.mean)]
    if not absent:
        return None
    if any({NO_RESULT, VACUOUS} & limits for limits in absent):
        return Outcome.LEFT_OUT
    return Outcome.NOT_TESTED if all(NOT_RUN in limits for limits in absent) else Outcome.OPEN


def joined(groups: Sequence[Group], key: Callable[[Contrast], Hashable]) -> list[Group]:
    """Put groups of one part together, such as all of a setting."""
    parts: dict[Hashable, Group] = {}
    for group in groups:
        parts.setdefault(key(group[0]), []).extend(group)
    return list(parts.values())


# Predicates -----------------------------------------------------------------------------------------------------------


def inside(group: Group, low: float, high: float) -> Outcome:
    """Tell whether every interval lies within the bounds, or all beyond them on one side; else it is open."""
    if any(math.isnan(end) for row in group for end in (row.low, row.high)):
        return Outcome.OPEN
    if all(low <= row.low and row.high <= high for row in group):
        return Outcome.HOLDS
    beyond = all(row.high < low for row in group) or all(row.low > high for row in group)
    return Outcome.FAILS if beyond else Outcome.OPEN


def better(group: Group) -> int:
    """Return 1 where the first is better for sure, by every interval and p, -1 where the second is, else 0."""
    is_sure = not any(row.p >= LEVEL for row in group) and not any(math.isnan(row.low + row.high) for row in group)
    above_0, below_0 = all(row.low > 0 for row in group), all(row.high < 0 for row in group)
    return (above_0 - below_0) * is_sure


def p_at(row: Contrast, bound: float) -> float:
    """Return the two-sided p-value of a mean that is the bound, by the 95% interval of a t-test.

    Ratios are taken by their logarithms. That of another interval is known at 0 alone, and elsewhere nothing is left to
    chance.
    """
    if row.interval not in LOST:
        return row.p if bound == 0 else 0.0
    mean, high, at = (row.mean, row.high, bound)
    if row.unit == "ratio":
        mean, high, at = (-math.inf if value <= 0 else math.log(value) for value in (mean, high, at))
    if mean == high:
        return float(mean == at)
    error = (high - mean) / quantile(row, 1 - LEVEL / 2)
    return 2 * share_below(row, -abs(mean - at) / error)


def refuted(groups: Sequence[Group], low: float, high: float) -> set[tuple[str, str, str, str]]:
    """Return the contrasts that are not the nearer bound by more than chance, by Holm's p below 0.05."""
    # heavy, and every plan imports this module
    from lookalike.ranking.comparison import holm

    rows = [group[0] for group in groups if unknown(group) is None]
    p_values = holm([max(p_at(row, low), p_at(row, high)) for row in rows])
    return {row.key for row, p in zip(rows, p_values, strict=True) if p < LEVEL}


def within(
    groups: Sequence[Group],
    low: float = -math.inf,
    high: float = math.inf,
    *,
    adjusted: bool = False,
    strictly: bool = False,
    never_fails: str = "",
) -> Verdict:
    """Holds if every 95% interval lies within the bounds; fails if one lies beyond, if `adjusted` not by chance.

    `strictly`: at a bound is not within it; two methods that rank alike do not bear out that one is better.
    `never_fails`: a metric that the paper says nothing of; beyond the bounds it leaves the claim open.
    """
    sure = refuted(groups, low, high) if adjusted else {group[0].key for group in groups}
    if strictly:
        low, high = math.nextafter(low, math.inf), high if math.isinf(high) else math.nextafter(high, -math.inf)

    def ask(group: Group) -> Outcome:
        side = inside(group, low, high)
        is_open = group[0].key not in sure or group[0].metric == never_fails
        return Outcome.OPEN if side is Outcome.FAILS and is_open else side

    return together(groups, ask)


def above(groups: Sequence[Group], margin: float = 0.0) -> Verdict:
    """Holds if every 95% interval lies above 0 and p is small; fails if one lies below 0, or within a margin of it.

    What is better by nothing in particular has no margin; only what is about a size has one.
    """

    def ask(group: Group) -> Outcome:
        is_sure = not any(row.p >= LEVEL for row in group)
        side = inside(group, math.nextafter(0, 1), math.inf) if is_sure else Outcome.OPEN
        return Outcome.FAILS if side is Outcome.OPEN and inside(group, -margin, margin) is Outcome.HOLDS else side

    return together(groups, ask)


def near_print(groups: Sequence[Group], margin: float) -> Verdict:
    """Holds if every number is within a margin of the printed one; fails if one is not."""
    return together(groups, lambda group: inside(group, group[0].printed - margin, group[0].printed + margin))


def at_most_print(groups: Sequence[Group], times: float) -> Verdict:
    """Holds if every number is at most a multiple of the printed one; fails if one is larger."""
    return together(groups, lambda group: inside(group, -math.inf, times * group[0].printed))


def around_print(groups: Sequence[Group]) -> Verdict:
    """Holds if the printed number lies in every interval; fails if it lies outside of one."""

    def ask(group: Group) -> Outcome:
        return Outcome.HOLDS if all(row.low <= row.printed <= row.high for row in group) else Outcome.FAILS

    return together(groups, ask)


def on_average(groups: Sequence[Group], times: float) -> Verdict:
    """Holds if the geometric mean of the ratios is at least a factor, in total and by the triplet; fails if neither."""
    found = within(groups)
    if found.outcome is not Outcome.HOLDS or any(row.low < row.high for row in found.rows):
        return found if found.outcome is not Outcome.HOLDS else replace(found, outcome=Outcome.OPEN)
    known = [row for row in found.rows if row.mean > 0]
    metrics = dict.fromkeys(row.metric for row in known)
    means = [[math.log(row.mean) for row in known if row.metric == metric] for metric in metrics]
    met = [math.exp(sum(factors) / len(factors)) >= times for factors in means]
    return replace(found, outcome=Outcome.HOLDS if all(met) else Outcome.OPEN if any(met) else Outcome.FAILS)


def at_least(groups: Sequence[Group], times: float, most: float = math.inf) -> Verdict:
    """Holds if the ratios of a part are all at least a factor, or more than 1; fails if none is, open if some are.

    With `most`, a ratio above it is none either: what is faster by one order of magnitude is not so by two.
    """

    def ask(group: Group) -> Outcome:
        least = math.nextafter(1, 2) if times == 1 else times
        of_rows = {inside([row], least, most) for row in group if not math.isnan(row.mean)}
        return of_rows.pop() if len(of_rows) == 1 else Outcome.OPEN

    # without a number by the triplet, that in total decides
    pairs = joined(groups, lambda row: (row.setting, row.first, row.second))
    return together([[row for row in rows if not math.isnan(row.mean)] or rows[:1] for rows in pairs], ask)


def not_always(groups: Sequence[Group], most: float) -> Verdict:
    """Holds if one number is above a bound, which is against a guarantee that none is; fails if all are within it."""
    guaranteed = within(groups, high=most)
    turned = {Outcome.HOLDS: Outcome.FAILS, Outcome.FAILS: Outcome.HOLDS}
    return replace(guaranteed, outcome=turned.get(guaranteed.outcome, guaranteed.outcome))


def at_every_k(groups: Sequence[Group]) -> Verdict:
    """Holds if the first is higher at every k, and on average for sure; fails if it is lower for sure at one, or so."""

    def ask(group: Group) -> Outcome:
        average, *single = group
        if average.high < 0 or any(row.mean < 0 and row.p < LEVEL for row in single):
            return Outcome.FAILS
        return Outcome.HOLDS if average.low > 0 and all(row.mean > 0 for row in single) else Outcome.OPEN

    return together(groups, ask)


def increases(groups: Sequence[Group], *, decreases: bool = False) -> Verdict:
    """Holds if the number of the largest setting is surely above that of each smaller one; fails if below one.

    With `decreases` it is the other way round.
    """
    known = [group for group in groups if unknown(group) is None]
    if len(known) < 2 or any(math.isinf(row.mean) for group in known for row in group):
        return Verdict(Outcome.OPEN, tuple(row for group in groups for row in group))
    (*smaller, [largest]), sign = known, -1 if decreases else 1
    ends = [(largest.mean - row.mean, largest.low - row.high, largest.high - row.low) for (row,) in smaller]
    gaps = [replace(largest, mean=sign * mean, low=sign * low, high=sign * high) for mean, low, high in ends]
    outcomes = [inside([gap], math.nextafter(0, 1), math.inf) for gap in gaps]
    order = (Outcome.FAILS, Outcome.OPEN, Outcome.HOLDS)
    outcome = next(outcome for outcome in order if outcome in outcomes)
    return Verdict(outcome, tuple(row for group in known for row in group))


def largest(groups: Sequence[Group]) -> Verdict:
    """Holds if the first number is larger than each other one that is known; fails if one is larger than it."""

    def ask(group: Group) -> Outcome:
        first, *others = group
        most = max((row.mean for row in others if row.low == row.high), default=math.nan)
        side = Outcome.OPEN if math.isnan(most) else inside([first], math.nextafter(most, math.inf), math.inf)
        # a limit of its own that is shorter than what others took decides nothing
        return Outcome.LEFT_OUT if side is Outcome.OPEN and first.low < first.high else side

    known = [
        [row for row in part if row is part[0] or not math.isnan(row.mean)]
        for part in joined(groups, lambda row: row.setting)
    ]
    return together(known, ask)


def does_not_end(groups: Sequence[Group]) -> Verdict:
    """Holds if no fit ends within the time limit of this study; fails if one does."""
    found = within(groups)
    turned = {Outcome.LEFT_OUT: Outcome.HOLDS, Outcome.HOLDS: Outcome.FAILS}
    return replace(found, outcome=turned.get(found.outcome, found.outcome))


def overfits(groups: Sequence[Group], times: float) -> Verdict:
    """Holds if the gain on training images is so many times that on test images, and surely larger by a point.

    It is open where the interval does not tell, and else fails.
    """

    def ask(group: Group) -> Outcome:
        on_training, on_test, beyond = (row for row in group if row.interval != "images")
        larger = inside([beyond], MARGIN, math.inf)
        many = on_training.mean > 0 and on_training.mean >= times * on_test.mean
        return larger if many or larger is Outcome.OPEN else Outcome.FAILS

    return together(joined(groups, lambda row: row.setting), ask)


def falls_from_one(groups: Sequence[Group], rise: float) -> Verdict:
    """Holds if a number starts at 1 and falls to its end, never rising by more than noise; else fails, or is open.

    It is open where the traced steps around the end do not tell.
    """

    def ask(group: Group) -> Outcome:
        start, change, rises = group
        is_against = {start: abs(start.mean - 1) > 0.001, change: change.mean >= 0, rises: rises.mean > rise}
        # what decides is said first
        group.sort(key=lambda row: not is_against[row])
        if any(is_against.values()):
            return Outcome.FAILS
        return Outcome.OPEN if change.low < change.high else Outcome.HOLDS

    return together(joined(groups, lambda row: row.setting), ask)


def falls(groups: Sequence[Group]) -> Verdict:
    """Holds if the last minus the first lies below 0 and no number on the way rises; fails if it lies above 0."""
    change, *way = groups or [[]]
    if not way:
        return Verdict(Outcome.NOT_TESTED)
    found = within([[row.reversed() for row in change]], low=0, adjusted=True, strictly=True)
    numbers = [group[0].mean for group in way]
    rises = any(later > before for before, later in pairwise(numbers))
    # numbers without intervals bear it out or not
    is_plain = all(row.low == row.high for group in groups for row in group)
    if rises and found.outcome is Outcome.HOLDS:
        found = replace(found, outcome=Outcome.FAILS if is_plain else Outcome.OPEN)
    return replace(found, rows=tuple(row for group in groups for row in group))


def both_ways(
    groups: Sequence[Group], low: float = -math.inf, high: float = math.inf, *, adjusted: bool = False
) -> Verdict:
    """Holds, or fails, if `within` says so both in total and by the triplet; open where these differ."""
    metrics: dict[str, list[Group]] = {}
    for group in groups:
        metrics.setdefault(group[0].metric, []).append(group)
    found = [within(of_metric, low, high, adjusted=adjusted) for of_metric in metrics.values()]
    outcomes = {verdict.outcome for verdict in found}
    rows = [row for verdict in found for row in verdict.rows]
    pairs = dict.fromkeys((row.setting, row.first, row.second) for row in rows)
    return Verdict(
        outcomes.pop() if len(outcomes) == 1 else Outcome.OPEN,
        tuple(row for pair in pairs for row in rows if (row.setting, row.first, row.second) == pair),
    )


PREDICATES: dict[str, Callable[..., Verdict]] = {
    predicate.__name__: predicate
    for predicate in (
        *(within, above, near_print, at_most_print, around_print, on_average, at_least, not_always, at_every_k),
        *(increases, largest, does_not_end, overfits, falls, falls_from_one, both_ways),
    )
}
