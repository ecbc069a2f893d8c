"""LEGO against a plain dense recursion, in both of its ways of working."""

import numpy as np
import pytest
import scipy.sparse as sp
from made_rows_and_examples import sparse_rows
from scipy.spatial.distance import pdist

from lookalike.learners import LEGO, PairSampler
from lookalike.learners.lego import BLOCK, random_distances


def dense_recursion(model, X, pairs):
    """Jain et al.'s recursion as it is printed, with this model's targets."""
    A, updates, eta = np.eye(X.shape[1]), 0, model.regularization
    for i, j, same in pairs:
        z = X[i] - X[j]
        distance, target = z @ A @ z, model.u_ if same else model.l_
        satisfied = distance <= target if same else distance >= target
        if distance <= 1e-12 or (model.relative and satisfied):
            continue
        b = eta * target * distance - 1
        after = (b + np.sqrt(b**2 + 4 * eta * distance**2)) / (2 * eta * distance)
        A -= eta * (after - target) / (1 + eta * (after - target) * distance) * np.outer(A @ z, A @ z)
        updates += 1
    return A, updates


# More features than rows, and more rows than features: the two ways of working
shapes = pytest.mark.parametrize(("n", "d"), [(40, 90), (90, 40)])


@shapes
@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("eta", [0.02, 0.32, 10.0])
def test_the_same_pairs_give_the_matrix_of_a_dense_recursion(n, d, relative, eta):
    X, y = sparse_rows(n, d)
    pairs = PairSampler(y, 1).draw(800)
    model = LEGO(eta, relative=relative, random_state=0).fit_pairs(sp.csr_array(X), pairs[:, :2], pairs[:, 2] == 1)
    expected, updates = dense_recursion(model, X, pairs)
    assert 5 * BLOCK < updates == model.n_updates_
    np.testing.assert_allclose(model.M_, expected, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_array_equal(model.M_, model.M_.T)


@shapes
@pytest.mark.parametrize("relative", [True, False])
def test_the_matrix_stays_positive_definite(n, d, relative):
    X, y = sparse_rows(n, d)
    values = np.linalg.eigvalsh(LEGO(1e4, 20_000, relative=relative, random_state=0).fit(X, y).M_)
    assert values[0] > 1e-12 * values[-1]
    X[: n // 2] = X[0]
    for eta in (1e-300, 1e-8, 1e4):
        assert np.linalg.eigvalsh(LEGO(eta, 1000, relative=relative, random_state=0).fit(X, y).M_)[0] > 0
    # a pair of equal rows is off target for two classes, and nothing can be done about it
    alone = LEGO(relative=relative, random_state=0).fit_pairs(X, [[0, 1], [2, 2]], [0, 0])
    assert (alone.n_steps_, alone.n_updates_, alone.curve_["loss_rate"][-1]) == (2, 0, 1.0)
    if n > d:  # u is 0, and so large an eta leads to it at once
        with pytest.raises(ValueError, match="smaller regularization"):
            LEGO(1e300, 2000, relative=False, random_state=0).fit(X, y)


def test_the_targets_are_percentiles_of_distances_between_random_rows():
    X, y = sparse_rows(60, 30)
    model = LEGO(n_steps=300, percentiles=(10, 80), random_state=3).fit(sp.csr_array(X), y)
    # 10,000 draws from 1,770 distances
    assert [model.u_, model.l_] == pytest.approx(np.percentile(pdist(X, "sqeuclidean"), (10, 80)).tolist(), rel=0.03)
    two = random_distances(X[:2], 50, np.random.default_rng(0))  # never a row and itself
    np.testing.assert_allclose(two, ((X[0] - X[1]) ** 2).sum())
    single = LEGO(n_steps=300, percentiles=(10, 80), random_state=3, dtype="float32").fit(X, y)
    np.testing.assert_array_equal(single.M_, model.M_.astype(np.float32))  # single precision is that of the result only
