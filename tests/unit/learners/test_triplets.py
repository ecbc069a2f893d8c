"""The triplet sampler: its distribution, its stream, its speed and its errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

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


def test_the_largest_uniform_number_stays_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.repeat(np.arange(3), [5, 3, 9])
    sampler = TripletSampler(y, 0)

    class Largest:
        def random(self, shape: tuple[int, int]) -> np.ndarray:
            return np.full(shape, np.nextafter(1.0, 0.0))

    monkeypatch.setattr(sampler, "_random", Largest())
    assert sampler.draw(1).tolist() == [[16, 15, 7]]


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="at least two classes"):
        TripletSampler([1, 1, 1])
    with pytest.raises(ValueError, match="at least two rows"):
        TripletSampler([1, 2, 3])
    with pytest.raises(ValueError, match="1-D"):
        TripletSampler([[1, 2], [1, 2]])
    assert check_triplets(np.empty((0, 3)), 5).dtype == np.int32
