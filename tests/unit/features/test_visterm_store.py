"""The visterm store: what is written is read back, whole or not at all, from one folder or several."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.core.errors import LookalikeError
from lookalike.features import visterm_store
from lookalike.features.visterm_store import VistermStore, word_type, write_arrays, write_store

N_WORDS = 50


def _counts(n_images: int, n_words: int = N_WORDS, seed: int = 0) -> sp.csr_array:
    random = np.random.default_rng(seed)
    dense = random.poisson(0.3, (n_images, n_words)) * (random.random((n_images, 1)) < 0.8)
    return sp.csr_array(dense)


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Three shards of 7, 0 and 5 images."""
    paths = [tmp_path / f"shard-{shard}" for shard in range(3)]
    for seed, (path, n_images) in enumerate(zip(paths, (7, 0, 5), strict=True)):
        write_store(path, _counts(n_images, seed=seed))
    return paths


def _whole() -> np.ndarray:
    return np.vstack([_counts(7, seed=0).toarray(), _counts(5, seed=2).toarray()])


def test_what_is_written_is_read_back_from_several_shards(folders: list[Path]) -> None:
    store = VistermStore(folders, N_WORDS)
    whole = _whole()
    assert len(store) == store.n_images == 12
    assert store.nnz == np.count_nonzero(whole)
    np.testing.assert_array_equal(store.row_lengths(), np.count_nonzero(whole, axis=1))
    rows = store.rows(np.arange(12))
    assert rows.dtype == np.uint8
    assert rows.has_sorted_indices
    np.testing.assert_array_equal(rows.toarray(), whole)


def test_rows_come_in_the_order_asked_for_and_in_the_type_asked_for(folders: list[Path]) -> None:
    store = VistermStore(folders, N_WORDS)
    ids = [11, 0, 7, 6, 7, 3]
    rows = store.rows(ids, dtype=np.float32)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows.toarray(), _whole()[ids])
    assert store.rows([]).shape == (0, N_WORDS)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_slices_cover_every_image_once_in_order(folders: list[Path], size: int) -> None:
    seen = list(VistermStore(folders, N_WORDS).slices(size, dtype=np.int64))
    ends = np.cumsum([block.shape[0] for _, block in seen])
    assert [first for first, _ in seen] == [0, *ends[:-1]]
    assert max(block.shape[0] for _, block in seen) <= size
    np.testing.assert_array_equal(np.vstack([block.toarray() for _, block in seen]), _whole())


def test_a_store_is_memory_mapped_and_compact(tmp_path: Path) -> None:
    write_store(tmp_path / "large", _counts(3000))
    shard = VistermStore(tmp_path / "large", N_WORDS).shards[0]
    assert all(isinstance(array, np.memmap) for array in shard[1:])
    assert (shard.indptr.dtype, shard.words.dtype, shard.counts.dtype) == (np.int64, np.uint16, np.uint8)


def test_large_codebooks_have_wider_word_numbers(tmp_path: Path) -> None:
    assert word_type(65_536) is np.uint16
    assert word_type(65_537) is np.uint32
    counts = sp.csr_array(([2], [70_000], [0, 1]), shape=(1, 70_001))
    write_store(tmp_path / "wide", counts)
    store = VistermStore(tmp_path / "wide", 70_001)
    assert store.shards[0].words.dtype == np.uint32
    assert store.rows([0])[0, 70_000] == 2


def test_counts_above_what_a_byte_holds_are_cut_and_zeros_dropped(tmp_path: Path) -> None:
    counts = sp.csr_array((np.array([300, 0, 4]), np.array([2, 1, 0]), np.array([0, 3])), shape=(1, 3))
    write_store(tmp_path / "s", counts)
    assert VistermStore(tmp_path / "s", 3).rows([0]).toarray().tolist() == [[4, 0, 255]]
    assert VistermStore(tmp_path / "s", 3).nnz == 2


@pytest.mark.parametrize("value", [-1, 0.5, np.nan])
def test_counts_that_are_none_are_refused(tmp_path: Path, value: float) -> None:
    with pytest.raises(LookalikeError, match="whole numbers"):
        write_store(tmp_path / "s", sp.csr_array(np.array([[value, 1.0]])))
    assert not (tmp_path / "s").exists()


def test_a_failed_write_leaves_the_old_store_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_store(tmp_path / "s", _counts(4))
    saved = visterm_store.write_array

    def full_disk(array: np.ndarray, path: Path) -> None:
        if path.name == "counts.npy":
            raise OSError(28, "No space left on device")
        saved(array, path)

    monkeypatch.setattr(visterm_store, "write_array", full_disk)
    with pytest.raises(LookalikeError, match="No space left"):
        write_store(tmp_path / "s", _counts(9, seed=3))
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    np.testing.assert_array_equal(VistermStore(tmp_path / "s", N_WORDS).rows(range(4)).toarray(), _counts(4).toarray())


def test_a_failed_exchange_puts_the_old_store_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_store(tmp_path / "s", _counts(4))
    replaced = os.replace

    def refuse_new(source: object, target: object) -> None:
        if str(source).endswith(".part"):
            raise PermissionError(13, "Permission denied")
        replaced(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(visterm_store.os, "replace", refuse_new)
    with pytest.raises(LookalikeError, match="Permission denied"):
        write_store(tmp_path / "s", _counts(9, seed=3))
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    assert VistermStore(tmp_path / "s", N_WORDS).n_images == 4


def test_writing_again_replaces_the_store_and_gives_the_same_bytes(tmp_path: Path) -> None:
    write_store(tmp_path / "s", _counts(9, seed=3))
    write_store(tmp_path / "s", _counts(4))
    write_store(tmp_path / "t", _counts(4))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s", "t"]
    for name in visterm_store.FILES:
        assert (tmp_path / "s" / name).read_bytes() == (tmp_path / "t" / name).read_bytes()


@pytest.mark.parametrize("name", visterm_store.FILES)
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    write_store(tmp_path / "s", _counts(4))
    (tmp_path / "s" / name).unlink()
    with pytest.raises(LookalikeError, match=name):
        VistermStore(tmp_path / "s", N_WORDS)


@pytest.mark.parametrize("name", visterm_store.FILES)
@pytest.mark.parametrize("kept", [0.0, 0.01, 0.6, 0.999])
@pytest.mark.parametrize("n_images", [4, 4000])
def test_a_cut_off_file_is_named(tmp_path: Path, name: str, kept: float, n_images: int) -> None:
    """Both small files, which are read, and large ones, which are mapped."""
    write_store(tmp_path / "s", _counts(n_images))
    path = tmp_path / "s" / name
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    with pytest.raises(LookalikeError, match=name):
        VistermStore(tmp_path / "s", N_WORDS)


def test_a_file_that_is_no_array_is_named(tmp_path: Path) -> None:
    write_store(tmp_path / "s", _counts(4))
    (tmp_path / "s" / "words.npy").write_bytes(b"PK\x03\x04 not an archive either" * 300)
    with pytest.raises(LookalikeError, match=r"words\.npy"):
        VistermStore(tmp_path / "s", N_WORDS)
    np.savez(tmp_path / "archive.npz", a=np.arange(3))
    (tmp_path / "archive.npz").rename(tmp_path / "s" / "words.npy")
    with pytest.raises(LookalikeError, match=r"words\.npy"):
        VistermStore(tmp_path / "s", N_WORDS)


def test_files_of_two_stores_are_refused(tmp_path: Path) -> None:
    write_store(tmp_path / "s", _counts(4))
    write_store(tmp_path / "t", _counts(6, seed=1))
    (tmp_path / "t" / "words.npy").replace(tmp_path / "s" / "words.npy")
    with pytest.raises(LookalikeError, match="do not belong together"):
        VistermStore(tmp_path / "s", N_WORDS)
    pointers = np.array([0, 3, 2, 4])
    write_arrays(tmp_path / "u", pointers, np.zeros(4, dtype=np.uint16), np.ones(4, dtype=np.uint8))
    with pytest.raises(LookalikeError, match="do not belong together"):
        VistermStore(tmp_path / "u", N_WORDS)


def test_what_is_not_there_is_refused(folders: list[Path]) -> None:
    store = VistermStore(folders, N_WORDS)
    for ids in ([12], [-1]):
        with pytest.raises(LookalikeError, match="images 0 to 11"):
            store.rows(ids)
    with pytest.raises(LookalikeError, match="number of words"):
        VistermStore(folders, 3).rows(range(12))
    with pytest.raises(LookalikeError, match=r"indptr\.npy"):
        VistermStore(folders[0].with_name("shard-9"), N_WORDS)
