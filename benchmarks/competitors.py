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
constraint; metric-learn makes a d x d matrix of each pair, so it gets the 2,000 pairs that it draws by default, as all
pairs of 400 rows do not fit into 12 GiB. "Equal" is the lower quality of the two best objectives, ours and the peer's,
so that both reach it; the ratio is the peer's seconds to there by ours. Ours takes the full d x d matrix at every
traced iteration; a peer's metric counts from the moment when it is first evaluated.

Step lengths. metric-learn's default learn_rate of 1e-7 hardly moves: 1e-7, 1e-6 ... 1e-2 are tried on 400 of the rows
for 5 iterations, and the best is taken, divided by the square of n / 400, as gradients are sums over pairs. pyDML's
MCML gets the best eta0 of 1e-6 ... 1 after 5 of its steps likewise; its LMNN takes no step within a limit. No search is
on the clock.

RCA has one solution: the matrices must agree. With few rows the papers reduce dimensions by a PCA first, which
metric-learn's RCA gets from scikit-learn's. No package has LEGO: ours stands beside the printed recursion (Jain et al.
2008) in dense NumPy, on the same pairs. Both are fitted three times in turns, and the least seconds count. A limit is
the time that this core needs for the products that the algorithm must do, at the speed of its matrix product.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
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

Job = dict[str, Any]
Curve = list[dict[str, float]]
Objective = Callable[[np.ndarray], float]
Fit = Callable[[np.ndarray, np.ndarray, Job, "Clock"], "tuple[np.ndarray, int]"]


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


OBJECTIVES = {"MCML": mcml_objective, "LMNN": lmnn_objective, "MMC": mmc_objective}
"""Of RCA and LEGO the matrices are compared instead."""


# The fits, each in a process of its own -------------------------------------------------------------------------------


class Clock:
    """Processor seconds of a fit without those of the benchmark, and the objective of the metrics on the way."""

    def __init__(self, objective: Objective | None, limit: float, report: Callable[[Job], None]) -> None:
        self.objective, self.limit, self.report = objective, limit, report
        self.started = self.judged_at = 0.0

    def start(self) -> None:
        """Begin to count."""
        self.started, self.judged_at = time.process_time(), 0.0

    def seconds(self) -> float:
        """Return the processor seconds of the fit up to now."""
        return time.process_time() - self.started

    def repeat(self, fit: Callable[[], np.ndarray]) -> np.ndarray:
        """Fit as often as a clock with coarse ticks can tell, after a first time, and report the seconds of one."""
        matrix, n_fits = fit(), 0
        self.start()
        while self.seconds() < SHORTEST:
            matrix, n_fits = fit(), n_fits + 1
        self.report({"seconds": self.seconds() / n_fits})
        return matrix

    def record(self, metric: Callable[[], np.ndarray], iteration: int, *, always: bool = False) -> None:
        """Judge a metric, unless the one before was judged only just now; a TimeoutError where the limit is passed."""
        seconds = self.seconds()
        if always or iteration <= 1 or seconds > TRACE_SPACING * self.judged_at:
            self.report({"iteration": iteration, "seconds": seconds, "objective": self.objective(metric())})
            self.judged_at = seconds
            self.started += self.seconds() - seconds
        if seconds > self.limit:
            raise TimeoutError

    def step_length(self, lengths: tuple[float, ...], after: Callable[[float], float], n: int) -> float:
        """Return the length whose objective is best after some steps on 400 rows, for n rows: gradients are sums."""
        scores = {length: after(length) for length in lengths}
        length = min(scores, key=scores.__getitem__) / max(1.0, n / 400) ** 2
        self.report({"step_length": length, "tried_on_400_rows": scores})
        return length


def own_rows(X: np.ndarray, job: Job) -> Any:
    """Return the rows as ours take them."""
    return sp.csr_matrix(X) if job["rows"] == "sparse" else X


def fit_ours(X: np.ndarray, y: np.ndarray, job: Job, clock: Clock) -> tuple[np.ndarray, int]:
    from lookalike.learners.registry import learner_class

    stop, rows = job["iterations"], own_rows(X, job)
    model = learner_class(job["learner"])(max_iter=stop, tol=0.0, **job["options"])
    # kernels are compiled, or loaded from numba's cache, off the clock; peers come compiled
    model.fit(rows[:100], y[:100])

    def trace(model: Any, step: int) -> dict[str, float]:
        clock.record(lambda: model.M_, step, always=True)
        return {}

    # about 20 iterations a decade
    steps = {0, stop, *np.geomspace(1, stop, 1 + int(20 * np.log10(max(stop, 10)))).astype(int).tolist()}
    clock.start()
    model.fit(rows, y, trace=trace, trace_steps=sorted(steps))
    return model.M_, model.n_steps_


def fit_metric_learn(X: np.ndarray, y: np.ndarray, job: Job, clock: Clock) -> tuple[np.ndarray, int]:
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

    def after(rate: float) -> float:
        L = fit(X[:400], y[:400], rate, 5).components_
        return judge(L.T @ L)

    trace, judge = False, lmnn_objective(X[:400], y[:400])
    rate = clock.step_length(LEARN_RATES, after, len(X))
    trace = True
    clock.start()
    model = fit(X, y, rate, job["iterations"])
    return model.components_.T @ model.components_, model.n_iter_ - 1


def fit_metric_learn_mmc(X: np.ndarray, y: np.ndarray, job: Job, clock: Clock) -> tuple[np.ndarray, int]:
    """Run metric-learn's MMC on the pairs that it samples; its objective is asked for at every A."""
    import metric_learn

    class Traced(metric_learn.MMC_Supervised):
        evaluations = -1

        def _fD(self, pairs: np.ndarray, A: np.ndarray) -> Any:
            self.evaluations += 1
            clock.record(lambda: A, self.evaluations)
            return super()._fD(pairs, A)

    clock.start()
    clock.record(lambda: np.eye(X.shape[1]), 0)
    model = Traced(max_iter=job["iterations"], tol=0.0, random_state=0).fit(X, y)
    return model.get_mahalanobis_matrix(), model.n_iter_


def fit_pylmnn(X: np.ndarray, y: np.ndarray, job: Job, clock: Clock) -> tuple[np.ndarray, int]:
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


def fit_rca(X: np.ndarray, y: np.ndarray, job: Job, clock: Clock) -> tuple[np.ndarray, int]:
    from lookalike.learners.rca import RCA

    rows = own_rows(X, job)
    return clock.repeat(lambda: RCA(job["components"]).fit(rows, y).M_), 1


def fit_metric_learn_rca(X: np.ndarray, y: np.ndarray, job: Job, clock: Clock) -> tuple[np.ndarray, int]:
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


def fit_pydml_mcml(X: np.ndarray, y: np.ndarray, job: Job, clock: Clock) -> tuple[np.ndarray, int]:
    """Run pyDML's MCML; its error is computed once an iteration, which is where its metric can be had."""
    from dml.mcml import MCML

    compute, evaluations = MCML._compute_error, iter(range(10**9))

    def traced(*values: Any) -> Any:
        M = next(value for value in values if isinstance(value, np.ndarray) and value.shape == (X.shape[1],) * 2)
        clock.record(lambda: M, next(evaluations))
        return compute(*values)

    MCML._compute_error = traced
    eta = clock.step_length(MCML_ETAS, lambda eta: pydml_mcml_after(X[:400], y[:400], eta, 5), len(X))
    model = MCML(max_iter=job["iterations"], eta0=eta, prec=0.0, tol=0.0)
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


def fit_lego(X: np.ndarray, y: np.ndarray, job: Job, clock: Clock) -> tuple[np.ndarray, int]:
    from lookalike.learners.lego import LEGO

    pairs, model, rows = np.array(job["pairs"]), LEGO(ETA, random_state=0), own_rows(X, job)
    matrix = clock.repeat(lambda: model.fit_pairs(rows, pairs[:, :2], pairs[:, 2]).M_)
    clock.report({"targets": [model.l_, model.u_], "updates": model.n_updates_})
    return matrix, len(pairs)


def fit_numpy_lego(X: np.ndarray, y: np.ndarray, job: Job, clock: Clock) -> tuple[np.ndarray, int]:
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


PAIRINGS: list[tuple[str, str, Fit, Job]] = [
    ("MCML", "ours", fit_ours, {}),
    ("MCML", "pyDML", fit_pydml_mcml, {}),
    *(
        ("LMNN", f"ours, {solver}", fit_ours, {"omega": OMEGA, "n_neighbors": NEIGHBOURS, "solver": solver})
        for solver in ("active_set", "naive", "factor")
    ),
    ("LMNN", "metric-learn", fit_metric_learn, {}),
    ("LMNN", "PyLMNN", fit_pylmnn, {}),
    ("MMC", "ours", fit_ours, {}),
    ("MMC", "metric-learn, its own pairs", fit_metric_learn_mmc, {}),
    ("RCA", "ours", fit_rca, {}),
    ("RCA", "metric-learn", fit_metric_learn_rca, {}),
    ("LEGO", "ours", fit_lego, {}),
    ("LEGO", "NumPy", fit_numpy_lego, {}),
]
"""Learner and package, how it is fitted, and what it is given besides the job."""
LEARNERS = (*dict.fromkeys(learner for learner, *_ in PAIRINGS),)


def work(job_file: Path) -> None:
    """Run one fit in this process; lines of JSON to the job's report."""
    job = json.loads(job_file.read_text())
    # what a package allocates beyond is a MemoryError of its own, not trouble for the machine
    resource.setrlimit(resource.RLIMIT_AS, (int(job["memory"] * 2**30),) * 2)
    # for long iterations; the benchmark's own seconds are counted here
    resource.setrlimit(resource.RLIMIT_CPU, (int(2 * job["limit"] + 120),) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with np.load(job["data"]) as data:
        X, y = data["X"], data["y"]
    fit = next(fit for learner, package, fit, _ in PAIRINGS if (learner, package) == (job["learner"], job["package"]))
    objective = OBJECTIVES[job["learner"]](X, y) if job["learner"] in OBJECTIVES else None
    with open(job["report"], "w", buffering=1) as file:

        def report(line: Job) -> None:
            file.write(json.dumps(line) + "\n")

        clock = Clock(objective, job["limit"], report)
        try:
            M, iterations = fit(X, y, job, clock)
            seconds = clock.seconds()
            np.save(job["matrix"], M)
            last = {"iteration": iterations, "seconds": seconds, "objective": objective(M)} if objective else {}
            report({"iterations": iterations, **last, "status": "finished"})
        except TimeoutError:
            report({"status": "time limit"})
        except MemoryError:
            report({"status": "out of memory"})


# The run --------------------------------------------------------------------------------------------------------------


def run_fit(job: Job, arguments: Namespace, folder: Path) -> Job:
    """Run one fit in a fresh process of ours or of the peers' interpreter and return what it reported."""
    is_ours = job["package"] == "NumPy" or job["package"].startswith("ours")
    job_file, report = folder / "job.json", folder / "report.jsonl"
    report.unlink(missing_ok=True)
    names = {"report": str(report), "matrix": str(folder / f"{job['package']}.npy"), "data": str(folder / "data.npz")}
    limited = {name: getattr(arguments, name) for name in ("iterations", "limit", "memory")}
    job_file.write_text(json.dumps(job | names | limited))
    command = [sys.executable if is_ours else str(arguments.peers), "-W", "ignore", __file__, "--work", str(job_file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
    curve = [{k: line[k] for k in ("iteration", "seconds", "objective")} for line in lines if "objective" in line]
    result: Job = {"status": "time limit" if done.returncode < 0 else "failed", "curve": curve}
    for line in lines:
        result |= {name: value for name, value in line.items() if name not in ("iteration", "objective")}
    if curve:
        result |= {"iterations": curve[-1]["iteration"], "objective_start": curve[0]["objective"]}
        result["objective_end"] = min(point["objective"] for point in curve)
    if result["status"] == "failed":
        result["error"] = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return result


def compare(ours: Job, peer: Job) -> dict[str, float] | None:
    """Seconds of both to the lower quality of their best objectives; nothing where the peer has not taken a step."""
    if min(len(ours["curve"]), len(peer["curve"])) < 2:
        return None
    equal, start = (max(row[f"objective_{end}"] for row in (ours, peer)) for end in ("end", "start"))
    if equal >= start - 1e-9 * abs(start):
        return None
    to_there = [next(at["seconds"] for at in row["curve"] if at["objective"] <= equal) for row in (ours, peer)]
    return {"objective": equal, "ours_seconds": to_there[0], "peer_seconds": to_there[1]}


def compare_matrices(ours: Job, peer: Job, folder: Path, operations: float) -> dict[str, float] | None:
    """Seconds of both to one matrix, nothing where one of them has none; stop where the matrices differ."""
    if {ours["status"], peer["status"]} != {"finished"}:
        return None
    own, other = (np.load(folder / f"{row['package']}.npy") for row in (ours, peer))
    peer["largest_difference"] = float(np.abs(own - other).max() / np.abs(other).max())
    if peer["largest_difference"] > 1e-8 or ours.get("updates") != peer.get("updates"):
        raise SystemExit(f"{ours['learner']} and its peer differ by {peer['largest_difference']:.1e}")
    seconds = {"ours_seconds": ours["seconds"], "peer_seconds": peer["seconds"]}
    return seconds | {"operations": operations * ours.get("updates", 1)}


def benchmark(kind: str, n: int, d: int, arguments: Namespace, folder: Path) -> list[Job]:
    """Run every learner on one set of rows, printing each line as soon as it is known."""
    from lookalike.learners import PairSampler

    X, y = ROWS[kind](n, d, np.random.default_rng([n, d]))
    np.savez(folder / "data.npz", X=X, y=y)
    setting = {"rows": kind, "n": n, "d": d, "non_zeros_per_row": float((X != 0).sum() / n)}
    # the PCA of the papers where a covariance within classes has no inverse
    components = None if n - CLASSES >= d else n // 4
    solved = {"LEGO": {"pairs": PairSampler(y, 0).sample(arguments.pairs).tolist()}, "RCA": {"components": components}}
    operations = {"LEGO": 2.0 * min(n, d) ** 2}
    operations["RCA"] = n * d * min(n, d) + (5 * d**3 / 3 if components is None else 2 * n * d * components)
    found: dict[tuple[str, str], Job] = {}
    for learner in filter(arguments.learners.__contains__, LEARNERS):
        own = [row for row in PAIRINGS if row[0] == learner]
        # those with one solution take turns
        for _ in range(arguments.repeat if learner in solved else 1):
            for _, package, _, options in own:
                if not (arguments.peers or package == "NumPy" or package.startswith("ours")):
                    continue
                job = {"learner": learner, "package": package, "rows": kind, "options": options}
                job |= solved.get(learner, {}) | {"targets": found.get((learner, "ours"), {}).get("targets")}
                fit = {"learner": learner, "package": package, **setting, **run_fit(job, arguments, folder)}
                best = found.setdefault((learner, package), fit)
                if fit.get("seconds", np.inf) < best.get("seconds", np.inf):
                    found[learner, package] = fit
        rows = [row for (other, _), row in found.items() if other == learner]
        ours = {row["package"]: row for row in rows if row["package"].startswith("ours")}
        for row in rows:
            if row["package"] not in ours:
                pairs = {
                    name: compare_matrices(own, row, folder, operations[learner])
                    if learner in solved
                    else compare(own, row)
                    for name, own in ours.items()
                }
                row["equal_objective"] = pairs
            limits.print_table([row], ["curve", "equal_objective", "tried_on_400_rows", "targets"])
    return list(found.values())


def ratios(results: list[Job]) -> list[limits.Row]:
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


def versions(interpreter: Path) -> dict[str, str]:
    """Versions of what the peers' interpreter has."""
    command = [str(interpreter), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise SystemExit(f"{interpreter} does not run ({reason}): build it as --help says")
    return {package["name"]: package["version"] for package in json.loads(done.stdout)}


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        work(Path(sys.argv[2]))
        return
    arguments = limits.options(
        __doc__,
        peers=(None, "interpreter with metric-learn, pyDML and PyLMNN; without: ours only"),
        sizes=(["100x50", "400x200", "400x1000", "2000x200", "2000x1000"], "rows x features"),
        kinds=((*ROWS,), "of rows"),
        learners=(LEARNERS, "that are fitted"),
        iterations=(300, "at most, of MCML, LMNN and MMC"),
        pairs=(5000, "of LEGO"),
        repeat=(3, "fits of RCA and LEGO, in turns with their peers'"),
        limit=(600.0, "processor seconds per fit"),
        memory=(12.0, "address space per fit, GiB"),
    )
    peers = versions(arguments.peers) if arguments.peers else None
    print(f"one core of {limits.processor()}, synthetic rows; processor seconds, objectives by this file's own judge")
    print(f"peers: {peers or 'none, ours is measured alone (--peers PYTHON; --help says how to build it)'}\n")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for n, d in (map(int, size.split("x")) for size in arguments.sizes):
            for kind in arguments.kinds:
                results += benchmark(kind, n, d, arguments, Path(folder))
    settings = {"iterations": arguments.iterations, "pairs": arguments.pairs, "limit_seconds": arguments.limit}
    settings["data"] = "synthetic"
    limits.keep(arguments.output, ratios(results), peers=peers, settings=settings, results=results)


if __name__ == "__main__":
    main()
