"""SOML, sparse online learning of a diagonal metric from triplets (Gao et al., AAAI 2014), by two algorithms.

SOML-TG truncates gradients (Algorithm 1), SOML-DA averages them (Algorithm 2). A step reads and writes the non-zeros of
x * x+ and x * x- alone, so its cost does not grow with d; what it does to all other weights is made up for when a
weight is next read.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import copysign, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lookalike.core.arrays import Doubles, Ints, Longs
from lookalike.core.kernels import njit
from lookalike.learners.diagonal import Compact, OnlineDiagonalLearner
from lookalike.learners.kernels import Compressed, Vector, add_sparse, row_of
from lookalike.learners.parameters import Count, NotNegativeFinite, PositiveFinite


@njit(cache=True, nogil=True)
def truncate(weight: float, amount: float) -> float:
    """Move a weight towards 0 by an amount, and not past it (eq. 11)."""
    size = abs(weight) - amount
    return copysign(size, weight) if size > 0.0 else 0.0


def truncated(weights: Doubles, amount: float | Doubles) -> Doubles:
    """Truncate every weight, as `truncate` does."""
    size = np.abs(weights) - amount
    return np.where(size > 0.0, np.copysign(size, weights), 0.0)


@dataclass(eq=False, repr=False)
class SOMLTG(OnlineDiagonalLearner):
    """Sparse online learning of S_w(a, b) = sum_j w_j a_j b_j from triplets, by truncated gradients (Algorithm 1).

    From w = 0, each step takes a triplet (x, x+, x-) with hinge loss max(0, 1 - S_w(x, x+) + S_w(x, x-)) (eq. 7). Where
    it is above 0, eta times the subgradient -x * (x+ - x-) is taken off w, and every weight moves towards 0 by
    eta * lambda, not past it (eqs. 10 and 11).

    Equation 12 and Algorithm 1 print the subgradient with its sign turned round. Taken literally, each step pushes the
    margin further below 0 and every triplet stays violated: ``literal_sign=True`` shows it.

    Parameters that are changed between two calls of `partial_fit_triplets` hold for the steps that follow: the second
    goes on from ``w_`` as the first left it.

    Parameters
    ----------
    learning_rate : float, default=1.0
        eta, larger than 0.
    regularization : float, default=1e-5
        lambda, not negative: larger is sparser.
    n_steps : int, default=21_000
        Triplets that `fit` samples; the most of them with early stopping. `fit_triplets` ignores it.
    literal_sign : bool, default=False
        Take the step of eq. 12 as it is printed.
    projection : {None, "psd"}, default=None
        What is done to w at the end of every fit: nothing; or weights below 0 are set to 0, which gives the model a
        `transform`. Learning goes on from the weights before that.
    early_stopping, validation_fraction, trace_points, verbose, random_state
        As of `OASIS`.

    Attributes
    ----------
    w_ : numpy.ndarray of shape (d,), float64
        Weight of every feature.
    n_steps_ : int
        Steps taken, those of `partial_fit_triplets` included.
    n_updates_ : int
        Those that had a loss, and so changed w.
    state_ : dict of numpy.ndarray
        What `partial_fit_triplets` goes on from, for the features that steps have touched.
    alpha_ : float
        eta * lambda of the last pass, which the truncations that are yet to be made up for go by.
    metric_ : str
        ``"inner_product"``.
    curve_, validation_curve_, n_features_in_
        As of `OASIS`.

    Examples
    --------
    >>> X = [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    >>> SOMLTG(regularization=0.25).fit_triplets(X, [[0, 1, 2]]).w_.tolist()
    [0.75, -0.75, 0.0]
    """

    fields: ClassVar = {"weight": 0.0, "current_at": 0}

    learning_rate: PositiveFinite = 1.0
    regularization: NotNegativeFinite = 1e-5
    _: KW_ONLY
    n_steps: Count = 21_000
    literal_sign: bool = False

    def _start(self, d: int) -> None:
        super()._start(d)
        self.alpha_ = self._amount()

    def _settle(self) -> None:
        # else later truncations add up with those missed, to the bit of one pass
        if self.alpha_ != self._amount():
            settled: Compact = {"weight": self._weights(self.state_)}
            self.alpha_ = self._amount()
            settled["current_at"] = np.full(len(settled["weight"]), self.n_updates_)
            self.state_ |= settled

    def _weights(self, state: Compact) -> Doubles:
        return truncated(state["weight"], self.alpha_ * (self.n_updates_ - state["current_at"]))

    def _steps(
        self, state: Compact, products: Compressed, triplets: Ints, n_steps: int, n_updates: int
    ) -> tuple[int, int]:
        # eta, with its sign turned round for the printed step (eq. 12)
        rate = float(-self.learning_rate if self.literal_sign else self.learning_rate)
        lazy = Lazy(state["weight"], state["current_at"])
        losses = truncated_gradient_steps(lazy, n_updates, products, triplets, rate, self.alpha_)
        return losses, losses

    def _amount(self) -> float:
        return float(self.learning_rate) * float(self.regularization)


class Lazy(NamedTuple):
    """Weights that are read as ``truncate(weights[j], amount * (U - current_at[j]))``, with U truncations so far."""

    weights: Doubles
    current_at: Longs


@njit(cache=True, nogil=True)
def truncated_gradient_steps(
    lazy: Lazy,
    n_truncations: int,
    products: Compressed,
    triplets: Ints,
    learning_rate: float,
    amount: float,
) -> int:
    """Take one step of SOML-TG (Algorithm 1) per triplet of products, in place; return how many had a loss."""
    losses = 0
    for t in range(triplets.shape[0]):
        plus, minus = row_of(products, triplets[t, 0]), row_of(products, triplets[t, 1])
        margin = _truncated_dot(lazy, plus, n_truncations, amount)
        margin -= _truncated_dot(lazy, minus, n_truncations, amount)
        if 1.0 - margin <= 0.0:
            continue
        losses += 1
        _truncate_and_add(lazy, plus, n_truncations, amount, learning_rate)
        _truncate_and_add(lazy, minus, n_truncations, amount, -learning_rate)
        # the update's own truncation is made up for too: those weights are current at one before it
        n_truncations += 1
    return losses


# fastmath: the order of a sum is the compiler's, and the same on every run of a machine
@njit(cache=True, nogil=True, fastmath=True)
def _truncated_dot(lazy: Lazy, product: Vector, n_truncations: int, amount: float) -> float:
    total = 0.0
    for k in range(product.places.shape[0]):
        j = product.places[k]
        total += truncate(lazy.weights[j], amount * float(n_truncations - lazy.current_at[j])) * product.values[k]
    return total


@njit(cache=True, nogil=True)
def _truncate_and_add(lazy: Lazy, product: Vector, n_truncations: int, amount: float, factor: float) -> None:
    for k in range(product.places.shape[0]):
        j = product.places[k]
        missed = amount * float(n_truncations - lazy.current_at[j])
        lazy.weights[j] = truncate(lazy.weights[j], missed) + factor * product.values[k]
        lazy.current_at[j] = n_truncations


@dataclass(eq=False, repr=False)
class SOMLDA(OnlineDiagonalLearner):
    """Sparse online learning of S_w(a, b) = sum_j w_j a_j b_j from triplets, by dual averaging (Algorithm 2).

    The loss is that of `SOMLTG`. Where it is above 0 at step t, w is computed from g, the mean over all t steps of its
    subgradients (0 on steps without a loss): with lambda_t = lambda + gamma rho / sqrt(t), w_j = 0 where
    abs(g_j) <= lambda_t, else w_j = -sqrt(t) / gamma (g_j - lambda_t sgn g_j) (eq. 16). Other steps leave w as it is.

    In print two things differ, and are here as options. Equation 15 has x * (x+ - x-) with its sign turned round: taken
    literally, every triplet stays violated (`literal_sign`). And Algorithm 2 averages it on every step, with a loss or
    without (`average_every_step`), which makes steps with a loss rare and w something close to a plain mean.

    Parameters that are changed between two calls of `partial_fit_triplets` hold from the next step with a loss on,
    which computes w from all gradients so far; until then ``w_`` stays as it was.

    Parameters
    ----------
    gamma : float, default=1e-4
        Larger than 0: larger makes smaller weights.
    rho : float, default=1.0
        Not negative: larger is sparser at first.
    regularization : float, default=1e-6
        lambda, not negative: larger is sparser.
    average_every_step : bool, default=False
        Average x * (x+ - x-) over all steps, as Algorithm 2 prints it.
    literal_sign : bool, default=False
        Average the gradient of eq. 15 as it is printed.
    n_steps, projection, early_stopping, validation_fraction, trace_points, verbose, random_state
        As of `SOMLTG`.

    Attributes
    ----------
    last_update_ : int
        The last step that had a loss, and so changed w, counted from 1; 0 for none.
    made_with_ : numpy.ndarray of shape (3,), float64
        gamma, rho and lambda that ``w_`` was worked out with, at step ``last_update_``.
    w_, n_steps_, n_updates_, state_, curve_, validation_curve_, metric_, n_features_in_
        As of `SOMLTG`.

    Examples
    --------
    >>> X = [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    >>> SOMLDA(gamma=0.5, rho=0.5, regularization=0.25).fit_triplets(X, [[0, 1, 2]]).w_.tolist()
    [1.0, -1.0, 0.0]
    """

    fields: ClassVar = {"sum": 0.0, "used": 0.0}

    gamma: PositiveFinite = 1e-4
    rho: NotNegativeFinite = 1.0
    regularization: NotNegativeFinite = 1e-6
    _: KW_ONLY
    n_steps: Count = 21_000
    average_every_step: bool = False
    literal_sign: bool = False

    def _start(self, d: int) -> None:
        super()._start(d)
        self.last_update_ = 0
        self.made_with_ = self._constants()

    def _weights(self, state: Compact) -> Doubles:
        t = self.last_update_
        if t == 0:
            return np.zeros(len(state["sum"]))
        gamma, rho, regularization = self.made_with_[:3].tolist()  # models of 1.1 have a fourth number
        threshold = t * regularization + gamma * rho * np.sqrt(t)
        # the sums change their sign, and not the quotient, where a zero would get one
        weights: Doubles = truncated(-state["used"], threshold) / (gamma * np.sqrt(t))
        return weights

    def _steps(
        self, state: Compact, products: Compressed, triplets: Ints, n_steps: int, n_updates: int
    ) -> tuple[int, int]:
        present, sign = self.made_with_[:3].copy(), 1.0 if self.literal_sign else -1.0
        counts = np.array([n_steps, self.last_update_])
        reading = bool(self.average_every_step)
        losses, self.last_update_ = dual_averaging_steps(
            state["sum"], state["used"], counts, products, triplets, present, self._constants(), sign, reading
        )
        if losses and not self.average_every_step:
            state["sum"][:] = state["used"]
        self.made_with_ = present
        return losses, losses

    def _restore(self, values: dict[str, Any]) -> None:
        last = values["state_"].pop("touched_after", None)
        if last is not None:  # of files of 1.1, in which only what w has not seen is held by itself
            state = values["state_"]
            state["used"] = np.where(last == values["last_update_"], state["used"], state["sum"])
        super()._restore(values)

    def _constants(self) -> Doubles:
        return np.array([self.gamma, self.rho, self.regularization], dtype=np.float64)


@njit(cache=True, nogil=True)
def dual_averaging_steps(
    sums: Doubles,
    used: Doubles,
    counts: Longs,
    products: Compressed,
    triplets: Ints,
    present: Doubles,
    constants: Doubles,
    gradient_sign: float,
    average_every_step: bool,
) -> tuple[int, int]:
    """Take one step of SOML-DA (Algorithm 2) per triplet, in place; return losses and the step that last made w.

    `sums` are of all subgradients, and `used` those that w was made of. `counts` are steps so far and that step;
    `present` are the constants of w, which becomes one of these `constants`.
    """
    n_steps, last_update = counts[0], counts[1]
    losses = begin = 0
    added_to = sums if average_every_step else used
    is_behind = False
    for j in range(used.shape[0]):  # as arrays, here and below, they would take two seconds to compile
        is_behind |= used[j] != sums[j]
    for t in range(triplets.shape[0]):
        plus, minus = row_of(products, triplets[t, 0]), row_of(products, triplets[t, 1])
        n_steps += 1
        margin = 0.0
        # w is -truncate(used, t lambda_t) / (gamma sqrt(t)), with t the step that last made it (eq. 16, times t)
        if last_update > 0:
            gamma, rho, regularization = present[0], present[1], present[2]
            threshold = last_update * regularization + gamma * rho * sqrt(last_update)
            margin = _soft_dot(used, minus, threshold) - _soft_dot(used, plus, threshold)
            margin /= gamma * sqrt(last_update)
        has_loss = 1.0 - margin > 0.0
        if has_loss and is_behind:
            for j in range(used.shape[0]):
                used[j] = sums[j]
            is_behind, begin = False, t
        if has_loss or average_every_step:
            add_sparse(added_to, gradient_sign, plus)
            add_sparse(added_to, -gradient_sign, minus)
        if has_loss:
            losses += 1
            last_update = n_steps
            for number in range(constants.shape[0]):
                present[number] = constants[number]
            for step in range(begin, t + 1 if average_every_step else 0):
                for product in triplets[step]:
                    for place in row_of(products, product).places:
                        used[place] = sums[place]
            begin = t + 1
    return losses, last_update


@njit(cache=True, nogil=True, fastmath=True)
def _soft_dot(sums: Doubles, product: Vector, threshold: float) -> float:
    total = 0.0
    for k in range(product.places.shape[0]):
        total += truncate(sums[product.places[k]], threshold) * product.values[k]
    return total
