"""Weighted visterms of millions of images, three bytes an entry: memory-mapped counts, weighed when asked for.

They stand between a `lookalike.features.visterm_store.VistermStore` and `lookalike.learners.large_scale`.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.core.errors import LookalikeError
from lookalike.core.kernels import njit
from lookalike.core.row_numbers import row_numbers
from lookalike.features.visterm_store import VistermStore, word_type
from lookalike.features.visterms import TfidfVisterms
from lookalike.learners.sparse_rows import Rows, permuted

SLICE = 65_536
"""Images that are read at a time."""

FILES = ("indptr", "words", "counts", "lengths", "idf", "order", "image_ids")


class CompactRows:
    """Rows of tf-idf weights f_i d_i / ||f d|| of `image_ids` (2009 draft, eq. 15), made from a folder's counts.

    `idf` holds d_i of the words in the user's order, from these images alone; words of idf 0 have no entries.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        arrays: dict[str, NDArray[Any]] = {}
        for name in FILES:
            path = Path(folder) / f"{name}.npy"
            try:
                arrays[name] = np.load(path, mmap_mode="r", allow_pickle=False)
            except (OSError, ValueError, EOFError) as error:
                raise LookalikeError(f"{path} cannot be read ({error}): make the rows anew") from error
        n, d = len(arrays["image_ids"]), len(arrays["idf"])
        n_entries = int(arrays["indptr"][-1]) if arrays["indptr"].size else 0
        sizes = {"indptr": n + 1, "lengths": n, "order": d, "words": n_entries, "counts": n_entries}
        if any(arrays[name].shape != (size,) for name, size in sizes.items()):
            raise LookalikeError(f"{folder} holds arrays of different lengths: make the rows anew")
        self.image_ids, self.idf = np.asarray(arrays["image_ids"]), np.asarray(arrays["idf"])
        self.n_features = len(self.idf)
        order = np.asarray(arrays["order"])
        self._place = np.argsort(order)
        self._indptr, lengths = np.asarray(arrays["indptr"]), np.asarray(arrays["lengths"])
        # frequent features lead: their weights are looked up far more often
        self._stored = self._indptr, arrays["words"], arrays["counts"], lengths, self.idf[order]

    @classmethod
    def build(cls, store: VistermStore, image_ids: ArrayLike, folder: str | os.PathLike[str]) -> Self:
        """Write the rows of some images of a store, given ascending, and open them; replace `folder` whole."""
        ids = np.asarray(image_ids, dtype=np.int64)
        if not len(ids) or np.any(np.diff(ids) <= 0) or ids[0] < 0 or ids[-1] >= store.n_images:
            raise ValueError(f"image_ids must be ascending image numbers from 0 to {store.n_images - 1}, at least one")
        frequency = np.zeros(store.n_words, dtype=np.int64)
        for counts, _ in _selected(store, ids):
            frequency += np.bincount(counts.indices[counts.data > 0], minlength=store.n_words)
        idf = np.zeros(store.n_words)
        found = (frequency > 0) & (frequency < len(ids))
        idf[found] = -np.log(frequency[found] / len(ids))
        order = np.argsort(-frequency, kind="stable")
        target = Path(folder)
        part = target.with_name(f".{target.name}.part")
        try:
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            _write(part, store, ids, idf, order, int(frequency[idf != 0].sum()))
            shutil.rmtree(target, ignore_errors=True)
            part.rename(target)
        except OSError as error:
            raise LookalikeError(
                f"cannot write {target}: {error.strerror or error}; free some space or mend the permissions, "
                "then run the same command again"
            ) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return cls(target)

    def __len__(self) -> int:
        return len(self.image_ids)

    def take(self, rows: NDArray[np.integer[Any]], dtype: np.dtype[Any]) -> Rows:
        """Return weighted rows, by number in any order, with their words by falling document frequency."""
        wanted = row_numbers(rows, len(self), "rows")
        indptr = np.zeros(len(wanted) + 1, dtype=np.int64)
        np.cumsum(self._indptr[wanted + 1] - self._indptr[wanted], out=indptr[1:])
        room = np.empty(indptr[-1], dtype=np.uint32), np.empty(indptr[-1], dtype=dtype), np.empty(len(wanted))
        taken = Rows(indptr, *room)
        _weigh(wanted, *self._stored, *taken)
        return taken

    def weighted(self, counts: sp.csr_array, *, internal: bool = False) -> sp.csr_array:
        """Weigh raw counts of other images, as float32; `internal`: with the words in the order of `take`."""
        if counts.shape[1] != self.n_features:
            raise ValueError(f"counts must have {self.n_features} columns, one a word, not {counts.shape[1]}")
        tfidf = TfidfVisterms()
        tfidf.idf_, tfidf.n_features_in_ = self.idf, self.n_features
        weights = tfidf.transform(counts)
        if internal:
            weights = sp.csr_array((weights.data, self._place[weights.indices], weights.indptr), shape=weights.shape)
            weights.sort_indices()
        return weights

    def restored(self, W: NDArray[Any]) -> NDArray[Any]:
        """Return a W with words in the order of `take` in the user's order."""
        return permuted(W, self._place)


def _selected(store: VistermStore, ids: NDArray[np.int64]) -> Any:
    """Give the counts of the chosen images, slice after slice, and how many came before each."""
    done = 0
    for first, counts in store.slices(SLICE):
        inside = ids[np.searchsorted(ids, first) : np.searchsorted(ids, first + counts.shape[0])] - first
        if len(inside):
            yield counts if len(inside) == counts.shape[0] else counts[inside], done
            done += len(inside)


def _write(
    folder: Path, store: VistermStore, ids: NDArray[np.int64], idf: NDArray[np.float64], order: Any, n_entries: int
) -> None:
    place = np.argsort(order)
    types = {"indptr": np.int64, "words": word_type(len(idf)), "counts": np.uint8, "lengths": np.float64}
    shapes = {"indptr": len(ids) + 1, "words": n_entries, "counts": n_entries, "lengths": len(ids)}
    files = {name: _mapped(folder / f"{name}.npy", types[name], shapes[name]) for name in types}
    files["indptr"][0] = 0
    for counts, done in _selected(store, ids):
        _write_slice(counts.indptr, counts.indices, counts.data, idf, place, done, *files.values())
    for array in files.values():
        array.flush()
    np.save(folder / "idf.npy", idf)
    np.save(folder / "order.npy", order)
    np.save(folder / "image_ids.npy", ids.astype(np.int32))


def _mapped(path: Path, kind: Any, size: int) -> np.memmap[Any, Any]:
    """Map a new file whose room on the disk is taken now: found full later, the disk would kill the process."""
    array: np.memmap[Any, Any] = np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=(size,))
    # not every POSIX system has it
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


@njit(cache=True, nogil=True)
def _write_slice(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.uint8],
    idf: NDArray[np.float64],
    place: NDArray[np.int64],
    done: int,
    out_indptr: NDArray[np.int64],
    out_words: NDArray[Any],
    out_counts: NDArray[np.uint8],
    out_lengths: NDArray[np.float64],
) -> None:
    """Write rows from number `done` on without words of weight 0, sorted by insertion, as a row is short."""
    for row in range(indptr.shape[0] - 1):
        first = end = out_indptr[done + row]
        squared = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            weight, word, hole = data[k] * idf[indices[k]], place[indices[k]], end
            if weight == 0.0:
                continue
            squared += weight * weight
            while hole > first and out_words[hole - 1] > word:
                out_words[hole], out_counts[hole] = out_words[hole - 1], out_counts[hole - 1]
                hole -= 1
            out_words[hole], out_counts[hole] = word, data[k]
            end += 1
        out_indptr[done + row + 1], out_lengths[done + row] = end, np.sqrt(squared)


@njit(cache=True, nogil=True)
def _weigh(
    rows: NDArray[np.int64],
    indptr: NDArray[np.int64],
    words: NDArray[Any],
    counts: NDArray[np.uint8],
    lengths: NDArray[np.float64],
    idf: NDArray[np.float64],
    out_indptr: NDArray[np.int64],
    out_indices: NDArray[np.uint32],
    out_data: NDArray[Any],
    out_squared_norms: NDArray[np.float64],
) -> None:
    for i in range(rows.shape[0]):
        row, place, total = rows[i], out_indptr[i], 0.0
        for k in range(indptr[row], indptr[row + 1]):
            word = words[k]
            value = out_data.dtype.type(counts[k] * idf[word] / lengths[row])
            out_indices[place] = word
            out_data[place] = value
            # float() would leave single precision as it is here
            total += np.float64(value) * np.float64(value)
            place += 1
        out_squared_norms[i] = total
