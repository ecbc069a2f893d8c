"""The front page: what was reproduced, on which data and how well, and what went against the papers.

All numbers are the margins of sidecars, or the evidence of claims: nothing is computed anew.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import pandas as pd

from lookalike.exhibits import words
from lookalike.exhibits.drawing import draw
from lookalike.exhibits.model import Axis, Figure, Line, Margin, Panel, Series
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.statuses import Outcome
from lookalike.exhibits.style import BLACK, BLUE, GREY, ORANGE, Look, paper_style
from lookalike.report.pages import address_of
from lookalike.report.results import Exhibit, Results

KINDS = {False: "real photographs", True: "synthetic"}
WHERE = {"real photographs": "On real photographs", "synthetic": "On synthetic data"}
"""Heads of lists of what came out on either."""
SERIES = {False: "here, real photographs", True: "here, synthetic data"}


class Row(NamedTuple):
    """A line of a paper's table: the margins of one exhibit, data set, setting and metric."""

    exhibit: Exhibit
    margins: tuple[Margin, ...]

    @property
    def first(self) -> Margin:
        """The margin over the best other method in print."""
        return self.margins[0]


class Told(NamedTuple):
    """What the page says of a data set, and where it says more."""

    title: str
    kind: str
    text: str
    address: str


def rows_of(results: Results, paper: str) -> list[Row]:
    """Lines of the table of a paper, or of a group of our own."""
    return [
        Row(exhibit, tuple(margins))
        for exhibit in results.exhibits(paper)
        for _, margins in groupby(exhibit.margins, key=lambda one: (one.setting, one.metric))
    ]


def summary(results: Results, *, differences: bool = True) -> list[Told]:
    """How well the paper's method does, an item for each data set that has a margin, real ones first.

    Where a table beside it has the differences, they can be left out.
    """
    rows: dict[str, list[Row]] = {}
    for row in (row for paper in PAPERS for row in rows_of(results, paper)):
        rows.setdefault(row.exhibit.dataset, []).append(row)
    real_first = sorted(rows.values(), key=lambda own: own[0].exhibit.synthetic)
    return [_of_dataset(own, differences) for own in real_first]


def _of_dataset(rows: Sequence[Row], differences: bool) -> Told:
    """The first line of a data set in sentences; which setting that is, where there are several."""
    row = rows[0]
    exhibit, margin = row.exhibit, row.first
    setting = margin.setting if len({one.first.setting for one in rows}) > 1 else ""
    kind = "; ".join(filter(None, (KINDS[exhibit.synthetic], exhibit.size, setting)))
    best, *order = words.margin_sentences(margin)
    gaps = [f"{'; '.join(map(words.margin_words, row.margins))}."] if differences else []
    text = " ".join(filter(None, [best, f"{_levels(row)}.", *gaps, *order, exhibit.undecided]))
    return Told(exhibit.dataset_title, kind, text, address_of(exhibit))


def _levels(row: Row) -> str:
    """``OASIS reaches 24.1% mAP (33% in the paper), MCML 21.3% (29%) and Euclidean 18.7% (23%)``.

    On synthetic images the paper's are no measure.
    """
    levels: dict[str, str] = {}
    for one in row.margins:
        sides = (one.method, one.rival), *(words.level_words(one, is_printed=side) for side in (False, True))
        for name, ours, printed in zip(*sides, strict=True):
            metric, beside = ("", "") if levels else (f" {one.metric}", " in the paper")
            in_paper = f" ({printed}{beside})" if printed and not row.exhibit.synthetic else ""
            levels.setdefault(name, f"{ours}{metric}{in_paper}")
    (first, level), *others = levels.items()
    parts = [f"{first} reaches {level}", *(f"{name} {level}" for name, level in others)]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def against(results: Results, claims: pd.DataFrame) -> dict[str, list[Told]]:
    """What went against the papers, by the kind of data: gaps of the wrong sign or too small, and claims that fail."""
    found: dict[str, list[Told]] = {}
    failed = claims[claims["verdict"] == Outcome.FAILS].drop_duplicates(["id", "dataset", "evidence"])
    keys: Any = zip(failed["dataset"], failed["keys"], strict=True)
    # a claim's evidence says the first of its contrasts
    told_by_claims = {(dataset, *of_claim[0]) for dataset, of_claim in keys if of_claim}
    for row, margin in distinct_margins(results):
        gap, is_synthetic = margin.contrast, row.exhibit.synthetic
        # what a claim says is not said twice
        is_told = (row.exhibit.dataset, *gap.key) in told_by_claims
        wrong = gap.mean < 0 and not gap.printed < 0 and not is_told
        # a gap on synthetic data is not expected to be as wide as in print
        small = not is_synthetic and 0 <= gap.high < gap.printed
        if wrong or small:
            where = ", ".join(filter(None, (row.exhibit.dataset_title, margin.setting)))
            note = margin.note or "The paper's gap is wider than the interval of ours." * small
            text = f"{words.margin_words(margin, margin.metric)}. {note}".strip()
            found.setdefault(KINDS[is_synthetic], []).append(Told(where, "", text, address_of(row.exhibit)))
    for claim in failed.itertuples():
        text = f"Does not hold{claim.in_this_run}: “{claim.claim}” {claim.evidence}."
        item = Told(str(claim.dataset_title), "", text, f"claims.html#{claim.anchor}")
        found.setdefault(KINDS[bool(claim.in_this_run)], []).append(item)
    return found


def distinct_margins(results: Results) -> Iterator[tuple[Row, Margin]]:
    """Every margin of the papers and of our own groups, once: a paper and its draft share numbers of ours."""
    seen = set()
    for row in (row for paper in (*PAPERS, *results.groups) for row in rows_of(results, paper)):
        for margin in row.margins:
            key = row.exhibit.dataset, *margin.contrast.key
            if key not in seen:
                seen.add(key)
                yield row, margin


def repeated(papers: Mapping[str, Sequence[Row]], paper: str) -> dict[str, str]:
    """Label of each exhibit of a paper to that of an earlier paper with the same margins; empty where one has none."""
    earlier = [row for other in list(papers)[: list(papers).index(paper)] for row in papers[other]]
    labels = {repr((row.exhibit.dataset, row.margins)): row.exhibit.label for row in earlier}
    found = {row.exhibit.label: labels.get(repr((row.exhibit.dataset, row.margins)), "") for row in papers[paper]}
    return found if all(found.values()) else {}


def forest(results: Results) -> str:
    """The gaps of all papers that are counted in points, ours with their intervals beside print: an image's address."""
    rows = [(row.exhibit, one) for row, one in distinct_margins(results)
            if one.contrast.unit == "points" and row.exhibit.paper in PAPERS]  # fmt: skip
    if not rows:
        return ""
    frame = pd.DataFrame([
        {"place": place, "series": SERIES[exhibit.synthetic], "ours": margin.contrast.mean, "low": margin.contrast.low,
         "high": margin.contrast.high, "printed": margin.contrast.printed}
        for place, (exhibit, margin) in enumerate(rows)
    ])  # fmt: skip
    looks = dict(zip(SERIES.values(), (Look(BLUE, "o"), Look(ORANGE, "s")), strict=True))
    series = [Series(name, {"series": name}, "ours", "place", look, "low", "high", kind="points", sideways=True)
              for name, look in looks.items() if name in set(frame["series"])]  # fmt: skip
    series.append(Series("in the paper", {}, "printed", "place", Look(BLACK, "D"), kind="points", hollow=True))
    n_settings = Counter(dataset for dataset, _ in {(exhibit.dataset, margin.setting) for exhibit, margin in rows})
    ticks = tuple((place, _row_name(*row, n_settings[row[0].dataset] > 1)) for place, row in enumerate(rows))
    y = Axis("", ticks=ticks, low=-0.6, high=len(rows) - 0.4, reversed=True)
    x = Axis("Gap in percentage points")
    panel = Panel("", x, y, tuple(series), (Line("", 0, Look(GREY, ""), upright=True),))
    with paper_style():
        canvas = draw(Figure(frame, (panel,), size=(4.4, 0.6 + 0.33 * len(rows))))
        file = io.BytesIO()
        canvas.savefig(file, format="svg", metadata={"Date": None, "Creator": "lookalike"})
    return f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def _row_name(exhibit: Exhibit, margin: Margin, has_settings: bool) -> str:
    """``20 Caltech-256 classes`` above ``OASIS − MCML, mAP``, so that a phone has room for both."""
    where = exhibit.dataset_title + (f", {margin.setting}" if has_settings else "")
    return f"{where}\n{margin.method} − {margin.other}, {margin.metric}"
