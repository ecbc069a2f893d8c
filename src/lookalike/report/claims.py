"""The page of claims: every claim with its verdict, the evidence and where the papers make it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import pandas as pd

from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.verdicts import VERDICTS
from lookalike.report.results import CLAIMS, Results

FURTHER = {
    "gate": "Gate",
    "decided_by": "Rule",
    "on_average": "Ours on average",
    "by_our_numbers": "By our numbers alone",
    "printed_verdict": "Of the printed numbers",
    "printed_on_average": "Printed, on average",
    "by_printed_numbers": "By the printed numbers alone",
    "printed_evidence": "Printed evidence",
}
"""Columns of claims that tell more than the verdict, and what they are called; studies have some of them."""
SHORT = 180
"""Characters of evidence that stand open; longer ones open on request."""


class Choice(NamedTuple):
    """A choice of rows: its id within a page, its title and how many rows it leaves."""

    id: str
    title: str
    n_rows: int


def claims_of(results: Results) -> pd.DataFrame:
    """Every row of `Results.claims` with the titles and ids that a page writes; evidence is cut in two."""
    claims = results.claims()
    titles = {dataset.id: dataset.title for dataset in results.datasets}
    papers = [PAPERS.get(paper) for paper in claims["paper"]]
    parts = [_shortened(evidence) for evidence in claims["evidence"]]
    rows = claims.to_dict("records")
    further: Any = [[(term, row[column]) for column, term in FURTHER.items() if row.get(column)] for row in rows]
    return claims.assign(
        representation=claims.get("representation", ""),
        dataset_title=[titles.get(dataset, dataset) for dataset in claims["dataset"]],
        paper_title=[named.title if named else id for named, id in zip(papers, claims["paper"], strict=True)],
        page=[f"{named.page}.html" if named else "" for named in papers],
        evidence=[shown for shown, _ in parts],
        rest=[rest for _, rest in parts],
        further=further,
    )


def choices(claims: pd.DataFrame, column: str) -> list[Choice]:
    """Distinct values of a column with their counts, in the order in which they come."""
    counts = Counter(claims[column].tolist())
    return [Choice(slug(value), PAPERS[value].title if value in PAPERS else value, n) for value, n in counts.items()]


def verdict_choices(claims: pd.DataFrame) -> list[Choice]:
    """Verdicts with their counts: those that hold, do not hold and are open first."""
    order = {verdict: place for place, verdict in enumerate(VERDICTS)}
    return sorted(choices(claims, "verdict"), key=lambda one: order.get(one.title, len(order)))


def notes(results: Results) -> list[str]:
    """What is said of the tables of claims: the data they are decided on, and what has to be known besides."""
    return [
        f"{one.dataset_title}: {' '.join((one.caption, *one.notes)).strip()}"
        for one in results.exhibits()
        if one.name == CLAIMS
    ]


def slug(text: str) -> str:
    """Text as an id: lower case, with hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _shortened(evidence: str) -> tuple[str, str]:
    """Evidence in what stands open and the rest, cut where a part of it ends."""
    if len(evidence) <= SHORT:
        return evidence, ""
    ends = [evidence.rfind(mark, 0, SHORT) for mark in ("; ", ", ", " ")]
    # the largest part that ends in the second half of what stands open
    cut = next((end for end in ends if end > SHORT // 2), SHORT)
    return f"{evidence[:cut].rstrip(';, ')} …", f"… {evidence[cut:].lstrip(';, ')}"
