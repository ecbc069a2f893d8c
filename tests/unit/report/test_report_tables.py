"""Tables of the report: what of a data frame and of ours beside print a page shows, and how."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from lookalike.exhibits.sheets import Sheet
from lookalike.report.tables import MISSING, comparison_grid, frame_grid, grids_of


def cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html.partition("<tbody>")[2], re.DOTALL)
    return [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in rows]


def heads(html: str) -> list[str]:
    found = re.findall(r"<th[^>]*>(.*?)</th>", html)
    return [re.sub(r"<[^>]+>", "", head) for head in found]


def test_a_frame_shows_numbers_short_and_says_what_it_leaves_out() -> None:
    frame = pd.DataFrame(
        {
            "name": ["a", "b", "c"],
            "cpu_seconds": [1234.5678, np.nan, 2.0],
            "count": [1, 20_000, 3],
            "good": [True, False, True],
        }
    )
    grid = frame_grid(frame, "T", "t", limit=2)
    assert heads(grid.html) == ["name", "CPU seconds", "count", "good"]
    assert cells(grid.html) == [["a", "1,235", "1", "True"], ["b", MISSING, "20,000", "False"]]
    assert grid.html.count("number") == 2 + 4, "heads and cells of the two columns of numbers"
    assert (grid.n_rows, grid.rest, grid.sortable) == (2, 1, True)


def test_ours_beside_print_has_the_texts_of_the_cells_and_only_columns_that_tell_something() -> None:
    frame = pd.DataFrame(
        {"status": "higher", "method": ["oasis", "mcml"], "setting": "a", "empty": np.nan, "ours": [41.0, 2],
         "ours_std": 1.6, "printed": 33.0, "ours_cell": ["41 ± 1.6", "2"], "printed_cell": "33 ± 1.6",
         "last_digit": 1.0}
    )  # fmt: skip
    grid = comparison_grid(frame, "T", "t")
    assert heads(grid.html) == ["method", "ours", "printed", "status"]
    assert cells(grid.html) == [["oasis", "41 ± 1.6", "33 ± 1.6", "higher"], ["mcml", "2", "33 ± 1.6", "higher"]]
    without = comparison_grid(frame.drop(columns=["ours_cell", "printed_cell"]), "T", "t")
    assert cells(without.html)[0] == ["oasis", "41", "33", "higher"]


def test_several_sheets_are_told_apart_and_a_missing_number_is_a_dash() -> None:
    sheet = Sheet("10 classes", ("10 classes", "ours"), (("mAP", "-"),), (False, True))
    first, second = grids_of([sheet, sheet], "Table 4", "table4")
    assert (first.caption, second.caption) == (
        "Table 4, part 1 of 2: 10 classes",
        "Table 4, part 2 of 2: 10 classes",
    )
    assert cells(first.html) == [["mAP", MISSING]]
    assert not first.sortable
