"""How well a similarity ranks: precision at k and average precision, with intervals from resampled queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from sklearn.utils.validation import check_array

from lookalike.core.arrays import Array, Frame, Matrix
from lookalike.core.row_numbers import labels_of
from lookalike.core.seeds import RandomState, as_seed
from lookalike.ranking.rankings import Rankings, Similarity, rank_gallery, rank_leave_one_out
from lookalike.ranking.statistics import resampled_counts

PRECISION_AT = (1, 5, 10)
RESAMPLES = 2000
"""Bootstrap samples of the queries that an interval is made of."""
Key = TypeVar("Key")


class Measure(NamedTuple):
    """A mean over queries (0 to 1), its 95% interval over queries, and how many queries have a positive."""

    value: float
    low: float
    high: float
    n_queries: int


def evaluate(
    model: Similarity,
    queries: Matrix,
    gallery: Matrix | None = None,
    labels: Frame = None,
    *,
    ks: Sequence[int] = PRECISION_AT,
    random_state: RandomState = 0,
) -> dict[str, Measure]:
    """Measure how well a similarity ranks labelled rows: gallery rows of a query's label are right.

    Parameters
    ----------
    model : learner
        Fitted, or anything else with ``similarity(A, B)``.
    queries : array-like, CSR matrix or DataFrame of shape (n_q, d)
    gallery : array-like, CSR matrix or DataFrame of shape (n_g, d), optional
        What each query ranks. Default: the other queries (leave one out, JMLR section 5.1).
    labels : array-like of shape (n_q,), or a pair of them, of shapes (n_q,) and (n_g,)
        Classes of the queries, and of the gallery where there is one. A dict of id to label serves both.
    ks : sequence of int, default=(1, 5, 10)
        Where precision is measured; those larger than the gallery are left out.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=0
        Of the bootstrap over queries, which the intervals are from.

    Returns
    -------
    dict of str to Measure
        ``"map"``, mean average precision, and ``"precision@1"``..., each with ``value``, ``low``, ``high`` (95%) and
        ``n_queries``. Queries without a row of their class to find are left out. One query has no interval: NaN.

    Raises
    ------
    ValueError
        When labels are missing or of another number than rows, no query has a row to find, or all rows are of the
        class of their query.

    Examples
    --------
    >>> from lookalike.learners import Euclidean
    >>> X, y = [[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"]
    >>> evaluate(Euclidean().fit(X), X, labels=y, ks=[1])["precision@1"].value
    1.0
    """
    if labels is None:
        raise ValueError("evaluate needs labels of the queries; with a gallery, a pair: theirs, and the gallery's")
    if gallery is None:
        model, (rows,) = _checked(model, queries)
        rankings = rank_leave_one_out(model, rows, labels_of(labels, queries), n_neighbours=0)
    else:
        pair = (labels, labels) if isinstance(labels, Mapping) else tuple(labels)
        if len(pair) != 2:
            raise ValueError("with a gallery, labels are a pair: those of the queries, and those of the gallery")
        mine, theirs = labels_of(pair[0], queries), labels_of(pair[1], gallery)
        model, (asked, ranked) = _checked(model, queries, gallery)
        rankings = rank_gallery(model, asked, ranked, mine, theirs)
    random = np.random.default_rng(as_seed(random_state))
    return intervals(by_query(rankings, ks), np.arange(rankings.n_queries), random)


def by_query(rankings: Rankings, ks: Sequence[int]) -> dict[str, Array]:
    """Return average precision of each query, and precision at those of `ks` that the gallery has."""
    rankings.check()
    within = [k for k in ks if k <= rankings.n_gallery]
    precisions = zip(within, rankings.precision_at(within).T, strict=True)
    return {"map": rankings.average_precision()} | {f"precision@{k}": column for k, column in precisions}


def intervals(values: Mapping[Key, Array], groups: Array, random: np.random.Generator) -> dict[Key, Measure]:
    """Return means of values with 95% intervals; values of one of `groups`, such as a query, are drawn together.

    All see the same resamples, so that differences are differences on the same queries. A NaN is left out. One group
    says nothing about others: its interval is NaN.
    """
    defined = ~np.isnan(next(iter(values.values())))
    places = np.unique(groups[defined], return_inverse=True)[1]
    n = int(places.max()) + 1
    sums = np.stack([np.bincount(places), *(np.bincount(places, found[defined]) for found in values.values())], axis=1)
    totals = np.concatenate([counts @ sums for counts in resampled_counts(random, n, RESAMPLES)])
    ends = (
        np.quantile(totals[:, 1:] / totals[:, :1], [0.025, 0.975], axis=0)
        if n > 1
        else np.full((2, len(values)), np.nan)
    )
    return {
        key: Measure(float(found[defined].mean()), float(low), float(high), n)
        for (key, found), low, high in zip(values.items(), *ends, strict=True)
    }


def _checked(model: Similarity, *given: Matrix) -> tuple[Similarity, list[Matrix]]:
    """Return rows, checked, and what compares them: our learners check them once, and names of features too."""
    if hasattr(model, "checked"):
        compared: tuple[Similarity, list[Matrix]] = model.checked(*given)
        return compared
    return model, [check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32]) for X in given]
