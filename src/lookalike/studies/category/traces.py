"""Mean average precision along training, past the stop: what the papers' figures of learning curves are drawn from.

JMLR Figures 5 and 9 and draft Figure 3. The learner sees the stream of its fold's final fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lookalike.core.files import write_table
from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.studies.category.protocol import symmetry_index
from lookalike.studies.fits import warm_up
from lookalike.studies.folds import images_of, learner_maker, ranking_order, tfidf_rows
from lookalike.studies.metrics import metrics_frame
from lookalike.studies.selection import as_stopped, log_spaced_steps
from lookalike.studies.time_limit import TimeLimitReachedError, cpu_time_limit

TRACED = ("loss_rate", "objective", "symmetry_index")
"""What is traced besides mAP; a learner without one has no rows of it."""


def make(
    counts: sp.csr_array, splits: pd.DataFrame, spec: Mapping[str, Any], folder: Path, *, seed: int, **names: Any
) -> str:
    """Trace a fold, write ``curve.parquet``, and return a line about it; `names` as of a run."""
    chosen = {name: names[name] for name in ("subset", "method")}
    curve = trace_fold(counts, splits, names["fold"], spec, seed=seed, **chosen)
    write_table(curve.assign(representation=names["representation"]), folder / "curve.parquet")
    return f"traced, {len(curve)} numbers"


def trace_fold(
    counts: sp.csr_array,
    split: pd.DataFrame,
    fold: int,
    method_spec: Mapping[str, Any],
    *,
    seed: int,
    subset: str,
    method: str,
) -> pd.DataFrame:
    """Training and test mAP along training, at the fixed parameters of the figures.

    Parameters
    ----------
    counts, split, fold, method_spec, seed, subset, method
        As in `lookalike.studies.category.protocol.run_fold`; ``trace`` of the method gives the last step, how many
        points are scored, log-spaced, besides step 0 (the Euclidean start), and the ``aggressiveness`` of learners that
        have one (the figures state 0.1). ``select`` is not used.

    Returns
    -------
    DataFrame
        A number a row, as of `lookalike.studies.metrics` (``x`` is the step): ``traced_map`` on the test images and
        ``traced_train_map`` (0..1) of the model which a fit that stops here would give; ``loss_rate``, the share of
        steps since the last point that had a loss; ``objective`` and ``symmetry_index`` (draft equation 17) of learners
        that have one. A learner that stops by itself goes on to the last step. No rows where it does not get there
        within the method's ``time_limit``.

    Raises
    ------
    LookalikeError
        When the fold is not in the split table or the learner is unknown.
    """
    images = images_of(split, fold, seed, subset)
    train, test = images["train"], images["test"]
    X_train, X_test = tfidf_rows(counts, train.rows, test.rows)

    order = ranking_order(images)
    rows = {"train": (X_train[order], train.labels[order]), "test": (X_test, test.labels)}

    def score(model: Any, step: int) -> dict[str, float]:
        stopped = as_stopped(model)
        index = symmetry_index(stopped)
        scores = {
            which: rank_leave_one_out(stopped, X, labels, n_neighbours=0).mean_average_precision()
            for which, (X, labels) in rows.items()
        }
        return scores | {"symmetry_index": np.nan if index is None else index}

    warm_up(method_spec["learner"])
    trace = method_spec["trace"]
    make = learner_maker(method_spec, seed, (subset, fold))("fit")
    named = make({}).get_params()
    aggressiveness = float(trace.get("aggressiveness", 0.1)) if "aggressiveness" in named else np.nan
    # past the stop means, for a learner that stops by itself, without its tolerance
    fixed = {"aggressiveness": aggressiveness, "n_steps": trace["steps"], "max_iter": trace["steps"], "tol": 0.0}
    learner = make({name: value for name, value in fixed.items() if name in named})
    steps = log_spaced_steps(trace["steps"], trace["points"], trace.get("first", 100))
    try:
        with cpu_time_limit(method_spec.get("time_limit"), "the trace"):
            traced = learner.fit(X_train, train.labels, trace=score, trace_steps=steps).curve_
    except TimeLimitReachedError:
        return metrics_frame([])
    numbers = {"traced_map": traced["test"], "traced_train_map": traced["train"]}
    numbers |= {name: traced[name] for name in TRACED if name in traced}
    found = [
        {"subset": subset, "method": method, "fold": int(fold), "metric": metric, "x": step, "value": value}
        for metric, values in numbers.items()
        for step, value in zip(traced["step"], values, strict=True)
        if not np.isnan(value)
    ]
    return metrics_frame(found)
