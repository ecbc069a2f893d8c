"""The span of the training rows: a basis that holds every row, and full-space matrices that keep the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.learners.span import Span


def rows(n: int, d: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.random((n, d)) * (random.random((n, d)) < 0.4)


def check_basis(span: Span, X: np.ndarray) -> None:
    np.testing.assert_allclose(span.basis.T @ span.basis, np.eye(span.rank), atol=1e-13)
    np.testing.assert_allclose(span.coordinates, X @ span.basis, atol=1e-13)
    np.testing.assert_allclose(span.coordinates @ span.basis.T, X, atol=1e-10)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize(("n", "d"), [(8, 30), (30, 8), (12, 12), (1, 5)])
def test_an_orthonormal_basis_holds_every_row(n: int, d: int, form: Any) -> None:
    X = rows(n, d)
    span = Span(form(X))
    assert span.rank <= min(n, d)
    assert span.basis.dtype == span.coordinates.dtype == np.float64
    check_basis(span, X)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_equal_rows_zero_rows_and_unused_features_take_no_room(form: Any) -> None:
    X = rows(10, 40)
    X[3], X[4], X[:, 7] = X[2], 0, 0
    span = Span(form(X))
    assert span.rank == 8
    check_basis(span, X)
    tall = rows(40, 10)
    tall[:, [2, 5]] = 0
    assert Span(form(tall)).rank == 8
    check_basis(Span(form(tall)), tall)


def test_stored_zeros_take_no_room() -> None:
    stored = sp.csr_array(np.ones((9, 4)))
    stored.data[stored.indices == 2] = 0
    assert Span(stored).rank == 3


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", [(4, 9), (9, 4)])
def test_rows_of_zeros_only_span_nothing(shape: tuple[int, int], form: Any) -> None:
    span = Span(form(np.zeros(shape)))
    assert span.rank == 0
    assert span.coordinates.shape == (shape[0], 0)
    np.testing.assert_array_equal(span.full_matrix(np.zeros((0, 0))), np.eye(shape[1]))


def test_nearly_dependent_rows_keep_an_orthonormal_basis() -> None:
    X = rows(8, 30)
    X[1] = X[0] + 1e-5 * X[1]
    check_basis(Span(X), X)


def test_whole_numbers_and_single_precision_are_worked_on_in_double() -> None:
    X = rows(6, 20).astype(np.float32)
    np.testing.assert_array_equal(Span(X).basis, Span(X.astype(np.float64)).basis)
    assert Span(np.eye(3, 5, dtype=int)).coordinates.dtype == np.float64


@pytest.mark.parametrize(("n", "d"), [(8, 30), (30, 8)])
def test_the_full_matrix_keeps_the_complement(n: int, d: int) -> None:
    span = Span(rows(n, d))
    random = np.random.default_rng(1)
    factor = random.random((span.rank, span.rank - 2))
    inner = factor @ factor.T
    matrix = span.full_matrix(inner)
    np.testing.assert_array_equal(matrix, matrix.T)
    outside = np.eye(d) - span.basis @ span.basis.T
    np.testing.assert_allclose(matrix, span.basis @ inner @ span.basis.T + outside, atol=1e-12)
    np.testing.assert_allclose(matrix @ outside, outside, atol=1e-12)
    full = span.full_factor(factor)
    np.testing.assert_allclose(full @ full.T, matrix, atol=1e-12)
    np.testing.assert_array_equal(Span(rows(30, 30)).full_matrix(np.eye(30)), np.eye(30))


def test_the_same_rows_give_the_same_bits() -> None:
    X = rows(8, 30)
    np.testing.assert_array_equal(Span(X).basis, Span(X.copy()).basis)


def test_a_wide_csr_is_not_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sp.csr_array(rows(8, 30))
    original = sp.csr_array.toarray

    def refuse(self: Any, *args: Any, **options: Any) -> np.ndarray:
        assert self.shape[1] < 30, "rows were made dense"
        return original(self, *args, **options)

    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    Span(X)
