"""Training rows as the OASIS kernels want them, and W in the matching order of features while they run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.learners._oasis_kernels import HEAD_BYTES, oasis_steps, permute_square, symmetric_steps


class TrainingRows:
    """CSR rows with their columns by falling document frequency. Threads may share them.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, d)
    dtype : numpy.dtype
        float32 or float64: of W.

    Raises
    ------
    ValueError
        When a value does not fit the dtype.
    """

    def __init__(self, X: Any, dtype: np.dtype[Any]) -> None:
        with np.errstate(over="ignore"):
            X = sp.csr_array(X, dtype=dtype, copy=True)
        if not np.isfinite(X.data).all():
            raise ValueError(f"X has values too large for {dtype}: scale its rows, for instance to length 1")
        X.sum_duplicates()
        X.eliminate_zeros()
        frequency = np.bincount(X.indices, minlength=X.shape[1])
        self._order = np.argsort(-frequency, kind="stable")
        self._place = np.empty_like(self._order)
        self._place[self._order] = np.arange(len(self._order))
        X = sp.csr_array((X.data, self._place[X.indices], X.indptr), shape=X.shape)
        X.sort_indices()
        with np.errstate(over="ignore"):
            squared_norms = np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel()
        self._longest = int(np.diff(X.indptr).max(initial=0))
        self._n_head = min(X.shape[1], HEAD_BYTES // dtype.itemsize)
        self._arrays = (
            X.indptr.astype(np.int64),
            X.indices.astype(np.uint32),
            X.data,
            squared_norms,
        )

    def oasis_steps(
        self,
        W: NDArray[Any],
        triplets: NDArray[np.int32],
        aggressiveness: float,
        margins: NDArray[np.float64] | None = None,
    ) -> tuple[int, int]:
        """Take one OASIS step per triplet on W, which must be in `internal_order`; return (losses, updates).

        Where `margins`, float64 of shape (m,), is given, it gets S(p, p+) - S(p, p-) of every triplet before its step.
        """
        if margins is None:
            margins = np.empty(0)
        losses, updates = oasis_steps(
            W, *self._arrays, triplets, aggressiveness, *self._sparse_scratch(2), self._head_scratch(), margins
        )
        return losses, updates

    def symmetric_steps(
        self, W: NDArray[Any], triplets: NDArray[np.int32], aggressiveness: float, *, dissimilarity: bool
    ) -> tuple[int, int]:
        """Take one step of Dissim-OASIS (else of Online-Proj-OASIS) per triplet, as `oasis_steps` does of OASIS."""
        losses, updates = symmetric_steps(
            W,
            *self._arrays,
            triplets,
            aggressiveness,
            dissimilarity,
            *self._sparse_scratch(2),
            self._head_scratch(),
            *self._sparse_scratch(2),
            *self._sparse_scratch(3),
            self._head_scratch(),
            *self._sparse_scratch(3),
            np.empty(3 * self._longest, dtype=W.dtype),
        )
        return losses, updates

    def _sparse_scratch(self, n_rows: int) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """Return room for a sparse vector whose support is that of `n_rows` rows."""
        length = n_rows * self._longest
        return np.empty(length, dtype=np.uint32), np.empty(length, dtype=self._arrays[2].dtype)

    def _head_scratch(self) -> NDArray[Any]:
        return np.empty(self._n_head, dtype=self._arrays[2].dtype)

    @contextmanager
    def internal_order(self, W: NDArray[Any]) -> Iterator[None]:
        """Inside the block W, in place, has its features by document frequency; after it, in the user's order."""
        permute_square(W, self._order, np.empty_like(W[0]))
        try:
            yield
        finally:
            self.restore_order(W)

    @contextmanager
    def user_order(self, W: NDArray[Any]) -> Iterator[None]:
        """Within `internal_order`: a block in which W has the user's order."""
        self.restore_order(W)
        try:
            yield
        finally:
            permute_square(W, self._order, np.empty_like(W[0]))

    def restore_order(self, W: NDArray[Any]) -> None:
        """Put W, in place, from the order of `internal_order` into the user's."""
        permute_square(W, self._place, np.empty_like(W[0]))
