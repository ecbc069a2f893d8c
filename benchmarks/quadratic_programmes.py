"""QPAO's programme for all weights at once, by QPAO and by solvers of quadratic programmes: seconds and objective.

The rows are synthetic: one landmark of 7 positives and 10 negatives, 2,500 visual words each, drawn by Zipf's
law. What the clock sees of the others starts from matrices that are built already, in the form that a solver takes; a
solver's own setup is part of it. What it sees of QPAO starts from products of pairs. The others are installed beside
the project's own packages, in the versions that those are locked to:

    .venv/bin/uv pip install --python .venv/bin/python --require-hashes -r benchmarks/peers-solvers.txt
    python benchmarks/quadratic_programmes.py --words 500 --C 10
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import limits
import numpy as np
import scipy.sparse as sp

from lookalike.learners import QPAO, TripletProducts, warm_up

Solve = Callable[[], np.ndarray]
"""What is timed: it returns the weights w, from 0 to their number, of 1/2 ||w - 1||^2 + C sum max(0, 1 - Vw)."""


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


def clarabel(V: sp.csr_array, C: float) -> Solve:
    import clarabel as solver

    m, n = V.shape
    settings = solver.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    P = sp.csc_matrix(sp.diags_array(np.concatenate([np.ones(n), np.zeros(m)])))
    A = sp.vstack([sp.hstack([-V, -sp.eye_array(m)]), -sp.eye_array(n + m), sp.eye_array(n, n + m)], format="csc")
    bounds = np.concatenate([-np.ones(m), np.zeros(n + m), np.full(n, float(n))])
    cones = [solver.NonnegativeConeT(len(bounds))]
    q, A = np.concatenate([-np.ones(n), np.full(m, C)]), sp.csc_matrix(A)
    return lambda: np.array(solver.DefaultSolver(P, q, A, bounds, cones, settings).solve().x[:n])


def piqp(V: sp.csr_array, C: float) -> Solve:
    import piqp as solver

    (m, n), s = V.shape, solver.SparseSolver()
    s.settings.eps_abs = s.settings.eps_rel = 1e-9
    s.settings.eps_duality_gap_abs = s.settings.eps_duality_gap_rel = 1e-9
    P = sp.csc_matrix(sp.diags_array(np.concatenate([np.ones(n), np.zeros(m)])))
    G, far = sp.csc_matrix(sp.hstack([V, sp.eye_array(m)])), np.full(m, np.inf)
    low, high = np.zeros(n + m), np.concatenate([np.full(n, float(n)), far])
    q = np.concatenate([-np.ones(n), np.full(m, C)])

    def solve() -> np.ndarray:
        s.setup(P, q, None, None, G, np.ones(m), far, low, high)
        s.solve()
        return np.array(s.result.x[:n])

    return solve


def osqp(V: sp.csr_array, C: float) -> Solve:
    import osqp as solver

    (m, n), s = V.shape, solver.OSQP()
    P = sp.csc_matrix(sp.diags_array(np.concatenate([np.ones(n), np.zeros(m)])))
    G = sp.csc_matrix(sp.vstack([sp.hstack([V, sp.eye_array(m)]), sp.eye_array(n + m)]))
    low = np.concatenate([np.ones(m), np.zeros(n + m)])
    high = np.concatenate([np.full(m, np.inf), np.full(n, float(n)), np.full(m, np.inf)])
    options = {"verbose": False, "eps_abs": 1e-7, "eps_rel": 1e-7, "polishing": True, "max_iter": 20_000}
    q = np.concatenate([-np.ones(n), np.full(m, C)])

    def solve() -> np.ndarray:
        s.setup(P, q, G, low, high, **options)
        return np.array(s.solve().x[:n])

    return solve


def main() -> None:
    arguments = limits.options(
        __doc__,
        words=(500, "words of the codebook"),
        negatives=(10, "negatives of the landmark"),
        C=(10.0, "cost of a unit of loss"),
    )
    X, triplets = landmark(arguments.words, arguments.negatives, np.random.default_rng(0))
    V = sp.csr_array(X[triplets[:, 0]].multiply(X[triplets[:, 1]] - X[triplets[:, 2]]))
    products, model = TripletProducts(X, triplets), QPAO(arguments.C, n_blocks=1)
    warm_up("QPAO")
    ways: dict[str, Solve] = {"QPAO": lambda: model.fit_products(products).w_}
    installed = (solver for solver in (clarabel, piqp, osqp) if importlib.util.find_spec(solver.__name__))
    ways |= {solver.__name__: solver(V, arguments.C) for solver in installed}
    size = f"{len(triplets):,} triplets, {arguments.words:,} words"
    print(f"{size}, synthetic")
    figures: dict[str, dict[str, float]] = {}
    for name, solve in ways.items():
        seconds, solution = limits.timed(solve)
        w = np.clip(solution, 0, arguments.words)
        objective = 0.5 * np.sum((w - 1) ** 2) + arguments.C * np.maximum(0, 1 - V @ w).sum()
        figures[name] = {"seconds": seconds, "objective": float(objective)}
        print(f"{name:10}{seconds:8.2f} s, objective {objective:.9g}", flush=True)
    seconds = {name: (figures["QPAO"]["seconds"], own["seconds"]) for name, own in figures.items() if name != "QPAO"}
    rows = [limits.beside("QPAO", size, name, both) for name, both in seconds.items()]
    limits.keep(arguments.output, rows, solvers=figures, C=arguments.C, data="synthetic")


if __name__ == "__main__":
    main()
