"""RCA against its definition, and what it says where the covariance within classes has no inverse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows_and_examples import noisy_classes

from lookalike.learners import RCA


def covariance_within(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    deviations = X - np.array([X[y == c].mean(axis=0) for c in np.unique(y)])[y]
    return sum(np.outer(row, row) for row in deviations) / len(X)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_it_whitens_the_rows_within_classes_whatever_linear_map_they_went_through(seed: int, scale: float) -> None:
    X, y = noisy_classes(40, 6, 4, seed)
    model = RCA().fit(X, y)
    assert model.n_components_ == 6
    np.testing.assert_allclose(model.M_ @ covariance_within(X, y), np.eye(6), atol=1e-8)
    np.testing.assert_allclose(covariance_within(model.transform(X), y), np.eye(6), atol=1e-9)
    mapped = scale * X @ (np.random.default_rng(seed).normal(size=(6, 6)) + 3 * np.eye(6))
    expected = model.similarity(X, X)
    np.testing.assert_allclose(RCA().fit(mapped, y).similarity(mapped, mapped), expected, atol=1e-6 * -expected.min())


@pytest.mark.parametrize(("n", "d"), [(60, 8), (20, 30)])
def test_fewer_directions_are_those_of_the_pca(n: int, d: int) -> None:
    X, y = noisy_classes(n, d, 4)
    P = np.linalg.svd(X - X.mean(axis=0))[2][:5].T
    model = RCA(5).fit(X, y)
    np.testing.assert_allclose(model.M_, P @ np.linalg.inv(P.T @ covariance_within(X, y) @ P) @ P.T, atol=1e-9)
    np.testing.assert_array_equal(model.M_, model.M_.T)
    assert model.components_.shape == (d, 5)


def test_the_most_directions_are_rows_less_classes() -> None:
    X, y = noisy_classes(20, 50, 4)
    assert RCA().fit(X, y).n_components_ == RCA(16).fit(X, y).n_components_ == 16
    with pytest.raises(ValueError, match="first 16 principal directions only; choose at most 16"):
        RCA(17).fit(X, y)
    X[4:8] = X[0:4]  # the same four rows again
    assert RCA().fit(X, y).n_components_ == 12
    with pytest.raises(ValueError, match="rows of a class do not differ"):
        RCA().fit([[0.0, 1.0], [0.0, 1.0], [3.0, 0.0], [3.0, 0.0]], [0, 0, 1, 1])
    equal = RCA(3).fit(np.ones((6, 3)), [0, 0, 0, 1, 1, 1])
    assert equal.n_components_ == 0
    assert (equal.M_ == 0).all()
