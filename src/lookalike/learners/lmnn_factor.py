"""LMNN's objective as a function of L, M = LL': products over blocks of pairs of rows, and one pass for the hinges."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import scipy.sparse as sp

from lookalike.core.arrays import Array, Longs
from lookalike.core.kernels import njit
from lookalike.learners.batch import Point
from lookalike.learners.factor_descent import Stages, conditioned, descend, precisions

BLOCK_ROWS = 256
"""Rows whose distances to others are in memory at a time."""
FEW = 1 / 30
"""Share of a block's pairs with a weight below which a sparse product is faster than a dense one."""
WIDTHS = (1e-2, 1e-3)
"""Widths over which the kink of the hinges is rounded, one after the other: L-BFGS needs a gradient that bends."""


def descend_margins(
    coordinates: Array, classes: Longs, targets: Longs, omega: float, start: Array, tol: float
) -> Iterator[Point]:
    """Yield L and a point after every step down eq. 13, from L = `start`, until `tol` ends the last stage."""
    rows, basis = conditioned(coordinates)
    n_impostors = len(rows) - np.bincount(classes)[classes]
    at_zero = (1 - omega) * float(n_impostors @ (targets >= 0).sum(axis=1))

    def stages() -> Stages:
        for dtype in precisions(rows):
            margins = MarginObjective(rows.astype(dtype), classes, targets, omega)
            for width in WIDTHS if dtype is np.float32 else WIDTHS[-1:]:
                yield dtype, partial(margins.value_and_gradient, width=width)

    return descend(stages(), start, basis, tol, at_zero)


class MarginObjective:
    """Eq. 13 of the draft and its gradient in L, in the precision of the rows, with the kink of hinges rounded off."""

    def __init__(self, rows: Array, classes: Longs, targets: Longs, omega: float) -> None:
        self._rows, self._classes, self._omega = rows, classes, omega
        self._targets, self._has_target = targets, targets >= 0
        self._left = np.repeat(np.arange(len(rows)), self._has_target.sum(axis=1))
        self._right = targets[self._has_target]

    def value_and_gradient(self, factor: Array, width: float) -> tuple[float, Array, float]:
        """Return eq. 13 with hinges rounded over `width` at M = LL', its gradient in L, and eq. 13 without rounding."""
        rows, n, push_share = self._rows, len(self._rows), 1 - self._omega
        mapped = rows @ factor
        lengths = np.einsum("ij,ij->i", mapped, mapped)
        differences = mapped[self._left] - mapped[self._right]
        pulls = np.einsum("ij,ij->i", differences, differences)
        reach = np.full(self._targets.shape, -1.0, dtype=rows.dtype)
        reach[self._has_target] = 1 + pulls
        furthest = reach.max(axis=1)
        target_weights, degrees = np.zeros(self._targets.shape), np.zeros(n)
        # The sum of weight (x_i - x_j)(x_i - x_j)' over pairs is X'(D - S - S')X, with S the weights of pairs and D
        # diagonal. Half of it, X'(D / 2 - S)X, is enough, and S is needed above its diagonal only.
        half = np.zeros_like(rows)
        push = exact = 0.0
        for start in range(0, n, BLOCK_ROWS):
            block = slice(start, min(start + BLOCK_ROWS, n))
            pairs = mapped[block] @ mapped[start:].T
            rounded, full, n_weighted = hinges(
                pairs, start, lengths, reach, furthest, self._classes, rows.dtype.type(width), target_weights, degrees
            )
            push, exact = push + rounded, exact + full
            if n_weighted > FEW * pairs.size:
                half[block] += pairs @ rows[start:]
            elif n_weighted:
                half[block] += sp.csr_array(pairs) @ rows[start:]
        half *= push_share
        weights = self._omega + push_share * target_weights[self._has_target]
        degrees *= -push_share
        degrees += np.bincount(self._left, weights, n) + np.bincount(self._right, weights, n)
        graph = sp.csr_array((weights.astype(rows.dtype), (self._left, self._right)), shape=(n, n))
        half -= graph @ rows
        half += (degrees / 2).astype(rows.dtype)[:, None] * rows
        gradient = rows.T @ half
        pull = self._omega * float(pulls.sum(dtype=np.float64))
        return pull + push_share * push, 2 * ((gradient + gradient.T) @ factor), pull + push_share * exact


@njit(cache=True, nogil=True)
def rounded_hinge(slack: float, width: float) -> tuple[float, float]:
    """Return max(0, slack) with its kink rounded over 0 to `width`, at most width / 2 below it, and its slope."""
    if slack <= 0.0:
        return 0.0, 0.0
    if slack >= width:
        return slack - width / 2, 1.0
    return slack * slack / (2 * width), slack / width


@njit(cache=True, nogil=True)
def hinges(
    pairs: Array,
    start: int,
    lengths: Array,
    reach: Array,
    furthest: Array,
    classes: Longs,
    width: float,
    target_weights: Array,
    degrees: Array,
) -> tuple[float, float, int]:
    """Overwrite the products of rows from `start` on with all that follow by the weights of impostors.

    Returns the sums of rounded hinges and of hinges, and the number of pairs with a weight. Adds the weights of target
    neighbours to `target_weights`, and the sum of each row's weights to `degrees`. `reach` is 1 plus the distance of
    every target neighbour, or -1.
    """
    rounded, exact, n_weighted = 0.0, 0.0, 0
    for row in range(pairs.shape[0]):
        i = start + row
        line, own, far = pairs[row], lengths[i], furthest[i]
        zero = own - own  # in the precision of the rows, as all of the next loop
        # distances, or less than any reach where neither row reaches the other: a loop that runs in vector lanes
        for column in range(row + 1, line.shape[0]):
            distance = max(own + lengths[start + column] - (line[column] + line[column]), zero)
            line[column] = distance if distance < max(far, furthest[start + column]) else zero - 1
        for column in range(row + 1):
            line[column] = 0.0
        for column in range(row + 1, line.shape[0]):
            distance = line[column]
            other = start + column
            if distance < 0.0 or classes[other] == classes[i]:
                line[column] = 0.0
                continue
            weight = 0.0
            for target in range(reach.shape[1]):
                for near in (i, other):
                    slack = reach[near, target] - distance
                    if slack > 0.0:
                        value, slope = rounded_hinge(slack, width)
                        rounded += value
                        exact += slack
                        target_weights[near, target] += slope
                        weight += slope
            line[column] = weight
            if weight > 0.0:
                degrees[i] += weight
                degrees[other] += weight
                n_weighted += 1
    return rounded, exact, n_weighted
