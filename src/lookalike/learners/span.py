"""The span of the training rows, outside which no step of LMNN, MCML, MMC, LEGO and OASIS changes the identity.

With fewer rows than features their work shrinks from d x d to r x r matrices.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from lookalike.core.arrays import Doubles, Longs, Matrix
from lookalike.learners.base import is_sparse

RANK_TOLERANCE = 1e-12
"""Directions in which the rows have less than this share of the largest sum of squares are left out."""


class Span:
    """Orthonormal `basis` B (d, r) of a subspace with all rows, their `coordinates` X B in it, and its `rank` r."""

    def __init__(self, X: Matrix) -> None:
        X = X.astype(np.float64, copy=False) if is_sparse(X) else np.asarray(X, dtype=np.float64)
        # a CSR may store zeros
        used = np.unique(X.indices[X.data != 0]) if is_sparse(X) else np.flatnonzero(X.any(axis=0))
        self._features: Longs | None = used.astype(np.int64)
        if X.shape[0] >= len(self._features):
            # unit vectors of the features in use: exact, and no larger than the data
            self.basis = np.zeros((X.shape[1], len(self._features)))
            self.basis[self._features, np.arange(len(self._features))] = 1.0
            rows = X[:, self._features]
            self.coordinates = np.ascontiguousarray(rows.toarray() if is_sparse(rows) else rows)
        else:
            # from XX' of shape (n, n), so that a CSR matrix is never made dense over all its features
            self._features = None
            self.basis = _row_space(X)
            self.coordinates = np.ascontiguousarray(X @ self.basis)
        self.rank = int(self.basis.shape[1])

    def full_matrix(self, inner: Doubles) -> Doubles:
        """Return B inner B' + (I - BB'): the matrix of the full space, symmetric to the bit."""
        matrix = self._embed(inner)
        return (matrix + matrix.T) / 2

    def full_factor(self, factor: Doubles) -> Doubles:
        """Return F of shape (d, d) with FF' = B LL' B' + (I - BB'), for L of shape (r, k) with k <= r."""
        square = np.zeros((self.rank, self.rank))
        square[:, : factor.shape[1]] = factor
        return self._embed(square)

    def _embed(self, inner: Doubles) -> Doubles:
        if self._features is not None:
            matrix = np.eye(len(self.basis))
            matrix[np.ix_(self._features, self._features)] = inner
            return matrix
        matrix = (self.basis @ (inner - np.eye(self.rank))) @ self.basis.T
        matrix[np.diag_indices_from(matrix)] += 1.0
        return np.asarray(matrix)


def _row_space(X: Matrix) -> Doubles:
    """Return an orthonormal basis of the row space of n < d rows."""
    gram = X @ X.T
    gram = gram.toarray() if is_sparse(gram) else gram
    values, vectors = np.linalg.eigh(gram)
    kept = values > RANK_TOLERANCE * values[-1]
    vectors = vectors[:, kept]
    # LAPACK leaves the sign of an eigenvector open
    vectors *= np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    basis = np.asarray(X.T @ (vectors / np.sqrt(values[kept])))
    # squaring the data in the Gram matrix cost the weak directions half their digits: orthogonalise once more, which
    # never leaves the row space, as QR by the Cholesky factor of a matrix that is I already up to those errors
    upper = np.linalg.cholesky(basis.T @ basis).T
    return np.ascontiguousarray(scipy.linalg.solve_triangular(upper, basis.T, trans="T").T)
