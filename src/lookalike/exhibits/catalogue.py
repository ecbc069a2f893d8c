"""Every exhibit of the category study by paper and name: its kind, what it needs, how it is drawn and compared.

A new exhibit is one more entry here; `lookalike.exhibits.write` and the workflow need no other change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lookalike.exhibits import compare as compared
from lookalike.exhibits.figures import Plot, precision_curves, shows_printed, training_curves
from lookalike.exhibits.reference import PAPERS, PRINTED_TABLE, Context
from lookalike.exhibits.tables import Table, table1, table4

if TYPE_CHECKING:
    import pandas as pd

Draw = Callable[["pd.DataFrame | None", "pd.DataFrame | None", Context, "pd.DataFrame"], Table | Plot]
Compare = Callable[["pd.DataFrame | None", Context, "pd.DataFrame"], "pd.DataFrame"]


@dataclass(frozen=True)
class Exhibit:
    """One table or figure of one paper."""

    paper: str
    name: str
    kind: str
    """``table`` or ``figure``."""
    title: str
    """``Table 4``: what the paper calls it."""
    shows: str
    """First sentence of the caption."""
    errors: str
    """What ± or the error bars mean."""
    needs: frozenset[str]
    """Which of ``metrics`` and ``curves`` it is drawn from."""
    draw: Draw
    """``draw(metrics, curves, context, reference)``."""
    compare: Compare
    """``compare(metrics, context, reference)``: one row a printed number."""

    def caption(self, context: Context) -> str:
        """What is shown, on which data, what the error bars mean, and which exhibit of which paper it follows."""
        parts = [self.shows]
        if context.not_run_sentence:
            parts.append(f"{context.title}: {context.not_run_sentence}. Numbers shown are the paper's.")
        else:
            parts += [_data_sentence(context), self.errors.format(n_folds=context.n_folds)]
        if self.kind == "figure" and shows_printed(context):
            table = PRINTED_TABLE[self.paper].replace("table", "Table ")
            parts.append(f"Hollow markers: {table} of the paper, with its standard deviations.")
        if not context.comparable and not context.not_run:
            parts.append(f"Not comparable with the printed numbers: {context.why_not_comparable}.")
        parts.append(f"Form of {self.title} in {PAPERS[self.paper]}.")
        return " ".join(parts)


def _data_sentence(context: Context) -> str:
    classes = ", ".join(
        subset.title + ("" if str(subset.n_classes) in subset.title.split() else f" ({subset.n_classes} classes)")
        for subset in context.subsets
    )
    images = "Synthetic images" if context.synthetic else "Images"
    return (
        f"{images} of {context.title}, representation {context.representation}: {classes}; {context.n_folds} random "
        f"partitions with {context.n_train} training and {context.n_test} test images per class; each test image "
        "queries all others."
    )


def _table(make: Callable[[pd.DataFrame | None, Context, pd.DataFrame], Table]) -> Draw:
    return lambda metrics, curves, context, reference: make(metrics, context, reference)


def _figure(
    make: Callable[[pd.DataFrame | None, pd.DataFrame | None, Context, pd.DataFrame, str], Plot], paper: str
) -> Draw:
    return lambda metrics, curves, context, reference: make(metrics, curves, context, reference, paper)


def _compare_table(paper: str, metric_names: tuple[str, ...] = compared.TABLE_METRICS) -> Compare:
    return lambda metrics, context, reference: compared.compare(
        metrics, reference, context, paper=paper, metric_names=metric_names
    )


def _compare_training(paper: str) -> Compare:
    """What is printed about the curves: where they start, where they stop, and after how many steps."""

    def compare(metrics: pd.DataFrame | None, context: Context, reference: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        ends = compared.compare(
            metrics, reference, context, paper=paper, methods=("oasis", "euclidean"), metric_names=("map",)
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
            "beneath ours. -: not run here; *: the paper prints no number, since the learner did not converge."
        ),
        needs=frozenset({"metrics"}),
        draw=_table(make),
        compare=_compare_table(paper),
    )


def _training(paper: str, name: str) -> Exhibit:
    return Exhibit(
        paper=paper,
        name=name,
        kind="figure",
        title=name.replace("fig", "Figure "),
        shows=(
            "Mean average precision of OASIS over training and test images as a function of the number of training "
            "steps, past the step at which early stopping stops (dotted vertical line, mean over folds); dashed: "
            "Euclidean baseline on the test images."
        ),
        errors="Error bars: standard error of the mean over {n_folds} folds.",
        needs=frozenset({"metrics", "curves"}),
        draw=_figure(training_curves, paper),
        compare=_compare_training(paper),
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
        compare=_compare_table(paper, ("p@1", "p@10", "p@50")),
    )


_ALL = (
    _tables("oasis-jmlr-2010", "table4", table4, "in percent"),
    _training("oasis-jmlr-2010", "fig5"),
    _precision("oasis-jmlr-2010", "fig6"),
    _tables("oasis-2009-draft", "table1", table1, "as fractions"),
    _training("oasis-2009-draft", "fig3"),
    _precision("oasis-2009-draft", "fig4"),
)

EXHIBITS: dict[tuple[str, str], Exhibit] = {(exhibit.paper, exhibit.name): exhibit for exhibit in _ALL}
"""(paper id, exhibit name) to exhibit."""
