"""The steps of the web study, each a job of the workflow: prepare, train a ranker, average, score what is retrieved.

Sits between the files of the workflow and the modules that do the work: `lookalike.learners.large_scale` trains,
`lookalike.ranking.exact_search` ranks.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_array, write_json, write_table
from lookalike.core.machine import processor_name
from lookalike.core.seeds import integer_seed
from lookalike.datasets.query_log import QueryLog
from lookalike.features.visterm_store import VistermStore
from lookalike.learners.averaged_oasis import average_matrices, ranker_seeds
from lookalike.learners.compact_rows import CompactRows
from lookalike.learners.large_scale import TrainingPlan, TrainingRun, train
from lookalike.learners.large_scale import warm_up as warm_up_training
from lookalike.learners.oasis import OASIS
from lookalike.learners.query_triplets import QueryTripletSampler
from lookalike.learners.query_triplets import warm_up as warm_up_triplets
from lookalike.ranking.exact_search import top_k
from lookalike.studies.web.scores import draw_query_images, precision_of_retrieval
from lookalike.studies.web.validation import Validation, hold_out

if TYPE_CHECKING:
    import pandas as pd

PLAN_KEYS = ("aggressiveness", "interval", "patience", "tolerance", "mode", "block")
CHECKPOINT = "checkpoint"
"""Folder of a ranker's checkpoint, beside its files."""


def images_of_part(images: pd.DataFrame, part: str) -> NDArray[np.int32]:
    """Return the image ids of ``"train"`` or ``"test"``, ascending."""
    ids: NDArray[np.int32] = images.loc[images["part"] == part, "image_id"].to_numpy(np.int32)
    return np.sort(ids)


def prepare_training(
    log: QueryLog,
    images: pd.DataFrame,
    store: VistermStore,
    settings: Mapping[str, Any],
    *,
    theta: float,
    seed: int,
    rows_folder: str | os.PathLike[str],
    validation_path: str | os.PathLike[str],
) -> tuple[CompactRows, Validation]:
    """Hold out images of the training part, and write the rows of those that are learned from, and of these.

    Parameters
    ----------
    log : QueryLog
        Of all images.
    images : DataFrame
        ``image_id`` and ``part``.
    store : VistermStore
        Of all images.
    settings : mapping
        ``images`` and ``queries`` of the validation.
    theta : float
        Cut of the relevance by which held-out images are scored.
    seed : int
        Root seed.
    """
    training = images_of_part(images, "train")
    held_out = hold_out(log, training, settings["images"], integer_seed(seed, "web", "held_out"))
    rows = CompactRows.build(store, np.setdiff1d(training, held_out), rows_folder)
    queries = integer_seed(seed, "web", "validation_queries")
    validation = Validation.make(rows, store, log, held_out, settings["queries"], queries, theta=theta)
    validation.save(validation_path)
    return rows, validation


def train_ranker(
    log: QueryLog,
    rows: CompactRows,
    validation: Validation,
    settings: Mapping[str, Any],
    ranker: int,
    *,
    seed: int,
    n_threads: int,
    checkpoint: str | os.PathLike[str],
    checkpoint_seconds: float,
    report: Callable[[str], None],
) -> tuple[TrainingRun, dict[str, Any]]:
    """Train one ranker on the images of `rows`; return what it learned, and what ``fit.json`` says of it.

    Parameters
    ----------
    log : QueryLog
        Of all images.
    settings : mapping
        ``web.<dataset>.training`` of the configuration.
    ranker : int
        Its number; each has a stream of triplets of its own, the same whatever others there are.
    seed : int
        Root seed.
    checkpoint, checkpoint_seconds, n_threads, report
        As for `lookalike.learners.large_scale.train`.
    """
    warm_up_training()
    warm_up_triplets()
    triplet_seed = ranker_seeds(integer_seed(seed, "web", "triplets"), ranker + 1)[ranker]
    cut = {key: settings[key] for key in ("theta", "relevance", "share") if key in settings}
    try:
        source = QueryTripletSampler(log.of_images(rows.image_ids), triplet_seed, **cut)
    except ValueError as error:
        raise LookalikeError(f"no triplets can be drawn from this log: {error}") from error
    report(f"{len(rows):,} images to learn from, {source.n_without_positive_:,} of them without a relevant other one")
    plan = TrainingPlan(
        n_steps=settings["steps"],
        seed=triplet_seed,
        scored=validation.fingerprint(),
        **{key: settings[key] for key in PLAN_KEYS},
    )
    run = train(
        rows,
        source,
        plan,
        validation.score,
        checkpoint=checkpoint,
        checkpoint_seconds=checkpoint_seconds,
        n_threads=n_threads,
        report=report,
    )
    fit = {
        "learner": "OASIS",
        "method": "oasis",
        "ranker": ranker,
        "mode": plan.mode,
        "n_threads": n_threads if plan.mode == "look-ahead" else 1,
        "n_steps": run.n_steps,
        "n_updates": run.n_updates,
        "chosen_step": run.best_step,
        "loss_rate": run.n_losses / max(run.n_steps, 1),
        "stopped": run.stopped,
        "resumed": run.resumed,
        "seconds_fit": run.seconds,
        "cpu_seconds_fit": run.cpu_seconds,
        "steps_per_second": run.n_steps / max(run.seconds, 1e-9),
        "peak_memory_bytes": peak_memory(),
        "n_train": len(rows),
        "n_validation": validation.n_images,
        "n_without_positive": source.n_without_positive_,
        "processor": processor_name(),
        "parameters": dict(settings),
    }
    if not run.best_step:
        report("no score beat that of the identity: W is the identity; try another aggressiveness, or more patience")
    return run, fit


def write_ranker(
    run: TrainingRun, fit: Mapping[str, Any], folder: str | os.PathLike[str], names: Mapping[str, Any]
) -> None:
    """Write ``W.npy`` (float32, the user's order of features), ``curve.parquet`` and ``fit.json``."""
    import pandas as pd

    folder = Path(folder)
    write_array(run.W, folder / "W.npy")
    curve = pd.DataFrame(run.curve).astype({"step": np.int64})
    curve.insert(0, "ranker", np.int32(fit["ranker"]))
    write_table(curve, folder / "curve.parquet")
    write_json({**fit, **names}, folder / "fit.json")


def averaged(matrices: Sequence[str | os.PathLike[str]]) -> NDArray[Any]:
    """Return the mean of the rankers' W, read one at a time (JMLR section 5.4)."""
    if len(matrices) == 1:
        matrix: NDArray[Any] = np.load(matrices[0], mmap_mode="r", allow_pickle=False)
        return matrix
    return average_matrices(np.load(file, mmap_mode="r", allow_pickle=False) for file in matrices)


def as_model(W: NDArray[Any], fits: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> OASIS:
    """Return the learner that holds what the rankers learned on average, to be saved and used."""
    model = OASIS(aggressiveness=settings["aggressiveness"], n_steps=settings["steps"])
    model.W_ = np.ascontiguousarray(W)
    model.metric_ = "inner_product"
    model.n_features_in_ = W.shape[0]
    model.n_steps_ = sum(int(fit["n_steps"]) for fit in fits)
    model.n_updates_ = sum(int(fit["n_updates"]) for fit in fits)
    return model


def test_rows(rows: CompactRows, store: VistermStore, images: pd.DataFrame) -> tuple[NDArray[np.int32], Any]:
    """Return the ids of the test images and their weighted rows, CSR in the user's order of features."""
    ids = images_of_part(images, "test")
    return ids, rows.weighted(store.rows(ids))


def score_retrieval(
    systems: Mapping[str, Callable[[], NDArray[Any] | None]],
    gallery_ids: NDArray[np.int32],
    gallery: Any,
    log: QueryLog,
    topics: NDArray[Any],
    settings: Mapping[str, Any],
    *,
    seed: int,
    n_threads: int,
    report: Callable[[str], None],
) -> pd.DataFrame:
    """Let seeded test images query all other test images, and count what is relevant among the first k (Figure 3A).

    Parameters
    ----------
    systems : mapping of str to callable
        Method to what gives its W, or None for the Euclidean baseline; called one after the other.
    gallery_ids : ndarray of shape (n,), int32
        Ids of the test images, ascending.
    gallery : CSR matrix of shape (n, d)
        Their weighted rows.
    log : QueryLog
        Of all images; relevant is what shares a query (theta = 0).
    topics : ndarray of shape (n_images,)
        Latent topic of every image.
    settings : mapping
        ``queries`` and ``neighbours``.
    seed : int
        Root seed.

    Returns
    -------
    DataFrame
        As `precision_of_retrieval`, the methods one below the other.
    """
    import pandas as pd

    query_ids = draw_query_images(gallery_ids, settings["queries"], integer_seed(seed, "web", "test_queries"))
    own = np.searchsorted(gallery_ids, query_ids)
    longest = min(settings["neighbours"], len(gallery_ids) - 1)
    tables = []
    for method, matrix in systems.items():
        found, _ = top_k(matrix(), gallery[own], gallery, longest, own=own, n_threads=n_threads)
        table = precision_of_retrieval(found, query_ids, gallery_ids, log, topics, range(1, longest + 1), method=method)
        best = table.iloc[0]
        report(f"{method}: P@1 {best['precision']:.4f} +- {best['standard_error']:.4f}")
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def metrics_of(precision: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return precision at k as the tidy table that all studies have: one row a method and measure."""
    import pandas as pd

    measures = {"precision": "p@", "topic_precision": "topic_p@"}
    tables = [
        pd.DataFrame(
            {
                "dataset": dataset,
                "representation": "visterms",
                "subset": "web",
                "method": precision["method"],
                "fold": np.int64(0),
                "metric": prefix + precision["k"].astype(str),
                "value": precision[column],
            }
        )
        for column, prefix in measures.items()
    ]
    return pd.concat(tables, ignore_index=True)


def runtime_of_ranker(fit: Mapping[str, Any], curve: pd.DataFrame) -> dict[str, Any]:
    """Return the row of the runtime study that the study's own training gives: time up to the chosen step."""
    chosen = curve.loc[curve["step"] == fit["chosen_step"]].iloc[0]
    share = float(chosen["seconds"]) / max(fit["seconds_fit"], 1e-9)
    return {
        "learner": "OASIS",
        # held-out images are part of what the run was given, as at the other sizes
        "n_images": int(fit["n_train"] + fit["n_validation"]),
        "repeat": int(fit["ranker"]),
        "steps": int(fit["chosen_step"]),
        "seconds": float(chosen["seconds"]),
        "cpu_seconds": share * fit["cpu_seconds_fit"],
        "stopped": fit["stopped"],
        "n_threads": int(fit["n_threads"]),
        # the best score was the last one that there was time for
        "lower_bound": fit["stopped"] == "limit" and fit["chosen_step"] == fit["n_steps"],
        "own_run": True,
    }


def peak_memory() -> int:
    """Return the most memory that this process has had, in bytes; pages of mapped files count while they are there."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) * (1 if platform.system() == "Darwin" else 1024)
