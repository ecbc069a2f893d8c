"""Numba kernels of the weighted minhash: samples of a block of hashes, and how often two signatures agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.kernels import njit

BLOCK = 16
"""Hashes at a time: their random numbers for one feature fill a few cache lines."""
EMPTY = np.uint32(0xFFFFFFFF)
"""Sample of a row without a positive value."""


@njit(cache=True, nogil=True)
def _mixed(word: Any) -> Any:
    """Finaliser of splitmix64 (Steele, Lea and Flood 2014): every bit of the result depends on every bit of `word`."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(cache=True, nogil=True)
def sample_block(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    log_values: NDArray[np.float32],
    tables: tuple[NDArray[np.float32], ...],
    signatures: NDArray[np.uint32],
    first: int,
) -> None:
    """Draw the consistent weighted samples of a block of hashes for every row (Ioffe 2010, algorithm 1).

    `tables` are r, 1 / r, beta and ln(c) - r, each float32 of shape (d, BLOCK): a row of hashes per feature, so that
    the inner loop runs over neighbours. With t = floor(ln(S) / r + beta), ln(a) = ln(c) - r (t - beta) - r; the feature
    with the smallest a is the sample, together with its t. The pair is kept as 32 mixed bits.
    """
    rates, inverse_rates, shifts, log_scores = tables
    width = min(BLOCK, signatures.shape[1] - first)
    best = np.empty(BLOCK, np.float32)
    steps = np.empty(BLOCK, np.float32)
    chosen = np.empty(BLOCK, np.int32)
    for row in range(len(indptr) - 1):
        for h in range(BLOCK):
            best[h] = np.float32(np.inf)
            steps[h] = np.float32(0)
            chosen[h] = -1
        for at in range(indptr[row], indptr[row + 1]):
            feature = np.uint32(indices[at])  # unsigned: no test for negative indices in the inner loop
            logarithm = log_values[at]
            for h in range(BLOCK):
                step = np.floor(logarithm * inverse_rates[feature, h] + shifts[feature, h])
                score = log_scores[feature, h] - rates[feature, h] * (step - shifts[feature, h])
                if score < best[h]:
                    best[h] = score
                    steps[h] = step
                    chosen[h] = np.int32(feature)
        for h in range(width):
            if chosen[h] < 0:
                signatures[row, first + h] = EMPTY
                continue
            # the step may be negative: its 64 bits are taken as they are
            word = _mixed(np.uint64(chosen[h])) ^ np.uint64(np.int64(steps[h]))
            signatures[row, first + h] = np.uint32(_mixed(word) >> np.uint64(32))


@njit(cache=True, nogil=True)
def count_agreements(left: NDArray[np.uint32], right: NDArray[np.uint32], counts: NDArray[np.int32]) -> None:
    """Count, for every pair of rows of `left` and `right`, the hashes at which both have the same sample."""
    for i in range(left.shape[0]):
        for j in range(right.shape[0]):
            count = np.int32(0)
            for h in range(left.shape[1]):
                count += np.int32(left[i, h] == right[j, h])
            counts[i, j] = count
