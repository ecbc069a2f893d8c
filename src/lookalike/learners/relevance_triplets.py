"""Triplets from graded relevance: the online importance sampling of Deep Ranking, section 5.1.

Stands between the relevance data and whatever learns from triplets: the deep network, and OASIS and its kin too, as
the triplets are row numbers.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lookalike.learners._relevance_kernels as kernels
from lookalike.core.seeds import RandomState, as_seed
from lookalike.datasets.query_kernels import running_sums
from lookalike.datasets.relevance import RelevanceData

State = dict[str, NDArray[Any]]


class TripletReservoirs:
    """A buffer for each category that keeps a weighted sample, without replacement, of the images offered to it.

    Image j gets the key log(u) / r_j with u uniform, and a full buffer keeps the largest keys (Efraimidis and Spirakis
    2006; Deep Ranking, section 5.1). The paper prints u^(1 / r_j), which has the same order but rounds to 0 or 1 for
    small or large r_j. Keys hold for one pass over a category's images: with the largest of many passes a full buffer
    would hardly change any more. What is being filled is kept apart from what is drawn from until `finish`: a sample
    of the first images of a pass would favour them, whatever they weigh.

    Parameters
    ----------
    n_images : int
        Images are numbered 0 to n_images - 1.
    n_categories : int
    capacity : int
        Images a buffer, at least 1.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None

    Attributes
    ----------
    n_offered : int
        Images offered so far.

    Raises
    ------
    ValueError
        When a number is too small.
    """

    def __init__(self, n_images: int, n_categories: int, capacity: int, random_state: RandomState = None) -> None:
        if n_images < 1 or n_categories < 1 or capacity < 1:
            raise ValueError(
                f"reservoirs need an image, a category and a capacity of 1 at least, not {n_images}, {n_categories} "
                f"and {capacity}"
            )
        shape = (n_categories, min(capacity, n_images))
        self._key = _stream_key(as_seed(random_state), 1)
        self._buffers = kernels.Buffers(
            members=np.full(shape, -1, dtype=np.int32),
            sizes=np.zeros(n_categories, dtype=np.int64),
            place=np.full(n_images, -1, dtype=np.int32),
            next_members=np.full(shape, -1, dtype=np.int32),
            next_keys=np.zeros(shape),
            next_sizes=np.zeros(n_categories, dtype=np.int64),
            lowest=np.zeros(n_categories, dtype=np.int64),
        )
        self.n_offered = 0

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of `members` of each category: int64, shape (n_categories,)."""
        return self._buffers.sizes.copy()

    def finish(self, category: int | None = None) -> None:
        """End the pass over one category, or over all: `members` are from now on what was kept of its offers."""
        for one in range(len(self._buffers.sizes)) if category is None else (category,):
            kernels.finish(self._buffers, one)

    def offer(self, images: ArrayLike, categories: ArrayLike, weights: ArrayLike) -> None:
        """Offer images, each at most once before the next `finish`.

        Parameters
        ----------
        images, categories : array-like of int, shape (m,)
        weights : array-like of float, shape (m,)
            Not negative. An image of weight 0 is only kept where there is room to spare.

        Raises
        ------
        ValueError
            When lengths differ or a number is out of range.
        """
        rows = np.asarray(images, dtype=np.int32).reshape(-1)
        codes = np.asarray(categories, dtype=np.int32).reshape(-1)
        values = np.asarray(weights, dtype=np.float64).reshape(-1)
        if not len(rows) == len(codes) == len(values):
            raise ValueError("images, categories and weights must be equally long")
        if len(rows) and (rows.min() < 0 or rows.max() >= len(self._buffers.place)):
            raise ValueError(f"images must be numbers from 0 to {len(self._buffers.place) - 1}")
        if len(codes) and (codes.min() < 0 or codes.max() >= len(self._buffers.sizes)):
            raise ValueError(f"categories must be numbers from 0 to {len(self._buffers.sizes) - 1}")
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise ValueError("weights must be finite and not negative")
        kernels.offer_images(self._key, self.n_offered, rows, codes, values, self._buffers)
        self.n_offered += len(rows)

    def members(self, category: int) -> NDArray[np.int32]:
        """Return the images that the last finished pass left in a buffer, in no particular order."""
        return self._buffers.members[category, : self._buffers.sizes[category]].copy()

    def get_state(self) -> State:
        """Return all that `set_state` needs to go on from here."""
        state: State = {f"reservoir_{name}": array.copy() for name, array in self._buffers._asdict().items()}
        return state | {"reservoir_key": self._key.copy(), "n_offered": np.array(self.n_offered, dtype=np.int64)}

    def set_state(self, state: Mapping[str, ArrayLike]) -> None:
        """Go on from what `get_state` returned.

        Raises
        ------
        ValueError
            When it is of reservoirs of another size.
        """
        arrays = {name: np.asarray(state[f"reservoir_{name}"]) for name in self._buffers._fields}
        if any(arrays[name].shape != array.shape for name, array in self._buffers._asdict().items()):
            raise ValueError("this state is of reservoirs of another size: make them as they were made then")
        for name, array in self._buffers._asdict().items():
            array[...] = arrays[name]
        self._key = np.array(state["reservoir_key"], dtype=np.uint64)
        self.n_offered = int(np.asarray(state["n_offered"]))


class RelevanceTripletSampler:
    """Draw triplets (query, positive, negative) by relevance (Deep Ranking, section 5.1).

    A query p has probability proportional to its total relevance r_p (equation 6), its positive p+ to
    min(T_p, r(p, p+)) (equation 7). A coin decides on the kind of the negative p-. An out-of-class one is uniform over
    the images of all other categories. An in-class one is drawn like a positive, until
    r(p, p+) - r(p, p-) >= T_r and r(p, p-) < r(p, p+) (equation 8); when `tries` draws were in vain, the example is
    given up and another query and positive are drawn for the same kind of negative. So the share of out-of-class
    negatives is what was asked for, and examples with few possible negatives come up less often than equation 7 says.

    The margin is asked of in-class negatives alone, as the paper's algorithm does. Drawn like positives, they have a
    relevance above 0: images of the query's category of which no relevance is known are never called less relevant,
    except where all images are drawn alike.

    The paper accepts a positive that was drawn uniformly with probability min(1, r(p, p+) / r_{p+}), about one in as
    many as there are images; here the same distribution is drawn from directly, and the tries are decided by one
    number.

    Parameters
    ----------
    relevance : RelevanceData
    out_of_class : float, default=0.2
        Share of triplets with an out-of-class negative, 0 to 1.
    weighted : bool, default=True
        False draws images uniformly ("uniform sampling" in section 6 and Figure 6): queries from those that have a
        relevance above 0 to any other, positives from the images of which the query has one, in-class negatives from
        all other images of the category, relevance 0 included. Order and margin hold all the same.
    capacity : int, optional
        Images a buffer. By default all images are at hand, and the distribution is exact. With a capacity, one image
        is offered to weighted reservoirs (`TripletReservoirs`) for each example drawn, category by category, over and
        over; all three images come from the buffers: a buffer is chosen in proportion to its category's total
        relevance, the query uniformly from it. That is proportional to r_p only as long as the buffer is much smaller
        than the category; a buffer that holds all of it draws queries uniformly.
    positive_threshold : float, default=inf
        T_p, above 0.
    margin : float, default=0.05
        T_r, not negative.
    tries : int, default=50
        Draws of an in-class negative before its example is given up.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        An integer fixes the stream; a generator gives one number that seeds it.

    Attributes
    ----------
    n_without_positive_ : int
        Images that are never a query, as they have no relevance above 0 to any other.

    Raises
    ------
    ValueError
        When an argument is out of range, or there can be no triplet of a kind that is asked for.

    Notes
    -----
    T_p, T_r, the size of the buffers, the number of tries and how a buffer is chosen are not printed.

    Examples
    --------
    >>> data = RelevanceData.from_pairs([7, 8, 9], ["a", "a", "b"], [7], [8], [1.0])
    >>> RelevanceTripletSampler(data, out_of_class=1.0, random_state=0).draw(2).shape
    (2, 3)
    """

    def __init__(
        self,
        relevance: RelevanceData,
        *,
        out_of_class: float = 0.2,
        weighted: bool = True,
        capacity: int | None = None,
        positive_threshold: float = math.inf,
        margin: float = 0.05,
        tries: int = 50,
        random_state: RandomState = None,
    ) -> None:
        _check_arguments(out_of_class, capacity, positive_threshold, margin, tries)
        seed = as_seed(random_state)
        self._choice = kernels.Choice(
            float(out_of_class), bool(weighted), float(positive_threshold), float(margin), int(tries)
        )
        self._rows = _rows(relevance, self._choice)
        self._categories = _categories(relevance)
        self._image_weights = relevance.total if weighted else np.ones(relevance.n_images)
        self._check_possible(relevance, capacity)
        possible = relevance.total > 0
        self.n_without_positive_ = int(np.count_nonzero(~possible))
        self._queries = np.flatnonzero(possible).astype(np.int32)
        self._query_sums = np.cumsum(self._image_weights[possible])
        self._category_sums = np.cumsum(
            np.bincount(relevance.category, self._image_weights * possible, minlength=relevance.n_categories)
        ).astype(np.float64)
        self._settings = _settings(relevance, self._choice, capacity)
        self._key = _stream_key(seed, 0)
        self._drawn = 0
        self._reservoirs: TripletReservoirs | None = None
        if capacity is not None:
            largest = int(np.diff(self._categories.start).max())
            self._reservoirs = TripletReservoirs(
                relevance.n_images, relevance.n_categories, min(capacity, largest), random_state=seed
            )
            self._order = _order(self._key, self._categories)
            self._reservoirs.offer(self._order, relevance.category[self._order], self._image_weights[self._order])
            self._reservoirs.finish()

    def draw(self, n: int) -> NDArray[np.int32]:
        """Return the next `n` triplets of the stream; ``draw(a)`` and ``draw(b)`` are the rows of ``draw(a + b)``.

        Parameters
        ----------
        n : int
            How many, not negative.

        Returns
        -------
        numpy.ndarray of shape (n, 3), int32
            Rows (query, positive, negative) of the relevance data; ``relevance.image_id[rows]`` are the image ids.

        Raises
        ------
        ValueError
            When no triplet is found among a million examples.
        """
        if n < 0:
            raise ValueError(f"cannot draw {n} triplets: give a count that is not negative")
        triplets = np.empty((n, 3), dtype=np.int32)
        if self._reservoirs is None:
            filled = kernels.draw_triplets(
                self._key,
                self._drawn,
                self._rows,
                self._categories,
                self._queries,
                self._query_sums,
                self._choice,
                triplets,
            )
        else:
            filled, self._reservoirs.n_offered = kernels.draw_from_buffers(
                self._key,
                self._drawn,
                self._reservoirs._key,
                self._reservoirs.n_offered,
                self._order,
                self._image_weights,
                self._rows,
                self._categories,
                self._category_sums,
                self._reservoirs._buffers,
                self._choice,
                triplets,
            )
        self._drawn += filled
        if filled < n:
            raise ValueError(
                f"no triplet was found among {kernels.DISCARDS} examples: lower the margin ({self._choice.margin}) or "
                "raise the number of tries, or the capacity where one is given"
            )
        return triplets

    def get_state(self) -> State:
        """Return plain arrays from which `set_state` goes on with the very next triplet."""
        state: State = {
            "settings": self._settings.copy(),
            "key": self._key.copy(),
            "drawn": np.array(self._drawn, dtype=np.int64),
        }
        return state if self._reservoirs is None else state | self._reservoirs.get_state()

    def set_state(self, state: Mapping[str, ArrayLike]) -> None:
        """Go on from what `get_state` returned; the random state of this sampler is replaced.

        Raises
        ------
        ValueError
            When the state is of other relevance data or another choice of arguments.
        """
        if not np.array_equal(np.asarray(state["settings"]), self._settings):
            raise ValueError(
                "this state is of a sampler of other relevance data or with other settings: make the sampler as it "
                "was made then"
            )
        if self._reservoirs is not None:
            self._reservoirs.set_state(state)
        self._key = np.array(state["key"], dtype=np.uint64)
        self._drawn = int(np.asarray(state["drawn"]))
        if self._reservoirs is not None:
            self._order = _order(self._key, self._categories)

    def _check_possible(self, relevance: RelevanceData, capacity: int | None) -> None:
        """Raise where no triplet of a kind that is asked for exists."""
        choice = self._choice
        if not relevance.n_pairs:
            raise ValueError("no two images of one category have a relevance above 0: give relevance data with pairs")
        if choice.out_of_class > 0 and len(np.unique(relevance.category)) < 2:
            raise ValueError(
                "out-of-class negatives need images of two categories and there is one: set out_of_class to 0"
            )
        needed = 2 if choice.out_of_class == 1 else 3
        if capacity is not None and capacity < needed:
            raise ValueError(
                f"a buffer must have room for {needed} images that go into one triplet: raise capacity from {capacity}"
            )
        if choice.out_of_class < 1 and not self._has_in_class_negative():
            raise ValueError(
                f"no in-class negative is less relevant than a positive by the margin of {choice.margin}: lower the "
                "margin, or set out_of_class to 1"
            )

    def _has_in_class_negative(self) -> bool:
        start, sizes = self._rows.start, np.diff(self._categories.start)
        filled = np.flatnonzero(np.diff(start) > 0)
        lowest = self._rows.values[start[filled]].astype(np.float64)
        highest = self._rows.values[start[filled + 1] - 1].astype(np.float64)
        if not self._choice.weighted:
            others = sizes[self._categories.of_image[filled]] - 1
            lowest[np.diff(start)[filled] < others] = 0.0
        return bool(((highest > lowest) & (highest - lowest >= self._choice.margin)).any())


def _check_arguments(
    out_of_class: float, capacity: int | None, positive_threshold: float, margin: float, tries: int
) -> None:
    if not 0 <= out_of_class <= 1:
        raise ValueError(f"out_of_class is a share, from 0 to 1, not {out_of_class}")
    if not positive_threshold > 0:
        raise ValueError(f"positive_threshold must be above 0, not {positive_threshold}: no positive would be left")
    if not 0 <= margin < math.inf:
        raise ValueError(f"margin must be a number that is not negative, not {margin}")
    if tries < 1:
        raise ValueError(f"tries must be at least 1, not {tries}")
    if capacity is not None and capacity < 1:
        raise ValueError(f"capacity must be at least 1, or None for all images at once, not {capacity}")


def _rows(relevance: RelevanceData, choice: kernels.Choice) -> kernels.Rows:
    matrix = relevance.relevance
    start, in_order = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    # each row by rising relevance; equal ones stay in the order of the images
    by_relevance = np.lexsort((matrix.data, np.repeat(np.arange(len(start) - 1), np.diff(start))))
    images, values = in_order[by_relevance], matrix.data[by_relevance]
    if choice.weighted:
        weights = np.minimum(values.astype(np.float64), choice.positive_threshold)
    else:
        weights = np.ones(len(values))
    return kernels.Rows(start, images, values, running_sums(start, weights), in_order, matrix.data)


def _categories(relevance: RelevanceData) -> kernels.Categories:
    members = np.argsort(relevance.category, kind="stable").astype(np.int32)
    place = np.empty(relevance.n_images, dtype=np.int32)
    place[members] = np.arange(relevance.n_images, dtype=np.int32)
    start = np.zeros(relevance.n_categories + 1, dtype=np.int64)
    np.cumsum(np.bincount(relevance.category, minlength=relevance.n_categories), out=start[1:])
    return kernels.Categories(relevance.category, start, members, place)


def _settings(relevance: RelevanceData, choice: kernels.Choice, capacity: int | None) -> NDArray[np.float64]:
    """Return the numbers that tell this sampler from another: its arguments, and a checksum of the relevance."""
    matrix = relevance.relevance
    checksum = 0
    for array in (relevance.category, matrix.indptr, matrix.indices, matrix.data):
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return np.array([*choice, -1 if capacity is None else capacity, relevance.n_images, checksum], dtype=np.float64)


def _stream_key(seed: int, *key: int) -> NDArray[np.uint64]:
    return np.random.SeedSequence(seed, spawn_key=key).generate_state(2, np.uint64).astype(np.uint64)


def _order(key: NDArray[np.uint64], categories: kernels.Categories) -> NDArray[np.int32]:
    """Return the images category by category, the categories in a random order."""
    random = np.random.Generator(np.random.PCG64([int(part) for part in key]))
    turn = random.permutation(len(categories.start) - 1)
    return np.argsort(turn[categories.of_image], kind="stable").astype(np.int32)


def warm_up() -> None:
    """Compile the kernels (or load them from numba's cache), so that timed runs do not."""
    data = RelevanceData.from_pairs([0, 1, 2, 3], ["a", "a", "a", "b"], [0, 0, 1], [1, 2, 2], [1.0, 0.5, 0.2])
    for capacity in (None, 3):
        RelevanceTripletSampler(data, capacity=capacity, random_state=0).draw(1)
