"""Figures and galleries: the same bytes each time, one legend, and numbers under the pointer."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_report import toy_study
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.drawing import Chart, Curve, ruler, save
from lookalike.exhibits.image_grid import WRONG, draw_grid, tile_of
from lookalike.exhibits.model import Axis, Drawn, Tile
from lookalike.exhibits.style import LOOKS, Look, paper_style

BLACK = np.zeros((4, 8, 3), dtype=np.uint8)
TILES = (Tile(BLACK, box=(0, 0, 0.5, 0.5)), Tile(BLACK, mark=WRONG), Tile(None, "no image"))


def figure():
    """Curves, numbers in print beside them, and a panel of nothing."""
    x = np.arange(1.0, 31.0)
    frame = pd.DataFrame({"k": x, "p": 1 / x, "low": 0.9 / x, "high": 1.1 / x})
    hollow, chart = Look("#000000", "s", kind="points", hollow=True), Chart(2)
    curves = Curve("OASIS", LOOKS["oasis"], frame, "k", "p"), Curve("printed", hollow, frame, "k", "p", None)
    axis = chart.panel("one", Axis("k", "log", ticks=((1.0, "one"), (10.0, "ten"))), Axis("P@k", low=0), curves)
    axis.axhline(0.1, label="chance", **ruler())
    chart.panel("two", Axis(), Axis(), empty="nothing here")
    return chart.drawn(frame)


def gallery():
    return Drawn(pd.DataFrame({"image": [1]}), canvas=draw_grid([TILES], heads=["query"]))


@pytest.mark.parametrize("draw", [figure, gallery])
def test_the_same_numbers_give_the_same_bytes(draw, tmp_path):
    with paper_style():
        for name in "ab":
            save(draw(), tmp_path / name / "fig", toy_study("toy"))
    for suffix in (".png", ".svg", ".pdf"):
        first, second = (tmp_path / name / f"fig{suffix}" for name in "ab")
        assert first.read_bytes() == second.read_bytes()


def test_lines_show_all_points_with_their_error_bars_and_the_legend_names_each_once():
    canvas = figure().canvas
    (legend,), (axis, empty) = canvas.legends, canvas.axes
    assert sorted(text.get_text() for text in legend.get_texts()) == ["OASIS", "chance", "printed"]
    curve = max(axis.lines, key=lambda line: len(line.get_xdata()))
    assert np.allclose(curve.get_ydata(), 1 / np.arange(1, 31))
    assert len(axis.containers) == 1  # error bars of ours; print has none
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["one", "ten"]
    assert [text.get_text() for text in empty.texts] == ["nothing here"]
    (legend,) = gallery().canvas.legends
    assert [text.get_text() for text in legend.get_texts()] == ["✗  wrong"]


def test_tiles_are_thumbnails_and_an_image_that_cannot_be_read_fails_by_its_name(tmp_path):
    Image.fromarray(np.full((400, 200, 3), 7, dtype=np.uint8)).save(tmp_path / "a.png")
    assert tile_of(tmp_path / "a.png").image.shape == (160, 80, 3)
    (tmp_path / "broken.jpg").write_bytes(b"no image")
    with pytest.raises(LookalikeError, match=r"broken\.jpg"):
        tile_of(tmp_path / "broken.jpg", "a word", WRONG)


K, P = Axis("Number of neighbours k", text="k = {:.0f}"), Axis("Precision at top k", text="{:.3f}")
OASIS, THIN = LOOKS["oasis"], replace(LOOKS["oasis"], kind="thin")
POINTS = {"x": [1.0, 2], "mean": [0.5, 0.4], "low": [0.4, np.nan], "high": [0.6, np.nan]}
TITLES = {
    "every marked point tells its number with its error": (
        POINTS, K, P, ["OASIS\nk = 1\nPrecision at top k: 0.500 ± 0.100", "OASIS\nk = 2\nPrecision at top k: 0.400"]),
    "uneven bounds are both told, and equal ones are no error": (
        POINTS | {"low": [0.45, 0.4], "high": [0.6, 0.4]}, K, replace(P, label=""),
        ["OASIS\nk = 1\n0.500 (0.450 to 0.600)", "OASIS\nk = 2\n0.400"]),
    "text of the data is no markup, and a tick's name stands for its number": (
        {"x": [1.0, 2], "mean": [0.5, 0.4]}, replace(K, ticks=((1, "<b>"),)), P,
        ["OASIS\n&lt;b&gt;\nPrecision at top k: 0.500", "OASIS\nk = 2\nPrecision at top k: 0.400"]),
    "durations are told as people say them, and 0 has no place on a logarithmic axis": (
        {"x": [0.0, 10, 100], "mean": [1.0, 90, 5400]}, Axis("Step", "log"), Axis("Time", "log", text="time"),
        ["OASIS\nStep: 10\nTime: 1.5 min", "OASIS\nStep: 100\nTime: 1.5 h"]),
    "what lies outside the axes, has no number or stands behind is not told": (
        {"x": [1.0, 2, 3], "mean": [0.5, np.nan, 0.4]}, replace(K, low=0, high=2.5), P,
        ["OASIS\nk = 1\nPrecision at top k: 0.500"]),
}  # fmt: skip


@pytest.mark.parametrize("case", TITLES)
def test_a_drawing_tells_the_numbers_of_its_points(case, tmp_path):
    columns, x, y, titles = TITLES[case]
    frame, chart = pd.DataFrame(columns), Chart(2)
    chart.panel("", x, y, [Curve("OASIS", OASIS, frame), Curve("behind", THIN, frame)])
    chart.panel("", Axis(), Axis(), empty="not run")
    save(chart.drawn(frame), tmp_path / "fig", toy_study("toy"))
    drawing = (tmp_path / "fig.svg").read_text(encoding="utf-8")
    assert re.findall('fill="transparent"><title>([^<]*)</title>', drawing) == titles


def test_titles_lie_on_their_points(tmp_path):
    frame = pd.DataFrame({"x": [0.0, 4, 10], "y": [0.0, 1, 5]})
    chart, look = Chart(1), Look("#123456", "o", kind="points")
    chart.panel("", Axis(low=0, high=10), Axis(low=0, high=5), [Curve("a", look, frame, "x", "y", None)])
    save(chart.drawn(frame), tmp_path / "fig", toy_study("toy"))
    drawing = (tmp_path / "fig.svg").read_text(encoding="utf-8")
    markers = re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)" style="fill: #123456', drawing)
    discs = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawing)
    assert len(discs) == 3
    np.testing.assert_allclose(np.array(discs, float), np.array(markers, float)[:3], atol=0.06)
