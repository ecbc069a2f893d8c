"""Compact rows against the weights that the category study's transformer gives the same counts."""

from __future__ import annotations

import errno
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.core.errors import LookalikeError
from lookalike.features.visterm_store import VistermStore, write_arrays, write_store
from lookalike.features.visterms import TfidfVisterms
from lookalike.learners import compact_rows
from lookalike.learners.compact_rows import FILES, CompactRows

N_WORDS = 40


def made_counts(n: int = 60, d: int = N_WORDS) -> np.ndarray:
    """Return counts with an empty image, a word that no image has (3) and one that all others have (5)."""
    random = np.random.default_rng(4)
    counts = random.integers(1, 9, (n, d)) * (random.random((n, d)) < random.random(d) * 0.6)
    counts[:, 3] = 0
    counts[:, 5] = 255
    return counts


def made_store(folder: Path, counts: np.ndarray, n_shards: int = 3) -> VistermStore:
    folders = [folder / f"shard-{shard}" for shard in range(n_shards)]
    for path, part in zip(folders, np.array_split(counts, n_shards), strict=True):
        write_store(path, sp.csr_array(part))
    return VistermStore(folders, counts.shape[1])


def dense(rows: Any, d: int = N_WORDS) -> np.ndarray:
    return sp.csr_array((rows[2], rows[1], rows[0]), shape=(len(rows[0]) - 1, d)).toarray()


@pytest.fixture
def ids() -> np.ndarray:
    return np.flatnonzero(np.arange(60) % 7 != 2)


@pytest.fixture
def counts() -> np.ndarray:
    return made_counts()


@pytest.fixture
def rows(tmp_path: Path, counts: np.ndarray, ids: np.ndarray) -> CompactRows:
    return CompactRows.build(made_store(tmp_path / "store", counts), ids, tmp_path / "rows")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_are_those_of_the_transformer(
    rows: CompactRows, counts: np.ndarray, ids: np.ndarray, dtype: Any
) -> None:
    transformer = TfidfVisterms(dtype)
    expected = transformer.fit_transform(counts[ids]).toarray()
    taken = rows.take(np.arange(len(rows)), np.dtype(dtype))
    assert taken[2].dtype == dtype
    order = np.argsort(-(counts[ids] > 0).sum(axis=0), kind="stable")
    np.testing.assert_array_equal(dense(taken), expected[:, order])
    np.testing.assert_array_equal(rows.idf, transformer.idf_)
    np.testing.assert_allclose(taken[3], (expected.astype(np.float64) ** 2).sum(axis=1), rtol=1e-14)
    np.testing.assert_array_equal(rows.image_ids, ids)
    assert rows.image_ids.dtype == np.int32
    assert len(rows) == len(ids)
    assert rows.n_features == N_WORDS


def test_arrays_are_as_the_kernels_want_them(rows: CompactRows, counts: np.ndarray, ids: np.ndarray) -> None:
    indptr, indices, data, squared = rows.take(np.arange(len(rows)), np.dtype(np.float32))
    assert (indptr.dtype, indices.dtype, squared.dtype) == (np.int64, np.uint32, np.float64)
    for start, stop in pairwise(indptr):
        assert (np.diff(indices[start:stop].astype(int)) > 0).all()
    assert (data > 0).all()
    # words by falling document frequency, but for those without weight
    frequency = np.bincount(indices, minlength=N_WORDS)
    assert (np.diff(frequency[frequency > 0]) <= 0).all()
    assert len(indices) == (counts[ids] > 0).sum() - len(ids)


def test_rows_are_taken_in_any_order_and_repeatedly(rows: CompactRows) -> None:
    every = dense(rows.take(np.arange(len(rows)), np.dtype(np.float32)))
    wanted = np.array([9, 0, 9, len(rows) - 1, 3, 9])
    taken = rows.take(wanted, np.dtype(np.float32))
    np.testing.assert_array_equal(dense(taken), every[wanted])
    nothing = rows.take(np.empty(0, dtype=np.int64), np.dtype(np.float32))
    assert [len(array) for array in nothing] == [1, 0, 0, 0]


@pytest.mark.parametrize("wrong", [[-1], [0, 52], [-3, 1]])
def test_rows_that_there_are_not_are_refused(rows: CompactRows, wrong: list[int]) -> None:
    with pytest.raises(IndexError, match="rows must be 0 to 50"):
        rows.take(np.array(wrong), np.dtype(np.float32))


def test_other_images_are_weighted_by_the_same_frequencies(
    rows: CompactRows, counts: np.ndarray, ids: np.ndarray
) -> None:
    others = counts.copy()
    others[4] = 0  # no word at all
    others[9] = np.where(np.arange(N_WORDS) == 5, 2, 0)  # only a word without weight
    expected = TfidfVisterms("float32").fit(counts[ids]).transform(others)
    matrix = sp.csr_array(others.astype(np.uint8))
    weights = rows.weighted(matrix)
    np.testing.assert_array_equal(weights.toarray(), expected.toarray())
    assert weights.dtype == np.float32
    assert weights.nnz == expected.nnz
    assert not np.diff(weights.indptr)[[4, 9]].any()
    internal = rows.weighted(matrix, internal=True)
    order = np.argsort(-(counts[ids] > 0).sum(axis=0), kind="stable")
    np.testing.assert_array_equal(internal.toarray(), expected.toarray()[:, order])
    assert internal.has_sorted_indices
    np.testing.assert_array_equal(matrix.toarray(), others)
    # its own images get the floats that it takes
    own = rows.weighted(sp.csr_array(counts[ids].astype(np.uint8)), internal=True)
    np.testing.assert_array_equal(own.toarray(), dense(rows.take(np.arange(len(rows)), np.dtype(np.float32))))
    with pytest.raises(ValueError, match="must have 40 columns"):
        rows.weighted(sp.csr_array(np.ones((2, 39), dtype=np.uint8)))


def test_a_matrix_comes_back_in_the_order_of_the_words(rows: CompactRows) -> None:
    """a'Wb must be the same with rows and W in one order, and with both in the other."""
    random = np.random.default_rng(2)
    internal = random.standard_normal((N_WORDS, N_WORDS))
    user = internal.copy()
    rows.restore_order(user)
    counts = sp.csr_array(made_counts().astype(np.uint8))
    a, b = rows.weighted(counts, internal=True), rows.weighted(counts)
    np.testing.assert_allclose(a @ internal @ a.T.toarray(), b @ user @ b.T.toarray(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_shards", [1, 2, 5])
@pytest.mark.parametrize("size", [1, 4, 1000])
def test_shards_and_slices_change_nothing(
    tmp_path: Path,
    rows: CompactRows,
    counts: np.ndarray,
    ids: np.ndarray,
    size: int,
    n_shards: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compact_rows, "SLICE", size)
    CompactRows.build(made_store(tmp_path / "other", counts, n_shards), ids, tmp_path / "other-rows")
    for name in FILES:
        assert (tmp_path / "other-rows" / f"{name}.npy").read_bytes() == (
            tmp_path / "rows" / f"{name}.npy"
        ).read_bytes(), name


def test_word_numbers_above_two_bytes(tmp_path: Path) -> None:
    d = 70_000
    random = np.random.default_rng(1)
    counts = sp.random_array((300, d), density=2e-3, rng=random, format="csr")
    counts.data = random.integers(1, 5, counts.nnz).astype(np.uint8)
    write_store(tmp_path / "store", counts)
    rows = CompactRows.build(VistermStore(tmp_path / "store", d), np.arange(300), tmp_path / "rows")
    assert np.load(tmp_path / "rows" / "words.npy").dtype == np.uint32
    expected = TfidfVisterms("float32").fit_transform(sp.csr_array(counts))
    indptr, indices, data, _ = rows.take(np.arange(300), np.dtype(np.float32))
    assert indices.max() > 2**16 or len(np.unique(indices)) < 2**16
    order = np.argsort(-np.bincount(counts.indices, minlength=d), kind="stable")
    taken = sp.csr_array((data, order[indices], indptr), shape=(300, d))
    assert (taken != expected).nnz == 0


def test_two_bytes_where_they_are_enough(rows: CompactRows, tmp_path: Path) -> None:
    assert np.load(tmp_path / "rows" / "words.npy").dtype == np.uint16
    assert np.load(tmp_path / "rows" / "counts.npy").dtype == np.uint8


def test_images_without_any_weighted_word(tmp_path: Path) -> None:
    rows = CompactRows.build(made_store(tmp_path / "store", np.full((4, 3), 2), 1), np.arange(4), tmp_path / "rows")
    indptr, indices, data, squared = rows.take(np.arange(4), np.dtype(np.float32))
    assert (len(indices), len(data)) == (0, 0)
    assert not indptr.any()
    assert not squared.any()


def test_stored_zeros_are_no_occurrences(tmp_path: Path) -> None:
    write_arrays(
        tmp_path / "store",
        np.array([0, 2, 3, 4]),
        np.array([0, 1, 1, 0], dtype=np.uint16),
        np.array([1, 0, 2, 3], dtype=np.uint8),
    )
    rows = CompactRows.build(VistermStore(tmp_path / "store", 2), np.arange(3), tmp_path / "rows")
    np.testing.assert_array_equal(rows.idf, TfidfVisterms().fit([[1, 0], [0, 2], [3, 0]]).idf_)
    np.testing.assert_array_equal(dense(rows.take(np.arange(3), np.dtype(np.float32)), 2), [[1, 0], [0, 1], [1, 0]])


@pytest.mark.parametrize("ids", [[], [1, 0], [2, 2], [-1, 3], [0, 60]])
def test_images_must_be_ascending_numbers_of_the_store(tmp_path: Path, counts: np.ndarray, ids: list[int]) -> None:
    with pytest.raises(ValueError, match="ascending image numbers from 0 to 59"):
        CompactRows.build(made_store(tmp_path / "store", counts), ids, tmp_path / "rows")
    assert not (tmp_path / "rows").exists()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "noise", "short"])
def test_damaged_files_are_told(rows: CompactRows, tmp_path: Path, name: str, damage: str) -> None:
    path = tmp_path / "rows" / f"{name}.npy"
    whole = path.read_bytes()
    path.unlink()  # the open rows have it mapped
    if damage == "short":
        np.save(path, np.load(BytesIO(whole))[:-1])
    elif damage != "missing":
        path.write_bytes({"empty": b"", "cut": whole[:-3], "noise": b"no array" * 99}[damage])
    with pytest.raises(LookalikeError, match="make the rows anew") as caught:
        CompactRows(tmp_path / "rows")
    assert str(tmp_path / "rows") in str(caught.value)


class Full:
    """Lets so many slices be written before the disk is full."""

    def __init__(self, n: int) -> None:
        self._left, self._write = n, compact_rows._write_slice

    def __call__(self, *arguments: Any) -> None:
        if self._left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._left -= 1
        self._write(*arguments)


@pytest.mark.parametrize("before", [0, 2])
def test_a_full_disk_leaves_what_was_there(
    rows: CompactRows, tmp_path: Path, counts: np.ndarray, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    there = {path.name: path.read_bytes() for path in (tmp_path / "rows").iterdir()}
    monkeypatch.setattr(compact_rows, "_write_slice", Full(before))
    for target in ("rows", "others"):
        with pytest.raises(LookalikeError, match=r"cannot write .*No space left.*free some space"):
            CompactRows.build(made_store(tmp_path / "s", counts), np.arange(50), tmp_path / target)
    assert {path.name: path.read_bytes() for path in (tmp_path / "rows").iterdir()} == there
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows", "s", "store"]


def test_the_room_is_taken_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing to a map of a full disk would kill the process."""

    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(compact_rows.os, "posix_fallocate", refuse, raising=False)
    with pytest.raises(LookalikeError, match=r"cannot write .*free some space"):
        CompactRows.build(made_store(tmp_path / "store", made_counts()), np.arange(50), tmp_path / "rows")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_damaged_store_leaves_what_was_there(rows: CompactRows, tmp_path: Path, counts: np.ndarray) -> None:
    store = made_store(tmp_path / "store", counts)
    store.n_words = 20  # fewer than the store has
    with pytest.raises(LookalikeError, match="give the number of words"):
        CompactRows.build(store, np.arange(50), tmp_path / "rows")
    assert len(CompactRows(tmp_path / "rows")) == len(rows)


def test_rows_are_replaced_whole(rows: CompactRows, tmp_path: Path, counts: np.ndarray) -> None:
    # what a killed build has left
    (tmp_path / ".rows.part").mkdir()
    (tmp_path / ".rows.part" / "words.npy").write_bytes(b"half")
    (tmp_path / "rows" / "of-an-earlier-version.npy").write_bytes(b"")
    again = CompactRows.build(made_store(tmp_path / "store", counts), np.arange(10), tmp_path / "rows")
    assert len(again) == 10
    assert sorted(path.stem for path in (tmp_path / "rows").iterdir()) == sorted(FILES)
    assert not (tmp_path / ".rows.part").exists()
    # rows that were open keep their images
    assert len(rows) == 51
    assert (
        rows.take(np.arange(51), np.dtype(np.float32))[0][-1] > again.take(np.arange(10), np.dtype(np.float32))[0][-1]
    )
