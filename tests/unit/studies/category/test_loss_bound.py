"""The mistake bound against its formula term by term, and the mistakes of OASIS under it."""

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.learners import TripletSampler
from lookalike.studies.category.folds import Fold
from lookalike.studies.category.loss_bound import bound, mistakes_of, numbers_of, squared_step_norms, triplet_margins
from lookalike.studies.category.settings import LossBound
from lookalike.studies.metrics import select

D = 12


@pytest.fixture(params=[1.0, 3.0], ids=["length 1", "length 3"])
def sequence(request):
    """30 rows in 3 classes, one of them zero, and 300 triplets, two of which no W can mend."""
    random, y = np.random.default_rng(0), np.arange(30) % 3
    X = random.random((30, D)) * (random.random((30, D)) < 0.4)
    X[np.arange(30), y] += 0.3
    X *= request.param / np.linalg.norm(X, axis=1, keepdims=True)
    X[7] = 0
    triplets = TripletSampler(y, 0).draw(300)
    triplets[10], triplets[20] = [7, 1, 2], [4, 5, 5]
    return X, triplets


@pytest.mark.parametrize(("chunk", "solver"), [(16_384, "gram"), (50, "rows")])
@pytest.mark.parametrize("aggressiveness", [0.05, 2.0])
def test_mistakes_and_bound_are_those_of_a_dense_run(sequence, aggressiveness, chunk, solver, monkeypatch):
    monkeypatch.setattr("lookalike.studies.category.loss_bound.CHUNK", chunk)
    X, triplets = sequence
    U = np.random.default_rng(5).normal(size=(D, D))
    W, wrong, hinges, squares = np.eye(D), [], [], []
    for p, plus, minus in triplets:
        V = np.outer(X[p], X[plus] - X[minus])
        wrong.append(X[p] @ W @ X[plus] <= X[p] @ W @ X[minus])
        hinges.append(max(0.0, 1 - np.sum(U * V)))
        squares.append(np.sum(V * V))
        if V.any():
            W += min(aggressiveness, max(0.0, 1 - np.sum(W * V)) / squares[-1]) * V
    mistakes, rows = np.cumsum(wrong), sp.csr_array(X)
    counted, learned = mistakes_of(rows, triplets, aggressiveness, solver)
    np.testing.assert_array_equal(counted, mistakes)
    np.testing.assert_allclose(learned.matrix, W, atol=1e-12)
    np.testing.assert_allclose(learned.sums(), (np.trace(W), np.sum(W * W), np.sum(W * W.T)), rtol=1e-12)
    assert 2 < mistakes[-1] < 300
    radius = np.maximum(np.maximum.accumulate(squares), 1 / aggressiveness)
    expected = radius * (np.linalg.norm(U - np.eye(D)) ** 2 + 2 * aggressiveness * np.cumsum(hinges))
    squares = squared_step_norms(rows, triplets)
    bounds = [
        bound(np.sum((M - np.eye(D)) ** 2), triplet_margins(rows @ M, rows, triplets), squares, aggressiveness)
        for M in (U, np.eye(D), 0 * W, W)
    ]
    np.testing.assert_allclose(bounds[0], expected, rtol=1e-10)
    assert (mistakes <= np.array(bounds)).all()


def test_a_fold_counts_mistakes_and_has_a_bound_for_every_matrix(study):
    table = numbers_of(Fold(*study, 0, 5, "toy"), LossBound(steps=800, points=5))
    mistakes, bounds = select(table, metric="mistakes").set_index("x")["value"], select(table, metric="bound")
    assert set(bounds["method"]) == {"I", "W", "W / 2", "2 W"}
    assert (bounds["value"] >= mistakes[bounds["x"]].to_numpy()).all()
    assert mistakes.index[-1] == 800
    assert 0 < mistakes.iloc[0] <= mistakes.iloc[-1]
