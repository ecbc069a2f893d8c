"""From keypoints to bags of visual words: the word of each descriptor, and how often each word occurs in an image.

Words keep the places of their keypoints, because a query of the Oxford buildings is a rectangle of an image and only
the descriptors inside it count (Philbin et al. 2007). Everything runs in one thread and gives the same bytes each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing
from lookalike.features._word_index import BATCH, IndexSettings, WordIndex
from lookalike.features.keypoints import as_vectors, load_keypoints

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse as sp

__all__ = [
    "IndexSettings",
    "WordShard",
    "assign_words",
    "count_query_words",
    "count_words",
    "load_words",
    "save_words",
]

PathLike = str | os.PathLike[str]


class WordShard(NamedTuple):
    """Words of several images: what one ``words-NNN.npz`` holds.

    Attributes
    ----------
    image_ids : ndarray of shape (n_images,), int32
    offsets : ndarray of shape (n_images + 1,), int64
        Rows ``offsets[i]`` to ``offsets[i + 1]`` of the other arrays belong to image i.
    words : ndarray of shape (n,), int32
        From 0.
    positions : ndarray of shape (n, 2), float32
        x and y in pixels of the full-size image.
    """

    image_ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    words: npt.NDArray[np.int32]
    positions: npt.NDArray[np.float32]


def assign_words(
    keypoints_file: PathLike,
    codebook: npt.NDArray[np.float32],
    *,
    root: bool = False,
    index: IndexSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> WordShard:
    """Find the nearest word of every descriptor of a keypoint file, in one thread.

    Parameters
    ----------
    keypoints_file : path
        What `keypoints.save_keypoints` wrote.
    codebook : ndarray of shape (n_words, 128), float32
    root : bool
        Whether the codebook was learned from RootSIFT.
    index : IndexSettings, optional
    progress : callable, optional
        Called after each batch of descriptors with the number done and the number of all.

    Returns
    -------
    WordShard
        Besides the file, 1.1 GB are in memory for a million words: the codebook, and its copy in the index's order.
    """
    keypoints = load_keypoints(keypoints_file)
    n = len(keypoints.descriptors)
    words = np.empty(n, np.int32)
    searcher = WordIndex(codebook, index)
    for start in range(0, n, BATCH):
        part = slice(start, start + BATCH)
        words[part] = searcher.nearest(as_vectors(keypoints.descriptors[part], root))
        if progress is not None:
            progress(min(start + BATCH, n), n)
    return WordShard(keypoints.image_ids, keypoints.offsets, words, keypoints.positions)


def save_words(words: WordShard, path: PathLike) -> None:
    """Write the words of a shard as ``.npz``, 12 bytes each, the same bytes each time.

    Parameters
    ----------
    words : WordShard
    path : path
        Ends in ``.npz``.
    """
    with replacing(path) as part:
        np.savez(
            part,
            image_ids=words.image_ids.astype(np.int32),
            offsets=words.offsets.astype(np.int64),
            words=words.words.astype(np.int32),
            positions=words.positions.astype(np.float32),
        )


def load_words(path: PathLike) -> WordShard:
    """Read what `save_words` wrote.

    Returns
    -------
    WordShard
    """
    with np.load(path, allow_pickle=False) as file:
        return WordShard(*(file[name] for name in WordShard._fields))


def count_words(words_files: Iterable[PathLike], n_rows: int, n_words: int) -> sp.csr_array:
    """Count how often each word occurs in each image.

    One file is in memory at a time, and for each different word of an image 8 bytes here and 8 bytes in the result
    (before they are joined): about 0.3 GB for 16 million descriptors.

    Parameters
    ----------
    words_files : iterable of paths
        What `save_words` wrote.
    n_rows : int
        Number of rows of the manifest.
    n_words : int

    Returns
    -------
    scipy.sparse.csr_array of shape (n_rows, n_words), int32
        Row = image_id; rows of images that are in no file are empty. Sorted indices.

    Raises
    ------
    LookalikeError
        When an image is in two files or has an id outside the manifest, or a word is outside the codebook.
    """
    seen = np.zeros(n_rows, bool)
    rows: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]] = [_NONE] * n_rows
    for path in words_files:
        shard = _load_checked(path, n_words)
        ids = shard.image_ids
        if len(ids) and (ids.min() < 0 or ids.max() >= n_rows):
            raise LookalikeError(
                f"{path} holds images that are not in the manifest: delete it and run the command again"
            )
        if seen[ids].any() or len(np.unique(ids)) != len(ids):
            raise LookalikeError(
                f"{path} holds an image twice or one that is in another file too: delete the word files"
            )
        seen[ids] = True
        for image_id, start, stop in zip(ids, shard.offsets[:-1], shard.offsets[1:], strict=True):
            rows[image_id] = _count(shard.words[start:stop])
    return _as_csr(rows, n_words)


def count_query_words(words_files: Iterable[PathLike], queries: pd.DataFrame, n_words: int) -> sp.csr_array:
    """Count the words inside the rectangle of each query.

    Parameters
    ----------
    words_files : iterable of paths
        What `save_words` wrote; one is in memory at a time.
    queries : pandas.DataFrame
        Columns `query` (its name), `image_id`, `x_min`, `y_min`, `x_max`, `y_max` (pixels; the edges are inside).
    n_words : int

    Returns
    -------
    scipy.sparse.csr_array of shape (n_queries, n_words), int32
        Rows in the order of `queries`. Sorted indices. A row is empty where no descriptor lies in the rectangle.

    Raises
    ------
    LookalikeError
        When a query's image is in none of the files, or a word is outside the codebook.
    """
    boxes = queries[["x_min", "y_min", "x_max", "y_max"]].to_numpy(np.float64)
    images = queries["image_id"].to_numpy(np.int64)
    rows: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]] = [_NONE] * len(queries)
    missing = np.ones(len(queries), bool)
    for path in words_files:
        shard = _load_checked(path, n_words)
        place = {int(image_id): number for number, image_id in enumerate(shard.image_ids)}
        for row in np.flatnonzero(np.isin(images, shard.image_ids)):
            number = place[int(images[row])]
            part = slice(shard.offsets[number], shard.offsets[number + 1])
            x, y = shard.positions[part].T.astype(np.float64)
            x_min, y_min, x_max, y_max = boxes[row]
            inside = (x >= x_min) & (x <= x_max) & (y >= y_min) & (y <= y_max)
            rows[row] = _count(shard.words[part][inside])
            missing[row] = False
    if missing.any():
        names = ", ".join(queries["query"][missing].astype(str))
        raise LookalikeError(
            f"the images of the queries {names} have no words: "
            "check that they are readable (status ok in the manifest) and delete the word files"
        )
    return _as_csr(rows, n_words)


_NONE = (np.empty(0, np.int32), np.empty(0, np.int32))


def _load_checked(path: PathLike, n_words: int) -> WordShard:
    """Read a file of words, none of which may be outside the codebook."""
    shard = load_words(path)
    if len(shard.words) and (shard.words.min() < 0 or shard.words.max() >= n_words):
        raise LookalikeError(
            f"{path} holds words outside a codebook of {n_words} words: delete it and run the command again"
        )
    return shard


def _count(words: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the different words in ascending order, and how often each occurs."""
    found, counts = np.unique(words, return_counts=True)
    return found, counts.astype(np.int32)


def _as_csr(rows: Sequence[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]], n_words: int) -> sp.csr_array:
    """Join the words and counts of each row."""
    import scipy.sparse as sp

    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(words) for words, _ in rows], out=starts[1:])
    if starts[-1] <= np.iinfo(np.int32).max:
        starts = starts.astype(np.int32)
    words = np.concatenate([_NONE[0], *(words for words, _ in rows)])
    counts = np.concatenate([_NONE[1], *(counts for _, counts in rows)])
    return sp.csr_array((counts, words, starts), shape=(len(rows), n_words))
