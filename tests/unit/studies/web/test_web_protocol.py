"""The jobs of the web study: what is held out, what is trained on, what is averaged, and the tables that come of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lookalike.data.query_log import QueryLog
from lookalike.data.web_simulation import WebSimulation
from lookalike.features.visterm_store import VistermStore
from lookalike.learners.compact_rows import CompactRows
from lookalike.learners.model_io import load, save
from lookalike.studies.web import protocol
from lookalike.studies.web.numbers import runtime_of_ranker

TRAINING = {
    "aggressiveness": 1.0,
    "steps": 1024,
    "interval": 512,
    "patience": 0,
    "tolerance": 0.0,
    "mode": "look-ahead",
    "block": 256,
    "relevance": "joint",
    "theta": 0.0,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small simulated set, prepared."""
    folder = tmp_path_factory.mktemp("web")
    simulation = WebSimulation(
        n_images=600,
        seed=3,
        words=800,
        nonzeros=30,
        topics=6,
        topic_words=20,
        topic_share=0.2,
        styles=10,
        style_words=20,
    )
    simulation.write_log(folder / "log.npz")
    simulation.write_images(folder / "images.parquet")
    simulation.write_shard(0, 1, folder / "shard-000")
    log, images, store = opened(folder)
    protocol.prepare_training(
        log,
        images,
        store,
        {"images": 100, "queries": 50},
        theta=0.0,
        seed=1,
        rows_folder=folder / "training",
        validation_path=folder / "validation.npz",
    )
    return folder


def opened(folder: Path) -> tuple[QueryLog, pd.DataFrame, VistermStore]:
    images = pd.read_parquet(folder / "images.parquet")
    return QueryLog.load(folder / "log.npz"), images, VistermStore([folder / "shard-000"], n_words=800)


def trained(folder: Path, ranker: int, **changes: object) -> tuple[protocol.TrainingRun, dict[str, object]]:
    log, _, _ = opened(folder)
    return protocol.train_ranker(
        log,
        CompactRows(folder / "training"),
        protocol.Validation.load(folder / "validation.npz"),
        TRAINING | changes,
        ranker,
        seed=1,
        n_threads=1,
        checkpoint=folder / f"checkpoint-{ranker}",
        checkpoint_seconds=1000.0,
        report=lambda line: None,
    )


def test_no_test_image_and_no_held_out_image_is_learned_from(data: Path) -> None:
    _, images, _ = opened(data)
    learned = set(CompactRows(data / "training").image_ids)
    training = set(protocol.images_of_part(images, "train"))
    held_out = training - learned
    assert learned < training
    assert 50 <= len(held_out) <= len(training) / 3
    assert protocol.Validation.load(data / "validation.npz").rows.shape[0] == len(held_out)


def test_rankers_differ_and_each_is_the_same_whatever_others_there_are(data: Path) -> None:
    (first, fit), (second, _) = trained(data, 0), trained(data, 1)
    again, _ = trained(data, 0, steps=1024)
    assert np.array_equal(first.W, again.W)
    assert min(first.best_step, second.best_step) > 0, "nothing was learned: make the set easier"
    assert not np.array_equal(first.W, second.W)
    assert fit["n_train"] + fit["n_validation"] == len(protocol.images_of_part(opened(data)[1], "train"))
    assert fit["steps_per_second"] > 0
    assert fit["peak_memory_bytes"] > 1e7


def test_a_sequential_ranker_learns_the_same_to_rounding(data: Path) -> None:
    ahead, fit = trained(data, 2)
    one_by_one, sequential = trained(data, 2, mode="sequential")
    np.testing.assert_allclose(ahead.W, one_by_one.W, atol=1e-5)
    assert (fit["mode"], sequential["mode"]) == ("look-ahead", "sequential")


def test_files_of_a_ranker_and_the_mean_of_several(data: Path, tmp_path: Path) -> None:
    fits = []
    for ranker in (0, 1):
        run, fit = trained(data, ranker)
        protocol.write_ranker(run, fit, tmp_path / str(ranker), {"dataset": "made"})
        fits.append(fit)
    files = [tmp_path / str(ranker) / "W.npy" for ranker in (0, 1)]
    mean = protocol.averaged(files)
    np.testing.assert_allclose(mean, (np.load(files[0]) + np.load(files[1])) / 2, atol=1e-7)
    assert np.array_equal(protocol.averaged(files[:1]), np.load(files[0]))
    save(protocol.as_model(mean, fits, TRAINING), tmp_path / "model.npz")
    model = load(tmp_path / "model.npz")
    rows = np.eye(800)
    np.testing.assert_allclose(model.similarity(rows[:5], rows), mean[:5], atol=1e-6)
    curve = pd.read_parquet(tmp_path / "0" / "curve.parquet")
    assert curve["step"].tolist() == [0, 512, 1024]
    row = runtime_of_ranker(fits[0], curve)
    assert row["steps"] == fits[0]["chosen_step"]
    assert 0 <= row["seconds"] <= fits[0]["seconds_fit"] + 1e-9


def test_test_images_query_the_others_and_never_find_themselves(data: Path) -> None:
    log, images, store = opened(data)
    ids, gallery = protocol.test_rows(CompactRows(data / "training"), store, images)
    assert set(ids) == set(images.loc[images["part"] == "test", "image_id"])
    lengths = np.sqrt(np.asarray(gallery.power(2).sum(axis=1)).ravel())
    np.testing.assert_allclose(lengths[lengths > 0], 1, atol=1e-6)
    precision = protocol.score_retrieval(
        {"euclidean": lambda: None},
        ids,
        gallery,
        log,
        images["topic"].to_numpy(),
        {"queries": 10_000, "neighbours": 10_000},
        seed=1,
        n_threads=1,
        report=lambda line: None,
    )
    shares = precision[precision["metric"] == "p@k"]
    assert shares["x"].max() == len(ids) - 1
    assert set(precision.loc[precision["metric"] == "n_queries", "value"]) == {len(ids)}
    # at the last k a query has found all others: what is relevant among them, whatever the ranking
    relevant = np.mean([log.are_relevant(ids[[i]], np.delete(ids, i)[None]).mean() for i in range(len(ids))])
    assert shares["value"].iloc[-1] == pytest.approx(relevant)
