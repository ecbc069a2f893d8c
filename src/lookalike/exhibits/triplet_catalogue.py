"""Every exhibit of the fine-grained study by paper and name, and the writing of several of them at once.

The counterpart of `lookalike.exhibits.catalogue` (Deep Ranking, CVPR 2014, section 6). Its pictures, Figures 1, 4, 5
and 7, are drawn by `lookalike.exhibits.triplet_pictures`. All files are written by `lookalike.exhibits.write`, so that
every study looks alike.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lookalike.core.errors import LookalikeError
from lookalike.exhibits import compare as compared
from lookalike.exhibits import triplet_claims as claims
from lookalike.exhibits import triplet_figures as figures
from lookalike.exhibits import triplet_tables as tables
from lookalike.exhibits.figures import Plot
from lookalike.exhibits.reference import ALL_PAPERS
from lookalike.exhibits.tables import Table
from lookalike.exhibits.triplet_context import GROUP, PAPER, PRECISION, REAL, SCORE, TripletContext
from lookalike.exhibits.triplet_tables import triplet_headline
from lookalike.exhibits.triplet_values import RULE, compare_systems
from lookalike.exhibits.write import write_files

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "NUMBERS_OF",
    "TRIPLET_FIGURES",
    "TRIPLET_PICTURES",
    "TRIPLET_TABLES",
    "TripletExhibit",
    "TripletNumbers",
    "triplet_exhibits",
    "triplet_headline",
    "write_triplet_exhibits",
    "write_triplet_picture",
]

NUMBERS_OF: Mapping[str, tuple[str, ...]] = {
    f"{PAPER}/table1": ("intervals",),
    f"{PAPER}/table2": ("intervals",),
    f"{GROUP}/kinds": ("intervals",),
    f"{GROUP}/features": ("fits",),
    f"{GROUP}/claims": ("claims", "contrasts", "intervals"),
    f"{PAPER}/fig6": ("intervals",),
    f"{GROUP}/curves": ("curves",),
    f"{GROUP}/contrasts": ("contrasts", "intervals"),
}
"""Exhibit to the numbers that it is drawn from, fields of `TripletNumbers`."""
OPTIONAL = ("curves",)
"""Numbers that a study lacks where torch or training relevance does, which is said instead."""
TRIPLET_TABLES = (f"{PAPER}/table1", f"{PAPER}/table2", f"{GROUP}/kinds", f"{GROUP}/features", f"{GROUP}/claims")
TRIPLET_FIGURES = tuple(name for name in NUMBERS_OF if name not in TRIPLET_TABLES)
PICTURE_TITLES = {
    f"{PAPER}/fig1": "Figure 1",
    f"{PAPER}/fig4": "Figure 4",
    f"{PAPER}/fig5": "Figure 5",
    f"{PAPER}/fig7": "Figure 7",
}
TRIPLET_PICTURES = tuple(PICTURE_TITLES)
"""Exhibits that are made of images; `write_triplet_picture` writes what `lookalike.exhibits.triplet_pictures` draws."""


@dataclass(frozen=True)
class TripletNumbers:
    """What the exhibits are drawn from; None where nothing was run or no exhibit at hand needs it."""

    intervals: pd.DataFrame | None = None
    """``system, subset, metric, value, low, high, n_triplets, n_queries, n_ties, median_pool, n_in_top``."""
    contrasts: pd.DataFrame | None = None
    """``system_a, system_b, subset, metric, difference, low, high, p_value, n_queries``."""
    fits: pd.DataFrame | None = None
    """What each system recorded: ``system, seconds, images_per_second, dimensions, distance, codebook_from``, ..."""
    curves: pd.DataFrame | None = None
    """``system, seen, loss, validation_loss, triplet_accuracy, validation_precision, accuracy,
    validation_accuracy`` (fractions)."""
    claims: pd.DataFrame | None = None
    """The paper's claims, from triplet-claims.csv."""


Drawn = Table | Plot
Draw = Callable[[TripletNumbers, TripletContext, "pd.DataFrame"], Drawn]
Compare = Callable[[TripletNumbers, TripletContext, "pd.DataFrame"], "pd.DataFrame"]
Notes = Callable[[Drawn, TripletContext], str]


def _nothing_printed(numbers: TripletNumbers, context: TripletContext, reference: pd.DataFrame) -> pd.DataFrame:
    return compared.comparison_frame([])


@dataclass(frozen=True)
class TripletExhibit:
    """One table, figure or picture of the fine-grained study."""

    paper: str
    name: str
    kind: str
    """``table``, ``figure`` or ``picture``."""
    title: str
    shows: str
    """First sentence of the caption."""
    draw: Draw
    drawn_by: str
    notes: Notes
    compare: Compare = _nothing_printed
    rule: str = RULE
    rows_in_sidecar: bool = False
    header: tuple[str, str] = ("triplets", "bootstrap")
    forms: Mapping[str, str] = field(default_factory=lambda: {PRECISION: ".1f", SCORE: ",.0f"})

    @property
    def key(self) -> str:
        """``paper/name``."""
        return f"{self.paper}/{self.name}"

    @property
    def has_printed(self) -> bool:
        """Whether a paper prints numbers of it."""
        return self.paper == PAPER and self.kind != "picture"

    def caption(self, context: TripletContext, drawn: Drawn) -> str:
        """What is shown, on which data, how to read it, and which exhibit of the paper it follows.

        Parameters
        ----------
        context : TripletContext
        drawn : Table or Plot
        """
        parts = [self.shows, f"{context.images}."]
        if context.not_run_sentence:
            parts.append(f"{context.title}: {context.not_run_sentence}.")
        parts.append(self.notes(drawn, context))
        if self.has_printed:
            if not context.not_run_sentence and context.kind != REAL:
                parts.append(f"Not comparable with the printed numbers: {context.why_not_comparable(PRECISION)}.")
            parts.append(f"Form of {self.title} in {ALL_PAPERS[self.paper]}.")
        return " ".join(filter(None, parts))


def write_triplet_exhibits(
    names: Iterable[str],
    *,
    numbers: TripletNumbers,
    context: TripletContext,
    reference: pd.DataFrame,
    folder: str | os.PathLike[str],
    sources: Mapping[str, Sequence[str]] | None = None,
) -> list[Path]:
    """Draw several exhibits and write all their files.

    Parameters
    ----------
    names : iterable of str
        ``paper/name``, of `TRIPLET_TABLES` and `TRIPLET_FIGURES`.
    numbers : TripletNumbers
        What they are drawn from.
    context : TripletContext
        From `lookalike.exhibits.triplet_context.triplet_context`.
    reference : DataFrame
        Printed numbers, from `lookalike.exhibits.reference.load`.
    folder : path-like
        ``results/{dataset}/exhibits``; the files of an exhibit are ``{paper}/{name}.*`` beneath it.
    sources : mapping of str to sequence of str, optional
        Field of `TripletNumbers` to the files that it was read from; each sidecar names those of its own numbers.

    Returns
    -------
    list of Path
        What was written, as of `lookalike.exhibits.write.write_exhibit`.

    Raises
    ------
    LookalikeError
        When there is no such exhibit, or numbers that it needs are missing; nothing is written then.
    """
    known = triplet_exhibits()
    chosen = []
    for name in names:
        if name not in known:
            raise LookalikeError(f"there is no exhibit {name}: choose one of {', '.join(known)}")
        for need in NUMBERS_OF[name]:
            if context.not_run is None and need not in OPTIONAL and getattr(numbers, need) is None:
                raise LookalikeError(
                    f"{name} of {context.dataset} needs {need} and there are none: run the study's jobs first"
                )
        chosen.append(known[name])
    written = []
    for exhibit in chosen:
        drawn = exhibit.draw(numbers, context, reference)
        files = [file for field_ in NUMBERS_OF[exhibit.key] for file in (sources or {}).get(field_, ())]
        written += write_files(
            exhibit,
            drawn,
            caption=exhibit.caption(context, drawn),
            comparison=exhibit.compare(numbers, context, reference),
            context=context,
            folder=Path(folder) / exhibit.paper,
            sources=files,
        )
    return written


def write_triplet_picture(
    name: str,
    plot: Plot,
    *,
    caption: str,
    context: TripletContext,
    folder: str | os.PathLike[str],
    sources: Sequence[str] = (),
) -> list[Path]:
    """Write all files of a picture that is drawn, as those of the other exhibits.

    Parameters
    ----------
    name : str
        ``paper/name``, of `TRIPLET_PICTURES`.
    plot : Plot
        From `lookalike.exhibits.triplet_pictures`.
    caption : str
        What it shows; which figure of the paper it follows is added.
    context : TripletContext
    folder : path-like
        ``results/{dataset}/exhibits``.
    sources : sequence of str
        Files that it is drawn from.

    Returns
    -------
    list of Path
        As of `write_triplet_exhibits`.

    Raises
    ------
    LookalikeError
        When there is no such picture.
    """
    if name not in PICTURE_TITLES:
        raise LookalikeError(f"there is no picture {name}: choose one of {', '.join(TRIPLET_PICTURES)}")
    paper, _, stem = name.partition("/")
    picture = TripletExhibit(
        paper=paper,
        name=stem,
        kind="picture",
        title=PICTURE_TITLES[name],
        shows="",
        draw=lambda numbers, context, reference: plot,
        drawn_by="lookalike.exhibits.triplet_pictures",
        notes=lambda drawn, context: caption,
    )
    return write_files(
        picture,
        plot,
        caption=f"{caption} Form of {picture.title} in {ALL_PAPERS[paper]}.",
        comparison=compared.comparison_frame([]),
        context=context,
        folder=Path(folder) / paper,
        sources=sources,
    )


def triplet_exhibits() -> dict[str, TripletExhibit]:
    """Every table and figure of the study, by ``paper/name``."""
    exhibits = (
        _systems("table1", "Similarity precision and score-at-top-30 of hand-crafted features and what is learned."),
        _systems("table2", "Similarity precision and score-at-top-30 of architectures of networks."),
        _kinds(),
        _features(),
        _claims(),
        _sampling(),
        _curves(),
        _contrasts(),
    )
    return {exhibit.key: exhibit for exhibit in exhibits}


def _systems(name: str, shows: str) -> TripletExhibit:
    return TripletExhibit(
        paper=PAPER,
        name=name,
        kind="table",
        title=name.replace("table", "Table "),
        shows=shows,
        draw=lambda numbers, context, reference: tables.system_table(numbers.intervals, context, reference, name),
        drawn_by="lookalike.exhibits.triplet_tables",
        notes=_of_table(tables.notes_on_systems),
        compare=lambda numbers, context, reference: compare_systems(numbers.intervals, context, reference, name),
    )


def _kinds() -> TripletExhibit:
    return TripletExhibit(
        paper=GROUP,
        name="kinds",
        kind="table",
        title="Precision by kind of negative",
        shows="Similarity precision of every system by whether the negative is of the query's own category.",
        draw=lambda numbers, context, reference: tables.kinds_table(numbers.intervals, context),
        drawn_by="lookalike.exhibits.triplet_tables",
        notes=_of_table(tables.notes_on_kinds),
    )


def _features() -> TripletExhibit:
    return TripletExhibit(
        paper=GROUP,
        name="features",
        kind="table",
        title="Systems and what they cost",
        shows="Size, distance and speed of every system, and what it was learned from.",
        draw=lambda numbers, context, reference: tables.features_table(numbers.fits, context),
        drawn_by="lookalike.exhibits.triplet_tables",
        notes=lambda drawn, context: tables.notes_on_features(context),
    )


def _claims() -> TripletExhibit:
    return TripletExhibit(
        paper=GROUP,
        name="claims",
        kind="table",
        title="Claims",
        shows="What the paper claims in sections 6.4 to 6.7, and whether it holds here.",
        draw=lambda numbers, context, reference: claims.claims_table(
            numbers.claims, numbers.contrasts, numbers.intervals, context, reference
        ),
        drawn_by="lookalike.exhibits.triplet_claims",
        notes=_of_table(claims.notes_on_claims),
        rows_in_sidecar=True,
    )


def _sampling() -> TripletExhibit:
    return TripletExhibit(
        paper=PAPER,
        name="fig6",
        kind="figure",
        title="Figure 6",
        shows="Similarity precision and score-at-top-30 over the percent of triplets with an out-of-class negative.",
        draw=lambda numbers, context, reference: figures.sampling_curves(numbers.intervals, context, reference),
        drawn_by="lookalike.exhibits.triplet_figures",
        notes=_of_plot(figures.notes_on_sampling),
    )


def _curves() -> TripletExhibit:
    return TripletExhibit(
        paper=GROUP,
        name="curves",
        kind="figure",
        title="Training of the networks",
        shows="Precision and loss of every network over the triplets, or images, that it has seen.",
        draw=lambda numbers, context, reference: figures.training_curves(numbers.curves, context),
        drawn_by="lookalike.exhibits.triplet_figures",
        notes=_of_plot(figures.notes_on_curves),
    )


def _contrasts() -> TripletExhibit:
    return TripletExhibit(
        paper=GROUP,
        name="contrasts",
        kind="figure",
        title="Differences of systems",
        shows="Paired differences of the systems that the paper's claims are about, in both metrics.",
        draw=lambda numbers, context, reference: figures.contrast_forest(
            numbers.contrasts, numbers.intervals, context, reference
        ),
        drawn_by="lookalike.exhibits.triplet_figures",
        notes=_of_plot(figures.notes_on_contrasts),
    )


def _of_table(notes: Callable[[Table, TripletContext], str]) -> Notes:
    return lambda drawn, context: notes(drawn, context) if isinstance(drawn, Table) else ""


def _of_plot(notes: Callable[[Plot, TripletContext], str]) -> Notes:
    return lambda drawn, context: notes(drawn, context) if isinstance(drawn, Plot) else ""
