"""Diagonal learners: weights that go on, products of pairs of rows, and each against its algorithm on dense vectors."""

import numpy as np
import pandas as pd
import pytest
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
def test_products_made_before_and_on_the_way_give_the_same_bits_and_have_no_names_of_features(learner, monkeypatch):
    frame = pd.DataFrame(X.toarray(), columns=[f"word{number}" for number in range(X.shape[1])])
    model = fitted(learner, frame)
    assert hasattr(model, "feature_names_in_")
    expected, products = model.w_, TripletProducts(X, TRIPLETS)
    for _ in range(2):
        np.testing.assert_array_equal(model.fit_products(products).w_, expected)
    assert not hasattr(model, "feature_names_in_")
    assert model.fit_products(TripletProducts(X[:, :60], TRIPLETS)).n_features_in_ == len(model.w_) == 60
    model.fit_products(TripletProducts(X, TRIPLETS[:0]))
    monkeypatch.setattr(triplet_products, "PRODUCT_BYTES", 0)
    for size in (0, 5_000, 10**7):
        monkeypatch.setattr(triplet_products, "BLOCK_BYTES", size)
        np.testing.assert_allclose(fitted(learner).w_, expected, rtol=0, atol=1e-6 if isinstance(learner, QPAO) else 0)


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


def test_an_overflow_is_said():
    with pytest.raises(ValueError, match="scale the rows of X"):
        SOMLTG(learning_rate=1e300).fit_triplets([[1e5, 1.0], [1e5, 0.0], [0.0, 1.0]], [[0, 1, 2]])
