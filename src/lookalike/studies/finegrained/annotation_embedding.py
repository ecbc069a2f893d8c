"""Embeddings learned from category labels: the "annotation" part of the golden feature (Deep Ranking, section 6.1).

The paper's golden feature includes embeddings learned from annotated images and names WSABIE's (Weston, Bengio and
Usunier 2010). Here they are two classic ones on all hand-crafted features together: linear discriminants, and the
scores of a logistic regression.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from lookalike.core.seeds import RandomState, as_seed

LEARNED_ROWS = 10_000
"""Rows that an embedding is learned from at most: principal components and discriminants are settled by then."""
EMBEDDED_ROWS = 4_096
"""Rows that are embedded at a time."""
LEAST_SHRINKAGE = 0.01
"""Of the covariance within categories. The estimate can be 0 where there are fewer images than dimensions, and unseen
images then lie as far out as one likes."""
PENALTY = 0.1
"""Of the logistic regression, on features of variance 1: its inverse regularisation."""


class _Projection(NamedTuple):
    mean: NDArray[np.float64]
    directions: NDArray[np.float64]


class AnnotationEmbedding(BaseEstimator):  # type: ignore[misc]
    """Linear discriminants and logistic-regression scores on the principal components of several features.

    Every feature is projected onto its own first principal components, scaled together to a mean variance of 1, so that
    a feature of many dimensions does not drown the others; the two embeddings are learned on all of them side by side.

    Parameters
    ----------
    n_components : int, default=64
        Principal components of a feature at most.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Of the rows that are learned from where there are more than `LEARNED_ROWS`, and of randomised projections.

    Attributes
    ----------
    features_ : list of str
        Names of the features, in alphabetical order.
    classes_ : ndarray of shape (number of categories,)
    """

    def __init__(self, n_components: int = 64, *, random_state: RandomState = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, features: Mapping[str, NDArray[Any]], rows: ArrayLike, labels: ArrayLike) -> Self:
        """Learn both embeddings from some rows of all images' features and their categories, at least two."""
        rows, labels = np.asarray(rows, dtype=np.int64), np.asarray(labels)
        self.classes_ = np.unique(labels)
        if not 2 <= len(self.classes_) < len(rows):
            raise ValueError(
                f"an embedding of categories needs two of them at least and more rows than categories, not {len(rows)} "
                f"rows of {len(self.classes_)}: give more labelled images"
            )
        seed = as_seed(self.random_state)
        if len(rows) > LEARNED_ROWS:
            random = np.random.Generator(np.random.PCG64(seed))
            chosen = np.sort(random.choice(len(rows), LEARNED_ROWS, replace=False, shuffle=False))
            rows, labels = rows[chosen], labels[chosen]
        self.features_ = sorted(features)
        self._projections = {name: self._project(features[name][rows], seed) for name in self.features_}
        projected = self._projected(features, rows)
        shrinkage = max(LEAST_SHRINKAGE, _shrinkage(projected, labels))
        self._discriminants = LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage).fit(projected, labels)
        self._regression = LogisticRegression(C=PENALTY, max_iter=200).fit(projected, labels)
        return self

    def embed(self, features: Mapping[str, NDArray[Any]], rows: ArrayLike) -> dict[str, NDArray[np.float32]]:
        """Embed some rows; the others are NaN.

        ``"lda"`` is centred, with unit variance within categories, and has as many dimensions as categories less one
        (or as there are components). ``"logistic"`` has the square roots of the categories' probabilities, whose
        Euclidean distance is Hellinger's.
        """
        check_is_fitted(self)
        rows = np.asarray(rows, dtype=np.int64)
        n = len(features[self.features_[0]])
        parts: dict[str, list[NDArray[np.float32]]] = {"lda": [], "logistic": []}
        for start in range(0, max(len(rows), 1), EMBEDDED_ROWS):
            projected = self._projected(features, rows[start : start + EMBEDDED_ROWS])
            if len(projected):
                parts["lda"].append(self._discriminants.transform(projected).astype(np.float32))
                parts["logistic"].append(np.sqrt(self._regression.predict_proba(projected)).astype(np.float32))
        found = {}
        for name, blocks in parts.items():
            width = blocks[0].shape[1] if blocks else 1
            found[name] = np.full((n, width), np.nan, dtype=np.float32)
            if blocks:
                found[name][rows] = np.concatenate(blocks)
        return found

    def _project(self, vectors: NDArray[Any], seed: int) -> _Projection:
        wanted = max(1, min(int(self.n_components), len(vectors) - 1, vectors.shape[1]))
        solver = "randomized" if wanted < 0.5 * min(vectors.shape) else "full"
        pca = PCA(wanted, svd_solver=solver, random_state=seed).fit(vectors.astype(np.float64))
        spread = np.sqrt(pca.explained_variance_.mean())
        return _Projection(pca.mean_, pca.components_.T / (spread if spread > 0 else 1.0))

    def _projected(self, features: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.hstack(
            [(features[name][rows] - mean) @ directions for name, (mean, directions) in self._projections.items()]
        )


def _shrinkage(rows: NDArray[np.float64], labels: NDArray[Any]) -> float:
    """Ledoit and Wolf's share of a round covariance in that within categories."""
    _, inverse = np.unique(labels, return_inverse=True)
    sums = np.zeros((inverse.max() + 1, rows.shape[1]))
    np.add.at(sums, inverse, rows)
    within = rows - (sums / np.bincount(inverse)[:, None])[inverse]
    return float(ledoit_wolf_shrinkage(within, assume_centered=True))
