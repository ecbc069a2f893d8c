"""The visterm store: what is written is read back, whole or not at all, from one folder or several."""

import numpy as np
import pytest
import scipy.sparse as sp
from made_stores import write_store

from lookalike.core.errors import LookalikeError
from lookalike.features import visterm_store
from lookalike.features.visterm_store import VistermStore, word_type

N_WORDS = 50


def counts_of(n_images, seed=0):
    random = np.random.default_rng(seed)
    return sp.csr_array(random.poisson(0.3, (n_images, N_WORDS)) * (random.random((n_images, 1)) < 0.8))


WHOLE = np.vstack([counts_of(7).toarray(), counts_of(5, 2).toarray()])


@pytest.fixture
def folders(tmp_path):
    """Three shards of 7, 0 and 5 images, with the counts of `WHOLE`."""
    paths = [tmp_path / f"shard-{shard}" for shard in range(3)]
    for seed, (path, n_images) in enumerate(zip(paths, (7, 0, 5), strict=True)):
        write_store(path, counts_of(n_images, seed))
    return paths


def test_images_of_several_shards_are_read_in_the_order_and_type_asked_for_and_no_others(folders):
    store = VistermStore(folders, N_WORDS)
    assert store.n_images == 12
    assert store.nnz == np.count_nonzero(WHOLE)
    np.testing.assert_array_equal(store.row_lengths(), np.count_nonzero(WHOLE, axis=1))
    for ids, dtype in ((range(12), np.uint8), ([11, 0, 7, 6, 7, 3], np.float32), ([], np.uint8)):
        rows = store.rows(ids, dtype)
        assert (rows.dtype, rows.has_sorted_indices) == (dtype, True)
        np.testing.assert_array_equal(rows.toarray(), WHOLE[list(ids)])
    for ids in ([12], [-1]):
        with pytest.raises(ValueError, match="numbers from 0 to 11"):
            store.rows(ids)
    with pytest.raises(LookalikeError, match="number of words"):
        VistermStore(folders, 3).rows(range(12))


def test_a_store_is_memory_mapped_and_compact(tmp_path):
    write_store(tmp_path / "large", counts_of(3000))
    shard = VistermStore(tmp_path / "large", N_WORDS).shards[0]
    assert all(isinstance(array, np.memmap) for array in shard[1:])
    assert (shard.indptr.dtype, shard.words.dtype, shard.counts.dtype) == (np.int64, np.uint16, np.uint8)
    assert word_type(65_536) is np.uint16
    write_store(tmp_path / "wide", sp.csr_array(([2], [70_000], [0, 1]), shape=(1, 70_001)))
    store = VistermStore(tmp_path / "wide", 70_001)
    assert store.shards[0].words.dtype == np.uint32
    assert store.rows([0])[0, 70_000] == 2


def test_a_write_that_fails_leaves_no_store_and_another_makes_one(tmp_path, monkeypatch):
    write_store(tmp_path / "s", counts_of(9, 3))

    def full_disk(array, path):
        raise LookalikeError("No space left on device")

    monkeypatch.setattr(visterm_store, "write_array", full_disk)
    with pytest.raises(LookalikeError, match="No space left"):
        write_store(tmp_path / "s", counts_of(4))
    with pytest.raises(LookalikeError, match=r"there is no .*indptr\.npy"):
        VistermStore(tmp_path / "s", N_WORDS)
    monkeypatch.undo()
    write_store(tmp_path / "s", counts_of(4))
    assert {path.name for path in (tmp_path / "s").iterdir()} == set(visterm_store.FILES)
