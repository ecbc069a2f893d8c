"""Steps by blocks and by groups against single ones, over sparse rows of few features, so that triplets interact."""

import threading

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.learners.look_ahead import N_DENSE, PARTS, TILE, _Block, look_ahead_steps
from lookalike.learners.oasis import oasis_steps
from lookalike.learners.query_groups import group_steps
from lookalike.learners.sparse_rows import OrderedRows, Rows

AGGRESSIVENESS = 0.1


def sparse_rows(random, n, d, density, dtype):
    """Return random rows with empty ones and repeated ones among them."""
    X = random.standard_normal((n, d)) * (random.random((n, d)) < density)
    X[n // 2] = 0
    X[-1] = X[0]
    return OrderedRows(X, np.dtype(dtype)).rows


def by_blocks(rows, triplets, W, block, n_threads=1, C=AGGRESSIVENESS):
    n_blocks = -(-len(triplets) // block)
    return look_ahead_steps(W, n_blocks, lambda b: (rows, triplets[b * block : (b + 1) * block]), C, n_threads)


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 90),
    density=st.sampled_from([0.05, 0.3, 1.0]),
    n_triplets=st.integers(0, 60),
    block=st.sampled_from([1, 2, 7, 20, 64]),
    C=st.sampled_from([1e-3, 0.1, 1e9]),
)
@example(seed=0, d=1, density=1.0, n_triplets=40, block=7, C=0.1)
@example(seed=0, d=N_DENSE, density=0.3, n_triplets=60, block=20, C=0.1)
@example(seed=0, d=N_DENSE + 1, density=0.3, n_triplets=60, block=64, C=1e9)
def test_blocks_and_groups_learn_what_single_steps_learn(seed, d, density, n_triplets, block, C):
    random, n_rows = np.random.default_rng(seed), 1 + seed % 9
    rows = sparse_rows(random, n_rows, d, density, np.float64)
    # few rows: repeated triplets, p = p+, p+ = p-, all three the same and neighbours of one p come by themselves
    triplets = random.integers(0, n_rows, (n_triplets, 3), dtype=np.int32)
    expected = random.standard_normal((d, d))
    W, grouped = expected.copy(), expected.copy()
    margins = np.empty(n_triplets)
    counts = oasis_steps(expected, rows, triplets, C, margins)
    found = by_blocks(rows, triplets, W, block, n_threads=1 + seed % 2, C=C), group_steps(grouped, rows, triplets, C)
    assert np.abs([W - expected, grouped - expected]).max() <= 1e-12 * max(1.0, np.abs(expected).max())
    # a full step leaves a loss of 0, so that a triplet that comes again has a loss or none by rounding
    n_ties = int((np.abs(1 - margins) < 1e-9).sum())
    assert np.abs(np.subtract(found, counts)).max() <= n_ties


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-4)])
@pytest.mark.parametrize("block", [7, TILE, 3 * TILE + 5])
def test_large_blocks_agree_to_rounding_whatever_the_threads(block, dtype, tolerance):
    random = np.random.default_rng(7)
    d = 3 * N_DENSE
    rows = sparse_rows(random, 200, d, 0.15, np.dtype(dtype))
    triplets = random.integers(0, 200, (3 * TILE + 11, 3), dtype=np.int32)
    expected, W = np.eye(d, dtype=dtype), np.eye(d, dtype=dtype)
    counts = oasis_steps(expected, rows, triplets, AGGRESSIVENESS, np.empty(0))
    assert by_blocks(rows, triplets, W, block) == counts
    for n_threads in (2, PARTS + 3):  # threads change no bit
        other = np.eye(d, dtype=dtype)
        assert by_blocks(rows, triplets, other, block, n_threads=n_threads) == counts
        np.testing.assert_array_equal(other, W)
    assert counts[0] > counts[1] > 300
    assert np.abs(W - expected).max() <= tolerance * np.abs(expected).max()
    assert np.abs(expected - np.eye(d)).max() > 0.1


@pytest.mark.parametrize(("failing", "n_threads"), [(0, 1), (3, 3)])
def test_what_fetch_raises_reaches_the_caller_and_nobody_works_on(failing, n_threads):
    random = np.random.default_rng(9)
    rows = sparse_rows(random, 40, 30, 0.3, np.float64)
    triplets = random.integers(0, 40, (5, 10, 3), dtype=np.int32)
    before = threading.active_count()

    def fetch(b):
        if b == failing:
            raise OSError("the disk is gone")
        return rows, triplets[b]

    with pytest.raises(OSError, match="the disk is gone"):
        look_ahead_steps(np.eye(30), 5, fetch, AGGRESSIVENESS, n_threads)
    assert threading.active_count() == before


def test_many_features_have_wide_numbers():
    """Feature numbers of two bytes would wrap around above 65,536 words."""
    rows = Rows(np.array([0, 1, 2]), np.array([3, 65_536], dtype=np.uint32), np.ones(2, dtype=np.float32), np.ones(2))
    triplets = np.array([[0, 1, 0]], dtype=np.int32)
    differences = _Block(rows, triplets, 65_537).differences
    assert differences.indices.dtype == np.uint32
    np.testing.assert_array_equal(differences.indices, [3, 65_536])
    assert _Block(rows, triplets[:0], 65_536).differences.indices.dtype == np.uint16
