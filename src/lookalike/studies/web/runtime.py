"""Seconds of learning by the number of images: OASIS on a simulated log, LMNN on a labelled set (JMLR 5.2.4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from lookalike import learners
from lookalike.core.seeds import generator, integer_seed, seed_sequence
from lookalike.data.web_simulation import WebSimulation
from lookalike.studies.fits import Clock, TimeLimitReachedError, cpu_time_limit
from lookalike.studies.web import large_scale
from lookalike.studies.web.query_triplets import QueryTripletSampler
from lookalike.studies.web.results import Row, timed_run
from lookalike.studies.web.settings import HeldOutLog, LmnnTimes, LogLearning, OasisTimes
from lookalike.studies.web.training_images import TrainingRows, Validation, hold_out

INTERVALS = 64, 1_048_576
"""Least and most steps between two scores, powers of two."""

Floats = npt.NDArray[np.float64]
N_CLASSES, N_FEATURES = 10, 784
SHARED, OWN = 24, 8
"""Dimensions in which the rows of all classes vary alike, and those of each class besides."""
VARIANCE = {"classes": 5.0, "shared": 34.0, "own": 8.0, "noise": 6.0}
"""Of a synthetic row, summed over its features: about what MNIST's pixels have together, scaled to 0..1."""


def score_interval(n_images: int) -> int:
    """Steps between two scores: the power of two nearest to the images, so that patience is a number of passes."""
    least, most = INTERVALS
    # blocks of steps, powers of two as well, divide it
    nearest = 2 ** round(np.log2(max(n_images, 1)))
    return int(min(max(nearest, least), most))


def time_oasis(
    simulation: WebSimulation,
    timing: OasisTimes,
    held_out: HeldOutLog,
    *,
    seed: int,
    report: Callable[[str], None] | None = None,
) -> list[Row]:
    """Time OASIS up to the step that early stopping chooses, on simulated images."""
    large_scale.warm_up()
    run = _learn(simulation, timing, held_out, seed, report)
    # scores are not counted, as in the papers; drawing triplets and weighing rows is, as part of the steps
    # the best step may be the start: no time says that nothing was learned
    seconds = next(row["seconds"] for row in run.curve if row["step"] == run.best_step)
    # processor time is known of the whole run only
    share = seconds / run.seconds if run.seconds else 0.0
    return timed_run("oasis", simulation.n_images, float(share * run.cpu_seconds), run.stopped)


def _learn(
    simulation: WebSimulation,
    timing: OasisTimes,
    held_out: HeldOutLog,
    seed: int,
    report: Callable[[str], None] | None,
) -> large_scale.TrainingRun:
    """Make the images, hold some out, and train on the others."""
    names = ("web", "runtime", simulation.n_images, 0)
    log = simulation.query_log()
    ids = np.arange(simulation.n_images)
    chosen = hold_out(log, ids, held_out.images, seed_sequence(seed, *names, "hold out"))
    rows = TrainingRows(simulation.visterms(0, simulation.n_images), np.setdiff1d(ids, chosen))
    sampler = QueryTripletSampler(log.of_images(rows.image_ids), integer_seed(seed, *names, "triplets"))
    validation = Validation.make(rows, log, chosen, held_out.queries, seed_sequence(seed, *names, "queries"))
    interval = score_interval(simulation.n_images)
    learning = LogLearning(
        aggressiveness=timing.aggressiveness,
        steps=max(interval, round(timing.steps_per_image * simulation.n_images)),
        interval=interval,
        patience=timing.patience,
        tolerance=timing.tolerance,
        block=min(large_scale.BLOCK, interval),
    )
    return large_scale.train(rows, sampler, learning, validation.score, report=report)


def mnist_like(n: int, seed: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Simulate labelled rows of MNIST's shape; the first rows of a larger set are those of a smaller one."""
    shape = generator(seed, "web", "labelled rows", "shape")
    means = _gaussian_map(shape, N_CLASSES, VARIANCE["classes"], falling=False)
    # what most keeps rows apart is shared: some nearest neighbours are of other classes until a metric leaves it out
    shared = _gaussian_map(shape, SHARED, VARIANCE["shared"])
    own = np.stack([_gaussian_map(shape, OWN, VARIANCE["own"]) for _ in range(N_CLASSES)])
    # rows one after another, so that sets are nested
    drawn = generator(seed, "web", "labelled rows", "rows").standard_normal((n, SHARED + OWN + N_FEATURES))
    y = np.arange(n, dtype=np.int64) % N_CLASSES
    X = means[y] * np.sqrt(N_CLASSES) + drawn[:, :SHARED] @ shared
    X += drawn[:, SHARED + OWN :] * np.sqrt(VARIANCE["noise"] / N_FEATURES)
    for label in range(N_CLASSES):
        X[y == label] += drawn[y == label, SHARED : SHARED + OWN] @ own[label]
    return X, y


def _gaussian_map(random: np.random.Generator, rank: int, variance: float, *, falling: bool = True) -> Floats:
    """Directions, shape (rank, N_FEATURES), whose squared lengths add up to `variance`."""
    directions = random.standard_normal((rank, N_FEATURES))
    shares = 1.0 / np.arange(1, rank + 1) if falling else np.ones(rank)
    lengths = np.sqrt(variance * shares / shares.sum())
    return np.asarray(directions * (lengths / np.linalg.norm(directions, axis=1))[:, None])


def time_lmnn(n: int, timing: LmnnTimes, *, seed: int) -> list[Row]:
    """Time LMNN with an active set on `n` rows of `mnist_like`; past its time limit, by how far it got."""
    learners.warm_up("LMNN")
    X, y = mnist_like(n, integer_seed(seed, "web", "runtime", "rows", 0))
    model = learners.LMNN(solver="active_set", tol=1e-7, max_iter=timing.max_iter)
    clock = Clock()
    # its objective over all triplets costs as much as an iteration or more, so it is traced now and then only
    powers = 2 ** np.arange(32)
    try:
        with threadpool_limits(1), clock("fit"), cpu_time_limit(timing.time_limit, f"LMNN on {n} rows"):
            model.fit(X, y, trace_steps=powers)
        stopped = "converged" if model.converged_ else "limit"
    except TimeLimitReachedError:
        stopped = "time limit"
    return timed_run("lmnn", n, clock.cpu_seconds["fit"], stopped)
