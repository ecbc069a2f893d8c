"""Compiled inner loops of exact retrieval: sparse gallery rows against a block of dense queries, and what is kept.

The queries of a block stand side by side, one float32 lane each, so that a word of a gallery image is one cache line:
its value times that line is added to the scores of all queries of the block at once. The scores stay in vector
registers for the length of a row. Written with an array of scores, the same loop stores and loads them again for every
word, because the compiler cannot know that the array is no part of the block, and takes seven times as long:
hence the one function here that gives LLVM its vectors directly.
"""

# mypy: allow-untyped-decorators
from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

LANES = 16
"""Queries of a block: 64 bytes of float32, a cache line. At d = 10,000 a block of 640 kB stays near the processor;
32 lanes halve the passes over the gallery, and were no faster."""

BUCKETS = 1024
"""Of scores, in which a row's place among the positives is looked up."""

NO_ROW = np.iinfo(np.int32).max
"""Stands where a heap has no gallery row yet."""


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
