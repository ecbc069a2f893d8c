"""The steps of OASIS and its variants on a d x d matrix W, compiled, with the most frequent features first.

So what most steps touch of a row of W is a short dense head; the rest, the tail, is gathered and scattered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from lookalike.core.arrays import Array, Doubles, Ints, Longs, Matrix, Words
from lookalike.core.kernels import njit

if TYPE_CHECKING:
    from lookalike.learners.triplet_products import Products

PLAIN, ONLINE_PROJ, DISSIM = range(3)
"""Kinds of steps: of OASIS, by V = p (p+ - p-)'; by the symmetric part of V; and of a distance (see `take_steps`)."""
GROUP_COLUMNS = 768
"""Of W that a group's two passes cross in the time of one step: 600 to 1,000 were measured at 1,000 to 10,000 words."""
HEAD_BYTES = 1024
"""Bytes of a row of W treated as dense: the fastest of 0 to 4,096 at d = 1,000 and at d = 10,000 (oasis_steps.py)."""

_BLOCK = 1024  # rows


class Rows(NamedTuple):
    """CSR rows with their features by falling document frequency, sorted within a row, and their squared lengths."""

    indptr: Longs
    indices: Words
    data: Array
    squared_norms: Doubles


class OrderedRows:
    """The `rows` of X with their features by falling document frequency; it brings a W into that order."""

    def __init__(self, X: Matrix, dtype: np.dtype) -> None:
        X = canonical_csr(X, dtype)
        self._order = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")
        self.place = np.argsort(self._order)
        X = sp.csr_array((X.data, self.place[X.indices], X.indptr), shape=X.shape)
        X.sort_indices()
        with np.errstate(over="ignore"):
            blocks = (
                X[start : start + _BLOCK] for start in range(0, X.shape[0], _BLOCK)
            )  # squares in float64 are large
            squared_norms = np.concatenate([block.astype(np.float64).power(2).sum(axis=1) for block in blocks])
        self.rows = Rows(X.indptr.astype(np.int64), X.indices.astype(np.uint32), X.data, squared_norms)

    def ordered(self, W: Array) -> Array:
        """Return W with its features by document frequency, C-contiguous."""
        return permuted(W, self._order)


def canonical_csr(X: Matrix, dtype: np.dtype) -> Matrix:
    """Return rows as a CSR matrix of their own in a dtype, sorted, without zeros; refuse what the dtype cannot hold."""
    with np.errstate(over="ignore"):
        if hasattr(X, "tocsr"):
            X = sp.csr_array(X, dtype=dtype, copy=True)
        else:  # the places of all values at once would take eight times as much memory as the rows
            blocks = [sp.csr_array(X[start : start + _BLOCK], dtype=dtype) for start in range(0, X.shape[0], _BLOCK)]
            X = sp.vstack(blocks, format="csr")
    refuse_infinity(X.data)
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def refuse_infinity(values: Array) -> Array:
    """Return values of rows; raise ValueError for those that their dtype could not hold."""
    if not np.isfinite(values).all():
        raise ValueError(f"X has values too large for {values.dtype}: scale its rows, for instance to length 1")
    return values


@njit(cache=True, nogil=True)
def permuted(W: Array, order: Longs) -> Array:
    """Return ``W[order][:, order]``."""
    result = np.empty_like(W)
    for i in range(order.shape[0]):
        row = W[order[i]]
        for j in range(order.shape[0]):
            result[i, j] = row[order[j]]
    return result


@njit(cache=True, nogil=True)
def add_scaled(
    a_factor: float,
    a_index: Array,
    a_value: Array,
    b_factor: float,
    b_index: Array,
    b_value: Array,
    index: Array,
    value: Array,
) -> int:
    """Write the sparse vector a_factor a + b_factor b; return its length. Entries that cancel exactly are dropped."""
    a_scale, b_scale = value.dtype.type(a_factor), value.dtype.type(b_factor)
    n = a = b = 0
    while a < a_index.shape[0] and b < b_index.shape[0]:
        if a_index[a] < b_index[b]:
            index[n], value[n] = a_index[a], a_scale * a_value[a]
            a += 1
            n += 1
        elif a_index[a] > b_index[b]:
            index[n], value[n] = b_index[b], b_scale * b_value[b]
            b += 1
            n += 1
        else:
            total = a_scale * a_value[a] + b_scale * b_value[b]
            if total != 0:
                index[n], value[n] = a_index[a], total
                n += 1
            a += 1
            b += 1
    for k in range(a, a_index.shape[0]):
        index[n], value[n] = a_index[k], a_scale * a_value[k]
        n += 1
    for k in range(b, b_index.shape[0]):
        index[n], value[n] = b_index[k], b_scale * b_value[k]
        n += 1
    return n


@njit(cache=True, nogil=True)
def row_of(rows: Rows | Products, number: int) -> tuple[Words, Array]:
    """Return the features and the values of one of `Rows`, or of products of rows."""
    start, stop = rows.indptr[number], rows.indptr[number + 1]
    return rows.indices[start:stop], rows.data[start:stop]


@njit(cache=True, nogil=True)
def subtract_rows(rows: Rows, left: int, right: int, index: Array, value: Array) -> int:
    """Write the sparse difference of two rows, such as p+ - p-; return its length."""
    left_index, left_value = row_of(rows, left)
    right_index, right_value = row_of(rows, right)
    return add_scaled(1.0, left_index, left_value, -1.0, right_index, right_value, index, value)


@njit(cache=True, nogil=True)
def longest_row(rows: Rows) -> int:
    """Return the number of entries of the longest row."""
    longest = 0
    for i in range(rows.indptr.shape[0] - 1):
        longest = max(longest, rows.indptr[i + 1] - rows.indptr[i])
    return longest


@njit(cache=True, nogil=True)
def empty_head(W: Array) -> Array:
    """Return room for the head of a vector that W is multiplied with."""
    return np.empty(min(W.shape[0], HEAD_BYTES // W.itemsize), dtype=W.dtype)


@njit(cache=True, nogil=True)
def fill_head(index: Words, value: Array, head: Array) -> int:
    """Write the leading entries of a sparse vector into a dense head; return where the tail begins."""
    for k in range(head.shape[0]):
        head[k] = 0
    n = 0
    while n < index.shape[0] and index[n] < head.shape[0]:
        head[index[n]] = value[n]
        n += 1
    return n


# fastmath lets the compiler sum in vector lanes: another order than one by one, the same on every run of a machine.
@njit(cache=True, nogil=True, fastmath=True)
def _dot_head(row: Array, head: Array) -> float:
    total: float = head.dtype.type(0)
    for k in range(head.shape[0]):
        total += row[k] * head[k]
    return total


@njit(cache=True, nogil=True, fastmath=True)
def sparse_dot(row: Array, index: Words, value: Array) -> float:
    """Return the inner product of a dense and a sparse vector."""
    total: float = value.dtype.type(0)
    for k in range(index.shape[0]):
        total += row[index[k]] * value[k]
    return total


@njit(cache=True, nogil=True)
def bilinear(
    W: Array,
    index: Words,
    value: Array,
    head: Array,
    tail_index: Words,
    tail_value: Array,
) -> float:
    """Return left (index, value) times W times right (head, tail), a sum over rows of W in double precision."""
    total = 0.0
    for k in range(index.shape[0]):
        row = W[index[k]]
        total += float(value[k]) * (float(_dot_head(row, head)) + float(sparse_dot(row, tail_index, tail_value)))
    return total


@njit(cache=True, nogil=True)
def add_to_row(row: Array, weight: float, head: Array, tail_index: Words, tail_value: Array) -> None:
    """Add `weight` times a vector (head, tail) to a row of W."""
    for k in range(head.shape[0]):
        row[k] += weight * head[k]
    for k in range(tail_index.shape[0]):
        row[tail_index[k]] += weight * tail_value[k]


@njit(cache=True, nogil=True)
def squared_norm(value: Array) -> float:
    """Return the sum of squares, in double precision."""
    total = 0.0
    for k in range(value.shape[0]):
        total += float(value[k]) * float(value[k])
    return total


@njit(cache=True, nogil=True)
def take_steps(W: Array, rows: Rows, triplets: Ints, aggressiveness: float, kind: int) -> tuple[int, int]:
    """Take one step a triplet on W in the order of `rows`, in place; return how many had a loss, and an update."""
    # All kinds have v = p+ - p- and the loss l = max(0, 1 - s'Wv). Plain (JMLR Figure 1): s = p, and tau s v' is added
    # to W. The others keep W symmetric and add tau / 2 (s v' + v s').
    # Online-Proj-OASIS (draft section 5.2.4): s = p, and tau is that of OASIS.
    # Dissim-OASIS (draft section 2.2): s = 2p - p+ - p-. With a = p - p+ and b = p - p-, s = a + b and v = b - a, so
    # s'Wv = b'Wb - a'Wa and (s v' + v s') / 2 = bb' - aa' is minus the paper's V, of which the squared norm is
    # (||s||^2 ||v||^2 + (s'v)^2) / 2. W_ij and W_ji get one and the same rounded sum, in one addition each.
    longest, dtype = longest_row(rows), W.dtype
    v_index, v_value, v_head = np.empty(2 * longest, dtype=np.uint32), np.empty(2 * longest, dtype), empty_head(W)
    s_index, s_value, s_head = np.empty(3 * longest, dtype=np.uint32), np.empty(3 * longest, dtype), empty_head(W)
    sum_index, sum_value = np.empty_like(v_index), np.empty_like(v_value)
    u_index, u_s, u_v = np.empty_like(s_index), np.empty_like(s_value), np.empty_like(s_value)
    losses = updates = 0
    for t in range(triplets.shape[0]):
        query, positive, negative = triplets[t, 0], triplets[t, 1], triplets[t, 2]
        left_index, left_value = row_of(rows, query)
        n_s = left_index.shape[0]
        n_v = subtract_rows(rows, positive, negative, v_index, v_value)
        if kind == DISSIM:
            plus_index, plus_value = row_of(rows, positive)
            minus_index, minus_value = row_of(rows, negative)
            n = add_scaled(1.0, plus_index, plus_value, 1.0, minus_index, minus_value, sum_index, sum_value)
            n_s = add_scaled(2.0, left_index, left_value, -1.0, sum_index[:n], sum_value[:n], s_index, s_value)
            left_index, left_value = s_index[:n_s], s_value[:n_s]
        v_start = fill_head(v_index[:n_v], v_value[:n_v], v_head)
        v_tail, v_tail_value = v_index[v_start:n_v], v_value[v_start:n_v]

        if kind == PLAIN or n_s <= n_v:
            score = bilinear(W, left_index, left_value, v_head, v_tail, v_tail_value)
        else:  # a symmetric W is read at the rows of the shorter vector
            s_start = fill_head(left_index, left_value, s_head)
            score = bilinear(W, v_index[:n_v], v_value[:n_v], s_head, left_index[s_start:], left_value[s_start:])
        loss = 1.0 - score
        if loss <= 0.0:
            continue
        losses += 1

        norm = squared_norm(v_value[:n_v])
        if kind == DISSIM:
            product = _sparse_product(left_index, left_value, v_index[:n_v], v_value[:n_v])
            norm = 0.5 * (squared_norm(left_value) * norm + product * product)
        else:
            norm *= rows.squared_norms[query]
        if norm == 0.0:
            continue
        updates += 1
        tau = min(aggressiveness, loss / norm)
        if kind == PLAIN:
            for k in range(n_s):
                add_to_row(W[left_index[k]], dtype.type(tau * float(left_value[k])), v_head, v_tail, v_tail_value)
            continue
        half = 0.5 * tau
        for k in range(n_s):
            s_index[k], s_value[k] = left_index[k], dtype.type(half * float(left_value[k]))
        s_start = fill_head(s_index[:n_s], s_value[:n_s], s_head)
        s_tail, s_tail_value = s_index[s_start:n_s], s_value[s_start:n_s]
        n = _union(s_index[:n_s], s_value[:n_s], v_index[:n_v], v_value[:n_v], u_index, u_s, u_v)
        u_start = np.searchsorted(u_index[:n], v_head.shape[0])
        for k in range(n):
            row = W[u_index[k]]
            if u_v[k] == 0:
                add_to_row(row, u_s[k], v_head, v_tail, v_tail_value)
            elif u_s[k] == 0:
                add_to_row(row, u_v[k], s_head, s_tail, s_tail_value)
            else:
                for j in range(s_head.shape[0]):
                    row[j] += u_s[k] * v_head[j] + u_v[k] * s_head[j]
                for j in range(u_start, n):
                    row[u_index[j]] += u_s[k] * u_v[j] + u_v[k] * u_s[j]
    return losses, updates


@njit(cache=True, nogil=True)
def _sparse_product(a_index: Words, a_value: Array, b_index: Words, b_value: Array) -> float:
    """Return the inner product of two sparse vectors, in double precision."""
    total = 0.0
    b = 0
    for a in range(a_index.shape[0]):
        while b < b_index.shape[0] and b_index[b] < a_index[a]:
            b += 1
        if b < b_index.shape[0] and b_index[b] == a_index[a]:
            total += float(a_value[a]) * float(b_value[b])
    return total


@njit(cache=True, nogil=True)
def _union(
    a_index: Words, a_value: Array, b_index: Words, b_value: Array, index: Words, a_there: Array, b_there: Array
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
def group_steps(W: Array, rows: Rows, triplets: Ints, aggressiveness: float) -> tuple[int, int]:
    """Take plain steps as `take_steps` does, those of neighbours that share their query row p as one group."""
    # W'p is all that the losses of a group need. It is made once, in one pass over the rows of W that p has; a step
    # tau p v' adds tau ||p||^2 v to it, and the group's steps go into W together, in a second pass. So memory is read
    # row after row instead of here and there, and as often for fifty triplets as for one.
    v_index = np.empty(2 * longest_row(rows), dtype=np.uint32)
    v_value = np.empty(v_index.shape[0], dtype=W.dtype)
    product, change = np.empty(W.shape[0], dtype=W.dtype), np.empty(W.shape[0], dtype=W.dtype)
    no_head, no_index, no_value = product[:0], v_index[:0], v_value[:0]
    losses = updates = t = 0
    while t < triplets.shape[0]:
        query = triplets[t, 0]
        p_index, p_value = row_of(rows, query)
        product[:] = 0
        change[:] = 0
        for k in range(p_index.shape[0]):
            add_to_row(product, p_value[k], W[p_index[k]], no_index, no_value)
        while t < triplets.shape[0] and triplets[t, 0] == query:
            n = subtract_rows(rows, triplets[t, 1], triplets[t, 2], v_index, v_value)
            t += 1
            loss = 1.0 - float(sparse_dot(product, v_index[:n], v_value[:n]))
            if loss <= 0.0:
                continue
            losses += 1
            norm = squared_norm(v_value[:n]) * rows.squared_norms[query]
            if norm == 0.0:
                continue
            updates += 1
            tau = min(aggressiveness, loss / norm)
            growth = W.dtype.type(tau * rows.squared_norms[query])
            add_to_row(product, growth, no_head, v_index[:n], v_value[:n])
            add_to_row(change, W.dtype.type(tau), no_head, v_index[:n], v_value[:n])
        for k in range(p_index.shape[0]):
            add_to_row(W[p_index[k]], p_value[k], change, no_index, no_value)
    return losses, updates
