"""MMC: its objective and constraint against loops over pairs, its gradient against differences, its ascent."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.learners.mmc import MMC, SpreadingProblem
from lookalike.learners.span import Span


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
