"""From block descriptors to visterms: learning a codebook, and counting its words in every image.

A visterm is a cell of a codebook learned by k-means over block descriptors of a separate pool of images (JMLR 2010,
section 3: 10,000 words; 1,000 for the comparisons of section 5.3). Everything runs in one thread and is settled in
double precision where rounding could matter, so a codebook and the counts come out the same whatever ``--cores`` says.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.features._clustering import cluster, one_thread
from lookalike.features.descriptors import describe, normalise, read_block_index, read_blocks

if TYPE_CHECKING:
    import scipy.sparse as sp

Floats = npt.NDArray[np.float32]
PathLike = str | os.PathLike[str]

BATCH = 192
"""Descriptors that are compared with all words at once: about an image's, so that their scores stay in the cache."""

_CHUNK = 32_768  # descriptors in single precision at once, 10 MB


def sample_descriptors(
    block_files: Iterable[PathLike], image_ids: Collection[int], n_max: int, rng: np.random.Generator
) -> npt.NDArray[np.uint16]:
    """Draw block counts of some images, uniformly over their blocks and without replacement.

    One block file is in memory at a time. The sample depends on the images and on `rng`, not on how the images are
    split into files.

    Parameters
    ----------
    block_files : iterable of paths
        What `descriptors.write_blocks` wrote.
    image_ids : collection of int
        The images to draw from: the codebook pool.
    n_max : int
        The most blocks to draw; all of them are taken where there are fewer.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (min(n_max, n_blocks), 59 + n_colours), uint16
        Raw counts in the order of the images' ids; `descriptors.normalise` makes descriptors of them.

    Raises
    ------
    LookalikeError
        When the files hold no block of these images.
    """
    files = list(block_files)
    index = _index_blocks(files, np.fromiter(image_ids, np.int64))
    total = int(index["n"].sum())
    if total == 0:
        raise LookalikeError(
            "there is no block to learn a codebook from: none of the pool's images is in the block files; "
            "check that the pool was drawn from this data set and that its images are large enough"
        )
    chosen = np.arange(total) if total <= n_max else np.sort(rng.choice(total, size=n_max, replace=False))
    ends = np.cumsum(index["n"])
    entry = np.searchsorted(ends, chosen, side="right")
    rows = index["start"][entry] + chosen - (ends - index["n"])[entry]
    sample: npt.NDArray[np.uint16] | None = None
    for number, path in enumerate(files):
        here = np.flatnonzero(index["file"][entry] == number)
        if here.size:
            counts = read_blocks(path).counts
            if sample is None:
                sample = np.empty((len(chosen), counts.shape[1]), np.uint16)
            sample[here] = counts[rows[here]]
    assert sample is not None  # total > 0
    return sample


def _index_blocks(files: Sequence[PathLike], image_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """Return a record per wanted image, in the order of ids: its file, its first block there, its number of blocks."""
    records = []
    for number, path in enumerate(files):
        ids, offsets = read_block_index(path)
        wanted = np.flatnonzero(np.isin(ids, image_ids))
        table = np.empty(len(wanted), [("id", "i8"), ("file", "i8"), ("start", "i8"), ("n", "i8")])
        table["id"], table["file"] = ids[wanted], number
        table["start"], table["n"] = offsets[wanted], np.diff(offsets)[wanted]
        records.append(table)
    if not records:
        raise LookalikeError("there are no block files: describe the data set's images first")
    index = np.concatenate(records)
    return index[np.argsort(index["id"], kind="stable")]


def learn_codebook(
    descriptors: Floats, n_words: int, seed: int, n_iterations: int = 25, n_redo: int = 1
) -> npt.NDArray[np.float32]:
    """Cluster descriptors into words by k-means (faiss), in one thread.

    All descriptors are used: faiss would silently keep 256 per word otherwise. A word that loses its last descriptor
    is put beside a large one by faiss, so every word has a place of its own.

    Parameters
    ----------
    descriptors : ndarray of shape (n, n_features), float32
    n_words : int
        Number of words.
    seed : int
        Seed of the start, drawn among the descriptors.
    n_iterations : int
    n_redo : int
        Number of starts; the one with the smallest distortion is kept.

    Returns
    -------
    ndarray of shape (n_words, n_features), float32

    Raises
    ------
    LookalikeError
        When there are fewer descriptors than words.
    """
    n = len(descriptors)
    if n < n_words:
        raise LookalikeError(
            f"a codebook of {n_words} words cannot be learned from {n} descriptors: "
            f"give more images or ask for at most {n} words"
        )
    return cluster(descriptors, n_words, seed, n_iterations, n_redo)


def assign(descriptors: Floats, codebook: Floats, batch: int = BATCH) -> npt.NDArray[np.int32]:
    """Return the nearest word of each descriptor by Euclidean distance, ties to the lowest index.

    A single-precision matrix product finds the candidates; those that its rounding could have swapped are compared
    again in double precision, so the answer depends neither on the batch nor on the BLAS library.

    Parameters
    ----------
    descriptors : ndarray of shape (n, n_features), float32
    codebook : ndarray of shape (n_words, n_features), float32
    batch : int
        Descriptors that are compared with all words at once.

    Returns
    -------
    ndarray of shape (n,), int32
    """
    from lookalike.features import _kernels

    codebook = np.ascontiguousarray(codebook, dtype=np.float32)
    descriptors = np.ascontiguousarray(descriptors, dtype=np.float32)
    if descriptors.ndim != 2 or codebook.ndim != 2 or descriptors.shape[1] != codebook.shape[1]:
        raise ValueError(f"descriptors {descriptors.shape} and codebook {codebook.shape} differ in their features")
    half_squares = np.einsum("ij,ij->i", codebook, codebook, dtype=np.float64) / 2
    largest = float(np.sqrt(2 * half_squares.max()))
    words = np.empty(len(descriptors), np.int32)
    # |fl(x.c) - x.c| <= n eps |x||c| for any order of summation; one more step for subtracting |c|^2 / 2
    unit = (descriptors.shape[1] + 2) * float(np.finfo(np.float32).eps)
    transposed, halves = codebook.T, half_squares.astype(np.float32)
    with one_thread():
        for start in range(0, len(descriptors), batch):
            part = descriptors[start : start + batch]
            scores = part @ transposed
            scores -= halves
            norms = np.sqrt(np.einsum("ij,ij->i", part, part))
            slack = (2 * unit * (norms * largest + largest**2)).astype(np.float32)
            _kernels.settle_nearest(scores, scores.max(axis=1), slack, part, codebook, words[start : start + batch])
    return words


def count_visterms(block_files: Iterable[PathLike], codebook: Floats, hellinger: bool, n_rows: int) -> sp.csr_array:
    """Count how often each visterm occurs in each image.

    Parameters
    ----------
    block_files : iterable of paths
        What `descriptors.write_blocks` wrote.
    codebook : ndarray of shape (n_words, n_features), float32
    hellinger : bool
        Whether the codebook was learned from square roots (`descriptors.normalise`).
    n_rows : int
        Number of rows of the manifest.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_rows, n_words), int32
        Row = image_id; rows of images that are in no file are empty. Sorted indices.

    Raises
    ------
    LookalikeError
        When an image is in two files or has an id outside the manifest.
    """
    import scipy.sparse as sp

    n_words = len(codebook)
    seen = np.zeros(n_rows, bool)
    keys, values = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for path in block_files:
        image_id, offsets, counts = read_blocks(path)
        if len(image_id) and (image_id.min() < 0 or image_id.max() >= n_rows):
            raise LookalikeError(
                f"{path} holds images that are not in the manifest: delete it and run the command again"
            )
        if seen[image_id].any() or len(np.unique(image_id)) != len(image_id):
            raise LookalikeError(
                f"{path} holds an image twice or one that is in another file too: delete the block files"
            )
        seen[image_id] = True
        words = np.concatenate(
            [np.empty(0, np.int32)]
            + [
                assign(normalise(counts[start : start + _CHUNK], hellinger), codebook)
                for start in range(0, len(counts), _CHUNK)
            ]
        )
        rows = np.repeat(image_id.astype(np.int64), np.diff(offsets))
        key, value = np.unique(rows * n_words + words, return_counts=True)
        keys.append(key)
        values.append(value)
    key, value = np.concatenate(keys), np.concatenate(values).astype(np.int32)
    order = np.argsort(key, kind="stable")
    starts = np.searchsorted(key[order], np.arange(n_rows + 1, dtype=np.int64) * n_words)
    indices = (key[order] % n_words).astype(np.int32)
    return sp.csr_array((value[order], indices, starts.astype(np.int32)), shape=(n_rows, n_words))


def warm_up() -> None:
    """Compile the kernels of this package into the cache, so that jobs that start together find them there."""
    palette = np.array([[0, 0, 0], [255, 255, 255]], np.float32)
    descriptors = normalise(describe(np.zeros((192, 256, 3), np.uint8), palette))
    assign(descriptors, descriptors[:2])
