"""Tables in the papers' form: JMLR Table 4 and draft Table 1, as Markdown, LaTeX and a long CSV.

Every row of ours has the printed row beneath it. The two papers differ in units alone: JMLR prints percent
(``33 ± 1.6``), the draft fractions (``0.33 ± 0.016``).
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lookalike.exhibits import compare as compared
from lookalike.exhibits.reference import Context, SubsetInfo
from lookalike.exhibits.style import title_of

if TYPE_CHECKING:
    import pandas as pd

METRIC_TITLES = {
    "map": "Mean avg. prec.",
    "p@1": "Top 1 prec.",
    "p@10": "Top 10 prec.",
    "p@50": "Top 50 prec.",
}
MISSING = "-"
"""Cell of a learner that was not run here."""
STAR = "*"
"""Cell that the paper itself leaves without a number: the learner did not converge."""
NOT_RUN = "not run"
CSV_COLUMNS = (
    "subset",
    "n_classes",
    "metric",
    "method",
    "ours",
    "ours_std",
    "ours_cell",
    "printed",
    "printed_std",
    "printed_cell",
    "unit",
    "status",
)


@dataclass(frozen=True)
class Table:
    """One table, ready to be written."""

    frame: pd.DataFrame
    """Long: one row a cell."""
    markdown: str
    latex: str


@dataclass(frozen=True)
class Block:
    """One block of the table: a subset's rows, ours and printed."""

    title: str
    methods: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    """(metric title, our cells, printed cells); no printed cells where the paper has no such block."""


def table4(metrics: pd.DataFrame | None, context: Context, reference: pd.DataFrame) -> Table:
    """JMLR Table 4: mean average precision and precision at top 1, 10 and 50, in percent, by number of classes.

    Parameters
    ----------
    metrics : DataFrame or None
        Tidy metrics (fractions 0..1).
    context : Context
        Its subsets are the table's blocks.
    reference : DataFrame
        Printed numbers, from `lookalike.exhibits.reference.load`.

    Returns
    -------
    Table
    """
    return _table(metrics, context, reference, "oasis-jmlr-2010")


def table1(metrics: pd.DataFrame | None, context: Context, reference: pd.DataFrame) -> Table:
    """Draft Table 1: the same as `table4` as fractions, by named subset. Parameters as in `table4`."""
    return _table(metrics, context, reference, "oasis-2009-draft")


def cell(mean: float, std: float, *, fraction: bool) -> str:
    """One cell as the papers print it.

    Parameters
    ----------
    mean, std : float
        In percent; a NaN `std` is left out.
    fraction : bool
        False: ``33 ± 1.6`` (JMLR); True: ``0.33 ± 0.016`` (draft).

    Returns
    -------
    str
        ``-`` for a NaN mean.

    Examples
    --------
    >>> cell(33.2, 1.61, fraction=False), cell(33.2, 1.61, fraction=True)
    ('33 ± 1.6', '0.33 ± 0.016')
    """
    if math.isnan(mean):
        return MISSING
    scale, digits = (100, 2) if fraction else (1, 0)
    text = f"{mean / scale:.{digits}f}"
    return text if math.isnan(std) else f"{text} ± {std / scale:.{digits + 1}f}"


def _table(metrics: pd.DataFrame | None, context: Context, reference: pd.DataFrame, paper: str) -> Table:
    import pandas as pd

    fraction = paper == "oasis-2009-draft"
    ours = compared.summary_of(metrics, context)
    beside = compared.compare(metrics, reference, context, paper=paper)
    printed: dict[Any, Any] = {(row.subset, row.method, row.metric): row for row in beside.itertuples()}
    records, blocks = [], []
    for subset in context.subsets:
        rows = []
        for metric, metric_title in METRIC_TITLES.items():
            our_cells, printed_cells = [], []
            for method in compared.TABLE_METHODS:
                mean, std = ours.get((subset.id, method, metric), compared.NO_NUMBER)
                row = printed.get((subset.id, method, metric))
                our_cells.append(NOT_RUN if context.not_run else cell(mean, std, fraction=fraction))
                if row is not None:
                    text = cell(row.printed, row.printed_std, fraction=fraction)
                    printed_cells.append(STAR if text == MISSING else text)
                record = {
                    "subset": subset.id,
                    "n_classes": subset.n_classes,
                    "metric": metric,
                    "method": method,
                    "ours": mean,
                    "ours_std": std,
                    "ours_cell": our_cells[-1],
                    "printed": math.nan if row is None else row.printed,
                    "printed_std": math.nan if row is None else row.printed_std,
                    "printed_cell": printed_cells[-1] if row is not None else "",
                    "unit": "percent",
                    "status": "" if row is None else row.status,
                }
                records.append(record)
            rows.append((metric_title, tuple(our_cells), tuple(printed_cells)))
        titles = tuple(title_of(method, context.method_titles) for method in compared.TABLE_METHODS)
        blocks.append(Block(block_title(subset, context, paper), titles, tuple(rows)))
    frame = pd.DataFrame(records, columns=list(CSV_COLUMNS))
    return Table(frame, _markdown(blocks, context), _latex(blocks, context))


def block_title(subset: SubsetInfo, context: Context, paper: str) -> str:
    """Heading of a subset's block or panel: JMLR counts classes, the draft names subsets."""
    if paper == "oasis-jmlr-2010" and not context.synthetic and subset.n_classes:
        return f"{subset.n_classes} classes"
    return subset.title


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Container[int] = ()) -> str:
    """Return a Markdown table; the columns in `right` are aligned right, the rest left; ``|`` is escaped."""
    widths = [max(3, *(len(_escaped(row[i])) for row in [header, *rows])) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            _escaped(text).rjust(width) if i in right else _escaped(text).ljust(width)
            for i, (text, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if i in right else "-") for i, w in enumerate(widths)) + "|"
    return "\n".join([line(header), rule, *(line(row) for row in rows)]) + "\n"


LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
}


def latex_text(text: str) -> str:
    """Return `text` with everything escaped that LaTeX would read as a command."""
    return "".join(LATEX_SPECIAL.get(character, character) for character in text)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _markdown(blocks: Sequence[Block], context: Context) -> str:
    parts = []
    for block in blocks:
        rows = []
        for title, ours, printed in block.rows:
            rows.append([title, "ours", *ours])
            if printed:
                rows.append(["", "paper", *printed])
        parts.append(markdown_table([block.title, "", *block.methods], rows, right=range(2, 2 + len(block.methods))))
    if context.not_run_sentence:
        parts.insert(0, f"**{context.not_run_sentence}**\n")
    return "\n".join(parts)


def _latex(blocks: Sequence[Block], context: Context) -> str:
    """A ``tabular`` for a document that loads booktabs; printed numbers stand in italics beneath ours."""
    n_methods = len(blocks[0].methods) if blocks else 0
    lines = [r"% needs \usepackage{booktabs}", rf"\begin{{tabular}}{{ll{'r' * n_methods}}}", r"\toprule"]
    if context.not_run_sentence:
        lines.append(rf"\multicolumn{{{n_methods + 2}}}{{l}}{{{latex_text(context.not_run_sentence)}}} \\")
        lines.append(r"\midrule")
    for i, block in enumerate(blocks):
        if i:
            lines.append(r"\midrule")
        lines.append(_latex_row([rf"\textbf{{{latex_text(block.title)}}}", "", *map(latex_text, block.methods)]))
        lines.append(r"\midrule")
        for title, ours, printed in block.rows:
            lines.append(_latex_row([latex_text(title), "ours", *map(latex_text, ours)]))
            if printed:
                cells = [rf"\textit{{{latex_text(text)}}}" for text in ("paper", *printed)]
                lines.append(_latex_row(["", *cells]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
