"""OASIS steps taken a block at a time on several threads, with the result of taking them one by one.

What bounds a step at d = 10,000 is memory, not arithmetic: W has 400 MB, and every step reads, and mostly writes,
thousands of cache lines of it that it shares with few steps before it. But which triplets come next is known before
they are taken; only their losses are not. So a block of B triplets is scored against the W before the block, and what
its own steps change about a later score is added from small products: step s adds tau_s p_s v_s' to W, with
v = p+ - p-, and so tau_s (p_s'p_t)(v_s'v_t) to the score p_t'W v_t of a later step t. Losses, step lengths and W are
those of JMLR Figure 1, to the rounding of sums. What is gained is the order in which memory is read: a row of W is
visited once for a block, takes the updates of the block before, in the order of their steps, and while it is in the
cache gives its share of this block's scores. And rows do not depend on each other, so threads share them out, without
locks and with the same bits whatever their number.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.base import BaseContext
from numba.core.typing.templates import signature
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from threadpoolctl import threadpool_limits

from lookalike.core.arrays import Array, Doubles, Ints, Longs
from lookalike.core.kernels import njit
from lookalike.learners.sparse_rows import Rows, fill_head, row_of, squared_norm, subtract_rows

BLOCK = 2_048
"""Triplets of a block. A larger one reads W less often, and its products cost more: benchmarks/web_training.py."""

PARTS = 8
"""Into how many interleaved parts the rows of W are shared out; fixed, so that sums are the same on any threads."""

TILE = 256
"""Rows of a block's products that are one task."""

N_DENSE = 64
"""Leading features whose share of the products is a dense one; the rest goes by lists."""

LINE_BYTES = 64
"""Of a cache line."""

Fetch = Callable[[int], tuple[Rows, Ints]]
"""``fetch(b)``: the rows and the triplets of block b; called once each, on any thread."""


def look_ahead_steps(
    W: Array, n_blocks: int, fetch: Fetch, aggressiveness: float, n_threads: int = 1
) -> tuple[int, int]:
    """Take the steps of `n_blocks` blocks on W, in the order of the rows; return how many had a loss, an update."""
    no_rows = Rows(np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0, W.dtype), np.empty(0))
    nothing = _Block(no_rows, np.empty((0, 3), dtype=np.int32), len(W))
    blocks = {-1: nothing, n_blocks: nothing}

    def prepare(number: int) -> None:
        blocks[number] = _Block(*fetch(number), len(W))

    losses = updates = 0
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(n_threads) as pool:
        # block b is fetched two rounds before it is scored, and multiplied one round before; after an error of fetch,
        # W holds some steps of the block in hand
        for b in range(-2, n_blocks + 1):
            tasks: list[Callable[[], None]] = []
            if b + 2 < n_blocks:
                tasks.append(partial(prepare, b + 2))
            if 0 <= b + 1 < n_blocks:
                # the long ones first
                tasks += [partial(blocks[b + 1].multiply, first) for first in reversed(range(0, blocks[b + 1].n, TILE))]
            if b >= 0:
                old, now = blocks[b - 1], blocks[b]
                scores = np.zeros((PARTS, now.n))
                lists = old.queries, old.tau, old.differences, now.queries, now.differences
                tasks += [partial(visit_rows, W, part, PARTS, *lists, scores[part]) for part in range(PARTS)]
            for task in [pool.submit(task) for task in tasks]:
                task.result()
            if 0 <= b < n_blocks:
                given = now.products, now.squared_norms, now.squared, now.triplets
                new_losses, new_updates = resolve_block(scores, *given, aggressiveness, now.tau)
                losses += new_losses
                updates += new_updates
            blocks.pop(b - 1, None)
    return losses, updates


class Vectors(NamedTuple):
    """Sparse vectors one after another: the entries of number t are ``start[t]:start[t + 1]``."""

    start: Longs
    indices: Array
    data: Array


class FeatureLists(NamedTuple):
    """Vectors feature by feature: those that have feature i, in their order, are ``place[i]:place[i + 1]``."""

    place: Ints
    vector: Ints
    weight: Array


class _Block:
    """A block of triplets: their p and v = p+ - p- vector by vector and feature by feature, products, step lengths."""

    def __init__(self, rows: Rows, triplets: Ints, n_features: int) -> None:
        self.n = len(triplets)
        self.squared_norms, self.triplets = rows.squared_norms, triplets
        self._n_dense = min(N_DENSE, n_features)
        lengths = np.diff(rows.indptr)[triplets]
        number = np.uint16 if n_features <= 65_536 else np.uint32
        p, self.differences = (
            Vectors(np.zeros(self.n + 1, np.int64), np.empty(size, number), np.empty(size, rows.data.dtype))
            for size in (int(lengths[:, 0].sum()), int(lengths[:, 1:].sum()))
        )
        self._dense = np.empty((2, self.n, self._n_dense), dtype=rows.data.dtype)
        self.squared = np.empty(self.n)
        spread_block(rows, triplets, p, self.differences, self._dense, self.squared)
        self.queries, self._v_lists = invert(p, n_features), invert(self.differences, n_features)
        self.products = np.empty((self.n, self.n), dtype=rows.data.dtype)
        self.tau = np.zeros(self.n)

    def multiply(self, first: int) -> None:
        """Write the products of `TILE` triplets from `first` on with all that come before each."""
        stop = min(first + TILE, self.n)
        both = []
        for dense, lists in zip(self._dense, (self.queries, self._v_lists), strict=True):
            products = np.matmul(dense[first:stop], dense[:stop].T)
            add_sparse_products(self._n_dense, lists, first, stop, products)
            both.append(products)
        np.multiply(both[0], both[1], out=self.products[first:stop, :stop])


@njit(cache=True, nogil=True)
def spread_block(
    rows: Rows,
    triplets: Ints,
    queries: Vectors,
    differences: Vectors,
    dense: Array,
    squared: Doubles,
) -> None:
    """Write p and v = p+ - p- of every triplet, their leading features into `dense` too, and ||v||^2 of each."""
    for t in range(triplets.shape[0]):
        query, positive, negative = triplets[t, 0], triplets[t, 1], triplets[t, 2]
        index, value = row_of(rows, query)
        begin = queries.start[t]
        end = begin + index.shape[0]
        for k in range(index.shape[0]):
            queries.indices[begin + k], queries.data[begin + k] = index[k], value[k]
        queries.start[t + 1] = end
        fill_head(index, value, dense[0, t])

        begin = differences.start[t]
        end = begin + subtract_rows(rows, positive, negative, differences.indices[begin:], differences.data[begin:])
        differences.start[t + 1] = end
        fill_head(differences.indices[begin:end], differences.data[begin:end], dense[1, t])
        squared[t] = squared_norm(differences.data[begin:end])


@njit(cache=True, nogil=True)
def invert(vectors: Vectors, n_features: int) -> FeatureLists:
    """List for every feature the vectors that have it."""
    n = vectors.start.shape[0] - 1
    place = np.zeros(n_features + 1, dtype=np.int32)
    vector = np.empty(vectors.start[n], dtype=np.int32)
    weight = np.empty(vectors.start[n], dtype=vectors.data.dtype)
    for k in range(vectors.start[n]):
        place[vectors.indices[k] + 1] += 1
    for i in range(1, place.shape[0]):
        place[i] += place[i - 1]
    for t in range(n):
        for k in range(vectors.start[t], vectors.start[t + 1]):
            i = vectors.indices[k]
            vector[place[i]] = t
            weight[place[i]] = vectors.data[k]
            place[i] += 1
    # each list has moved its beginning to its end, which is where the next one begins
    for i in range(place.shape[0] - 1, 0, -1):
        place[i] = place[i - 1]
    place[0] = 0
    return FeatureLists(place, vector, weight)


@njit(cache=True, nogil=True)
def add_sparse_products(first_feature: int, lists: FeatureLists, first: int, stop: int, products: Array) -> None:
    """Add the share of features from `first_feature` on to ``products[t - first, s]``, first <= t < stop and s < t."""
    # few vectors share a rare feature: going through its list costs less than a dense product
    place, vector, weight = lists
    for i in range(first_feature, place.shape[0] - 1):
        a, end = place[i], place[i + 1]
        while a < end and vector[a] < first:
            a += 1
        while a < end and vector[a] < stop:
            row = products[vector[a] - first]
            for b in range(np.uintp(place[i]), np.uintp(a)):
                row[np.uintp(vector[b])] += weight[a] * weight[b]
            a += 1


@intrinsic
def _prefetch(typing_context: object, array: object, row: object, column: object) -> object:
    """Ask the processor to fetch the cache line of ``array[row, column]``, a C-contiguous matrix, for later reading."""

    def generate(context: BaseContext, builder: ir.IRBuilder, _: object, arguments: list[ir.Value]) -> object:
        matrix = make_array(array)(context, builder, arguments[0])
        width = builder.extract_value(matrix.shape, 1)
        place = builder.gep(matrix.data, [builder.add(builder.mul(arguments[1], width), arguments[2])])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        # for reading, to be kept in the second level of caches, data
        hints = [ir.Constant(number, hint) for hint in (0, 2, 1)]
        builder.call(function, [builder.bitcast(place, byte), *hints])
        return context.get_dummy_value()

    return signature(types.void, array, types.uintp, types.uintp), generate


@njit(cache=True, nogil=True)
def _prefetch_part(W: Array, row: np.uint, first: np.uint, stop: np.uint, line: np.uint) -> np.uint:
    """Fetch a part of a row, cache line by cache line; return where it ends."""
    for k in range(first, stop, line):
        _prefetch(W, row, k)  # type: ignore[call-arg]
    return stop


# fastmath lets the compiler sum in vector lanes: another order than one by one, the same on every run of a machine.
@njit(cache=True, nogil=True, fastmath=True)
def _dot(W: Array, i: int, begin: int, end: int, index: Array, value: Array) -> float:
    total: float = value.dtype.type(0)
    # unsigned: numba tests a signed index for being negative
    for k in range(np.uintp(begin), np.uintp(end)):
        total += W[i, np.uintp(index[k])] * value[k]
    return total


@njit(cache=True, nogil=True)
def _add(W: Array, i: int, weight: float, begin: int, end: int, index: Array, value: Array) -> None:
    for k in range(np.uintp(begin), np.uintp(end)):
        W[i, np.uintp(index[k])] += weight * value[k]


@njit(cache=True, nogil=True)
def visit_rows(
    W: Array,
    first: int,
    stride: int,
    old_queries: FeatureLists,
    old_tau: Doubles,
    old_differences: Vectors,
    queries: FeatureLists,
    differences: Vectors,
    scores: Doubles,
) -> None:
    """Give every `stride`-th row of W the old block's steps, and add its share of p'W v to the scores of this block."""
    d = np.uintp(W.shape[0])
    line = np.uintp(LINE_BYTES // W.itemsize)
    for i in range(np.uintp(first), d, np.uintp(stride)):
        n_entries = old_queries.place[i + 1] - old_queries.place[i] + queries.place[i + 1] - queries.place[i]
        if n_entries == 0:
            continue
        # A row is read here and there, which the processor cannot foresee: the next one is fetched meanwhile, whole,
        # where enough entries will use it
        next_row = i + np.uintp(stride)
        ahead, share = d, line
        if next_row < d:
            entries = old_queries.place[next_row + 1] - old_queries.place[next_row]
            entries += queries.place[next_row + 1] - queries.place[next_row]
            if entries > 3:
                ahead, share = np.uintp(0), line * np.uintp(1 + d // (line * np.uintp(n_entries)))
        for a in range(old_queries.place[i], old_queries.place[i + 1]):
            ahead = _prefetch_part(W, next_row, ahead, min(d, ahead + share), line)
            t = old_queries.vector[a]
            if old_tau[t] != 0.0:
                step = W.dtype.type(old_tau[t] * float(old_queries.weight[a]))
                begin, end = old_differences.start[t], old_differences.start[t + 1]
                _add(W, i, step, begin, end, old_differences.indices, old_differences.data)
        for a in range(queries.place[i], queries.place[i + 1]):
            ahead = _prefetch_part(W, next_row, ahead, min(d, ahead + share), line)
            t = queries.vector[a]
            begin, end = differences.start[t], differences.start[t + 1]
            share_of_row = _dot(W, i, begin, end, differences.indices, differences.data)
            scores[t] += float(queries.weight[a]) * float(share_of_row)


@njit(cache=True, nogil=True)
def resolve_block(
    scores: Doubles,
    products: Array,
    squared_norms: Doubles,
    v_squared: Doubles,
    triplets: Ints,
    aggressiveness: float,
    tau: Doubles,
) -> tuple[int, int]:
    """Write the length of a block's steps, in order; return how many had a loss and an update."""
    # scores: the parts of p'W v, W being that before the block; products: (p_s'p_t)(v_s'v_t) at [t, s] for s < t
    losses = updates = 0
    for t in range(triplets.shape[0]):
        score = _correction(products[t], tau, t)
        for part in range(scores.shape[0]):
            score += scores[part, t]
        tau[t] = 0.0
        loss = 1.0 - score
        if loss <= 0.0:
            continue
        losses += 1
        norm = v_squared[t] * squared_norms[triplets[t, 0]]
        if norm == 0.0:
            continue
        updates += 1
        tau[t] = min(aggressiveness, loss / norm)
    return losses, updates


@njit(cache=True, nogil=True, fastmath=True)
def _correction(products: Array, tau: Doubles, n: int) -> float:
    total = 0.0
    for s in range(n):
        total += tau[s] * float(products[s])
    return total
