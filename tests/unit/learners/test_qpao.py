"""QPAO: the conditions of a minimum, for one block and for all weights; other solvers; what a descent may not do."""

from __future__ import annotations

import gc
import signal
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, linprog, minimize
from sklearn.exceptions import ConvergenceWarning

from lookalike.learners import QPAO, TripletProducts, TripletSampler, qpao
from lookalike.learners.qpao import LARGEST_GAP, BlockDescent, Dual, Hinges, block_minimum, distinct_hinges


def landmark(n: int = 40, d: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Sparse rows of length 1, and triplets of six positives, each with all others, against the rest."""
    random = np.random.default_rng(seed)
    X = random.random((n, d)) * (random.random((n, d)) < 0.4)
    X[:6, :4] += 0.7 * random.random((6, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True).clip(1e-12)
    triplets = [(q, p, n_) for q in range(6) for p in range(6) if p != q for n_ in range(6, n)]
    return X, np.array(triplets, dtype=np.int32)


def differences(X: np.ndarray, triplets: np.ndarray) -> np.ndarray:
    return X[triplets[:, 0]] * (X[triplets[:, 1]] - X[triplets[:, 2]])


def objective(w: np.ndarray, X: np.ndarray, triplets: np.ndarray, C: float) -> float:
    return float(0.5 * np.sum((w - 1) ** 2) + C * np.maximum(0, 1 - differences(X, triplets) @ w).sum())


def distance_from_optimal(model: QPAO, X: np.ndarray, triplets: np.ndarray, margin: float = 1e-6) -> float:
    """How far from 0 the nearest subgradient of the joint problem is, by a linear programme over all multipliers.

    A triplet with a loss has multiplier C, one without has 0, one at its kink anything between; the gradient of a
    weight at a bound may point out of the box.
    """
    w, V, C = model.w_, differences(X, triplets), model.C
    upper = len(w) if model.upper is None else model.upper
    shortfall = 1 - V @ w
    bounds = [(C, C) if s > margin else (0, 0) if s < -margin else (0, C) for s in shortfall]
    # minimise t with |w - 1 - V'alpha| <= t, one side only at bounds
    rows, limits = [], []
    for j, (column, value) in enumerate(zip(V.T, w - 1, strict=True)):
        if w[j] > model.lower:
            rows.append(np.append(-column, -1.0))
            limits.append(-value)
        if w[j] < upper:
            rows.append(np.append(column, -1.0))
            limits.append(value)
    found = linprog(
        np.append(np.zeros(len(V)), 1.0), np.array(rows), np.array(limits), bounds=[*bounds, (0, None)], method="highs"
    )
    assert found.status == 0
    return float(found.x[-1])


# One block ------------------------------------------------------------------------------------------------------------


@st.composite
def programmes(draw: Any) -> tuple[Hinges, tuple[float, float]]:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_pairs, b, m = draw(st.integers(2, 12)), draw(st.integers(1, 15)), draw(st.integers(1, 60))
    products = random.normal(size=(n_pairs, b)) * (random.random((n_pairs, b)) < 0.5) * draw(st.sampled_from([0.05, 1]))
    hinges = Hinges(
        sp.csr_array(products),
        random.integers(0, n_pairs, m),
        random.integers(0, n_pairs, m),
        draw(st.sampled_from([0.01, 1.0, 30.0])) * np.ones(m),
        random.normal(1, 1, m),
    )
    lower = draw(st.sampled_from([0.0, -1.0, 2.0]))
    return hinges, (lower, lower + draw(st.sampled_from([0.5, 100.0])))


@settings(max_examples=60, deadline=None)
@given(programmes(), st.booleans())
def test_a_block_meets_the_conditions_of_its_minimum(
    programme: tuple[Hinges, tuple[float, float]], at_bound: bool
) -> None:
    hinges, (lower, upper) = programme
    dense, cost = hinges.products.toarray(), hinges.cost
    found = block_minimum(hinges, (lower, upper), np.full(dense.shape[1], lower if at_bound else (lower + upper) / 2))
    w, alpha = found.weights, found.multipliers
    V = dense[hinges.positive] - dense[hinges.negative]
    shortfall = hinges.targets - V @ w
    scale = max(1.0, float(np.abs(w).max()))
    # box, range of the multipliers
    assert ((w >= lower) & (w <= upper)).all()
    assert ((alpha >= 0) & (alpha <= cost)).all()
    # stationarity: the gradient is zero inside the box and points out of it at a bound
    np.testing.assert_allclose(w, np.clip(1 + V.T @ alpha, lower, upper), atol=1e-6 * scale)
    # complementarity: a loss has the full multiplier, none has none
    np.testing.assert_allclose(alpha * np.maximum(-shortfall, 0), 0, atol=1e-6 * scale)
    np.testing.assert_allclose((cost - alpha) * np.maximum(shortfall, 0), 0, atol=1e-6 * scale)
    assert -1e-9 * scale <= found.gap <= 1e-6 * scale


def test_a_block_starts_where_it_ends() -> None:
    X, triplets = landmark()
    hinges = distinct_hinges(TripletProducts(X, triplets), 5.0)
    first = block_minimum(hinges, (0.0, 30.0), np.ones(hinges.products.shape[1]))
    again = block_minimum(hinges, (0.0, 30.0), first.weights)
    np.testing.assert_allclose(again.weights, first.weights, atol=1e-6)


# All weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 0.3, 3.0])
@pytest.mark.parametrize(("lower", "upper"), [(0.0, None), (0.5, 1.5), (-2.0, 4.0)])
def test_one_block_meets_the_conditions_of_the_joint_minimum(C: float, lower: float, upper: float | None) -> None:
    for seed in range(3):
        X, triplets = landmark(seed=seed)
        model = QPAO(C, lower, upper, n_blocks=1, random_state=0).fit_triplets(X, triplets)
        assert model.w_.min() >= lower
        assert model.w_.max() <= (len(model.w_) if upper is None else upper)
        assert distance_from_optimal(model, X, triplets) < 1e-5
        assert model.objective_ == pytest.approx(objective(model.w_, X, triplets, C), rel=1e-12)
        assert model.converged_
        assert model.n_sweeps_ == 1
        assert model.gap_ < 1e-8


def test_the_condition_can_fail() -> None:
    X, triplets = landmark()
    model = QPAO(3.0, n_blocks=1, random_state=0).fit_triplets(X, triplets)
    model.w_ = np.clip(model.w_ + 1e-3, 0, None)
    assert distance_from_optimal(model, X, triplets) > 1e-4


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_one_block_is_what_slsqp_finds(C: float) -> None:
    X, triplets = landmark(n=10, d=6, seed=4)
    triplets = triplets[::4]
    V, (m, d) = differences(X, triplets), differences(X, triplets).shape
    # weights and slacks side by side
    found = minimize(
        lambda z: 0.5 * np.sum((z[:d] - 1) ** 2) + C * z[d:].sum(),
        np.concatenate([np.ones(d), np.full(m, 2.0)]),
        jac=lambda z: np.concatenate([z[:d] - 1, np.full(m, C)]),
        bounds=[(0, 2.0)] * d + [(0, None)] * m,
        constraints=LinearConstraint(np.hstack([V, np.eye(m)]), lb=1.0),
        method="SLSQP",
        options={"ftol": 1e-11, "maxiter": 500},
    )
    model = QPAO(C, upper=2.0, n_blocks=1, random_state=0).fit_triplets(X, triplets)
    assert found.success
    assert model.objective_ == pytest.approx(found.fun, rel=1e-7)
    np.testing.assert_allclose(model.w_, found.x[:d], atol=1e-4)


# The descent ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_descent_never_rises_and_ends_near_the_joint_minimum(C: float) -> None:
    for seed in range(3):
        X, triplets = landmark(n=30, d=40, seed=seed)
        joint = QPAO(C, n_blocks=1, random_state=0).fit_triplets(X, triplets)
        model = QPAO(C, n_blocks=6, random_state=seed, tol=1e-6, max_sweeps=300).fit_triplets(sp.csr_array(X), triplets)
        curve = model.curve_["objective"]
        assert curve[0] == pytest.approx(objective(np.ones(40), X, triplets, C))
        assert (np.diff(curve) <= 1e-9 * curve[0]).all()
        assert curve[-1] == model.objective_ == pytest.approx(objective(model.w_, X, triplets, C), rel=1e-10)
        assert model.curve_["sweep"].tolist() == list(range(model.n_sweeps_ + 1))
        assert model.w_.min() >= 0
        assert model.w_.max() <= 40
        # it may stop above the minimum, where no block alone can do better, and never below
        assert joint.objective_ * (1 - 1e-9) <= model.objective_ <= joint.objective_ * 1.005


def test_no_block_can_improve_what_it_has_just_minimised() -> None:
    X, triplets = landmark()
    descent = BlockDescent(TripletProducts(X, triplets), 2.0, (0.0, 30.0), 5, 0)
    before = descent.objective()
    descent.sweep()
    assert descent.objective() < before
    scores = descent._hinges.products @ descent.weights
    block = np.arange(7)
    descent._minimise(block, scores)
    kept = descent.weights.copy()
    np.testing.assert_allclose(scores, descent._hinges.products @ kept, atol=1e-12)
    random = np.random.default_rng(0)
    least = descent.objective()
    for size in (1e-3, 1e-1, 1):
        descent.weights = kept.copy()
        descent.weights[block] = np.clip(kept[block] + size * random.normal(size=7), 0, 30)
        assert descent.objective() >= least - 1e-9


def test_words_that_no_pair_shares_stay_at_one() -> None:
    X, triplets = landmark(d=20)
    wide = np.zeros((len(X), 1000))
    wide[:, 5:25] = X
    wide[10, 900] = 3.0
    model = QPAO(random_state=0).fit_triplets(sp.csr_array(wide), triplets)
    assert (np.delete(model.w_, np.arange(5, 25)) == 1).all()
    assert (model.w_[5:25] != 1).any()
    assert model.n_blocks_ <= 20
    bounded = QPAO(lower=1.5, upper=2.0, random_state=0).fit_triplets(sp.csr_array(wide), triplets)
    assert (bounded.w_ >= 1.5).all()
    assert (np.delete(bounded.w_, np.arange(5, 25)) == 1.5).all()
    assert bounded.objective_ == pytest.approx(objective(bounded.w_, wide, triplets, 1.0))


def test_rows_of_zeros_and_no_triplets() -> None:
    for X, triplets in ((np.zeros((4, 3)), [[0, 1, 2]] * 5), (landmark()[0], np.empty((0, 3), dtype=int))):
        model = QPAO(2.0).fit_triplets(X, triplets)
        assert (model.w_ == 1).all()
        assert model.objective_ == 2.0 * len(triplets)
        assert model.converged_
        assert (model.n_blocks_, model.n_sweeps_) == (0, 0)


def test_a_triplet_counts_as_often_as_it_occurs() -> None:
    X, triplets = landmark()
    twice = QPAO(1.0, n_blocks=1).fit_triplets(X, np.tile(triplets, (2, 1)))
    dearer = QPAO(2.0, n_blocks=1).fit_triplets(X, triplets)
    np.testing.assert_allclose(twice.w_, dearer.w_, atol=1e-12)


def test_weights_at_the_lower_bound_are_zero_and_counted() -> None:
    X, triplets = landmark()
    model = QPAO(30.0, n_blocks=1).fit_triplets(X, triplets)
    assert 0 < model.sparsity() == np.mean(model.w_ == 0)


def test_fit_draws_its_triplets_and_prepared_products_are_the_same() -> None:
    X, _ = landmark()
    y = np.repeat([0, 1, 2, 3], 10)
    triplets = TripletSampler(y, 7).draw(200)
    model = QPAO(n_triplets=200, random_state=7).fit(X, y)
    for other in (
        QPAO(random_state=7).fit_triplets(X, triplets),
        QPAO(random_state=7).fit_products(TripletProducts(X, triplets)),
    ):
        np.testing.assert_array_equal(other.w_, model.w_)
    assert not np.array_equal(QPAO(n_triplets=200, random_state=8).fit(X, y).w_, model.w_)


def test_products_in_blocks_of_triplets_are_the_same_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    X, triplets = landmark()
    whole = QPAO(n_blocks=1).fit_triplets(X, triplets)
    monkeypatch.setattr("lookalike.learners.triplet_products.PRODUCT_BYTES", 0)
    monkeypatch.setattr("lookalike.learners.triplet_products.BLOCK_BYTES", 4000)
    np.testing.assert_allclose(QPAO(n_blocks=1).fit_triplets(X, triplets).w_, whole.w_, atol=1e-6)


def test_it_warns_when_sweeps_run_out_and_not_otherwise() -> None:
    X, triplets = landmark(n=60, d=60)
    with pytest.warns(ConvergenceWarning, match="max_sweeps"):
        model = QPAO(10.0, n_blocks=20, max_sweeps=1, random_state=0).fit_triplets(X, triplets)
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert QPAO(10.0, n_blocks=20, tol=1e-3, random_state=0).fit_triplets(X, triplets).converged_


@pytest.mark.parametrize("n_blocks", [1, 6])
def test_it_has_not_converged_where_a_block_is_far_from_its_minimum(
    n_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, triplets = landmark()
    exact = QPAO(10.0, n_blocks=n_blocks, random_state=0).fit_triplets(X, triplets)
    assert exact.converged_
    assert exact.gap_ <= LARGEST_GAP
    monkeypatch.setattr(Dual, "maximum", lambda _, start: start)
    with pytest.warns(ConvergenceWarning, match="of the objective above its minimum: scale the rows of X"):
        model = QPAO(10.0, n_blocks=n_blocks, tol=0.1, random_state=0).fit_triplets(X, triplets)
    assert not model.converged_
    assert model.gap_ > LARGEST_GAP


def test_rows_far_longer_than_one_are_said_to_be_too_much_for_it() -> None:
    """At w = 0 every triplet costs C, and tiny weights do better: whatever is found, it does not count as a minimum."""
    X = 100 * np.random.default_rng(0).random((40, 5))
    y = np.random.default_rng(1).integers(0, 2, 40)
    triplets = TripletSampler(y, 0).draw(400)
    V = differences(X, triplets)
    # a lower bound of the objective, with 1/2 (w - 1)^2 >= 1/2 - w
    bound = linprog(
        np.append(-np.ones(5), np.full(400, 0.1)),
        np.hstack([-V, -np.eye(400)]),
        -np.ones(400),
        bounds=[(0, 5)] * 5 + [(0, None)] * 400,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = QPAO(0.1, n_blocks=1, random_state=0).fit_triplets(X, triplets)
    above = model.objective_ / (2.5 + bound.fun) - 1
    assert model.converged_ == (above <= 1e-5)


def test_a_newton_step_takes_little_memory_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The curvature is the same in parts, of which the last is narrower."""
    random = np.random.default_rng(0)
    products = sp.csr_array(random.random((9, 50)) * (random.random((9, 50)) < 0.5))
    hinges = Hinges(products, random.integers(0, 9, 20), random.integers(0, 9, 20), np.ones(20), np.ones(20))
    dual = Dual(hinges, np.ones(50), (0.0, 2.0))
    free, inside = np.arange(1, 20, 2), np.arange(3, 50)
    v = products.toarray()[hinges.positive[free]][:, inside] - products.toarray()[hinges.negative[free]][:, inside]
    widths = []
    toarray = sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", lambda self: (widths.append(self.shape), toarray(self))[1])
    monkeypatch.setattr(qpao, "PART_BYTES", 8 * 10 * 7)
    np.testing.assert_allclose(dual._curvature(free, inside), v @ v.T, atol=1e-12)
    assert widths == [(10, 7)] * 6 + [(10, 5)]


def test_a_signal_ends_it_between_blocks() -> None:
    X, triplets = landmark(n=200, d=300)

    class Late(Exception):
        pass

    def stop(*_: object) -> None:
        raise Late

    before = signal.signal(signal.SIGPROF, stop)
    # hypothesis times the garbage collector, and an exception that lands in its callback is lost
    gc.disable()
    try:
        signal.setitimer(signal.ITIMER_PROF, 0.05)
        with pytest.raises(Late):
            QPAO(10.0, n_blocks=30, tol=0.0, max_sweeps=10_000, random_state=0).fit_triplets(X, triplets)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        gc.enable()


def test_a_progress_bar_shows_the_objective(capsys: pytest.CaptureFixture[str]) -> None:
    QPAO(verbose=1, random_state=0).fit_triplets(*landmark())
    assert "objective=" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "C must be"),
        ({"C": np.nan}, "C must be"),
        ({"lower": np.inf}, "lower must be"),
        ({"lower": 2.0, "upper": 1.0}, "upper must be"),
        ({"n_blocks": 0}, "n_blocks must be"),
        ({"n_blocks": 1.5}, "n_blocks must be"),
        ({"max_sweeps": 0}, "max_sweeps must be"),
        ({"n_triplets": -1}, "n_triplets must be"),
        ({"tol": -1.0}, "tol must be"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QPAO(**parameters).fit_triplets(*landmark())


def test_transform_needs_weights_that_are_not_negative() -> None:
    X, triplets = landmark()
    assert hasattr(QPAO(), "transform")
    model = QPAO(30.0, lower=-5.0, n_blocks=1).fit_triplets(X, triplets)
    assert model.w_.min() < 0
    assert not hasattr(model, "transform")
    # what was learned decides, not what the parameters have become
    model.set_params(lower=0.0)
    with pytest.raises(AttributeError, match="learn with lower=0, or use similarity"):
        model.transform(X)
    assert np.isfinite(QPAO().fit_triplets(X, triplets).set_params(lower=-5.0).transform(X)).all()
