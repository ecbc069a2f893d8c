"""Steps per second of OASIS on one core: ours beside plain NumPy, on the same synthetic rows and triplets, in one run.

The rows are synthetic: about 73 non-zeros each, words drawn with Zipf exponent 0.8, tf-idf weights of L2 length 1, as
JMLR describes its visterms ("about 70" of 10,000). Labels are random, so that almost every step has a loss and changes
W: the most work that a step can be. Methods take turns, block of steps by block, and seconds are those of the
processor that the one thread had, so that what else runs on the machine weighs little, and on all of them alike (it
still takes memory bandwidth and cache: measure on a quiet machine).

    python benchmarks/oasis_steps.py --dimensions 1000 10000 --output oasis_steps.json
"""

from __future__ import annotations

import os

# before numpy is imported
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp

from lookalike.learners import OASIS, TripletSampler, warm_up
from lookalike.learners.oasis import oasis_steps
from lookalike.learners.sparse_rows import OrderedRows

AGGRESSIVENESS = 0.1
NON_ZEROS = 73
ZIPF_EXPONENT = 0.8
Step = Callable[[np.ndarray], None]


def zipf_rows(n: int, d: int, random: np.random.Generator) -> sp.csr_array:
    """Return n synthetic tf-idf rows of d words, their columns in random order."""
    lengths = random.poisson(NON_ZEROS, n).clip(1, d)
    weights = np.arange(1, d + 1) ** -ZIPF_EXPONENT
    # the largest log(u) / weight are a sample without replacement in proportion to the weights
    words = np.argsort(-np.log(random.random((n, d))) / weights, axis=1)
    columns = np.concatenate([words[i, : lengths[i]] for i in range(n)])
    idf = -np.log(np.bincount(columns, minlength=d).clip(1) / (n + 1))
    values = random.geometric(0.5, len(columns)) * idf[columns]
    X = sp.csr_array((values, random.permutation(d)[columns], np.concatenate([[0], np.cumsum(lengths)])), shape=(n, d))
    X = sp.csr_array(sp.diags_array(1 / np.sqrt(X.power(2).sum(axis=1))) @ X)
    X.sort_indices()
    return X


def ours(X: sp.csr_array, dtype: str) -> Step:
    """Return the kernel that `OASIS.fit` runs."""
    rows = OrderedRows(X, np.dtype(dtype)).rows
    W = np.eye(X.shape[1], dtype=dtype)

    def run(triplets: np.ndarray) -> None:
        oasis_steps(W, rows, triplets, AGGRESSIVENESS, np.empty(0))

    return run


def numpy_non_zeros(X: sp.csr_array) -> tuple[Step, np.ndarray]:
    """Return a NumPy loop over the block of W at the non-zeros only (np.ix_), float32, and its W."""
    rows = [(X.indices[a:b], X.data[a:b].astype(np.float32)) for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
    W = np.eye(X.shape[1], dtype=np.float32)
    difference = np.zeros(X.shape[1], dtype=np.float32)

    def run(triplets: np.ndarray) -> None:
        for query, positive, negative in triplets:
            index, value = rows[query]
            difference[rows[positive][0]] = rows[positive][1]
            difference[rows[negative][0]] -= rows[negative][1]
            support = np.union1d(rows[positive][0], rows[negative][0])
            v = difference[support]
            difference[support] = 0
            block = np.ix_(index, support)
            loss = 1 - value @ W[block] @ v
            if loss > 0:
                W[block] += min(AGGRESSIVENESS, loss / (value @ value * (v @ v))) * np.outer(value, v)

    return run, W


def numpy_dense(X: sp.csr_array) -> tuple[Step, np.ndarray]:
    """Return the recursion as it is printed (JMLR Figure 1) on dense vectors, float32, and its W."""
    dense = X.toarray().astype(np.float32)
    W = np.eye(X.shape[1], dtype=np.float32)

    def run(triplets: np.ndarray) -> None:
        for query, positive, negative in triplets:
            p, v = dense[query], dense[positive] - dense[negative]
            loss = 1 - p @ W @ v
            if loss > 0:
                W[...] += min(AGGRESSIVENESS, loss / (p @ p * (v @ v))) * np.outer(p, v)

    return run, W


def check_agreement(X: sp.csr_array, triplets: np.ndarray) -> None:
    """Stop unless the NumPy methods learn the W that ours learns."""
    expected = OASIS(AGGRESSIVENESS, dtype="float64").fit_triplets(X, triplets).W_
    for peer in (numpy_non_zeros, numpy_dense):
        run, W = peer(X)
        run(triplets)
        if not np.allclose(W, expected, atol=1e-4):
            raise SystemExit(f"{peer.__name__} learns another W than lookalike: its speed means nothing")


def measure(steps: dict[str, tuple[Step, int]], triplets: np.ndarray, repeat: int) -> dict[str, list[float]]:
    """Steps per second of each method, `repeat` blocks each, in turns; every method goes on along its own stream."""
    speeds: dict[str, list[float]] = {name: [] for name in steps}
    for step, _ in steps.values():
        step(triplets[:1])
    for turn in range(repeat):
        for name, (step, n) in steps.items():
            block = triplets[turn * n : (turn + 1) * n]
            start = time.process_time()
            step(block)
            speeds[name].append(n / (time.process_time() - start))
    return speeds


def benchmark(d: int, n_steps: int, repeat: int) -> dict[str, Any]:
    """Measure all methods at d features."""
    random = np.random.default_rng(0)
    n = 2000
    X = zipf_rows(n, d, random)
    triplets = TripletSampler(random.integers(0, 20, n), 0).draw(n_steps * repeat)
    methods: dict[str, tuple[Step, int]] = {
        "lookalike float32": (ours(X, "float32"), n_steps),
        "lookalike float64": (ours(X, "float64"), n_steps),
        "NumPy, non-zeros only (np.ix_), float32": (numpy_non_zeros(X)[0], max(1, n_steps // 40)),
    }
    if d <= 1000:
        methods["NumPy, dense recursion as printed, float32"] = (numpy_dense(X)[0], max(1, n_steps // 400))
    speeds = measure(methods, triplets, repeat)
    ours_median = median(speeds["lookalike float32"])
    return {
        "dimensions": d,
        "rows": n,
        "mean_non_zeros": X.nnz / n,
        "data": "synthetic",
        "steps_per_second": {
            name: {
                "median": median(values),
                "best": max(values),
                "all": values,
                "lookalike_float32_is_times_as_fast": ours_median / median(values),
            }
            for name, values in speeds.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[1000, 10_000], help="features d (1000 10000)")
    parser.add_argument("--steps", type=int, default=20_000, help="steps of ours in a block; of NumPy's fewer (20000)")
    parser.add_argument("--repeat", type=int, default=3, help="blocks of each method (3)")
    parser.add_argument("--output", type=Path, help="also write everything as JSON to this file")
    arguments = parser.parse_args()
    if min(arguments.dimensions) < 1 or arguments.steps < 1 or arguments.repeat < 1:
        parser.error("--dimensions, --steps and --repeat must be at least 1")

    warm_up()
    random = np.random.default_rng(1)
    check_agreement(zipf_rows(100, 300, random), TripletSampler(np.arange(100) % 5, 0).draw(200))
    results = [benchmark(d, arguments.steps, arguments.repeat) for d in arguments.dimensions]
    for result in results:
        print(
            f"\nd = {result['dimensions']:,}, {result['rows']:,} synthetic rows of {result['mean_non_zeros']:.0f} "
            "non-zeros, one core, nearly every step an update"
        )
        print(f"{'':44}{'steps/s, median':>16}{'best':>10}{'ours (float32) is':>20}")
        for name, speed in result["steps_per_second"].items():
            print(
                f"{name:44}{speed['median']:16,.0f}{speed['best']:10,.0f}"
                f"{speed['lookalike_float32_is_times_as_fast']:14.2f} times"
            )
    if arguments.output:
        machine: dict[str, Any] = {"load_average": os.getloadavg(), "cores": os.cpu_count()}
        machine |= {
            "processor": platform.processor() or platform.machine(),
            "python": platform.python_version(),
            "numpy": np.__version__,
        }
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(json.dumps({"machine": machine, "results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
