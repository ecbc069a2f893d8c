"""Claims of the papers: rows of one claims.csv, each decided by a short rule that returns evidence.

A rule is a function of a room's ``claims.py`` that a claim names. It is given the study, narrowed to the claim's parts,
and the claim's parameters; its docstring says how it decides. Before it stand the gates, alike for all claims: what was
not run, and what this run cannot tell.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.model import Table
from lookalike.exhibits.printed import significant
from lookalike.exhibits.registry import PAPERS

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

HOLDS, FAILS, OPEN, NOT_TESTED = "holds", "does not hold", "undecided", "not tested"
LEFT_OUT = "left out"
"""Of what did not converge on a part, which does not count beside others."""
VERDICTS = (HOLDS, FAILS, OPEN, NOT_TESTED)
LIMITED = 0.4
"""A limit of ours counts that ended at least this share of the fits of a method: 2 of 5 folds."""
LIMITS = {
    "iterations": "stopped at its limit of iterations",
    "time": "ran into its time limit",
    "steps": "chose the last traced step",
    "grid": "chose an end of its grid",
}
"""Limits that claims.csv names, and what a method did that ran into one."""
AS_CLAIMED, NOT_AS_CLAIMED = "as claimed", "not as claimed"
"""What numbers without intervals say of a claim."""
MARGIN = 0.01
"""Differences of mAP up to this are none in practice: one point, the last digit that the papers print."""
COLUMNS = ("id", "paper", "place", "text", "study", "settings", "rule", "parameters", "methods", "limits",
           "printed_number", "implementation", "note")  # fmt: skip
"""Columns of claims.csv. ``settings``: printed settings of the parts that the claim is about, apart by ``;``;
``parameters``: a JSON object, what the rule is given; ``methods``: those that it depends on, apart by ``;``, and by
``|`` where one of several will do; ``limits``: keys of `LIMITS` that may not have ended these methods, apart by ``;``;
``printed_number``: the number that it is about, which only the paper's own data can bear out; ``implementation``: why
ours decides it and not the method; ``note``: why no rule decides it, where none does."""
VERDICT_COLUMNS = ("id", "paper", "place", "claim", "verdict", "evidence", "gate", "simulated", "rule", "decided_by")
"""What every table of verdicts on claims has; ``simulated`` is "yes" where a verdict is about simulated data."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Finding:
    """What a rule finds."""

    verdict: str
    """One of `VERDICTS`, or of one part `LEFT_OUT`."""
    evidence: str
    """The figures in words, or why there are none."""
    by_numbers: str = ""
    """What the numbers at hand say without their intervals, where a study tells that; "" where one is missing."""
    gate: str = ""
    """The gate that stopped the claim, such as ``printed number``; "" where its rule decided."""


@dataclass(frozen=True)
class Claim:
    """One row of claims.csv."""

    id: str
    paper: str
    place: str
    text: str
    study: str
    settings: tuple[str, ...]
    rule: str
    parameters: Mapping[str, Any]
    methods: tuple[str, ...]
    limits: tuple[str, ...]
    printed_number: str
    implementation: str
    note: str


Rule = Callable[..., Finding]


def claims_of(rows: Iterable[Mapping[str, str]]) -> list[Claim]:
    """Return the claims in rows of claims.csv, whose values are text."""
    found = []
    for row in rows:
        parts: dict[str, Any] = {name: row[name] for name in COLUMNS}
        for name in ("settings", "methods", "limits"):
            parts[name] = tuple(part for part in row[name].split(";") if part)
        found.append(Claim(**{**parts, "parameters": json.loads(row["parameters"] or "{}")}))
    return found


def decide(claim: Claim, study: Study, rules: Mapping[str, Rule]) -> Finding:
    """Decide one claim on a study: by the first gate that stops it, else by its rule."""
    if claim.rule and claim.rule not in rules:
        raise LookalikeError(f"claim {claim.id}: there is no rule {claim.rule!r} in studies/{claim.study}/claims.py")
    about, beside = study.about_claim(claim)
    why = study.not_run or ("" if claim.rule else claim.note) or ("" if about else beside)
    if about is None or (why := why or _methods_not_run(claim, study)):
        return Finding(NOT_TESTED, why, gate="not run")
    found = rules[claim.rule](about, **claim.parameters)
    found = replace(found, evidence=found.evidence + beside)
    if found.verdict == NOT_TESTED:
        return replace(found, gate="not run")
    for gate, why in _cannot_tell(claim, about):
        # its numbers are told all the same
        return replace(found, verdict=OPEN, evidence=f"{why} The numbers: {found.evidence}", gate=gate)
    return found


def _methods_not_run(claim: Claim, study: Study) -> str:
    """Which methods of a claim were not run, one of ``a|b`` being enough; "" where none is missing."""
    groups = [methods.split("|") for methods in claim.methods]
    missing = [" or ".join(map(study.title_of, group)) for group in groups if not any(map(study.was_run, group))]
    return f"{' and '.join(missing)} not run" if missing else ""


def _cannot_tell(claim: Claim, study: Study) -> Iterator[tuple[str, str]]:
    """The gates that leave a claim undecided whatever its numbers are, each with the reason in one sentence."""
    if claim.implementation:
        yield "implementation", f"It tells of our implementation, not of the method: {claim.implementation}."
    if claim.printed_number and (other := study.other_data()):
        where = f"and these are not the paper's data ({other})"
        yield "printed number", f"The claim is about a printed number ({claim.printed_number}), {where}."
    run = [method for methods in claim.methods for method in methods.split("|") if study.was_run(method)]
    for limit in claim.limits:
        fits = [(method, part, of) for method in run for part, of in study.ended_by(limit, method).items()]
        told = [f"{study.title_of(method)} {LIMITS[limit]} in {sum(of)} of {len(of)} fits ({part})"
                for method, part, of in fits if sum(of) >= max(1, LIMITED * len(of))]  # fmt: skip
        if told:
            yield f"limit: {limit}", f"{'; '.join(told)}."


def claims_table(study: Study, rules: Mapping[str, Rule]) -> Table:
    """Every claim of a study, in their order, with its verdict, the evidence and how it was decided."""
    found = [(claim, decide(claim, study, rules)) for claim in claims_of(study.claim_rows)]
    records = [
        (claim.id, claim.paper, claim.place, claim.text, finding.verdict, finding.evidence, finding.gate,
         "yes" * study.simulated, claim.rule, sentence_of(rules.get(claim.rule)))
        for claim, finding in found
    ]  # fmt: skip
    frame = pd.DataFrame(records, columns=list(VERDICT_COLUMNS), dtype=str)
    counts = frame["verdict"].value_counts()
    holds, fails, undecided, untested = (int(counts.get(verdict, 0)) for verdict in VERDICTS)
    told = f"{holds} hold, {fails} do not, {undecided} are undecided and {untested} were not tested"
    return Table(
        frame,
        shown={column: column for column in VERDICT_COLUMNS[1:6]} | {"decided_by": "decided by"},
        titles={"paper": {id: paper.short for id, paper in PAPERS.items()}},
        notes=() if study.not_run else (f"Of {len(frame)} claims {told}.",),
    )


def sentence_of(rule: Rule | None) -> str:
    """First sentence of a rule's docstring; "" without one."""
    paragraph = " ".join(((rule.__doc__ if rule else "") or "").partition("\n\n")[0].split())
    sentence = paragraph.partition(". ")[0].rstrip(".")
    return f"{sentence}." if sentence else ""


def together(findings: Sequence[Finding]) -> Finding:
    """It holds if all do, fails as soon as one does, else open; what was left out or not run counts only alone.

    The evidence begins with what decided, parts apart by semicolons; pages show the first and fold the rest.
    """
    verdicts = {finding.verdict for finding in findings}
    if FAILS in verdicts:
        verdict = FAILS
    elif OPEN in verdicts or not verdicts:
        verdict = OPEN
    else:
        verdict = next(one for one in (HOLDS, LEFT_OUT, NOT_TESTED) if one in verdicts)
    ordered = sorted(findings, key=lambda finding: finding.verdict != verdict)
    evidence = dict.fromkeys(finding.evidence for finding in ordered if finding.evidence)
    return Finding(verdict, "; ".join(evidence))


def of_parts(parts: Mapping[str, Finding]) -> Finding:
    """One finding of all parts, such as subsets, each under its title; what they all say alike is said once."""
    verdict = together(list(parts.values())).verdict
    said = {finding.evidence for finding in parts.values()}
    alike = len(said) == 1 < len(parts)
    ordered = sorted(parts.items(), key=lambda part: part[1].verdict != verdict)
    evidence = list(said) if alike else [f"{title}: {finding.evidence}" for title, finding in ordered]
    return Finding(OPEN if verdict == LEFT_OUT else verdict, "; ".join(evidence))


def within(intervals: Iterable[Interval], low: float, high: float) -> bool | None:
    """True where every interval lies within [low, high], False where all lie beyond it on the same side, else None."""
    intervals = list(intervals)
    if any(math.isnan(end) for interval in intervals for end in interval):
        return None
    if all(low <= a and b <= high for a, b in intervals):
        return True
    beyond = all(b < low for _, b in intervals) or all(a > high for a, _ in intervals)
    return False if beyond else None


def verdict_of(inside: bool | None) -> str:
    """Verdict of what `within` found."""
    return OPEN if inside is None else HOLDS if inside else FAILS


def superior(intervals: Sequence[Interval]) -> str:
    """Verdict on a difference that should be above 0: fails below 0, and where any difference is within the margin."""
    if any(math.isnan(end) for interval in intervals for end in interval):
        return OPEN
    if all(low > 0 for low, _ in intervals):
        return HOLDS
    below = all(high < 0 for _, high in intervals)
    return FAILS if below or within(intervals, -MARGIN, MARGIN) else OPEN


def triplets_seen(name: str, n: float, seconds: float) -> str:
    """``OASIS 100,000 triplets at 3.8 µs each``; a method that takes all at once has no time by the triplet."""
    if math.isnan(n):
        return f"{name} all images in every iteration"
    return f"{name} {n:,.0f} triplets at {significant(1e6 * seconds / n)} µs each"


def both_ways(total: Finding, per_triplet: Finding) -> Finding:
    """One finding of training times: as both say, in total and by the triplet seen; open where they differ."""
    verdict = total.verdict if total.verdict == per_triplet.verdict else OPEN
    return replace(
        total, verdict=verdict, evidence=f"in total: {total.evidence}; by the triplet: {per_triplet.evidence}"
    )
