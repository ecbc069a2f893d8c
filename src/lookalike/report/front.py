"""The front page: a card for each paper with its primary claims, and how far apart the methods are.

All numbers are the differences behind the verdicts of results/claims.csv: nothing is computed here.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from lookalike.exhibits import words
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.style import BLACK, BLUE, GREY, Style, new_figure, paper_style
from lookalike.report.claims import Claim, differences_of
from lookalike.report.pictures import Picture, data_address, encode_thumbnail
from lookalike.report.results import Results, ShownExhibit

NARROW = 3.8
"""Inches of the chart's width: letters stay readable on a phone."""
CARD_SIDE, CARD_QUALITY = 480, 70
"""Pixels of the longer side of a card's picture, and its quality as WebP, from 0 to 100."""


def synthetic_words(results: Results) -> str:
    """Name the data sets that code makes, in one sentence; "" without any."""
    titles = [dataset.title for dataset in results.datasets if dataset.synthetic and not dataset.not_run]
    return f"Results on data made by code decide no claim: {words.listed(titles)}." if titles else ""


def first_differences(claims: Iterable[Claim]) -> list[tuple[Claim, dict[str, Any]]]:
    """Return primary claims with the first difference in points behind each, once: a paper and its draft share ours."""
    found: dict[tuple[str, ...], tuple[Claim, dict[str, Any]]] = {}
    for claim in claims:
        for row in claim["differences"][:1] if claim["primary"] else ():
            if row["unit"] == "points":
                found.setdefault((claim["dataset"], *row["key"]), (claim, row))
    return list(found.values())


def table_of_differences(verdicts: Iterable[Mapping[str, str]]) -> str:
    """Return the first differences behind primary claims, rows of claims.csv, as a table for a terminal; or ""."""
    claims = sorted(verdicts, key=lambda row: [*PAPERS].index(row["paper"]))
    if not (found := first_differences({**row, "differences": differences_of(row)} for row in claims)):
        return ""
    rows = [("Differences in percentage points", "here [95% interval]", "paper", "verdict")]
    for claim, row in found:
        metric = "" if row["metric"] == "mAP" else f", {row['metric']}"
        label = f"{PAPERS[claim['paper']].short}, {row['setting']}: {row['names']}{metric}"
        rows.append((label, row["here"], row["paper"], claim["verdict"]))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join(
        [*lines, "Of mAP (mean average precision) unless another measure is named. A dash: the paper prints no number."]
    )


def picture_of(results: Results, paper: str) -> tuple[ShownExhibit, Picture] | None:
    """Return the first exhibit of a paper that has a wide picture, of real data if there are any, and the picture.

    Where none is wide, as a card is, it is the first; a paper without any has that of a further exhibit of its study.
    """
    own = results.exhibits(paper)
    studies = {exhibit.study for exhibit in own}
    further = [exhibit for exhibit in results.exhibits() if exhibit.paper not in PAPERS and exhibit.study in studies]
    found = []
    for exhibit in sorted([*own, *further], key=lambda exhibit: (exhibit.synthetic, exhibit.paper != paper)):
        path = exhibit.picture() if exhibit.was_drawn else None
        if path is not None and (picture := encode_thumbnail(path, CARD_SIDE, CARD_QUALITY)):
            found.append((exhibit, picture))
            if picture.width > 1.5 * picture.height:
                return found[-1]
    return found[0] if found else None


def place_of(claim: Claim, row: Mapping[str, Any]) -> str:
    """Name the data set of a difference, and in brackets the part of it."""
    return f"{claim['title']} ({row['setting']})" if row["setting"] not in ("", claim["title"]) else str(claim["title"])


def forest(claims: Iterable[Claim]) -> tuple[str, str]:
    """Plot the first difference behind each primary claim beside the paper's: an address and its finding; or "" twice.

    It is as narrow as a phone, with each label above its interval.
    """
    found = first_differences(claims)
    if not found:
        return "", ""
    frame = pd.DataFrame([row for _, row in found])[["mean", "low", "high", "printed"]].astype("float64")
    with paper_style():
        canvas, file = new_figure(NARROW, 0.8 + 0.5 * len(found)), io.BytesIO()
        axis = canvas.add_subplot()
        axis.vlines(np.zeros(len(found)), frame.index - 0.18, frame.index + 0.18, color=GREY, linewidth=1.0, zorder=1.5)
        ends = np.nan_to_num([frame["mean"] - frame["low"], frame["high"] - frame["mean"]])
        bars: Style = {"xerr": ends, "elinewidth": 0.8, "capsize": 3, "capthick": 0.8}
        here = axis.errorbar(frame["mean"], frame.index, fmt="o", color=BLUE, zorder=3, **bars)
        hollow: Style = {"markerfacecolor": "none", "markersize": 6, "zorder": 2.5}
        printed = axis.plot(frame["printed"], frame.index, "D", color=BLACK, **hollow)
        label: Style = {"transform": axis.get_yaxis_transform(), "verticalalignment": "center"}
        for place, (claim, row) in enumerate(found):
            axis.text(0, place - 0.56, f"{row['names']}, {row['metric']}", fontsize=8, **label)
            axis.text(0, place - 0.29, place_of(claim, row), fontsize=7, color=GREY, **label)
        axis.set(xlabel="Difference in percentage points", ylim=(len(found) - 0.7, -0.8), yticks=[])
        axis.spines["left"].set_visible(False)
        canvas.legend(handles=[here, *printed], labels=["here", "in the paper"], loc="outside lower center", ncols=2)
        canvas.savefig(file, format="svg", metadata={"Date": None, "Creator": "lookalike"})
    return data_address("svg+xml", file.getvalue()), forest_words(frame)


def forest_words(frame: pd.DataFrame) -> str:
    """Say what the differences of `forest` show."""
    printed = frame.dropna(subset=["printed"])
    inside = printed["printed"].between(printed["low"], printed["high"]).sum()
    return (
        f"{len(frame)} differences between methods. {(frame['low'] > 0).sum()} intervals lie above zero and "
        f"{(frame['high'] < 0).sum()} below it. Of {len(printed)} differences that a paper prints, "
        f"{inside} lie within our interval."
    )
