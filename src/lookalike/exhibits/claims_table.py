"""The table of a study's claims: each with its verdict, what decided it, and what means and printed numbers say."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from lookalike.exhibits import words
from lookalike.exhibits.claims import Claim, Reason, Verdict, by_means, by_print, claims_of, decide
from lookalike.exhibits.contrasts import SIMULATED
from lookalike.exhibits.model import Table
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.statuses import Outcome

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

COLUMNS = (
    *("id", "paper", "place", "exhibit", "claim", "kind", "setting"),
    *("verdict", "tried", "untried", "reason", "p", "power", "evidence", "further", "rows"),
    *("our_means", "printed_means", "printed_verdict", "printed_evidence", "decided_by", "programs", "simulated"),
)
"""Columns of every table of claims, all of them text. ``setting``, ``tried`` and ``untried`` name parts of a study.
``p`` says how sure a verdict is by itself, "" where chance has no part in it; ``power`` which difference the run could
have told. ``evidence`` is what decided; ``further`` is a JSON list of what stands beside it, and ``rows`` one of the
keys of all contrasts behind a verdict. ``programs`` says why a claim is about our programs. ``simulated`` is "yes"
where it is of simulated rows."""
HEADS = {name: name for name in ("paper", "place", "claim", "kind", "verdict", "tried", "evidence", "decided_by")}
"""Columns that are read as a table, and their heads."""
HEADS |= {"tried": "tried on", "decided_by": "decided by"}


def claims_table(study: Study) -> Table:
    """Return every claim of a study in order; one that is decided by parts once for each part that it is about."""
    records = [
        _record(study, claim, setting) for claim in claims_of(study.claim_rows) for setting in study.parts_of(claim)
    ]
    frame = pd.DataFrame(records, columns=list(COLUMNS), dtype=str)
    outcomes = [Outcome(verdict) for verdict in frame["verdict"]]
    notes = () if study.not_run else (words.counts_words(outcomes, sum(map(is_by_number, records))),)
    return Table(frame, heads=HEADS, titles={"paper": {id: paper.short for id, paper in PAPERS.items()}}, notes=notes)


def is_by_number(record: Mapping[str, str]) -> bool:
    """Tell whether numbers without an interval decided a claim, so that no p says how sure its verdict is."""
    return record["reason"] == Reason.NO_INTERVAL


def _record(study: Study, claim: Claim, setting: str) -> dict[str, str]:
    """Decide a claim, on one part of a study or on all, and say what decided it."""
    about = replace(claim, settings=(setting,)) if setting else claim
    verdict = decide(about, study)
    gate, parts = words.gate_words(about, verdict, study), words.evidence(verdict, study)
    evidence, *further = [*filter(None, [gate, *parts])] or [""]
    is_made = study.simulated or any(row.data == SIMULATED for row in verdict.rows)
    by_numbers = {"our_means": by_means, "printed_means": by_print} if claim.predicate else {}
    printed = by_print(about, study, intervals=True) if claim.predicate else Verdict(Outcome.NOT_TESTED)
    has_intervals = any(row.n for row in printed.rows)
    record = {
        **{name: getattr(claim, name) for name in ("id", "paper", "place", "exhibit")},
        "claim": claim.text,
        "kind": claim.kind,
        "setting": next(iter(study.scope_of(about).settings if setting else ()), setting),
        "verdict": verdict.outcome,
        **dict(zip(("tried", "untried"), words.tried_on(verdict, study), strict=True)),
        "reason": verdict.reason,
        "p": "" if math.isnan(verdict.p) else f"{verdict.p:.3g}",
        "power": words.power_words(about, verdict, study),
        "evidence": evidence,
        "further": json.dumps(further, ensure_ascii=False),
        "rows": json.dumps(list(dict.fromkeys(row.key for row in verdict.rows))),
        **dict.fromkeys(("our_means", "printed_means"), ""),
        **{name: words.means_words(ask(about, study)) for name, ask in by_numbers.items()},
        "printed_verdict": printed.outcome if has_intervals else "",
        "printed_evidence": "; ".join(words.evidence(printed, study.as_in_print())) if has_intervals else "",
        "programs": words.program_words(claim) if parts else "",
        "simulated": "yes" * is_made,
    }
    return record | {"decided_by": words.predicate_words(claim, is_by_number=is_by_number(record))}
