"""The front page: what was reproduced, on which data and how well, and what went against the papers.

All numbers are the margins of sidecars, or evidence of claims: nothing is computed anew.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import pandas as pd

from lookalike.exhibits.drawing import draw
from lookalike.exhibits.model import Axis, Figure, Line, Margin, Panel, Series
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.style import BLACK, BLUE, GREY, ORANGE, Look, paper_style
from lookalike.exhibits.verdicts import FAILS
from lookalike.report.facts import command_of
from lookalike.report.pages import page_of, view_id
from lookalike.report.results import Exhibit, Results

ORDERS = {True: "yes", False: "no", None: "–"}
"""Whether methods come in the printed order, in a word."""
KINDS = {False: "real photographs", True: "made by code"}
"""What the images of a data set are."""
SERIES = {False: "here, real photographs", True: "here, data made by code"}


class Row(NamedTuple):
    """A line of a paper's table: the margins of one exhibit, data set, setting and metric."""

    exhibit: Exhibit
    margins: tuple[Margin, ...]

    @property
    def first(self) -> Margin:
        """The margin over the best other method in print."""
        return self.margins[0]

    @property
    def address(self) -> str:
        """Where the exhibit stands."""
        return f"{page_of(self.exhibit.paper)}#{view_id(self.exhibit)}"

    @property
    def command(self) -> str:
        """What makes it again."""
        return command_of(self.exhibit)


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
        return "–"
    text = f"{value:+.1f}" if unit == "points" else f"{value:+,.0f}"
    return text[1:] if float(text.replace(",", "")) == 0 else text.replace("-", "−")


def in_print(margin: Margin) -> str:
    """The printed difference, without digits that are not printed: ``+4``; a dash where none is printed."""
    return signed(margin.printed, margin.unit).removesuffix(".0")


def with_interval(margin: Margin) -> str:
    """``+2.9 [+1.0, +4.4]``."""
    gap, low, high = (signed(value, margin.unit) for value in (margin.ours, margin.low, margin.high))
    return gap if "–" in (low, high) else f"{gap} [{low}, {high}]"


def gap_of(margin: Margin) -> str:
    """``2.9 points above MCML ([+1.4, +4.4]; in print 4)``, and whether it may be chance."""
    gap, _, interval = with_interval(margin).partition(" ")
    above, printed = margin.ours >= 0, in_print(margin)
    turned = "" if above == (margin.printed >= 0) else " above" if margin.printed >= 0 else " below"
    beside = "" if printed == "–" else f"in print {printed.lstrip('+−')}{turned}"
    chance = "may be chance" if margin.low <= 0 <= margin.high else ""
    told = "; ".join(filter(None, (interval, chance, beside)))
    return f"{gap.lstrip('+−')} {margin.unit} {'above' if above else 'below'} {margin.other} ({told})"


def reached(margin: Margin) -> str:
    """``S-TG reaches 54.8% mAP, 0.3 points below OASIS (...), which reaches 55.1%``."""
    method = f"{margin.method}," if "," in margin.method else margin.method
    first, second = margin.levels
    return f"{method} reaches {first} {margin.metric}, {gap_of(margin)}, which reaches {second}"


def summary(results: Results) -> list[Told]:
    """One item for each data set that has a margin, real ones first: how well the paper's method does there."""
    rows: dict[str, list[Row]] = {}
    for row in (row for paper in PAPERS for row in rows_of(results, paper)):
        rows.setdefault(row.exhibit.dataset, []).append(row)
    return [_of_dataset(own) for own in sorted(rows.values(), key=lambda own: own[0].exhibit.synthetic)]


def _of_dataset(rows: Sequence[Row]) -> Told:
    """The first line of a data set in a sentence; which setting that is, where there are several."""
    row = rows[0]
    exhibit, margin = row.exhibit, row.first
    setting = margin.setting if len({one.first.setting for one in rows}) > 1 else ""
    kind = "; ".join(filter(None, (KINDS[exhibit.synthetic], exhibit.size, setting)))
    if margin.best == margin.method:
        said = (
            f"{margin.best} is best with {margin.levels[0]} {margin.metric}: {' and '.join(map(gap_of, row.margins))}"
        )
    else:
        said = f"The best method is {margin.best}. {'; '.join(map(reached, row.margins))}"
    order = f" The methods {'come' if margin.same_order else 'do not come'} in the printed order."
    text = f"{said}.{'' if margin.same_order is None else order}"
    return Told(exhibit.dataset_title, kind, text, row.address)


def against(results: Results, claims: pd.DataFrame) -> list[Told]:
    """What went against the papers, real data first: gaps below 0 that are not so in print, and claims that fail."""
    told: list[tuple[bool, Told]] = []
    failed = claims[claims["verdict"] == FAILS].drop_duplicates(["id", "dataset"])
    for row in (row for paper in (*results.groups, *PAPERS) for row in rows_of(results, paper)):
        of_dataset = failed[failed["dataset"] == row.exhibit.dataset]
        evidence = " ".join([*of_dataset["evidence"], *of_dataset["rest"]])
        for margin in row.margins:
            # what a claim says is not said twice
            if margin.ours < 0 and not margin.printed < 0 and f"{margin.method} minus {margin.other}" not in evidence:
                where = ", ".join(filter(None, (row.exhibit.dataset_title, margin.setting)))
                item = Told(where, KINDS[row.exhibit.synthetic], f"{reached(margin)}.", row.address)
                told.append((row.exhibit.synthetic, item))
    for claim in failed.itertuples():
        made = bool(claim.in_this_run)
        text = f"“{str(claim.claim).rstrip('.')}” does not hold{claim.in_this_run}: {claim.evidence}"
        told.append((made, Told(str(claim.dataset_title), KINDS[made], text, f"claims.html#{claim.anchor}")))
    return [item for _, item in sorted(told, key=lambda one: one[0])]


def forest(results: Results) -> str:
    """The gaps of all papers that are counted in points, ours with their intervals beside print: an image's address."""
    rows: dict[tuple[object, ...], tuple[Exhibit, Margin]] = {}
    for row in (row for paper in PAPERS for row in rows_of(results, paper)):
        for margin in row.margins:
            # a paper and its draft share numbers of ours
            same = (row.exhibit.dataset, margin.metric, margin.method, margin.other, margin.ours)
            if margin.unit == "points":
                rows.setdefault(same, (row.exhibit, margin))
    if not rows:
        return ""
    frame = pd.DataFrame([
        {"place": place, "series": SERIES[exhibit.synthetic], "ours": margin.ours, "low": margin.low,
         "high": margin.high, "printed": margin.printed}
        for place, (exhibit, margin) in enumerate(rows.values())
    ])  # fmt: skip
    looks = dict(zip(SERIES.values(), (Look(BLUE, "o"), Look(ORANGE, "s")), strict=True))
    series = [Series(name, {"series": name}, "ours", "place", look, "low", "high", kind="points", sideways=True)
              for name, look in looks.items() if name in set(frame["series"])]  # fmt: skip
    series.append(Series("in print", {}, "printed", "place", Look(BLACK, "D"), kind="points", hollow=True))
    ticks = tuple((place, _row_name(*row)) for place, row in enumerate(rows.values()))
    y = Axis("", ticks=ticks, low=-0.6, high=len(rows) - 0.4, reversed=True)
    x = Axis("Gap in percentage points")
    panel = Panel("", x, y, tuple(series), (Line("", 0, Look(GREY, ""), upright=True),))
    with paper_style():
        canvas = draw(Figure(frame, (panel,), size=(6.3, 0.45 + 0.21 * len(rows))))
        file = io.BytesIO()
        canvas.savefig(file, format="svg", metadata={"Date": None, "Creator": "lookalike"})
    return f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def _row_name(exhibit: Exhibit, margin: Margin) -> str:
    """``12 Caltech-256 classes: OASIS − MCML, mAP``."""
    where = exhibit.dataset_title + (f", {margin.setting}" if margin.setting.endswith("words") else "")
    return f"{where}: {margin.method} − {margin.other}, {margin.metric}"
