"""The front page: what was reproduced, on which data and how well, and which claims hold.

All numbers are the margins of sidecars, or the evidence of claims: nothing is computed anew.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from textwrap import wrap
from typing import NamedTuple

import pandas as pd

from lookalike.exhibits import words
from lookalike.exhibits.claims import Kind
from lookalike.exhibits.drawing import draw
from lookalike.exhibits.model import Axis, Figure, Line, Margin, Panel, Series
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.statuses import ELSEWHERE, Outcome
from lookalike.exhibits.style import BLACK, BLUE, GREY, ORANGE, Look, paper_style
from lookalike.report.claims import Choice, DecidedClaim, alike, by_basis, verdict_choices
from lookalike.report.pages import address_of, twin_of
from lookalike.report.results import Exhibit, Results

KINDS = {False: "real photographs", True: "synthetic"}
LETTERS = 38
"""Letters of a line beside the chart."""
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


class Maker(NamedTuple):
    """A paper that makes a claim."""

    title: str
    address: str
    """Of the claim with all that decided it."""
    scope: str
    """What it was tried on, and on what of its own not."""


class SharedClaim(NamedTuple):
    """A claim, once for all papers that make it."""

    text: str
    place: str
    """Data set, of several."""
    makers: list[Maker]
    evidence: str


class Verdicts(NamedTuple):
    """Claims of one outcome: on methods first, then by numbers without intervals, then on programs."""

    outcome: Outcome
    claims: dict[str, list[SharedClaim]]

    @property
    def n_claims(self) -> int:
        """How many claims these are."""
        return sum(map(len, self.claims.values()))


class Sides(NamedTuple):
    """What came out on one kind of data."""

    data: list[str]
    """Data sets, each with its size."""
    compared: list[Item]
    """How the methods compare."""
    verdicts: list[Verdicts]
    counts: dict[str, list[Choice]]
    """Verdicts counted, each once for all papers that make the claim."""
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


def minimum_words(results: Results, row: Row) -> str:
    """Say how far the paper's method is ahead of methods that go to their minimum; "" where none did."""
    exhibits = results.exhibits(dataset=row.exhibit.dataset)
    margins = [margin for exhibit in exhibits if exhibit.name == "minimum" for margin in exhibit.margins]
    found = [f"{words.margin_words(margin)} ({margin.setting})" for margin in margins]
    return f"Descents that go on to their minimum: {'; '.join(found)}." if found else ""


def order_words(row: Row) -> str:
    """Say how many methods come in the order of the paper; "" where it has none."""
    return " ".join(words.margin_sentences(row.first)[1:])


def _levels(row: Row) -> str:
    """Write ``OASIS reaches 24.1% (33% in the paper), MCML 21.3% (29%) and Euclidean 18.7% (23%)``.

    On synthetic images the paper's are no measure.
    """
    levels: dict[str, str] = {}
    for margin in row.margins:
        sides = (margin.method, margin.rival), *(words.level_words(margin, is_printed=side) for side in (False, True))
        for name, ours, printed in zip(*sides, strict=True):
            in_paper = (
                f" ({printed}{'' if levels else ' in the paper'})" if printed and not row.exhibit.synthetic else ""
            )
            levels.setdefault(name, f"{ours}{in_paper}")
    (first, level), *others = levels.items()
    return words.listed([f"{first} reaches {level}", *(f"{name} {level}" for name, level in others)])


def outcome(results: Results, claims: Sequence[DecidedClaim], *, synthetic: bool) -> Sides:
    """Return what came out on one kind of data, each result and claim once."""
    found = alike(claim for claim in claims if bool(claim.in_this_run) == synthetic)
    # a data set that code makes may have an exhibit on photographs, and is none for that
    exhibits = [row for dataset in results.datasets if dataset.synthetic == synthetic for row in dataset.exhibits]
    sizes = {exhibit.dataset_title: exhibit.size for exhibit in exhibits if exhibit.size}
    caveats = {exhibit.dataset_title: exhibit.undecided for exhibit in exhibits if exhibit.undecided}
    several = len({claim.dataset for claim, *_ in found}) > 1
    groups = {claim.anchor: group for group in found for claim in group[:1]}
    bases = by_basis(claim for claim, *_ in found)
    verdicts = [
        Verdicts(
            outcome,
            {
                title: [_shared_claim(groups[claim.anchor], several) for claim in own if claim.verdict is outcome]
                for title, own in bases.items()
            },
        )
        for outcome in (Outcome.HOLDS, Outcome.FAILS, Outcome.OPEN)
    ]
    return Sides(
        [f"{title} ({size})" for title, size in sizes.items()],
        [_item(row) for row in distinct_rows(results) if row.exhibit.synthetic == synthetic],
        verdicts,
        {title: verdict_choices(own) for title, own in bases.items()},
        " in this run" * synthetic,
        [f"{words.sentence(title)} {caveat}" for title, caveat in caveats.items()],
    )


def _item(row: Row) -> Item:
    """Return how the methods of a line compare; of what a paper prints, what it reaches and what is unlike in print."""
    elsewhere = row.exhibit.state.badge is ELSEWHERE
    if row.exhibit.paper in PAPERS:
        parts = [result_words(row), words.unlike_print(row.margins, is_elsewhere=elsewhere)]
    else:
        parts = [words.sentence("; ".join(map(words.margin_words, row.margins)))]
    notes = dict.fromkeys(margin.note for margin in row.margins)
    return Item(row.place, address_of(row.exhibit), " ".join(filter(None, (*parts, *notes))))


def _shared_claim(group: Sequence[DecidedClaim], several: bool) -> SharedClaim:
    """Return a claim with all papers that make it, each with its scope, and with what decided it for the first.

    Of what programs take each part of the evidence is told: the ratios differ from set to set.
    """
    first = group[0]
    makers = [Maker(claim.paper_short, f"claims.html#{claim.anchor}", _scope(claim)) for claim in group]
    parts: dict[str, str] = {}
    for claim in group:
        if claim.id == first.id:
            numbers = (claim.evidence, *(claim.parts if claim.kind == Kind.IMPLEMENTATION else ()))
            parts.setdefault("; ".join(numbers), claim.part)
    evidence = [f"{part}: {text}" if len(parts) > 1 else text for text, part in parts.items()]
    return SharedClaim(first.claim, first.dataset_title * several, makers, " ".join(map(words.sentence, evidence)))


def _scope(claim: DecidedClaim) -> str:
    """Say what a paper's claim was tried on; whose programs it is about stands above."""
    where = words.reach_words(claim.verdict, "", claim.tried, claim.untried)
    return ", ".join(filter(None, (claim.part, where, claim.scope)))


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
        most = max(name.count("\n") + 1 for _, name in ticks)
        canvas = draw(Figure(frame, (panel,), size=(7.2, 0.6 + (0.09 + 0.12 * most) * len(rows))))
        file = io.BytesIO()
        canvas.savefig(file, format="svg", metadata={"Date": None, "Creator": "lookalike"})
    return f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def _row_name(exhibit: Exhibit, margin: Margin, has_settings: bool) -> str:
    """Write ``20 Caltech-256 classes`` above ``OASIS − MCML, mAP``, in lines that leave the chart its room."""
    where = ", ".join(filter(None, (exhibit.dataset_title, margin.setting * has_settings)))
    return "\n".join((*wrap(where, LETTERS), *wrap(f"{margin.method} − {margin.other}, {margin.metric}", LETTERS)))
