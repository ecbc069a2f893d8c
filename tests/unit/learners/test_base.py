"""What all learners share below the contract: top k, factors of matrices, the baselines."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.learners import TFIDF, Euclidean
from lookalike.learners.base import psd_factor, top_k


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_top_k_is_the_start_of_a_stable_sort(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 12))
    # few values: many ties
    values = data.draw(st.lists(st.integers(-2, 2), min_size=n * m, max_size=n * m))
    scores = np.array(values, dtype=float).reshape(n, m)
    k = data.draw(st.integers(1, m))
    columns, found = top_k(scores, k)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(columns, expected)
    np.testing.assert_array_equal(found, np.take_along_axis(scores, expected, 1))


def test_factor_of_a_singular_matrix_has_its_rank() -> None:
    half = np.random.default_rng(0).random((6, 2))
    factor = psd_factor(half @ half.T)
    assert factor.shape == (6, 2)
    np.testing.assert_allclose(factor @ factor.T, half @ half.T, atol=1e-12)
    for matrix, message in (
        ([[1.0, 2.0], [0.0, 1.0]], "symmetric"),
        ([[1.0, 0.0], [0.0, -1.0]], "semidefinite"),
        ([[-1.0]], "semidefinite"),
    ):
        with pytest.raises(ValueError, match=message):
            psd_factor(np.array(matrix))


def test_the_baselines_learn_nothing() -> None:
    A = np.random.default_rng(2).random((30, 40))
    assert Euclidean().fit(A).similarity(A, A).max() <= 0  # whatever rounding says
    for model in (Euclidean().fit(A), TFIDF().fit(A)):
        np.testing.assert_array_equal(model.transform(A), A)
        np.testing.assert_array_equal(model.transform(sp.csr_array(A)).toarray(), A)
