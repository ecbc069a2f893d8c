"""The front page: what was reproduced, on which data and how well, and what went against the papers.

All numbers are the margins of sidecars, or evidence of claims: nothing is computed anew.
"""

from __future__ import annotations

import base64
import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import pandas as pd

from lookalike.exhibits.drawing import draw
from lookalike.exhibits.model import Axis, Figure, Line, Margin, Panel, Series
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.style import BLACK, BLUE, GREY, ORANGE, Look, paper_style
from lookalike.exhibits.verdicts import FAILS
from lookalike.report.pages import address_of
from lookalike.report.results import Exhibit, Results

KINDS = {False: "real photographs", True: "synthetic"}
WHERE = {"real photographs": "On real photographs", "synthetic": "On synthetic data"}
"""Heads of lists of what came out on either."""
SERIES = {False: "here, real photographs", True: "here, synthetic data"}
NO_NUMBER = "–"
"""Stands where print has no number, or no order of methods."""


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


def signed(value: float, unit: str = "points") -> str:
    """A difference of ours with its sign, such as ``+2.9`` or ``−84``; a dash where there is none."""
    if math.isnan(value):
        return NO_NUMBER
    text = f"{value:+.1f}" if unit == "points" else f"{value:+,.0f}"
    return text[1:] if float(text.replace(",", "")) == 0 else text.replace("-", "−")


def in_print(margin: Margin) -> str:
    """The printed difference, without digits that are not printed: ``+4``; a dash where none is printed."""
    return signed(margin.printed, margin.unit).removesuffix(".0")


def with_interval(margin: Margin) -> str:
    """``+2.9 [+1.0, +4.4]``."""
    gap, low, high = (signed(value, margin.unit) for value in (margin.ours, margin.low, margin.high))
    return gap if NO_NUMBER in (low, high) else f"{gap} [{low}, {high}]"


def difference(margin: Margin, of: str = "") -> str:
    """``OASIS − LEGO is +1.7 points [−5.2, +8.7], which may be chance (in the paper +6)``; `of` may name the metric."""
    gap, _, interval = with_interval(margin).partition(" ")
    parts = [f"{margin.method} − {margin.other}{' in ' * bool(of)}{of} is {gap} {margin.unit}", interval]
    said = " ".join(filter(None, parts))
    chance = ", which may be chance" if margin.low <= 0 <= margin.high else ""
    printed = in_print(margin)
    return said + chance + ("" if printed == NO_NUMBER else f" (in the paper {printed})")


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
    parts = [margin.best_told, _levels(row)]
    if differences:
        parts.append("; ".join(map(difference, row.margins)))
    parts += [margin.order_told, exhibit.undecided.removesuffix(".")]
    return Told(exhibit.dataset_title, kind, f"{'. '.join(filter(None, parts))}.", address_of(exhibit))


def _levels(row: Row) -> str:
    """``OASIS reaches 24.1% mAP (33% in the paper), MCML 21.3% (29%) and Euclidean 18.7% (23%)``.

    On synthetic images the paper's are no measure.
    """
    levels: dict[str, str] = {}
    for one in row.margins:
        for name, ours, printed in zip((one.method, one.other), one.levels, one.printed_levels, strict=True):
            metric, beside = ("", "") if levels else (f" {one.metric}", " in the paper")
            in_paper = f" ({printed}{beside})" if printed and not row.exhibit.synthetic else ""
            levels.setdefault(name, f"{ours}{metric}{in_paper}")
    (first, level), *others = levels.items()
    told = [f"{first} reaches {level}", *(f"{name} {level}" for name, level in others)]
    return f"{', '.join(told[:-1])} and {told[-1]}"


def against(results: Results, claims: pd.DataFrame) -> dict[str, list[Told]]:
    """What went against the papers, by the kind of data: gaps of the wrong sign or too small, and claims that fail."""
    told: dict[str, list[Told]] = {}
    failed = claims[claims["verdict"] == FAILS].drop_duplicates(["id", "dataset", "evidence"])
    for row, margin in distinct_margins(results):
        of_dataset = " ".join(failed.loc[failed["dataset"] == row.exhibit.dataset, "evidence"])
        # what a claim says is not said twice
        gap = signed(margin.ours, margin.unit)
        in_claim = f"{margin.method} minus {margin.other} {gap}" in of_dataset
        wrong = margin.ours < 0 and not margin.printed < 0 and not in_claim
        # a gap on synthetic data is not expected to be as wide as in print
        small = not row.exhibit.synthetic and 0 <= margin.high < margin.printed
        if wrong or small:
            where = ", ".join(filter(None, (row.exhibit.dataset_title, margin.setting)))
            note = margin.note or "The paper's gap is wider than the interval of ours." * small
            text = f"{difference(margin, margin.metric)}. {note}".strip()
            told.setdefault(KINDS[row.exhibit.synthetic], []).append(Told(where, "", text, address_of(row.exhibit)))
    for claim in failed.itertuples():
        text = f"“{str(claim.claim).rstrip('.')}” does not hold{claim.in_this_run}: {claim.evidence}."
        item = Told(str(claim.dataset_title), "", text, f"claims.html#{claim.anchor}")
        told.setdefault(KINDS[bool(claim.in_this_run)], []).append(item)
    return told


def distinct_margins(results: Results) -> Iterator[tuple[Row, Margin]]:
    """Every margin of the papers and of our own groups, once: a paper and its draft share numbers of ours."""
    seen = set()
    for row in (row for paper in (*PAPERS, *results.groups) for row in rows_of(results, paper)):
        for margin in row.margins:
            key = row.exhibit.dataset, margin.metric, margin.method, margin.other, margin.ours
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
            if one.unit == "points" and row.exhibit.paper in PAPERS]  # fmt: skip
    if not rows:
        return ""
    frame = pd.DataFrame([
        {"place": place, "series": SERIES[exhibit.synthetic], "ours": margin.ours, "low": margin.low,
         "high": margin.high, "printed": margin.printed}
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
    return f"{where}\n{margin.method} − {margin.other.partition(' (')[0]}, {margin.metric}"
