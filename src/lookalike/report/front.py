"""The front page: what was reproduced, on which data and how well, and which claims hold.

All numbers are the margins of sidecars, or the evidence of claims: nothing is computed here.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from textwrap import wrap
from typing import NamedTuple

import pandas as pd

from lookalike.exhibits import words
from lookalike.exhibits.drawing import draw
from lookalike.exhibits.model import Axis, Figure, Line, Margin, Panel, Series
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.style import BLACK, BLUE, GREY, Look, paper_style
from lookalike.report.pages import same_earlier
from lookalike.report.pictures import data_address
from lookalike.report.results import Results, ShownExhibit

KINDS = {False: "real photographs", True: "synthetic"}
LETTERS = 38
"""Letters of a line beside the chart."""


class Row(NamedTuple):
    """A line of a paper's table: the margins of one exhibit, data set, setting and metric."""

    exhibit: ShownExhibit
    margins: tuple[Margin, ...]

    @property
    def first(self) -> Margin:
        """The margin over the best other method in print."""
        return self.margins[0]

    @property
    def place(self) -> str:
        """Data set and setting."""
        return ", ".join(filter(None, (self.exhibit.dataset_title, self.first.setting)))


def rows_of(results: Results, paper: str) -> list[Row]:
    """Return the lines of the table of a paper, or of a group of our own."""
    return [
        Row(exhibit, tuple(margins))
        for exhibit in results.exhibits(paper)
        for _, margins in groupby(exhibit.margins, key=lambda margin: (margin.setting, margin.metric))
    ]


def distinct_rows(results: Results, groups: Sequence[str] = ()) -> list[Row]:
    """Return the lines of papers and groups on photographs, each margin once: a paper and its draft share ours."""
    known: set[tuple[str, ...]] = set()
    rows = []
    for row in (row for paper in (*PAPERS, *groups) for row in rows_of(results, paper)):
        keys = {(row.exhibit.dataset, *margin.contrast.key): margin for margin in row.margins}
        margins = tuple(margin for key, margin in keys.items() if key not in known)
        rows += [Row(row.exhibit, margins)] if margins and not row.exhibit.synthetic else []
        known |= {*keys}
    return rows


def gaps_in_points(results: Results) -> list[tuple[Row, Margin]]:
    """Return each gap of a paper that is counted in points, with its line."""
    rows = distinct_rows(results)
    return [(row, margin) for row in rows for margin in row.margins if margin.contrast.unit == "points"]


def result_words(row: Row) -> str:
    """Say which method is best, as in print or not, and what each reaches: ``OASIS reaches 24% (33% in the paper)``."""
    best, *_ = words.margin_sentences(row.first)
    levels: dict[str, str] = {}
    for margin in row.margins:
        ours, in_print = ("{:,.0f}", "{:,.0f}") if margin.contrast.unit == "triplets" else ("{:.1f}%", "{:g}%")
        names = margin.method, margin.rival
        for name, here, printed in zip(names, margin.levels, margin.printed_levels, strict=True):
            verb, where = ("", "") if levels else (" reaches", " in the paper")
            in_paper = "" if math.isnan(printed) else f" ({in_print.format(printed)}{where})"
            levels.setdefault(name, f"{name}{verb} {ours.format(here)}{in_paper}")
    return f"{best} {words.listed([*levels.values()])}."


def minimum_words(results: Results, row: Row) -> str:
    """Say how far the paper's method is ahead of methods that go to their minimum; "" where none did."""
    exhibits = results.exhibits(dataset=row.exhibit.dataset)
    margins = [margin for exhibit in exhibits if exhibit.name == "minimum" for margin in exhibit.margins]
    found = [f"{words.margin_words(margin)} ({margin.setting})" for margin in margins]
    return f"Descents that go on to their minimum: {'; '.join(found)}." if found else ""


def synthetic_words(results: Results) -> str:
    """Name the data sets that code makes, in one sentence; "" without any."""
    titles = [dataset.title for dataset in results.datasets if dataset.synthetic and not dataset.not_run]
    return f"Made by code, to show that the methods run: {words.listed(titles)}." if titles else ""


def compared_words(row: Row) -> str:
    """Say how the methods of a line compare; of what a paper prints, what it reaches and what is unlike in print."""
    if row.exhibit.paper in PAPERS:
        parts = [result_words(row), words.unlike_print(row.margins)]
    else:
        parts = [words.sentence("; ".join(map(words.margin_words, row.margins)))]
    return " ".join(filter(None, (*parts, *dict.fromkeys(margin.note for margin in row.margins))))


def repeated(results: Results, rows: Sequence[Row]) -> dict[str, str]:
    """Return the label of each exhibit to that of an earlier paper that shows the same; empty where one has none."""
    earlier = {row.exhibit.label: same_earlier(row.exhibit, results) for row in rows}
    found = {label: other.label for label, other in earlier.items() if other is not None}
    return found if len(found) == len(earlier) else {}


def forest(results: Results) -> str:
    """Draw the gaps of all papers that are counted in points, ours with their intervals beside print: an address."""
    rows = gaps_in_points(results)
    if not rows:
        return ""
    frame = pd.DataFrame([asdict(margin.contrast) for _, margin in rows]).assign(place=range(len(rows)))
    names = [
        "\n".join((*wrap(row.place, LETTERS), *wrap(f"{gap.method} − {gap.other}, {gap.metric}", LETTERS)))
        for row, gap in rows
    ]
    series = (
        Series("here", {}, "mean", "place", Look(BLUE, "o"), "low", "high", kind="points", sideways=True),
        Series("in the paper", {}, "printed", "place", Look(BLACK, "D"), kind="points", hollow=True),
    )
    y = Axis("", ticks=tuple(enumerate(names)), low=-0.6, high=len(rows) - 0.4, reversed=True)
    zero = Line("", 0, Look(GREY, ""), upright=True)
    panel = Panel("", Axis("Gap in percentage points"), y, series, (zero,))
    most = 1 + max(name.count("\n") for name in names)
    size = (7.2, 0.6 + (0.09 + 0.12 * most) * len(rows))
    file = io.BytesIO()
    with paper_style():
        canvas = draw(Figure(frame, (panel,), size=size))
        canvas.savefig(file, format="svg", metadata={"Date": None, "Creator": "lookalike"})
    return data_address("svg+xml", file.getvalue())
