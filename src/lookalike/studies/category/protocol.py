"""The category study's main job: one fold of one method on one subset (JMLR section 5.3.2), and the files of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.files import write_json, write_table
from lookalike.core.instructions import processor_name
from lookalike.core.settings.methods import Fit
from lookalike.ranking.rankings import Rankings, rank_leave_one_out
from lookalike.studies.category.folds import Fold, learned_symmetry, symmetry_index
from lookalike.studies.fits import Clock, make_learner, plain_number, warm_up, write_model
from lookalike.studies.metrics import metrics_frame
from lookalike.studies.selection import LIMITS, NOTHING, Labelled, choose
from lookalike.studies.time_limit import TimeLimitReachedError, cpu_time_limit

NO_RANKINGS = Rankings(np.zeros(1, np.int64), np.empty(0, np.int32), 0, np.empty(0, np.int32))
N_NEIGHBOURS = 50
"""How many nearest neighbours of each test image are kept."""


@dataclass
class FoldResult:
    """Results of one fold of one method."""

    model: Any = None
    """The fitted learner; None where it did not end within its time limit."""
    fit: dict[str, Any] = field(default_factory=dict)
    """How it was made: parameters, steps, updates, sparsity, sizes, seeds, and (only here) seconds of the clock and of
    the processor, the processor's name, and why there is no model, if there is none."""
    selection: pd.DataFrame = field(default_factory=lambda: NOTHING)
    """Validation mAP of every candidate at every traced step."""
    rankings: Rankings | None = None
    """Ranks of the test images, which query each other; None without a model."""
    train_map: float = float("nan")
    """Mean average precision of the training images, which query each other, under the final model."""


def make(fold: Fold, spec: Fit, folder: Path, names: Mapping[str, str | int]) -> str:
    """Run a fold, write its files, and return a line about it; `names` as of `write_fold`."""
    result = run_fold(fold, spec)
    write_fold(result, folder, names)
    done = f"mAP {result.rankings.mean_average_precision():.4f}" if result.rankings else result.fit["not_converged"]
    return f"{done}, {result.fit['seconds']}"


def run_fold(fold: Fold, spec: Fit) -> FoldResult:
    """Choose hyper-parameters, learn from all training images, rank the test images: one fold of one method."""
    train, test = fold.images["train"], fold.images["test"]
    warm_up(spec.learner)
    clock, result = Clock(), FoldResult()
    chosen: dict[str, Any] = {}
    not_converged = ""
    # document frequencies are of the fold's own training images: of 80% of them while choosing, of all in the final fit
    with clock("features"):
        X_train, X_test = fold.rows("train", "test")
    try:
        # one limit for all of it: without a candidate that is slow, the speed of the machine would choose
        with cpu_time_limit(spec.time_limit, "choosing and fitting"):
            with clock("selection"):
                result.selection, chosen = select(fold, spec)
            with clock("fit"):
                result.model = make_learner(spec, fold.seed("fit"), chosen).fit(X_train, train.labels)
    except TimeLimitReachedError as error:
        result.model = None
        not_converged = f"{error}, in the {'final fit' if 'fit' in clock.seconds else 'selection'}"
    model = result.model
    if model is not None:
        with clock("rank"):
            result.rankings = rank_leave_one_out(
                model, X_test, test.labels, query_ids=test.rows, n_neighbours=N_NEIGHBOURS
            )
            (_, X_seen), ranked = fold.rows("train", "ranked training"), fold.images["ranked training"]
            seen = rank_leave_one_out(model, X_seen, ranked.labels, n_neighbours=0)
            result.train_map = seen.mean_average_precision()
    recorded = ("aggressiveness", "n_updates_", "objective_")
    objective = getattr(model, "curve_", {}).get("objective")  # of a learner of a batch
    result.fit = {
        "n_train": int(X_train.shape[0]),
        "n_test": int(X_test.shape[0]),
        "n_words": int(X_train.shape[1]),
        "n_classes": len(np.unique(train.labels)),
        "nonzeros_per_image": {"train": X_train.nnz / X_train.shape[0], "test": X_test.nnz / X_test.shape[0]},
        "learner": spec.learner,
        "parameters": {**spec.parameters, **chosen},
        "n_steps": plain_number(getattr(model, "n_steps_", stop_of(chosen))),
        **{name.removesuffix("_"): plain_number(getattr(model, name, None)) for name in recorded},
        # a stop that was chosen is no limit of ours
        "converged": None if "max_iter" in chosen else plain_number(getattr(model, "converged_", None)),
        "objective_share": None if objective is None else float(objective[-1] / objective[0]),
        "symmetry_index": symmetry_index(model),
        "learned_symmetry": learned_symmetry(model),
        "not_converged": not_converged,
        "selected": {name: value for name, value in chosen.items() if name in spec.select},
        **_selection_record(result.selection, chosen, spec),
        "seeds": {purpose: fold.seed(purpose) for purpose in ("selection", "fit")},
        "seconds": clock.seconds,
        "cpu_seconds": clock.cpu_seconds,
        "processor": processor_name(),
    }
    return result


def select(fold: Fold, spec: Fit) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Try every candidate on the fold's own cut; return what they scored and the parameters chosen."""

    def rows() -> tuple[Labelled, Labelled]:
        (X_learn, X_score), images = fold.rows("learn", "validation"), fold.images
        return (X_learn, images["learn"].labels), (X_score, images["validation"].labels)

    return choose(spec, fold.seed("selection"), rows)


def stop_of(chosen: Mapping[str, Any]) -> int | None:
    """Return the step to stop at among chosen parameters; None where none was chosen."""
    return next((chosen[limit] for limit in LIMITS if limit in chosen), None)


def _selection_record(selection: pd.DataFrame, chosen: dict[str, Any], spec: Fit) -> dict[str, object]:
    """Return whether the selection hit a limit."""
    last_step = None if selection.empty or not chosen else int(selection["step"].max())
    # of two values, both are ends
    grids = {name: values for name, values in spec.select.items() if len(values) > 2}
    ends = [chosen[name] in (min(values), max(values)) for name, values in grids.items() if last_step is not None]
    return {"at_grid_edge": any(ends), "at_last_step": last_step is not None and stop_of(chosen) == last_step}


def write_fold(result: FoldResult, folder: Path, names: Mapping[str, str | int]) -> None:
    """Write what a fold left behind into the folder of its run; `names` of the run go into every table."""
    of_tables = {name: value for name, value in names.items() if name != "dataset"}
    write_model(result.model, result.fit, folder / "model.lookalike", dict(names))
    # times are in this file alone, so that all others are the same bytes each time
    write_json({**result.fit, **names}, folder / "fit.json")
    write_table(result.selection.assign(**of_tables), folder / "selection.parquet")
    write_table(metrics_frame(metrics_of(result).assign(**of_tables)), folder / "metrics.parquet")
    (result.rankings or NO_RANKINGS).save(folder / "ranks.npz")


def metrics_of(result: FoldResult) -> pd.DataFrame:
    """``map``, ``train_map`` over the training images, and ``p@k`` with ``x`` = k; no rows without a result."""
    if result.rankings is None:
        return pd.DataFrame({"metric": pd.Series(dtype=str), "x": [], "value": []})
    curve = result.rankings.mean_precision_curve()
    means = [result.rankings.mean_average_precision(), result.train_map]
    names, places = ["map", "train_map", *["p@k"] * len(curve)], [np.nan, np.nan, *range(1, len(curve) + 1)]
    return pd.DataFrame({"metric": names, "x": places, "value": [*means, *curve]})
