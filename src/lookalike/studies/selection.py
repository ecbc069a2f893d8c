"""Choosing hyper-parameters and the step to stop at, on a validation cut (JMLR section 5.3.2, draft section 5.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.arrays import Array, Integers, Matrix
from lookalike.learners.base import SimilarityLearner
from lookalike.learners.gram import Gram, Seen
from lookalike.learners.oasis import PassiveAggressive

MEASURED = ("step", "map", "loss_rate")
LIMITS = ("n_steps", "max_iter")
"""Parameters by which a learner of triplets or pairs, and one of a batch, ends after so many steps."""


def grid(choices: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """Return every combination of the listed values, in the order of the lists; one empty dict for no choice."""
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def trace_candidates(
    make_learner: Callable[[dict[str, object]], Any],
    candidates: Sequence[Mapping[str, object]],
    X_train: Matrix,
    y_train: Array,
    X_val: Matrix,
    y_val: Array,
    steps: Integers | None,
    *,
    as_learned: bool = False,
) -> pd.DataFrame:
    """Train each candidate and score it on the validation images, which query each other: rows by step."""
    seen, products = Seen(X_val), {dtype: Gram.copied(X_train, dtype) for dtype in ("float32", "float64")}

    def validation_map(model: SimilarityLearner, step: int = 0) -> dict[str, float]:
        scored = model if as_learned else as_stopped(model)
        return {"map": seen.rankings(scored, y_val).mean_average_precision()}

    tables = []
    for candidate in candidates:
        if steps is None:
            model = make_learner(dict(candidate)).fit(X_train, y_train)
            measured = {"step": [int(getattr(model, "n_steps_", 0))], **validation_map(model)}
        else:
            # step 0 is traced too: not to learn is a choice
            learner = make_learner(dict(candidate))
            learner.set_params(**{limit_of_steps(learner): int(steps[-1])})
            if isinstance(learner, PassiveAggressive):
                learner.share(products[learner.dtype])
            measured = learner.fit(X_train, y_train, trace=validation_map, trace_steps=steps).curve_
        table = pd.DataFrame({key: measured.get(key, np.nan) for key in MEASURED})
        for position, (name, value) in enumerate(candidate.items()):
            table.insert(position, name, [value] * len(table))
        tables.append(table.astype({"step": np.int64}))
    return pd.concat(tables, ignore_index=True)


def limit_of_steps(learner: SimilarityLearner) -> str:
    """Return the parameter of a learner that ends it after so many steps."""
    return LIMITS[0] if LIMITS[0] in learner.get_params() else LIMITS[1]


def as_stopped(model: SimilarityLearner) -> SimilarityLearner:
    """Return the model that a fit which stops here would give: a learner may project once at its end."""
    return model.as_stopped() if hasattr(model, "as_stopped") else model


def best_candidate(table: pd.DataFrame) -> tuple[dict[str, object], int]:
    """Return the hyper-parameters and step with the best mean validation mAP over the cuts of a table."""
    names = [column for column in table.columns if column not in MEASURED]
    means = table.groupby([*names, "step"], dropna=False)["map"].mean().dropna().reset_index()
    # ties go to fewer steps, then to the smaller value of each hyper-parameter
    best = means.sort_values(["map", "step", *names], ascending=[False, True, *[True] * len(names)], kind="stable")
    return {name: best[name].tolist()[0] for name in names}, int(best["step"].iloc[0])
