"""SOML-TG and SOML-DA against Algorithms 1 and 2 on dense vectors, with both signs and both averages."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows_and_examples import landmark_like, sparse_rows, triplets_of

from lookalike.learners import SOMLDA, SOMLTG


def truncate(weights, amount):
    """Equation 11."""
    return np.where(weights >= 0, np.maximum(0, weights - amount), np.minimum(0, weights + amount))


def algorithm_1(X, passes):
    """Algorithm 1 on dense vectors, with the parameters of each pass; a literal sign is what line 6 prints."""
    w, updates = np.zeros(X.shape[1]), 0
    for model, triplets in passes:
        amount = model.learning_rate * model.regularization
        for query, positive, negative in triplets:
            g = (1 if model.literal_sign else -1) * X[query] * (X[positive] - X[negative])
            if 1 - w @ (X[query] * X[positive]) + w @ (X[query] * X[negative]) > 0:
                w = truncate(w - model.learning_rate * g, amount)
                updates += 1
    return w, updates


def algorithm_2(X, passes):
    """Algorithm 2 on dense vectors, as `algorithm_1`; averaging every step is what line 8 prints."""
    w, total, steps, updates = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0, 0
    for model, triplets in passes:
        for query, positive, negative in triplets:
            steps += 1
            v = X[query] * (X[positive] - X[negative])
            loss = max(0, 1 - w @ v)
            if loss > 0 or model.average_every_step:
                total = total + (v if model.literal_sign else -v)
            updates += loss > 0
            if loss > 0:
                threshold = model.regularization + model.gamma * model.rho / np.sqrt(steps)
                w = -np.sqrt(steps) / model.gamma * truncate(total / steps, threshold)
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


@pytest.mark.parametrize(("algorithm", "drawn"), [(algorithm_1, tg), (algorithm_2, da)])
@settings(max_examples=55, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10**6), signed=st.booleans(), repeated=st.booleans())
def test_lazy_steps_give_the_weights_of_the_algorithm(algorithm, drawn, data, seed, signed, repeated):
    """Learn with the parameters of one model, then go on with its own or those of another, and compare."""
    first = data.draw(drawn)
    models = [first, data.draw(drawn | st.just(first))]
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
    for earlier, part in passes:
        model.set_params(**earlier.get_params()).partial_fit_triplets(sp.csr_array(X), part)
    np.testing.assert_allclose(model.w_, expected, rtol=0, atol=1e-10 * max(1.0, np.abs(expected).max()))
    assert (model.n_updates_, model.n_steps_) == (updates, len(triplets))
    assert model.sparsity() == np.mean(np.abs(model.w_) <= 1e-10)
    assert not np.signbit(model.w_[model.w_ == 0]).any()


def test_an_overflow_is_said():
    with pytest.raises(ValueError, match="scale the rows of X"):
        SOMLTG(learning_rate=1e300).fit_triplets([[1e5, 1.0], [1e5, 0.0], [0.0, 1.0]], [[0, 1, 2]])
