"""Learners of one weight a feature, S_w(a, b) = sum_j w_j a_j b_j, at any number of them: TF-IDF and diagonal OASIS.

The diagonal matrix of w (SOML, eq. 7) is never written out: at a million visual words w is a million numbers.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from lookalike.core.arrays import Array, Doubles, Ints, Labels, Longs, Matrix
from lookalike.core.kernels import njit
from lookalike.learners.base import SimilarityLearner
from lookalike.learners.centring import is_sparse
from lookalike.learners.curve import UNTRACED, Traced
from lookalike.learners.euclidean import Baseline
from lookalike.learners.kernels import Compressed, Vector, add_sparse, longest_row, row_of, sparse_dot
from lookalike.learners.online import Draw, OnlineTripletLearner, feed
from lookalike.learners.parameters import Count, Positive
from lookalike.learners.triplet_products import TripletProducts

ZERO = 1e-10
"""A weight of at most this size counts as none (SOML, the threshold of Tables 4-6)."""

Compact = dict[str, Array]
"""Arrays with one entry for each of some features."""
Work = tuple[TripletProducts, Compact]


class DiagonalLearner(SimilarityLearner):
    """Base of the learners of one weight per feature; a subclass sets ``w_`` and ``metric_ = "inner_product"``."""

    learns_matrix = False
    keeps_features = True
    w_: Doubles
    remedy: ClassVar = "learn with projection='psd'"
    """What gives the model a `transform`."""

    def sparsity(self) -> float:
        """Return the share of the weights that are at most 1e-10 in size (SOML, Tables 4-6), 0 to 1."""
        check_is_fitted(self)
        return float(np.mean(np.abs(self.w_) <= ZERO))

    def transform(self, X: Matrix) -> Matrix:
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

    def _why_no(self, method: str) -> str | None:
        # of a fitted model, whatever the parameters have been set to since
        is_learned = method != "fit_transform" and hasattr(self, "w_")
        if (self.w_ >= 0).all() if is_learned else self._never_negative():
            return None
        return (
            f"{type(self).__name__} has no {method} unless its weights are known not to be negative: "
            f"{self.remedy}, or use similarity and rank, which take any weights"
        )

    def _never_negative(self) -> bool:
        """Tell whether a fit with these parameters can leave no weight below 0."""
        return True

    def _of_rank(self, X: Matrix, side: int, rank: int) -> Matrix:
        kept = np.sort(np.argsort(-np.abs(self.w_), kind="stable")[:rank])
        weights = np.sqrt(np.abs(self.w_[kept])) * (1 if side else np.sign(self.w_[kept]))
        return _scale_columns(X[:, kept], weights.astype(X.dtype, copy=False))

    def _project(self, rows: Matrix) -> Matrix:
        return _scale_columns(rows, self.w_)


class ProductsLearner(DiagonalLearner):
    """Base of the diagonal learners that see triplets as products of rows alone."""

    def fit_products(self, products: TripletProducts) -> Self:
        """Learn as `fit_triplets` does, to the bit, from rows and triplets that several fits can share.

        Parameters
        ----------
        products : TripletProducts
            Of the rows and triplets. Making them is most of the time of a fit: several learners, or one at several
            parameters, need it only once.

        Raises
        ------
        ValueError
            When a parameter is out of its range.
        """
        self._check_parameters()
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        self.n_features_in_ = products.n_features
        return self._learn_products(products)

    @abstractmethod
    def _learn_products(self, products: TripletProducts) -> Self:
        """Learn from the triplets of these products."""


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineDiagonalLearner(OnlineTripletLearner[Work], ProductsLearner):
    """Base of the diagonal learners that take one step a triplet; ``state_`` has what the next call goes on from."""

    projection: Literal[None, "psd"] = None

    dtype = "float64"
    fields: ClassVar[dict[str, float]]
    """Arrays that learning goes on from, with what they hold of a feature that no step has touched."""
    untouched: ClassVar[float] = 0.0
    """Weight of a feature that no step has touched."""

    @abstractmethod
    def _weights(self, state: Compact) -> Doubles:
        """Return the weights that arrays of these `fields` stand for, at this step."""

    @abstractmethod
    def _steps(
        self, state: Compact, products: Compressed, triplets: Ints, n_steps: int, n_updates: int
    ) -> tuple[int, int]:
        """Take one step a triplet, after so many steps and updates; return how many had a loss, and were updates."""

    def _settle(self) -> None:
        """Make ``state_`` one that steps with other parameters can go on from, where parameters were changed."""

    def _never_negative(self) -> bool:
        return self.projection == "psd"

    def _learn_products(self, products: TripletProducts) -> Self:
        self._start(products.n_features)
        return self._train_products(products)

    def _train_on(self, X: Matrix, draw: Draw, n_steps: int, traced: Traced = UNTRACED) -> Self:
        self._settle()
        return self._train_products(TripletProducts(X, draw(n_steps)), traced)

    def _train_products(self, products: TripletProducts, traced: Traced = UNTRACED) -> Self:
        # features that occur in a query are few, and lie close together in memory
        work = products, self._load(products.columns)
        return self._train(work, feed(products.examples), products.n_triplets, traced)

    def _start(self, d: int) -> None:
        self.metric_ = "inner_product"
        super()._start(d)
        self.state_ = {"feature": np.empty(0, dtype=np.int64)}
        self.state_ |= {name: np.full(0, rest) for name, rest in self.fields.items()}

    def _take(self, work: Work, examples: Ints) -> tuple[int, int]:
        every, present = work
        losses = updates = taken = 0
        for products, triplets in every.blocks(examples):
            before = self.n_steps_ + taken, self.n_updates_ + updates
            new_losses, new_updates = self._steps(present, products, triplets, *before)
            losses += new_losses
            updates += new_updates
            taken += len(triplets)
        return losses, updates

    def _show(self, work: Work) -> None:
        products, present = work
        self._store(products.columns, present)

    def _load(self, features: Longs) -> Compact:
        """Return what ``state_`` has of these features, for `_steps`."""
        here = np.isin(features, self.state_["feature"], assume_unique=True)
        there = np.isin(self.state_["feature"], features, assume_unique=True)
        loaded = {name: np.full(len(features), rest) for name, rest in self.fields.items()}
        for name, array in loaded.items():
            array[here] = self.state_[name][there]
        return loaded

    def _store(self, features: Longs, present: Compact) -> None:
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

    def _finish(self, work: Work | None = None) -> None:
        if not np.isfinite(self.w_).all():
            raise ValueError("w overflowed during learning: scale the rows of X, for instance to length 1")
        if self.projection == "psd":  # the nearest diagonal matrix that is positive semidefinite
            self.w_ = np.maximum(self.w_, 0.0)


def _scale_columns(rows: Matrix, weights: Array) -> Matrix:
    """Multiply every column by its weight; sparse rows stay sparse, and those given are not changed."""
    if not is_sparse(rows):
        return rows * weights
    return sp.csr_array((rows.data * weights[rows.indices], rows.indices, rows.indptr), shape=rows.shape)


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


@dataclass(eq=False, repr=False)
class DiagonalOASIS(OnlineDiagonalLearner):
    """Passive-aggressive learning of S_w(a, b) = sum_j w_j a_j b_j from triplets (JMLR section 2.1, for a diagonal W).

    From w = 1, each step takes a triplet (p, p+, p-) with hinge loss l = max(0, 1 - S_w(p, p+) + S_w(p, p-)) and adds
    tau v to w, where v = p * (p+ - p-), the diagonal of OASIS's V, and tau = min(C, l / ||v||^2). A step whose v is
    zero has a loss of 1 that no w can mend; it counts as a loss and changes nothing.

    The tables of SOML have a row of OASIS at up to a million features, where no full matrix fits into a machine, and
    report that none of its weights is zero: this is the learner that fits. The cost of a step does not grow with d.

    Parameters
    ----------
    aggressiveness : float, default=0.1
        C, larger than 0: the longest step.
    n_steps : int, default=100_000
        Triplets that `fit` samples; the most of them with early stopping. `fit_triplets` ignores it.
    projection, early_stopping, validation_fraction, trace_points, verbose, random_state
        As of `SOMLTG`.

    Attributes
    ----------
    n_updates_ : int
        Steps that changed w.
    w_, n_steps_, state_, curve_, validation_curve_, metric_, n_features_in_
        As of `SOMLTG`.

    Examples
    --------
    >>> X = [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    >>> DiagonalOASIS(aggressiveness=0.25).fit_triplets(X, [[0, 1, 2]]).w_.tolist()
    [1.25, 0.75, 1.0]
    """

    fields: ClassVar = {"weight": 1.0}
    untouched = 1.0

    aggressiveness: Positive = 0.1
    n_steps: Count = 100_000

    def _weights(self, state: Compact) -> Doubles:
        return state["weight"].copy()

    def _steps(
        self, state: Compact, products: Compressed, triplets: Ints, n_steps: int, n_updates: int
    ) -> tuple[int, int]:
        return passive_aggressive_steps(state["weight"], products, triplets, float(self.aggressiveness))


@njit(cache=True, nogil=True)
def passive_aggressive_steps(
    weights: Doubles, products: Compressed, triplets: Ints, aggressiveness: float
) -> tuple[int, int]:
    """Take one step of diagonal OASIS per triplet of products, in place; return steps with a loss, and updates."""
    losses = updates = 0
    difference, room = np.zeros_like(weights), np.empty((2, longest_row(products)))
    for t in range(triplets.shape[0]):
        plus, minus = row_of(products, triplets[t, 0]), row_of(products, triplets[t, 1])
        loss = 1.0 - (sparse_dot(weights, plus) - sparse_dot(weights, minus))
        if loss <= 0.0:
            continue
        losses += 1
        add_sparse(difference, 1.0, plus)
        add_sparse(difference, -1.0, minus)
        # what both share is taken up with x+, and is 0 when it comes to x-
        only_plus = Vector(plus.places, room[0, : plus.places.shape[0]])
        only_minus = Vector(minus.places, room[1, : minus.places.shape[0]])
        squared_norm = _take_up(difference, only_plus) + _take_up(difference, only_minus)
        if squared_norm == 0.0:
            continue
        updates += 1
        step = min(aggressiveness, loss / squared_norm)
        add_sparse(weights, step, only_plus)
        add_sparse(weights, step, only_minus)
    return losses, updates


@njit(cache=True, nogil=True)
def _take_up(difference: Doubles, vector: Vector) -> float:
    """Move what a dense vector has at the places of another there, leaving zeros; return the sum of the squares."""
    total = 0.0
    for k in range(vector.places.shape[0]):
        value = difference[vector.places[k]]
        vector.values[k] = value
        total += value * value
        difference[vector.places[k]] = 0.0
    return total
