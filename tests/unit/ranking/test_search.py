"""Exact retrieval held to a stable sort of all scores."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import Given

from lookalike.ranking.exact_search import LANES, average_precision, top_k
from lookalike.ranking.rankings import rank_leave_one_out


def sparse_rows(random, n, d, *, whole=False, density=0.2):
    """CSR rows; whole numbers give ties, and sums that are exact in float32 in whatever order."""
    values = random.integers(-2, 3, (n, d)) if whole else random.normal(size=(n, d))
    return sp.csr_array((values * (random.random((n, d)) < density)).astype(np.float32))


def stable_sort(scores, k, own):
    """The first k columns of a full stable sort, the own one left out."""
    scores = np.where(own[:, None] == np.arange(scores.shape[1]), -np.inf, scores)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, 1)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_queries=st.integers(0, 2 * LANES + 3),
    n_gallery=st.integers(2, 60),
    k=st.integers(1, 60),
    dtype=st.sampled_from([np.float32, np.float64, None]),
    n_threads=st.sampled_from([1, 3]),
)
def test_top_k_is_the_head_of_a_stable_sort(seed, n_queries, n_gallery, k, dtype, n_threads):
    random = np.random.default_rng(seed)
    d, k = 7, min(k, n_gallery - 1)
    queries, gallery = (sparse_rows(random, n, d, whole=True, density=0.5) for n in (n_queries, n_gallery))
    W = None if dtype is None else random.integers(-2, 3, (d, d)).astype(dtype)
    own = random.integers(-1, n_gallery, n_queries)
    scores = (queries @ (np.eye(d) if W is None else W)) @ gallery.T.toarray()
    expected, values = stable_sort(scores, k, own)
    found, found_scores = top_k(W, queries, gallery, k, own=own, n_threads=n_threads)
    assert (found.dtype, found_scores.dtype) == (np.int32, np.float32)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found_scores, values)


def test_real_scores_are_those_of_the_products_and_the_same_bits_in_any_block():
    random = np.random.default_rng(0)
    queries, gallery, W = sparse_rows(random, 40, 100), sparse_rows(random, 300, 100), random.normal(size=(100, 100))
    expected, values = stable_sort((queries.astype(np.float64) @ W) @ gallery.T.toarray(), 25, np.full(40, -1))
    for matrix in (W.astype(np.float32), np.asfortranarray(W), W):
        found, scores = top_k(matrix, queries, gallery, 25)
        np.testing.assert_allclose(scores, values, rtol=1e-4)
        assert (found == expected).mean() > 0.995
    for rows, n_threads in ((random.permutation(40), 5), (np.array([7]), 1)):
        again, again_scores = top_k(W, queries[rows], gallery, 25, n_threads=n_threads)
        assert (again.tobytes(), again_scores.tobytes()) == (found[rows].tobytes(), scores[rows].tobytes())


def test_rows_may_be_empty_have_words_twice_or_wide_indices():
    rows = sp.csr_array(([1.0, 2.0, 3.0, 4.0], [2, 0, 2, 1], [0, 3, 3, 4]), shape=(3, 3))
    tidy = rows.copy()
    tidy.sum_duplicates()
    wide = rows.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for matrix in (None, np.arange(9.0).reshape(3, 3)):
        expected = top_k(matrix, tidy, tidy, 3)
        for queries, gallery in ((rows, tidy), (tidy, rows), (wide, wide)):
            for mine, theirs in zip(top_k(matrix, queries, gallery, 3), expected, strict=True):
                np.testing.assert_array_equal(mine, theirs)


def test_all_scores_are_never_held():
    gallery = sp.random_array((20_000, 50), density=0.1, format="csr", dtype=np.float32, random_state=3)
    tracemalloc.start()
    top_k(None, gallery[:500], gallery, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000  # all scores: 40 MB


EYE = sp.eye_array(4, dtype=np.float32, format="csr")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((None, EYE, sp.eye_array(5).tocsr(), 1), {}, "same codebook"),
        ((np.eye(3), EYE, EYE, 1), {}, r"shape \(4, 4\)"),
        ((None, EYE, EYE, 5), {}, "from 1 to 4"),
        ((None, EYE, EYE, 4), {"own": [0, -1, -1, -1]}, "from 1 to 3"),
        ((np.diag([1, 1e300, 1, 1]), EYE, EYE, 1), {"n_threads": 2}, "not finite"),
        ((None, EYE * np.float32(np.inf), EYE, 1), {}, "not finite"),
        ((None, EYE * np.float32(1e30), EYE * np.float32(-1e30), 4), {}, "overflow"),
    ],
)
def test_what_cannot_be_found_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        top_k(*arguments, **options)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 200),
    n_classes=st.integers(1, 12),
    density=st.sampled_from([0.0, 0.1, 0.6]),
    scale=st.sampled_from([None, 1e-15, 1.0, 1e15]),  # None: whole numbers, with ties
    n_threads=st.sampled_from([1, 2]),
)
def test_average_precision_is_that_of_leave_one_out(seed, n, n_classes, density, scale, n_threads):
    random = np.random.default_rng(seed)
    rows, W = sparse_rows(random, n, 6, whole=scale is None, density=density), random.integers(-2, 3, (6, 6))
    rows *= np.float32(scale or 1)
    y, queries = random.integers(n_classes, size=n), random.permutation(n)[:20]
    scores = rows.astype(float) @ W @ rows.T.toarray()
    expected = rank_leave_one_out(Given(scores), np.arange(n)[:, None], y).average_precision()[queries]
    mates = [np.setdiff1d(np.flatnonzero(y == y[query]), query) for query in queries]
    starts = np.cumsum([0, *map(len, mates)])
    found = average_precision(W * 1.0, rows, starts, np.concatenate(mates), queries, n_threads=n_threads)
    # two real scores may be equal in float32 only
    np.testing.assert_allclose(found, expected, rtol=1e-12 if scale is None else 0.02)
