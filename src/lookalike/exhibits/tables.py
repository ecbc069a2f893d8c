"""Tables in the papers' form: JMLR Table 4 and draft Table 1, as Markdown, LaTeX and a long CSV.

Every row of ours has the printed row beneath it. The two papers differ in units alone: JMLR prints percent
(``33 ± 1.6``), the draft fractions (``0.33 ± 0.016``).
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

MISSING = "-"
"""Cell of a learner that was not run here."""
STAR = "*"
"""Cell of a learner that did not converge, in the paper or here."""
NOT_RUN = "not run"
PADDED = 60
"""Cells of Markdown longer than this are written as they are, without lining up the others."""


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


def plus_minus(mean: float, std: float, form: str, std_form: str = "") -> str:
    """Return ``mean ± std`` in the given formats, `mean` alone for a NaN `std`, ``-`` for a NaN `mean`."""
    if math.isnan(mean):
        return MISSING
    return format(mean, form) + ("" if math.isnan(std) else f" ± {format(std, std_form or form)}")


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
