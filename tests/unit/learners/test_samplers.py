"""What all samplers promise: a stream that goes on, seeds, and speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lookalike.core.seeds import as_seed
from lookalike.data.query_log import QueryLog
from lookalike.data.relevance import RelevanceData
from lookalike.learners import PairSampler, TripletSampler
from lookalike.learners.query_triplets import QueryTripletSampler
from lookalike.learners.relevance_triplets import RelevanceTripletSampler


def from_labels(sampler: Any) -> Callable[[Any], Any]:
    return lambda random_state: sampler(np.arange(50) % 7, random_state)


def from_log(random_state: Any) -> QueryTripletSampler:
    random = np.random.default_rng(0)
    log = QueryLog.from_pairs(random.integers(0, 200, 4000), random.integers(0, 3000, 4000))
    return QueryTripletSampler(log, random_state)


def from_relevance(random_state: Any) -> RelevanceTripletSampler:
    random = np.random.default_rng(0)
    labels = np.repeat([f"c{i}" for i in range(10)], 100)
    blocks = {}
    for name in dict.fromkeys(labels.tolist()):
        block = np.triu(random.random((100, 100)), 1)
        blocks[name] = block + block.T
    return RelevanceTripletSampler(RelevanceData.from_blocks(range(1000), labels, blocks), random_state=random_state)


samplers = pytest.mark.parametrize(
    "sampler",
    [from_labels(TripletSampler), from_labels(PairSampler), from_log, from_relevance],
    ids=["triplets", "pairs", "query log", "relevance"],
)


@samplers
@pytest.mark.parametrize("cuts", [(0, 1000), (1, 999), (400, 350, 250)])
def test_draws_go_on_where_the_last_one_ended(sampler: Any, cuts: tuple[int, ...]) -> None:
    parts, whole = sampler(3), sampler(3).draw(1000)
    np.testing.assert_array_equal(np.concatenate([parts.draw(cut) for cut in cuts]), whole)
    assert whole.dtype == np.int32
    assert whole.shape == (1000, 3)
    assert sampler(3).draw(0).shape == (0, 3)
    with pytest.raises(ValueError, match="not negative"):
        parts.draw(-1)


@samplers
def test_another_seed_gives_others_and_a_generator_gives_its_own(sampler: Any) -> None:
    assert not np.array_equal(sampler(1).draw(100), sampler(2).draw(100))
    generator = np.random.default_rng(0)
    first = sampler(generator).draw(100)
    assert not np.array_equal(first, sampler(generator).draw(100))
    np.testing.assert_array_equal(first, sampler(np.random.default_rng(0)).draw(100))
    with pytest.raises(TypeError, match="random_state"):
        sampler("seed")


def test_seeds_of_other_generators() -> None:
    assert as_seed(np.random.RandomState(0)) == as_seed(np.random.RandomState(0))
    assert as_seed(None) != as_seed(None)


@samplers
def test_a_quarter_of_a_million_rows_are_cheap(sampler: Any) -> None:
    drawn, times = sampler(0), []
    drawn.draw(1)
    for _ in range(5):
        start = time.process_time()
        drawn.draw(250_000)
        times.append(time.process_time() - start)
    assert min(times) < 1.0  # 0.03 to 0.25 s on a quiet core; a loop in Python takes seconds
