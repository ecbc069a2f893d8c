"""Bootstraps: how often each image, and each repeat, is in a resample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lookalike.core.arrays import Doubles

BLOCK_CELLS = 4_000_000
"""Counts of resampled images that are alive at once, so that the largest subset does not need all draws in memory."""


def resampled_counts(random: np.random.Generator, n: int, n_draws: int) -> Iterator[Doubles]:
    """Yield, a block of draws at a time, how often each of n images is in a bootstrap's draw of n with replacement."""
    block = max(1, BLOCK_CELLS // n)
    for start in range(0, n_draws, block):
        size = min(block, n_draws - start)
        drawn = random.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def repeat_weights(random: np.random.Generator, n: int, n_resamples: int) -> Doubles:
    """Return weights of n repeats, such as seeds or draws, in each resample: shape (n_resamples, n), of sum 1.

    Deviations from equal weights are larger than those of a plain bootstrap, so that the mean has the variance s^2 / n
    of n repeats, and not (n - 1) / n of it: with three of them a plain one is too sure by a third.
    """
    if n == 1:
        return np.ones((n_resamples, 1))
    counts = random.multinomial(n, [1 / n] * n, n_resamples)
    return np.asarray(1 / n + (counts / n - 1 / n) * np.sqrt(n / (n - 1)))
