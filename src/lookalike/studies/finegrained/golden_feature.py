"""The golden feature: a non-negative weighted sum of distances, its weights by max margin (Deep Ranking, section 6.1).

The paper mixes twenty-seven "features", each with a setting and a distance of its own, some of them learned from
annotated images, and learns the weights from rated triplets. Here a `Component` is vectors with a distance; where they
come from is said in `lookalike.studies.finegrained.golden`.

The paper's embeddings of annotated images are WSABIE's (Weston, Bengio and Usunier 2010); here they are two classic
ones on all features together: linear discriminants, and the scores of a logistic regression.

Weights are found by dual coordinate descent (Hsieh et al., "A dual coordinate descent method for large-scale linear
SVM", ICML 2008), kept from being negative and without a bias, since a triplet has none. The dual is max sum_i a_i
- 1/2 |[sum_i a_i x_i]_+|^2 with 0 <= a_i <= C / n, and w = [sum_i a_i x_i]_+.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from lookalike.core.arrays import Array
from lookalike.core.kernels import njit
from lookalike.features.clustering import principal_components
from lookalike.ranking.distances import distances_of_rows

Floats = NDArray[np.float64]
LEARNED_ROWS, LEARNED_VALUES = 10_000, 100_000_000
"""Rows that an embedding is learned from at most, and numbers of the widest feature in them (400 MB): principal
components and discriminants are settled by then."""
EMBEDDED_ROWS = 4_096
"""Rows that are embedded at a time."""
LEAST_SHRINKAGE = 0.01
"""Of the covariance within categories: at 0, with few images, unseen ones lie as far out as one likes."""
PENALTY = 0.1
"""Of the logistic regression, on features of variance 1: its inverse regularisation."""


class Component(NamedTuple):
    """Vectors of images, a row each, under a feature's name, and a distance of `lookalike.ranking.distances`."""

    feature: str
    vectors: NDArray[np.float32]
    distance: str


def component_distances(components: Sequence[Component], left_rows: ArrayLike, right_rows: ArrayLike) -> Floats:
    """Return the distances of n pairs of rows by every component, float64 of shape (n, number of components)."""
    left, right = np.asarray(left_rows, dtype=np.int64), np.asarray(right_rows, dtype=np.int64)
    table = np.empty((len(left), len(components)))
    for column, (_, vectors, distance) in enumerate(components):
        table[:, column] = distances_of_rows(vectors, left, right, distance)
    return table


def embed_categories(
    features: Mapping[str, Array],
    learned_from: ArrayLike,
    labels: ArrayLike,
    wanted: ArrayLike,
    *,
    n_components: int = 64,
    seed: int,
) -> dict[str, NDArray[np.float32]]:
    """Learn two embeddings from labelled rows of all images' features, and embed the `wanted` rows; others are NaN."""
    rows, codes, wanted = np.asarray(learned_from), np.asarray(labels), np.asarray(wanted)
    most = min(LEARNED_ROWS, LEARNED_VALUES // max(vectors.shape[1] for vectors in features.values()))
    if len(rows) > most:
        random = np.random.Generator(np.random.PCG64(seed))
        chosen = np.sort(random.choice(len(rows), most, replace=False, shuffle=False))
        rows, codes = rows[chosen], codes[chosen]
    # each feature on its own components, at one mean variance, so that one of many dimensions does not drown the others
    projections = {name: _projection(features[name][rows], n_components, seed) for name in sorted(features)}

    def projected(some: Array) -> Floats:
        return np.hstack([(features[name][some] - mean) @ axes for name, (mean, axes) in projections.items()])

    X = projected(rows)
    shrinkage = max(LEAST_SHRINKAGE, _shrinkage(X, codes))
    discriminants = LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage).fit(X, codes)
    regression = LogisticRegression(C=PENALTY, max_iter=200).fit(X, codes)
    blocks = [projected(wanted[start : start + EMBEDDED_ROWS]) for start in range(0, len(wanted), EMBEDDED_ROWS)]
    found = {}
    for name, embed in (
        ("lda", discriminants.transform),
        # the Euclidean distance of square roots of probabilities is Hellinger's
        ("logistic", lambda block: np.sqrt(regression.predict_proba(block))),
    ):
        embedded = np.concatenate([embed(block).astype(np.float32) for block in blocks])
        found[name] = np.full((len(features[next(iter(features))]), embedded.shape[1]), np.nan, dtype=np.float32)
        found[name][wanted] = embedded
    return found


def _projection(vectors: Array, n_components: int, seed: int) -> tuple[Floats, Floats]:
    """Return the mean of vectors, and their principal axes as columns, scaled to a mean variance of 1."""
    wanted = max(1, min(n_components, len(vectors) - 1, vectors.shape[1]))
    solver = "randomized" if wanted < 0.5 * min(vectors.shape) else "full"
    pca = principal_components(vectors, wanted, solver, seed)
    spread = np.sqrt(pca.explained_variance_.mean())
    return pca.mean_, pca.components_.T / (spread if spread > 0 else 1.0)


def _shrinkage(rows: Floats, labels: Array) -> float:
    """Return Ledoit and Wolf's share of a round covariance in that within categories."""
    _, inverse = np.unique(labels, return_inverse=True)
    sums = np.zeros((inverse.max() + 1, rows.shape[1]))
    np.add.at(sums, inverse, rows)
    within = rows - (sums / np.bincount(inverse)[:, None])[inverse]
    return float(ledoit_wolf_shrinkage(within, assume_centered=True))


class Learned(NamedTuple):
    """Weights by max margin, and where learning stopped."""

    weights: Floats
    """At least 0, shape (number of components,)."""
    objective: float
    gap: float
    """Between the objective and its dual: by so much at most could the objective still fall."""
    converged: bool
    """True where the gap is below the tolerance."""


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
        gap = max(objective - (float(dual.sum()) - half), 0.0)  # at the optimum, rounding would make it negative
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
