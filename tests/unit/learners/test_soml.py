"""SOML-TG and SOML-DA against Algorithms 1 and 2 on dense vectors, with both signs and both averages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows_and_examples import landmark_like, sparse_rows, triplets_of

from lookalike.learners import SOMLDA, SOMLTG

Passes = list[tuple[Any, np.ndarray]]


def truncate(weights: np.ndarray, amount: float) -> np.ndarray:
    """Equation 11."""
    return np.where(weights >= 0, np.maximum(0, weights - amount), np.minimum(0, weights + amount))


def algorithm_1(X: np.ndarray, passes: Passes) -> tuple[np.ndarray, int]:
    """Algorithm 1 on dense vectors, with the parameters of each pass; a literal sign is what line 6 prints."""
    w, updates = np.zeros(X.shape[1]), 0
    for model, triplets in passes:
        for query, positive, negative in triplets:
            g = (1 if model.literal_sign else -1) * X[query] * (X[positive] - X[negative])
            if 1 - w @ (X[query] * X[positive]) + w @ (X[query] * X[negative]) > 0:
                w = truncate(w - model.learning_rate * g, model.learning_rate * model.regularization)
                updates += 1
    return w, updates


def algorithm_2(X: np.ndarray, passes: Passes) -> tuple[np.ndarray, int]:
    """Algorithm 2 on dense vectors, as `algorithm_1`; averaging every step is what line 8 prints."""
    w, total, t, updates = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0, 0
    for model, triplets in passes:
        for query, positive, negative in triplets:
            t += 1
            v = X[query] * (X[positive] - X[negative])
            loss = max(0, 1 - w @ v)
            if loss > 0 or model.average_every_step:
                total = total + (v if model.literal_sign else -v)
            if loss > 0:
                threshold = model.regularization + model.gamma * model.rho / np.sqrt(t)
                w = -np.sqrt(t) / model.gamma * truncate(total / t, threshold)
                updates += 1
    return w, updates


tg = st.builds(
    SOMLTG,
    learning_rate=st.just(1.0) | st.floats(0.01, 30),
    regularization=st.sampled_from([0.0, 1e-5]) | st.floats(1e-7, 0.03),
    literal_sign=st.booleans(),
)
da = st.builds(
    SOMLDA,
    gamma=st.sampled_from([1e-4, 1e-3, 0.01, 0.1]).flatmap(lambda gamma: st.floats(gamma, 10 * gamma)),
    rho=st.sampled_from([0.0, 1.0]) | st.floats(1e-3, 3.0),
    regularization=st.sampled_from([0.0, 1e-6]) | st.floats(1e-7, 0.01),
    literal_sign=st.booleans(),
    average_every_step=st.booleans(),
)


def learned_as_written(algorithm: Any, models: list[Any], seed: int, signed: bool, repeated: bool) -> None:
    """Learn with the parameters of one model, then go on with those of the other, and compare."""
    X, y = sparse_rows(seed=seed)
    triplets = triplets_of(y, 250, seed)
    if repeated:  # of a landmark, whose pairs of rows occur in many triplets
        rows, triplets = landmark_like(seed=seed)
        X = rows.toarray()
    if signed:
        X *= np.random.default_rng(seed).choice([-1, 1], X.shape)
    passes = list(zip(models, np.array_split(triplets, [101]), strict=True))
    expected, updates = algorithm(X, passes)
    model = type(models[0])()
    for one, part in passes:
        model.set_params(**one.get_params()).partial_fit_triplets(sp.csr_array(X), part)
    np.testing.assert_allclose(model.w_, expected, rtol=0, atol=1e-10 * max(1.0, np.abs(expected).max()))
    assert (model.n_updates_, model.n_steps_) == (updates, len(triplets))
    assert model.sparsity() == np.mean(np.abs(model.w_) <= 1e-10)
    assert not np.signbit(model.w_[model.w_ == 0]).any()


@given(first=tg, then=tg | st.none(), seed=st.integers(0, 10**6), signed=st.booleans(), repeated=st.booleans())
@settings(max_examples=50, deadline=None)
def test_lazy_truncation_gives_the_weights_of_algorithm_1(
    first: SOMLTG, then: SOMLTG | None, seed: int, signed: bool, repeated: bool
) -> None:
    learned_as_written(algorithm_1, [first, then or first], seed, signed, repeated)


@given(first=da, then=da | st.none(), seed=st.integers(0, 10**6), signed=st.booleans(), repeated=st.booleans())
@settings(max_examples=60, deadline=None)
def test_lazy_averages_give_the_weights_of_algorithm_2(
    first: SOMLDA, then: SOMLDA | None, seed: int, signed: bool, repeated: bool
) -> None:
    learned_as_written(algorithm_2, [first, then or first], seed, signed, repeated)


ROWS = [[2.0, 1.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("every_step", [False, True])
def test_steps_of_da_by_hand(every_step: bool) -> None:
    model = SOMLDA(0.5, 0.5, 0.25, average_every_step=every_step).fit_triplets(ROWS, [[0, 1, 2]])
    np.testing.assert_allclose(model.w_, [7.0, -1.0, 0.0])
    # the loss is 0 now: w is neither shrunk nor scaled by the steps that go on
    model.partial_fit_triplets(ROWS, [[0, 1, 2]] * 4)
    np.testing.assert_array_equal(model.w_, [7.0, -1.0, 0.0])
    assert (model.n_steps_, model.n_updates_, model.last_update_) == (5, 1, 1)
    # nor is the truncation of later steps taken for that of the last update: it would leave no weight, and a loss
    strict = SOMLDA(1.0, 3.0, 0.0, average_every_step=every_step).fit_triplets(ROWS, [[0, 1, 2]] * 5)
    assert (strict.w_.tolist(), strict.n_updates_) == ([1.0, 0.0, 0.0], 1)
    # the next loss works w out anew, with t = 6; only the printed average has the steps between
    model.partial_fit_triplets(ROWS, [[0, 2, 1]])
    assert model.last_update_ == 6
    assert (model.w_[0] > 0) == every_step


@pytest.mark.parametrize("learner", [SOMLTG, SOMLDA])
def test_the_printed_sign_leaves_every_triplet_violated(learner: type[Any]) -> None:
    X, triplets = landmark_like()
    x, plus, minus = (X.toarray()[triplets[:, k]] for k in range(3))
    true, literal = (learner(literal_sign=sign).fit_triplets(X, triplets) for sign in (False, True))
    assert literal.n_updates_ == literal.n_steps_ == len(triplets)
    assert (literal.curve_["loss_rate"][1:] == 1).all()
    assert ((x * (plus - minus)) @ literal.w_).max() <= 0  # further from being satisfied than by no metric at all
    assert true.n_updates_ < len(triplets) / 2
    assert np.mean((x * (plus - minus)) @ true.w_ > 0) > 0.9


def test_an_overflow_is_said() -> None:
    with pytest.raises(ValueError, match="scale the rows of X"):
        SOMLTG(learning_rate=1e300).fit_triplets([[1e5, 1.0], [1e5, 0.0], [0.0, 1.0]], [[0, 1, 2]])
