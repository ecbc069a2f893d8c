"""Random pairs from class labels: what LEGO learns from, half of them of one class and half of two."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    y : array-like of shape (n,)
        Class labels, numbers or strings.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        An integer fixes the stream; a generator gives one number that seeds it.

    Raises
    ------
    ValueError
        When there is only one class, or no class with two images.

    Examples
    --------
    >>> PairSampler([0, 0, 1, 1], random_state=0).draw(2).shape
    (2, 3)
    """

    def __init__(self, y: ArrayLike, random_state: RandomState = None) -> None:
        seed = as_seed(random_state)
        self._triplets = TripletSampler(y, seed)
        self._coins = np.random.default_rng([seed, 2])

    def draw(self, n: int) -> NDArray[np.int32]:
        """Return the next `n` pairs of the stream.

        Parameters
        ----------
        n : int
            How many, not negative.

        Returns
        -------
        numpy.ndarray of shape (n, 3), int32
            Row numbers i and j, and 1 where both are of one class, else 0.
        """
        triplets = self._triplets.draw(n)
        same = self._coins.random(n) < 0.5
        second = np.where(same, triplets[:, 1], triplets[:, 2])
        return np.column_stack([triplets[:, 0], second, same]).astype(np.int32)


def check_pairs(pairs: Any, same: Any, n_rows: int) -> NDArray[np.int32]:
    """Return pairs and whether they are alike as C-contiguous int32 rows (i, j, same), as `PairSampler` draws them.

    Parameters
    ----------
    pairs : array-like of shape (m, 2)
        Row numbers.
    same : array-like of shape (m,)
        True (or 1) where the two rows belong together, False (or 0) where they do not.
    n_rows : int
        Rows that there are.

    Raises
    ------
    ValueError
        When a shape is wrong, the row numbers are not whole numbers within 0..n_rows-1, or ``same`` has other values.
    """
    array, alike = np.asarray(pairs), np.asarray(same)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"pairs must be rows (i, j), an array of shape (m, 2), not {array.shape}")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"pairs must be row numbers of X, whole numbers, not values of type {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= n_rows):
        raise ValueError(f"pairs must be row numbers of X, 0 to {n_rows - 1}; found {array.min()} to {array.max()}")
    if alike.shape != (len(array),):
        raise ValueError(f"same must be one value per pair, an array of shape ({len(array)},), not {alike.shape}")
    if not np.isin(alike, (0, 1)).all():
        raise ValueError("same must be True (or 1) for pairs that belong together, and False (or 0) for the others")
    return np.ascontiguousarray(np.column_stack([array, alike.astype(np.int32)]), dtype=np.int32)
