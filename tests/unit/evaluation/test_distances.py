"""Distances between vectors: against sums written out, on odd vectors, block by block, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import LookalikeError
from lookalike.evaluation.distances import DISTANCES, pair_distances, rowwise_distances


def written_out(a: list[float], b: list[float], name: str) -> float:
    if name == "l1":
        return sum(abs(x - y) for x, y in zip(a, b, strict=True))
    if name == "l2":
        return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))
    if name == "chi2":
        return sum((x - y) ** 2 / (x + y) for x, y in zip(a, b, strict=True) if x + y > 0)
    norms = math.sqrt(sum(x * x for x in a)), math.sqrt(sum(y * y for y in b))
    if 0 in norms:
        return 0.0 if norms == (0, 0) else 1.0
    return 1 - sum(x * y for x, y in zip(a, b, strict=True)) / norms[0] / norms[1]


VALUES = st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.5]), min_size=5, max_size=5)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=6), st.sampled_from(DISTANCES))
def test_each_distance_is_its_sum(rows: list[tuple[list[float], list[float]]], name: str) -> None:
    a, b = ([pair[side] for pair in rows] for side in (0, 1))
    found = rowwise_distances(a, b, name)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [written_out(x, y, name) for x, y in rows], atol=1e-6)
    np.testing.assert_array_equal(found, rowwise_distances(b, a, name))
    assert (rowwise_distances(a, a, name) == 0).all()


@pytest.mark.parametrize("name", DISTANCES)
def test_a_missing_vector_has_no_distance(name: str) -> None:
    a = np.ones((2, 3), np.float32)
    b = np.full((2, 3), np.nan, np.float32)
    assert np.isnan(rowwise_distances(a, b, name)).all()
    assert np.isnan(rowwise_distances(b, b, name)).all()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="'l3'"):
        rowwise_distances([[1.0]], [[1.0]], "l3")
    with pytest.raises(ValueError, match="same number of rows"):
        rowwise_distances([[1.0]], [[1.0, 2.0]], "l1")
    with pytest.raises(ValueError, match="histograms"):
        rowwise_distances([[1.0]], [[-1.0]], "chi2")


def pairs_of(query: list[int], candidate: list[int]) -> pd.DataFrame:
    return pd.DataFrame({"query": np.int32(query), "candidate": np.int32(candidate)})


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("memory_bytes", [1, 1000, 10**8])
def test_blocks_of_pairs_change_nothing(name: str, memory_bytes: int) -> None:
    random = np.random.default_rng(0)
    vectors = random.random((20, 7)).astype(np.float32)
    query, candidate = random.integers(20, size=(2, 50)).tolist()
    found = pair_distances(vectors, pairs_of(query, candidate), name, memory_bytes)
    np.testing.assert_array_equal(found, rowwise_distances(vectors[query], vectors[candidate], name))


def test_images_without_a_vector_are_counted_and_only_when_they_are_needed() -> None:
    vectors = np.ones((5, 3), np.float32)
    vectors[[1, 3, 4]] = np.nan
    assert pair_distances(vectors, pairs_of([0], [2]), "l2").tolist() == [0]
    assert pair_distances(vectors, pairs_of([], []), "l2").shape == (0,)
    with pytest.raises(LookalikeError, match=r"2 images of the triplets or their pools have no vector.* image 1"):
        pair_distances(vectors, pairs_of([0, 0, 3, 2], [1, 2, 0, 1]), "l2")
    with pytest.raises(LookalikeError, match="name image 9 but there are vectors of 5"):
        pair_distances(vectors, pairs_of([0], [9]), "l2")
    with pytest.raises(LookalikeError, match="overflow"):
        pair_distances(np.float32([[3e38], [-3e38]]), pairs_of([0], [1]), "l1")
