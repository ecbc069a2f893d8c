"""Made-up queries, scores and sparse rows for rankings, searches and comparisons."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp


def brute_force(scores, y):
    """Ranks of positives, average precision, precision at every k and order, by sorting tuples: the definition."""
    n = len(y)
    all_ranks, precisions, at_k, order_of = [], [], [], []
    for query in range(n):
        order = sorted((j for j in range(n) if j != query), key=lambda j: (-scores[query][j], j))
        relevant = [y[j] == y[query] for j in order]
        ranks = [r for r, hit in enumerate(relevant, start=1) if hit]
        all_ranks.append(ranks)
        order_of.append(order)
        at_k.append(np.cumsum(relevant) / np.arange(1, n))
        precisions.append(np.mean([sum(relevant[:r]) / r for r in ranks]) if ranks else np.nan)
    return all_ranks, np.array(precisions), np.array(at_k), order_of


def sparse_rows(random, n, d, *, whole=False, density=0.2):
    """CSR rows; whole numbers give ties, and sums that are exact in float32 in whatever order."""
    values = random.integers(-2, 3, (n, d)) if whole else random.normal(size=(n, d))
    return sp.csr_array((values * (random.random((n, d)) < density)).astype(np.float32))


def queries_of(method, mean, *, folds=range(5), subset="var10"):
    """Average precision of one method; fold f tests the images f * 10 to f * 10 + 59, so folds share images."""
    noise = np.random.default_rng([*method.encode(), *subset.encode()]).normal(scale=0.02, size=60 * len(folds))
    table = pd.DataFrame([(fold, fold * 10 + i) for fold in folds for i in range(60)], columns=["fold", "image_id"])
    return table.assign(subset=subset, method=method, average_precision=mean + noise)
