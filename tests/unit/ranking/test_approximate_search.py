"""The projection held to the eigenvectors of W, the index to exact retrieval and to the learners' similarity."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.ranking import approximate_search
from lookalike.ranking.approximate_search import (
    APPROXIMATE_COLUMNS,
    IndexSetting,
    ProjectedIndex,
    compare_indices,
    projection,
    recall,
)
from lookalike.ranking.exact_search import top_k


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = random.random((600, 30)) * (random.random((600, 30)) < 0.3)
    return sp.csr_array(X.astype(np.float32))


@pytest.fixture(scope="module")
def psd():
    factor = np.random.default_rng(1).normal(size=(30, 8))
    return (factor @ factor.T).astype(np.float32)


def test_projection_is_the_leading_positive_part(psd):
    random = np.random.default_rng(2)
    W = psd - 2 * np.eye(30, dtype=np.float32)  # 22 negative eigenvalues
    antisymmetric = random.normal(size=(30, 30)).astype(np.float32)
    antisymmetric -= antisymmetric.T
    L = projection(W + antisymmetric, 5)
    values, vectors = np.linalg.eigh(W.astype(np.float64))
    expected = (vectors[:, -5:] * values[-5:]) @ vectors[:, -5:].T
    assert L.shape == (30, 5)
    assert L.dtype == np.float32
    np.testing.assert_allclose(L @ L.T, expected, atol=1e-4)
    np.testing.assert_allclose(np.square(L).sum(axis=0), values[:-6:-1], rtol=1e-4)
    assert projection(W + antisymmetric, 25).shape == (30, 8)


def test_projection_of_many_features_is_that_of_all_eigenvectors(psd, monkeypatch):
    W = psd + 0.1 * np.diag(np.arange(30)).astype(np.float32)
    expected = projection(W, 4)
    monkeypatch.setattr(approximate_search, "DENSE_UP_TO", 10)
    found = projection(W, 4)
    np.testing.assert_allclose(found, expected, atol=2e-3)
    assert found.tobytes() == projection(W, 4).tobytes()


def test_projection_refuses_what_has_no_positive_part():
    with pytest.raises(ValueError, match="no positive eigenvalue"):
        projection(-np.eye(3), 1)


def test_flat_index_of_full_rank_is_exact(rows, psd):
    own = np.arange(40)
    exact, scores = top_k(psd, rows[:40], rows, 10, own=own)
    found, found_scores = ProjectedIndex(projection(psd, 8), rows).search(rows[:40], 10, own=own)
    assert found.dtype == np.int32
    assert found_scores.dtype == np.float32
    np.testing.assert_allclose(found_scores, scores, rtol=1e-4, atol=1e-4)
    assert recall(found, exact) > 0.99
    assert not (found == own[:, None]).any()


def test_lower_rank_finds_less(rows, psd):
    exact, _ = top_k(psd, rows[:40], rows, 10)
    recalls = [recall(ProjectedIndex(projection(psd, r), rows).search(rows[:40], 10)[0], exact) for r in (1, 4, 8)]
    assert recalls[0] < recalls[1] < recalls[2]


@pytest.mark.parametrize(
    ("factory", "name", "low", "high", "least"),
    # all lists are all rows; a graph may have rows that nothing leads to
    [("IVF16,Flat", "nprobe", 1, 16, 0.995), ("HNSW8", "efSearch", 4, 600, 0.95)],
)
def test_search_parameter_buys_recall_and_the_index_is_the_same_every_time(rows, psd, factory, name, low, high, least):
    exact, _ = top_k(psd, rows[:60], rows, 10)
    index = ProjectedIndex(projection(psd, 8), rows, factory)
    few, _ = index.search(rows[:60], 10, **{name: low})
    many, scores = index.search(rows[:60], 10, **{name: high})
    assert recall(few, exact) < recall(many, exact)
    assert recall(many, exact) > least
    again = ProjectedIndex(projection(psd, 8), rows, factory).search(rows[:60], 10, **{name: high})
    assert again[0].tobytes() == many.tobytes()
    assert again[1].tobytes() == scores.tobytes()


def test_places_that_an_index_leaves_empty_are_minus_one(rows, psd):
    index = ProjectedIndex(projection(psd, 8), rows, "IVF16,Flat")
    found, scores = index.search(rows[:20], 500, nprobe=1)
    assert (found == -1).any()
    assert np.array_equal(found == -1, np.isneginf(scores))


def test_recall_by_hand():
    exact = np.array([[1, 2], [3, 4]])
    assert recall(np.array([[2, 9], [-1, -1]]), exact) == 0.25
    assert recall(np.array([[2, 1, 7], [9, 4, 3]]), exact) == 1


def test_compare_indices(rows, psd):
    settings = [IndexSetting("Flat", 8), IndexSetting("Flat", 2, ()), IndexSetting("IVF16,Flat", 8, (1, 16))]
    table = compare_indices(psd, rows[:50], rows, [1, 10], settings, own=np.arange(50))
    assert tuple(table.columns) == APPROXIMATE_COLUMNS
    assert table["index"].tolist() == ["exact"] * 2 + ["Flat"] * 4 + ["IVF16,Flat"] * 4
    assert table["rank"].tolist() == [0, 0, 8, 8, 2, 2, 8, 8, 8, 8]
    assert table.parameter.tolist() == [0] * 6 + [1, 1, 16, 16]
    assert table.k.tolist() == [1, 10] * 5
    assert (table.recall[:2] == 1).all()
    assert (table.recall[2:4] > 0.98).all()
    assert (table.recall[4:6] < 0.9).all()
    assert (table.recall[8:] > 0.98).all()
    assert (table.recall[6:8].to_numpy() < table.recall[8:].to_numpy()).all()
    assert (table.milliseconds > 0).all()
    assert set(table.n_queries) == {50}
    assert set(table.n_gallery) == {600}


@pytest.mark.parametrize(
    "setting",
    [
        IndexSetting("Flat", 4, (8,)),
        IndexSetting("HNSW8", 4),
        IndexSetting("HNSW8", 4, ()),
        IndexSetting("IVF4,Flat", 4, (0, 1)),
    ],
)
def test_compare_indices_refuses_parameters_that_mean_nothing(rows, psd, setting):
    with pytest.raises(ValueError, match="parameters of"):
        compare_indices(psd, rows[:5], rows, [1], [setting])


@pytest.mark.parametrize(
    ("setting", "ks", "message"),
    [
        (IndexSetting("Nope", 4), [1], "no index 'Nope' can be built of 600 rows of 4 dimensions.*could not parse"),
        (IndexSetting("IVF700,Flat", 4, (1,)), [1], r"no index 'IVF700,Flat'.*training points \(600\)"),
        (IndexSetting("Flat", 4), [1, 601], "ks must be from 1 to 600"),
        (IndexSetting("Flat", 4), [0], "ks must be from 1 to 600"),
    ],
)
def test_compare_indices_refuses_what_cannot_be_built_or_found(rows, psd, setting, ks, message):
    with pytest.raises(ValueError, match=message) as raised:
        compare_indices(psd, rows[:5], rows, ks, [setting])
    assert "\n" not in str(raised.value)
    assert ".cpp" not in str(raised.value)


def test_a_query_cannot_find_itself(rows, psd):
    with pytest.raises(ValueError, match="ks must be from 1 to 599"):
        compare_indices(psd, rows[:5], rows, [600], [], own=np.arange(5))


def test_the_time_is_the_median_of_three_searches_after_a_first_one(rows, psd, monkeypatch):
    """The first search, and one of the three, are held up."""
    clock, calls = [0.0], []

    def slow(*arguments, **options):
        calls.append(len(calls))
        clock[0] += (100.0, 1.0, 50.0, 2.0)[(len(calls) - 1) % 4]
        return top_k(*arguments, **options)

    monkeypatch.setattr(approximate_search, "top_k", slow)
    monkeypatch.setattr(approximate_search.time, "perf_counter", lambda: clock[0])
    table = compare_indices(psd, rows[:5], rows, [1], [])
    assert len(calls) == 4
    assert table.milliseconds.tolist() == [1e3 * 2.0 / 5]
