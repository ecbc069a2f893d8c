"""Diagonal learners: products of pairs of rows, and QPAO at its minimum."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from made_rows_and_examples import landmark_like, sparse_rows, triplets_of
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from lookalike.learners import QPAO, SOMLDA, SOMLTG, DiagonalOASIS, TripletSampler, qpao, triplet_products
from lookalike.learners.triplet_products import TripletProducts

LEARNERS = [SOMLTG(0.5, 0.01), SOMLDA(0.3, 0.2, 0.001, average_every_step=True), DiagonalOASIS(10.0)]
X, TRIPLETS = landmark_like()


def fitted(learner, rows=X, triplets=TRIPLETS):
    return clone(learner).fit_triplets(rows, triplets)


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


def landmark(d=30, seed=0):
    rows, triplets = landmark_like(6, 34, seed)
    return rows.toarray()[:, :d], triplets


def differences(X, triplets):
    return X[triplets[:, 0]] * (X[triplets[:, 1]] - X[triplets[:, 2]])


def objective(w, V, C):
    """Return what methods.md says QPAO minimises."""
    return float(0.5 * np.sum((w - 1) ** 2) + C * np.maximum(0, 1 - V @ w).sum())


def lowest_objective(V, C, box):
    """Return what no weights in the box can be below: the largest value of the dual programme."""

    def minus_dual(multipliers):
        w = np.clip(1 + multipliers @ V, *box)
        return -objective(w, V, 0.0) - multipliers @ (1 - V @ w), V @ w - 1

    options = {"maxiter": 20_000, "maxfun": 20_000, "ftol": 1e-14, "gtol": 1e-10}
    return -minimize(minus_dual, np.zeros(len(V)), jac=True, bounds=[(0, C)] * len(V), options=options).fun


BOXES = [(0.01, 0.0, None), (0.3, 0.5, 1.5), (3.0, -2.0, 4.0), (1.0, 0.0, None), (10.0, 0.0, None), (1.0, 1.5, 2.0)]


@pytest.mark.parametrize(("C", "lower", "upper"), BOXES)
def test_one_block_is_at_the_joint_minimum_and_the_descent_ends_near_it(C, lower, upper):
    narrow, triplets = landmark(d=40, seed=1)
    X = np.zeros((len(narrow), 100))
    X[:, 5:45], X[10, 90] = narrow, 3.0  # of a word that no pair shares
    V, box = differences(X, triplets), (lower, 100.0 if upper is None else upper)
    joint = QPAO(C, lower, upper, n_blocks=1, random_state=0).fit_triplets(X, triplets)
    assert objective(joint.w_, V, C) == pytest.approx(lowest_objective(V, C, box), rel=1e-6)
    assert (joint.converged_, joint.n_sweeps_, joint.n_iter_, joint.gap_ < 1e-8) == (True, 1, 1, True)
    model = QPAO(C, lower, upper, n_blocks=6, random_state=1, tol=1e-6, max_sweeps=300)
    model.fit_triplets(sp.csr_array(X), triplets)
    curve = model.curve_["objective"]
    assert curve[0] == pytest.approx(objective(np.full(100, np.clip(1.0, *box)), V, C))
    assert (np.diff(curve) <= 1e-9 * curve[0]).all()
    assert curve[-1] == model.objective_ == pytest.approx(objective(model.w_, V, C), rel=1e-10)
    assert model.curve_["sweep"].tolist() == list(range(model.n_sweeps_ + 1))
    assert box[0] <= model.w_.min() <= model.w_.max() <= box[1]
    assert (np.delete(model.w_, np.arange(5, 45)) == np.clip(1.0, *box)).all()
    # it may stop above the minimum, where no block alone can do better, and never below
    assert joint.objective_ * (1 - 1e-9) <= model.objective_ <= joint.objective_ * 1.005


def test_a_triplet_counts_as_often_as_it_occurs_however_products_are_formed(monkeypatch):
    X, triplets = landmark()
    dearer = QPAO(30.0, n_blocks=1).fit_triplets(X, triplets)
    assert 0 < dearer.sparsity() == np.mean(dearer.w_ == 0)
    assert QPAO(random_state=0).fit_triplets(X, triplets).n_blocks_ <= X.shape[1] < QPAO().n_blocks
    for rows, unmendable in ((np.zeros((4, 3)), [[0, 1, 2]] * 5), (X, np.empty((0, 3), dtype=int))):
        none = QPAO(2.0).fit_triplets(rows, unmendable)
        assert set(none.w_) == {1.0}
        assert (none.objective_, none.n_blocks_, none.n_sweeps_, none.converged_) == (2 * len(unmendable), 0, 0, True)
    monkeypatch.setattr(triplet_products, "PRODUCT_BYTES", 0)
    monkeypatch.setattr(triplet_products, "BLOCK_BYTES", 4000)
    twice = QPAO(15.0, n_blocks=1).fit_triplets(X, np.tile(triplets, (2, 1)))
    np.testing.assert_allclose(twice.w_, dearer.w_, atol=1e-6)


@pytest.mark.parametrize("n_blocks", [1, 6])
def test_it_says_why_it_has_not_converged(n_blocks, monkeypatch):
    X, triplets = landmark()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = QPAO(10.0, n_blocks=n_blocks, tol=1e-3, random_state=0).fit_triplets(X, triplets)
    assert exact.converged_
    if n_blocks > 1:
        with pytest.warns(ConvergenceWarning, match="still descending after 1 sweeps: give a larger max_sweeps"):
            model = QPAO(10.0, n_blocks=n_blocks, max_sweeps=1, tol=0, random_state=0).fit_triplets(X, triplets)
        assert not model.converged_
    monkeypatch.setattr(qpao, "SMALLEST_GAP", 0.1)
    with pytest.warns(ConvergenceWarning, match="of the objective above its minimum: scale the rows of X"):
        model = QPAO(10.0, n_blocks=n_blocks, tol=0.1, random_state=0).fit_triplets(X, triplets)
    assert not model.converged_
    assert model.gap_ > qpao.LARGEST_GAP >= exact.gap_


def test_rows_far_longer_than_one_do_not_count_as_solved_where_they_are_not():
    """At w = 0 every triplet costs C, and tiny weights do better."""
    X = 100 * np.random.default_rng(0).random((40, 5))
    triplets = TripletSampler(np.random.default_rng(1).integers(0, 2, 40), 0).sample(150)
    V = differences(X, triplets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = QPAO(0.1, n_blocks=1, random_state=0).fit_triplets(X, triplets)
    assert model.objective_ == pytest.approx(objective(model.w_, V, 0.1))
    assert model.converged_ == (model.objective_ / lowest_objective(V, 0.1, (0.0, np.inf)) - 1 <= 1e-5)
