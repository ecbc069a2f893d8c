"""Seconds of whole fits of every learner beside what `lookalike.app.choice` estimates, on rows of several sizes.

Rows are dense or sparse and made by code: labels have directions of their own, beside others that are shared. Seconds
are those of the processor, of one thread. The constants of `lookalike.app.choice` are from here: where measured over
expected leaves 0.5 to 2, change the constant of that learner.

    python benchmarks/learner_times.py --learners OASIS MCML --output learner_times.json
"""

from __future__ import annotations

import os

# before numpy is imported
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from limits import processor
from sklearn.exceptions import ConvergenceWarning

from lookalike.app.choice import DENSE, LONGEST, Shape, choose_learner, seconds
from lookalike.app.learning import learner_defaults
from lookalike.learners import LEARNERS, warm_up

LEARNED = ("chosen", "OASIS", "MCML", "LMNN", "RCA", "MMC", "LEGO", "DiagonalOASIS")
SIZES = ((500, 64), (1_000, 768), (2_000, 256), (3_000, 768), (10_000, 768))
SPARSE_SIZES = ((2_000, 1_000), (2_000, 10_000))


def labelled_rows(n: int, d: int, density: float = 1.0) -> tuple[object, np.ndarray]:
    """Return rows of n / 50 overlapping classes, float32, and their labels."""
    random = np.random.default_rng(0)
    y = np.arange(n) % max(4, n // 50)
    centres = random.normal(size=(y.max() + 1, 32)) @ random.normal(size=(32, d))
    shared = (random.normal(size=(n, 100)) * np.arange(1, 101) ** -0.4) @ random.normal(size=(100, d))
    X = centres[y] + 2 * shared + 2 * random.normal(size=(n, d))
    if density < 1:
        X = np.where(random.random((n, d)) < density, np.abs(X), 0)
    X = (X / np.linalg.norm(X, axis=1).mean()).astype(np.float32)
    return (X if density >= DENSE else sp.csr_array(X)), y


def measure(name: str, n: int, d: int, density: float) -> dict[str, object] | None:
    """Return the seconds of a fit, estimated and measured; None of fits that would take too long."""
    X, y = labelled_rows(n, d, density)
    choice, shape = choose_learner(X, y), Shape.taken_from(X)
    parameters: dict[str, object] = dict(choice.parameters)
    if name != "chosen":
        parameters = {"early_stopping": True} if "early_stopping" in learner_defaults(name) else {}
    name = choice.name if name == "chosen" else name
    expected = seconds(name, parameters, shape)
    if expected > 2 * LONGEST:
        return None
    seed = {"random_state": 0} if "random_state" in learner_defaults(name) else {}
    learner = LEARNERS[name](**parameters, **seed)
    start = time.process_time()
    learner.fit(X, y)
    taken = time.process_time() - start
    return {
        "learner": name,
        "chosen": name == choice.name,
        "rows": n,
        "dimensions": d,
        "density": density,
        "expected": round(expected, 2),
        "seconds": round(taken, 2),
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--learners", nargs="+", default=["OASIS", "MCML", "LMNN", "RCA", "MMC", "LEGO", "DiagonalOASIS"]
    )
    parser.add_argument("--rows", nargs=2, type=int, default=[0, 10_000], help="at least, and at most")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warm_up()
    cases = [(*size, 1.0) for size in SIZES] + [(*size, 50 / size[1]) for size in SPARSE_SIZES]
    rows = []
    for n, d, density in cases:
        for name in arguments.learners:
            if arguments.rows[0] <= n <= arguments.rows[1] and (row := measure(name, n, d, density)) is not None:
                rows.append(row)
                print(json.dumps(row), flush=True)
    if arguments.output is not None:
        about = {"processor": processor(), "rows": rows}
        arguments.output.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
