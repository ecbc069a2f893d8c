"""Triplets from graded relevance: the online importance sampling of Deep Ranking, section 5.1.

Every triplet has a random stream of its own, named by its number, and every image offered to a reservoir another. So a
run that was stopped goes on with the very triplets it would have drawn.
"""

from __future__ import annotations

import copy
import math
import zlib
from typing import NamedTuple

import numpy as np

from lookalike.core.arrays import Doubles, Floats, Ints, Longs, States
from lookalike.core.kernels import njit
from lookalike.core.seeds import RandomState, as_seed
from lookalike.data.query_kernels import below, first_above, pick, running_sums, seed_row, uniform
from lookalike.data.relevance import RelevanceData
from lookalike.learners.triplets import stream_key

DISCARDS = 1_000_000
"""Examples given up one after another before the sampler says that it finds no triplet."""

_LOWEST_KEY = -float(np.finfo(np.float64).max)
"""Key of an image without weight: below every other, however small its weight."""


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

    Images are drawn by these weights, or all alike where they are not `weighted` ("uniform sampling" in section 6 and
    Figure 6): queries from those that have a relevance above 0 to any other, positives from the images of which the
    query has one, in-class negatives from all other images of the category, relevance 0 included. Order and margin hold
    all the same.

    By default all images are at hand, and the distribution is exact. With a `capacity` of images a buffer, one image is
    offered to weighted reservoirs (`Buffers`) for each example drawn, category by category, over and over; all three
    images come from the buffers: a buffer is chosen in proportion to its category's total relevance, the query
    uniformly from it. That is proportional to r_p only as long as the buffer is much smaller than the category; a
    buffer that holds all of it draws queries uniformly.

    T_p (`positive_threshold`), T_r (`margin`), the size of the buffers, the number of tries and how a buffer is chosen
    are not printed. An argument out of range, or a kind of triplets of which there can be none, is a ValueError.
    """

    n_without_positive_: int
    """Images that are never a query, as they have no relevance above 0 to any other."""

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
        rules = {
            f"out_of_class is a share, from 0 to 1, not {out_of_class}": 0 <= out_of_class <= 1,
            f"positive_threshold must be above 0, not {positive_threshold}: no positive is left": positive_threshold
            > 0,
            f"margin must be a number that is not negative, not {margin}": 0 <= margin < math.inf,
            f"tries must be at least 1, not {tries}": tries >= 1,
            f"capacity must be at least 1, or None for all images, not {capacity}": capacity is None or capacity >= 1,
        }
        for broken in (sentence for sentence, holds in rules.items() if not holds):
            raise ValueError(broken)
        seed = as_seed(random_state)
        self._choice = TripletRule(
            float(out_of_class), bool(weighted), float(positive_threshold), float(margin), int(tries)
        )
        self._rows = _rows(relevance, self._choice)
        self._categories = _categories(relevance)
        self._check_possible(relevance, capacity)
        possible = relevance.total > 0
        weights = relevance.total if weighted else np.ones(relevance.n_images)
        by_category = np.bincount(relevance.category, weights * possible, minlength=relevance.n_categories)
        self._queries = Queries(
            np.flatnonzero(possible).astype(np.int32),
            np.cumsum(weights[possible]),
            np.cumsum(by_category).astype(np.float64),
        )
        self.n_without_positive_ = int(np.count_nonzero(~possible))
        self._checksum = _checksum(relevance, self._choice, capacity)
        self._key = stream_key(seed, 0)
        self._drawn = 0
        order = _order(self._key, self._categories)
        self._offers = Offers(stream_key(seed, 1), order, weights, np.zeros(1, dtype=np.int64))
        self._buffers = _empty_buffers(self._categories, capacity)
        if capacity is not None:
            offer_images(self._offers, self._categories, self._buffers, relevance.n_images)

    def sample(self, n: int) -> Ints:
        """Return the next `n` triplets, int32 rows (query, positive, negative) of ``relevance.image_id``.

        ``sample(a)`` and ``sample(b)`` are the rows of ``sample(a + b)``.
        """
        if n < 0:
            raise ValueError(f"cannot sample {n} triplets: give a count that is not negative")
        triplets = np.empty((n, 3), dtype=np.int32)
        source = self._rows, self._categories, self._queries, self._choice, self._offers, self._buffers
        filled = sample_triplets(self._key, self._drawn, *source, DISCARDS, triplets)
        self._drawn += filled
        if filled < n:
            raise ValueError(
                f"no triplet was found among {DISCARDS} examples: lower the margin ({self._choice.margin}) or "
                "raise the number of tries, or the capacity where one is given"
            )
        return triplets

    draw = sample  # its name up to 1.1

    def offered(self) -> tuple[int, Buffers]:
        """Return how many images were offered to the buffers so far, and a copy of the buffers."""
        return int(self._offers.n_offered[0]), copy.deepcopy(self._buffers)

    def fingerprint(self) -> int:
        """Return a checksum of what decides which triplets come: relevance, arguments, seed, and how many came."""
        return zlib.crc32(np.append(self._key, np.uint64(self._drawn)).data, self._checksum)

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
            others = sizes[self._categories.by_image[filled]] - 1
            lowest[np.diff(start)[filled] < others] = 0.0
        return bool(((highest > lowest) & (highest - lowest >= self._choice.margin)).any())


def _rows(relevance: RelevanceData, choice: TripletRule) -> Relevance:
    matrix = relevance.relevance
    start, in_order = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    # each row by rising relevance; equal ones stay in the order of the images
    by_relevance = np.lexsort((matrix.data, np.repeat(np.arange(len(start) - 1), np.diff(start))))
    images, values = in_order[by_relevance], matrix.data[by_relevance]
    if choice.weighted:
        weights = np.minimum(values.astype(np.float64), choice.positive_threshold)
    else:
        weights = np.ones(len(values))
    return Relevance(start, images, values, running_sums(start, weights), in_order, matrix.data)


def _categories(relevance: RelevanceData) -> Categories:
    members = np.argsort(relevance.category, kind="stable").astype(np.int32)
    start = np.zeros(relevance.n_categories + 1, dtype=np.int64)
    np.cumsum(np.bincount(relevance.category, minlength=relevance.n_categories), out=start[1:])
    return Categories(relevance.category, start, members)


def _checksum(relevance: RelevanceData, choice: TripletRule, capacity: int | None) -> int:
    """Return a checksum of the arguments and the relevance."""
    matrix = relevance.relevance
    checksum = 0
    # of numbers of one width: SciPy chooses that of a matrix by its size
    places = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    arguments = np.array([*choice, -1 if capacity is None else capacity], dtype=np.float64)
    for array in (arguments, relevance.category, *places, matrix.data):
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum


def _empty_buffers(categories: Categories, capacity: int | None) -> Buffers:
    """Return buffers in which nothing is; none without a capacity."""
    sizes = np.diff(categories.start) if capacity is not None else np.empty(0, dtype=np.int64)
    shape = (len(sizes), min(capacity or 0, int(sizes.max(initial=0))))
    return Buffers(
        members=np.full(shape, -1, dtype=np.int32),
        sizes=np.zeros(len(sizes), dtype=np.int64),
        place=np.full(len(categories.members), -1, dtype=np.int32),
        next_members=np.full(shape, -1, dtype=np.int32),
        next_keys=np.zeros(shape),
        next_sizes=np.zeros(len(sizes), dtype=np.int64),
        lowest=np.zeros(len(sizes), dtype=np.int64),
    )


def _order(key: States, categories: Categories) -> Ints:
    """Return the images category by category, the categories in a random order."""
    random = np.random.Generator(np.random.PCG64([int(part) for part in key]))
    turn = random.permutation(len(categories.start) - 1)
    return np.argsort(turn[categories.by_image], kind="stable").astype(np.int32)


class Relevance(NamedTuple):
    """Relevance as CSR, twice: each row by rising relevance with the running sums of its weights, and by image."""

    start: Longs
    images: Ints
    values: Floats
    cumulative: Doubles
    images_in_order: Ints
    values_in_order: Floats


class Categories(NamedTuple):
    """Images by category."""

    by_image: Ints
    start: Longs
    members: Ints


class Queries(NamedTuple):
    """Images that may be queries, the running sums of their weights, and those of the categories' weights."""

    images: Ints
    sums: Doubles
    category_sums: Doubles


class Buffers(NamedTuple):
    """A reservoir for each category, a weighted sample without replacement, twice: drawn from, and being filled."""

    # what is being filled is not drawn from until its pass over the category ends: the first images of a pass would be
    # favoured; and keys hold for one pass, since with the largest of many a full buffer would hardly change any more
    members: Ints
    sizes: Longs
    place: Ints  # where an image stands in what is drawn from, or -1
    next_members: Ints
    next_keys: Doubles
    next_sizes: Longs
    lowest: Longs  # place of the smallest key in what is filled


class Offers(NamedTuple):
    """What is offered to the buffers: all images in `order`, category by category, over and over."""

    key: States
    order: Ints
    weights: Doubles
    n_offered: Longs  # one number, counted up by the kernels


class TripletRule(NamedTuple):
    """What kind of triplets is drawn: see `RelevanceTripletSampler`."""

    out_of_class: float
    weighted: bool
    positive_threshold: float
    margin: float
    tries: int


@njit(cache=True, nogil=True)
def _keeps_margin(positive: np.floating, negative: np.floating, margin: float) -> bool:
    """Tell whether the positive is the more relevant one, by the margin at least (equation 8)."""
    return bool(negative < positive and np.float64(positive) - np.float64(negative) >= margin)


@njit(cache=True, nogil=True)
def _end_of_negatives(rows: Relevance, start: int, positive: int, margin: float) -> int:
    """Return where the negatives that keep the margin to the entry `positive` of its row end."""
    low, high = start, positive
    while low < high:
        middle = (low + high) >> 1
        if _keeps_margin(rows.values[positive], rows.values[middle], margin):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _relevance_of(rows: Relevance, query: int, image: int) -> np.float32:
    """Look the relevance of two images up; 0 where none is stored."""
    start, end = rows.start[query], rows.start[query + 1]
    at = first_above(rows.images_in_order, start, end, image - 1)
    return rows.values_in_order[at] if at < end and rows.images_in_order[at] == image else np.float32(0.0)


@njit(cache=True, nogil=True)
def _is_found(states: States, share: float, tries: int) -> bool:
    """Tell whether one of `tries` draws, each accepted with probability `share`, is, by one number for them all."""
    return uniform(states) < 1.0 - (1.0 - share) ** tries


@njit(cache=True, nogil=True)
def _sample_unlisted(states: States, rows: Relevance, members: Ints, query: int) -> int:
    """Draw uniformly from those of `members` whose relevance to the query is 0, of which there is one at least."""
    while True:
        image = int(members[below(states, members.shape[0])])
        if image != query and _relevance_of(rows, query, image) == 0.0:
            return image


@njit(cache=True, nogil=True)
def _out_of_class_negative(states: States, categories: Categories, query: int) -> int:
    """Draw uniformly from the images of all other categories."""
    category = categories.by_image[query]
    start, end = categories.start[category], categories.start[category + 1]
    place = below(states, categories.members.shape[0] - (end - start))
    return int(categories.members[place + (end - start if place >= start else 0)])


@njit(cache=True, nogil=True)
def _in_class_negative(
    states: States, rows: Relevance, categories: Categories, choice: TripletRule, query: int, positive: int
) -> int:
    """Draw a negative of the query's category for the entry `positive` of the query's row; -1 where it is given up."""
    start = rows.start[query]
    end = _end_of_negatives(rows, start, positive, choice.margin)
    if choice.weighted:
        if end == start:
            return -1
        share = rows.cumulative[end - 1] / rows.cumulative[rows.start[query + 1] - 1]
        if not _is_found(states, share, choice.tries):
            return -1
        return int(rows.images[pick(states, rows.cumulative, start, end)])
    category = categories.by_image[query]
    first = categories.start[category]
    size = categories.start[category + 1] - first
    unlisted = size - 1 - (rows.start[query + 1] - start)
    if not _keeps_margin(rows.values[positive], np.float32(0.0), choice.margin):
        unlisted = 0
    n_possible = end - start + unlisted
    if n_possible == 0 or not _is_found(states, n_possible / (size - 1), choice.tries):
        return -1
    number = below(states, n_possible)
    if number < end - start:
        return int(rows.images[start + number])
    return _sample_unlisted(states, rows, categories.members[first : first + size], query)


@njit(cache=True, nogil=True, inline="always")
def _offer_next(states: States, offers: Offers, categories: Categories, buffers: Buffers) -> None:
    """Offer the image whose turn it is; one of weight 0 is only kept where there is room."""
    at = offers.n_offered[0] % offers.order.shape[0]
    seed_row(states, offers.key, offers.n_offered[0])
    offers.n_offered[0] += 1
    image = offers.order[at]
    category = categories.by_image[image]
    key = _LOWEST_KEY
    # Efraimidis and Spirakis 2006; the paper's u^(1 / r_j) has the same order but rounds to 0 or 1
    if offers.weights[image] > 0.0:
        key = max(math.log1p(-uniform(states)) / offers.weights[image], _LOWEST_KEY)
    _keep_largest(buffers, image, category, key)
    if at + 1 == offers.order.shape[0] or categories.by_image[offers.order[at + 1]] != category:
        _end_pass(buffers, category)


@njit(cache=True, nogil=True)
def _keep_largest(buffers: Buffers, image: int, category: int, key: float) -> None:
    """Put an image into what is being filled, where there is room or its key is not the smallest."""
    keys = buffers.next_keys[category]
    at, low = buffers.next_sizes[category], buffers.lowest[category]
    if at < keys.shape[0]:
        buffers.next_sizes[category] += 1
    elif key > keys[low]:
        at = low
    else:
        return
    buffers.next_members[category, at] = image
    keys[at] = key
    if at == low:
        for other in range(buffers.next_sizes[category]):
            if keys[other] < keys[low]:
                low = other
        buffers.lowest[category] = low
    elif key < keys[low]:
        buffers.lowest[category] = at


@njit(cache=True, nogil=True)
def _end_pass(buffers: Buffers, category: int) -> None:
    """Draw from now on from what a category's next buffer was filled with, and begin to fill it again."""
    for at in range(buffers.sizes[category]):
        buffers.place[buffers.members[category, at]] = -1
    size = buffers.next_sizes[category]
    for at in range(size):
        image = buffers.next_members[category, at]
        buffers.members[category, at] = image
        buffers.place[image] = at
    buffers.sizes[category] = size
    buffers.next_sizes[category] = 0
    buffers.lowest[category] = 0


@njit(cache=True, nogil=True)
def offer_images(offers: Offers, categories: Categories, buffers: Buffers, n: int) -> None:
    """Offer the next n images, one after another."""
    states = np.empty(1, dtype=np.uint64)
    for _ in range(n):
        _offer_next(states, offers, categories, buffers)


@njit(cache=True, nogil=True)
def _weight(value: np.float32, choice: TripletRule) -> float:
    """Return the weight of an image as positive (equation 7), or 1 where all are drawn alike."""
    return min(choice.positive_threshold, np.float64(value)) if choice.weighted else 1.0


@njit(cache=True, nogil=True)
def _total_in_buffer(rows: Relevance, place: Ints, start: int, end: int, choice: TripletRule) -> float:
    total = 0.0
    for k in range(start, end):
        if place[rows.images[k]] >= 0:
            total += _weight(rows.values[k], choice)
    return total


@njit(cache=True, nogil=True)
def _pick_in_buffer(
    chance: float, rows: Relevance, place: Ints, start: int, end: int, total: float, choice: TripletRule
) -> int:
    """Return an entry of [start, end) whose image is in its buffer, by weight; `total` is the sum of the weights."""
    target = chance * total
    last = start
    reached = 0.0
    for k in range(start, end):
        if place[rows.images[k]] >= 0:
            reached += _weight(rows.values[k], choice)
            last = k
            if reached > target:
                break
    return last


@njit(cache=True, nogil=True)
def _in_buffer_negative(
    states: States,
    rows: Relevance,
    buffers: Buffers,
    category: int,
    choice: TripletRule,
    query: int,
    positive: int,
    total: float,
) -> int:
    """Draw a negative of the query's own buffer for the entry `positive` of the query's row; -1: given up."""
    start = rows.start[query]
    end = _end_of_negatives(rows, start, positive, choice.margin)
    listed = _total_in_buffer(rows, buffers.place, start, end, choice)
    others = total
    unlisted = 0.0
    size = buffers.sizes[category]
    if not choice.weighted:
        others = size - 1.0
        if _keeps_margin(rows.values[positive], np.float32(0.0), choice.margin):
            unlisted = others - total
    possible = listed + unlisted
    if possible == 0.0 or not _is_found(states, possible / others, choice.tries):
        return -1
    if unlisted > 0.0 and uniform(states) * possible >= listed:
        return _sample_unlisted(states, rows, buffers.members[category, :size], query)
    return int(rows.images[_pick_in_buffer(uniform(states), rows, buffers.place, start, end, listed, choice)])


@njit(cache=True, nogil=True)
def _out_of_buffer_negative(states: States, buffers: Buffers, buffer_start: Longs, category: int) -> int:
    """Draw uniformly from the images of all other buffers; `buffer_start` are the running sums of their sizes."""
    size = buffers.sizes[category]
    number = below(states, buffer_start[-1] - size)
    if number >= buffer_start[category]:
        number += size
    other = first_above(buffer_start, 0, buffer_start.shape[0], number) - 1
    return int(buffers.members[other, number - buffer_start[other]])


@njit(cache=True, nogil=True)
def sample_triplets(
    key: States,
    first: int,
    rows: Relevance,
    categories: Categories,
    queries: Queries,
    choice: TripletRule,
    offers: Offers,
    buffers: Buffers,
    discards: int,
    triplets: Ints,
) -> int:
    """Fill rows (p, p+, p-) from number `first` on, until `discards` examples in a row fail; return how many there are.

    All images are at hand, or where there are buffers theirs, which one image is offered before each example.
    """
    states, offering = np.empty(1, dtype=np.uint64), np.empty(1, dtype=np.uint64)
    buffer_start = np.zeros(buffers.sizes.shape[0] + 1, dtype=np.int64)
    for k in range(buffers.sizes.shape[0]):  # every pass fills a buffer to the same size
        buffer_start[k + 1] = buffer_start[k] + buffers.sizes[k]
    for i in range(triplets.shape[0]):
        seed_row(states, key, first + i)
        outside = uniform(states) < choice.out_of_class
        for _ in range(discards):
            negative = -1
            if buffers.sizes.shape[0] == 0:
                query = int(queries.images[pick(states, queries.sums, 0, queries.sums.shape[0])])
                positive = pick(states, rows.cumulative, rows.start[query], rows.start[query + 1])
                if outside:
                    negative = _out_of_class_negative(states, categories, query)
                else:
                    negative = _in_class_negative(states, rows, categories, choice, query, positive)
            else:
                _offer_next(offering, offers, categories, buffers)
                category = pick(states, queries.category_sums, 0, queries.category_sums.shape[0])
                query = int(buffers.members[category, below(states, buffers.sizes[category])])
                start, end = rows.start[query], rows.start[query + 1]
                total = _total_in_buffer(rows, buffers.place, start, end, choice)
                if total == 0.0:
                    continue
                positive = _pick_in_buffer(uniform(states), rows, buffers.place, start, end, total, choice)
                if outside:
                    negative = _out_of_buffer_negative(states, buffers, buffer_start, category)
                else:
                    negative = _in_buffer_negative(states, rows, buffers, category, choice, query, positive, total)
            if negative >= 0:
                triplets[i, 0], triplets[i, 1], triplets[i, 2] = query, rows.images[positive], negative
                break
        else:
            return int(i)
    return int(triplets.shape[0])


def warm_up() -> None:
    """Compile the kernels (or load them from numba's cache), so that timed runs do not."""
    data = RelevanceData.from_pairs([0, 1, 2, 3], ["a", "a", "a", "b"], [0, 0, 1], [1, 2, 2], [1.0, 0.5, 0.2])
    RelevanceTripletSampler(data, capacity=3, random_state=0).sample(1)
