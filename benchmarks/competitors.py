"""MCML, LMNN and LEGO: seconds to an equal objective, ours beside metric-learn and pyDML, on the same rows in one run.

The peers live in an interpreter of their own (Python 3.11 and a C++ compiler), as they need an old NumPy:

    python3.11 -m venv build/peers
    build/peers/bin/pip install --require-hashes -r benchmarks/peers-requirements.txt
    build/peers/bin/pip install --require-hashes --no-build-isolation --no-deps -r benchmarks/peers-pydml.txt
    python benchmarks/competitors.py --peers build/peers/bin/python --output competitors.json

Without --peers only ours is measured. The rows are synthetic and seeded: 10 balanced classes, rows of L2 length 1,
dense or with about 70 non-zeros (CSR for ours, the same as a dense array for the peers, which take nothing else).

How it is measured. Every fit has a fresh process with one thread. Its clock is the processor time since `fit` was
called, without what the benchmark itself computes meanwhile. Stopping rules differ between packages, so none of them
is used: all start from M = I and run until --iterations or --limit seconds, their own tolerances set to 0, and each
metric on the way is judged by the one objective that this file computes from its M. For MCML that is the sum over rows
of KL(ideal || softmax of -d); for LMNN omega * pull + (1 - omega) * hinges at margin 1, over 3 fixed Euclidean target
neighbours and omega = 0.5 (metric-learn's `regularization` is omega, pyDML's `mu` is 1 - omega). "Equal" is the lower
quality of the two best objectives, ours and the peer's, so that both reach it; the ratio is the peer's seconds to there
by ours. Ours pays for the full d x d matrix at every traced iteration; a peer's metric counts from the moment when it
is first evaluated.

Step lengths. metric-learn's default learn_rate of 1e-7 hardly moves: 1e-7, 1e-6 ... 1e-2 are tried on 400 of the rows
for 5 iterations, and the best is taken, divided by the square of n / 400, as gradients are sums over pairs. pyDML's
MCML gets the best eta0 of 1e-6 ... 1 after 5 of its steps likewise; its LMNN keeps its default. No search is on the
clock.

Neither package has LEGO: ours stands beside the printed recursion (Jain et al. 2008) in dense NumPy, on the same pairs,
and the two matrices must agree to 1e-8.
"""

from __future__ import annotations

import os

# before NumPy is imported
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import argparse
import json
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import scipy.sparse as sp

CLASSES = 10
NON_ZEROS = 70
NEIGHBOURS = 3
OMEGA = 0.5
ETA = 0.02
LEARN_RATES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
MCML_ETAS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
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


def no_objective(X: np.ndarray, y: np.ndarray) -> Objective:
    """Return a judge that has nothing to say: LEGO's matrices are compared instead."""
    return lambda M: np.nan


OBJECTIVES = {"MCML": mcml_objective, "LMNN": lmnn_objective, "LEGO": no_objective}


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
    model.fit_pairs(rows, pairs[:5, :2], pairs[:5, 2])  # compiles, or loads from numba's cache
    clock.start()
    model.fit_pairs(rows, pairs[:, :2], pairs[:, 2])
    seconds = clock.seconds()
    clock.report({"seconds": seconds, "targets": [model.l_, model.u_], "updates": model.n_updates_})
    return model.M_, len(pairs)


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
}


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
    if equal >= max(ours[0]["objective"], peer[0]["objective"]) * (1 - 1e-9):
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
        print_row(row, arguments.limit)
    if "LEGO" in arguments.learners:
        results += benchmark_lego(data, y, setting, arguments, folder)
    return results


def benchmark_lego(
    data: Path, y: np.ndarray, setting: dict[str, Any], arguments: argparse.Namespace, folder: Path
) -> list[dict[str, Any]]:
    """Run LEGO and the dense recursion on the same pairs; stop where their matrices differ."""
    from lookalike.learners.pairs import PairSampler

    job = {"learner": "LEGO", "data": str(data), "rows": setting["rows"], "limit": arguments.limit}
    job |= {"memory": arguments.memory, "pairs": PairSampler(y, 0).draw(arguments.pairs).tolist()}
    results: list[dict[str, Any]] = []
    matrices = []
    for name, fit in (("ours", "ours LEGO"), ("dense NumPy", "NumPy LEGO")):
        matrix = folder / f"{name}.npy"
        if results:
            job["targets"] = results[0].get("targets")
        done = run_fit(job | {"fit": fit, "matrix": str(matrix)}, sys.executable, folder)
        results.append({"learner": "LEGO", "package": name, **setting, **done})
        if done["status"] == "finished":
            matrices.append(np.load(matrix))
        if len(matrices) == 2:
            ours, peer = results
            difference = float(np.abs(matrices[0] - matrices[1]).max())
            peer["largest_difference"] = difference
            if difference > 1e-8 or ours["updates"] != peer["updates"]:
                raise SystemExit(f"LEGO and the dense recursion learn different matrices (by {difference:.1e})")
            peer["equal_objective"] = {"ours": {"ratio": peer["seconds"] / ours["seconds"]}}
        print_row(results[-1], arguments.limit)
        if done["status"] != "finished":
            break
    return results


def print_row(row: dict[str, Any], limit: float) -> None:
    ratios = []
    for ours, equal in row.get("equal_objective", {}).items():
        ratio = "no step to compare" if equal is None else f"{equal['ratio']:.1f} times"
        ratios.append(f"{ours}: {ratio}")
    seconds = f"{row['seconds']:.2f}" if "seconds" in row else "-"
    if row["status"] == "time limit":
        seconds = f"> {limit:g}"
    elif row["status"] != "finished":
        seconds = row["status"]
    objectives = [f"{row[key]:,.1f}" if key in row else "-" for key in ("objective_start", "objective_end")]
    name = f"{row['learner']:6}{row['package']:20}"
    print(
        f"{name}{row['n']:>6,}{row['d']:>6,} {row['rows']:7}{row.get('iterations', 0):>10,}"
        f"{seconds:>15}{objectives[0]:>14}{objectives[1]:>14}  {'; '.join(ratios)}",
        flush=True,
    )


def processor() -> str:
    """Model of the processor, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def versions(interpreter: str) -> dict[str, str]:
    """Versions of what the peers' interpreter has of them; stops where one of the two is missing."""
    command = (
        "import json, platform; from importlib.metadata import version; import dml, metric_learn; "
        "names = 'metric-learn', 'pyDML', 'numpy', 'scipy', 'scikit-learn'; "
        "print(json.dumps({'python': platform.python_version()} | {name: version(name) for name in names}))"
    )
    done = subprocess.run([interpreter, "-W", "ignore", "-c", command], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise SystemExit(f"{interpreter} cannot import metric_learn and dml ({reason}): build it as --help says")
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", metavar="PYTHON", help="interpreter with metric-learn and pyDML; without: ours only")
    parser.add_argument("--rows", nargs="+", default=[400, 2000], type=int, metavar="N", help="rows n (400 2000)")
    parser.add_argument("--dimensions", nargs="+", default=[200, 1000], type=int, metavar="D", help="d (200 1000)")
    parser.add_argument("--kinds", nargs="+", default=["dense", "sparse"], choices=list(ROWS), help="(dense sparse)")
    parser.add_argument(
        "--learners", nargs="+", default=["MCML", "LMNN", "LEGO"], choices=["MCML", "LMNN", "LEGO"], help="(all)"
    )
    parser.add_argument("--iterations", type=int, default=300, help="at most, of MCML and LMNN (300)")
    parser.add_argument("--pairs", type=int, default=5000, help="of LEGO (5000)")
    parser.add_argument("--limit", type=float, default=600, help="processor seconds per fit (600)")
    parser.add_argument("--memory", type=float, default=12, help="address space per fit, GiB (12)")
    parser.add_argument("--quick", action="store_true", help="only n = 400, d = 200, and 60 seconds per fit")
    parser.add_argument("--output", type=Path, help="also write everything as JSON to this file")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work)
        return
    if min(arguments.rows) < 10 * (NEIGHBOURS + 1) or min(arguments.dimensions) < 2:
        parser.error(f"--rows must be at least {10 * (NEIGHBOURS + 1)} and --dimensions at least 2")
    if min(arguments.iterations, arguments.pairs, arguments.limit, arguments.memory) <= 0:
        parser.error("--iterations, --pairs, --limit and --memory must be positive")
    if arguments.quick:
        arguments.rows, arguments.dimensions, arguments.limit = [400], [200], min(arguments.limit, 60)

    peers = versions(arguments.peers) if arguments.peers else None
    print(f"one core of {processor()}; processor seconds, objectives by this file's own judge")
    print(f"peers: {peers or 'none, ours is measured alone (--peers PYTHON; --help says how to build it)'}\n")
    print(
        f"{'':26}{'n':>6}{'d':>6} {'rows':7}{'iterations':>10}{'seconds':>15}{'at the start':>14}{'best':>14}"
        "  peer's seconds to an equal objective by ours"
    )
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for n in arguments.rows:
            for d in arguments.dimensions:
                for kind in arguments.kinds:
                    results += benchmark(kind, n, d, arguments, Path(folder))
    if arguments.output:
        machine: dict[str, Any] = {
            "processor": processor(),
            "cores": os.cpu_count(),
            "load_average": os.getloadavg(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "peers": peers,
        }
        settings = {"iterations": arguments.iterations, "pairs": arguments.pairs, "limit_seconds": arguments.limit}
        everything = {"machine": machine, "settings": settings | {"data": "synthetic"}, "results": results}
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(json.dumps(everything, indent=2) + "\n")


if __name__ == "__main__":
    main()
