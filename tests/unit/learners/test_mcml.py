"""MCML: the divergence and its gradient against literal sums, a descent that never rises, and the span of the rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest

from lookalike.learners import MCML
from lookalike.learners import mcml as module
from lookalike.learners.mcml import CollapsingObjective, Point, descend
from lookalike.learners.projections import project_psd


def clusters(n: int, d: int, classes: int = 4, seed: int = 0, signal: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Rows of length 1 whose class shows in a few features of many."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = random.random((n, d)) * (random.random((n, d)) < 0.5)
    X[np.arange(n), y] += signal
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def some_psd(r: int, seed: int = 1) -> np.ndarray:
    factor = np.random.default_rng(seed).standard_normal((r, r))
    return factor @ factor.T + 0.1 * np.eye(r)


def literal_probabilities(X: np.ndarray, A: np.ndarray, i: int) -> dict[int, float]:
    """p(j|i) for all j except i, straight from its definition."""
    weights = {j: np.exp(-(X[i] - X[j]) @ A @ (X[i] - X[j])) for j in range(len(X)) if j != i}
    return {j: weight / sum(weights.values()) for j, weight in weights.items()}


def literal(X: np.ndarray, y: np.ndarray, A: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean divergence and its gradient, pair by pair."""
    value, gradient, with_target = 0.0, np.zeros_like(A), 0
    for i in range(len(X)):
        mates = [j for j in range(len(X)) if j != i and y[j] == y[i]]
        with_target += bool(mates)
        for j, p in literal_probabilities(X, A, i).items() if mates else ():
            ideal = 1 / len(mates) if j in mates else 0.0
            value += ideal * np.log(ideal / p) if ideal else 0.0
            gradient += (ideal - p) * np.outer(X[i] - X[j], X[i] - X[j])
    return value / with_target, gradient / with_target


def odd_rows() -> tuple[np.ndarray, np.ndarray]:
    """Classes of four, three, two and one; equal rows within and across classes; a zero row."""
    X = np.random.default_rng(2).random((10, 4))
    X[1], X[5], X[8] = X[0], X[0], 0
    return X, np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3])


def curve_of(model: MCML) -> np.ndarray:
    return model.curve_["objective"]


# The objective ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [odd_rows, lambda: clusters(13, 5)], ids=["odd", "clusters"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_value_and_gradient_are_the_literal_sums(data: Any, scale: float) -> None:
    X, y = data()
    A = scale * some_psd(X.shape[1])
    value, gradient = CollapsingObjective(X, y).value_and_gradient(np.linalg.cholesky(A))
    expected, expected_gradient = literal(X, y, A)
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-12)


def test_the_gradient_is_that_of_finite_differences() -> None:
    X, y = odd_rows()
    objective, A, step = CollapsingObjective(X, y), some_psd(4), 1e-5
    gradient = objective.value_and_gradient(np.linalg.cholesky(A))[1]
    np.testing.assert_allclose(gradient, gradient.T, atol=1e-15)
    for a, b in [(0, 0), (1, 3), (2, 1)]:
        change = np.zeros((4, 4))
        change[a, b] += step / 2
        change[b, a] += step / 2
        up, down = (objective.value_and_gradient(np.linalg.cholesky(A + s * change))[0] for s in (1, -1))
        assert (up - down) / (2 * step) == pytest.approx(gradient[a, b], abs=1e-7)


def test_each_row_picks_another_with_probability_one() -> None:
    X, _ = odd_rows()
    A = some_psd(4)
    mapped = X @ np.linalg.cholesky(A)
    lengths = np.sum(mapped**2, axis=1)
    probabilities, log_sums = module._neighbour_probabilities(mapped, lengths, slice(0, 10))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-14)
    assert (np.diag(probabilities) == 0).all()
    assert (probabilities >= 0).all()
    for i in range(10):
        for j, expected in literal_probabilities(X, A, i).items():
            assert probabilities[i, j] == pytest.approx(expected, rel=1e-12)
        distances = [(X[i] - X[j]) @ A @ (X[i] - X[j]) for j in range(10) if j != i]
        assert log_sums[i] == pytest.approx(np.log(np.sum(np.exp(-np.array(distances)))), rel=1e-12)


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = odd_rows()
    factor = np.linalg.cholesky(some_psd(4))
    value, gradient = CollapsingObjective(X, y).value_and_gradient(factor)
    for entries in (1, 30, 70):
        monkeypatch.setattr(module, "BLOCK_ENTRIES", entries)
        in_blocks = CollapsingObjective(X, y).value_and_gradient(factor)
        assert in_blocks[0] == pytest.approx(value, rel=1e-13)
        np.testing.assert_allclose(in_blocks[1], gradient, atol=1e-14)


def test_far_rows_do_not_overflow() -> None:
    X, y = clusters(12, 5)
    value, gradient = CollapsingObjective(1e4 * X, y).value_and_gradient(np.eye(5))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="scale its rows"):
        MCML().fit(1e160 * X, y)


def test_the_objective_is_convex_along_a_line() -> None:
    X, y = odd_rows()
    objective, A, B = CollapsingObjective(X, y), some_psd(4, 1), some_psd(4, 2)
    values = [objective.value_and_gradient(np.linalg.cholesky((1 - t) * A + t * B))[0] for t in np.linspace(0, 1, 11)]
    assert (np.diff(values, 2) > 0).all()


# The descent --------------------------------------------------------------------------------------------------------


def test_project_psd_sets_negative_eigenvalues_to_zero() -> None:
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    matrix, factor = project_psd((turn * [3.0, 0.5, -1.0, -2.0]) @ turn.T)
    np.testing.assert_allclose(matrix, (turn * [3.0, 0.5, 0, 0]) @ turn.T, atol=1e-14)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(factor @ factor.T, matrix, atol=1e-14)
    assert factor.shape == (4, 2)


@pytest.mark.parametrize(("n", "d", "share"), [(40, 12, 0.8), (20, 60, 0.01)])
def test_the_objective_never_rises_and_falls_far(n: int, d: int, share: float) -> None:
    X, y = clusters(n, d)
    model = MCML(max_iter=40, tol=0).fit(X, y)
    objective = curve_of(model)
    assert (np.diff(objective) < 0).all()
    assert objective[0] == pytest.approx(literal(X, y, np.eye(d))[0], rel=1e-9)
    assert objective[-1] < share * objective[0]
    assert model.objective_ == objective[-1] == pytest.approx(literal(X, y, model.M_)[0], rel=1e-7)
    assert np.linalg.eigvalsh(model.M_).min() > -1e-9


def test_a_step_that_would_rise_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_next_length", lambda length, moved, bent, step: 1e6 * length)
    X, y = clusters(30, 6, classes=2, seed=4)
    assert (np.diff([point.objective for point in islice(descend(CollapsingObjective(X, y)), 15)]) < 0).all()


def overlapping() -> tuple[np.ndarray, np.ndarray]:
    """Classes that no linear map can collapse, so that the optimum is a matrix and not at infinity."""
    random = np.random.default_rng(7)
    y = np.arange(36) % 3
    return random.standard_normal((36, 3)) + 1.2 * np.eye(3)[y], y


def last_of(objective: CollapsingObjective, steps: int) -> Point:
    *_, point = islice(descend(objective), steps)
    return point


def test_the_end_is_the_optimum() -> None:
    X, y = overlapping()
    objective = CollapsingObjective(X, y)
    point = last_of(objective, 400)
    gradient = objective.value_and_gradient(point.factor)[1]
    # Karush-Kuhn-Tucker: where A may still grow the gradient is not negative, and it is zero along A itself
    assert np.linalg.eigvalsh(gradient).min() > -1e-6
    assert np.abs(gradient @ point.matrix).max() < 1e-6
    random = np.random.default_rng(0)
    for _ in range(20):
        change = random.standard_normal((3, 3)) * 0.05
        nearby = project_psd(point.matrix + change + change.T)[1]
        assert objective.value_and_gradient(nearby)[0] >= point.objective - 1e-10


def test_another_start_ends_at_the_same_matrix() -> None:
    X, y = overlapping()
    one = last_of(CollapsingObjective(X, y), 400)
    # learning from 3 X starts, in terms of X, at A = 9 I
    three = last_of(CollapsingObjective(3 * X, y), 400)
    assert three.objective == pytest.approx(one.objective, abs=1e-9)
    np.testing.assert_allclose(9 * three.matrix, one.matrix, atol=1e-3 * np.abs(one.matrix).max())


def not_normalised(mapped: np.ndarray, lengths: np.ndarray, block: slice) -> tuple[np.ndarray, np.ndarray]:
    probabilities, log_sums = right_probabilities(mapped, lengths, block)
    return probabilities * np.exp(log_sums)[:, None], log_sums


def self_counted(mapped: np.ndarray, lengths: np.ndarray, block: slice) -> tuple[np.ndarray, np.ndarray]:
    probabilities, log_sums = right_probabilities(mapped, lengths, block)
    weights = probabilities * np.exp(log_sums)[:, None]
    weights[np.arange(len(weights)), np.arange(len(weights)) + block.start] = 1
    return weights / weights.sum(axis=1, keepdims=True), np.log(weights.sum(axis=1))


right_probabilities = module._neighbour_probabilities


@pytest.mark.parametrize("wrong", [not_normalised, self_counted])
def test_the_known_mistakes_would_be_seen(wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_neighbour_probabilities", wrong)
    X, y = overlapping()
    factor = np.linalg.cholesky(some_psd(3))
    gradient = CollapsingObjective(X, y).value_and_gradient(factor)[1]
    expected = literal(X, y, some_psd(3))[1]
    assert np.abs(gradient - expected).max() > 0.01 * np.abs(expected).max()


# The learner --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_unused", [0, 3])
def test_the_span_gives_the_matrix_of_the_full_space(n_unused: int) -> None:
    X, y = clusters(16, 40)
    X[:, 40 - n_unused :] = 0
    model = MCML(max_iter=8, tol=0).fit(X, y)
    full = last_of(CollapsingObjective(X, y), 9)
    assert model.n_steps_ == 8
    unseen = clusters(12, 40, seed=9)[0]
    expected = -np.sum(((unseen[:, None] - unseen[None]) @ full.factor) ** 2, axis=2)
    np.testing.assert_allclose(model.similarity(unseen, unseen), expected, atol=1e-8)
    assert np.abs(model.M_ - np.eye(40)).max() > 0.1


def test_learning_stops_by_tol_and_by_steps() -> None:
    X, y = clusters(120, 30)
    by_tol = MCML(max_iter=500, tol=0.05).fit(X, y)
    objective = curve_of(by_tol)
    assert by_tol.converged_
    assert by_tol.n_iter_ == by_tol.n_steps_ == len(objective) - 1 < 500
    assert objective[0] - objective[1] < 0.05 * objective[0], "one short step must not end it"
    drops = objective[:-3] - objective[3:]
    assert drops[-1] <= 0.05 * objective[0] < drops[:-1].min()
    by_steps = MCML(max_iter=2, tol=0).fit(X, y)
    assert not by_steps.converged_
    assert by_steps.n_steps_ == 2
    untrained = MCML(max_iter=0).fit(X, y)
    np.testing.assert_array_equal(untrained.M_, np.eye(30))


def test_nothing_is_learned_from_rows_that_do_not_differ() -> None:
    random = np.random.default_rng(0)
    for row in (np.zeros(5), *random.random((5, 5)), *random.random((5, 40))):
        model = MCML().fit(np.tile(row, (99, 1)), np.arange(99) % 3)
        np.testing.assert_allclose(model.M_, np.eye(len(row)), atol=1e-12)
        assert model.n_steps_ == 0
        assert model.converged_
        assert model.objective_ == pytest.approx(np.log(98 / 32))


def test_differences_of_rounding_only_are_not_learned_from() -> None:
    rows = np.tile(np.random.default_rng(0).random(5) + 1, (9, 1))
    rows[::2] = np.nextafter(rows[::2], 9)
    assert not CollapsingObjective(rows, np.arange(9) % 3).value_and_gradient(np.eye(5))[1].any()


def test_a_row_alone_in_its_class_is_only_pushed_away_from() -> None:
    X, y = clusters(24, 10, classes=3)
    alone, label = X[:1] + 0.01, [3]
    with_it = MCML(max_iter=5, tol=0).fit(np.vstack([X, alone]), np.append(y, label))
    assert np.abs(with_it.M_ - MCML(max_iter=5, tol=0).fit(X, y).M_).max() > 1e-6
    assert (np.diff(curve_of(with_it)) < 0).all()
    for labels in (np.arange(24).astype(str), np.zeros(24, dtype=int)):
        with pytest.raises(ValueError, match="class"):
            MCML().fit(X, labels)
