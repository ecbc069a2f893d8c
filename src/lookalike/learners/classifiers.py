"""Classifiers of scikit-learn as similarities: what one would take in place of a learned metric.

A row is mapped to numbers of unit length, one a class or one a discriminant direction, and rows are compared by the
inner product of these: the cosine. So they know the classes that they have learned from, and little beyond them.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.special
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression as Classifier
from sklearn.utils.validation import check_is_fitted

from lookalike.core.arrays import Array, Doubles, Matrix
from lookalike.learners.base import SimilarityLearner, refuse_overflow
from lookalike.learners.centring import is_sparse
from lookalike.learners.parameters import PositiveFinite
from lookalike.learners.triplets import class_codes

TOLERANCE = 1e-5
"""Largest gradient at which logistic regression ends."""


class ClassMap(SimilarityLearner):
    """Base of the maps to numbers of unit length; a subclass sets ``mean_``, ``components_`` and ``intercept_``."""

    accepts = frozenset({"labels"})
    can_blend = is_linear = False
    mean_: Doubles
    components_: Doubles
    intercept_: Doubles

    def _learn(self, X: Matrix, y: Array) -> None:
        refuse_overflow(X)
        class_codes(y)  # refuses what nothing can be learned from
        rows = X.astype(np.float64)
        self.metric_ = "inner_product"
        self.mean_ = np.zeros(X.shape[1]) if is_sparse(X) else rows.mean(axis=0)
        self._learn_map(rows if is_sparse(X) else rows - self.mean_, y)

    @abstractmethod
    def _learn_map(self, rows: Matrix, y: Array) -> None:
        """Learn from rows less `mean_`."""

    def _mapped(self, X: Matrix) -> Doubles:
        """Return a row of numbers for each of some rows."""
        if is_sparse(X):
            return np.asarray(X @ self.components_) - self.mean_ @ self.components_ + self.intercept_
        return np.asarray((X - self.mean_) @ self.components_ + self.intercept_)

    def _unit(self, X: Matrix) -> Doubles:
        refuse_overflow(X)
        mapped = self._mapped(X)
        lengths = np.linalg.norm(mapped, axis=1, keepdims=True)
        return np.asarray(mapped / np.where(lengths > 0, lengths, 1.0))

    def _embedded(self, X: Matrix) -> Array:
        return self._unit(X).astype(X.dtype, copy=False)

    def _comparable(self, *given: Matrix, lazily: bool = False) -> list[Matrix]:
        check_is_fitted(self)
        return [self._unit(self._check_rows(X)) for X in given]

    def _project(self, rows: Matrix) -> Matrix:
        return rows

    def _for_index(self, X: Matrix, side: int, rank: int | None) -> Matrix:
        if rank is not None:
            raise ValueError(f"{type(self).__name__} maps rows to few numbers already: give no rank")
        return self.transform(X)

    def index_map(self) -> dict[str, Array]:
        """Return what queries of an index go through: ``matrix``, ``intercept``, and if ``probabilities`` follow."""
        matrix, intercept = self.components_, self.intercept_ - self.mean_ @ self.components_
        probable = getattr(self, "compare", "") == "probabilities"
        if probable and matrix.shape[1] == 1:
            matrix, intercept = (np.hstack([np.zeros_like(part), part]) for part in (matrix, intercept))
        return {"matrix": matrix, "intercept": intercept} | ({"probabilities": np.ones(1)} if probable else {})

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[1])


class LDA(ClassMap):
    """Linear discriminant analysis: the cosine of rows, less their mean, in the directions that tell classes apart.

    The covariance within classes is shrunk by the rule of Ledoit and Wolf, so that there may be fewer rows than
    features. It is scikit-learn's ``LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")``.

    Attributes
    ----------
    components_ : numpy.ndarray of shape (d, k), float64
        Discriminant directions, at most one less than classes.
    mean_ : numpy.ndarray of shape (d,), float64
        What is taken off rows; zeros of a CSR matrix.
    intercept_ : numpy.ndarray of shape (k,), float64
        What is added to mapped rows.
    metric_ : str
        ``"inner_product"``.
    n_features_in_ : int
        Number of features d.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0, 1.0], [1.0, 1.2], [0.0, 2.0], [1.0, 2.1]]), [0, 0, 1, 1]
    >>> LDA().fit(X, y).rank(X[:1], X[1:], k=1)[0].tolist()
    [[0]]
    """

    def _learn_map(self, rows: Matrix, y: Array) -> None:
        dense = rows.toarray() if is_sparse(rows) else rows
        try:
            found = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(dense, y)
            self.components_ = np.ascontiguousarray(found.scalings_[:, : len(found.classes_) - 1])
        except np.linalg.LinAlgError:  # as where no class varies
            sentence = "LDA finds no directions, as the covariance within classes is singular: rows keep all of theirs"
            warnings.warn(sentence, stacklevel=3)
            self.components_ = np.eye(dense.shape[1])
        self.intercept_ = -dense.mean(axis=0) @ self.components_


@dataclass(eq=False, repr=False)
class LogisticRegression(ClassMap):
    """Logistic regression: two rows are alike as far as it gives them the same classes.

    It is scikit-learn's, with one score a class.

    Parameters
    ----------
    C : float, default=10.0
        Inverse of the strength of regularisation, larger than 0.
    compare : {"probabilities", "scores"}, default="probabilities"
        Rows are compared by the inner product of the square roots of their classes' probabilities (the coefficient of
        Bhattacharyya), or by the cosine of their classes' scores, which tells more of classes that are new.

    Attributes
    ----------
    components_ : numpy.ndarray of shape (d, k), float64
        A vector of coefficients for each class; of two classes, for the second alone.
    intercept_ : numpy.ndarray of shape (k,), float64
        Of the scores.
    mean_, metric_, n_features_in_
        As of `LDA`.
    """

    learns_matrix = False

    C: PositiveFinite = 10.0
    compare: Literal["probabilities", "scores"] = "probabilities"

    def _learn_map(self, rows: Matrix, y: Array) -> None:
        found = Classifier(C=float(self.C), tol=TOLERANCE, max_iter=1000).fit(rows, y)
        self.components_, self.intercept_ = np.ascontiguousarray(found.coef_.T), np.asarray(found.intercept_)

    def _mapped(self, X: Matrix) -> Doubles:
        scores = super()._mapped(X)
        if self.compare == "scores":
            return scores
        if scores.shape[1] == 1:  # of two classes, the score of the second over the first
            scores = np.hstack([np.zeros_like(scores), scores])
        return np.sqrt(scipy.special.softmax(scores, axis=1))

    @property
    def _n_features_out(self) -> int:
        return max(2, super()._n_features_out) if self.compare == "probabilities" else super()._n_features_out
