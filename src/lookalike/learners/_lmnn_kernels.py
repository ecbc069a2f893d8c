"""Compiled inner loops of LMNN: slacks of triplets over all impostors or over a list of them, distances of pairs.

A triplet (i, j, l) has a target neighbour j of i and an impostor l of another class; its slack is 1 + d_ij - d_il. What
the gradient needs of all triplets is one weight per pair of rows, so that is what the loops give.
"""

# numba's decorators have no types; what they decorate is annotated all the same

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.kernels import njit


@njit(cache=True, nogil=True)
def rounded_hinge(slack: float, width: float) -> tuple[float, float]:
    """Value and slope of the hinge max(0, slack) with its kink rounded off, by a parabola over 0 < slack < width.

    The value is at most width / 2 below the hinge. With width 0 it is the hinge, with slope 0 at the kink itself.
    """
    if slack <= 0.0:
        return 0.0, 0.0
    if slack >= width:
        return slack - width / 2, 1.0
    return slack * slack / (2 * width), slack / width


@njit(cache=True, nogil=True)
def all_slacks(
    distances: NDArray[np.float64],
    targets: NDArray[np.int64],
    classes: NDArray[np.int64],
    width: float,
    weights: NDArray[np.float64],
) -> tuple[float, float]:
    """Sum the distances to target neighbours and the hinges of all triplets, with the slope of each pair's distance.

    Parameters
    ----------
    distances : (n, n) float64
    targets : (n, k) int64, -1 where a row has fewer than k target neighbours
    classes : (n,) int64
    width : float
        Of the rounding of the hinge's kink, 0 for none.
    weights : (n, n) float64, overwritten
        What the sum of hinges gains per unit of each distance.

    Returns
    -------
    pull, push : float
    """
    n, k = targets.shape
    pull, push = 0.0, 0.0
    for i in range(n):
        weights[i, :] = 0.0
        if targets[i, 0] < 0:
            continue
        furthest = distances[i, targets[i, 0]]
        for t in range(k):
            if targets[i, t] >= 0:
                pull += distances[i, targets[i, t]]
                furthest = max(furthest, distances[i, targets[i, t]])
        for other in range(n):
            if distances[i, other] >= 1.0 + furthest or classes[other] == classes[i]:
                continue
            for t in range(k):
                j = targets[i, t]
                if j < 0:
                    break
                slack = 1.0 + distances[i, j] - distances[i, other]
                if slack > 0.0:
                    value, slope = rounded_hinge(slack, width)
                    push += value
                    weights[i, j] += slope
                    weights[i, other] -= slope
    return pull, push


@njit(cache=True, nogil=True)
def listed_slacks(
    distances: NDArray[np.float64],
    targets: NDArray[np.int64],
    starts: NDArray[np.int64],
    width: float,
    weights: NDArray[np.float64],
) -> tuple[float, float]:
    """Do as `all_slacks` does, over listed impostors only.

    Parameters
    ----------
    distances : (n k + m,) float64
        First those of the pairs (i, targets[i, t]), row by row, then those of the m listed pairs (i, l), i rising.
    targets : (n, k) int64, -1 where a row has fewer than k target neighbours
    starts : (n + 1,) int64
        Listed pairs of row i are those at starts[i] to starts[i + 1] of the second part.
    width : float
    weights : (n k + m,) float64, overwritten

    Returns
    -------
    pull, push : float
    """
    n, k = targets.shape
    pull, push = 0.0, 0.0
    weights[:] = 0.0
    for i in range(n):
        for t in range(k):
            if targets[i, t] >= 0:
                pull += distances[i * k + t]
        for pair in range(n * k + starts[i], n * k + starts[i + 1]):
            for t in range(k):
                if targets[i, t] < 0:
                    break
                slack = 1.0 + distances[i * k + t] - distances[pair]
                if slack > 0.0:
                    value, slope = rounded_hinge(slack, width)
                    push += value
                    weights[i * k + t] += slope
                    weights[pair] -= slope
    return pull, push


# fastmath lets the compiler sum in vector lanes: another order than one by one, the same on every run of a machine.
@njit(cache=True, nogil=True, fastmath=True)
def _difference_product(
    a: NDArray[np.float64], b: NDArray[np.float64], of_a: NDArray[np.float64], of_b: NDArray[np.float64]
) -> float:
    total = 0.0
    for c in range(a.shape[0]):
        total += (a[c] - b[c]) * (of_a[c] - of_b[c])
    return total


@njit(cache=True, nogil=True)
def pair_distances(
    X: NDArray[np.float64],
    products: NDArray[np.float64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    distances: NDArray[np.float64],
) -> None:
    """Write the squared distances (a - b)'M(a - b) of the pairs (left[p], right[p]) of rows of X.

    Parameters
    ----------
    X : (n, r) float64, C-contiguous
    products : (n, r) float64, C-contiguous
        XM.
    left, right : (m,) int64
    distances : (m,) float64, overwritten
    """
    for p in range(left.shape[0]):
        distance = _difference_product(X[left[p]], X[right[p]], products[left[p]], products[right[p]])
        distances[p] = max(distance, 0.0)


@njit(cache=True, nogil=True)
def possible_impostors(
    distances: NDArray[np.float64],
    targets: NDArray[np.int64],
    classes: NDArray[np.int64],
    margin: float,
    possible: NDArray[Any],
) -> None:
    """Mark the pairs (i, l) of different classes with d_il < margin + d_ij for a target neighbour j of i.

    Marks of before stay.

    Parameters
    ----------
    distances : (n, n) float64
    targets : (n, k) int64, -1 where a row has fewer than k target neighbours
    classes : (n,) int64
    margin : float
    possible : (n, n) bool, marked in place
    """
    n, k = targets.shape
    for i in range(n):
        if targets[i, 0] < 0:
            continue
        reach = distances[i, targets[i, 0]]
        for t in range(1, k):
            if targets[i, t] >= 0:
                reach = max(reach, distances[i, targets[i, t]])
        for other in range(n):
            if distances[i, other] < margin + reach and classes[other] != classes[i]:
                possible[i, other] = True
