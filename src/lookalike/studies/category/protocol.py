"""The category study's main job: one fold of one method on one subset (JMLR section 5.3.2), and the files of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.files import write_table
from lookalike.core.settings.methods import Fit
from lookalike.ranking.rankings import Rankings, rank_leave_one_out
from lookalike.studies.category.folds import Fold, symmetry_index
from lookalike.studies.fits import (
    Clock,
    Run,
    TimeLimitReachedError,
    cpu_time_limit,
    make_learner,
    plain_number,
    record_of,
    warm_up,
)
from lookalike.studies.selection import LIMITS, NOTHING, Labelled, choose

NO_RANKINGS = Rankings(np.zeros(1, np.int64), np.empty(0, np.int32), 0, np.empty(0, np.int32))
N_NEIGHBOURS = 50
"""How many nearest neighbours of each test image are kept."""


def make(fold: Fold, spec: Fit, folder: Path, names: Mapping[str, Any]) -> str:
    """Run a fold, write its files, and return a line about it; `names` of the run go into every file."""
    run = run_fold(fold, spec)
    of_tables = {name: value for name, value in names.items() if name != "dataset"}
    write_table(run.selection.assign(**of_tables), folder / "selection.parquet")
    rows = pd.DataFrame({"metric": list(run.metrics), "value": list(run.metrics.values())})
    if run.metrics:
        curve = run.rankings.mean_precision_curve()
        at_k = pd.DataFrame({"metric": "p@k", "x": range(1, len(curve) + 1), "value": curve})
        rows = pd.concat([rows, at_k], ignore_index=True)
    return run.write(folder, fold.results(rows, method=names["method"]), names)


def run_fold(fold: Fold, spec: Fit) -> Run:
    """Choose hyper-parameters, learn from all training images, rank the test images: one fold of one method."""
    train, test = fold.images["train"], fold.images["test"]
    warm_up(spec)
    clock, selection, rankings = Clock(), NOTHING, NO_RANKINGS
    chosen: dict[str, Any] = {}
    metrics: dict[str, float] = {}
    not_converged = ""
    # document frequencies are of the fold's own training images: of 80% of them while choosing, of all in the final fit
    with clock("features"):
        X_train, X_test = fold.rows("train", "test")
    try:
        # one limit for all of it: without a candidate that is slow, the speed of the machine would choose
        with cpu_time_limit(spec.time_limit, "choosing and fitting"):
            with clock("selection"):
                selection, chosen = select(fold, spec)
            with clock("fit"):
                model = make_learner(spec, fold.seed("fit"), chosen).fit(X_train, train.labels)
    except TimeLimitReachedError as error:
        model = None
        not_converged = f"{error}, in the {'final fit' if 'fit' in clock.seconds else 'selection'}"
    if model is not None:
        with clock("rank"):
            rankings = rank_leave_one_out(model, X_test, test.labels, query_ids=test.rows, n_neighbours=N_NEIGHBOURS)
            # training images query each other, too
            (_, X_ranked), ranked = fold.rows("train", "ranked training"), fold.images["ranked training"]
            of_training = rank_leave_one_out(model, X_ranked, ranked.labels, n_neighbours=0)
        both = {"map": rankings, "train_map": of_training}
        metrics = {name: found.mean_average_precision() for name, found in both.items()}
    objective = getattr(model, "curve_", {}).get("objective")  # of a learner of a batch
    tried = bool(len(selection) and chosen)
    # of two values, both are ends
    grids = {name: values for name, values in spec.select.items() if tried and len(values) > 2}
    fit = {
        **record_of(spec, chosen, model, X_train, clock, not_converged),
        "selected": {name: value for name, value in chosen.items() if name in spec.select},
        "n_test": int(X_test.shape[0]),
        "n_classes": len(np.unique(train.labels)),
        "nonzeros_per_image": {"train": X_train.nnz / X_train.shape[0], "test": X_test.nnz / X_test.shape[0]},
        "aggressiveness": plain_number(getattr(model, "aggressiveness", None)),
        "n_steps": plain_number(getattr(model, "n_steps_", stop_of(chosen))),
        # a stop that was chosen is no limit of ours
        "converged": None if "max_iter" in chosen else plain_number(getattr(model, "converged_", None)),
        "objective_share": None if objective is None else float(objective[-1] / objective[0]),
        "symmetry_index": symmetry_index(model),
        "learned_symmetry": symmetry_index(model, learned=True),
        "at_grid_edge": any(chosen[name] in (min(values), max(values)) for name, values in grids.items()),
        "at_last_step": tried and stop_of(chosen) == int(selection["step"].max()),
        "seeds": {purpose: fold.seed(purpose) for purpose in ("selection", "fit")},
    }
    return Run(model, fit, metrics, rankings, selection)


def select(fold: Fold, spec: Fit) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Try every candidate on the fold's own cut; return what they scored and the parameters chosen."""

    def rows() -> tuple[Labelled, Labelled]:
        (X_learn, X_score), images = fold.rows("learn", "validation"), fold.images
        return (X_learn, images["learn"].labels), (X_score, images["validation"].labels)

    return choose(spec, fold.seed("selection"), rows)


def stop_of(chosen: Mapping[str, Any]) -> int | None:
    """Return the step to stop at among chosen parameters; None where none was chosen."""
    return next((chosen[limit] for limit in LIMITS if limit in chosen), None)
