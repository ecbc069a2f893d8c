"""A montage of visterms: blocks of many images that one word of the codebook stands for.

The last of the pictures that explain the image representation; `lookalike.exhibits.representation` has the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.style import GREY, new_figure, paper_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Image = npt.NDArray[np.uint8]


class Montage(NamedTuple):
    """A drawn montage with what its caption tells."""

    figure: Figure
    n_words: int
    """Rows: visterms drawn."""
    n_samples: int
    """Blocks in the longest row."""
    n_images: int
    """Images among which the visterms are the commonest."""


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
) -> Montage:
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
        Blocks are taken from at most so many images, spread evenly over the files.

    Returns
    -------
    Montage

    Raises
    ------
    LookalikeError
        When no image is described.
    """
    found = _find_words(list(block_files), codebook, hellinger, n_images)
    if found.n_images == 0:
        raise LookalikeError(
            "there are no described images to draw visterms from: describe the data set's images first"
        )
    longest = 0
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
            longest = max(longest, len(places))
            for axis in row:
                axis.set(xticks=[], yticks=[])
                axis.spines[:].set_visible(False)
            for axis, place in zip(row, places, strict=False):
                image = load_image(str(paths[found.image_id[place]]))
                axis.imshow(_crop(image, int(found.block[place])))
                axis.spines[:].set(visible=True, color=GREY)
            label = f"visterm {word}\n{spread:.0%} of images\n{share:.1%} of blocks"
            row[0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize=6.5, labelpad=4)
    return Montage(figure, len(commonest), longest, found.n_images)


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
