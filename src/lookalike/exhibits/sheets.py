"""A table as it is read: sheets of text, one a block, which pandas writes as Markdown, LaTeX and HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from types import MappingProxyType
from typing import Literal

import pandas as pd
from pandas.io.formats.style import Styler

from lookalike.exhibits.model import Names, Sheet
from lookalike.exhibits.printed import MISSING

Best = Literal["", "max", "min"]
OURS, PAPER = "ours", "paper"
WIDE = 60
"""Letters from which on a column of text may break its lines."""
NO_TITLES: Names = MappingProxyType({})


def sheets_of_cells(
    frame: pd.DataFrame,
    rows: str,
    columns: str,
    blocks: str = "",
    titles: Names = NO_TITLES,
    *,
    best: Best = "",
    heading: str = "",
) -> tuple[Sheet, ...]:
    """Return the blocks of a frame with a row for each cell, whose texts are ``ours_cell`` and ``printed_cell``.

    The `best` number (``max`` or ``min``) of the methods is bold. Columns that ours was not run for are left out.
    """
    was_run = (frame["ours_cell"] != MISSING).groupby(frame[columns]).transform("any")
    frame = frame[was_run] if was_run.any() else frame
    sheets = [
        _block_of_cells(own, title, rows, columns, titles, best) for title, own in _by_block(frame, blocks, titles)
    ]
    return _headed(sheets, heading)


def sheets_of_records(
    frame: pd.DataFrame,
    heads: Mapping[str, str],
    titles: Names = NO_TITLES,
    blocks: str = "",
    *,
    numbers: Sequence[str] = (),
    heading: str = "",
) -> tuple[Sheet, ...]:
    """Return the blocks of a frame whose columns `heads` names; those of `numbers` are aligned right."""
    first, *rest = heads.values()
    sheets = []
    for title, own in _by_block(frame, blocks, titles):
        texts = [[_text(titles, column, value) for value in own[column]] for column in heads]
        is_number = tuple(column in numbers for column in heads)
        sheets.append(Sheet(title, (first or title, *rest), tuple(zip(*texts, strict=True)), is_number))
    return _headed(sheets, heading)


def _by_block(frame: pd.DataFrame, blocks: str, titles: Names) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each block with its title."""
    if not blocks and len(frame):
        yield "", frame
    for block, rows in frame.groupby(blocks, sort=False, dropna=False) if blocks and len(frame) else ():
        yield _title(titles, blocks, block), rows


def _headed(sheets: Sequence[Sheet], heading: str) -> tuple[Sheet, ...]:
    """Put words above the first of some sheets."""
    return tuple(replace(sheet, heading=heading * (place == 0)) for place, sheet in enumerate(sheets))


def _title(titles: Names, key: str, value: object) -> str:
    """Return the title of a value of a key."""
    return str(titles.get(key, {}).get(value, value))


def _text(titles: Names, column: str, value: str | float | None) -> str:
    return "" if column not in titles and pd.isna(value) else _title(titles, column, value)


def _block_of_cells(frame: pd.DataFrame, title: str, key: str, columns: str, titles: Names, best: Best) -> Sheet:
    """Return our rows, each with the paper's row beneath it where the paper prints one of its cells."""
    names = list(dict.fromkeys(frame[columns]))
    has_print = "printed_cell" in frame and bool((frame["printed_cell"] != "").any())
    marked = frame.assign(**_best_of(frame, key if columns == "method" else columns, best))
    rows: list[tuple[str, ...]] = []
    printed: list[int] = []
    bold: list[tuple[int, int]] = []
    for value, cells in marked.groupby(key, sort=False, dropna=False):
        head = _title(titles, key, value)
        by_column = {cell[columns]: cell for cell in cells.to_dict("records")}
        # a row may lack a column
        found = [by_column.get(name, {"ours_cell": MISSING}) for name in names]
        for who, prefix in ((OURS, "ours"), (PAPER, "printed")):
            texts = [str(cell.get(f"{prefix}_cell", "")) for cell in found]
            if any(texts):
                printed += [len(rows)] if who == PAPER else []
                bold += [(len(rows), 1 + has_print + n) for n, cell in enumerate(found) if cell.get(f"{prefix}_best")]
                rows.append((head, *([who] if has_print else []), *texts))
                head = ""
    heads = (title, *[""] * has_print, *(_title(titles, columns, name) for name in names))
    numbers = tuple(place > has_print for place in range(len(heads)))
    return Sheet(title, heads, tuple(rows), numbers, tuple(printed), best=tuple(bold))


def _best_of(frame: pd.DataFrame, alike: str, best: Best) -> dict[str, pd.Series]:
    """Tell which of our numbers and of the printed ones are the best of those that are alike in a column."""
    if not best:
        return {}
    groups = {side: frame[side].groupby(frame[alike], sort=False) for side in ("ours", "printed")}
    return {
        f"{side}_best": (frame[side] == own.transform(best)) & (own.transform("nunique") > 1)
        for side, own in groups.items()
    }


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
