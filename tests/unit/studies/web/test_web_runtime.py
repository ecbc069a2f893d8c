"""The runtime study: what is counted, when a run ends, and data on which both learners have something to learn."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lookalike.data.web_simulation import WebSimulation
from lookalike.studies.web import large_scale, runtime
from lookalike.studies.web.large_scale import TrainingRun
from lookalike.studies.web.results import SIZES
from lookalike.studies.web.runtime import VARIANCE, mnist_like, score_interval, time_lmnn, time_oasis
from lookalike.studies.web.settings import HeldOutLog, LmnnTimes, OasisTimes

TIMING, HELD_OUT = OasisTimes(steps_per_image=100, patience=3), HeldOutLog(images=40, queries=20)
SIMULATION = {
    "n_images": 150,
    "seed": 3,
    "words": 300,
    "nonzeros": 15,
    "topic_words": 20,
    "style_words": 20,
    "styles": 5,
}


@pytest.fixture
def runs(monkeypatch):
    """Collect what `train` returns."""
    seen, train = [], large_scale.train

    def keep(*arguments, **options):
        seen.append(train(*arguments, **options))
        return seen[-1]

    monkeypatch.setattr(large_scale, "train", keep)
    return seen


def timed(seed=1, **changes):
    timing = TIMING.model_copy(update=changes)
    return numbers_of(time_oasis(WebSimulation(**SIMULATION), timing, HELD_OUT, seed=seed))


def numbers_of(rows):
    """Return what a timed training is of, its seconds and whether it ended at a limit."""
    (took, limited) = rows
    assert (took["metric"], limited["metric"], took["setting"]) == ("train_time", "unfinished", SIZES)
    return took["method"], took["x"], took["value"], bool(limited["value"])


def test_a_run_is_counted_up_to_its_best_score_and_saturates_or_is_cut(runs):
    method, n_images, seconds, is_limited = timed()
    (run,) = runs
    # powers of two near the number of images, which blocks of steps divide
    assert [score_interval(n) for n in (1, 599, 6_000, 2_700_000)] == [64, 512, 8192, 1_048_576]
    assert (method, n_images, is_limited, run.stopped) == ("oasis", 150, False, "saturated")
    best = max(run.curve, key=lambda point: point["map"])
    assert run.curve[0]["map"] < best["map"], "it learns, or its time would be that of nothing"
    assert seconds == pytest.approx(best["seconds"] / run.seconds * run.cpu_seconds)
    assert timed(steps_per_image=0.01)[-1], "it ended at the limit of steps"
    # curves, not stopping points, which may agree by chance
    for seed in (1, 1, 2):
        timed(seed, steps_per_image=4)
    curves = [[point["map"] for point in run.curve] for run in runs[-3:]]
    assert curves[0] == curves[1] != curves[2]
    with pytest.raises(ValueError, match="greater than 0"):
        timed(aggressiveness=0)


def toy_run(scores, stopped):
    curve = [{"step": 64 * i, "seconds": 2.0 * i, "map": score, "loss_rate": 1.0} for i, score in enumerate(scores)]
    run = {"curve": curve, "seconds": 2.0 * (len(scores) - 1), "cpu_seconds": 3.0 * (len(scores) - 1)}
    return TrainingRun(W=np.eye(1, dtype=np.float32), **run, n_steps=64 * (len(scores) - 1), stopped=stopped)


@pytest.mark.parametrize(
    ("stopped", "scores", "steps"),
    [
        ("limit", [0.1, 0.5, 0.5, 0.4], 64),
        ("saturated", [0.9, 0.2, 0.1], 0),
        ("limit", [0.1, 0.2, 0.3], 128),
        ("saturated", [0.1, 0.2, 0.3], 128),
    ],
)
def test_the_first_of_the_best_scores_counts_and_processor_time_is_shared_out_by_the_clock(
    monkeypatch, stopped, scores, steps
):
    monkeypatch.setattr(runtime, "_learn", lambda *arguments: toy_run(scores, stopped))
    assert timed()[2:] == (steps / 32 * 1.5, stopped == "limit")


def test_synthetic_rows_have_impostors_and_are_nested_and_seeded():
    X, y = mnist_like(600, 4)
    assert (X.shape, np.bincount(y).tolist()) == ((600, 784), [60] * 10)
    assert X.var(axis=0).sum() == pytest.approx(sum(VARIANCE.values()), rel=0.15)
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    assert 0.02 < (y[distances.argmin(axis=1)] != y).mean() < 0.4
    smaller, labels = mnist_like(31, 4)
    np.testing.assert_allclose(smaller, X[:31])
    np.testing.assert_array_equal(labels, y[:31])
    assert not np.allclose(mnist_like(31, 5)[0], smaller)


def test_lmnn_is_timed_until_it_converges_or_ends_at_a_limit():
    method, n_images, seconds, is_limited = numbers_of(time_lmnn(60, LmnnTimes(time_limit=100), seed=1))
    assert (method, n_images, is_limited, seconds > 0) == ("lmnn", 60, False, True)
    assert numbers_of(time_lmnn(60, LmnnTimes(max_iter=3), seed=1))[-1], "it ended at the limit of iterations"
    *_, seconds, is_limited = numbers_of(time_lmnn(400, LmnnTimes(max_iter=100_000, time_limit=0.3), seed=1))
    assert (is_limited, 0.2 < seconds < 3) == (True, True)
