"""OASIS steps of which many in a row share their query image p, with the result of taking them one by one.

The product W'p is all that the losses of such a group need. It is made once, in one pass over the rows of W that p has;
a step tau p v', with v = p+ - p-, then adds tau ||p||^2 v to it. The group's steps go into W together, in a second
pass. So memory is read row after row instead of here and there, and as often for fifty triplets as for one.
"""

from __future__ import annotations

import numpy as np

from lookalike.core.arrays import Array, Ints
from lookalike.core.kernels import njit
from lookalike.learners.sparse_rows import (
    Rows,
    add_to_row,
    longest_row,
    row_of,
    sparse_dot,
    squared_norm,
    subtract_rows,
)

COLUMNS = 768
"""Of W that both passes cross in the time of a single step: 600 to 1,000 were measured at 1,000 to 10,000 words."""


@njit(cache=True, nogil=True)
def group_steps(W: Array, rows: Rows, triplets: Ints, aggressiveness: float) -> tuple[int, int]:
    """Take the steps of `lookalike.learners.oasis.oasis_steps`; neighbours of one query row are a group."""
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
