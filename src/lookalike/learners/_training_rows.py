"""Training rows as the OASIS kernels want them, and W in the matching order of features while they run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.learners._oasis_kernels import HEAD_BYTES, oasis_steps, permute_square


class TrainingRows:
    """CSR rows with their columns by falling document frequency, and scratch space for a step.

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
        longest = int(np.diff(X.indptr).max(initial=0))
        self._arrays = (
            X.indptr.astype(np.int64),
            X.indices.astype(np.uint32),
            X.data,
            squared_norms,
        )
        self._scratch = (
            np.empty(2 * longest, dtype=np.uint32),
            np.empty(2 * longest, dtype=dtype),
            np.empty(min(X.shape[1], HEAD_BYTES // dtype.itemsize), dtype=dtype),
        )

    def oasis_steps(self, W: NDArray[Any], triplets: NDArray[np.int32], aggressiveness: float) -> tuple[int, int]:
        """Take one OASIS step per triplet on W, which must be in `internal_order`; return (losses, updates)."""
        losses, updates = oasis_steps(W, *self._arrays, triplets, aggressiveness, *self._scratch)
        return losses, updates

    @contextmanager
    def internal_order(self, W: NDArray[Any]) -> Iterator[None]:
        """Inside the block W, in place, has its features by document frequency; after it, in the user's order."""
        permute_square(W, self._order, np.empty_like(W[0]))
        try:
            yield
        finally:
            permute_square(W, self._place, np.empty_like(W[0]))

    @contextmanager
    def user_order(self, W: NDArray[Any]) -> Iterator[None]:
        """Within `internal_order`: a block in which W has the user's order."""
        permute_square(W, self._place, np.empty_like(W[0]))
        try:
            yield
        finally:
            permute_square(W, self._order, np.empty_like(W[0]))
