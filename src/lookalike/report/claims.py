"""The page of claims: every claim with its verdict, the evidence and where the papers make it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.verdicts import VERDICTS
from lookalike.report.pages import address_of
from lookalike.report.results import CLAIMS, Exhibit, Results

FURTHER = {
    "gate": "Gate",
    "decided_by": "Rule",
    "on_average": "Ours on average",
    "by_our_numbers": "By our numbers alone",
    "printed_verdict": "Of the printed numbers, with their intervals",
    "printed_evidence": "Printed evidence",
}
"""Columns of claims that tell more than the verdict, and what they are called; studies have some of them."""
SHOWN_IN = {
    **dict.fromkeys(("oasis_gains_within", "oasis_is_better", "ranks_higher", "overfits"), "learning/comparison"),
    **dict.fromkeys(("identity_is_euclidean", "validation_stop_generalizes", "more_classes_saturate_later"),
                    "oasis-jmlr-2010/fig5"),
    **dict.fromkeys(("takes_longest", "takes_longer"), "oasis-jmlr-2010/table5"),
    **dict.fromkeys(("symmetry_index_is", "symmetry_index_decreases_from_one"), "learning/symmetry"),
    "more_classes_take_smaller_aggressiveness": "learning/aggressiveness",
    "mistake_bound_holds": "learning/loss_bound",
    "any_negative_will_do": "web/negatives",
    "log_misses_most": "oasis-jmlr-2010/fig3a",
}  # fmt: skip
"""Rule to the exhibit that shows its numbers, for claims whose place names no table or figure."""


class Choice(NamedTuple):
    """A choice of rows: its id within a page, its title and how many rows it leaves."""

    id: str
    title: str
    n_rows: int


class Shown(NamedTuple):
    """An exhibit that shows what a claim is about: its title and its place on a page."""

    title: str
    address: str


def claims_of(results: Results) -> pd.DataFrame:
    """Every row of `Results.claims` with the titles, ids and links that a page writes; evidence is cut in two."""
    claims = results.claims()
    titles = {dataset.id: dataset.title for dataset in results.datasets}
    claims = claims.assign(representation=claims.get("representation", ""))
    # paper by paper, the same claim on several data sets one beneath the other
    places = {paper: place for place, paper in enumerate(PAPERS)}
    first = {id: place for place, id in reversed(list(enumerate(claims["id"])))}
    order = sorted(
        range(len(claims)), key=lambda row: (places.get(claims["paper"][row], 9), first[claims["id"][row]], row)
    )
    claims = claims.iloc[order].reset_index(drop=True)
    papers = [PAPERS.get(paper) for paper in claims["paper"]]
    evidence = claims["evidence"].str.replace(r"(?<![\w.-])-(?=[\d.])", "−", regex=True)
    parts = [told.partition("; ") for told in evidence]
    rows: Any = claims.to_dict("records")
    found = {(one.dataset, one.id): one for one in results.exhibits()}
    about: Any = [exhibits_about(row, found) for row in rows]
    shown: Any = [[Shown(one.label or one.title, address_of(one)) for one in of] for of in about]
    by_print: Any = [
        (row.get("by_printed_numbers") or row.get("printed_on_average") or "").partition(" (") for row in rows
    ]

    def titled(codebook: str, of: list[Exhibit]) -> str:
        return of[0].titles.get("representation", {}).get(codebook, codebook) if of else ""

    further: Any = [[(term, row[column]) for column, term in FURTHER.items() if row.get(column)] for row in rows]
    return claims.assign(
        anchor=[slug(" ".join(("claim", row["dataset"], row["id"], row["representation"]))) for row in rows],
        about=about,
        shown=shown,
        words=[titled(id, of) for id, of in zip(claims["representation"], about, strict=True)],
        by_print=by_print,
        dataset_title=[titles.get(dataset, dataset) for dataset in claims["dataset"]],
        paper_title=[named.title if named else id for named, id in zip(papers, claims["paper"], strict=True)],
        page=[f"{named.page}.html" if named else "" for named in papers],
        evidence=[deciding for deciding, _, _ in parts],
        rest=[rest for _, _, rest in parts],
        further=further,
    )


def exhibits_about(claim: Mapping[str, Any], found: Mapping[tuple[str, str], Exhibit]) -> list[Exhibit]:
    """Exhibits of a claim's data set that show its numbers: what its place names, else its rule's, else the first."""
    dataset, paper = claim["dataset"], claim["paper"]
    ids = [f"{paper}/{name}" for name in named_in(claim["place"])] + [SHOWN_IN.get(claim["rule"], "")]
    there = [found[dataset, id] for id in ids if (dataset, id) in found]
    named = [one for one in there if one.paper == paper and one.name in named_in(claim["place"])] or there[:1]
    # of tables with one codebook each, those of the claim's own
    own = [one for one in named if claim["representation"] in one.titles.get("representation", {})]
    every = [one for (of, _), one in found.items() if of == dataset]
    return own or named or [one for one in every if one.paper == paper][:1] or every[:1]


def named_in(place: str) -> list[str]:
    """Names of the tables and figures of a place: ``Tables 1-3`` gives ``table1``, ``table2`` and ``table3``."""
    names = []
    for kind, numbers in re.findall(r"(Table|Figure)s? (\d+[A-Za-z]?(?:(?:-|, | and )\d+[A-Za-z]?)*)", place):
        for first, letter, last in re.findall(r"(\d+)([A-Za-z]?)(?:-(\d+))?", numbers):
            whole = range(int(first), int(last or first) + 1)
            names += [f"{'fig' if kind == 'Figure' else 'table'}{number}{letter.lower()}" for number in whole]
    return names


def choices(claims: pd.DataFrame, column: str) -> list[Choice]:
    """Distinct values of a column with their counts, in the order in which they come."""
    counts = Counter(claims[column].tolist())
    return [Choice(slug(value), PAPERS[value].title if value in PAPERS else value, n) for value, n in counts.items()]


def verdict_choices(claims: pd.DataFrame) -> list[Choice]:
    """Verdicts with their counts: those that hold, do not hold and are open first."""
    order = {verdict: place for place, verdict in enumerate(VERDICTS)}
    return sorted(choices(claims, "verdict"), key=lambda one: order.get(one.title, len(order)))


def verdict_counts(claims: pd.DataFrame) -> list[tuple[Choice, str]]:
    """The same with the words that go with them: those on real data, then those that are about this run alone."""
    return [(one, str(words)) for words, own in claims.groupby("in_this_run") for one in verdict_choices(own)]


def notes(results: Results) -> list[str]:
    """What is said of the tables of claims: the data they are decided on, and what has to be known besides."""
    return [
        f"{one.dataset_title}: {' '.join(filter(None, (one.caption, one.undecided, *one.notes)))}"
        for one in results.exhibits()
        if one.name == CLAIMS
    ]


def slug(text: str) -> str:
    """Text as an id: lower case, with hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
