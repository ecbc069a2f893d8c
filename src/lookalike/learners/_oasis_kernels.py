"""Compiled inner loops of OASIS and its symmetric variants: steps on sparse rows, and permutations of W in place.

Rows come as CSR arrays whose columns are sorted by document frequency, most frequent first. So the entries of a row
of W that most steps touch lie side by side in a short head, which is cheaper to read and write as a dense vector than
entry by entry; the rest is gathered and scattered. `TrainingRows` hides this order from the user.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.kernels import njit

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
def _fill_head(index: NDArray[np.uint32], value: NDArray[Any], n: int, head: NDArray[Any]) -> int:
    """Write the leading entries of a sparse vector of length n as a dense vector; return how many they are."""
    head[:] = 0
    n_head = 0
    while n_head < n and index[n_head] < head.shape[0]:
        head[index[n_head]] = value[n_head]
        n_head += 1
    return n_head


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
    margins: NDArray[np.float64],
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
    margins : (m,) or (0,) float64, changed in place
        Where it has room, S(p, p+) - S(p, p-) of every triplet before its step.

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
        n_head = _fill_head(v_index, v_value, n, head)
        # slices, not bounds: only where the loop starts at 0 does numba drop its test for negative indices
        tail_index, tail_value = v_index[n_head:n], v_value[n_head:n]

        score = 0.0
        for k in range(start, stop):
            row = W[indices[k]]
            score += float(data[k]) * (float(_dot_head(row, head)) + float(_dot_tail(row, tail_index, tail_value)))
        if margins.shape[0] > 0:
            margins[t] = score
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
def _subtract_from_double(
    index: NDArray[np.uint32],
    value: NDArray[Any],
    other_index: NDArray[np.uint32],
    other_value: NDArray[Any],
    s_index: NDArray[np.uint32],
    s_value: NDArray[Any],
) -> int:
    """Write the sparse vector 2 value - other_value; return its length. Entries that cancel exactly are dropped."""
    n = a = b = 0
    while a < index.shape[0] or b < other_index.shape[0]:
        if b == other_index.shape[0] or (a < index.shape[0] and index[a] < other_index[b]):
            s_index[n] = index[a]
            s_value[n] = value[a] + value[a]
            a += 1
        elif a == index.shape[0] or index[a] > other_index[b]:
            s_index[n] = other_index[b]
            s_value[n] = -other_value[b]
            b += 1
        else:
            s_index[n] = index[a]
            s_value[n] = value[a] + value[a] - other_value[b]
            a += 1
            b += 1
        if s_value[n] != 0:
            n += 1
    return n


@njit(cache=True, nogil=True)
def _merge_sum(
    indices: NDArray[np.uint32],
    data: NDArray[Any],
    a: int,
    a_end: int,
    b: int,
    b_end: int,
    sum_index: NDArray[np.uint32],
    sum_value: NDArray[Any],
) -> int:
    """Write the sparse sum of rows [a, a_end) and [b, b_end); return its length."""
    n = 0
    while a < a_end or b < b_end:
        if b == b_end or (a < a_end and indices[a] < indices[b]):
            sum_index[n] = indices[a]
            sum_value[n] = data[a]
            a += 1
        elif a == a_end or indices[a] > indices[b]:
            sum_index[n] = indices[b]
            sum_value[n] = data[b]
            b += 1
        else:
            sum_index[n] = indices[a]
            sum_value[n] = data[a] + data[b]
            a += 1
            b += 1
        n += 1
    return n


@njit(cache=True, nogil=True)
def _bilinear(
    W: NDArray[Any],
    index: NDArray[np.uint32],
    value: NDArray[Any],
    head: NDArray[Any],
    tail_index: NDArray[np.uint32],
    tail_value: NDArray[Any],
) -> float:
    """Left vector (index, value) times W times right vector (head, tail), a sum over rows of W in double precision."""
    total = 0.0
    for k in range(index.shape[0]):
        row = W[index[k]]
        total += float(value[k]) * (float(_dot_head(row, head)) + float(_dot_tail(row, tail_index, tail_value)))
    return total


@njit(cache=True, nogil=True)
def _squared_norm(value: NDArray[Any]) -> float:
    total = 0.0
    for k in range(value.shape[0]):
        total += float(value[k]) * float(value[k])
    return total


@njit(cache=True, nogil=True)
def _sparse_dot(
    a_index: NDArray[np.uint32], a_value: NDArray[Any], b_index: NDArray[np.uint32], b_value: NDArray[Any]
) -> float:
    total = 0.0
    a = b = 0
    while a < a_index.shape[0] and b < b_index.shape[0]:
        if a_index[a] < b_index[b]:
            a += 1
        elif a_index[a] > b_index[b]:
            b += 1
        else:
            total += float(a_value[a]) * float(b_value[b])
            a += 1
            b += 1
    return total


@njit(cache=True, nogil=True)
def _merge_union(
    a_index: NDArray[np.uint32],
    a_value: NDArray[Any],
    b_index: NDArray[np.uint32],
    b_value: NDArray[Any],
    index: NDArray[np.uint32],
    a_there: NDArray[Any],
    b_there: NDArray[Any],
) -> int:
    """Write the union of two supports with both vectors' values there, zeros among them; return its length."""
    n = a = b = 0
    while a < a_index.shape[0] or b < b_index.shape[0]:
        only_a = b == b_index.shape[0] or (a < a_index.shape[0] and a_index[a] < b_index[b])
        only_b = not only_a and (a == a_index.shape[0] or a_index[a] > b_index[b])
        index[n] = b_index[b] if only_b else a_index[a]
        a_there[n] = 0 if only_b else a_value[a]
        b_there[n] = 0 if only_a else b_value[b]
        a += not only_b
        b += not only_a
        n += 1
    return n


@njit(cache=True, nogil=True)
def _add_both_heads(row: NDArray[Any], a: Any, a_head: NDArray[Any], b: Any, b_head: NDArray[Any]) -> None:
    for k in range(a_head.shape[0]):
        row[k] += a * b_head[k] + b * a_head[k]


@njit(cache=True, nogil=True)
def _add_both_tails(
    row: NDArray[Any], a: Any, a_tail: NDArray[Any], b: Any, b_tail: NDArray[Any], index: NDArray[np.uint32]
) -> None:
    for k in range(index.shape[0]):
        row[index[k]] += a * b_tail[k] + b * a_tail[k]


@njit(cache=True, nogil=True)
def symmetric_steps(
    W: NDArray[Any],
    indptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    data: NDArray[Any],
    squared_norms: NDArray[np.float64],
    triplets: NDArray[np.int32],
    aggressiveness: float,
    dissimilarity: bool,
    v_index: NDArray[np.uint32],
    v_value: NDArray[Any],
    v_head: NDArray[Any],
    sum_index: NDArray[np.uint32],
    sum_value: NDArray[Any],
    s_index: NDArray[np.uint32],
    s_value: NDArray[Any],
    s_head: NDArray[Any],
    union_index: NDArray[np.uint32],
    union_s: NDArray[Any],
    union_v: NDArray[Any],
) -> tuple[int, int]:
    """Run one symmetric passive-aggressive step per triplet, in order, on a symmetric W in place.

    Both variants add tau / 2 (s v' + v s') to W, with v = p+ - p- and the loss l = max(0, 1 - s'Wv):

    - Online-Proj-OASIS (draft section 5.2.4): s = p, so that s v' is the V of OASIS, and tau is that of OASIS;
    - Dissim-OASIS (draft section 2.2): s = 2p - p+ - p-. With a = p - p+ and b = p - p-, s = a + b and v = b - a, so
      s'Wv = b'Wb - a'Wa and (s v' + v s') / 2 = bb' - aa' is minus the paper's V; tau = min(C, l / ||bb' - aa'||^2),
      and ||bb' - aa'||^2 = (||s||^2 ||v||^2 + (s'v)^2) / 2.

    W stays symmetric to the bit: both of W_ij and W_ji get one and the same rounded sum, in one addition each.

    Parameters
    ----------
    W, indptr, indices, data, squared_norms, triplets, aggressiveness
        As for `oasis_steps`; W is symmetric.
    dissimilarity : bool
        Whether to take the steps of Dissim-OASIS.
    v_index, v_value, sum_index, sum_value : scratch, twice the longest row
    s_index, s_value, union_index, union_s, union_v : scratch, three times the longest row
    v_head, s_head : scratch, their length is the number of leading features treated as dense

    Returns
    -------
    losses, updates : int
        As for `oasis_steps`.
    """
    losses = 0
    updates = 0
    for t in range(triplets.shape[0]):
        query, positive, negative = triplets[t]
        plus, plus_end = indptr[positive], indptr[positive + 1]
        minus, minus_end = indptr[negative], indptr[negative + 1]
        p_index = indices[indptr[query] : indptr[query + 1]]
        p_value = data[indptr[query] : indptr[query + 1]]
        n_v = _merge_difference(indices, data, plus, plus_end, minus, minus_end, v_index, v_value)
        if dissimilarity:
            n = _merge_sum(indices, data, plus, plus_end, minus, minus_end, sum_index, sum_value)
            n_s = _subtract_from_double(p_index, p_value, sum_index[:n], sum_value[:n], s_index, s_value)
        else:
            n_s = p_index.shape[0]
            s_index[:n_s] = p_index
            s_value[:n_s] = p_value
        v_tail = _fill_head(v_index, v_value, n_v, v_head)
        s_tail = _fill_head(s_index, s_value, n_s, s_head)

        # W is symmetric: read the rows of the shorter vector
        if n_s <= n_v:
            score = _bilinear(W, s_index[:n_s], s_value[:n_s], v_head, v_index[v_tail:n_v], v_value[v_tail:n_v])
        else:
            score = _bilinear(W, v_index[:n_v], v_value[:n_v], s_head, s_index[s_tail:n_s], s_value[s_tail:n_s])
        loss = 1.0 - score
        if loss <= 0.0:
            continue
        losses += 1

        squared_norm = _squared_norm(v_value[:n_v])
        if dissimilarity:
            product = _sparse_dot(s_index[:n_s], s_value[:n_s], v_index[:n_v], v_value[:n_v])
            squared_norm = 0.5 * (_squared_norm(s_value[:n_s]) * squared_norm + product * product)
        else:
            squared_norm *= squared_norms[query]
        if squared_norm == 0.0:
            continue
        updates += 1
        half = 0.5 * min(aggressiveness, loss / squared_norm)
        for k in range(n_s):
            s_value[k] = data.dtype.type(half * float(s_value[k]))
        for k in range(s_tail):
            s_head[s_index[k]] = s_value[k]
        n_union = _merge_union(
            s_index[s_tail:n_s],
            s_value[s_tail:n_s],
            v_index[v_tail:n_v],
            v_value[v_tail:n_v],
            union_index,
            union_s,
            union_v,
        )
        i = j = 0
        while i < n_s or j < n_v:
            if j == n_v or (i < n_s and s_index[i] < v_index[j]):
                row = W[s_index[i]]
                _add_head(row, s_value[i], v_head)
                _add_tail(row, s_value[i], v_index[v_tail:n_v], v_value[v_tail:n_v])
                i += 1
            elif i == n_s or s_index[i] > v_index[j]:
                row = W[v_index[j]]
                _add_head(row, v_value[j], s_head)
                _add_tail(row, v_value[j], s_index[s_tail:n_s], s_value[s_tail:n_s])
                j += 1
            else:
                row = W[s_index[i]]
                _add_both_heads(row, s_value[i], s_head, v_value[j], v_head)
                _add_both_tails(
                    row, s_value[i], union_s[:n_union], v_value[j], union_v[:n_union], union_index[:n_union]
                )
                i += 1
                j += 1
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
