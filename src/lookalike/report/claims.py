"""The page of claims: every claim with its verdict, what decided it, and where the papers make it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.statuses import Badge, Outcome
from lookalike.report.pages import address_of
from lookalike.report.results import CLAIMS, Exhibit, Results

FURTHER = {
    "reason": "Gate",
    "decided_by": "Rule",
    "our_means": "By our means alone",
    "printed_verdict": "Of the printed numbers, with their intervals",
    "printed_evidence": "Printed evidence",
}
"""Columns of claims that tell more than the verdict, and what they are called; studies have some of them."""


class Choice(NamedTuple):
    """A choice of rows: its id within a page, its title and how many rows it leaves; a verdict has a badge."""

    id: str
    title: str
    n_rows: int
    badge: Badge | None = None


class Shown(NamedTuple):
    """An exhibit that shows what a claim is about: its title and its place on a page."""

    title: str
    address: str


def claims_of(results: Results) -> pd.DataFrame:
    """Every row of `Results.claims` with the titles, ids and links that a page writes."""
    claims = results.claims()
    titles = {dataset.id: dataset.title for dataset in results.datasets}
    # paper by paper, the same claim on several data sets one beneath the other
    places = {paper: place for place, paper in enumerate(PAPERS)}
    first = {id: place for place, id in reversed(list(enumerate(claims["id"])))}
    order = sorted(
        range(len(claims)), key=lambda row: (places.get(claims["paper"][row], 9), first[claims["id"][row]], row)
    )
    claims = claims.iloc[order].reset_index(drop=True)
    papers = [PAPERS.get(paper) for paper in claims["paper"]]
    rows: Any = claims.to_dict("records")
    found = {(exhibit.dataset, exhibit.id): exhibit for exhibit in results.exhibits()}
    about: Any = [exhibits_about(row, found) for row in rows]
    shown: Any = [[Shown(one.label or one.title, address_of(one)) for one in exhibits] for exhibits in about]

    def titled(setting: str, exhibits: list[Exhibit]) -> str:
        return exhibits[0].titles.get("representation", {}).get(setting, setting) if exhibits else ""

    further: Any = [[(term, row[column]) for column, term in FURTHER.items() if row.get(column)] for row in rows]
    return claims.assign(
        anchor=[slug(" ".join(("claim", row["dataset"], row["id"], row["setting"]))) for row in rows],
        about=about,
        shown=shown,
        words=[titled(setting, exhibits) for setting, exhibits in zip(claims["setting"], about, strict=True)],
        dataset_title=[titles.get(dataset, dataset) for dataset in claims["dataset"]],
        paper_title=[named.title if named else id for named, id in zip(papers, claims["paper"], strict=True)],
        page=[f"{named.page}.html" if named else "" for named in papers],
        parts=[json.loads(parts or "[]") for parts in claims["further"]],
        keys=[json.loads(keys or "[]") for keys in claims["rows"]],
        further=further,
    )


def exhibits_about(claim: Mapping[str, Any], found: Mapping[tuple[str, str], Exhibit]) -> list[Exhibit]:
    """Exhibits of a claim's data set that show its numbers, as claims.csv names them."""
    named = [found[key] for id in claim["exhibit"].split(";") if (key := (claim["dataset"], id)) in found]
    # of tables with one codebook each, those of the claim's own
    return [one for one in named if claim["setting"] in one.titles.get("representation", {})] or named


def choices(claims: pd.DataFrame, column: str) -> list[Choice]:
    """Distinct values of a column with their counts, in the order in which they come."""
    counts = Counter(claims[column].tolist())
    return [Choice(slug(value), PAPERS[value].title if value in PAPERS else value, n) for value, n in counts.items()]


def verdict_choices(claims: pd.DataFrame) -> list[Choice]:
    """Return the verdicts that there are with their counts, in the order of `Outcome`."""
    counts = Counter(claims["verdict"].tolist())
    return [Choice(slug(outcome), outcome, counts[outcome], outcome.badge) for outcome in Outcome if outcome in counts]


def verdict_counts(claims: pd.DataFrame) -> list[tuple[Choice, str]]:
    """The same with the words that go with them: those on real data, then those that are about this run alone."""
    return [(one, str(words)) for words, own in claims.groupby("in_this_run") for one in verdict_choices(own)]


def notes(results: Results) -> list[str]:
    """What is said of the tables of claims: the data they are decided on, and what has to be known besides."""
    return [
        f"{one.dataset_title}: {' '.join(filter(None, (*one.caption, one.undecided, *one.notes)))}"
        for one in results.exhibits()
        if one.name == CLAIMS
    ]


def slug(text: str) -> str:
    """Text as an id: lower case, with hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
