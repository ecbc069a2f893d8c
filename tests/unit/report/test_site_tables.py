"""Tables of the report are read back from Markdown and data frames as they were meant."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lookalike.exhibits.tables import markdown_table
from lookalike.report._tables import (
    MISSING,
    Cell,
    Column,
    Grid,
    Paragraph,
    comparison_grid,
    frame_grid,
    read_markdown,
    sort_key,
)

PAPER_FORM = """\
# Table 4

| 10 classes |       |    OASIS |     MCML |
|------------|-------|---------:|---------:|
| mAP        | ours  | 41 ± 1.7 |        - |
|            | paper | 33 ± 1.6 | 29 ± 1.7 |
| Top 1      | ours  |       57 |       50 |

**Compared: OASIS minus method**

| 20 classes | difference |
|------------|-----------:|
| MCML       |       +2.1 |

A caption.
"""


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1,835 ± 210", "1835"),
        ("+7.9", "7.9"),
        ("-2.3 to +6.4", "-2.3"),
        ("< 0.001", "0.001"),
        ("1.0x", "1.0"),
        ("2e-05", "2e-05"),
        ("LMNN (naive)", "lmnn (naive)"),
        ("-", ""),
        (MISSING, ""),
        ("", ""),
    ],
)
def test_cells_sort_by_their_number(text: str, key: str) -> None:
    assert sort_key(text) == key


def test_a_table_in_the_papers_form_is_read_back() -> None:
    first, title, second, caption = read_markdown(PAPER_FORM, "Table 4")
    assert isinstance(first, Grid)
    assert isinstance(second, Grid)
    assert first.columns == (Column("10 classes"), Column(""), Column("OASIS", True), Column("MCML", True))
    assert [row.whose for row in first.rows] == ["ours", "paper", "ours"]
    assert first.rows[0].cells[0] == Cell("mAP", "map", rows=2), "one name spans ours and the paper's row"
    assert [cell.text for cell in first.rows[0].cells[1:]] == ["ours", "41 ± 1.7", MISSING]
    assert [cell.text for cell in first.rows[1].cells] == ["paper", "33 ± 1.6", "29 ± 1.7"]
    assert not first.sortable
    assert first.caption == "Table 4, part 1 of 2: 10 classes"
    assert title == Paragraph("Compared: OASIS minus method", strong=True)
    assert second.caption == "Table 4, part 2 of 2: 20 classes"
    assert caption == Paragraph("A caption.")


def test_what_the_exhibits_write_is_read() -> None:
    text = markdown_table(("method", "value"), [("a | b", "1,000"), ("last", "")], right={1})
    (grid,) = read_markdown(f"# T\n\n{text}", "T")
    assert isinstance(grid, Grid)
    assert grid.caption == "T"
    assert [[cell.text for cell in row.cells] for row in grid.rows] == [["a | b", "1,000"], ["last", MISSING]]


def test_a_comparison_sorts_and_drops_empty_columns() -> None:
    text = (
        "# T\n\n2 agree.\n\n| part | method | printed |\n|---|---|---:|\n| a |  | 139944 |\n| b |  | 7 |\n\nThe rule.\n"
    )
    grid, sentences = comparison_grid(read_markdown(text, "T"), "Ours beside")
    assert grid is not None
    assert grid.sortable
    assert grid.caption == "Ours beside"
    assert [column.title for column in grid.columns] == ["part", "printed"]
    assert grid.rows[0].cells[1] == Cell("139,944", "139944")
    assert sentences == ["2 agree.", "The rule."]


def test_a_frame_shows_numbers_short_and_says_what_it_leaves_out() -> None:
    frame = pd.DataFrame(
        {
            "name": ["a", "b", "c"],
            "cpu_seconds": [1234.5678, np.nan, 2.0],
            "count": [1, 20_000, 3],
            "good": [True, False, True],
        }
    )
    grid = frame_grid(frame, "T", limit=2)
    assert [column.title for column in grid.columns] == ["name", "CPU seconds", "count", "good"]
    assert [column.is_number for column in grid.columns] == [False, True, True, False]
    assert [[cell.text for cell in row.cells] for row in grid.rows] == [
        ["a", "1,235", "1", "True"],
        ["b", MISSING, "20,000", "False"],
    ]
    assert grid.rest == 1
    assert grid.sortable
