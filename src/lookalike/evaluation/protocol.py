"""The category study's jobs as pure functions: one fold of one method on one subset (JMLR section 5.3.2).

Workflow scripts read files, call `run_fold` or `trace_fold`, and write what comes back. Seeds are named here, so that
a fold's numbers depend on the root seed, subset, method and fold, and on nothing else that runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from lookalike.errors import LookalikeError
from lookalike.evaluation.ranking import Rankings, rank_leave_one_out
from lookalike.evaluation.selection import MEASURED, best_candidate, grid, log_spaced_steps, trace_candidates
from lookalike.files import write_json, write_table
from lookalike.learners.registry import learner_class
from lookalike.seeds import generator, integer_seed

if TYPE_CHECKING:
    import pandas as pd

CURVE_COLUMNS = ("subset", "method", "fold", "aggressiveness", "step", "images", "map", "loss_rate")


@dataclass(frozen=True)
class FoldResult:
    """What one fold of one method leaves behind."""

    model: Any
    """The fitted learner."""
    fit: dict[str, Any]
    """How it was made: parameters, steps, updates, sparsity, sizes, seeds and (only here) seconds."""
    selection: pd.DataFrame
    """Validation mAP of every candidate at every traced step; no rows where nothing is chosen."""
    rankings: Rankings
    """Ranks of the test images, which query each other."""


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
        scored along training and stopped at its best step).
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
    import pandas as pd

    images = _images_of(split, fold, seed, subset)
    make = _learner_maker(method_spec, seed, (subset, fold))
    seconds: dict[str, float] = {}
    chosen: dict[str, Any] = {}
    selection = pd.DataFrame({name: pd.Series(dtype=np.float64) for name in MEASURED})

    trace = method_spec.get("trace")
    candidates = grid(method_spec.get("select") or {})
    if trace or len(candidates) > 1:
        steps = log_spaced_steps(trace["steps"], trace["points"], trace.get("first", 100)) if trace else None
        with _timed(seconds, "selection"):
            learn, score = images["learn"], images["validation"]
            X_learn, X_score = _tfidf(counts, learn.rows, score.rows)
            selection = trace_candidates(
                make("selection"), candidates, X_learn, learn.labels, X_score, score.labels, steps
            )
            chosen, best_step = best_candidate(selection)
        if trace:
            chosen["n_steps"] = best_step
    elif candidates:
        chosen = dict(candidates[0])

    with _timed(seconds, "features"):
        train, test = images["train"], images["test"]
        X_train, X_test = _tfidf(counts, train.rows, test.rows)
    with _timed(seconds, "fit"):
        model = make("fit")(chosen).fit(X_train, train.labels)
    with _timed(seconds, "rank"):
        rankings = rank_leave_one_out(model, X_test, test.labels, query_ids=test.rows, n_neighbours=n_neighbours)

    fit = {
        **_sizes(X_train, X_test, train.labels),
        "learner": method_spec["learner"],
        "method": method,
        "subset": subset,
        "fold": int(fold),
        "parameters": {**(method_spec.get("parameters") or {}), **chosen},
        "aggressiveness": _number(getattr(model, "aggressiveness", None)),
        "n_steps": _number(getattr(model, "n_steps_", chosen.get("n_steps"))),
        "n_updates": _number(getattr(model, "n_updates_", None)),
        "symmetry_index": _symmetry_index(model),
        **_selection_record(selection, chosen, method_spec),
        "seeds": {purpose: _seed(seed, subset, fold, purpose) for purpose in ("selection", "fit")},
        "seconds": seconds,
    }
    return FoldResult(model=model, fit=fit, selection=selection, rankings=rankings)


def write_fold(
    result: FoldResult,
    folder: str | os.PathLike[str],
    *,
    dataset: str,
    representation: str,
    subset: str,
    method: str,
    fold: int,
) -> None:
    """Write what a fold left behind.

    ``model.npz`` (and ``.json``), ``fit.json``, ``selection.parquet``, ``metrics.parquet``, ``ranks.npz``; times are
    in ``fit.json`` alone, so that all the others are the same bytes each time.

    Parameters
    ----------
    result : FoldResult
        From `run_fold`.
    folder : path-like
        ``results/{dataset}/runs/{representation}/{subset}/{method}/{fold}``.
    dataset, representation, subset, method, fold
        The names that go into every table, so that tables of many runs can be put together.
    """
    folder = Path(folder)
    names: dict[str, Any] = {
        "dataset": dataset,
        "representation": representation,
        "subset": subset,
        "method": method,
        "fold": int(fold),
    }
    result.model.save(folder / "model.npz", made_by=names)
    write_json({**result.fit, **names}, folder / "fit.json")
    for name, table in (("selection", result.selection), ("metrics", metrics_of(result.rankings))):
        named = table.copy()
        for position, (column, value) in enumerate(names.items()):
            named.insert(position, column, value)
        write_table(named, folder / f"{name}.parquet")
    result.rankings.save(folder / "ranks.npz")


def trace_fold(
    counts: sp.csr_array,
    split: pd.DataFrame,
    fold: int,
    method_spec: Mapping[str, Any],
    *,
    seed: int,
    subset: str,
    method: str,
    aggressiveness: float = 0.1,
    n_steps: int = 250_000,
    n_points: int = 60,
) -> pd.DataFrame:
    """Training and test mAP of OASIS along training, past the stop (JMLR Figure 5, draft Figure 3).

    The learner sees the same stream of triplets as the final fit of `run_fold`.

    Parameters
    ----------
    counts, split, fold, method_spec, seed, subset, method
        As in `run_fold`; ``select`` and ``trace`` of the method are not used.
    aggressiveness : float
        C; the figures state 0.1.
    n_steps : int
        Last step.
    n_points : int
        How many steps are scored, log-spaced, step 0 (W = I, the Euclidean start) besides.

    Returns
    -------
    DataFrame
        ``subset``, ``method``, ``fold``, ``aggressiveness``, ``step``, ``images`` (train | test), ``map`` (0..1) and
        ``loss_rate`` (share of steps since the last point that had a loss; NaN at step 0).

    Raises
    ------
    LookalikeError
        When the fold is not in the split table or the learner is unknown.
    """
    import pandas as pd

    images = _images_of(split, fold, seed, subset)
    train, test = images["train"], images["test"]
    X_train, X_test = _tfidf(counts, train.rows, test.rows)

    def score(model: Any, step: int) -> dict[str, float]:
        return {
            "train": rank_leave_one_out(model, X_train, train.labels, n_neighbours=0).mean_average_precision(),
            "test": rank_leave_one_out(model, X_test, test.labels, n_neighbours=0).mean_average_precision(),
        }

    make = _learner_maker(method_spec, seed, (subset, fold))("fit")
    learner = make({"aggressiveness": aggressiveness, "n_steps": n_steps})
    traced = learner.fit(X_train, train.labels, trace=score, trace_steps=log_spaced_steps(n_steps, n_points)).curve_
    curves = []
    for which in ("train", "test"):
        curve = pd.DataFrame({key: traced[key] for key in ("step", which, "loss_rate")}).rename(columns={which: "map"})
        curves.append(curve.assign(images=which))
    table = pd.concat(curves, ignore_index=True)
    table = table.assign(subset=subset, method=method, fold=int(fold), aggressiveness=float(aggressiveness))
    return table[list(CURVE_COLUMNS)].astype({"step": np.int64, "fold": np.int64})


def metrics_of(rankings: Rankings) -> pd.DataFrame:
    """Mean average precision and mean precision at every k of one fold.

    Returns
    -------
    DataFrame
        ``metric`` ("map", "p@1", "p@2", ..., up to the size of the gallery) and ``value`` (float64, 0..1).
    """
    import pandas as pd

    curve = rankings.mean_precision_curve()
    names = ["map", *(f"p@{k}" for k in range(1, len(curve) + 1))]
    return pd.DataFrame({"metric": names, "value": [rankings.mean_average_precision(), *curve]})


@dataclass(frozen=True)
class _Images:
    rows: npt.NDArray[np.int32]
    labels: npt.NDArray[np.str_]


def _images_of(split: pd.DataFrame, fold: int, seed: int, subset: str) -> dict[str, _Images]:
    """Rows and labels of a fold's parts; train is learn and validation together.

    Training rows ascend. Rows that are ranked stand in a random order: manifests are sorted by class, equal
    similarities keep the order of the rows, and those of images without a common visterm are many and equal.
    """
    table = split[split["fold"] == fold].sort_values("image_id", kind="stable")
    if table.empty:
        known = sorted(set(split["fold"].tolist()))
        raise LookalikeError(f"fold {fold} is not in the split table, which has folds {known}: choose one of them")
    shuffled = table.iloc[generator(seed, "category", subset, "fold", int(fold), "order").permutation(len(table))]
    parts = {
        "train": table[table["role"] == "train"],
        "learn": table[(table["role"] == "train") & ~table["validation"].astype(bool)],
        "validation": shuffled[(shuffled["role"] == "train") & shuffled["validation"].astype(bool)],
        "test": shuffled[shuffled["role"] == "test"],
    }
    return {
        name: _Images(rows=part["image_id"].to_numpy(dtype=np.int32), labels=part["label"].to_numpy(dtype=np.str_))
        for name, part in parts.items()
    }


def _tfidf(counts: sp.csr_array, learn: npt.NDArray[np.int32], score: npt.NDArray[np.int32]) -> tuple[Any, Any]:
    """tf-idf rows of two sets of images, with document frequencies of the first."""
    from lookalike.features.visterms import TfidfVisterms

    weights = TfidfVisterms().fit(counts[learn])
    return weights.transform(counts[learn]), weights.transform(counts[score])


def _seed(root: int, subset: str, fold: int, purpose: str) -> int:
    """Not named by the method: variants of one learner see the same stream of triplets."""
    return integer_seed(root, "category", subset, "fold", int(fold), purpose)


def _learner_maker(
    spec: Mapping[str, Any], root: int, names: tuple[str, int]
) -> Callable[[str], Callable[[dict[str, Any]], Any]]:
    """Return ``maker(purpose)(parameters)``; all candidates of one purpose share one seed, never a hyper-parameter."""
    learner = learner_class(spec["learner"])

    def maker(purpose: str) -> Callable[[dict[str, Any]], Any]:
        def make(parameters: dict[str, Any]) -> Any:
            arguments = {**(spec.get("parameters") or {}), **parameters}
            unknown = sorted(set(arguments) - set(learner().get_params()))
            if unknown:
                raise LookalikeError(
                    f"{spec['learner']} has no parameter {unknown[0]!r}, which the configuration sets or selects; "
                    f"it has: {', '.join(sorted(learner().get_params()))}"
                )
            made = learner(**arguments)
            if "random_state" in made.get_params():
                made.set_params(random_state=_seed(root, *names, purpose))
            return made

        return make

    return maker


def _selection_record(selection: pd.DataFrame, chosen: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """What exhibits say about the selection: the stop at the traced aggressiveness, and whether a limit was hit."""
    trace = spec.get("trace")
    record: dict[str, Any] = {
        "stop_at_traced_aggressiveness": None,
        "traced_stop_at_last_step": False,
        "at_grid_edge": False,
        "at_last_step": False,
    }
    if selection.empty or not trace or "aggressiveness" not in selection:
        return record
    last_step = int(selection["step"].max())
    at_traced = selection[np.isclose(selection["aggressiveness"], trace.get("aggressiveness", 0.1))]
    if not at_traced.empty:
        record["stop_at_traced_aggressiveness"] = best_candidate(at_traced)[1]
        record["traced_stop_at_last_step"] = record["stop_at_traced_aggressiveness"] == last_step
    values = list((spec.get("select") or {}).get("aggressiveness", []))
    record["at_grid_edge"] = len(values) > 1 and chosen["aggressiveness"] in (min(values), max(values))
    record["at_last_step"] = chosen["n_steps"] == last_step
    return record


def _symmetry_index(model: Any) -> float | None:
    """||sym W||_F / ||W||_F of a bilinear model (draft equation 17); None for others."""
    if not hasattr(model, "W_"):
        return None
    symmetric = (model.W_ + model.W_.T) / 2
    return float(np.linalg.norm(symmetric) / np.linalg.norm(model.W_))


def _sizes(X_train: Any, X_test: Any, labels: npt.NDArray[np.str_]) -> dict[str, Any]:
    return {
        "n_train": int(X_train.shape[0]),
        "n_test": int(X_test.shape[0]),
        "n_words": int(X_train.shape[1]),
        "n_classes": len(np.unique(labels)),
        "nonzeros_per_image": {"train": X_train.nnz / X_train.shape[0], "test": X_test.nnz / X_test.shape[0]},
    }


def _number(value: Any) -> Any:
    """Plain Python number for JSON."""
    return value.item() if isinstance(value, np.generic) else value


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start
