"""MCML, LMNN, MMC, RCA and LEGO beside metric-learn, pyDML and PyLMNN: seconds to an equal objective or matrix.

The peers live in an interpreter of their own (Python 3.11 and a C++ compiler), as they need an old NumPy:

    python3.11 -m venv build/peers
    build/peers/bin/pip install --require-hashes -r benchmarks/peers-requirements.txt
    build/peers/bin/pip install --require-hashes --no-build-isolation --no-deps -r benchmarks/peers-built.txt
    python benchmarks/competitors.py --peers build/peers/bin/python --output competitors.json

Without --peers only ours is measured. The rows are synthetic and seeded: 10 balanced classes, rows of L2 length 1,
dense or with about 70 non-zeros (CSR for ours, the same as a dense array for the peers, which take nothing else).

How it is measured. Every fit has a fresh process with one thread. Its clock is the processor time since `fit` was
called, without what the benchmark itself computes meanwhile. Stopping rules differ between packages, so none of them
is used: all start from M = I and run until --iterations or --limit seconds, their own tolerances set to 0, and each
metric on the way is judged by the one objective that this file computes from its M. For MCML that is the sum over rows
of KL(ideal || softmax of -d); for LMNN omega * pull + (1 - omega) * hinges at margin 1, over 3 fixed Euclidean target
neighbours and omega = 0.5 (metric-learn's `regularization` is omega, pyDML's `mu` and PyLMNN's `weight_push_loss` are
1 - omega). For MMC it is minus the mean distance of pairs of different classes, for the M that is scaled to its
constraint; metric-learn gets all pairs, and, as it makes a d x d matrix of each, once more the 2,000 that it draws by
default. "Equal" is the lower quality of the two best objectives, ours and the peer's, so that both reach it; the ratio
is the peer's seconds to there by ours. Ours pays for the full d x d matrix at every traced iteration; a peer's metric
counts from the moment when it is first evaluated.

Step lengths. metric-learn's default learn_rate of 1e-7 hardly moves: 1e-7, 1e-6 ... 1e-2 are tried on 400 of the rows
for 5 iterations, and the best is taken, divided by the square of n / 400, as gradients are sums over pairs. pyDML's
MCML gets the best eta0 of 1e-6 ... 1 after 5 of its steps likewise; its LMNN keeps its default. No search is on the
clock.

RCA has one solution: the matrices must agree. With few rows the papers reduce dimensions by a PCA first, which
metric-learn's RCA gets from scikit-learn's. No package has LEGO: ours stands beside the printed recursion (Jain et al.
2008) in dense NumPy, on the same pairs. Both are fitted three times in turns, and the least seconds count. A limit is
the time that this core needs for the products that the algorithm must do, at the speed of its matrix product.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import limits
import numpy as np
import scipy.sparse as sp

CLASSES = 10
NON_ZEROS = 70
NEIGHBOURS = 3
OMEGA = 0.5
ETA = 0.02
LEARN_RATES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
MCML_ETAS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
SHORTEST = 0.3
"""Seconds for which such a fit is repeated, at least."""
TRACE_SPACING = 1.03
"""A metric is judged when the clock has grown by this factor since the last one was."""

Objective = Callable[[np.ndarray], float]
Report = Callable[[dict[str, Any]], None]
Fit = Callable[[np.ndarray, np.ndarray, "dict[str, Any]", "Clock"], "tuple[np.ndarray, int]"]


# The rows -------------------------------------------------------------------------------------------------------------


def dense_rows(n: int, d: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return Gaussian rows about one centre a class; the first half of the features carries no class."""
    y = np.arange(n) % CLASSES
    centres = random.normal(size=(CLASSES, d))
    centres[:, : d // 2] = 0
    X = 0.35 * centres[y] + random.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def sparse_rows(n: int, d: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of about 70 Zipf words; half of the words are drawn with a class's own weights."""
    y = np.arange(n) % CLASSES
    weights = np.arange(1, d + 1) ** -0.8
    own = np.array([random.permutation(weights) for _ in range(CLASSES)])
    lengths = random.poisson(NON_ZEROS, n).clip(1, d)
    # the largest log(u) / weight are a sample without replacement in proportion to the weights
    words = np.argsort(-np.log(random.random((n, d))) / (weights + own[y]), axis=1)
    X = np.zeros((n, d))
    for row, length, chosen in zip(X, lengths, words, strict=True):
        row[chosen[:length]] = random.geometric(0.5, length)
    X *= np.log((n + 1) / (1 + (X > 0).sum(axis=0)))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


ROWS = {"dense": dense_rows, "sparse": sparse_rows}


# The one judge of all learners ----------------------------------------------------------------------------------------


def squared_distances(X: np.ndarray, M: np.ndarray) -> np.ndarray:
    products = X @ M @ X.T
    lengths = np.diag(products)
    return np.maximum(lengths[:, None] + lengths[None, :] - products - products.T, 0)


def mcml_objective(X: np.ndarray, y: np.ndarray) -> Objective:
    """Return M -> sum over rows i of KL(p0(.|i) || p(.|i)), p0 uniform over the others of i's class."""
    ideal = (y[:, None] == y[None, :]).astype(float)
    np.fill_diagonal(ideal, 0)
    counts = ideal.sum(axis=1)

    def objective(M: np.ndarray) -> float:
        scores = -squared_distances(X, M)
        np.fill_diagonal(scores, -np.inf)
        largest = scores.max(axis=1, keepdims=True)
        log_sums = np.log(np.exp(scores - largest).sum(axis=1)) + largest[:, 0]
        np.fill_diagonal(scores, 0)
        return float((log_sums - (ideal * scores).sum(axis=1) / counts - np.log(counts)).sum())

    return objective


def lmnn_objective(X: np.ndarray, y: np.ndarray) -> Objective:
    """Return M -> omega * pull + (1 - omega) * hinges at margin 1, all impostors, Euclidean target neighbours."""
    same = y[:, None] == y[None, :]
    euclidean = np.where(same, squared_distances(X, np.eye(X.shape[1])), np.inf)
    np.fill_diagonal(euclidean, np.inf)
    targets = np.argsort(euclidean, axis=1, kind="stable")[:, :NEIGHBOURS]

    def objective(M: np.ndarray) -> float:
        distances = squared_distances(X, M)
        pulls = np.take_along_axis(distances, targets, 1)
        distances[same] = np.inf
        hinges = sum(float(np.maximum(1 + pulls[:, [k]] - distances, 0).sum()) for k in range(NEIGHBOURS))
        return OMEGA * float(pulls.sum()) + (1 - OMEGA) * hinges

    return objective


def mmc_objective(X: np.ndarray, y: np.ndarray) -> Objective:
    """Return M -> minus the mean distance of different classes, for M scaled to the mean square within classes at I."""
    same = y[:, None] == y[None, :]
    within = float(squared_distances(X, np.eye(X.shape[1]))[same].sum())

    def objective(M: np.ndarray) -> float:
        distances = squared_distances(X, M)
        return -float(np.sqrt(distances[~same]).mean() * np.sqrt(within / distances[same].sum()))

    return objective


def no_objective(X: np.ndarray, y: np.ndarray) -> Objective:
    """Return a judge that has nothing to say: matrices are compared instead."""
    return lambda M: np.nan


OBJECTIVES = {
    "MCML": mcml_objective,
    "LMNN": lmnn_objective,
    "MMC": mmc_objective,
    "RCA": no_objective,
    "LEGO": no_objective,
}


# The fits, each in a process of its own -------------------------------------------------------------------------------


class TimeLimitError(Exception):
    """The clock of a fit has passed the limit."""


class Clock:
    """Processor seconds of a fit without those of the benchmark, and the objective of the metrics on the way."""

    def __init__(self, objective: Objective, limit: float, report: Report) -> None:
        self.objective, self.limit, self.report = objective, limit, report
        self.started = self.paused = self.judged_at = 0.0
        self.running = True

    def start(self) -> None:
        """Begin to count; before, nothing is limited."""
        self.started, self.paused, self.judged_at = time.process_time(), 0.0, 0.0
        # looks at the clock in the middle of an iteration, too
        signal.signal(signal.SIGPROF, self.look)
        signal.setitimer(signal.ITIMER_PROF, self.limit, 1.0)

    def look(self, *_: Any) -> None:
        """Raise TimeLimitError where the limit is passed."""
        if self.running and self.seconds() > self.limit:
            raise TimeLimitError

    def seconds(self) -> float:
        """Return the processor seconds of the fit so far."""
        return time.process_time() - self.started - self.paused

    def repeat(self, fit: Callable[[], np.ndarray]) -> np.ndarray:
        """Fit as often as a clock with coarse ticks can tell, after a first time, and report the seconds of one."""
        matrix, n_fits = fit(), 0
        self.start()
        while self.seconds() < SHORTEST:
            matrix, n_fits = fit(), n_fits + 1
        self.report({"seconds": self.seconds() / n_fits})
        return matrix

    def record(self, metric: Callable[[], np.ndarray], iteration: int, *, always: bool = False) -> None:
        """Judge a metric, unless the one before was judged only just now."""
        seconds = self.seconds()
        if always or iteration <= 1 or seconds > TRACE_SPACING * self.judged_at:
            start, self.running = time.process_time(), False
            self.report({"iteration": iteration, "seconds": seconds, "objective": self.objective(metric())})
            self.judged_at, self.running = seconds, True
            self.paused += time.process_time() - start
        self.look()


def fit_ours(X: np.ndarray, y: np.ndarray, job: dict[str, Any], clock: Clock) -> tuple[np.ndarray, int]:
    from lookalike.learners.registry import learner_class

    options = {
        "MCML": {},
        "MMC": {},
        "LMNN": {"omega": OMEGA, "n_neighbors": NEIGHBOURS, "solver": job.get("solver")},
    }
    model = learner_class(job["learner"])(max_iter=job["iterations"], tol=0.0, **options[job["learner"]])
    rows = sp.csr_matrix(X) if job["rows"] == "sparse" else X
    # kernels are compiled, or loaded from numba's cache, off the clock; peers come compiled
    model.fit(rows[:100], y[:100])

    def trace(model: Any, step: int) -> dict[str, float]:
        clock.record(lambda: model.M_, step, always=True)
        return {}

    clock.start()
    model.fit(rows, y, trace=trace, trace_steps=log_spaced(job["iterations"]))
    return model.M_, model.n_steps_


def log_spaced(stop: int) -> list[int]:
    """Return about 20 iterations a decade, 0 and `stop` among them."""
    return sorted({0, stop, *np.geomspace(1, stop, 1 + int(20 * np.log10(max(stop, 10)))).astype(int).tolist()})


def fit_metric_learn(X: np.ndarray, y: np.ndarray, job: dict[str, Any], clock: Clock) -> tuple[np.ndarray, int]:
    """Run metric-learn's LMNN; its loss is asked for at every L, also at one that the line search then rejects."""
    import metric_learn

    class Traced(metric_learn.LMNN):
        evaluations = -1

        def _loss_grad(self, X: np.ndarray, L: np.ndarray, *rest: Any) -> Any:
            self.evaluations += 1
            if trace:
                clock.record(lambda: L.T @ L, self.evaluations)
            return super()._loss_grad(X, L, *rest)

    def fit(X: np.ndarray, y: np.ndarray, rate: float, iterations: int) -> Any:
        # its max_iter counts the evaluation of the start and is itself left out
        return Traced(
            init="identity",
            n_neighbors=NEIGHBOURS,
            regularization=OMEGA,
            learn_rate=rate,
            convergence_tol=0.0,
            min_iter=iterations,
            max_iter=iterations + 2,
        ).fit(X, y)

    trace = False
    judge = lmnn_objective(X[:400], y[:400])
    scores = {}
    for rate in LEARN_RATES:
        L = fit(X[:400], y[:400], rate, 5).components_
        scores[rate] = judge(L.T @ L)
    rate = scaled(min(scores, key=scores.__getitem__), len(X))
    clock.report({"step_length": rate, "tried_on_400_rows": scores})
    trace = True
    clock.start()
    model = fit(X, y, rate, job["iterations"])
    return model.components_.T @ model.components_, model.n_iter_ - 1


def fit_metric_learn_mmc(X: np.ndarray, y: np.ndarray, job: dict[str, Any], clock: Clock) -> tuple[np.ndarray, int]:
    """Run metric-learn's MMC on all pairs, or on those that it draws; its objective is asked for at every A."""
    import metric_learn

    class Traced(metric_learn.MMC):
        evaluations = -1

        def _fD(self, pairs: np.ndarray, A: np.ndarray) -> Any:
            self.evaluations += 1
            clock.record(lambda: A, self.evaluations)
            return super()._fD(pairs, A)

    class TracedOnDrawn(metric_learn.MMC_Supervised, Traced):
        pass

    options = {"max_iter": job["iterations"], "tol": 0.0}
    clock.start()
    clock.record(lambda: np.eye(X.shape[1]), 0)
    if job["drawn"]:
        model = TracedOnDrawn(**options, random_state=0).fit(X, y)
    else:
        first, second = np.triu_indices(len(X), 1)
        model = Traced(**options).fit(np.stack([X[first], X[second]], axis=1), np.where(y[first] == y[second], 1, -1))
    return model.get_mahalanobis_matrix(), model.n_iter_


def fit_pylmnn(X: np.ndarray, y: np.ndarray, job: dict[str, Any], clock: Clock) -> tuple[np.ndarray, int]:
    """Run PyLMNN with all impostors; it hands its L out after every iteration."""
    # its search of parameters wants a package that nothing here needs
    search = ModuleType("pylmnn.bayesopt")
    search.__dict__["find_hyperparams"] = None
    sys.modules[search.__name__] = search
    from pylmnn import LargeMarginNearestNeighbor

    shape = X.shape[1], X.shape[1]

    def callback(transformation: np.ndarray, iteration: int) -> None:
        L = transformation.reshape(shape)
        clock.record(lambda: L.T @ L, iteration)

    model = LargeMarginNearestNeighbor(
        NEIGHBOURS,
        init="identity",
        weight_push_loss=1 - OMEGA,
        max_impostors=len(X) ** 2,
        max_iter=job["iterations"],
        tol=0.0,
        callback=callback,
    )
    clock.start()
    clock.record(lambda: np.eye(X.shape[1]), 0)
    model.fit(X, y)
    return model.components_.T @ model.components_, model.n_iter_


def fit_rca(X: np.ndarray, y: np.ndarray, job: dict[str, Any], clock: Clock) -> tuple[np.ndarray, int]:
    from lookalike.learners.rca import RCA

    rows = sp.csr_matrix(X) if job["rows"] == "sparse" else X
    return clock.repeat(lambda: RCA(job["components"]).fit(rows, y).M_), 1


def fit_metric_learn_rca(X: np.ndarray, y: np.ndarray, job: dict[str, Any], clock: Clock) -> tuple[np.ndarray, int]:
    import metric_learn
    from sklearn.decomposition import PCA

    def fit() -> np.ndarray:
        if job["components"] is None:
            L = metric_learn.RCA().fit(X, y).components_
        else:
            pca = PCA(job["components"], svd_solver="full")
            L = metric_learn.RCA().fit(pca.fit_transform(X), y).components_ @ pca.components_
        return L.T @ L

    return clock.repeat(fit), 1


def fit_pydml_mcml(X: np.ndarray, y: np.ndarray, job: dict[str, Any], clock: Clock) -> tuple[np.ndarray, int]:
    from dml.mcml import MCML

    scores = {eta: pydml_mcml_after(X[:400], y[:400], eta, 5) for eta in MCML_ETAS}
    eta = scaled(min(scores, key=scores.__getitem__), len(X))
    clock.report({"step_length": eta, "tried_on_400_rows": scores})
    return fit_pydml(MCML(max_iter=job["iterations"], eta0=eta, prec=0.0, tol=0.0), X, y, clock)


def fit_pydml_lmnn(X: np.ndarray, y: np.ndarray, job: dict[str, Any], clock: Clock) -> tuple[np.ndarray, int]:
    from dml.lmnn import LMNN

    return fit_pydml(LMNN(max_iter=job["iterations"], mu=1 - OMEGA, k=NEIGHBOURS, prec=0.0, tol=0.0), X, y, clock)


def fit_pydml(model: Any, X: np.ndarray, y: np.ndarray, clock: Clock) -> tuple[np.ndarray, int]:
    """Run a learner of pyDML; its error is computed once an iteration, which is where its metric can be had."""
    compute = type(model)._compute_error
    evaluations = -1

    def traced(*values: Any) -> Any:
        nonlocal evaluations
        evaluations += 1
        M = next(value for value in values if isinstance(value, np.ndarray) and value.shape == (X.shape[1],) * 2)
        clock.record(lambda: M, evaluations)
        return compute(*values)

    type(model)._compute_error = traced
    clock.start()
    model.fit(X, y)
    return model.metric(), model.metadata()["num_iters"]


def pydml_mcml_after(X: np.ndarray, y: np.ndarray, eta: float, iterations: int) -> float:
    """Objective after some of pyDML's MCML steps: the same steps, only without its loops over pairs."""
    judge = mcml_objective(X, y)
    same = (y[:, None] == y[None, :]).astype(float)
    M = np.eye(X.shape[1])
    value = judge(M)
    for _ in range(iterations):
        shares = np.exp(-squared_distances(X, M))
        np.fill_diagonal(shares, 0)
        weights = same - same.sum(axis=1, keepdims=True) * shares / shares.sum(axis=1, keepdims=True).clip(1e-16)
        laplacian = np.diag(weights.sum(axis=0) + weights.sum(axis=1)) - weights - weights.T
        values, vectors = np.linalg.eigh(M - eta * X.T @ laplacian @ X)
        M = (vectors * values.clip(0)) @ vectors.T
        before, value = value, judge(M)
        eta *= 1.01 if value < before else 0.5
    return value


def scaled(step_length: float, n: int) -> float:
    """Step length for n rows of one found on 400: gradients are sums over pairs."""
    return step_length / max(1.0, n / 400) ** 2


def fit_lego(X: np.ndarray, y: np.ndarray, job: dict[str, Any], clock: Clock) -> tuple[np.ndarray, int]:
    from lookalike.learners.lego import LEGO

    pairs = np.array(job["pairs"])
    model = LEGO(ETA, random_state=0)
    rows = sp.csr_matrix(X) if job["rows"] == "sparse" else X
    matrix = clock.repeat(lambda: model.fit_pairs(rows, pairs[:, :2], pairs[:, 2]).M_)
    clock.report({"targets": [model.l_, model.u_], "updates": model.n_updates_})
    return matrix, len(pairs)


def fit_numpy_lego(X: np.ndarray, y: np.ndarray, job: dict[str, Any], clock: Clock) -> tuple[np.ndarray, int]:
    """Run the printed recursion (Jain et al. 2008, section 2.2; pairs that are right already are left alone)."""
    A = np.eye(X.shape[1])
    updates = 0
    clock.start()
    for i, j, same in job["pairs"]:
        z = X[i] - X[j]
        Az = A @ z
        distance, target = float(z @ Az), job["targets"][same]
        if distance == 0 or (distance <= target if same else distance >= target):
            continue
        slope = ETA * target * distance - 1
        after = (slope + np.sqrt(slope**2 + 4 * ETA * distance**2)) / (2 * ETA * distance)
        A -= ETA * (after - target) / (1 + ETA * (after - target) * distance) * np.outer(Az, Az)
        updates += 1
    clock.report({"seconds": clock.seconds(), "updates": updates})
    return A, len(job["pairs"])


FITS: dict[str, Fit] = {
    "ours": fit_ours,
    "metric-learn LMNN": fit_metric_learn,
    "pyDML MCML": fit_pydml_mcml,
    "pyDML LMNN": fit_pydml_lmnn,
    "PyLMNN": fit_pylmnn,
    "metric-learn MMC": fit_metric_learn_mmc,
    "ours RCA": fit_rca,
    "metric-learn RCA": fit_metric_learn_rca,
    "ours LEGO": fit_lego,
    "NumPy LEGO": fit_numpy_lego,
}


def work(job_file: Path) -> None:
    """Run one fit in this process; lines of JSON to the job's report."""
    job = json.loads(job_file.read_text())
    # what a package allocates beyond is a MemoryError of its own, not trouble for the machine
    resource.setrlimit(resource.RLIMIT_AS, (int(job["memory"] * 2**30),) * 2)
    # for compiled code that lets no signal in; the benchmark's own seconds are counted here
    resource.setrlimit(resource.RLIMIT_CPU, (int(2 * job["limit"] + 120),) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with np.load(job["data"]) as data:
        X, y = data["X"], data["y"]
    with open(job["report"], "w", buffering=1) as file:

        def report(line: dict[str, Any]) -> None:
            file.write(json.dumps(line) + "\n")

        clock = Clock(OBJECTIVES[job["learner"]](X, y), job["limit"], report)
        try:
            M, iterations = FITS[job["fit"]](X, y, job, clock)
            seconds, clock.running = clock.seconds(), False
            if "matrix" in job:
                np.save(job["matrix"], M)
                report({"iterations": iterations, "status": "finished"})
            else:
                last = {"iteration": iterations, "seconds": seconds, "objective": clock.objective(M)}
                report(last | {"status": "finished"})
        except TimeLimitError:
            report({"status": "time limit"})
        except MemoryError:
            report({"status": "out of memory"})


# The run --------------------------------------------------------------------------------------------------------------

PAIRINGS = {
    ("MCML", "ours"): {"learner": "MCML", "fit": "ours"},
    ("MCML", "pyDML"): {"learner": "MCML", "fit": "pyDML MCML"},
    ("LMNN", "ours, active_set"): {"learner": "LMNN", "fit": "ours", "solver": "active_set"},
    ("LMNN", "ours, naive"): {"learner": "LMNN", "fit": "ours", "solver": "naive"},
    ("LMNN", "ours, factor"): {"learner": "LMNN", "fit": "ours", "solver": "factor"},
    ("LMNN", "metric-learn"): {"learner": "LMNN", "fit": "metric-learn LMNN"},
    ("LMNN", "pyDML"): {"learner": "LMNN", "fit": "pyDML LMNN"},
    ("LMNN", "PyLMNN"): {"learner": "LMNN", "fit": "PyLMNN"},
    ("MMC", "ours"): {"learner": "MMC", "fit": "ours"},
    ("MMC", "metric-learn"): {"learner": "MMC", "fit": "metric-learn MMC", "drawn": False},
    ("MMC", "metric-learn, drawn"): {"learner": "MMC", "fit": "metric-learn MMC", "drawn": True},
}
LEARNERS = ["MCML", "LMNN", "MMC", "RCA", "LEGO"]


def is_ours(name: str) -> bool:
    return name.startswith("ours")


def run_fit(job: dict[str, Any], interpreter: str, folder: Path) -> dict[str, Any]:
    """Run one fit in a fresh process of the interpreter and return what it reported."""
    job_file, report = folder / "job.json", folder / "report.jsonl"
    report.unlink(missing_ok=True)
    job_file.write_text(json.dumps(job | {"report": str(report)}))
    done = subprocess.run(
        [interpreter, "-W", "ignore", __file__, "--work", str(job_file)], capture_output=True, text=True, check=False
    )
    lines = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
    curve = [{k: line[k] for k in ("iteration", "seconds", "objective")} for line in lines if "objective" in line]
    result: dict[str, Any] = {"status": "time limit" if done.returncode < 0 else "failed", "curve": curve}
    for line in lines:
        result |= line if "objective" not in line else {"status": line.get("status", result["status"])}
    if result["status"] == "failed":
        result["error"] = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return result


def summary(curve: list[dict[str, float]]) -> dict[str, float]:
    """Iterations, seconds and objectives of a curve; the end is its best point."""
    if not curve:
        return {}
    return {
        "iterations": curve[-1]["iteration"],
        "seconds": curve[-1]["seconds"],
        "objective_start": curve[0]["objective"],
        "objective_end": min(point["objective"] for point in curve),
    }


def seconds_to(curve: list[dict[str, float]], objective: float) -> float:
    return next(point["seconds"] for point in curve if point["objective"] <= objective)


def compare(ours: list[dict[str, float]], peer: list[dict[str, float]]) -> dict[str, float] | None:
    """Seconds of both to the lower quality of their best objectives; nothing where the peer has not taken a step."""
    if len(ours) < 2 or len(peer) < 2:
        return None
    equal = max(summary(ours)["objective_end"], summary(peer)["objective_end"])
    start = max(ours[0]["objective"], peer[0]["objective"])
    if equal >= start - 1e-9 * abs(start):
        return None
    seconds = {"ours_seconds": seconds_to(ours, equal), "peer_seconds": seconds_to(peer, equal)}
    return {"objective": equal, **seconds, "ratio": seconds["peer_seconds"] / seconds["ours_seconds"]}


def benchmark(kind: str, n: int, d: int, arguments: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Run every learner on one set of rows, printing each line as soon as it is known."""
    X, y = ROWS[kind](n, d, np.random.default_rng([n, d]))
    data = folder / "data.npz"
    np.savez(data, X=X, y=y)
    setting = {"rows": kind, "n": n, "d": d, "non_zeros_per_row": float((X != 0).sum() / n)}
    results: list[dict[str, Any]] = []
    for (learner, name), job in PAIRINGS.items():
        if learner not in arguments.learners or not (is_ours(name) or arguments.peers):
            continue
        job = job | {"data": str(data), "rows": kind, "iterations": arguments.iterations}
        job |= {"limit": arguments.limit, "memory": arguments.memory}
        fit = run_fit(job, sys.executable if is_ours(name) else arguments.peers, folder)
        row = {"learner": learner, "package": name, **setting, **summary(fit["curve"]), **fit}
        if not is_ours(name):
            row["equal_objective"] = {
                other["package"]: compare(other["curve"], fit["curve"])
                for other in results
                if other["learner"] == learner and is_ours(other["package"])
            }
        results.append(row)
        print_row(row)
    job = {"data": str(data), "rows": kind, "limit": arguments.limit, "memory": arguments.memory}
    if "RCA" in arguments.learners:
        # the PCA of the papers where a covariance within classes has no inverse
        components = None if n - CLASSES >= d else n // 4
        rca = job | {"learner": "RCA", "components": components}
        size = min(n, d)
        operations = n * d * size + (5 * d**3 / 3 if components is None else 2 * n * d * components)
        results += benchmark_exact(rca, "metric-learn", setting | {"operations": operations}, arguments, folder)
    if "LEGO" in arguments.learners:
        from lookalike.learners import PairSampler

        lego = job | {"learner": "LEGO", "pairs": PairSampler(y, 0).draw(arguments.pairs).tolist()}
        results += benchmark_exact(lego, "NumPy", setting | {"operations": 2 * min(n, d) ** 2}, arguments, folder)
    return results


def benchmark_exact(
    job: dict[str, Any], peer: str, setting: dict[str, Any], arguments: argparse.Namespace, folder: Path
) -> list[dict[str, Any]]:
    """Fit a learner that has one solution, and its peer, in turns; stop where their matrices differ."""
    learner, best = job["learner"], {}
    operations, names = setting.pop("operations"), ["ours", *([peer] if peer == "NumPy" or arguments.peers else [])]
    for _ in range(arguments.repeat):
        for name in names:
            matrix, interpreter = folder / f"{name}.npy", arguments.peers if name == "metric-learn" else sys.executable
            own = {"fit": f"{name} {learner}", "matrix": str(matrix), "targets": best.get("ours", {}).get("targets")}
            fit = run_fit(job | own, interpreter, folder)
            if name not in best or fit.get("seconds", np.inf) < best[name].get("seconds", np.inf):
                best[name] = fit
    results = [{"learner": learner, "package": name, **setting, **fit} for name, fit in best.items()]
    if all(row["status"] == "finished" for row in results) and len(results) == 2:
        ours, theirs = (np.load(folder / f"{name}.npy") for name in names)
        difference = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
        results[1]["largest_difference"] = difference
        if difference > 1e-8 or results[0].get("updates") != results[1].get("updates"):
            raise SystemExit(f"{learner} and its peer learn different matrices (by {difference:.1e})")
        results[1]["equal_objective"] = {
            "ours": {
                "ours_seconds": results[0]["seconds"],
                "peer_seconds": results[1]["seconds"],
                "ratio": results[1]["seconds"] / results[0]["seconds"],
                "operations": operations * results[0].get("updates", 1),
            }
        }
    for row in results:
        print_row(row)
    return results


def ratios(results: list[dict[str, Any]]) -> list[limits.Row]:
    """Return a row for each of ours beside each peer that got anywhere."""
    return [
        limits.beside(
            f"{row['learner']}{own[4:]}",
            f"{row['n']:,} x {row['d']:,}, {row['rows']}",
            row["package"],
            (equal["ours_seconds"], equal["peer_seconds"]),
            operations=equal.get("operations", 0.0),
        )
        for row in results
        for own, equal in row.get("equal_objective", {}).items()
        if equal is not None
    ]


def print_row(row: dict[str, Any]) -> None:
    """Print what is known of one fit."""
    equal = {f"ratio to {ours}": own["ratio"] for ours, own in row.get("equal_objective", {}).items() if own}
    names = [
        "learner",
        "package",
        "n",
        "d",
        "rows",
        "status",
        "iterations",
        "seconds",
        "objective_start",
        "objective_end",
    ]
    limits.print_table([{name: row[name] for name in names if name in row} | equal])


def versions(interpreter: str) -> dict[str, str]:
    """Versions of what the peers' interpreter has; a peer that is missing fails by itself later."""
    command = (
        "import json, platform; from importlib.metadata import distributions; "
        "found = {d.metadata['Name'].lower(): d.version for d in distributions()}; "
        "names = 'metric-learn', 'pydml', 'pylmnn', 'numpy', 'scipy', 'scikit-learn'; "
        "print(json.dumps({'python': platform.python_version()} | {n: found.get(n, 'not installed') for n in names}))"
    )
    done = subprocess.run([interpreter, "-W", "ignore", "-c", command], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise SystemExit(f"{interpreter} does not run ({reason}): build it as --help says")
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = limits.argument_parser(__doc__)
    parser.add_argument("--peers", metavar="PYTHON", help="interpreter with metric-learn and pyDML; without: ours only")
    sizes = ["100x50", "400x200", "400x1000", "2000x200", "2000x1000"]
    parser.add_argument(
        "--sizes", nargs="+", default=sizes, metavar="NxD", help=f"rows and features ({' '.join(sizes)})"
    )
    parser.add_argument("--kinds", nargs="+", default=["dense", "sparse"], choices=list(ROWS), help="(dense sparse)")
    parser.add_argument("--learners", nargs="+", default=LEARNERS, choices=LEARNERS, help="(all)")
    parser.add_argument("--iterations", type=int, default=300, help="at most, of MCML, LMNN and MMC (300)")
    parser.add_argument("--pairs", type=int, default=5000, help="of LEGO (5000)")
    parser.add_argument("--repeat", type=int, default=3, help="fits of RCA and LEGO, in turns with their peers' (3)")
    parser.add_argument("--limit", type=float, default=600, help="processor seconds per fit (600)")
    parser.add_argument("--memory", type=float, default=12, help="address space per fit, GiB (12)")
    parser.add_argument("--quick", action="store_true", help="only n = 400, d = 200, and 60 seconds per fit")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work)
        return
    grid = [tuple(map(int, size.split("x"))) for size in (["400x200"] if arguments.quick else arguments.sizes)]
    if any(n < 10 * (NEIGHBOURS + 1) or d < 2 for n, d in grid):
        parser.error(f"--sizes must have at least {10 * (NEIGHBOURS + 1)} rows and 2 features")
    if min(arguments.iterations, arguments.pairs, arguments.repeat, arguments.limit, arguments.memory) <= 0:
        parser.error("--iterations, --pairs, --repeat, --limit and --memory must be positive")
    if arguments.quick:
        arguments.limit = min(arguments.limit, 60)

    peers = versions(arguments.peers) if arguments.peers else None
    print(f"one core of {limits.processor()}, synthetic rows; processor seconds, objectives by this file's own judge")
    print(f"peers: {peers or 'none, ours is measured alone (--peers PYTHON; --help says how to build it)'}\n")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for n, d in grid:
            for kind in arguments.kinds:
                results += benchmark(kind, n, d, arguments, Path(folder))
    rows = ratios(results)
    limits.print_table(rows)
    settings = {"iterations": arguments.iterations, "pairs": arguments.pairs, "limit_seconds": arguments.limit}
    limits.write(arguments.output, rows, peers=peers, settings=settings | {"data": "synthetic"}, results=results)


if __name__ == "__main__":
    main()
