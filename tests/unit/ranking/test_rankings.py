"""Ranks, precision at k, average precision and exact search held to brute force, and by trapezoids to a walk."""

import itertools
import math
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows_and_examples import odd_csr

import lookalike
from lookalike.learners import TFIDF, Euclidean
from lookalike.ranking import oxford, rankings
from lookalike.ranking.evaluation import intervals
from lookalike.ranking.exact_search import LANES, top_k
from lookalike.ranking.exact_search import average_precision as exact_average_precision
from lookalike.ranking.rankings import rank_gallery, rank_leave_one_out


def brute_force(scores, y):
    """Ranks of positives, average precision, precision at every k and order of each query, where no scores tie."""
    found = []
    for query, own in enumerate(scores):
        order = [row for row in np.argsort(-own, kind="stable") if row != query]
        hits = np.cumsum(y[order] == y[query])
        ranks = np.flatnonzero(y[order] == y[query]) + 1
        precision = np.mean(hits[ranks - 1] / ranks) if len(ranks) else np.nan
        found.append((ranks, precision, hits / range(1, len(y)), order))
    return zip(*found, strict=True)


def model_of(scores):
    """A model whose similarities are given, rows being numbers of rows."""
    return SimpleNamespace(similarity=lambda A, B: np.asarray(scores)[A[:, 0]][:, B[:, 0]])


def ranked(scores, y, **options):
    return rank_leave_one_out(model_of(scores), np.arange(len(scores))[:, None], y, **options)


def problem(seed, n=30, n_classes=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n)), rng.integers(n_classes, size=n)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 25),
    n_classes=st.integers(1, 6),
    infinite=st.booleans(),
    memory_bytes=st.sampled_from([1, 2_000, 10**9]),
)
def test_every_measure_is_its_definition(seed, n, n_classes, infinite, memory_bytes):
    scores, y = problem(seed, n, n_classes)
    if infinite:
        scores[0, -1], scores[-1, 0] = np.inf, -np.inf
    ranks, precisions, at_k, order = map(list, brute_force(scores, y))
    precisions, at_k = np.array(precisions), np.array(at_k)
    found = ranked(scores, y, n_neighbours=7, memory_bytes=memory_bytes)
    assert (found.n_gallery, found.n_queries) == (n - 1, n)
    np.testing.assert_array_equal(found.ranks, np.concatenate(ranks))
    np.testing.assert_array_equal(np.diff(found.offsets), [len(own) for own in ranks])
    np.testing.assert_array_equal(found.neighbours, [own[:7] for own in order])
    np.testing.assert_allclose(found.neighbour_scores, np.take_along_axis(scores, found.neighbours, 1), rtol=1e-6)
    np.testing.assert_allclose(found.average_precision(), precisions, rtol=1e-12)
    asked = np.random.default_rng(seed).permutation(n)[: n // 2]
    some = ranked(scores, y, n_neighbours=7, asked=asked)
    np.testing.assert_array_equal(some.ranks, np.concatenate([ranks[query] for query in asked]))
    np.testing.assert_array_equal(some.average_precision(), found.average_precision()[asked])
    np.testing.assert_array_equal(some.neighbours, found.neighbours[asked])
    np.testing.assert_array_equal(some.query_ids, asked)
    has = ~np.isnan(precisions)
    assert found.n_without_positive == (~has).sum()
    np.testing.assert_allclose(found.precision_at(range(1, n)), np.where(has[:, None], at_k, np.nan), rtol=1e-12)
    if has.any() and len(set(y)) > 1:
        assert found.mean_average_precision() == pytest.approx(precisions[has].mean(), rel=1e-12)
        np.testing.assert_allclose(found.mean_precision_curve(), at_k[has].mean(axis=0), rtol=1e-12)


def walked(order, positives, junk):
    """Oxford's measure by walking down a list of images, one trapezoid per image that is not junk."""
    recall, precision, seen, hits, area = 0.0, 1.0, 0, 0, 0.0
    for image in order:
        if image in junk:
            continue
        seen += 1
        hits += image in positives
        new_recall, new_precision = hits / len(positives), hits / seen
        area += (new_recall - recall) * (precision + new_precision) / 2
        recall, precision = new_recall, new_precision
    return area


@pytest.mark.parametrize("seed", range(12))
def test_ties_count_by_their_expectation_over_all_orders(seed):
    random = np.random.default_rng(seed)
    scores, kinds = random.integers(1, 4, size=6), random.permutation(list("ppnnj" + "pnj"[seed % 3]))
    orders = [list(order) for order in itertools.permutations(range(6)) if (np.diff(scores[list(order)]) <= 0).all()]
    assert len(orders) > 1
    hits = np.array([kinds[order] == "p" for order in orders])
    precisions = (hits * hits.cumsum(axis=1) / np.arange(1, 7)).sum(axis=1) / hits.sum(axis=1)
    # the query, which is row 0, and six others
    square, y = np.zeros((7, 7)), np.array(["p", *kinds])
    square[0, 1:] = scores
    found = ranked(square, y)
    assert found.average_precision()[0] == pytest.approx(np.mean(precisions), rel=1e-12)
    at_k = hits.cumsum(axis=1).mean(axis=0) / np.arange(1, 7)
    np.testing.assert_allclose(found.precision_at(range(1, 7))[0], at_k, rtol=1e-12)
    gallery = rank_gallery(model_of(square), np.zeros((1, 1), int), np.arange(1, 7)[:, None], ["p"], kinds)
    np.testing.assert_allclose(gallery.mean_precision_curve(), at_k, rtol=1e-12)
    wanted, junk = np.flatnonzero(kinds == "p"), np.flatnonzero(kinds == "j")
    missing = range(6, 6 + seed % 3)
    expected = [walked(order, [*wanted, *missing], junk) for order in orders]
    for order, area in zip(orders, expected, strict=True):
        places = (np.flatnonzero(np.isin(order, images)).astype(np.uint32) + 1 for images in (wanted, junk))
        assert oxford.average_precision(*places, n_missing=len(missing)) == pytest.approx(area, rel=1e-12)
    ranks = 1 + (scores[:, None] < scores).sum(axis=1)
    ties = (scores[:, None] == scores).sum(axis=1)[wanted]
    area = oxford.average_precision(ranks[wanted], ranks[junk], ties=ties, n_missing=len(missing))
    assert area == pytest.approx(np.mean(expected), rel=1e-12)
    assert math.isnan(oxford.average_precision([], [1, 2]))


@pytest.mark.parametrize(
    ("scores", "ranks"),
    # rows 1 and 2 are of the query's class
    [
        ((4, np.nan, 3, 2, 1), (1, 4)),
        ((4, 4, 3, np.nan, 1), (2, 3)),
        ((4, np.nan, np.nan, 2, 1), (3, 4)),
        ((4, *4 * [np.nan]), (3, 4)),
    ],
)
def test_a_similarity_that_is_nan_counts_as_a_mistake(scores, ranks):
    square, y = np.zeros((5, 5)), np.array([0, 0, 0, 1, 1])
    square[0] = scores
    with pytest.warns(UserWarning, match=f"{np.isnan(scores).sum()} of 20 similarities are NaN: each counts as a mis"):
        found = ranked(square, y)
    expected = (1 / ranks[0] + 2 / ranks[1]) / 2
    assert found.average_precision()[0] == pytest.approx(expected)
    assert found.precision_at([2])[0] == (np.array(ranks) <= 2).sum() / 2
    last = np.flatnonzero(np.isnan(scores[1:]))
    assert sorted(found.neighbours[0][len(scores) - 1 - len(last) :] - 1) == last.tolist()


def test_ranking_stays_within_the_memory_asked_for():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(1500, 8)), rng.integers(100, size=1500)
    tracemalloc.start()
    rank_leave_one_out(TFIDF().fit(X), X, y, memory_bytes=5_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000 < 1500 * 1500 * 8


def test_intervals_are_of_95_percent():
    random = np.random.default_rng(0)
    values = random.normal(size=1000)
    found = intervals({"mean": values}, np.arange(1000), random)["mean"]
    reach = 1.96 * values.std() / math.sqrt(1000)
    assert (found.low, found.high) == pytest.approx((values.mean() - reach, values.mean() + reach), abs=0.1 * reach)


def test_evaluate_lets_queries_rank_a_gallery_or_each_other():
    random = np.random.default_rng(4)
    y, X = np.array(["a", "b", "c"])[random.integers(3, size=40)], random.normal(size=(40, 5))
    y = y.astype("U5")
    y[0] = "alone"
    X[:, 0] += y == "a"
    model, ids = Euclidean().fit(X), [f"row {i}" for i in range(40)]
    found = lookalike.evaluate(model, X, labels=y.tolist(), ks=(1, 5, 100), random_state=3)
    rankings = rank_leave_one_out(model, X, y)
    assert list(found) == ["map", "precision@1", "precision@5"]
    assert found["map"].value == pytest.approx(rankings.mean_average_precision())
    assert found["precision@5"].value == pytest.approx(np.nanmean(rankings.precision_at([5])))
    assert all(measure.n_queries == 39 and measure.low < measure.value < measure.high for measure in found.values())
    # each query with the others as its gallery
    rest = [(X[[i]], np.delete(X, i, 0), (y[[i]], np.delete(y, i))) for i in range(1, 40)]
    one_by_one = [lookalike.evaluate(model, *given)["map"] for given in rest]
    assert np.mean([measure.value for measure in one_by_one]) == pytest.approx(found["map"].value)
    assert math.isnan(one_by_one[0].low)  # one query says nothing about others
    assert math.isnan(one_by_one[0].high)
    # a table's ids, and rows of a gallery that no query asks for
    table, labels = pd.DataFrame(X, index=ids), dict(zip(ids, y, strict=True))
    halves = ((X, (y[:20], y[20:])), (table, labels))
    split = [lookalike.evaluate(model, rows[:20], rows[20:], given) for rows, given in halves]
    assert split[0] == split[1]
    nearest = np.argsort(((X[1:20, None] - X[20:]) ** 2).sum(axis=2), axis=1)[:, :10]
    assert split[0]["precision@10"].value == pytest.approx((y[20:][nearest] == y[1:20, None]).mean())


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
    are_odd=st.booleans(),
)
def test_top_k_is_the_head_of_a_stable_sort(seed, n_queries, n_gallery, k, dtype, n_threads, are_odd):
    random = np.random.default_rng(seed)
    d, k = 7, min(k, n_gallery - 1)
    queries, gallery = (sparse_rows(random, n, d, whole=True, density=0.5) for n in (n_queries, n_gallery))
    W = None if dtype is None else random.integers(-2, 3, (d, d)).astype(dtype)
    own = random.integers(-1, n_gallery, n_queries)
    scores = (queries @ (np.eye(d) if W is None else W)) @ gallery.T.toarray()
    expected, values = stable_sort(scores, k, own)
    if are_odd and n_queries:
        queries, gallery = odd_csr(queries.toarray()), odd_csr(gallery.toarray())
    found, found_scores = top_k(W, queries, gallery, k, own=own, n_threads=n_threads)
    assert (found.dtype, found_scores.dtype) == (np.int32, np.float32)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found_scores, values)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 5), st.integers(2, 300)),
    k=st.integers(1, 12),
    change=st.sampled_from(
        [
            np.array,
            np.round,
            np.zeros_like,
            np.sort,
            lambda x: (9 * x).astype(int),
            lambda x: np.where(x > 0, x, -np.inf),
        ]
    ),
)
def test_the_best_of_dense_scores_are_the_head_of_a_stable_sort_in_blocks_too(seed, shape, k, change):
    scores = change(np.random.default_rng(seed).standard_normal(shape))
    half, unowned = scores.shape[1] // 2, np.full(len(scores), -1)
    first = rankings.top_k(scores[:, :half], min(k, half))
    k = min(k, scores.shape[1])
    for columns, values in (rankings.top_k(scores, k), rankings.with_better(first, scores[:, half:], half, k)):
        for found, expected in zip((columns, values), stable_sort(scores, k, unowned), strict=True):
            np.testing.assert_array_equal(found, expected)


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


def test_all_scores_are_never_held():
    gallery = sp.random_array((20_000, 50), density=0.1, format="csr", dtype=np.float32, random_state=3)
    tracemalloc.start()
    top_k(None, gallery[:500], gallery, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000  # all scores: 40 MB


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
    expected = rank_leave_one_out(model_of(scores), np.arange(n)[:, None], y).average_precision()[queries]
    mates = [np.setdiff1d(np.flatnonzero(y == y[query]), query) for query in queries]
    starts = np.cumsum([0, *map(len, mates)])
    found = exact_average_precision(W * 1.0, rows, starts, np.concatenate(mates), queries, n_threads=n_threads)
    # two real scores may be equal in float32 only
    np.testing.assert_allclose(found, expected, rtol=1e-12 if scale is None else 0.02)


def evaluated(queries, gallery, labels):
    return lambda: lookalike.evaluate(Euclidean().fit(SCORES), queries, gallery, labels)


SCORES, Y = problem(0)
KINDS = np.array(list("abc"))[Y % 3].tolist()
EYE = sp.eye_array(4, dtype=np.float32, format="csr")
PAIR = SimpleNamespace(similarity=lambda A, B: A)
REFUSED = [
    ("30 images need 30 class labels", lambda: ranked(SCORES, Y[:-1])),
    ("expected", lambda: rank_leave_one_out(PAIR, np.eye(3)[:, :2], Y[:3])),
    *(("from 1 to 29, the gallery", lambda k=k: ranked(SCORES, Y).precision_at([1, k])) for k in (0, 1.5, 30)),
    ("no query has another row of its own", lambda: ranked(np.zeros((3, 3)), [0, 1, 2]).mean_average_precision()),
    ("StratifiedKFold", lambda: ranked(np.zeros((3, 3)), [1, 1, 1]).mean_average_precision()),
    ("ranks start at 1; got 0", lambda: oxford.average_precision([0, 2], [])),
    ("two images share a rank", lambda: oxford.average_precision([1, 2], [2])),
    ("needs labels", evaluated(SCORES, None, None)),
    ("labels are a pair", evaluated(SCORES, SCORES, KINDS)),
    ("30 queries and 30 gallery rows need as many labels", evaluated(SCORES, SCORES, (KINDS, KINDS[1:]))),
    ("no query has another row of its own class", evaluated(SCORES[:3], SCORES[3:], (KINDS[:3], 27 * ["z"]))),
    ("StratifiedKFold", evaluated(SCORES[:3], None, 3 * ["z"])),
    ("StratifiedKFold", evaluated(SCORES[:3], SCORES[3:], (["z", "z", "y"], 27 * ["z"]))),
    ("row 0 has no label", evaluated(SCORES, None, [None, *KINDS[1:]])),
    ("same codebook", lambda: top_k(None, EYE, sp.eye_array(5).tocsr(), 1)),
    (r"shape \(4, 4\)", lambda: top_k(np.eye(3), EYE, EYE, 1)),
    ("from 1 to 4", lambda: top_k(None, EYE, EYE, 5)),
    ("from 1 to 3", lambda: top_k(None, EYE, EYE, 4, own=[0, -1, -1, -1])),
    ("not finite", lambda: top_k(np.diag([1, 1e300, 1, 1]), EYE, EYE, 1, n_threads=2)),
    ("not finite", lambda: top_k(None, EYE * np.float32(np.inf), EYE, 1)),
    ("overflow", lambda: top_k(None, EYE * np.float32(1e30), EYE * np.float32(-1e30), 4)),
]


@pytest.mark.parametrize(("sentence", "call"), REFUSED)
def test_what_cannot_be_ranked_is_refused(sentence, call):
    with pytest.raises(ValueError, match=sentence):
        call()
