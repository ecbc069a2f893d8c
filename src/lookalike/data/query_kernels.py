"""Compiled loops over a query log: joint relevance of image pairs, and triplets sampled without the image-image matrix.

The relevance of two images is a sum over the queries they share, R(q, p1) R(q, p2) factor(q). With factor
1 / (S_q S), where S_q is the sum of R over the images of q and S that over everything, it is Pr(p1, p2) (2009 draft,
equation 19); with factor 1 it is C'C of click counts (NIPS 2009, section 4.1). Every kernel adds the same products in
the same order, queries ascending, so one that compares a relevance with a threshold agrees with any other to the bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.core.arrays import Array, Doubles, Ints, Longs, States
from lookalike.core.kernels import mix, njit

Index = int | np.int64  # kernels compile once more for int32 numbers, so those that arrays hold are widened first
kernel = njit(cache=True, nogil=True)


class Incidence(NamedTuple):
    """A query log as CSR both ways; images ascending within a query, queries ascending within an image."""

    query_start: Longs
    query_images: Ints
    query_weights: Doubles
    image_start: Longs
    image_queries: Ints
    image_weights: Doubles
    factor: Doubles


class Proposal(NamedTuple):
    """Running sums within rows from which q ~ Pr(q | p) and p+ ~ Pr(. | q) are sampled."""

    by_image: Doubles
    by_query: Doubles


class Lists(NamedTuple):
    """Positives written out for the images of which few proposals would be accepted."""

    slot: Ints  # number of each image's list, -1 for the others
    start: Longs
    images: Ints
    cumulative: Doubles  # within each list


@kernel
def running_sums(start: Longs, values: Doubles) -> Doubles:
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
def relevance_of_pairs(log: Incidence, p1: Longs, p2: Longs) -> Doubles:
    """Return the relevance of many pairs."""
    values = np.empty(p1.shape[0], dtype=np.float64)
    for i in range(p1.shape[0]):
        values[i] = relevance_of(log, p1[i], p2[i])[0]
    return values


@kernel
def relevant_to(log: Incidence, image: Index, theta: float) -> tuple[Ints, Doubles]:
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
def find_positives(
    log: Incidence, images: Longs, theta: float, start: Longs, listed: Ints, sums: Doubles
) -> tuple[Longs, Doubles]:
    """Return, for each of `images`, how many others are above `theta` and their share of a proposal's probability.

    Where there is room in `listed`, write them and the running sums of their relevance, row i from `start[i]` on.
    """
    n_images = log.image_start.shape[0] - 1
    value = np.zeros(n_images, dtype=np.float64)  # relevances of one image, of those that are touched
    touched = np.empty(n_images, dtype=np.int32)
    counts, accepted = np.zeros(images.shape[0], dtype=np.int64), np.zeros(images.shape[0])
    for i in range(images.shape[0]):
        n = 0
        for k in range(log.image_start[images[i]], log.image_start[images[i] + 1]):
            q = log.image_queries[k]
            weight = log.image_weights[k]
            for j in range(log.query_start[q], log.query_start[q + 1]):
                other = log.query_images[j]
                if value[other] == 0.0:
                    touched[n] = other
                    n += 1
                value[other] += weight * log.query_weights[j] * log.factor[q]
        kept = 0.0
        total = 0.0
        for k in range(n):
            other = touched[k]
            total += value[other]
            if value[other] > theta and other != images[i]:
                kept += value[other]
                if listed.shape[0] > 0:
                    listed[start[i] + counts[i]] = other
                    sums[start[i] + counts[i]] = kept
                counts[i] += 1
            value[other] = 0.0
        if total > 0.0:
            accepted[i] = kept / total
    return counts, accepted


def count_positives(log: Incidence, images: Longs, theta: float) -> tuple[Longs, Doubles]:
    """Return what `find_positives` counts, listing none."""
    return find_positives(log, images, theta, np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))


@kernel
def seed_row(states: States, key: States, row: int) -> None:
    """Set the generator to where the numbers of a row of the stream `key` begin: rows are sampled in any order."""
    states[0] = mix(mix(np.uint64(row) + key[0]) ^ key[1])


@kernel
def uniform(states: States) -> float:
    """Return the generator's next number in [0, 1), a multiple of 2**-53: SplitMix64 (Steele, Lea and Flood 2014)."""
    states[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(mix(states[0]) >> np.uint64(11)) * 2.0**-53


@kernel
def below(states: States, n: int) -> int:
    """Return a whole number below n from one state."""
    return int(uniform(states) * n)  # below n for every n < 2**53


@kernel
def pick(states: States, cumulative: Doubles, start: int, end: int) -> int:
    """Return a place of the row [start, end) with probability proportional to what its running sum grows by there."""
    if end - start == 1:
        return start
    # u * total may round up to the total: the last place is the answer then too
    return first_above(cumulative, start, end - 1, uniform(states) * cumulative[end - 1])


@kernel
def first_above(ascending: Array, start: int, end: int, value: float) -> int:
    """Return the first place of [start, end) that holds more than `value`, or `end`, by bisection."""
    while start < end:
        middle = (start + end) >> 1
        if ascending[middle] > value:
            end = middle
        else:
            start = middle + 1
    return start


@kernel
def sample_pairs(key: States, log: Incidence, pair_sums: Doubles, n: int) -> tuple[Doubles, Doubles]:
    """Return the relevances of `n` random pairs of images of a query, and weights that make all pairs count alike."""
    states = np.empty(1, dtype=np.uint64)
    values = np.empty(n, dtype=np.float64)
    weights = np.empty(n, dtype=np.float64)
    for row in range(n):
        seed_row(states, key, row)
        q = pick(states, pair_sums, 0, pair_sums.shape[0])
        start, length = log.query_start[q], log.query_start[q + 1] - log.query_start[q]
        a = below(states, length)
        b = below(states, length - 1)
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
def _propose(states: States, log: Incidence, proposal: Proposal, lists: Lists, image: Index) -> Index:
    """Propose a positive, or sample it from the image's list where it has one."""
    slot = lists.slot[image]
    if slot >= 0:
        return np.int64(lists.images[pick(states, lists.cumulative, lists.start[slot], lists.start[slot + 1])])
    k = pick(states, proposal.by_image, log.image_start[image], log.image_start[image + 1])
    q = log.image_queries[k]
    return np.int64(log.query_images[pick(states, proposal.by_query, log.query_start[q], log.query_start[q + 1])])


@kernel
def _positive(
    states: States, log: Incidence, proposal: Proposal, lists: Lists, image: Index, theta: float, tries: int
) -> Index:
    """Propose until an image is accepted; after `tries`, sample all that are above `theta`: as probable, faster."""
    for _ in range(tries):
        other = _propose(states, log, proposal, lists, image)
        if _is_positive(log, image, other, theta):
            return other
    images, values = relevant_to(log, image, theta)
    for k in range(1, values.shape[0]):
        values[k] += values[k - 1]
    return np.int64(images[pick(states, values, 0, values.shape[0])])


@kernel
def sample_triplets(
    key: States,
    first: int,
    log: Incidence,
    proposal: Proposal,
    lists: Lists,
    queries: Ints,
    theta: float,
    tries: int,
    per_query: int,
    triplets: Ints,
) -> None:
    """Fill rows (p, p+, p-) of the stream `key` from row `first` on, by key and number; `per_query` rows share a p."""
    n_images = log.image_start.shape[0] - 1
    states = np.empty(1, dtype=np.uint64)
    for row in range(triplets.shape[0]):
        place = (first + row) % per_query
        seed_row(states, key, first + row - place)
        image = np.int64(queries[below(states, queries.shape[0])])
        if place > 0:
            seed_row(states, key, first + row)
        negative: Index = below(states, n_images)
        positive = _propose(states, log, proposal, lists, image)
        if lists.slot[image] < 0 and not _is_positive(log, image, positive, theta):
            positive = _positive(states, log, proposal, lists, image, theta, tries - 1)
        triplets[row, 0], triplets[row, 1], triplets[row, 2] = image, positive, negative
