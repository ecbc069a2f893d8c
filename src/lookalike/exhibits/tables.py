"""Tables that are declared: means of rows of results over their repeats, beside what the papers print."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lookalike.exhibits.model import Names, Sheet, Table
from lookalike.exhibits.printed import (
    MISSING,
    STAR,
    bracketed,
    minutes_text,
    p_value,
    plus_minus,
    significant,
    times_over,
    with_printed,
)
from lookalike.exhibits.registry import Exhibit, Layout
from lookalike.exhibits.results import TIMED_OUT, rows_in, select
from lookalike.exhibits.sheets import sheets_of_cells, sheets_of_records
from lookalike.exhibits.words import gap

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

FORMS: Mapping[str, Callable[[float, float], str]] = {"significant": significant, "minutes": minutes_text}
"""Forms of cells that no format can say."""


def values_of(exhibit: Exhibit, study: Study, axis: str) -> dict[str, str]:
    """Return the values of an axis with their titles, in their order: those of the entry, else those of the study."""
    if axis == "method":
        found = {method: study.title_of(method) for method in study.methods_named(exhibit.shows)}
    else:
        found = dict(study.titles_of(axis))
    given = exhibit.where.get(axis)
    if given is not None:
        found = {value: found.get(value, value) for value in ([given] if isinstance(given, str) else given)}
    titles, left_out = exhibit.titles.get(axis, {}), exhibit.without.get(axis, [])
    return {value: titles.get(value, title) for value, title in found.items() if value not in left_out}


def keyed(rows: pd.DataFrame, axes: list[str]) -> pd.MultiIndex:
    """Return the values of some columns as an index."""
    return pd.MultiIndex.from_frame(rows[axes])


def table_of(exhibit: Exhibit, study: Study) -> Table:
    """Return a table: the mean of each cell over its repeats, the paper's number beneath, and ``*`` of lost fits."""
    layout = exhibit.table
    axes = [axis for axis in (layout.blocks, layout.rows, layout.columns) if axis]
    titles = {axis: values_of(exhibit, study, axis) for axis in axes}
    cells = cells_of(exhibit, study, axes, titles)
    if layout.interval:
        cells = with_intervals(cells, study, study.settings_of(exhibit)[0])
    write_cells(cells, layout, study)
    heads: dict[str, dict[str, str]] = {axis: dict(values) for axis, values in titles.items()}
    if layout.minus:
        cells = pd.concat([cells, differences(layout, study, cells)], ignore_index=True)
        columns = [name for value in titles[layout.columns] for name in (value, f"{value}, minus")]
        cells = cells.sort_values(layout.columns, key=lambda names: names.map(columns.index), kind="stable")
        minus = f"minus {study.title_of(layout.minus)}"
        heads[layout.columns] |= {f"{value}, minus": minus for value in titles[layout.columns]}
    sheets = sheets_of_cells(cells, layout.rows, layout.columns, layout.blocks, heads, best=layout.best)
    below = ratios_below(cells, layout, heads, study) if layout.over else differences_below(exhibit, study)
    notes = (*exhibit.notes, *orders(exhibit, study, cells))
    return Table(cells, (*sheets, *below), heads, notes)


def cells_of(exhibit: Exhibit, study: Study, axes: list[str], titles: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Return a row for each cell: means and standard deviations, ours in printed units and the paper's."""
    rows = select(study.results, **exhibit.where)
    # a share stands as the papers print it, in percent
    rows = rows.assign(value=rows["value"].where(rows["unit"] != "fraction", 100 * rows["value"]))
    numbers = rows.groupby(axes)["value"].agg(ours="mean", ours_std="std", n="count")
    cells = pd.DataFrame(product(*titles.values()), columns=axes).merge(numbers.reset_index(), on=axes, how="left")
    cells = with_printed(cells, select(study.printed_results(), **exhibit.where), on=axes)
    if "metric" not in axes:
        cells["metric"] = next(iter(exhibit.metrics), "")
    else:  # a metric that nobody has, such as one of further runs, has no row
        known = cells["ours"].notna() | cells["printed"].notna()
        cells = cells[known.groupby([cells[axis] for axis in axes if axis != "method"]).transform("any")]
    lost = keyed(cells, axes).isin(lost_fits(study, exhibit, axes))
    # where a fit did not end, the others are the easier part
    cells.loc[lost, ["ours", "ours_std"]] = math.nan
    units = exhibit.unit
    return cells.assign(is_lost=lost, unit=units if isinstance(units, str) else cells["metric"].map(units))


def with_intervals(cells: pd.DataFrame, study: Study, setting: str) -> pd.DataFrame:
    """Return cells with the interval of what each method reaches, NaN where there is none."""
    names = zip(cells["metric"], cells["method"], strict=True)
    rows = [study.contrasts.intervals(setting, *pair) for pair in names]
    ends = {end: [getattr(own[0], end) if own else math.nan for own in rows] for end in ("low", "high")}
    return cells.assign(**ends)


def write_cells(cells: pd.DataFrame, layout: Layout, study: Study) -> None:
    """Add both columns of text to cells."""
    named = [layout.forms.get(metric, layout.form) for metric in cells["metric"]]
    forms = [FORMS.get(name, partial(plus_minus, form=name, std_form=layout.spread)) for name in named]
    ours, printed = (
        (layout.scale * cells[[side, f"{side}_std"]]).itertuples(index=False) for side in ("ours", "printed")
    )
    if layout.interval:
        ends = zip(cells["ours"], cells["low"], cells["high"], named, strict=True)
        texts = [bracketed(*numbers) for numbers in ends]
    else:
        texts = [form(*pair) for form, pair in zip(forms, ours, strict=True)]
    cells["ours_cell"] = pd.Series(texts, dtype=str, index=cells.index).mask(cells["is_lost"], STAR)
    # a printed column that is no method of ours has no cell of ours
    settings = cells["setting"] if "setting" in cells else pd.Series("", index=cells.index)
    methods = cells["method"] if "method" in cells else pd.Series("", index=cells.index)
    was_run = np.array([study.was_run(*names) for names in zip(methods, settings, strict=True)], dtype=bool)
    is_other = was_run & cells["is_printed"] & cells["ours"].isna() & ~cells["is_lost"]
    cells["ours_cell"] = cells["ours_cell"].mask(is_other, "")
    as_ours = layout.printed == "as ours"
    written = [
        form(*pair) if as_ours else "" if math.isnan(pair[0]) else format(pair[0], layout.printed)
        for form, pair in zip(forms, printed, strict=True)
    ]
    given = pd.Series(written, dtype=str, index=cells.index).where(cells["is_printed"], "")
    # what did not end in print has a mark, and what it leaves out for other reasons a dash
    absent = cells["note"].str.contains("converge").map({True: STAR, False: MISSING})
    cells["printed_cell"] = given.mask(cells["is_printed"] & cells["printed"].isna(), absent)


def lost_fits(study: Study, exhibit: Exhibit, axes: list[str]) -> pd.MultiIndex:
    """Return the cells of fits that ran into their time limit, whatever their metric."""
    rows = select(study.results, **exhibit.where | {"metric": TIMED_OUT})
    rows = rows[rows["value"] > 0].drop(columns="metric").merge(pd.DataFrame({"metric": exhibit.metrics}), how="cross")
    return keyed(rows.drop_duplicates(axes), axes)


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
        setting = cell.get("setting", "")
        rows = study.contrasts.intervals(setting, cell["metric"], cell["method"], layout.minus)
        names = {axis: cell[axis] for axis in (layout.blocks, layout.rows, layout.columns) if axis}
        names |= {layout.columns: f"{cell[layout.columns]}, minus", "metric": cell["metric"], "unit": "points"}
        numbers: dict[str, object] = {"ours_cell": "", "printed_cell": ""}
        if rows:
            numbers |= {"ours": rows[0].mean, "low": rows[0].low, "high": rows[0].high, "n": rows[0].n}
            numbers["ours_cell"] = gap(rows, has_unit=False)
        found.append(names | numbers)
    return pd.DataFrame(found)


def differences_below(exhibit: Exhibit, study: Study) -> tuple[Sheet, ...]:
    """Return the differences of the first method from all others, a column for each metric and interval."""
    layout = exhibit.table
    first, *others = study.methods_named(exhibit.shows)
    records, heads = [], {"method": ""}
    for setting, title in values_of(exhibit, study, layout.blocks).items() if layout.below else ():
        for method in others:
            record = {"block": title, "method": method}
            for metric, name in layout.below.items():
                rows = study.contrasts.intervals(setting, metric, first, method)
                for row in rows if rows and rows[0].n else ():
                    about = f"{metric}, {row.interval}"
                    over = "" if "over" in row.interval else "over "
                    heads[about] = f"{name} [95%, {over}{row.interval}]"
                    record[about] = gap([row], has_unit=False)
                    if not math.isnan(row.p):
                        heads[f"{about}, p"], record[f"{about}, p"] = "p", p_value(row.p)
                    if not math.isnan(row.printed):
                        heads["printed"], record["printed"] = "the paper", f"{row.printed:+.0f}"
            records.append(record)
    known = [record for record in records if len(record) > 2]
    heads |= {"printed": heads.pop("printed")} if "printed" in heads else {}
    frame = pd.DataFrame(known, columns=["block", *heads]).fillna("")
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


def numbers_in_text(exhibit: Exhibit, study: Study) -> Table:
    """Return numbers that a paper prints in its text, ours beside them; what it does not print is left out."""
    rows = study.results[(study.results["setting"] == "") & study.results["metric"].isin(exhibit.text)]
    printed = study.printed_results()
    cells = printed[printed["metric"].isin(exhibit.text)].drop_duplicates("metric")
    cells = cells[["metric", "method", "value", "spread"]].rename(columns={"value": "printed", "spread": "printed_std"})
    ours = rows.groupby("metric")["value"].agg(ours="mean", ours_std="std").reset_index()
    cells = cells.merge(ours, on="metric", how="left")
    order = list(exhibit.text)
    cells = cells.sort_values("metric", key=lambda names: names.map(order.index), ignore_index=True)
    forms = [exhibit.forms.get(metric, ",.0f") for metric in cells["metric"]]
    for side, side_forms in (("ours", forms), ("printed", [",.10g"] * len(forms))):
        numbers = zip(cells[side], cells[f"{side}_std"], side_forms, strict=True)
        cells[f"{side}_cell"] = [plus_minus(*number) for number in numbers]
    heads, titles = {"metric": study.title, "ours_cell": "ours", "printed_cell": "paper"}, {"metric": exhibit.text}
    return Table(cells.assign(unit=""), sheets_of_records(cells, heads, titles, numbers=[*heads][1:]), titles)
