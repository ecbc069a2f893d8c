"""The steps of OASIS and its variants on dense rows, at the price of matrix products.

With W of before a block of triplets, s'Wv of all of them is one product. What a step of the block adds to the score of
a later one needs no feature, only the inner products of their s and v: s'(s_k v_k')v = (s's_k)(v_k'v). So W is read and
written once a block and not once a step; it is the same W up to rounding.
"""

from __future__ import annotations

import numpy as np

from lookalike.core.arrays import Array, Doubles, Ints, Matrix
from lookalike.core.kernels import njit
from lookalike.learners.dual import is_finite
from lookalike.learners.kernels import DISSIM, PLAIN, refuse_infinity
from lookalike.learners.projections import nearest_psd

BLOCK = 64
"""Triplets between two passes over W."""


class DenseSteps:
    """The steps of one learner on W, with those of the block that has begun not yet in W."""

    def __init__(self, X: Matrix, W: Array, kind: int, aggressiveness: float, n_steps: int) -> None:
        with np.errstate(over="ignore"):
            self._rows = refuse_infinity(np.asarray(X, dtype=W.dtype, order="C"))
        self._W, self._kind, self._aggressiveness = W.copy(), kind, aggressiveness
        # as many rows for all blocks of a fit: where they are taken in parts, every product has the same shape and bits
        size, self._n = min(BLOCK, max(1, n_steps)), 0
        self._s, self._v = np.zeros((2, size, len(W)), W.dtype)
        self._taus = np.zeros(size)

    def take(self, triplets: Ints) -> tuple[int, int]:
        """Take one step a triplet, see `take_steps`; return how many had a loss, and how many an update."""
        losses = updates = start = 0
        with np.errstate(over="ignore", invalid="ignore"):
            while start < len(triplets):
                part = triplets[start : start + len(self._taus) - self._n]
                counts = self._take_part(part)
                losses, updates, start = losses + counts[0], updates + counts[1], start + len(part)
                if self._n == len(self._taus):
                    self._W += self._change()
                    self._n = 0
        return losses, updates

    def _take_part(self, triplets: Ints) -> tuple[int, int]:
        """Take steps that the block has room for."""
        begin, self._n = self._n, self._n + len(triplets)
        query, positive, negative = (self._rows[numbers] for numbers in triplets.T)
        self._v[begin : self._n] = positive - negative
        self._s[begin : self._n] = 2 * query - (positive + negative) if self._kind == DISSIM else query
        s, v = self._s, self._v
        before = np.einsum("ij,ij->i", s @ self._W, v, dtype=np.float64)
        ss, vv, sv = (np.einsum("ij,ij->i", *pair, dtype=np.float64) for pair in ((s, s), (v, v), (s, v)))
        products, squares, part = (s @ s.T, v @ v.T, s @ v.T), (ss, vv, sv), (begin, self._n)
        counts: tuple[int, int] = _steps_of_block(
            before, products, squares, self._taus, part, self._aggressiveness, self._kind
        )
        return counts

    def matrix(self) -> Array:
        """Return W with all steps taken."""
        return self._W + self._change()

    def _change(self) -> Array:
        """Return what the block's steps add to W."""
        s, v = self._s[: self._n], self._v[: self._n]
        change = s.T @ (self._taus[: self._n, None].astype(v.dtype) * v)
        return np.asarray(change if self._kind == PLAIN else (change + change.T) / 2)

    def project(self) -> None:
        """Set W to the nearest positive semidefinite matrix."""
        self._W[:], self._n = nearest_psd(self.matrix()), 0

    def has_overflowed(self) -> bool:
        """Tell whether a number is too large for the dtype."""
        return not is_finite(self.matrix())


@njit(cache=True, nogil=True)
def _steps_of_block(
    before: Doubles,
    products: tuple[Array, Array, Array],
    squares: tuple[Doubles, Doubles, Doubles],
    taus: Doubles,
    part: tuple[int, int],
    aggressiveness: float,
    kind: int,
) -> tuple[int, int]:
    """Find the length of each step of a part, 0 without a loss; `before` are the scores with W of before the block.

    `products` are s's, v'v and s'v of all pairs of the block's steps, and `squares` those of each step with itself.
    """
    ss, vv, sv = products
    losses = updates = 0
    for t in range(part[0], part[1]):
        score = before[t]
        for k in range(t):
            if kind == PLAIN:
                score += taus[k] * float(ss[t, k]) * float(vv[t, k])
            else:  # W changed by tau / 2 (s v' + v s')
                score += 0.5 * taus[k] * (float(ss[t, k]) * float(vv[t, k]) + float(sv[t, k]) * float(sv[k, t]))
        taus[t] = 0.0
        loss = 1.0 - score
        if loss <= 0.0:
            continue
        losses += 1
        norm = squares[0][t] * squares[1][t]
        if kind == DISSIM:
            norm = 0.5 * (norm + squares[2][t] * squares[2][t])
        if norm == 0.0:
            continue
        updates += 1
        taus[t] = min(aggressiveness, loss / norm)
    return losses, updates
