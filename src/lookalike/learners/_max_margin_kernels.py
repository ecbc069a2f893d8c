"""Numba kernel of the max-margin weights: one pass of dual coordinate descent with weights that are not negative."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lookalike.core.kernels import njit


@njit(cache=True, nogil=True)
def dual_pass(
    rows: NDArray[np.float64],
    squares: NDArray[np.float64],
    order: NDArray[np.int64],
    largest: float,
    dual: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Take one step on the dual variable of every row, in the given order.

    The dual of min 1/2 |w|^2 + largest sum_i max(0, 1 - x_i'w), w >= 0, is max sum_i a_i - 1/2 |[sum_i a_i x_i]_+|^2
    with 0 <= a_i <= largest, and w = [sum_i a_i x_i]_+. A step on a_i takes |x_i|^2 for the curvature, which is an
    upper bound, reached where all weights are above zero, so that no step lowers the dual. `dual` and `sums`, the sum
    of a_i x_i, change in place.
    """
    n_features = rows.shape[1]
    for i in order:
        if squares[i] == 0.0:
            continue
        margin = 0.0
        for k in range(n_features):
            margin += rows[i, k] * max(sums[k], 0.0)
        new = min(max(dual[i] + (1.0 - margin) / squares[i], 0.0), largest)
        change = new - dual[i]
        if change != 0.0:
            dual[i] = new
            for k in range(n_features):
                sums[k] += change * rows[i, k]
