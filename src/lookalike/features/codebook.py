"""From block descriptors to visterms: learning a codebook, and counting its words in every image.

A visterm is a cell of a codebook learned by k-means over block descriptors of a separate pool of images (JMLR 2010,
section 3: 10,000 words; 1,000 for the comparisons of section 5.3). Everything runs in one thread and is settled in
double precision where rounding could matter, so codebook and counts are the same whatever ``--cores`` says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np

from lookalike.core.arrays import Floats, Ints, Shorts
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.kernels import njit
from lookalike.features.clustering import blas_of_numpy, cluster
from lookalike.features.descriptors import Blocks, describe, normalise
from lookalike.features.shards import count_by_image, index_images, load_shard, locate

if TYPE_CHECKING:
    import scipy.sparse as sp

BATCH = 192
"""Descriptors that are compared with all words at once: about an image's, so that their scores stay in the cache."""
_CHUNK = 32_768  # descriptors in single precision at once, 10 MB


def sample_descriptors(
    block_files: Iterable[PathLike], image_ids: Collection[int], n_max: int, rng: np.random.Generator
) -> Shorts:
    """Draw block counts of some images, uniformly over their blocks, without replacement, in the order of the ids."""
    files = list(block_files)
    index = index_images(files, np.fromiter(image_ids, np.int64))
    total = int(index["n"].sum())
    if total == 0:
        raise LookalikeError(
            "there is no block to learn a codebook from: none of the pool's images is in the block files; "
            "check that the pool was drawn from this data set and that its images are large enough"
        )
    chosen = np.arange(total) if total <= n_max else np.sort(rng.choice(total, size=n_max, replace=False))
    # rows are counted over the images, so the files that these are split into do not matter
    file, row = locate(index, chosen)
    counts = [load_shard(Blocks, path).counts[row[file == number]] for number, path in enumerate(files)]
    sample = np.empty((len(chosen), counts[0].shape[1]), np.uint16)
    for number, part in enumerate(counts):
        sample[file == number] = part
    return sample


def check_enough(n_descriptors: int, n_words: int) -> None:
    """Refuse to learn more words than there are descriptors."""
    if n_descriptors < n_words:
        raise LookalikeError(
            f"a codebook of {n_words} words cannot be learned from {n_descriptors} descriptors: "
            f"give more images or ask for at most {n_descriptors} words"
        )


def learn_codebook(descriptors: Floats, n_words: int, seed: int, n_iterations: int = 25) -> Floats:
    """Cluster descriptors into words by k-means; faiss puts a word without a descriptor beside a large one."""
    check_enough(len(descriptors), n_words)
    return cluster(descriptors, n_words, seed, n_iterations)


def assign(descriptors: Floats, codebook: Floats, batch: int = BATCH) -> Ints:
    """Return the nearest word of each descriptor by Euclidean distance, ties to the lowest index."""
    # a single-precision product finds the candidates; those that its rounding could have swapped are compared again,
    # so the answer depends neither on the batch nor on the BLAS library
    codebook = np.ascontiguousarray(codebook, dtype=np.float32)
    descriptors = np.ascontiguousarray(descriptors, dtype=np.float32)
    half_squares = np.einsum("ij,ij->i", codebook, codebook, dtype=np.float64) / 2
    largest = float(np.sqrt(2 * half_squares.max()))
    words = np.empty(len(descriptors), np.int32)
    # |fl(x.c) - x.c| <= n eps |x||c| for any order of summation; one more step for subtracting |c|^2 / 2
    unit = (descriptors.shape[1] + 2) * float(np.finfo(np.float32).eps)
    transposed, halves = codebook.T, half_squares.astype(np.float32)
    with blas_of_numpy().limit(limits=1):
        for start in range(0, len(descriptors), batch):
            part = descriptors[start : start + batch]
            scores = part @ transposed
            scores -= halves
            norms = np.sqrt(np.einsum("ij,ij->i", part, part))
            slack = (2 * unit * (norms * largest + largest**2)).astype(np.float32)
            settle_nearest(scores, scores.max(axis=1), slack, part, codebook, words[start : start + batch])
    return words


@njit(cache=True, nogil=True)
def settle_nearest(
    scores: Floats, highest: Floats, slack: Floats, descriptors: Floats, codebook: Floats, words: Ints
) -> None:
    """Choose the nearest word of each descriptor among those whose score is within rounding of the highest."""
    # scores are x . c - |c|^2 / 2, and the slack is twice the bound on their rounding error
    for i in range(scores.shape[0]):
        threshold = highest[i] - slack[i]
        row = scores[i]
        best = np.inf
        for j in range(row.shape[0]):
            if row[j] >= threshold:
                distance = 0.0
                for k in range(descriptors.shape[1]):
                    difference = np.float64(descriptors[i, k]) - np.float64(codebook[j, k])
                    distance += difference * difference
                if distance < best:
                    best = distance
                    words[i] = j


def count_visterms(block_files: Iterable[PathLike], codebook: Floats, n_rows: int) -> sp.csr_array:
    """Count how often each visterm occurs in each image: (n_rows, n_words), int32, row = image_id."""

    def words_of(counts: Shorts) -> Ints:
        starts = range(0, len(counts), _CHUNK)
        parts = [assign(normalise(counts[start : start + _CHUNK]), codebook) for start in starts]
        return np.concatenate([np.empty(0, np.int32), *parts])

    shards = (load_shard(Blocks, path) for path in block_files)
    counted = ((blocks.image_id, blocks.offsets, words_of(blocks.counts)) for blocks in shards)
    return count_by_image(counted, n_rows, len(codebook))


def warm_up() -> None:
    """Compile the kernels of this package into the cache, so that jobs that start together find them there."""
    palette = np.array([[0, 0, 0], [255, 255, 255]], np.float32)
    descriptors = normalise(describe(np.zeros((192, 256, 3), np.uint8), palette))
    assign(descriptors, descriptors[:2])
