"""Compiled inner loops of OASIS: the passive-aggressive step on sparse rows, and permutations of W in place.

Rows come as CSR arrays whose columns are sorted by document frequency, most frequent first. So the entries of a row
of W that most steps touch lie side by side in a short head, which is cheaper to read and write as a dense vector than
entry by entry; the rest is gathered and scattered. `oasis.py` hides this order from the user.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

HEAD_BYTES = 1024
"""Bytes of a row of W treated as dense: the fastest of 0 to 4,096 at d = 1,000 and at d = 10,000 (oasis_steps.py)."""


@njit(cache=True, nogil=True)
def _merge_difference(
    indices: NDArray[np.uint32],
    data: NDArray[Any],
    a: int,
    a_end: int,
    b: int,
    b_end: int,
    v_index: NDArray[np.uint32],
    v_value: NDArray[Any],
) -> int:
    """Write the sparse difference of row [a, a_end) minus row [b, b_end); return its length.

    Entries that cancel exactly are dropped: what is left is the support of p+ - p-.
    """
    n = 0
    while a < a_end and b < b_end:
        if indices[a] < indices[b]:
            v_index[n] = indices[a]
            v_value[n] = data[a]
            a += 1
            n += 1
        elif indices[a] > indices[b]:
            v_index[n] = indices[b]
            v_value[n] = -data[b]
            b += 1
            n += 1
        else:
            difference = data[a] - data[b]
            if difference != 0:
                v_index[n] = indices[a]
                v_value[n] = difference
                n += 1
            a += 1
            b += 1
    while a < a_end:
        v_index[n] = indices[a]
        v_value[n] = data[a]
        a += 1
        n += 1
    while b < b_end:
        v_index[n] = indices[b]
        v_value[n] = -data[b]
        b += 1
        n += 1
    return n


# fastmath lets the compiler sum in vector lanes: another order than one by one, the same on every run of a machine.
@njit(cache=True, nogil=True, fastmath=True)
def _dot_head(row: NDArray[Any], head: NDArray[Any]) -> Any:
    total = head.dtype.type(0)
    for k in range(head.shape[0]):
        total += row[k] * head[k]
    return total


@njit(cache=True, nogil=True, fastmath=True)
def _dot_tail(row: NDArray[Any], index: NDArray[np.uint32], value: NDArray[Any]) -> Any:
    total = value.dtype.type(0)
    for k in range(index.shape[0]):
        total += row[index[k]] * value[k]
    return total


@njit(cache=True, nogil=True)
def _add_head(row: NDArray[Any], weight: Any, head: NDArray[Any]) -> None:
    for k in range(head.shape[0]):
        row[k] += weight * head[k]


@njit(cache=True, nogil=True)
def _add_tail(row: NDArray[Any], weight: Any, index: NDArray[np.uint32], value: NDArray[Any]) -> None:
    for k in range(index.shape[0]):
        row[index[k]] += weight * value[k]


@njit(cache=True, nogil=True)
def oasis_steps(
    W: NDArray[Any],
    indptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    data: NDArray[Any],
    squared_norms: NDArray[np.float64],
    triplets: NDArray[np.int32],
    aggressiveness: float,
    v_index: NDArray[np.uint32],
    v_value: NDArray[Any],
    head: NDArray[Any],
) -> tuple[int, int]:
    """Run one passive-aggressive step per triplet, in order, on W in place (JMLR Figure 1, eqs. 4, 7 and 9).

    Parameters
    ----------
    W : (d, d) float32 or float64, C-contiguous, changed in place
    indptr : (n + 1,) int64
    indices : (nnz,) uint32, sorted within a row
    data : (nnz,) dtype of W
    squared_norms : (n,) float64
    triplets : (m, 3) int32, rows (query, positive, negative)
    aggressiveness : float, the C of eq. 9
    v_index, v_value : scratch for p+ - p-, twice the longest row
    head : scratch, its length is the number of leading features treated as dense

    Returns
    -------
    losses, updates : int
        Steps with a loss; those of them that changed W (a step with V = 0 has a loss of 1 that no W can mend).
    """
    losses = 0
    updates = 0
    for t in range(triplets.shape[0]):
        query, positive, negative = triplets[t]
        start, stop = indptr[query], indptr[query + 1]
        n = _merge_difference(
            indices,
            data,
            indptr[positive],
            indptr[positive + 1],
            indptr[negative],
            indptr[negative + 1],
            v_index,
            v_value,
        )
        head[:] = 0
        n_head = 0
        while n_head < n and v_index[n_head] < head.shape[0]:
            head[v_index[n_head]] = v_value[n_head]
            n_head += 1
        # slices, not bounds: only where the loop starts at 0 does numba drop its test for negative indices
        tail_index, tail_value = v_index[n_head:n], v_value[n_head:n]

        score = 0.0
        for k in range(start, stop):
            row = W[indices[k]]
            score += float(data[k]) * (float(_dot_head(row, head)) + float(_dot_tail(row, tail_index, tail_value)))
        loss = 1.0 - score
        if loss <= 0.0:
            continue
        losses += 1

        squared_norm = 0.0
        for k in range(n):
            squared_norm += float(v_value[k]) * float(v_value[k])
        squared_norm *= squared_norms[query]
        if squared_norm == 0.0:
            continue
        updates += 1
        tau = min(aggressiveness, loss / squared_norm)
        for k in range(start, stop):
            row = W[indices[k]]
            weight = data.dtype.type(tau * float(data[k]))
            _add_head(row, weight, head)
            _add_tail(row, weight, tail_index, tail_value)
    return losses, updates


@njit(cache=True, nogil=True)
def permute_square(W: NDArray[Any], order: NDArray[np.int64], row: NDArray[Any]) -> None:
    """Replace W by ``W[order][:, order]`` in place, with one row of scratch (W may be most of the memory there is)."""
    d = W.shape[0]
    for i in range(d):
        row[:] = W[i]
        for j in range(d):
            W[i, j] = row[order[j]]
    done = np.zeros(d, dtype=np.bool_)
    for first in range(d):
        if done[first]:
            continue
        row[:] = W[first]
        i = first
        while order[i] != first:
            W[i] = W[order[i]]
            done[i] = True
            i = order[i]
        W[i] = row
        done[i] = True
