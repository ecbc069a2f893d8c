"""Triplets from a query log: their distribution against the whole matrix R_II, chunks by number, and errors."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from made_rows_and_examples import assert_drawn_from
from scipy.stats import chisquare

from lookalike.core.errors import LookalikeError
from lookalike.data.query_log import QueryLog
from lookalike.studies.web import query_triplets
from lookalike.studies.web.query_triplets import QueryTripletSampler, co_click_threshold

N_DRAWS = 40_000


def random_log(seed, weighted=True):
    """Return six queries over nine images, the last without a query and the one before it alone in its query."""
    rng = np.random.default_rng(seed)
    query, image = np.nonzero(rng.random((6, 7)) < 0.45)
    query, image = np.append(query, 6), np.append(image, 7)
    relevance = rng.integers(1, 30, len(query)) if weighted else np.ones(len(query))
    return QueryLog(query, image, relevance, n_images=9)


def cut_matrix(log, theta=0.0, share=None):
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


def expected(matrix):
    n, sums = len(matrix), matrix.sum(axis=1, keepdims=True)
    shares = np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)
    return np.repeat(shares[:, :, None], n, axis=2) / n / np.count_nonzero(sums)


def quantile(log, share):
    values = np.unique(np.round(cut_matrix(log), 12))[1:]
    place = int(share * (len(values) - 1))
    return float(values[place : place + 2].mean())  # between two values: rounding decides nothing


@pytest.mark.parametrize(
    "limits", [(0.0, 1000, 99), (0.0, 1, 99), (2.0, 1000, 99), (2.0, 1000, 7)], ids=["try", "collect", "list", "list 7"]
)
@pytest.mark.parametrize(("seed", "weighted", "cut"), [(0, True, None), (1, True, 0.3), (2, False, 0.8)])
def test_triplets_follow_the_cut_matrix(monkeypatch, seed, weighted, cut, limits):
    log = random_log(seed, weighted)
    theta = 0.0 if cut is None else quantile(log, cut)
    for name, value in zip(("EASY", "TRIES", "LIST_ENTRIES"), limits, strict=True):
        monkeypatch.setattr(query_triplets, name, value)
    sampler = QueryTripletSampler(log, seed, theta=theta)
    matrix = cut_matrix(log, theta)
    assert sampler.n_without_positive_ == np.count_nonzero(matrix.sum(axis=1) == 0) >= 2
    assert (len(sampler._lists.images) > 0) == (limits[0] > 0)
    probability = expected(matrix)
    np.testing.assert_array_equal(sampler.queries_, np.flatnonzero(probability.sum(axis=(1, 2))))
    assert_drawn_from(sampler.draw(N_DRAWS), probability)
    assert_drawn_from(np.concatenate([sampler.chunk(i, N_DRAWS // 8) for i in range(8)]), probability)


@pytest.mark.parametrize("share", [0.2, 0.6, 1.0])
def test_co_clicks_are_cut_to_their_largest(share):
    log = random_log(3)
    sampler = QueryTripletSampler(log, 0, relevance="co_clicks", share=share)
    matrix = cut_matrix(log, share=share)
    assert co_click_threshold(log.incidence("co_clicks"), share) == matrix[matrix > 0].min()
    assert_drawn_from(sampler.draw(N_DRAWS), expected(matrix))
    # equal values are all kept
    equal = QueryLog([0, 0, 0, 1, 1], [0, 1, 2, 3, 4])
    assert QueryTripletSampler(equal, 0, relevance="co_clicks", share=0.01).n_without_positive_ == 0


def test_a_sample_finds_the_co_click_threshold(monkeypatch):
    rng = np.random.default_rng(4)
    query, image = np.nonzero(rng.random((40, 60)) < 0.3)  # pairs share 3.6 queries on average, and not alike
    log = QueryLog(query, image, rng.lognormal(size=len(query)))
    monkeypatch.setattr(query_triplets, "EXACT_PAIRS", 10)
    monkeypatch.setattr(query_triplets, "SAMPLED_PAIRS", 50_000)
    matrix, threshold = cut_matrix(log, share=1.0), co_click_threshold(log.incidence("co_clicks"), 0.1)
    kept = np.count_nonzero(matrix >= threshold) / np.count_nonzero(matrix)
    assert kept == pytest.approx(0.1, abs=0.01)  # without the weights it is below 0.06


@pytest.mark.parametrize("easy", [0.0, 0.25])
def test_rare_positives_end(easy, monkeypatch):
    monkeypatch.setattr(query_triplets, "EASY", easy)
    # image 0 is almost all of its query's relevance: a proposal is another image once in a hundred million
    log = QueryLog([0, 0, 0], [0, 1, 2], [1e8, 1.0, 3.0], n_images=5)
    triplets = QueryTripletSampler(log, 0).draw(20_000)
    counts = np.bincount(triplets[triplets[:, 0] == 0, 1], minlength=3)[1:]
    assert chisquare(counts, counts.sum() * np.array([0.25, 0.75])).pvalue > 1e-4


def test_triplets_that_share_their_query_are_each_distributed_as_before():
    log, options = random_log(1), {"theta": quantile(random_log(1), 0.3)}
    drawn = QueryTripletSampler(log, 0, triplets_per_query=3, **options).draw(3 * N_DRAWS).reshape(-1, 3, 3)
    assert (drawn[:, :, 0] == drawn[:, :1, 0]).all()
    probability = expected(cut_matrix(log, options["theta"]))
    for place in range(3):
        assert_drawn_from(drawn[:, place], probability)
    # given the query image, those of two places are independent
    for column in (1, 2):
        shares = probability.sum(axis=3 - column)
        pairs = shares[:, :, None] * shares[:, None] / np.maximum(shares.sum(axis=1), 1e-300)[:, None, None]
        assert_drawn_from(np.stack([drawn[:, 0, 0], *drawn[:, :2, column].T], axis=1), pairs)


def test_a_chunk_is_its_seed_and_number():
    log = random_log(0)
    sampler = QueryTripletSampler(log, 3)
    fifth = sampler.chunk(5, 700)
    sampler.draw(10)
    np.testing.assert_array_equal(sampler.chunk(5, 100), fifth[:100])
    np.testing.assert_array_equal(QueryTripletSampler(log, 3).chunk(5, 700), fifth)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda number: sampler.chunk(number, 700), range(16)))
    np.testing.assert_array_equal(together, [sampler.chunk(number, 700) for number in range(16)])
    for other in (together[4], QueryTripletSampler(log, 4).chunk(5, 700), QueryTripletSampler(log, 3).draw(700)):
        for shift in range(4):  # no stream is another one moved along: rows agree by chance only
            assert (other[shift:] == fifth[: 700 - shift]).all(axis=1).mean() < 0.1


ALONE = QueryLog([0, 1, 2], [0, 1, 2])
PAIRS = QueryLog([0, 0, 1, 1], [0, 1, 1, 2])


@pytest.mark.parametrize(
    ("log", "options", "message"),
    [
        (ALONE, {}, "no image has a relevant other image: lower theta"),
        (PAIRS, {"theta": float(PAIRS.joint(0, 1))}, "lower theta"),  # above it, not at it
        (PAIRS.of_images([]), {}, "give a log with more queries"),
    ],
)
def test_mistakes_are_named(log, options, message):
    with pytest.raises(LookalikeError, match=message):
        QueryTripletSampler(log, **options)
