"""Is OASIS better than a method? The differences of mean average precision with their intervals, as a table.

The block stands under JMLR Table 4 and draft Table 1 for their columns, and is an exhibit of its own for every method
that was run. The statistics are those of `lookalike.evaluation.comparison`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lookalike.exhibits.context import Context, SubsetInfo
from lookalike.exhibits.style import title_of
from lookalike.exhibits.tables import (
    MISSING,
    Block,
    Table,
    block_title,
    columns_of,
    latex_text,
    make_table,
    without_number,
)

if TYPE_CHECKING:
    import pandas as pd

REFERENCE = "oasis"
HEADING = "Methods compared: OASIS minus method, in points of mAP (1 point = 0.01)"
RULE = (
    "OASIS is better (worse) where two 95% intervals of the difference lie above (below) 0, that of the corrected "
    "resampled t-test (Nadeau and Bengio 2003) over partitions and that of a bootstrap clustered by image, and the "
    "test's p-value, adjusted by Holm's method over the methods of the subset, is below 0.05; else it is not decidable."
)
VERDICTS = {"better": "OASIS better", "worse": "OASIS worse", "not decidable": "not decidable"}
HEADER = ("difference", "95% interval, t", "95% interval, bootstrap", "p (Holm)", "verdict")
NUMBERS = range(1, 5)
"""Places of the columns that hold numbers."""
POINTS = ("difference", "t_low", "t_high", "bootstrap_low", "bootstrap_high")
COLUMNS = ("subset", "n_classes", "method", *POINTS, "p_holm", "n_folds", "n_images", "verdict", "unit")


def comparison_table(comparison: pd.DataFrame | None, context: Context) -> Table:
    """Every method that was run against OASIS, a block for each subset.

    Parameters
    ----------
    comparison : DataFrame or None
        From `lookalike.evaluation.comparison.compare_methods`, fractions of mAP.
    context : Context
        Its methods, variants and timed methods are rows, then any other that was compared.

    Returns
    -------
    Table
        Frame columns `COLUMNS`, differences in points. A method without a common fold keeps its row.
    """
    return _make(comparison, context, _all_methods(comparison, context), "")


def with_comparison(table: Table, comparison: pd.DataFrame | None, context: Context, paper: str) -> Table:
    """Put the comparison of a table's own columns under it, with the rule of the verdicts.

    Parameters
    ----------
    table : Table
        JMLR Table 4 or draft Table 1.
    comparison : DataFrame or None
        As in `comparison_table`; None leaves the table as it is.
    context : Context
    paper : str
        Paper id, which decides how blocks are called.

    Returns
    -------
    Table
        The frame is the table's own: the comparison has a CSV as an exhibit of its own.
    """
    if comparison is None or context.not_run is not None:
        return table
    under = _make(comparison, context, [method for method in columns_of(context) if method != REFERENCE], paper)
    markdown = f"{table.markdown}\n**{HEADING}**\n\n{under.markdown}\n{RULE}\n"
    paragraphs = (r"\par\medskip", rf"\textbf{{{latex_text(HEADING)}}}", r"\par", under.latex.rstrip("\n"), r"\par")
    return Table(table.frame, markdown, table.latex + "\n".join([*paragraphs, latex_text(RULE)]) + "\n")


def _make(comparison: pd.DataFrame | None, context: Context, methods: Sequence[str], paper: str) -> Table:
    import pandas as pd

    own = context.own(comparison)
    rows: Any = () if own is None else own[own["reference"] == REFERENCE].itertuples()
    found: dict[tuple[str, str], Any] = {(str(row.subset), str(row.method)): row for row in rows}
    records, blocks = [], []
    for subset in context.subsets:
        of_subset = [_record(subset, method, found, context) for method in methods]
        records += of_subset
        cells = [(title_of(str(record["method"]), context.method_titles), *_cells(record)) for record in of_subset]
        blocks.append(Block((block_title(subset, context, paper), *HEADER), tuple(cells)))
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    return make_table(frame, blocks, numbers=NUMBERS, notice=context.not_run_sentence)


def _all_methods(comparison: pd.DataFrame | None, context: Context) -> list[str]:
    """Those of the context in its order, then those that only the comparison has, each once."""
    own = context.own(comparison)
    others = [] if own is None else sorted(set(own["method"].astype(str)))
    methods = dict.fromkeys([*context.methods, *context.variants, *context.timed, *others])
    return [method for method in methods if method != REFERENCE]


def _record(subset: SubsetInfo, method: str, found: Mapping[tuple[str, str], Any], context: Context) -> dict[str, Any]:
    """One row, with `COLUMNS`; its verdict is ``*``, ``-`` or ``not run`` where there is no difference."""
    row = found.get((subset.id, method))
    failed = next((of for of in (method, REFERENCE) if (subset.id, of) in context.not_converged), method)
    names = {"subset": subset.id, "n_classes": subset.n_classes, "method": method, "unit": "points"}
    # a mean over the folds that happened to end would be of the easier ones
    if row is None or (subset.id, failed) in context.not_converged or math.isnan(row.difference):
        nothing = dict.fromkeys((*POINTS, "p_holm"), math.nan) | {"n_folds": 0, "n_images": 0}
        return names | nothing | {"verdict": without_number(subset.id, failed, context)}
    points = {column: 100 * float(getattr(row, column)) for column in POINTS}
    counts = {"n_folds": int(row.n_folds), "n_images": int(row.n_images)}
    return names | points | counts | {"p_holm": float(row.p_holm), "verdict": VERDICTS[str(row.verdict)]}


def _cells(record: Mapping[str, Any]) -> tuple[str, ...]:
    if math.isnan(record["difference"]):
        return (record["verdict"], "", "", "", "")
    return (
        f"{record['difference']:+.1f}",
        _interval(record["t_low"], record["t_high"]),
        _interval(record["bootstrap_low"], record["bootstrap_high"]),
        _p(record["p_holm"]),
        record["verdict"],
    )


def _interval(low: float, high: float) -> str:
    return MISSING if math.isnan(low) else f"{low:+.1f} to {high:+.1f}"


def _p(p: float) -> str:
    if math.isnan(p):
        return MISSING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
