"""Compiled loops over a query log: joint relevance of image pairs, and triplets drawn without the image-image matrix.

The relevance of two images is a sum over the queries they share, R(q, p1) R(q, p2) factor(q). With factor
1 / (S_q S), where S_q is the sum of R over the images of q and S that over everything, it is Pr(p1, p2) (2009 draft,
equation 19); with factor 1 it is C'C of click counts (NIPS 2009, section 4.1). Every kernel adds the same products in
the same order, queries ascending, so one that compares a relevance with a threshold agrees with any other to the bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike.core.kernels import mix, njit

Numbers = NDArray[np.int32]
Places = NDArray[np.int64]
Floats = NDArray[np.float64]
States = NDArray[np.uint64]
Index = int | np.int64  # kernels compile once more for int32 numbers, so those that arrays hold are widened first
BLOCK = 256  # triplets drawn side by side; any number gives the same triplets
kernel = njit(cache=True, nogil=True)


class Incidence(NamedTuple):
    """A query log as CSR both ways; images ascending within a query, queries ascending within an image."""

    query_start: Places
    query_images: Numbers
    query_weights: Floats
    image_start: Places
    image_queries: Numbers
    image_weights: Floats
    factor: Floats


class Proposal(NamedTuple):
    """Running sums within rows from which q ~ Pr(q | p) and p+ ~ Pr(. | q) are drawn."""

    by_image: Floats
    by_query: Floats


class Lists(NamedTuple):
    """Positives written out for the images of which few proposals would be accepted."""

    slot: Numbers  # number of each image's list, -1 for the others
    start: Places
    images: Numbers
    cumulative: Floats  # within each list


@kernel
def running_sums(start: Places, values: Floats) -> Floats:
    """Return the running sums within each row: exact to the row, where one long sum would lose the small rows."""
    sums = np.empty(values.shape[0], dtype=np.float64)
    for row in range(start.shape[0] - 1):
        total = 0.0
        for k in range(start[row], start[row + 1]):
            total += values[k]
            sums[k] = total
    return sums


@kernel
def relevance_of(log: Incidence, p1: Index, p2: Index) -> tuple[float, int]:
    """Merge the query lists of two images; return their relevance and how many queries they share."""
    a, a_end = log.image_start[p1], log.image_start[p1 + 1]
    b, b_end = log.image_start[p2], log.image_start[p2 + 1]
    total = 0.0
    shared = 0
    while a < a_end and b < b_end:
        qa, qb = log.image_queries[a], log.image_queries[b]
        if qa < qb:
            a += 1
        elif qa > qb:
            b += 1
        else:
            total += log.image_weights[a] * log.image_weights[b] * log.factor[qa]
            shared += 1
            a += 1
            b += 1
    return total, shared


@kernel
def relevance_of_pairs(log: Incidence, p1: Places, p2: Places) -> Floats:
    """Return the relevance of many pairs."""
    values = np.empty(p1.shape[0], dtype=np.float64)
    for i in range(p1.shape[0]):
        values[i] = relevance_of(log, p1[i], p2[i])[0]
    return values


@kernel
def relevant_to(log: Incidence, image: Index, theta: float) -> tuple[Numbers, Floats]:
    """Return the other images with a relevance above `theta`, ascending, and the relevances, by merging."""
    first = log.image_start[image]
    queries = log.image_queries[first : log.image_start[image + 1]]
    place = np.empty(queries.shape[0], dtype=np.int64)  # up to where the images of each query are merged
    length = 0
    for k in range(queries.shape[0]):
        place[k] = log.query_start[queries[k]]
        length += log.query_start[queries[k] + 1] - place[k]
    images = np.empty(length, dtype=np.int32)
    values = np.empty(length, dtype=np.float64)
    n_images = log.image_start.shape[0] - 1
    n = 0
    while True:
        other: Index = n_images
        for k in range(queries.shape[0]):
            if place[k] < log.query_start[queries[k] + 1]:
                candidate = np.int64(log.query_images[place[k]])
                other = candidate if candidate < other else other
        if other == n_images:
            return images[:n], values[:n]
        total = 0.0
        for k in range(queries.shape[0]):
            q, j = queries[k], place[k]
            if j < log.query_start[q + 1] and log.query_images[j] == other:
                total += log.image_weights[first + k] * log.query_weights[j] * log.factor[q]
                place[k] = j + 1
        if other != image and total > theta:
            images[n] = other
            values[n] = total
            n += 1


@kernel
def _accumulate(log: Incidence, image: Index, value: Floats, touched: Numbers) -> int:
    """Add an image's relevances up in `value`, which is zero before; return how many images were touched."""
    n = 0
    for k in range(log.image_start[image], log.image_start[image + 1]):
        q = log.image_queries[k]
        weight = log.image_weights[k]
        for j in range(log.query_start[q], log.query_start[q + 1]):
            other = log.query_images[j]
            if value[other] == 0.0:
                touched[n] = other
                n += 1
            value[other] += weight * log.query_weights[j] * log.factor[q]
    return n


def stream(log: Incidence, images: Places, theta: float) -> tuple[Places, Floats]:
    """Return, for each of `images`, how many others are above `theta` and their share of a proposal's probability."""
    counts, accepted = np.zeros(len(images), dtype=np.int64), np.zeros(len(images))
    # images of one query after each other: what one touches the next finds near
    order = np.argsort(np.append(log.image_queries, 0)[log.image_start[images]])
    count_positives(log, images[order], theta, order, counts, accepted)
    return counts, accepted


@kernel
def count_positives(
    log: Incidence, images: Places, theta: float, order: Places, counts: Places, accepted: Floats
) -> None:
    """Do as `stream`, and write what is found of image i to place ``order[i]``."""
    n_images = log.image_start.shape[0] - 1
    value = np.zeros(n_images, dtype=np.float64)
    touched = np.empty(n_images, dtype=np.int32)
    for i in range(images.shape[0]):
        kept = 0.0
        total = 0.0
        for k in range(_accumulate(log, images[i], value, touched)):
            other = touched[k]
            total += value[other]
            if value[other] > theta and other != images[i]:
                kept += value[other]
                counts[order[i]] += 1
            value[other] = 0.0
        if total > 0.0:
            accepted[order[i]] = kept / total


@kernel
def write_lists(log: Incidence, chosen: Places, start: Places, theta: float, images: Numbers, sums: Floats) -> None:
    """Write the positives of the `chosen` images, row i from `start[i]` on, with the running sums of relevance."""
    n_images = log.image_start.shape[0] - 1
    value = np.zeros(n_images, dtype=np.float64)
    touched = np.empty(n_images, dtype=np.int32)
    for i in range(chosen.shape[0]):
        place = start[i]
        total = 0.0
        for k in range(_accumulate(log, chosen[i], value, touched)):
            other = touched[k]
            if value[other] > theta and other != chosen[i]:
                total += value[other]
                images[place] = other
                sums[place] = total
                place += 1
            value[other] = 0.0


@kernel
def seed_row(states: States, i: int, key: States, row: int) -> None:
    """Set generator `i` to where the numbers of a row of the stream `key` begin: rows are drawn in any order."""
    states[i] = mix(mix(np.uint64(row) + key[0]) ^ key[1])


@kernel
def uniform(states: States, i: int) -> float:
    """Return generator i's next number in [0, 1), a multiple of 2**-53: SplitMix64 (Steele, Lea and Flood 2014)."""
    states[i] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(mix(states[i]) >> np.uint64(11)) * 2.0**-53


@kernel
def below(states: States, i: int, n: int) -> int:
    """Return a whole number below n from one state."""
    return int(uniform(states, i) * n)  # below n for every n < 2**53


@kernel
def pick(states: States, i: int, cumulative: Floats, start: int, end: int) -> int:
    """Return a place of the row [start, end) with probability proportional to what its running sum grows by there."""
    if end - start == 1:
        return start
    # u * total may round up to the total: the last place is the answer then too
    return first_above(cumulative, start, end - 1, uniform(states, i) * cumulative[end - 1])


@kernel
def first_above(ascending: Any, start: int, end: int, value: Any) -> int:
    """Return the first place of [start, end) that holds more than `value`, or `end`, by bisection."""
    while start < end:
        middle = (start + end) >> 1
        if ascending[middle] > value:
            end = middle
        else:
            start = middle + 1
    return start


@kernel
def sample_pairs(key: States, log: Incidence, pair_sums: Floats, n: int) -> tuple[Floats, Floats]:
    """Return the relevances of `n` random pairs of images of a query, and weights that make all pairs count alike."""
    states = np.empty(1, dtype=np.uint64)
    values = np.empty(n, dtype=np.float64)
    weights = np.empty(n, dtype=np.float64)
    for row in range(n):
        seed_row(states, 0, key, row)
        q = pick(states, 0, pair_sums, 0, pair_sums.shape[0])
        start, length = log.query_start[q], log.query_start[q + 1] - log.query_start[q]
        a = below(states, 0, length)
        b = below(states, 0, length - 1)
        b += b >= a
        value, shared = relevance_of(log, np.int64(log.query_images[start + a]), np.int64(log.query_images[start + b]))
        values[row] = value
        weights[row] = 1.0 / shared  # a pair comes up once for each query that it shares
    return values, weights


@kernel
def _is_positive(log: Incidence, image: Index, other: Index, theta: float) -> bool:
    # two images of one query have a relevance above zero: nothing to compute
    return other != image and (theta == 0.0 or relevance_of(log, image, other)[0] > theta)


@kernel
def _positive(
    states: States, i: int, log: Incidence, proposal: Proposal, image: Index, theta: float, tries: int
) -> Index:
    """Propose until an image is accepted; after `tries`, draw from all that are above `theta`: as probable, faster."""
    for _ in range(tries):
        k = pick(states, i, proposal.by_image, log.image_start[image], log.image_start[image + 1])
        q = log.image_queries[k]
        place = pick(states, i, proposal.by_query, log.query_start[q], log.query_start[q + 1])
        other = np.int64(log.query_images[place])
        if _is_positive(log, image, other, theta):
            return other
    images, values = relevant_to(log, image, theta)
    for k in range(1, values.shape[0]):
        values[k] += values[k - 1]
    return np.int64(images[pick(states, i, values, 0, values.shape[0])])


@kernel
def _irrelevant(states: States, i: int, log: Incidence, image: Index, theta: float, tries: int) -> int:
    """Draw uniformly from the other images that are not above `theta`, of which there is one at least."""
    n_images = log.image_start.shape[0] - 1
    for _ in range(tries):
        other = below(states, i, n_images)
        if not (other == image or relevance_of(log, image, other)[0] > theta):
            return other
    excluded = relevant_to(log, image, theta)[0]
    place = below(states, i, n_images - excluded.shape[0] - 1)
    own = 1  # the image itself, in its place among the others
    for k in range(excluded.shape[0]):  # ascending: every excluded image at or below the place moves it up by one
        if own == 1 and image < excluded[k]:
            place, own = place + (1 if image <= place else 0), 0
        if excluded[k] <= place:
            place += 1
    return place + 1 if own == 1 and image <= place else place


@kernel
def _propose(block: Numbers, states: States, log: Incidence, proposal: Proposal, lists: Lists, slot: Numbers) -> None:
    """Write one proposal, or the draw from its list, beside every query image of a block."""
    # each loop reads far memory of one kind, so that the processor waits for many reads at once
    n = block.shape[0]
    begin, end = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(n):
        image = block[i, 0]
        slot[i], begin[i], end[i] = lists.slot[image], log.image_start[image], log.image_start[image + 1]
    for i in range(n):
        if slot[i] < 0:
            begin[i] = log.image_queries[pick(states, i, proposal.by_image, begin[i], end[i])]
    for i in range(n):
        start, row = (log.query_start, begin[i]) if slot[i] < 0 else (lists.start, np.int64(slot[i]))
        begin[i], end[i] = start[row], start[row + 1]
    for i in range(n):
        begin[i] = pick(states, i, proposal.by_query if slot[i] < 0 else lists.cumulative, begin[i], end[i])
    for i in range(n):
        block[i, 1] = log.query_images[begin[i]] if slot[i] < 0 else lists.images[begin[i]]


@kernel
def draw_triplets(
    key: States,
    first: int,
    log: Incidence,
    proposal: Proposal,
    lists: Lists,
    queries: Numbers,
    theta: float,
    tries: int,
    exclude_relevant: bool,
    triplets: Numbers,
) -> None:
    """Fill rows (p, p+, p-) of the stream `key` from row `first` on; every row is a function of key and its number."""
    n_images = log.image_start.shape[0] - 1
    states = np.empty(BLOCK, dtype=np.uint64)
    slot = np.empty(BLOCK, dtype=np.int32)
    for row in range(0, triplets.shape[0], BLOCK):
        block = triplets[row : row + BLOCK]
        for i in range(block.shape[0]):
            seed_row(states, i, key, first + row + i)
            block[i, 0] = queries[below(states, i, queries.shape[0])]
            block[i, 2] = below(states, i, n_images)
        _propose(block, states, log, proposal, lists, slot)
        for i in range(block.shape[0]):
            image, positive, negative = np.int64(block[i, 0]), np.int64(block[i, 1]), np.int64(block[i, 2])
            if slot[i] < 0 and not _is_positive(log, image, positive, theta):
                block[i, 1] = _positive(states, i, log, proposal, image, theta, tries - 1)
            if exclude_relevant and (negative == image or relevance_of(log, image, negative)[0] > theta):
                block[i, 2] = _irrelevant(states, i, log, image, theta, tries - 1)
