"""The category study's main job as a pure function: one fold of one method on one subset (JMLR section 5.3.2).

The workflow's script reads files, calls `run_fold`, and writes what comes back with
`lookalike.studies.category.run_files`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from lookalike.core.machine import processor_name
from lookalike.ranking.rankings import Rankings, rank_leave_one_out
from lookalike.studies.fits import Clock, plain_number, warm_up
from lookalike.studies.folds import Images, fold_seed, images_of, learner_maker, ranking_order, tfidf_rows
from lookalike.studies.selection import MEASURED, best_candidate, grid, log_spaced_steps, trace_candidates
from lookalike.studies.time_limit import TimeLimitReachedError, cpu_time_limit


@dataclass(frozen=True)
class FoldResult:
    """What one fold of one method leaves behind."""

    model: Any
    """The fitted learner; None where it did not end within its time limit."""
    fit: dict[str, Any]
    """How it was made: parameters, steps, updates, sparsity, sizes, seeds, and (only here) seconds of the clock and of
    the processor, the processor's name, and why there is no model, if there is none."""
    selection: pd.DataFrame
    """Validation mAP of every candidate at every traced step; no rows where nothing is chosen."""
    rankings: Rankings | None
    """Ranks of the test images, which query each other; None without a model."""
    train_map: float = float("nan")
    """Mean average precision of the training images, which query each other, under the final model."""


def run_fold(
    counts: sp.csr_array,
    split: pd.DataFrame,
    fold: int,
    method_spec: Mapping[str, Any],
    *,
    seed: int,
    subset: str,
    method: str,
    n_neighbours: int = 50,
) -> FoldResult:
    """Choose hyper-parameters, learn from all training images, rank the test images: one fold of one method.

    tf-idf is computed from the fold's own training rows: 80% of them while choosing, all in the final fit.

    Parameters
    ----------
    counts : CSR of int, shape (n_images, n_words)
        Raw visterm counts; row = ``image_id``.
    split : DataFrame
        The subset's split table: ``fold``, ``image_id``, ``label``, ``role``, ``validation``.
    fold : int
        Which fold.
    method_spec : mapping
        ``learner`` (a name in `lookalike.learners.registry`), optional ``parameters`` (constructor arguments),
        ``select`` (lists to choose from) and ``trace`` (``steps``, ``points``, optional ``first``: the learner is
        scored along training and stopped at its best step, unless ``stop`` is false) and ``time_limit`` (seconds of
        processor time for a fit; one that takes longer has no result).
    seed : int
        Root seed.
    subset, method : str
        Ids, which name the fold's streams together with the root seed.
    n_neighbours : int
        How many nearest neighbours of each test image are kept.

    Returns
    -------
    FoldResult

    Raises
    ------
    LookalikeError
        When the fold is not in the split table or the learner is unknown.
    """
    images = images_of(split, fold, seed, subset)
    make = learner_maker(method_spec, seed, (subset, fold))
    warm_up(method_spec["learner"])
    clock = Clock()
    selection = pd.DataFrame({name: pd.Series(dtype=np.float64) for name in MEASURED})
    chosen: dict[str, Any] = {}
    model, rankings, train_map, not_converged = None, None, float("nan"), ""

    train, test = images["train"], images["test"]
    with clock("features"):
        X_train, X_test = tfidf_rows(counts, train.rows, test.rows)
    try:
        with clock("selection"):
            selection, chosen = _select(counts, images, make, method_spec, selection)
        with clock("fit"), cpu_time_limit(method_spec.get("time_limit"), "the final fit"):
            model = make("fit")(chosen).fit(X_train, train.labels)
    except TimeLimitReachedError as error:
        model, not_converged = None, str(error)
    if model is not None:
        with clock("rank"):
            rankings = rank_leave_one_out(model, X_test, test.labels, query_ids=test.rows, n_neighbours=n_neighbours)
            order = ranking_order(images)
            seen = rank_leave_one_out(model, X_train[order], train.labels[order], n_neighbours=0)
            train_map = seen.mean_average_precision()

    fit = {
        **_sizes(X_train, X_test, train.labels),
        "learner": method_spec["learner"],
        "method": method,
        "subset": subset,
        "fold": int(fold),
        "parameters": {**(method_spec.get("parameters") or {}), **chosen},
        "aggressiveness": plain_number(getattr(model, "aggressiveness", None)),
        "n_steps": plain_number(getattr(model, "n_steps_", chosen.get("n_steps"))),
        "n_updates": plain_number(getattr(model, "n_updates_", None)),
        "objective": plain_number(getattr(model, "objective_", None)),
        "converged": plain_number(getattr(model, "converged_", None)),
        "symmetry_index": symmetry_index(model),
        "not_converged": not_converged,
        "selected": {name: value for name, value in chosen.items() if name in (method_spec.get("select") or {})},
        **_selection_record(selection, chosen, method_spec),
        "seeds": {purpose: fold_seed(seed, subset, fold, purpose) for purpose in ("selection", "fit")},
        "seconds": clock.seconds,
        "cpu_seconds": clock.cpu_seconds,
        "processor": processor_name(),
    }
    return FoldResult(model=model, fit=fit, selection=selection, rankings=rankings, train_map=train_map)


def symmetry_index(model: Any) -> float | None:
    """||sym W||_F / ||W||_F of a bilinear model (draft equation 17); None for others."""
    if not hasattr(model, "W_"):
        return None
    symmetric = (model.W_ + model.W_.T) / 2
    return float(np.linalg.norm(symmetric) / np.linalg.norm(model.W_))


def _select(
    counts: sp.csr_array,
    images: Mapping[str, Images],
    make: Any,
    spec: Mapping[str, Any],
    nothing: pd.DataFrame,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Try every candidate on the fold's own cut; return what they scored and the parameters chosen.

    Raises
    ------
    TimeLimitReachedError
        When a candidate does not end within the time limit.
    """
    trace = spec.get("trace") or {}
    stops = bool(trace) and trace.get("stop", True)
    candidates = grid(spec.get("select") or {})
    if not stops and len(candidates) <= 1:
        return nothing, dict(candidates[0])
    steps = log_spaced_steps(trace["steps"], trace["points"], trace.get("first", 100)) if stops else None
    learn, score = images["learn"], images["validation"]
    X_learn, X_score = tfidf_rows(counts, learn.rows, score.rows)
    selection = trace_candidates(
        make("selection"),
        candidates,
        X_learn,
        learn.labels,
        X_score,
        score.labels,
        steps,
        time_limit=spec.get("time_limit"),
    )
    chosen, best_step = best_candidate(selection)
    return selection, chosen | ({"n_steps": best_step} if stops else {})


def _selection_record(selection: pd.DataFrame, chosen: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """What exhibits say about the selection: the stop at the traced aggressiveness, and whether a limit was hit."""
    trace = spec.get("trace")
    record: dict[str, Any] = {
        "stop_at_traced_aggressiveness": None,
        "traced_stop_at_last_step": False,
        "at_grid_edge": False,
        "at_last_step": False,
    }
    if selection.empty or not chosen:
        return record
    last_step = int(selection["step"].max())
    if trace and "aggressiveness" in selection:
        at_traced = selection[np.isclose(selection["aggressiveness"], trace.get("aggressiveness", 0.1))]
        if not at_traced.empty:
            record["stop_at_traced_aggressiveness"] = best_candidate(at_traced)[1]
            record["traced_stop_at_last_step"] = record["stop_at_traced_aggressiveness"] == last_step
    # of two values, both are ends
    grids = {name: values for name, values in (spec.get("select") or {}).items() if len(values) > 2}
    record["at_grid_edge"] = any(chosen[name] in (min(values), max(values)) for name, values in grids.items())
    record["at_last_step"] = chosen.get("n_steps") == last_step
    return record


def _sizes(X_train: Any, X_test: Any, labels: npt.NDArray[np.str_]) -> dict[str, Any]:
    return {
        "n_train": int(X_train.shape[0]),
        "n_test": int(X_test.shape[0]),
        "n_words": int(X_train.shape[1]),
        "n_classes": len(np.unique(labels)),
        "nonzeros_per_image": {"train": X_train.nnz / X_train.shape[0], "test": X_test.nnz / X_test.shape[0]},
    }
