"""Figures and galleries: the same bytes each time, one legend, and numbers under the pointer."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_report import toy_study
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.drawing import draw, save, titles_of_points
from lookalike.exhibits.image_grid import WRONG, draw_gallery, tile_of
from lookalike.exhibits.model import Axis, Figure, Gallery, Line, Panel, Series, Tile
from lookalike.exhibits.style import Look, lay_out, paper_style


def figure():
    """Curves, numbers in print beside them, and a panel of nothing."""
    x = np.arange(1.0, 31.0)
    frame = pd.DataFrame({"series": np.repeat(["oasis", "printed"], [30, 30]), "k": np.tile(x, 2), "extra": "kept"})
    frame["p"] = 1 / frame["k"]
    frame["low"], frame["high"] = frame["p"] * 0.9, frame["p"] * 1.1
    series = (
        Series("OASIS", {"series": "oasis"}, "k", "p", Look("#D55E00", "o"), "low", "high"),
        Series("printed", {"series": "printed"}, "k", "p", Look("#000000", "s"), kind="points", hollow=True),
    )
    lines = (Line("chance", 0.1, Look("#000000", "", "--"), label="0.10"), Line("stop", 7, Look("#000", "", ":"), True))
    panel = Panel("one", Axis("k", "log", ticks=((1.0, "one"), (10.0, "ten"))), Axis("P@k", low=0), series, lines)
    return Figure(frame, (panel, Panel("two", Axis(), Axis(), empty="nothing here")))


BLACK = np.zeros((4, 8, 3), dtype=np.uint8)
TILES = (Tile(BLACK, box=(0, 0, 0.5, 0.5)), Tile(BLACK, mark=WRONG), Tile(None, "no image"))
GALLERY = Gallery(pd.DataFrame({"image": [1]}), (TILES,), heads=("query",))


@pytest.mark.parametrize("drawn", [figure(), GALLERY])
def test_the_same_numbers_give_the_same_bytes(drawn, tmp_path):
    study = toy_study("toy")
    for name in "ab":
        save(drawn, tmp_path / name / "fig", study)
    for suffix in (".png", ".svg", ".pdf"):
        first, second = (tmp_path / name / f"fig{suffix}" for name in "ab")
        assert first.read_bytes() == second.read_bytes()


def test_lines_show_all_points_with_their_error_bars_and_the_legend_names_each_once():
    with paper_style():
        canvas = draw(figure())
    (legend,), (axis, empty) = canvas.legends, canvas.axes
    assert sorted(text.get_text() for text in legend.get_texts()) == ["OASIS", "chance", "printed", "stop"]
    curve = max(axis.lines, key=lambda line: len(line.get_xdata()))
    assert np.allclose(curve.get_ydata(), 1 / np.arange(1, 31))
    assert len(axis.containers) == 1  # error bars of ours; print has none
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["one", "ten"]
    assert [text.get_text() for text in empty.texts] == ["nothing here"]
    with paper_style():
        (legend,) = draw_gallery(GALLERY).legends
    assert [text.get_text() for text in legend.get_texts()] == ["✗  wrong"]


def test_tiles_are_thumbnails_and_an_image_that_cannot_be_read_fails_by_its_name(tmp_path):
    Image.fromarray(np.full((400, 200, 3), 7, dtype=np.uint8)).save(tmp_path / "a.png")
    assert tile_of(tmp_path / "a.png").image.shape == (160, 80, 3)
    (tmp_path / "broken.jpg").write_bytes(b"no image")
    with pytest.raises(LookalikeError, match=r"broken\.jpg"):
        tile_of(tmp_path / "broken.jpg", "a word", WRONG)


K, P = Axis("Number of neighbours k", text="k = {:.0f}"), Axis("Precision at top k", text="{:.3f}")
OASIS = Series("OASIS", {}, "x", "y", Look("#000000", "o"), "low", "high")
POINTS = {"x": [1.0, 2], "y": [0.5, 0.4], "low": [0.4, np.nan], "high": [0.6, np.nan]}
FORWARD = Panel("", K, P, (OASIS,))
NONE = {"low": np.nan, "high": np.nan}
TITLES = {
    "every marked point tells its number with its error": (
        POINTS,
        FORWARD,
        ["OASIS\nk = 1\nPrecision at top k: 0.500 ± 0.100", "OASIS\nk = 2\nPrecision at top k: 0.400"],
    ),
    "uneven bounds are both told, and equal ones are no error": (
        POINTS | {"low": [0.45, 0.4], "high": [0.6, 0.4]},
        replace(FORWARD, y=replace(P, label="")),
        ["OASIS\nk = 1\n0.500 (0.450 to 0.600)", "OASIS\nk = 2\n0.400"],
    ),
    "text of the data is no markup, and a tick's name stands for its number": (
        POINTS,
        Panel("", replace(K, ticks=((1, "MCML"),)), P, (replace(OASIS, name="<b>", low=""),)),
        ["&lt;b&gt;\nMCML\nPrecision at top k: 0.500", "&lt;b&gt;\nk = 2\nPrecision at top k: 0.400"],
    ),
    "durations are told as people say them, and 0 has no place on a logarithmic axis": (
        {"x": [0.0, 10, 100], "y": [1.0, 90, 5400], **NONE},
        Panel("", Axis("Step", "log"), Axis("Time", "log", text="time"), (OASIS,)),
        ["OASIS\nStep: 10\nTime: 1.5 min", "OASIS\nStep: 100\nTime: 1.5 h"],
    ),
    "what lies outside the axes, has no number or stands behind is not told": (
        {"x": [1.0, 2, 3], "y": [0.5, np.nan, 0.4], **NONE},
        Panel("", replace(K, low=0, high=2.5), P, (OASIS, replace(OASIS, kind="thin"))),
        ["OASIS\nk = 1\nPrecision at top k: 0.500"],
    ),
}


@pytest.mark.parametrize("case", TITLES)
def test_a_drawing_tells_the_numbers_of_its_points(case):
    columns, panel, titles = TITLES[case]
    figure = Figure(pd.DataFrame(columns), (panel, Panel("", Axis(), Axis(), empty="not run")))
    canvas = draw(figure)
    lay_out(canvas)
    assert re.findall("<title>([^<]*)</title>", "".join(titles_of_points(figure, canvas))) == titles


def test_titles_lie_on_their_points(tmp_path):
    frame = pd.DataFrame({"x": [0.0, 4, 10], "y": [0.0, 1, 5]})
    series = Series("a", {}, "x", "y", Look("#123456", "o"), kind="points")
    panel = Panel("", Axis(low=0, high=10), Axis(low=0, high=5), (series,))
    save(Figure(frame, (panel,)), tmp_path / "fig", toy_study("toy"))
    drawing = (tmp_path / "fig.svg").read_text(encoding="utf-8")
    markers = re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)" style="fill: #123456', drawing)
    discs = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawing)
    assert len(discs) == 3
    np.testing.assert_allclose(np.array(discs, float), np.array(markers, float)[:3], atol=0.06)
