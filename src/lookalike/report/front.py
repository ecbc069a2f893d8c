"""The front page: what was reproduced, on which data and how well, and which claims hold.

All numbers are the margins of sidecars, or the evidence of claims: nothing is computed here.
"""

from __future__ import annotations

import base64
import io
import math
from collections import Counter
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


def distinct_rows(results: Results) -> list[Row]:
    """Return the lines on photographs, each margin once: a paper and its draft share ours."""
    known: set[tuple[str, ...]] = set()
    rows = []
    for row in (row for paper in (*PAPERS, *results.groups) for row in rows_of(results, paper)):
        keys = {(row.exhibit.dataset, *margin.contrast.key): margin for margin in row.margins}
        margins = tuple(margin for key, margin in keys.items() if key not in known)
        rows += [Row(row.exhibit, margins)] if margins and not row.exhibit.synthetic else []
        known |= {*keys}
    return rows


def main_rows(results: Results) -> list[Row]:
    """Return the first line of a paper of each data set of photographs that has one."""
    first: dict[str, Row] = {}
    for row in distinct_rows(results):
        if row.exhibit.paper in PAPERS:
            first.setdefault(row.exhibit.dataset, row)
    return list(first.values())


def gaps_in_points(results: Results) -> list[tuple[Row, Margin]]:
    """Return each gap of a paper that is counted in points, with its line."""
    rows = [row for row in distinct_rows(results) if row.exhibit.paper in PAPERS]
    return [(row, margin) for row in rows for margin in row.margins if margin.contrast.unit == "points"]


def result_words(row: Row) -> str:
    """Say which method is best, as in print or not, and what each reaches."""
    best, *_ = words.margin_sentences(row.first)
    return f"{best} {_levels(row)}."


def minimum_words(results: Results, row: Row) -> str:
    """Say how far the paper's method is ahead of methods that go to their minimum; "" where none did."""
    exhibits = results.exhibits(dataset=row.exhibit.dataset)
    margins = [margin for exhibit in exhibits if exhibit.name == "minimum" for margin in exhibit.margins]
    found = [f"{words.margin_words(margin)} ({margin.setting})" for margin in margins]
    return f"Descents that go on to their minimum: {'; '.join(found)}." if found else ""


def _levels(row: Row) -> str:
    """Write ``OASIS reaches 24.1% (33% in the paper), MCML 21.3% (29%) and Euclidean 18.7% (23%)``."""
    levels: dict[str, str] = {}
    for margin in row.margins:
        ours, in_print = ("{:,.0f}", "{:,.0f}") if margin.contrast.unit == "triplets" else ("{:.1f}%", "{:g}%")
        names = margin.method, margin.rival
        for name, here, printed in zip(names, margin.levels, margin.printed_levels, strict=True):
            where = "" if levels else " in the paper"
            in_paper = "" if math.isnan(printed) else f" ({in_print.format(printed)}{where})"
            levels.setdefault(name, f"{ours.format(here)}{in_paper}")
    (first, level), *others = levels.items()
    return words.listed([f"{first} reaches {level}", *(f"{name} {level}" for name, level in others)])


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
    rows = [(row.exhibit, margin) for row, margin in gaps_in_points(results)]
    if not rows:
        return ""
    gaps = pd.DataFrame([asdict(margin.contrast) for _, margin in rows])
    frame = gaps.assign(place=range(len(rows)))
    series = [
        Series("here", {}, "mean", "place", Look(BLUE, "o"), "low", "high", kind="points", sideways=True),
        Series("in the paper", {}, "printed", "place", Look(BLACK, "D"), kind="points", hollow=True),
    ]
    n_settings = Counter(dataset for dataset, _ in {(exhibit.dataset, margin.setting) for exhibit, margin in rows})
    ticks = tuple((place, _row_name(*row, n_settings[row[0].dataset] > 1)) for place, row in enumerate(rows))
    y = Axis("", ticks=ticks, low=-0.6, high=len(rows) - 0.4, reversed=True)
    panel = Panel("", Axis("Gap in percentage points"), y, tuple(series), (Line("", 0, Look(GREY, ""), upright=True),))
    with paper_style():
        most = max(name.count("\n") + 1 for _, name in ticks)
        canvas = draw(Figure(frame, (panel,), size=(7.2, 0.6 + (0.09 + 0.12 * most) * len(rows))))
        file = io.BytesIO()
        canvas.savefig(file, format="svg", metadata={"Date": None, "Creator": "lookalike"})
    return f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def _row_name(exhibit: ShownExhibit, margin: Margin, has_settings: bool) -> str:
    """Write ``20 Caltech-256 classes`` above ``OASIS − MCML, mAP``, in lines that leave the chart its room."""
    where = ", ".join(filter(None, (exhibit.dataset_title, margin.setting * has_settings)))
    return "\n".join((*wrap(where, LETTERS), *wrap(f"{margin.method} − {margin.other}, {margin.metric}", LETTERS)))
