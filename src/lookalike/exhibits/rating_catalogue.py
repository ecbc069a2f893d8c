"""Every exhibit of the human evaluation by paper and name: what draws it, its caption, and the numbers in print.

The papers' raters judged images of the web, ours (people or a simulated panel) those of a labelled data set, so that no
printed number is held against ours: each stands beside it, as not comparable. The figures themselves are in
`lookalike.exhibits.rating_figures`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.core.errors import LookalikeError
from lookalike.exhibits import compare as compared
from lookalike.exhibits import rating_figures as figures
from lookalike.exhibits.context import Context
from lookalike.exhibits.figures import Plot
from lookalike.exhibits.galleries import PAPER_TITLES
from lookalike.exhibits.rating_figures import JMLR, NIPS, PRINTED_P10, PRINTED_PEAK, RatingNumbers
from lookalike.exhibits.reference import printed_number
from lookalike.exhibits.tables import NOT_RUN, Block, Table, make_table, plus_minus
from lookalike.exhibits.write import write_files

if TYPE_CHECKING:
    import pandas as pd

DRAFT = "oasis-2009-draft"
OVER_QUERIES, OVER_RATERS = "map_std_over_queries", "map_std_over_evaluators"
QUANTITIES = {
    OVER_QUERIES: ("Mean standard deviation of mAP over queries", "standard_deviation_over_queries", 1.0, ".2f"),
    OVER_RATERS: ("Mean standard deviation of mAP over raters", "standard_deviation_over_raters", 1.0, ".2f"),
    PRINTED_PEAK: ("Highest precision at top k, in percent", "precision_peak", 100.0, ".1f"),
    PRINTED_P10: ("Precision at top 10, in percent", "precision_at_10", 100.0, ".1f"),
}
"""Printed metric to its title, the quantity of ours, by what ours is multiplied, and its format."""
NO_NUMBER = {
    OVER_QUERIES: "it takes two queries",
    OVER_RATERS: "it takes two raters",
    PRINTED_PEAK: "no image was rated",
    PRINTED_P10: "fewer than 10 images were rated",
}
"""Printed metric to why there may be none of ours."""
RULE = "No verdict: the papers' numbers are those of their own raters, about images of the web."
DEVIATION_COLUMNS = ("metric", "paper", "ours", "ours_cell", "printed", "printed_cell", "status", "reason", "simulated")
"""``simulated``: whether any of the raters behind our number is."""

Draw = Callable[["RatingNumbers | None", Context, "pd.DataFrame"], Plot | Table]


@dataclass(frozen=True)
class RatingExhibit:
    """One figure or table about ratings."""

    paper: str
    name: str
    kind: str
    """``table`` or ``figure``."""
    title: str
    """What the paper calls it, or what we call it where it is our own."""
    shows: str
    """First sentences of the caption: what is shown, and what error bars are."""
    draw: Draw
    """``draw(numbers, context, reference)``."""
    printed: tuple[tuple[str, str], ...] = ()
    """(paper, metric) of the printed numbers that stand beside ours."""
    drawn_by: str = "lookalike.exhibits.rating_figures"
    rule: str = RULE
    rows_in_sidecar: bool = False
    header: tuple[str, str] = ("subset", "fold")
    forms: Mapping[str, str] = field(default_factory=lambda: {name: row[3] for name, row in QUANTITIES.items()})

    @property
    def has_printed(self) -> bool:
        """Whether a paper prints numbers of it."""
        return bool(self.printed)


def why_not_comparable(numbers: RatingNumbers | None, context: Context) -> str:
    """Why no number of ours may be held against the printed ones."""
    images = "synthetic images" if context.synthetic else "other images than the paper's"
    return f"{images}, simulated raters" if numbers is not None and numbers.simulated else images


def compare_ratings(
    exhibit: RatingExhibit, numbers: RatingNumbers | None, context: Context, reference: pd.DataFrame
) -> pd.DataFrame:
    """Set the printed numbers of an exhibit beside ours.

    Parameters
    ----------
    exhibit : RatingExhibit
    numbers : RatingNumbers or None
        None where nothing was run.
    context : Context
    reference : DataFrame
        Printed numbers.

    Returns
    -------
    DataFrame
        Columns `lookalike.exhibits.compare.COLUMNS`, ``printed_setting`` being the paper; never a verdict.
    """
    rows = []
    for paper, metric in exhibit.printed:
        row = printed_number(reference, paper, "text", "", "oasis", metric)
        if row is None:
            continue
        row["setting"] = paper
        _, quantity, scale, _ = QUANTITIES[metric]
        ours = math.nan if numbers is None else scale * numbers.summary.get(quantity, math.nan)
        judged = compared.without_verdict(row, context, ours)
        if judged is not None and judged[0] == compared.NO_RESULT:
            judged = (compared.NO_RESULT, NO_NUMBER[metric])
        judged = judged or (compared.NOT_COMPARABLE, why_not_comparable(numbers, context))
        rows.append(compared.compared_row(row, context.subsets[0].id, ours, math.nan, *judged))
    return compared.comparison_frame(rows)


def deviations(numbers: RatingNumbers | None, context: Context, reference: pd.DataFrame) -> Table:
    """How much mAP differs between queries and between raters, and the precision they give OASIS (JMLR 5.2.3).

    Parameters
    ----------
    numbers : RatingNumbers or None
        None where nothing was run.
    context : Context
    reference : DataFrame
        Printed numbers.

    Returns
    -------
    Table
        Frame columns `DEVIATION_COLUMNS`, a row a printed number.
    """
    import pandas as pd

    comparison = compare_ratings(RATING_EXHIBITS["human", "deviations"], numbers, context, reference)
    simulated = numbers is not None and numbers.simulated
    records, rows = [], []
    row: Any
    for row in comparison.itertuples():
        title, _, _, form = QUANTITIES[row.metric]
        paper = str(row.printed_setting)
        ours = NOT_RUN if context.not_run else plus_minus(row.ours, math.nan, form)
        printed = plus_minus(row.printed, math.nan, "g")
        records.append((row.metric, paper, row.ours, ours, row.printed, printed, row.status, row.reason, simulated))
        status = str(row.status) if context.not_run else f"{row.status}: {row.reason}"
        rows.append((title, ours, printed, PRINTED_IN[paper], status))
    block = Block((context.title, "ours", "paper", "printed in", "status"), tuple(rows))
    frame = pd.DataFrame(records, columns=list(DEVIATION_COLUMNS))
    return make_table(frame, [block], numbers=range(1, 3), notice=context.not_run_sentence)


def rating_caption(exhibit: RatingExhibit, numbers: RatingNumbers | None, context: Context, fold: int) -> str:
    """Caption of an exhibit: what is shown, of how many queries and raters, whether they are simulated, and its source.

    Parameters
    ----------
    exhibit : RatingExhibit
    numbers : RatingNumbers or None
    context : Context
        With the one subset that was rated.
    fold : int
        Which partition the rated images are of, from 0.
    """
    parts = [exhibit.shows, *_signs(exhibit, numbers)]
    if context.not_run_sentence is not None or numbers is None:
        parts.append(f"{context.title}: {context.not_run_sentence or 'not run'}.")
        parts += ["Numbers shown are the paper's."] if exhibit.printed else []
    else:
        parts += [_data(numbers, context, fold), *_notes(exhibit, numbers)]
        if exhibit.printed:
            reason = why_not_comparable(numbers, context)
            parts.append(f"Not comparable with the printed numbers: {reason}.")
    if exhibit.paper in PAPER_TITLES:
        parts.append(f"Form of {exhibit.title} in {PAPER_TITLES[exhibit.paper]}.")
    return " ".join(parts)


def write_rating_exhibit(
    paper: str,
    name: str,
    *,
    numbers: RatingNumbers | None,
    context: Context,
    reference: pd.DataFrame,
    fold: int,
    folder: str | os.PathLike[str],
    sources: Sequence[str] = (),
) -> list[Path]:
    """Draw one exhibit about ratings and write all its files.

    Parameters
    ----------
    paper, name : str
        A key of `RATING_EXHIBITS`.
    numbers : RatingNumbers or None
        From `lookalike.exhibits.rating_figures.rating_numbers`; None where nothing was run.
    context : Context
        With the one subset that was rated.
    reference : DataFrame
        Printed numbers.
    fold : int
        Which partition the rated images are of, from 0.
    folder : path-like
        Where to write, ``results/{dataset}/exhibits/{paper}``.
    sources : sequence of str
        Files that the numbers come from, kept in the sidecar.

    Returns
    -------
    list of Path
        As of `lookalike.exhibits.write.write_exhibit`.

    Raises
    ------
    LookalikeError
        When there is no such exhibit, the context has no subset, or there are no ratings of a data set that was run.
    """
    if (paper, name) not in RATING_EXHIBITS:
        known = ", ".join("/".join(key) for key in RATING_EXHIBITS)
        raise LookalikeError(f"there is no exhibit {paper}/{name} of ratings: choose one of {known}")
    where = f"{paper}/{name} of {context.dataset}"
    if not context.subsets:
        raise LookalikeError(f"{where} has no subset to draw: list the rated one under its study in config.yaml")
    if numbers is None and context.not_run is None:
        raise LookalikeError(f"{where} needs ratings and there are none: collect some or simulate a panel first")
    exhibit = RATING_EXHIBITS[paper, name]
    return write_files(
        exhibit,
        exhibit.draw(numbers, context, reference),
        caption=rating_caption(exhibit, numbers, context, fold),
        comparison=compare_ratings(exhibit, numbers, context, reference),
        context=context,
        folder=folder,
        sources=sources,
    )


def _signs(exhibit: RatingExhibit, numbers: RatingNumbers | None) -> list[str]:
    """What else is drawn beside a mean curve, where it is."""
    if exhibit.draw not in (figures.mean_curve, figures.both_curves):
        return []
    panel = "In (A), dashed" if exhibit.draw is figures.both_curves else "Dashed"
    signs = []
    if numbers is not None and numbers.n_random:
        signs.append(f"{panel}: share of random images that are called good.")
    if figures.marks_printed_p10(numbers):
        signs.append("Hollow marker: the printed precision at k = 10.")
    return [*signs, "Dotted line: the printed peak."]


def _data(numbers: RatingNumbers, context: Context, fold: int) -> str:
    """How many queries and raters, of which images; simulated raters are called so first."""
    n_queries, n_raters = (int(numbers.summary[name]) for name in ("n_queries", "n_raters"))
    images = "Synthetic images" if context.synthetic else "Images"
    random = f" among {numbers.n_random} random {_plural(numbers.n_random, 'one')}" if numbers.n_random else ""
    raters = f"{n_raters} simulated raters" if numbers.simulated else f"{n_raters} {_plural(n_raters, 'rater')}"
    return (
        f"{images} of {context.title}, {context.subsets[0].title}, representation {context.representation}, partition "
        f"{fold + 1} of {context.n_folds}: {n_queries} query {_plural(n_queries, 'image')}, each with the first "
        f"{numbers.n_retrieved} images that OASIS finds{random}, judged by {raters}."
    )


def _notes(exhibit: RatingExhibit, numbers: RatingNumbers) -> list[str]:
    """Sentences about how the ratings came about."""
    notes = []
    if numbers.simulated:
        notes.append(
            "No person rated: all ratings are simulated from whether the classes agree, with errors of each rater."
        )
    share = numbers.summary.get("answered_share", 1.0)
    if share < 1:
        notes.append(
            f"Raters answered {100 * share:.1f} % of the candidates; the others count as not good, as does can't say."
        )
    if exhibit.name in ("fig3d", "fig1a") and numbers.per_query["human"].isna().all():
        notes.append("No rater is drawn: there is no other to compare one with.")
    if exhibit.name in ("fig3c", "fig7"):
        shown = sorted(int(position) for position in numbers.selected["position"].unique())
        notes.append(f"Selected queries: those at rank {_listed(shown)} of all, sorted by their mAP.")
    return notes


def _listed(numbers: Sequence[int]) -> str:
    """Return ``1, 6 and 11`` for 1, 6, 11."""
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last


def _plural(n: int, word: str) -> str:
    return word if n == 1 else f"{word}s"


_MEAN = (
    "Precision at top k of OASIS as raters judge it, mean over queries and raters, as a function of the number of "
    "neighbours k. Error bars: standard error of the mean over all pairs of a query and a rater; that over the "
    "queries' own means, which is wider where raters agree, is error_over_queries in the CSV file."
)
_SELECTED = (
    "Precision at top k of OASIS as raters judge it for queries that span the range of mean average precision. Error "
    "bars: standard error of the mean over raters."
)
_BOTH = (
    f"(A) {_MEAN} (B) The same for single queries that span the range of mean average precision; error bars: standard "
    "error of the mean over raters."
)
_QUERIES = (
    "Precision of OASIS and of raters for each query, other raters being the truth: that of OASIS is the mean "
    "share of raters who call one of its first images good, that of a rater the mean share of all other raters who "
    "call good what this rater does, among all images shown. Error bars: standard error of the mean over "
    "raters; pale bars: from the lowest to the highest rater."
)
_WITH_MEAN = f"{_QUERIES} Dashed: mean over queries of OASIS; dotted: the printed one."
_DEVIATIONS = (
    "How much mean average precision, as raters judge it, differs between queries (mean over raters of the standard "
    "deviation over queries) and between raters (mean over queries of the standard deviation over raters), and the "
    "precision at top k that they give OASIS."
)
PRINTED_IN = {JMLR: "JMLR 2010, draft 2009", NIPS: "NIPS 2009"}
"""Where a printed number stands; the draft prints those of JMLR too."""
_MARKS = ((JMLR, PRINTED_P10), (JMLR, PRINTED_PEAK))
_ALL = (
    RatingExhibit(JMLR, "fig3b", "figure", "Figure 3B", _MEAN, figures.mean_curve, _MARKS),
    RatingExhibit(JMLR, "fig3c", "figure", "Figure 3C", _SELECTED, figures.selected_curves),
    RatingExhibit(JMLR, "fig3d", "figure", "Figure 3D", _QUERIES, figures.per_query),
    RatingExhibit(DRAFT, "fig7", "figure", "Figure 7", _BOTH, figures.both_curves, _MARKS),
    RatingExhibit(
        NIPS, "fig1a", "figure", "Figure 1a", _WITH_MEAN, figures.per_query_with_mean, ((NIPS, PRINTED_P10),)
    ),
    RatingExhibit(
        "human",
        "deviations",
        "table",
        "Deviations between queries and between raters",
        _DEVIATIONS,
        deviations,
        (
            (JMLR, OVER_QUERIES),
            (JMLR, OVER_RATERS),
            *((JMLR, name) for name in (PRINTED_PEAK, PRINTED_P10)),
            (NIPS, PRINTED_P10),
        ),
        drawn_by="lookalike.exhibits.rating_catalogue",
    ),
)
RATING_EXHIBITS: dict[tuple[str, str], RatingExhibit] = {(exhibit.paper, exhibit.name): exhibit for exhibit in _ALL}
"""(paper id, exhibit name) to exhibit."""
