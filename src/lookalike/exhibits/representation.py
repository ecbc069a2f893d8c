"""Pictures that explain the image representation: what a code, a block, a palette and a visterm are.

None of them holds a result. `lookalike.exhibits.lbp_example` is Figure 2 of the OASIS paper (JMLR 2010) drawn by the
code that describes images; the others show what that code did with a user's own images. Each function takes arrays and
returns a matplotlib figure, which `style.save_figure` writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.lbp_example import draw_lbp_example, example_patch
from lookalike.exhibits.sidecar import write_sidecar
from lookalike.exhibits.style import BLUE, GREY, VERMILLION, new_figure, paper_style, save_figure
from lookalike.exhibits.visterm_montage import draw_common_visterms
from lookalike.features import lbp, pyramid

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Image = npt.NDArray[np.uint8]


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


@dataclass(frozen=True)
class Material:
    """What the pictures of one data set are drawn from.

    Attributes
    ----------
    dataset, title : str
        Id and title of the data set.
    synthetic : bool
        Whether its images are made by code; captions say so.
    root : Path
        Folder that the manifest's paths are relative to.
    manifest, pool : pandas.DataFrame
        Manifest, and the images that palette and codebook were learned from.
    palette : ndarray of shape (n_colours, 3), float32
    codebook : ndarray of shape (n_words, 59 + n_colours), float32
    block_files : list of paths
    hellinger : bool
        Whether the codebook was learned from square roots.
    sources : sequence of str
        Files that all this was read from, kept in the sidecar.
    """

    dataset: str
    title: str
    synthetic: bool
    root: Path
    manifest: pd.DataFrame
    pool: pd.DataFrame
    palette: npt.NDArray[np.float32]
    codebook: npt.NDArray[np.float32]
    block_files: list[str | os.PathLike[str]]
    hellinger: bool = False
    sources: Sequence[str] = ()

    def load(self, path: str) -> Image:
        """Return the pixels of one image of the manifest."""
        from lookalike.core.images import load_rgb

        return load_rgb(self.root / path)

    def example_path(self) -> str:
        """Return the path of the pool's image that is nearest to 400x300 in its number of blocks."""
        rows = self.manifest[self.manifest["image_id"].isin(self.pool["image_id"])]
        n_blocks = [pyramid.count_blocks(w, h) for w, h in zip(rows["width"], rows["height"], strict=True)]
        return str(rows["path"].iloc[int(np.argmin(np.abs(np.array(n_blocks) - pyramid.count_blocks(400, 300))))])


def write_picture(name: str, material: Material, folder: str | os.PathLike[str], paper: str) -> list[Path]:
    """Draw one picture of a data set's representation and write it with its sidecar.

    Parameters
    ----------
    name : {"fig2", "block_grid", "palette", "visterms"}
    material : Material
    folder : path
        Where ``{name}.png``, ``.svg``, ``.pdf`` and ``.json`` go.
    paper : str
        Paper id, or ``representation`` for pictures that no paper prints.

    Returns
    -------
    list of Path

    Raises
    ------
    LookalikeError
        When there is no such picture.
    """
    if name not in _PICTURES:
        raise LookalikeError(f"there is no picture {name!r}: choose one of {', '.join(_PICTURES)}")
    picture = _PICTURES[name]
    figure, caption = picture.draw(material)
    written = save_figure(figure, Path(folder) / name)
    images = f"{material.title}, synthetic images" if material.synthetic else material.title
    sidecar = write_sidecar(
        folder,
        paper=paper,
        name=name,
        kind="picture",
        title=picture.title,
        caption=f"{caption} ({images})",
        dataset=material.dataset,
        dataset_title=material.title,
        synthetic=material.synthetic,
        files=written,
        drawn_by=picture.drawn_by,
        sources=material.sources,
    )
    return [*written, sidecar]


@dataclass(frozen=True)
class _Picture:
    """One picture: its title, the module that draws it, and what draws it from a material, with its caption."""

    title: str
    drawn_by: str
    draw: Callable[[Material], tuple[Figure, str]]


def _picture_of_pattern(material: Material) -> tuple[Figure, str]:
    caption = (
        "How a pixel's local binary pattern LBP(8,2) is read off its neighbours, as in Figure 2 of the JMLR paper, "
        "drawn by the code that describes images."
    )
    return draw_lbp_example(example_patch(lbp.luma(material.load(material.example_path())))), caption


def _picture_of_blocks(material: Material) -> tuple[Figure, str]:
    caption = "The blocks that are described at each scale; two neighbours, which share a half, are outlined."
    return draw_block_grid(material.load(material.example_path())), caption


def _picture_of_palette(material: Material) -> tuple[Figure, str]:
    from lookalike.features.descriptors import read_blocks

    counts = np.zeros(len(material.palette), np.int64)
    for path in material.block_files:
        counts += read_blocks(path).counts[:, lbp.N_BINS :].sum(axis=0, dtype=np.int64)
    caption = (
        "The colours that pixels are counted by, learned by k-means from the codebook pool, with the share of the "
        "pixels of all blocks that each takes."
    )
    return draw_palette(material.palette, counts), caption


def _picture_of_visterms(material: Material) -> tuple[Figure, str]:
    montage = draw_common_visterms(
        material.load, material.manifest, material.block_files, material.codebook, hellinger=material.hellinger
    )
    caption = (
        f"{_in_words(montage.n_words).capitalize()} commonest visterms among {montage.n_images:,} images; each row: "
        f"blocks from {_in_words(montage.n_samples)} different images, enlarged from their own scale."
    )
    return montage.figure, caption


def _in_words(number: int) -> str:
    """Return a number up to twelve as a word, a larger one in figures."""
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    return words[number] if number < len(words) else f"{number:,}"


_PICTURES = {
    "fig2": _Picture("Figure 2: a local binary pattern", "lookalike.exhibits.lbp_example", _picture_of_pattern),
    "block_grid": _Picture("Blocks of an image", "lookalike.exhibits.representation", _picture_of_blocks),
    "palette": _Picture("The colour palette", "lookalike.exhibits.representation", _picture_of_palette),
    "visterms": _Picture("The commonest visterms", "lookalike.exhibits.visterm_montage", _picture_of_visterms),
}
