"""Block descriptors: an image as counts of edges and colours in overlapping blocks at several scales.

Each 64x64 block of each pyramid level becomes 59 counts of uniform local binary patterns and one count per palette
colour (JMLR 2010, section 3). Raw counts are stored, because they are exact and small; `normalise` makes descriptors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lookalike.core.arrays import Bytes, Floats, Integers, Ints, Longs, Shorts
from lookalike.core.files import PathLike
from lookalike.core.images import check_pixels, luma
from lookalike.core.kernels import njit
from lookalike.core.progress import Progress
from lookalike.features import lbp, pyramid
from lookalike.features.palette import nearest_colours, palette_keys
from lookalike.features.shards import join_images, read_images

if TYPE_CHECKING:
    import pandas as pd

CELL = pyramid.STRIDE


class Blocks(NamedTuple):
    """Block counts of several images, (n_blocks, 59 + n_colours): one ``blocks-NNN.npz``, about 45 kB an image."""

    image_id: Ints
    offsets: Longs
    counts: Shorts


def describe(image: Bytes, palette: Floats) -> Shorts:
    """Count edges and colours in every block of an RGB image: uint16, (n_blocks, 59 + n_colours).

    Levels stand from full size down, blocks of a level row by row; in each row the 59 LBP counts sum to 4096, and so do
    the colour counts. An image that is too small to have a level has no rows.
    """
    check_pixels(image)
    return describe_levels(pyramid.levels(image), palette)


def describe_levels(levels: Iterable[Bytes], palette: Floats) -> Shorts:
    """Count edges and colours in every block of pyramid levels."""
    keys, bins = palette_keys(palette), lbp.pattern_bins()
    none = np.empty((0, lbp.N_BINS + len(keys)), np.uint16)
    counts = [count_level(level, lbp.padded(luma(level)), bins, lbp.N_BINS, keys) for level in levels]
    return np.concatenate([none, *counts])


@njit(cache=True, nogil=True)
def count_level(image: Bytes, padded: Bytes, bins: Bytes, n_lbp: int, keys: Ints) -> Shorts:
    """Count LBP bins, and palette colours after them, in every block of one level, blocks row by row."""
    # a block is 2 x 2 cells, so each pixel is counted once instead of up to four times
    rows, columns = image.shape[0] // CELL - 1, image.shape[1] // CELL - 1
    width = (columns + 1) * CELL
    counts = np.empty((rows * columns, n_lbp + keys.shape[0]), np.uint16)
    patterns = np.empty(width, np.uint8)
    nearest = np.empty(width, np.uint8)
    planes = np.empty((4, width), np.int32)
    upper = np.zeros((columns + 1, counts.shape[1]), np.uint16)  # cells of the row above
    for row in range(rows + 1):
        lower = np.zeros_like(upper)
        for y in range(row * CELL, (row + 1) * CELL):
            lbp.lbp_row(padded[y], padded[y + 1], padded[y + 2], padded[y + 3], padded[y + 4], patterns)
            nearest_colours(image[y, :width], keys, planes, nearest)
            for column in range(columns + 1):
                cell = lower[column]
                for x in range(column * CELL, (column + 1) * CELL):
                    cell[bins[patterns[x]]] += np.uint16(1)
                    cell[n_lbp + nearest[x]] += np.uint16(1)
        if row > 0:
            for column in range(columns):
                block = counts[(row - 1) * columns + column]
                for k in range(counts.shape[1]):
                    block[k] = upper[column, k] + upper[column + 1, k] + lower[column, k] + lower[column + 1, k]
        upper = lower
    return counts


def normalise(counts: Integers) -> Floats:
    """Turn raw counts into descriptors: the edge part and the colour part each sum to 1."""
    descriptors = counts.astype(np.float32)
    for part in (descriptors[:, : lbp.N_BINS], descriptors[:, lbp.N_BINS :]):
        part /= np.maximum(part.sum(axis=1, keepdims=True), 1)
    return descriptors


def describe_shard(rows: pd.DataFrame, root: PathLike, palette: Floats, progress: Progress | None = None) -> Blocks:
    """Describe the images of some rows of a manifest whose paths are relative to `root`; `progress` counts images."""
    counts = ((describe(image, palette),) for image in read_images(rows, root, progress))
    none = np.empty((0, lbp.N_BINS + len(palette)), np.uint16)
    return join_images(Blocks, rows["image_id"], (none,), counts)
