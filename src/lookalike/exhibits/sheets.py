"""A table as it is read: sheets of text, one a block, which pandas writes as Markdown, LaTeX and HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any, Literal

import pandas as pd
from pandas.io.formats.style import Styler

from lookalike.exhibits.model import Names, Sheet
from lookalike.exhibits.printed import MISSING

Best = Literal["", "max", "min"]
OURS, PAPER = "ours", "paper"
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

    Our rows have the paper's beneath where it prints one of their cells. The `best` number (``max`` or ``min``) of the
    methods is bold. Columns that ours was not run for are left out.
    """
    was_run = (frame["ours_cell"] != MISSING).groupby(frame[columns]).transform("any")
    sheets = list[Sheet]()
    for title, own in _by_block(frame[was_run] if was_run.any() else frame, blocks, titles):
        names, bold = list(dict.fromkeys(own[columns])), list[tuple[int, int]]()
        sides = {"ours": OURS, "printed": PAPER} if set(own.get("printed_cell", ())) - {""} else {"ours": ""}
        lines, printed, alike = list[tuple[str, ...]](), list[int](), rows if columns == "method" else columns
        is_best = {side: _is_best(own[side], own[alike], best) for side in sides if best}
        for value, cells in own.groupby(rows, sort=False, dropna=False):
            head = [_title(titles, rows, value)]
            for side, who in sides.items():
                texts = dict(zip(cells[columns], cells[f"{side}_cell"], strict=True))
                # a row may lack a column
                found = [texts.get(name, MISSING if side == "ours" else "") for name in names]
                if any(found):
                    marked = set(cells.loc[is_best[side].loc[cells.index], columns]) if best else set()
                    bold += [(len(lines), len(sides) + place) for place, name in enumerate(names) if name in marked]
                    printed += [len(lines)] * (side == "printed")
                    lines.append((*head, *[who] * (len(sides) > 1), *found))
                    head = [""]
        heads = (title, *[""] * (len(sides) - 1), *(_title(titles, columns, name) for name in names))
        numbers = tuple(place >= len(sides) for place in range(len(heads)))
        sheets.append(Sheet(title, heads, tuple(lines), numbers, tuple(printed), heading * (not sheets), tuple(bold)))
    return tuple(sheets)


def _is_best(numbers: pd.Series, alike: pd.Series, best: Any) -> pd.Series:
    """Tell of each number whether it is the best of those that are alike, where these differ."""
    own = numbers.groupby(alike, sort=False)
    return (numbers == own.transform(best)) & (own.transform("nunique") > 1)


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
    is_number, sheets = tuple(column in numbers for column in heads), list[Sheet]()
    for title, own in _by_block(frame, blocks, titles):
        filled = own.assign(**{column: own[column].fillna("") for column in heads if column not in titles})
        texts = [[_title(titles, column, value) for value in filled[column]] for column in heads]
        rows = tuple(zip(*texts, strict=True))
        sheets.append(Sheet(title, (first or title, *rest), rows, is_number, heading=heading * (not sheets)))
    return tuple(sheets)


def _by_block(frame: pd.DataFrame, blocks: str, titles: Names) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each block with its title."""
    if not blocks and len(frame):
        yield "", frame
    for block, rows in frame.groupby(blocks, sort=False, dropna=False) if blocks and len(frame) else ():
        yield _title(titles, blocks, block), rows


def _title(titles: Names, key: str, value: object) -> str:
    """Return the title of a value of a key."""
    return str(titles.get(key, {}).get(value, value))


def markdown(sheets: Sequence[Sheet]) -> str:
    """Return sheets as Markdown tables, one beneath the other."""

    def cell(text: str) -> str:
        return text.replace("|", "\\|").replace("\n", " ")

    parts = []
    for sheet in sheets:
        parts += [f"**{sheet.heading}**"] * bool(sheet.heading)
        frame = _frame(sheet, cell, "**{}**").set_axis(list(map(cell, sheet.heads)), axis=1)
        align = ["right" if is_number else "left" for is_number in sheet.numbers]
        parts.append(frame.to_markdown(index=False, colalign=align, disable_numparse=True))
    return "\n\n".join(parts) + "\n" if parts else ""


def latex(sheets: Sequence[Sheet]) -> str:
    """Return sheets as LaTeX tables for a document that loads booktabs; a paper's rows are in italics."""
    parts = []
    for sheet in sheets:
        parts += [rf"\par\medskip\textbf{{{latex_text(sheet.heading)}}}\par"] * bool(sheet.heading)
        styler = _styler(_frame(sheet), map(latex_text, sheet.heads)).format(escape="latex")
        if sheet.printed:
            printed = (list(sheet.printed), slice(None))
            styler = styler.map(lambda text: "textit:--rwrap;" if text else "", subset=printed)
        for row, place in sheet.best:
            styler = styler.map(lambda _: "textbf:--rwrap;", subset=([row], [place]))
        column_format = "".join("r" if is_number else "l" for is_number in sheet.numbers)
        parts.append(styler.to_latex(hrules=True, column_format=column_format))
    return "\n".join(parts)


def html(sheets: Sequence[Sheet], uuid: str) -> str:
    """Return sheets as HTML; a paper's rows have the class ``printed``, and `uuid` makes ids unique on a page."""
    parts = []
    for place, sheet in enumerate(sheets):
        parts += [f"<h4>{escape(sheet.heading)}</h4>"] * bool(sheet.heading)
        heads = [
            f'<span class="number">{escape(head)}</span>' if is_number else escape(head)
            for head, is_number in zip(sheet.heads, sheet.numbers, strict=True)
        ]
        numbers = ["number" if is_number else "" for is_number in sheet.numbers]
        printed = [f"printed {name}".strip() for name in numbers]
        frame = _frame(sheet, escape, "<b>{}</b>")
        classes = pd.DataFrame([printed if row in sheet.printed else numbers for row in frame.index], frame.index)
        styler = _styler(frame, heads).set_td_classes(classes).set_uuid(f"{uuid}-{place}")
        text = styler.to_html(table_attributes='class="sheet"')
        # pages have their styles in one place
        parts.append(text[text.index("<table") :])
    return "\n".join(parts)


def _frame(sheet: Sheet, form: Callable[[str], str] = str, bold: str = "{}") -> pd.DataFrame:
    """Return a sheet as a frame of text; its columns have numbers, since heads may repeat, such as the empty ones."""
    frame = pd.DataFrame(sheet.rows, columns=range(len(sheet.heads)), dtype=str).map(form)
    for row, place in sheet.best:
        frame.loc[row, place] = bold.format(frame.loc[row, place])
    return frame


def _styler(frame: pd.DataFrame, heads: Iterable[str]) -> Styler:
    """Return a styler with the heads in place of the columns' numbers."""
    return Styler(frame, cell_ids=False).hide(axis="index").relabel_index(list(heads), axis="columns")


def latex_text(text: str) -> str:
    """Put a backslash before everything that LaTeX would read as a command."""
    return text.replace("\\", r"\textbackslash ").translate({ord(sign): f"\\{sign}" for sign in "&%$#_{}"})
