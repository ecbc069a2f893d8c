"""Rankers trained in parallel and averaged (JMLR section 5.4): the numbers of Figure 7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from lookalike.learners.curve import log_spaced_steps
from lookalike.learners.oasis import OASIS
from lookalike.learners.oasis_variants import average_matrices, ranker_seeds
from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.studies.category.folds import Fold
from lookalike.studies.metrics import metrics_frame


def train_ranker(fold: Fold, ranker: int, settings: Mapping[str, Any]) -> dict[int, np.ndarray]:
    """Train one ranker on triplets of its own; step to W, in float32, at the points of the figure after step 0."""
    X_train, _ = fold.rows("train", "train")
    kept: dict[int, np.ndarray] = {}

    def keep(model: Any, step: int) -> dict[str, float]:
        if step:
            kept[step] = model.W_.copy()
        return {}

    # so the average of the first k is what `AveragedOASIS` of k rankers with the same seed learns
    seed = ranker_seeds(fold.seed("rankers"), ranker + 1)[ranker]
    learner = OASIS(settings["aggressiveness"], settings["steps"], random_state=seed)
    learner.fit(X_train, fold.images["train"].labels, trace=keep, trace_steps=_steps(settings))
    return kept


def numbers_of(fold: Fold, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Test mAP of single rankers, and of the averages of the first so many of them (JMLR Figure 7)."""
    matrices = [train_ranker(fold, ranker, settings) for ranker in range(settings["count"])]
    _, X_test = fold.rows("train", "test")
    model = OASIS().fit_triplets(X_test, np.empty((0, 3), dtype=np.int32))

    def score(W: np.ndarray) -> float:
        model.W_ = W
        return rank_leave_one_out(model, X_test, fold.images["test"].labels, n_neighbours=0).mean_average_precision()

    start = score(model.W_)
    rows: list[tuple[str, int, float]] = []
    for step in [0, *_steps(settings)]:
        for ranker, kept in enumerate(matrices):
            rows.append((f"ranker {ranker}", step, score(kept[step]) if step else start))
        for k in settings["averages"]:
            value = score(average_matrices([kept[step] for kept in matrices[:k]])) if step else start
            rows.append((f"average of {k}", step, value))
    table = pd.DataFrame(rows, columns=["method", "x", "value"])
    return metrics_frame(table.assign(subset=fold.subset, fold=fold.number, metric="ranker_map"))


def _steps(settings: Mapping[str, Any]) -> list[int]:
    """Steps at which rankers are scored."""
    return [int(step) for step in log_spaced_steps(settings["steps"], settings["points"])]
