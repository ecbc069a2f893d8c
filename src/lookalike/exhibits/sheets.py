"""A table as it is read: one sheet of text a block, which pandas writes as Markdown, LaTeX and HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

import pandas as pd
from pandas.io.formats.style import Styler

from lookalike.exhibits.printed import MISSING

if TYPE_CHECKING:
    from lookalike.exhibits.model import Table

OURS, PAPER = "ours", "paper"
WIDE = 60
"""Letters from which on a column of text may break its lines."""


@dataclass(frozen=True)
class Sheet:
    """One block of a table in words."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[bool, ...]
    """True for each column of numbers, which are aligned right."""
    printed: tuple[int, ...] = ()
    """Places of the rows that hold a paper's numbers."""
    heading: str = ""
    """Words above it where a further table begins."""
    best: tuple[tuple[int, int], ...] = ()
    """Row and column of the best number of those compared, which is bold."""


def sheets_of(table: Table) -> list[Sheet]:
    """Return the blocks of a table, and of those that stand below it, in order."""
    frame = table.frame if table.heads else _asked(table)
    make = _records if table.heads else _cells
    sheets = []
    if table.blocks and len(frame):
        blocks = frame.groupby(table.blocks, sort=False, dropna=False)
        sheets = [make(table, rows, _title(table, table.blocks, block)) for block, rows in blocks]
    elif len(frame):
        sheets = [make(table, frame, "")]
    if table.heading and sheets:
        sheets[0] = replace(sheets[0], heading=table.heading)
    return sheets + (sheets_of(table.below) if table.below is not None else [])


def _asked(table: Table) -> pd.DataFrame:
    """Return the cells without columns that ours was not run for, as of a method that was not asked for."""
    in_column = (table.frame["ours_cell"] != MISSING).groupby(table.frame[table.columns]).transform("any")
    return table.frame[in_column] if in_column.any() else table.frame


def _title(table: Table, key: str, value: object) -> str:
    """Return the title of a value of a key."""
    return str(table.titles.get(key, {}).get(value, value))


def _records(table: Table, frame: pd.DataFrame, title: str) -> Sheet:
    """Return the rows of a table of records as they are."""

    def text(column: str, value: str | float | None) -> str:
        return "" if column not in table.titles and pd.isna(value) else _title(table, column, value)

    first, *rest = table.heads.values()
    texts = [[text(column, value) for value in frame[column]] for column in table.heads]
    numbers = tuple(column in table.numbers for column in table.heads)
    return Sheet(title, (first or title, *rest), tuple(zip(*texts, strict=True)), numbers)


def _cells(table: Table, frame: pd.DataFrame, title: str) -> Sheet:
    """Return our rows, each with the paper's row beneath it where the paper prints one of its cells."""
    frame = _with_best(table, frame)
    columns = list(dict.fromkeys(frame[table.columns]))
    rows: list[tuple[str, ...]] = []
    printed: list[int] = []
    best: list[tuple[int, int]] = []
    has_print = "printed_cell" in frame and bool((frame["printed_cell"] != "").any())
    n_names = len(table.rows) + has_print
    for keys, cells in frame.groupby(list(table.rows), sort=False, dropna=False):
        names = [_title(table, key, value) for key, value in zip(table.rows, keys, strict=True)]
        by_column = {cell[table.columns]: cell for cell in cells.to_dict("records")}
        for who, prefix in ((OURS, "ours"), (PAPER, "printed")):
            # a row may lack a column
            found = [by_column.get(column, {"ours_cell": MISSING}) for column in columns]
            texts = [str(cell.get(f"{prefix}_cell", "")) for cell in found]
            if not any(texts):
                continue
            printed += [len(rows)] if who == PAPER else []
            best += [(len(rows), n_names + place) for place, cell in enumerate(found) if cell.get(f"{prefix}_best")]
            rows.append((*names, *([who] if has_print else []), *texts))
            names = [""] * len(names)
    heads = (title, *("" for _ in range(n_names - 1)), *(_title(table, table.columns, column) for column in columns))
    numbers = tuple(place >= n_names for place in range(len(heads)))
    return Sheet(title, heads, tuple(rows), numbers, tuple(printed), best=tuple(best))


def _with_best(table: Table, frame: pd.DataFrame) -> pd.DataFrame:
    """Mark the best of the numbers that are compared, in ``ours_best`` and ``printed_best``."""
    frame = frame.reset_index(drop=True).assign(ours_best=False, printed_best=False)
    if not table.compared:
        return frame
    others = [key for key in (*table.rows, table.columns) if key != table.compared]
    for _, cells in frame.groupby(others, sort=False, dropna=False):
        best = table.best.get(cells["metric"].iloc[0] if "metric" in cells else "")
        for mark, number in (("ours_best", "ours"), ("printed_best", "printed")):
            known = cells[number].dropna() if number in cells else pd.Series(dtype=float)
            if best is not None and known.nunique() > 1:
                frame.loc[known.index[known == best(known)], mark] = True
    return frame


def markdown(sheets: Sequence[Sheet]) -> str:
    """Return sheets as Markdown tables, one beneath the other."""

    def cell(text: str) -> str:
        return text.replace("|", "\\|").replace("\n", " ")

    parts = []
    for sheet in sheets:
        if sheet.heading:
            parts.append(f"**{sheet.heading}**")
        frame = _frame(sheet, cell, "**{}**").set_axis(list(map(cell, sheet.heads)), axis=1)
        align = ["right" if is_number else "left" for is_number in sheet.numbers]
        parts.append(frame.to_markdown(index=False, colalign=align, disable_numparse=True))
    return "\n\n".join(parts) + "\n" if parts else ""


def _frame(sheet: Sheet, form: Callable[[str], str] = str, bold: str = "{}") -> pd.DataFrame:
    """Return a sheet as a frame of text; its columns have numbers, since heads may repeat, such as the empty ones."""
    rows = [
        [bold.format(form(text)) if (row, place) in sheet.best else form(text) for place, text in enumerate(cells)]
        for row, cells in enumerate(sheet.rows)
    ]
    return pd.DataFrame(rows, columns=range(len(sheet.heads)), dtype=str)


def latex(sheets: Sequence[Sheet]) -> str:
    """Return sheets as LaTeX tables for a document that loads booktabs; a paper's rows are in italics."""
    parts = []
    for sheet in sheets:
        if sheet.heading:
            parts.append(rf"\par\medskip\textbf{{{latex_text(sheet.heading)}}}\par")
        styler = _styler(_frame(sheet), [latex_text(head) for head in sheet.heads]).format(escape="latex")
        if sheet.printed:
            printed = (list(sheet.printed), slice(None))
            styler = styler.map(lambda text: "textit:--rwrap;" if text else "", subset=printed)
        for row, place in sheet.best:
            styler = styler.map(lambda _: "textbf:--rwrap;", subset=([row], [place]))
        parts.append(styler.to_latex(hrules=True, column_format=_column_format(sheet)))
    return "\n".join(parts)


def html(sheets: Sequence[Sheet], uuid: str) -> str:
    """Return sheets as HTML; a paper's rows have the class ``printed``, and `uuid` makes ids unique on a page."""
    parts = []
    for place, sheet in enumerate(sheets):
        if sheet.heading:
            parts.append(f"<h4>{escape(sheet.heading)}</h4>")
        heads = [
            f'<span class="number">{escape(head)}</span>' if is_number else escape(head)
            for head, is_number in zip(sheet.heads, sheet.numbers, strict=True)
        ]
        styler = _styler(_frame(sheet, escape, "<b>{}</b>"), heads)
        styler = styler.set_td_classes(_classes(sheet)).set_uuid(f"{uuid}-{place}")
        text = styler.to_html(table_attributes='class="sheet"')
        # pages have their styles in one place
        parts.append(text[text.index("<table") :])
    return "\n".join(parts)


def latex_text(text: str) -> str:
    """Put a backslash before everything that LaTeX would read as a command."""
    return text.replace("\\", r"\textbackslash ").translate({ord(sign): f"\\{sign}" for sign in "&%$#_{}"})


def _column_format(sheet: Sheet) -> str:
    """Align numbers right and words left; a column of sentences breaks its lines."""
    widths = [max((len(row[place]) for row in sheet.rows), default=0) for place in range(len(sheet.heads))]
    return "".join(
        r"p{0.2\linewidth}" if width > WIDE else "r" if is_number else "l"
        for width, is_number in zip(widths, sheet.numbers, strict=True)
    )


def _classes(sheet: Sheet) -> pd.DataFrame:
    """Return the class of each cell of a sheet."""
    ours = ["number" if is_number else "" for is_number in sheet.numbers]
    printed = [f"printed {name}".strip() for name in ours]
    rows = [printed if row in sheet.printed else ours for row in range(len(sheet.rows))]
    return pd.DataFrame(rows, columns=range(len(sheet.heads)))


def _styler(frame: pd.DataFrame, heads: Sequence[str]) -> Styler:
    """Return a styler with the heads in place of the columns' numbers."""
    return Styler(frame, cell_ids=False).hide(axis="index").relabel_index(list(heads), axis="columns")
