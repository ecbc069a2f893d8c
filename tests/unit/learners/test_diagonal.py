"""What diagonal learners share: weights that save and go on, products of pairs of rows, similarity without a matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from made_triplets import landmark_like, sparse_rows, triplets_of
from sklearn.base import clone

import lookalike
from lookalike.learners import (
    QPAO,
    SOMLDA,
    SOMLTG,
    TFIDF,
    DiagonalOASIS,
    TripletProducts,
    TripletSampler,
    triplet_products,
)

LEARNERS = [
    SOMLTG(),
    SOMLTG(0.5, 0.01),
    SOMLTG(regularization=0.001, literal_sign=True),
    SOMLDA(),
    SOMLDA(0.3, 0.2, 0.001),
    SOMLDA(0.3, 0.2, 0.001, average_every_step=True),
    SOMLDA(literal_sign=True),
    DiagonalOASIS(),
    DiagonalOASIS(10.0),
]
online = pytest.mark.parametrize("learner", LEARNERS, ids=repr)


def fitted(learner: Any, X: Any, triplets: np.ndarray) -> Any:
    return clone(learner).fit_triplets(X, triplets)


# Going on -------------------------------------------------------------------------------------------------------------


@online
def test_going_on_gives_the_bits_of_one_pass(learner: Any, tmp_path: Path) -> None:
    X, triplets = landmark_like()
    whole = fitted(learner, X, triplets)
    # other triplets have other queries, and so other features; rows may move to another matrix; a model may be saved
    order = np.argsort(triplets[:, 0], kind="stable")
    whole_in_order = fitted(learner, X, triplets[order])
    for expected, steps in ((whole, triplets), (whole_in_order, triplets[order])):
        model = clone(learner)
        for part in np.array_split(steps, 7):
            rows, numbers = np.unique(part, return_inverse=True)
            model.partial_fit_triplets(X[rows], numbers.reshape(part.shape))
            model.save(tmp_path / "model.npz")
            model = lookalike.load(tmp_path / "model.npz")
        np.testing.assert_array_equal(model.w_, expected.w_)
        assert (model.n_steps_, model.n_updates_) == (expected.n_steps_, expected.n_updates_)


CHANGES = [
    (SOMLTG(), {"regularization": 0.5}),
    (SOMLTG(0.5, 0.01), {"learning_rate": 2.0}),
    (SOMLTG(0.5, 0.01), {"literal_sign": True}),
    (SOMLDA(0.3, 0.2, 0.001), {"regularization": 0.1}),
    (SOMLDA(0.3, 0.2, 0.001), {"gamma": 3.0}),
    (SOMLDA(0.3, 0.2, 0.001, average_every_step=True), {"rho": 2.0, "average_every_step": False}),
    (DiagonalOASIS(), {"aggressiveness": 5.0}),
]


@pytest.mark.parametrize(("learner", "change"), CHANGES, ids=repr)
def test_new_parameters_leave_the_steps_before_them_alone(learner: Any, change: dict[str, Any], tmp_path: Path) -> None:
    X, triplets = landmark_like()
    model = fitted(learner, X, triplets[:100])
    before = model.w_.copy()
    straight = fitted(learner, X, triplets[:100]).set_params(**change).partial_fit_triplets(X, triplets[100:])
    model.set_params(**change).save(tmp_path / "model.npz")
    loaded = lookalike.load(tmp_path / "model.npz").partial_fit_triplets(X, triplets[100:])
    model.partial_fit_triplets(X, triplets[:0])
    np.testing.assert_array_equal(model.w_, before)
    model.partial_fit_triplets(X, triplets[100:])
    for other in (straight, loaded):
        np.testing.assert_array_equal(other.w_, model.w_)
    assert (model.w_ != fitted(learner, X, triplets).w_).any()


@online
def test_a_projection_is_made_of_what_is_learned_and_not_gone_on_from(learner: Any) -> None:
    X, triplets = landmark_like()
    plain = fitted(learner, X, triplets)
    model = clone(learner).set_params(projection="psd")
    model.fit_triplets(X, triplets[:50])
    assert (model.w_ >= 0).all()
    model.partial_fit_triplets(X, triplets[50:])
    np.testing.assert_array_equal(model.w_, np.maximum(plain.w_, 0))


@online
def test_fit_draws_from_labels_what_the_sampler_draws(learner: Any) -> None:
    X, y = sparse_rows()
    model = clone(learner).set_params(n_steps=300, random_state=3).fit(sp.csr_array(X), y)
    expected = fitted(learner, sp.csr_array(X), TripletSampler(y, 3).draw(300))
    np.testing.assert_array_equal(model.w_, expected.w_)


@online
def test_no_triplets_leave_the_start(learner: Any) -> None:
    X, _ = landmark_like()
    model = fitted(learner, X, np.empty((0, 3), dtype=int))
    assert set(model.w_) == {learner.untouched}
    assert model.n_steps_ == 0


@pytest.mark.parametrize("learner", [*LEARNERS, QPAO(random_state=0)], ids=repr)
def test_prepared_products_have_no_names_of_features(learner: Any) -> None:
    X, triplets = landmark_like()
    frame = pd.DataFrame(X.toarray(), columns=[f"word{number}" for number in range(X.shape[1])])
    model = fitted(learner, frame, triplets)
    assert hasattr(model, "feature_names_in_")
    model.fit_products(TripletProducts(X[:, :60], triplets))
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == len(model.w_) == 60


@pytest.mark.parametrize("learner", [*LEARNERS, QPAO()], ids=repr)
def test_products_without_triplets_are_refused(learner: Any) -> None:
    X, triplets = landmark_like()
    with pytest.raises(ValueError, match=r"made without triplets.*TripletProducts\(X, triplets\)"):
        clone(learner).fit_products(TripletProducts(X))
    clone(learner).fit_products(TripletProducts(X, triplets[:0]))


# Products of pairs ----------------------------------------------------------------------------------------------------


@online
def test_products_made_before_and_on_the_way_give_the_same_bits(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, triplets = landmark_like()
    products = TripletProducts(X, triplets)
    assert products.n_pairs == 4 * 3 + 4 * 25
    assert products.examples.shape == (len(triplets), 2)
    before = clone(learner).fit_products(products)
    again = clone(learner).fit_products(products)
    monkeypatch.setattr(triplet_products, "PRODUCT_BYTES", 0)
    blocked = TripletProducts(X, triplets)
    assert blocked.examples.shape == (len(triplets), 3)
    for size in (0, 5_000, 10**7):
        monkeypatch.setattr(triplet_products, "BLOCK_BYTES", size)
        np.testing.assert_array_equal(fitted(learner, X, triplets).w_, before.w_)
    np.testing.assert_array_equal(again.w_, before.w_)
    assert vars(again).keys() == vars(fitted(learner, X, triplets)).keys()


def test_products_of_pairs_that_do_not_repeat_are_not_kept() -> None:
    X, y = sparse_rows(200, 60, 2)
    triplets = triplets_of(y, 400)
    assert TripletProducts(X, triplets).examples.shape == (400, 3)
    few = np.repeat(triplets[:5], 3, axis=0)
    assert TripletProducts(X, few).examples.shape == (15, 2)


def test_products_are_those_of_the_rows() -> None:
    X, triplets = landmark_like()
    products = TripletProducts(X, triplets)
    dense = X.toarray()
    np.testing.assert_array_equal(products.columns, np.flatnonzero(dense[:4].any(axis=0)))
    ((made, numbers),) = products.blocks(products.examples)
    for triplet, pair in zip(triplets[:40], numbers[:40], strict=True):
        for other, number in zip(triplet[1:], pair, strict=True):
            product = np.zeros(120)
            part = slice(made.starts[number], made.starts[number + 1])
            product[products.columns[made.places[part]]] = made.values[part]
            np.testing.assert_array_equal(product, dense[triplet[0]] * dense[other])
            assert (made.values[part] != 0).all()


def test_blocks_stay_within_their_memory() -> None:
    X, y = sparse_rows(300, 400, 2)
    products = TripletProducts(X)
    triplets = triplets_of(y, 5_000)
    steps = 0
    for made, numbers in products.blocks(triplets):
        assert made.values.nbytes + made.places.nbytes <= triplet_products.BLOCK_BYTES + 12
        steps += len(numbers)
    assert steps == 5_000


@online
def test_rows_of_any_form_give_the_same_and_are_not_changed(learner: Any) -> None:
    X, triplets = landmark_like()
    expected = fitted(learner, X, triplets).w_
    np.testing.assert_array_equal(fitted(learner, X.toarray(), triplets).w_, expected)
    twice = sp.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2).astype(np.int64), 2 * X.indptr.astype(np.int64)), X.shape
    )
    before = twice.data.copy(), twice.indices.copy()
    np.testing.assert_array_equal(fitted(learner, twice, triplets).w_, expected)
    np.testing.assert_array_equal(twice.data, before[0])
    np.testing.assert_array_equal(twice.indices, before[1])
    single = fitted(learner, X.astype(np.float32), triplets).w_
    assert single.dtype == np.float64
    np.testing.assert_array_equal(single, fitted(learner, X.astype(np.float32).astype(np.float64), triplets).w_)


def test_bad_rows_and_triplets_are_refused() -> None:
    X, _ = landmark_like()
    with pytest.raises(ValueError, match="0 to 28"):
        TripletProducts(X, [[0, 1, 29]])
    with pytest.raises(ValueError, match="too large to be squared"):
        TripletProducts(1e80 * X, [[0, 1, 2]])
    with pytest.raises(ValueError, match="NaN"):
        TripletProducts(np.nan * X.toarray(), [[0, 1, 2]])


# Weights --------------------------------------------------------------------------------------------------------------


def test_sparsity_counts_weights_up_to_the_papers_threshold() -> None:
    model = TFIDF().fit(np.eye(5))
    model.w_ = np.array([0.0, 1e-10, -1e-10, 1.1e-10, -3.0])
    assert model.sparsity() == pytest.approx(0.6)


def test_transform_is_there_where_no_weight_is_negative() -> None:
    X, triplets = landmark_like()
    plain = SOMLTG().fit_triplets(X, triplets)
    assert plain.w_.min() < 0
    assert not hasattr(plain, "transform")
    with pytest.raises(AttributeError, match=r"learn with projection='psd', or use similarity"):
        plain.transform(X)
    projected = SOMLTG(projection="psd").fit_triplets(X, triplets)
    Z = projected.transform(X)
    assert sp.issparse(Z)
    np.testing.assert_allclose((Z @ Z.T).toarray(), projected.similarity(X, X), atol=1e-12)
    # what was learned decides, and what a fit would learn about fit_transform
    plain.set_params(projection="psd")
    assert not hasattr(plain, "transform")
    assert np.isfinite(plain.fit_transform(X, np.arange(29) % 4).data).all()
    projected.set_params(projection=None)
    np.testing.assert_array_equal(projected.transform(X).data, Z.data)
    assert not hasattr(projected, "fit_transform")
    close_to_one = DiagonalOASIS(1e-3).fit_triplets(X, triplets)
    assert hasattr(close_to_one, "transform")
    assert not hasattr(DiagonalOASIS(), "transform")


def test_a_million_features_are_no_matrix() -> None:
    """1e6 x 1e6 weights, or 500 dense rows, would not fit into this machine."""
    random = np.random.default_rng(0)
    columns = np.sort(random.choice(10**6, (500, 60)), axis=1)
    columns[:5, :20] = np.arange(20)
    X = sp.csr_array((random.random(30_000), columns.ravel(), np.arange(0, 30_001, 60)), shape=(500, 10**6))
    triplets = np.stack([random.integers(0, 5, 900), random.integers(0, 5, 900), random.integers(5, 500, 900)], axis=1)
    model = SOMLDA().fit_triplets(X, triplets)
    scores = model.similarity(X[:5], X)
    assert scores.shape == (5, 500)
    np.testing.assert_allclose(scores, ((X[:5] * model.w_) @ X.T).toarray(), rtol=1e-12)
    assert model.sparsity() > 0.999
    assert model.rank(X[:5], X, k=3)[0].shape == (5, 3)
