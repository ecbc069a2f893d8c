"""Diagonal learners: weights that go on, products of pairs of rows, and each against its algorithm on dense vectors."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows_and_examples import landmark_like, sparse_rows, triplets_of
from sklearn.base import clone

from lookalike.learners import QPAO, SOMLDA, SOMLTG, DiagonalOASIS, TripletProducts, triplet_products

LEARNERS = [SOMLTG(0.5, 0.01), SOMLDA(0.3, 0.2, 0.001, average_every_step=True), DiagonalOASIS(10.0)]
CHANGES = {"SOMLTG": {"learning_rate": 3.0}, "SOMLDA": {"gamma": 3.0}, "DiagonalOASIS": {"aggressiveness": 3.0}}
online = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
X, TRIPLETS = landmark_like()


def fitted(learner, rows=X, triplets=TRIPLETS):
    return clone(learner).fit_triplets(rows, triplets)


@online
def test_going_on_with_other_rows_gives_the_bits_of_one_pass(learner):
    # other triplets have other queries, and so other features; rows may move to another matrix
    for steps in (TRIPLETS, TRIPLETS[np.argsort(TRIPLETS[:, 0], kind="stable")]):
        expected, model = fitted(learner, X, steps), clone(learner)
        for part in np.array_split(steps, 5):
            rows, numbers = np.unique(part, return_inverse=True)
            model.partial_fit_triplets(X[rows], numbers.reshape(part.shape))
        np.testing.assert_array_equal(model.w_, expected.w_)
        assert (model.n_steps_, model.n_updates_) == (expected.n_steps_, expected.n_updates_)


@online
def test_a_projection_is_made_of_what_is_learned_and_not_gone_on_from(learner):
    model = clone(learner).set_params(projection="psd").fit_triplets(X, TRIPLETS[:50])
    assert (model.w_ >= 0).all()
    model.partial_fit_triplets(X, TRIPLETS[50:])
    np.testing.assert_array_equal(model.w_, np.maximum(fitted(learner).w_, 0))
    # other parameters leave the steps before them alone
    changed = fitted(learner).set_params(**CHANGES[type(learner).__name__])
    np.testing.assert_array_equal(changed.partial_fit_triplets(X, TRIPLETS[:0]).w_, fitted(learner).w_)
    none = fitted(learner, X, TRIPLETS[:0])
    assert (set(none.w_), none.n_steps_) == ({1.0 if isinstance(learner, DiagonalOASIS) else 0.0}, 0)


@pytest.mark.parametrize("learner", [*LEARNERS, QPAO(random_state=0)], ids=repr)
def test_prepared_products_give_the_same_and_have_no_names_of_features(learner):
    frame = pd.DataFrame(X.toarray(), columns=[f"word{number}" for number in range(X.shape[1])])
    model = fitted(learner, frame)
    assert hasattr(model, "feature_names_in_")
    expected, products = model.w_, TripletProducts(X, TRIPLETS)
    for _ in range(2):
        np.testing.assert_array_equal(model.fit_products(products).w_, expected)
    assert not hasattr(model, "feature_names_in_")
    assert model.fit_products(TripletProducts(X[:, :60], TRIPLETS)).n_features_in_ == len(model.w_) == 60
    model.fit_products(TripletProducts(X, TRIPLETS[:0]))


@online
def test_products_made_before_and_on_the_way_give_the_same_bits(learner, monkeypatch):
    expected = fitted(learner).w_
    monkeypatch.setattr(triplet_products, "PRODUCT_BYTES", 0)
    for size in (0, 5_000, 10**7):
        monkeypatch.setattr(triplet_products, "BLOCK_BYTES", size)
        np.testing.assert_array_equal(fitted(learner).w_, expected)


def test_products_are_kept_where_pairs_repeat_and_blocks_stay_within_their_memory(monkeypatch):
    rows, y = sparse_rows(300, 400, 2)
    triplets = triplets_of(y, 3_000)
    assert TripletProducts(rows, triplets[:400]).examples.shape == (400, 3)
    assert TripletProducts(rows, np.repeat(triplets[:5], 3, axis=0)).examples.shape == (15, 2)
    monkeypatch.setattr(triplet_products, "PRODUCT_BYTES", 0)
    products = TripletProducts(rows, triplets)
    blocks = list(products.blocks(products.examples))
    assert sum(len(numbers) for _, numbers in blocks) == 3_000
    assert max(form.data.nbytes + form.indices.nbytes for form, _ in blocks) <= triplet_products.BLOCK_BYTES + 12


@pytest.mark.parametrize(
    ("signed", "change", "remedy"),
    [
        (SOMLTG(), {"projection": "psd"}, "projection='psd'"),
        (QPAO(30.0, lower=-5.0, n_blocks=1), {"lower": 0.0}, "lower=0"),
    ],
)
def test_transform_is_there_where_no_weight_is_negative(signed, change, remedy):
    turned = TRIPLETS[:, [0, 2, 1]]  # what queries share with positives must count against them
    model = fitted(signed, X, turned)
    assert model.w_.min() < 0
    # what was learned decides about transform, and what a fit would learn about fit_transform
    assert not hasattr(model, "fit_transform")
    model.set_params(**change)
    assert np.isfinite(clone(model).fit_transform(X, np.arange(29) % 4).data).all()
    with pytest.raises(AttributeError, match=f"learn with {remedy}, or use similarity"):
        model.transform(X)
    projected = fitted(model, X, turned)
    Z = projected.transform(X)
    assert sp.issparse(Z)
    np.testing.assert_allclose((Z @ Z.T).toarray(), projected.similarity(X, X), atol=1e-12)
    projected.set_params(**signed.get_params())
    np.testing.assert_array_equal(projected.transform(X).data, Z.data)


def test_a_million_features_are_no_matrix():
    """1e6 x 1e6 weights, or 500 dense rows, would not fit into this machine."""
    random = np.random.default_rng(0)
    columns = np.append(np.tile(np.arange(20), (500, 1)), random.choice(10**6, (500, 40)), axis=1)
    rows = sp.csr_array((random.random(30_000), columns.ravel(), np.arange(0, 30_001, 60)), shape=(500, 10**6))
    model = SOMLDA().fit_triplets(rows, random.integers(0, 500, (900, 3)))
    np.testing.assert_allclose(model.similarity(rows[:5], rows), ((rows[:5] * model.w_) @ rows.T).toarray(), rtol=1e-12)
    assert 0.95 < model.sparsity() < 1
    assert model.rank(rows[:5], rows, k=3)[0].shape == (5, 3)


@given(
    seed=st.integers(0, 10**6),
    aggressiveness=st.just(0.1) | st.floats(0.01, 1000),
    repeated=st.booleans(),
    shift=st.sampled_from([0.0, 0.0, 1000.0, 1e5]),
)
@settings(max_examples=60, deadline=None)
def test_diagonal_oasis_takes_the_steps_of_oasis_on_a_diagonal_wherever_rows_lie(seed, aggressiveness, repeated, shift):
    rows, triplets = landmark_like(seed=seed) if repeated else (sparse_rows(seed=seed)[0], TRIPLETS)
    rows = 2 * sp.csr_array(rows).toarray() + shift
    w, losses, updates, borderline = np.ones(rows.shape[1]), 0, 0, 0
    for query, positive, negative in triplets:
        v = rows[query] * (rows[positive] - rows[negative])
        loss = 1 - w @ v
        # a step of full length leaves a loss of 0: whether rounding leaves one when the triplet comes again, is chance
        borderline += abs(loss) < 1e-12
        losses += loss > 0
        if loss > 0 and v.any():
            w += min(aggressiveness, loss / (v @ v)) * v
            updates += 1
    model = DiagonalOASIS(aggressiveness).fit_triplets(sp.csr_array(rows), triplets)
    if shift:  # of rounded rows
        np.testing.assert_allclose(model.w_ - 1, w - 1, rtol=0, atol=1e-6 * np.abs(w - 1).max())
        return
    np.testing.assert_allclose(model.w_, w, rtol=0, atol=1e-12 * np.abs(w).max())
    assert abs(model.n_updates_ - updates) <= borderline
    found = np.nansum(model.curve_["loss_rate"] * np.diff(model.curve_["step"], prepend=0))
    assert abs(found - losses) <= borderline + 1e-9
    assert model.sparsity() == 0  # as Tables 4-6 have it


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
