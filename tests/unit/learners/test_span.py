"""The span of the training rows: a basis that holds every difference, whatever the place and units of the rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.learners.span import Span


def rows(n, d):
    """Return sparse rows with an equal pair, a nearly equal pair, a zero row, an unused feature and a constant one."""
    random = np.random.default_rng(0)
    X = random.random((n, d)) * (random.random((n, d)) < 0.4)
    X[3], X[1], X[4], X[:, 2], X[:, 5] = X[2], X[0] + 1e-5 * X[1], 0, 0, 0.1
    return X


def with_stored_zeros(X):
    n, d = X.shape
    return sp.csr_array((X.ravel(), np.tile(np.arange(d), n), d * np.arange(n + 1)), X.shape)


@pytest.mark.parametrize("form", [np.asarray, with_stored_zeros, sp.csr_matrix, np.float32])
@pytest.mark.parametrize(("n", "d", "rank"), [(10, 40, 8), (40, 10, 8), (12, 12, 10), (6, 9, 0), (9, 6, 0)])
def test_an_orthonormal_basis_of_the_least_size_holds_every_row(n, d, rank, form):
    X = rows(n, d) * (rank > 0)
    given = form(X)
    span = Span(given)
    X = X.astype(np.float32).astype(np.float64) if form is np.float32 else X
    assert (span.rank, span.coordinates.shape) == (rank, (n, rank))
    assert span.basis.dtype == span.coordinates.dtype == np.float64
    np.testing.assert_allclose(span.basis.T @ span.basis, np.eye(rank), atol=1e-13)
    X = X - X.mean(axis=0)
    np.testing.assert_allclose(span.coordinates, X @ span.basis, atol=1e-13)
    np.testing.assert_allclose(span.coordinates @ span.basis.T, X, atol=1e-10)
    np.testing.assert_array_equal(Span(given.copy()).basis, span.basis)


def test_a_wide_csr_is_not_made_dense(monkeypatch):
    original = sp.csr_array.toarray

    def refuse(self, *args, **options):
        assert self.shape[1] < 30, "rows were made dense"
        return original(self, *args, **options)

    X = sp.csr_array(rows(8, 30))
    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    assert Span(X).basis.shape == (30, 6)
