"""Rows of the web study against the weights that other studies give the same counts."""

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows
from lookalike.studies.web import training_images
from lookalike.studies.web.training_images import TrainingRows

N_WORDS = 40


def small_counts():
    """Counts with a word that no image has (3), one that all have (5), and images without a word of weight (4, 11)."""
    random = np.random.default_rng(4)
    counts = random.integers(1, 9, (60, N_WORDS)) * (random.random((60, N_WORDS)) < random.random(N_WORDS) * 0.6)
    counts[11] = 0
    counts[:, 3], counts[:, 5] = 0, 255
    counts[4] = np.where(np.arange(N_WORDS) == 5, 2, 0)
    return counts


IDS, COUNTS = np.flatnonzero(np.arange(60) % 7 != 2), small_counts()
VISTERMS = sp.csr_array(COUNTS.astype(np.uint8))
ORDER = np.argsort(-(COUNTS[IDS] > 0).sum(axis=0), kind="stable")


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_weights_are_those_of_other_studies_by_document_frequency_whatever_the_slices(size, monkeypatch):
    monkeypatch.setattr(training_images, "SLICE", size)
    rows, idf = TrainingRows(VISTERMS, IDS), inverse_document_frequencies(VISTERMS[IDS])
    expected = tfidf_rows(VISTERMS[IDS], idf).toarray()
    wanted = np.concatenate([np.arange(len(IDS)), [9, 0, 9]])
    indptr, indices, data, squared = rows.take(wanted)
    assert (indptr.dtype, indices.dtype, data.dtype, squared.dtype) == (np.int64, np.uint32, np.float32, np.float64)
    taken = sp.csr_array((data, indices, indptr), shape=(len(wanted), N_WORDS))
    np.testing.assert_array_equal(taken.toarray(), expected[wanted][:, ORDER])
    assert taken.has_sorted_indices
    np.testing.assert_allclose(squared, (expected[wanted].astype(np.float64) ** 2).sum(axis=1), rtol=1e-14)
    np.testing.assert_array_equal(rows.idf, idf)
    np.testing.assert_array_equal(rows.image_ids, IDS)
    W = np.random.default_rng(0).random((N_WORDS, N_WORDS))
    np.testing.assert_array_equal(rows.restored(W[np.ix_(ORDER, ORDER)]), W)


def test_other_images_are_weighted_by_the_same_frequencies():
    rows = TrainingRows(VISTERMS, IDS)
    expected = tfidf_rows(VISTERMS, rows.idf)
    weights, internal = rows.weighted(range(60)), rows.weighted(range(60), internal=True)
    np.testing.assert_array_equal(weights.toarray(), expected.toarray())
    np.testing.assert_array_equal(internal.toarray(), expected.toarray()[:, ORDER])
    assert (weights.dtype, weights.nnz, internal.has_sorted_indices) == (np.float32, expected.nnz, True)


def test_stored_zeros_are_no_words():
    stored = sp.csr_array(np.ones_like(COUNTS))
    stored.data[:] = COUNTS.ravel()
    rows, expected = TrainingRows(stored, IDS), TrainingRows(VISTERMS, IDS)
    np.testing.assert_array_equal(rows.idf, expected.idf)
    for part, other in zip(rows.take(np.arange(51)), expected.take(np.arange(51)), strict=True):
        np.testing.assert_array_equal(part, other)
