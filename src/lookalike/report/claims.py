"""Claims as pages tell them: each with its verdict, what decided it, and where the papers make it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lookalike.exhibits import words
from lookalike.exhibits.printed import p_value
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.statuses import Badge, Outcome
from lookalike.report.pages import address_of
from lookalike.report.results import Exhibit, Results

FURTHER = {
    "decided_by": "Rule",
    "p": "p of the verdict by itself",
    "p_adjusted": "p adjusted over the primary claims of the paper (Holm)",
    "seen": "Seen before it became primary",
    "data": "Data",
}
"""Columns of claims that tell more than the verdict, and what they are called."""

TEXTS = ("id", "dataset", "title", "paper", "place", "claim", "seen", "tried", "untried", "evidence")
"""Columns that a `DecidedClaim` has as they are."""


class Choice(NamedTuple):
    """A choice of rows: its id within a page, its title and how many rows it leaves; a verdict has a badge."""

    id: str
    title: str
    n_rows: int
    badge: Badge | None = None


@dataclass(frozen=True)
class DecidedClaim:
    """A claim on one data set."""

    id: str
    dataset: str
    title: str
    """Title of the data set."""
    paper: str
    place: str
    claim: str
    is_primary: bool
    """Whether this is the one run that decides a primary claim."""
    seen: str
    verdict: Outcome
    tried: str
    untried: str
    """Parts of a study that it was tried on, and those that it was not, of several."""
    evidence: str
    parts: tuple[str, ...]
    """Evidence besides what decided."""
    further: tuple[tuple[str, str], ...]
    anchor: str
    exhibits: tuple[tuple[str, str], ...]
    """Labels and addresses of the exhibits that show its numbers."""

    @property
    def scope(self) -> str:
        """Say on which parts it was tried, and on which of its own not."""
        return words.scope_words(self.verdict, self.tried, self.untried)

    @property
    def paper_title(self) -> str:
        """Title of its paper."""
        return PAPERS[self.paper].title if self.paper in PAPERS else self.paper

    @property
    def page(self) -> str:
        """Page of its paper."""
        return f"{PAPERS[self.paper].page}.html" if self.paper in PAPERS else ""


def claims_of(results: Results) -> list[DecidedClaim]:
    """Return the claims paper by paper, primary ones first, the same claim on several data sets one below the other."""
    found = {(exhibit.dataset, exhibit.id): exhibit for exhibit in results.exhibits()}
    papers, order = list(PAPERS), list(dict.fromkeys(row["id"] for row in results.claims))
    claims = []
    for row in results.claims:
        about = [found[row["dataset"], id] for id in row["exhibit"].split(";") if (row["dataset"], id) in found]
        claims.append(
            DecidedClaim(
                **{name: row[name] for name in TEXTS},
                is_primary=bool(row["primary"]),
                verdict=Outcome(row["verdict"]),
                parts=tuple(json.loads(row["further"])),
                further=tuple((term, _told(row, column)) for column, term in FURTHER.items() if row[column]),
                anchor=slug(f"claim {row['dataset']} {row['id']}"),
                exhibits=tuple((exhibit.label or exhibit.title, address_of(exhibit)) for exhibit in about),
            )
        )
    return sorted(
        claims,
        key=lambda claim: ([*papers, claim.paper].index(claim.paper), not claim.is_primary, order.index(claim.id)),
    )


def _told(row: Mapping[str, str], column: str) -> str:
    """Return a cell as a page tells it."""
    return p_value(float(row[column])) if column in ("p", "p_adjusted") else row[column]


def claims_about(exhibit: Exhibit, claims: Iterable[DecidedClaim]) -> list[DecidedClaim]:
    """Return the claims whose numbers an exhibit shows."""
    address = address_of(exhibit)
    return [claim for claim in claims if address in dict(claim.exhibits).values()]


def paper_choices(claims: Iterable[DecidedClaim]) -> list[Choice]:
    """Return the papers that there are with their counts, in their order."""
    counts = Counter((claim.paper, claim.paper_title) for claim in claims)
    return [Choice(slug(paper), title, n) for (paper, title), n in counts.items()]


def verdict_choices(claims: Iterable[DecidedClaim]) -> list[Choice]:
    """Return the verdicts that there are with their counts, in the order of `Outcome`."""
    counts = Counter(claim.verdict for claim in claims)
    return [Choice(slug(outcome), outcome, counts[outcome], outcome.badge) for outcome in Outcome if outcome in counts]


def slug(text: str) -> str:
    """Return text as an id: lower case, with hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
