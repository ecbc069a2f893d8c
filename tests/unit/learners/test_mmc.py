"""MMC: its objective and constraint against loops over pairs, its gradient against differences, its ascent."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.learners import Euclidean
from lookalike.learners.mmc import MMC, SpreadingProblem
from lookalike.learners.span import Span
from lookalike.ranking.rankings import mean_average_precision


def noisy_classes(n: int, d: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose classes differ in two features only, and all others are noise."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = random.normal(size=(n, d))
    X[:, :2] += 2 * random.normal(size=(n_classes, 2))[y]
    return X, y


def mean_over_pairs(X: np.ndarray, y: np.ndarray, M: np.ndarray, same: bool) -> float:
    squared = [
        (X[i] - X[j]) @ M @ (X[i] - X[j]) for i, j in itertools.combinations(range(len(X)), 2) if (y[i] == y[j]) == same
    ]
    return float(np.mean(squared if same else np.sqrt(np.maximum(squared, 0))))


# More features than rows, so that most directions are not learned, and more rows than features
shapes = pytest.mark.parametrize(("n", "d"), [(18, 30), (40, 8)])


@shapes
def test_the_result_is_feasible_and_better_than_the_start(n: int, d: int) -> None:
    X, y = noisy_classes(n, d, 3)
    model = MMC(40).fit(sp.csr_array(X), y)
    values = np.linalg.eigvalsh(model.M_)
    assert values[0] >= -1e-12 * values[-1]
    np.testing.assert_array_equal(model.M_, model.M_.T)
    np.testing.assert_allclose(model.components_ @ model.components_.T, model.M_, atol=1e-9 * values[-1])
    assert mean_over_pairs(X, y, model.M_, True) <= mean_over_pairs(X, y, np.eye(d), True) * (1 + 1e-9)
    assert model.objective_ == pytest.approx(mean_over_pairs(X, y, model.M_, False))
    assert model.curve_["objective"][0] == pytest.approx(mean_over_pairs(X, y, np.eye(d), False))
    assert (np.diff(model.curve_["objective"]) > 0).all()
    assert model.objective_ > 1.05 * model.curve_["objective"][0]


@shapes
def test_the_gradient_is_that_of_the_objective(n: int, d: int) -> None:
    X, y = noisy_classes(n, d, 3)
    problem = SpreadingProblem(Span(X).coordinates, y)
    random = np.random.default_rng(1)
    q = len(problem.similar)
    half = random.normal(size=(q, q))
    matrix = np.eye(q) + 0.1 * half @ half.T / q
    gradient = problem.gradient(matrix)
    for _ in range(5):
        change = random.normal(size=(q, q))
        change = (change + change.T) / np.linalg.norm(change + change.T)
        difference = (problem.value(matrix + 1e-5 * change) - problem.value(matrix - 1e-5 * change)) / 2e-5
        assert np.vdot(gradient, change) == pytest.approx(difference, rel=1e-5, abs=1e-9)
    along = problem.along_constraint(gradient)
    assert np.vdot(along, problem.similar) == pytest.approx(0, abs=1e-10)


def test_no_feasible_matrix_is_better_than_a_converged_one() -> None:
    X, y = noisy_classes(30, 3, 3)
    model = MMC(2000, 1e-7).fit(X, y)
    assert model.converged_
    assert model.n_iter_ == model.n_steps_ < 2000
    bound = mean_over_pairs(X, y, np.eye(3), True)
    random = np.random.default_rng(0)
    best = 0.0
    for size in (1.0, 0.1, 0.01):
        for _ in range(40):
            # the objective is concave: mixing with any feasible matrix must not raise it
            half = random.normal(size=(3, int(random.integers(1, 4))))
            other = half @ half.T
            other *= bound / mean_over_pairs(X, y, other, True)
            best = max(best, mean_over_pairs(X, y, (1 - size) * model.M_ + size * other, False))
    assert best <= model.objective_ * (1 + 1e-4)


def test_directions_in_which_no_class_varies_keep_the_identity() -> None:
    X, y = noisy_classes(18, 30, 3)
    model = MMC(10).fit(X, y)
    deviations = X - np.array([X[y == c].mean(axis=0) for c in range(3)])[y]
    outside = np.linalg.svd(deviations)[2][15:]
    np.testing.assert_allclose(model.M_ @ outside.T, outside.T, atol=1e-10)
    same = MMC(10).fit([[0.0, 1.0], [0.0, 1.0], [3.0, 0.0], [3.0, 0.0]], [0, 0, 1, 1])
    np.testing.assert_allclose(same.M_, np.eye(2), atol=1e-15)
    assert same.converged_


def test_the_scale_of_the_rows_does_not_matter() -> None:
    X, y = noisy_classes(24, 6, 3)
    np.testing.assert_allclose(MMC(15).fit(1000 * X, y).M_, MMC(15).fit(X, y).M_, rtol=1e-6, atol=1e-8)


def test_learning_beats_the_euclidean_baseline() -> None:
    X, y = noisy_classes(120, 20, 4)
    train, test = slice(0, 60), slice(60, 120)
    euclidean = mean_average_precision(Euclidean().fit(X).similarity(X[test], X[test]), y[test])
    model = MMC(20).fit(X[train], y[train])
    assert mean_average_precision(model.similarity(X[test], X[test]), y[test]) > 1.1 * euclidean


def test_tracing_changes_nothing_and_the_last_step_is_a_row() -> None:
    X, y = noisy_classes(24, 6, 3)
    matrices = {}

    def trace(model: MMC, step: int) -> dict[str, float]:
        matrices[step] = model.M_.copy()
        assert model.n_steps_ == step
        return {"largest": float(np.abs(model.similarity(X, X)).max())}

    traced = MMC(12).fit(X, y, trace=trace, trace_steps=[3, 500])
    np.testing.assert_array_equal(traced.M_, MMC(12).fit(X, y).M_)
    assert traced.curve_["step"].tolist() == list(matrices) == [0, 3, 12]
    assert set(traced.curve_) == {"step", "objective", "largest"}
    np.testing.assert_allclose(matrices[0], np.eye(6), atol=1e-14)
    np.testing.assert_array_equal(matrices[3], MMC(3).fit(X, y).M_)
    assert not traced.converged_


def test_no_steps_leave_the_identity() -> None:
    X, y = noisy_classes(18, 30, 3)
    model = MMC(0).fit(X, y)
    np.testing.assert_allclose(model.M_, np.eye(30), atol=1e-13)
    assert model.n_steps_ == 0


def test_progress_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = noisy_classes(24, 6, 3)
    MMC(3).fit(X, y)
    assert capsys.readouterr().err == ""
    MMC(3, verbose=1).fit(X, y)
    assert "MMC" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "message"), [({"max_iter": -1}, "max_iter"), ({"max_iter": 1.5}, "max_iter"), ({"tol": -1}, "tol")]
)
def test_parameters_out_of_range_are_named(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MMC(**parameters).fit([[0.0], [1.0], [3.0]], [0, 0, 1])


def test_other_mistakes_are_named() -> None:
    X, y = noisy_classes(24, 6, 3)
    with pytest.raises(ValueError, match="trace_steps"):
        MMC(3).fit(X, y, trace_steps=[-1])
    for rows in (1e200 * X, sp.csr_array(1e200 * X)):
        with pytest.raises(ValueError, match="scale its rows"):
            MMC(3).fit(rows, y)
