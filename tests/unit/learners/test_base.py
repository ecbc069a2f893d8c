"""What all learners share: top k, factors of matrices, distances and the Euclidean baseline."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from lookalike.learners import Euclidean, SimilarityLearner
from lookalike.learners.base import psd_factor, top_k


@settings(deadline=None, max_examples=80)
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


@pytest.mark.parametrize(
    ("matrix", "message"),
    [([[1.0, 2.0], [0.0, 1.0]], "symmetric"), ([[1.0, 0.0], [0.0, -1.0]], "semidefinite"), ([[-1.0]], "semidefinite")],
)
def test_other_matrices_have_no_factor(matrix: list[list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        psd_factor(np.array(matrix))


class Mahalanobis(SimilarityLearner):
    """A fixed random positive definite M."""

    accepts = frozenset({"labels"})

    def fit(self, X: np.ndarray, y: object = None) -> Mahalanobis:
        self.n_features_in_ = X.shape[1]
        self.metric_ = "sqeuclidean"
        half = np.random.default_rng(0).random((X.shape[1], X.shape[1]))
        self.M_ = half @ half.T
        return self


def test_a_mahalanobis_similarity_is_minus_the_squared_distance() -> None:
    random = np.random.default_rng(1)
    A, B = random.random((7, 5)), random.random((9, 5)) * (random.random((9, 5)) < 0.5)
    model = Mahalanobis().fit(A)
    expected = -(cdist(A, B, "mahalanobis", VI=model.M_) ** 2)
    np.testing.assert_allclose(model.similarity(A, B), expected, atol=1e-12)
    np.testing.assert_allclose(model.similarity(sp.csr_array(A), sp.csr_array(B)), expected, atol=1e-12)
    np.testing.assert_allclose(-cdist(model.transform(A), model.transform(B), "sqeuclidean"), expected, atol=1e-9)
    indices, scores = model.rank(sp.csr_array(A), B, k=2)
    np.testing.assert_array_equal(indices, np.argsort(-expected, axis=1)[:, :2])
    np.testing.assert_allclose(scores, np.sort(expected, axis=1)[:, :-3:-1], atol=1e-12)


def test_many_queries_go_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    A = sp.csr_array(random.random((20, 5)))
    model = Mahalanobis().fit(A)
    whole = model.similarity(A, A)
    monkeypatch.setattr("lookalike.learners.base.QUERY_BLOCK", 3)
    np.testing.assert_allclose(model.similarity(A, A), whole, atol=1e-12)


def test_euclidean_is_minus_the_squared_distance_and_never_above_zero() -> None:
    random = np.random.default_rng(2)
    A, B = random.random((30, 40)), 5 * random.random((20, 40))
    model = Euclidean().fit(A)
    for left, right in ((A, B), (sp.csr_array(A), sp.csr_array(B))):
        np.testing.assert_allclose(model.similarity(left, right), -cdist(A, B, "sqeuclidean"), rtol=1e-12)
    own = model.similarity(A, A)
    assert own.max() <= 0
    np.testing.assert_allclose(np.diag(own), 0, atol=1e-12)
    assert model.transform(sp.csr_array(A)).nnz == A.size


def test_on_rows_of_length_one_euclidean_ranks_as_the_inner_product() -> None:
    random = np.random.default_rng(3)
    A = random.random((30, 10))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    by_distance = np.argsort(-Euclidean().fit(A).similarity(A, A), axis=1)
    np.testing.assert_array_equal(by_distance[:, 1:], np.argsort(-(A @ A.T), axis=1)[:, 1:])


def test_euclidean_takes_triplets_without_using_them() -> None:
    model = Euclidean().fit_triplets(np.eye(3), [[0, 1, 2]]).partial_fit_triplets(np.eye(3), [[0, 1, 2]])
    assert model.similarity(np.eye(3), np.eye(3))[0].tolist() == [0.0, -2.0, -2.0]
    with pytest.raises(ValueError, match="0 to 2"):
        Euclidean().fit_triplets(np.eye(3), [[0, 1, 3]])
