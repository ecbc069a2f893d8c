"""Solvers of QPAO's block programmes, side by side: seconds and what is left of the duality gap.

The rows are synthetic: one landmark of 7 positives and 500 negatives, about 2,000 visual words each, drawn by Zipf's
law. The programmes are those that a descent meets, in two sweeps over 50 blocks; each is given to every solver that is
installed. What the clock sees starts from matrices that are built already, in the form that a solver takes, and ends
with its multipliers; a solver's own setup is part of it. Gaps are relative, and computed alike for all from those
multipliers. The others are installed beside the project's own packages, in the versions that those are locked to:

    .venv/bin/uv pip install --python .venv/bin/python --require-hashes -r benchmarks/peers-solvers.txt
    python benchmarks/quadratic_programmes.py --words 10000 --C 10
"""

from __future__ import annotations

import os

# before numpy is imported
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import limits
import numpy as np
import scipy.sparse as sp

from lookalike.learners import TripletProducts, qpao
from lookalike.learners.qpao import BlockDescent, Bounded, Dual

Solve = Callable[[], np.ndarray]
"""What is timed: it returns the multipliers of 1/2 ||w - centre||^2 + sum c max(0, r - Vw) in the box."""
Build = Callable[[sp.csr_array, np.ndarray, np.ndarray, np.ndarray, tuple[float, float]], Solve]
"""(V, targets r, costs c, centre, box) to that, with the solver's matrices built."""


def landmark(d: int, n_negatives: int, random: np.random.Generator) -> tuple[sp.csr_array, np.ndarray]:
    """Return rows of length 1 and all triplets of 7 positives, which share words, and the negatives."""
    frequency, words = np.arange(1, d + 1) ** -0.6, random.permutation(d)
    shared = random.choice(d, min(600, d // 3), replace=False)
    rows = []
    for i in range(7 + n_negatives):
        n_shared = random.binomial(2500, 0.15 if i < 7 else 0.01)
        drawn = words[random.choice(d, 2500 - n_shared, p=frequency / frequency.sum())]
        rows.append(np.bincount(np.concatenate([drawn, random.choice(shared, n_shared)]), minlength=d))
    X = sp.vstack([sp.csr_array(row[None, :].astype(float)) for row in rows], format="csr")
    X.data *= np.log((len(rows) + 1) / (np.bincount(X.indices, minlength=d) + 0.5)).clip(1e-3)[X.indices]
    X = sp.csr_array(sp.diags_array(1 / np.sqrt(X.power(2).sum(axis=1))) @ X)
    positives = [(q, p) for q in range(7) for p in range(7) if p != q]
    return X, np.array([(q, p, n) for q, p in positives for n in range(7, len(rows))], dtype=np.int32)


def clarabel(V: sp.csr_array, r: np.ndarray, c: np.ndarray, centre: np.ndarray, box: tuple[float, float]) -> Solve:
    import clarabel as solver

    m, n = V.shape
    settings = solver.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    P = sp.csc_matrix(sp.diags_array(np.concatenate([np.ones(n), np.zeros(m)])))
    A = sp.vstack([sp.hstack([-V, -sp.eye_array(m)]), -sp.eye_array(n + m), sp.eye_array(n, n + m)], format="csc")
    bounds = np.concatenate([-r, np.full(n, -box[0]), np.zeros(m), np.full(n, box[1])])
    cones = [solver.NonnegativeConeT(len(bounds))]
    q, A = np.concatenate([-centre, c]), sp.csc_matrix(A)
    return lambda: np.array(solver.DefaultSolver(P, q, A, bounds, cones, settings).solve().z[:m])


def piqp(V: sp.csr_array, r: np.ndarray, c: np.ndarray, centre: np.ndarray, box: tuple[float, float]) -> Solve:
    import piqp as solver

    (m, n), s = V.shape, solver.SparseSolver()
    s.settings.eps_abs = s.settings.eps_rel = 1e-9
    s.settings.eps_duality_gap_abs = s.settings.eps_duality_gap_rel = 1e-9
    P = sp.csc_matrix(sp.diags_array(np.concatenate([np.ones(n), np.zeros(m)])))
    G, far = sp.csc_matrix(sp.hstack([V, sp.eye_array(m)])), np.full(m, np.inf)
    low, high = np.concatenate([np.full(n, box[0]), np.zeros(m)]), np.concatenate([np.full(n, box[1]), far])
    q = np.concatenate([-centre, c])

    def solve() -> np.ndarray:
        s.setup(P, q, None, None, G, r, far, low, high)
        s.solve()
        return np.array(s.result.z_l)

    return solve


def osqp(V: sp.csr_array, r: np.ndarray, c: np.ndarray, centre: np.ndarray, box: tuple[float, float]) -> Solve:
    import osqp as solver

    (m, n), s = V.shape, solver.OSQP()
    P = sp.csc_matrix(sp.diags_array(np.concatenate([np.ones(n), np.zeros(m)])))
    G = sp.csc_matrix(sp.vstack([sp.hstack([V, sp.eye_array(m)]), sp.eye_array(n + m)]))
    low = np.concatenate([r, np.full(n, box[0]), np.zeros(m)])
    high = np.concatenate([np.full(m, np.inf), np.full(n, box[1]), np.full(m, np.inf)])
    options = {"verbose": False, "eps_abs": 1e-7, "eps_rel": 1e-7, "polishing": True, "max_iter": 20_000}
    q = np.concatenate([-centre, c])

    def solve() -> np.ndarray:
        s.setup(P, q, G, low, high, **options)
        return -np.array(s.solve().y[:m])

    return solve


def ours(dual: Dual) -> Solve:
    """Return the package's own solver of a programme that it has built."""
    return lambda: dual.maximum(dual.hinges.cost / 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=10_000, help="words of the codebook (10000)")
    parser.add_argument("--negatives", type=int, default=500, help="negatives of the landmark (500)")
    parser.add_argument("--C", type=float, default=10.0, help="cost of a unit of loss (10)")
    parser.add_argument("--output", type=Path, help="also write the figures as JSON to this file")
    parser.add_argument("--every", type=int, default=10, help="each solver gets every so-manieth programme (10)")
    arguments = parser.parse_args()
    met: list[Dual] = []

    class Recorded(Dual):
        def __init__(self, *parts: Any) -> None:
            super().__init__(*parts)
            met.append(self)

    X, triplets = landmark(arguments.words, arguments.negatives, np.random.default_rng(0))
    with patch.object(qpao, "Dual", Recorded):
        bounds = Bounded(0.0, float(arguments.words), None)
        descent = BlockDescent(TripletProducts(X, triplets), arguments.C, bounds, 50, 0)
        for _ in range(2):
            descent.sweep()
    solvers: dict[str, Build] = {f.__name__: f for f in (clarabel, piqp, osqp) if importlib.util.find_spec(f.__name__)}
    chosen = met[:: arguments.every]
    hinges = [len(dual.hinges.targets) for dual in chosen]
    print(f"{len(chosen)} programmes of {min(hinges)} to {max(hinges)} hinges, {len(triplets):,} triplets, synthetic")
    figures: dict[str, dict[str, float]] = {}
    for name in ["ours: SciPy's L-BFGS-B on the dual", *solvers]:
        seconds, gaps = [], []
        for dual in chosen:
            h, cost = dual.hinges, dual.hinges.cost
            V = sp.csr_array(h.products[h.positive] - h.products[h.negative])
            solve = solvers[name](V, h.targets, cost, dual.centre, dual.bounds[:2]) if name in solvers else ours(dual)
            start = time.process_time()
            alpha = solve()
            seconds.append(time.process_time() - start)
            alpha = np.clip(alpha, 0, cost)
            w = dual.weights(alpha)
            gaps.append(dual.gap(w, alpha) / (1 + abs(dual.negative(alpha)[0])))
        print(f"{name:36}{sum(seconds):8.2f} s, longest {max(seconds):6.2f} s, largest gap {max(gaps):.0e}", flush=True)
        figures[name] = {"seconds": sum(seconds), "longest": max(seconds), "largest_gap": max(gaps)}
    ours_seconds = next(iter(figures.values()))["seconds"]
    size = f"{len(chosen)} programmes, {arguments.words:,} words"
    rows = [limits.beside("QPAO", size, name, (ours_seconds, figures[name]["seconds"])) for name in solvers]
    limits.print_rows(rows)
    limits.write(arguments.output, rows, solvers=figures, C=arguments.C, data="synthetic")


if __name__ == "__main__":
    main()
