"""LMNN, MCML and MMC against the sums that define them, pair by pair; at the end, what is MCML's and MMC's alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows_and_examples import noisy_classes
from sklearn.base import clone

from lookalike.learners import LMNN, MCML, MMC, mcml
from lookalike.learners.mcml import CollapsingObjective


def odd_classes() -> tuple[np.ndarray, np.ndarray]:
    """Classes of four, three, two and one; equal rows within and across classes; a row of zeros."""
    X = np.random.default_rng(2).random((10, 4))
    X[1], X[5], X[8] = X[0], X[0], 0
    return X, np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3])


def pair_distances(X: np.ndarray, M: np.ndarray) -> np.ndarray:
    Z = X[:, None] - X[None]
    return np.maximum(np.einsum("abi,ij,abj->ab", Z, M, Z), 0.0)


def literal_targets(X: np.ndarray, y: np.ndarray, k: int) -> list[list[int]]:
    squared = np.round(pair_distances(X, np.eye(X.shape[1])), 10)
    mates = [[j for j in range(len(X)) if j != i and y[j] == y[i]] for i in range(len(X))]
    return [sorted(own, key=lambda j: (squared[i, j], j))[:k] for i, own in enumerate(mates)]


def large_margin(X: np.ndarray, y: np.ndarray, M: np.ndarray, omega: float = 0.5, k: int = 3) -> float:
    """Equation 13 of the OASIS draft."""
    D = pair_distances(X, M)
    pairs = [(i, j) for i, targets in enumerate(literal_targets(X, y, k)) for j in targets]
    push = sum(np.maximum(0, 1 + D[i, j] - D[i, y != y[i]]).sum() for i, j in pairs)
    return float(omega * sum(D[i, j] for i, j in pairs) + (1 - omega) * push)


def divergence(X: np.ndarray, y: np.ndarray, M: np.ndarray) -> float:
    """Mean divergence from the ideal choice of neighbours (Globerson and Roweis, section 2)."""
    terms = []
    for i, own in enumerate(np.exp(-pair_distances(X, M))):
        chances = np.where(np.arange(len(X)) == i, 0, own)
        mates = (y == y[i]) & (np.arange(len(X)) != i)
        if mates.any():
            terms.append(np.mean(-np.log(mates.sum() * (chances / chances.sum())[mates])))
    return float(np.mean(terms))


def spread(X: np.ndarray, y: np.ndarray, M: np.ndarray, same: bool = False) -> float:
    """Mean distance of pairs of different classes, or mean squared distance within classes (Xing et al., section 2)."""
    D = pair_distances(X, M)
    chosen = [D[i, j] for i, j in itertools.combinations(range(len(X)), 2) if (y[i] == y[j]) == same]
    return float(np.mean(chosen if same else np.sqrt(chosen)))


CASES: list[tuple[Any, Callable[..., float], int]] = [
    (LMNN(max_iter=60, refresh=1), large_margin, -1),
    (LMNN(max_iter=60, solver="naive"), large_margin, -1),
    (MCML(max_iter=15, tol=0), divergence, -1),
    (MMC(max_iter=15), spread, 1),
]
every = pytest.mark.parametrize(("learner", "literal", "sign"), CASES, ids=[str(case[0])[:30] for case in CASES])


@every
@settings(max_examples=6, deadline=None)
@given(
    rows=st.just(odd_classes()) | st.builds(noisy_classes, st.just(24), st.sampled_from([5, 30]), seed=st.integers(0))
)
def test_the_objective_is_the_literal_sum_and_only_improves(
    learner: Any, literal: Callable[..., float], sign: int, rows: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = rows
    identity = np.eye(X.shape[1])
    model = clone(learner).fit(X, y, trace_steps=range(100))
    curve = model.curve_["objective"]
    assert curve[0] == pytest.approx(literal(X, y, identity), rel=1e-9)
    assert curve[-1] == model.objective_ == pytest.approx(literal(X, y, model.M_), rel=1e-7)
    assert (sign * np.diff(curve) >= -1e-9 * curve[0]).all()
    assert sign * curve[-1] > sign * curve[0] * (1 + sign * 0.02)
    values = np.linalg.eigvalsh(model.M_)
    assert values[0] >= -1e-9 * values[-1]
    np.testing.assert_array_equal(model.M_, model.M_.T)
    np.testing.assert_allclose(model.components_ @ model.components_.T, model.M_, atol=1e-9 * values[-1])
    if learner.__class__ is MMC:  # the constraint
        assert spread(X, y, model.M_, same=True) <= spread(X, y, identity, same=True) * (1 + 1e-9)


@every
def test_the_span_gives_the_matrix_of_the_full_space(learner: Any, literal: Any, sign: int) -> None:
    X, y = noisy_classes(20, 12)
    basis = np.linalg.qr(np.random.default_rng(3).normal(size=(35, 12)))[0]
    few, many = (clone(learner).set_params(max_iter=8) for _ in range(2))
    inner, M = few.fit(X, y).M_, many.fit(X @ basis.T, y).M_
    np.testing.assert_allclose(M, basis @ (inner - np.eye(12)) @ basis.T + np.eye(35), atol=1e-7 * np.abs(M).max())
    assert np.abs(inner - np.eye(12)).max() > 0.01
    none = clone(learner).set_params(max_iter=0).fit(X @ basis.T, y)
    np.testing.assert_allclose(none.M_, np.eye(35), atol=1e-13)
    assert (none.n_steps_, none.converged_) == (0, False)


@pytest.mark.parametrize(
    ("learner", "literal", "sign"),
    [
        (LMNN(accelerated=True, max_iter=3000, tol=1e-10), large_margin, -1),
        (LMNN(0.125, accelerated=True, max_iter=3000, tol=1e-10), partial(large_margin, omega=0.125), -1),
        (LMNN(accelerated=True, max_iter=3000, tol=1e-10, solver="naive"), large_margin, -1),
        (MCML(400, tol=0), divergence, -1),
        (MMC(2000, 1e-7), spread, 1),
    ],
    ids=repr,
)
def test_no_other_matrix_is_better_than_the_end(learner: Any, literal: Any, sign: int) -> None:
    random = np.random.default_rng(7)
    y = np.arange(30) % 3
    X = random.normal(size=(30, 3)) + 1.2 * np.eye(3)[y]  # no linear map collapses these
    model = clone(learner).fit(X, y)
    for size in (1e-3, 0.1, 1.0) * 10:
        half = random.normal(size=(3, int(random.integers(1, 4))))
        other = half @ half.T / spread(X, y, half @ half.T, same=True)
        if learner.__class__ is MMC:
            other *= spread(X, y, np.eye(3), same=True)  # a mixture of feasible matrices is one
        mixed = (1 - size) * model.M_ + size * other
        assert sign * literal(X, y, mixed) <= sign * model.objective_ + 2e-6 * abs(model.objective_)


def test_blocks_of_rows_change_nothing_and_far_rows_do_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = odd_classes()
    factor = np.random.default_rng(1).normal(size=(4, 4)) / 4
    value, gradient = CollapsingObjective(X, y).value_and_gradient(factor)
    for entries in (1, 30):
        monkeypatch.setattr(mcml, "BLOCK_ENTRIES", entries)
        in_blocks = CollapsingObjective(X, y).value_and_gradient(factor)
        assert in_blocks[0] == pytest.approx(value, rel=1e-13)
        np.testing.assert_allclose(in_blocks[1], gradient, atol=1e-14)
    assert all(np.isfinite(part).all() for part in CollapsingObjective(1e4 * X, y).value_and_gradient(np.eye(4)))


def test_mcml_stops_by_tol_over_three_steps() -> None:
    X, y = noisy_classes(60, 12)
    by_tol = MCML(max_iter=500, tol=0.05).fit(X, y)
    objective = by_tol.curve_["objective"]
    drops = objective[:-3] - objective[3:]
    assert by_tol.converged_
    assert by_tol.n_iter_ == by_tol.n_steps_ == len(objective) - 1 < 500
    assert drops[-1] <= 0.05 * objective[0] < drops[:-1].min()
    assert not MCML(max_iter=2, tol=0).fit(X, y).converged_


def test_mcml_learns_nothing_from_rows_that_differ_by_rounding_at_most() -> None:
    random = np.random.default_rng(0)
    for row in (np.zeros(5), random.random(40)):
        model = MCML().fit(np.tile(row, (99, 1)), np.arange(99) % 3)
        np.testing.assert_allclose(model.M_, np.eye(len(row)), atol=1e-12)
        assert (model.n_steps_, model.converged_, model.objective_) == (0, True, pytest.approx(np.log(98 / 32)))
    rows = np.tile(random.random(5) + 1, (9, 1))
    rows[::2] = np.nextafter(rows[::2], 9)
    assert not CollapsingObjective(rows, np.arange(9) % 3).value_and_gradient(np.eye(5))[1].any()


def test_mmc_leaves_directions_in_which_no_class_varies() -> None:
    X, y = noisy_classes(18, 30)
    model = MMC(10).fit(X, y)
    deviations = X - np.array([X[y == c].mean(axis=0) for c in range(3)])[y]
    outside = np.linalg.svd(deviations)[2][15:]
    np.testing.assert_allclose(model.M_ @ outside.T, outside.T, atol=1e-10)
    same = MMC(10).fit([[0.0, 1.0], [0.0, 1.0], [3.0, 0.0], [3.0, 0.0]], [0, 0, 1, 1])
    np.testing.assert_allclose(same.M_, np.eye(2), atol=1e-15)
    assert same.converged_
    np.testing.assert_allclose(MMC(15).fit(1000 * X, y).M_, MMC(15).fit(X, y).M_, rtol=1e-6, atol=1e-8)
