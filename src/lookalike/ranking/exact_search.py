"""Exact retrieval among hundreds of thousands of sparse images: the first k of every query, and average precision.

Queries are multiplied by W once, and the gallery is then read once for every block of 16 of them. No matrix of scores
is ever built.

The queries of a block stand side by side, one float32 lane each, so that a word of a gallery image is one cache line:
its value times that line is added to the scores of all queries of the block at once. The scores stay in vector
registers for the length of a row. Written with an array of scores, the same loop stores and loads them again for every
word, because the compiler cannot know that the array is no part of the block, and takes four times as long; with
sixteen scalars in place of the array, or numba's flag noalias, it takes three times as long. Hence the one function
here that gives LLVM its vectors directly.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.core.base import BaseContext
from numba.core.typing.templates import signature
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import ArrayLike, NDArray

from lookalike.core.arrays import Array, Floats, Ints, Longs, Matrix, Reals
from lookalike.core.kernels import njit
from lookalike.ranking.rankings import Rankings, sorted_ranks_and_ties

LANES = 16
"""Queries of a block: 64 bytes of float32, a cache line. At d = 10,000 a block of 640 kB stays near the processor;
32 lanes halve the passes over the gallery, and were no faster."""
NO_ROW = np.iinfo(np.int32).max
"""Stands where a heap has no gallery row yet."""


class WordRows(NamedTuple):
    """CSR rows as kernels take them."""

    indptr: Longs
    words: NDArray[np.uint32]
    values: Floats


def top_k(
    W: Array | None, queries: Matrix, gallery: Matrix, k: int, *, own: ArrayLike | None = None, n_threads: int = 1
) -> tuple[Ints, Floats]:
    """Find the k gallery rows of largest q'Wg for every query q, exactly; equal scores by gallery row number.

    A score is a float32 sum in the order of the gallery row's words, so the result is the same, to the last bit, for
    every number of threads and whichever queries share a block; queries are multiplied by W in the precision of W. None
    is the identity: between rows of length 1 that ranks as the Euclidean distance does. Rows are used as float32; with
    32-bit indices nothing is copied. `own` is the gallery row that is the query itself and must not be found, -1 where
    there is none. So many blocks of queries as threads are worked on at a time, each with 64 d bytes of its own. What
    is found stands best first. A k that does not fit, and q'W or a gallery that is not finite in float32, is a
    ValueError.
    """
    d = queries.shape[1]
    W, asked, searched = _as_matrix(W, d), _as_rows(queries, d), _as_rows(gallery, d)
    n_queries, n_gallery = queries.shape[0], gallery.shape[0]
    own_rows = np.full(n_queries, -1) if own is None else np.asarray(own, dtype=np.int64)
    available = n_gallery - int((own_rows >= 0).any())
    if not 1 <= k <= available:
        raise ValueError(f"k must be from 1 to {available}, the rows that a query can find, not {k}")
    found = np.full((n_queries, k), NO_ROW, dtype=np.int32)
    scores = np.full((n_queries, k), -np.inf, dtype=np.float32)

    def find(part: slice) -> None:
        block = _project(W, asked, np.arange(part.start, part.stop), d)
        top_k_of_block(block, searched, own_rows[part], found[part], scores[part])

    _for_blocks(n_queries, find, n_threads)
    if (found == NO_ROW).any():
        raise ValueError("scores overflow float32: scale the rows, for instance to length 1")
    return found, scores


def average_precision(
    W: Array | None,
    rows: Matrix,
    relevant_indptr: Longs,
    relevant_indices: Longs,
    queries: Longs,
    *,
    n_threads: int = 1,
) -> Reals:
    """Let some rows query all others, and average precision over the ranks of the relevant ones (JMLR section 5.1).

    It is that of `lookalike.ranking.rankings.Rankings`, of ties and of NaN as well. W, of which None is the identity,
    has its features in the order that `rows` has. The rows that are relevant to query i, each once and without it, are
    ``relevant_indices[relevant_indptr[i]:relevant_indptr[i + 1]]``; a query without any has NaN. So many
    blocks of queries as threads are worked on at a time, each with 64 (d + n) bytes of its own. Where q'W or `rows` is
    not finite in float32, that is a ValueError.
    """
    d = rows.shape[1]
    W, ranked = _as_matrix(W, d), _as_rows(rows, d)
    n = len(ranked.indptr) - 1
    ranks, ties = (np.empty(len(relevant_indices), dtype=np.int32) for _ in range(2))

    def score(part: slice) -> None:
        all_scores = np.empty((LANES, n), dtype=np.float32)
        score_block(_project(W, ranked, queries[part], d), ranked, all_scores)
        starts = relevant_indptr[part.start : part.stop + 1]
        relevant, own = [relevant_indices[slice(*ends)] for ends in pairwise(starts)], slice(starts[0], starts[-1])
        found = sorted_ranks_and_ties(all_scores[: len(relevant)], relevant, queries[part])
        _, ranks[own], ties[own] = found

    _for_blocks(len(queries), score, n_threads)
    return Rankings(relevant_indptr, ranks, n - 1, queries, ties=ties).average_precision()


def _as_matrix(W: Array | None, d: int) -> Array | None:
    """Return W as the kernels take it."""
    if W is not None and W.shape != (d, d):
        raise ValueError(f"W must be of shape ({d}, {d}), not {W.shape}")
    return None if W is None else np.ascontiguousarray(W)


def _as_rows(X: Matrix, d: int) -> WordRows:
    """Return CSR arrays of X as the kernels take them, shared with X where the types allow it."""
    if X.shape[1] != d:
        raise ValueError(f"rows have {X.shape[1]} features in place of {d}: give queries and gallery the same codebook")
    data = np.ascontiguousarray(X.data, dtype=np.float32)
    if not np.isfinite(data).all():
        raise ValueError("the rows have values that are not finite in float32: remove or scale them")
    # where these are int32, a view: of what is not negative, both types have the same bits
    words = X.indices.view(np.uint32) if X.indices.dtype == np.int32 else X.indices.astype(np.uint32)
    return WordRows(X.indptr.astype(np.int64), np.ascontiguousarray(words), data)


def _for_blocks(n: int, work: Callable[[slice], None], n_threads: int) -> None:
    """Call `work` on the places of LANES queries at a time; after an error no further block is begun."""
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(work, [slice(start, min(start + LANES, n)) for start in range(0, n, LANES)]):
            pass


def _project(W: Array | None, rows: WordRows, members: Longs, d: int) -> Floats:
    """Return q'W of at most LANES of the rows, a lane each: (d, LANES), zeros in lanes without a row."""
    line = LANES * 4
    memory = np.zeros((d + 1) * line, dtype=np.uint8)
    # a row of the block that crosses two cache lines takes up to a quarter longer
    start = -memory.ctypes.data % line
    block = memory[start : start + d * line].view(np.float32).reshape(d, LANES)
    if W is None:
        for lane, member in enumerate(members):
            own = slice(rows.indptr[member], rows.indptr[member + 1])
            np.add.at(block[:, lane], rows.words[own], rows.values[own])
    else:
        project_rows(W, rows, members, block)
    if not np.isfinite(block).all():
        raise ValueError("a query times W is not finite in float32: check W, or scale it or the rows")
    return block


@njit(cache=True, nogil=True)
def project_rows(W: Array, rows: WordRows, members: Longs, block: Floats) -> None:
    """Write q'W of each member into its lane; SciPy's product of so few rows takes up to half as long again."""
    projected = np.empty(W.shape[1], dtype=W.dtype)
    for lane in range(members.shape[0]):
        for j in range(projected.shape[0]):
            projected[j] = 0
        for place in range(rows.indptr[members[lane]], rows.indptr[members[lane] + 1]):
            factor, word = W.dtype.type(rows.values[place]), rows.words[place]
            for j in range(projected.shape[0]):
                projected[j] += factor * W[word, j]
        for j in range(projected.shape[0]):
            block[j, lane] = projected[j]


@intrinsic
def _score_row(
    typing_context: object,
    block: object,
    indices: object,
    data: object,
    start: object,
    stop: object,
    thresholds: object,
    scores: object,
) -> object:
    """Write the scores of the gallery row [start, stop) for all lanes; return whether one is above its threshold."""
    # arrays are C-contiguous; every lane is summed in the order of the row, whatever the other lanes hold
    kind = signature(types.boolean, block, indices, data, start, stop, thresholds, scores)

    def generate(context: BaseContext, builder: ir.IRBuilder, _: object, arguments: list[ir.Value]) -> ir.Value:
        def pointer(position: int) -> ir.Value:
            return make_array(kind.args[position])(context, builder, arguments[position]).data

        def load_lanes(address: ir.Value) -> ir.Value:
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

    return kind, generate


@njit(cache=True, nogil=True)
def _sink(scores: Floats, rows: Ints, size: int, score: float, row: int) -> None:
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
def top_k_of_block(block: Floats, rows: WordRows, own: Longs, found: Ints, found_scores: Floats) -> None:
    """Find the k gallery rows of highest score for each lane but its `own`, best first; NO_ROW where it has fewer."""
    n, k = found.shape
    thresholds, scores = np.empty(LANES, dtype=np.float32), np.empty(LANES, dtype=np.float32)
    for lane in range(LANES):
        thresholds[lane] = -np.inf if lane < n else np.inf
    indptr, words, values = rows
    for row in range(indptr.shape[0] - 1):
        if _score_row(block, words, values, indptr[row], indptr[row + 1], thresholds, scores):  # type: ignore[call-arg]
            for lane in range(n):
                # rows come in ascending order, so that one as good as the worst that is kept comes too late
                if scores[lane] > thresholds[lane] and own[lane] != row:
                    _sink(found_scores[lane], found[lane], k, scores[lane], np.int32(row))
                    thresholds[lane] = found_scores[lane, 0]
    for lane in range(n):
        for last in range(k - 1, 0, -1):
            score, row = found_scores[lane, last], found[lane, last]
            worst_score, worst_row = found_scores[lane, 0], found[lane, 0]
            _sink(found_scores[lane], found[lane], last, score, row)
            found_scores[lane, last], found[lane, last] = worst_score, worst_row


@njit(cache=True, nogil=True)
def score_block(block: Floats, rows: WordRows, all_scores: Floats) -> None:
    """Write the scores of all rows for each lane."""
    scores = np.empty(LANES, dtype=np.float32)
    thresholds = np.empty(LANES, dtype=np.float32)  # nothing is made of the comparison here
    indptr, words, values = rows
    for row in range(indptr.shape[0] - 1):
        _score_row(block, words, values, indptr[row], indptr[row + 1], thresholds, scores)  # type: ignore[call-arg]
        for lane in range(LANES):
            all_scores[lane, row] = scores[lane]
