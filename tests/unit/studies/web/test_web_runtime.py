"""The runtime study: what is counted, when a run ends, and data on which both learners have something to learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from lookalike.data.web_simulation import WebSimulation
from lookalike.learners import large_scale
from lookalike.learners.large_scale import TrainingRun
from lookalike.learners.look_ahead import BLOCK
from lookalike.studies.web import runtime
from lookalike.studies.web.numbers import RUNTIME_TYPES, runtime_table
from lookalike.studies.web.runtime import (
    VARIANCE,
    mnist_like,
    score_interval,
    time_lmnn,
    time_oasis,
    time_to_best,
)

SETTINGS = {
    "aggressiveness": 1.0,
    "steps_per_image": 100,
    "patience": 3,
    "tolerance": 0.001,
    "validation_images": 40,
    "validation_queries": 20,
}


@pytest.fixture
def simulation() -> WebSimulation:
    return WebSimulation(n_images=150, seed=3, words=300, nonzeros=15, topic_words=20, style_words=20, styles=5)


@pytest.fixture
def runs(monkeypatch) -> list[TrainingRun]:
    """Collect what `train` returns, the warm-up's first."""
    seen, train = [], large_scale.train

    def keep(*arguments, **options):
        seen.append(train(*arguments, **options))
        return seen[-1]

    monkeypatch.setattr(large_scale, "train", keep)
    return seen


@pytest.mark.parametrize("n_images", [1, 60, 599, 6_000, 20_001, 2_700_000])
def test_blocks_divide_the_interval(n_images):
    interval = score_interval(n_images)
    assert interval % min(BLOCK, interval) == 0
    assert 64 <= interval <= 1_048_576
    if 64 < n_images < 1_048_576:
        assert 1 / 1.5 < interval / n_images < 1.5


def test_a_run_is_counted_up_to_its_best_score(simulation, runs, tmp_path):
    row = time_oasis(simulation, SETTINGS, seed=1, folder=tmp_path)
    run = runs[-1]
    assert list(row) == list(RUNTIME_TYPES)
    assert (row["learner"], row["n_images"], row["repeat"], row["n_threads"]) == ("OASIS", 150, 0, 1)
    scores = {point["step"]: point for point in run.curve[1:]}
    assert scores[row["steps"]]["map"] == max(point["map"] for point in scores.values())
    assert row["seconds"] == scores[row["steps"]]["seconds"]
    assert 0 < row["seconds"] <= run.seconds
    assert 0 < row["cpu_seconds"] <= run.cpu_seconds
    # it learns, or its time would be that of nothing
    assert run.curve[0]["map"] < scores[row["steps"]]["map"]
    assert list(tmp_path.iterdir()) == []


def test_a_run_saturates_or_is_cut(simulation, tmp_path):
    row = time_oasis(simulation, SETTINGS, seed=1, folder=tmp_path)
    assert row["stopped"] == "saturated"
    assert row["steps"] < SETTINGS["steps_per_image"] * simulation.n_images
    row = time_oasis(simulation, SETTINGS | {"steps_per_image": 0.01}, seed=1, folder=tmp_path)
    assert (row["stopped"], row["steps"]) == ("limit", score_interval(simulation.n_images))


def test_the_seed_decides_the_steps(simulation, runs, tmp_path):
    """Curves, not stopping points, which may agree by chance."""
    curves = []
    for seed in (1, 1, 2):
        time_oasis(simulation, SETTINGS | {"steps_per_image": 4}, folder=tmp_path, seed=seed)
        curves.append([point["map"] for point in runs[-1].curve])
    assert curves[0] == curves[1]
    assert curves[0] != curves[2]


def test_nothing_is_left_behind_when_a_run_fails(simulation, tmp_path):
    with pytest.raises(ValueError, match="aggressiveness must be larger than 0"):
        time_oasis(simulation, SETTINGS | {"aggressiveness": 0}, seed=1, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def made_run(scores: list[float]) -> TrainingRun:
    curve = [{"step": 64 * i, "seconds": 2.0 * i, "map": score, "loss_rate": 1.0} for i, score in enumerate(scores)]
    seconds = 2.0 * (len(scores) - 1)
    run = {"curve": curve, "seconds": seconds, "cpu_seconds": 1.5 * seconds, "stopped": "saturated"}
    return TrainingRun(W=np.eye(1, dtype=np.float32), **run)


def test_processor_time_is_shared_out_by_the_clock():
    assert time_to_best(made_run([0.1, 0.3, 0.5, 0.4])) == (128, 4.0, 6.0)


def test_the_first_of_equal_scores_counts():
    assert time_to_best(made_run([0.1, 0.5, 0.5, 0.5])) == (64, 2.0, 3.0)


def test_a_start_that_nothing_beats_is_step_0():
    assert time_to_best(made_run([0.9, 0.2, 0.1])) == (0, 0.0, 0.0)
    assert time_to_best(made_run([0.9])) == (0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("stopped", "scores", "is_bound"),
    [("limit", [0.1, 0.2, 0.3], True), ("limit", [0.1, 0.3, 0.2], False), ("saturated", [0.1, 0.2, 0.3], False)],
)
def test_the_time_of_a_run_at_its_limit_is_a_lower_bound_while_it_still_grows(
    simulation, tmp_path, monkeypatch, stopped, scores, is_bound
):
    run = made_run(scores)
    run.stopped, run.n_steps = stopped, 64 * (len(scores) - 1)
    monkeypatch.setattr(runtime, "warm_up", lambda: None)
    monkeypatch.setattr(runtime, "_learn", lambda *arguments: run)
    assert time_oasis(simulation, SETTINGS, seed=1, folder=tmp_path)["lower_bound"] is is_bound


def test_synthetic_rows_have_impostors_and_their_classes():
    X, y = mnist_like(600, 4)
    assert X.shape == (600, 784)
    assert np.bincount(y).tolist() == [60] * 10
    assert X.var(axis=0).sum() == pytest.approx(sum(VARIANCE.values()), rel=0.15)
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    wrong = (y[distances.argmin(axis=1)] != y).mean()
    assert 0.02 < wrong < 0.4


def test_synthetic_sets_are_nested_and_seeded():
    X, y = mnist_like(90, 4, n_classes=3, n_features=20)
    smaller, labels = mnist_like(31, 4, n_classes=3, n_features=20)
    np.testing.assert_allclose(smaller, X[:31])
    np.testing.assert_array_equal(labels, y[:31])
    assert not np.allclose(mnist_like(31, 5, n_classes=3, n_features=20)[0], smaller)


def test_lmnn_is_timed_until_it_converges():
    row = time_lmnn(60, {"max_iter": 1000, "time_limit": 100}, seed=1)
    assert list(row) == list(RUNTIME_TYPES)
    assert (row["learner"], row["n_images"], row["stopped"]) == ("LMNN", 60, "converged")
    assert (row["lower_bound"], row["own_run"]) == (False, False)
    assert 0 < row["steps"] < 1000
    assert row["seconds"] > 0
    assert row["cpu_seconds"] > 0


def test_lmnn_ends_at_its_limits():
    row = time_lmnn(60, {"max_iter": 3, "time_limit": 100}, seed=1)
    assert (row["stopped"], row["steps"], row["lower_bound"]) == ("limit", 3, True)
    row = time_lmnn(400, {"max_iter": 100_000, "time_limit": 0.3}, seed=1)
    assert (row["stopped"], row["lower_bound"]) == ("time limit", True)
    assert 0.2 < row["cpu_seconds"] < 3
    assert row["steps"] < 1000


def test_the_table_has_the_columns_of_the_file(tmp_path):
    lmnn = dict(zip(RUNTIME_TYPES, ("LMNN", 60, 0, 9, 0.5, 0.4, "converged", 1, False, False), strict=True))
    rows = [lmnn, *({**lmnn, "learner": "OASIS", "n_images": n, "repeat": r} for n in (600, 60) for r in (1, 0))]
    table = runtime_table(rows)
    assert list(table["learner"]) == ["LMNN", *["OASIS"] * 4]
    assert list(zip(table["n_images"][1:], table["repeat"][1:], strict=True)) == [(60, 0), (60, 1), (600, 0), (600, 1)]
    table.to_parquet(tmp_path / "runtime.parquet")
    again = pd.read_parquet(tmp_path / "runtime.parquet")
    assert {name: again[name].dtype for name in RUNTIME_TYPES if RUNTIME_TYPES[name] is not str} == {
        name: np.dtype(kind) for name, kind in RUNTIME_TYPES.items() if kind is not str
    }


def test_the_warm_up_takes_a_step(runs):
    runtime.warm_up()
    assert runs[-1].n_steps == 64
