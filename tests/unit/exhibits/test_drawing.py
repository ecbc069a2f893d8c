"""Figures and galleries: the same bytes each time, one legend, and the same figure again from its sidecar."""

import numpy as np
import pandas as pd
import pytest
import toy
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.drawing import draw, save
from lookalike.exhibits.image_grid import WRONG, draw_gallery, tile_of
from lookalike.exhibits.model import Axis, Figure, Gallery, Panel, Series, Tile
from lookalike.exhibits.style import Look, paper_style


@pytest.mark.parametrize("make", [toy.figure, toy.gallery])
def test_the_same_numbers_give_the_same_bytes(make, tmp_path):
    study = toy.study(tmp_path)
    for name in "ab":
        save(make(study), tmp_path / name / "fig", study)
    for suffix in (".png", ".svg", ".pdf"):
        first, second = (tmp_path / name / f"fig{suffix}" for name in "ab")
        assert first.read_bytes() == second.read_bytes()


def test_lines_show_all_points_with_their_error_bars_and_the_legend_names_each_once():
    with paper_style():
        canvas = draw(toy.figure(None))
    (legend,), (axis, empty) = canvas.legends, canvas.axes
    assert sorted(text.get_text() for text in legend.get_texts()) == ["OASIS", "chance", "printed", "stop"]
    curve = max(axis.lines, key=lambda line: len(line.get_xdata()))
    assert np.allclose(curve.get_ydata(), 1 / np.arange(1, 31))
    assert len(axis.containers) == 1  # error bars of ours; print has none
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["one", "ten"]
    assert [text.get_text() for text in empty.texts] == ["nothing here"]


@pytest.mark.parametrize(
    "series",
    [
        Series("band", {}, "x", "y", Look("#000000", "o"), "low", "high", band=True),
        Series("steps", {}, "x", "y", Look("#000000", ""), kind="steps"),
        Series("thin", {}, "x", "y", Look("#000000", "o"), thin=True),
        Series("nowhere", {"y": -1}, "x", "y", Look("#000000", "o"), "low", "high"),
    ],
)
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_every_kind_of_series_draws_on_every_scale(series, scale):
    frame = pd.DataFrame({"x": [0.0, 1, 100], "y": [1.0, 2, np.nan], "low": 0.5, "high": [3, 3, np.nan]})
    panel = Panel("", Axis(scale=scale, tick_form="short" if scale == "log" else ""), Axis(reversed=True), (series,))
    with paper_style():
        canvas = draw(Figure(frame, (panel,)))
        canvas.draw_without_rendering()
    assert [text.get_text() for text in canvas.legends[0].get_texts()] == [series.name]


def test_tiles_are_thumbnails_and_an_image_that_cannot_be_read_fails_by_its_name(tmp_path):
    Image.fromarray(np.full((400, 200, 3), 7, dtype=np.uint8)).save(tmp_path / "a.png")
    assert tile_of(tmp_path / "a.png").image.shape == (160, 80, 3)
    (tmp_path / "broken.jpg").write_bytes(b"no image")
    with pytest.raises(LookalikeError, match=r"broken\.jpg"):
        tile_of(tmp_path / "broken.jpg", "a word", WRONG)


def test_a_gallery_has_a_legend_of_its_marks_and_an_empty_one_says_why(tmp_path):
    image = np.zeros((4, 8, 3), dtype=np.uint8)
    frame = pd.DataFrame({"image": [1]})
    full = Gallery(frame, ((Tile(image, box=(0, 0, 0.5, 0.5), corner="1"), Tile(image, mark=WRONG)),), heads=("query",))
    with paper_style():
        (legend,) = draw_gallery(full).legends
        empty = draw_gallery(Gallery(frame.iloc[:0], (), notes=("no query has another image",)))
    assert [text.get_text() for text in legend.get_texts()] == ["✗  wrong"]
    assert [text.get_text() for text in empty.texts] == ["no query has another image"]


def test_a_forest_has_its_error_bars_along_x():
    frame = pd.DataFrame({"x": [1.0, -2.0], "y": [0, 1], "low": [0.5, -3.0], "high": [2.0, -1.0]})
    forest = Series("a", {}, "x", "y", Look("#000000", "o"), "low", "high", kind="points", sideways=True)
    canvas = draw(Figure(frame, (Panel("", Axis(), Axis(), (forest,)),)))
    (bars,) = [container for container in canvas.axes[0].containers if container.has_xerr]
    assert [segment[:, 0].tolist() for segment in bars.lines[2][0].get_segments()] == [[-3.0, -1.0], [0.5, 2.0]]
