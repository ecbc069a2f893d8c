"""A table as text: ours above print, blocks, records, and what the three formats must escape."""

import numpy as np
import pandas as pd
import pytest

from lookalike.exhibits.tables import html, latex, markdown, sheets_of_cells, sheets_of_records

TITLES = {"metric": {"map": "mAP_%"}, "method": {"oasis": "OASIS"}, "subset": {"a": "Ten", "b": "Twenty"}}
CELLS = pd.DataFrame({"subset": ["a", "a", "b", "b"], "metric": "map", "method": ["oasis", "lmnn"] * 2})
CELLS = CELLS.assign(ours_cell=["1 | x", "2", "3", "4 & 5"], printed_cell=["9", "", "", ""])
"""Cells of a toy table, some of which need escaping."""


def sheets(frame=CELLS, rows="metric", blocks="subset", **more):
    return sheets_of_cells(frame, rows, "method", blocks, TITLES, **more)


def test_a_papers_row_stands_beneath_ours_where_it_prints_a_cell():
    first, second = sheets(heading="Below")
    assert [sheet.heading for sheet in (first, second)] == ["Below", ""]
    assert first.heads == ("Ten", "", "OASIS", "lmnn")
    assert first.rows == (("mAP_%", "ours", "1 | x", "2"), ("", "paper", "9", ""))
    assert first.printed == (1,)
    assert second.rows == (("mAP_%", "3", "4 & 5"),)


def test_a_cell_that_is_not_there_is_a_dash():
    (sheet,) = sheets(CELLS.iloc[:3], rows="subset", blocks="")
    assert sheet.rows[-1] == ("Twenty", "ours", "3", "-")


def test_the_best_of_those_compared_is_bold_in_every_format_ours_and_in_print():
    frame = CELLS.assign(ours=[1.0, 2, 3, 4], printed=[9.0, 8, np.nan, np.nan])
    first, second = sheets(frame, best="max")
    assert (first.best, second.best) == (((0, 3), (1, 2)), ((0, 2),))
    assert sheets(frame, best="min")[0].best == ((0, 2), (1, 3))
    assert "**2**" in markdown([first])
    assert r"\textbf{2}" in latex([first])
    assert "<b>2</b>" in html([first], "toy")


def test_records_show_the_named_columns():
    frame = pd.DataFrame({"verdict": ["holds", None], "p": ["0.01", ""], "hidden": [1, 2]})
    (sheet,) = sheets_of_records(frame, {"verdict": "verdict", "p": "p"}, numbers=["p"], heading="Methods compared")
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
    text = write(sheets())
    assert [part for part in inside if part not in text] == []
    assert write(sheets()) == text
