"""Side studies, each of an exhibit of its own: rankers and their averages, few training images, and new classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.seeds import generator
from lookalike.core.settings.methods import Fit, Trace
from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows
from lookalike.learners.curve import log_spaced_steps
from lookalike.learners.dual import ValidationRows
from lookalike.learners.euclidean import Euclidean
from lookalike.learners.oasis import OASIS, AveragedOASIS
from lookalike.ranking.rankings import rank_leave_one_out, rank_scores
from lookalike.studies.category.folds import Fold
from lookalike.studies.category.protocol import run_fold, select
from lookalike.studies.category.settings import Rankers, Transfer

LEAST_VALIDATION = 2
"""Validation images of a class: one alone has no other to find."""
K = 10


def numbers_of(side: str, fold: Fold, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of results of a fold in one of the side studies, by its name in the settings."""
    match side:
        case "rankers":
            return of_rankers(fold, Rankers(**settings))
        case "transfer":
            return of_new_classes(fold, Transfer(**settings))
    return of_few_images(fold, settings["images"], {name: Fit(**spec) for name, spec in settings["fits"].items()})


def of_rankers(fold: Fold, settings: Rankers) -> pd.DataFrame:
    """Test mAP of single rankers, and of the averages of the first so many of them (JMLR section 5.4, Figure 7)."""
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


def of_few_images(fold: Fold, sizes: Sequence[int], specs: Mapping[str, Fit]) -> pd.DataFrame:
    """Rank test images by methods that choose and learn from fewer images of each class (JMLR sections 1 and 7)."""
    rows = []
    for n_images, (method, spec) in product(sizes, specs.items()):
        metrics = run_fold(with_images(fold, n_images), spec).metrics
        rows += [(method, "map of few images", n_images, metrics["map"])] if metrics else []
    return fold.results(pd.DataFrame(rows, columns=["method", "metric", "x", "value"]))


def with_images(fold: Fold, n_images: int) -> Fold:
    """Return the fold with so many training images of each class; smaller sets are parts of larger ones."""
    own = fold.split[fold.split["fold"] == fold.number]
    train, others = own[own["role"] == "train"], own[own["role"] != "train"]
    order = generator(fold.root, "category", fold.subset, "fold", fold.number, "few images").permutation(len(train))
    shuffled = train.iloc[order]
    place = shuffled.groupby("label").cumcount()
    # as large a share of them validates as in the whole fold
    n_validation = max(LEAST_VALIDATION, round(n_images * train["validation"].mean()))
    chosen = shuffled.assign(validation=place < n_validation)[place < n_images]
    return replace(fold, split=pd.concat([chosen, others], ignore_index=True))


def of_new_classes(fold: Fold, settings: Transfer) -> pd.DataFrame:
    """Learn from either half of the classes; mean mAP and P@10 on test images of the learned and of the other half."""
    classes, C, rows = np.unique(fold.images["train"].labels), float(settings.aggressiveness), []
    trace = Trace(steps=settings.steps, points=settings.points, aggressiveness=C)
    spec = Fit(learner="OASIS", parameters={"solver": settings.solver}, select={"aggressiveness": [C]}, trace=trace)
    order = generator(fold.root, "category", fold.subset, "fold", fold.number, "transfer").permutation(len(classes))
    parts = [fold.split["label"].isin(classes[part]) for part in np.array_split(order, 2)]
    first, second = (replace(fold, split=fold.split[part]) for part in parts)
    for learned, new in ((first, second), (second, first)) if len(classes) >= 4 else ():
        (X, _), train = learned.rows("train", "train"), learned.images["train"]
        oasis = OASIS(**select(learned, spec)[1], solver=settings.solver, random_state=fold.seed("fit"))
        oasis.fit(X, train.labels)
        # new classes have no part in the document frequencies either
        idf = inverse_document_frequencies(fold.counts[train.rows])
        for which, half in (("learned", learned), ("new", new)):
            test = half.images["test"]
            X_test = tfidf_rows(fold.counts[test.rows], idf)
            for method, model in (("euclidean", Euclidean().fit(X)), ("oasis", oasis)):
                ranked = rank_leave_one_out(model, X_test, test.labels, n_neighbours=0)
                rows.append((method, f"map of {which} classes", ranked.mean_average_precision()))
                rows.append((method, f"top {K} of {which} classes", ranked.mean_precision_curve()[:K][-1]))
    table = pd.DataFrame(rows, columns=["method", "metric", "value"])
    return fold.results(table.groupby(["method", "metric"], sort=False)["value"].mean().reset_index())
