"""Rankers trained in parallel and averaged (JMLR section 5.4): the numbers of Figure 7."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookalike.learners.curve import log_spaced_steps
from lookalike.learners.dual import ValidationRows
from lookalike.learners.oasis import AveragedOASIS
from lookalike.ranking.rankings import rank_scores
from lookalike.studies.category.folds import Fold
from lookalike.studies.category.settings import Rankers


def numbers_of(fold: Fold, settings: Rankers) -> pd.DataFrame:
    """Test mAP of single rankers, and of the averages of the first so many of them (JMLR Figure 7)."""
    (X_train, X_test), labels = fold.rows("train", "test"), fold.images["test"].labels
    queries = ValidationRows(X_test)

    def measure(model: AveragedOASIS, step: int) -> dict[str, float]:
        singles: dict[str, float] = {}
        means: dict[str, float] = {}
        total = np.zeros((len(labels), len(labels)))
        for number, ranker in enumerate(model.rankers()):
            scores = queries.scores(ranker)
            singles[f"ranker {number}"] = rank_scores(scores, labels).mean_average_precision()
            # similarities are linear in W: their mean is that of the mean of W
            total += scores
            if (k := number + 1) in settings.averages:
                mean = (total / k).astype(scores.dtype)
                means[f"average of {k}"] = rank_scores(mean, labels).mean_average_precision()
        return singles | means

    learner = AveragedOASIS(
        aggressiveness=settings.aggressiveness,
        n_steps=settings.steps,
        n_rankers=settings.count,
        solver=settings.solver,
        random_state=fold.seed("rankers"),
    )
    steps = [int(step) for step in log_spaced_steps(settings.steps, settings.points)]
    curve = learner.fit(X_train, fold.images["train"].labels, trace=measure, trace_steps=steps).curve_
    table = pd.DataFrame(curve).drop(columns="loss_rate").melt("step", var_name="method")
    table = table.rename(columns={"step": "x"}).sort_values("x", kind="stable", ignore_index=True)
    return fold.results(table, metric="ranker_map")
