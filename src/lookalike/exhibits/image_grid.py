"""The one grid of images, by which galleries, montages, filters and examples of rankings are drawn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from lookalike.core.images import load_rgb, shrink
from lookalike.exhibits.model import Box, Mark, Tile
from lookalike.exhibits.style import BLACK, BLUE, GREY, ORANGE, VERMILLION, Style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

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
GAP, LINE = 0.05, 0.12
"""Room on each side of an image, and the height of a line of words, in inches."""


def tile_of(path: Path, words: str = "", mark: Mark | None = None, box: Box | None = None) -> Tile:
    """Return the tile of an image file; one that cannot be read is a `LookalikeError`, by which its exhibit fails."""
    return Tile(shrink(load_rgb(path), THUMBNAIL), words, mark, box)


def class_name(label: str) -> str:
    """Return the name of a class folder without its number: ``dog`` for ``056.dog``."""
    return re.sub(r"^\d+\.", "", label)


def draw_grid(
    rows: Sequence[Sequence[Tile]],
    row_titles: Sequence[str] = (),
    heads: Sequence[str] = (),
    tile: float = 1.05,
) -> Canvas:
    """Return images in rows on a Matplotlib canvas, with a legend of their marks; a `tile` is so many inches wide."""
    n_columns = max(map(len, rows))
    left = TITLE * any(row_titles)
    top = max((LINE * len(head.split("\n")) for head in heads if head), default=0.0)
    heights = [_heights(row, tile) for row in rows]
    width, height = left + tile * n_columns, top + sum(map(sum, heights))
    canvas = new_figure(width + 0.1, height + 0.5)
    # one pair of axes, in inches: drawing a pair for each image takes several times as long
    axis = canvas.add_subplot()
    for column, head in enumerate(heads):
        axis.text(left + tile * (column + 0.5), top, head, fontsize=7.5, ha="center", va="bottom")
    for place, (row, (tall, beneath)) in enumerate(zip(rows, heights, strict=True)):
        for column, image in enumerate(row):
            _draw_tile(axis, image, (left + tile * column, top, tile, tall))
        if place < len(row_titles):
            lines = [line for part in row_titles[place].split("\n") for line in wrap(part, 16)]
            axis.text(left - GAP, top + tall / 2, "\n".join(lines), fontsize=7, ha="right", va="center")
        top += tall + beneath
    axis.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
    axis.set_axis_off()
    _legend(canvas, dict.fromkeys(image.mark for row in rows for image in row if image.mark is not None))
    return canvas


def _heights(row: Sequence[Tile], width: float) -> tuple[float, float]:
    """Return the height of a row's images, which the tallest decides, and of the words beneath, in inches."""
    images = [(tile.image.shape, len(_lines(tile.words))) for tile in row if tile.image is not None]
    tallest = max((shape[0] / shape[1] for shape, _ in images), default=0.3)
    return (width - 2 * GAP) * min(tallest, 1.5) + 2 * GAP, LINE * max((lines for _, lines in images), default=0)


def _lines(words: str) -> list[str]:
    """Return words in lines, the last one cut where there are too many."""
    lines = [line for part in words.split("\n") for line in wrap(part, LETTERS)]
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], f"{lines[LINES - 1][: LETTERS - 1]}…"]


def _draw_tile(axis: Axes, tile: Tile, cell: tuple[float, float, float, float]) -> None:
    """Draw a tile in a cell (left, top, width and height in inches), with its words beneath the cell."""
    from matplotlib.patches import Rectangle

    left, top, width, height = cell
    words, middle, bottom = "\n".join(_lines(tile.words)), left + width / 2, top + height - GAP
    if tile.image is None:
        axis.text(middle, top + height / 2, words, fontsize=6.5, ha="center", va="center")
        return
    axis.text(middle, bottom + GAP, words, fontsize=6.5, ha="center", va="top")
    rows, columns = tile.image.shape[:2]
    scale = min((width - 2 * GAP) / columns, (height - 2 * GAP) / rows)
    left, wide, high = middle - scale * columns / 2, scale * columns, scale * rows
    axis.imshow(tile.image, cmap="gray", vmin=0, vmax=255, extent=(left, left + wide, bottom, bottom - high))
    colour, line, thick = (tile.mark.colour, tile.mark.line, 2.0) if tile.mark is not None else (BLACK, "-", 0.6)
    frame: Style = {"fill": False, "joinstyle": "miter", "clip_on": False}
    axis.add_patch(Rectangle((left, bottom), wide, -high, edgecolor=colour, linestyle=line, linewidth=thick, **frame))
    if tile.mark is not None:
        sign: Style = {"fontsize": 7, "fontweight": "bold", "ha": "left", "va": "top", "color": colour}
        sign["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        axis.text(left + 0.03, bottom - high + 0.03, tile.mark.sign, **sign)
    if tile.box is not None:
        across, up, right, down = tile.box
        start, size = (left + wide * across, bottom - high * (1 - up)), (wide * (right - across), high * (down - up))
        axis.add_patch(Rectangle(start, *size, edgecolor=VERMILLION, linewidth=1.0, **frame))


def _legend(canvas: Canvas, marks: Iterable[Mark]) -> None:
    """Draw a legend of the marks, if there are any."""
    from matplotlib.patches import Patch

    handles = [Patch(facecolor="white", edgecolor=mark.colour, linestyle=mark.line, linewidth=1.6) for mark in marks]
    labels = [f"{mark.sign}  {mark.meaning}" for mark in marks]
    if handles:
        canvas.legend(handles, labels, loc="outside lower center", ncols=min(3, len(handles)))
