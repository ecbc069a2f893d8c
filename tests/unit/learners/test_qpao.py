"""QPAO: the conditions of a minimum, and what a descent may not do."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from lookalike.learners import QPAO, TripletSampler, qpao, triplet_products
from lookalike.learners.qpao import LARGEST_GAP


def landmark(n=40, d=30, seed=0):
    """Sparse rows of length 1, and triplets of six positives, each with all others, against the rest."""
    random = np.random.default_rng(seed)
    X = random.random((n, d)) * (random.random((n, d)) < 0.4)
    X[:6, :4] += 0.7 * random.random((6, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True).clip(1e-12)
    triplets = [(q, p, n_) for q in range(6) for p in range(6) if p != q for n_ in range(6, n)]
    return X, np.array(triplets, dtype=np.int32)


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


@pytest.mark.parametrize(
    ("C", "lower", "upper"), [(0.01, 0.0, None), (0.3, 0.5, 1.5), (3.0, -2.0, 4.0), (1.0, 0.0, None), (10.0, 0.0, None)]
)
def test_one_block_is_at_the_joint_minimum_and_the_descent_ends_near_it(C, lower, upper):
    X, triplets = landmark(d=40, seed=1)
    V, box = differences(X, triplets), (lower, 40.0 if upper is None else upper)
    joint = QPAO(C, lower, upper, n_blocks=1, random_state=0).fit_triplets(X, triplets)
    assert objective(joint.w_, V, C) == pytest.approx(lowest_objective(V, C, box), rel=1e-6)
    assert (joint.converged_, joint.n_sweeps_, joint.n_iter_, joint.gap_ < 1e-8) == (True, 1, 1, True)
    model = QPAO(C, lower, upper, n_blocks=6, random_state=1, tol=1e-6, max_sweeps=300)
    model.fit_triplets(sp.csr_array(X), triplets)
    curve = model.curve_["objective"]
    assert curve[0] == pytest.approx(objective(np.ones(40), V, C))
    assert (np.diff(curve) <= 1e-9 * curve[0]).all()
    assert curve[-1] == model.objective_ == pytest.approx(objective(model.w_, V, C), rel=1e-10)
    assert model.curve_["sweep"].tolist() == list(range(model.n_sweeps_ + 1))
    assert box[0] <= model.w_.min() <= model.w_.max() <= box[1]
    # it may stop above the minimum, where no block alone can do better, and never below
    assert joint.objective_ * (1 - 1e-9) <= model.objective_ <= joint.objective_ * 1.005


@pytest.mark.parametrize(("lower", "upper", "untouched"), [(0.0, None, 1.0), (1.5, 2.0, 1.5)])
def test_words_that_no_pair_shares_keep_the_nearest_to_one(lower, upper, untouched):
    X, triplets = landmark(d=20)
    wide = np.zeros((len(X), 1000))
    wide[:, 5:25] = X
    wide[10, 900] = 3.0
    model = QPAO(lower=lower, upper=upper, random_state=0).fit_triplets(sp.csr_array(wide), triplets)
    assert (np.delete(model.w_, np.arange(5, 25)) == untouched).all()
    assert (model.w_[5:25] != untouched).any()
    assert model.n_blocks_ <= 20
    assert model.objective_ == pytest.approx(objective(model.w_, differences(wide, triplets), 1.0))
    for rows, given_ in ((np.zeros((4, 3)), [[0, 1, 2]] * 5), (X, np.empty((0, 3), dtype=int))):
        none = QPAO(2.0).fit_triplets(rows, given_)
        assert set(none.w_) == {1.0}
        assert (none.objective_, none.n_blocks_, none.n_sweeps_, none.converged_) == (2 * len(given_), 0, 0, True)


def test_a_triplet_counts_as_often_as_it_occurs_however_products_are_formed(monkeypatch):
    X, triplets = landmark()
    dearer = QPAO(30.0, n_blocks=1).fit_triplets(X, triplets)
    assert 0 < dearer.sparsity() == np.mean(dearer.w_ == 0)
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
    assert model.gap_ > LARGEST_GAP >= exact.gap_


def test_rows_far_longer_than_one_do_not_count_as_solved_where_they_are_not():
    """At w = 0 every triplet costs C, and tiny weights do better."""
    X = 100 * np.random.default_rng(0).random((40, 5))
    triplets = TripletSampler(np.random.default_rng(1).integers(0, 2, 40), 0).draw(150)
    V = differences(X, triplets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = QPAO(0.1, n_blocks=1, random_state=0).fit_triplets(X, triplets)
    assert model.objective_ == pytest.approx(objective(model.w_, V, 0.1))
    assert model.converged_ == (model.objective_ / lowest_objective(V, 0.1, (0.0, np.inf)) - 1 <= 1e-5)
