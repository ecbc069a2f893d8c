"""The baseline of every table: plain Euclidean distance, which nothing is learned for."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from lookalike.core.arrays import Array, Labels, Matrix
from lookalike.learners.base import SimilarityLearner
from lookalike.learners.centring import is_sparse
from lookalike.learners.triplets import check_triplets


class Baseline(SimilarityLearner):
    """Base of the similarities that nothing is learned for: whatever they are given is checked, and not used."""

    accepts = frozenset({"labels", "triplets", "online"})
    needs_labels = False
    learns_matrix = can_blend = False
    keeps_features = True
    metric_name: ClassVar[str] = "inner_product"

    def fit(self, X: Matrix, y: Labels = None) -> Self:
        """Check X and remember its number of features; there is nothing to learn, and `y` is ignored."""
        self._check_rows(X, reset=True)
        self.metric_ = self.metric_name
        return self

    def fit_triplets(self, X: Matrix, triplets: ArrayLike) -> Self:
        """Check X and the triplets, which are not used."""
        self.fit(X)
        check_triplets(triplets, X)
        return self

    def _of_rank(self, X: Matrix, side: int, rank: int) -> Matrix:
        raise ValueError(
            f"{type(self).__name__} has learned no directions of which some could be left out: give no rank, or bring "
            "rows to fewer dimensions first, as sklearn.decomposition.TruncatedSVD does"
        )

    def partial_fit_triplets(self, X: Matrix, triplets: ArrayLike) -> Self:
        """Check X and the triplets, which are not used."""
        return self.fit_triplets(X, triplets)


class Euclidean(Baseline):
    """Similarity = minus the squared Euclidean distance: ranking without learning.

    "The standard Euclidean distance in feature space. The initialization of OASIS using the identity matrix is
    equivalent to this distance measure" (JMLR section 5.3.1; draft section 5.2.1). The equivalence is one of
    rankings and holds for rows of equal length, as tf-idf visterms normalised to L2 = 1 are:
    -||a - b||^2 = 2 a'b - 2. On rows of different lengths this class still ranks by distance. `transform`
    gives the rows as they are.

    Attributes
    ----------
    metric_ : str
        ``"sqeuclidean"``.
    n_features_in_ : int
        Number of features seen in `fit`.

    Examples
    --------
    >>> Euclidean().fit([[0.0], [2.0]]).similarity([[0.0]], [[0.0], [2.0]]).tolist()
    [[0.0, -4.0]]
    """

    metric_name = "sqeuclidean"

    def _embedded(self, X: Matrix) -> Matrix:
        return X

    def _project(self, rows: Matrix) -> Matrix:
        # far from the origin, lengths and products of dense rows leave nothing of a distance in float32
        return rows if is_sparse(rows) else rows.astype(np.float64, copy=False)

    def _scores(self, *parts: Matrix) -> Array:
        # rounding can leave the distance of a row to itself a little below 0
        scores = super()._scores(*parts)
        np.minimum(scores, 0, out=scores)
        return scores
