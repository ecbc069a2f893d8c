"""Exact retrieval among hundreds of thousands of sparse images: the first k of every query, and average precision.

Queries are multiplied by W once, and the gallery is then read once for every block of 16 of them. No matrix of scores
is ever built. The approximate way, for positive semidefinite W, is `lookalike.evaluation.approximate_retrieval`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from lookalike.evaluation._retrieval_kernels import (
    LANES,
    NO_ROW,
    average_precisions_of_block,
    copy_block,
    project_block,
    top_k_of_block,
)

Progress = Callable[[int, int], None]
"""Called with the number of queries done and of all."""


class _Rows(NamedTuple):
    """CSR arrays as the kernels take them."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.uint32]
    data: npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class AveragePrecisions:
    """Average precision of every query (JMLR section 5.1).

    Parameters
    ----------
    values : ndarray of float64, shape (n_queries,)
        In (0, 1]; NaN for a query without a positive.
    """

    values: npt.NDArray[np.float64]

    @property
    def n_without_positive(self) -> int:
        """Number of queries without any positive; they are left out of the mean."""
        return int(np.count_nonzero(np.isnan(self.values)))

    def mean(self) -> float:
        """Mean average precision over the queries that have a positive.

        Raises
        ------
        ValueError
            When no query has one.
        """
        if self.n_without_positive == len(self.values):
            raise ValueError("no query has a relevant row, so there is nothing to average: draw other queries or rows")
        return float(np.nanmean(self.values))


def top_k(
    W: npt.NDArray[Any] | None,
    queries: Any,
    gallery: Any,
    k: int,
    *,
    own: npt.ArrayLike | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Find the k gallery rows of largest q'Wg for every query q, exactly; equal scores by gallery row number.

    Parameters
    ----------
    W : ndarray of shape (d, d), float32 or float64, or None
        None is the identity: between rows of length 1 that ranks as the Euclidean distance does.
    queries : CSR matrix of shape (n_q, d)
    gallery : CSR matrix of shape (n_g, d)
        Used as float32. With 32-bit indices nothing of it is copied.
    k : int
        From 1 to n_g, or to n_g - 1 where `own` leaves a row out.
    own : array-like of int, shape (n_q,), optional
        The gallery row that is the query itself and must not be found; -1 where there is none.
    n_threads : int, default=1
        Blocks of queries that are worked on at a time, each with 64 d bytes of its own.
    progress : callable, optional
        Called as ``progress(n_done, n_q)`` in the calling thread, after every block of queries.

    Returns
    -------
    indices : ndarray of shape (n_q, k), int32
        Rows of the gallery, best first.
    scores : ndarray of shape (n_q, k), float32
        Their similarities, falling.

    Raises
    ------
    ValueError
        When shapes or numbers do not fit, or q'W or the gallery is not finite in float32.

    Notes
    -----
    A score is a float32 sum in the order of the gallery row's words, so the result is the same, to the last bit, for
    every number of threads and whichever queries share a block; queries are multiplied by W in the precision of W.

    `lookalike.learners.base.SimilarityLearner.rank` answers the same question for every learner (distances too, dense
    rows too, float64 scores) with dense scores of 16,384 gallery rows at a time from SciPy's products, which it
    partitions. This function writes no score to memory and is several times as fast on sparse rows
    (``benchmarks/web_retrieval.py``); ``rank`` could hand over to it where both sides are CSR, the metric is the inner
    product and float32 scores will do.
    """
    query_rows, d = _as_rows(queries, "queries")
    gallery_rows, d_gallery = _as_rows(gallery, "the gallery")
    matrix = _as_matrix(W, d)
    n_queries, n_gallery = len(query_rows.indptr) - 1, len(gallery_rows.indptr) - 1
    if d_gallery != d:
        raise ValueError(f"queries have {d} features and the gallery {d_gallery}: give both the same codebook")
    own_rows = _as_own(own, n_queries, n_gallery)
    available = n_gallery - int((own_rows >= 0).any())
    if not 1 <= k <= available:
        raise ValueError(f"k must be from 1 to {available}, the rows that a query can find, not {k}")
    found = np.empty((n_queries, k), dtype=np.int32)
    scores = np.empty((n_queries, k), dtype=np.float32)

    def find(members: npt.NDArray[np.int64], block: npt.NDArray[np.float32]) -> None:
        _fill(matrix, query_rows, members, block)
        part = slice(members[0], members[-1] + 1)
        top_k_of_block(block, *gallery_rows, own_rows[part], found[part], scores[part])

    _for_blocks(np.arange(n_queries), d, find, n_threads, progress)
    if n_queries and (found == NO_ROW).any():
        raise ValueError("scores overflow float32: scale the rows, for instance to length 1")
    return found, scores


def average_precision(
    W: npt.NDArray[Any] | None,
    rows: Any,
    relevant_indptr: npt.ArrayLike,
    relevant_indices: npt.ArrayLike,
    queries: npt.ArrayLike,
    *,
    n_threads: int = 1,
) -> AveragePrecisions:
    """Let some rows query all others, and average precision over the ranks of the relevant ones (JMLR section 5.1).

    Ties are broken stably, as in `lookalike.evaluation.ranking.rank_leave_one_out`: among equal similarities the lower
    row comes first. Precision at the rank r of the i-th relevant row is i / r.

    Parameters
    ----------
    W : ndarray of shape (d, d), float32 or float64, or None
        Its features in the order that `rows` has; None is the identity.
    rows : CSR matrix of shape (n, d)
        Used as float32.
    relevant_indptr : array-like of int, shape (n_q + 1,)
    relevant_indices : array-like of int
        ``relevant_indices[relevant_indptr[i]:relevant_indptr[i + 1]]`` are the rows that are relevant to query i: each
        once, not the query itself.
    queries : array-like of int, shape (n_q,)
        Rows that query the others.
    n_threads : int, default=1
        Blocks of queries that are worked on at a time, each with 64 (d + n) bytes of its own.

    Returns
    -------
    AveragePrecisions
        One value a query, NaN without a relevant row.

    Raises
    ------
    ValueError
        When shapes or row numbers do not fit, or q'W or `rows` is not finite in float32.
    """
    row_arrays, d = _as_rows(rows, "rows")
    matrix = _as_matrix(W, d)
    n = len(row_arrays.indptr) - 1
    members = np.asarray(queries, dtype=np.int64)
    if members.ndim != 1 or (members.size and (members.min() < 0 or members.max() >= n)):
        raise ValueError(f"queries must be a list of row numbers from 0 to {n - 1}")
    indptr, indices = _as_relevant(relevant_indptr, relevant_indices, members, n)
    values = np.empty(len(members))

    def score(part: npt.NDArray[np.int64], block: npt.NDArray[np.float32]) -> None:
        _fill(matrix, row_arrays, members[part], block)
        first, last = part[0], part[-1] + 1
        average_precisions_of_block(
            block, *row_arrays, members[part], indptr[first : last + 1], indices, values[first:last]
        )

    _for_blocks(np.arange(len(members)), d, score, n_threads, None)
    return AveragePrecisions(values)


def warm_up() -> None:
    """Compile the kernels, or load them from the cache, so that a timing does not count it."""
    rows = sp.csr_array(np.eye(3, dtype=np.float32))
    for W in (None, np.eye(3, dtype=np.float32), np.eye(3)):
        top_k(W, rows, rows, 1)
        average_precision(W, rows, [0, 1], [1], [0])


def _as_rows(X: Any, name: str) -> tuple[_Rows, int]:
    """CSR arrays of X and its number of columns, shared with X where the types allow it."""
    if getattr(X, "format", None) != "csr":
        raise ValueError(f"{name} must be a CSR matrix: convert with scipy.sparse.csr_array")
    if X.shape[0] > NO_ROW:
        raise ValueError(f"{name} has {X.shape[0]} rows, more than the {NO_ROW} that row numbers can tell: split it")
    indices, data = X.indices, np.ascontiguousarray(X.data, dtype=np.float32)
    if indices.size and (indices.min() < 0 or indices.max() >= X.shape[1]):
        raise ValueError(f"{name} has a column outside 0..{X.shape[1] - 1}: make it again")
    if not np.isfinite(data).all():
        raise ValueError(f"{name} has values that are not finite in float32: remove or scale them")
    # a view: checked not to be negative, an int32 has the bits of its uint32
    unsigned = indices.view(np.uint32) if indices.dtype == np.int32 else indices.astype(np.uint32)
    return _Rows(X.indptr.astype(np.int64), np.ascontiguousarray(unsigned), data), X.shape[1]


def _as_matrix(W: npt.NDArray[Any] | None, d: int) -> npt.NDArray[Any] | None:
    if W is None:
        return None
    if W.shape != (d, d) or W.dtype not in (np.float32, np.float64):
        raise ValueError(f"W must be float32 or float64 of shape ({d}, {d}), not {W.dtype} of shape {W.shape}")
    return np.ascontiguousarray(np.asarray(W))


def _as_own(own: npt.ArrayLike | None, n_queries: int, n_gallery: int) -> npt.NDArray[np.int64]:
    if own is None:
        return np.full(n_queries, -1, dtype=np.int64)
    rows = np.asarray(own, dtype=np.int64)
    if rows.shape != (n_queries,) or (rows.size and (rows.min() < -1 or rows.max() >= n_gallery)):
        raise ValueError(f"own must hold one gallery row from -1 to {n_gallery - 1} for each of {n_queries} queries")
    return rows


def _as_relevant(
    indptr: npt.ArrayLike, indices: npt.ArrayLike, queries: npt.NDArray[np.int64], n: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    indptr, indices = np.asarray(indptr, dtype=np.int64), np.asarray(indices, dtype=np.int64)
    if (
        indptr.shape != (len(queries) + 1,)
        or indptr[0] != 0
        or indptr[-1] != len(indices)
        or (np.diff(indptr) < 0).any()
    ):
        raise ValueError(f"relevant_indptr must rise from 0 to {len(indices)} in {len(queries) + 1} numbers")
    if indices.size and (indices.min() < 0 or indices.max() >= n):
        raise ValueError(f"relevant rows must be from 0 to {n - 1}")
    of_query = np.repeat(np.arange(len(queries)), np.diff(indptr))
    if (indices == queries[of_query]).any():
        raise ValueError("a query is among its own relevant rows: leave it out")
    if len(np.unique(of_query * n + indices)) < len(indices):
        raise ValueError("a row is relevant to the same query twice: name it once")
    return indptr, indices


def _fill(
    W: npt.NDArray[Any] | None, rows: _Rows, members: npt.NDArray[np.int64], block: npt.NDArray[np.float32]
) -> None:
    """Put q'W of the rows `members` into the block."""
    finite = copy_block(*rows, members, block) if W is None else project_block(W, *rows, members, block)
    if not finite:
        raise ValueError("a query times W is not finite in float32: check W, or scale it or the rows")


def _for_blocks(
    positions: npt.NDArray[np.int64],
    d: int,
    work: Callable[[npt.NDArray[np.int64], npt.NDArray[np.float32]], None],
    n_threads: int,
    progress: Progress | None,
) -> None:
    """Call `work` on LANES positions at a time, each call with a block of memory that no other has meanwhile."""
    if n_threads < 1:
        raise ValueError(f"n_threads must be at least 1, not {n_threads}")
    n = len(positions)
    parts = [positions[start : start + LANES] for start in range(0, n, LANES)]
    blocks: SimpleQueue[npt.NDArray[np.float32]] = SimpleQueue()
    for _ in range(n_threads):
        blocks.put(_aligned_block(d))

    def run(part: npt.NDArray[np.int64]) -> int:
        block = blocks.get()
        try:
            work(part, block)
        finally:
            blocks.put(block)
        return len(part)

    n_done = 0
    for size in _run_all(run, parts, n_threads):
        n_done += size
        if progress is not None:
            progress(n_done, n)


def _run_all(
    run: Callable[[npt.NDArray[np.int64]], int], parts: list[npt.NDArray[np.int64]], n_threads: int
) -> Iterator[int]:
    """Yield what `run` returns for each part, in the order in which they are done."""
    if n_threads == 1:
        yield from map(run, parts)
        return
    with ThreadPoolExecutor(n_threads) as executor:
        futures = [executor.submit(run, part) for part in parts]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def _aligned_block(d: int) -> npt.NDArray[np.float32]:
    """Return (d, LANES) float32 whose rows start at a cache line: one that crosses two takes up to a quarter longer."""
    line = LANES * 4
    memory = np.zeros((d + 1) * line, dtype=np.uint8)
    start = -memory.ctypes.data % line
    return memory[start : start + d * line].view(np.float32).reshape(d, LANES)
