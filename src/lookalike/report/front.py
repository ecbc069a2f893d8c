"""The front page: the papers' primary claims with the run that decides each, and how far apart the methods are.

All numbers are the differences behind the verdicts of results/claims.csv: nothing is computed here.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import Any

import pandas as pd

from lookalike.exhibits import words
from lookalike.exhibits.drawing import draw
from lookalike.exhibits.model import Axis, Figure, Line, Panel, Series
from lookalike.exhibits.style import BLACK, BLUE, GREY, Look, paper_style
from lookalike.report.claims import Claim
from lookalike.report.pictures import data_address
from lookalike.report.results import Results

KINDS = {False: "real photographs", True: "synthetic"}
LETTERS = 38
"""Letters of a line beside the chart."""


def synthetic_words(results: Results) -> str:
    """Name the data sets that code makes, in one sentence; "" without any."""
    titles = [dataset.title for dataset in results.datasets if dataset.synthetic and not dataset.not_run]
    return f"Made by code, to show that the methods run: {words.listed(titles)}." if titles else ""


def first_differences(claims: Iterable[Claim]) -> list[tuple[Claim, dict[str, Any]]]:
    """Return primary claims with the first difference in points behind each, once: a paper and its draft share ours."""
    found: dict[tuple[str, ...], tuple[Claim, dict[str, Any]]] = {}
    for claim in claims:
        for row in claim["differences"][:1] if claim["primary"] else ():
            if row["unit"] == "points":
                found.setdefault((claim["dataset"], *row["key"]), (claim, row))
    return list(found.values())


def place_of(claim: Claim, row: Mapping[str, Any]) -> str:
    """Name the data set of a difference, and the part of it."""
    return ", ".join(filter(None, (claim["title"], row["setting"] if row["setting"] != claim["title"] else "")))


def forest(claims: Iterable[Claim]) -> str:
    """Draw the first difference behind each primary claim, ours with their intervals beside the paper's: an address."""
    found = first_differences(claims)
    if not found:
        return ""
    frame = pd.DataFrame([row for _, row in found]).assign(place=range(len(found)))
    series = [
        Series("here", {}, "mean", "place", Look(BLUE, "o"), "low", "high", kind="points", sideways=True),
        Series("in the paper", {}, "printed", "place", Look(BLACK, "D"), kind="points", hollow=True),
    ]
    names = [
        "\n".join((*wrap(place_of(*both), LETTERS), *wrap(f"{both[1]['names']}, {both[1]['metric']}", LETTERS)))
        for both in found
    ]
    y = Axis("", ticks=tuple(enumerate(names)), low=-0.6, high=len(found) - 0.4, reversed=True)
    zero = Line("", 0, Look(GREY, ""), upright=True)
    panel = Panel("", Axis("Difference in percentage points"), y, tuple(series), (zero,))
    with paper_style():
        most = max(name.count("\n") + 1 for name in names)
        canvas = draw(Figure(frame, (panel,), size=(7.2, 0.6 + (0.09 + 0.12 * most) * len(found))))
        file = io.BytesIO()
        canvas.savefig(file, format="svg", metadata={"Date": None, "Creator": "lookalike"})
    return data_address("svg+xml", file.getvalue())
