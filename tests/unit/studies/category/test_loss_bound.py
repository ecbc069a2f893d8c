"""The mistake bound against its formula term by term, and the mistakes of OASIS under it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.learners import OASIS, TripletSampler
from lookalike.studies.category import loss_bound
from lookalike.studies.category.folds import Fold
from lookalike.studies.category.loss_bound import bound, bound_fold, mistakes_of, triplet_margins
from lookalike.studies.metrics import select


@pytest.fixture(scope="module", params=[1.0, 3.0], ids=["length 1", "length 3"])
def sequence(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    """60 rows of 25 features in 3 classes, one of them zero, and 900 triplets, two of which no W can mend."""
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = random.random((60, 25)) * (random.random((60, 25)) < 0.4)
    X[np.arange(60), y] += 0.3
    X *= request.param / np.linalg.norm(X, axis=1, keepdims=True)
    X[7] = 0
    triplets = TripletSampler(y, 0).draw(900)
    triplets[10], triplets[20] = [7, 1, 2], [4, 5, 5]
    return X, triplets


def dense_margins(U: np.ndarray, X: np.ndarray, triplets: np.ndarray) -> np.ndarray:
    return np.array([X[p] @ U @ (X[plus] - X[minus]) for p, plus, minus in triplets])


def dense_mistakes(X: np.ndarray, triplets: np.ndarray, aggressiveness: float) -> list[int]:
    W = np.eye(X.shape[1])
    mistakes = []
    for p, plus, minus in triplets:
        V = np.outer(X[p], X[plus] - X[minus])
        loss = max(0.0, 1 - np.sum(W * V))
        mistakes.append(int(X[p] @ W @ X[plus] <= X[p] @ W @ X[minus]))
        if loss > 0 and V.any():
            W += min(aggressiveness, loss / np.sum(V * V)) * V
    return np.cumsum(mistakes).tolist()


@pytest.mark.parametrize("aggressiveness", [0.05, 2.0])
def test_mistakes_are_those_of_a_dense_run(
    sequence: tuple[np.ndarray, np.ndarray], aggressiveness: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, triplets = sequence
    monkeypatch.setattr(loss_bound, "CHUNK", 128)
    mistakes = mistakes_of(sp.csr_array(X), triplets, aggressiveness)
    np.testing.assert_array_equal(mistakes, dense_mistakes(X, triplets, aggressiveness))
    assert 2 < mistakes[-1] < 900


@pytest.mark.parametrize(("chunk", "block"), [(16_384, 256), (50, 256), (16_384, 7), (50, 7)])
def test_margins_of_any_matrix(
    sequence: tuple[np.ndarray, np.ndarray], chunk: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, triplets = sequence
    monkeypatch.setattr(loss_bound, "CHUNK", chunk)
    monkeypatch.setattr(loss_bound, "QUERY_BLOCK", block)
    U = np.random.default_rng(4).normal(size=(25, 25))
    found = triplet_margins(U, sp.csr_array(X), triplets)
    np.testing.assert_allclose(found, dense_margins(U, X, triplets), atol=1e-12)


@pytest.mark.parametrize("aggressiveness", [0.05, 2.0])
def test_the_bound_is_its_formula_for_every_beginning(
    sequence: tuple[np.ndarray, np.ndarray], aggressiveness: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, triplets = sequence
    monkeypatch.setattr(loss_bound, "CHUNK", 128)
    U = np.random.default_rng(5).normal(size=(25, 25))
    found = bound(U, sp.csr_array(X), triplets, aggressiveness)
    losses = np.maximum(0, 1 - dense_margins(U, X, triplets))
    steps = [np.linalg.norm(np.outer(X[p], X[plus] - X[minus])) ** 2 for p, plus, minus in triplets]
    assert max(steps) > 1 / 2.0
    for m in (1, 2, 300, 900):
        expected = max(max(steps[:m]), 1 / aggressiveness) * (
            np.linalg.norm(U - np.eye(25)) ** 2 + 2 * aggressiveness * losses[:m].sum()
        )
        np.testing.assert_allclose(found[m - 1], expected, rtol=1e-10)


@pytest.mark.parametrize("aggressiveness", [0.01, 0.1, 1.0, 10.0])
def test_the_bound_holds(sequence: tuple[np.ndarray, np.ndarray], aggressiveness: float) -> None:
    X, triplets = sequence
    d = X.shape[1]
    learned = OASIS(aggressiveness, dtype="float64").fit_triplets(X, np.tile(triplets, (5, 1))).W_
    random = np.random.default_rng(6).normal(size=(d, d))
    mistakes = mistakes_of(X, triplets, aggressiveness)
    for U in (np.eye(d), np.zeros((d, d)), learned, 0.3 * learned, 4 * learned, random):
        assert (mistakes <= bound(U, sp.csr_array(X), triplets, aggressiveness)).all()


def test_the_bound_is_not_idle() -> None:
    # one triplet over and over: OASIS mends it in one step, and the nearest U with the margin allows 1.21 mistakes
    X = np.array([[1.0, 0.0], [0.9, 0.1], [1.0, 0.1]])
    triplets = np.tile(np.array([[0, 1, 2]], dtype=np.int32), (500, 1))
    mistakes = mistakes_of(X, triplets, 200.0)
    assert mistakes[-1] == 1
    U = np.eye(2)
    U[0, 0] -= 11.0
    assert mistakes[-1] <= bound(U, sp.csr_array(X), triplets, 200.0)[-1] == pytest.approx(121 / 100)


def test_mistakes_stay_below_the_bound(study):
    table = bound_fold(Fold(*study, 0, 5, "toy"), {"steps": 800, "points": 5, "aggressiveness": 0.1})
    mistakes = select(table, metric="mistakes").set_index("x")["value"]
    bounds = select(table, metric="bound")
    assert set(bounds["method"]) == {"I", "W", "W / 2", "2 W"}
    assert (bounds["value"] >= mistakes[bounds["x"]].to_numpy()).all()
    assert mistakes.index[-1] == 800
    assert (np.diff(mistakes) >= 0).all()
    assert mistakes.iloc[-1] > 0
