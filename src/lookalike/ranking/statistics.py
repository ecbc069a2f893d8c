"""Statistics over folds: the numbers that tables and figures print, from the tidy table of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

GROUP = ("dataset", "representation", "subset", "method", "metric")


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
