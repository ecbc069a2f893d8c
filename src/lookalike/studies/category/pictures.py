"""Pictures that explain the image representation: what a code, a block, a palette and a visterm are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.files import read_json
from lookalike.core.images import load_rgb
from lookalike.exhibits.model import Gallery, Picture, Tile
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import BLUE, GREY, VERMILLION
from lookalike.features import pyramid
from lookalike.studies.category.study import CategoryStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Image = npt.NDArray[np.uint8]

MAX_LEVELS = 6
"""Levels of the pyramid that are drawn; the notes count all."""
N_WORDS, N_SAMPLES, N_IMAGES = 12, 8, 400
"""Visterms and blocks of each that are shown, and images among which they are the commonest."""


@exhibit("oasis-jmlr-2010/fig2", title="A local binary pattern", needs=("images", "manifest", "pool"), shows=())
def local_binary_pattern(study: CategoryStudy) -> Picture:
    """How the local binary pattern LBP(8,2) of a pixel is read off its neighbours."""
    from lookalike.core.images import luma
    from lookalike.features import lbp
    from lookalike.studies.category import lbp_example

    patch = lbp_example.example_patch(luma(example_image(study)))
    _, bits = lbp_example.pattern_of(patch)
    frame = pd.DataFrame({"point": range(lbp.N_POINTS), "value": lbp_example.circle_values(patch), "bit": bits})
    return Picture(frame, lambda canvas: lbp_example.paint(canvas, patch), (6.4, 3.1))


@exhibit("representation/block_grid", title="Blocks of an image", needs=("images", "manifest", "pool"))
def block_grid(study: CategoryStudy) -> Picture:
    """Which parts of an image are described: blocks of 64×64 pixels at each scale, two of which are outlined."""
    return picture_of_blocks(example_image(study))


@exhibit("representation/palette", title="The colour palette", needs=("palette", "blocks"))
def colour_palette(study: CategoryStudy) -> Picture:
    """Which colours pixels are counted by, with their shares of all pixels; k-means learned them."""
    from lookalike.features import lbp
    from lookalike.features.descriptors import Blocks
    from lookalike.features.shards import load_shard

    palette = np.load(study.path("palette"))
    counts = np.zeros(len(palette), np.int64)
    for path in study.files["blocks"]:
        counts += load_shard(Blocks, path).counts[:, lbp.N_BINS :].sum(axis=0, dtype=np.int64)
    return picture_of_palette(palette, counts)


@exhibit("representation/visterms", title="The commonest visterms", needs=("images", "manifest", "codebook", "blocks"))
def common_visterms(study: CategoryStudy) -> Gallery:
    """What visterms stand for: each row shows blocks of one of the commonest, each from another image."""
    codebook = np.load(study.path("codebook"))
    hellinger = study.own_representation.hellinger
    found, n_images = find_words(study.files["blocks"], codebook, hellinger)
    paths = study.table("manifest").set_index("image_id")["path"]
    # those that the most images hold, then those with the most blocks
    counts = found.groupby("word")["image_id"].agg(["nunique", "size"])
    words = counts.sort_values(["nunique", "size"], ascending=False, kind="stable").index[:N_WORDS]
    rows, titles, records = [], [], []
    for word in words:
        held_by, n_blocks = counts.loc[word]
        # a row has blocks of different images, spread evenly over those that hold the visterm
        own = found[found["word"] == word].drop_duplicates("image_id").sort_values("image_id")
        samples = own.iloc[np.linspace(0, held_by - 1, min(N_SAMPLES, held_by)).astype(int)]
        shares = {"of_images": held_by / n_images, "of_blocks": n_blocks / len(found)}
        places = list(zip(samples["image_id"].tolist(), samples["block"].tolist(), strict=True))
        rows.append(tuple(Tile(_crop(load_image(study, str(paths[image])), block)) for image, block in places))
        titles.append(f"visterm {word}\n{shares['of_images']:.0%} of images\n{shares['of_blocks']:.1%} of blocks")
        records += [{"word": word, "image_id": image, "block": block, **shares} for image, block in places]
    note = f"The {len(words)} commonest of {len(codebook):,} visterms among {n_images:,} images."
    return Gallery(pd.DataFrame(records), tuple(rows), tuple(titles), notes=(note,), tile=0.62)


def load_image(study: CategoryStudy, path: str) -> Image:
    """Return the pixels of one image of the manifest."""
    return load_rgb(Path(read_json(study.path("images"))["root"]) / path)


def example_image(study: CategoryStudy) -> Image:
    """Return the image of the codebook pool that is nearest to 400x300 in its number of blocks."""
    manifest = study.table("manifest")
    rows = manifest[manifest["image_id"].isin(study.table("pool")["image_id"])]
    n_blocks = [pyramid.count_blocks(w, h) for w, h in zip(rows["width"], rows["height"], strict=True)]
    nearest = int(np.argmin(np.abs(np.array(n_blocks) - pyramid.count_blocks(400, 300))))
    return load_image(study, str(rows["path"].iloc[nearest]))


def picture_of_blocks(image: Image) -> Picture:
    """Blocks of an image at each pyramid level, all levels to one scale."""
    height, levels = len(image), list(pyramid.levels(image))
    shapes = [level.shape[1::-1] for level in levels]
    sizes = [(width, height, *reversed(pyramid.grid_shape(width, height))) for width, height in shapes]
    frame = pd.DataFrame(sizes, columns=["width", "height", "columns", "rows"]).rename_axis("level").reset_index()
    frame["blocks"] = frame["rows"] * frame["columns"]
    drawn = levels[:MAX_LEVELS]
    widths = [level.shape[1] for level in drawn]
    inches = min(9.6 / sum(widths), 3.6 / height)

    def paint(canvas: Canvas) -> None:
        panels = canvas.subplots(1, len(drawn), squeeze=False, width_ratios=widths)[0]
        for number, (axis, level) in enumerate(zip(panels, drawn, strict=True)):
            _draw_level(axis, level, number, height)

    note = f"{frame['blocks'].sum():,} blocks of 64×64 pixels, 32 apart, in {len(levels)} levels"
    more = "." if len(drawn) == len(levels) else f"; the first {len(drawn)} are drawn."
    size = (inches * sum(widths) + 0.25 * len(drawn), inches * height + 0.9)
    return Picture(frame, paint, size, notes=(note + more,))


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
    outline = partial(Rectangle, fill=False, clip_on=False)
    axis.add_patch(outline((0, 0), width, height, edgecolor=GREY, linewidth=0.8))
    left, top = x[(columns - 1) // 2], y[(rows - 1) // 2]
    for corner, colour, dashes in ((left, VERMILLION, "-"), (left + pyramid.STRIDE, BLUE, (0, (2, 2)))):
        block = outline((corner, top), pyramid.BLOCK, pyramid.BLOCK, edgecolor=colour, linestyle=dashes)
        block.set(linewidth=2.2, zorder=3)
        axis.add_patch(block)
    label = f"level {number}\n{width}×{height} pixels\n{columns}×{rows} = {rows * columns:,} blocks"
    axis.set_title(label, fontsize=7, loc="left")


def picture_of_palette(palette: npt.NDArray[np.float32], counts: npt.NDArray[np.int64]) -> Picture:
    """Colours of a palette, RGB in 0..255, with the share of pixels that each takes."""
    n = len(palette)
    colours = [f"#{colour.tobytes().hex()}" for colour in np.rint(palette).astype(np.uint8)]
    frame = pd.DataFrame({"colour": colours, "share": counts / counts.sum()})

    def paint(canvas: Canvas) -> None:
        axis = canvas.subplots()
        shares, longest = frame["share"], float(frame["share"].max())
        axis.barh(range(n), shares, color=palette / 255, edgecolor=GREY, linewidth=0.5, height=0.8)
        for row, share in enumerate(shares):
            axis.text(share + 0.01 * longest, row, f"{share:.1%}", va="center", fontsize=6.5)
        names = [f"{row}   {colour}" for row, colour in enumerate(frame["colour"])]
        axis.set_yticks(range(n), names, family="DejaVu Sans Mono")
        axis.set(ylim=(n - 0.4, -0.6), xlim=(0, 1.12 * longest), xlabel="share of pixels")
        axis.tick_params(left=False)
        axis.grid(visible=False)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")

    return Picture(frame, paint, (4.6, 0.19 * n + 0.75), notes=(f"Palette of {n} colours, dark to light.",))


def find_words(
    block_files: Sequence[str], codebook: npt.NDArray[np.float32], hellinger: bool
) -> tuple[pd.DataFrame, int]:
    """Word of each block, ``image_id, block, word``, of at most `N_IMAGES` images, spread evenly; and their number."""
    from lookalike.features.codebook import assign
    from lookalike.features.descriptors import Blocks, normalise
    from lookalike.features.shards import load_index, load_shard

    with_blocks = [np.flatnonzero(np.diff(load_index(path)[1])) for path in block_files]
    total = sum(map(len, with_blocks))
    wanted = np.unique(np.linspace(0, total - 1, min(N_IMAGES, total)).astype(np.int64))
    parts, start = [pd.DataFrame({"image_id": [], "block": [], "word": []}, dtype=int)], 0
    for path, entries in zip(block_files, with_blocks, strict=True):
        chosen = entries[wanted[(wanted >= start) & (wanted < start + len(entries))] - start]
        start += len(entries)
        if len(chosen):
            image_id, offsets, counts = load_shard(Blocks, path)
            sizes = offsets[chosen + 1] - offsets[chosen]
            block = np.concatenate([np.arange(size) for size in sizes])
            words = assign(normalise(counts[np.repeat(offsets[chosen], sizes) + block], hellinger), codebook)
            found = {"image_id": np.repeat(image_id[chosen], sizes), "block": block, "word": words}
            parts.append(pd.DataFrame(found))
    return pd.concat(parts, ignore_index=True), len(wanted)


def _crop(image: Image, block: int) -> Image:
    """Return the pixels of one block, cut from the original image."""
    from lookalike.features.descriptors import block_positions

    x, y, size, _ = block_positions(image.shape[1], image.shape[0])[block]
    return image[y : y + size, x : x + size]
