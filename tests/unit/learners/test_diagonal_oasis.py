"""Diagonal OASIS against its recursion on dense vectors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from made_triplets import landmark_like, sparse_rows, triplets_of

from lookalike.learners import OASIS, DiagonalOASIS


def dense_recursion(X: np.ndarray, triplets: np.ndarray, aggressiveness: float) -> tuple[np.ndarray, int, int]:
    """Return the weights, the updates, and how many steps had a loss of 0 but for rounding.

    A step of full length leaves its triplet a loss of 0: whether rounding leaves one when it comes again, is chance.
    """
    w = np.ones(X.shape[1])
    updates = borderline = 0
    for query, positive, negative in triplets:
        v = X[query] * (X[positive] - X[negative])
        loss = 1 - w @ v
        borderline += abs(loss) < 1e-12
        if loss > 0 and v.any():
            w += min(aggressiveness, loss / (v @ v)) * v
            updates += 1
    return w, updates, borderline


@given(seed=st.integers(0, 10**6), aggressiveness=st.floats(0.01, 1000), scale=st.floats(0.5, 4))
@settings(max_examples=40, deadline=None)
def test_the_same_triplets_give_the_weights_of_a_dense_recursion(
    seed: int, aggressiveness: float, scale: float
) -> None:
    X, y = sparse_rows(seed=seed)
    triplets = triplets_of(y, 250, seed)
    expected, updates, borderline = dense_recursion(scale * X, triplets, aggressiveness)
    model = DiagonalOASIS(aggressiveness).fit_triplets(sp.csr_array(scale * X), triplets)
    np.testing.assert_allclose(model.w_, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    assert abs(model.n_updates_ - updates) <= borderline


def test_the_paper_s_steps() -> None:
    X, triplets = landmark_like()
    drawn = triplets[np.random.default_rng(0).integers(len(triplets), size=5_000)]
    expected, updates, borderline = dense_recursion(X.toarray(), drawn, 0.1)
    model = DiagonalOASIS().fit_triplets(X, drawn)
    np.testing.assert_allclose(model.w_, expected, rtol=0, atol=1e-12)
    assert abs(model.n_updates_ - updates) <= borderline
    assert model.sparsity() == 0  # as Tables 4-6 have it


def test_the_first_step_is_the_diagonal_of_that_of_oasis() -> None:
    X = np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    full = OASIS(0.01, dtype="float64").fit_triplets(X, [[0, 1, 2]])
    np.testing.assert_allclose(DiagonalOASIS(0.01).fit_triplets(X, [[0, 1, 2]]).w_, np.diag(full.W_), atol=1e-15)


def test_a_step_that_no_weight_can_mend_counts_as_a_loss_only() -> None:
    X = [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    model = DiagonalOASIS().fit_triplets(X, [[0, 1, 2], [2, 0, 1], [0, 0, 0]])
    assert model.w_.tolist() == [1.0, 1.0]
    assert (model.n_steps_, model.n_updates_) == (3, 0)
    assert model.curve_["loss_rate"][-1] == 1


def test_a_step_of_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match="aggressiveness must be larger than 0"):
        DiagonalOASIS(0.0).fit_triplets([[1.0], [2.0], [0.0]], [[0, 1, 2]])
