"""What OASIS and its symmetric variants share: triplets in, passive-aggressive steps on a d x d matrix from W = I.

A variant says which compiled steps it takes and what it does with W at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from lookalike.learners._online import Draw, OnlineLearner, feed
from lookalike.learners._training_rows import TrainingRows
from lookalike.learners.base import Matrix
from lookalike.learners.triplets import TripletSampler, check_triplets


class PassiveAggressive(OnlineLearner):
    """Base of the learners that take passive-aggressive steps on triplets (JMLR section 2.1).

    A subclass has the parameter ``aggressiveness`` besides those of `OnlineLearner`, names its matrix in
    `matrix_name`, and defines `_take`.
    """

    accepts = frozenset({"labels", "triplets", "online"})
    aggressiveness: float

    matrix_name = "W_"
    """Attribute that holds the matrix."""
    metric_name = "inner_product"

    def fit_triplets(self, X: Any, triplets: Any) -> Self:
        """Learn from exactly these triplets, once each and in this order.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
        triplets : array-like of shape (m, 3)
            Row numbers (query, positive, negative) of X. ``n_steps``, ``early_stopping`` and ``random_state`` are not
            used.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        triplets = check_triplets(triplets, X.shape[0])
        self._start(X.shape[1])
        return self._train(self._prepare(X), feed(triplets), len(triplets))

    def partial_fit_triplets(self, X: Any, triplets: Any) -> Self:
        """Go on from the matrix that is there (from the identity on a new model) with more triplets.

        The parameters are those of `fit_triplets`; X may be other rows than before, with the same features. A
        projection is made at the end of every call.
        """
        if not hasattr(self, self.matrix_name):
            return self.fit_triplets(X, triplets)
        self._check_parameters()
        X = self._check_rows(X)
        triplets = check_triplets(triplets, X.shape[0])
        return self._train(self._prepare(X), feed(triplets), len(triplets))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not self.aggressiveness > 0:
            raise ValueError(f"aggressiveness must be larger than 0, not {self.aggressiveness!r}")

    def _start(self, d: int) -> None:
        self.__dict__.pop("components_", None)  # of an earlier fit
        self.metric_ = self.metric_name
        setattr(self, self.matrix_name, np.eye(d, dtype=self.dtype))
        self.n_steps_ = 0
        self.n_updates_ = 0

    def _sampler(self, X: Matrix, y: NDArray[Any], seed: int) -> Draw:
        return TripletSampler(y, seed).draw

    def _prepare(self, X: Matrix) -> TrainingRows:
        return TrainingRows(X, self._matrix().dtype)

    @contextmanager
    def _internal(self, rows: TrainingRows) -> Iterator[None]:
        with rows.internal_order(self._matrix()):
            yield

    @contextmanager
    def _usable(self, rows: TrainingRows) -> Iterator[None]:
        with rows.user_order(self._matrix()):
            yield

    def _finish(self) -> None:
        matrix = self._matrix()
        with np.errstate(invalid="ignore"):
            finite = bool(np.isfinite(matrix.sum(dtype=np.float64)))
        if not finite:
            name = self.matrix_name.rstrip("_")
            raise ValueError(f"{name} overflowed during learning: scale the rows of X, for instance to length 1")
