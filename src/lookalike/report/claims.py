"""Claims as pages tell them: rows of claims.csv, each with its exhibits and what stands behind its verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from lookalike.exhibits import words
from lookalike.exhibits.printed import p_value
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.statuses import Outcome
from lookalike.report.pages import address_of
from lookalike.report.results import Results, ShownExhibit

FURTHER = {
    "decided_by": "Rule",
    "p": "p of the verdict by itself",
    "p_adjusted": "p adjusted over the primary claims of the paper (Holm)",
    "seen": "Seen before it became primary",
    "data": "Data",
}
"""Columns of claims that tell more than the verdict, and what they are called."""
Claim = Mapping[str, Any]
"""A row of claims.csv with what `claims_of` adds."""


def claims_of(results: Results) -> list[Claim]:
    """Return the claims paper by paper, primary ones first, the same claim on several data sets one below the other.

    Besides its columns a row has ``scope`` (on which parts it was tried), ``differences`` (of
    `lookalike.exhibits.words.differences`), ``facts`` (terms with texts), ``asked`` (between which bounds a difference
    must lie, where that is small), ``anchor``, and ``exhibits``: labels and addresses of those that show its numbers.
    """
    found = {(exhibit.dataset, exhibit.id): exhibit for exhibit in results.exhibits()}
    papers, order = list(PAPERS), list(dict.fromkeys(row["id"] for row in results.claims))
    claims = []
    for row in results.claims:
        about = [found[row["dataset"], id] for id in row["exhibit"].split(";") if (row["dataset"], id) in found]
        claims.append(
            row
            | {
                "verdict": Outcome(row["verdict"]),
                "scope": words.scope_words(row["verdict"], row["tried"], row["untried"]),
                "further": json.loads(row["further"]),
                "differences": differences_of(row),
                "facts": [
                    (term, p_value(float(row[column])) if column in ("p", "p_adjusted") else row[column])
                    for column, term in FURTHER.items()
                    if row[column]
                ],
                "asked": "".join(re.findall(r"between \S+ and [^;]+", row["decided_by"])),
                "anchor": slug(f"claim {row['dataset']} {row['id']}"),
                "exhibits": [(exhibit.label or exhibit.title, address_of(exhibit)) for exhibit in about],
            }
        )
    return sorted(
        claims, key=lambda claim: (papers.index(claim["paper"]), not claim["primary"], order.index(claim["id"]))
    )


def differences_of(row: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the differences behind a row of claims.csv; an older run kept their names alone, which are left out."""
    return [entry for entry in json.loads(row["rows"]) if isinstance(entry, dict)]


def claims_about(exhibit: ShownExhibit, claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims whose numbers an exhibit shows."""
    address = address_of(exhibit)
    return [claim for claim in claims if address in dict(claim["exhibits"]).values()]


def verdict_counts(claims: Iterable[Claim], *others: str) -> dict[Outcome, int]:
    """Return the verdicts that there are, and others, with their counts, in the order of `Outcome`."""
    found = [claim["verdict"] for claim in claims]
    return {outcome: found.count(outcome) for outcome in Outcome if outcome in [*found, *others]}


def slug(text: str) -> str:
    """Return text as an id: lower case, with hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
