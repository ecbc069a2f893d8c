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
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from itertools import count
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from lookalike.learners._look_ahead_kernels import (
    add_sparse_products,
    gather_queries,
    invert,
    resolve_block,
    spread_block,
    visit_rows,
)

BLOCK = 2_048
"""Triplets of a block. A larger one reads W less often, and its products cost more: benchmarks/web_training.py."""

PARTS = 8
"""Into how many interleaved parts the rows of W are shared out; fixed, so that sums are the same on any threads."""

TILE = 256
"""Rows of a block's products that are one task."""

N_DENSE = 64
"""Leading features whose share of the products is a dense one; the rest goes by lists."""

Rows = tuple[NDArray[np.int64], NDArray[Any], NDArray[Any], NDArray[np.float64]]
"""``indptr``, ``indices`` (sorted in a row, most frequent features first), ``data`` and squared norms."""
Fetch = Callable[[int], tuple[Rows, NDArray[np.int32]]]
"""``fetch(b)``: the rows and the triplets, at most `BLOCK` of them, of block b; called once each, on any thread."""


class LookAhead:
    """Takes OASIS steps on a matrix, block after block; it keeps the room and the threads between calls.

    Parameters
    ----------
    n_features : int
        d.
    dtype : numpy.dtype
        float32 or float64: of W and of the rows.
    n_threads : int, default=1
        Changes no bit of the result.
    block : int, default=2,048
        Triplets of a block. It changes the result only by rounding.
    """

    def __init__(self, n_features: int, dtype: np.dtype[Any], *, n_threads: int = 1, block: int = BLOCK) -> None:
        if n_threads < 1:
            raise ValueError(f"n_threads must be at least 1, not {n_threads}")
        if block < 1:
            raise ValueError(f"block must be at least 1, not {block}")
        self.block = int(block)
        self._n_features, self._dtype = int(n_features), np.dtype(dtype)
        self._n_threads = int(n_threads)
        # one to update with, one to score, one to multiply and one to fetch
        self._blocks = [_Block(n_features, dtype, self.block) for _ in range(4)]
        self._scores = np.zeros((PARTS, self.block))
        self._pool = ThreadPoolExecutor(self._n_threads - 1) if self._n_threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def steps(self, W: NDArray[Any], n_blocks: int, fetch: Fetch, aggressiveness: float) -> tuple[int, int]:
        """Take the steps of `n_blocks` blocks on W in place; return how many had a loss, and how many changed W.

        Parameters
        ----------
        W : ndarray of shape (d, d), C-contiguous, changed in place
            In the order of features that the rows have.
        n_blocks : int
        fetch : callable
            Gives the blocks, see `Fetch`.
        aggressiveness : float
            C of JMLR eq. 9.

        Raises
        ------
        ValueError
            When W is not what this was made for, or a block has more triplets than it has room for.
        Exception
            What `fetch` raises; W then holds some steps of the block in hand, and is of no use.
        """
        if W.shape != (self._n_features,) * 2 or W.dtype != self._dtype or not W.flags.c_contiguous:
            raise ValueError(
                f"W must be a C-contiguous matrix of {self._n_features} x {self._n_features} {self._dtype}, "
                f"not of shape {W.shape} and {W.dtype}"
            )
        losses = updates = 0
        with threadpool_limits(1, "blas"):
            # block b is fetched two rounds before it is scored, and multiplied one round before
            for b in range(-2, n_blocks + 1):
                old, now = self._blocks[(b - 1) % 4], self._blocks[b % 4]
                if b <= 0:
                    old.clear()
                if b == n_blocks:
                    now.clear()
                tasks: list[Callable[[], None]] = []
                if b + 2 < n_blocks:
                    tasks.append(partial(self._blocks[(b + 2) % 4].fill, fetch, b + 2))
                if 0 <= b + 1 < n_blocks:
                    # the long ones first
                    following = self._blocks[(b + 1) % 4]
                    tasks += [partial(following.multiply, first) for first in reversed(range(0, following.n, TILE))]
                if b >= 0:
                    tasks += [partial(self._visit, W, part, old, now) for part in range(PARTS)]
                self._do(tasks)
                if 0 <= b < n_blocks:
                    new_losses, new_updates = now.resolve(self._scores, aggressiveness)
                    losses += new_losses
                    updates += new_updates
        return losses, updates

    def _visit(self, W: NDArray[Any], part: int, old: _Block, now: _Block) -> None:
        scores = self._scores[part]
        visit_rows(W, part, PARTS, *old.inverted, old.tau, *old.differences, *now.inverted, *now.differences, scores)

    def _do(self, tasks: list[Callable[[], None]]) -> None:
        """Do all tasks, each thread taking the next one that nobody has."""
        numbers = count()

        def work() -> None:
            while (number := next(numbers)) < len(tasks):
                tasks[number]()

        others = [self._pool.submit(work) for _ in range(self._n_threads - 1)] if self._pool is not None else []
        try:
            work()
        finally:
            # nobody may go on with W after an error here
            wait(others)
        for other in others:
            other.result()


class _Block:
    """Room for a block of triplets, its products and the lengths of its steps."""

    def __init__(self, n_features: int, dtype: np.dtype[Any], block: int) -> None:
        self.n = 0
        self.index_type = np.uint16 if n_features <= np.iinfo(np.uint16).max + 1 else np.uint32
        self.dtype = dtype
        self.n_dense = min(N_DENSE, n_features)
        self.squared = np.zeros(block)
        self.tau = np.zeros(block)
        self.products = np.zeros((block, block), dtype=dtype)
        self.dense = np.zeros((2, block, self.n_dense), dtype=dtype)
        self._place = np.zeros((2, n_features + 1), dtype=np.int32)
        self._start = np.zeros((2, block + 1), dtype=np.int64)
        self._room(0, 0, 0)

    def _room(self, queries: int, differences: int, longest: int) -> None:
        """Make room for so many entries; what grows, grows by half as much again."""
        sizes = [queries + queries // 2, differences + differences // 2]
        self._index = [np.zeros(size, dtype=self.index_type) for size in sizes]
        self._value = [np.zeros(size, dtype=self.dtype) for size in sizes]
        self._triplet = [np.zeros(size, dtype=np.int32) for size in sizes]
        self._weight = [np.zeros(size, dtype=self.dtype) for size in sizes]
        self._scratch = np.zeros(longest, dtype=np.uint32)

    @property
    def inverted(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any]]:
        """The query images, feature by feature."""
        return self._place[0], self._triplet[0], self._weight[0]

    @property
    def differences(self) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
        """Vectors v of the triplets."""
        return self._start[1], self._index[1], self._value[1]

    def clear(self) -> None:
        """Hold no triplet."""
        self.n = 0
        self._place[:] = 0

    def fill(self, fetch: Fetch, number: int) -> None:
        """Fetch a block of triplets; spread and invert it."""
        rows, triplets = fetch(number)
        if len(triplets) > len(self.tau):
            raise ValueError(
                f"block {number} has {len(triplets)} triplets, but room for {len(self.tau)}: give it fewer"
            )
        self._squared_norms, self._triplets, self.n = rows[3], triplets, len(triplets)
        lengths = np.diff(rows[0])[triplets]
        needed = int(lengths[:, 0].sum()), int(lengths[:, 1:].sum())
        longest = int(lengths[:, 1:].sum(axis=1).max(initial=0))
        if needed[0] > len(self._index[0]) or needed[1] > len(self._index[1]) or longest > len(self._scratch):
            self._room(*needed, longest)
        vectors = [(self._start[k], self._index[k], self._value[k]) for k in (0, 1)]
        gather_queries(*rows[:3], triplets, *vectors[0], self.dense[0])
        spread_block(*rows[:3], triplets, *vectors[1], self.squared, self.dense[1], self._scratch)
        for k in (0, 1):
            invert(self.n, *vectors[k], self._place[k], self._triplet[k], self._weight[k])

    def multiply(self, first: int) -> None:
        """Write the products of `TILE` triplets from `first` on with all that come before each."""
        stop = min(first + TILE, self.n)
        both = []
        for k in (0, 1):
            products = np.matmul(self.dense[k, first:stop], self.dense[k, :stop].T)
            lists = self._place[k], self._triplet[k], self._weight[k]
            add_sparse_products(self.n_dense, *lists, first, stop, products)
            both.append(products)
        np.multiply(both[0], both[1], out=self.products[first:stop, :stop])

    def resolve(self, scores: NDArray[np.float64], aggressiveness: float) -> tuple[int, int]:
        """Set the lengths of the steps; return how many had a loss and an update."""
        losses, updates = resolve_block(
            scores, self.products, self._squared_norms, self.squared, self._triplets, aggressiveness, self.tau
        )
        return losses, updates
