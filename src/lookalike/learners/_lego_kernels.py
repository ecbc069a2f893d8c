"""Compiled inner loop of LEGO: the LogDet step on sparse rows, with the matrix changed lazily.

A step takes c (Az)(Az)' off a matrix A. Written to A at once, that moves all of A through memory for every pair; so the
last few vectors are kept beside A, and `lego.py` subtracts many of them in one matrix product.
"""

from __future__ import annotations

from math import hypot, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.kernels import njit
from lookalike.learners.sparse_rows import add_scaled

SMALLEST_DISTANCE = 1e-12
"""Distances below this share of the two rows' squared lengths are rounding: such a pair is left alone."""


# fastmath as in the OASIS kernels: the order of a sum is the compiler's, and the same on every run of a machine.
@njit(cache=True, nogil=True, fastmath=True)
def _sparse_dot(row: NDArray[Any], index: NDArray[np.uint32], value: NDArray[Any]) -> Any:
    total = 0.0
    for k in range(index.shape[0]):
        total += row[index[k]] * value[k]
    return total


@njit(cache=True, nogil=True)
def _add(target: NDArray[Any], weight: float, row: NDArray[Any]) -> None:
    for k in range(target.shape[0]):
        target[k] += weight * row[k]


@njit(cache=True, nogil=True)
def logdet_step(distance: float, target: float, regularization: float) -> tuple[float, float]:
    """Return the distance after the step, and the weight that zz' gets in the inverse of A.

    The new distance is the positive root of eta yh yb^2 - (eta y yh - 1) yb - yh = 0, written so that nothing cancels
    and nothing overflows. The weight is eta (yb - y) = (yh - yb) / (yh yb), whichever of the two differences is exact.
    """
    half = 0.5 * (target - 1.0 / (regularization * distance))
    root = hypot(half, 1.0 / sqrt(regularization))
    after = half + root if half > 0.0 else 1.0 / (regularization * (root - half))
    if abs(after - target) > abs(distance - after):
        return after, regularization * (after - target)
    return after, (distance - after) / distance / after


@njit(cache=True, nogil=True)
def lego_steps(
    A: NDArray[np.float64],
    recent: NDArray[np.float64],
    factors: NDArray[np.float64],
    n_recent: int,
    inverse_weights: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    data: NDArray[np.float64],
    squared_lengths: NDArray[np.float64],
    pairs: NDArray[np.int32],
    targets: tuple[float, float],
    relative: bool,
    regularization: float,
    z_index: NDArray[np.uint32],
    z_value: NDArray[np.float64],
    products: NDArray[np.float64],
) -> tuple[int, int, int]:
    """Run one step per pair until the pairs are through or `recent` is full.

    The matrix in force is A minus the sum of ``factors[k] * outer(recent[k], recent[k])`` over k < n_recent.

    Parameters
    ----------
    A : (m, m) symmetric; only read
    recent : (k, m), written from row n_recent on
    factors : (k,), written from n_recent on
    n_recent : int
    inverse_weights : (n, n) or (0, 0)
        Where it has rows, the step's weight is added to it so that X' inverse_weights X is what the inverse gains.
    indptr, indices, data : CSR rows, (n, m), indices uint32 and sorted within a row
    squared_lengths : (n,)
    pairs : (p, 3), rows (i, j, same)
    targets : distances that pairs of two classes, and of one class, are led to: (l, u)
    relative : bool
        Leave pairs alone that are farther apart than l, or closer than u.
    regularization : float, eta
    z_index, z_value : scratch, twice the longest row
    products : (k,) scratch

    Returns
    -------
    taken, losses, updates : int
        Pairs taken; those off their target; those that changed the matrix. Every update filled one row of `recent`.
    """
    losses = 0
    updates = 0
    for p in range(pairs.shape[0]):
        if n_recent == recent.shape[0]:
            return p, losses, updates
        i, j, same = pairs[p]
        one, other = slice(indptr[i], indptr[i + 1]), slice(indptr[j], indptr[j + 1])
        n = add_scaled(1.0, indices[one], data[one], -1.0, indices[other], data[other], z_index, z_value)
        index, value = z_index[:n], z_value[:n]
        distance = 0.0
        for k in range(n):
            distance += value[k] * _sparse_dot(A[index[k]], index, value)
        for k in range(n_recent):
            products[k] = factors[k] * _sparse_dot(recent[k], index, value)
            distance -= products[k] * products[k] / factors[k]
        target = targets[same]
        # the distance of a row to itself may come out a rounding below 0
        error = max(distance, 0.0) - target
        if error == 0.0 or (relative and (error < 0.0) == (same == 1)):
            continue
        losses += 1
        if distance <= SMALLEST_DISTANCE * (squared_lengths[i] + squared_lengths[j]):
            continue
        after, weight = logdet_step(distance, target, regularization)
        if weight == 0.0:
            continue
        updates += 1
        direction = recent[n_recent]
        direction[:] = 0.0
        for k in range(n):
            _add(direction, value[k], A[index[k]])
        for k in range(n_recent):
            _add(direction, -products[k], recent[k])
        factors[n_recent] = weight * after / distance
        n_recent += 1
        if inverse_weights.shape[0] > 0:
            inverse_weights[i, i] += weight
            inverse_weights[j, j] += weight
            inverse_weights[i, j] -= weight
            inverse_weights[j, i] -= weight
    return pairs.shape[0], losses, updates
