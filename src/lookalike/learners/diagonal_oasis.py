"""OASIS with a diagonal matrix, which is what its row in the tables of SOML can only be (Gao et al., AAAI 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lookalike.core.arrays import Doubles, Ints
from lookalike.core.kernels import njit
from lookalike.learners.diagonal import Compact, OnlineDiagonalLearner
from lookalike.learners.kernels import Compressed, Vector, add_sparse, longest_row, row_of, sparse_dot


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
        Triplets that `fit` draws; the most of them with early stopping. `fit_triplets` ignores it.
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

    aggressiveness: float = 0.1
    n_steps: int = 100_000

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._require_number("aggressiveness", "larger than 0", lambda C: C > 0)

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
