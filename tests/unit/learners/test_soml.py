"""SOML-TG and SOML-DA against Algorithms 1 and 2 on dense vectors, with both signs and both averages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from made_triplets import landmark_like, sparse_rows, triplets_of

from lookalike.learners import SOMLDA, SOMLTG


def algorithm_1(
    X: np.ndarray,
    triplets: np.ndarray,
    eta: float,
    regularization: float,
    sign: float = -1.0,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, int]:
    """Algorithm 1 on dense vectors; `sign` is -1 for the subgradient, 1 for what line 6 prints."""
    w = np.zeros(X.shape[1]) if start is None else start
    alpha = eta * regularization
    updates = 0
    for query, positive, negative in triplets:
        g = sign * X[query] * (X[positive] - X[negative])
        if 1 - w @ (X[query] * X[positive]) + w @ (X[query] * X[negative]) > 0:
            v = w - eta * g
            w = np.where(v >= 0, np.maximum(0, v - alpha), np.minimum(0, v + alpha))
            updates += 1
    return w, updates


def algorithm_2(
    X: np.ndarray,
    triplets: np.ndarray,
    gamma: float,
    rho: float,
    regularization: float,
    *,
    sign: float = -1.0,
    every_step: bool = False,
) -> tuple[np.ndarray, int]:
    """Algorithm 2 on dense vectors; `sign` is -1 for the subgradient, 1 for what line 7 prints."""
    w, mean = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    updates = 0
    for t, (query, positive, negative) in enumerate(triplets, start=1):
        loss = max(0, 1 - w @ (X[query] * X[positive]) + w @ (X[query] * X[negative]))
        g = sign * X[query] * (X[positive] - X[negative])
        mean = (t - 1) / t * mean + (g / t if loss > 0 or every_step else 0)
        threshold = regularization + gamma * rho / np.sqrt(t)
        if loss > 0:
            w = np.where(abs(mean) <= threshold, 0, -np.sqrt(t) / gamma * (mean - threshold * np.sign(mean)))
            updates += 1
    return w, updates


@given(
    seed=st.integers(0, 10**6),
    eta=st.floats(0.01, 30),
    regularization=st.just(0.0) | st.floats(1e-7, 0.03),
    literal=st.booleans(),
    signed=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_lazy_truncation_gives_the_weights_of_the_algorithm_1(
    seed: int, eta: float, regularization: float, literal: bool, signed: bool
) -> None:
    X, y = sparse_rows(seed=seed)
    if signed:
        X *= np.random.default_rng(seed).choice([-1, 1], X.shape)
    triplets = triplets_of(y, 250, seed)
    expected, updates = algorithm_1(X, triplets, eta, regularization, 1.0 if literal else -1.0)
    model = SOMLTG(eta, regularization, literal_sign=literal).fit_triplets(sp.csr_array(X), triplets)
    np.testing.assert_allclose(model.w_, expected, rtol=0, atol=1e-10 * max(1.0, np.abs(expected).max()))
    assert model.n_updates_ == updates
    assert model.n_steps_ == 250


@given(
    seed=st.integers(0, 10**6),
    gamma=st.sampled_from([1e-4, 1e-3, 0.01, 0.1]).flatmap(lambda g: st.floats(g, 10 * g)),
    rho=st.just(0.0) | st.floats(1e-3, 3.0),
    regularization=st.just(0.0) | st.floats(1e-7, 0.01),
    literal=st.booleans(),
    every_step=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_lazy_averages_give_the_weights_of_the_algorithm_2(
    seed: int, gamma: float, rho: float, regularization: float, literal: bool, every_step: bool
) -> None:
    X, y = sparse_rows(seed=seed)
    triplets = triplets_of(y, 250, seed)
    expected, updates = algorithm_2(
        X, triplets, gamma, rho, regularization, sign=1.0 if literal else -1.0, every_step=every_step
    )
    model = SOMLDA(gamma, rho, regularization, literal_sign=literal, average_every_step=every_step)
    model.fit_triplets(sp.csr_array(X), triplets)
    np.testing.assert_allclose(model.w_, expected, rtol=0, atol=1e-10 * max(1.0, np.abs(expected).max()))
    assert model.n_updates_ == updates


def test_the_paper_s_parameters_and_repeated_pairs() -> None:
    X, triplets = landmark_like()
    expected, updates = algorithm_1(X.toarray(), triplets, 1.0, 1e-5)
    model = SOMLTG().fit_triplets(X, triplets)
    np.testing.assert_allclose(model.w_, expected, rtol=0, atol=1e-12)
    assert 0 < model.n_updates_ == updates < len(triplets)
    for gamma, every_step in ((1e-4, False), (1e-4, True), (0.3, False), (0.3, True)):
        expected, updates = algorithm_2(X.toarray(), triplets, gamma, 1.0, 1e-6, every_step=every_step)
        averaged = SOMLDA(gamma, average_every_step=every_step).fit_triplets(X, triplets)
        np.testing.assert_allclose(averaged.w_, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
        assert averaged.n_updates_ == updates


def test_new_parameters_of_tg_hold_for_the_steps_that_follow() -> None:
    X, triplets = landmark_like()
    first, _ = algorithm_1(X.toarray(), triplets[:100], 1.0, 1e-3)
    expected, _ = algorithm_1(X.toarray(), triplets[100:], 0.3, 0.02, start=first)
    model = SOMLTG(1.0, 1e-3).fit_triplets(X, triplets[:100])
    model.set_params(learning_rate=0.3, regularization=0.02).partial_fit_triplets(X, triplets[100:])
    np.testing.assert_allclose(model.w_, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("every_step", [(False, False), (True, True), (True, False), (False, True)])
def test_new_parameters_of_da_hold_from_the_next_loss_on(every_step: tuple[bool, bool]) -> None:
    X, triplets = landmark_like()
    dense = X.toarray()
    passes = [
        {"gamma": 0.3, "rho": 0.2, "regularization": 1e-3, "average_every_step": every_step[0]},
        {"gamma": 0.02, "rho": 1.0, "regularization": 1e-4, "average_every_step": every_step[1]},
    ]
    w, total, t = np.zeros(120), np.zeros(120), 0
    model = SOMLDA()
    for setting, part in zip(passes, (triplets[:101], triplets[101:]), strict=True):
        for query, positive, negative in part:
            t += 1
            v = dense[query] * (dense[positive] - dense[negative])
            loss = 1 - w @ v
            total -= v if loss > 0 or setting["average_every_step"] else 0
            if loss > 0:
                mean, threshold = total / t, setting["regularization"] + setting["gamma"] * setting["rho"] / np.sqrt(t)
                w = -np.sqrt(t) / setting["gamma"] * np.sign(mean) * np.maximum(abs(mean) - threshold, 0)
        model.set_params(**setting).partial_fit_triplets(X, part)
        np.testing.assert_allclose(model.w_, w, rtol=0, atol=1e-11 * np.abs(w).max())
    assert 0 < model.n_updates_ < len(triplets)


def test_a_step_of_tg_without_a_loss_changes_nothing() -> None:
    X = [[2.0, 1.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    once = SOMLTG(regularization=0.1).fit_triplets(X, [[0, 1, 2]])
    again = SOMLTG(regularization=0.1).fit_triplets(X, [[0, 1, 2]] * 5)
    np.testing.assert_allclose(once.w_, [3.9, -0.9, 0.0])
    np.testing.assert_array_equal(again.w_, once.w_)
    assert (again.n_steps_, again.n_updates_) == (5, 1)


def test_a_step_of_da_without_a_loss_leaves_the_weights_as_they_were_made() -> None:
    X = [[2.0, 1.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    for every_step in (False, True):
        model = SOMLDA(0.5, 0.5, 0.25, average_every_step=every_step)
        one = model.fit_triplets(X, [[0, 1, 2]]).w_
        np.testing.assert_allclose(one, [7.0, -1.0, 0.0])
        # the loss of the second triplet is 0: w is neither shrunk nor scaled by the steps that go on
        model.partial_fit_triplets(X, [[0, 1, 2]] * 4)
        np.testing.assert_array_equal(model.w_, one)
        assert (model.n_steps_, model.n_updates_, model.last_update_) == (5, 1, 1)
        # the next loss works w out anew, with t = 6 and, in the printed average, the steps that had none
        model.partial_fit_triplets(X, [[0, 2, 1]])
        expected, _ = algorithm_2(
            np.array(X), np.array([[0, 1, 2]] * 5 + [[0, 2, 1]]), 0.5, 0.5, 0.25, every_step=every_step
        )
        np.testing.assert_allclose(model.w_, expected, atol=1e-12)
        assert model.last_update_ == 6
    assert expected[0] > 0


def test_a_step_of_empty_rows_truncates() -> None:
    X = [[2.0, 1.0], [2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    model = SOMLTG(regularization=0.25).fit_triplets(X, [[0, 1, 2], [3, 0, 1], [0, 3, 3]])
    np.testing.assert_allclose(model.w_, [3.25, -0.25])
    assert model.n_updates_ == 3


def test_the_printed_average_makes_fewer_updates() -> None:
    X, y = sparse_rows(120, 300, 6)
    triplets = triplets_of(y, 3_000)
    default, printed = (SOMLDA(average_every_step=every).fit_triplets(X, triplets) for every in (False, True))
    assert printed.n_updates_ < default.n_updates_ < len(triplets)


@pytest.mark.parametrize("learner", [SOMLTG, SOMLDA])
def test_the_printed_sign_leaves_every_triplet_violated(learner: type[Any]) -> None:
    X, triplets = landmark_like()
    x, plus, minus = (X.toarray()[triplets[:, k]] for k in range(3))
    true, literal = (learner(literal_sign=sign).fit_triplets(X, triplets) for sign in (False, True))
    assert literal.n_updates_ == literal.n_steps_ == len(triplets)
    assert (literal.curve_["loss_rate"][1:] == 1).all()
    margins = (x * (plus - minus)) @ literal.w_
    assert margins.max() <= 0  # further from being satisfied than by no metric at all
    assert true.n_updates_ < len(triplets) / 2
    assert np.mean((x * (plus - minus)) @ true.w_ > 0) > 0.9


def test_zeros_have_no_sign() -> None:
    X, triplets = landmark_like()
    model = SOMLDA(0.1, 1.0, 0.01).fit_triplets(X, triplets)
    assert (model.w_[model.state_["feature"]] == 0).any()
    assert not np.signbit(model.w_[model.w_ == 0]).any()


@pytest.mark.parametrize(
    "learners",
    [
        [SOMLTG(regularization=value) for value in (0.0, 1e-3, 0.01, 0.1)],
        [SOMLDA(0.1, 0.0, value) for value in (0.0, 1e-3, 0.01, 0.03)],
        [SOMLDA(0.1, value, 0.0) for value in (0.0, 0.3, 1.0, 3.0)],
    ],
    ids=["lambda of TG", "lambda of DA", "rho"],
)
def test_larger_is_sparser(learners: list[Any]) -> None:
    shares = [learner.fit_triplets(*landmark_like()).sparsity() for learner in learners]
    assert shares == sorted(set(shares))
    assert shares[-1] > 0.5


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (SOMLTG(learning_rate=0.0), "learning_rate must be larger than 0"),
        (SOMLTG(learning_rate=np.inf), "learning_rate must be larger than 0 and finite"),
        (SOMLTG(regularization=-1e-9), "regularization must be 0 or larger"),
        (SOMLTG(regularization=np.nan), "regularization must be 0 or larger"),
        (SOMLTG(projection="symmetric"), "projection must be None or 'psd'"),
        (SOMLTG(n_steps=2.5), "n_steps must be a whole number"),
        (SOMLDA(gamma=0.0), "gamma must be larger than 0"),
        (SOMLDA(rho=-1.0), "rho must be 0 or larger"),
        (SOMLDA(regularization=np.inf), "regularization must be 0 or larger and finite"),
    ],
    ids=repr,
)
def test_parameters_out_of_range_are_refused(learner: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learner.fit([[1.0], [2.0], [1.0], [3.0]], [0, 0, 1, 1])


def test_an_overflow_is_said() -> None:
    with pytest.raises(ValueError, match="scale the rows of X"):
        SOMLTG(learning_rate=1e300).fit_triplets([[1e5, 1.0], [1e5, 0.0], [0.0, 1.0]], [[0, 1, 2]])
