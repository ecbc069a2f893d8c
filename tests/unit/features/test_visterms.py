from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from lookalike.features.visterms import TfidfVisterms

counts_arrays = hnp.arrays(np.int32, st.tuples(st.integers(1, 8), st.just(6)), elements=st.integers(0, 3))


def direct(train, rows):
    """Draft equation 15, word by word."""
    share = (train > 0).mean(axis=0)
    idf = np.array([-np.log(r) if r > 0 else 0.0 for r in share])
    weights = rows * idf
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    return np.divide(weights, lengths, out=np.zeros_like(weights), where=lengths > 0)


@given(train=counts_arrays, rows=counts_arrays)
@settings(deadline=None, max_examples=100)
def test_equals_the_formula_dense_and_sparse(train, rows):
    expected = direct(train, rows)
    for convert in (np.asarray, sp.csr_array, sp.csc_array, sp.csr_matrix):
        weights = TfidfVisterms(dtype="float64").fit(convert(train)).transform(convert(rows))
        assert isinstance(weights, sp.csr_array)
        assert weights.dtype == np.float64
        assert np.allclose(weights.toarray(), expected, atol=1e-15)
        assert weights.has_sorted_indices
        assert (weights.data > 0).all()


def test_dtype_and_unit_rows():
    counts = sp.csr_array(np.random.default_rng(0).poisson(0.4, (30, 50)))
    weights = TfidfVisterms().fit_transform(counts)
    assert weights.dtype == np.float32
    assert np.allclose(sp.linalg.norm(weights, axis=1), 1, atol=1e-6)


def test_words_in_no_or_all_training_images_weigh_nothing():
    train = np.array([[1, 0, 2], [3, 0, 0]])
    model = TfidfVisterms().fit(train)
    assert model.idf_.tolist() == [0, 0, np.log(2)]
    assert not np.signbit(model.idf_).any()
    assert model.transform(np.array([[5, 7, 0], [5, 7, 1]])).toarray().tolist() == [[0, 0, 0], [0, 0, 1]]


def test_other_images_do_not_leak_into_the_weights():
    rng = np.random.default_rng(1)
    train, test = rng.poisson(0.5, (20, 15)), rng.poisson(0.5, (10, 15))
    model = TfidfVisterms().fit(train)
    before = model.idf_.copy()
    alone = model.transform(test[:1]).toarray()
    together = model.transform(test).toarray()
    assert np.array_equal(model.idf_, before)
    assert np.array_equal(alone[0], together[0])
    assert np.array_equal(before, TfidfVisterms().fit(sp.csr_array(train)).idf_)


def test_input_is_left_alone():
    counts = sp.csr_array((np.array([1, 2, 1]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    counts.has_canonical_format = False
    data, indices = counts.data.copy(), counts.indices.copy()
    TfidfVisterms().fit(counts).transform(counts)
    assert np.array_equal(counts.data, data)
    assert np.array_equal(counts.indices, indices)


def test_stored_zeros_are_no_occurrences():
    counts = sp.csr_array((np.array([0, 2]), np.array([0, 0]), np.array([0, 1, 2])), shape=(2, 1))
    assert TfidfVisterms().fit(counts).idf_[0] == np.log(2)


@pytest.mark.parametrize("bad", [np.array([[1, -1]]), np.array([[1, np.nan]])])
def test_refuses_what_is_no_count(bad):
    with pytest.raises(ValueError, match=r"(?i)negative|nan"):
        TfidfVisterms().fit(bad)


def test_refuses_other_widths_and_dtypes():
    model = TfidfVisterms().fit(np.eye(3))
    with pytest.raises(ValueError, match="features"):
        model.transform(np.eye(4))
    with pytest.raises(ValueError, match="dtype"):
        TfidfVisterms(dtype="int8").fit(np.eye(3))


def test_is_a_scikit_learn_transformer():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(TfidfVisterms())
    assert clone(TfidfVisterms(dtype="float64")).dtype == "float64"
