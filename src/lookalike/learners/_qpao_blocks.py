"""The quadratic programme of one block of QPAO's weights, solved exactly: a working set of hinges around a dual ascent.

With all other weights fixed, a block's weights w minimise 1/2 ||w - 1||^2 + sum_t c_t max(0, r_t - w.v_t) in a box,
where v_t = a+ - a- is the difference of the two pair products of triplet t. Few of the 21,000 hinges are at their kink
at the minimum; every other is a straight line there, either 0 or c_t (r_t - w.v_t), and only shifts the centre 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

Floats = NDArray[np.float64]

NEAR = 1e-7
"""Hinges whose margin is so close to the kink at the start are in the first working set."""
SLACK = 1e-10
"""How far past its kink a hinge that is taken for a line may be."""
SMALLEST_GRADIENT, MOST_EVALUATIONS = 1e-9, 20_000
"""Of the dual ascent: its projected gradient at the end (a margin), and a limit that is not met in practice."""


class Hinges(NamedTuple):
    """Hinges ``cost * max(0, target - s[positive] + s[negative])`` of pair scores s; arrays of shape (m,)."""

    positive: NDArray[np.int64]
    negative: NDArray[np.int64]
    cost: Floats


class BlockMinimum(NamedTuple):
    """The minimum of a block's programme.

    Attributes
    ----------
    weights : numpy.ndarray of shape (b,), float64
    multipliers : numpy.ndarray of shape (m,), float64
        Of the hinges, each from 0 to its cost, with ``weights = clip(1 + sum_t multiplier_t v_t, lower, upper)``.
    gap : float
        Primal less dual objective: the objective is at most this much above its minimum.
    """

    weights: Floats
    multipliers: Floats
    gap: float


@dataclass(frozen=True)
class BlockProgramme:
    """The programme of one block.

    Parameters
    ----------
    products : scipy.sparse.csr_array of shape (p, b), float64
        Pair products, at the features of the block.
    hinges : Hinges
        Of m hinges, in numbers of pairs.
    targets : numpy.ndarray of shape (m,), float64
        r_t: 1 less the margin that all other weights give.
    lower, upper : float
        The box.
    """

    products: Any
    hinges: Hinges
    targets: Floats
    lower: float
    upper: float

    def shortfalls(self, weights: Floats) -> Floats:
        """Return r_t - w.v_t of every hinge; it has a loss where that is above 0."""
        scores = self.products @ weights
        return np.asarray(self.targets - scores[self.hinges.positive] + scores[self.hinges.negative])

    def objective(self, weights: Floats, shortfalls: Floats) -> float:
        """Return the objective, at weights and their `shortfalls`."""
        return _objective(weights, np.ones(1), self.hinges.cost, np.maximum(shortfalls, 0.0))

    def minimum(self, start: Floats) -> BlockMinimum:
        """Return the minimum, sought from `start`.

        Hinges start as the lines that they are at `start`. Minimising over those, with the kinks of the working set
        only, minimises a lower bound of the objective. Hinges that turn out to be on the other side of their kink
        join the working set, until there is none: then bound and objective are equal, and the minimum is exact.
        """
        shortfalls = self.shortfalls(start)
        sloping = shortfalls > 0
        working = np.abs(shortfalls) <= NEAR
        multipliers = np.where(sloping, self.hinges.cost, 0.0)
        multipliers[working] = self.hinges.cost[working] / 2
        while True:
            weights, gap = self._relaxed(multipliers, working)
            found = self.shortfalls(weights)
            crossed = ~working & np.where(sloping, found < -SLACK, found > SLACK)
            if not crossed.any():
                break
            working |= crossed
            multipliers[crossed] = self.hinges.cost[crossed] / 2
        if self.objective(weights, found) > self.objective(start, shortfalls):  # by rounding, at the minimum already
            weights = start
        return BlockMinimum(weights, multipliers, gap)

    def _relaxed(self, multipliers: Floats, working: NDArray[np.bool_]) -> tuple[Floats, float]:
        """Minimise with kinks in the working set only; set its multipliers, return weights and duality gap."""
        hinges, n_pairs = self.hinges, self.products.shape[0]
        lines = np.flatnonzero(~working & (multipliers > 0))
        centre = 1.0 + self.products.T @ _pair_sums(
            hinges.positive[lines], hinges.negative[lines], multipliers[lines], n_pairs
        )
        chosen = np.flatnonzero(working)
        if not len(chosen):
            return np.clip(centre, self.lower, self.upper), 0.0
        pairs, numbers = np.unique(
            np.concatenate([hinges.positive[chosen], hinges.negative[chosen]]), return_inverse=True
        )
        dual = _Dual(
            self.products[pairs],
            Hinges(numbers[: len(chosen)], numbers[len(chosen) :], hinges.cost[chosen]),
            self.targets[chosen],
            centre,
            (self.lower, self.upper),
        )
        multipliers[chosen] = dual.maximum(multipliers[chosen])
        weights = dual.weights(multipliers[chosen])
        return weights, dual.gap(weights, multipliers[chosen])


class _Dual:
    """The dual of a block's programme: max over 0 <= alpha <= c of min over w in the box of the Lagrangian.

    The inner minimum is w(alpha) = clip(centre + sum_t alpha_t v_t), so the dual has no constraint but its bounds and a
    continuous gradient, r_t - w(alpha).v_t; and a weight at a bound is there exactly.
    """

    def __init__(
        self, products: Any, hinges: Hinges, targets: Floats, centre: Floats, box: tuple[float, float]
    ) -> None:
        self._products, self._transposed = products, products.T.tocsr()
        self._hinges, self._targets, self._centre, self._box = hinges, targets, centre, box

    def weights(self, alpha: Floats) -> Floats:
        sums = _pair_sums(self._hinges.positive, self._hinges.negative, alpha, self._products.shape[0])
        return np.asarray(np.clip(self._centre + self._transposed @ sums, *self._box))

    def shortfalls(self, weights: Floats) -> Floats:
        scores = self._products @ weights
        return np.asarray(self._targets - scores[self._hinges.positive] + scores[self._hinges.negative])

    def maximum(self, start: Floats) -> Floats:
        """Return the multipliers at the maximum, sought from `start` with bounded limited-memory BFGS."""
        found = minimize(
            self._negative,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(np.zeros_like(start), self._hinges.cost),
            options={
                "ftol": 0.0,
                "gtol": SMALLEST_GRADIENT,
                "maxiter": MOST_EVALUATIONS,
                "maxfun": MOST_EVALUATIONS,
            },
        )
        return np.asarray(found.x)

    def gap(self, weights: Floats, alpha: Floats) -> float:
        """Return primal less dual objective at w(alpha) and alpha."""
        shortfalls = self.shortfalls(weights)
        return float((self._hinges.cost * np.maximum(shortfalls, 0.0) - alpha * shortfalls).sum())

    def _negative(self, alpha: Floats) -> tuple[float, Floats]:
        weights = self.weights(alpha)
        shortfalls = self.shortfalls(weights)
        return -_objective(weights, self._centre, alpha, shortfalls), -shortfalls


def _objective(weights: Floats, centre: Floats, costs: Floats, losses: Floats) -> float:
    away = weights - centre
    return float(0.5 * (away @ away) + costs @ losses)


def _pair_sums(positive: NDArray[np.int64], negative: NDArray[np.int64], multipliers: Floats, n_pairs: int) -> Floats:
    """Return what multiplies every pair product in sum_t multiplier_t (a+ - a-)."""
    sums = np.bincount(positive, multipliers, n_pairs) - np.bincount(negative, multipliers, n_pairs)
    return np.asarray(sums, dtype=np.float64)
