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
from scipy.linalg import solve
from scipy.optimize import Bounds, minimize

Floats = NDArray[np.float64]

NEAR = 1e-7
"""Hinges whose margin is so close to the kink at the start are in the first working set."""
SLACK = 1e-10
"""How far past its kink a hinge that is taken for a line may be."""
SMALLEST_GRADIENT, SMALLEST_GAP = 1e-9, 1e-12
"""The dual ascent is at its end with a projected gradient (a margin), or a share of the objective as gap, so small."""
MOST_EVALUATIONS, MOST_ROUNDS, MOST_NEWTON_STEPS, MOST_HALVINGS = 20_000, 3, 50, 40
"""Of the dual ascent; limits that are hardly ever met."""
MOST_FREE, RIDGE, ROUNDING = 1500, 1e-11, 1e-13
"""Of a Newton step: most multipliers (its cost is their cube), the share of the curvature that is added to it, and the
share of the dual within which two values of it are the same."""
PART_BYTES = 16 * 2**20
"""Memory that dense differences of pair products may take while the curvature is summed up."""


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
        """Return the multipliers at the maximum, sought from `start`.

        Bounded limited-memory BFGS comes close in few cheap steps. Where it ends short of the maximum, as the duality
        gap tells, projected Newton steps finish: the dual is piecewise quadratic, so few are needed.
        """
        cost = self._hinges.cost
        alpha = start
        for _ in range(MOST_ROUNDS):
            found = minimize(
                self._negative,
                alpha,
                jac=True,
                method="L-BFGS-B",
                bounds=Bounds(np.zeros_like(start), cost),
                options={
                    "ftol": 0.0,
                    "gtol": SMALLEST_GRADIENT,
                    "maxiter": MOST_EVALUATIONS,
                    "maxfun": MOST_EVALUATIONS,
                },
            )
            alpha = np.asarray(found.x)
            if self._is_maximum(alpha):
                break
            alpha = self._newton(alpha)
            if self._is_maximum(alpha):
                break
        return alpha

    def _is_maximum(self, alpha: Floats) -> bool:
        weights = self.weights(alpha)
        value = _objective(weights, self._centre, alpha, self.shortfalls(weights))
        return self.gap(weights, alpha) <= SMALLEST_GAP * (1.0 + abs(value))

    def _newton(self, alpha: Floats) -> Floats:
        """Return multipliers after projected Newton steps on those that are free to move."""
        cost = self._hinges.cost
        for _ in range(MOST_NEWTON_STEPS):
            value, gradient = self._negative(alpha)
            free = np.flatnonzero(((alpha > 0) | (gradient < 0)) & ((alpha < cost) | (gradient > 0)))
            if not len(free) or len(free) > MOST_FREE or np.abs(gradient[free]).max() <= SMALLEST_GRADIENT:
                break
            weights = self.weights(alpha)
            gap = self.gap(weights, alpha)
            curvature = self._curvature(free, np.flatnonzero((weights > self._box[0]) & (weights < self._box[1])))
            # products of a few rows are often linearly dependent
            curvature[np.diag_indices_from(curvature)] += RIDGE * (1.0 + np.trace(curvature) / len(free))
            step = np.zeros_like(alpha)
            step[free] = solve(curvature, -gradient[free], assume_a="pos")
            for length in 0.5 ** np.arange(MOST_HALVINGS):
                trial = np.clip(alpha + length * step, 0.0, cost)
                # close to the maximum the dual changes by less than its rounding, and the gap tells more
                ascent = value - self._negative(trial)[0]
                if ascent > ROUNDING * abs(value) or (
                    ascent > -ROUNDING * abs(value) and self.gap(self.weights(trial), trial) < gap
                ):
                    break
            else:
                break
            alpha = trial
        return alpha

    def _curvature(self, free: NDArray[np.int64], inside: NDArray[np.int64]) -> Floats:
        """Return all inner products of these hinges' v, at these weights; the v are made dense a part at a time."""
        curvature = np.zeros((len(free), len(free)))
        width = max(1, PART_BYTES // (8 * len(free)))
        for first in range(0, len(inside), width):
            columns = self._products[:, inside[first : first + width]]
            directions = (columns[self._hinges.positive[free]] - columns[self._hinges.negative[free]]).toarray()
            curvature += directions @ directions.T
        return curvature

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
