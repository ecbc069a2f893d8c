"""Statistics over folds and over resampled images: the numbers that tables and figures print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

GROUP = ("dataset", "representation", "subset", "method", "metric")

BLOCK_CELLS = 4_000_000
"""Counts of resampled images that are alive at once, so that the largest subset does not need all draws in memory."""


def summarise(metrics: pd.DataFrame, by: Sequence[str] = GROUP, value: str = "value") -> pd.DataFrame:
    """Mean, standard deviation and standard error of a value over folds.

    JMLR Table 4 prints the standard deviation; the error bars of all figures are standard errors of the mean.

    Parameters
    ----------
    metrics : DataFrame
        Long table with one row per fold and group; column `value` holds the number. NaN values are left out.
    by : sequence of str
        The columns that name a group, those of them that the table has.
    value : str
        Name of the value column.

    Returns
    -------
    DataFrame
        The group columns, then ``mean``, ``std`` (ddof = 1), ``sem`` (std / sqrt(n_folds)) and ``n_folds`` (int), in
        order of first appearance. ``std`` and ``sem`` of a single fold are NaN: one number has no spread.
    """
    keys = [column for column in by if column in metrics.columns]
    groups = metrics.groupby(keys, sort=False, observed=True)[value]
    summary = groups.agg(mean="mean", std="std", n_folds="count").reset_index()
    summary["sem"] = summary["std"] / np.sqrt(summary["n_folds"])
    return summary[[*keys, "mean", "std", "sem", "n_folds"]]


def resampled_counts(random: np.random.Generator, n: int, n_draws: int) -> Iterator[npt.NDArray[np.float64]]:
    """Yield, in blocks of rows, how often each of n images is in a draw of n with replacement: a bootstrap's weights.

    How often an image was drawn weighs its row, so that no resampled table is ever built.
    """
    block = max(1, BLOCK_CELLS // n)
    for start in range(0, n_draws, block):
        size = min(block, n_draws - start)
        drawn = random.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
