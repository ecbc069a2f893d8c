"""The front page: the papers' primary claims with the run that decides each, and how far apart the methods are.

All numbers are the differences behind the verdicts of results/claims.csv: nothing is computed here.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from lookalike.exhibits import words
from lookalike.exhibits.style import BLACK, BLUE, GREY, Style, new_figure, paper_style
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
    frame = pd.DataFrame([row for _, row in found])[["mean", "low", "high", "printed"]].astype("float64")
    names = [
        "\n".join((*wrap(place_of(*both), LETTERS), *wrap(f"{both[1]['names']}, {both[1]['metric']}", LETTERS)))
        for both in found
    ]
    most = max(name.count("\n") + 1 for name in names)
    with paper_style():
        canvas, file = new_figure(7.2, 1.05 + (0.09 + 0.12 * most) * len(found)), io.BytesIO()
        axis = canvas.add_subplot()
        axis.axvline(0, color=GREY, linewidth=1.0, zorder=1.5)
        ends = np.nan_to_num([frame["mean"] - frame["low"], frame["high"] - frame["mean"]])
        bars: Style = {"xerr": ends, "elinewidth": 0.8, "capsize": 3, "capthick": 0.8}
        here = axis.errorbar(frame["mean"], frame.index, fmt="o", color=BLUE, zorder=3, **bars)
        hollow: Style = {"markerfacecolor": "none", "markersize": 6, "zorder": 2.5}
        printed = axis.plot(frame["printed"], frame.index, "D", color=BLACK, **hollow)
        axis.set(xlabel="Difference in percentage points", ylim=(len(found) - 0.4, -0.6))
        axis.set_yticks(frame.index, labels=names)
        canvas.legend(handles=[here, *printed], labels=["here", "in the paper"], loc="outside lower center", ncols=2)
        canvas.savefig(file, format="svg", metadata={"Date": None, "Creator": "lookalike"})
    return data_address("svg+xml", file.getvalue())
