"""Steps per second of OASIS on one core: on W, on inner products, and plain NumPy, on the same synthetic rows.

The rows are synthetic: 73 non-zeros each, words by Zipf's law (exponent 0.8), tf-idf weights of L2 length 1, as
JMLR describes its visterms ("about 70" of 10,000); or dense, Gaussian and of length 1. Labels are random, so that
almost every step has a loss and changes W: the most work that a step can be. Methods take turns, block of steps by
block, and seconds are those of the processor that the one thread had, so that what else runs on the machine weighs
little, and on all of them alike (it still takes memory bandwidth and cache: measure on a quiet machine). The constants
of `lookalike.learners.dual`, by which ``solver="auto"`` decides, are from here.

    python benchmarks/oasis_steps.py --dimensions 1000 10000 --rows 400 2000 --dense 10000 --output oasis_steps.json
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise, product
from statistics import median
from typing import Any

import limits
import numpy as np
import scipy.sparse as sp

from lookalike.core.arrays import Matrix
from lookalike.learners import OASIS, TripletSampler, dual, warm_up

AGGRESSIVENESS = 0.1
NON_ZEROS = 73
DENSE_FEATURES = 768
"""As many as embeddings of images often have."""
ZIPF_EXPONENT = 0.8
BASE = "on W, float32"
NON_ZERO, PRINTED = "NumPy, non-zeros only (np.ix_), float32", "NumPy, dense recursion as printed, float32"
Step = Callable[[np.ndarray], Any]


def steps_of(solver: str, X: Matrix, dtype: str, n_steps: int) -> Step:
    """Return the steps of a `solver` from W = I."""
    model = OASIS(AGGRESSIVENESS, dtype=dtype, solver=solver)
    rows = model._check_rows(X, reset=True)
    model._start(rows.shape[1])
    return model._prepare(rows, n_steps)[0].take


on_w, on_products = partial(steps_of, "rows"), partial(steps_of, "gram")


def whole_fits(X: Matrix, y: np.ndarray, n_steps: int, repeat: int) -> dict[str, Any]:
    """Return the least seconds of a fit with each solver, those of the inner products, and what auto would take."""

    def fit(solver: str) -> OASIS:
        return OASIS(AGGRESSIVENESS, n_steps, solver=solver, random_state=0).fit(X, y)

    ways = {"rows": partial(fit, "rows"), "gram": partial(fit, "gram")}
    ways["products"] = lambda: dual.Gram.copied(X, "float32").products.size
    auto = "gram" if dual.is_faster(X, n_steps) else "rows"
    seconds = limits.take_turns(ways, repeat)
    return {name: min(values) for name, values in seconds.items()} | {"auto": auto, "steps": n_steps}


def numpy_non_zeros(X: sp.csr_array) -> tuple[Step, np.ndarray]:
    """Return a NumPy loop over the block of W at the non-zeros only (np.ix_), float32, and its W."""
    rows = [(X.indices[a:b], X.data[a:b].astype(np.float32)) for a, b in pairwise(X.indptr)]
    W, difference = np.eye(X.shape[1], dtype=np.float32), np.zeros(X.shape[1], dtype=np.float32)

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


def numpy_dense(X: Matrix) -> tuple[Step, np.ndarray]:
    """Return the recursion as it is printed (JMLR Figure 1) on dense vectors, float32, and its W."""
    dense = (X.toarray() if sp.issparse(X) else X).astype(np.float32)
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

    def way(step: Step, n: int) -> Callable[[], Any]:
        blocks = iter([triplets[:1], *(triplets[turn * n : (turn + 1) * n] for turn in range(repeat))])
        return lambda: step(next(blocks))

    seconds = limits.take_turns({name: way(*method) for name, method in steps.items()}, repeat)
    return {name: [steps[name][1] / value for value in own] for name, own in seconds.items()}


def benchmark(n: int, d: int, n_steps: int, repeat: int, fit_steps: int, dense: bool = False) -> dict[str, Any]:
    """Measure all methods on n rows of d features."""
    random = np.random.default_rng(0)
    if dense:
        X = random.normal(size=(n, d))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    else:
        X = limits.zipf_rows(n, d, min(NON_ZEROS, d // 2), ZIPF_EXPONENT, random)
    y = random.integers(0, 20, n)
    triplets = TripletSampler(y, 0).sample(n_steps * repeat)
    total = len(triplets) + 1
    methods: dict[str, tuple[Step, int]] = {
        BASE: (on_w(X, "float32", total), n_steps),
        "on W, float64": (on_w(X, "float64", total), n_steps),
        "on products, float32": (on_products(X, "float32", total), n_steps),
    }
    if not dense:
        methods[NON_ZERO] = (numpy_non_zeros(X)[0], max(1, n_steps // 40))
    if n <= 4000:
        methods["on products, float64"] = (on_products(X, "float64", total), n_steps)
    if d <= 1000:
        methods[PRINTED] = (numpy_dense(X)[0], max(1, n_steps // 400))
    speeds = measure(methods, triplets, repeat)
    base = median(speeds[BASE])
    return {
        "dimensions": d,
        "rows": n,
        "mean_non_zeros": np.count_nonzero(X if dense else X.data) / n,
        "data": "synthetic",
        "kind": "dense" if dense else "sparse",
        "steps_per_second": {
            name: {"median": median(values), "best": max(values), "all": values, "times_on_w": median(values) / base}
            for name, values in speeds.items()
        },
        "fit": whole_fits(X, y, fit_steps, repeat),
    }


def ratio(result: dict[str, Any]) -> limits.Row:
    """Return a row: a whole fit beside the recursion in NumPy at its speed, of sparse rows at their non-zeros."""
    fit, speeds = result["fit"], result["steps_per_second"]
    size = f"{fit['steps']:,} steps, {result['rows']:,} x {result['dimensions']:,}, {result['kind']}"
    peer = PRINTED if result["kind"] == "dense" else NON_ZERO
    return limits.beside("OASIS", size, peer, (fit[fit["auto"]], fit["steps"] / speeds[peer]["median"]))


def main() -> None:
    arguments = limits.options(
        __doc__,
        dimensions=([1000, 10_000], "features d"),
        rows=([400, 800, 2000, 4000, 9960], "rows n"),
        dense=([2000, 10_000], f"dense rows, of {DENSE_FEATURES} features"),
        steps=(20_000, "steps of ours in a block; of NumPy's fewer"),
        fit_steps=(35_000, "steps of a whole fit"),
        repeat=(3, "blocks of each method"),
    )
    warm_up()
    random = np.random.default_rng(1)
    X = limits.zipf_rows(100, 300, NON_ZEROS, ZIPF_EXPONENT, random)
    check_agreement(X, TripletSampler(np.arange(100) % 5, 0).sample(200))
    results = []
    sets = [(n, d, False) for d, n in product(arguments.dimensions, arguments.rows)]
    for n, d, dense in sets + [(n, DENSE_FEATURES, True) for n in arguments.dense]:
        results.append(result := benchmark(n, d, arguments.steps, arguments.repeat, arguments.fit_steps, dense))
        speeds = result["steps_per_second"].items()
        rows = f"{result['kind']} synthetic rows of {d:,} features"
        print(f"steps a second on {n:,} {rows}, nearly every step an update")
        limits.print_table([{"method": name, **speed} for name, speed in speeds], ["all"])
        print("seconds of whole fits")
        limits.print_table([result["fit"]])
    limits.keep(arguments.output, list(map(ratio, results)), results=results)


if __name__ == "__main__":
    main()
