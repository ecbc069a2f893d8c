"""Compiled parts of OASIS steps that are taken a block at a time; `lookalike.learners.look_ahead` says how and why.

A block of triplets is spread (v = p+ - p- of every triplet), inverted (which triplets have a feature), multiplied with
itself (the small products by which its own steps change its later scores), scored row by row of W, and resolved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from lookalike.core.kernels import njit
from lookalike.learners._oasis_kernels import _merge_difference

LINE_BYTES = 64
"""Of a cache line."""


@intrinsic
def _prefetch(typing_context: Any, array: Any, row: Any, column: Any) -> Any:
    """Ask the processor to fetch the cache line of ``array[row, column]``, a C-contiguous matrix, for later reading."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix = make_array(array)(context, builder, arguments[0])  # type: ignore[no-untyped-call]
        width = builder.extract_value(matrix.shape, 1)
        place = builder.gep(matrix.data, [builder.add(builder.mul(arguments[1], width), arguments[2])])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        # for reading, to be kept in the second level of caches, data
        hints = [ir.Constant(number, hint) for hint in (0, 2, 1)]
        builder.call(function, [builder.bitcast(place, byte), *hints])
        return context.get_dummy_value()

    return types.void(array, types.uintp, types.uintp), generate


@njit(cache=True, nogil=True)
def spread_block(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    data: NDArray[Any],
    triplets: NDArray[np.int32],
    start: NDArray[np.int64],
    index: NDArray[Any],
    value: NDArray[Any],
    squared: NDArray[np.float64],
    dense: NDArray[Any],
    scratch: NDArray[np.uint32],
) -> None:
    """Write v = p+ - p- of every triplet of a block.

    Parameters
    ----------
    indptr, indices, data, triplets
        As for `oasis_steps`; n triplets.
    start : (n + 1,) or more, int64, changed in place
        Where each v begins in `index` and `value`.
    index, value : room for n sparse vectors, changed in place
    squared : (n,) or more, float64, changed in place
        ||v||^2 of every triplet.
    dense : (n or more, h), changed in place
        The values of the h leading features.
    scratch : room for the support of one v
    """
    place = 0
    dense[:] = 0
    for t in range(triplets.shape[0]):
        positive, negative = triplets[t, 1], triplets[t, 2]
        n = _merge_difference(
            indices,
            data,
            indptr[positive],
            indptr[positive + 1],
            indptr[negative],
            indptr[negative + 1],
            scratch,
            value[place:],
        )
        start[t] = place
        total = 0.0
        for k in range(n):
            index[place + k] = scratch[k]
            total += float(value[place + k]) * float(value[place + k])
            if scratch[k] < dense.shape[1]:
                dense[t, scratch[k]] = value[place + k]
        squared[t] = total
        place += n
    start[triplets.shape[0]] = place


@njit(cache=True, nogil=True)
def gather_queries(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    data: NDArray[Any],
    triplets: NDArray[np.int32],
    start: NDArray[np.int64],
    index: NDArray[Any],
    value: NDArray[Any],
    dense: NDArray[Any],
) -> None:
    """Write the query image p of every triplet of a block, as `spread_block` writes v."""
    place = 0
    dense[:] = 0
    for t in range(triplets.shape[0]):
        query = triplets[t, 0]
        start[t] = place
        for k in range(indptr[query], indptr[query + 1]):
            index[place] = indices[k]
            value[place] = data[k]
            if indices[k] < dense.shape[1]:
                dense[t, indices[k]] = data[k]
            place += 1
    start[triplets.shape[0]] = place


@njit(cache=True, nogil=True)
def invert(
    n: int,
    start: NDArray[np.int64],
    index: NDArray[Any],
    value: NDArray[Any],
    place: NDArray[np.int32],
    triplet: NDArray[np.int32],
    weight: NDArray[Any],
) -> None:
    """List for every feature the triplets of a block whose vector has it, in the order of the triplets.

    Parameters
    ----------
    n : int, triplets of the block
    start, index, value
        The vectors.
    place : (d + 1,) int32, changed in place
        The entries of feature i are ``place[i]:place[i + 1]``.
    triplet, weight : room for all entries, changed in place
        Number of the triplet in the block, and its value of the feature.
    """
    place[:] = 0
    for k in range(start[n]):
        place[index[k] + 1] += 1
    for i in range(1, place.shape[0]):
        place[i] += place[i - 1]
    for t in range(n):
        for k in range(start[t], start[t + 1]):
            i = index[k]
            triplet[place[i]] = t
            weight[place[i]] = value[k]
            place[i] += 1
    # each list has moved its beginning to its end, which is where the next one begins
    for i in range(place.shape[0] - 1, 0, -1):
        place[i] = place[i - 1]
    place[0] = 0


@njit(cache=True, nogil=True)
def add_sparse_products(
    first_feature: int,
    place: NDArray[np.int32],
    triplet: NDArray[np.int32],
    weight: NDArray[Any],
    first: int,
    stop: int,
    products: NDArray[Any],
) -> None:
    """Add to ``products[t - first, s]`` what the features from `first_feature` on give to the inner product of t and s.

    For first <= t < stop and s < t. Few vectors share a rare feature, so going through its list costs less than a
    dense product; the frequent features are left to that.
    """
    for i in range(first_feature, place.shape[0] - 1):
        a, end = place[i], place[i + 1]
        while a < end and triplet[a] < first:
            a += 1
        while a < end and triplet[a] < stop:
            row = products[triplet[a] - first]
            for b in range(np.uintp(place[i]), np.uintp(a)):
                row[np.uintp(triplet[b])] += weight[a] * weight[b]
            a += 1


# fastmath lets the compiler sum in vector lanes: another order than one by one, the same on every run of a machine.
@njit(cache=True, nogil=True, fastmath=True)
def _dot(W: NDArray[Any], i: Any, begin: int, end: int, index: NDArray[Any], value: NDArray[Any]) -> Any:
    total = value.dtype.type(0)
    # unsigned: numba tests a signed index for being negative
    for k in range(np.uintp(begin), np.uintp(end)):
        total += W[i, np.uintp(index[k])] * value[k]
    return total


@njit(cache=True, nogil=True)
def _add(W: NDArray[Any], i: Any, weight: Any, begin: int, end: int, index: NDArray[Any], value: NDArray[Any]) -> None:
    for k in range(np.uintp(begin), np.uintp(end)):
        W[i, np.uintp(index[k])] += weight * value[k]


@njit(cache=True, nogil=True)
def visit_rows(
    W: NDArray[Any],
    first: int,
    stride: int,
    old_place: NDArray[np.int32],
    old_triplet: NDArray[np.int32],
    old_weight: NDArray[Any],
    old_tau: NDArray[np.float64],
    old_start: NDArray[np.int64],
    old_index: NDArray[Any],
    old_value: NDArray[Any],
    place: NDArray[np.int32],
    triplet: NDArray[np.int32],
    weight: NDArray[Any],
    start: NDArray[np.int64],
    index: NDArray[Any],
    value: NDArray[Any],
    scores: NDArray[np.float64],
) -> None:
    """Give every `stride`-th row of W from `first` on the steps of one block, and read it for the scores of the next.

    Parameters
    ----------
    W : (d, d), changed in place
    old_place, old_triplet, old_weight
        The query images of the block to update with, as `invert` lists them.
    old_tau : (n,) or more, float64
        Lengths of its steps, 0 for those without an update.
    old_start, old_index, old_value
        Its v, as `spread_block` writes them.
    place, triplet, weight, start, index, value
        The block to score.
    scores : (n,) or more, float64, changed in place
        These rows' share of p'W v of every triplet of that block.
    """
    scores[:] = 0
    d = np.uintp(W.shape[0])
    line = np.uintp(LINE_BYTES // W.itemsize)
    for i in range(np.uintp(first), d, np.uintp(stride)):
        n_entries = old_place[i + 1] - old_place[i] + place[i + 1] - place[i]
        if n_entries == 0:
            continue
        # A row is read here and there, which the processor cannot foresee: the next one is fetched meanwhile, whole,
        # where enough entries will use it
        following = i + np.uintp(stride)
        ahead, share = d, line
        if following < d:
            entries = old_place[following + 1] - old_place[following] + place[following + 1] - place[following]
            if entries > 3:
                ahead, share = np.uintp(0), line * np.uintp(1 + d // (line * np.uintp(n_entries)))
        for a in range(old_place[i], old_place[i + 1]):
            stop = min(d, ahead + share)
            for k in range(ahead, stop, line):
                _prefetch(W, following, k)  # type: ignore[call-arg]
            ahead = stop
            t = old_triplet[a]
            if old_tau[t] != 0.0:
                step = W.dtype.type(old_tau[t] * float(old_weight[a]))
                _add(W, i, step, old_start[t], old_start[t + 1], old_index, old_value)
        for a in range(place[i], place[i + 1]):
            stop = min(d, ahead + share)
            for k in range(ahead, stop, line):
                _prefetch(W, following, k)  # type: ignore[call-arg]
            ahead = stop
            t = triplet[a]
            scores[t] += float(weight[a]) * float(_dot(W, i, start[t], start[t + 1], index, value))


@njit(cache=True, nogil=True)
def resolve_block(
    scores: NDArray[np.float64],
    products: NDArray[Any],
    squared_norms: NDArray[np.float64],
    v_squared: NDArray[np.float64],
    triplets: NDArray[np.int32],
    aggressiveness: float,
    tau: NDArray[np.float64],
) -> tuple[int, int]:
    """Go through the steps of a block in order: write the length of each, return how many had a loss and an update.

    Parameters
    ----------
    scores : (parts, n or more) float64
        Shares of p'W v, with W as it was before the block; summed in order of the parts.
    products : (n or more, n or more)
        (p_s'p_t)(v_s'v_t) at [t, s] for s < t.
    squared_norms : (rows,) float64
    v_squared : (n,) or more, float64
    tau : (n,) or more, float64, changed in place
    """
    losses = 0
    updates = 0
    for t in range(triplets.shape[0]):
        score = _correction(products[t], tau, t)
        for part in range(scores.shape[0]):
            score += scores[part, t]
        tau[t] = 0.0
        loss = 1.0 - score
        if loss <= 0.0:
            continue
        losses += 1
        squared_norm = v_squared[t] * squared_norms[triplets[t, 0]]
        if squared_norm == 0.0:
            continue
        updates += 1
        tau[t] = min(aggressiveness, loss / squared_norm)
    return losses, updates


@njit(cache=True, nogil=True, fastmath=True)
def _correction(products: NDArray[Any], tau: NDArray[np.float64], n: int) -> float:
    total = 0.0
    for s in range(n):
        total += tau[s] * float(products[s])
    return total
