"""The span of the training rows, outside which no step of LMNN, MCML, MMC, LEGO and OASIS changes the identity.

With fewer rows than features their work shrinks from d x d to r x r matrices.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from lookalike.core.arrays import Doubles, Longs, Matrix
from lookalike.learners.centring import FAR, centre_of, is_sparse, less, means_and_spreads, powers_of_two

RANK_TOLERANCE = 1e-12
"""Directions with less than this share of the sum of squares are rounding, once rows are centred and columns scaled."""
ROUNDING = 4 * np.finfo(np.float64).eps
"""Columns with a standard deviation of at most this share of their mean have one value."""


class Span:
    """Orthonormal `basis` B (d, r) of differences of rows, `coordinates` (X - mean) B of the rows, and `rank` r."""

    def __init__(self, X: Matrix) -> None:
        X = X.astype(np.float64, copy=False) if is_sparse(X) else np.asarray(X, dtype=np.float64)
        means, spreads = means_and_spreads(X)
        used = np.flatnonzero(spreads > ROUNDING * np.abs(means)).astype(np.int64)
        self._features: Longs | None = used
        self.basis = np.zeros((X.shape[1], len(used)))
        rows = X[:, used]
        if X.shape[0] > len(used):
            # unit vectors of the features in use: exact, and no larger than the data
            self.basis[used, np.arange(len(used))] = 1.0
            self.coordinates = np.ascontiguousarray((rows.toarray() if is_sparse(rows) else rows) - means[used])
        else:
            # from products of rows, of shape (n, n), so that a CSR matrix is never made dense over all its features
            self._features = None
            moved = less(rows, centre_of(rows, FAR) if is_sparse(rows) else means[used])
            directions = _directions(moved, powers_of_two(spreads[used]))
            self.basis = np.zeros((X.shape[1], directions.shape[1]))
            self.basis[used] = directions
            coordinates = moved @ directions
            self.coordinates = np.ascontiguousarray(coordinates - coordinates.mean(axis=0))
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


def _directions(rows: Matrix, scales: Doubles) -> Doubles:
    """Return an orthonormal basis of the differences of rows, of which there are no more than columns."""
    scaled = rows.multiply(scales).tocsr() if is_sparse(rows) else rows * scales
    gram = scaled @ scaled.T
    gram = gram.toarray() if is_sparse(gram) else gram
    gram -= gram.mean(axis=0)
    gram -= gram.mean(axis=1)[:, None]
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    kept = values > RANK_TOLERANCE * np.maximum(values, 0.0).sum()
    vectors = vectors[:, kept]
    # LAPACK leaves the sign of an eigenvector open
    vectors *= np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    # these span the rows in their own units, too; there a long column hides others from products, but not from QR
    return np.asarray(scipy.linalg.qr(rows.T @ (vectors / np.sqrt(values[kept])), mode="economic")[0])


def principal_axes(rows: Doubles, parts: Doubles) -> tuple[Doubles, Doubles]:
    """Return directions in which `parts` of centred rows vary, as columns, and singular values, largest first.

    Those that cannot be told from the rounding of rows are left out, whatever the units of columns.
    """
    scales = powers_of_two(np.sqrt(np.square(rows).mean(axis=0)))
    scaled = parts * scales
    values = np.linalg.eigvalsh(scaled @ scaled.T if len(scaled) < scaled.shape[1] else scaled.T @ scaled)
    rank = np.count_nonzero(values > RANK_TOLERANCE * float(np.square(rows * scales).sum()))
    _, lengths, directions = np.linalg.svd(parts, full_matrices=False)
    return np.asarray(directions[:rank].T), np.asarray(lengths[:rank])
