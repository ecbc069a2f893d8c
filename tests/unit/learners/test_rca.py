"""RCA against its definition, and what it says where the covariance within classes has no inverse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.learners.rca import RCA


def noisy_classes(n: int, d: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    spread = np.linspace(0.2, 2.0, d)
    return random.normal(size=(n_classes, d))[y] + random.normal(size=(n, d)) * spread, y


def covariance_within(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return sum(
        np.sum([np.outer(x - X[y == c].mean(axis=0), x - X[y == c].mean(axis=0)) for x in X[y == c]], axis=0)
        for c in np.unique(y)
    ) / len(X)


def test_with_all_directions_it_is_the_inverse_covariance_within_classes() -> None:
    X, y = noisy_classes(60, 7, 4)
    model = RCA().fit(X, y)
    np.testing.assert_allclose(model.M_, np.linalg.inv(covariance_within(X, y)), atol=1e-9)
    assert model.n_components_ == 7
    # whitened: what is left within classes is the identity
    np.testing.assert_allclose(covariance_within(model.transform(X), y), np.eye(7), atol=1e-10)


@pytest.mark.parametrize(("n", "d"), [(60, 8), (20, 30)])
def test_fewer_directions_are_those_of_the_pca(n: int, d: int) -> None:
    X, y = noisy_classes(n, d, 4)
    P = np.linalg.svd(X - X.mean(axis=0))[2][:5].T
    expected = P @ np.linalg.inv(P.T @ covariance_within(X, y) @ P) @ P.T
    for rows in (X, sp.csr_array(X)):
        model = RCA(5).fit(rows, y)
        np.testing.assert_allclose(model.M_, expected, atol=1e-9)
        np.testing.assert_array_equal(model.M_, model.M_.T)
        np.testing.assert_allclose(model.components_ @ model.components_.T, expected, atol=1e-9)
        assert model.components_.shape == (d, 5)
    outside = np.linalg.svd(P.T)[2][5:]
    np.testing.assert_allclose(model.M_ @ outside.T, 0, atol=1e-9)


def test_the_most_directions_are_rows_less_classes() -> None:
    X, y = noisy_classes(20, 50, 4)
    assert RCA().fit(X, y).n_components_ == 16
    assert RCA(16).fit(X, y).n_components_ == 16
    with pytest.raises(ValueError, match="first 16 principal directions only; choose at most 16"):
        RCA(17).fit(X, y)


def test_equal_rows_leave_fewer_directions() -> None:
    X, y = noisy_classes(20, 50, 4)
    X[4:8] = X[0:4]  # the same four rows again
    assert RCA().fit(X, y).n_components_ == 12


def test_classes_without_any_spread_are_refused() -> None:
    with pytest.raises(ValueError, match="rows of a class do not differ"):
        RCA().fit([[0.0, 1.0], [0.0, 1.0], [3.0, 0.0], [3.0, 0.0]], [0, 0, 1, 1])


def test_equal_rows_only_have_no_distances() -> None:
    model = RCA(3).fit(np.ones((6, 3)), [0, 0, 0, 1, 1, 1])
    assert model.n_components_ == 0
    assert (model.M_ == 0).all()


def test_scaling_the_rows_changes_no_distance() -> None:
    X, y = noisy_classes(40, 10, 4)
    np.testing.assert_allclose(
        RCA().fit(1e-6 * X, y).similarity(1e-6 * X, 1e-6 * X), RCA().fit(X, y).similarity(X, X), atol=1e-7
    )


def test_values_that_overflow_are_named() -> None:
    X, y = noisy_classes(20, 50, 4)
    for rows in (1e200 * X, sp.csr_array(1e200 * X)):
        with pytest.raises(ValueError, match="scale its rows"):
            RCA().fit(rows, y)


@pytest.mark.parametrize("n_components", [0, -1, 1.5])
def test_a_number_of_components_out_of_range_is_named(n_components: float) -> None:
    with pytest.raises(ValueError, match="n_components"):
        RCA(n_components).fit([[0.0], [1.0], [3.0]], [0, 0, 1])  # type: ignore[arg-type]
