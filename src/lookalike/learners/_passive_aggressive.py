"""What OASIS and its variants share: triplets in, passive-aggressive steps on a d x d matrix from W = I, projections.

A variant says which compiled steps it takes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from lookalike.learners._online import Draw, OnlineLearner, feed
from lookalike.learners._projections import project_psd
from lookalike.learners._training_rows import TrainingRows
from lookalike.learners.base import Matrix
from lookalike.learners.triplets import TripletSampler, check_triplets


class PassiveAggressive(OnlineLearner):
    """Base of the learners that take passive-aggressive steps on triplets (JMLR section 2.1).

    A subclass has the parameters ``aggressiveness`` and ``projection`` besides those of `OnlineLearner`, names its
    matrix in `matrix_name`, and defines `_sampler` and `_take`.
    """

    aggressiveness: float
    projection: str | None

    matrix_name: ClassVar[str] = "W_"
    """Attribute that holds the matrix."""
    metric_name: ClassVar[str] = "inner_product"
    projections: ClassVar[tuple[str | None, ...]] = (None, "psd")
    """Values that ``projection`` may have."""

    n_projections_: int

    def as_stopped(self) -> Self:
        """Return the model that a fit which stopped at this step would give, within a trace.

        A projection is made once at the end; until then, the model of a trace has none.
        """
        if self.projection is None:
            return self
        stopped = copy.copy(self)
        stopped._finish()
        return stopped

    def _why_no_transform(self) -> str | None:
        if self.projection == "psd":
            return None
        name = self._printed_name()
        return (
            f"{type(self).__name__} with projection={self.projection!r} has no transform, because its {name} need not "
            f"be positive semidefinite: learn with projection='psd', or use similarity and rank, which take any {name}"
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not self.aggressiveness > 0:
            raise ValueError(f"aggressiveness must be larger than 0, not {self.aggressiveness!r}")
        if self.projection not in self.projections:
            *first, last = (repr(projection) for projection in self.projections)
            raise ValueError(f"projection must be {', '.join(first)} or {last}, not {self.projection!r}")

    def _start(self, d: int) -> None:
        self.__dict__.pop("components_", None)  # of an earlier fit
        self.metric_ = self.metric_name
        setattr(self, self.matrix_name, np.eye(d, dtype=self.dtype))
        self.n_steps_ = 0
        self.n_updates_ = 0
        self.n_projections_ = 0

    def _prepare(self, X: Matrix) -> TrainingRows:
        return TrainingRows(X, self._matrix().dtype)

    def _finish(self) -> None:
        self._refuse_overflow()
        matrix = self._matrix()
        if self.projection == "symmetric":
            matrix = (matrix + matrix.T) / 2
        elif self.projection == "psd":
            matrix, self.components_ = project_psd(matrix)
            self.n_projections_ += 1
        setattr(self, self.matrix_name, matrix)

    def _refuse_overflow(self) -> None:
        with np.errstate(invalid="ignore", over="ignore"):
            finite = bool(np.isfinite(self._matrix().sum(dtype=np.float64)))
        if not finite:
            raise ValueError(
                f"{self._printed_name()} overflowed during learning: scale the rows of X, for instance to length 1"
            )

    def _printed_name(self) -> str:
        return self.matrix_name.rstrip("_")


class TripletLearner(PassiveAggressive):
    """Base of the passive-aggressive learners of one matrix, which learn from given triplets too, and go on from them.

    A subclass defines `_take`.
    """

    accepts = frozenset({"labels", "triplets", "online"})

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

    def _sampler(self, X: Matrix, y: NDArray[Any], seed: int) -> Draw:
        return TripletSampler(y, seed).draw

    @contextmanager
    def _internal(self, rows: TrainingRows) -> Iterator[None]:
        with rows.internal_order(self._matrix()):
            yield

    @contextmanager
    def _usable(self, rows: TrainingRows) -> Iterator[None]:
        with rows.user_order(self._matrix()):
            yield
