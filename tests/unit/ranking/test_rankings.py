"""Ranks, precision at k and average precision, held to a brute-force version and to scikit-learn's."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from lookalike.ranking.rankings import Rankings, mean_average_precision, rank_leave_one_out


class Scores:
    """A model whose rows are row numbers and whose similarity looks up a fixed matrix."""

    def __init__(self, scores):
        self.scores = np.asarray(scores)
        self.batches = []

    def similarity(self, A, B):
        self.batches.append(len(A))
        return self.scores[A[:, 0]][:, B[:, 0]]


class InnerProduct:
    def similarity(self, A, B):
        return A @ B.T


def ranked(scores, y, **options):
    rows = np.arange(len(y))[:, None]
    return rank_leave_one_out(Scores(scores), rows, y, **options)


def brute_force(scores, y):
    """Ranks, AP and P@k by sorting Python tuples: the definition, with nothing clever."""
    n = len(y)
    all_ranks, precisions, at_k, order_of = [], [], [], []
    for query in range(n):
        order = sorted((j for j in range(n) if j != query), key=lambda j: (-scores[query][j], j))
        relevant = [y[j] == y[query] for j in order]
        ranks = [r for r, hit in enumerate(relevant, start=1) if hit]
        all_ranks.append(ranks)
        order_of.append(order)
        at_k.append(np.cumsum(relevant) / np.arange(1, n))
        precisions.append(np.mean([sum(relevant[:r]) / r for r in ranks]) if ranks else np.nan)
    return all_ranks, np.array(precisions), np.array(at_k), order_of


def problem(seed, n=30, n_classes=4, n_values=None):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n)) if n_values is None else rng.integers(n_values, size=(n, n)).astype(float)
    return scores, rng.integers(n_classes, size=n)


@pytest.mark.parametrize("n_values", [None, 1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_equals_brute_force_with_and_without_ties(seed, n_values):
    scores, y = problem(seed, n_values=n_values)
    ranks, precisions, at_k, order = brute_force(scores, y)
    found = ranked(scores, y, n_neighbours=7)
    assert found.n_gallery == 29
    for query, expected in enumerate(ranks):
        np.testing.assert_array_equal(found.ranks[found.offsets[query] : found.offsets[query + 1]], expected)
    np.testing.assert_allclose(found.average_precision(), precisions, rtol=1e-12)
    has = ~np.isnan(precisions)
    np.testing.assert_allclose(found.precision_at(range(1, 30))[has], at_k[has], rtol=1e-12)
    np.testing.assert_allclose(found.mean_precision_curve(), at_k[has].mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(found.neighbours, [o[:7] for o in order])
    np.testing.assert_allclose(found.neighbour_scores, np.take_along_axis(scores, found.neighbours, 1), rtol=1e-6)
    assert mean_average_precision(scores, y) == pytest.approx(np.nanmean(precisions), rel=1e-12)


def test_equals_scikit_learn_without_ties():
    scores, y = problem(11, n=60)
    y[0] = 99  # a class of one image
    found = ranked(scores, y)
    assert found.n_without_positive == 1
    for query in range(1, 60):
        others = np.arange(60) != query
        expected = average_precision_score(y[others] == y[query], scores[query][others])
        assert found.average_precision()[query] == pytest.approx(expected, rel=1e-12)


def test_types_are_those_of_the_contract():
    found = ranked(*problem(0), query_ids=np.arange(100, 130))
    assert found.offsets.dtype == np.int64
    assert found.ranks.dtype == found.query_ids.dtype == found.neighbours.dtype == np.int32
    assert found.neighbour_scores.dtype == np.float32
    assert found.neighbours.shape == (30, 29)
    assert found.query_ids[0] == 100


def test_queries_without_a_positive_are_left_out_and_counted():
    y = np.array([0, 0, 1, 2])
    found = ranked(np.zeros((4, 4)), y)
    assert found.n_without_positive == 2
    np.testing.assert_array_equal(np.isnan(found.average_precision()), [False, False, True, True])
    assert np.isnan(found.precision_at([1])[2:]).all()
    # all scores equal: row 0 finds row 1 first, row 1 finds row 0 first
    assert found.mean_average_precision() == 1.0
    assert found.mean_precision_curve(1)[0] == 1.0


def test_all_queries_without_a_positive_is_an_error():
    found = ranked(np.zeros((3, 3)), [0, 1, 2])
    for measure in (found.mean_average_precision, found.mean_precision_curve):
        with pytest.raises(ValueError, match="no query has a positive"):
            measure()
    with pytest.raises(ValueError, match="no query has a positive"):
        mean_average_precision(np.zeros((3, 3)), [0, 1, 2])


def test_bad_input_is_refused():
    scores, y = problem(0)
    broken = scores.copy()
    broken[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        ranked(broken, y)
    with pytest.raises(ValueError, match="NaN"):
        mean_average_precision(broken, y)
    with pytest.raises(ValueError, match="shape"):
        mean_average_precision(scores[:, :5], y)
    with pytest.raises(ValueError, match="30 class labels"):
        rank_leave_one_out(Scores(scores), np.arange(30)[:, None], y[:-1])
    with pytest.raises(ValueError, match="at least two"):
        ranked(np.zeros((1, 1)), [0])
    with pytest.raises(ValueError, match="30 query ids"):
        ranked(scores, y, query_ids=np.arange(3))
    for k in (0, 30):
        with pytest.raises(ValueError, match="gallery"):
            ranked(scores, y).precision_at([k])
        with pytest.raises(ValueError, match="gallery"):
            ranked(scores, y).mean_precision_curve(k)


def test_infinite_scores_rank_like_any_others():
    scores, y = problem(5)
    scores[2, 4], scores[2, 5], scores[2, 6] = -np.inf, np.inf, -np.inf
    ranks = brute_force(scores, y)[0]
    found = ranked(scores, y)
    np.testing.assert_array_equal(found.ranks[found.offsets[2] : found.offsets[3]], ranks[2])


def test_sparse_and_dense_rows_give_the_same_ranks_in_any_batches():
    rng = np.random.default_rng(3)
    X = rng.random((40, 12)) * (rng.random((40, 12)) < 0.4)
    y = rng.integers(4, size=40)
    dense = rank_leave_one_out(InnerProduct(), X, y)
    for rows in (sp.csr_array(X), sp.csr_matrix(X)):
        for memory_bytes in (1, 10_000, 500_000_000):
            found = rank_leave_one_out(InnerProduct(), rows, y, memory_bytes=memory_bytes)
            np.testing.assert_array_equal(found.ranks, dense.ranks)
            np.testing.assert_array_equal(found.neighbours, dense.neighbours)


def test_memory_stays_within_what_is_asked_for():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 8)), rng.integers(100, size=3000)
    full = 3000 * 3000 * 8
    tracemalloc.start()
    try:
        rank_leave_one_out(InnerProduct(), X, y, memory_bytes=20_000_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30_000_000 < full


MEMORY_OF_249_CLASSES = """
import re
from pathlib import Path
import numpy as np
import scipy.sparse as sp
from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.learners import OASIS

n, d = 249 * 25, 1000
X = sp.random_array((n, d), density=0.07, format="csr", rng=np.random.default_rng(0))
y = np.repeat(np.arange(249), 25)
model = OASIS(n_steps=10, random_state=0).fit(X, y)
found = rank_leave_one_out(model, X, y)
assert found.n_queries == n
# the high-water mark of this program alone: ru_maxrss would count what its parent held when it was started
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from Linux's /proc")
def test_249_classes_need_less_than_a_gigabyte_in_the_whole_process():
    done = subprocess.run([sys.executable, "-c", MEMORY_OF_249_CLASSES], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 1_000_000_000


def test_save_and_load_give_the_same_back_and_the_same_bytes(tmp_path):
    found = ranked(*problem(1), n_neighbours=5)
    for name in ("a.npz", "b.npz"):
        found.save(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    loaded = Rankings.load(tmp_path / "a.npz")
    assert loaded.n_gallery == found.n_gallery
    for name in ("offsets", "ranks", "query_ids", "neighbours", "neighbour_scores"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(found, name))
    assert loaded.mean_average_precision() == found.mean_average_precision()


def test_without_neighbours_none_are_kept(tmp_path):
    found = ranked(*problem(1), n_neighbours=0)
    assert found.neighbours is None
    found.save(tmp_path / "ranks.npz")
    assert Rankings.load(tmp_path / "ranks.npz").neighbours is None


seeds = st.integers(0, 2**32 - 1)


@settings(deadline=None, max_examples=40)
@given(seed=seeds, n=st.integers(4, 25), n_values=st.sampled_from([None, 2, 5]))
def test_average_precision_is_a_share_and_precision_at_k_counts(seed, n, n_values):
    scores, y = problem(seed, n=n, n_classes=2, n_values=n_values)
    found = ranked(scores, y)
    precision = found.average_precision()
    has = ~np.isnan(precision)
    assert np.all((precision[has] > 0) & (precision[has] <= 1))
    hits = found.precision_at(range(1, n))[has] * np.arange(1, n)
    assert np.all(np.diff(hits, axis=1) >= -1e-9), "hits among the first k never fall with k"
    assert np.all(np.diff(hits, axis=1) <= 1 + 1e-9), "one more image is at most one more hit"
    np.testing.assert_allclose(hits[:, -1], found.n_positives[has], atol=1e-9)
    # the lowest AP there is: all positives at the end
    m = found.n_positives[has]
    worst = [np.mean(np.arange(1, k + 1) / np.arange(n - k, n)) for k in m]
    assert np.all(precision[has] >= np.array(worst) - 1e-12)


@settings(deadline=None, max_examples=30)
@given(seed=seeds)
def test_positives_first_is_a_perfect_ranking(seed):
    scores, y = problem(seed, n=20)
    scores = scores / (np.abs(scores).max() + 1) + (y[:, None] == y[None, :]) * 2
    found = ranked(scores, y)
    precision = found.average_precision()
    np.testing.assert_allclose(precision[~np.isnan(precision)], 1.0)


@settings(deadline=None, max_examples=30)
@given(seed=seeds, n_values=st.sampled_from([None, 3]))
def test_a_growing_transform_of_scores_changes_nothing(seed, n_values):
    scores, y = problem(seed, n=18, n_values=n_values)
    found = ranked(scores, y, n_neighbours=5)
    for transformed in (scores * 8 - 4, np.arctan(scores)):
        again = ranked(transformed, y, n_neighbours=5)
        np.testing.assert_array_equal(again.ranks, found.ranks)
        np.testing.assert_array_equal(again.neighbours, found.neighbours)
