"""The golden feature: a non-negative weighted sum of distances, its weights by max margin (Deep Ranking, section 6.1).

The paper mixes twenty-seven "features", each with a setting and a distance of its own, some of them learned from
annotated images, and learns the weights from rated triplets. Here a `Component` is vectors with a distance; where they
come from is said in `lookalike.studies.finegrained.golden`.

Weights are found by dual coordinate descent (Hsieh et al., "A dual coordinate descent method for large-scale linear
SVM", ICML 2008), kept from being negative and without a bias, since a triplet has none. The dual is max sum_i a_i
- 1/2 |[sum_i a_i x_i]_+|^2 with 0 <= a_i <= C / n, and w = [sum_i a_i x_i]_+.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core.kernels import njit
from lookalike.ranking.distances import distances_of_rows

Floats = NDArray[np.float64]


class Component(NamedTuple):
    """Vectors of images, a row each, under a feature's name, and a distance of `lookalike.ranking.distances`."""

    feature: str
    vectors: NDArray[np.float32]
    distance: str


def component_distances(components: Sequence[Component], left_rows: ArrayLike, right_rows: ArrayLike) -> Floats:
    """Distances of n pairs of rows by every component, float64 of shape (n, number of components)."""
    left, right = np.asarray(left_rows, dtype=np.int64), np.asarray(right_rows, dtype=np.int64)
    table = np.empty((len(left), len(components)))
    for column, (_, vectors, distance) in enumerate(components):
        table[:, column] = distances_of_rows(vectors, left, right, distance)
    return table


class Learned(NamedTuple):
    """Weights by max margin, and where learning stopped."""

    weights: Floats
    """At least 0, shape (number of components,)."""
    objective: float
    gap: float
    """Between the objective and its dual: by so much at most could the objective still fall."""
    converged: bool
    """Whether the gap is below the tolerance."""


def learn_weights(
    differences: ArrayLike, C: float, *, seed: int, tolerance: float = 0.001, most_passes: int = 1000
) -> Learned:
    """Minimise 1/2 |w|^2 + C times the mean over rows x = d(q, p-) - d(q, p+) of max(0, 1 - w'x), with w >= 0."""
    rows = np.ascontiguousarray(differences, dtype=np.float64)
    squares = np.einsum("ij,ij->i", rows, rows)
    largest = float(C) / len(rows)
    dual, sums = np.zeros(len(rows)), np.zeros(rows.shape[1])
    random = np.random.Generator(np.random.PCG64(seed))
    # equal distances to both: their dual variable is at its bound whatever the weights are
    dual[squares == 0] = largest
    for _ in range(most_passes):
        dual_pass(rows, squares, random.permutation(len(rows)), largest, dual, sums)
        weights = np.maximum(sums, 0)
        half = 0.5 * float(weights @ weights)
        objective = half + largest * float(np.maximum(1 - rows @ weights, 0).sum())
        gap = objective - (float(dual.sum()) - half)
        if gap <= tolerance * objective:
            break
    return Learned(weights, objective, gap, gap <= tolerance * objective)


@njit(cache=True, nogil=True)
def dual_pass(
    rows: Floats, squares: Floats, order: NDArray[np.int64], largest: float, dual: Floats, sums: Floats
) -> None:
    """Take one step on the dual variable of every row; `dual` and `sums`, the sum of a_i x_i, change in place."""
    n_features = rows.shape[1]
    for i in order:
        if squares[i] == 0.0:
            continue
        margin = 0.0
        for k in range(n_features):
            margin += rows[i, k] * max(sums[k], 0.0)
        # |x_i|^2 bounds the curvature from above, so that no step lowers the dual
        new = min(max(dual[i] + (1.0 - margin) / squares[i], 0.0), largest)
        change = new - dual[i]
        if change != 0.0:
            dual[i] = new
            for k in range(n_features):
                sums[k] += change * rows[i, k]


def distance_scales(distances: Floats) -> Floats:
    """Return the medians of columns, which distances are divided by; where one is 0 the mean, or else 1."""
    medians, means = np.median(distances, axis=0), distances.mean(axis=0)
    return np.where(medians > 0, medians, np.where(means > 0, means, 1.0))


def warm_up() -> None:
    """Compile the kernel, or load it from numba's cache, so that timed runs do not."""
    learn_weights([[1.0]], 1.0, seed=0, most_passes=1)
