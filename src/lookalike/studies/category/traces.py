"""Mean average precision along training, past the stop (JMLR Figures 5 and 9, draft Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.files import write_table
from lookalike.learners.curve import log_spaced_steps
from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.studies.category.folds import Fold, symmetry_index
from lookalike.studies.fits import make_learner, warm_up
from lookalike.studies.metrics import metrics_frame
from lookalike.studies.selection import as_stopped
from lookalike.studies.time_limit import TimeLimitReachedError, cpu_time_limit

TRACED = {"test": "traced_map", "train": "traced_train_map"} | {
    name: name for name in ("loss_rate", "objective", "symmetry_index")
}
"""What is traced to its metric; a learner without an objective or a W has no rows of it."""


def make(fold: Fold, spec: Mapping[str, Any], folder: Path, names: Mapping[str, Any]) -> str:
    """Trace a fold, write ``curve.parquet``, and return a line about it; `names` as of a run."""
    curve = trace_fold(fold, spec)
    write_table(curve.assign(representation=names["representation"], method=names["method"]), folder / "curve.parquet")
    return f"traced, {len(curve)} numbers"


def trace_fold(fold: Fold, spec: Mapping[str, Any]) -> pd.DataFrame:
    """Numbers along training, at the fixed parameters of the figures; no rows where a trace reaches its time limit."""
    X_train, X_test = fold.rows("train", "test")
    order, ranked = fold.ranking_order, fold.images["ranked training"]
    scored = {"train": (X_train[order], ranked.labels), "test": (X_test, fold.images["test"].labels)}

    def score(model: Any, step: int) -> dict[str, float]:
        stopped = as_stopped(model)
        index = symmetry_index(stopped)
        scores = {
            which: rank_leave_one_out(stopped, X, labels, n_neighbours=0).mean_average_precision()
            for which, (X, labels) in scored.items()
        }
        return scores | {"symmetry_index": np.nan if index is None else index}

    warm_up(spec["learner"])
    # the learner sees the stream of its fold's final fit
    trace, learner = spec["trace"], make_learner(spec, fold.seed("fit"))
    # past the stop means, for a learner that stops by itself, without its tolerance
    fixed = {"aggressiveness": float(trace["aggressiveness"]), "n_steps": trace["steps"], "max_iter": trace["steps"],
             "tol": 0.0}  # fmt: skip
    learner.set_params(**{name: value for name, value in fixed.items() if name in learner.get_params()})
    steps = log_spaced_steps(trace["steps"], trace["points"], trace["first"])
    try:
        with cpu_time_limit(spec.get("time_limit"), "the trace"):
            traced = learner.fit(X_train, fold.images["train"].labels, trace=score, trace_steps=steps).curve_
    except TimeLimitReachedError:
        return metrics_frame([])
    numbers = pd.DataFrame({metric: traced[name] for name, metric in TRACED.items() if name in traced})
    table = numbers.assign(x=traced["step"]).melt("x", var_name="metric").dropna(subset="value")
    return metrics_frame(table.assign(subset=fold.subset, fold=fold.number))
