"""Rankers trained in parallel and averaged (JMLR section 5.4): the jobs behind Figure 7.

Each ranker is an `lookalike.learners.OASIS` with one of `ranker_seeds`, whatever others there are; the average of the
first k is what `lookalike.learners.AveragedOASIS` of k rankers with the same seed learns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lookalike.learners.oasis import OASIS
from lookalike.learners.oasis_variants import average_matrices, ranker_seeds
from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.studies.folds import fold_seed, images_of, tfidf_rows
from lookalike.studies.metrics import metrics_frame
from lookalike.studies.selection import log_spaced_steps


def train_ranker(
    counts: sp.csr_array,
    split: pd.DataFrame,
    fold: int,
    ranker: int,
    settings: Mapping[str, Any],
    *,
    seed: int,
    subset: str,
) -> dict[int, np.ndarray]:
    """Train one of the rankers whose average JMLR section 5.4 describes, and keep W at the points of the figure.

    Parameters
    ----------
    counts, split, fold, seed, subset
        As in `lookalike.studies.category.traces.trace_fold`.
    ranker : int
        Which one; each has a stream of triplets of its own, the same whatever others there are.
    settings : mapping
        ``steps``, ``points`` and ``aggressiveness``.

    Returns
    -------
    dict of int to ndarray of float32, shape (d, d)
        Step to W, step 0 not among them.
    """
    train = images_of(split, fold, seed, subset)["train"]
    X_train, _ = tfidf_rows(counts, train.rows, train.rows)
    kept: dict[int, np.ndarray] = {}

    def keep(model: Any, step: int) -> dict[str, float]:
        if step:
            kept[step] = model.W_.copy()
        return {}

    ranker_seed = ranker_seeds(fold_seed(seed, subset, fold, "rankers"), ranker + 1)[ranker]
    learner = OASIS(settings["aggressiveness"], settings["steps"], random_state=ranker_seed)
    learner.fit(X_train, train.labels, trace=keep, trace_steps=_ranker_steps(settings))
    return kept


def average_rankers(
    counts: sp.csr_array,
    split: pd.DataFrame,
    fold: int,
    matrices: Sequence[Mapping[int, np.ndarray]],
    settings: Mapping[str, Any],
    *,
    seed: int,
    subset: str,
) -> pd.DataFrame:
    """Test mAP of single rankers, and of the averages of the first so many of them (JMLR Figure 7).

    Parameters
    ----------
    counts, split, fold, settings, seed, subset
        As in `train_ranker`; ``averages`` of the settings lists how many rankers are averaged.
    matrices : sequence of mapping
        What `train_ranker` gave, in the order of the rankers.

    Returns
    -------
    DataFrame
        A number a row, as of `lookalike.studies.metrics`: ``ranker_map``, ``method`` is "ranker 0", "ranker 1", ... or
        "average of k", ``x`` the steps that each ranker took. Step 0 is W = I.
    """
    images = images_of(split, fold, seed, subset)
    test = images["test"]
    _, X_test = tfidf_rows(counts, images["train"].rows, test.rows)
    model = OASIS().fit_triplets(X_test, np.empty((0, 3), dtype=np.int32))

    def score(W: np.ndarray) -> float:
        model.W_ = W
        return rank_leave_one_out(model, X_test, test.labels, n_neighbours=0).mean_average_precision()

    start = score(model.W_)
    rows: list[tuple[str, int, float]] = []
    averages = [k for k in settings["averages"] if k <= len(matrices)]
    for step in [0, *_ranker_steps(settings)]:
        for ranker, kept in enumerate(matrices):
            rows.append((f"ranker {ranker}", step, score(kept[step]) if step else start))
        for k in averages:
            value = score(average_matrices([kept[step] for kept in matrices[:k]])) if step else start
            rows.append((f"average of {k}", step, value))
    names = {"subset": subset, "fold": int(fold), "metric": "ranker_map"}
    return metrics_frame([{**names, "method": method, "x": step, "value": value} for method, step, value in rows])


def _ranker_steps(settings: Mapping[str, Any]) -> list[int]:
    return [int(step) for step in log_spaced_steps(settings["steps"], settings["points"])]
