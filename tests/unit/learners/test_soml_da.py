"""SOML-DA against Algorithm 2 written out on dense vectors, with both averages and both signs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from made_triplets import landmark_like, sparse_rows, triplets_of

from lookalike.learners import SOMLDA


def dense_recursion(
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
    gamma=st.sampled_from([1e-4, 1e-3, 0.01, 0.1]).flatmap(lambda g: st.floats(g, 10 * g)),
    rho=st.just(0.0) | st.floats(1e-3, 3.0),
    regularization=st.just(0.0) | st.floats(1e-7, 0.01),
    literal=st.booleans(),
    every_step=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_lazy_averages_give_the_weights_of_the_dense_recursion(
    seed: int, gamma: float, rho: float, regularization: float, literal: bool, every_step: bool
) -> None:
    X, y = sparse_rows(seed=seed)
    triplets = triplets_of(y, 250, seed)
    expected, updates = dense_recursion(
        X, triplets, gamma, rho, regularization, sign=1.0 if literal else -1.0, every_step=every_step
    )
    model = SOMLDA(gamma, rho, regularization, literal_sign=literal, average_every_step=every_step)
    model.fit_triplets(sp.csr_array(X), triplets)
    np.testing.assert_allclose(model.w_, expected, rtol=0, atol=1e-10 * max(1.0, np.abs(expected).max()))
    assert model.n_updates_ == updates


@pytest.mark.parametrize("every_step", [False, True])
@pytest.mark.parametrize("gamma", [1e-4, 0.3])
def test_repeated_pairs(every_step: bool, gamma: float) -> None:
    X, triplets = landmark_like()
    expected, updates = dense_recursion(X.toarray(), triplets, gamma, 1.0, 1e-6, every_step=every_step)
    model = SOMLDA(gamma, average_every_step=every_step).fit_triplets(X, triplets)
    np.testing.assert_allclose(model.w_, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    assert model.n_updates_ == updates


def test_a_step_without_a_loss_leaves_the_weights_as_they_were_made() -> None:
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
        expected, _ = dense_recursion(
            np.array(X), np.array([[0, 1, 2]] * 5 + [[0, 2, 1]]), 0.5, 0.5, 0.25, every_step=every_step
        )
        np.testing.assert_allclose(model.w_, expected, atol=1e-12)
        assert model.last_update_ == 6
    assert expected[0] > 0


def test_the_printed_average_makes_fewer_updates() -> None:
    X, y = sparse_rows(120, 300, 6)
    triplets = triplets_of(y, 3_000)
    default, printed = (SOMLDA(average_every_step=every).fit_triplets(X, triplets) for every in (False, True))
    assert printed.n_updates_ < default.n_updates_ < len(triplets)


def test_the_printed_sign_leaves_every_triplet_violated() -> None:
    X, triplets = landmark_like()
    x, plus, minus = (X.toarray()[triplets[:, k]] for k in range(3))
    literal = SOMLDA(literal_sign=True).fit_triplets(X, triplets)
    assert literal.n_updates_ == literal.n_steps_ == len(triplets)
    assert (literal.curve_["loss_rate"][1:] == 1).all()
    assert ((x * (plus - minus)) @ literal.w_).max() <= 0
    assert SOMLDA().fit_triplets(X, triplets).n_updates_ < len(triplets) / 2


@pytest.mark.parametrize("every_step", [(False, False), (True, True), (True, False), (False, True)])
def test_new_parameters_hold_from_the_next_loss_on(every_step: tuple[bool, bool]) -> None:
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


def test_zeros_have_no_sign() -> None:
    X, triplets = landmark_like()
    model = SOMLDA(0.1, 1.0, 0.01).fit_triplets(X, triplets)
    assert (model.w_[model.state_["feature"]] == 0).any()
    assert not np.signbit(model.w_[model.w_ == 0]).any()


def test_a_larger_lambda_and_a_larger_rho_are_sparser() -> None:
    X, triplets = landmark_like()
    by_lambda = [SOMLDA(0.1, 0.0, value).fit_triplets(X, triplets).sparsity() for value in (0.0, 1e-3, 0.01, 0.03)]
    assert by_lambda == sorted(set(by_lambda))
    by_rho = [SOMLDA(0.1, value, 0.0).fit_triplets(X, triplets).sparsity() for value in (0.0, 0.3, 1.0, 3.0)]
    assert by_rho == sorted(set(by_rho))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": 0.0}, "gamma must be larger than 0"),
        ({"rho": -1.0}, "rho must be 0 or larger"),
        ({"regularization": np.inf}, "regularization must be 0 or larger and finite"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SOMLDA(**parameters).fit([[1.0], [2.0], [1.0], [3.0]], [0, 0, 1, 1])
