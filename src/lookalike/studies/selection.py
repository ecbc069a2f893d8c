"""Choosing hyper-parameters and the step to stop at, on a validation cut (JMLR section 5.3.2, draft section 5.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.arrays import Array, Matrix
from lookalike.core.settings.methods import Fit
from lookalike.learners.base import SimilarityLearner
from lookalike.learners.curve import log_spaced_steps
from lookalike.learners.dual import Gram, ValidationRows
from lookalike.learners.oasis import PassiveAggressive
from lookalike.studies.fits import make_learner

Labelled = tuple[Matrix, Array]
"""Rows and their labels."""
MEASURED = ("step", "map", "loss_rate")
NOTHING = pd.DataFrame({name: pd.Series(dtype=np.float64) for name in MEASURED})
LIMITS = ("n_steps", "max_iter")
"""Parameters by which a learner of triplets or pairs, and one of a batch, ends after so many steps."""


def grid(choices: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """Return every combination of the listed values, in the order of the lists; one empty dict for no choice."""
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def choose(spec: Fit, seed: int, rows: Callable[[], tuple[Labelled, Labelled]]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Try every candidate of a method; return what they scored, by step, and the parameters chosen."""
    candidates, trace = grid(spec.select), spec.trace if spec.trace is not None and spec.trace.stop else None
    if trace is None and len(candidates) <= 1:
        return NOTHING, dict(candidates[0])
    # those to learn from, and those that score, which query each other
    (X, y), (X_val, y_val) = rows()
    scored, products = ValidationRows(X_val), {dtype: Gram.copied(X, dtype) for dtype in ("float32", "float64")}

    def validation_map(model: SimilarityLearner, step: int = 0) -> dict[str, float]:
        stopped = model if trace is not None and trace.as_learned else as_stopped(model)
        return {"map": scored.rankings(stopped, y_val).mean_average_precision()}

    tables = []
    measured: Mapping[str, Any]
    for candidate in candidates:
        # all candidates share one seed, never a hyper-parameter
        learner = make_learner(spec, seed, candidate)
        if trace is None:
            model = learner.fit(X, y)
            measured = {"step": [int(getattr(model, "n_steps_", 0))], **validation_map(model)}
        else:
            # step 0 is traced too: not to learn is a choice
            learner.set_params(**{limit_of_steps(learner): trace.steps})
            if isinstance(learner, PassiveAggressive):
                learner.share(products[learner.dtype])
            steps = log_spaced_steps(trace.steps, trace.points, trace.first)
            measured = learner.fit(X, y, trace=validation_map, trace_steps=steps).curve_
        own: dict[str, Any] = {name: [value] * len(measured["step"]) for name, value in candidate.items()}
        own |= {key: measured.get(key, np.nan) for key in MEASURED}
        tables.append(pd.DataFrame(own).astype({"step": np.int64}))
    selection = pd.concat(tables, ignore_index=True)
    chosen, best_step = best_candidate(selection)
    return selection, chosen | ({} if trace is None else {limit_of_steps(make_learner(spec, seed)): best_step})


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
