"""Ranks of relevant rows by counting: no score is sorted but those of the relevant rows."""

from __future__ import annotations

import numpy as np

from lookalike.core.arrays import Ints, Longs, Reals
from lookalike.core.kernels import njit

BUCKETS = 1024
"""Of scores, in which a row's place among the positives is looked up."""


@njit(cache=True, nogil=True)
def _bucket(score: float, best: float, per_score: float | np.floating) -> int:
    """Return a number from 0 to BUCKETS - 1 that never falls where the score falls."""
    place = (best - score) * per_score
    if not place > 0:
        return 0
    return int(place) if place < BUCKETS else BUCKETS - 1


@njit(cache=True, nogil=True)
def ranks_of(scores: Reals, own: int, relevant: Reals, ranks: Ints, ties: Ints) -> None:
    """Write rank and ties, as `Rankings` has them, of relevant rows among all but `own` (-1: none), given their scores.

    These scores fall, and none is NaN.
    """
    # Every row is put before the first relevant one that it is not behind, sought from its bucket's first on: buckets
    # are numbered by falling score. Bisection takes several times as long, as no processor can guess its turns.
    n = len(relevant)
    best, spread = relevant[0], relevant[0] - relevant[n - 1]
    per_score = relevant.dtype.type(BUCKETS - 1) / spread if spread > 0 else relevant.dtype.type(0)
    starts = np.zeros(BUCKETS + 1, dtype=np.int64)
    values = np.full(n + 1, -np.inf, dtype=relevant.dtype)
    for position in range(n):
        values[position] = relevant[position]
        starts[_bucket(values[position], best, per_score) + 1] += 1
    for bucket in range(BUCKETS):
        starts[bucket + 1] += starts[bucket]
    # of rows before it, and of rows equal to it
    counts = np.zeros((n + 1, 2), dtype=np.int64)
    for row in range(scores.shape[0]):
        score = scores[row]
        place = starts[_bucket(score, best, per_score)]
        while values[place] > score:
            place += 1
        if row != own:
            counts[place, int(values[place] == score)] += 1
    before, first = 0, 0
    for position in range(n):
        before += counts[position, 0]
        if position == 0 or values[position] < values[position - 1]:
            ranks[position], ties[position], first = before + 1, counts[position, 1], position
        else:
            ranks[position], ties[position] = ranks[first], ties[first]
        before += counts[position, 1]


@njit(cache=True, nogil=True)
def ranks_of_rows(scores: Reals, own: Longs, relevant: Reals, starts: Longs, ranks: Ints, ties: Ints) -> None:
    """Do as `ranks_of` for each row of scores; what is of row i stands from ``starts[i]`` to ``starts[i + 1]``."""
    for row in range(scores.shape[0]):
        part = slice(starts[row], starts[row + 1])
        if starts[row + 1] > starts[row]:
            ranks_of(scores[row], own[row], relevant[part], ranks[part], ties[part])
