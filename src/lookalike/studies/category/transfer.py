"""OASIS on classes that it did not learn from: the papers expect it of a class-independent model (JMLR section 7)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from lookalike.core.seeds import generator
from lookalike.core.settings.methods import Fit, Trace
from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows
from lookalike.learners.euclidean import Euclidean
from lookalike.learners.oasis import OASIS
from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.studies.category.folds import Fold
from lookalike.studies.category.protocol import select
from lookalike.studies.category.settings import Transfer

K = 10


def numbers_of(fold: Fold, settings: Transfer) -> pd.DataFrame:
    """Learn from either half of the classes; mean mAP and P@10 on test images of the learned and of the other half."""
    C, rows = float(settings.aggressiveness), []
    trace = Trace(steps=settings.steps, points=settings.points, aggressiveness=C)
    spec = Fit(learner="OASIS", parameters={"solver": settings.solver}, select={"aggressiveness": [C]}, trace=trace)
    for learned, new in _both_ways(fold):
        (X, _), train = learned.rows("train", "train"), learned.images["train"]
        oasis = OASIS(**select(learned, spec)[1], solver=settings.solver, random_state=fold.seed("fit")).fit(
            X, train.labels
        )
        # new classes have no part in the document frequencies either
        idf = inverse_document_frequencies(fold.counts[train.rows])
        for which, half in (("learned", learned), ("new", new)):
            test = half.images["test"]
            for method, model in (("euclidean", Euclidean().fit(X)), ("oasis", oasis)):
                X_test = tfidf_rows(fold.counts[test.rows], idf)
                ranked = rank_leave_one_out(model, X_test, test.labels, n_neighbours=0)
                rows.append((method, f"map of {which} classes", ranked.mean_average_precision()))
                rows.append((method, f"top {K} of {which} classes", ranked.mean_precision_curve()[:K][-1]))
    table = pd.DataFrame(rows, columns=["method", "metric", "value"])
    means = table.groupby(["method", "metric"], sort=False)["value"].mean().reset_index()
    return fold.results(means)


def _both_ways(fold: Fold) -> list[tuple[Fold, Fold]]:
    """The fold with a random half of its classes and with the others, and the other way round; none of too few."""
    classes = np.unique(fold.images["train"].labels)
    if len(classes) < 4:
        return []
    order = generator(fold.root, "category", fold.subset, "fold", fold.number, "transfer").permutation(len(classes))
    parts = [fold.split["label"].isin(classes[part]) for part in np.array_split(order, 2)]
    first, second = (replace(fold, split=fold.split[part]) for part in parts)
    return [(first, second), (second, first)]
