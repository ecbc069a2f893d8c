"""The papers' claims: each tested on a study by itself, then all of a paper decided together, in one place.

A study's job writes what `claim_records` returns. One job decides all of them: `decided` makes results/claims.csv, and
pages, README, notebooks and the terminal read that table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.exhibits import words
from lookalike.exhibits.certainty import LEVEL
from lookalike.exhibits.claims import Claim, Reason, claims_of, decide
from lookalike.exhibits.contrasts import SIMULATED
from lookalike.exhibits.model import Table
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.sheets import markdown, sheets_of
from lookalike.exhibits.statuses import Outcome

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

COLUMNS = (
    *("dataset", "data", "by_code", "id", "paper", "place", "exhibit", "claim", "kind", "setting"),
    *("verdict", "tried", "untried", "reason", "p", "p_adjusted", "evidence", "further", "rows"),
    *("decided_by", "programs"),
)
"""Columns of results/claims.csv, all of them text. ``data`` says on which data, and over how many repeats; ``by_code``
is "yes" where code made them. ``setting``, ``tried`` and ``untried`` name parts of a study. ``p`` says how sure a
verdict is by itself and ``p_adjusted`` among all of its paper, "" where chance has no part in it. ``evidence`` is what
decided; ``further`` is a JSON list of what stands beside it, and ``rows`` one of the keys of all contrasts behind a
verdict. ``programs`` says why a claim is about our programs."""
HEADS = {name: name for name in ("dataset", "paper", "place", "claim", "setting", "verdict", "p_adjusted", "evidence")}
"""Columns of claims.md, and their heads."""
HEADS |= {"dataset": "data", "setting": "part", "p_adjusted": "p, adjusted", "decided_by": "decided by"}


def claim_records(study: Study) -> pd.DataFrame:
    """Return every claim of a study by itself, once for each part that it is about; none where it was not run."""
    found = () if study.not_run or not study.has("contrasts") else claims_of(study.claim_rows)
    records = [_record(study, claim, setting) for claim in found for setting in study.parts_of(claim)]
    return pd.DataFrame(records, columns=list(COLUMNS), dtype=str)


def decided(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Decide the claims of all studies: p is adjusted over all verdicts of a paper that have one (Holm).

    What is sure by itself and not among these is undecided.
    """
    # heavy, and every plan imports this module
    from lookalike.ranking.comparison import holm

    rows = [row for table in tables for row in table.to_dict("records")]
    for paper in dict.fromkeys(row["paper"] for row in rows):
        of_chance = [row for row in rows if row["paper"] == paper and row["p"]]
        for row, p in zip(of_chance, holm([float(row["p"]) for row in of_chance]), strict=True):
            row["p_adjusted"] = repr(float(p))
            if row["verdict"] in (Outcome.HOLDS, Outcome.FAILS) and p >= LEVEL:
                row["further"] = json.dumps([row["evidence"], *json.loads(row["further"])], ensure_ascii=False)
                row["evidence"] = words.among_words(row["verdict"], float(row["p"]), p, len(of_chance))
                row |= {"verdict": Outcome.OPEN, "reason": Reason.AMONG_OTHERS}
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=str)


def read_claims(path: Path) -> list[dict[str, str]]:
    """Read the rows of results/claims.csv; none where there is no such table."""
    if not path.is_file():
        return []
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        rows = [{name: str(row[name]) for name in COLUMNS} for row in table.to_dict("records")]
        if unknown := {row["verdict"] for row in rows} - {*Outcome}:
            raise ValueError(f"there is no verdict {min(unknown)!r}")
    except (KeyError, OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise LookalikeError(f"cannot read {path} ({reason}): delete it and run the same command again") from error
    return rows


def claims_markdown(frame: pd.DataFrame) -> str:
    """Return the decided claims as a page of Markdown: how many have each verdict, and each with what decided it."""
    rows = [{str(name): str(cell) for name, cell in row.items()} for row in frame.to_dict("records")]
    cells = frame.assign(
        p_adjusted=[f"{float(p):.2g}" if p else "" for p in frame["p_adjusted"]],
        verdict=[f"{row['verdict']}{' in this run' * bool(row['by_code'])}" for row in rows],
    )
    table = Table(cells, heads=HEADS, titles={"paper": {id: paper.short for id, paper in PAPERS.items()}})
    return "\n\n".join(["# Claims of the papers", *words.counts_words(rows), markdown(sheets_of(table))]) + "\n"


def is_by_number(record: Mapping[str, str]) -> bool:
    """Tell whether numbers without an interval decided a claim, so that no p says how sure its verdict is."""
    return record["reason"] == Reason.NO_INTERVAL


def _record(study: Study, claim: Claim, setting: str) -> dict[str, str]:
    """Test a claim, on one part of a study or on all, and say what came of it."""
    about = replace(claim, settings=(setting,)) if setting else claim
    verdict = decide(about, study)
    gate, parts = words.gate_words(about, verdict, study), words.evidence(verdict, study)
    evidence, *further = [*filter(None, [gate, *parts])] or [""]
    by_code = study.synthetic or study.simulated or any(row.data == SIMULATED for row in verdict.rows)
    record = {
        "dataset": study.dataset,
        "data": " ".join(filter(None, (study.data_sentence(None), study.undecided))),
        "by_code": "yes" * by_code,
        **{name: getattr(claim, name) for name in ("id", "paper", "place", "exhibit")},
        "claim": claim.text,
        "kind": claim.kind,
        "setting": next(iter(study.scope_of(about).settings if setting else ()), setting),
        "verdict": verdict.outcome,
        **dict(zip(("tried", "untried"), words.tried_on(verdict, study), strict=True)),
        "reason": verdict.reason,
        "p": "" if math.isnan(verdict.p) else repr(verdict.p),
        "p_adjusted": "",
        "evidence": evidence,
        "further": json.dumps(further, ensure_ascii=False),
        "rows": json.dumps(list(dict.fromkeys(row.key for row in verdict.rows))),
        "programs": words.program_words(claim) if parts else "",
    }
    return record | {"decided_by": words.predicate_words(claim, is_by_number=is_by_number(record))}
