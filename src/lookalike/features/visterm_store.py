"""Visterm counts of millions of images on disk, read through memory maps: between simulator and learner.

A store is a folder with the parts of a CSR matrix: ``indptr.npy`` (int64), ``words.npy`` (uint16, or uint32 above
65,536 words, sorted within an image) and ``counts.npy`` (uint8). Folders of consecutive images are read as one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from lookalike.core.arrays import Array, Bytes, Ints, Longs
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, write_array
from lookalike.core.row_numbers import row_numbers

FILES = ("indptr.npy", "words.npy", "counts.npy")
SMALL = 4096
"""Files of fewer bytes are read, not mapped."""


class Shard(NamedTuple):
    """Memory maps of one folder, and the number of its first image."""

    first: int
    indptr: Longs
    words: Array
    counts: Bytes


def word_type(n_words: int) -> type[np.uint16] | type[np.uint32]:
    """Return the type of word numbers below `n_words`."""
    return np.uint16 if n_words <= 65_536 else np.uint32


def write_arrays(folder: PathLike, indptr: Longs, words: Array, counts: Bytes) -> None:
    """Write the three arrays of a store; without the last, ``indptr.npy``, a folder is none."""
    target = Path(folder)
    (target / "indptr.npy").unlink(missing_ok=True)
    arrays = {"counts.npy": counts, "words.npy": words, "indptr.npy": indptr}
    for name, array in arrays.items():
        write_array(array, target / name)


class VistermStore:
    """Visterm counts of consecutive images in one folder or several, read from disk as they are asked for."""

    def __init__(self, folders: PathLike | Sequence[PathLike], n_words: int = 10_000) -> None:
        paths = [folders] if isinstance(folders, (str, os.PathLike)) else list(folders)
        self.n_words, self.n_images = n_words, 0
        self.folders = [Path(path) for path in paths]
        self.shards: list[Shard] = []
        for folder in self.folders:
            self.shards.append(_open(folder, self.n_images))
            self.n_images += len(self.shards[-1].indptr) - 1
        self.nnz = sum(int(shard.indptr[-1]) for shard in self.shards)
        self._firsts = np.array([shard.first for shard in self.shards], dtype=np.int64)

    def row_lengths(self) -> Longs:
        """Return the number of distinct words of every image, int64 of shape (n_images,)."""
        return np.concatenate([np.diff(shard.indptr) for shard in self.shards])

    def rows(self, ids: npt.ArrayLike, dtype: npt.DTypeLike = np.uint8) -> sp.csr_array:
        """Return the counts of some images, in any order, repeated as you like: (m, n_words), sorted indices."""
        wanted = row_numbers(ids, self.n_images, "images of the visterm store")
        owner = np.searchsorted(self._firsts, wanted, side="right") - 1
        # an empty shard begins where its successor does: the last of them owns the image
        lengths, starts = np.empty((2, len(wanted)), dtype=np.int64)
        for number in np.unique(owner):
            mine = owner == number
            local = wanted[mine] - self.shards[number].first
            starts[mine] = self.shards[number].indptr[local]
            lengths[mine] = self.shards[number].indptr[local + 1] - starts[mine]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.empty(indptr[-1], dtype=np.int32)
        data = np.empty(indptr[-1], dtype=dtype)
        for number in np.unique(owner):
            mine = np.flatnonzero(owner == number)
            source = _places(starts[mine], lengths[mine])
            place = _places(indptr[mine], lengths[mine])
            indices[place] = self.shards[number].words[source]
            data[place] = self.shards[number].counts[source]
        return self._matrix(indptr, indices, data)

    def slices(self, size: int) -> Iterator[tuple[int, sp.csr_array]]:
        """Yield first image and counts of blocks of at most `size` images, in order, none reaching over two shards."""
        for shard in self.shards:
            n = len(shard.indptr) - 1
            for start in range(0, n, size):
                pointers = np.asarray(shard.indptr[start : min(start + size, n) + 1])
                part = slice(int(pointers[0]), int(pointers[-1]))
                indices = shard.words[part].astype(np.int32)
                counts = shard.counts[part].astype(np.uint8)
                yield shard.first + start, self._matrix(pointers - pointers[0], indices, counts)

    def _matrix(self, indptr: Longs, indices: Ints, data: Array) -> sp.csr_array:
        if len(indices) and indices.max() >= self.n_words:
            raise LookalikeError(
                f"the visterm store in {self.folders[0].parent} has word {indices.max()}, but the codebook "
                f"{self.n_words} words; give the number of words that it was made with"
            )
        # both kinds of indices in one type, or scipy converts them one by one
        kind = np.int32 if len(indices) < 2**31 else np.int64
        parts = (data, indices.astype(kind, copy=False), indptr.astype(kind, copy=False))
        matrix = sp.csr_array(parts, shape=(len(indptr) - 1, self.n_words))
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix


def _places(starts: Longs, lengths: Longs) -> Longs:
    """Return start, start + 1, ... for each start, so many as its length, one after another."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)


def _open(folder: Path, first: int) -> Shard:
    """Map the three files of a folder, which belong together where all three are there."""
    again = "delete its folder and make it again"
    try:
        paths = [folder / name for name in FILES]
        # an empty array cannot be mapped
        indptr, words, counts = (np.load(path, "r" if path.stat().st_size >= SMALL else None) for path in paths)
    except FileNotFoundError as error:
        raise LookalikeError(f"there is no {error.filename}, which a visterm store needs: {again}") from None
    except (ValueError, EOFError, OSError) as error:
        raise LookalikeError(f"the visterm store {folder} cannot be read ({error}): {again}") from error
    return Shard(first, indptr, words, counts)
