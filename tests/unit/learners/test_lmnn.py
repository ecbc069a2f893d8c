"""LMNN: its two solvers against each other, and what each may not miss (its objective and gradient: test_batch)."""

from __future__ import annotations

import numpy as np
import pytest
from made_rows_and_examples import noisy_classes
from test_batch import large_margin, literal_targets

from lookalike.learners import LMNN, lmnn
from lookalike.learners.lmnn import rounded_hinge, target_neighbours, warm_up


@pytest.mark.parametrize("width", [1e-3, 0.4, 1.0])
def test_a_rounded_hinge_is_below_the_hinge_by_half_its_width_at_most(width: float) -> None:
    for slack in np.linspace(-1, 2, 61):
        value, slope = rounded_hinge(slack, width)
        assert 0 <= max(0.0, slack) - value <= width / 2 + 1e-15
        ahead, behind = (rounded_hinge(slack + sign * 1e-7, width)[0] for sign in (1, -1))
        assert slope == pytest.approx((ahead - behind) / 2e-7, abs=1e-3)


def test_target_neighbours_are_the_nearest_of_the_class() -> None:
    X, y = noisy_classes(30, 4)
    X[9] = X[12] = X[3]
    X[6] = 0
    assert target_neighbours(X, y, 3).tolist() == literal_targets(X, y, 3)
    X = np.array([[0.0], [1.0], [3.0], [10.0], [20.0], [21.0]])
    found = target_neighbours(X, np.array([0, 0, 0, 1, 2, 2]), 3)
    assert found.tolist() == [[1, 2, -1], [0, 2, -1], [1, 0, -1], [-1, -1, -1], [5, -1, -1], [4, -1, -1]]


@pytest.mark.parametrize(("omega", "scale"), [(0.125, 1.0), (0.5, 1e-3), (0.5, 1e3)])
def test_both_solvers_find_the_same_minimum_below_the_plain_descent(omega: float, scale: float) -> None:
    X, y = noisy_classes(36)
    plain, active, naive = (
        LMNN(omega, accelerated=fast, solver=solver, max_iter=2000, tol=1e-9).fit(scale * X, y)
        for fast, solver in ((False, "active_set"), (True, "active_set"), (True, "naive"))
    )
    assert active.objective_ == pytest.approx(large_margin(scale * X, y, active.M_, omega), rel=1e-9)
    assert active.objective_ == pytest.approx(naive.objective_, rel=1e-4)
    assert active.objective_ <= plain.objective_ * (1 + 1e-6)
    one, two = (model.similarity(scale * X, scale * X) for model in (active, naive))
    np.testing.assert_allclose(one, two, atol=5e-3 * np.abs(two).max())


def test_impostors_that_the_active_set_left_out_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy_classes(40, 6, 4)
    expected = LMNN(accelerated=True, solver="naive", max_iter=2000, tol=1e-9).fit(X, y).objective_
    # a list with hardly any slack to spare misses impostors all the time; the last look is when the descent would end
    for margin, refresh, tolerance in ((0.9, 50, 1.0), (1.02, 50, 1e-3), (1.2, 10**6, 1e-4)):
        monkeypatch.setattr(lmnn, "CANDIDATE_MARGIN", margin)
        model = LMNN(accelerated=True, max_iter=2000, tol=1e-9, refresh=refresh).fit(X, y)
        assert model.objective_ == pytest.approx(large_margin(X, y, model.M_))
        assert model.objective_ < large_margin(X, y, np.eye(6))
        assert model.objective_ == pytest.approx(expected, rel=tolerance)


def test_where_a_descent_ends_and_which_iterations_its_curve_has() -> None:
    X, y = noisy_classes(40, 6, 4)
    model = LMNN(accelerated=True, max_iter=5000, tol=1e-3).fit(X, y, trace_steps=[10, 4999])
    assert model.curve_["step"].tolist() == [0, 10, model.n_steps_]
    assert model.n_steps_ < 4999
    assert model.converged_
    assert not LMNN(accelerated=True, max_iter=model.n_steps_ - 1, tol=1e-3).fit(X, y).converged_
    nowhere = LMNN(max_iter=20).fit(np.zeros((6, 3)), [0, 0, 0, 1, 1, 1])
    assert (nowhere.converged_, nowhere.n_steps_) == (True, 0)
    by_default = LMNN(max_iter=200, tol=0.0).fit(X, y).curve_["step"]
    assert by_default[:4].tolist() == [0, 1, 2, 3]
    assert len(by_default) <= 61


def test_kernels_compile_ahead() -> None:
    warm_up()


def test_few_impostors_are_measured_pair_by_pair() -> None:
    X, y = noisy_classes(120, 5)
    X[:, 2] += 6 * y
    active, naive = (LMNN(solver=solver, max_iter=4, refresh=1).fit(X, y) for solver in ("active_set", "naive"))
    np.testing.assert_allclose(active.M_, naive.M_, atol=1e-9 * np.abs(naive.M_).max())
    assert active.objective_ == pytest.approx(naive.objective_, rel=1e-9)
