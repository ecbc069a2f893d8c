"""Claims of the papers: rows of one claims.csv, each decided by a short rule that returns evidence.

A rule, marked with ``@rule``, is given the study, narrowed to the claim's parts, and the claim's parameters.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.model import Table
from lookalike.exhibits.registry import PAPERS

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

HOLDS, FAILS, OPEN = "holds", "does not hold", "not decidable here"
NOT_RUN = "not run"
LEFT_OUT = "left out"
"""Of what did not converge or was not traced on a part, which does not count beside others."""
VERDICTS = (HOLDS, FAILS, OPEN)
MARGIN = 0.01
"""Differences of mAP up to this are none in practice: one point, the last digit that the papers print."""
COLUMNS = ("id", "paper", "place", "text", "study", "settings", "rule", "parameters", "depends", "note")
"""Columns of claims.csv. ``settings``: printed settings of the parts that the claim is about, apart by ``;``;
``parameters``: a JSON object, what the rule is given; ``depends``: methods and limits that it depends on, apart by
``;``; ``note``: why no rule decides it, where none does."""

VERDICT_COLUMNS = ("id", "paper", "place", "claim", "verdict", "evidence", "rule", "decided_by")
"""What every table of verdicts on claims has."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Finding:
    """What a rule finds."""

    verdict: str
    """`HOLDS`, `FAILS`, `OPEN`, or of one part `LEFT_OUT`."""
    evidence: str
    """The figures in words, or why there are none."""
    by_numbers: str = ""
    """What the numbers at hand say without their intervals, where a study tells that; "" where one is missing."""


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
    depends: tuple[str, ...]
    note: str


Rule = Callable[..., Finding]


def rule(function: Rule) -> Rule:
    """Mark a function as a rule, which claims.csv names; its docstring says how it decides."""
    function.is_rule = True  # type: ignore[attr-defined]
    return function


def rules_of(module: ModuleType) -> dict[str, Rule]:
    """Rules of a room's ``claims.py`` by name."""
    return {name: found for name, found in vars(module).items() if getattr(found, "is_rule", False)}


def claims_of(rows: Iterable[Mapping[str, str]]) -> list[Claim]:
    """Return the claims in rows of claims.csv, whose values are text."""
    found = []
    for row in rows:
        parts: dict[str, Any] = {name: row[name] for name in COLUMNS}
        for name in ("settings", "depends"):
            parts[name] = tuple(part for part in row[name].split(";") if part)
        found.append(Claim(**{**parts, "parameters": json.loads(row["parameters"] or "{}")}))
    return found


def decide(claim: Claim, study: Study, rules: Mapping[str, Rule]) -> Finding:
    """Decide one claim on a study: by its rule, once it has passed what holds for all claims."""
    if study.not_run:
        return Finding(NOT_RUN, study.not_run)
    if not claim.rule:
        return Finding(OPEN, claim.note)
    if claim.rule not in rules:
        raise LookalikeError(f"claim {claim.id}: there is no rule {claim.rule!r} in studies/{claim.study}/claims.py")
    return study.decide(claim, rules[claim.rule])


def claims_table(study: Study, rules: Mapping[str, Rule]) -> Table:
    """Every claim of a study, in their order, with its verdict, the evidence and how it was decided."""
    found = [(claim, decide(claim, study, rules)) for claim in claims_of(study.claim_rows)]
    records = [
        (claim.id, claim.paper, claim.place, claim.text, finding.verdict, finding.evidence, claim.rule,
         sentence_of(rules.get(claim.rule)))
        for claim, finding in found
    ]  # fmt: skip
    frame = pd.DataFrame(records, columns=list(VERDICT_COLUMNS), dtype=str)
    counts = frame["verdict"].value_counts()
    told = ", ".join(f"{verdict}: {int(counts.get(verdict, 0))}" for verdict in VERDICTS)
    return Table(
        frame,
        shown={column: column for column in VERDICT_COLUMNS[1:6]} | {"decided_by": "decided by"},
        titles={"paper": {id: paper.short for id, paper in PAPERS.items()}},
        notes=() if study.not_run else (f"Of {len(frame)} claims, {told}.",),
    )


def sentence_of(rule: Rule | None) -> str:
    """First sentence of a rule's docstring; "" without one."""
    paragraph = " ".join(((rule.__doc__ if rule else "") or "").partition("\n\n")[0].split())
    sentence = paragraph.partition(". ")[0].rstrip(".")
    return f"{sentence}." if sentence else ""


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


def of_parts(parts: Mapping[str, Finding]) -> Finding:
    """One finding of all parts, such as subsets, each under its title; what they all say alike is said once."""
    verdict = together(list(parts.values())).verdict
    said = {finding.evidence for finding in parts.values()}
    alike = len(said) == 1 < len(parts)
    evidence = list(said) if alike else [f"{title}: {finding.evidence}" for title, finding in parts.items()]
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


def also_said(finding: Finding, words: str) -> Finding:
    """The same finding with further words of evidence."""
    return replace(finding, evidence=finding.evidence + words)
