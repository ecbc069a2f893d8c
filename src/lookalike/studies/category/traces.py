"""Mean average precision along training, past the stop: what the papers' figures of learning curves are drawn from.

JMLR Figures 5 and 9 and draft Figure 3. The learner sees the stream of its fold's final fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.studies.category.protocol import symmetry_index
from lookalike.studies.fits import warm_up
from lookalike.studies.folds import images_of, learner_maker, ranking_order, tfidf_rows
from lookalike.studies.selection import as_stopped, log_spaced_steps
from lookalike.studies.time_limit import TimeLimitReachedError, cpu_time_limit

if TYPE_CHECKING:
    import pandas as pd

CURVE_COLUMNS = (
    "subset",
    "method",
    "fold",
    "aggressiveness",
    "step",
    "images",
    "map",
    "loss_rate",
    "objective",
    "symmetry_index",
)


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
        `CURVE_COLUMNS`: ``images`` is train or test; ``map`` (0..1) is that of the model which a fit that stops here
        would give; ``loss_rate`` is the share of steps since the last point that had a loss (NaN at step 0);
        ``objective`` and ``symmetry_index`` (draft equation 17) are NaN for learners without. A learner that stops by
        itself goes on to the last step. No rows where it does not get there within the method's ``time_limit``.

    Raises
    ------
    LookalikeError
        When the fold is not in the split table or the learner is unknown.
    """
    import pandas as pd

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
        return pd.DataFrame({column: pd.Series(dtype=np.float64) for column in CURVE_COLUMNS})
    curves = []
    for which in ("train", "test"):
        curve = pd.DataFrame({"step": traced["step"], "map": traced[which], "images": which})
        for column in ("loss_rate", "objective", "symmetry_index"):
            curve[column] = traced.get(column, np.nan)
        curves.append(curve)
    table = pd.concat(curves, ignore_index=True)
    table = table.assign(subset=subset, method=method, fold=int(fold), aggressiveness=aggressiveness)
    return table[list(CURVE_COLUMNS)].astype({"step": np.int64, "fold": np.int64})
