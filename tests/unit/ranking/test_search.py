"""Exact retrieval held to a stable sort of all scores, and approximate retrieval to the exact one."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import Given

from lookalike.ranking import approximate_search
from lookalike.ranking.approximate_search import (
    APPROXIMATE_COLUMNS,
    IndexSetting,
    ProjectedIndex,
    compare_indices,
    projection,
)
from lookalike.ranking.exact_search import LANES, average_precision, top_k
from lookalike.ranking.rankings import rank_leave_one_out, recall


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
        ((None, EYE, EYE, 0), {}, "from 1 to 4"),
        ((None, EYE, EYE, 5), {}, "from 1 to 4"),
        ((None, EYE, EYE, 4), {"own": [0, -1, -1, -1]}, "from 1 to 3"),
        ((np.diag([1, np.nan, 1, 1]), EYE, EYE, 1), {}, "not finite"),
        ((np.diag([1, 1e300, 1, 1]), EYE, EYE, 1), {"n_threads": 2}, "not finite"),
        ((None, EYE * np.float32(np.inf), EYE, 1), {}, "not finite"),
        ((None, EYE, EYE * np.float32(np.inf), 1), {}, "not finite"),
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


@pytest.fixture(scope="module")
def rows():
    return abs(sparse_rows(np.random.default_rng(0), 600, 30, density=0.3))


@pytest.fixture(scope="module")
def psd():
    factor = np.random.default_rng(1).normal(size=(30, 8))
    return (factor @ factor.T).astype(np.float32)


def test_a_projection_is_the_leading_positive_part(psd, monkeypatch):
    W = psd - 2 * np.eye(30, dtype=np.float32)  # 22 negative eigenvalues
    antisymmetric = np.random.default_rng(2).normal(size=(30, 30)).astype(np.float32)
    antisymmetric -= antisymmetric.T
    values, vectors = np.linalg.eigh(W.astype(np.float64))
    expected = (vectors[:, -5:] * values[-5:]) @ vectors[:, -5:].T
    L = projection(W + antisymmetric, 5)
    assert (L.shape, L.dtype) == ((30, 5), np.float32)
    np.testing.assert_allclose(L @ L.T, expected, atol=1e-4)
    np.testing.assert_allclose(np.square(L).sum(axis=0), values[:-6:-1], rtol=1e-4)
    assert (L[np.abs(L).argmax(axis=0), range(5)] > 0).all()
    assert projection(W + antisymmetric, 25).shape == (30, 8)
    monkeypatch.setattr(approximate_search, "DENSE_UP_TO", 10)
    found = projection(W, 5)
    np.testing.assert_allclose(found, L, atol=2e-3)
    assert found.tobytes() == projection(W, 5).tobytes()
    with pytest.raises(ValueError, match="no positive eigenvalue"):
        projection(-np.eye(3), 1)


@pytest.mark.parametrize(
    ("factory", "name", "low", "high", "least"),
    # all lists are all rows; a graph may have rows that nothing leads to
    [("IVF16,Flat", "nprobe", 1, 16, 0.995), ("HNSW8", "efSearch", 4, 600, 0.95)],
)
def test_a_search_parameter_buys_recall_and_an_index_is_always_the_same(rows, psd, factory, name, low, high, least):
    own = np.arange(60)
    exact, exact_scores = top_k(psd, rows[:60], rows, 10, own=own)
    index = ProjectedIndex(projection(psd, 8), rows, factory)
    few, _ = index.search(rows[:60], 10, own, **{name: low})
    many, scores = index.search(rows[:60], 10, own, **{name: high})
    assert recall(few, exact) < recall(many, exact) > least
    again = ProjectedIndex(projection(psd, 8), rows, factory).search(rows[:60], 10, own, **{name: high})
    assert (again[0].tobytes(), again[1].tobytes()) == (many.tobytes(), scores.tobytes())
    assert (many.dtype, scores.dtype) == (np.int32, np.float32)
    if name == "nprobe":
        np.testing.assert_allclose(scores, exact_scores, rtol=1e-4, atol=1e-4)
        found, scores = index.search(rows[:20], 500, own[:20], nprobe=1)
        assert (found == -1).any()
        np.testing.assert_array_equal(found == -1, np.isneginf(scores))


def test_indices_are_compared_with_exact_retrieval(rows, psd):
    settings = [IndexSetting("Flat", 8), IndexSetting("Flat", 2, ()), IndexSetting("IVF16,Flat", 8, (1, 16))]
    table = compare_indices(psd, rows[:50], rows, [1, 10], settings, np.arange(50))
    assert tuple(table.columns) == APPROXIMATE_COLUMNS
    named = table[["index", "rank", "parameter"]].drop_duplicates().itertuples(index=False, name=None)
    expected = [("exact", 0, 0), ("Flat", 8, 0), ("Flat", 2, 0), ("IVF16,Flat", 8, 1), ("IVF16,Flat", 8, 16)]
    assert list(named) == expected
    assert table.k.tolist() == [1, 10] * 5
    exact, flat, short, few_lists, all_lists = table.recall.to_numpy().reshape(5, 2)
    assert (exact == 1).all()
    assert np.minimum(flat, all_lists).min() > 0.98 > 0.9 > short.max()
    assert (few_lists < all_lists).all()
    assert (set(table.n_queries), set(table.n_gallery)) == ({50}, {600})


@pytest.mark.parametrize(
    ("setting", "ks", "message"),
    [
        (IndexSetting("Flat", 4, (8,)), [1], "parameters of"),
        (IndexSetting("HNSW8", 4), [1], "parameters of"),
        (IndexSetting("IVF4,Flat", 4, (0, 1)), [1], "parameters of"),
        (IndexSetting("Nope", 4), [1], "no index 'Nope' can be built of 600 rows of 4 dimensions.*could not parse"),
        (IndexSetting("IVF700,Flat", 4, (1,)), [1], r"no index 'IVF700,Flat'.*training points \(600\)"),
        (IndexSetting("Flat", 4), [1, 600], "ks must be from 1 to 599"),
        (IndexSetting("Flat", 4), [0], "ks must be from 1 to 599"),
        (IndexSetting("Flat", 4), [], "name at least one k"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(rows, psd, setting, ks, message):
    with pytest.raises(ValueError, match=message) as raised:
        compare_indices(psd, rows[:5], rows, ks, [setting], np.arange(5))
    assert not any(part in str(raised.value) for part in ("\n", ".cpp"))


def test_the_time_is_the_median_of_three_searches_after_a_first_one(rows, psd, monkeypatch):
    # read before and after each of the three, of which one is held up
    clock = iter([0.0, 1.0, 10.0, 60.0, 70.0, 72.0])
    monkeypatch.setattr(approximate_search.time, "perf_counter", lambda: next(clock))
    assert compare_indices(psd, rows[:5], rows, [1], [], np.arange(5)).milliseconds.tolist() == [1e3 * 2.0 / 5]
