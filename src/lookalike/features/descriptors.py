"""Block descriptors: an image as counts of edges and colours in overlapping blocks at several scales.

This is the step between pixels and visterms (JMLR 2010, section 3): each 64x64 block of each pyramid level becomes 59
counts of uniform local binary patterns and one count per palette colour. Raw counts are what is stored, because they
are exact and small; `normalise` turns them into the descriptors that codebooks are learned from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing
from lookalike.features import lbp, pyramid

if TYPE_CHECKING:
    import pandas as pd

Counts = npt.NDArray[np.uint16]


class Blocks(NamedTuple):
    """Block counts of several images: what one ``blocks-NNN.npz`` holds.

    Attributes
    ----------
    image_id : ndarray of shape (n_images,), int32
    offsets : ndarray of shape (n_images + 1,), int64
        Rows ``offsets[i]`` to ``offsets[i + 1]`` of `counts` are the blocks of image i.
    counts : ndarray of shape (n_blocks, 59 + n_colours), uint16
    """

    image_id: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    counts: Counts


class BlockDescriber:
    """Describes images by one palette; what depends on the palette alone is computed once.

    Parameters
    ----------
    palette : ndarray of shape (n_colours, 3), float32
        RGB in 0..255.
    """

    def __init__(self, palette: npt.NDArray[np.float32]) -> None:
        from lookalike.features.palette import palette_keys

        self._keys = palette_keys(palette)
        self._bins = lbp.pattern_bins()
        self.n_features = lbp.N_BINS + len(self._keys)

    def describe(self, image: npt.NDArray[np.uint8], out: Counts | None = None) -> Counts:
        """Count edges and colours in every block of an image.

        Parameters
        ----------
        image : ndarray of shape (height, width, 3), uint8
            RGB pixels.
        out : ndarray of shape (n_blocks, 59 + n_colours), uint16, optional
            Where to write.

        Returns
        -------
        ndarray of shape (n_blocks, 59 + n_colours), uint16
            Levels from full size down, blocks of a level row by row; in each row the 59 LBP counts sum to 4096, and so
            do the colour counts. No rows for an image that is too small to have a level.
        """
        if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
            raise ValueError(f"expected uint8 RGB pixels of shape (height, width, 3), not {image.dtype} {image.shape}")
        if out is None:
            out = np.empty((pyramid.count_blocks(image.shape[1], image.shape[0]), self.n_features), np.uint16)
        self._describe_levels(pyramid.levels(image), out)
        return out

    def describe_levels(self, levels: Sequence[npt.NDArray[np.uint8]]) -> Counts:
        """Count edges and colours in every block of pyramid levels that were made before.

        Parameters
        ----------
        levels : sequence of ndarray of shape (level_height, level_width, 3), uint8

        Returns
        -------
        ndarray of shape (n_blocks, 59 + n_colours), uint16
        """
        n_blocks = sum(pyramid.blocks_in(level.shape[1], level.shape[0]) for level in levels)
        out = np.empty((n_blocks, self.n_features), np.uint16)
        self._describe_levels(levels, out)
        return out

    def _describe_levels(self, levels: Iterable[npt.NDArray[np.uint8]], out: Counts) -> None:
        from lookalike.features import _kernels

        start = 0
        for level in levels:
            stop = start + pyramid.blocks_in(level.shape[1], level.shape[0])
            _kernels.count_level(level, self._bins, lbp.N_BINS, self._keys, out[start:stop])
            start = stop


def describe(image: npt.NDArray[np.uint8], palette: npt.NDArray[np.float32]) -> Counts:
    """Count edges and colours in every block of one image: `BlockDescriber.describe` for a single use.

    Parameters
    ----------
    image : ndarray of shape (height, width, 3), uint8
    palette : ndarray of shape (n_colours, 3), float32

    Returns
    -------
    ndarray of shape (n_blocks, 59 + n_colours), uint16
    """
    return BlockDescriber(palette).describe(image)


def normalise(counts: npt.NDArray[np.integer], hellinger: bool = False) -> npt.NDArray[np.float32]:
    """Turn raw counts into descriptors: the edge part and the colour part each sum to 1.

    Parameters
    ----------
    counts : ndarray of shape (n, 59 + n_colours), integer
    hellinger : bool
        Take square roots, so that Euclidean distances between descriptors are Hellinger distances between histograms.
        The papers do not.

    Returns
    -------
    ndarray of shape (n, 59 + n_colours), float32
    """
    descriptors = counts.astype(np.float32)
    for part in (descriptors[:, : lbp.N_BINS], descriptors[:, lbp.N_BINS :]):
        part /= np.maximum(part.sum(axis=1, keepdims=True), 1)
    return np.sqrt(descriptors, out=descriptors) if hellinger else descriptors


def block_positions(width: int, height: int) -> npt.NDArray[np.int32]:
    """Return where each block of an image lies in the original image, in the order of `describe`.

    Parameters
    ----------
    width, height : int
        Size of the image in pixels.

    Returns
    -------
    ndarray of shape (n_blocks, 4), int32
        x and y of the upper left corner and side, in pixels of the original, and the pyramid level (0 is full size).
        Rounded, and always inside the image.
    """
    positions = [np.empty((0, 4), np.int32)]
    for level, (level_width, level_height) in enumerate(pyramid.level_sizes(width, height)):
        rows, columns = pyramid.grid_shape(level_width, level_height)
        y, x = np.mgrid[:rows, :columns].reshape(2, -1) * pyramid.STRIDE
        size = int(pyramid.BLOCK * min(width / level_width, height / level_height))
        block = np.empty((rows * columns, 4), np.int32)
        block[:, 0] = np.minimum(np.rint(x * (width / level_width)), width - size)
        block[:, 1] = np.minimum(np.rint(y * (height / level_height)), height - size)
        block[:, 2] = size
        block[:, 3] = level
        positions.append(block)
    return np.concatenate(positions)


def shard_of(manifest: pd.DataFrame, shard: int, n_shards: int) -> pd.DataFrame:
    """Return the usable images of one shard of a manifest: every n_shards-th, so that shards take equally long.

    Parameters
    ----------
    manifest : DataFrame
        Column `status`; images of status ok and clutter have descriptors.
    shard, n_shards : int
        Which of how many, from 0.
    """
    return manifest[manifest["status"].isin(["ok", "clutter"])].iloc[shard::n_shards]


def describe_shard(
    manifest_rows: pd.DataFrame,
    root: str | os.PathLike[str],
    palette: npt.NDArray[np.float32],
    progress: Callable[[int, int], None] | None = None,
) -> Blocks:
    """Describe the images of some rows of a manifest.

    Parameters
    ----------
    manifest_rows : pandas.DataFrame
        Columns `image_id`, `path`, `width` and `height`; the caller has left out what is not usable.
    root : path
        Folder that the paths are relative to.
    palette : ndarray of shape (n_colours, 3), float32
    progress : callable, optional
        Called after each image with the number done and the number of all.

    Returns
    -------
    Blocks
        In the order of the rows.

    Raises
    ------
    LookalikeError
        When an image cannot be read, or has another size than in the manifest.
    """
    from lookalike.core.images import load_rgb

    describer = BlockDescriber(palette)
    sizes = list(zip(manifest_rows["width"].astype(int), manifest_rows["height"].astype(int), strict=True))
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum([pyramid.count_blocks(*size) for size in sizes], out=offsets[1:])
    counts = np.empty((offsets[-1], describer.n_features), np.uint16)
    for row, path in enumerate(manifest_rows["path"]):
        image = load_rgb(Path(root) / path)
        if (image.shape[1], image.shape[0]) != sizes[row]:
            raise LookalikeError(
                f"{Path(root) / path} has another size than when the folder was scanned: "
                "delete the data set's manifest.parquet and run the same command again"
            )
        describer.describe(image, out=counts[offsets[row] : offsets[row + 1]])
        if progress is not None:
            progress(row + 1, len(sizes))
    return Blocks(manifest_rows["image_id"].to_numpy(np.int32), offsets, counts)


def write_blocks(blocks: Blocks | Sequence[npt.NDArray[np.integer]], path: str | os.PathLike[str]) -> None:
    """Write the block counts of a shard as ``.npz``, about 45 kB an image.

    Not compressed: that would halve the size, but take twice as long as describing the images.

    Parameters
    ----------
    blocks : Blocks
        (image_id, offsets, counts).
    path : path
        Ends in ``.npz``.
    """
    image_id, offsets, counts = blocks
    with replacing(path) as part:
        np.savez(
            part,
            image_id=image_id.astype(np.int32),
            offsets=offsets.astype(np.int64),
            counts=counts.astype(np.uint16),
        )


def read_blocks(path: str | os.PathLike[str]) -> Blocks:
    """Read what `write_blocks` wrote.

    Returns
    -------
    Blocks
    """
    with np.load(path, allow_pickle=False) as file:
        return Blocks(file["image_id"], file["offsets"], file["counts"])


def read_block_index(path: str | os.PathLike[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Read which images a block file holds, without its counts.

    Returns
    -------
    image_id : ndarray of shape (n_images,), int32
    offsets : ndarray of shape (n_images + 1,), int64
    """
    with np.load(path, allow_pickle=False) as file:
        return file["image_id"], file["offsets"]
