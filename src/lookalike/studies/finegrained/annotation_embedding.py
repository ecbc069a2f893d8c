"""Embeddings learned from category labels: the "annotation" part of the golden feature (Deep Ranking, section 6.1).

The paper's golden feature includes embeddings learned from annotated images and names WSABIE's (Weston, Bengio and
Usunier 2010). Here they are two classic ones on all hand-crafted features together: linear discriminants, and the
scores of a logistic regression.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

LEARNED_ROWS = 10_000
"""Rows that an embedding is learned from at most: principal components and discriminants are settled by then."""
EMBEDDED_ROWS = 4_096
"""Rows that are embedded at a time."""
LEAST_SHRINKAGE = 0.01
"""Of the covariance within categories: at 0, with few images, unseen ones lie as far out as one likes."""
PENALTY = 0.1
"""Of the logistic regression, on features of variance 1: its inverse regularisation."""


def embed_categories(
    features: Mapping[str, NDArray[Any]],
    learned_from: ArrayLike,
    labels: ArrayLike,
    wanted: ArrayLike,
    *,
    n_components: int = 64,
    seed: int,
) -> dict[str, NDArray[np.float32]]:
    """Learn two embeddings from labelled rows of all images' features, and embed the `wanted` rows; others are NaN."""
    rows, labels, wanted = np.asarray(learned_from), np.asarray(labels), np.asarray(wanted)
    n_classes = len(np.unique(labels))
    if not 2 <= n_classes < len(rows):
        raise ValueError(
            f"an embedding of categories needs two of them at least and more rows than categories, not {len(rows)} "
            f"rows of {n_classes}: give more labelled images"
        )
    if len(rows) > LEARNED_ROWS:
        random = np.random.Generator(np.random.PCG64(seed))
        chosen = np.sort(random.choice(len(rows), LEARNED_ROWS, replace=False, shuffle=False))
        rows, labels = rows[chosen], labels[chosen]
    # each feature on its own components, at one mean variance, so that one of many dimensions does not drown the others
    projections = {name: _projection(features[name][rows], n_components, seed) for name in sorted(features)}

    def projected(some: NDArray[Any]) -> NDArray[np.float64]:
        return np.hstack([(features[name][some] - mean) @ axes for name, (mean, axes) in projections.items()])

    X = projected(rows)
    shrinkage = max(LEAST_SHRINKAGE, _shrinkage(X, labels))
    discriminants = LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage).fit(X, labels)
    regression = LogisticRegression(C=PENALTY, max_iter=200).fit(X, labels)
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


def _projection(vectors: NDArray[Any], n_components: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean of vectors, and their principal axes as columns, scaled to a mean variance of 1."""
    wanted = max(1, min(n_components, len(vectors) - 1, vectors.shape[1]))
    solver = "randomized" if wanted < 0.5 * min(vectors.shape) else "full"
    pca = PCA(wanted, svd_solver=solver, random_state=seed).fit(vectors.astype(np.float64))
    spread = np.sqrt(pca.explained_variance_.mean())
    return pca.mean_, pca.components_.T / (spread if spread > 0 else 1.0)


def _shrinkage(rows: NDArray[np.float64], labels: NDArray[Any]) -> float:
    """Ledoit and Wolf's share of a round covariance in that within categories."""
    _, inverse = np.unique(labels, return_inverse=True)
    sums = np.zeros((inverse.max() + 1, rows.shape[1]))
    np.add.at(sums, inverse, rows)
    within = rows - (sums / np.bincount(inverse)[:, None])[inverse]
    return float(ledoit_wolf_shrinkage(within, assume_centered=True))
