"""Distances between vectors: against sums written out, on odd vectors, block by block, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import LookalikeError
from lookalike.ranking.distances import DISTANCES, distances_of_rows, pair_distances


def rowwise_distances(a, b, name):
    rows = np.vstack([a, b]).astype(np.float32)
    return distances_of_rows(rows, np.arange(len(a)), len(a) + np.arange(len(a)), name)


def written_out(x, y, name):
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if name == "cosine":
        norms = np.linalg.norm(a), np.linalg.norm(b)
        return float(norms[0] != norms[1]) if 0 in norms else float(1 - a @ b / norms[0] / norms[1])
    apart = np.abs(a - b)
    terms = {"l1": apart, "l2": apart**2, "chi2": apart**2 / np.where(a + b > 0, a + b, 1)}[name]
    return float(terms.sum() ** (0.5 if name == "l2" else 1))


VALUES = st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.5]), min_size=5, max_size=5)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=6), st.sampled_from(DISTANCES))
def test_each_distance_is_its_sum(rows, name):
    a, b = ([pair[side] for pair in rows] for side in (0, 1))
    found = rowwise_distances(a, b, name)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [written_out(x, y, name) for x, y in rows], atol=1e-6)
    np.testing.assert_array_equal(found, rowwise_distances(b, a, name))
    assert (rowwise_distances(a, a, name) == 0).all()


def pairs_of(query, candidate):
    return pd.DataFrame({"query": np.int32(query), "candidate": np.int32(candidate)})


@pytest.mark.parametrize("name", DISTANCES)
def test_long_rows_of_a_memory_map_are_summed_as_in_double_precision(name, tmp_path):
    vectors, queries, candidates = np.random.default_rng(0).random((5, 20_000), np.float32), [4, 1, 0], [2, 0, 3]
    np.save(tmp_path / "vectors.npy", vectors)
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    expected = [written_out(vectors[a], vectors[b], name) for a, b in zip(queries, candidates, strict=True)]
    np.testing.assert_allclose(pair_distances(mapped, pairs_of(queries, candidates), name), expected, rtol=1e-5)


def test_chi2_of_signed_rows_is_that_of_both_parts_side_by_side():
    rows = np.random.default_rng(1).normal(size=(6, 40)).astype(np.float32)
    left, right = [0, 1, 2], [3, 4, 5]
    parts = np.hstack([np.maximum(rows, 0), np.maximum(-rows, 0)])
    expected = rowwise_distances(parts[left], parts[right], "chi2")
    np.testing.assert_allclose(distances_of_rows(rows, left, right, "chi2"), expected, rtol=1e-5)


VECTORS = np.ones((5, 3), np.float32)
VECTORS[[1, 3, 4]] = np.nan


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: distances_of_rows(VECTORS, [0], [-1], "l1"), ValueError, "from 0 to 4"),
        (
            lambda: pair_distances(VECTORS, pairs_of([0, 0, 3, 2], [1, 2, 0, 1]), "l2"),
            LookalikeError,
            "2 images of the triplets or their pools have no vector.* image 1",
        ),
        (lambda: pair_distances(VECTORS, pairs_of([0], [9]), "l2"), LookalikeError, "name image 9 but .* of 5"),
        (lambda: pair_distances(np.float32([[1], [-1]]), pairs_of([0], [1]), "chi2"), ValueError, "histograms"),
        (lambda: pair_distances(np.float32([[3e38], [-3e38]]), pairs_of([0], [1]), "l1"), LookalikeError, "overflow"),
    ],
)
def test_pairs_that_cannot_be_measured_are_refused(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


@pytest.mark.parametrize("name", DISTANCES)
def test_a_missing_vector_has_no_distance_and_is_no_matter_where_it_is_not_needed(name):
    assert np.isnan(distances_of_rows(VECTORS, [0, 1, 1], [1, 0, 3], name)).all()
    assert pair_distances(VECTORS, pairs_of([0], [2]), name).tolist() == [0]
    assert pair_distances(VECTORS, pairs_of([], []), name).shape == (0,)
