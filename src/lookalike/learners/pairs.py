"""Random pairs from class labels: what LEGO learns from, half of them of one class and half of two."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lookalike.core.arrays import Ints, Matrix
from lookalike.core.row_numbers import named_rows
from lookalike.core.seeds import RandomState, as_seed
from lookalike.learners.triplets import TripletSampler


class PairSampler:
    """Draw pairs (i, j, same) of row numbers from class labels, where ``same`` is 1 for rows of one class, else 0.

    A pair is one of the two that a triplet of `TripletSampler` holds, chosen by a fair coin: the query with its
    positive or the query with its negative. So methods that learn from pairs and from triplets see images with the same
    chances. How the pairs were drawn for the papers' LEGO is not printed (JMLR section 5.3.1).

    ``draw(a)`` and then ``draw(b)`` gives the rows of ``draw(a + b)``.

    Parameters
    ----------
    y, random_state
        As of `TripletSampler`, and the errors too.

    Examples
    --------
    >>> PairSampler([0, 0, 1, 1], random_state=0).draw(2).shape
    (2, 3)
    """

    def __init__(self, y: ArrayLike, random_state: RandomState = None) -> None:
        seed = as_seed(random_state)
        self._triplets = TripletSampler(y, seed)
        self._coins = np.random.default_rng([seed, 2])

    def draw(self, n: int) -> Ints:
        """Return the next `n` pairs of the stream, int32 rows (i, j, same)."""
        triplets = self._triplets.draw(n)
        same = self._coins.random(n) < 0.5
        second = np.where(same, triplets[:, 1], triplets[:, 2])
        return np.column_stack([triplets[:, 0], second, same]).astype(np.int32)


def check_pairs(pairs: ArrayLike, same: ArrayLike, X: Matrix) -> Ints:
    """Return pairs of row numbers of X, or of ids of its index, as int32 rows (i, j, same), as `PairSampler` draws."""
    array, alike = named_rows(pairs, X, "pairs", "i, j"), np.asarray(same)
    if alike.shape != (len(array),):
        raise ValueError(f"same must be one value per pair, an array of shape ({len(array)},), not {alike.shape}")
    if not np.isin(alike, (0, 1)).all():
        raise ValueError("same must be True (or 1) for pairs that belong together, and False (or 0) for the others")
    return np.ascontiguousarray(np.column_stack([array, alike.astype(np.int32)]), dtype=np.int32)
