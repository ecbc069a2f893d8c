"""Tables in the papers' form: JMLR Table 4 and draft Table 1, as Markdown, LaTeX and a long CSV.

Every row of ours has the printed row beneath it. The two papers differ in units alone: JMLR prints percent
(``33 ± 1.6``), the draft fractions (``0.33 ± 0.016``).
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lookalike.exhibits import compare as compared
from lookalike.exhibits.context import Context, SubsetInfo
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
"""Cell of a learner that did not converge, in the paper or here."""
NOT_RUN = "not run"
PADDED = 60
"""Cells of Markdown longer than this are written as they are, without lining up the others."""
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
    """One block of a table, such as a subset's rows, ours and printed."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    printed: frozenset[int] = frozenset()
    """Places of the rows that hold a paper's numbers."""


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
    scale, digits = (100, 2) if fraction else (1, 0)
    return plus_minus(mean / scale, std / scale, f".{digits}f", f".{digits + 1}f")


def plus_minus(mean: float, std: float, form: str, std_form: str = "") -> str:
    """Return ``mean ± std`` in the given formats, `mean` alone for a NaN `std`, ``-`` for a NaN `mean`."""
    if math.isnan(mean):
        return MISSING
    return format(mean, form) + ("" if math.isnan(std) else f" ± {format(std, std_form or form)}")


def without_number(subset: str, method: str, context: Context) -> str:
    """Cell of ours that has no number: ``not run``, ``*`` where the learner did not converge, else ``-``."""
    if context.not_run is not None:
        return NOT_RUN
    return STAR if (subset, method) in context.not_converged else MISSING


def significant(value: float, std: float = math.nan) -> str:
    """Return ``mean ± std`` to two significant digits of the mean, whole numbers in full; ``-`` for a NaN `value`.

    A `std` has the decimals of the mean, or as many more as show its own first digit.

    Examples
    --------
    >>> significant(0.00213, 0.00031), significant(0.12, 0.0004), significant(1835.2, 209.6), significant(42, 15)
    ('0.0021 ± 0.0003', '0.12 ± 0.0004', '1,835 ± 210', '42 ± 15')
    """
    if math.isnan(value):
        return MISSING
    decimals = max(0, 1 - _magnitude(value))
    std_decimals = max(decimals, -_magnitude(std))
    return plus_minus(value, std, f",.{decimals}f", f",.{std_decimals}f")


def p_value(p: float) -> str:
    """Return a p-value as tables and claims print it: ``0.012``, ``< 0.001``, ``-`` for a NaN."""
    if math.isnan(p):
        return MISSING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _magnitude(value: float) -> int:
    """Power of ten of the first digit once rounded to two; 0 for a number that has none."""
    if value == 0 or not math.isfinite(value):
        return 0
    return math.floor(math.log10(abs(float(f"{value:.1e}"))))


def not_converged_sentence(frame: pd.DataFrame, context: Context) -> str:
    """Explain each ``*`` of ours in a table; "" where it has none.

    Examples
    --------
    ``*: no number of ours, since a fit did not end within its time limit: MCML on 50 classes: the final fit took more
    than 600 s of CPU time (5 of 5 folds).``
    """
    marked = next((column for column in ("ours_cell", "verdict") if column in frame), None)
    if marked is None or not {"subset", "method"} <= set(frame.columns):
        return ""
    starred = frame.loc[frame[marked] == STAR, ["subset", "method"]].drop_duplicates()
    titles = {subset.id: subset.title for subset in context.subsets}
    reasons = [
        f"{title_of(method, context.method_titles)} on {titles[subset]}: {context.not_converged[subset, method]}"
        for subset, method in starred.itertuples(index=False, name=None)
        if (subset, method) in context.not_converged
    ]
    if not reasons:
        return ""
    return f"{STAR}: no number of ours, since a fit did not end within its time limit: {'; '.join(reasons)}."


def columns_of(context: Context) -> tuple[str, ...]:
    """Methods that have a column: the papers' five, then every further one that was run."""
    return (*compared.TABLE_METHODS, *(method for method in context.methods if method not in compared.TABLE_METHODS))


def _table(metrics: pd.DataFrame | None, context: Context, reference: pd.DataFrame, paper: str) -> Table:
    import pandas as pd

    fraction = paper == "oasis-2009-draft"
    ours = compared.summary_of(metrics, context)
    beside = compared.compare(metrics, reference, context, paper=paper)
    printed: dict[Any, Any] = {(row.subset, row.method, row.metric): row for row in beside.itertuples()}
    methods = columns_of(context)
    records, blocks = [], []
    for subset in context.subsets:
        block_records = [
            _record(subset, metric, method, ours, printed, context, fraction=fraction)
            for metric in METRIC_TITLES
            for method in methods
        ]
        records += block_records
        header = (block_title(subset, context, paper), "", *(title_of(m, context.method_titles) for m in methods))
        blocks.append(_block(header, block_records))
    frame = pd.DataFrame(records, columns=list(CSV_COLUMNS))
    return make_table(frame, blocks, numbers=range(2, 2 + len(methods)), notice=context.not_run_sentence)


def _record(
    subset: SubsetInfo,
    metric: str,
    method: str,
    ours: Mapping[tuple[str, str, str], tuple[float, float]],
    printed: Mapping[Any, Any],
    context: Context,
    *,
    fraction: bool,
) -> dict[str, Any]:
    """One cell, ours and the paper's, with `CSV_COLUMNS`."""
    mean, std = ours.get((subset.id, method, metric), compared.NO_NUMBER)
    row = printed.get((subset.id, method, metric))
    printed_cell = "" if row is None else cell(row.printed, row.printed_std, fraction=fraction)
    return {
        "subset": subset.id,
        "n_classes": subset.n_classes,
        "metric": metric,
        "method": method,
        "ours": mean,
        "ours_std": std,
        "ours_cell": (
            without_number(subset.id, method, context) if math.isnan(mean) else cell(mean, std, fraction=fraction)
        ),
        "printed": math.nan if row is None else row.printed,
        "printed_std": math.nan if row is None else row.printed_std,
        "printed_cell": STAR if printed_cell == MISSING else printed_cell,
        "unit": "percent",
        "status": "" if row is None else row.status,
    }


def _block(header: tuple[str, ...], records: Sequence[Mapping[str, Any]]) -> Block:
    """Rows by metric, ours above the paper's; no row of the paper where it prints none of its cells."""
    rows: list[tuple[str, ...]] = []
    printed = set()
    for metric, title in METRIC_TITLES.items():
        cells = [record for record in records if record["metric"] == metric]
        rows.append((title, "ours", *(record["ours_cell"] for record in cells)))
        if any(record["printed_cell"] for record in cells):
            printed.add(len(rows))
            rows.append(("", "paper", *(record["printed_cell"] for record in cells)))
    return Block(header, tuple(rows), frozenset(printed))


def make_table(frame: pd.DataFrame, blocks: Sequence[Block], *, numbers: range, notice: str | None = None) -> Table:
    """Put blocks into the forms in which a table is written.

    Parameters
    ----------
    frame : DataFrame
        The same numbers, long.
    blocks : sequence of Block
        All of the same number of columns.
    numbers : range
        Places of the columns that hold numbers and are aligned right; the others hold words.
    notice : str, optional
        What stands above the blocks, such as why nothing was run.
    """
    return Table(frame, _markdown(blocks, numbers, notice), _latex(blocks, numbers, notice))


def block_title(subset: SubsetInfo, context: Context, paper: str) -> str:
    """Heading of a subset's block or panel: JMLR counts classes, the draft names subsets."""
    if paper == "oasis-jmlr-2010" and not context.synthetic and subset.n_classes:
        return f"{subset.n_classes} classes"
    return subset.title


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Container[int] = ()) -> str:
    """Return a Markdown table; the columns in `right` are aligned right, the rest left; ``|`` is escaped.

    Cells are padded to a common width, but for sentences, which would push all others out of sight.
    """
    lengths = [[len(_escaped(row[i])) for row in [header, *rows]] for i in range(len(header))]
    widths = [max(3, *(length for length in column if length <= PADDED)) for column in lengths]

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
    "<": "$<$",
    ">": "$>$",
}


def latex_text(text: str) -> str:
    """Return `text` with everything escaped that LaTeX would read as a command."""
    return "".join(LATEX_SPECIAL.get(character, character) for character in text)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _markdown(blocks: Sequence[Block], numbers: range, notice: str | None) -> str:
    parts = [f"**{notice}**\n"] if notice else []
    parts += [markdown_table(block.header, block.rows, right=numbers) for block in blocks]
    return "\n".join(parts)


def _latex(blocks: Sequence[Block], numbers: range, notice: str | None) -> str:
    """A ``tabular`` for a document that loads booktabs; printed numbers stand in italics beneath ours."""
    n_columns = len(blocks[0].header) if blocks else numbers.stop
    alignment = "".join("r" if column in numbers else "l" for column in range(n_columns))
    lines = [r"% needs \usepackage{booktabs}", rf"\begin{{tabular}}{{{alignment}}}", r"\toprule"]
    if notice:
        lines.append(rf"\multicolumn{{{n_columns}}}{{l}}{{{latex_text(notice)}}} \\")
        lines.append(r"\midrule")
    for i, block in enumerate(blocks):
        if i:
            lines.append(r"\midrule")
        title, *others = block.header
        lines.append(_latex_row([rf"\textbf{{{latex_text(title)}}}", *map(latex_text, others)]))
        lines.append(r"\midrule")
        for place, row in enumerate(block.rows):
            cells = list(map(latex_text, row))
            lines.append(_latex_row([_italic(text) for text in cells] if place in block.printed else cells))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _italic(text: str) -> str:
    return rf"\textit{{{text}}}" if text else ""


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
