"""Exact retrieval among hundreds of thousands of sparse images: the first k of every query, and average precision.

Queries are multiplied by W once, and the gallery is then read once for every block of 16 of them. No matrix of scores
is ever built. The approximate way, for positive semidefinite W, is `lookalike.ranking.approximate_search`.

The queries of a block stand side by side, one float32 lane each, so that a word of a gallery image is one cache line:
its value times that line is added to the scores of all queries of the block at once. The scores stay in vector
registers for the length of a row. Written with an array of scores, the same loop stores and loads them again for every
word, because the compiler cannot know that the array is no part of the block, and takes seven times as long:
hence the one function here that gives LLVM its vectors directly.
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
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from lookalike.core.kernels import njit

LANES = 16
"""Queries of a block: 64 bytes of float32, a cache line. At d = 10,000 a block of 640 kB stays near the processor;
32 lanes halve the passes over the gallery, and were no faster."""

BUCKETS = 1024
"""Of scores, in which a row's place among the positives is looked up."""

NO_ROW = np.iinfo(np.int32).max
"""Stands where a heap has no gallery row yet."""

Progress = Callable[[int, int], None]
"""Called with the number of queries done and of all."""


class _Rows(NamedTuple):
    """CSR arrays as the kernels take them."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    data: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class AveragePrecisions:
    """Average precision of every query (JMLR section 5.1).

    Parameters
    ----------
    values : ndarray of float64, shape (n_queries,)
        In (0, 1]; NaN for a query without a positive.
    """

    values: NDArray[np.float64]

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
    W: NDArray[Any] | None,
    queries: Any,
    gallery: Any,
    k: int,
    *,
    own: npt.ArrayLike | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
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

    def find(members: NDArray[np.int64], block: NDArray[np.float32]) -> None:
        _fill(matrix, query_rows, members, block)
        part = slice(members[0], members[-1] + 1)
        top_k_of_block(block, *gallery_rows, own_rows[part], found[part], scores[part])

    _for_blocks(np.arange(n_queries), d, find, n_threads, progress)
    if n_queries and (found == NO_ROW).any():
        raise ValueError("scores overflow float32: scale the rows, for instance to length 1")
    return found, scores


def average_precision(
    W: NDArray[Any] | None,
    rows: Any,
    relevant_indptr: npt.ArrayLike,
    relevant_indices: npt.ArrayLike,
    queries: npt.ArrayLike,
    *,
    n_threads: int = 1,
) -> AveragePrecisions:
    """Let some rows query all others, and average precision over the ranks of the relevant ones (JMLR section 5.1).

    Ties are broken stably, as in `lookalike.ranking.rankings.rank_leave_one_out`: among equal similarities the lower
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

    def score(part: NDArray[np.int64], block: NDArray[np.float32]) -> None:
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


def _as_matrix(W: NDArray[Any] | None, d: int) -> NDArray[Any] | None:
    if W is None:
        return None
    if W.shape != (d, d) or W.dtype not in (np.float32, np.float64):
        raise ValueError(f"W must be float32 or float64 of shape ({d}, {d}), not {W.dtype} of shape {W.shape}")
    return np.ascontiguousarray(np.asarray(W))


def _as_own(own: npt.ArrayLike | None, n_queries: int, n_gallery: int) -> NDArray[np.int64]:
    if own is None:
        return np.full(n_queries, -1, dtype=np.int64)
    rows = np.asarray(own, dtype=np.int64)
    if rows.shape != (n_queries,) or (rows.size and (rows.min() < -1 or rows.max() >= n_gallery)):
        raise ValueError(f"own must hold one gallery row from -1 to {n_gallery - 1} for each of {n_queries} queries")
    return rows


def _as_relevant(
    indptr: npt.ArrayLike, indices: npt.ArrayLike, queries: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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


def _fill(W: NDArray[Any] | None, rows: _Rows, members: NDArray[np.int64], block: NDArray[np.float32]) -> None:
    """Put q'W of the rows `members` into the block."""
    finite = copy_block(*rows, members, block) if W is None else project_block(W, *rows, members, block)
    if not finite:
        raise ValueError("a query times W is not finite in float32: check W, or scale it or the rows")


def _for_blocks(
    positions: NDArray[np.int64],
    d: int,
    work: Callable[[NDArray[np.int64], NDArray[np.float32]], None],
    n_threads: int,
    progress: Progress | None,
) -> None:
    """Call `work` on LANES positions at a time, each call with a block of memory that no other has meanwhile."""
    if n_threads < 1:
        raise ValueError(f"n_threads must be at least 1, not {n_threads}")
    n = len(positions)
    parts = [positions[start : start + LANES] for start in range(0, n, LANES)]
    blocks: SimpleQueue[NDArray[np.float32]] = SimpleQueue()
    for _ in range(n_threads):
        blocks.put(_aligned_block(d))

    def run(part: NDArray[np.int64]) -> int:
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


def _run_all(run: Callable[[NDArray[np.int64]], int], parts: list[NDArray[np.int64]], n_threads: int) -> Iterator[int]:
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


def _aligned_block(d: int) -> NDArray[np.float32]:
    """Return (d, LANES) float32 whose rows start at a cache line: one that crosses two takes up to a quarter longer."""
    line = LANES * 4
    memory = np.zeros((d + 1) * line, dtype=np.uint8)
    start = -memory.ctypes.data % line
    return memory[start : start + d * line].view(np.float32).reshape(d, LANES)


@intrinsic
def _score_row(
    typing_context: Any,
    block: Any,
    indices: Any,
    data: Any,
    start: Any,
    stop: Any,
    thresholds: Any,
    scores: Any,
) -> Any:
    """Write the scores of the gallery row [start, stop) for all lanes; return whether one is above its threshold.

    `block` (d, LANES), `thresholds` and `scores` (LANES,) are C-contiguous float32, `indices` uint32, `data` float32.
    Every lane is summed in the order of the row, whatever the other lanes hold.
    """
    signature = types.boolean(block, indices, data, start, stop, thresholds, scores)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        def pointer(position: int) -> Any:
            array: Any = make_array(signature.args[position])(context, builder, arguments[position])  # type: ignore[no-untyped-call]
            return array.data

        def load_lanes(address: Any) -> Any:
            return builder.load(builder.bitcast(address, lanes.as_pointer()), align=4)

        integer, lanes = ir.IntType(64), ir.VectorType(ir.FloatType(), LANES)
        zeros, unknown = ir.Constant(lanes, [0.0] * LANES), ir.Constant(lanes, ir.Undefined)
        first_lane = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        block_at, indices_at, data_at, thresholds_at, scores_at = map(pointer, (0, 1, 2, 5, 6))
        first, end = arguments[3], arguments[4]
        before, loop, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(builder.icmp_signed("<", first, end), loop, after)

        builder.position_at_end(loop)
        place, so_far = builder.phi(integer), builder.phi(lanes)
        word = builder.zext(builder.load(builder.gep(indices_at, [place])), integer)
        line = load_lanes(builder.gep(block_at, [builder.mul(word, ir.Constant(integer, LANES))]))
        value = builder.insert_element(
            unknown, builder.load(builder.gep(data_at, [place])), ir.Constant(ir.IntType(32), 0)
        )
        value = builder.shuffle_vector(value, unknown, first_lane)
        # "contract" allows a fused multiply-add, in all lanes alike
        total = builder.fadd(so_far, builder.fmul(line, value, flags=("contract",)), flags=("contract",))
        following = builder.add(place, ir.Constant(integer, 1))
        for phi, at_start, later in ((place, first, following), (so_far, zeros, total)):
            phi.add_incoming(at_start, before)
            phi.add_incoming(later, loop)
        builder.cbranch(builder.icmp_signed("<", following, end), loop, after)

        builder.position_at_end(after)
        result = builder.phi(lanes)
        result.add_incoming(zeros, before)
        result.add_incoming(total, loop)
        builder.store(result, builder.bitcast(scores_at, lanes.as_pointer()), align=4)
        above = builder.fcmp_ordered(">", result, load_lanes(thresholds_at))
        mask = builder.bitcast(above, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", mask, ir.Constant(ir.IntType(LANES), 0))

    return signature, generate


@njit(cache=True, nogil=True)
def _spread(projected: NDArray[Any], lane: int, block: NDArray[np.float32]) -> bool:
    """Write a dense query into its lane; return whether all of it is finite."""
    finite = True
    for j in range(projected.shape[0]):
        value = np.float32(projected[j])
        finite &= bool(np.isfinite(value))
        block[j, lane] = value
    return finite


@njit(cache=True, nogil=True)
def project_block(
    W: NDArray[Any],
    indptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    data: NDArray[np.float32],
    rows: NDArray[np.int64],
    block: NDArray[np.float32],
) -> bool:
    """Write q'W of the rows of a CSR matrix into the lanes of `block`, zeros into lanes without a row.

    Parameters
    ----------
    W : (d, d) float32 or float64, C-contiguous
    indptr, indices, data
        CSR arrays of the queries.
    rows : (n,), n <= LANES
    block : (d, LANES) float32, changed in place

    Returns
    -------
    bool
        Whether all of it is finite in float32.
    """
    projected = np.empty(W.shape[1], dtype=W.dtype)
    finite = True
    for lane in range(LANES):
        projected[:] = 0
        if lane < rows.shape[0]:
            for place in range(indptr[rows[lane]], indptr[rows[lane] + 1]):
                value = W.dtype.type(data[place])
                row = W[indices[place]]
                for j in range(projected.shape[0]):
                    projected[j] += value * row[j]
        finite &= _spread(projected, lane, block)
    return finite


@njit(cache=True, nogil=True)
def copy_block(
    indptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    data: NDArray[np.float32],
    rows: NDArray[np.int64],
    block: NDArray[np.float32],
) -> bool:
    """Write the rows themselves into the lanes: `project_block` for W = I."""
    block[:] = 0
    finite = True
    for lane in range(rows.shape[0]):
        for place in range(indptr[rows[lane]], indptr[rows[lane] + 1]):
            block[indices[place], lane] += data[place]  # added, as a row may have a word twice
            finite &= bool(np.isfinite(data[place]))
    return finite


@njit(cache=True, nogil=True)
def _sink(scores: NDArray[np.float32], rows: NDArray[np.int32], size: int, score: float, row: int) -> None:
    """Put (score, row) in the place of a heap's root, which holds the worst: lowest score, highest row of equals."""
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        other = child + 1
        if other < size and (
            scores[other] < scores[child] or (scores[other] == scores[child] and rows[other] > rows[child])
        ):
            child = other
        if scores[child] > score or (scores[child] == score and rows[child] < row):
            break
        scores[place], rows[place] = scores[child], rows[child]
        place = child
    scores[place], rows[place] = score, row


@njit(cache=True, nogil=True)
def top_k_of_block(
    block: NDArray[np.float32],
    indptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    data: NDArray[np.float32],
    own: NDArray[np.int64],
    found: NDArray[np.int32],
    found_scores: NDArray[np.float32],
) -> None:
    """Find the k gallery rows of highest score for each lane that is asked for, best first.

    Parameters
    ----------
    block : (d, LANES) float32
    indptr, indices, data
        CSR arrays of the gallery.
    own : (n,) int64, n <= LANES
        The row that a lane must not find, or -1.
    found : (n, k) int32, changed in place
        NO_ROW where there are too few finite scores.
    found_scores : (n, k) float32, changed in place
    """
    n, k = found.shape
    found[:] = NO_ROW
    found_scores[:] = -np.inf
    thresholds = np.full(LANES, np.inf, dtype=np.float32)
    thresholds[:n] = -np.inf
    scores = np.empty(LANES, dtype=np.float32)
    for row in range(indptr.shape[0] - 1):
        if _score_row(block, indices, data, indptr[row], indptr[row + 1], thresholds, scores):  # type: ignore[call-arg]
            for lane in range(n):
                # rows come in ascending order, so that one as good as the worst that is kept comes too late
                if scores[lane] > thresholds[lane] and own[lane] != row:
                    _sink(found_scores[lane], found[lane], k, scores[lane], row)
                    thresholds[lane] = found_scores[lane, 0]
    for lane in range(n):
        for last in range(k - 1, 0, -1):
            score, row = found_scores[lane, last], found[lane, last]
            worst_score, worst_row = found_scores[lane, 0], found[lane, 0]
            _sink(found_scores[lane], found[lane], last, score, row)
            found_scores[lane, last], found[lane, last] = worst_score, worst_row


@njit(cache=True, nogil=True)
def _sort_positives(positives: NDArray[np.int64], scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the positives from best to worst score, lower row first among equals."""
    ascending = np.sort(positives)
    return ascending[np.argsort(-scores[ascending], kind="mergesort")]


@njit(cache=True, nogil=True)
def _bucket(score: Any, best: Any, per_score: Any) -> int:
    """Return a number from 0 to BUCKETS - 1 that never falls where the score falls."""
    place = (best - score) * per_score
    if not place > 0:
        return 0
    return int(place) if place < BUCKETS else BUCKETS - 1


@njit(cache=True, nogil=True)
def _average_precision(scores: NDArray[np.float32], own: int, positives: NDArray[np.int64]) -> float:
    """Return the average precision of one query among all rows but its own.

    Every row is put before the first positive that it precedes; the ranks are the running sums. That positive is looked
    for from the first of the row's bucket of scores on: buckets are numbered by falling score, so the positives in
    those before are better than the row. Bisection takes several times as long: no processor can guess its turns.
    """
    ranked = _sort_positives(positives, scores)
    values = scores[ranked]
    best, spread = values[0], values[0] - values[-1]
    per_score = np.float32(BUCKETS - 1) / spread if spread > 0 else np.float32(0)
    starts = np.zeros(BUCKETS + 1, dtype=np.int64)
    for value in values:
        starts[_bucket(value, best, per_score) + 1] += 1
    starts = np.cumsum(starts)
    counts = np.zeros(len(ranked) + 1, dtype=np.int64)
    for row in range(scores.shape[0]):
        score = scores[row]
        place = starts[_bucket(score, best, per_score)]
        # a positive does not precede itself, and is counted by those behind it
        while place < len(values) and (values[place] > score or (values[place] == score and ranked[place] <= row)):
            place += 1
        if row != own:
            counts[place] += 1
    total = 0.0
    before = 0
    for position in range(len(ranked)):
        before += counts[position]
        total += (position + 1) / (before + 1)
    return total / len(ranked)


@njit(cache=True, nogil=True)
def average_precisions_of_block(
    block: NDArray[np.float32],
    indptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    data: NDArray[np.float32],
    own: NDArray[np.int64],
    relevant_indptr: NDArray[np.int64],
    relevant_indices: NDArray[np.int64],
    average_precisions: NDArray[np.float64],
) -> None:
    """Write the average precision of each lane that is asked for, NaN where it has no positive.

    Parameters
    ----------
    block, indptr, indices, data
        As in `top_k_of_block`.
    own : (n,) int64
        The row that a lane leaves out.
    relevant_indptr : (n + 1,) int64
        Positives of lane l: ``relevant_indices[relevant_indptr[l]:relevant_indptr[l + 1]]``.
    relevant_indices : int64
    average_precisions : (n,) float64, changed in place
    """
    n_rows = indptr.shape[0] - 1
    all_scores = np.empty((LANES, n_rows), dtype=np.float32)
    scores = np.empty(LANES, dtype=np.float32)
    thresholds = np.empty(LANES, dtype=np.float32)  # nothing is made of the comparison here
    thresholds[:] = np.inf
    for row in range(n_rows):
        _score_row(block, indices, data, indptr[row], indptr[row + 1], thresholds, scores)  # type: ignore[call-arg]
        for lane in range(LANES):
            all_scores[lane, row] = scores[lane]
    for lane in range(own.shape[0]):
        positives = relevant_indices[relevant_indptr[lane] : relevant_indptr[lane + 1]]
        if len(positives):
            average_precisions[lane] = _average_precision(all_scores[lane], own[lane], positives)
        else:
            average_precisions[lane] = np.nan
