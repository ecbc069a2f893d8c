"""Every exhibit of the landmark study by paper and name, and the writing of several of them at once.

The counterpart of `lookalike.exhibits.catalogue`. Its tables are numbered by codebook: of a study with one or two of
them those of the missing codebooks do not exist. All files are written by `lookalike.exhibits.write`, so that both
studies look alike.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lookalike.core.errors import LookalikeError
from lookalike.exhibits import compare as compared
from lookalike.exhibits import landmark_claims as claims
from lookalike.exhibits import landmark_figures as figures
from lookalike.exhibits import landmark_tables as tables
from lookalike.exhibits.figures import Plot
from lookalike.exhibits.landmark_context import PAPER, RECONSTRUCTED, Codebook, LandmarkContext
from lookalike.exhibits.landmark_montage import MontageMaterial, montage, montage_methods, notes_on_montage
from lookalike.exhibits.landmark_tables import landmark_headline
from lookalike.exhibits.reference import ALL_PAPERS
from lookalike.exhibits.runtime import TRAIN_TIME
from lookalike.exhibits.tables import MISSING, NOT_RUN, Table
from lookalike.exhibits.write import write_files

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "LANDMARK_FIGURES",
    "NUMBERS_OF",
    "LandmarkExhibit",
    "LandmarkNumbers",
    "landmark_headline",
    "landmark_tables",
    "montage_methods",
    "write_landmark_exhibits",
]

GROUP = "landmark"
"""Folder of the exhibits that no paper prints."""
OWN_TABLES = ("query_region", "literal", "claims")
LANDMARK_FIGURES = tuple(f"{GROUP}/{name}" for name in ("time", "sparsity", "montage"))
"""The figures, none of which depends on how many codebooks there are."""
MOST_CODEBOOKS = 3
OF_QUANTITY = {tables.MAP: ("metrics", "fits"), tables.SPARSITY: ("metrics", "fits"), TRAIN_TIME: ("fits",)}
NUMBERS_OF: Mapping[str, tuple[str, ...]] = {
    **{
        f"{PAPER}/table{1 + MOST_CODEBOOKS * place + codebook}": OF_QUANTITY[quantity]
        for place, quantity in enumerate(tables.QUANTITIES)
        for codebook in range(MOST_CODEBOOKS)
    },
    f"{GROUP}/query_region": ("metrics", "fits"),
    f"{GROUP}/literal": ("metrics", "fits"),
    f"{GROUP}/claims": ("claims", "metrics", "fits", "dimensions"),
    f"{GROUP}/time": ("dimensions",),
    f"{GROUP}/sparsity": ("lambda_sweep", "metrics", "fits"),
    f"{GROUP}/montage": ("montage",),
}
"""Exhibit to the numbers that it is drawn from, fields of `LandmarkNumbers`."""
OF_OURS = {
    RECONSTRUCTED: "ours, built from what this paper says of it",
    "oasis-diagonal": (
        "its passive-aggressive step on a diagonal metric that starts at 1, because a full matrix of so many words "
        "cannot be stored"
    ),
}
"""Method to what captions say of ours, where it is not the method that the paper names."""
OPTIONAL = {"dimensions", "fits"}
"""Numbers that an exhibit which is about others does without."""


@dataclass(frozen=True)
class LandmarkNumbers:
    """What the exhibits are drawn from; None where nothing was run or no exhibit at hand needs it."""

    metrics: pd.DataFrame | None = None
    """Tidy metrics: ``dataset, representation, subset (landmark), method, fold (draw), metric, value`` (0..1)."""
    fits: pd.DataFrame | None = None
    """What each fit recorded: ``representation, subset, method, fold, cpu_seconds_fit, n_steps, n_updates``, ..."""
    lambda_sweep: pd.DataFrame | None = None
    """``representation, landmark, draw, method, regularization, map, sparsity``."""
    dimensions: pd.DataFrame | None = None
    """Times on simulated rows: ``learner, n_features, n_triplets, nonzeros, repeat, cpu_seconds, reason``."""
    claims: pd.DataFrame | None = None
    """The paper's claims, from landmark-claims.csv."""
    montage: MontageMaterial | None = None


Drawn = Table | Plot
Draw = Callable[[LandmarkNumbers, LandmarkContext, "pd.DataFrame"], Drawn]
Compare = Callable[[LandmarkNumbers, LandmarkContext, "pd.DataFrame"], "pd.DataFrame"]
Notes = Callable[[LandmarkNumbers, LandmarkContext, Drawn], str]


def _nothing_printed(numbers: LandmarkNumbers, context: LandmarkContext, reference: pd.DataFrame) -> pd.DataFrame:
    return compared.comparison_frame([])


def _no_notes(numbers: LandmarkNumbers, context: LandmarkContext, drawn: Drawn) -> str:
    return ""


@dataclass(frozen=True)
class LandmarkExhibit:
    """One table or figure of the landmark study."""

    paper: str
    name: str
    kind: str
    """``table`` or ``figure``."""
    title: str
    shows: str
    """First sentence of the caption."""
    draw: Draw
    drawn_by: str
    errors: str = ""
    """What ± means, where there are several draws."""
    compare: Compare = _nothing_printed
    notes: Notes = _no_notes
    codebook: Codebook | None = None
    """The one that it is about; None where it is about all."""
    of_images: bool = True
    """Whether it shows the data set's images at all, or simulated rows."""
    rule: str = tables.RULE
    rows_in_sidecar: bool = False
    header: tuple[str, str] = ("landmark", "draw")
    forms: Mapping[str, str] = field(default_factory=lambda: {tables.MAP: ".2f", tables.SPARSITY: ".2f"})

    @property
    def key(self) -> str:
        """``paper/name``."""
        return f"{self.paper}/{self.name}"

    @property
    def has_printed(self) -> bool:
        """Whether the paper prints numbers of it."""
        return self.paper in ALL_PAPERS

    def caption(self, numbers: LandmarkNumbers, context: LandmarkContext, drawn: Drawn) -> str:
        """What is shown, on which data, what ± means, and which table of the paper it follows.

        Parameters
        ----------
        numbers : LandmarkNumbers
        context : LandmarkContext
        drawn : Table or Plot
        """
        parts = [self.shows]
        if context.not_run_sentence and self.of_images:
            parts.append(f"{context.title}: {context.not_run_sentence}.")
            parts += ["Numbers shown are the paper's."] if _shows_numbers_of_paper(drawn) else []
        elif self.of_images:
            parts.append(_study_sentence(context))
            parts.append(_spread_sentence(self.errors, context))
        parts.append(self.notes(numbers, context, drawn))
        shown = _methods_of(drawn, context)
        if self.of_images and not context.not_run_sentence:
            parts += [
                f"{context.title_of(name)}: {note.rstrip('.')}."
                for name, note in context.notes.items()
                if name in shown
            ]
            codebooks = context.codebooks if self.codebook is None else (self.codebook,)
            parts.append(context.stopped_sentence(codebooks, [name for name in context.methods if name in shown]))
            starred = isinstance(drawn, Table) and "*" in drawn.markdown.replace("**", "")
            parts.append(tables.not_converged_sentence(context, codebooks, sorted(shown)) if starred else "")
        if not (context.not_run_sentence and self.of_images):
            parts += [f"{context.title_of(name)}: {said}." for name, said in OF_OURS.items() if name in shown]
        why = self.codebook.why_not_comparable if self.codebook is not None else ""
        if why and not context.not_run:
            parts.append(f"Not comparable with the printed numbers: {why}.")
        if self.has_printed:
            parts.append(f"Form of {self.title} in {ALL_PAPERS[self.paper]}.")
        return " ".join(filter(None, parts))


def landmark_tables(n_codebooks: int) -> list[str]:
    """Names of the tables of a study, ``paper/name``.

    Parameters
    ----------
    n_codebooks : int
        How many codebooks it has, 1 to 3.
    """
    of_paper = [
        f"{PAPER}/table{1 + MOST_CODEBOOKS * place + codebook}"
        for place in range(len(tables.QUANTITIES))
        for codebook in range(n_codebooks)
    ]
    return [*of_paper, *(f"{GROUP}/{name}" for name in OWN_TABLES)]


def landmark_exhibits(context: LandmarkContext) -> dict[str, LandmarkExhibit]:
    """Every exhibit that a study has, by ``paper/name``."""
    of_paper = [
        _paper_table(quantity, codebook, context) for quantity in tables.QUANTITIES for codebook in context.codebooks
    ]
    own = (_query_region(), _literal(), _claims(), _time(), _sparsity(), _montage())
    return {exhibit.key: exhibit for exhibit in (*of_paper, *own)}


def write_landmark_exhibits(
    names: Iterable[str],
    *,
    numbers: LandmarkNumbers,
    context: LandmarkContext,
    reference: pd.DataFrame,
    folder: str | os.PathLike[str],
    sources: Mapping[str, Sequence[str]] | None = None,
) -> list[Path]:
    """Draw several exhibits and write all their files.

    Parameters
    ----------
    names : iterable of str
        ``paper/name``, of `landmark_tables` and `LANDMARK_FIGURES`.
    numbers : LandmarkNumbers
        What they are drawn from.
    context : LandmarkContext
        From `lookalike.exhibits.landmark_context.landmark_context`.
    reference : DataFrame
        Printed numbers, from `lookalike.exhibits.reference.load`.
    folder : path-like
        ``results/{dataset}/exhibits``; the files of an exhibit are ``{paper}/{name}.*`` beneath it.
    sources : mapping of str to sequence of str, optional
        Field of `LandmarkNumbers` to the files that it was read from; each sidecar names those of its own numbers.

    Returns
    -------
    list of Path
        What was written, as of `lookalike.exhibits.write.write_exhibit`.

    Raises
    ------
    LookalikeError
        When there is no such exhibit, or numbers that it needs are missing; nothing is written then.
    """
    known = landmark_exhibits(context)
    chosen = []
    for name in names:
        if name not in known:
            raise LookalikeError(f"there is no exhibit {name}: choose one of {', '.join(known)}")
        _check_numbers(known[name], numbers, context)
        chosen.append(known[name])
    written = []
    for exhibit in chosen:
        drawn = exhibit.draw(numbers, context, reference)
        files = [file for field_ in NUMBERS_OF[exhibit.key] for file in (sources or {}).get(field_, ())]
        written += write_files(
            exhibit,
            drawn,
            caption=exhibit.caption(numbers, context, drawn),
            comparison=exhibit.compare(numbers, context, reference),
            context=context,
            folder=Path(folder) / exhibit.paper,
            sources=files,
        )
    return written


def _check_numbers(exhibit: LandmarkExhibit, numbers: LandmarkNumbers, context: LandmarkContext) -> None:
    if context.not_run_sentence:
        return
    needs = NUMBERS_OF[exhibit.key]
    for need in needs:
        if need == "montage" and montage_methods(context.methods) is None:
            continue  # its picture says so
        if getattr(numbers, need) is None and not (need in OPTIONAL and len(needs) > 1):
            raise LookalikeError(
                f"{exhibit.key} of {context.dataset} needs {need} and there are none: run the study's jobs first"
            )


def _paper_table(quantity: str, codebook: Codebook, context: LandmarkContext) -> LandmarkExhibit:
    name = tables.paper_table(quantity, codebook)
    shows = {
        tables.MAP: "Mean average precision in percent",
        tables.SPARSITY: "Sparsity of the learned weights, the share of |w| <= 1e-10, in percent",
        TRAIN_TIME: "Training time in seconds of CPU time",
    }[quantity]

    def notes(numbers: LandmarkNumbers, context: LandmarkContext, drawn: Drawn) -> str:
        if quantity != TRAIN_TIME:
            return ""
        processors = " and ".join(context.processors) or "a processor that was not recorded"
        ours = f"Ours: one thread of {processors}; fits may have run beside other jobs."
        return " ".join(filter(None, ("" if context.not_run else ours, tables.TIME_RULE.removeprefix("Seconds. "))))

    query = " Queries: the descriptors inside the query's rectangle." if quantity == tables.MAP else ""
    beside = ", ours beside the paper's" if context.shows_printed else ""
    return LandmarkExhibit(
        paper=PAPER,
        name=name,
        kind="table",
        title=name.replace("table", "Table "),
        shows=f"{shows} by landmark with a codebook of {codebook.title} words{beside}.{query}",
        errors="Values are means over {draws}, ± the standard deviation across them. -: not run here.",
        draw=lambda numbers, context, reference: tables.landmark_table(
            numbers.metrics, numbers.fits, context, reference, quantity, codebook
        ),
        drawn_by="lookalike.exhibits.landmark_tables",
        compare=lambda numbers, context, reference: tables.compare_landmarks(
            numbers.metrics, numbers.fits, context, reference, quantity, codebook
        ),
        notes=notes,
        codebook=codebook,
        rule=tables.TIME_RULE if quantity == TRAIN_TIME else tables.RULE,
    )


def _query_region() -> LandmarkExhibit:
    return LandmarkExhibit(
        paper=GROUP,
        name="query_region",
        kind="table",
        title="Rectangle or whole image as query",
        shows=(
            "Mean average precision over landmarks in percent, with the descriptors inside the query's rectangle and "
            "with those of its whole image; the paper does not say which it takes, all other exhibits show the former."
        ),
        errors="Values are means over {draws}, ± the standard deviation across them. -: not run here.",
        draw=lambda numbers, context, reference: tables.query_regions(numbers.metrics, context),
        drawn_by="lookalike.exhibits.landmark_tables",
    )


def _literal() -> LandmarkExhibit:
    return LandmarkExhibit(
        paper=GROUP,
        name="literal",
        kind="table",
        title="SOML as it is printed",
        shows=(
            "Mean average precision, sparsity and share of steps with an update, all in percent and over landmarks, of "
            "S-TG and S-DA with the true subgradient of the loss, and with what the paper's equations 12 and 15 and "
            "its algorithms print: the opposite sign, and in S-DA an average over every step, also over those without "
            "a loss."
        ),
        errors="Values are means over {draws}, ± the standard deviation across them. -: no such number here.",
        draw=lambda numbers, context, reference: tables.literal_forms(numbers.metrics, numbers.fits, context),
        drawn_by="lookalike.exhibits.landmark_tables",
    )


def _claims() -> LandmarkExhibit:
    def notes(numbers: LandmarkNumbers, context: LandmarkContext, drawn: Drawn) -> str:
        return claims.notes_on_claims(context, drawn) if isinstance(drawn, Table) else ""

    return LandmarkExhibit(
        paper=GROUP,
        name="claims",
        kind="table",
        title="Claims of the paper",
        shows=(
            f"What {ALL_PAPERS[PAPER]}, claim about the methods compared, in our words, and whether it holds for the "
            "numbers of this study, by codebook; beside it, what our means say and what the printed ones do."
        ),
        draw=lambda numbers, context, reference: claims.claims_table(
            numbers.claims, numbers.metrics, numbers.fits, numbers.dimensions, context, reference
        ),
        drawn_by="lookalike.exhibits.landmark_claims",
        notes=notes,
        rows_in_sidecar=True,
    )


def _time() -> LandmarkExhibit:
    def notes(numbers: LandmarkNumbers, context: LandmarkContext, drawn: Drawn) -> str:
        printed = (
            f"Hollow markers: Tables 7 to 9 of {ALL_PAPERS[PAPER]}, means over their landmarks, on another machine."
        )
        ours = figures.notes_on_times(context, drawn, numbers.dimensions) if isinstance(drawn, Plot) else ""
        return " ".join(filter(None, (ours, printed)))

    return LandmarkExhibit(
        paper=GROUP,
        name="time",
        kind="figure",
        title="Training time over the number of features",
        shows="Training time of the learners in seconds over the number of features, both axes logarithmic.",
        draw=lambda numbers, context, reference: figures.time_curves(numbers.dimensions, context, reference),
        drawn_by="lookalike.exhibits.landmark_figures",
        notes=notes,
        of_images=False,
    )


def _sparsity() -> LandmarkExhibit:
    def notes(numbers: LandmarkNumbers, context: LandmarkContext, drawn: Drawn) -> str:
        return figures.notes_on_sparsity(context, drawn) if isinstance(drawn, Plot) else ""

    return LandmarkExhibit(
        paper=GROUP,
        name="sparsity",
        kind="figure",
        title="Sparsity and mean average precision over lambda",
        shows=(
            "Mean average precision against the share of weights that are zero, along the regularization lambda of "
            "S-TG and S-DA, means over landmarks and draws."
        ),
        draw=lambda numbers, context, reference: figures.sparsity_curves(
            numbers.lambda_sweep, numbers.metrics, context, reference
        ),
        drawn_by="lookalike.exhibits.landmark_figures",
        notes=notes,
    )


def _montage() -> LandmarkExhibit:
    def notes(numbers: LandmarkNumbers, context: LandmarkContext, drawn: Drawn) -> str:
        return notes_on_montage(context, drawn, numbers.montage) if isinstance(drawn, Plot) else ""

    return LandmarkExhibit(
        paper=GROUP,
        name="montage",
        kind="figure",
        title="First results before and after learning",
        shows="A query with its rectangle and its first results, by TF-IDF and by a learned metric.",
        draw=lambda numbers, context, reference: montage(numbers.montage, context),
        drawn_by="lookalike.exhibits.landmark_montage",
        notes=notes,
    )


def _study_sentence(context: LandmarkContext) -> str:
    draws = f", {context.n_draws} draws of them" if context.n_draws > 1 else ""
    return (
        f"{context.images}: {len(context.landmarks)} landmarks, for each a metric learned from {context.n_positives} "
        f"of its images and {context.n_negatives} others{draws}, which leave the gallery."
    )


def _spread_sentence(errors: str, context: LandmarkContext) -> str:
    if context.n_draws > 1 or not errors:
        return errors.format(draws=f"{context.n_draws} draws")
    return "One draw, so there is no ±. " + errors.partition(". ")[2]


def _methods_of(drawn: Drawn, context: LandmarkContext) -> set[str]:
    """Methods that have numbers of ours in a table or figure; those of claims are the study's."""
    frame = drawn.frame
    columns = [column for column in ("method", "series") if column in frame]
    if not columns:
        return set(context.methods)
    if "series" in frame:
        frame = frame[~frame["series"].astype(str).str.endswith(figures.PRINTED)]
    for cells in ("ours_cell", "cell"):
        if cells in frame:
            frame = frame[~frame[cells].isin((MISSING, NOT_RUN))]
    return {str(name) for column in columns for name in frame[column]}


def _shows_numbers_of_paper(drawn: Drawn) -> bool:
    if "printed" in drawn.frame:
        return bool(drawn.frame["printed"].notna().any())
    return "series" in drawn.frame and bool(drawn.frame["series"].astype(str).str.endswith("printed").any())
