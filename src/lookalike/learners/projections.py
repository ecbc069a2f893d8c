"""Projections of a matrix onto the positive semidefinite cone: at the end of online learning, in every batch step."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from lookalike.core.arrays import Array, Doubles


def project_psd(W: Array) -> tuple[Array, Doubles]:
    """Return the positive semidefinite matrix nearest to W (JMLR section 6.2), symmetric to the bit, and its root L."""
    symmetric = (W + W.T) / 2
    values, vectors = np.linalg.eigh(symmetric.astype(np.float64))
    kept = values > 0
    factor = np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))
    if not values.size or values[0] >= 0:
        return symmetric, factor
    projected = factor @ factor.T
    # which BLAS routine multiplies decides whether the product is symmetric to the bit
    return ((projected + projected.T) / 2).astype(W.dtype), factor


def nearest_psd(W: Array) -> Array:
    """Return the matrix of `project_psd`, up to rounding, in half the time where few eigenvalues are negative."""
    return without_negative_part(((W + W.T) / 2).astype(np.float64), True)[0].astype(W.dtype)


def without_negative_part(matrix: Doubles, few_negative: bool) -> tuple[Doubles, int]:
    """Do as `project_psd` for a symmetric matrix; return it and how many of its eigenvalues were negative."""
    # whether few are expected decides the cost alone, a third of that of all or twice as much: only they are found
    if few_negative:
        values, vectors = scipy.linalg.eigh(matrix, subset_by_value=(-np.inf, 0.0), check_finite=False)
    else:
        values, vectors = np.linalg.eigh(matrix)
    n_negative = int(np.count_nonzero(values < 0))
    if n_negative == 0:
        return matrix, 0
    if few_negative or n_negative <= len(matrix) / 2:
        values, vectors = values[:n_negative], vectors[:, :n_negative]
        nearest = matrix - (vectors * values) @ vectors.T
    else:
        factor = vectors[:, n_negative:] * np.sqrt(values[n_negative:])
        nearest = factor @ factor.T
    return np.asarray((nearest + nearest.T) / 2), n_negative
