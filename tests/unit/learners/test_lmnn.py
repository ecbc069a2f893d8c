"""LMNN against eq. 13 written out triplet by triplet, its gradient, and its two solvers against each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lookalike.learners.lmnn as lmnn
from lookalike.learners import LMNN, batch
from lookalike.learners.lmnn import _ActiveSet, _AllTriplets, rounded_hinge, target_neighbours, warm_up

SOLVERS = ["active_set", "naive"]
both = pytest.mark.parametrize("solver", SOLVERS)


def clustered(n: int = 40, d: int = 6, n_classes: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with classes told apart by three features, under larger noise in the others."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = random.normal(size=(n, d)) * np.where(np.arange(d) < 3, 1.0, 2.0)
    X[:, :3] += 2 * np.eye(n_classes)[y][:, :3]
    return X, y


def literal_targets(X: np.ndarray, y: np.ndarray, k: int) -> list[list[int]]:
    def nearest(i: int) -> list[int]:
        others = [j for j in range(len(X)) if j != i and y[j] == y[i]]
        return sorted(others, key=lambda j: (float(np.sum((X[i] - X[j]) ** 2)), j))[:k]

    return [nearest(i) for i in range(len(X))]


def literal_objective(
    X: np.ndarray, y: np.ndarray, M: np.ndarray, omega: float, k: int, hinge: Callable[[float], float] | None = None
) -> float:
    """Draft eq. 13 as it is printed."""

    def distance(a: int, b: int) -> float:
        return float((X[a] - X[b]) @ M @ (X[a] - X[b]))

    pull = push = 0.0
    for i, targets in enumerate(literal_targets(X, y, k)):
        for j in targets:
            pull += distance(i, j)
            for other in range(len(X)):
                if y[other] != y[i]:
                    slack = 1 + distance(i, j) - distance(i, other)
                    push += max(0.0, slack) if hinge is None else hinge(slack)
    return omega * pull + (1 - omega) * push


def random_psd(r: int, seed: int = 1) -> np.ndarray:
    factor = np.random.default_rng(seed).normal(size=(r, r)) / r
    return factor @ factor.T


def evaluator(solver: str, X: np.ndarray, y: np.ndarray, omega: float = 0.3, k: int = 3) -> _AllTriplets:
    kind = _ActiveSet if solver == "active_set" else _AllTriplets
    return kind(X, y, target_neighbours(X, y, k), omega)


# Objective and gradient ----------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("omega", [0.0, 0.125, 0.5, 1.0])
def test_the_objective_is_equation_13(solver: str, omega: float) -> None:
    X, y = clustered(18, 4, 3)
    y[:3] = [0, 5, 4]  # classes of one row, and one of fewer than k + 1
    y[3] = 4
    y = np.unique(y, return_inverse=True)[1]
    M = random_psd(4)
    triplets = evaluator(solver, X, y, omega)
    triplets.renew(X @ M)
    expected = literal_objective(X, y, M, omega, 3)
    assert triplets.objective(triplets.distances(X @ M), 0.0) == pytest.approx(expected, rel=1e-12)
    assert triplets.full_objective(X @ M) == pytest.approx(expected, rel=1e-12)
    assert expected > 0


@both
@pytest.mark.parametrize("width", [0.0, 0.5])
def test_the_gradient_is_that_of_finite_differences(solver: str, width: float) -> None:
    X, y = clustered(15, 4, 3)
    M = random_psd(4)
    triplets = evaluator(solver, X, y)
    triplets.renew(X @ M)
    gradient = triplets.gradient(triplets.distances(X @ M), width)
    h = 1e-6
    for a in range(4):
        for b in range(a + 1):
            E = np.zeros((4, 4))
            E[a, b] = E[b, a] = h
            high, low = (
                literal_objective(X, y, M + sign * E, 0.3, 3, lambda slack: rounded_hinge(slack, width)[0])
                for sign in (1, -1)
            )
            expected = (high - low) / (2 * h) / (1 if a == b else 2)
            assert gradient[a, b] == gradient[b, a]
            assert gradient[a, b] == pytest.approx(expected, rel=1e-5, abs=1e-5 * np.abs(gradient).max())


@pytest.mark.parametrize("step", [1e-3, 0.3])
def test_the_gradient_by_changes_is_the_whole_gradient(step: float) -> None:
    X, y = clustered(60, 5)
    whole, by_changes = evaluator("naive", X, y), evaluator("active_set", X, y)
    M, direction = random_psd(5), random_psd(5, seed=7)
    by_changes.renew(X @ M)
    for t in range(4):
        rows = X @ (M + t * step * direction)
        if step > 0.1:
            by_changes.renew(rows, keep=True)
        expected = whole.gradient(whole.distances(rows), 0.1)
        np.testing.assert_allclose(
            by_changes.gradient(by_changes.distances(rows), 0.1), expected, atol=1e-10 * np.abs(expected).max()
        )


@pytest.mark.parametrize("width", [1e-3, 0.4, 1.0])
def test_a_rounded_hinge_is_below_the_hinge_by_half_its_width_at_most(width: float) -> None:
    for slack in np.linspace(-1, 2, 301):
        value, slope = rounded_hinge(slack, width)
        assert 0 <= max(0.0, slack) - value <= width / 2 + 1e-15
        ahead, behind = (rounded_hinge(slack + sign * 1e-7, width)[0] for sign in (1, -1))
        assert slope == pytest.approx((ahead - behind) / 2e-7, abs=1e-3)


def test_target_neighbours_are_the_nearest_of_the_class() -> None:
    X, y = clustered(30, 4, 3)
    X[9] = X[3]
    X[12] = X[3]
    X[6] = 0
    found = target_neighbours(X, y, 3)
    assert found.tolist() == literal_targets(X, y, 3)


def test_small_classes_use_the_neighbours_that_they_have() -> None:
    X = np.array([[0.0], [1.0], [3.0], [10.0], [20.0], [21.0]])
    found = target_neighbours(X, np.array([0, 0, 0, 1, 2, 2]), 3)
    assert found.tolist() == [[1, 2, -1], [0, 2, -1], [1, 0, -1], [-1, -1, -1], [5, -1, -1], [4, -1, -1]]


# Descent --------------------------------------------------------------------------------------------------------------


@both
def test_the_literal_descent_never_rises(solver: str) -> None:
    X, y = clustered()
    # an active set that is renewed less often may rise until impostors that it missed are found
    model = LMNN(solver=solver, accelerated=False, max_iter=200, refresh=1).fit(X, y, trace_steps=range(201))
    objective = model.curve_["objective"]
    assert objective[0] == pytest.approx(literal_objective(X, y, np.eye(6), 0.5, 3))
    assert (np.diff(objective) <= 1e-9 * objective[0]).all()
    assert objective[-1] < 0.5 * objective[0]
    assert (np.diff(objective) < 0).sum() > 20


@both
def test_the_accelerated_descent_ends_at_the_minimum(solver: str) -> None:
    X, y = clustered()
    model = LMNN(accelerated=True, solver=solver, max_iter=3000, tol=1e-10).fit(X, y)
    assert model.n_steps_ < 3000
    assert model.objective_ == pytest.approx(literal_objective(X, y, model.M_, 0.5, 3), rel=1e-9)
    assert model.objective_ < LMNN(solver=solver, accelerated=False).fit(X, y).objective_
    # a minimum of a convex function: no other matrix is lower, near or far
    random = np.random.default_rng(5)
    triplets = evaluator("naive", X, y, 0.5)
    for size in (1e-3, 1e-2, 0.1, 1.0) * 20:
        direction = random.normal(size=(6, 6))
        values, vectors = np.linalg.eigh(model.M_ + size * np.abs(model.M_).max() * (direction + direction.T))
        other = vectors * np.sqrt(np.maximum(values, 0))
        assert triplets.full_objective(X @ other) > model.objective_ * (1 - 2e-6)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("omega", [0.125, 0.5])
def test_both_solvers_find_the_same_minimum(seed: int, omega: float) -> None:
    X, y = clustered(seed=seed)
    fits = [LMNN(omega, accelerated=True, solver=solver, max_iter=3000, tol=1e-10).fit(X, y) for solver in SOLVERS]
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-6)
    one, two = (model.similarity(X, X) for model in fits)
    np.testing.assert_allclose(one, two, atol=2e-3 * np.abs(two).max())


def test_impostors_that_the_active_set_left_out_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = clustered(seed=1)
    expected = LMNN(accelerated=True, solver="naive", max_iter=3000, tol=1e-9).fit(X, y).objective_
    # a list without any slack to spare misses impostors all the time
    monkeypatch.setattr(lmnn, "CANDIDATE_MARGIN", 0.9)
    model = LMNN(accelerated=True, max_iter=3000, tol=1e-9, refresh=50).fit(X, y)
    assert literal_objective(X, y, model.M_, 0.5, 3) == pytest.approx(model.objective_)
    assert model.objective_ < literal_objective(X, y, np.eye(6), 0.5, 3)
    monkeypatch.setattr(lmnn, "CANDIDATE_MARGIN", 1.02)
    model = LMNN(accelerated=True, max_iter=3000, tol=1e-9, refresh=50).fit(X, y)
    assert model.objective_ == pytest.approx(expected, rel=1e-3)


def test_the_weight_is_on_the_pull() -> None:
    X, y = clustered()
    traces = [np.trace(LMNN(omega, accelerated=True).fit(X, y).M_) for omega in (0.05, 0.5, 0.95)]
    assert traces[0] > traces[1] > traces[2]
    only_pull = LMNN(1.0, accelerated=True, max_iter=200).fit(X, y)
    assert np.trace(only_pull.M_) < 1e-3
    assert only_pull.objective_ < 1e-3 * only_pull.curve_["objective"][0]


@pytest.mark.parametrize("scale", [1e-3, 1e3])
@both
def test_any_scale_of_the_rows_is_learned_from(scale: float, solver: str) -> None:
    X, y = clustered()
    model = LMNN(accelerated=True, solver=solver, max_iter=3000).fit(scale * X, y)
    plain = LMNN(accelerated=True, solver=solver, max_iter=3000).fit(X, y)
    # M scales with 1 / scale^2
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-3)


# Span -----------------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("accelerated", [False, True])
def test_the_span_gives_the_matrix_of_the_full_space(
    solver: str, accelerated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(2)
    X, y = random.normal(size=(20, 35)), np.arange(20) % 3
    unseen = random.normal(size=(6, 35))
    parameters = {"solver": solver, "max_iter": 15, "accelerated": accelerated}
    model = LMNN(**parameters).fit(X, y)

    class FullSpace:
        def __init__(self, X: np.ndarray) -> None:
            self.coordinates = np.ascontiguousarray(X)

        def full_matrix(self, inner: np.ndarray) -> np.ndarray:
            return inner

        def full_factor(self, factor: np.ndarray) -> np.ndarray:
            return factor

    monkeypatch.setattr(batch, "Span", FullSpace)
    full = LMNN(**parameters).fit(X, y)
    np.testing.assert_allclose(model.M_, full.M_, atol=1e-9)
    np.testing.assert_allclose(model.similarity(unseen, X), full.similarity(unseen, X), atol=1e-8)
    assert np.abs(model.M_ - np.eye(35)).max() > 0.01
    np.testing.assert_allclose(model.transform(unseen) @ model.transform(X).T, unseen @ model.M_ @ X.T, atol=1e-8)


# What is learned ------------------------------------------------------------------------------------------------------


@both
def test_classes_of_one_to_three_rows_duplicates_and_zero_rows(solver: str) -> None:
    X, y = clustered(24, 6, 3)
    y[:6] = [3, 4, 4, 5, 5, 5]
    X[7], X[8:10] = X[10], 0
    model = LMNN(solver=solver, max_iter=150).fit(X, y)
    assert model.objective_ < model.curve_["objective"][0]
    assert model.objective_ == pytest.approx(literal_objective(X, y, model.M_, 0.5, 3), rel=1e-8)
    assert np.linalg.eigvalsh(model.M_)[0] > -1e-10


# Tracing and mistakes -------------------------------------------------------------------------------------------------


def test_the_curve_ends_where_the_descent_ends() -> None:
    X, y = clustered()
    model = LMNN(accelerated=True, max_iter=5000, tol=1e-3).fit(X, y, trace_steps=[10, 4999])
    assert model.curve_["step"].tolist() == [0, 10, model.n_steps_]
    assert model.n_steps_ < 4999
    assert model.converged_
    assert not LMNN(accelerated=True, max_iter=model.n_steps_ - 1, tol=1e-3).fit(X, y).converged_


def test_a_descent_that_has_nowhere_to_go_has_converged() -> None:
    model = LMNN(max_iter=0).fit(*clustered())
    assert not model.converged_
    model = LMNN(max_iter=20).fit(np.zeros((6, 3)), [0, 0, 0, 1, 1, 1])
    assert model.converged_
    assert model.n_steps_ == 0


def test_the_curve_begins_at_the_first_iteration() -> None:
    model = LMNN(max_iter=200, tol=0.0).fit(*clustered())
    assert model.curve_["step"][:4].tolist() == [0, 1, 2, 3]
    assert model.curve_["step"][-1] == model.n_steps_
    assert len(model.curve_["step"]) <= 61


@pytest.mark.parametrize(
    "parameters",
    [
        {"omega": 1.1},
        {"omega": float("nan")},
        {"n_neighbors": 0},
        {"solver": "fast"},
        {"refresh": 0},
    ],
)
def test_parameters_out_of_range_are_named(parameters: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        LMNN(**parameters).fit(*clustered(12))


def test_kernels_compile_ahead() -> None:
    warm_up()
