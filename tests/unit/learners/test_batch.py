"""What the batch learners share: curves and traces, where learning ends, the bar, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from lookalike.learners import LMNN, MCML, MMC, Euclidean
from lookalike.ranking.rankings import mean_average_precision

LEARNERS = [MCML(7, tol=0), MMC(12), LMNN(max_iter=50), LMNN(solver="naive", max_iter=50)]
every = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
each = pytest.mark.parametrize("learner", [MCML, MMC, LMNN])


def noisy_classes(n: int = 40, d: int = 6, n_classes: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with classes told apart by two features, under noise in all."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = random.normal(size=(n, d))
    X[:, :2] += 2 * random.normal(size=(n_classes, 2))[y]
    return X, y


@every
def test_a_trace_changes_no_bit_and_sees_the_matrix_of_its_step(learner: Any) -> None:
    X, y = noisy_classes()
    seen: dict[int, np.ndarray] = {}

    def trace(model: Any, step: int) -> dict[str, float]:
        assert model.n_steps_ == step
        seen[step] = model.similarity(X, X)
        Z = model.transform(X)
        np.testing.assert_allclose(-np.sum((Z[:, None] - Z[None]) ** 2, axis=2), seen[step], atol=1e-8)
        return {"twice": 2.0 * step}

    # the second fit must not show the trace what the first learned
    model = clone(learner).fit(X[::-1], y).fit(X, y, trace=trace, trace_steps=[3, 2, 500])
    last = learner.max_iter
    assert model.curve_["step"].tolist() == list(seen) == [0, 2, 3, last]
    assert list(model.curve_) == ["step", "objective", "twice"]
    assert model.curve_["twice"].tolist() == [0.0, 4.0, 6.0, 2.0 * last]
    np.testing.assert_allclose(seen[0], Euclidean().fit(X).similarity(X, X), atol=1e-12)
    np.testing.assert_array_equal(seen[last], model.similarity(X, X))
    plain = clone(learner).fit(X, y)
    np.testing.assert_array_equal(plain.M_, model.M_)
    np.testing.assert_array_equal(plain.curve_["objective"][[0, 2, 3, -1]], model.curve_["objective"])
    np.testing.assert_array_equal(seen[3], clone(learner).set_params(max_iter=3).fit(X, y).similarity(X, X))
    assert not model.converged_
    assert model.n_iter_ == model.n_steps_ == last
    assert model.objective_ == model.curve_["objective"][-1]


@every
@pytest.mark.parametrize("shape", [(40, 6), (18, 30)])
def test_sparse_rows_learn_the_same_and_the_components_are_a_factor(learner: Any, shape: tuple[int, int]) -> None:
    X, y = noisy_classes(*shape, n_classes=3)
    model, sparse, single = (clone(learner).fit(rows, y) for rows in (X, sp.csr_array(X), X.astype(np.float32)))
    scale = np.abs(model.M_).max()
    np.testing.assert_array_equal(model.M_, model.M_.T)
    np.testing.assert_allclose(model.components_ @ model.components_.T, model.M_, atol=1e-9 * scale)
    np.testing.assert_allclose(sparse.M_, model.M_, atol=1e-7 * scale)
    assert single.M_.dtype == np.float64
    np.testing.assert_allclose(single.M_, model.M_, atol=1e-2 * scale)


@every
def test_no_steps_leave_the_identity(learner: Any) -> None:
    X, y = noisy_classes(18, 30, 3)
    model = clone(learner).set_params(max_iter=0).fit(X, y)
    np.testing.assert_allclose(model.M_, np.eye(30), atol=1e-13)
    assert model.n_steps_ == 0
    assert not model.converged_


@pytest.mark.parametrize("learner", [MCML(5), MMC(20), LMNN(max_iter=30), LMNN(solver="naive", max_iter=30)], ids=repr)
def test_learning_beats_the_euclidean_baseline(learner: Any) -> None:
    # more iterations learn the training rows by heart
    X, y = noisy_classes(200, 20)
    train, test = slice(0, 100), slice(100, 200)
    euclidean = mean_average_precision(Euclidean().fit(X).similarity(X[test], X[test]), y[test])
    model = clone(learner).fit(X[train], y[train])
    assert mean_average_precision(model.similarity(X[test], X[test]), y[test]) > 1.1 * euclidean


@each
def test_mistakes_are_named(learner: Any) -> None:
    X, y = noisy_classes(24)
    with pytest.raises(ValueError, match="trace_steps"):
        learner(max_iter=3).fit(X, y, trace_steps=[-1])
    for rows in (1e160 * X, sp.csr_array(1e160 * X)):
        with pytest.raises(ValueError, match="scale its rows"):
            learner(max_iter=3).fit(rows, y)
    for parameters in ({"max_iter": -1}, {"max_iter": 1.5}, {"tol": -0.1}, {"tol": np.nan}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            learner(**parameters).fit(X, y)


@each
def test_the_bar_shows_the_objective_when_asked_for(learner: Any, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = noisy_classes(24)
    learner(max_iter=3).fit(X, y)
    assert capsys.readouterr().err == ""
    learner(max_iter=3, verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert learner.__name__ in shown
    assert "objective=" in shown
