"""The words of simulated web images, by alias tables (Walker 1977; Vose 1991) and a random stream of each image's own.

A stream is SplitMix64 started from a hash of the data set's key and the image's number: no shard changes an image.
"""

from __future__ import annotations

from math import cos, exp, log, pi, sqrt
from typing import NamedTuple

import numpy as np

from lookalike.core.arrays import Bytes, Doubles, Ints, Longs, States, Words
from lookalike.core.kernels import mix, njit

WordTables = tuple[Words, States, Ints]
"""Words, and the thresholds and aliases of the alias tables by which they are drawn."""
Csr = tuple[Longs, Words, Bytes]
"""``indptr``, words and counts."""
MAX_COUNT = 255
MAX_TERMS = 4096  # of an image; reached by none at the default settings
STRENGTHS = 2.0
"""An image's share of topic terms is uniform between 0 and so many times the mean: some images show little of it."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


class Shares(NamedTuple):
    """Mean shares of an image's terms, their mean number, and the standard deviation of its logarithm."""

    topic: float
    query: float
    style: float
    n_terms: float
    spread: float


class Tables(NamedTuple):
    """What words are drawn from: tables of all words, of each topic (a row) and each style, and queries' own words."""

    background: WordTables
    topics: WordTables
    styles: WordTables
    query_words: Words


@njit(cache=True, nogil=True, inline="always")
def _uniform(bits: np.uint64) -> float:
    """Return a number in (0, 1): the high 53 bits, moved off zero by half a step."""
    return (float(bits >> np.uint64(11)) + 0.5) * 1.1102230246251565e-16


@njit(cache=True, nogil=True, inline="always")
def _below(bits: np.uint64, n: int) -> np.int64:
    """Return a number from 0 to n - 1 by the high 32 bits (Lemire's multiplication, its bias below n / 2**32)."""
    return np.int64(((bits >> _32) * np.uint64(n)) >> _32)


@njit(cache=True, nogil=True, inline="always")
def _from_alias(bits: np.uint64, threshold: States, other: Ints) -> np.int64:
    """Draw a place of an alias table: the high half of `bits` chooses the place, the low half its owner."""
    place = _below(bits, threshold.shape[0])
    if (bits & _LOW) < threshold[place]:
        return place
    return np.int64(other[place])


@njit(cache=True, nogil=True)
def sample_images(
    key: np.uint64, first: int, topics: Ints, queries: Ints, shares: Shares, tables: Tables, n_words: int, csr: Csr
) -> None:
    """Draw the visterms of images from `first` on into an unsorted CSR with room for them; without, `indptr` alone."""
    indptr, words, counts = csr
    found = np.zeros(n_words, dtype=np.int32)
    seen = np.empty(min(n_words, MAX_TERMS), dtype=np.uint32)
    background_words, background_threshold, background_other = tables.background
    topic_words, topic_threshold, topic_other = tables.topics
    style_words, style_threshold, style_other = tables.styles
    query_words = tables.query_words
    counting = words.shape[0] == 0
    end = 0
    indptr[0] = 0
    for row in range(topics.shape[0]):
        state = mix(key ^ mix(np.uint64(first + row) * _GOLDEN + _GOLDEN))
        state += _GOLDEN
        radius = sqrt(-2.0 * log(_uniform(mix(state))))
        state += _GOLDEN
        normal = radius * cos(2.0 * pi * _uniform(mix(state)))
        length = shares.n_terms * exp(shares.spread * normal - 0.5 * shares.spread**2)
        n_terms: int = min(max(int(length + 0.5), 1), MAX_TERMS)
        state += _GOLDEN
        style = _below(mix(state), style_words.shape[0])
        state += _GOLDEN
        of_topic = shares.topic * STRENGTHS * _uniform(mix(state))
        of_query = of_topic + shares.query
        of_style = of_query + shares.style
        topic, query = topics[row], queries[row]
        n_seen = 0
        for _ in range(n_terms):
            state += _GOLDEN
            source = _uniform(mix(state))
            state += _GOLDEN
            bits = mix(state)
            if source < of_topic:
                word = topic_words[topic, _from_alias(bits, topic_threshold[topic], topic_other[topic])]
            elif source < of_query:
                word = query_words[query, _below(bits, query_words.shape[1])]
            elif source < of_style:
                word = style_words[style, _from_alias(bits, style_threshold[style], style_other[style])]
            else:
                word = background_words[_from_alias(bits, background_threshold, background_other)]
            if found[word] == 0:
                seen[n_seen] = word
                n_seen += 1
            found[word] += 1
        if not counting:
            for k in range(n_seen):
                words[end + k] = seen[k]
                counts[end + k] = np.uint8(min(found[seen[k]], MAX_COUNT))
        for k in range(n_seen):
            found[seen[k]] = 0
        end += n_seen
        indptr[row + 1] = end


def alias_table(weights: Doubles) -> tuple[States, Ints]:
    """Return an alias table: out of 2**32 how often a place is its own, and whose it is otherwise."""
    threshold = np.full(len(weights), 1 << 32, dtype=np.uint64)  # what rounding leaves over owns its place wholly
    other = np.arange(len(weights), dtype=np.int32)
    scaled = weights * (len(weights) / np.cumsum(weights)[-1])
    small, large = np.flatnonzero(scaled < 1.0).tolist(), np.flatnonzero(scaled >= 1.0).tolist()
    # each place that has too little for itself goes to one that has too much (Vose's algorithm)
    while small and large:
        less, more = small.pop(), large[-1]
        threshold[less], other[less] = np.uint64(scaled[less] * 4294967296.0), more
        scaled[more] -= 1.0 - scaled[less]
        if scaled[more] < 1.0:
            small.append(large.pop())
    return threshold, other
