"""Steps between rows and a learner, as a Pipeline of scikit-learn holds them: scaling of vectors, and reduction."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer

from lookalike.core.arrays import Array, Matrix, Reals
from lookalike.core.model_file import Arrays
from lookalike.core.seeds import generator
from lookalike.features.clustering import one_thread, principal_components
from lookalike.learners.base import SimilarityLearner, is_sparse

MOST_COMPONENTS = 256
"""Principal components that long dense descriptions are brought to before learning: W has their square."""
_MOST_ROWS = 2000  # that principal components are found from


class Scaling(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Takes their mean from vectors, if they are dense, and divides them by their mean length.

    That changes no order before learning. After it, (a - m)'W(b - m) / s^2 orders rows b as the inner product with
    W'(a - m) / s^2 does: a gallery stays as it is. Margins and steps of learners suit rows about 0 of length 1.

    Attributes
    ----------
    mean_ : ndarray of shape (d,), or (0,) of sparse vectors
    scale_ : float
        The mean length of the vectors that are learned from, less their mean.
    """

    def fit(self, X: Matrix, y: object = None) -> Self:
        """Take the mean and the mean length; lengths that are too large for the vectors' type are a ValueError."""
        with np.errstate(over="ignore", invalid="ignore"):  # infinity is refused below
            if is_sparse(X):
                self.mean_, rows = np.empty(0), X.copy()
                rows.data, exponent = _near_one(rows.data)
                squares = rows.multiply(rows).sum(axis=1)
            else:
                self.mean_ = X.mean(axis=0, dtype=np.float64)
                rows, exponent = _near_one(X - self.mean_.astype(X.dtype))
                squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
            length = float(np.ldexp(np.sqrt(squares.astype(np.float64)).mean(), exponent))
            if not np.isfinite(X.dtype.type(length)):
                raise ValueError("the mean length of its rows is too large for their type: divide them by a number")
        self.n_features_in_, self.scale_ = X.shape[1], length or 1.0
        return self

    def transform(self, X: Matrix) -> Matrix:
        """Return vectors, moved and divided."""
        kind = X.dtype.type
        return (X - self.mean_.astype(kind) if len(self.mean_) else X) / kind(self.scale_)

    def settings(self) -> dict[str, Any]:
        """Return what a model file says of it."""
        return {"dimensions": int(self.n_features_in_), "centred": len(self.mean_) > 0, "scale": float(self.scale_)}

    @classmethod
    def restored(cls, settings: dict[str, Any], mean: Array) -> Self:
        """Make what a model file holds."""
        if mean.shape != (settings["dimensions"] * settings["centred"],) or not settings["scale"] > 0:
            raise ValueError("the mean of the vectors is not of their dimensions")
        scaling = cls()
        scaling.n_features_in_, scaling.mean_ = settings["dimensions"], mean
        scaling.scale_ = settings["scale"]
        return scaling


def _near_one(values: Reals) -> tuple[Reals, int]:
    """Return values divided by a power of 2, so that no square overflows or vanishes, and its exponent; exact."""
    exponent = int(np.frexp(np.abs(values).max(initial=0))[1])
    return np.ldexp(values, -exponent), exponent


def found_components(vectors: Matrix, seed: int) -> Arrays:
    """Find ``mean`` and ``components`` of long dense rows; nothing for others, which are learned from as they are."""
    if is_sparse(vectors) or vectors.shape[1] <= MOST_COMPONENTS:
        return {}
    order = generator(seed, "own images", "components").permutation(len(vectors))
    chosen = vectors[np.sort(order[:_MOST_ROWS])]
    with one_thread():
        found = principal_components(chosen, min(MOST_COMPONENTS, len(chosen) - 1), "full")
    parts = {"mean": found.mean_, "components": found.components_}
    return {name: np.ascontiguousarray(part, dtype=np.float32) for name, part in parts.items()}


def with_steps(step: Scaling | Arrays, learner: SimilarityLearner | str = "passthrough") -> Pipeline:
    """Return a Pipeline of what vectors are scaled by, or components that images are brought to, and a learner."""
    if isinstance(step, Scaling):
        return Pipeline([("scaling", step), ("learner", learner)])
    if not step:
        return Pipeline([("reduction", "passthrough"), ("learner", learner)])
    pca = PCA(len(step["components"]))
    pca.mean_, pca.components_ = step["mean"], step["components"]
    pca.n_components_, pca.n_features_in_ = pca.components_.shape
    return Pipeline([("reduction", pca), ("unit", Normalizer()), ("learner", learner)])
