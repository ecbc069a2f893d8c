"""What all samplers promise (a stream that goes on, seeds, speed), and what those that draw from labels draw."""

from functools import partial

import numpy as np
import pytest
from made_rows_and_examples import assert_drawn_from

from lookalike.data.query_log import QueryLog
from lookalike.data.relevance import RelevanceData
from lookalike.deep.relevance_triplets import RelevanceTripletSampler
from lookalike.learners import PairSampler, TripletSampler
from lookalike.learners.triplets import check_pairs
from lookalike.studies.web.query_triplets import QueryTripletSampler


def from_labels(random_state, sampler=TripletSampler):
    return sampler(np.arange(50) % 7, random_state)


def from_log(random_state, **options):
    random = np.random.default_rng(0)
    log = QueryLog(random.integers(0, 200, 4000), random.integers(0, 3000, 4000))
    return QueryTripletSampler(log, random_state, **options)


def from_relevance(random_state, **options):
    names = [f"c{i}" for i in range(10)]
    block = np.random.default_rng(0).random((100, 100))
    data = RelevanceData.from_blocks(range(1000), np.repeat(names, 100), dict.fromkeys(names, block * block.T))
    return RelevanceTripletSampler(data, random_state=random_state, **options)


pairs, buffers = partial(from_labels, sampler=PairSampler), partial(from_relevance, capacity=5)
groups = partial(from_log, triplets_per_query=7)
samplers = pytest.mark.parametrize("sampler", [from_labels, pairs, from_log, groups, from_relevance, buffers])


@samplers
@pytest.mark.parametrize("cuts", [(0, 1000), (1, 999), (400, 350, 250)])
def test_draws_go_on_where_the_last_one_ended(sampler, cuts):
    parts, whole = sampler(3), sampler(3).draw(1000)
    np.testing.assert_array_equal(np.concatenate([parts.draw(cut) for cut in cuts]), whole)
    assert whole.dtype == np.int32
    assert whole.shape == (1000, 3)
    with pytest.raises(ValueError, match="negative"):
        parts.draw(-1)


@samplers
def test_another_seed_gives_others_and_a_generator_gives_its_own(sampler):
    assert not np.array_equal(sampler(1).draw(100), sampler(2).draw(100))
    generator = np.random.default_rng(0)
    first = sampler(generator).draw(100)
    assert not np.array_equal(first, sampler(generator).draw(100))
    np.testing.assert_array_equal(first, sampler(np.random.default_rng(0)).draw(100))
    with pytest.raises(TypeError, match="random_state"):
        sampler("seed")


@pytest.mark.parametrize("sampler", [TripletSampler, PairSampler])
def test_the_distribution_is_uniform(sampler):
    y = np.array([0, 1, 2, 1, 0, 1, 2, 1, 3])  # class 3 has one image: never a query, now and then a negative
    probability = np.zeros((9, 9, 2 if sampler is PairSampler else 9))
    for query in np.flatnonzero(y != 3):
        positives = (y == y[query]) & (np.arange(9) != query)
        negatives = y != y[query]
        if sampler is PairSampler:  # half the pairs are of one class
            probability[query] = np.stack([negatives / negatives.sum(), positives / positives.sum()], axis=1) / 16
        else:
            probability[query] = np.outer(positives / positives.sum(), negatives / negatives.sum()) / 8
    assert_drawn_from(sampler(y, 7).draw(200_000), probability)


def test_mistakes_in_given_rows_are_named():
    for pairs, same, message in (
        ([[0, 1, 2]], [1], r"\(m, 2\)"),
        ([0, 1], [1], r"\(m, 2\)"),
        ([[0, 1]], [1, 0], "one value per pair"),
        ([[0, 1]], [np.nan], "True"),
    ):
        with pytest.raises(ValueError, match=message):
            check_pairs(pairs, same, range(3))
    with pytest.raises(ValueError, match="1-D"):
        TripletSampler([[1, 2], [1, 2]])
