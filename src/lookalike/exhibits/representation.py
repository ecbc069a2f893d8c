"""Pictures that explain the image representation: what a code, a block, a palette and a visterm are.

None of them holds a result. `draw_lbp_example` is Figure 2 of the OASIS paper (JMLR 2010) drawn by the code that
describes images; the others show what that code did with a user's own images. Each function takes arrays and returns a
matplotlib figure, which `style.save_figure` writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.errors import LookalikeError
from lookalike.exhibits.style import BLUE, GREY, VERMILLION, new_figure, paper_style
from lookalike.features import lbp, pyramid

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Image = npt.NDArray[np.uint8]

_SIDE = 2 * lbp.RADIUS + 1


def circle_points() -> npt.NDArray[np.float64]:
    """Return where the eight points of LBP(8, 2) lie, relative to the centre.

    Returns
    -------
    ndarray of shape (8, 2), float64
        x to the right and y downwards, in pixels; point i at 45 degrees times i, anticlockwise from the right.
    """
    angles = 2 * np.pi * np.arange(lbp.N_POINTS) / lbp.N_POINTS
    return lbp.RADIUS * np.column_stack([np.cos(angles), -np.sin(angles)])


def circle_values(patch: Image) -> npt.NDArray[np.float64]:
    """Return the interpolated grey values at the eight points around the centre of a 5x5 patch.

    Parameters
    ----------
    patch : ndarray of shape (5, 5), uint8

    Returns
    -------
    ndarray of shape (8,), float64
    """
    values = np.empty(lbp.N_POINTS)
    grey = patch.astype(np.float64)
    for i, (dx, dy) in enumerate(circle_points().round(12)):
        x, y = dx + lbp.RADIUS, dy + lbp.RADIUS
        left, top = min(int(x), _SIDE - 2), min(int(y), _SIDE - 2)
        across, down = x - left, y - top
        upper = (1 - across) * grey[top, left] + across * grey[top, left + 1]
        lower = (1 - across) * grey[top + 1, left] + across * grey[top + 1, left + 1]
        values[i] = (1 - down) * upper + down * lower
    return values


def draw_lbp_example(patch: Image) -> Figure:
    """Draw how one pixel gets its local binary pattern (JMLR 2010, Figure 2).

    Parameters
    ----------
    patch : ndarray of shape (5, 5), uint8
        Luma of a pixel (in the middle) and its neighbours.

    Returns
    -------
    matplotlib Figure
        Left, the pixels with the circle of radius 2 and its eight points; right, each point's value and bit.
    """
    if patch.shape != (_SIDE, _SIDE) or patch.dtype != np.uint8:
        raise ValueError(f"LBP(8, 2) is drawn on a uint8 patch of 5x5 pixels, not {patch.dtype} {patch.shape}")
    pattern = int(lbp.lbp_patterns(patch)[lbp.RADIUS, lbp.RADIUS])
    bits = [pattern >> i & 1 for i in range(lbp.N_POINTS)]
    with paper_style():
        figure = new_figure(6.4, 3.1)
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.05))
        _draw_neighbourhood(left, patch, bits)
        _draw_bits(right, patch, bits, pattern)
    return figure


def _draw_neighbourhood(axis: Axes, patch: Image, bits: list[int]) -> None:
    from matplotlib.patches import Circle

    # a range of greys on which black numbers can be read
    axis.imshow(patch, cmap="gray", vmin=-120, vmax=260, extent=(-2.5, 2.5, 2.5, -2.5))
    for (row, column), value in np.ndenumerate(patch):
        x, y = column - lbp.RADIUS, row - lbp.RADIUS
        outward = 0.26 * np.sign(x) * (abs(x) == lbp.RADIUS)  # clear of the circle
        below = -0.36 if y == -lbp.RADIUS else 0.36
        axis.text(x + outward, y + below, str(value), ha="center", va="center", fontsize=6, color="black")
    axis.plot(0, 0, "s", color="black", markersize=7)
    axis.add_patch(Circle((0, 0), lbp.RADIUS, fill=False, color=BLUE, linewidth=1))
    for i, (x, y) in enumerate(circle_points()):
        axis.plot(x, y, "o", markersize=12, color=BLUE, markerfacecolor=_fill(bits[i]))
        axis.text(x, y, str(i), ha="center", va="center_baseline", fontsize=7, color="white" if bits[i] else "black")
    axis.set(xticks=[], yticks=[], xlim=(-2.6, 2.6), ylim=(2.6, -2.6), title="eight points at radius 2")
    axis.set_aspect("equal")
    axis.spines[:].set_visible(False)
    axis.grid(False)


def _fill(bit: int) -> str:
    """Return the colour inside a point: filled where it is at least the centre."""
    return BLUE if bit else "white"


def _draw_bits(axis: Axes, patch: Image, bits: list[int], pattern: int) -> None:
    centre = int(patch[lbp.RADIUS, lbp.RADIUS])
    axis.axis("off")
    axis.set(xlim=(0, 1), ylim=(10.6, -0.8), title="at least the centre: 1, darker: 0")
    columns = (0.12, 0.36, 0.6, 0.86)
    for x, head in zip(columns, ("point", "value", "centre", "bit"), strict=True):
        axis.text(x, -0.3, head, ha="center", va="center", color=GREY)
    for i, value in enumerate(circle_values(patch)):
        sign = "≥" if bits[i] else "<"
        row = (str(i), f"{value:.2f}" if i % 2 else f"{value:.0f}", f"{sign}  {centre}", str(bits[i]))
        axis.plot(columns[-1], i + 0.7, "o", markersize=11, color=BLUE, markerfacecolor=_fill(bits[i]))
        for x, text in zip(columns, row, strict=True):
            on_blue = x == columns[-1] and bits[i]
            axis.text(x, i + 0.7, text, ha="center", va="center_baseline", color="white" if on_blue else "black")
    n_changes = sum(bits[i] != bits[i - 1] for i in range(lbp.N_POINTS))
    kind = "uniform" if n_changes <= 2 else "not uniform"
    axis.plot([0.02, 0.98], [8.35, 8.35], color=GREY, linewidth=0.7)
    string = "".join(map(str, bits))
    axis.text(0.5, 9.1, f"pattern {string}", ha="center", va="center", weight="bold", family="DejaVu Sans Mono")
    n_bin = int(lbp.pattern_bins()[pattern])
    axis.text(
        0.5, 10.1, f"{n_changes} changes around the circle: {kind}, bin {n_bin} of 0 to 58", ha="center", va="center"
    )


def draw_block_grid(image: Image, max_levels: int = 6) -> Figure:
    """Draw the blocks of an image at each pyramid level, all levels to one scale.

    Parameters
    ----------
    image : ndarray of shape (height, width, 3), uint8
    max_levels : int
        The most levels to draw; the title counts all.

    Returns
    -------
    matplotlib Figure
        One panel per level, with lines every 32 pixels and two neighbouring 64x64 blocks, which share a half, outlined.

    Raises
    ------
    LookalikeError
        When the image is too small to have a level.
    """
    height, width = image.shape[:2]
    levels = list(pyramid.levels(image))
    if not levels:
        raise LookalikeError(
            f"an image of {width}x{height} pixels has fewer than 10 blocks of 64x64: choose a larger one to draw"
        )
    drawn = levels[:max_levels]
    widths = [level.shape[1] for level in drawn]
    inches = min(9.6 / sum(widths), 3.6 / height)
    title = f"{pyramid.count_blocks(width, height):,} blocks of 64×64 pixels, 32 apart, in {len(levels)} levels"
    with paper_style():
        figure = new_figure(inches * sum(widths) + 0.25 * len(drawn), inches * height + 1.0)
        figure.suptitle(title if len(drawn) == len(levels) else f"{title}; the first {len(drawn)}", fontsize=9)
        panels = figure.subplots(1, len(drawn), squeeze=False, width_ratios=widths)[0]
        for number, (axis, level) in enumerate(zip(panels, drawn, strict=True)):
            _draw_level(axis, level, number, height)
    return figure


def _draw_level(axis: Axes, level: Image, number: int, full_height: int) -> None:
    from matplotlib.patches import Rectangle

    height, width = level.shape[:2]
    rows, columns = pyramid.grid_shape(width, height)
    axis.imshow(level, extent=(0, width, height, 0), interpolation="antialiased")
    axis.set(xlim=(0, width), ylim=(full_height, 0), aspect="equal", anchor="NW", xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    x = np.arange(columns + 2) * pyramid.STRIDE
    y = np.arange(rows + 2) * pyramid.STRIDE
    thin = min(1.0, 20 / max(rows, columns))  # large images have many lines
    for colour, thickness in (("white", 1.2 * thin), (GREY, 0.5 * thin)):  # seen on dark and on light ground
        axis.vlines(x, 0, y[-1], color=colour, linewidth=thickness)
        axis.hlines(y, 0, x[-1], color=colour, linewidth=thickness)
    axis.add_patch(Rectangle((0, 0), width, height, fill=False, edgecolor=GREY, linewidth=0.8, clip_on=False))
    left, top = x[(columns - 1) // 2], y[(rows - 1) // 2]
    for corner, colour, dashes in ((left, VERMILLION, "-"), (left + pyramid.STRIDE, BLUE, (0, (2, 2)))):
        block = Rectangle(
            (corner, top),
            pyramid.BLOCK,
            pyramid.BLOCK,
            fill=False,
            edgecolor=colour,
            linewidth=2.2,
            linestyle=dashes,
            zorder=3,
        )
        axis.add_patch(block)
    label = f"level {number}\n{width}×{height}\n{columns}×{rows} = {rows * columns:,}"
    axis.set_title(label, fontsize=7, loc="left")


def draw_palette(palette: npt.NDArray[np.float32], counts: npt.ArrayLike | None = None) -> Figure:
    """Draw the colours of a palette, with the share of pixels that each takes.

    Parameters
    ----------
    palette : ndarray of shape (n_colours, 3), float32
        RGB in 0..255.
    counts : array-like of shape (n_colours,), optional
        Pixels per colour, in any unit; bars have equal length without.

    Returns
    -------
    matplotlib Figure
    """
    n = len(palette)
    shares = None if counts is None else np.asarray(counts, dtype=np.float64)
    if shares is not None and (shares.shape != (n,) or shares.sum() <= 0):
        raise ValueError(f"counts must hold a number for each of the {n} colours, not shape {shares.shape}")
    lengths = np.ones(n) if shares is None else shares / shares.sum()
    longest = lengths.max()
    with paper_style():
        figure = new_figure(4.6, 0.19 * n + 0.75)
        axis = figure.subplots()
        rows = np.arange(n)
        axis.barh(rows, lengths, color=palette / 255, edgecolor=GREY, linewidth=0.5, height=0.8)
        for row in rows if shares is not None else ():
            axis.text(lengths[row] + 0.01 * longest, float(row), f"{lengths[row]:.1%}", va="center", fontsize=6.5)
        axis.set_yticks(rows, [f"{row}   {_hex(palette[row])}" for row in rows], family="DejaVu Sans Mono")
        axis.set(ylim=(n - 0.4, -0.6), xlim=(0, 1.12 * longest), title=f"palette of {n} colours, dark to light")
        axis.tick_params(left=False)
        axis.grid(False)
        if shares is None:
            axis.set_xticks([])
            axis.spines[:].set_visible(False)
        else:
            axis.set_xlabel("share of pixels")
            axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    return figure


def _hex(colour: npt.NDArray[np.float32]) -> str:
    return "#" + "".join(f"{int(channel):02x}" for channel in np.rint(colour))


class _Occurrences(NamedTuple):
    """Which word each block of some images is: parallel arrays over blocks, and the number of images."""

    image_id: npt.NDArray[np.int32]
    block: npt.NDArray[np.int64]
    word: npt.NDArray[np.int32]
    n_images: int


def draw_common_visterms(
    load_image: Callable[[str], Image],
    manifest: pd.DataFrame,
    block_files: Iterable[str | os.PathLike[str]],
    codebook: npt.NDArray[np.float32],
    n_words: int = 12,
    n_samples: int = 8,
    *,
    hellinger: bool = False,
    n_images: int = 400,
) -> Figure:
    """Draw blocks of the commonest visterms, one row of samples each.

    Parameters
    ----------
    load_image : callable
        Takes a path of the manifest, returns uint8 RGB pixels.
    manifest : pandas.DataFrame
        Columns `image_id`, `path`.
    block_files : iterable of paths
        What `features.descriptors.write_blocks` wrote.
    codebook : ndarray of shape (n_words_of_codebook, n_features), float32
    n_words : int
        Rows: the visterms that the most images hold; among equals, those with the most blocks.
    n_samples : int
        Blocks per row, each of another image, spread evenly over the images that hold the visterm.
    hellinger : bool
        Whether the codebook was learned from square roots.
    n_images : int
        Blocks are taken from so many images, spread evenly over the files.

    Returns
    -------
    matplotlib Figure
    """
    found = _find_words(list(block_files), codebook, hellinger, n_images)
    if found.n_images == 0:
        raise LookalikeError(
            "there are no described images to draw visterms from: describe the data set's images first"
        )
    commonest = _commonest_words(found, len(codebook))[:n_words]
    paths = dict(zip(manifest["image_id"], manifest["path"], strict=True))
    with paper_style():
        figure = new_figure(0.62 * n_samples + 1.5, 0.64 * len(commonest) + 0.5)
        figure.suptitle(f"the {len(commonest)} commonest of {len(codebook):,} visterms", fontsize=9)
        panels = figure.subplots(len(commonest), n_samples, squeeze=False)
        for word, row in zip(commonest, panels, strict=True):
            here = np.flatnonzero(found.word == word)
            _, first = np.unique(found.image_id[here], return_index=True)
            share, spread = len(here) / len(found.word), len(first) / found.n_images
            places = here[first][np.linspace(0, len(first) - 1, min(n_samples, len(first))).astype(int)]
            for axis in row:
                axis.set(xticks=[], yticks=[])
                axis.spines[:].set_visible(False)
            for axis, place in zip(row, places, strict=False):
                image = load_image(str(paths[found.image_id[place]]))
                axis.imshow(_crop(image, int(found.block[place])))
                axis.spines[:].set(visible=True, color=GREY)
            label = f"visterm {word}\n{spread:.0%} of images\n{share:.1%} of blocks"
            row[0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize=6.5, labelpad=4)
    return figure


def _commonest_words(found: _Occurrences, n_words: int) -> npt.NDArray[np.int64]:
    """Return the words that occur, those that the most images hold first, then those with the most blocks."""
    n_blocks = np.bincount(found.word, minlength=n_words)
    pairs = np.unique(found.image_id.astype(np.int64) * n_words + found.word)
    held_by = np.bincount(pairs % n_words, minlength=n_words)
    order = np.lexsort((-n_blocks, -held_by))
    return order[: np.count_nonzero(n_blocks)]


def _find_words(
    block_files: list[str | os.PathLike[str]], codebook: npt.NDArray[np.float32], hellinger: bool, n_images: int
) -> _Occurrences:
    """Assign the blocks of at most `n_images` images, spread evenly over all that have any."""
    from lookalike.features.codebook import assign
    from lookalike.features.descriptors import normalise, read_block_index, read_blocks

    with_blocks = [np.flatnonzero(np.diff(read_block_index(path)[1])) for path in block_files]
    total = sum(map(len, with_blocks))
    wanted = np.unique(np.linspace(0, total - 1, min(n_images, total)).astype(np.int64))
    ids, blocks, words = [np.empty(0, np.int32)], [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    start = 0
    for path, entries in zip(block_files, with_blocks, strict=True):
        chosen = entries[wanted[(wanted >= start) & (wanted < start + len(entries))] - start]
        start += len(entries)
        if not len(chosen):
            continue
        image_id, offsets, counts = read_blocks(path)
        for entry in chosen:
            part = counts[offsets[entry] : offsets[entry + 1]]
            ids.append(np.full(len(part), image_id[entry], np.int32))
            blocks.append(np.arange(len(part)))
            words.append(assign(normalise(part, hellinger), codebook))
    return _Occurrences(np.concatenate(ids), np.concatenate(blocks), np.concatenate(words), len(wanted))


def _crop(image: Image, block: int) -> Image:
    """Return the pixels of one block, cut from the original image."""
    from lookalike.features.descriptors import block_positions

    x, y, size, _ = block_positions(image.shape[1], image.shape[0])[block]
    return image[y : y + size, x : x + size]
