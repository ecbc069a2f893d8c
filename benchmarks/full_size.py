"""What a step of the slow learners takes at the sizes of the papers' subsets of Caltech-256, on one core.

Rows are synthetic: 40 for each of 10, 20, 50 and 249 classes, over 1,000 words, 54 of them in a row. One fit of a few
iterations and one of a single iteration are timed, each in a process of its own; their difference gives the seconds of
an iteration, without what a fit begins with. The first iterations have the most active triplets: later ones take less.
For OASIS and LEGO the same is done with 10,000 and 30,000 steps, and the seconds are those of 1,000 steps. `score` is
one mean average precision of a learned W, each row querying all others.

    python benchmarks/full_size.py --output workflow/resources/runs/full-size/measured.json

The documentation's table of costs reads that file. Its `deep-ranking-triplet` is from benchmarks/deep_ranking.py: a
step, by its number of triplets.
"""

from __future__ import annotations

import os

# before NumPy is imported: libraries read them once
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import argparse
import json
import platform
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from lookalike.core.job_record import code_state
from lookalike.core.machine import processor_name
from lookalike.learners.registry import learner_class
from lookalike.ranking.rankings import rank_leave_one_out

WORDS, WORDS_OF_A_ROW, ROWS_OF_A_CLASS = 1000, 54, 40
FITS = {
    "lmnn": ("LMNN", {"tol": 0.0, "solver": "active_set"}, "max_iter", 1),
    "lmnn-factor": ("LMNN", {"tol": 0.0}, "max_iter", 1),
    "lmnn-naive": ("LMNN", {"tol": 0.0, "solver": "naive"}, "max_iter", 1),
    "mcml": ("MCML", {"tol": 0.0}, "max_iter", 1),
    "oasis": ("OASIS", {"random_state": 0}, "n_steps", 10000),
    "lego": ("LEGO", {"random_state": 0}, "n_steps", 10000),
    "score": ("OASIS", {"random_state": 0, "n_steps": 10000}, "", 1),
}
"""Method to its learner, its parameters, what counts its steps ("" for none), and the fewest of them."""
MORE = 3
"""How many times as many steps the longer fit has."""


def rows_of(n_classes: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows of Zipf's words, half of whose weights are of the class, as unit vectors."""
    random = np.random.default_rng(n_classes)
    y = np.repeat(np.arange(n_classes), ROWS_OF_A_CLASS)
    weights = np.arange(1, WORDS + 1) ** -0.8
    own = np.array([random.permutation(weights) for _ in range(n_classes)])
    # the largest log(u) / weight are a sample without replacement in proportion to the weights
    keys = np.log(random.random((len(y), WORDS))) / (weights + own[y])
    words = np.argpartition(-keys, WORDS_OF_A_ROW, axis=1)[:, :WORDS_OF_A_ROW]
    X = np.zeros((len(y), WORDS))
    np.put_along_axis(X, words, random.geometric(0.5, words.shape), axis=1)
    return sp.csr_matrix(X / np.linalg.norm(X, axis=1, keepdims=True)), y


def timed_fit(method: str, n_classes: int, n_steps: int) -> tuple[float, float]:
    """Processor seconds of a fit, and the most megabytes of its process."""
    name, parameters, counted, least = FITS[method]
    learner = learner_class(name)
    small = rows_of(5)
    learner(**parameters, **({counted: least} if counted else {})).fit(*small)  # compiles, or loads from numba's cache
    X, y = rows_of(n_classes)
    model = None if counted else learner(**parameters).fit(X, y)
    start = time.process_time()
    if model is None:
        learner(**parameters, **{counted: n_steps}).fit(X, y)
    for _ in range(n_steps if model else 0):
        rank_leave_one_out(model, X, y, n_neighbours=0).mean_average_precision()
    return time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def measure(method: str, n_classes: int) -> dict[str, object]:
    """One row of the output: what an iteration, or 1,000 steps, takes."""
    least = FITS[method][3]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        (short, _), (long, peak) = (
            pool.submit(timed_fit, method, n_classes, steps).result() for steps in (least, least * MORE)
        )
    seconds = max(long - short, 0) / (least * (MORE - 1)) * (1000 if least > 1 else 1)
    row = {"rule": f"{method}-{n_classes}", "cpu_seconds": round(seconds, 4), "peak_megabytes": round(peak)}
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", nargs="+", type=int, default=[10, 20, 50, 249], metavar="N")
    parser.add_argument("--methods", nargs="+", choices=list(FITS), default=list(FITS))
    parser.add_argument("--output", type=Path, help="write the numbers to this file, in place of those it has of them")
    arguments = parser.parse_args()
    rows = {row["rule"]: row for row in (measure(m, n) for n in arguments.classes for m in arguments.methods)}
    if arguments.output:
        there = json.loads(arguments.output.read_text()) if arguments.output.is_file() else {"rules": []}
        kept = [row for row in there["rules"] if row["rule"] not in rows]
        told = {"dataset": "full-size", "processor": processor_name(), "python": platform.python_version(),
                "date": f"{datetime.now(UTC):%Y-%m-%d}", "commit": code_state()[0]}  # fmt: skip
        arguments.output.write_text(json.dumps(told | {"rules": [*kept, *rows.values()]}, indent=2) + "\n")


if __name__ == "__main__":
    main()
