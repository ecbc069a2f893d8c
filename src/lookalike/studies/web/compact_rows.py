"""Weighted visterms of millions of images, three bytes an entry: memory-mapped counts, weighed when asked for.

They stand between a `lookalike.features.visterm_store.VistermStore` and `lookalike.studies.web.large_scale`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.core.arrays import Array, Doubles, Longs, Matrix
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, reading_npz, write_npz
from lookalike.core.kernels import njit
from lookalike.core.row_numbers import row_numbers
from lookalike.features.visterm_store import VistermStore, word_type, write_arrays
from lookalike.features.visterms import TfidfVisterms
from lookalike.learners.kernels import Rows, permuted

SLICE = 65_536
"""Images that are read at a time."""

WEIGHTS = "weights.npz"
"""Written last: a folder without it is no whole one."""


class Stored(NamedTuple):
    """The counts of a folder, whose words stand by falling document frequency, and what they are weighed by."""

    indptr: Longs
    words: Array
    counts: NDArray[np.uint8]
    lengths: Doubles
    idf: Doubles


class CompactRows:
    """Rows of tf-idf weights f_i d_i / ||f d|| of `image_ids` (2009 draft, eq. 15), made from a folder's counts.

    `idf` holds d_i of the words in the user's order, from these images alone; words of idf 0 have no entries.
    """

    def __init__(self, folder: PathLike) -> None:
        with reading_npz(Path(folder, WEIGHTS), "make the rows again") as kept:
            self.image_ids, self.idf, order, lengths = (kept[name] for name in ("image_ids", "idf", "order", "lengths"))
        self.n_features = len(self.idf)
        counts = VistermStore(folder, self.n_features).shards[0]
        if len(counts.indptr) != len(lengths) + 1:
            raise LookalikeError(
                f"{folder} holds rows of one set of images and weights of another: make the rows again"
            )
        self._place = np.argsort(order)
        self._indptr = np.asarray(counts.indptr)
        # frequent features lead: their weights are looked up far more often
        self._stored = Stored(self._indptr, counts.words, counts.counts, lengths, self.idf[order])

    @classmethod
    def build(cls, store: VistermStore, image_ids: ArrayLike, folder: PathLike) -> Self:
        """Write the rows of some images of a store, given ascending, and open them; replace what is in `folder`."""
        ids = np.asarray(image_ids, dtype=np.int64)
        if not len(ids) or np.any(np.diff(ids) <= 0) or ids[0] < 0 or ids[-1] >= store.n_images:
            raise ValueError(f"image_ids must be ascending image numbers from 0 to {store.n_images - 1}, at least one")
        frequency = np.zeros(store.n_words, dtype=np.int64)
        for counts, _ in _selected(store, ids):
            frequency += np.bincount(counts.indices[counts.data > 0], minlength=store.n_words)
        idf = np.zeros(store.n_words)
        found = (frequency > 0) & (frequency < len(ids))
        idf[found] = -np.log(frequency[found] / len(ids))
        order = np.argsort(-frequency, kind="stable")
        place, n_entries = np.argsort(order), int(frequency[found].sum())
        indptr, lengths = np.zeros(len(ids) + 1, dtype=np.int64), np.empty(len(ids))
        words, data = np.empty(n_entries, dtype=word_type(store.n_words)), np.empty(n_entries, dtype=np.uint8)
        for counts, done in _selected(store, ids):
            n, row = counts.shape[0], np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
            weights = counts.data * idf[counts.indices]
            lengths[done : done + n] = np.sqrt(np.bincount(row, weights**2, n))
            # without words of weight 0
            kept = sp.csr_array((np.where(weights, counts.data, 0), place[counts.indices], counts.indptr), counts.shape)
            kept.eliminate_zeros()
            kept.sort_indices()
            indptr[done + 1 : done + 1 + n] = indptr[done] + kept.indptr[1:]
            own = slice(indptr[done], indptr[done + n])
            words[own], data[own] = kept.indices, kept.data
        weights = {"image_ids": ids.astype(np.int32), "idf": idf, "order": order, "lengths": lengths}
        Path(folder, WEIGHTS).unlink(missing_ok=True)
        write_arrays(folder, indptr, words, data)
        write_npz(weights, Path(folder, WEIGHTS), compressed=False)
        return cls(folder)

    def __len__(self) -> int:
        return len(self.image_ids)

    def take(self, rows: NDArray[np.integer], dtype: np.dtype) -> Rows:
        """Return weighted rows, by number in any order, with their words by falling document frequency."""
        wanted = row_numbers(rows, len(self), "rows")
        indptr = np.zeros(len(wanted) + 1, dtype=np.int64)
        np.cumsum(self._indptr[wanted + 1] - self._indptr[wanted], out=indptr[1:])
        room = np.empty(indptr[-1], dtype=np.uint32), np.empty(indptr[-1], dtype=dtype), np.empty(len(wanted))
        taken = Rows(indptr, *room)
        _weigh(wanted, self._stored, taken)
        return taken

    def weighted(self, counts: sp.csr_array, *, internal: bool = False) -> sp.csr_array:
        """Weigh raw counts of other images, as float32; `internal`: with the words in the order of `take`."""
        if counts.shape[1] != self.n_features:
            raise ValueError(f"counts must have {self.n_features} columns, one a word, not {counts.shape[1]}")
        tfidf = TfidfVisterms()
        tfidf.idf_, tfidf.n_features_in_ = self.idf, self.n_features
        weights = tfidf.transform(counts)
        if internal:
            weights = sp.csr_array((weights.data, self._place[weights.indices], weights.indptr), shape=weights.shape)
            weights.sort_indices()
        return weights

    def restored(self, W: Array) -> Array:
        """Return a W with words in the order of `take` in the user's order."""
        return permuted(W, self._place)


def _selected(store: VistermStore, ids: Longs) -> Iterator[tuple[Matrix, int]]:
    """Yield the counts of the chosen images, slice after slice, and how many came before each."""
    done = 0
    for first, counts in store.slices(SLICE):
        inside = ids[np.searchsorted(ids, first) : np.searchsorted(ids, first + counts.shape[0])] - first
        if len(inside):
            yield counts if len(inside) == counts.shape[0] else counts[inside], done
            done += len(inside)


@njit(cache=True, nogil=True)
def _weigh(rows: Longs, stored: Stored, taken: Rows) -> None:
    """Write the weighted rows of some numbers."""
    for i in range(rows.shape[0]):
        row, place, total = rows[i], taken.indptr[i], 0.0
        for k in range(stored.indptr[row], stored.indptr[row + 1]):
            word = stored.words[k]
            value = taken.data.dtype.type(stored.counts[k] * stored.idf[word] / stored.lengths[row])
            taken.indices[place] = word
            taken.data[place] = value
            # float() would leave single precision as it is here
            total += np.float64(value) * np.float64(value)
            place += 1
        taken.squared_norms[i] = total
