"""Weighted visterms of the images that OASIS learns from at web scale: from counts to the training."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.core.arrays import Array, Matrix
from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows
from lookalike.learners.kernels import Rows, permuted

SLICE = 65_536
"""Images whose counts are weighted at a time, in double precision."""


class TrainingRows:
    """Rows of tf-idf weights f_i d_i / ||f d|| of some images (2009 draft, eq. 15), eight bytes an entry.

    `idf` holds d_i of the words in the user's order, from these images alone; words of idf 0 have no entries. The rows
    have their words by falling document frequency.
    """

    def __init__(self, visterms: Matrix, image_ids: ArrayLike) -> None:
        self.image_ids, self.n_features = np.asarray(image_ids, dtype=np.int32), visterms.shape[1]
        self._visterms, counts = visterms, visterms[self.image_ids]
        parts = [slice(start, start + SLICE) for start in range(0, len(self.image_ids), SLICE)]
        self.idf = inverse_document_frequencies(counts)
        frequency = np.bincount(counts.indices[counts.data > 0], minlength=self.n_features)
        self._place = np.argsort(np.argsort(-frequency, kind="stable"))
        weights = [self._ordered(tfidf_rows(counts[part], self.idf)) for part in parts]
        self._weights = sp.vstack(weights, format="csr")
        row = np.repeat(np.arange(len(self)), np.diff(self._weights.indptr))
        self._squared_norms = np.bincount(row, self._weights.data.astype(np.float64) ** 2, len(self))

    def __len__(self) -> int:
        return len(self.image_ids)

    def take(self, rows: NDArray[np.integer]) -> Rows:
        """Return weighted rows, by number in any order, with their words by falling document frequency."""
        taken = self._weights[rows]
        indptr, indices = taken.indptr.astype(np.int64), taken.indices.astype(np.uint32)
        return Rows(indptr, indices, taken.data, self._squared_norms[rows])

    def weighted(self, image_ids: ArrayLike, *, internal: bool = False) -> sp.csr_array:
        """Weigh other images, as float32; `internal`: with the words in the order of `take`."""
        weights = tfidf_rows(self._visterms[image_ids], self.idf)
        return self._ordered(weights) if internal else weights

    def restored(self, W: Array) -> Array:
        """Return a W with words in the order of `take` in the user's order."""
        return permuted(W, self._place)

    def _ordered(self, weights: sp.csr_array) -> sp.csr_array:
        """Put the words of rows into the order of `take`."""
        ordered = sp.csr_array((weights.data, self._place[weights.indices], weights.indptr), shape=weights.shape)
        ordered.sort_indices()
        return ordered
