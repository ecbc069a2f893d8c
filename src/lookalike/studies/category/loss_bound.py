"""The mistake bound of OASIS (JMLR Theorem 1) beside the mistakes that it makes, along one sequence of triplets.

A mistake is a triplet that the matrix ranks wrongly before it learns from it. The theorem bounds their number by how
well any fixed matrix U does on the same triplets, with the identity as the matrix to start from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.learners.oasis import OASIS, oasis_steps
from lookalike.learners.sparse_rows import OrderedRows
from lookalike.learners.triplets import TripletSampler, check_triplets
from lookalike.studies.folds import fold_seed, images_of, tfidf_rows
from lookalike.studies.metrics import metrics_frame
from lookalike.studies.selection import log_spaced_steps

CHUNK = 16_384
"""Triplets at a time."""
QUERY_BLOCK = 256
"""Query rows at a time that are multiplied by U: so many dense rows of length d are in memory."""


def bound_fold(
    counts: sp.csr_array,
    split: pd.DataFrame,
    fold: int,
    settings: Mapping[str, Any],
    *,
    seed: int,
    subset: str,
) -> pd.DataFrame:
    """Count the mistakes of OASIS along a sequence of triplets, and what Theorem 1 (JMLR section 2.2) allows.

    The theorem holds for any matrix U in the place of a solution. Shown are the identity, the W that OASIS itself
    ends with, and that W scaled by 1/2 and by 2.

    Parameters
    ----------
    counts, split, fold, seed, subset
        As in `lookalike.studies.category.traces.trace_fold`.
    settings : mapping
        ``steps``, ``points`` and ``aggressiveness``.

    Returns
    -------
    DataFrame
        A number a row, as of `lookalike.studies.metrics` (``x`` is the number of triplets seen): ``mistakes`` of
        ``oasis`` (triplets with S(p, p+) <= S(p, p-) when OASIS met them), and ``bound`` with the name of U as
        ``method``.
    """
    train = images_of(split, fold, seed, subset)["train"]
    X_train, _ = tfidf_rows(counts, train.rows, train.rows)
    C = float(settings["aggressiveness"])
    triplets = TripletSampler(train.labels, fold_seed(seed, subset, fold, "fit")).draw(settings["steps"])
    mistakes, _ = mistakes_and_losses(X_train, triplets, C)
    W = OASIS(C, dtype="float64").fit_triplets(X_train, triplets).W_
    comparators = {"I": np.eye(len(W)), "W": W, "W / 2": W / 2, "2 W": 2 * W}
    steps = log_spaced_steps(settings["steps"], settings["points"])
    counted: dict[tuple[str, str], NDArray[Any]] = {("oasis", "mistakes"): mistakes}
    counted |= {(name, "bound"): bound(U, X_train, triplets, C) for name, U in comparators.items()}
    rows = [
        {"subset": subset, "fold": int(fold), "method": method, "metric": metric, "x": step, "value": values[step - 1]}
        for (method, metric), values in counted.items()
        for step in steps
    ]
    return metrics_frame(rows)


def mistakes_and_losses(X: Any, triplets: Any, aggressiveness: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Run OASIS once over the triplets, from W = I in double precision, and count as it goes.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, d)
    triplets : array-like of shape (m, 3)
        Row numbers (query, positive, negative) of X.
    aggressiveness : float
        C of JMLR eq. 9, larger than 0.

    Returns
    -------
    mistakes : numpy.ndarray of shape (m,), int64
        Mistakes up to and with each triplet: those with S(p, p+) <= S(p, p-) before their own step.
    losses : numpy.ndarray of shape (m,), float64
        Sum of the hinge losses (JMLR eq. 4) up to and with each triplet, each before its own step.

    Raises
    ------
    ValueError
        When the triplets are not row numbers of X, or the aggressiveness is not larger than 0.
    """
    _check_aggressiveness(aggressiveness)
    rows = OrderedRows(X, np.dtype(np.float64)).rows
    triplets = check_triplets(triplets, _as_rows(X).shape[0])
    W = np.eye(_as_rows(X).shape[1])
    margins = np.empty(len(triplets))
    # from the identity, which is the same in every order of features, and W is not handed out
    for start in range(0, len(triplets), CHUNK):
        chunk = slice(start, start + CHUNK)
        oasis_steps(W, rows, triplets[chunk], float(aggressiveness), margins[chunk])
    return np.cumsum(margins <= 0), np.cumsum(np.maximum(0.0, 1.0 - margins))


def bound(U: Any, X: Any, triplets: Any, aggressiveness: float) -> NDArray[np.float64]:
    """Bound on the mistakes of OASIS up to and with each triplet, by a matrix U (JMLR Theorem 1).

    max(R^2, 1 / C) (||U||_F^2 - 2 trace(U) + d + 2 C sum of the hinge losses of U), for every beginning of the
    sequence by itself: R^2 is the largest ||V||_F^2 = ||p||^2 ||p+ - p-||^2 so far, and the sum goes so far. The
    paper's n is d here: ||U - I||_F^2 is what the first three terms are.

    Parameters
    ----------
    U : array-like of shape (d, d)
        Any matrix to compare with; need not be symmetric.
    X : array-like or CSR matrix of shape (n, d)
    triplets : array-like of shape (m, 3)
        Row numbers (query, positive, negative) of X.
    aggressiveness : float
        C of JMLR eq. 9, larger than 0.

    Returns
    -------
    numpy.ndarray of shape (m,), float64

    Raises
    ------
    ValueError
        When the triplets are not row numbers of X, U is not d x d, or the aggressiveness is not larger than 0.
    """
    _check_aggressiveness(aggressiveness)
    rows = _as_rows(X)
    triplets = check_triplets(triplets, rows.shape[0])
    U = np.asarray(U, dtype=np.float64)
    d = rows.shape[1]
    if U.shape != (d, d):
        raise ValueError(f"U must have one row and one column for each of the {d} features of X, not shape {U.shape}")
    losses = np.maximum(0.0, 1.0 - triplet_margins(U, rows, triplets))
    radius = np.maximum.accumulate(_squared_step_norms(rows, triplets))
    distance = np.sum(U * U) - 2 * np.trace(U) + d
    factor = np.maximum(radius, 1 / aggressiveness)
    bounds: NDArray[np.float64] = factor * (distance + 2 * aggressiveness * np.cumsum(losses))
    return bounds


def triplet_margins(U: NDArray[np.float64], X: Any, triplets: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return p'U(p+ - p-) of every triplet, the similarity to the positive minus that to the negative.

    Parameters
    ----------
    U : numpy.ndarray of shape (d, d)
    X : array-like or CSR matrix of shape (n, d)
    triplets : numpy.ndarray of shape (m, 3)
        Row numbers (query, positive, negative) of X.

    Returns
    -------
    numpy.ndarray of shape (m,), float64
    """
    rows = _as_rows(X)
    margins = np.empty(len(triplets))
    queries, place = np.unique(triplets[:, 0], return_inverse=True)
    # triplets with neighbouring queries together, so that U is applied once to every query
    order = np.argsort(place, kind="stable")
    for start in range(0, len(queries), QUERY_BLOCK):
        projected = rows[queries[start : start + QUERY_BLOCK]] @ U
        first, last = np.searchsorted(place[order], [start, start + QUERY_BLOCK])
        for begin in range(first, last, CHUNK):
            chosen = order[begin : min(begin + CHUNK, last)]
            difference = _differences(rows, triplets[chosen])
            entry_row = np.repeat(np.arange(len(chosen)), np.diff(difference.indptr))
            products = difference.data * projected[place[chosen][entry_row] - start, difference.indices]
            margins[chosen] = np.bincount(entry_row, weights=products, minlength=len(chosen))
    return margins


def _squared_step_norms(rows: sp.csr_array, triplets: NDArray[np.int32]) -> NDArray[np.float64]:
    """||V||_F^2 of every triplet, V = p (p+ - p-)' (JMLR eq. 7)."""
    lengths = _squared_lengths(rows)
    norms = lengths[triplets[:, 0]]
    for start in range(0, len(triplets), CHUNK):
        chunk = slice(start, start + CHUNK)
        norms[chunk] *= _squared_lengths(_differences(rows, triplets[chunk]))
    return norms


def _differences(rows: sp.csr_array, triplets: NDArray[np.int32]) -> sp.csr_array:
    return sp.csr_array(rows[triplets[:, 1]] - rows[triplets[:, 2]])


def _squared_lengths(rows: sp.csr_array) -> NDArray[np.float64]:
    return np.asarray(rows.power(2).sum(axis=1), dtype=np.float64).ravel()


def _as_rows(X: Any) -> sp.csr_array:
    return sp.csr_array(X, dtype=np.float64)


def _check_aggressiveness(aggressiveness: float) -> None:
    if not aggressiveness > 0:
        raise ValueError(f"aggressiveness must be larger than 0, not {aggressiveness!r}")
