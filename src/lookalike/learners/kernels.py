"""The steps of OASIS and its variants on a d x d matrix W, compiled, with the most frequent features first.

So what most steps touch of a row of W is a short dense head; the rest, the tail, is gathered and scattered.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from lookalike.core.arrays import Array, Doubles, Ints, Longs, Matrix, Words
from lookalike.core.kernels import njit

PLAIN, ONLINE_PROJ, DISSIM = range(3)
"""Kinds of steps: of OASIS, by V = p (p+ - p-)'; by the symmetric part of V; and of a distance (see `take_steps`)."""
GROUP_COLUMNS = 768
"""Of W that a group's two passes cross in the time of one step: 600 to 1,000 were measured at 1,000 to 10,000 words."""
HEAD_BYTES = 1024
"""Bytes of a row of W treated as dense: the fastest of 0 to 4,096 at d = 1,000 and at d = 10,000 (oasis_steps.py)."""

_BLOCK = 1024  # rows


class Compressed(NamedTuple):
    """A CSR or CSC matrix as kernels take it."""

    indptr: Longs
    indices: Words
    data: Array

    @classmethod
    def from_scipy(cls, matrix: Matrix) -> Self:
        """Take the parts of a matrix of SciPy's."""
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32), matrix.data)


class Rows(NamedTuple):
    """CSR rows with their features by falling document frequency, sorted within a row, and their squared lengths."""

    indptr: Longs
    indices: Words
    data: Array
    squared_norms: Doubles


class Vector(NamedTuple):
    """A sparse vector: ascending places, and the values there."""

    places: Words
    values: Array


class OrderedRows:
    """The `rows` of X with their features by falling document frequency; it brings a W into that order."""

    def __init__(self, X: Matrix, dtype: np.dtype) -> None:
        X = canonical_csr(X, dtype)
        self._order = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")
        self._place = np.argsort(self._order)
        X = sp.csr_array((X.data, self._place[X.indices], X.indptr), shape=X.shape)
        X.sort_indices()
        with np.errstate(over="ignore"):
            blocks = (
                X[start : start + _BLOCK] for start in range(0, X.shape[0], _BLOCK)
            )  # squares in float64 are large
            squared_norms = np.concatenate([block.astype(np.float64).power(2).sum(axis=1) for block in blocks])
        self.rows = Rows(*Compressed.from_scipy(X), squared_norms)

    def ordered(self, W: Array) -> Array:
        """Return W with its features by document frequency, C-contiguous."""
        return permuted(W, self._order)

    def restored(self, W: Array) -> Array:
        """Return a copy of W with its features in the user's order."""
        return permuted(W, self._place)


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
def row_of(rows: Rows | Compressed, number: int) -> Vector:
    """Return one row."""
    start, stop = rows.indptr[number], rows.indptr[number + 1]
    return Vector(rows.indices[start:stop], rows.data[start:stop])


@njit(cache=True, nogil=True)
def room_for(size: int, W: Array) -> Vector:
    """Return room for a vector of the precision of W."""
    return Vector(np.empty(size, dtype=np.uint32), np.empty(size, dtype=W.dtype))


@njit(cache=True, nogil=True)
def from_place(vector: Vector, start: int, stop: int) -> Vector:
    """Return some of the entries of a vector."""
    return Vector(vector.places[start:stop], vector.values[start:stop])


@njit(cache=True, nogil=True)
def add_scaled(a_factor: float, a: Vector, b_factor: float, b: Vector, room: Vector) -> Vector:
    """Return a_factor a + b_factor b, in some room. Entries that cancel exactly are dropped."""
    a_scale, b_scale = room.values.dtype.type(a_factor), room.values.dtype.type(b_factor)
    n = i = j = 0
    while i < a.places.shape[0] or j < b.places.shape[0]:
        if j == b.places.shape[0] or (i < a.places.shape[0] and a.places[i] < b.places[j]):
            room.places[n], room.values[n] = a.places[i], a_scale * a.values[i]
            i += 1
        elif i == a.places.shape[0] or a.places[i] > b.places[j]:
            room.places[n], room.values[n] = b.places[j], b_scale * b.values[j]
            j += 1
        else:
            room.places[n], room.values[n] = a.places[i], a_scale * a.values[i] + b_scale * b.values[j]
            n -= room.values[n] == 0
            i += 1
            j += 1
        n += 1
    return from_place(room, 0, n)


@njit(cache=True, nogil=True)
def subtract_rows(rows: Rows, left: int, right: int, room: Vector) -> Vector:
    """Return the difference of two rows, such as p+ - p-, in some room."""
    return add_scaled(1.0, row_of(rows, left), -1.0, row_of(rows, right), room)


@njit(cache=True, nogil=True)
def longest_row(rows: Rows | Compressed) -> int:
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
def fill_head(vector: Vector, head: Array) -> Vector:
    """Write the leading entries of a sparse vector into a dense head; return its tail."""
    for k in range(head.shape[0]):
        head[k] = 0
    n = 0
    while n < vector.places.shape[0] and vector.places[n] < head.shape[0]:
        head[vector.places[n]] = vector.values[n]
        n += 1
    return from_place(vector, n, vector.places.shape[0])


# fastmath lets the compiler sum in vector lanes: another order than one by one, the same on every run of a machine.
@njit(cache=True, nogil=True, fastmath=True)
def _dot_head(row: Array, head: Array) -> float:
    total: float = head.dtype.type(0)
    for k in range(head.shape[0]):
        total += row[k] * head[k]
    return total


@njit(cache=True, nogil=True, fastmath=True)
def sparse_dot(row: Array, vector: Vector) -> float:
    """Return the inner product of a dense and a sparse vector."""
    total: float = vector.values.dtype.type(0)
    for k in range(vector.places.shape[0]):
        total += row[vector.places[k]] * vector.values[k]
    return total


@njit(cache=True, nogil=True)
def bilinear(W: Array, left: Vector, head: Array, tail: Vector) -> float:
    """Return left W right', the right vector as head and tail: a sum over rows of W in double precision."""
    total = 0.0
    for k in range(left.places.shape[0]):
        row = W[left.places[k]]
        total += float(left.values[k]) * (float(_dot_head(row, head)) + float(sparse_dot(row, tail)))
    return total


@njit(cache=True, nogil=True)
def add_dense(row: Array, weight: float, vector: Array) -> None:
    """Add `weight` times a dense vector to the beginning of a row of W."""
    for k in range(vector.shape[0]):
        row[k] += weight * vector[k]


@njit(cache=True, nogil=True)
def add_sparse(row: Array, weight: float, vector: Vector) -> None:
    """Add `weight` times a sparse vector to a row of W."""
    for k in range(vector.places.shape[0]):
        row[vector.places[k]] += weight * vector.values[k]


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
    v_room, v_head, s_room, s_head = room_for(2 * longest, W), empty_head(W), room_for(3 * longest, W), empty_head(W)
    sum_room, union, u_v = room_for(2 * longest, W), room_for(3 * longest, W), np.empty(3 * longest, dtype)
    losses = updates = 0
    for t in range(triplets.shape[0]):
        query, positive, negative = triplets[t, 0], triplets[t, 1], triplets[t, 2]
        s, v = row_of(rows, query), subtract_rows(rows, positive, negative, v_room)
        if kind == DISSIM:
            both = add_scaled(1.0, row_of(rows, positive), 1.0, row_of(rows, negative), sum_room)
            s = add_scaled(2.0, s, -1.0, both, s_room)
        v_tail = fill_head(v, v_head)

        n_s = s.places.shape[0]
        if kind == PLAIN or n_s <= v.places.shape[0]:
            score = bilinear(W, s, v_head, v_tail)
        else:  # a symmetric W is read at the rows of the shorter vector
            score = bilinear(W, v, s_head, fill_head(s, s_head))
        loss = 1.0 - score
        if loss <= 0.0:
            continue
        losses += 1

        norm, n = squared_norm(v.values), 0
        if kind != PLAIN:
            n = _union(s, v, union, u_v)
        if kind == DISSIM:
            product = 0.0
            for k in range(n):
                product += float(union.values[k]) * float(u_v[k])
            norm = 0.5 * (squared_norm(s.values) * norm + product * product)
        else:
            norm *= rows.squared_norms[query]
        if norm == 0.0:
            continue
        updates += 1
        tau = min(aggressiveness, loss / norm)
        if kind == PLAIN:
            for k in range(n_s):
                weight, row = dtype.type(tau * float(s.values[k])), W[s.places[k]]
                add_dense(row, weight, v_head)
                add_sparse(row, weight, v_tail)
            continue
        half, u_s = 0.5 * tau, union.values
        for k in range(n_s):
            s_room.places[k], s_room.values[k] = s.places[k], dtype.type(half * float(s.values[k]))
        for k in range(n):
            u_s[k] = dtype.type(half * float(u_s[k]))
        s_tail = fill_head(from_place(s_room, 0, n_s), s_head)
        u_start = np.searchsorted(union.places[:n], v_head.shape[0])
        for k in range(n):
            row = W[union.places[k]]
            if u_v[k] == 0:
                add_dense(row, u_s[k], v_head)
                add_sparse(row, u_s[k], v_tail)
            elif u_s[k] == 0:
                add_dense(row, u_v[k], s_head)
                add_sparse(row, u_v[k], s_tail)
            else:
                for j in range(s_head.shape[0]):
                    row[j] += u_s[k] * v_head[j] + u_v[k] * s_head[j]
                for j in range(u_start, n):
                    row[union.places[j]] += u_s[k] * u_v[j] + u_v[k] * u_s[j]
    return losses, updates


@njit(cache=True, nogil=True)
def _union(a: Vector, b: Vector, union: Vector, b_there: Array) -> int:
    """Write the union of two supports with both vectors' values there, zeros among them; return its length."""
    n = i = j = 0
    while i < a.places.shape[0] or j < b.places.shape[0]:
        only_a = j == b.places.shape[0] or (i < a.places.shape[0] and a.places[i] < b.places[j])
        only_b = not only_a and (i == a.places.shape[0] or a.places[i] > b.places[j])
        union.places[n] = b.places[j] if only_b else a.places[i]
        union.values[n] = 0 if only_b else a.values[i]
        b_there[n] = 0 if only_a else b.values[j]
        i += not only_b
        j += not only_a
        n += 1
    return n


@njit(cache=True, nogil=True)
def group_steps(W: Array, rows: Rows, triplets: Ints, aggressiveness: float) -> tuple[int, int]:
    """Take plain steps as `take_steps` does, those of neighbours that share their query row p as one group."""
    # W'p is all that the losses of a group need. It is made once, in one pass over the rows of W that p has; a step
    # tau p v' adds tau ||p||^2 v to it, and the group's steps go into W together, in a second pass. So memory is read
    # row after row instead of here and there, and as often for fifty triplets as for one.
    room, dtype = room_for(2 * longest_row(rows), W), W.dtype
    product, change = np.empty(W.shape[0], dtype), np.empty(W.shape[0], dtype)
    losses = updates = t = 0
    while t < triplets.shape[0]:
        query = triplets[t, 0]
        p = row_of(rows, query)
        product[:] = 0
        change[:] = 0
        for k in range(p.places.shape[0]):
            add_dense(product, p.values[k], W[p.places[k]])
        while t < triplets.shape[0] and triplets[t, 0] == query:
            v = subtract_rows(rows, triplets[t, 1], triplets[t, 2], room)
            t += 1
            loss = 1.0 - float(sparse_dot(product, v))
            if loss <= 0.0:
                continue
            losses += 1
            norm = squared_norm(v.values) * rows.squared_norms[query]
            if norm == 0.0:
                continue
            updates += 1
            tau = min(aggressiveness, loss / norm)
            add_sparse(product, dtype.type(tau * rows.squared_norms[query]), v)
            add_sparse(change, dtype.type(tau), v)
        for k in range(p.places.shape[0]):
            add_dense(W[p.places[k]], p.values[k], change)
    return losses, updates
