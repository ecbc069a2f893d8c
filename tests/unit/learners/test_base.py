"""What all learners share below the contract: top k, factors of matrices, distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lookalike.learners import Euclidean
from lookalike.learners.base import psd_factor, top_k


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_top_k_is_the_start_of_a_stable_sort(data: st.DataObject) -> None:
    scores = data.draw(arrays(float, st.tuples(st.integers(1, 5), st.integers(1, 12)), elements=st.integers(-2, 2)))
    k = data.draw(st.integers(1, scores.shape[1]))
    columns, found = top_k(scores, k)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(columns, expected)
    np.testing.assert_array_equal(found, np.take_along_axis(scores, expected, 1))


def test_factor_of_a_singular_matrix_has_its_rank() -> None:
    half = np.random.default_rng(0).random((6, 2))
    factor = psd_factor(half @ half.T)
    assert factor.shape == (6, 2)
    np.testing.assert_allclose(factor @ factor.T, half @ half.T, atol=1e-12)
    for matrix, message in (([[1, 2], [0, 1]], "symmetric"), (np.diag([1, -1]), "semidefinite"), ([[-1]], "semidef")):
        with pytest.raises(ValueError, match=message):
            psd_factor(np.array(matrix, dtype=float))


def test_no_distance_is_below_0_whatever_rounding_says() -> None:
    A = np.random.default_rng(2).random((30, 40))
    assert Euclidean().fit(A).similarity(A, A).max() <= 0
