"""From block counts to weighted visterms: drawing, clustering, assigning, counting, and tf-idf by its formula."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from made_features import block_counts, nearest, write_blocks
from sklearn.utils.estimator_checks import check_estimator

from lookalike.core.errors import LookalikeError
from lookalike.features import codebook as cb
from lookalike.features.descriptors import normalise
from lookalike.features.visterms import TfidfVisterms

IMAGES = {number: block_counts(size, seed=number) for number, size in enumerate([5, 0, 12, 7, 1, 20])}
SPLITS = [[[0, 1, 2, 3, 4, 5]], [[0, 1], [2, 3, 4], [], [5]], [[5, 3], [4, 0, 2, 1]]]
"""The same images in one file and in several."""


def test_a_sample_is_of_the_pool_without_replacement_and_all_where_there_are_few(tmp_path):
    paths = write_blocks(tmp_path, IMAGES, SPLITS[0])
    sample = cb.sample_descriptors(paths, [2, 5], 25, np.random.default_rng(0))
    drawn = {row.tobytes() for row in sample}
    assert len(drawn) == len(sample) == 25
    assert drawn <= {row.tobytes() for number in (2, 5) for row in IMAGES[number]}
    everything = cb.sample_descriptors(paths, [2, 0, 1], 100, np.random.default_rng(0))
    assert everything.dtype == np.uint16
    np.testing.assert_array_equal(everything, np.concatenate([IMAGES[0], IMAGES[2]]))


def test_a_sample_is_uniform_over_blocks(tmp_path):
    paths = write_blocks(tmp_path, IMAGES, SPLITS[0])
    places = {row.tobytes(): number for number, row in enumerate(np.concatenate(list(IMAGES.values())))}
    drawn = np.zeros(len(places))
    for seed in range(200):
        sample = cb.sample_descriptors(paths, range(6), 9, np.random.default_rng(seed))
        drawn[[places[row.tobytes()] for row in sample]] += 1
    expected = 200 * 9 / len(places)
    assert np.abs(drawn - expected).max() < 5 * np.sqrt(expected)


@pytest.mark.parametrize("hellinger", [False, True])
def test_samples_and_counts_do_not_depend_on_the_files(tmp_path, hellinger):
    codebook = cb.learn_codebook(normalise(np.concatenate(list(IMAGES.values())), hellinger), 8, seed=0)
    samples = []
    for number, split in enumerate(SPLITS):
        paths = write_blocks(tmp_path / str(number), IMAGES, split)
        samples.append(cb.sample_descriptors(paths, range(6), 15, np.random.default_rng(3)))
        counts = cb.count_visterms(paths, codebook, hellinger, n_rows=9)
        assert (counts.shape, counts.dtype, counts.has_sorted_indices) == ((9, 8), np.int32, True)
        for image, blocks in IMAGES.items():
            words = nearest(normalise(blocks, hellinger), codebook)
            np.testing.assert_array_equal(counts[[image]].toarray()[0], np.bincount(words, minlength=8))
        assert counts[[6, 7, 8]].nnz == 0
    np.testing.assert_array_equal(samples[1:], [samples[0]] * 2)


@pytest.mark.parametrize(
    ("split", "call", "sentence"),
    [
        (SPLITS[0], lambda paths: cb.sample_descriptors(paths, [1, 99], 9, np.random.default_rng(0)), "no block to"),
        ([], lambda paths: cb.sample_descriptors(paths, [1], 9, np.random.default_rng(0)), "no block to learn"),
        ([*SPLITS[0], [5]], lambda paths: cb.count_visterms(paths, WORDS, False, 6), "twice or one that is in another"),
        (SPLITS[0], lambda paths: cb.count_visterms(paths, WORDS, False, 5), "not in the manifest"),
        ([], lambda _: cb.learn_codebook(WORDS, 5, 0), "5 words cannot be learned from 4 descriptors"),
    ],
)
def test_what_cannot_be_is_a_users_mistake(tmp_path, split, call, sentence):
    with pytest.raises(LookalikeError, match=sentence):
        call(write_blocks(tmp_path, IMAGES, split))


WORDS = normalise(block_counts(4))


def test_a_codebook_uses_every_descriptor_and_its_seed_and_lowers_the_distortion():
    descriptors = normalise(block_counts(1000))

    def distortion(codebook):
        return ((descriptors - codebook[cb.assign(descriptors, codebook)]) ** 2).sum(axis=1).mean()

    # faiss keeps 256 points a centroid unless told: with one centroid the mean would be of 256
    centre = cb.learn_codebook(descriptors, 1, seed=0, n_iterations=3)
    np.testing.assert_allclose(centre[0], descriptors.mean(axis=0, dtype=np.float64), atol=1e-6)
    few, many, other = (cb.learn_codebook(descriptors, 40, s, n_iterations=n) for s, n in ((0, 1), (0, 20), (1, 20)))
    assert distortion(many) < distortion(few)
    assert (many.shape, many.dtype) == ((40, 79), np.float32)
    assert not np.array_equal(many, other)
    exact = cb.learn_codebook(descriptors[:20], 20, seed=0)
    assert sorted(cb.assign(descriptors[:20], exact)) == list(range(20))
    assert np.isfinite(cb.learn_codebook(np.repeat(descriptors[:3], 50, axis=0), 10, seed=0)).all()


@given(
    n=st.integers(0, 40),
    n_words=st.integers(1, 60),
    n_features=st.integers(1, 90),
    batch=st.integers(1, 50),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=40)
def test_the_nearest_word_is_that_of_brute_force(n, n_words, n_features, batch, seed):
    rng = np.random.default_rng(seed)
    descriptors, codebook = (rng.random((rows, n_features), dtype=np.float32) for rows in (n, n_words))
    words = cb.assign(descriptors, codebook, batch=batch)
    assert words.dtype == np.int32
    np.testing.assert_array_equal(words, nearest(descriptors, codebook))


def test_ties_go_to_the_lowest_word_and_rounding_decides_nothing():
    codebook = np.array([[0, 0], [1, 0], [0, 0], [1, 0]], np.float32)
    descriptors = np.array([[0, 0], [1, 0], [0.5, 0], [0.6, 0]], np.float32)
    assert cb.assign(descriptors, codebook).tolist() == [0, 1, 0, 1]
    # words that differ by less than a matrix product's rounding
    rng = np.random.default_rng(0)
    centre = rng.random(79, dtype=np.float32) + 10
    codebook, descriptors = ((centre + rng.normal(0, 2e-6, (n, 79))).astype(np.float32) for n in (200, 100))
    naive = (descriptors @ codebook.T - (codebook**2).sum(axis=1) / 2).argmax(axis=1)
    assert not np.array_equal(naive, nearest(descriptors, codebook))  # the case is hard enough
    np.testing.assert_array_equal(cb.assign(descriptors, codebook), nearest(descriptors, codebook))


# tf-idf

COUNTS = hnp.arrays(np.int32, st.tuples(st.integers(1, 8), st.just(6)), elements=st.integers(0, 3))


@given(train=COUNTS, rows=COUNTS)
@settings(deadline=None, max_examples=50)
def test_weights_are_draft_equation_15_for_dense_and_sparse_counts(train, rows):
    share = (train > 0).mean(axis=0)
    weights = rows * np.array([-np.log(r) if r > 0 else 0.0 for r in share])
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    expected = np.divide(weights, lengths, out=np.zeros_like(weights), where=lengths > 0)
    for convert in (np.asarray, sp.csr_array, sp.csc_array, sp.csr_matrix):
        model = TfidfVisterms(dtype="float64").fit(convert(train))
        found = model.transform(convert(rows))
        assert isinstance(found, sp.csr_array)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found.toarray(), expected, atol=1e-15)
        assert found.has_sorted_indices
        assert (found.data > 0).all()
        # other images do not leak into the weights of one
        np.testing.assert_array_equal(model.transform(convert(rows[:1])).toarray(), found.toarray()[:1])


def test_words_in_no_or_all_training_images_weigh_nothing():
    model = TfidfVisterms().fit(np.array([[1, 0, 2], [3, 0, 0]]))
    assert model.idf_.tolist() == [0, 0, np.log(2)]
    assert not np.signbit(model.idf_).any()
    weights = model.transform(np.array([[5, 7, 0], [5, 7, 1]]))
    assert weights.dtype == np.float32
    assert weights.toarray().tolist() == [[0, 0, 0], [0, 0, 1]]
    zero_stored = sp.csr_array((np.array([0, 2]), np.array([0, 0]), np.array([0, 1, 2])), shape=(2, 1))
    assert TfidfVisterms().fit(zero_stored).idf_[0] == np.log(2)


def test_counts_are_left_alone():
    counts = sp.csr_array((np.array([1, 2, 1]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    counts.has_canonical_format = False
    TfidfVisterms().fit(counts).transform(counts)
    assert (counts.data.tolist(), counts.indices.tolist()) == ([1, 2, 1], [2, 0, 2])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: TfidfVisterms().fit(np.array([[1, -1]])), "(?i)negative"),
        (lambda: TfidfVisterms(dtype="int8").fit(np.eye(3)), "dtype"),
    ],
)
def test_what_is_no_count_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_it_is_a_scikit_learn_transformer():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(TfidfVisterms())
