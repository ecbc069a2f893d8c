"""The steps of the web study: train a ranker, average, score; relevance is from the log (JMLR 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookalike.core.arrays import Array, Integers
from lookalike.core.files import PathLike, write_array, write_json, write_table
from lookalike.core.instructions import processor_name
from lookalike.core.seeds import integer_seed
from lookalike.core.settings.model import plain
from lookalike.data.query_log import QueryLog
from lookalike.exhibits.results import results_frame
from lookalike.learners.oasis import OASIS, average_matrices, ranker_seeds
from lookalike.ranking.exact_search import top_k
from lookalike.studies.web.large_scale import TrainingRun, train, warm_up
from lookalike.studies.web.query_triplets import QueryTripletSampler
from lookalike.studies.web.results import N_GALLERY, N_QUERIES, PRECISION, STANDARD_ERROR
from lookalike.studies.web.settings import LogLearning, LogTest
from lookalike.studies.web.training_images import TrainingRows, Validation, images_of_part

SAMPLER_SETTINGS = {"theta", "relevance", "share", "triplets_per_query"}
"""Settings that decide which triplets are drawn."""
CHECKPOINT = "checkpoint"
"""Folder of a ranker's checkpoint, beside its files."""


def train_ranker(
    log: QueryLog,
    rows: TrainingRows,
    validation: Validation,
    learning: LogLearning,
    ranker: str,
    *,
    seed: int,
    checkpoint: PathLike,
    checkpoint_seconds: float,
    report: Callable[[str], None],
) -> tuple[TrainingRun, dict[str, Any]]:
    """Train one ranker, on a stream of triplets of its own; return what it learned, and the content of ``fit.json``."""
    warm_up()
    number = int(ranker)
    triplet_seed = ranker_seeds(integer_seed(seed, "web", "triplets"), number + 1)[number]
    chosen = plain(learning, include=SAMPLER_SETTINGS)
    source = QueryTripletSampler(log.of_images(rows.image_ids), triplet_seed, **chosen)
    report(f"{len(rows):,} images to learn from, {source.n_without_positive_:,} of them without a relevant other one")
    run = train(
        rows,
        source,
        learning,
        validation.score,
        scored=validation.fingerprint(),
        checkpoint=checkpoint,
        checkpoint_seconds=checkpoint_seconds,
        report=report,
    )
    took = {name: value for name, value in vars(run).items() if name not in ("W", "curve")}
    fit = {
        "learner": "OASIS",
        "method": "oasis",
        "ranker": number,
        "n_threads": 1,
        **took,
        "steps_per_second": run.n_steps / max(run.seconds, 1e-9),
        "n_train": len(rows),
        "n_validation": int(validation.rows.shape[0]),
        "n_without_positive": source.n_without_positive_,
        "processor": processor_name(),
        "parameters": plain(learning),
    }
    if not run.best_step:
        report("no score beat that of the identity: W is the identity; try another aggressiveness, or more patience")
    return run, fit


def write_ranker(run: TrainingRun, fit: Mapping[str, Any], folder: PathLike, names: Mapping[str, Any]) -> None:
    """Write ``W.npy`` (float32, the user's order of features), ``curve.parquet`` and ``fit.json``."""
    folder = Path(folder)
    write_array(run.W, folder / "W.npy")
    curve = pd.DataFrame(run.curve).astype({"step": np.int64})
    curve.insert(0, "ranker", np.int32(fit["ranker"]))
    write_table(curve, folder / "curve.parquet")
    write_json({**fit, **names}, folder / "fit.json")


def averaged(matrices: Sequence[PathLike]) -> Array:
    """Return the mean of the rankers' W, read one at a time (JMLR section 5.4)."""
    return average_matrices(np.load(file, mmap_mode="r", allow_pickle=False) for file in matrices)


def as_model(W: Array, fits: Sequence[Mapping[str, Any]], learning: LogLearning) -> OASIS:
    """Return the learner that holds what the rankers learned on average, to be saved and used."""
    model = OASIS(aggressiveness=learning.aggressiveness, n_steps=learning.steps)
    model.W_ = np.ascontiguousarray(W)
    model.metric_ = "inner_product"
    model.n_features_in_ = W.shape[0]
    model.n_steps_ = sum(int(fit["n_steps"]) for fit in fits)
    model.n_updates_ = sum(int(fit["n_updates"]) for fit in fits)
    return model


def systems_of(matrices: Sequence[PathLike]) -> dict[str, Callable[[], Array | None]]:
    """Return what retrieves: the first ranker, the mean of several, and Euclidean; each loads its W when called."""
    average = {"oasis-averaged": lambda: averaged(matrices)} if len(matrices) > 1 else {}
    return {"oasis": lambda: np.load(matrices[0]), **average, "euclidean": lambda: None}


def score_retrieval(
    systems: Mapping[str, Callable[[], Array | None]],
    rows: TrainingRows,
    images: pd.DataFrame,
    log: QueryLog,
    test: LogTest,
    *,
    seed: int,
    n_threads: int,
    report: Callable[[str], None],
) -> pd.DataFrame:
    """Let seeded test images query all others, by each method's W (None: Euclidean), and score them (Figure 3A)."""
    gallery_ids = images_of_part(images, "test")
    gallery = rows.weighted(gallery_ids)
    query_ids = sample_query_images(gallery_ids, test.queries, integer_seed(seed, "web", "test_queries"))
    own = np.searchsorted(gallery_ids, query_ids)
    longest = min(test.neighbours, len(gallery_ids) - 1)
    tables = []
    for method, matrix in systems.items():
        found, _ = top_k(matrix(), gallery[own], gallery, longest, own=own, n_threads=n_threads)
        table = precision_of_retrieval(found, query_ids, gallery_ids, log, method=method)
        at_one = table[table["x"] == 1].set_index("metric")["value"]
        report(f"{method}: P@1 {at_one[PRECISION]:.4f} +- {at_one[STANDARD_ERROR]:.4f}")
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def sample_query_images(
    image_ids: ArrayLike, n: int, seed: int | np.random.SeedSequence | np.random.Generator
) -> NDArray[np.int32]:
    """Draw `n` images that query the others without replacement, or all where there are no more: ascending ids."""
    ids = np.unique(np.asarray(image_ids, dtype=np.int32))
    chosen = np.random.default_rng(seed).choice(len(ids), size=min(n, len(ids)), replace=False, shuffle=False)
    return np.asarray(np.sort(ids[chosen]))


def precision_of_retrieval(
    found: Integers,
    query_ids: ArrayLike,
    gallery_ids: ArrayLike,
    log: QueryLog,
    *,
    method: str,
) -> pd.DataFrame:
    """Return precision at k by the log and its standard error as rows of results (JMLR 5.2, theta 0)."""
    # every query image counts, also one without a relevant image in the gallery
    queries, gallery = np.asarray(query_ids), np.asarray(gallery_ids)
    hits = np.asarray(log.are_relevant(queries, gallery[found], theta=0.0))
    ks = np.arange(1, hits.shape[1] + 1)
    # taken by columns, which lie together then: sums over the queries round by that
    shares = np.cumsum(hits, axis=1)[:, ks - 1] / ks
    errors = shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
    numbers = {PRECISION: shares.mean(axis=0), STANDARD_ERROR: errors}
    curves = [pd.DataFrame({"metric": metric, "x": ks, "value": values}) for metric, values in numbers.items()]
    sizes = pd.DataFrame({"metric": [N_QUERIES, N_GALLERY], "value": [len(queries), len(gallery)]})
    table = pd.concat([*(curve.assign(unit="fraction") for curve in curves), sizes], ignore_index=True)
    return results_frame(table.assign(study="web", method=method))
