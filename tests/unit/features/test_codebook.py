from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import LookalikeError
from lookalike.features import codebook as cb
from lookalike.features.descriptors import Blocks, normalise
from lookalike.features.shards import save_shard


def random_counts(n, seed=0):
    rng = np.random.default_rng(seed)
    edges = rng.multinomial(4096, rng.dirichlet(np.ones(59)), n)
    return np.hstack([edges, rng.multinomial(4096, rng.dirichlet(np.ones(20)), n)]).astype(np.uint16)


def brute_force(descriptors, codebook):
    difference = descriptors.astype(np.float64)[:, None, :] - codebook.astype(np.float64)
    return (difference**2).sum(axis=2).argmin(axis=1)


def write_shards(folder, shards):
    """Write images {id: counts} of each shard to a file and return the paths."""
    paths = []
    for number, images in enumerate(shards):
        offsets = np.cumsum([0] + [len(counts) for counts in images.values()])
        counts = np.concatenate([np.empty((0, 79), np.uint16), *images.values()])
        paths.append(folder / f"blocks-{number:03d}.npz")
        save_shard(Blocks(np.fromiter(images, np.int32), offsets, counts), paths[-1])
    return paths


@pytest.fixture
def images():
    sizes = [5, 0, 12, 7, 1, 20]
    return {number: random_counts(size, seed=number) for number, size in enumerate(sizes)}


def test_sample_takes_all_where_there_are_few(tmp_path, images):
    paths = write_shards(tmp_path, [images])
    sample = cb.sample_descriptors(paths, [2, 0, 1], 100, np.random.default_rng(0))
    assert sample.dtype == np.uint16
    assert np.array_equal(sample, np.concatenate([images[0], images[2]]))


def test_sample_draws_only_from_the_pool_without_replacement(tmp_path, images):
    paths = write_shards(tmp_path, [images])
    sample = cb.sample_descriptors(paths, [2, 5], 25, np.random.default_rng(0))
    pool = {row.tobytes() for number in (2, 5) for row in images[number]}
    drawn = [row.tobytes() for row in sample]
    assert len(drawn) == len(set(drawn)) == 25
    assert set(drawn) <= pool


def test_sample_does_not_depend_on_the_shards(tmp_path, images):
    splits = [[[0, 1, 2, 3, 4, 5]], [[0, 1], [2, 3, 4], [], [5]], [[5, 3], [4, 0, 2, 1]]]
    samples = []
    for number, split in enumerate(splits):
        folder = tmp_path / str(number)
        paths = write_shards(folder, [{i: images[i] for i in shard} for shard in split])
        samples.append(cb.sample_descriptors(paths, range(6), 15, np.random.default_rng(3)))
    assert np.array_equal(samples[0], samples[1])
    assert np.array_equal(samples[0], samples[2])


def test_sample_is_uniform_over_blocks(tmp_path, images):
    paths = write_shards(tmp_path, [images])
    counts = np.concatenate(list(images.values()))
    places = {row.tobytes(): number for number, row in enumerate(counts)}
    drawn = np.zeros(len(counts))
    for seed in range(400):
        sample = cb.sample_descriptors(paths, range(6), 9, np.random.default_rng(seed))
        drawn[[places[row.tobytes()] for row in sample]] += 1
    expected = 400 * 9 / len(counts)
    assert np.abs(drawn - expected).max() < 5 * np.sqrt(expected)


def test_an_empty_pool_is_a_users_mistake(tmp_path, images):
    paths = write_shards(tmp_path, [images])
    with pytest.raises(LookalikeError, match="no block to learn"):
        cb.sample_descriptors(paths, [1, 99], 10, np.random.default_rng(0))
    with pytest.raises(LookalikeError, match="no block to learn"):
        cb.sample_descriptors([], [1], 10, np.random.default_rng(0))


def learn_small():
    return cb.learn_codebook(normalise(random_counts(3000)), 50, seed=5, n_iterations=8)


def test_codebook_is_the_same_bits_whatever_the_threads(tmp_path):
    first = learn_small()
    assert first.shape == (50, 79)
    assert first.dtype == np.float32
    assert learn_small().tobytes() == first.tobytes()
    code = (
        "import sys, hashlib; sys.path.insert(0, sys.argv[1]); import test_codebook as t; "
        "print(hashlib.sha256(t.learn_small().tobytes()).hexdigest())"
    )
    for threads in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code, os.path.dirname(__file__)],
            env=os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == hashlib.sha256(first.tobytes()).hexdigest()


def test_another_seed_gives_another_codebook():
    descriptors = normalise(random_counts(500))
    first, second = (cb.learn_codebook(descriptors, 10, seed, n_iterations=2) for seed in (1, 2))
    assert not np.array_equal(first, second)


def test_codebook_uses_every_descriptor():
    """faiss keeps 256 points a centroid unless told: with one centroid the mean would be of 256."""
    descriptors = normalise(random_counts(2000))
    centre = cb.learn_codebook(descriptors, 1, seed=0, n_iterations=3)
    assert np.allclose(centre[0], descriptors.mean(axis=0, dtype=np.float64), atol=1e-6)


def test_codebook_lowers_the_distortion():
    descriptors = normalise(random_counts(2000))

    def distortion(codebook):
        return ((descriptors - codebook[cb.assign(descriptors, codebook)]) ** 2).sum(axis=1).mean()

    few, many = (cb.learn_codebook(descriptors, 40, seed=0, n_iterations=n) for n in (1, 20))
    assert distortion(many) < distortion(few)


def test_as_many_words_as_descriptors_and_duplicates():
    descriptors = normalise(random_counts(20))
    exact = cb.learn_codebook(descriptors, 20, seed=0)
    assert sorted(cb.assign(descriptors, exact)) == list(range(20))
    same = cb.learn_codebook(np.repeat(descriptors[:3], 50, axis=0), 10, seed=0)
    assert np.isfinite(same).all()


def test_more_words_than_descriptors_is_a_users_mistake():
    with pytest.raises(LookalikeError, match="21 words cannot be learned from 20 descriptors"):
        cb.learn_codebook(normalise(random_counts(20)), 21, seed=0)


@given(
    n=st.integers(0, 40),
    n_words=st.integers(1, 60),
    n_features=st.integers(1, 90),
    batch=st.integers(1, 50),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=60)
def test_assign_equals_brute_force(n, n_words, n_features, batch, seed):
    rng = np.random.default_rng(seed)
    descriptors = rng.random((n, n_features), dtype=np.float32)
    codebook = rng.random((n_words, n_features), dtype=np.float32)
    words = cb.assign(descriptors, codebook, batch=batch)
    assert words.dtype == np.int32
    assert np.array_equal(words, brute_force(descriptors, codebook))


def test_assign_gives_ties_to_the_lowest_word():
    codebook = np.array([[0, 0], [1, 0], [0, 0], [1, 0]], np.float32)
    descriptors = np.array([[0, 0], [1, 0], [0.5, 0], [0.6, 0]], np.float32)
    assert cb.assign(descriptors, codebook).tolist() == [0, 1, 0, 1]


def test_assign_settles_what_single_precision_cannot():
    """Words that differ by less than a matrix product's rounding: still the nearest in exact terms."""
    rng = np.random.default_rng(0)
    centre = rng.random(79, dtype=np.float32) + 10
    codebook = (centre + rng.normal(0, 2e-6, (200, 79))).astype(np.float32)
    descriptors = (centre + rng.normal(0, 2e-6, (100, 79))).astype(np.float32)
    naive = (descriptors @ codebook.T - (codebook**2).sum(axis=1) / 2).argmax(axis=1)
    expected = brute_force(descriptors, codebook)
    assert not np.array_equal(naive, expected)  # the case is hard enough
    assert np.array_equal(cb.assign(descriptors, codebook), expected)


@pytest.mark.parametrize("hellinger", [False, True])
def test_count_visterms_counts_the_words_of_each_image(tmp_path, images, hellinger):
    paths = write_shards(tmp_path, [{i: images[i] for i in (0, 1, 2)}, {i: images[i] for i in (3, 4, 5)}])
    codebook = cb.learn_codebook(normalise(np.concatenate(list(images.values())), hellinger), 8, seed=0)
    counts = cb.count_visterms(paths, codebook, hellinger, n_rows=9)
    assert counts.shape == (9, 8)
    assert counts.dtype == np.int32
    assert counts.has_sorted_indices
    for number, image in images.items():
        words = brute_force(normalise(image, hellinger), codebook) if len(image) else np.empty(0, int)
        assert np.array_equal(counts[[number]].toarray()[0], np.bincount(words, minlength=8))
    assert counts[[6, 7, 8]].nnz == 0


def test_count_visterms_does_not_depend_on_the_shards(tmp_path, images):
    codebook = cb.learn_codebook(normalise(np.concatenate(list(images.values()))), 8, seed=0)
    results = []
    for number, split in enumerate([[[0, 1, 2, 3, 4, 5]], [[5], [2, 0], [1, 4, 3]]]):
        paths = write_shards(tmp_path / str(number), [{i: images[i] for i in shard} for shard in split])
        results.append(cb.count_visterms(paths, codebook, False, n_rows=6))
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(results[0], part), getattr(results[1], part))


def test_count_visterms_refuses_double_and_unknown_images(tmp_path, images):
    codebook = normalise(random_counts(4))
    paths = write_shards(tmp_path, [images, {5: images[5]}])
    with pytest.raises(LookalikeError, match="twice or one that is in another"):
        cb.count_visterms(paths, codebook, False, n_rows=6)
    with pytest.raises(LookalikeError, match="not in the manifest"):
        cb.count_visterms(paths[:1], codebook, False, n_rows=5)


def test_one_thread_is_given_back():
    import faiss

    from lookalike.features.clustering import one_thread

    before = faiss.omp_get_max_threads()
    with one_thread():
        assert faiss.omp_get_max_threads() == 1
    assert faiss.omp_get_max_threads() == before
