"""Compiled loops of the sampler of Deep Ranking: weighted reservoirs, and triplets drawn from graded relevance.

Every triplet has a random stream of its own, named by its number, and every image offered to a reservoir another. So a
run that was stopped goes on with the very triplets it would have drawn.
"""

from __future__ import annotations

from math import log1p
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike.core.kernels import njit
from lookalike.datasets.query_kernels import below, pick, seed_row, uniform

DISCARDS = 1_000_000
"""Examples given up one after another before the sampler says that it finds no triplet."""

_LOWEST_KEY = -float(np.finfo(np.float64).max)
"""Key of an image without weight: below every other, however small its weight."""

Keys = NDArray[np.float64]


class Rows(NamedTuple):
    """Relevance as CSR, twice: each row by rising relevance with the running sums of its weights, and by image."""

    start: NDArray[np.int64]
    images: NDArray[np.int32]
    values: NDArray[np.float32]
    cumulative: NDArray[np.float64]
    images_in_order: NDArray[np.int32]
    values_in_order: NDArray[np.float32]


class Categories(NamedTuple):
    """Images by category; `place` is where an image stands in `members`."""

    of_image: NDArray[np.int32]
    start: NDArray[np.int64]
    members: NDArray[np.int32]
    place: NDArray[np.int32]


class Buffers(NamedTuple):
    """One reservoir for each category, twice: what is drawn from, and what is filled for the next time.

    `place` is where an image stands in what is drawn from, -1 for one that does not; `lowest` is the place of the
    smallest key in what is filled.
    """

    members: NDArray[np.int32]
    sizes: NDArray[np.int64]
    place: NDArray[np.int32]
    next_members: NDArray[np.int32]
    next_keys: Keys
    next_sizes: NDArray[np.int64]
    lowest: NDArray[np.int64]


class Choice(NamedTuple):
    """What kind of triplets is drawn: see `lookalike.learners.relevance_triplets.RelevanceTripletSampler`."""

    out_of_class: float
    weighted: bool
    positive_threshold: float
    margin: float
    tries: int


@njit(cache=True, nogil=True)
def _keeps_margin(positive: Any, negative: Any, margin: float) -> bool:
    """Whether the positive is the more relevant one, by the margin at least (equation 8)."""
    return bool(negative < positive and np.float64(positive) - np.float64(negative) >= margin)


@njit(cache=True, nogil=True)
def _end_of_negatives(rows: Rows, start: Any, positive: Any, margin: float) -> Any:
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
def _relevance_of(rows: Rows, query: Any, image: Any) -> Any:
    """Look the relevance of two images up; 0 where none is stored."""
    low, high = rows.start[query], rows.start[query + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if rows.images_in_order[middle] < image:
            low = middle + 1
        else:
            high = middle
    if low < end and rows.images_in_order[low] == image:
        return rows.values_in_order[low]
    return np.float32(0.0)


@njit(cache=True, nogil=True)
def _is_found(states: NDArray[np.uint64], share: float, tries: int) -> bool:
    """Whether one of `tries` draws, each accepted with probability `share`, is: decided by one number for them all."""
    return uniform(states, 0) < 1.0 - (1.0 - share) ** tries


@njit(cache=True, nogil=True)
def _draw_unlisted(states: NDArray[np.uint64], rows: Rows, members: NDArray[np.int32], query: Any) -> Any:
    """Draw uniformly from those of `members` whose relevance to the query is 0, of which there is one at least."""
    while True:
        image = members[below(states, 0, members.shape[0])]
        if image != query and _relevance_of(rows, query, image) == 0.0:
            return image


@njit(cache=True, nogil=True)
def _in_class_negative(
    states: NDArray[np.uint64], rows: Rows, categories: Categories, choice: Choice, query: Any, positive: Any
) -> Any:
    """Draw a negative of the query's category for the entry `positive` of the query's row; -1 where it is given up."""
    start = rows.start[query]
    if choice.weighted:
        end = _end_of_negatives(rows, start, positive, choice.margin)
        if end == start:
            return -1
        share = rows.cumulative[end - 1] / rows.cumulative[rows.start[query + 1] - 1]
        if not _is_found(states, share, choice.tries):
            return -1
        return rows.images[pick(states, 0, rows.cumulative, start, end)]
    category = categories.of_image[query]
    first = categories.start[category]
    size = categories.start[category + 1] - first
    end = _end_of_negatives(rows, start, positive, choice.margin)
    unlisted = size - 1 - (rows.start[query + 1] - start)
    if not _keeps_margin(rows.values[positive], np.float32(0.0), choice.margin):
        unlisted = 0
    n_possible = end - start + unlisted
    if n_possible == 0 or not _is_found(states, n_possible / (size - 1), choice.tries):
        return -1
    number = below(states, 0, n_possible)
    if number < end - start:
        return rows.images[start + number]
    return _draw_unlisted(states, rows, categories.members[first : first + size], query)


@njit(cache=True, nogil=True)
def draw_triplets(
    key: NDArray[np.uint64],
    first: int,
    rows: Rows,
    categories: Categories,
    queries: NDArray[np.int32],
    query_sums: NDArray[np.float64],
    choice: Choice,
    triplets: NDArray[np.int32],
) -> int:
    """Fill rows (p, p+, p-) of the stream `key` from number `first` on, all images being at hand.

    Parameters
    ----------
    key : (2,) uint64
    first : number of the first triplet
    rows, categories, choice
    queries : images that may be p; query_sums : running sums of their weights
    triplets : (n, 3) int32, overwritten

    Returns
    -------
    int
        How many rows were filled: fewer than n when `DISCARDS` examples in a row were given up.
    """
    states = np.empty(1, dtype=np.uint64)
    for i in range(triplets.shape[0]):
        seed_row(states, 0, key, first + i)
        outside = uniform(states, 0) < choice.out_of_class
        found = False
        for _ in range(DISCARDS):
            query: Any = np.int64(queries[pick(states, 0, query_sums, 0, query_sums.shape[0])])
            positive = pick(states, 0, rows.cumulative, rows.start[query], rows.start[query + 1])
            if outside:
                category = categories.of_image[query]
                start, end = categories.start[category], categories.start[category + 1]
                place = below(states, 0, categories.members.shape[0] - (end - start))
                negative: Any = categories.members[place + (end - start if place >= start else 0)]
            else:
                negative = _in_class_negative(states, rows, categories, choice, query, positive)
            if negative >= 0:
                triplets[i, 0] = query
                triplets[i, 1] = rows.images[positive]
                triplets[i, 2] = negative
                found = True
                break
        if not found:
            return int(i)
    return int(triplets.shape[0])


@njit(cache=True, nogil=True)
def finish(buffers: Buffers, category: Any) -> None:
    """Draw from now on from what a category's next buffer was filled with, and begin to fill it anew."""
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
def _offer(buffers: Buffers, image: Any, category: Any, weight: float, chance: float) -> None:
    """Offer one image; `chance` is uniform in [0, 1)."""
    key = _LOWEST_KEY
    if weight > 0.0:
        key = max(log1p(-chance) / weight, _LOWEST_KEY)
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
def offer_images(
    key: NDArray[np.uint64],
    first: int,
    images: NDArray[np.int32],
    categories: NDArray[np.int32],
    weights: NDArray[np.float64],
    buffers: Buffers,
) -> None:
    """Offer images one after another, the first of them being number `first` of the stream `key`."""
    states = np.empty(1, dtype=np.uint64)
    for i in range(images.shape[0]):
        seed_row(states, 0, key, first + i)
        _offer(buffers, images[i], categories[i], weights[i], uniform(states, 0))


@njit(cache=True, nogil=True)
def _weight(value: Any, choice: Choice) -> float:
    """Return the weight of an image as positive (equation 7), or 1 where all are drawn alike."""
    return min(choice.positive_threshold, np.float64(value)) if choice.weighted else 1.0


@njit(cache=True, nogil=True)
def _pick_in_buffer(
    states: NDArray[np.uint64], rows: Rows, place: NDArray[np.int32], start: Any, end: Any, total: float, choice: Choice
) -> Any:
    """Return an entry of [start, end) whose image is in its buffer, by weight; `total` is the sum of the weights."""
    target = uniform(states, 0) * total
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
def _total_in_buffer(rows: Rows, place: NDArray[np.int32], start: Any, end: Any, choice: Choice) -> float:
    total = 0.0
    for k in range(start, end):
        if place[rows.images[k]] >= 0:
            total += _weight(rows.values[k], choice)
    return total


@njit(cache=True, nogil=True)
def _in_buffer_negative(
    states: NDArray[np.uint64],
    rows: Rows,
    buffers: Buffers,
    category: Any,
    choice: Choice,
    query: Any,
    positive: Any,
    total: float,
) -> Any:
    """Draw a negative of the query's own buffer for the entry `positive` of the query's row; -1: given up."""
    start = rows.start[query]
    end = _end_of_negatives(rows, start, positive, choice.margin)
    below = _total_in_buffer(rows, buffers.place, start, end, choice)
    others = total
    unlisted = 0.0
    size = buffers.sizes[category]
    if not choice.weighted:
        others = size - 1.0
        if _keeps_margin(rows.values[positive], np.float32(0.0), choice.margin):
            unlisted = others - total
    possible = below + unlisted
    if possible == 0.0 or not _is_found(states, possible / others, choice.tries):
        return -1
    if unlisted > 0.0 and uniform(states, 0) * possible >= below:
        return _draw_unlisted(states, rows, buffers.members[category, :size], query)
    return rows.images[_pick_in_buffer(states, rows, buffers.place, start, end, below, choice)]


@njit(cache=True, nogil=True)
def _out_of_buffer_negative(
    states: NDArray[np.uint64], buffers: Buffers, buffer_start: NDArray[np.int64], category: Any
) -> Any:
    """Draw uniformly from the images of all other buffers; `buffer_start` are the running sums of their sizes."""
    n_categories = buffers.sizes.shape[0]
    size = buffers.sizes[category]
    number = below(states, 0, buffer_start[n_categories] - size)
    if number >= buffer_start[category]:
        number += size
    other = np.searchsorted(buffer_start, number, side="right") - 1
    return buffers.members[other, number - buffer_start[other]]


@njit(cache=True, nogil=True)
def draw_from_buffers(
    key: NDArray[np.uint64],
    first: int,
    offer_key: NDArray[np.uint64],
    offered: int,
    order: NDArray[np.int32],
    image_weights: NDArray[np.float64],
    rows: Rows,
    categories: Categories,
    category_sums: NDArray[np.float64],
    buffers: Buffers,
    choice: Choice,
    triplets: NDArray[np.int32],
) -> tuple[int, int]:
    """Fill rows (p, p+, p-) from number `first` on, all three from the buffers, which one image is offered before each.

    Parameters
    ----------
    key, offer_key : (2,) uint64, streams of the triplets and of the reservoirs
    first, offered : how many triplets were drawn and images offered before
    order : (n_images,) int32, in which a pass offers the images, category by category; image_weights : (n_images,)
    rows, categories, choice
    category_sums : running sums of the weights by which a buffer is chosen
    buffers : filled by one whole pass; overwritten
    triplets : (n, 3) int32, overwritten

    Returns
    -------
    filled, offered
        As in `draw_triplets`, and how many images have been offered since the beginning.
    """
    states = np.empty(1, dtype=np.uint64)
    offer_states = np.empty(1, dtype=np.uint64)
    buffer_start = np.zeros(buffers.sizes.shape[0] + 1, dtype=np.int64)
    buffer_start[1:] = np.cumsum(buffers.sizes)  # every pass fills a buffer to the same size
    for i in range(triplets.shape[0]):
        seed_row(states, 0, key, first + i)
        outside = uniform(states, 0) < choice.out_of_class
        found = False
        for _ in range(DISCARDS):
            at = offered % order.shape[0]
            seed_row(offer_states, 0, offer_key, offered)
            image = order[at]
            category = categories.of_image[image]
            _offer(buffers, image, category, image_weights[image], uniform(offer_states, 0))
            offered += 1
            if at + 1 == order.shape[0] or categories.of_image[order[at + 1]] != category:
                finish(buffers, category)
            category = pick(states, 0, category_sums, 0, category_sums.shape[0])
            query: Any = np.int64(buffers.members[category, below(states, 0, buffers.sizes[category])])
            start, end = rows.start[query], rows.start[query + 1]
            total = _total_in_buffer(rows, buffers.place, start, end, choice)
            if total == 0.0:
                continue
            positive = _pick_in_buffer(states, rows, buffers.place, start, end, total, choice)
            if outside:
                negative = _out_of_buffer_negative(states, buffers, buffer_start, category)
            else:
                negative = _in_buffer_negative(states, rows, buffers, category, choice, query, positive, total)
            if negative >= 0:
                triplets[i, 0] = query
                triplets[i, 1] = rows.images[positive]
                triplets[i, 2] = negative
                found = True
                break
        if not found:
            return i, offered
    return triplets.shape[0], offered
