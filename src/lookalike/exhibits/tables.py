"""Tables that are declared: means of rows of results over their repeats, beside what the papers print.

A table is read as sheets of text, one a block, which pandas writes as Markdown, LaTeX and HTML.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import combinations, product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
from pandas.io.formats.style import Styler

from lookalike.exhibits.model import Drawn, Names, Sheet
from lookalike.exhibits.printed import (
    MISSING,
    STAR,
    bracketed,
    p_value,
    plus_minus,
    significant,
    times_over,
    with_printed,
)
from lookalike.exhibits.registry import Exhibit, Layout
from lookalike.exhibits.results import TIMED_OUT, rows_in, select
from lookalike.exhibits.words import gap

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

FORMS: Mapping[str, Callable[[float, float], str]] = {"significant": significant}
"""Forms of cells that no format can say."""
Best = Literal["", "max", "min"]
NO_TITLES: Names = MappingProxyType({})


def values_of(exhibit: Exhibit, study: Study, axis: str) -> dict[str, str]:
    """Return the values of an axis with their titles, in their order: those of the entry, else those of the study."""
    if axis == "method":
        found = {method: study.title_of(method) for method in study.methods_named(exhibit.shows)}
    else:
        found = dict(study.titles_of(axis))
    if (given := exhibit.where.get(axis)) is not None:
        found = {value: found.get(value, value) for value in ([given] if isinstance(given, str) else given)}
    titles, left_out = exhibit.titles.get(axis, {}), exhibit.without.get(axis, [])
    return {value: titles.get(value, title) for value, title in found.items() if value not in left_out}


def keyed(rows: pd.DataFrame, axes: list[str]) -> pd.MultiIndex:
    """Return the values of some columns as an index."""
    return pd.MultiIndex.from_frame(rows[axes])


def table_of(exhibit: Exhibit, study: Study) -> Drawn:
    """Return a table: the mean of each cell over its repeats, the paper's number beneath, and ``*`` of lost fits."""
    layout = exhibit.table
    titles = {axis: values_of(exhibit, study, axis) for axis in (layout.blocks, layout.rows, layout.columns) if axis}
    cells = with_texts(cells_of(exhibit, study, [*titles], titles), exhibit, study)
    heads: dict[str, dict[str, str]] = {axis: dict(values) for axis, values in titles.items()}
    if layout.minus:
        cells = pd.concat([cells, differences(layout, study, cells)], ignore_index=True)
        columns = [name for value in titles[layout.columns] for name in (value, f"{value}, minus")]
        cells = cells.sort_values(layout.columns, key=lambda names: names.map(columns.index), kind="stable")
        minus = f"minus {study.title_of(layout.minus)}"
        heads[layout.columns] |= {f"{value}, minus": minus for value in titles[layout.columns]}
    sheets = sheets_of_cells(cells, layout.rows, layout.columns, layout.blocks, heads, best=layout.best)
    below = ratios_below(cells, layout, heads, study) if layout.over else differences_below(exhibit, study)
    return Drawn(cells, (*exhibit.notes, *orders(exhibit, study, cells)), heads, (*sheets, *below))


def cells_of(exhibit: Exhibit, study: Study, axes: list[str], titles: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Return a row for each cell: means and standard deviations, ours in printed units and the paper's."""
    rows = select(study.results, **exhibit.where)
    # a share stands as the papers print it, in percent
    rows = rows.assign(value=rows["value"].where(rows["unit"] != "fraction", 100 * rows["value"]))
    numbers = rows.groupby(axes)["value"].agg(ours="mean", ours_std="std", n="count")
    cells = pd.DataFrame(product(*titles.values()), columns=axes).merge(numbers.reset_index(), on=axes, how="left")
    cells = with_printed(cells, select(study.printed_results(), **exhibit.where), axes)
    if "metric" not in axes:
        cells["metric"] = next(iter(exhibit.metrics), "")
    else:  # a metric that nobody has, such as one of further runs, has no row
        known = cells["ours"].notna() | cells["printed"].notna()
        cells = cells[known.groupby([cells[axis] for axis in axes if axis != "method"]).transform("any")]
    # of fits that ran into their time limit, whatever their metric, the others are the easier part
    ended = select(study.results, **exhibit.where | {"metric": TIMED_OUT})
    ended = (
        ended[ended["value"] > 0].drop(columns="metric").merge(pd.DataFrame({"metric": exhibit.metrics}), how="cross")
    )
    lost = keyed(cells, axes).isin(keyed(ended, axes))
    cells.loc[lost, ["ours", "ours_std"]] = math.nan
    units = exhibit.unit
    return cells.assign(is_lost=lost, unit=units if isinstance(units, str) else cells["metric"].map(units))


def with_texts(cells: pd.DataFrame, exhibit: Exhibit, study: Study) -> pd.DataFrame:
    """Return cells with both columns of text, and, where the layout asks for it, the interval of our numbers."""
    layout, found = exhibit.table, list[dict[str, object]]()
    for cell in cells.to_dict("records"):
        name, ends = layout.forms.get(cell["metric"], layout.form), dict[str, float]()
        form = FORMS.get(name, partial(plus_minus, form=name, std_form=layout.spread))
        ours = form(layout.scale * cell["ours"], layout.scale * cell["ours_std"])
        if layout.interval:
            rows = study.contrasts.intervals(study.settings_of(exhibit)[0], cell["metric"], cell["method"])
            low, high = (rows[0].low, rows[0].high) if rows else (math.nan, math.nan)
            ours, ends = bracketed(cell["ours"], low, high, name), {"low": low, "high": high}
        # a printed column that is no method of ours has no cell of ours
        was_run = study.was_run(cell.get("method", ""), cell.get("setting", ""))
        is_other = was_run and cell["is_printed"] and math.isnan(cell["ours"])
        ours = STAR if cell["is_lost"] else "" if is_other else ours
        # what did not end in print has a mark, and what it leaves out for other reasons a dash
        printed = STAR if "converge" in cell["note"] else MISSING
        if not math.isnan(cell["printed"]):
            number, spread = layout.scale * cell["printed"], layout.scale * cell["printed_std"]
            printed = form(number, spread) if layout.printed == "as ours" else format(number, layout.printed)
        found.append({**ends, "ours_cell": ours, "printed_cell": printed if cell["is_printed"] else ""})
    return cells.join(pd.DataFrame(found, cells.index, None if found else ["ours_cell", "printed_cell"]))


def orders(exhibit: Exhibit, study: Study, cells: pd.DataFrame) -> Iterator[str]:
    """Say of each block with printed numbers whether methods come in their order, by the first metric."""
    layout = exhibit.table
    if layout.best != "max" or layout.rows != "metric" or study.synthetic or not layout.blocks:
        return
    own = cells[(cells["metric"] == exhibit.metrics[0]) & cells["printed"].notna() & cells["ours"].notna()]
    blocks = values_of(exhibit, study, layout.blocks)
    for block, rows in own.groupby(layout.blocks, sort=False):
        methods = rows.sort_values("ours", ascending=False, kind="stable")
        order = ", ".join(map(study.title_of, methods["method"]))
        where = f" on {blocks[str(block)]}" if len(blocks) > 1 else ""
        # methods whose printed numbers are equal may come in any order
        others = "; ".join(
            f"{study.title_of(first.method)} and {study.title_of(second.method)}"
            for first, second in combinations(rows_in(rows), 2)
            if (first.printed - second.printed) * (first.ours - second.ours) < 0
        )
        turned = f"not that of the paper, which has {others} the other way round"
        if len(rows) > 1:
            yield f"The order{where} is {order}: {turned if others else 'that of the paper'}."


def differences(layout: Layout, study: Study, cells: pd.DataFrame) -> pd.DataFrame:
    """Return a cell behind each, with the difference from the method that is taken from all, and its interval."""
    found = []
    others = cells if layout.columns != "method" else cells[cells["method"] != layout.minus]
    for cell in others.to_dict("records"):
        rows = study.contrasts.intervals(cell.get("setting", ""), cell["metric"], cell["method"], layout.minus)
        names = {axis: cell[axis] for axis in (layout.blocks, layout.rows, layout.columns) if axis}
        names |= {layout.columns: f"{cell[layout.columns]}, minus", "metric": cell["metric"], "unit": "points"}
        numbers = {"ours": rows[0].mean, "low": rows[0].low, "high": rows[0].high, "n": rows[0].n} if rows else {}
        texts = {"ours_cell": gap(rows, has_unit=False) if rows else "", "printed_cell": ""}
        found.append(names | texts | numbers)
    return pd.DataFrame(found)


def differences_below(exhibit: Exhibit, study: Study) -> tuple[Sheet, ...]:
    """Return the differences of the first method from all others, a column for each metric and interval."""
    layout = exhibit.table
    first, *others = study.methods_named(exhibit.shows)
    records, heads, printed = [], {"method": ""}, {}
    for (setting, title), method in product(values_of(exhibit, study, layout.blocks).items(), others):
        record = {}
        for metric, name in layout.below.items():
            rows = study.contrasts.intervals(setting, metric, first, method)
            for row in rows if rows and rows[0].n else ():
                about = f"{metric}, {row.interval}"
                heads[about] = f"{name} [95%, {'' if 'over' in row.interval else 'over '}{row.interval}]"
                record[about] = gap([row], has_unit=False)
                if not math.isnan(row.p):
                    heads[f"{about}, p"], record[f"{about}, p"] = "p", p_value(row.p)
                if not math.isnan(row.printed):
                    printed["printed"], record["printed"] = "the paper", f"{row.printed:+.0f}"
        records += [{"block": title, "method": method} | record] * bool(record)
    heads |= printed
    frame = pd.DataFrame(records, columns=["block", *heads]).fillna("")
    titles = {"method": {method: study.title_of(method) for method in others}}
    heading = f"Differences: {study.title_of(first)} minus method, in points"
    return sheets_of_records(frame, heads, titles, "block", numbers=[*heads][1:], heading=heading)


def ratios_below(cells: pd.DataFrame, layout: Layout, heads: Names, study: Study) -> tuple[Sheet, ...]:
    """Return all numbers over those of one method, ours and the paper's, and the paper's over ours."""
    keys, name = [layout.blocks, layout.rows], heads[layout.columns][layout.over]
    is_base = cells[layout.columns] == layout.over
    beside = cells[keys].merge(cells[is_base], on=keys, how="left").set_index(cells.index)
    # numbers of problems of another size say nothing about machines
    is_like = cells[layout.blocks].map(study.is_comparable)
    quotients = {
        f"Over {name}, ours": (cells["ours"] / beside["ours"]).mask(is_base),
        f"Over {name}, paper": (cells["printed"] / beside["printed"]).mask(is_base),
        "Paper / ours": (cells["printed"] / cells["ours"]).where(is_like),
    }
    parts = [cells.assign(ratio=ratio, value=values) for ratio, values in quotients.items()]
    ratios = pd.concat(parts, ignore_index=True)[[layout.blocks, "ratio", layout.columns, "value"]]
    ratios = ratios[ratios["value"].notna().groupby([ratios[layout.blocks], ratios["ratio"]]).transform("any")]
    ratios = ratios.assign(ours_cell=ratios["value"].map(times_over))
    return sheets_of_cells(ratios, "ratio", layout.columns, layout.blocks, heads, heading="Ratios of these numbers")


def numbers_in_text(exhibit: Exhibit, study: Study) -> Drawn:
    """Return numbers that a paper prints in its text, ours beside them; what it does not print is left out."""
    printed = select(study.printed_results(), metric=[*exhibit.text]).drop_duplicates("metric")
    cells = printed[["metric", "method", "value", "spread"]].rename(
        columns={"value": "printed", "spread": "printed_std"}
    )
    ours = select(study.results, setting="", metric=[*exhibit.text]).groupby("metric")["value"].agg(["mean", "std"])
    cells = cells.merge(ours.set_axis(["ours", "ours_std"], axis=1).reset_index(), on="metric", how="left")
    cells = cells.sort_values("metric", key=lambda names: names.map([*exhibit.text].index), ignore_index=True)
    forms = [exhibit.forms.get(metric, ",.0f") for metric in cells["metric"]]
    for side, side_forms in (("ours", forms), ("printed", [",.10g"] * len(forms))):
        numbers = zip(cells[side], cells[f"{side}_std"], side_forms, strict=True)
        cells[f"{side}_cell"] = [plus_minus(*number) for number in numbers]
    heads, titles = {"metric": study.title, "ours_cell": "ours", "printed_cell": "paper"}, {"metric": exhibit.text}
    sheets = sheets_of_records(cells, heads, titles, numbers=[*heads][1:])
    return Drawn(cells.assign(unit=""), titles=titles, sheets=sheets)


# Sheets ---------------------------------------------------------------------------------------------------------------


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
        sides = {"ours": "ours", "printed": "paper"} if set(own.get("printed_cell", ())) - {""} else {"ours": ""}
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
