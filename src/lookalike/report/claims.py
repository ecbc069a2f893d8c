"""The page of claims: every claim with its verdict, the evidence and where the papers make it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lookalike.report.results import CLAIMS, PAPERS, Results
from lookalike.report.tables import Grid, frame_grid

FURTHER = {
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


@dataclass(frozen=True)
class Claim:
    """One claim on one data set."""

    text: str
    verdict: str
    verdict_id: str
    paper: str
    paper_id: str
    page: str
    place: str
    dataset_title: str
    representation: str
    evidence: str
    """What stands open: all of it where it is short, else its first part."""
    rest: str
    further: tuple[tuple[str, str], ...]
    """What else the study says of it: a term and a text each."""

    @property
    def where_key(self) -> str:
        """What the column of places is sorted by."""
        return f"{self.paper} {self.place}".lower()


@dataclass(frozen=True)
class Choice:
    """A choice of rows: its id within a page, its title and how many rows it leaves."""

    id: str
    title: str
    count: int


def claims_of(table: pd.DataFrame, results: Results) -> list[Claim]:
    """Every row of `Results.claims`, ready to be written."""
    titles = {dataset.id: dataset.title for dataset in results.datasets}
    rows: Iterable[Any] = table.itertuples()
    return [_claim(row, titles) for row in rows]


def choices(values: Iterable[str], titles: dict[str, str] | None = None) -> list[Choice]:
    """Distinct values with their counts, in the order in which they come."""
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return [Choice(slug(value), (titles or {}).get(value, value), count) for value, count in counts.items()]


def verdict_choices(claims: Iterable[Claim]) -> list[Choice]:
    """Verdicts with their counts: those that hold, do not hold and are open first."""
    known = ("holds", "does not hold", "not decidable here", "not run")
    found = choices(claim.verdict for claim in claims)
    return sorted(found, key=lambda one: known.index(one.title) if one.title in known else len(known))


def counts_grid(claims: Iterable[Claim]) -> Grid:
    """How many claims of a paper have each verdict, by data set: the front page's table."""
    claims = list(claims)
    verdicts = [one.title for one in verdict_choices(claims)]
    rows = []
    for paper, dataset in dict.fromkeys((claim.paper, claim.dataset_title) for claim in claims):
        own = [claim.verdict for claim in claims if (claim.paper, claim.dataset_title) == (paper, dataset)]
        rows.append({"Paper": paper, "Data set": dataset, **{verdict: own.count(verdict) for verdict in verdicts}})
    return frame_grid(pd.DataFrame(rows), "Claims by paper, data set and verdict", "claims-counted")


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


def _claim(row: Any, titles: dict[str, str]) -> Claim:
    paper = PAPERS.get(row.paper)
    evidence, rest = _shortened(row.evidence)
    return Claim(
        text=row.claim,
        verdict=row.verdict,
        verdict_id=slug(row.verdict),
        paper=paper.title if paper else row.paper,
        paper_id=slug(row.paper),
        page=f"{paper.page}.html" if paper else "",
        place=row.place,
        dataset_title=titles.get(row.dataset, row.dataset),
        representation=getattr(row, "representation", ""),
        evidence=evidence,
        rest=rest,
        further=tuple((term, text) for column, term in FURTHER.items() if (text := getattr(row, column, ""))),
    )


def _shortened(evidence: str) -> tuple[str, str]:
    """Evidence in what stands open and the rest, cut where a part of it ends."""
    if len(evidence) <= SHORT:
        return evidence, ""
    ends = [evidence.rfind(mark, 0, SHORT) for mark in ("; ", ", ", " ")]
    # the largest part that ends in the second half of what stands open
    cut = next((end for end in ends if end > SHORT // 2), SHORT)
    return f"{evidence[:cut].rstrip(';, ')} …", f"… {evidence[cut:].lstrip(';, ')}"
