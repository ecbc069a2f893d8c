"""Compressed x * x+ and x * x- of triplets of rows: all that an online diagonal learner sees of the rows.

A landmark's 21,000 triplets have only 42 + 3,500 different pairs of rows (SOML, "Experimental Testbed and Setup"), so
each product is formed once, on the visual words that occur in a query, and no step knows how large the codebook is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from lookalike.core.arrays import Ints, Longs, Matrix
from lookalike.core.kernels import njit
from lookalike.learners.base import refuse_overflow
from lookalike.learners.kernels import Compressed
from lookalike.learners.triplets import check_triplets

PRODUCT_BYTES = 256 * 2**20
"""Memory that the products of all distinct pairs may take; past it they are formed block by block of triplets."""
BLOCK_BYTES = 4 * 2**20
"""Memory of a block's products."""
ENTRY_BYTES = 12  # a float64 value, a uint32 place


class TripletProducts:
    """Rows and triplets, ready for any number of fits of diagonal learners: ``model.fit_products(products)``.

    Where a pair of rows (query and positive, or query and negative) occurs in two triplets or more on the average, and
    the products of all pairs fit into 256 MiB, they are formed here, once. Otherwise they are formed on the way, each
    time, in blocks of at most 4 MiB (or one triplet). No bit of what is learned depends on which.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, d)
        Not changed.
    triplets : array-like of shape (m, 3)
        Row numbers (query, positive, negative) of X.

    Attributes
    ----------
    n_features : int
        d.
    n_triplets : int
        m.
    n_pairs : int
        Distinct pairs (query, positive) and (query, negative) of the triplets.
    columns : numpy.ndarray of shape (c,), int64
        The features of the queries, ascending: a learner's weights can change nowhere else. Places in products are
        numbers of these.
    examples : numpy.ndarray of int32
        What `blocks` takes: the triplets; or, of shape (m, 2), the numbers of their products where those are ready.

    Raises
    ------
    ValueError
        On NaN or infinity, values too large to be multiplied, or row numbers that X does not have.

    Examples
    --------
    >>> products = TripletProducts([[1.0, 0.0, 2.0], [3.0, 1.0, 0.0], [0.0, 1.0, 1.0]], [[0, 1, 2], [0, 1, 2]])
    >>> products.columns.tolist(), products.n_pairs
    ([0, 2], 2)
    """

    def __init__(self, X: Matrix, triplets: ArrayLike) -> None:
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        refuse_overflow(X)
        X = sp.csr_array(X)
        if not X.has_canonical_format:  # of a copy, because the rows are the user's
            X = X.copy()
            X.sum_duplicates()
        self.n_features = int(X.shape[1])
        triplets = check_triplets(triplets, X)
        rows, places = np.unique(triplets, return_inverse=True)
        self.examples: Ints = places.reshape(triplets.shape).astype(np.int32)
        self._restrict(X, rows.astype(np.int64), np.unique(triplets[:, 0]).astype(np.int64))
        self.n_triplets = len(self.examples)
        pairs, numbers = distinct_pairs(self.examples, len(self._lengths))
        self.n_pairs = len(pairs)
        self._ready: Compressed | None = None
        if self.n_pairs <= self.n_triplets and self._room(pairs) * ENTRY_BYTES <= PRODUCT_BYTES:
            self._ready = self._multiply(pairs)
            self.examples = numbers

    def blocks(self, examples: Ints) -> Iterator[tuple[Compressed, Ints]]:
        """Give the products of a run of `examples` (or triplets), with the numbers of every triplet's two products."""
        if self._ready is not None:
            yield self._ready, examples
            return
        longest = int(self._lengths.max(initial=0))
        size = max(1, BLOCK_BYTES // (2 * ENTRY_BYTES * max(1, longest)))
        for first in range(0, len(examples), size):
            pairs, numbers = distinct_pairs(examples[first : first + size], len(self._lengths))
            yield self._multiply(pairs), numbers

    def _restrict(self, X: sp.csr_array, rows: Longs, queries: Longs) -> None:
        """Keep these rows, at the columns of the queries only."""
        marked = np.zeros(self.n_features, dtype=bool)
        marked[X[queries].indices] = True
        self.columns = np.flatnonzero(marked)
        kept = X[rows][:, self.columns].astype(np.float64)
        kept.eliminate_zeros()
        self._rows = Compressed.from_scipy(kept)
        self._lengths = np.diff(self._rows[0])

    def _room(self, pairs: Longs) -> int:
        """Return what the products of these pairs have as entries at most."""
        return int(np.minimum(self._lengths[pairs[:, 0]], self._lengths[pairs[:, 1]]).sum())

    def _multiply(self, pairs: Longs) -> Compressed:
        # pages of the arrays that are not written to take no memory
        room = self._room(pairs) + 1
        starts = np.empty(len(pairs) + 1, dtype=np.int64)
        products = Compressed(starts, np.empty(room, dtype=np.uint32), np.empty(room))
        pair_products(self._rows, pairs, len(self.columns), products)
        return products


def distinct_pairs(triplets: Ints, n_rows: int) -> tuple[Longs, Ints]:
    """Return the distinct pairs (query, other) of triplets, sorted, and the numbers of every triplet's two pairs."""
    codes = triplets[:, :1].astype(np.int64) * n_rows + triplets[:, 1:]
    distinct, numbers = np.unique(codes, return_inverse=True)
    pairs = np.stack(np.divmod(distinct, max(1, n_rows)), axis=1)
    return pairs, numbers.reshape(codes.shape).astype(np.int32)


@njit(cache=True, nogil=True)
def pair_products(rows: Compressed, pairs: Longs, n_columns: int, products: Compressed) -> None:
    """Multiply pairs of rows, entry by entry; the products have a spare entry."""
    indptr, indices, data = rows
    dense, n = np.zeros(n_columns), 0
    spread = -1  # the row that lies in `dense`: pairs with equal first rows stand side by side
    products.indptr[0] = 0
    for p in range(pairs.shape[0]):
        first, second = pairs[p]
        if first != spread:
            if spread >= 0:
                for k in range(indptr[spread], indptr[spread + 1]):
                    dense[indices[k]] = 0.0
            for k in range(indptr[first], indptr[first + 1]):
                dense[indices[k]] = data[k]
            spread = first
        for k in range(indptr[second], indptr[second + 1]):
            product = dense[indices[k]] * data[k]
            products.indices[n] = indices[k]
            products.data[n] = product
            n += product != 0.0
        products.indptr[p + 1] = n
