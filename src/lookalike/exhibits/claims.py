"""Claims of the papers: rows of claims.csv, each a predicate over contrasts that answers with an outcome and its rows.

A claim names the contrasts that it is about (``map: oasis - mcml, lego``), a predicate of `PREDICATES`, and its bounds.
Its contrasts decide it by their 95% intervals; a number without an interval is a cell of a table and decides nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.contrasts import NO_RESULT, NOT_RUN, Contrast
from lookalike.exhibits.statuses import Outcome

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

LEVEL = 0.05
"""A p-value below it is small, and intervals are of 1 minus it."""
LOST = {"folds": 1, "jackknife over classes": 1, "landmarks": 1, "seeds": 1}
"""Intervals that are of a t distribution to how many degrees of freedom fewer than repeats it has."""


class Reason(StrEnum):
    """Why a claim has its outcome."""

    DECIDED = ""
    NOT_RUN = "not run"
    PROTOCOL = "protocol"
    LIMIT = "limit"
    NO_INTERVAL = "no interval"
    AMONG_OTHERS = "not sure among others"
    """It is sure by itself, and not among all primary claims of its paper (Holm)."""


class Pairs(NamedTuple):
    """Contrasts that a claim is about: a metric, and names of methods or of roles that methods have in a study."""

    metric: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    """Empty where the claim is about levels of the first."""
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
    settings: tuple[str, ...]
    contrasts: tuple[Pairs, ...]
    predicate: str
    parameters: Mapping[str, Any]
    limits: tuple[str, ...]
    protocol: str
    run: tuple[str, ...]
    """Data sets of which the first that was run decides it, where it is a primary claim."""
    seen: str
    """What had been seen of the answer when it became a primary claim."""


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
    """What a claim's contrasts say of it, or one of them."""

    outcome: Outcome
    rows: tuple[Contrast, ...] = ()
    """The rows behind it, those that decided first."""
    p: float = math.nan
    """The smallest level of intervals at which it comes out so; NaN where it is open."""
    reason: Reason = Reason.DECIDED
    scope: Scope = NOWHERE


Group = list[Contrast]
"""Every interval of one contrast."""


def claims_of(rows: Iterable[Mapping[str, str]]) -> list[Claim]:
    """Return the claims in rows of claims.csv, whose values are text."""
    found = []
    for row in rows:
        parts: dict[str, Any] = {**row, "contrasts": tuple(map(read_pairs, filter(None, row["contrasts"].split(";"))))}
        for name in ("settings", "limits", "run"):
            parts[name] = tuple(part for part in row[name].split(";") if part)
        found.append(Claim(**{**parts, "parameters": json.loads(row["parameters"] or "{}")}))
    return found


def read_pairs(text: str) -> Pairs:
    """Read ``metric: first, first - second, second``; ``metric?: ...`` is left out where there is none."""
    metric, _, names = text.partition(": ")
    first, _, second = names.partition(" - ")
    firsts, seconds = (tuple(name.strip() for name in names.split(",") if name.strip()) for names in (first, second))
    return Pairs(metric.replace("?", "").strip(), firsts, seconds, "?" in metric)


def decide(claim: Claim, study: Study) -> Verdict:
    """Decide a claim on a study by its predicate, unless it was not run or this run cannot tell."""
    if claim.predicate not in PREDICATES:
        raise LookalikeError(f"claim {claim.id}: there is no predicate {claim.predicate!r}")
    if study.not_run or not all(any(map(study.was_run, methods)) for methods in methods_of(claim, study)):
        return Verdict(Outcome.NOT_RUN, reason=Reason.NOT_RUN)
    scope = study.scope_of(claim)
    ask = partial(PREDICATES[claim.predicate], **claim.parameters)
    found = replace(together(groups_in(claim, study, scope.settings), ask), scope=scope)
    if found.outcome is Outcome.LEFT_OUT:
        found = replace(found, outcome=Outcome.OPEN)
    if found.outcome is Outcome.NOT_RUN:
        return replace(found, reason=Reason.NOT_RUN)
    limited = {limit for row in found.rows for _, limit in row.codes}
    for reason, stops in (
        (Reason.PROTOCOL, claim.protocol and not study.follows_protocol()),
        (Reason.LIMIT, limited & {*claim.limits}),
        (Reason.NO_INTERVAL, found.outcome is not Outcome.OPEN and not any(row.has_interval for row in found.rows)),
    ):
        if stops:
            return replace(found, outcome=Outcome.OPEN, p=math.nan, reason=reason)
    return found


def methods_of(claim: Claim, study: Study) -> list[list[str]]:
    """Return groups of methods that a claim depends on, of each of which one is enough."""
    parts = (part for part in claim.contrasts if not part.is_optional)
    return [study.role(name) for name in dict.fromkeys(name for part in parts for name in (*part.first, *part.second))]


def groups_in(claim: Claim, study: Study, settings: Sequence[str]) -> list[Group]:
    """Return the rows of a claim on some settings.

    Where a setting has only some of the contrasts, the others are not known; where it has none, it was not run.
    """
    found = []
    for setting in settings:
        parts = [(part, group) for part in claim.contrasts for group in groups_of(study, setting, part)]
        groups = [group for part, group in parts if not (part.is_optional and math.isnan(group[0].mean))]
        is_partial = any(NOT_RUN not in row.limits for group in groups for row in group)
        found += [
            [replace(row, limits="") if is_partial and row.limits == ABSENT else row for row in group]
            for group in groups
        ]
    return found


def groups_of(study: Study, setting: str, part: Pairs) -> list[Group]:
    """Return the rows of each contrast of a part of a claim; one without a number stands for what there is not."""
    first, second = (
        [method for name in names for method in study.role(name)] for names in (part.first, part.second or ("",))
    )
    groups = []
    for pair in (pair for pair in product(first, second) if pair[0] != pair[1]):
        absent = [method for method in pair if method and not study.was_run(method, setting)]
        limits = ";".join(f"{method}:{NOT_RUN}" for method in absent) or ABSENT
        about = (setting, part.metric, *pair)
        groups.append(study.contrasts.intervals(*about) or [Contrast(*about, limits=limits)])
    return groups


def together(groups: Sequence[Group], ask: Callable[[Group], Verdict]) -> Verdict:
    """It holds if all do, fails if one does, else is open; what was left out or not run counts only alone.

    It holds with the largest p. One contrast of several is against it by chance more often than a single one: it fails
    if the smallest p, times their number, is small.
    """
    answers = [unknown(group) or ask(group) for group in groups]
    against = [answer.p for answer in answers if answer.outcome is Outcome.FAILS]
    n_known = sum(answer.outcome not in (Outcome.LEFT_OUT, Outcome.NOT_RUN) for answer in answers)
    if against and n_known * min(against) >= LEVEL:
        answers = [Verdict(Outcome.OPEN) if answer.outcome is Outcome.FAILS else answer for answer in answers]
    outcomes = [answer.outcome for answer in answers]
    order = (Outcome.FAILS, Outcome.OPEN, Outcome.HOLDS, Outcome.LEFT_OUT, Outcome.NOT_RUN)
    outcome = next((outcome for outcome in order if outcome in outcomes), Outcome.NOT_RUN)
    levels = [answer.p for answer in answers if answer.outcome is outcome]
    p = max(levels) if outcome is Outcome.HOLDS else n_known * min(levels) if outcome is Outcome.FAILS else math.nan
    decided = [group for group, found in zip(groups, outcomes, strict=True) if found is outcome]
    others = [group for group, found in zip(groups, outcomes, strict=True) if found is not outcome]
    return Verdict(outcome, tuple(row for group in (*decided, *others) for row in group), p)


def unknown(group: Group) -> Verdict | None:
    """Say of a contrast without a number that a fit did not end, that it was not run, or nothing."""
    absent = [{limit for _, limit in row.codes} for row in group if math.isnan(row.mean)]
    if not absent:
        return None
    if any(NO_RESULT in limits for limits in absent):
        return Verdict(Outcome.LEFT_OUT)
    return Verdict(Outcome.NOT_RUN if all(NOT_RUN in limits for limits in absent) else Outcome.OPEN)


def p_at(row: Contrast, bound: float) -> float:
    """Return the two-sided p-value of a mean that is the bound, by the distribution that the interval of a row is of.

    A 95% interval is as many standard errors wide as its t or normal distribution says.
    """
    # heavy, and every plan imports this module
    from scipy import special

    if math.isinf(bound) or not row.has_interval:
        return 0.0
    if bound == 0 and not math.isnan(row.p):
        return row.p
    mean, near, at = row.mean, row.low if bound < row.mean else row.high, bound
    if mean == near:
        return float(mean == at)
    freedom = row.n - LOST.get(row.interval, row.n)
    reach = special.stdtrit(freedom, 1 - LEVEL / 2) if freedom > 0 else special.ndtri(1 - LEVEL / 2)
    errors = -abs(mean - at) * reach / abs(near - mean)
    return float(2 * (special.stdtr(freedom, errors) if freedom > 0 else special.ndtr(errors)))


# Predicates -----------------------------------------------------------------------------------------------------------


def within(group: Group, low: float = -math.inf, high: float = math.inf) -> Verdict:
    """Holds if every 95% interval lies within the bounds, fails if all lie beyond; at a bound is not within it."""
    if any(math.isnan(row.low + row.high) for row in group):
        return Verdict(Outcome.OPEN)
    p_of_bounds = [(p_at(row, low), p_at(row, high)) for row in group]
    below, above = (max(levels) for levels in zip(*p_of_bounds, strict=True))
    for outcome, is_so, p in (
        (Outcome.HOLDS, all(low < row.low and row.high < high for row in group), max(below, above)),
        (Outcome.FAILS, all(row.high <= low for row in group), below),
        (Outcome.FAILS, all(row.low >= high for row in group), above),
    ):
        if is_so and p < LEVEL:
            return Verdict(outcome, p=p)
    return Verdict(Outcome.OPEN)


def at_every_k(group: Group) -> Verdict:
    """Holds if the first is higher at every k, and on average for sure; fails if it is lower for sure at one, or so."""
    average, *single = group
    lower = [row.p for row in single if row.mean < 0 and row.p < LEVEL] + [average.p] * (average.high < 0)
    if lower:
        return Verdict(Outcome.FAILS, p=min(lower))
    is_higher = average.low > 0 and all(row.mean > 0 for row in single)
    return Verdict(Outcome.HOLDS, p=average.p) if is_higher else Verdict(Outcome.OPEN)


PREDICATES: dict[str, Callable[..., Verdict]] = {predicate.__name__: predicate for predicate in (within, at_every_k)}
"""What asks one contrast, by all of its intervals."""
