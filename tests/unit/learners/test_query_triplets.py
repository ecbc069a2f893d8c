"""Triplets from a query log: their distribution against the whole matrix R_II, their streams and their errors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import chisquare

from lookalike.data.query_log import QueryLog
from lookalike.learners import query_triplets
from lookalike.learners.query_triplets import QueryTripletSampler

N_IMAGES = 9
N_DRAWS = 60_000
LEVEL = 1e-4
"""P-value below which a test fails; the seeds are fixed, so what passes once always passes."""


def random_log(seed: int, weighted: bool) -> QueryLog:
    """Return six queries over nine images, the last without a query and the one before it alone in its query."""
    rng = np.random.default_rng(seed)
    query, image = np.nonzero(rng.random((6, 7)) < 0.45)
    query, image = np.append(query, 6), np.append(image, 7)
    relevance = rng.integers(1, 30, len(query)) if weighted else np.ones(len(query))
    return QueryLog.from_pairs(query, image, relevance, n_images=N_IMAGES)


def cut_matrix(log: QueryLog, theta: float = 0.0, share: float | None = None) -> np.ndarray:
    """Return R_II by dense algebra, cut; or C'C cut to its largest values."""
    query, image, weight = log.pairs()
    C = np.zeros((log.n_queries, log.n_images))
    C[query, image] = weight
    matrix = C.T @ (C if share is not None else C / C.sum(axis=1, keepdims=True) / C.sum())
    np.fill_diagonal(matrix, 0)
    if share is not None:
        values = np.sort(matrix[matrix > 0])
        return np.where(matrix >= values[len(values) - int(np.ceil(share * len(values)))], matrix, 0)
    return np.where(matrix > theta, matrix, 0)


def expected(matrix: np.ndarray, exclude_relevant: bool) -> np.ndarray:
    """Return the probability of every triplet (p, p+, p-)."""
    n = len(matrix)
    negative = np.ones((n, n))
    if exclude_relevant:
        negative = (matrix == 0) & ~np.eye(n, dtype=bool)
    is_query = (matrix.sum(axis=1) > 0) & (negative.sum(axis=1) > 0)
    probability = np.zeros((n, n, n))
    for p in np.flatnonzero(is_query):
        positives, negatives = matrix[p] / matrix[p].sum(), negative[p] / negative[p].sum()
        probability[p] = np.outer(positives, negatives) / is_query.sum()
    return probability


def assert_distribution(triplets: np.ndarray, probability: np.ndarray) -> None:
    counts = np.zeros(probability.shape)
    np.add.at(counts, tuple(triplets.T), 1)
    assert not counts[probability == 0].any()
    for axes in ((1, 2), (2,), (1,), ()):  # p; p and p+; p and p-; all three
        seen, wanted = counts.sum(axis=axes), probability.sum(axis=axes) * len(triplets)
        assert chisquare(seen[wanted > 0], wanted[wanted > 0]).pvalue > LEVEL


def quantile(log: QueryLog, share: float) -> float:
    matrix = cut_matrix(log)
    values = np.unique(np.round(matrix[matrix > 0], 12))
    place = int(share * (len(values) - 1))
    return float(values[place : place + 2].mean())  # between two values: rounding decides nothing


@pytest.mark.parametrize("way", ["propose", "collect", "lists"])
@pytest.mark.parametrize("exclude_relevant", [False, True])
@pytest.mark.parametrize("cut", [None, 0.3, 0.8])
@pytest.mark.parametrize(("seed", "weighted"), [(0, True), (1, True), (2, False)])
def test_triplets_follow_the_cut_matrix(
    monkeypatch: pytest.MonkeyPatch, seed: int, weighted: bool, cut: float | None, exclude_relevant: bool, way: str
) -> None:
    log = random_log(seed, weighted)
    theta = 0.0 if cut is None else quantile(log, cut)
    monkeypatch.setattr(query_triplets, "EASY", 2.0 if way == "lists" else 0.0)
    monkeypatch.setattr(query_triplets, "TRIES", 1 if way == "collect" else 1000)
    sampler = QueryTripletSampler(log, seed, theta=theta, exclude_relevant=exclude_relevant)
    matrix = cut_matrix(log, theta)
    assert sampler.n_without_positive_ == np.count_nonzero(matrix.sum(axis=1) == 0) >= 2
    assert sampler.threshold_ == theta
    assert sampler.threshold_is_exact_
    probability = expected(matrix, exclude_relevant)
    np.testing.assert_array_equal(sampler.queries_, np.flatnonzero(probability.sum(axis=(1, 2))))
    assert_distribution(sampler.draw(N_DRAWS), probability)
    assert_distribution(np.concatenate([sampler.chunk(i, N_DRAWS // 8) for i in range(8)]), probability)


@pytest.mark.parametrize("exclude_relevant", [False, True])
@pytest.mark.parametrize("share", [0.2, 0.6, 1.0])
def test_co_clicks_are_cut_to_their_largest(share: float, exclude_relevant: bool) -> None:
    log = random_log(3, True)
    sampler = QueryTripletSampler(log, 0, relevance="co_clicks", share=share, exclude_relevant=exclude_relevant)
    matrix = cut_matrix(log, share=share)
    assert sampler.threshold_ == matrix[matrix > 0].min()
    assert sampler.threshold_is_exact_
    assert_distribution(sampler.draw(N_DRAWS), expected(matrix, exclude_relevant))


def test_equal_co_clicks_are_all_kept() -> None:
    log = QueryLog.from_pairs([0, 0, 0, 1, 1], [0, 1, 2, 3, 4])
    sampler = QueryTripletSampler(log, 0, relevance="co_clicks", share=0.01)
    assert sampler.threshold_ == 1
    assert sampler.n_without_positive_ == 0


def test_a_sample_finds_the_co_click_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    query, image = np.nonzero(rng.random((40, 60)) < 0.3)  # pairs share 3.6 queries on average, and not alike
    log = QueryLog.from_pairs(query, image, rng.lognormal(size=len(query)))
    exact = QueryTripletSampler(log, 0, relevance="co_clicks", share=0.1)
    monkeypatch.setattr(query_triplets, "EXACT_PAIRS", 10)
    monkeypatch.setattr(query_triplets, "SAMPLED_PAIRS", 50_000)
    sampled = QueryTripletSampler(log, 0, relevance="co_clicks", share=0.1)
    other_seed = QueryTripletSampler(log, 1, relevance="co_clicks", share=0.1)
    assert exact.threshold_is_exact_
    assert not sampled.threshold_is_exact_
    assert sampled.threshold_ == other_seed.threshold_
    matrix = log_co_clicks(log)
    kept = np.count_nonzero(matrix >= sampled.threshold_) / np.count_nonzero(matrix)
    assert kept == pytest.approx(0.1, abs=0.01)  # without the weights it is below 0.06


def log_co_clicks(log: QueryLog) -> np.ndarray:
    return cut_matrix(log, share=1.0)


def test_rare_positives_end() -> None:
    # image 0 is almost all of its query's relevance: a proposal is another image once in a hundred million
    log = QueryLog.from_pairs([0, 0, 0], [0, 1, 2], [1e8, 1.0, 3.0], n_images=5)
    for easy in (0.0, 0.25):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(query_triplets, "EASY", easy)
            triplets = QueryTripletSampler(log, 0).draw(20_000)
        positives = triplets[triplets[:, 0] == 0, 1]
        assert (
            chisquare(np.bincount(positives, minlength=3)[1:], len(positives) * np.array([0.25, 0.75])).pvalue > LEVEL
        )


def test_rare_negatives_end() -> None:
    n = 1000
    log = QueryLog.from_pairs(np.zeros(n - 2, int), np.arange(n - 2), n_images=n)
    negatives = QueryTripletSampler(log, 0, exclude_relevant=True).draw(2000)[:, 2]
    counts = np.bincount(negatives, minlength=n)
    assert not counts[: n - 2].any()
    assert chisquare(counts[n - 2 :]).pvalue > LEVEL


def test_lists_end_where_their_memory_does(monkeypatch: pytest.MonkeyPatch) -> None:
    log = random_log(1, True)
    monkeypatch.setattr(query_triplets, "EASY", 2.0)
    monkeypatch.setattr(query_triplets, "LIST_ENTRIES", 7)
    sampler = QueryTripletSampler(log, 0)
    assert 0 < len(sampler._lists.images) <= 7
    assert_distribution(sampler.draw(N_DRAWS), expected(cut_matrix(log), False))


def test_a_chunk_is_its_seed_and_number() -> None:
    log = random_log(0, True)
    sampler = QueryTripletSampler(log, 3)
    fifth = sampler.chunk(5, 700)
    sampler.draw(10)
    sampler.chunk(2, 300)
    np.testing.assert_array_equal(sampler.chunk(5, 700), fifth)
    np.testing.assert_array_equal(sampler.chunk(5, 100), fifth[:100])
    np.testing.assert_array_equal(QueryTripletSampler(log, 3).chunk(5, 700), fifth)
    others = [sampler.chunk(4, 700), QueryTripletSampler(log, 4).chunk(5, 700), QueryTripletSampler(log, 3).draw(700)]
    for other in others:
        # rows agree by chance only: no stream is another one moved along
        for shift in range(4):
            assert (other[shift:] == fifth[: 700 - shift]).all(axis=1).mean() < 0.1


def test_threads_draw_the_same_chunks() -> None:
    sampler = QueryTripletSampler(random_log(0, True), 0)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda number: sampler.chunk(number, 5000), range(16)))
    for number, triplets in enumerate(together):
        np.testing.assert_array_equal(triplets, sampler.chunk(number, 5000))


def test_float32_and_float64_logs_give_the_same_triplets() -> None:
    query, image, weight = random_log(1, True).pairs()
    logs = [QueryLog.from_pairs(query, image, weight.astype(dtype)) for dtype in (np.float32, np.float64)]
    first, second = (QueryTripletSampler(log, 0, theta=1e-3).draw(5000) for log in logs)
    np.testing.assert_array_equal(first, second)


def test_logs_without_relevant_images_are_refused() -> None:
    alone = QueryLog.from_pairs([0, 1, 2], [0, 1, 2])
    pairs = QueryLog.from_pairs([0, 0, 1, 1], [0, 1, 1, 2])
    with pytest.raises(ValueError, match="no image has a relevant other image: lower theta"):
        QueryTripletSampler(alone)
    with pytest.raises(ValueError, match="no image has a relevant other image"):
        QueryTripletSampler(alone, relevance="co_clicks", share=0.5)
    with pytest.raises(ValueError, match="lower theta"):
        QueryTripletSampler(pairs, theta=float(pairs.joint(0, 1)))  # above it, not at it
    with pytest.raises(ValueError, match="give a log with more queries"):
        QueryTripletSampler(pairs.of_images([]))
    with pytest.raises(ValueError, match="and an irrelevant one"):
        QueryTripletSampler(QueryLog.from_pairs([0, 0, 0], [0, 1, 2]), exclude_relevant=True)


def test_mistakes_are_named() -> None:
    log = QueryLog.from_pairs([0, 0, 1, 1], [0, 1, 1, 2])
    with pytest.raises(ValueError, match="theta must be"):
        QueryTripletSampler(log, theta=-1e-12)
    with pytest.raises(ValueError, match="theta must be"):
        QueryTripletSampler(log, theta=float("nan"))
    with pytest.raises(ValueError, match="joint, co_clicks"):
        QueryTripletSampler(log, relevance="clicks")
    for share in (None, 0.0, -0.5, 1.5, float("nan")):
        with pytest.raises(ValueError, match="cut by share"):
            QueryTripletSampler(log, relevance="co_clicks", share=share)
    with pytest.raises(ValueError, match="not by theta"):
        QueryTripletSampler(log, relevance="co_clicks", share=0.5, theta=0.1)
    with pytest.raises(ValueError, match="co_clicks"):
        QueryTripletSampler(log, share=0.5)
    with pytest.raises(ValueError, match="no chunk -1"):
        QueryTripletSampler(log).chunk(-1, 5)
