"""Claims as pages tell them: each with its verdict, what decided it, and where the papers make it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lookalike.exhibits import words
from lookalike.exhibits.claims_table import is_by_number
from lookalike.exhibits.printed import p_value
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.statuses import Badge, Outcome
from lookalike.report.pages import address_of
from lookalike.report.results import Exhibit, Results

FURTHER = {
    "reason": "Gate",
    "decided_by": "Rule",
    "programs": "Of programs",
    "p": "p of the verdict by itself",
    "p_adjusted": "p adjusted over all verdicts of the paper that have one (Holm)",
}
"""Columns of claims that tell more than the verdict, and what they are called."""

TEXTS = ("id", "dataset", "paper", "place", "claim", "kind", "tried", "untried", "evidence")
"""Columns that a `DecidedClaim` has as they are."""


class Choice(NamedTuple):
    """A choice of rows: its id within a page, its title and how many rows it leaves; a verdict has a badge."""

    id: str
    title: str
    n_rows: int
    badge: Badge | None = None


@dataclass(frozen=True)
class DecidedClaim:
    """A claim on one data set, or on a part of it."""

    id: str
    dataset: str
    dataset_title: str
    paper: str
    place: str
    claim: str
    kind: str
    part: str
    """Title of the part of a study that it is about; "" where it is about all."""
    verdict: Outcome
    tried: str
    untried: str
    """Parts of a study that it was tried on, and those that it was not, of several."""
    is_by_number: bool
    """Whether numbers without an interval decided it."""
    in_this_run: str
    """Words that a verdict on synthetic or simulated data has behind it."""
    evidence: str
    parts: tuple[str, ...]
    """Evidence besides what decided."""
    further: tuple[tuple[str, str], ...]
    keys: tuple[tuple[str, ...], ...]
    """Keys of the contrasts behind it."""
    anchor: str
    exhibits: tuple[tuple[str, str], ...]
    """Labels and addresses of the exhibits that show its numbers."""

    @property
    def scope(self) -> str:
        """Say which parts it was tried on, and on which not, as far as `reach` does not."""
        return words.scope_words(self.verdict, self.tried, self.untried)

    @property
    def reach(self) -> str:
        """Say how far its verdict reaches."""
        return words.reach_words(self.verdict, self.kind, self.tried, self.untried, is_by_number=self.is_by_number)

    @property
    def behind_verdict(self) -> str:
        """Return what stands behind its verdict."""
        return f"{' ' if self.reach else ''}{self.reach}{self.in_this_run}"

    @property
    def paper_title(self) -> str:
        """Title of its paper."""
        return PAPERS[self.paper].title if self.paper in PAPERS else self.paper

    @property
    def paper_short(self) -> str:
        """Name of its paper in a line."""
        return PAPERS[self.paper].short if self.paper in PAPERS else self.paper

    @property
    def page(self) -> str:
        """Page of its paper."""
        return f"{PAPERS[self.paper].page}.html" if self.paper in PAPERS else ""


def claims_of(results: Results) -> list[DecidedClaim]:
    """Return the claims of all data sets, paper by paper, the same claim on several one beneath the other."""
    found = {(exhibit.dataset, exhibit.id): exhibit for exhibit in results.exhibits()}
    papers, order = list(PAPERS), list(dict.fromkeys(row["id"] for row in results.claims))
    claims = []
    for row in results.claims:
        about = _exhibits_about(row["dataset"], row["setting"], row["exhibit"].split(";"), found)
        names = about[0].titles.get("representation", {}) if about else {}
        claims.append(
            DecidedClaim(
                **{name: row[name] for name in TEXTS},
                dataset_title=results[row["dataset"]].title,
                part=names.get(row["setting"], row["setting"]) if about else "",
                verdict=Outcome(row["verdict"]),
                is_by_number=is_by_number(row),
                in_this_run=" in this run" if row["by_code"] else "",
                parts=tuple(json.loads(row["further"])),
                further=tuple((term, _told(row, column)) for column, term in FURTHER.items() if row[column]),
                keys=tuple(map(tuple, json.loads(row["rows"]))),
                anchor=slug(f"claim {row['dataset']} {row['id']} {row['setting']}"),
                exhibits=tuple((exhibit.label or exhibit.title, address_of(exhibit)) for exhibit in about),
            )
        )
    return sorted(claims, key=lambda claim: ([*papers, claim.paper].index(claim.paper), order.index(claim.id)))


def _told(row: Mapping[str, str], column: str) -> str:
    """Return a cell as a page tells it."""
    return p_value(float(row[column])) if column in ("p", "p_adjusted") else row[column]


def _exhibits_about(
    dataset: str, setting: str, ids: Iterable[str], found: dict[tuple[str, str], Exhibit]
) -> list[Exhibit]:
    """Return the exhibits of a data set that a claim names; of tables with one codebook each, those of its own."""
    named = [found[dataset, id] for id in ids if (dataset, id) in found]
    return [exhibit for exhibit in named if setting in exhibit.titles.get("representation", {})] or named


def claims_about(exhibit: Exhibit, claims: Iterable[DecidedClaim]) -> list[DecidedClaim]:
    """Return the claims whose numbers an exhibit shows."""
    address = address_of(exhibit)
    return [claim for claim in claims if address in dict(claim.exhibits).values()]


def paper_choices(claims: Iterable[DecidedClaim]) -> list[Choice]:
    """Return the papers that there are with their counts, in their order."""
    counts = Counter((claim.paper, claim.paper_title) for claim in claims)
    return [Choice(slug(paper), title, n) for (paper, title), n in counts.items()]


def by_basis(claims: Iterable[DecidedClaim]) -> dict[str, list[DecidedClaim]]:
    """Return the claims whose verdicts are on methods, those that numbers without intervals decided, and the rest."""
    sides: dict[str, list[DecidedClaim]] = {}
    for claim in claims:
        sides.setdefault(words.basis(claim.kind, is_by_number=claim.is_by_number), []).append(claim)
    return {title: sides[title] for title in words.BASES if title in sides}


def alike(claims: Iterable[DecidedClaim]) -> list[list[DecidedClaim]]:
    """Put together what several papers claim, or one of several parts, where one rule said one thing of the same."""
    groups: dict[tuple[object, ...], list[DecidedClaim]] = {}
    for claim in claims:
        asked = frozenset(key[1:] for key in claim.keys) or claim.claim
        rule = dict(claim.further).get(FURTHER["decided_by"], "")
        groups.setdefault((claim.dataset, claim.verdict, claim.is_by_number, rule, asked), []).append(claim)
    return list(groups.values())


def verdict_choices(claims: Iterable[DecidedClaim]) -> list[Choice]:
    """Return the verdicts that there are with their counts, in the order of `Outcome`."""
    counts = Counter(claim.verdict for claim in claims)
    return [Choice(slug(outcome), outcome, counts[outcome], outcome.badge) for outcome in Outcome if outcome in counts]


def notes(results: Results) -> list[str]:
    """Say how many verdicts there are of each outcome, and on which data claims are decided."""
    data = {results[row["dataset"]].title: row["data"] for row in results.claims}
    return [*words.counts_words(results.claims), *(f"{title}: {said}" for title, said in data.items())]


def slug(text: str) -> str:
    """Return text as an id: lower case, with hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
