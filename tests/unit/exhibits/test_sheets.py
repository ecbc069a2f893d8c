"""A table as text: ours above print, blocks, records, and what the three formats must escape."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lookalike.exhibits.model import Table
from lookalike.exhibits.sheets import html, latex, markdown, sheets_of


def table():
    """Cells of a toy table, some of which need escaping."""
    frame = pd.DataFrame({"subset": ["a", "a", "b", "b"], "metric": "map", "method": ["oasis", "lmnn"] * 2})
    frame = frame.assign(ours=[1.0, 2, 3, 4], ours_cell=["1 | x", "2", "3", "4 & 5"])
    frame = frame.assign(printed_cell=["9", "", "", ""])
    titles = {"metric": {"map": "mAP_%"}, "method": {"oasis": "OASIS"}, "subset": {"a": "Ten", "b": "Twenty"}}
    return Table(frame, rows=("metric",), columns="method", blocks="subset", titles=titles, notes=("A note.",))


def test_a_papers_row_stands_beneath_ours_where_it_prints_a_cell_and_a_table_below_follows():
    first, second, *below = sheets_of(replace(table(), below=replace(table(), heading="Below")))
    assert [sheet.heading for sheet in (first, second, *below)] == ["", "", "Below", ""]
    assert first.heads == ("Ten", "", "OASIS", "lmnn")
    assert first.rows == (("mAP_%", "ours", "1 | x", "2"), ("", "paper", "9", ""))
    assert first.printed == (1,)
    assert second.rows == (("mAP_%", "3", "4 & 5"),)


def test_a_cell_that_is_not_there_is_a_dash():
    frame = table().frame.iloc[:3]
    cut = replace(table(), frame=frame, blocks="", rows=("subset",))
    assert sheets_of(cut)[0].rows[-1] == ("Twenty", "ours", "3", "-")


def test_the_best_of_those_compared_is_bold_in_every_format_ours_and_in_print():
    frame = table().frame.assign(ours=[1.0, 2, 3, 4], printed=[9.0, 8, np.nan, np.nan], metric="map")
    compared = replace(table(), frame=frame, compared="method", best={"map": max})
    first, second = sheets_of(compared)
    assert (first.best, second.best) == (((0, 3), (1, 2)), ((0, 2),))
    assert sheets_of(replace(compared, best={"map": min}))[0].best == ((0, 2), (1, 3))
    assert "**2**" in markdown([first])
    assert r"\textbf{2}" in latex([first])
    assert "<b>2</b>" in html([first], "toy")


def test_records_show_the_named_columns():
    frame = pd.DataFrame({"verdict": ["holds", None], "p": ["0.01", ""], "hidden": [1, 2]})
    records = Table(frame, heads={"verdict": "verdict", "p": "p"}, numbers=frozenset({"p"}))
    (sheet,) = sheets_of(replace(records, heading="Methods compared"))
    assert (sheet.heads, sheet.rows) == (("verdict", "p"), (("holds", "0.01"), ("", "")))
    assert sheet.numbers == (False, True)
    assert markdown([sheet]).startswith("**Methods compared**")


@pytest.mark.parametrize(
    ("write", "inside"),
    [
        (markdown, ["1 \\| x", " OASIS |", "| paper |"]),
        (latex, [r"mAP\_\%", r"4 \& 5", r"\textit{9}", r"\toprule"]),
        (lambda sheets: html(sheets, "toy"), ["4 &amp; 5", '<td class="data row1 col2 printed number"']),
    ],
)
def test_each_format_escapes_its_own_signs_and_is_the_same_each_time(write, inside):
    text = write(sheets_of(table()))
    assert [part for part in inside if part not in text] == []
    assert write(sheets_of(table())) == text
