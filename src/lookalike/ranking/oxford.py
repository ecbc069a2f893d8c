"""Oxford average precision: the measure of the landmark study.

Photographs of a landmark are good, ok or junk for a query. Good and ok ones are its positives; junk ones (most of the
building hidden) count neither way and are taken out before ranks are counted. Between two positives the precision is
joined by straight lines (trapezoids), where `lookalike.ranking.rankings` takes the mean of precision at the ranks of
positives. The query's own image stays in the list: it is a positive like any other, usually the first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lookalike.ranking.rankings import mean_over_ties


def average_precision(
    positive_ranks: ArrayLike, junk_ranks: ArrayLike = (), *, n_missing: int = 0, ties: ArrayLike = 1
) -> float:
    """Return the area under precision against recall by trapezoids, with junk images taken out.

    The k-th of P positives, at rank r once junk is taken out, adds (p + k / r) / (2 P), where p is the precision just
    before it: (k - 1) / (r - 1), or 1 at r = 1. This is the measure of the Oxford buildings benchmark (Philbin et al.,
    CVPR 2007, section 3; the 1 is its program's ``old_precision``). Of images of equal similarity, it is the mean over
    all their orders.

    Ranks of good and ok images, and of junk ones, count from 1, junk still counted, in any order; `n_missing` positives
    are not in the list, and never found. `ties` says how many images, junk too, share the similarity of each good or ok
    image, itself among them; all of these have the first of their ranks. The result is from 0 to 1, NaN without a
    positive. A rank below 1 or given more often than ties allow, and a negative `n_missing`, are a ValueError.
    """
    given, junk = (np.asarray(ranks).astype(np.int64).ravel() for ranks in (positive_ranks, junk_ranks))
    order, junk = np.argsort(given, kind="stable"), np.sort(junk)
    positives, shared = given[order], np.broadcast_to(np.asarray(ties, dtype=np.int64), given.shape)[order]
    both = np.sort(np.concatenate([positives, junk]))
    if len(both) and both[0] < 1:
        raise ValueError(f"ranks start at 1; got {both[0]}: leave out images that are not in the list")
    if (both.searchsorted(positives, "right") - both.searchsorted(positives) > shared).any():
        raise ValueError("two images share a rank: rank each image once, as positive or as junk")
    if n_missing < 0:
        raise ValueError(f"n_missing counts positives that are not in the list; it cannot be {n_missing}")
    n_positives = len(positives) + n_missing
    if n_positives == 0:
        return float("nan")
    junk_before, junk_until = junk.searchsorted(positives), junk.searchsorted(positives, "right")
    ranks, shared = positives - junk_before, shared - (junk_until - junk_before)
    found = ranks.searchsorted(ranks)
    n_tied = ranks.searchsorted(ranks, "right") - found
    after = mean_over_ties(found + 1, n_tied, ranks, shared)
    # no rank before the first, where precision is 1
    before = np.where(ranks == 1, n_tied / shared, mean_over_ties(found, n_tied, np.maximum(ranks - 1, 1), shared))
    return float(np.sum(before + after) / (2 * n_positives))
