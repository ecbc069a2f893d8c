"""Compact rows against the weights that the category study's transformer gives the same counts."""

import errno
import os
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.sparse as sp
from made_stores import write_store

from lookalike.core.errors import LookalikeError
from lookalike.features.visterm_store import VistermStore, write_arrays
from lookalike.features.visterms import TfidfVisterms
from lookalike.studies.web import compact_rows
from lookalike.studies.web.compact_rows import WEIGHTS, CompactRows

N_WORDS = 40
FILES = ("indptr.npy", "words.npy", "counts.npy", WEIGHTS)


def small_store(folder, counts, n_shards=3):
    folders = [folder / f"shard-{shard}" for shard in range(n_shards)]
    for path, part in zip(folders, np.array_split(counts, n_shards), strict=True):
        write_store(path, sp.csr_array(part))
    return VistermStore(folders, counts.shape[1])


def dense(rows):
    return sp.csr_array((rows[2], rows[1], rows[0]), shape=(len(rows[0]) - 1, N_WORDS)).toarray()


def small_counts():
    """Counts with a word that no image has (3), one that all have (5), and an image that has no other one (11)."""
    random = np.random.default_rng(4)
    counts = random.integers(1, 9, (60, N_WORDS)) * (random.random((60, N_WORDS)) < random.random(N_WORDS) * 0.6)
    counts[11] = 0
    counts[:, 3], counts[:, 5] = 0, 255
    return counts


IDS, COUNTS = np.flatnonzero(np.arange(60) % 7 != 2), small_counts()


@pytest.fixture
def rows(tmp_path):
    return CompactRows.build(small_store(tmp_path / "store", COUNTS), IDS, tmp_path / "rows")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_are_those_of_the_transformer_by_document_frequency(rows, dtype):
    transformer = TfidfVisterms(dtype)
    expected = transformer.fit_transform(COUNTS[IDS]).toarray()
    order = np.argsort(-(COUNTS[IDS] > 0).sum(axis=0), kind="stable")
    wanted = np.concatenate([np.arange(len(IDS)), [9, 0, 9]])
    indptr, indices, data, squared = taken = rows.take(wanted, np.dtype(dtype))
    assert (indptr.dtype, indices.dtype, data.dtype, squared.dtype) == (np.int64, np.uint32, dtype, np.float64)
    np.testing.assert_array_equal(dense(taken), expected[wanted][:, order])
    np.testing.assert_allclose(squared, (expected[wanted].astype(np.float64) ** 2).sum(axis=1), rtol=1e-14)
    assert sp.csr_array((data, indices, indptr), shape=(len(wanted), N_WORDS)).has_sorted_indices
    np.testing.assert_array_equal(rows.idf, transformer.idf_)
    np.testing.assert_array_equal(rows.image_ids, IDS)
    assert [len(array) for array in rows.take(wanted[:0], np.dtype(dtype))] == [1, 0, 0, 0]
    for wrong in ([-1], [0, 52], [-3, 1]):
        with pytest.raises(ValueError, match="must be numbers from 0 to 50"):
            rows.take(np.array(wrong), np.dtype(dtype))


def test_other_images_are_weighted_by_the_same_frequencies(rows):
    others = COUNTS.copy()
    others[4] = 0  # no word at all
    others[9] = np.where(np.arange(N_WORDS) == 5, 2, 0)  # only a word without weight
    expected = TfidfVisterms("float32").fit(COUNTS[IDS]).transform(others)
    matrix = sp.csr_array(others.astype(np.uint8))
    weights, internal = rows.weighted(matrix), rows.weighted(matrix, internal=True)
    order = np.argsort(-(COUNTS[IDS] > 0).sum(axis=0), kind="stable")
    np.testing.assert_array_equal(weights.toarray(), expected.toarray())
    np.testing.assert_array_equal(internal.toarray(), expected.toarray()[:, order])
    assert (weights.dtype, weights.nnz, internal.has_sorted_indices) == (np.float32, expected.nnz, True)
    with pytest.raises(ValueError, match="must have 40 columns"):
        rows.weighted(sp.csr_array(np.ones((2, 39), dtype=np.uint8)))


@pytest.mark.parametrize(("size", "n_shards"), [(1, 2), (4, 5), (1000, 1)])
def test_shards_and_slices_change_nothing(tmp_path, rows, size, n_shards, monkeypatch):
    monkeypatch.setattr(compact_rows, "SLICE", size)
    CompactRows.build(small_store(tmp_path / "other", COUNTS, n_shards), IDS, tmp_path / "other-rows")
    for name in FILES:
        there, other = (tmp_path / folder / name for folder in ("rows", "other-rows"))
        assert there.read_bytes() == other.read_bytes(), name


@pytest.mark.parametrize(("d", "kind"), [(65_536, np.uint16), (70_000, np.uint32)])
def test_word_numbers_take_two_bytes_where_they_are_enough_and_stored_zeros_are_no_words(tmp_path, d, kind):
    random = np.random.default_rng(1)
    counts = sp.random_array((300, d), density=2e-3, random_state=random, format="csr")
    counts.data = random.integers(0, 5, counts.nnz)
    stored = counts.indptr.astype(np.int64), counts.indices.astype(kind), counts.data.astype(np.uint8)
    write_arrays(tmp_path / "store", *stored)
    counts.eliminate_zeros()
    rows = CompactRows.build(VistermStore(tmp_path / "store", d), np.arange(300), tmp_path / "rows")
    assert np.load(tmp_path / "rows" / "words.npy").dtype == kind
    assert np.load(tmp_path / "rows" / "counts.npy").dtype == np.uint8
    order = np.argsort(-np.bincount(counts.indices, minlength=d), kind="stable")
    indptr, indices, data, _ = rows.take(np.arange(300), np.dtype(np.float32))
    taken = sp.csr_array((data, order[indices], indptr), shape=(300, d))
    assert (taken != TfidfVisterms("float32").fit_transform(sp.csr_array(counts))).nnz == 0


def test_rows_are_replaced_whole_or_not_at_all(rows, tmp_path, monkeypatch):
    folder, store = tmp_path / "rows", small_store(tmp_path / "store", COUNTS)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for ids in ([], [1, 0], [2, 2], [-1, 3], [0, 60]):
        with pytest.raises(ValueError, match="ascending image numbers from 0 to 59"):
            CompactRows.build(store, ids, folder)
    store.n_words = 20  # fewer than the store has
    with pytest.raises(LookalikeError, match="give the number of words"):
        CompactRows.build(store, np.arange(50), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    store.n_words = N_WORDS
    again = CompactRows.build(store, np.arange(10), folder)
    assert (sorted(path.name for path in folder.iterdir()), len(again)) == (sorted(FILES), 10)
    assert dense(rows.take(np.arange(51), np.dtype(np.float32))).any()  # rows that were open keep their images
    for full in ("write_arrays", "write_npz"):
        with monkeypatch.context() as disk:
            disk.setattr(compact_rows, full, Mock(side_effect=LookalikeError(os.strerror(errno.ENOSPC))))
            with pytest.raises(LookalikeError, match="No space left"):
                CompactRows.build(store, np.arange(50), folder)
        with pytest.raises(LookalikeError, match=r"there is no file .*weights\.npz: make the rows again"):
            CompactRows(folder)
