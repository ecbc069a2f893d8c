"""Random triplets and pairs from class labels: what online learners learn from where there is no graded relevance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core.arrays import Array, Ints, Longs, Matrix
from lookalike.core.row_numbers import named_rows, refuse_missing_labels
from lookalike.core.seeds import RandomState, as_seed, seed_sequence


class TripletSampler:
    """Draw triplets (query, positive, negative) of row numbers from class labels.

    The query is uniform over the images whose class has another image, the positive over the others of its class, the
    negative over the images of all other classes (JMLR section 2.1 and 5.3; the authors' published code lets the
    positive equal the query, and now and then takes a negative of the query's own class). ``sample(a)`` and then
    ``sample(b)`` gives the rows of ``sample(a + b)``.

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
    >>> TripletSampler([0, 0, 1, 1], random_state=0).sample(2).shape
    (2, 3)
    """

    def __init__(self, y: ArrayLike, random_state: RandomState = None) -> None:
        refuse_missing_labels(y)
        labels = np.asarray(y)
        if labels.ndim != 1:
            raise ValueError(f"y must be one label per image, a 1-D array, not one of shape {labels.shape}")
        codes, sizes = class_codes(labels)
        starts = np.cumsum(sizes) - sizes
        self._by_class = np.argsort(codes, kind="stable").astype(np.int32)
        place = np.empty(len(codes), dtype=np.int32)
        place[self._by_class] = np.arange(len(codes), dtype=np.int32)
        self._place = place
        self._start = starts[codes].astype(np.int32)
        self._size = sizes[codes].astype(np.int32)
        self._queries = np.flatnonzero(self._size > 1).astype(np.int32)
        self._random = np.random.Generator(np.random.PCG64(as_seed(random_state)))

    def sample(self, n: int) -> Ints:
        """Return the next `n` triplets of the stream, int32 rows of row numbers (query, positive, negative)."""
        uniforms = self._random.random((n, 3))
        triplets = np.empty((n, 3), dtype=np.int32)
        # floor(u * m) < m for every double u < 1 and m < 2**53: u is at most 1 - 2**-53, and m minus m * 2**-53
        # never rounds up to m.
        query = self._queries[(uniforms[:, 0] * len(self._queries)).astype(np.int32)]
        start, size = self._start[query], self._size[query]
        positive = start + (uniforms[:, 1] * (size - 1)).astype(np.int32)
        positive += positive >= self._place[query]
        negative = (uniforms[:, 2] * (len(self._place) - size)).astype(np.int32)
        negative += np.where(negative >= start, size, 0)
        triplets[:, 0] = query
        triplets[:, 1] = self._by_class[positive]
        triplets[:, 2] = self._by_class[negative]
        return triplets

    draw = sample  # its name up to 1.1


class PairSampler:
    """Draw pairs (i, j, same) of row numbers from class labels, where ``same`` is 1 for rows of one class, else 0.

    A pair is one of the two that a triplet of `TripletSampler` holds, chosen by a fair coin: the query with its
    positive or the query with its negative. So methods that learn from pairs and from triplets see images with the same
    chances. How the pairs were drawn for the papers' LEGO is not printed (JMLR section 5.3.1).

    ``sample(a)`` and then ``sample(b)`` gives the rows of ``sample(a + b)``.

    Parameters
    ----------
    y, random_state
        As of `TripletSampler`, and the errors too.

    Examples
    --------
    >>> PairSampler([0, 0, 1, 1], random_state=0).sample(2).shape
    (2, 3)
    """

    def __init__(self, y: ArrayLike, random_state: RandomState = None) -> None:
        seed = as_seed(random_state)
        self._triplets = TripletSampler(y, seed)
        self._coins = np.random.default_rng([seed, 2])

    def sample(self, n: int) -> Ints:
        """Return the next `n` pairs of the stream, int32 rows (i, j, same)."""
        triplets = self._triplets.sample(n)
        same = self._coins.random(n) < 0.5
        second = np.where(same, triplets[:, 1], triplets[:, 2])
        return np.column_stack([triplets[:, 0], second, same]).astype(np.int32)

    draw = sample  # its name up to 1.1


def class_codes(y: Array) -> tuple[Longs, Longs]:
    """Number the classes, in the order of the labels, and count their rows; refuse what nothing can be learned from."""
    labels, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    if len(labels) < 2:
        raise ValueError("y has fewer than two classes: give rows of at least two classes")
    if sizes.max() < 2:
        raise ValueError("no class of y has two rows: give at least two rows of some class")
    return np.asarray(codes, dtype=np.int64), np.asarray(sizes, dtype=np.int64)


def check_triplets(triplets: ArrayLike, X: Matrix) -> Ints:
    """Return triplets of row numbers of X, or of ids of its index, as C-contiguous int32 rows, all of them checked."""
    return np.ascontiguousarray(named_rows(triplets, X, "triplets", "query, positive, negative"), dtype=np.int32)


def check_pairs(pairs: ArrayLike, same: ArrayLike, X: Matrix) -> Ints:
    """Return pairs of row numbers of X, or of ids of its index, as int32 rows (i, j, same), as of `PairSampler`."""
    array, alike = named_rows(pairs, X, "pairs", "i, j"), np.asarray(same)
    if alike.shape != (len(array),):
        raise ValueError(f"same must be one value per pair, an array of shape ({len(array)},), not {alike.shape}")
    if not np.isin(alike, (0, 1)).all():
        raise ValueError("same must be True (or 1) for pairs that belong together, and False (or 0) for the others")
    return np.ascontiguousarray(np.column_stack([array, alike.astype(np.int32)]), dtype=np.int32)


def stream_key(seed: int, *key: int) -> NDArray[np.uint64]:
    """Return what names a random stream of the compiled samplers, of which every triplet has one of its own."""
    return seed_sequence(seed, *key).generate_state(2, np.uint64).astype(np.uint64)
