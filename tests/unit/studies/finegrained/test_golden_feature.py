"""The golden feature's weights against an independent solver, and its distances against sums made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from lookalike.studies.finegrained.golden_feature import (
    Component,
    GoldenFeature,
    component_distances,
    distance_scales,
    select_l1,
)

NAMES = [("a", "l1"), ("b", "l2"), ("c", "l1"), ("d", "cosine")]


def differences(m: int, k: int, seed: int = 0) -> np.ndarray:
    """Some components help, some hurt, so that both kinds of bounds are active."""
    random = np.random.default_rng(seed)
    return random.normal(np.linspace(-0.5, 0.8, k), 1.0, (m, k))


def solved_by_scipy(rows: np.ndarray, C: float) -> tuple[np.ndarray, float]:
    """The primal problem with slack variables, by sequential quadratic programming."""
    m, k = rows.shape
    largest = C / m
    found = minimize(
        lambda z: 0.5 * z[:k] @ z[:k] + largest * z[k:].sum(),
        np.r_[np.zeros(k), np.ones(m)],
        jac=lambda z: np.r_[z[:k], np.full(m, largest)],
        bounds=[(0, None)] * (k + m),
        constraints={
            "type": "ineq",
            "fun": lambda z: rows @ z[:k] + z[k:] - 1,
            "jac": lambda z: np.hstack([rows, np.eye(m)]),
        },
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert found.success
    return found.x[:k], found.fun


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_the_optimum_is_that_of_another_solver(C: float) -> None:
    rows = differences(40, 4)
    model = GoldenFeature(C, tol=1e-9, max_iter=200_000, random_state=0)
    model.fit_distances(NAMES, np.zeros_like(rows), rows, np.ones(4))
    weights, objective = solved_by_scipy(rows, C)
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-6)
    np.testing.assert_allclose(model.weights_, weights, atol=1e-3)
    assert model.converged_
    assert model.weights_[0] == 0.0
    assert (model.weights_[2:] > 0).all()


def test_the_gap_is_a_bound_and_more_passes_close_it() -> None:
    rows = differences(300, 4, seed=1)
    best = GoldenFeature(5.0, tol=1e-8, max_iter=50_000, random_state=0)
    best.fit_distances(NAMES, np.zeros_like(rows), rows, np.ones(4))
    gaps = []
    for passes in (1, 5, 50):
        model = GoldenFeature(5.0, tol=1e-12, max_iter=passes, random_state=0)
        model.fit_distances(NAMES, np.zeros_like(rows), rows, np.ones(4))
        assert model.objective_ - best.objective_ <= model.gap_ * (1 + 1e-9)
        assert model.n_iter_ == passes
        assert not model.converged_
        gaps.append(model.gap_)
    assert gaps[0] > gaps[1] > gaps[2] > 0


def test_it_learns_who_says_the_truth() -> None:
    random = np.random.default_rng(0)
    truth = random.normal(size=(60, 3)).astype(np.float32)
    components = [
        Component("truth", truth + 0.1 * random.normal(size=truth.shape).astype(np.float32), "l2"),
        Component("noise", random.normal(size=(60, 3)).astype(np.float32), "l2"),
        Component("lie", np.float32(1) / (truth + np.float32(10)), "l1"),
    ]
    triplets = np.array([random.choice(60, 3, replace=False) for _ in range(600)])
    distances = np.linalg.norm(truth[:, None] - truth[None], axis=2)
    swap = distances[triplets[:, 0], triplets[:, 1]] > distances[triplets[:, 0], triplets[:, 2]]
    triplets[swap] = triplets[swap][:, [0, 2, 1]]
    model = GoldenFeature(100.0, random_state=0).fit(components, triplets[:400])
    nearer = component_distances(components, triplets[400:, 0], triplets[400:, 1])
    farther = component_distances(components, triplets[400:, 0], triplets[400:, 2])
    assert model.accuracy(nearer, farther) > 0.9
    assert model.weights_[0] > 5 * model.weights_[1]
    # the same by the weighted sums themselves
    near = model.distances(components, triplets[400:, 0], triplets[400:, 1])
    far = model.distances(components, triplets[400:, 0], triplets[400:, 2])
    assert np.mean(near < far) == pytest.approx(model.accuracy(nearer, farther))
    np.testing.assert_allclose(near, nearer @ (model.weights_ / model.scales_), rtol=1e-6)


def test_component_distances_are_those_of_the_vectors_and_split_signs_for_chi2() -> None:
    random = np.random.default_rng(0)
    signed = random.normal(size=(6, 5)).astype(np.float32)
    counts = np.abs(signed)
    left, right = np.array([0, 1, 5]), np.array([2, 2, 4])
    found = component_distances(
        [Component("s", signed, "l1"), Component("s", signed, "chi2"), Component("c", counts, "chi2")], left, right
    )
    a, b = signed[left], signed[right]
    np.testing.assert_allclose(found[:, 0], np.abs(a - b).sum(axis=1), rtol=1e-5)
    ratio = found[:, 2] / ((np.abs(a) - np.abs(b)) ** 2 / (np.abs(a) + np.abs(b))).sum(axis=1)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-4)  # whatever the constant in front
    parts = [np.hstack([np.maximum(x, 0), np.maximum(-x, 0)]) for x in (a, b)]
    total = parts[0] + parts[1]
    split = ((parts[0] - parts[1]) ** 2 / np.where(total > 0, total, 1)).sum(axis=1)
    np.testing.assert_allclose(found[:, 1], ratio[0] * split, rtol=1e-4)


def test_scales_are_medians_unless_they_are_zero() -> None:
    table = np.array([[1.0, 0.0, 0.0], [3.0, 0.0, 0.0], [7.0, 6.0, 0.0]])
    np.testing.assert_array_equal(distance_scales(table), [3.0, 2.0, 1.0])


def test_a_distance_in_other_units_has_the_same_weight() -> None:
    rows = np.abs(differences(200, 4)) + 1
    farther = rows + differences(200, 4, seed=2)
    farther -= min(farther.min(), 0)
    units = np.array([1.0, 1e3, 1e-3, 7.0])
    first = GoldenFeature(3.0, random_state=0).fit_distances(NAMES, rows, farther)
    second = GoldenFeature(3.0, random_state=0).fit_distances(NAMES, rows * units, farther * units)
    np.testing.assert_allclose(first.weights_, second.weights_, atol=1e-8)


def test_l1_features_with_a_weight_are_chosen_in_proportion() -> None:
    model = GoldenFeature()
    model.features_ = ["a", "a", "b", "c"]
    model.distance_names_ = ["l1", "l2", "l1", "l1"]
    model.weights_, model.scales_ = np.array([2.0, 9.0, 0.0, 3.0]), np.array([1.0, 1.0, 1.0, 2.0])
    assert select_l1(model) == pytest.approx({"a": 2 / 3.5, "c": 1.5 / 3.5})
    assert select_l1(model, {"a": 1.0, "b": 1.0, "c": 4.0}) == pytest.approx({"a": 0.25, "c": 0.75})
    model.weights_ = np.array([0.0, 9.0, 0.0, 0.0])
    assert select_l1(model) == {}


def test_what_cannot_be_learned_from_is_refused() -> None:
    vectors = np.array([[0.0], [1.0], [np.nan]], np.float32)
    with pytest.raises(ValueError, match="component"):
        GoldenFeature().fit([], [[0, 1, 2]])
    with pytest.raises(ValueError, match="NaN"):
        GoldenFeature().fit([Component("x", vectors, "l1")], [[0, 1, 2]])
    with pytest.raises(ValueError, match="at least one"):
        GoldenFeature().fit([Component("x", vectors, "l1")], np.empty((0, 3), int))
    for wrong in ({"C": 0.0}, {"tol": 0.0}, {"max_iter": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            GoldenFeature(**wrong).fit_distances([("a", "l1")], np.zeros((1, 1)), np.ones((1, 1)))
    model = GoldenFeature().fit([Component("x", vectors[:2], "l1")], [[0, 0, 1]])
    with pytest.raises(ValueError, match="order"):
        model.distances([Component("y", vectors, "l1")], [0], [1])
