"""Oxford average precision: the measure of the landmark study.

Photographs of a landmark are good, ok or junk for a query. Good and ok ones are its positives; junk ones (most of the
building hidden) count neither way and are taken out before ranks are counted. Between two positives the precision is
joined by straight lines (trapezoids), where `lookalike.ranking.rankings` takes the mean of precision at the ranks of
positives. The query's own image stays in the list: it is a positive like any other, usually the first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def average_precision(positive_ranks: ArrayLike, junk_ranks: ArrayLike = (), *, n_missing: int = 0) -> float:
    """Return the area under precision against recall by trapezoids, with junk images taken out.

    The k-th of P positives, at rank r once junk is taken out, adds (p + k / r) / (2 P), where p is the precision just
    before it: (k - 1) / (r - 1), or 1 at r = 1. This is the measure of the Oxford buildings benchmark (Philbin et al.,
    CVPR 2007, section 3; the 1 is its program's ``old_precision``).

    Parameters
    ----------
    positive_ranks : array-like of int, shape (n_found,)
        1-based ranks of the good and ok images, junk still counted, in any order.
    junk_ranks : array-like of int, shape (n_junk,)
        1-based ranks of the junk images, in any order.
    n_missing : int
        Positives that the list does not hold; they are never found.

    Returns
    -------
    float
        From 0 to 1; NaN where there is no positive at all.

    Raises
    ------
    ValueError
        When a rank is below 1 or given twice, or `n_missing` is negative.
    """
    positives, junk = (np.sort(np.asarray(ranks).astype(np.int64).ravel()) for ranks in (positive_ranks, junk_ranks))
    both = np.concatenate([positives, junk])
    if len(both) and both.min() < 1:
        raise ValueError(f"ranks start at 1; got {both.min()}: leave out images that are not in the list")
    if len(np.unique(both)) < len(both):
        raise ValueError("two images share a rank: rank each image once, as positive or as junk")
    if n_missing < 0:
        raise ValueError(f"n_missing counts positives that are not in the list; it cannot be {n_missing}")
    n_positives = len(positives) + n_missing
    if n_positives == 0:
        return float("nan")
    ranks = positives - np.searchsorted(junk, positives)
    found = np.arange(1, len(ranks) + 1)
    # no rank before the first, where precision is 1
    before = np.where(ranks == 1, 1.0, (found - 1) / np.maximum(ranks - 1, 1))
    return float(np.sum(before + found / ranks) / (2 * n_positives))
