"""SOML-TG against Algorithm 1 written out on dense vectors, and what its printed sign does."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from made_triplets import landmark_like, sparse_rows, triplets_of

from lookalike.learners import SOMLTG


def dense_recursion(
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


@given(
    seed=st.integers(0, 10**6),
    eta=st.floats(0.01, 30),
    regularization=st.just(0.0) | st.floats(1e-7, 0.03),
    literal=st.booleans(),
    signed=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_lazy_truncation_gives_the_weights_of_the_dense_recursion(
    seed: int, eta: float, regularization: float, literal: bool, signed: bool
) -> None:
    X, y = sparse_rows(seed=seed)
    if signed:
        X *= np.random.default_rng(seed).choice([-1, 1], X.shape)
    triplets = triplets_of(y, 250, seed)
    expected, updates = dense_recursion(X, triplets, eta, regularization, 1.0 if literal else -1.0)
    model = SOMLTG(eta, regularization, literal_sign=literal).fit_triplets(sp.csr_array(X), triplets)
    np.testing.assert_allclose(model.w_, expected, rtol=0, atol=1e-10 * max(1.0, np.abs(expected).max()))
    assert model.n_updates_ == updates
    assert model.n_steps_ == 250


def test_the_paper_s_parameters_and_repeated_pairs() -> None:
    X, triplets = landmark_like()
    expected, updates = dense_recursion(X.toarray(), triplets, 1.0, 1e-5, -1.0)
    model = SOMLTG().fit_triplets(X, triplets)
    np.testing.assert_allclose(model.w_, expected, rtol=0, atol=1e-12)
    assert 0 < model.n_updates_ == updates < len(triplets)


def test_new_parameters_hold_for_the_steps_that_follow() -> None:
    X, triplets = landmark_like()
    first, _ = dense_recursion(X.toarray(), triplets[:100], 1.0, 1e-3)
    expected, _ = dense_recursion(X.toarray(), triplets[100:], 0.3, 0.02, start=first)
    model = SOMLTG(1.0, 1e-3).fit_triplets(X, triplets[:100])
    model.set_params(learning_rate=0.3, regularization=0.02).partial_fit_triplets(X, triplets[100:])
    np.testing.assert_allclose(model.w_, expected, rtol=0, atol=1e-12)


def test_a_larger_lambda_is_sparser() -> None:
    X, triplets = landmark_like()
    shares = [SOMLTG(regularization=value).fit_triplets(X, triplets).sparsity() for value in (0.0, 1e-3, 0.01, 0.1)]
    assert shares == sorted(set(shares))
    assert shares[-1] > 0.9


def test_a_step_without_a_loss_changes_nothing() -> None:
    X = [[2.0, 1.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    once = SOMLTG(regularization=0.1).fit_triplets(X, [[0, 1, 2]])
    again = SOMLTG(regularization=0.1).fit_triplets(X, [[0, 1, 2]] * 5)
    np.testing.assert_allclose(once.w_, [3.9, -0.9, 0.0])
    np.testing.assert_array_equal(again.w_, once.w_)
    assert (again.n_steps_, again.n_updates_) == (5, 1)


def test_a_step_of_empty_rows_truncates() -> None:
    X = [[2.0, 1.0], [2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    model = SOMLTG(regularization=0.25).fit_triplets(X, [[0, 1, 2], [3, 0, 1], [0, 3, 3]])
    np.testing.assert_allclose(model.w_, [3.25, -0.25])
    assert model.n_updates_ == 3


def test_the_printed_sign_leaves_every_triplet_violated() -> None:
    X, triplets = landmark_like()
    x, plus, minus = (X.toarray()[triplets[:, k]] for k in range(3))
    true, literal = (SOMLTG(literal_sign=sign).fit_triplets(X, triplets) for sign in (False, True))
    assert literal.n_updates_ == literal.n_steps_ == len(triplets)
    assert (literal.curve_["loss_rate"][1:] == 1).all()
    margins = (x * (plus - minus)) @ literal.w_
    assert margins.max() <= 0  # further from being satisfied than by no metric at all
    assert true.n_updates_ < len(triplets) / 2
    assert np.mean((x * (plus - minus)) @ true.w_ > 0) > 0.9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be larger than 0"),
        ({"learning_rate": np.inf}, "learning_rate must be larger than 0 and finite"),
        ({"regularization": -1e-9}, "regularization must be 0 or larger"),
        ({"regularization": np.nan}, "regularization must be 0 or larger"),
        ({"projection": "symmetric"}, "projection must be None or 'psd'"),
        ({"n_steps": 2.5}, "n_steps must be a whole number"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SOMLTG(**parameters).fit([[1.0], [2.0], [1.0], [3.0]], [0, 0, 1, 1])


def test_an_overflow_is_said() -> None:
    with pytest.raises(ValueError, match="scale the rows of X"):
        SOMLTG(learning_rate=1e300).fit_triplets([[1e5, 1.0], [1e5, 0.0], [0.0, 1.0]], [[0, 1, 2]])
