"""What the learners of one weight per feature share: S_w(a, b) = sum_j w_j a_j b_j, at any number of features.

The metric is the diagonal matrix of w (SOML, eq. 7), which is never written out: at a million visual words it is a
million numbers. A subclass only learns w.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lookalike.learners.base import Matrix, SimilarityLearner, _WithReason, is_sparse

if TYPE_CHECKING:
    from lookalike.learners.triplet_products import TripletProducts

ZERO = 1e-10
"""A weight of at most this size counts as none (SOML, the threshold of Tables 4-6)."""


class DiagonalLearner(SimilarityLearner):
    """Base of the learners of one weight per feature.

    A subclass sets ``w_`` and ``metric_ = "inner_product"`` in `fit`. One with a parameter ``projection`` ends a fit
    with `_project_weights` where that is "psd"; one without never has a weight below 0.

    Attributes
    ----------
    w_ : numpy.ndarray of shape (d,), float64
        Weight of every feature.
    metric_ : str
        ``"inner_product"``.
    """

    w_: NDArray[np.float64]
    remedy: ClassVar = "learn with projection='psd'"
    """What gives the model a `transform`."""

    def sparsity(self) -> float:
        """Return the share of the weights that are at most 1e-10 in size (SOML, Tables 4-6), 0 to 1."""
        check_is_fitted(self)
        return float(np.mean(np.abs(self.w_) <= ZERO))

    @_WithReason
    def transform(self, X: Any) -> Any:
        """Multiply every feature by the root of its weight: inner products of the results are the learned similarity.

        A fitted model has this method where none of its weights is below 0; one that is not fitted yet, where its
        parameters say so, as ``projection="psd"`` does.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)

        Returns
        -------
        numpy.ndarray or CSR matrix of shape (n, d)
            Sparse where X is, in its dtype.
        """
        check_is_fitted(self)
        X = self._check_rows(X)
        return _scale_columns(X, np.sqrt(self.w_).astype(X.dtype, copy=False))

    def _why_no_transform(self) -> str | None:
        if hasattr(self, "w_"):  # whatever the parameters have been set to since
            return None if bool((self.w_ >= 0).all()) else self._lacks("transform")
        return self._why_no_fit_transform()

    def _why_no_fit_transform(self) -> str | None:
        return None if self._never_negative() else self._lacks("fit_transform")

    def _lacks(self, method: str) -> str:
        return (
            f"{type(self).__name__} has no {method} unless its weights are known not to be negative: "
            f"{self.remedy}, or use similarity and rank, which take any weights"
        )

    def _never_negative(self) -> bool:
        """Whether a fit with these parameters can leave no weight below 0."""
        return getattr(self, "projection", "psd") == "psd"

    def _see_features(self, products: TripletProducts) -> None:
        """Take the number of features from products with triplets, as `fit` does from rows without names.

        Raises
        ------
        ValueError
            When the products were made without triplets.
        """
        if not products.has_triplets:
            raise ValueError(
                "these TripletProducts were made without triplets, so that there is nothing to learn: "
                "make them anew as TripletProducts(X, triplets)"
            )
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        self.n_features_in_ = products.n_features

    def _project_weights(self) -> None:
        """Set weights below 0 to 0: the nearest diagonal matrix that is positive semidefinite."""
        self.w_ = np.maximum(self.w_, 0.0)

    def _project(self, rows: Matrix) -> Matrix:
        return _scale_columns(rows, self.w_)


def _scale_columns(rows: Matrix, weights: NDArray[Any]) -> Matrix:
    """Multiply every column by its weight; sparse rows stay sparse, and those given are not changed."""
    if not is_sparse(rows):
        return rows * weights
    return sp.csr_array((rows.data * weights[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
