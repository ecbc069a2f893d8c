"""Steps per second of OASIS on one core: on W, on inner products, and plain NumPy, on the same synthetic rows.

The rows are synthetic: 73 non-zeros each, words by Zipf's law (exponent 0.8), tf-idf weights of L2 length 1, as
JMLR describes its visterms ("about 70" of 10,000). Labels are random, so that almost every step has a loss and changes
W: the most work that a step can be. Methods take turns, block of steps by block, and seconds are those of the
processor that the one thread had, so that what else runs on the machine weighs little, and on all of them alike (it
still takes memory bandwidth and cache: measure on a quiet machine). The constants of `lookalike.learners.dual`, by
which ``solver="auto"`` decides, are from here.

    python benchmarks/oasis_steps.py --dimensions 1000 10000 --rows 400 2000 --output oasis_steps.json
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from statistics import median
from typing import Any

import limits
import numpy as np
import scipy.sparse as sp

from lookalike.learners import OASIS, TripletSampler, dual, warm_up

AGGRESSIVENESS = 0.1
NON_ZEROS = 73
ZIPF_EXPONENT = 0.8
BASE = "on W, float32"
Step = Callable[[np.ndarray], Any]


def on_w(X: sp.csr_array, dtype: str, n_steps: int) -> Step:
    """Return the steps of ``solver="rows"``."""
    return OASIS(AGGRESSIVENESS, dtype=dtype, solver="rows").steps(X, n_steps).take


def on_products(X: sp.csr_array, dtype: str, n_steps: int) -> Step:
    """Return the steps of ``solver="gram"``."""
    return OASIS(AGGRESSIVENESS, dtype=dtype, solver="gram").steps(X, n_steps).take


def whole_fits(X: sp.csr_array, y: np.ndarray, n_steps: int, repeat: int) -> dict[str, Any]:
    """Return the least seconds of a fit with each solver, those of the inner products, and what auto would take."""
    seconds: dict[str, list[float]] = {"rows": [], "gram": [], "products": []}
    for _ in range(repeat):
        for solver in ("rows", "gram"):
            start = time.process_time()
            OASIS(AGGRESSIVENESS, n_steps, solver=solver, random_state=0).fit(X, y)
            seconds[solver].append(time.process_time() - start)
        start = time.process_time()
        assert dual.Gram.copied(X, "float32").products.size
        seconds["products"].append(time.process_time() - start)
    auto = "gram" if dual.is_faster(X, n_steps) else "rows"
    return {name: min(values) for name, values in seconds.items()} | {"auto": auto, "steps": n_steps}


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
    """Stop unless all methods learn one W."""
    expected = OASIS(AGGRESSIVENESS, dtype="float64", solver="rows").fit_triplets(X, triplets).W_
    learned = {"solver='gram'": OASIS(AGGRESSIVENESS, solver="gram").fit_triplets(X, triplets).W_}
    for peer in (numpy_non_zeros, numpy_dense):
        run, learned[peer.__name__] = peer(X)
        run(triplets)
    for name, W in learned.items():
        if not np.allclose(W, expected, atol=1e-4):
            raise SystemExit(f"{name} learns another W than solver='rows': its speed means nothing")


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


def benchmark(n: int, d: int, n_steps: int, repeat: int, fit_steps: int) -> dict[str, Any]:
    """Measure all methods on n rows of d features."""
    random = np.random.default_rng(0)
    X, y = limits.zipf_rows(n, d, min(NON_ZEROS, d // 2), ZIPF_EXPONENT, random), random.integers(0, 20, n)
    triplets = TripletSampler(y, 0).draw(n_steps * repeat)
    total = len(triplets) + 1
    methods: dict[str, tuple[Step, int]] = {
        BASE: (on_w(X, "float32", total), n_steps),
        "on W, float64": (on_w(X, "float64", total), n_steps),
        "on products, float32": (on_products(X, "float32", total), n_steps),
        "NumPy, non-zeros only (np.ix_), float32": (numpy_non_zeros(X)[0], max(1, n_steps // 40)),
    }
    if n <= 4000:
        methods["on products, float64"] = (on_products(X, "float64", total), n_steps)
    if d <= 1000:
        methods["NumPy, dense recursion as printed, float32"] = (numpy_dense(X)[0], max(1, n_steps // 400))
    speeds = measure(methods, triplets, repeat)
    base = median(speeds[BASE])
    return {
        "dimensions": d,
        "rows": n,
        "mean_non_zeros": X.nnz / n,
        "data": "synthetic",
        "steps_per_second": {
            name: {"median": median(values), "best": max(values), "all": values, "times_on_w": median(values) / base}
            for name, values in speeds.items()
        },
        "fit": whole_fits(X, y, fit_steps, repeat),
    }


def main() -> None:
    parser = limits.argument_parser(__doc__)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[1000, 10_000], help="features d (1000 10000)")
    parser.add_argument("--rows", type=int, nargs="+", default=[400, 800, 2000, 4000, 9960], help="rows n")
    parser.add_argument("--steps", type=int, default=20_000, help="steps of ours in a block; of NumPy's fewer (20000)")
    parser.add_argument("--fit-steps", type=int, default=35_000, help="steps of a whole fit (35000)")
    parser.add_argument("--repeat", type=int, default=3, help="blocks of each method (3)")
    arguments = parser.parse_args()
    if min(arguments.dimensions) < 1 or arguments.steps < 1 or arguments.repeat < 1:
        parser.error("--dimensions, --steps and --repeat must be at least 1")

    warm_up()
    random = np.random.default_rng(1)
    X = limits.zipf_rows(100, 300, NON_ZEROS, ZIPF_EXPONENT, random)
    check_agreement(X, TripletSampler(np.arange(100) % 5, 0).draw(200))
    results = []
    for d, n in product(arguments.dimensions, arguments.rows):
        results.append(result := benchmark(n, d, arguments.steps, arguments.repeat, arguments.fit_steps))
        speeds = result["steps_per_second"].items()
        print(f"steps a second on {n:,} synthetic rows of {d:,} words, nearly every step an update")
        limits.print_table([{"method": name, **speed} for name, speed in speeds], ["all"])
        print("seconds of whole fits")
        limits.print_table([result["fit"]])
    limits.write(arguments.output, results=results)


if __name__ == "__main__":
    main()
