"""The one grid of images, by which galleries, montages, filters and examples of rankings are drawn; and thumbnails."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.images import load_rgb, shrink
from lookalike.exhibits.model import Gallery, Mark, Picture, Tile
from lookalike.exhibits.style import BLACK, BLUE, GREY, ORANGE, VERMILLION, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Image = npt.NDArray[np.uint8]

THUMBNAIL = 160
"""Longer side of a thumbnail, in pixels: what a page shows, and little to keep in a PDF."""
QUERY = Mark("q", BLACK, "-", "query")
RIGHT = Mark("✓", BLUE, "-", "right")
JUNK = Mark("–", GREY, ":", "junk, which is not counted")
WRONG = Mark("✗", ORANGE, "--", "wrong")
POSITIVE = Mark("+", BLUE, "-", "positive")
NEGATIVE = Mark("–", ORANGE, "--", "negative")
LETTERS, LINES = 20, 3
"""Letters of a line beneath an image, and how many lines there may be."""
TITLE = 0.9
"""Width of the words left of a row, in inches."""
BENEATH = 0.32
"""Height of the words beneath an image, in inches."""
PLACEHOLDER_GREY = 215


def thumbnail_of(path: Path, side: int = THUMBNAIL) -> Image | None:
    """Return the thumbnail of an image file, `side` pixels at its longer side; None where it cannot be read."""
    try:
        return shrink(load_rgb(path), side)
    except LookalikeError:
        return None


def tile_of(path: Path, words: str = "", mark: Mark | None = None, **more: Any) -> Tile:
    """Return the tile of an image file; one that cannot be read has a grey place that says so."""
    image = thumbnail_of(path)
    if image is None:
        grey = np.full((THUMBNAIL * 3 // 4, THUMBNAIL, 3), PLACEHOLDER_GREY, dtype=np.uint8)
        return Tile(grey, f"cannot be read: {path.name}", mark, **more)
    return Tile(image, words, mark, **more)


def class_name(label: str) -> str:
    """Name of a class folder without its number: ``dog`` of ``056.dog``."""
    return re.sub(r"^\d+\.", "", label)


def draw_gallery(gallery: Gallery) -> Canvas:
    """Return a gallery on a Matplotlib canvas, with a legend of the marks that it has."""
    if not gallery.rows:
        empty = empty_picture(gallery.notes[0] if gallery.notes else "nothing to show")
        canvas = new_figure(*empty.size)
        empty.paint(canvas)
        return canvas
    n_columns = max(len(row) for row in gallery.rows)
    beside = TITLE if any(gallery.row_titles) else 0.0
    heights = [_height(row, gallery.tile) for row in gallery.rows]
    canvas = new_figure(beside + gallery.tile * n_columns + 0.2, sum(heights) + 0.2 * bool(gallery.heads) + 0.3)
    axes = canvas.subplots(len(gallery.rows), n_columns, squeeze=False, gridspec_kw={"height_ratios": heights})
    for place, row in enumerate(gallery.rows):
        for column, axis in enumerate(axes[place]):
            _draw_tile(axis, row[column] if column < len(row) else Tile(None))
        if place < len(gallery.row_titles):
            _say_beside(axes[place][0], gallery.row_titles[place])
    for axis, head in zip(axes[0], gallery.heads, strict=False):
        axis.set_title(head, fontsize=7.5)
    _legend(canvas, gallery)
    return canvas


def _height(row: tuple[Tile, ...], width: float) -> float:
    """Height of a row in inches: that of its tallest image, and of the words beneath."""
    tallest = max((tile.image.shape[0] / tile.image.shape[1] for tile in row if tile.image is not None), default=0.3)
    lines = max((len(_lines(tile.words)) for tile in row if tile.image is not None), default=0)
    return width * min(tallest, 1.5) + (BENEATH * lines / 2 if lines else 0.06)


def _lines(words: str) -> list[str]:
    lines = [line for part in words.split("\n") for line in wrap(part, LETTERS)]
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], f"{lines[LINES - 1][: LETTERS - 1]}…"]


def _draw_tile(axis: Axes, tile: Tile) -> None:
    axis.set(xticks=[], yticks=[], anchor="S")
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    words = "\n".join(_lines(tile.words))
    if tile.image is None:
        axis.text(0.5, 0.5, words, transform=axis.transAxes, fontsize=6.5, ha="center", va="center")
        return
    if words:
        axis.set_xlabel(words, fontsize=6.5, labelpad=3)
    grey: dict[str, Any] = {"cmap": "gray", "vmin": 0, "vmax": 255} if tile.image.ndim == 2 else {}
    axis.imshow(tile.image, **grey)
    if tile.mark is None:
        axis.spines[:].set(visible=True, color=BLACK, linewidth=0.6)
    else:
        axis.spines[:].set(visible=True, color=tile.mark.colour, linewidth=2.0, linestyle=tile.mark.line)
        _in_corner(axis, 0.97, "top", tile.mark.sign, tile.mark.colour)
    if tile.corner:
        _in_corner(axis, 0.03, "bottom", tile.corner, BLACK)
    if tile.box is not None:
        left, top, right, bottom = tile.box
        height, width = tile.image.shape[:2]
        axis.plot(
            np.array([left, right, right, left, left]) * width - 0.5,
            np.array([top, top, bottom, bottom, top]) * height - 0.5,
            color=VERMILLION,
            linewidth=1.0,
        )


def _in_corner(axis: Axes, y: float, align: Any, text: str, colour: str) -> None:
    axis.text(
        0.03, y, text, transform=axis.transAxes, fontsize=7, color=colour, ha="left", va=align, fontweight="bold",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )  # fmt: skip


def _say_beside(axis: Axes, text: str) -> None:
    lines = [line for part in text.split("\n") for line in wrap(part, 16)]
    axis.annotate(
        "\n".join(lines), (0, 0.5), xycoords="axes fraction", xytext=(-6, 0), textcoords="offset points",
        ha="right", va="center", fontsize=7, annotation_clip=False,
    )  # fmt: skip


def _legend(canvas: Canvas, gallery: Gallery) -> None:
    from matplotlib.patches import Patch

    marks = dict.fromkeys(tile.mark for row in gallery.rows for tile in row if tile.mark is not None)
    if not marks:
        return
    handles = [
        Patch(
            facecolor="white", edgecolor=mark.colour, linestyle=mark.line, linewidth=1.6,
            label=f"{mark.sign}  {mark.meaning}",
        )
        for mark in marks
    ]  # fmt: skip
    canvas.legend(handles=handles, loc="outside lower center", ncols=min(3, len(handles)))


def empty_picture(why: str) -> Picture:
    """Return a picture that says why there is nothing to show."""

    def paint(canvas: Canvas) -> None:
        canvas.text(0.5, 0.5, why, ha="center", va="center", fontsize=8, color=VERMILLION, wrap=True)

    return Picture(pd.DataFrame({"image_id": []}), paint, (6.2, 0.9), (why,))
