"""Every exhibit of the category study by paper and name: its kind, what it needs, how it is drawn and compared.

A new exhibit is one more entry here, and its name in the lists of ``workflow/rules/inputs.smk``, which say what the
workflow makes; `lookalike.exhibits.write` needs no change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lookalike.exhibits import compare as compared
from lookalike.exhibits import comparison_table as against
from lookalike.exhibits import runtime
from lookalike.exhibits.ablations import ablations
from lookalike.exhibits.bound_figure import bound_curves, notes_on_bounds
from lookalike.exhibits.claims import claims_table, verdict_counts
from lookalike.exhibits.context import Context
from lookalike.exhibits.facts import subset_of_text
from lookalike.exhibits.figures import (
    Plot,
    methods_of_variants,
    precision_curves,
    shows_printed,
    stop_label,
    training_curves,
    variant_curves,
)
from lookalike.exhibits.learning_figures import (
    mcml_curves,
    notes_on_mcml,
    notes_on_projections,
    notes_on_rankers,
    notes_on_symmetry,
    projection_curves,
    ranker_curves,
    symmetry_curves,
)
from lookalike.exhibits.panels import not_drawn_sentence
from lookalike.exhibits.reference import PAPERS, PRINTED_TABLE
from lookalike.exhibits.style import title_of
from lookalike.exhibits.tables import STAR, Table, not_converged_sentence, table1, table4
from lookalike.exhibits.text_numbers import compare_text, text_numbers

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Numbers:
    """What exhibits are drawn from; None where nothing was run or the exhibit at hand does not need it."""

    metrics: pd.DataFrame | None = None
    """Tidy metrics: ``dataset, representation, subset, method, fold, metric, value``."""
    curves: pd.DataFrame | None = None
    """Learning curves: ``subset, method, fold, aggressiveness, step, images, map, loss_rate``."""
    facts: pd.DataFrame | None = None
    """From `lookalike.exhibits.facts.study_facts`."""
    fits: pd.DataFrame | None = None
    """What each fit recorded: ``subset, representation, method, fold, n_steps, cpu_seconds_fit, not_converged``, ..."""
    comparison: pd.DataFrame | None = None
    """From `lookalike.ranking.comparison.compare_methods`: OASIS against every other method."""
    rankers: pd.DataFrame | None = None
    """Test mAP of single rankers and of their averages: ``subset, fold, series, n_rankers, ranker, step, map``."""
    bounds: pd.DataFrame | None = None
    """Mistakes of OASIS and Theorem 1's bound on them: ``subset, fold, comparator, step, mistakes, bound``."""
    claims: pd.DataFrame | None = None
    """The papers' claims, from claims.csv: ``id, paper, settings, place, claim, rule, note``."""
    selections: pd.DataFrame | None = None
    """Validation mAP of candidates: ``subset, method, fold``, what was chosen among, ``step, map``."""
    reference: pd.DataFrame | None = None
    """Printed numbers, which some rules about claims are anchored to."""


Draw = Callable[[Numbers, Context, "pd.DataFrame"], Table | Plot]
Compare = Callable[[Numbers, Context, "pd.DataFrame"], "pd.DataFrame"]


def _classes(context: Context) -> str:
    return ", ".join(
        subset.title + ("" if str(subset.n_classes) in subset.title.split() else f" ({subset.n_classes} classes)")
        for subset in context.subsets
    )


def _study_sentence(context: Context) -> str:
    return (
        f"{_classes(context)}; {context.n_folds} random partitions with {context.n_train} training and "
        f"{context.n_test} test images per class; each test image queries all others."
    )


def _own_representation(context: Context) -> str:
    return f"{_images(context)}, representation {context.representation}: {_study_sentence(context)}"


def _of_training(context: Context) -> str:
    """About the data of what no test image is ranked for."""
    partitions = f"{context.n_folds} random partitions with {context.n_train} training images per class"
    return f"{_images(context)}, representation {context.representation}: {_classes(context)}; {partitions}."


def _all_representations(context: Context) -> str:
    return f"{_images(context)}: {_study_sentence(context)}"


def _data_of_text(context: Context) -> str:
    subset = subset_of_text(context)
    where = f"; non-zeros and symmetry over the training images of {subset.title}" if subset else ""
    return f"{_images(context)}, clutter not counted{where}."


def _stop(context: Context) -> str:
    drawn = context.not_run is None and any(context.selected_steps.get(subset.id) for subset in context.subsets)
    return f" (dotted vertical line: {stop_label(context)}, mean over folds)" if drawn else ""


def _selection(context: Context) -> str:
    return context.selection_sentence


def _selection_of_variants(context: Context) -> str:
    return context.selection_of(methods_of_variants(context))


def _selection_of_all(context: Context) -> str:
    return context.selection_of((*context.methods, *context.variants))


def _no_selection(context: Context) -> str:
    return ""


def _no_notes(context: Context, drawn: Table | Plot) -> str:
    return ""


def _settings_of_methods(context: Context, drawn: Table | Plot) -> str:
    """What the study's settings want to be said of the methods that are shown."""
    shown = {str(name) for column in ("method", "series") if column in drawn.frame for name in drawn.frame[column]}
    return _notes_of(context, shown)


def _notes_of(context: Context, methods: Collection[str]) -> str:
    """The study's notes on methods, each under its title."""
    told = {
        title_of(method, context.method_titles): note for method, note in context.notes.items() if method in methods
    }
    return " ".join(f"{title}: {note.rstrip('.')}." for title, note in told.items())


def _has_star(table: Table) -> bool:
    return "printed_cell" in table.frame and bool(table.frame["printed_cell"].eq(STAR).any())


def _images(context: Context) -> str:
    return f"{'Synthetic images' if context.synthetic else 'Images'} of {context.title}"


@dataclass(frozen=True)
class Exhibit:
    """One table or figure of one paper."""

    paper: str
    name: str
    kind: str
    """``table`` or ``figure``."""
    title: str
    """``Table 4``: what the paper calls it, or what we call it where it is our own."""
    shows: str
    """First sentence of the caption; ``{stop}`` in it becomes the meaning of the vertical line, if there is one."""
    errors: str
    """What ± or the error bars mean."""
    needs: frozenset[str]
    """Which tables of `Numbers` it cannot be drawn without."""
    draw: Draw
    """``draw(numbers, context, reference)``."""
    drawn_by: str
    """Name of the module that draws it, dotted."""
    compare: Compare
    """``compare(numbers, context, reference)``: one row a printed number."""
    data: Callable[[Context], str] = _own_representation
    """The sentence of the caption about the data."""
    of_own_representation: bool = True
    """Whether all its numbers are the study's in its own representation, whose selections and reasons against a
    comparison the caption then tells; the rows of others tell for themselves."""
    selection: Callable[[Context], str] = _selection
    """The sentence of the caption about selections that ended at an end of what was tried."""
    notes: Callable[[Context, Table | Plot], str] = _no_notes
    """Sentences of the caption about what was drawn, told after what the error bars mean."""
    prints_numbers: bool = True
    """Whether its paper prints the numbers that it shows, so that they can stand beside ours; of some figures none."""
    rule: str = compared.RULE
    """How the status of a printed number is found, beneath the comparison."""
    rows_in_sidecar: bool = False
    """Whether the sidecar has the table's rows too, which are sentences rather than numbers."""
    header: tuple[str, str] = ("subset", "fold")
    """What a subset and a fold are called above the columns of the comparison."""
    forms: Mapping[str, str] = field(default_factory=dict)
    """Formats of metrics in the comparison that differ from the usual ones."""

    @property
    def has_printed(self) -> bool:
        """Whether a paper prints numbers of it; an exhibit of our own has none, and of some figures there are none."""
        return self.paper in PAPERS and self.prints_numbers

    def caption(self, context: Context, drawn: Table | Plot | None = None) -> str:
        """What is shown, on which data, what the error bars mean, and which exhibit of which paper it follows.

        Parameters
        ----------
        context : Context
        drawn : Table or Plot, optional
            What was drawn; marks that only some tables have are explained where it has them.
        """
        parts = [self.shows.format(stop=_stop(context))]
        if context.not_run_sentence:
            parts.append(f"{context.title}: {context.not_run_sentence}.")
            parts += ["Numbers shown are the paper's."] if self.has_printed else []
        else:
            parts += [self.data(context), self.errors.format(n_folds=context.n_folds)]
        if drawn is not None and self.notes(context, drawn):
            parts.append(self.notes(context, drawn))
        if drawn is not None and not context.not_run_sentence:
            parts.append(_settings_of_methods(context, drawn))
        if isinstance(drawn, Table) and _has_star(drawn):
            parts.append(f"{STAR}: the paper prints no number, since the learner did not converge.")
        if isinstance(drawn, Table):
            parts.append(not_converged_sentence(drawn.frame, context))
        if self.of_own_representation and self.selection(context):
            parts.append(self.selection(context))
        beside = any(shows_printed(context, subset) for subset in context.subsets)
        if self.kind == "figure" and self.has_printed and beside:
            table = PRINTED_TABLE[self.paper].replace("table", "Table ")
            parts.append(f"Hollow markers: {table} of the paper, with its standard deviations.")
        if self.of_own_representation and context.why_not_comparable and not context.not_run:
            parts.append(f"Not comparable with the printed numbers: {context.why_not_comparable}.")
        if self.paper in PAPERS:
            form = f"Form of {self.title}" if self.of_own_representation else "Printed"
            parts.append(f"{form} in {PAPERS[self.paper]}.")
        return " ".join(filter(None, parts))


def _table(make: Callable[[pd.DataFrame | None, Context, pd.DataFrame], Table], paper: str) -> Draw:
    return lambda numbers, context, reference: against.with_comparison(
        make(numbers.metrics, context, reference), numbers.comparison, context, paper
    )


def _figure(
    make: Callable[[pd.DataFrame | None, pd.DataFrame | None, Context, pd.DataFrame, str], Plot], paper: str
) -> Draw:
    return lambda numbers, context, reference: make(numbers.metrics, numbers.curves, context, reference, paper)


def _compare_table(paper: str, metric_names: tuple[str, ...] = compared.TABLE_METRICS) -> Compare:
    return lambda numbers, context, reference: compared.compare(
        numbers.metrics, reference, context, paper=paper, metric_names=metric_names
    )


def _compare_training(paper: str) -> Compare:
    """What is printed about the curves: where they start, where they stop, and after how many steps."""

    def compare(numbers: Numbers, context: Context, reference: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        ends = compared.compare(
            numbers.metrics, reference, context, paper=paper, methods=("oasis", "euclidean"), metric_names=("map",)
        )
        stops = compared.compare_stop(reference, context, paper=paper)
        return pd.concat([ends, stops], ignore_index=True) if len(stops) else ends

    return compare


def _tables(paper: str, name: str, make: Callable[..., Table], unit: str) -> Exhibit:
    return Exhibit(
        paper=paper,
        name=name,
        kind="table",
        title=name.replace("table", "Table "),
        shows=f"Mean average precision and precision at top 1, 10 and 50 of all compared methods, {unit}.",
        errors=(
            "Values are means over {n_folds} folds, ± the standard deviation across them; the paper's row stands "
            "beneath ours. -: not run here."
        ),
        needs=frozenset({"metrics"}),
        draw=_table(make, paper),
        drawn_by="lookalike.exhibits.tables",
        compare=_compare_table(paper),
        notes=lambda context, drawn: context.stopped_sentence(context.methods),
    )


def _training(paper: str, name: str) -> Exhibit:
    return Exhibit(
        paper=paper,
        name=name,
        kind="figure",
        title=name.replace("fig", "Figure "),
        shows=(
            "Mean average precision of OASIS over training and test images as a function of the number of training "
            "steps{stop}; dashed: Euclidean baseline on the test images."
        ),
        errors="Error bars: standard error of the mean over {n_folds} folds.",
        needs=frozenset({"metrics", "curves"}),
        draw=_figure(training_curves, paper),
        drawn_by="lookalike.exhibits.figures",
        compare=_compare_training(paper),
        selection=lambda context: context.traced_stop_sentence,
    )


def _precision(paper: str, name: str) -> Exhibit:
    return Exhibit(
        paper=paper,
        name=name,
        kind="figure",
        title=name.replace("fig", "Figure "),
        shows="Precision at top k as a function of the number of neighbours k; dashed: chance.",
        errors="Error bars: standard error of the mean over {n_folds} folds.",
        needs=frozenset({"metrics"}),
        draw=_figure(precision_curves, paper),
        drawn_by="lookalike.exhibits.figures",
        compare=_compare_table(paper, ("p@1", "p@10", "p@50")),
        notes=lambda context, drawn: not_drawn_sentence(context, context.methods),
    )


def _variants(paper: str, name: str) -> Exhibit:
    def notes(context: Context, drawn: Table | Plot) -> str:
        none = "" if context.variants or context.not_run else "No symmetric variant was run."
        return none or not_drawn_sentence(context, methods_of_variants(context))

    return Exhibit(
        paper=paper,
        name=name,
        kind="figure",
        title=name.replace("fig", "Figure "),
        shows=(
            "Precision at top k of OASIS and of its symmetric variants as a function of the number of neighbours k; "
            "dashed: chance."
        ),
        errors="Error bars: standard error of the mean over {n_folds} folds.",
        needs=frozenset({"metrics"}),
        draw=_figure(variant_curves, paper),
        drawn_by="lookalike.exhibits.figures",
        compare=_nothing_printed,
        selection=_selection_of_variants,
        notes=notes,
        prints_numbers=False,
    )


def _rankers(paper: str, name: str) -> Exhibit:
    return Exhibit(
        paper=paper,
        name=name,
        kind="figure",
        title=name.replace("fig", "Figure "),
        shows=(
            "Mean average precision on the test images of single OASIS rankers, each trained on triplets of its own, "
            "and of the averages of their W, as a function of the training steps of each ranker."
        ),
        errors="",
        needs=frozenset({"rankers"}),
        draw=lambda numbers, context, reference: ranker_curves(numbers.rankers, context, paper),
        drawn_by="lookalike.exhibits.learning_figures",
        compare=_nothing_printed,
        selection=_no_selection,
        notes=lambda context, drawn: notes_on_rankers(context, drawn) if isinstance(drawn, Plot) else "",
        prints_numbers=False,
    )


def _projections(paper: str, name: str) -> Exhibit:
    return Exhibit(
        paper=paper,
        name=name,
        kind="figure",
        title=name.replace("fig", "Figure "),
        shows=(
            "Mean average precision of OASIS on the test images as a function of the number of training steps, without "
            "and with projections of W onto the positive semidefinite cone."
        ),
        errors="",
        needs=frozenset({"curves"}),
        draw=lambda numbers, context, reference: projection_curves(numbers.curves, context, paper),
        drawn_by="lookalike.exhibits.learning_figures",
        compare=_nothing_printed,
        selection=_no_selection,
        notes=lambda context, drawn: notes_on_projections(context, drawn) if isinstance(drawn, Plot) else "",
        prints_numbers=False,
    )


def _mcml() -> Exhibit:
    return Exhibit(
        paper="learning",
        name="mcml",
        kind="figure",
        title="MCML along its iterations",
        shows=(
            "Mean average precision of MCML over training and test images as a function of its iterations; dotted: "
            "where it ends by itself; dashed: Euclidean baseline on the test images."
        ),
        errors="",
        needs=frozenset({"metrics", "curves"}),
        draw=lambda numbers, context, reference: mcml_curves(numbers.metrics, numbers.curves, context),
        drawn_by="lookalike.exhibits.learning_figures",
        compare=_nothing_printed,
        of_own_representation=False,
        notes=lambda context, drawn: notes_on_mcml(context, drawn) if isinstance(drawn, Plot) else "",
    )


def _symmetry() -> Exhibit:
    return Exhibit(
        paper="learning",
        name="symmetry",
        kind="figure",
        title="Symmetry of W along training",
        shows=(
            "Share of W that is symmetric, ||sym W|| / ||W||, as a function of the training steps of OASIS, which "
            "starts from W = I."
        ),
        errors="",
        needs=frozenset({"curves"}),
        draw=lambda numbers, context, reference: symmetry_curves(numbers.curves, context, reference),
        drawn_by="lookalike.exhibits.learning_figures",
        compare=_nothing_printed,
        data=_of_training,
        of_own_representation=False,
        notes=lambda context, drawn: notes_on_symmetry(context, drawn) if isinstance(drawn, Plot) else "",
    )


def _loss_bound() -> Exhibit:
    return Exhibit(
        paper="learning",
        name="loss_bound",
        kind="figure",
        title="Mistakes of OASIS and the bound on them",
        shows=(
            "Triplets that OASIS ranks wrongly before it learns from them, counted from the first, and the bound on "
            "their number of JMLR Theorem 1 for several matrices U; W: the matrix after the last triplet, I: the "
            "identity; dotted: number of triplets seen."
        ),
        errors="",
        needs=frozenset({"bounds"}),
        draw=lambda numbers, context, reference: bound_curves(numbers.bounds, context),
        drawn_by="lookalike.exhibits.bound_figure",
        compare=_nothing_printed,
        data=_of_training,
        of_own_representation=False,
        notes=lambda context, drawn: notes_on_bounds(context, drawn) if isinstance(drawn, Plot) else "",
    )


def _times(paper: str, name: str) -> Exhibit:
    def notes(context: Context, drawn: Table | Plot) -> str:
        if not isinstance(drawn, Table):
            return ""
        stopped = context.stopped_sentence(runtime.methods_of_times(context, paper))
        return " ".join(filter(None, (runtime.notes_on_times(context, drawn, paper), stopped)))

    return Exhibit(
        paper=paper,
        name=name,
        kind="table",
        title=name.replace("table", "Table "),
        shows="Training time of the compared methods in minutes of CPU time, ours beside the paper's.",
        errors=(
            "Values are means over {n_folds} folds, ± the standard deviation across them; ratios are of means. -: not "
            "run here."
        ),
        needs=frozenset({"fits"}),
        draw=lambda numbers, context, reference: runtime.training_times(numbers.fits, context, reference, paper),
        drawn_by="lookalike.exhibits.runtime",
        compare=lambda numbers, context, reference: runtime.compare_times(
            numbers.fits, context, reference, paper=paper
        ),
        data=_of_training,
        selection=lambda context: context.selection_of(runtime.methods_of_times(context, paper)),
        notes=notes,
        rule=runtime.RULE,
    )


def _nothing_printed(numbers: Numbers, context: Context, reference: pd.DataFrame) -> pd.DataFrame:
    return compared.comparison_frame([])


def _comparison() -> Exhibit:
    return Exhibit(
        paper="learning",
        name="comparison",
        kind="table",
        title="Methods compared",
        shows=f"{against.HEADING}, of every compared method and symmetric variant that was run.",
        errors=f"{against.RULE} -: not run here, or no fold in common.",
        needs=frozenset({"comparison"}),
        draw=lambda numbers, context, reference: against.comparison_table(numbers.comparison, context),
        drawn_by="lookalike.exhibits.comparison_table",
        compare=_nothing_printed,
        selection=_selection_of_all,
        notes=lambda context, drawn: against.notes_on_families(drawn, context) if isinstance(drawn, Table) else "",
    )


def _claims() -> Exhibit:
    def notes(context: Context, drawn: Table | Plot) -> str:
        if not isinstance(drawn, Table) or context.not_run is not None:
            return ""
        run = (*context.methods, *context.variants, *context.timed, *context.projected)
        told = (verdict_counts(drawn, context), _notes_of(context, run), context.stopped_sentence(run))
        return " ".join(filter(None, told))

    return Exhibit(
        paper="learning",
        name="claims",
        kind="table",
        title="Claims of the papers",
        shows=(
            "What the JMLR paper and its draft claim about Caltech-256, in our words, and whether it holds for the "
            "numbers of this study."
        ),
        errors="",
        needs=frozenset({"claims"}),
        draw=lambda numbers, context, reference: claims_table(numbers, context, reference),
        drawn_by="lookalike.exhibits.claims",
        rows_in_sidecar=True,
        compare=_nothing_printed,
        selection=_selection_of_all,
        notes=notes,
    )


def _text() -> Exhibit:
    return Exhibit(
        paper="oasis-jmlr-2010",
        name="text",
        kind="table",
        title="Numbers in the running text",
        shows=(
            "What dropping too small images keeps, how many different visterms an image has, and the share of W that "
            "is symmetric after OASIS training, ||sym W|| / ||W||."
        ),
        errors="Values with ± are means over {n_folds} folds and the standard deviation across them. -: not run here.",
        needs=frozenset(),
        draw=lambda numbers, context, reference: text_numbers(numbers.facts, context, reference),
        drawn_by="lookalike.exhibits.text_numbers",
        compare=lambda numbers, context, reference: compare_text(numbers.facts, context, reference),
        data=_data_of_text,
        of_own_representation=False,
    )


def _ablations() -> Exhibit:
    return Exhibit(
        paper="representation",
        name="ablations",
        kind="table",
        title="Representations compared",
        shows=(
            "Mean average precision of every method in every representation that was run, in percent; the first row of "
            "each block is the representation of all other exhibits."
        ),
        errors="Values are means over {n_folds} folds, ± the standard deviation across them. -: not run here.",
        needs=frozenset({"metrics"}),
        draw=lambda numbers, context, reference: ablations(numbers.metrics, context),
        drawn_by="lookalike.exhibits.ablations",
        compare=lambda numbers, context, reference: compared.comparison_frame([]),
        data=_all_representations,
        of_own_representation=False,
    )


_ALL = (
    _tables("oasis-jmlr-2010", "table4", table4, "in percent"),
    _training("oasis-jmlr-2010", "fig5"),
    _precision("oasis-jmlr-2010", "fig6"),
    _text(),
    _tables("oasis-2009-draft", "table1", table1, "as fractions"),
    _training("oasis-2009-draft", "fig3"),
    _precision("oasis-2009-draft", "fig4"),
    _ablations(),
    _rankers("oasis-jmlr-2010", "fig7"),
    _variants("oasis-jmlr-2010", "fig8"),
    _projections("oasis-jmlr-2010", "fig9"),
    _variants("oasis-2009-draft", "fig5"),
    _mcml(),
    _symmetry(),
    _loss_bound(),
    _times("oasis-jmlr-2010", "table5"),
    _times("oasis-2009-draft", "table2"),
    _comparison(),
    _claims(),
)

EXHIBITS: dict[tuple[str, str], Exhibit] = {(exhibit.paper, exhibit.name): exhibit for exhibit in _ALL}
"""(paper id, exhibit name) to exhibit."""
