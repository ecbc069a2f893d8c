"""The baseline of the landmark tables: inner products of tf-idf rows, which nothing is learned for."""

from __future__ import annotations

from typing import Self

import numpy as np

from lookalike.core.arrays import Labels, Matrix
from lookalike.learners.diagonal import DiagonalLearner
from lookalike.learners.euclidean import Baseline


class TFIDF(Baseline, DiagonalLearner):
    """Similarity = the plain inner product of rows: every weight is 1 (SOML, "Experiments", the TF-IDF row).

    The tf-idf weights themselves belong to the rows that are given. Of rows of length 1 this is the cosine.

    Attributes
    ----------
    w_ : numpy.ndarray of shape (d,), float64
        Ones.
    metric_ : str
        ``"inner_product"``.
    n_features_in_ : int
        Number of features seen in `fit`.

    Examples
    --------
    >>> TFIDF().fit([[0.0, 1.0], [2.0, 0.0]]).similarity([[3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]).tolist()
    [[3.0, 4.0]]
    """

    def fit(self, X: Matrix, y: Labels = None) -> Self:
        """Check X and give each of its features the weight 1; there is nothing to learn, and `y` is ignored."""
        super().fit(X)
        self.w_ = np.ones(self.n_features_in_)
        return self
