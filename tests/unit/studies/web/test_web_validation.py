"""Held-out images of the web study: whole queries, scored as a dense ranking scores them, and kept as a file."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from made_stores import write_store

from lookalike.core.errors import LookalikeError
from lookalike.data.query_log import QueryLog
from lookalike.features.visterm_store import VistermStore
from lookalike.learners.compact_rows import CompactRows
from lookalike.studies.web.validation import Validation, hold_out

N_IMAGES, N_WORDS, PER_QUERY = 120, 40, 5


@pytest.fixture
def log() -> QueryLog:
    """Return 24 queries of five images each, and a 25th over five images of five of them."""
    query = np.repeat(np.arange(N_IMAGES // PER_QUERY), PER_QUERY)
    further = np.arange(5) * 2 * PER_QUERY
    return QueryLog.from_pairs(
        np.concatenate([query, np.full(5, N_IMAGES // PER_QUERY)]), np.concatenate([np.arange(N_IMAGES), further])
    )


@pytest.fixture
def store(tmp_path) -> VistermStore:
    counts = np.random.default_rng(0).poisson(0.4, (N_IMAGES, N_WORDS))
    write_store(tmp_path / "visterms", sp.csr_array(counts))
    return VistermStore(tmp_path / "visterms", N_WORDS)


@pytest.fixture
def made(log, store, tmp_path) -> tuple[Validation, CompactRows, np.ndarray]:
    held_out = hold_out(log, np.arange(N_IMAGES), 20, 3)
    rows = CompactRows.build(store, np.setdiff1d(np.arange(N_IMAGES), held_out), tmp_path / "rows")
    return Validation.make(rows, store, log, held_out, 10, 4), rows, held_out


def test_whole_queries_are_held_out(log):
    held_out = hold_out(log, np.arange(N_IMAGES), 20, 0)
    assert held_out.dtype == np.int32
    assert (np.diff(held_out) > 0).all()
    # a query's images come together, but for one that went with the query across
    assert 20 <= len(held_out) < 20 + PER_QUERY
    sizes = np.bincount(held_out // PER_QUERY)
    assert np.isin(sizes, [0, 1, PER_QUERY - 1, PER_QUERY]).all()
    assert (sizes >= PER_QUERY - 1).sum() >= 3


def test_all_queries_have_their_turn(log):
    drawn = [hold_out(log, np.arange(N_IMAGES), 20, seed) for seed in range(60)]
    share = np.bincount(np.concatenate(drawn), minlength=N_IMAGES) / len(drawn)
    assert (share > 0.02).all()
    assert (share < 0.5).all()
    np.testing.assert_array_equal(drawn[7], hold_out(log, np.arange(N_IMAGES), 20, 7))
    assert len({ids.tobytes() for ids in drawn}) > 50


def test_never_more_than_a_third(log):
    for seed in range(20):
        n_held = len(hold_out(log, np.arange(N_IMAGES), 10_000, seed))
        assert N_IMAGES // 3 - PER_QUERY < n_held <= N_IMAGES // 3


def test_only_training_images_are_held_out(log):
    train_ids = np.arange(0, N_IMAGES, 2)
    assert np.isin(hold_out(log, train_ids, 15, 0), train_ids).all()


def test_a_query_of_more_than_a_third_is_passed_over():
    log = QueryLog.from_pairs([*[0] * 6, 1, 1, 2], [0, 1, 2, 3, 4, 5, 6, 7, 8])
    for seed in range(10):
        assert set(hold_out(log, np.arange(9), 3, seed)) == {6, 7, 8}


def test_what_cannot_be_held_out_is_refused():
    whole = QueryLog.from_pairs([0] * 9, range(9))
    with pytest.raises(LookalikeError, match="no query of the log has a third of the 9 training images or fewer"):
        hold_out(whole, np.arange(9), 3, 0)


def dense_mean_average_precision(validation, held_out, store, rows, log, W) -> float:
    """Rank by dense products in the user's order of words, with relevance pair by pair."""
    X = rows.weighted(store.rows(held_out)).toarray().astype(np.float64)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-6)
    values = []
    for query in validation.queries:
        others = np.delete(np.arange(len(held_out)), query)
        scores = X[query] @ W @ X[others].T
        relevant = (log.joint(held_out[query], held_out[others]) > 0)[np.argsort(-scores, kind="stable")]
        values.append((np.cumsum(relevant) / np.arange(1, len(others) + 1))[relevant].mean())
    return float(np.mean(values))


def test_score_is_that_of_a_dense_ranking(made, store, log):
    validation, rows, held_out = made
    assert (validation.rows.shape[0], len(validation.queries)) == (len(held_out), 10)
    W = np.random.default_rng(1).standard_normal((N_WORDS, N_WORDS)).astype(np.float32)
    expected = dense_mean_average_precision(validation, held_out, store, rows, log, W)
    internal = np.empty_like(W)
    order = np.argsort(rows._place)
    internal[:] = W[np.ix_(order, order)]
    assert validation.score(internal) == pytest.approx(expected, abs=1e-6)
    assert validation.score(W) != pytest.approx(expected, abs=1e-3)


def test_every_query_has_a_relevant_image(log, store, tmp_path):
    """Images 0 to 4 are a query, of which two are held out beside one that has nobody there."""
    held_out = [0, 1, 50]
    rows = CompactRows.build(store, np.arange(60, 90), tmp_path / "rows")
    validation = Validation.make(rows, store, log, held_out, 100, 0)
    assert validation.queries.tolist() == [0, 1]
    assert validation.relevant_indices.tolist() == [1, 0]
    assert validation.relevant_indptr.tolist() == [0, 1, 2]


def test_theta_cuts_by_the_probabilities_of_all_training_images(log, store, tmp_path):
    """Held-out pairs of equal relevance are all in or all out, by Pr in the log of held-out and learned images."""
    held_out = np.arange(10)
    rows = CompactRows.build(store, np.arange(60, 100), tmp_path / "rows")
    # 50 images in ten queries of five; the query across has images 0 and 10, 20, 30, 40 are not there
    pair = log.of_images(np.concatenate([held_out, np.arange(60, 100)])).joint(1, 2)
    assert len(Validation.make(rows, store, log, held_out, 99, 0, theta=0.99 * pair).queries) == 10
    with pytest.raises(LookalikeError, match="no held-out image has a relevant one among the others"):
        Validation.make(rows, store, log, held_out, 99, 0, theta=1.01 * pair)


def test_what_is_learned_from_is_not_held_out(made, store, log):
    _, rows, held_out = made
    with pytest.raises(ValueError, match="among the rows that are learned from"):
        Validation.make(rows, store, log, [*held_out, int(rows.image_ids[0])], 5, 0)


def test_a_file_keeps_it(made, tmp_path):
    validation, _, _ = made
    validation.save(tmp_path / "a" / "validation.npz")
    validation.save(tmp_path / "b.npz")
    assert (tmp_path / "a" / "validation.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    again = Validation.load(tmp_path / "b.npz", n_threads=2)
    assert again.n_threads == 2
    W = np.random.default_rng(1).standard_normal((N_WORDS, N_WORDS)).astype(np.float32)
    assert again.score(W) == validation.score(W)
    assert again.rows.dtype == np.float32
    np.testing.assert_array_equal(again.queries, validation.queries)
