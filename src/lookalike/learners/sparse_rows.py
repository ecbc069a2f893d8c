"""Sparse rows and a d x d matrix for compiled steps, with the most frequent features first.

So what most steps touch of a row of W is a short dense head; the rest, the tail, is gathered and scattered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from lookalike.core.arrays import Array, Doubles, Longs, Matrix, Words
from lookalike.core.kernels import njit

if TYPE_CHECKING:
    from lookalike.learners.triplet_products import Products

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
