"""Exact retrieval held to a stable sort of all scores, and average precision to `ranking.rankings`."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.ranking.exact_search import LANES, average_precision, top_k, warm_up
from lookalike.ranking.rankings import rank_leave_one_out


@pytest.fixture(scope="module", autouse=True)
def compiled():
    warm_up()


def sparse_rows(random, n, d, *, whole=False, density=0.2):
    """CSR rows; whole numbers give ties, and sums that are exact in float32 in whatever order."""
    values = random.integers(-2, 3, (n, d)) if whole else random.normal(size=(n, d))
    return sp.csr_array((values * (random.random((n, d)) < density)).astype(np.float32))


def brute_force(scores, k, own=None):
    """The first k columns of a full stable sort, the own one left out."""
    scores = scores.astype(np.float64)
    if own is not None:
        has = np.flatnonzero(np.asarray(own) >= 0)
        scores[has, np.asarray(own)[has]] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, 1)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_queries=st.integers(0, 2 * LANES + 3),
    n_gallery=st.integers(2, 60),
    k=st.integers(1, 60),
    dtype=st.sampled_from([np.float32, np.float64, None]),
    n_threads=st.sampled_from([1, 3]),
)
def test_is_the_head_of_a_stable_sort(seed, n_queries, n_gallery, k, dtype, n_threads):
    random = np.random.default_rng(seed)
    d, k = 7, min(k, n_gallery - 1)
    queries, gallery = (sparse_rows(random, n, d, whole=True, density=0.5) for n in (n_queries, n_gallery))
    W = None if dtype is None else random.integers(-2, 3, (d, d)).astype(dtype)
    own = random.integers(-1, n_gallery, n_queries)
    scores = (queries @ (np.eye(d) if W is None else W)) @ gallery.T.toarray()
    expected, values = brute_force(scores, k, own)
    found, found_scores = top_k(W, queries, gallery, k, own=own, n_threads=n_threads)
    assert found.dtype == np.int32
    assert found_scores.dtype == np.float32
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found_scores, values)


def test_real_valued_scores_are_those_of_the_products():
    random = np.random.default_rng(0)
    queries, gallery = sparse_rows(random, 40, 300), sparse_rows(random, 500, 300)
    W = random.normal(size=(300, 300))
    expected, values = brute_force((queries.astype(np.float64) @ W) @ gallery.T.toarray(), 25)
    for matrix in (W, W.astype(np.float32), np.asfortranarray(W)):
        found, scores = top_k(matrix, queries, gallery, 25)
        np.testing.assert_allclose(scores, values, rtol=1e-4)
        assert (found == expected).mean() > 0.995


def test_w_is_between_query_and_gallery_in_that_order():
    W = np.zeros((2, 2), dtype=np.float32)
    W[0, 1] = 1  # a query with the first word likes rows with the second
    rows = sp.csr_array(np.eye(2, dtype=np.float32))
    assert top_k(W, rows[[0]], rows, 1)[0].tolist() == [[1]]
    assert top_k(W.T, rows[[1]], rows, 1)[0].tolist() == [[0]]


def test_same_bits_whatever_the_threads_and_the_neighbours_in_the_block():
    random = np.random.default_rng(1)
    queries, gallery = sparse_rows(random, 50, 80), sparse_rows(random, 400, 80)
    W = random.normal(size=(80, 80)).astype(np.float32)
    found, scores = top_k(W, queries, gallery, 30)
    for n_threads in (2, 5):
        again, again_scores = top_k(W, queries, gallery, 30, n_threads=n_threads)
        assert again.tobytes() == found.tobytes()
        assert again_scores.tobytes() == scores.tobytes()
    order = random.permutation(50)
    shuffled, shuffled_scores = top_k(W, queries[order], gallery, 30)
    assert shuffled.tobytes() == found[order].tobytes()
    assert shuffled_scores.tobytes() == scores[order].tobytes()
    alone, alone_scores = top_k(W, queries[[7]], gallery, 30)
    assert alone.tobytes() == found[[7]].tobytes()
    assert alone_scores.tobytes() == scores[[7]].tobytes()


def test_equal_scores_by_row_number_where_all_are_equal():
    rows = sp.csr_array(np.ones((40, 3), dtype=np.float32))
    found, _ = top_k(None, rows, rows, 5, own=np.arange(40))
    assert found[0].tolist() == [1, 2, 3, 4, 5]
    assert found[3].tolist() == [0, 1, 2, 4, 5]
    assert found[39].tolist() == [0, 1, 2, 3, 4]


def test_empty_rows_score_zero_and_are_found():
    gallery = sp.csr_array(np.array([[-1, 0], [0, 0], [1, 0]], dtype=np.float32))
    found, scores = top_k(None, gallery, gallery, 3)
    assert found.tolist() == [[0, 1, 2], [0, 1, 2], [2, 1, 0]]
    assert scores[0].tolist() == [1, 0, -1]


def test_words_out_of_order_or_twice_in_a_row_add_up():
    rows = sp.csr_array(([1.0, 2.0, 3.0, 4.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    tidy = rows.copy()
    tidy.sum_duplicates()
    W = np.arange(9.0).reshape(3, 3)
    for matrix in (None, W):
        for queries, gallery in ((rows, tidy), (tidy, rows), (rows, rows)):
            np.testing.assert_array_equal(top_k(matrix, queries, gallery, 2)[1], top_k(matrix, tidy, tidy, 2)[1])


def test_wide_indices_and_doubles_are_taken_too():
    random = np.random.default_rng(2)
    rows = sparse_rows(random, 30, 20)
    wide = sp.csr_array(rows.astype(np.float64))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for mine, theirs in zip(top_k(None, rows, rows, 4), top_k(None, wide, wide, 4), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_never_holds_all_scores():
    random = np.random.default_rng(3)
    gallery = sp.random_array((20_000, 50), density=0.1, format="csr", dtype=np.float32, rng=random)
    queries = gallery[:2_000]
    tracemalloc.start()
    top_k(None, queries, gallery, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000  # all scores: 160 MB


def eye(n=4):
    return sp.csr_array(np.eye(n, dtype=np.float32))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((None, eye(), eye(5), 1), {}, "same codebook"),
        ((np.eye(3), eye(), eye(), 1), {}, r"shape \(4, 4\)"),
        ((None, eye(), eye(), 0), {}, "from 1 to 4"),
        ((None, eye(), eye(), 5), {}, "from 1 to 4"),
        ((None, eye(), eye(), 4), {"own": [0, -1, -1, -1]}, "from 1 to 3"),
        ((np.diag([1, np.nan, 1, 1]), eye(), eye(), 1), {}, "not finite"),
        ((np.diag([1, 1e300, 1, 1]), eye(), eye(), 1), {"n_threads": 2}, "not finite"),
        ((None, eye(), eye() * np.float32(np.inf), 1), {}, "not finite"),
        ((None, eye() * np.float32(1e30), eye() * np.float32(-1e30), 4), {}, "overflow"),
    ],
)
def test_refuses_what_cannot_be_ranked(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        top_k(*arguments, **options)


class Bilinear:
    def __init__(self, W):
        self.W = W

    def similarity(self, A, B):
        return np.asarray((A @ self.W) @ B.T.toarray())


def same_class_lists(y, queries):
    lists = [np.setdiff1d(np.flatnonzero(y == y[query]), query) for query in queries]
    return np.cumsum([0] + [len(members) for members in lists]), np.concatenate([np.empty(0, int), *lists])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 70),
    n_classes=st.integers(1, 12),
    density=st.sampled_from([0.0, 0.1, 0.6]),
    n_threads=st.sampled_from([1, 2]),
)
def test_average_precision_is_that_of_leave_one_out_with_ties(seed, n, n_classes, density, n_threads):
    random = np.random.default_rng(seed)
    rows = sparse_rows(random, n, 6, whole=True, density=density)
    W = random.integers(-2, 3, (6, 6)).astype(np.float32)
    y = random.integers(n_classes, size=n)
    queries = random.permutation(n)
    expected = rank_leave_one_out(Bilinear(W), rows, y, n_neighbours=0)
    found = average_precision(W, rows, *same_class_lists(y, queries), queries, n_threads=n_threads)
    np.testing.assert_allclose(found, expected.average_precision()[queries], rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-15, 1.0, 1e15])
def test_average_precision_of_real_scores_of_any_size(scale):
    random = np.random.default_rng(4)
    rows = sparse_rows(random, 300, 40) * np.float32(scale)
    W = random.normal(size=(40, 40))
    y = random.integers(5, size=300)
    queries = np.arange(0, 300, 7)
    expected = rank_leave_one_out(Bilinear(W), rows.astype(np.float64), y, n_neighbours=0).average_precision()[queries]
    found = average_precision(W, rows, *same_class_lists(y, queries), queries)
    np.testing.assert_allclose(found, expected, rtol=1e-3)  # two scores may be equal in float32 only


def test_average_precision_by_hand():
    # by scores, query 0 finds 3, 1, 4, 2; rows 1 and 2 are relevant, at ranks 2 and 4
    rows = sp.csr_array(np.array([[1], [3], [1], [4], [2]], dtype=np.float32))
    found = average_precision(None, rows, np.array([0, 2, 2]), np.array([2, 1]), np.array([0, 4]))
    np.testing.assert_allclose(found, [(1 / 2 + 2 / 4) / 2, np.nan])
