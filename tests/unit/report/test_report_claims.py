"""Claims on their page and in the front page's counts."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
from made_results import JMLR, add_claims

from lookalike.report.claims import SHORT, claims_of, counts_grid, notes, verdict_choices
from lookalike.report.results import Results


def made(tmp_path: Path, **columns: str) -> Results:
    row = {"id": "a", "paper": JMLR, "place": "Table 4", "claim": "It is best.", "rule": "r", "decided_by": "Best."}
    verdicts = ["not decidable here", "holds", "holds", "does not hold"]
    rows = [row | {"verdict": verdict, "evidence": "x"} | columns for verdict in verdicts]
    add_claims(tmp_path, "demo", "learning", pd.DataFrame(rows), caption="Lead. Rest.", notes=["A note."])
    return Results(tmp_path)


def test_verdicts_are_counted_by_paper_and_data_set(tmp_path: Path) -> None:
    results = made(tmp_path)
    claims = claims_of(results)
    found = [(one.id, one.n_rows) for one in verdict_choices(claims)]
    assert found == [("holds", 2), ("does-not-hold", 1), ("not-decidable-here", 1)]
    grid = counts_grid(claims)
    assert re.findall(r">([^<>]+)</(?:th|span)>", grid.html)[-3:] == ["holds", "does not hold", "not decidable here"]
    assert re.findall(r">([^<>]+)</td>", grid.html) == ["OASIS, JMLR 2010", "DEMO", "2", "1", "1"]


def test_long_evidence_is_cut_where_a_part_ends_and_nothing_is_lost(tmp_path: Path) -> None:
    parts = [f"OASIS minus number {place} +{place}.5 points" for place in range(40)]
    results = made(tmp_path, evidence="; ".join(parts))
    claim = claims_of(results).iloc[0]
    assert len(claim.evidence) <= SHORT + 2
    assert claim.evidence.endswith(" …")
    together = "; ".join((claim.evidence.removesuffix(" …"), claim.rest.removeprefix("… ")))
    assert together == "; ".join(parts)


def test_what_a_study_adds_is_kept(tmp_path: Path) -> None:
    results = made(tmp_path, representation="sift-1k", printed_verdict="holds")
    claim = claims_of(results).iloc[0]
    assert claim.representation == "sift-1k"
    assert ("Of the printed numbers", "holds") in claim.further
    assert claim.page == "jmlr2010.html"
    assert notes(results) == ["DEMO: Lead. Rest. A note."]
