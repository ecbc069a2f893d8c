"""Every exhibit of the web study by paper and name, and the writing of several of them at once.

The counterpart of `lookalike.exhibits.catalogue` (OASIS JMLR section 5.2, draft 5.3, NIPS 4.1), without the galleries
of results and the human evaluation, which need labelled images. All files are written by `lookalike.exhibits.write`,
so that every study looks alike.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lookalike.core.errors import LookalikeError
from lookalike.exhibits import compare as compared
from lookalike.exhibits import web_calibration as calibration
from lookalike.exhibits import web_figures as figures
from lookalike.exhibits import web_runtime as runtime
from lookalike.exhibits import web_tables as tables
from lookalike.exhibits.figures import Plot
from lookalike.exhibits.runtime import TRAIN_TIME
from lookalike.exhibits.tables import Table
from lookalike.exhibits.web_context import DRAFT, JMLR, NIPS, WEB_PAPERS, WebContext
from lookalike.exhibits.web_runtime_notes import notes_on_runtime
from lookalike.exhibits.web_tables import web_headline
from lookalike.exhibits.write import write_files

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "NUMBERS_OF",
    "WEB_FIGURES",
    "WEB_TABLES",
    "WebExhibit",
    "WebNumbers",
    "web_exhibits",
    "web_headline",
    "write_web_exhibits",
]

GROUP = "web"
"""Folder of the exhibits that no paper prints."""
NUMBERS_OF: Mapping[str, tuple[str, ...]] = {
    f"{JMLR}/table1": ("counts",),
    f"{DRAFT}/table3": ("counts",),
    f"{GROUP}/speed": ("fits",),
    f"{GROUP}/approximate": ("approximate",),
    f"{JMLR}/fig3a": ("precision", "counts"),
    f"{DRAFT}/fig6": ("precision", "counts"),
    f"{GROUP}/topics": ("precision",),
    f"{JMLR}/fig4": ("runtime",),
    f"{NIPS}/fig1b": ("runtime",),
    f"{GROUP}/calibration": ("marginals", "counts"),
    f"{GROUP}/learning": ("curve", "fits"),
    f"{GROUP}/recall": ("approximate",),
}
"""Exhibit to the numbers that it is drawn from, fields of `WebNumbers`; only the first must be there."""
WEB_TABLES = (f"{JMLR}/table1", f"{DRAFT}/table3", f"{GROUP}/speed", f"{GROUP}/approximate")
WEB_FIGURES = tuple(name for name in NUMBERS_OF if name not in WEB_TABLES)


@dataclass(frozen=True)
class WebNumbers:
    """What the exhibits are drawn from; None where nothing was run or no exhibit at hand needs it."""

    precision: pd.DataFrame | None = None
    """``method, k, precision, standard_error, topic_precision, topic_standard_error`` (0..1), ``n_queries,
    n_gallery``."""
    curve: pd.DataFrame | None = None
    """``ranker, step, seconds, map, loss_rate`` (0..1)."""
    fits: pd.DataFrame | None = None
    """What each fit recorded: ``method, ranker, mode, n_threads, n_steps, steps_per_second, seconds_fit``, ..."""
    runtime: pd.DataFrame | None = None
    """``learner, n_images, repeat, steps, seconds, cpu_seconds, stopped, n_threads, lower_bound, own_run``."""
    marginals: pd.DataFrame | None = None
    """``quantity, part, x, y``."""
    counts: pd.DataFrame | None = None
    """``part, quantity, value``."""
    approximate: pd.DataFrame | None = None
    """``index, rank, parameter, k, recall`` (0..1), ``milliseconds, n_queries, n_gallery``."""


Drawn = Table | Plot
Draw = Callable[[WebNumbers, WebContext, "pd.DataFrame"], Drawn]
Compare = Callable[[WebNumbers, WebContext, "pd.DataFrame"], "pd.DataFrame"]
Notes = Callable[[WebNumbers, WebContext, "pd.DataFrame", Drawn], str]


def _nothing_printed(numbers: WebNumbers, context: WebContext, reference: pd.DataFrame) -> pd.DataFrame:
    return compared.comparison_frame([])


@dataclass(frozen=True)
class WebExhibit:
    """One table or figure of the web study."""

    paper: str
    name: str
    kind: str
    """``table`` or ``figure``."""
    title: str
    shows: str
    """First sentence of the caption."""
    draw: Draw
    drawn_by: str
    notes: Notes
    compare: Compare = _nothing_printed
    rule: str = tables.RULE
    rows_in_sidecar: bool = False
    header: tuple[str, str] = ("part", "query")
    forms: Mapping[str, str] = field(
        default_factory=lambda: {"queries": ",.0f", "images": ",.0f", "p@1": ".2f", "relevant_per_image": ".1f"}
    )

    @property
    def key(self) -> str:
        """``paper/name``."""
        return f"{self.paper}/{self.name}"

    @property
    def has_printed(self) -> bool:
        """Whether a paper prints numbers of it."""
        return self.paper in WEB_PAPERS

    def caption(self, numbers: WebNumbers, context: WebContext, reference: pd.DataFrame, drawn: Drawn) -> str:
        """What is shown, on which data, how to read it, and which exhibit of a paper it follows.

        Parameters
        ----------
        numbers : WebNumbers
        context : WebContext
        reference : DataFrame
            Printed numbers.
        drawn : Table or Plot
        """
        parts = [self.shows, f"{context.images}."]
        if context.not_run_sentence:
            parts.append(f"{context.title}: {context.not_run_sentence}.")
        parts.append(self.notes(numbers, context, reference, drawn))
        if not context.not_run_sentence and self.has_printed:
            parts.append(f"Not comparable with the printed numbers: {context.why_not_comparable}.")
        if self.has_printed:
            parts.append(f"Form of {self.title} in {WEB_PAPERS[self.paper]}.")
        return " ".join(filter(None, parts))


def write_web_exhibits(
    names: Iterable[str],
    *,
    numbers: WebNumbers,
    context: WebContext,
    reference: pd.DataFrame,
    folder: str | os.PathLike[str],
    sources: Mapping[str, Sequence[str]] | None = None,
) -> list[Path]:
    """Draw several exhibits and write all their files.

    Parameters
    ----------
    names : iterable of str
        ``paper/name``, of `WEB_TABLES` and `WEB_FIGURES`.
    numbers : WebNumbers
        What they are drawn from.
    context : WebContext
        From `lookalike.exhibits.web_context.web_context`.
    reference : DataFrame
        Printed numbers, from `lookalike.exhibits.reference.load`.
    folder : path-like
        ``results/{dataset}/exhibits``; the files of an exhibit are ``{paper}/{name}.*`` beneath it.
    sources : mapping of str to sequence of str, optional
        Field of `WebNumbers` to the files that it was read from; each sidecar names those of its own numbers.

    Returns
    -------
    list of Path
        What was written, as of `lookalike.exhibits.write.write_exhibit`.

    Raises
    ------
    LookalikeError
        When there is no such exhibit, or numbers that it needs are missing; nothing is written then.
    """
    known = web_exhibits()
    chosen = []
    for name in names:
        if name not in known:
            raise LookalikeError(f"there is no exhibit {name}: choose one of {', '.join(known)}")
        need = NUMBERS_OF[name][0]
        if context.not_run is None and getattr(numbers, need) is None:
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
            caption=exhibit.caption(numbers, context, reference, drawn),
            comparison=exhibit.compare(numbers, context, reference),
            context=context,
            folder=Path(folder) / exhibit.paper,
            sources=files,
        )
    return written


def web_exhibits() -> dict[str, WebExhibit]:
    """Every exhibit of the study, by ``paper/name``."""
    exhibits = (
        *(_counts(paper, name) for paper, name in ((JMLR, "table1"), (DRAFT, "table3"))),
        _speed(),
        _approximate(),
        *(_precision(paper, name) for paper, name in ((JMLR, "fig3a"), (DRAFT, "fig6"))),
        _topics(),
        *(_runtime(paper, name) for paper, name in ((JMLR, "fig4"), (NIPS, "fig1b"))),
        _calibration(),
        _learning(),
        _recall(),
    )
    return {exhibit.key: exhibit for exhibit in exhibits}


TITLES = {"fig3a": "Figure 3A", "fig6": "Figure 6", "fig4": "Figure 4", "fig1b": "Figure 1b"}


def _counts(paper: str, name: str) -> WebExhibit:
    return WebExhibit(
        paper=paper,
        name=name,
        kind="table",
        title=name.replace("table", "Table "),
        shows="Statistics of the collection, counted in what is simulated, beside the paper's.",
        draw=lambda numbers, context, reference: tables.counts_table(numbers.counts, context, reference),
        drawn_by="lookalike.exhibits.web_tables",
        notes=lambda numbers, context, reference, drawn: tables.notes_on_counts(context, reference, paper),
        compare=lambda numbers, context, reference: tables.compare_counts(numbers.counts, context, reference),
    )


def _speed() -> WebExhibit:
    return WebExhibit(
        paper=GROUP,
        name="speed",
        kind="table",
        title="Speed of training",
        shows="Steps a second, time and memory of training OASIS, by mode, beside what the paper prints.",
        draw=lambda numbers, context, reference: tables.speed_table(numbers.fits, context, reference),
        drawn_by="lookalike.exhibits.web_tables",
        notes=lambda numbers, context, reference, drawn: (
            tables.notes_on_speed(context, drawn) if isinstance(drawn, Table) else ""
        ),
    )


def _approximate() -> WebExhibit:
    return WebExhibit(
        paper=GROUP,
        name="approximate",
        kind="table",
        title="Approximate search",
        shows="Recall and time of a search through indices that hold projected images, beside the exact search.",
        draw=lambda numbers, context, reference: tables.approximate_table(numbers.approximate, context),
        drawn_by="lookalike.exhibits.web_tables",
        notes=lambda numbers, context, reference, drawn: tables.notes_on_approximate(numbers.approximate, context),
    )


def _recall() -> WebExhibit:
    def notes(numbers: WebNumbers, context: WebContext, reference: pd.DataFrame, drawn: Drawn) -> str:
        told = tables.notes_on_approximate(numbers.approximate, context)
        return f"{told} Numbers: the least and the largest parameter of a line." if told else ""

    return WebExhibit(
        paper=GROUP,
        name="recall",
        kind="figure",
        title="Recall of approximate search over time",
        shows="Recall of the exact first k over milliseconds a query, a line an index.",
        draw=lambda numbers, context, reference: figures.recall_curves(numbers.approximate, context),
        drawn_by="lookalike.exhibits.web_figures",
        notes=notes,
    )


def _precision(paper: str, name: str) -> WebExhibit:
    return WebExhibit(
        paper=paper,
        name=name,
        kind="figure",
        title=TITLES[name],
        shows=(
            "Precision at top k over the number of neighbours, an image being relevant where it shares a query of the "
            "log with the query image (threshold 0)."
        ),
        draw=lambda numbers, context, reference: figures.precision_curves(numbers.precision, context, reference),
        drawn_by="lookalike.exhibits.web_figures",
        notes=lambda numbers, context, reference, drawn: (
            figures.notes_on_precision(context, drawn, of_log=True) if isinstance(drawn, Plot) else ""
        ),
        compare=lambda numbers, context, reference: figures.compare_precision(numbers.precision, context, reference),
    )


def _topics() -> WebExhibit:
    return WebExhibit(
        paper=GROUP,
        name="topics",
        kind="figure",
        title="Precision at top k by latent topic",
        shows=(
            "Share of the top k that were made from the query image's own latent topic, which no learner is told: what "
            "a rater would call similar, where the log knows only some of the pairs."
        ),
        draw=lambda numbers, context, reference: figures.precision_curves(
            numbers.precision, context, reference, figures.OF_TOPIC
        ),
        drawn_by="lookalike.exhibits.web_figures",
        notes=lambda numbers, context, reference, drawn: (
            figures.notes_on_precision(context, drawn, of_log=False) if isinstance(drawn, Plot) else ""
        ),
    )


def _runtime(paper: str, name: str) -> WebExhibit:
    return WebExhibit(
        paper=paper,
        name=name,
        kind="figure",
        title=TITLES[name],
        shows=(
            "Training time of OASIS over the number of images and of LMNN over that of rows, both axes logarithmic."
        ),
        draw=lambda numbers, context, reference: runtime.runtime_curves(numbers.runtime, context, reference),
        drawn_by="lookalike.exhibits.web_runtime",
        notes=lambda numbers, context, reference, drawn: notes_on_runtime(context, numbers.runtime, reference),
        compare=lambda numbers, context, reference: runtime.compare_runtime(numbers.runtime, context, reference, paper),
        rule=f"Minutes ({TRAIN_TIME}). No verdict: other data, other machines and other implementations.",
        header=("images", "repeat"),
    )


def _calibration() -> WebExhibit:
    return WebExhibit(
        paper=GROUP,
        name="calibration",
        kind="figure",
        title="Simulated marginals beside printed ones",
        shows="Marginals of the query log and the visterms, and what the papers print of theirs.",
        draw=lambda numbers, context, reference: calibration.calibration_panels(numbers.marginals, context, reference),
        drawn_by="lookalike.exhibits.web_calibration",
        notes=lambda numbers, context, reference, drawn: (
            calibration.notes_on_calibration(context, drawn) if isinstance(drawn, Plot) else ""
        ),
    )


def _learning() -> WebExhibit:
    return WebExhibit(
        paper=GROUP,
        name="learning",
        kind="figure",
        title="Training",
        shows="Validation mAP and the share of steps with a loss over training steps.",
        draw=lambda numbers, context, reference: figures.learning_curves(numbers.curve, numbers.fits, context),
        drawn_by="lookalike.exhibits.web_figures",
        notes=lambda numbers, context, reference, drawn: (
            figures.notes_on_learning(context, drawn) if isinstance(drawn, Plot) else ""
        ),
    )
