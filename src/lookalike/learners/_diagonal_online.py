"""What the online diagonal learners share: triplets in, steps on the queries' features, weights of all features out.

While a learner learns, it works on the features that occur in a query, which are few and lie close together in memory;
between two calls it keeps what it goes on from for those that steps have touched.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from lookalike.learners._diagonal import DiagonalLearner
from lookalike.learners._online import Draw, OnlineLearner, feed
from lookalike.learners.base import Matrix
from lookalike.learners.triplet_products import Products, TripletProducts
from lookalike.learners.triplets import TripletSampler

Compact = dict[str, NDArray[Any]]
"""Arrays with one entry for each of some features."""


class OnlineDiagonalLearner(DiagonalLearner, OnlineLearner):
    """Base of the diagonal learners that take one step a triplet, from labels or from given triplets, and go on.

    A subclass has the parameter ``projection`` besides those of `OnlineLearner` less ``dtype``, and names
    its `fields` and the weight of an `untouched` feature, and defines `_weights` and `_steps`.
    """

    accepts = frozenset({"labels", "triplets", "online"})
    dtype = "float64"
    projection: str | None

    untouched: ClassVar[float] = 0.0
    """Weight of a feature that no step has touched."""
    n_steps_: int
    n_updates_: int

    fields: ClassVar[dict[str, float]]
    """Arrays that learning goes on from, with what they hold of a feature that no step has touched."""

    # What a subclass says -----------------------------------------------------------------------------------------

    @abstractmethod
    def _weights(self, state: Compact) -> NDArray[np.float64]:
        """Return the weights that arrays of these `fields` stand for, at this step."""

    @abstractmethod
    def _steps(
        self, state: Compact, products: Products, triplets: NDArray[np.int32], n_steps: int, n_updates: int
    ) -> tuple[int, int]:
        """Take one step a triplet, after so many steps and updates; return how many had a loss, and were updates."""

    # What they share ------------------------------------------------------------------------------------------------

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
        return self._learn(TripletProducts(X, triplets))

    def fit_products(self, products: TripletProducts) -> Self:
        """Learn as `fit_triplets` does, to the bit, from rows and triplets that several fits can share.

        Parameters
        ----------
        products : TripletProducts
            Of the rows and triplets. Making them is most of the time of a fit: several learners, or one at several
            parameters, need it only once.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            When they were made without triplets, or a parameter is out of its range.
        """
        self._check_parameters()
        self._see_features(products)
        return self._learn(products)

    def partial_fit_triplets(self, X: Any, triplets: Any) -> Self:
        """Go on with more triplets, as if they had followed the earlier ones in one call.

        The parameters are those of `fit_triplets`; X may be other rows than before, with the same features. Where
        parameters of the model were changed in between, steps taken stay as they were.
        """
        if not hasattr(self, "w_"):
            return self.fit_triplets(X, triplets)
        self._check_parameters()
        products = TripletProducts(self._check_rows(X), triplets)
        self._settle()
        return self._train(products, feed(products.examples), products.n_triplets)

    def as_stopped(self) -> Self:
        """Return the model that a fit which stopped at this step would give, within a trace."""
        stopped = copy.copy(self)
        stopped._finish()
        return stopped

    def _settle(self) -> None:
        """Make ``state_`` one that steps with other parameters can go on from, where parameters were changed."""

    def _learn(self, products: TripletProducts) -> Self:
        self._start(products.n_features)
        return self._train(products, feed(products.examples), products.n_triplets)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.projection not in (None, "psd"):
            raise ValueError(f"projection must be None or 'psd', not {self.projection!r}")

    def _start(self, d: int) -> None:
        self.metric_ = "inner_product"
        self.n_steps_ = 0
        self.n_updates_ = 0
        self.state_ = {"feature": np.empty(0, dtype=np.int64)}
        self.state_ |= {name: np.full(0, rest) for name, rest in self.fields.items()}

    def _sampler(self, X: Matrix, y: NDArray[Any], seed: int) -> Draw:
        return TripletSampler(y, seed).draw

    def _prepare(self, X: Matrix) -> TripletProducts:
        return TripletProducts(X)

    def _take(self, rows: TripletProducts, examples: NDArray[np.int32]) -> tuple[int, int]:
        losses = updates = taken = 0
        for products, triplets in rows.blocks(examples):
            before = self.n_steps_ + taken, self.n_updates_ + updates
            new_losses, new_updates = self._steps(self._present, products, triplets, *before)
            losses += new_losses
            updates += new_updates
            taken += len(triplets)
        return losses, updates

    @contextmanager
    def _internal(self, rows: TripletProducts) -> Iterator[None]:
        self._present = self._load(rows.columns)
        try:
            yield
        finally:
            self._store(rows.columns, self.__dict__.pop("_present"))

    @contextmanager
    def _usable(self, rows: TripletProducts) -> Iterator[None]:
        self._store(rows.columns, self._present)
        yield

    def _load(self, features: NDArray[np.int64]) -> Compact:
        """Return what ``state_`` has of these features, for `_steps`."""
        here = np.isin(features, self.state_["feature"], assume_unique=True)
        there = np.isin(self.state_["feature"], features, assume_unique=True)
        loaded = {name: np.full(len(features), rest) for name, rest in self.fields.items()}
        for name, array in loaded.items():
            array[here] = self.state_[name][there]
        return loaded

    def _store(self, features: NDArray[np.int64], present: Compact) -> None:
        """Put these features' arrays into ``state_``, and work out ``w_``."""
        every = np.union1d(self.state_["feature"], features)
        state = self._load(every)
        place = np.searchsorted(every, features)
        for name, array in state.items():
            array[place] = present[name]
        touched = np.any([state[name] != rest for name, rest in self.fields.items()], axis=0)
        self.state_ = {"feature": every[touched]} | {name: array[touched] for name, array in state.items()}
        self.w_ = np.full(self.n_features_in_, self.untouched)
        self.w_[self.state_["feature"]] = self._weights(self.state_)

    def _finish(self) -> None:
        if not np.isfinite(self.w_).all():
            raise ValueError("w overflowed during learning: scale the rows of X, for instance to length 1")
        if self.projection == "psd":
            self._project_weights()
