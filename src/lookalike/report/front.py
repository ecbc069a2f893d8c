"""The front page: what was reproduced, on which data and how well, and what went with the papers and against them.

All numbers are the margins of sidecars, or the evidence of claims: nothing is computed anew.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import NamedTuple

import pandas as pd

from lookalike.exhibits import words
from lookalike.exhibits.claims import Kind
from lookalike.exhibits.drawing import draw
from lookalike.exhibits.model import Axis, Figure, Line, Margin, Panel, Series
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.statuses import Outcome
from lookalike.exhibits.style import BLACK, BLUE, GREY, ORANGE, Look, paper_style
from lookalike.report.claims import Choice, DecidedClaim, counts_by_kind
from lookalike.report.pages import address_of, twin_of
from lookalike.report.results import Exhibit, Results

KINDS = {False: "real photographs", True: "synthetic"}
SERIES = {False: "here, real photographs", True: "here, synthetic data"}


class Row(NamedTuple):
    """A line of a paper's table: the margins of one exhibit, data set, setting and metric."""

    exhibit: Exhibit
    margins: tuple[Margin, ...]

    @property
    def first(self) -> Margin:
        """The margin over the best other method in print."""
        return self.margins[0]

    @property
    def place(self) -> str:
        """Data set and setting."""
        return ", ".join(filter(None, (self.exhibit.dataset_title, self.first.setting)))


class Item(NamedTuple):
    """A result in words, what it is of, and where it is shown."""

    place: str
    address: str
    text: str
    evidence: str = ""


class Sides(NamedTuple):
    """What came out on one kind of data."""

    data: list[str]
    """Data sets, each with its size."""
    agreeing: list[Item]
    opposing: list[Item]
    holding: list[Item]
    """Claims that hold."""
    failing: list[Item]
    counts: dict[str, list[Choice]]
    """Verdicts on methods and on our programs, counted."""
    words: str
    """What stands behind these verdicts."""
    caveats: list[str]
    """What leaves open how methods compare."""


def rows_of(results: Results, paper: str) -> list[Row]:
    """Return the lines of the table of a paper, or of a group of our own."""
    return [
        Row(exhibit, tuple(margins))
        for exhibit in results.exhibits(paper)
        for _, margins in groupby(exhibit.margins, key=lambda margin: (margin.setting, margin.metric))
    ]


def distinct_rows(results: Results) -> list[Row]:
    """Return the lines of all papers and of our own groups, each margin once: a paper and its draft share ours."""
    seen: set[tuple[str, ...]] = set()
    rows = []
    for row in (row for paper in (*PAPERS, *results.groups) for row in rows_of(results, paper)):
        keys = {(row.exhibit.dataset, *margin.contrast.key): margin for margin in row.margins}
        margins = tuple(margin for key, margin in keys.items() if key not in seen)
        rows += [Row(row.exhibit, margins)] if margins else []
        seen |= {*keys}
    return rows


def main_rows(results: Results) -> list[Row]:
    """Return the first line of a paper of each data set that has one, real ones first."""
    first: dict[str, Row] = {}
    for row in distinct_rows(results):
        if row.exhibit.paper in PAPERS:
            first.setdefault(row.exhibit.dataset, row)
    return sorted(first.values(), key=lambda row: row.exhibit.synthetic)


def gaps_in_points(results: Results) -> list[tuple[Row, Margin]]:
    """Return each gap of a paper that is counted in points, with its line."""
    rows = [row for row in distinct_rows(results) if row.exhibit.paper in PAPERS]
    return [(row, margin) for row in rows for margin in row.margins if margin.contrast.unit == "points"]


def result_words(row: Row) -> str:
    """Say which method is best, as in print or not, and what each reaches."""
    best, *_ = words.margin_sentences(row.first)
    return f"{best} {_levels(row)}."


def order_words(row: Row) -> str:
    """Say how many methods come in the order of the paper; "" where it has none."""
    return " ".join(words.margin_sentences(row.first)[1:])


def _levels(row: Row) -> str:
    """Write ``OASIS reaches 24.1% mAP (33% in the paper), MCML 21.3% (29%) and Euclidean 18.7% (23%)``.

    On synthetic images the paper's are no measure.
    """
    levels: dict[str, str] = {}
    for margin in row.margins:
        sides = (margin.method, margin.rival), *(words.level_words(margin, is_printed=side) for side in (False, True))
        for name, ours, printed in zip(*sides, strict=True):
            metric, beside = ("", "") if levels else (f" {margin.metric}", " in the paper")
            in_paper = f" ({printed}{beside})" if printed and not row.exhibit.synthetic else ""
            levels.setdefault(name, f"{ours}{metric}{in_paper}")
    (first, level), *others = levels.items()
    return words.listed([f"{first} reaches {level}", *(f"{name} {level}" for name, level in others)])


def is_reversed(margin: Margin) -> bool:
    """Tell whether the paper's method is behind here and not in print."""
    return margin.contrast.mean < 0 and not margin.contrast.printed < 0


def outcome(results: Results, claims: Sequence[DecidedClaim], *, synthetic: bool) -> Sides:
    """Return what went with the papers on one kind of data, and what went against them, each once."""
    verdicts = [claim for claim in claims if bool(claim.in_this_run) == synthetic]
    # a paper and its draft share claims, and a claim's evidence says the first of its contrasts
    held = (claim for claim in verdicts if claim.verdict is Outcome.HOLDS)
    holding = {(claim.claim, claim.dataset, claim.tried): claim for claim in held}
    # what the papers claim by orders of magnitude comes first, with its ratios
    by_speed = sorted(holding.values(), key=is_of_quality)
    failed = (claim for claim in verdicts if claim.verdict is Outcome.FAILS)
    failing = {(claim.claim, claim.dataset, claim.evidence): claim for claim in failed}
    in_claims = {(claim.dataset, *claim.keys[0]) for claim in failing.values() if claim.keys}
    agreeing: list[Item] = []
    opposing: list[Item] = []
    main = main_rows(results)
    for row in distinct_rows(results):
        if row.exhibit.synthetic == synthetic:
            if row in main:
                item = Item(row.place, address_of(row.exhibit), result_words(row))
                (opposing if is_reversed(row.first) else agreeing).append(item)
            opposing += _against(row, main, in_claims)
    exhibits = [exhibit for exhibit in results.exhibits() if exhibit.synthetic == synthetic]
    sizes = {exhibit.dataset_title: exhibit.size for exhibit in exhibits if exhibit.size}
    caveats = {exhibit.dataset_title: exhibit.undecided for exhibit in exhibits if exhibit.undecided}
    several = len({claim.dataset for claim in verdicts}) > 1
    return Sides(
        [f"{title} ({size})" for title, size in sizes.items()],
        agreeing,
        opposing,
        [_claim(claim, several, has_evidence=not is_of_quality(claim)) for claim in by_speed],
        [_claim(claim, several) for claim in failing.values()],
        counts_by_kind(verdicts),
        " in this run" * synthetic,
        [f"{words.sentence(title)} {caveat}" for title, caveat in caveats.items()],
    )


def _against(row: Row, main: Sequence[Row], in_claims: set[tuple[str, ...]]) -> Iterator[Item]:
    """Yield the gaps of a line that have the wrong sign, and on photographs those that are too small, in one item."""
    for margin in row.margins:
        # what a claim or the line's own sentence says is not said twice
        is_said = (row.exhibit.dataset, *margin.contrast.key) in in_claims or (row in main and margin is row.first)
        if is_reversed(margin) and not is_said:
            yield Item(row.place, address_of(row.exhibit), f"{words.margin_words(margin)}. {margin.note}".strip())
    # a gap on synthetic data is not expected to be as wide as in print
    small = [margin for margin in row.margins if 0 <= margin.contrast.high < margin.contrast.printed]
    if small and not row.exhibit.synthetic:
        gaps = "; ".join(map(words.margin_words, small))
        yield Item(row.place, address_of(row.exhibit), f"Smaller than in print: {gaps}.")


def is_of_quality(claim: DecidedClaim) -> bool:
    """Tell whether a claim is of a method and not of what a program takes."""
    return claim.kind != Kind.IMPLEMENTATION


def _claim(claim: DecidedClaim, several: bool, *, has_evidence: bool = True) -> Item:
    """Return a claim with its evidence, the parts that it was tried on, and of several data sets its own.

    Of what programs take each part of the evidence is told: the ratios differ from set to set.
    """
    evidence = [claim.evidence, *(() if is_of_quality(claim) else claim.parts)]
    parts = (claim.dataset_title if several else "", claim.part, claim.reach, claim.scope)
    place = ", ".join(filter(None, parts))
    return Item(place, f"claims.html#{claim.anchor}", claim.claim, words.sentence("; ".join(evidence)) * has_evidence)


def repeated(results: Results, rows: Sequence[Row]) -> dict[str, str]:
    """Return the label of each exhibit to that of an earlier paper that shows the same; empty where one has none."""
    twins = {row.exhibit.label: twin_of(row.exhibit, results) for row in rows}
    found = {label: twin.label for label, twin in twins.items() if twin is not None}
    return found if len(found) == len(twins) else {}


def forest(results: Results) -> str:
    """Draw the gaps of all papers that are counted in points, ours with their intervals beside print: an address."""
    rows = [(row.exhibit, margin) for row, margin in gaps_in_points(results)]
    if not rows:
        return ""
    gaps = pd.DataFrame([asdict(margin.contrast) for _, margin in rows])
    frame = gaps.assign(place=range(len(rows)), series=[SERIES[exhibit.synthetic] for exhibit, _ in rows])
    looks = dict(zip(SERIES.values(), (Look(BLUE, "o"), Look(ORANGE, "s")), strict=True))
    series = [
        Series(name, {"series": name}, "mean", "place", look, "low", "high", kind="points", sideways=True)
        for name, look in looks.items()
        if name in set(frame["series"])
    ]
    series.append(Series("in the paper", {}, "printed", "place", Look(BLACK, "D"), kind="points", hollow=True))
    n_settings = Counter(dataset for dataset, _ in {(exhibit.dataset, margin.setting) for exhibit, margin in rows})
    ticks = tuple((place, _row_name(*row, n_settings[row[0].dataset] > 1)) for place, row in enumerate(rows))
    y = Axis("", ticks=ticks, low=-0.6, high=len(rows) - 0.4, reversed=True)
    panel = Panel("", Axis("Gap in percentage points"), y, tuple(series), (Line("", 0, Look(GREY, ""), upright=True),))
    with paper_style():
        canvas = draw(Figure(frame, (panel,), size=(4.4, 0.6 + 0.33 * len(rows))))
        file = io.BytesIO()
        canvas.savefig(file, format="svg", metadata={"Date": None, "Creator": "lookalike"})
    return f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def _row_name(exhibit: Exhibit, margin: Margin, has_settings: bool) -> str:
    """Write ``20 Caltech-256 classes`` above ``OASIS − MCML, mAP``, so that a phone has room for both."""
    where = exhibit.dataset_title + (f", {margin.setting}" if has_settings else "")
    return f"{where}\n{margin.method} − {margin.other}, {margin.metric}"
