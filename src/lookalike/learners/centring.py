"""Where rows lie and in what units their columns are: what distances, lengths of steps and ranks must not depend on.

Units of columns may be some 1e13 apart: beyond that, directions of the shorter ones are lost to rounding.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from lookalike.core.arrays import Array, Doubles, Ints, Longs, Matrix

NEAR, FAR = 1.0, 8.0
"""Standard deviations from 0 within which the mean of a column is left where it is: of dense rows that are compared by
distance, and where a move costs more. A CSR matrix gets few entries more, since a column so far out has few zeros."""
PART = 1_000
"""Pairs of rows whose differences are in memory at a time."""


def is_sparse(matrix: Matrix) -> bool:
    """Tell whether a matrix is one of SciPy's, in words that leave its type open for a type checker."""
    return bool(sp.issparse(matrix))


def means_and_spreads(X: Matrix) -> tuple[Doubles, Doubles]:
    """Return the mean and the standard deviation of every column."""
    n, d = X.shape
    # from differences to the first row, so that a column of one value has a deviation of 0
    first: Doubles = np.zeros(d)
    with np.errstate(over="ignore", invalid="ignore"):
        if not is_sparse(X):
            first += X[0]
            moved = [np.asarray(X[start : start + PART] - first) for start in range(0, n, PART)]
            offsets = sum(part.sum(axis=0) for part in moved) / n
            return first + offsets, np.sqrt(sum(np.square(part - offsets).sum(axis=0) for part in moved) / n)
        X = summed(X)
        first[X.indices[: X.indptr[1]]] = X.data[: X.indptr[1]]
        moved, n_zeros = X.data - first[X.indices], n - np.bincount(X.indices, minlength=d)
        offsets = (np.bincount(X.indices, moved, d) - n_zeros * first) / n
        squares = np.bincount(X.indices, (moved - offsets[X.indices]) ** 2, d)
        return first + offsets, np.sqrt((squares + n_zeros * (first + offsets) ** 2) / n)


def summed(X: Matrix) -> Matrix:
    """Return a CSR matrix that has no place twice."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def centre_of(X: Matrix, spreads: float) -> Doubles | None:
    """Return what to take off all rows, near their mean; None where they lie around the origin already.

    A column whose mean is within `spreads` standard deviations of 0 stays, to the bit. Of others, a number of few
    digits is taken off, so that a difference is exact, and whole numbers stay whole.
    """
    means, deviations = means_and_spreads(X)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        units = np.exp2(np.ceil(np.log2(spreads * deviations)))
        centre = np.where(units > 0, np.round(means / units) * units, means)
    return centre if np.isfinite(centre).all() and centre.any() else None


def less(X: Matrix, centre: Doubles | None) -> Matrix:
    """Return rows less a centre, in float64; a CSR matrix stays one."""
    if centre is None:
        return X
    if not is_sparse(X):
        return np.asarray(X - centre)
    n, used = X.shape[0], np.flatnonzero(centre)
    starts = len(used) * np.arange(n + 1)
    moved = sp.csr_array((np.tile(centre[used], n), np.tile(used, n), starts), shape=X.shape)
    return sp.csr_array(summed(X).astype(np.float64) - moved)


def squared_distances(rows: Matrix, first: Ints | Longs, second: Ints | Longs) -> Doubles:
    """Return the squared distances of pairs of rows, from their differences."""
    rows = rows.astype(np.float64, copy=False) if is_sparse(rows) else rows
    found = [np.empty(0)]
    for start in range(0, len(first), PART):
        part = slice(start, start + PART)
        differences = rows[first[part]].astype(np.float64) - rows[second[part]]
        with np.errstate(over="ignore", invalid="ignore"):
            squares = differences.power(2) if is_sparse(rows) else np.square(differences)
            found.append(np.asarray(squares.sum(axis=1)).ravel())
    return np.concatenate(found)


def all_squared_distances(X: Doubles, products: Doubles) -> Doubles:
    """Return the squared distances between all rows of X under M, given XM; X itself for M = I."""
    lengths = np.einsum("ij,ij->i", X, products)
    distances = products @ X.T
    distances *= -2
    distances += lengths[:, None]
    distances += lengths
    np.maximum(distances, 0.0, out=distances)
    return np.asarray(distances)


def powers_of_two(lengths: Array) -> Doubles:
    """Return factors that bring lengths to about 1 without rounding; 1 for a length of 0."""
    lengths = np.asarray(lengths, dtype=np.float64)
    return np.asarray(np.exp2(-np.round(np.log2(np.where(lengths > 0, lengths, 1.0)))))
