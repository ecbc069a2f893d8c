"""LMNN: what its active set may not miss, and where it ends (its objective and minimum: test_batch)."""

from __future__ import annotations

import numpy as np
import pytest
from made_rows_and_examples import noisy_classes
from test_batch import large_margin

from lookalike.learners import LMNN, lmnn


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


def test_a_descent_ends_by_its_rule_and_its_curve_has_sixty_steps() -> None:
    X, y = noisy_classes(40, 6, 4)
    model = LMNN(accelerated=True, max_iter=5000, tol=1e-3).fit(X, y)
    assert model.converged_ == (model.n_steps_ < 4999)
    assert not LMNN(accelerated=True, max_iter=model.n_steps_ - 1, tol=1e-3).fit(X, y).converged_
    nowhere = LMNN(max_iter=20).fit(np.zeros((6, 3)), [0, 0, 0, 1, 1, 1])
    assert (nowhere.converged_, nowhere.n_steps_) == (True, 0)
    steps = LMNN(max_iter=200, tol=0.0).fit(X, y).curve_["step"].tolist()
    assert (steps[:4], len(steps) <= 61) == ([0, 1, 2, 3], True)


def test_few_impostors_are_measured_pair_by_pair() -> None:
    X, y = noisy_classes(120, 5)
    X[:, 2] += 6 * y
    active, naive = (LMNN(solver=solver, max_iter=4, refresh=1).fit(X, y) for solver in ("active_set", "naive"))
    np.testing.assert_allclose(active.M_, naive.M_, atol=1e-9 * np.abs(naive.M_).max())
    assert active.objective_ == pytest.approx(naive.objective_, rel=1e-9)
