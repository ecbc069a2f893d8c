"""Numbers that JMLR 2010 gives in running text: images kept, how sparse they are, how symmetric W becomes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lookalike.exhibits import compare as compared
from lookalike.exhibits.context import Context
from lookalike.exhibits.facts import PAPER_OF_TEXT, WORDS_IN_TEXT, subset_of_text
from lookalike.exhibits.reference import printed_number
from lookalike.exhibits.tables import NOT_RUN, Block, Table, make_table, plus_minus

if TYPE_CHECKING:
    import pandas as pd

ROWS = {
    "images_kept": ("Images kept after dropping too small ones", ",.0f"),
    "categories_kept": ("Categories kept", ",.0f"),
    "nonzeros_per_image": ("Mean non-zeros per image", ".1f"),
    "symmetry_index": ("Symmetry index of OASIS", ".3f"),
}
"""Metric to its title and the format of ours."""
METHOD_OF = {"symmetry_index": "oasis"}
OF_THE_IMAGES = ("images_kept", "categories_kept")
CSV_COLUMNS = ("metric", "subset", "words", "ours", "ours_std", "ours_cell", "printed", "printed_cell", "status")


def text_numbers(facts: pd.DataFrame | None, context: Context, reference: pd.DataFrame) -> Table:
    """Numbers in the running text, ours beside the paper's.

    Parameters
    ----------
    facts : DataFrame or None
        From `lookalike.exhibits.facts.study_facts`; a metric that it lacks is ``-``.
    context : Context
    reference : DataFrame
        Printed numbers.

    Returns
    -------
    Table
        Frame columns `CSV_COLUMNS`.
    """
    import pandas as pd

    comparison = compare_text(facts, context, reference)
    records, rows = [], []
    row: Any
    for row in comparison.itertuples():
        metric = str(row.metric)
        title, form = ROWS[metric]
        words = _fact(facts, metric)[2]
        ours = NOT_RUN if context.not_run else plus_minus(row.ours, row.ours_std, form)
        printed = plus_minus(row.printed, row.printed_std, ",g")
        title += f" ({words:,} words)" if words and not context.not_run else ""
        records.append((metric, row.subset, words, row.ours, row.ours_std, ours, row.printed, printed, row.status))
        rows.append((title, ours, printed, _with_reason(str(row.status), str(row.reason))))
    frame = pd.DataFrame(records, columns=list(CSV_COLUMNS))
    block = Block((context.title, "ours", "paper", "status"), tuple(rows))
    return make_table(frame, [block], numbers=range(1, 3), notice=context.not_run_sentence)


def compare_text(facts: pd.DataFrame | None, context: Context, reference: pd.DataFrame) -> pd.DataFrame:
    """Compare the numbers that the running text prints.

    Returns
    -------
    DataFrame
        Columns of `lookalike.exhibits.compare.COLUMNS`, a row for every metric of `ROWS` that is printed.
    """
    chosen = subset_of_text(context)
    rows = []
    for metric in ROWS:
        row = printed_number(reference, PAPER_OF_TEXT, "text", "", METHOD_OF.get(metric, ""), metric)
        if row is None:
            continue
        ours, std, words = (math.nan, math.nan, 0) if context.not_run else _fact(facts, metric)
        subset = "" if metric in OF_THE_IMAGES or chosen is None else chosen.id
        judged = compared.without_verdict(row, context, ours)
        if judged is None:
            reason = _why_not_comparable(metric, context, words)
            judged = (compared.NOT_COMPARABLE, reason) if reason else (_status(row, ours, std), "")
        rows.append(compared.compared_row(row, subset, ours, std, *judged))
    return compared.comparison_frame(rows)


def _why_not_comparable(metric: str, context: Context, words: int) -> str:
    """Return the reason; "" where the number may be held against print."""
    if context.synthetic:
        return "synthetic images"
    if metric in OF_THE_IMAGES:
        return "" if context.kind == "caltech256" else "other images than the paper's"
    if metric == "nonzeros_per_image":
        if context.kind != "caltech256":
            return "other images than the paper's"
        return "" if words == WORDS_IN_TEXT else f"{words:,} words here, {WORDS_IN_TEXT:,} in the paper"
    subset = subset_of_text(context)
    if subset is None:
        return ""
    not_printed = "" if subset.printed.get(PAPER_OF_TEXT) else "other classes than the paper's"
    return subset.why_not_comparable or not_printed


def _status(row: pd.Series, ours: float, std: float) -> str:
    return compared.status_of(ours, std, row["value"], row["spread"], row["last_digit"])


def _fact(facts: pd.DataFrame | None, metric: str) -> tuple[float, float, int]:
    rows = () if facts is None else facts[facts["metric"] == metric].itertuples()
    row: Any = next(iter(rows), None)
    return (math.nan, math.nan, 0) if row is None else (float(row.value), float(row.std), int(row.words))


def _with_reason(status: str, reason: str) -> str:
    return f"{status}: {reason}" if reason and not status.startswith("not run") else status
