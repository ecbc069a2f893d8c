"""The papers' claims: each tested on a study by itself, then a paper's primary claims decided together, in one place.

A study's job writes what `claim_records` returns, and `keep_run` keeps it with a run. One job decides: `decided` makes
results/claims.csv, and pages, README, notebooks and the terminal read that table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from lookalike.core.tables import read_cells
from lookalike.exhibits import words
from lookalike.exhibits.claims import LEVEL, Claim, Reason, claims_of, decide
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.sheets import markdown, sheets_of_records
from lookalike.exhibits.statuses import Outcome

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

COLUMNS = (
    *("id", "paper", "place", "exhibit", "claim", "primary", "seen", "dataset", "title", "data"),
    *("verdict", "tried", "untried", "reason", "p", "p_adjusted", "evidence", "further", "rows", "decided_by"),
)
"""Columns of results/claims.csv, all of them text.

``primary`` is "yes" in the one row that decides a primary claim (in the table of one run, of every claim that some run
decides), and ``seen`` what had been seen of it before.
``title`` and ``data`` say on which data it was tested, and over how many repeats; ``tried`` and ``untried`` name parts
of a study. ``p`` says how sure a verdict is by itself, ``p_adjusted`` among the primary claims of its paper.
``evidence`` is what decided; ``further`` is a JSON list of what stands beside it, and ``rows`` one of the differences
behind a verdict, as `lookalike.exhibits.words.differences` gives them."""
HEADS = {name: name for name in ("paper", "place", "claim", "title", "verdict", "p_adjusted", "evidence")}
"""Columns of claims.md, and their heads."""
HEADS |= {"title": "run", "p_adjusted": "p, adjusted"}


def claim_records(study: Study) -> pd.DataFrame:
    """Return every claim of a study by itself; none where it was not run, or where code made what it would rest on."""
    is_evidence = study.has("contrasts") and not (study.not_run or study.synthetic or study.simulated)
    records = [_record(study, claim) for claim in claims_of(study.claim_rows)] if is_evidence else []
    return pd.DataFrame(records, columns=list(COLUMNS), dtype=str)


def decided(
    tested: Iterable[pd.DataFrame],
    kept: Iterable[pd.DataFrame],
    claims: Sequence[Claim],
    command_of: Callable[[str], str],
) -> pd.DataFrame:
    """Decide the papers' claims: the primary ones first, each by one run, then all others on every data set at hand.

    A primary claim is decided by the first of its runs that is at hand, in the results or as it was kept; of one that
    is not, the row has the command that makes it. Their p-values are adjusted over those of a paper (Holm): what is
    sure by itself and not among them is undecided.
    """
    found, at_hand = _by_run(tested), _by_run(kept)
    at_hand |= found
    primary = []
    for claim in claims:
        if claim.run:
            rows = [at_hand[run, claim.id] for run in claim.run if (run, claim.id) in at_hand]
            row = next((row for row in rows if row["verdict"] != Outcome.NOT_RUN), _not_run(claim, command_of))
            primary.append({**row, **_about(claim), "primary": "yes"})
    for paper in dict.fromkeys(claim.paper for claim in claims):
        _adjust([row for row in primary if row["paper"] == paper and row["verdict"] != Outcome.NOT_RUN])
    decides = {(row["dataset"], row["id"]) for row in primary}
    others = [row | {"primary": ""} for key, row in found.items() if key not in decides]
    return pd.DataFrame([*primary, *others], columns=list(COLUMNS), dtype=str)


def _by_run(tables: Iterable[pd.DataFrame]) -> dict[tuple[str, str], dict[str, str]]:
    """Return the rows of tables by data set and claim."""
    rows = (
        {str(name): str(cell) for name, cell in row.items()} for table in tables for row in table.to_dict("records")
    )
    return {(row["dataset"], row["id"]): row for row in rows}


def _adjust(rows: list[dict[str, str]]) -> None:
    """Adjust the p-values of the primary claims of a paper; what is undecided by itself has none and counts as 1."""
    # heavy, and every plan imports this module
    from lookalike.ranking.comparison import holm

    for row, p in zip(rows, holm([float(row["p"] or 1) for row in rows]), strict=True):
        if row["p"]:
            row["p_adjusted"] = repr(float(p))
            if p >= LEVEL:
                row["further"] = json.dumps([row["evidence"], *json.loads(row["further"])], ensure_ascii=False)
                row["evidence"] = words.among_words(row["verdict"], float(row["p"]), p, len(rows))
                row |= {"verdict": Outcome.OPEN, "reason": Reason.AMONG_OTHERS}


def read_claims(path: Path) -> list[dict[str, str]]:
    """Read the rows of results/claims.csv, or of the verdicts of a kept run; none where there is no such table."""
    rows = read_cells(path, COLUMNS, exact=True).to_dict("records") if path.is_file() else []
    return [{str(name): str(cell) for name, cell in row.items()} for row in rows]


def claims_markdown(frame: pd.DataFrame) -> str:
    """Return the decided claims as a page of Markdown: the primary ones, then the others, with what decided each."""
    parts = ["# Claims of the papers"]
    cells = frame.assign(p_adjusted=[f"{float(p):.2g}" if p else "" for p in frame["p_adjusted"]])
    for is_primary, title in (("yes", "Primary claims"), ("", "Further claims, each by its own 95% intervals")):
        own = cells[cells["primary"] == is_primary]
        if len(own):
            titles = {"paper": {id: paper.short for id, paper in PAPERS.items()}}
            parts += [f"## {title}", markdown(sheets_of_records(own, HEADS, titles))]
    return "\n\n".join([*parts[:1], words.counts_words(_by_run([frame]).values()), *parts[1:]]) + "\n"


def _about(claim: Claim) -> dict[str, str]:
    """Return what claims.csv says of a claim."""
    return {**{name: getattr(claim, name) for name in ("id", "paper", "place", "exhibit", "seen")}, "claim": claim.text}


def _record(study: Study, claim: Claim) -> dict[str, str]:
    """Test a claim on a study, and say what came of it."""
    verdict = decide(claim, study)
    gate, parts = words.gate_words(claim, verdict, study), words.evidence(verdict, study)
    evidence, *further = [*filter(None, [gate, *parts])] or [""]
    return {
        **_about(claim),
        "primary": "yes" if claim.run else "",
        "dataset": study.dataset,
        "title": study.title,
        "data": study.data_sentence(None),
        "verdict": verdict.outcome,
        **dict(zip(("tried", "untried"), words.tried_on(verdict, study), strict=True)),
        "reason": verdict.reason,
        "p": "" if math.isnan(verdict.p) else repr(verdict.p),
        "p_adjusted": "",
        "evidence": evidence,
        "further": json.dumps(further, ensure_ascii=False),
        "rows": json.dumps(words.differences(verdict, study), ensure_ascii=False),
        "decided_by": words.predicate_words(claim),
    }


def _not_run(claim: Claim, command_of: Callable[[str], str]) -> dict[str, str]:
    """Return the row of a primary claim none of whose runs is at hand."""
    run = claim.run[0]
    return dict.fromkeys(COLUMNS, "") | {
        "dataset": run,
        "title": run,
        "verdict": Outcome.NOT_RUN,
        "reason": Reason.NOT_RUN,
        "evidence": f"Not run: {command_of(run)}",
        "further": "[]",
        "rows": "[]",
        "decided_by": words.predicate_words(claim),
    }
