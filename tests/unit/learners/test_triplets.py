"""The triplet sampler: its distribution, its stream, its speed and its errors."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from lookalike.core.seeds import as_seed
from lookalike.learners.triplets import TripletSampler, check_triplets


@settings(deadline=None, max_examples=60)
@given(y=st.lists(st.integers(0, 4), min_size=3, max_size=30), seed=st.integers(0, 2**32 - 1))
def test_every_triplet_is_right(y: list[int], seed: int) -> None:
    labels = np.array(y)
    sizes = np.bincount(labels)
    if np.count_nonzero(sizes) < 2 or sizes.max() < 2:
        with pytest.raises(ValueError, match="at least two"):
            TripletSampler(labels, seed)
        return
    query, positive, negative = TripletSampler(labels, seed).draw(200).T
    assert (query != positive).all()
    assert (labels[query] == labels[positive]).all()
    assert (labels[query] != labels[negative]).all()


def test_the_distribution_is_uniform() -> None:
    y = np.array([0, 1, 2, 1, 0, 1, 2, 1, 3])  # class 3 has one image: never a query, now and then a negative
    n = 400_000
    triplets = TripletSampler(y, 7).draw(n)
    counts: dict[tuple[int, int, int], int] = {}
    for row, count in zip(*np.unique(triplets, axis=0, return_counts=True), strict=True):
        counts[tuple(row)] = int(count)
    expected = {}
    for query in np.flatnonzero(y != 3):
        positives = [i for i in range(len(y)) if y[i] == y[query] and i != query]
        negatives = [i for i in range(len(y)) if y[i] != y[query]]
        for positive in positives:
            for negative in negatives:
                expected[query, positive, negative] = n / 8 / len(positives) / len(negatives)
    assert set(counts) == set(expected)
    assert chisquare([counts[key] for key in expected], list(expected.values())).pvalue > 0.001


@pytest.mark.parametrize("cuts", [(0, 1000), (1, 999), (400, 350, 250)])
def test_draws_go_on_where_the_last_one_ended(cuts: tuple[int, ...]) -> None:
    y = np.arange(50) % 7
    sampler = TripletSampler(y, 3)
    parts = np.concatenate([sampler.draw(cut) for cut in cuts])
    whole = TripletSampler(y, 3).draw(1000)
    np.testing.assert_array_equal(parts, whole)
    assert whole.dtype == np.int32
    assert whole.shape == (1000, 3)


def test_the_largest_uniform_number_stays_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.repeat(np.arange(3), [5, 3, 9])
    sampler = TripletSampler(y, 0)

    class Largest:
        def random(self, shape: tuple[int, int]) -> np.ndarray:
            return np.full(shape, np.nextafter(1.0, 0.0))

    monkeypatch.setattr(sampler, "_random", Largest())
    assert sampler.draw(1).tolist() == [[16, 15, 7]]


def test_another_seed_gives_other_triplets_and_a_generator_gives_its_own() -> None:
    y = np.arange(50) % 7
    assert not np.array_equal(TripletSampler(y, 1).draw(100), TripletSampler(y, 2).draw(100))
    generator = np.random.default_rng(0)
    first = TripletSampler(y, generator).draw(100)
    assert not np.array_equal(first, TripletSampler(y, generator).draw(100))
    np.testing.assert_array_equal(first, TripletSampler(y, np.random.default_rng(0)).draw(100))
    assert as_seed(np.random.RandomState(0)) == as_seed(np.random.RandomState(0))
    assert as_seed(None) != as_seed(None)


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="at least two classes"):
        TripletSampler([1, 1, 1])
    with pytest.raises(ValueError, match="at least two rows"):
        TripletSampler([1, 2, 3])
    with pytest.raises(ValueError, match="1-D"):
        TripletSampler([[1, 2], [1, 2]])
    with pytest.raises(ValueError, match="not negative"):
        TripletSampler([1, 1, 2]).draw(-1)
    with pytest.raises(TypeError, match="random_state"):
        TripletSampler([1, 1, 2], "seed")


def test_no_triplets_are_an_empty_list() -> None:
    assert TripletSampler([1, 1, 2], 0).draw(0).shape == (0, 3)
    assert check_triplets(np.empty((0, 3)), 5).dtype == np.int32


def test_a_quarter_of_a_million_triplets_are_cheap() -> None:
    sampler = TripletSampler(np.arange(400) % 10, 0)
    times = []
    for _ in range(5):
        start = time.process_time()
        sampler.draw(250_000)
        times.append(time.process_time() - start)
    assert min(times) < 0.2  # about 0.03 s on a quiet core; a loop over triplets takes seconds
