"""Steps between rows and a learner, as a Pipeline of scikit-learn holds them: scaling of vectors, and reduction."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, normalize

from lookalike.app.model_file import SCALINGS
from lookalike.core.arrays import Matrix, Reals
from lookalike.core.model_file import Arrays
from lookalike.core.seeds import generator
from lookalike.features.clustering import one_thread, principal_components
from lookalike.learners.base import SimilarityLearner, is_sparse
from lookalike.learners.centring import means_and_spreads
from lookalike.learners.span import ROUNDING

MOST_COMPONENTS = 256
"""Principal components that long dense descriptions are brought to before learning: W has their square."""
UNIT = 1e-5
"""Rows whose length is within this of 1 have unit length."""
_MOST_ROWS = 2000  # that principal components are found from


class Scaling(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Moves vectors and divides them, as margins and steps of learners suit rows about 0 of length 1.

    Parameters
    ----------
    how : str, default="length"
        One of `SCALINGS`. ``"length"``: dense vectors less their mean, divided by their mean length. That changes no
        order before learning, and after it (a - m)'W(b - m) / s^2 orders rows b as the inner product with W'(a - m) /
        s^2 does: a gallery stays as it is. Of sparse vectors no mean is taken.

    Attributes
    ----------
    mean_ : ndarray of shape (d,), or (0,) where none is taken
    deviations_ : ndarray of shape (d,), or (0,) where vectors are not divided by them
    scale_ : float
        The mean length of the vectors that are learned from, less their mean.
    """

    def __init__(self, how: str = "length") -> None:
        self.how = how

    @property
    def is_unit(self) -> bool:
        """Tell whether vectors are brought to unit length."""
        return self.how != "length"

    def fit(self, X: Matrix, y: object = None) -> Self:
        """Take mean, deviations and mean length; lengths that are too large for the vectors' type are a ValueError."""
        self.mean_ = self.deviations_ = np.empty(0)
        with np.errstate(over="ignore", invalid="ignore"):  # infinity is refused below
            if is_sparse(X):
                rows = X.copy()
                rows.data, exponent = _near_one(rows.data)
                squares = rows.multiply(rows).sum(axis=1)
            else:
                if self.how != "unit":
                    self.mean_ = X.mean(axis=0, dtype=np.float64)
                if self.how == "standard":
                    means, deviations = means_and_spreads(X)
                    self.deviations_ = np.where(deviations > ROUNDING * np.abs(means), deviations, 1.0)
                rows, exponent = _near_one(self._centred(X))
                squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
            length = float(np.ldexp(np.sqrt(squares.astype(np.float64)).mean(), exponent))
            if not np.isfinite(X.dtype.type(length)):
                raise ValueError("the mean length of its rows is too large for their type: divide them by a number")
        self.n_features_in_, self.scale_ = X.shape[1], length or 1.0
        return self

    def _centred(self, X: Matrix) -> Matrix:
        return X - self.mean_.astype(X.dtype) if len(self.mean_) else X

    def as_given(self, X: Matrix) -> Matrix:
        """Return vectors in the order of distances that they were given in, and in a size that products hold."""
        return self._centred(X) / X.dtype.type(self.scale_)

    def transform(self, X: Matrix) -> Matrix:
        """Return vectors, moved and divided."""
        if not self.is_unit:
            return self.as_given(X)
        moved = self._centred(X)
        if len(self.deviations_):
            moved = moved / self.deviations_.astype(X.dtype)
        if is_sparse(moved):
            return normalize(moved)
        lengths = np.sqrt(np.einsum("ij,ij->i", moved, moved, dtype=np.float64))
        # rows that have unit length up to rounding stay as they are, so that a gallery of such rows does
        stays = (lengths == 0) | (np.abs(lengths - 1) < UNIT)
        return moved / np.where(stays, 1.0, lengths).astype(X.dtype)[:, None]

    def settings(self) -> dict[str, Any]:
        """Return what a model file says of it."""
        about: dict[str, Any] = {"dimensions": int(self.n_features_in_), "centred": len(self.mean_) > 0}
        return about | {"scale": float(self.scale_), "scaling": self.how}

    def arrays(self) -> Arrays:
        """Return the arrays that a model file holds of it."""
        return {"mean": self.mean_, "deviations": self.deviations_}

    @classmethod
    def restored(cls, settings: dict[str, Any], arrays: Arrays) -> Self:
        """Make what a model file holds; those of 1.1 have neither deviations nor a choice."""
        scaling, d = cls(settings.get("scaling", "length")), settings["dimensions"]
        scaling.mean_, scaling.deviations_ = arrays["mean"], arrays.get("deviations", np.empty(0))
        fits = scaling.mean_.shape == (d * settings["centred"],) and scaling.deviations_.shape in ((0,), (d,))
        if not fits or scaling.how not in SCALINGS or not settings["scale"] > 0:
            raise ValueError("the mean of the vectors is not of their dimensions")
        scaling.n_features_in_, scaling.scale_ = d, settings["scale"]
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
    from sklearn.decomposition import PCA  # slow to import, and vectors need none

    pca = PCA(len(step["components"]))
    pca.mean_, pca.components_ = step["mean"], step["components"]
    pca.n_components_, pca.n_features_in_ = pca.components_.shape
    pca.explained_variance_ = np.ones(pca.n_components_)  # asked for by older versions, which do nothing with it
    return Pipeline([("reduction", pca), ("unit", Normalizer()), ("learner", learner)])
