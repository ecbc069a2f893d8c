"""Mean average precision along training, past the stop (JMLR Figures 5 and 9, draft Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lookalike.core.settings.methods import Fit, Trace
from lookalike.exhibits.results import write_results
from lookalike.learners.base import SimilarityLearner
from lookalike.learners.curve import log_spaced_steps
from lookalike.learners.dual import ValidationRows
from lookalike.studies.category.folds import Fold
from lookalike.studies.fits import TimeLimitReachedError, cpu_time_limit, make_learner, warm_up
from lookalike.studies.selection import as_stopped, limit_of_steps

SCORED = {"test": "traced_map", "ranked training": "traced_train_map"}
"""Parts of the images that are ranked along training, to the metrics."""
TRACED = SCORED | {name: name for name in ("loss_rate", "objective")}
"""What is traced to its metric; a learner without an objective has no rows of it."""


def make(fold: Fold, spec: Fit, folder: Path, names: Mapping[str, Any]) -> str:
    """Trace a fold, write ``curve.parquet``, and return a line about it; `names` as of a run."""
    curve = trace_fold(fold, spec)
    write_results(fold.results(curve, method=names["method"]), folder / "curve.parquet")
    return f"traced, {len(curve)} numbers"


def trace_fold(fold: Fold, spec: Fit) -> pd.DataFrame:
    """Numbers along training, at the fixed parameters of the figures; no rows where a trace reaches its time limit."""
    warm_up(spec)
    try:
        with cpu_time_limit(spec.time_limit, "the trace"):
            return _curve(fold, spec, spec.trace or Trace())
    except TimeLimitReachedError:
        return pd.DataFrame({"metric": [], "x": [], "value": []})


def _curve(fold: Fold, spec: Fit, trace: Trace) -> pd.DataFrame:
    """Learn from the training images, and rank them and the test images on the way."""
    rows = {part: fold.rows("train", part) for part in SCORED}
    ranked = {part: (ValidationRows(X), fold.images[part].labels) for part, (_, X) in rows.items()}

    def score(model: SimilarityLearner, step: int) -> dict[str, float]:
        stopped = as_stopped(model)
        return {part: X.rankings(stopped, y).mean_average_precision() for part, (X, y) in ranked.items()}

    # the learner sees the stream of its fold's final fit
    learner = make_learner(spec, fold.seed("fit"))
    # past the stop means, for a learner that stops by itself, without its tolerance
    fixed = {"aggressiveness": float(trace.aggressiveness), "tol": 0.0, limit_of_steps(learner): trace.steps}
    learner.set_params(**{name: value for name, value in fixed.items() if name in learner.get_params()})
    steps = log_spaced_steps(trace.steps, trace.points, trace.first)
    X, _ = rows["test"]
    traced = learner.fit(X, fold.images["train"].labels, trace=score, trace_steps=steps).curve_
    numbers = pd.DataFrame({metric: traced[name] for name, metric in TRACED.items() if name in traced})
    return numbers.assign(x=traced["step"]).melt("x", var_name="metric").dropna(subset="value")
