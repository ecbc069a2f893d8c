"""The files of an exhibit: whole also where it was not run, and a sidecar that says why; tables as text; numbers."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from made_report import broken, curves, table, toy_exhibit, toy_study

from lookalike.core.files import read_json
from lookalike.exhibits import printed
from lookalike.exhibits.drawing import Chart, Curve
from lookalike.exhibits.model import Axis, NothingToShowError
from lookalike.exhibits.registry import Exhibit
from lookalike.exhibits.style import LOOKS
from lookalike.exhibits.tables import html, latex, markdown, sheets_of_cells, sheets_of_records
from lookalike.exhibits.writing import write_exhibits


def nothing_chosen(study):
    """A figure whose panels have nothing to show."""
    chart = Chart(2)
    for _ in range(2):
        chart.panel("", Axis(), Axis(), empty="one network alone was trained")
    return chart.drawn(pd.DataFrame({"x": []}))


def half(study):
    """A figure of which one panel is drawn."""
    chart = Chart(2)
    chart.panel("", Axis(), Axis(), [Curve("a", LOOKS["oasis"], pd.DataFrame({"x": [1.0], "mean": [2.0]}))])
    chart.panel("", Axis(), Axis(), empty="not run")
    return chart.drawn(pd.DataFrame({"x": []}))


def unread(study):
    """A gallery whose images are not there."""
    raise NothingToShowError("no image to show")


DRAWN = [
    # what draws it, what it needs, and why it is not drawn
    (table, ["metrics"], ""),
    (table, ["metrics", "curves"], "not run: run the jobs that make curves"),
    (broken, [], "failed: KeyError: 'map'"),
    (curves, [], ""),
    (half, [], ""),
    (nothing_chosen, [], "not run: one network alone was trained"),
    (unread, [], "not run: no image to show"),
]


def test_each_exhibit_is_drawn_from_its_sources_or_says_why_not_and_has_all_files(tmp_path):
    study = toy_study("demo").finished({"metrics": "a.csv"})
    exhibits = [toy_exhibit(f"learning/{place}", draw, needs=needs) for place, (draw, needs, _) in enumerate(DRAWN)]
    sidecars = write_exhibits(exhibits, study, tmp_path)
    for exhibit, sidecar, (draw, needs, problem) in zip(exhibits, sidecars, DRAWN, strict=True):
        assert (sidecar.problem, sidecar.state) == (problem, problem.partition(":")[0] or "drawn")
        assert sidecar.sources == ("a.csv",) * ("metrics" in needs)
        files = {suffix: tmp_path / f"{exhibit.id}{suffix}" for suffix in exhibit.suffixes}
        assert [file.name for file in files.values() if not file.is_file()] == []
        assert (sidecar.title, sidecar.problem) == tuple(map(read_json(files[".json"]).get, ("title", "problem")))
        if ".md" in files:
            assert problem in files[".md"].read_text()
        if draw is curves:
            pd.testing.assert_frame_equal(pd.read_csv(files[".csv"]), draw(study).frame, check_dtype=False)


TITLES = {"metric": {"map": "mAP_%"}, "method": {"oasis": "OASIS"}, "subset": {"a": "Ten", "b": "Twenty"}}
CELLS = pd.DataFrame({"subset": ["a", "a", "b", "b"], "metric": "map", "method": ["oasis", "lmnn"] * 2})
CELLS = CELLS.assign(ours_cell=["1 | x", "2", "3", "4 & 5"], printed_cell=["9", "", "", ""])
"""Cells of a toy table, some of which need escaping."""


def sheets(frame=CELLS, rows="metric", blocks="subset", **more):
    return sheets_of_cells(frame, rows, "method", blocks, TITLES, **more)


def test_a_papers_row_stands_beneath_ours_where_it_prints_a_cell_and_a_cell_that_is_not_there_is_a_dash():
    first, second = sheets(heading="Below")
    assert [sheet.heading for sheet in (first, second)] == ["Below", ""]
    assert first.heads == ("Ten", "", "OASIS", "lmnn")
    assert first.rows == (("mAP_%", "ours", "1 | x", "2"), ("", "paper", "9", ""))
    assert first.printed == (1,)
    assert second.rows == (("mAP_%", "3", "4 & 5"),)
    (sheet,) = sheets(CELLS.iloc[:3], rows="subset", blocks="")
    assert sheet.rows[-1] == ("Twenty", "ours", "3", "-")


def test_the_best_of_those_compared_is_bold_in_every_format_and_records_show_the_named_columns():
    frame = CELLS.assign(ours=[1.0, 2, 3, 4], printed=[9.0, 8, np.nan, np.nan])
    first, second = sheets(frame, best="max")
    assert (first.best, second.best) == (((0, 3), (1, 2)), ((0, 2),))
    assert sheets(frame, best="min")[0].best == ((0, 2), (1, 3))
    assert "**2**" in markdown([first])
    assert r"\textbf{2}" in latex([first])
    assert "<b>2</b>" in html([first], "toy")
    frame = pd.DataFrame({"verdict": ["holds", None], "p": ["0.01", ""], "hidden": [1, 2]})
    (sheet,) = sheets_of_records(frame, {"verdict": "verdict", "p": "p"}, numbers=["p"], heading="Methods compared")
    assert (sheet.heads, sheet.rows) == (("verdict", "p"), (("holds", "0.01"), ("", "")))
    assert sheet.numbers == (False, True)
    assert markdown([sheet]).startswith("**Methods compared**")


def test_each_format_escapes_its_own_signs_and_is_the_same_each_time():
    inside = {
        markdown: ["1 \\| x", " OASIS |", "| paper |"],
        latex: [r"mAP\_\%", r"4 \& 5", r"\textit{9}", r"\toprule"],
        partial(html, uuid="toy"): ["4 &amp; 5", '<td class="data row1 col2 printed number"'],
    }
    for write, parts in inside.items():
        text = write(sheets())
        assert [part for part in parts if part not in text] == []
        assert write(sheets()) == text


def test_numbers_of_all_sizes_have_two_digits_and_durations_are_written_as_people_say_them():
    texts = {(1835.2, 209.6): "1,835 ± 210", (math.nan, 1.0): "-", (0.0, math.nan): "0.0"}
    texts |= {(0.00213, 0.00031): "0.0021 ± 0.0003", (0.12, 0.0004): "0.12 ± 0.0004"}
    assert {numbers: printed.significant(*numbers) for numbers in texts} == texts
    seconds = [0.0041, 0.001, 0.25, 37.02, 59.96, 5400, 86_400, 240_000, 366 * 86_400, 1e9, math.nan]
    said = ["4.1 ms", "1 ms", "0.25 s", "37 s", "1 min", "1.5 h", "1 day", "2.8 days", "1 year", "32 years", ""]
    assert list(map(printed.human_time, seconds)) == said


def test_exhibits_stand_in_the_papers_order_with_its_labels_and_a_misspelt_key_is_refused():
    names = ["fig10", "table2", "fig3b", "text", "fig3a", "table10"]
    found = [Exhibit(id=f"oasis-jmlr-2010/{name}", study="toy", title="") for name in names]
    placed = [exhibit.label for exhibit in sorted(found, key=lambda exhibit: exhibit.place)]
    assert placed == ["Table 2", "Table 10", "Figure 3A", "Figure 3B", "Figure 10", ""]
    with pytest.raises(ValueError, match="unknown key 'captoin'"):
        Exhibit(id="learning/one", study="toy", title="", captoin="It is.")
