"""Figures as plots of a page: what is told at each point, what is drawn, and when there is nothing."""

import json
import math
from dataclasses import replace

import pandas as pd
import pytest

from lookalike.exhibits.interactive import curves_of
from lookalike.exhibits.model import Axis, Figure, Line, Panel, Series
from lookalike.exhibits.style import BLUE, LOOKS, Look

K, P = Axis("Number of neighbours k", told="k = {:.0f}"), Axis("Precision at top k", told="{:.3f}")
FRAME = pd.DataFrame(
    {"series": ["oasis", "oasis", "mcml", "mcml", "printed"], "k": [1.0, 2, 1, 2, 1], "p": [0.6, 0.5, 0.55, 0.4, 0.43],
     "low": [0.59, 0.48, 0.54, 0.39, 0.39], "high": [0.61, 0.52, 0.56, 0.41, 0.47], "note": ["first", "", "", "", ""]}
)  # fmt: skip
OASIS = Series("OASIS", {"series": "oasis"}, "k", "p", LOOKS["oasis"], "low", "high", note="note")
MCML = Series("MCML", {"series": "mcml"}, "k", "p", LOOKS["mcml"], "low", "high")
PRINTED = Series(
    "OASIS, printed", {"series": "printed"}, "k", "p", LOOKS["oasis"], "low", "high", "points", hollow=True
)
CHANCE = Line("chance", 0.1, Look("#000000", "", "--"))
PANEL = Panel("(A)  10 classes", K, P, (OASIS, MCML, PRINTED), (CHANCE,))


def drawn(*panels, frame=FRAME):
    made = curves_of(Figure(frame, panels), "curves-fig6")
    assert made is not None
    return made


def nodes(data):
    """All objects of Bokeh's JSON."""
    if isinstance(data, list):
        return [node for part in data for node in nodes(part)]
    if isinstance(data, dict):
        return [data, *(node for part in data.values() for node in nodes(part))]
    return []


def named(made, kind):
    return [node for node in nodes(json.loads(made.data)) if node.get("name") == kind]


def texts(made):
    return json.dumps(json.loads(made.data), ensure_ascii=False)


def glyphs(made, kind):
    return [node["attributes"] for node in named(made, kind) if "attributes" in node]


def ranges(made):
    ends = glyphs(made, "Range1d")
    # what is 0 or 1 as by default is not written
    return [(end.get("start", 0), end.get("end", 1)) for end in ends]


def test_a_figure_has_a_plot_for_each_panel_and_one_legend():
    made = drawn(PANEL, replace(PANEL, title="(B)", series=(MCML,)))
    assert made.plots == (
        "Plot: (A)  10 classes: Precision at top k over number of neighbours k.",
        "Plot: (B): Precision at top k over number of neighbours k.",
    )
    assert [(one.sign, one.series.name) for one in made.legend] == [
        ("●", "OASIS"), ("■", "MCML"), ("○", "OASIS, printed"), ("╍", "chance"),
    ]  # fmt: skip
    assert [item["target_id"] for item in json.loads(made.data)] == ["curves-fig6-0", "curves-fig6-1"]
    assert "<" not in made.data, "nothing may end the script in which it stands"
    assert not made.by_point


def test_the_pointer_tells_every_series_with_its_error():
    said = texts(drawn(PANEL))
    for text in ("k = 1", "k = 2", "0.600 ± 0.010", "0.500 ± 0.020", "0.550 ± 0.010", "0.430 ± 0.040", "–"):
        assert f'"{text}"' in said, text
    assert "chance</td>" in said
    assert ">0.100</td>" in said, "what is the same everywhere is told once"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(0.4, 0.6, "0.500 ± 0.100"), (0.45, 0.6, "0.500 (0.450 to 0.600)"), (0.5, 0.5, "0.500"), (math.nan, 1, "0.500")],
)
def test_errors_are_told_as_they_are(low, high, text):
    frame = pd.DataFrame({"k": [1.0, 2], "p": [0.5, 0.4], "low": [low, low], "high": [high, high]})
    frame.loc[1, ["low", "high"]] = 0.4 if low == high else math.nan
    said = texts(drawn(Panel("", K, P, (replace(OASIS, where={}, note=""),)), frame=frame))
    assert f'"{text}"' in said


def test_a_panel_by_point_tells_the_note_of_each_point_and_text_of_the_data_is_text_on_the_page():
    made = drawn(replace(PANEL, by_point=True))
    assert made.by_point
    assert '"first"' in texts(made)
    assert not named(made, "VStrip")
    made = drawn(replace(PANEL, series=(replace(MCML, name="<b>@y $x</b>"),)))
    # in the tip bokeh would take @y for a column
    assert "&lt;b&gt;&#64;y &#36;x&lt;/b&gt;" in texts(made)
    assert "<b>@y" not in texts(made)


def test_a_forest_has_its_bars_sideways_and_tells_the_name_of_the_row():
    frame = pd.DataFrame({"row": [0, 1], "gain": [3.0, -1.0], "low": [2.0, -2], "high": [4.0, 0]})
    series = Series("gain", {}, "gain", "row", LOOKS["oasis"], "low", "high", kind="points", sideways=True)
    rows = Axis("", ticks=((0, "OASIS"), (1, "MCML")), reversed=True)
    made = drawn(Panel("", Axis("Difference", told="{:+.1f}"), rows, (series,)), frame=frame)
    assert made.by_point
    said = texts(made)
    assert said.count('"OASIS"') == 2, "at its tick and in what is told"
    assert '"+3.0 ± 1.0"' in said
    (x, y) = ranges(made)
    assert x[0] < -2 < 4 < x[1], "the bars lie along x"
    assert y[0] > y[1]


def test_durations_are_told_as_people_say_them():
    frame = pd.DataFrame({"n": [0.0, 0.5, 100], "seconds": [0.5, 90.0, 5400]})
    x, y = Axis("Step", "log"), Axis("Time", "log", told="time")
    said = texts(drawn(Panel("", x, y, (Series("OASIS", {}, "n", "seconds", LOOKS["oasis"]),)), frame=frame))
    assert '"1.5 h"' in said


def test_several_thin_lines_are_told_as_a_range():
    many = [(place, step, 0.1 + 0.1 * place * step) for place in range(3) for step in (0, 1)]
    frame = pd.DataFrame(many, columns=["ranker", "step", "value"])
    series = tuple(
        Series("single", {"ranker": place}, "step", "value", Look(BLUE, ""), thin=True) for place in range(3)
    )
    assert '"0.100 to 0.300"' in texts(drawn(Panel("", Axis(), P, series), frame=frame))


def test_what_has_no_place_on_a_logarithmic_axis_is_not_drawn():
    frame = pd.DataFrame({"n": [0.0, 1, 2], "p": [1.0, 2, 3]})
    made = drawn(Panel("", Axis("", "log"), P, (Series("a", {}, "n", "p", LOOKS["oasis"]),)), frame=frame)
    (x, _) = ranges(made)
    assert 0.9 < x[0] < 1
    assert '"0"' not in texts(made)


def test_without_a_point_or_without_bokeh_there_are_no_curves(monkeypatch):
    empty = Panel("", K, P, (replace(OASIS, where={"series": "none"}),), (CHANCE,))
    assert curves_of(Figure(FRAME, (empty,)), "a") is None
    assert curves_of(Figure(FRAME, (Panel("", K, P, empty="not run here"),)), "a") is None
    monkeypatch.setattr("lookalike.exhibits.interactive.find_spec", lambda name: None)
    assert curves_of(Figure(FRAME, (PANEL,)), "a") is None
