"""Simulated web data: a query log and visterm vectors with the marginals that the OASIS papers print of theirs.

The papers' 2.7 million images and 150 thousand queries are proprietary (JMLR 2010, section 5.2). Here, queries and
images share latent topics. An image is collected through a query, takes its topic, and mixes four kinds of words: those
of the topic, of the query, of a visual style that has nothing to do with either, and any. Counting common words finds
images of one style; which words go together within a topic has to be learned.

Table 1 of the JMLR paper fixes the sizes of the queries. A query with some tens of images has one in the test set
almost surely. Since only three in ten have, most queries must have a single image or so: the *rare* ones. With a test
share t, R rare queries and F full ones, F + (1 - t) R have a training image and F + t R a test image.

Words are sampled by alias tables (Walker 1977; Vose 1991) and a random stream of each image's own, SplitMix64 started
from a hash of the data set's key and the image's number: no image depends on others.
"""

from __future__ import annotations

from functools import cached_property
from math import cos, exp, log, pi, sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.special import ndtri

from lookalike.core.arrays import Bytes, Doubles, Floats, Ints, Longs, Matrix, States, Truths, Words
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, write_table
from lookalike.core.kernels import mix, njit
from lookalike.core.seeds import generator
from lookalike.core.settings.data_sets import Simulation
from lookalike.data.query_log import QueryLog

# the solution for the counts of Table 1: share of the images in the test set, queries of one image and others an image
TEST_SHARE, RARE_QUERIES, FULL_QUERIES = 0.1492579, 0.0518847, 0.0077979
QUERIES_PER_IMAGE = 1.03  # what is above 1 are further queries of images that have one
SIZE_SPREAD = 0.2  # standard deviation of the logarithm of the sizes of full queries
SAME_TOPIC = 0.9  # how often an image's further query is of the image's own topic; else of any
REDRAWS = 20  # attempts to find an image that a further query does not have; the few pairs without one are lost
CLICK_EXPONENT, MAX_CLICKS = 1.2, 100_000
IMAGES_PER_TOPIC = 100  # at least: small data sets have fewer topics
QUERIES_PER_TOPIC = 4  # full ones, at least: small data sets have smaller queries
POPULARITY = 0.5  # exponent of the topics' popularity, which falls with a power of their rank
ZIPF = 0.8  # exponent of word frequency, which falls with a power of the word's rank
QUERY_SHARE = 0.02  # mean share of an image's terms that come from its main query
OWN_WORDS = 10  # of a query
WORD_DECAY = 0.5  # exponent of how the words of a topic or style fall with their rank there
LENGTH_SPREAD = 0.35  # standard deviation of the logarithm of an image's number of terms
STRENGTHS = 2.0  # an image's share of topic terms is uniform between 0 and so many times the mean: some show little
MAX_COUNT, MAX_TERMS = 255, 4096  # of a word and of all in an image; the latter reached by none at the defaults
SAMPLE = 20_000  # images on which the number of terms is fitted to `WebSimulation.nonzeros`
MOST_TERMS = 1024.0  # that are tried on average
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)

WordTables = tuple[Words, States, Ints]
"""Words, and the thresholds and aliases of the alias tables by which they are sampled."""
Csr = tuple[Longs, Words, Bytes]
"""``indptr``, words and counts."""


class Shares(NamedTuple):
    """Mean shares of an image's terms, their mean number, and the standard deviation of its logarithm."""

    topic: float
    query: float
    style: float
    n_terms: float
    spread: float


class Tables(NamedTuple):
    """What words are sampled from: tables of all words, each topic (a row) and each style, and queries' own words."""

    background: WordTables
    topics: WordTables
    styles: WordTables
    query_words: Words


class WebLog(NamedTuple):
    """Pairs of a query and an image, each once, sorted by both, and what the images and queries were made from."""

    query: Ints
    image: Ints
    relevance: Floats  # simulated click counts, 1 or more
    main_query: Ints  # of each image: the query through which it was collected
    query_topic: Ints
    image_topic: Ints  # that of the main query: for evaluation, never for a learner


class WebSimulation(Simulation):
    """What a simulated web data set is like; everything follows from these numbers, whatever shards it is made in.

    Below 500,000 images, full queries are smaller than at full size, so that a topic still has several of them.
    """

    seed: int = 0  # of this data set, not the root seed
    style_words: int = 60  # distinct ones, chosen by their frequency as those of a topic

    @property
    def n_topics(self) -> int:
        """Return the number of topics: two at least."""
        return min(self.topics, max(2, self.n_images // IMAGES_PER_TOPIC))

    @property
    def n_rare_queries(self) -> int:
        """Return the number of queries of one image."""
        return round(self.n_images * RARE_QUERIES)

    @property
    def n_full_queries(self) -> int:
        """Return the number of the other queries."""
        return max(round(self.n_images * FULL_QUERIES), QUERIES_PER_TOPIC * self.n_topics)

    @cached_property
    def log(self) -> WebLog:
        """Return the query log of all images (about 100 MB at full size); it is made once and kept."""
        random = generator(self.seed, "web", "log")
        popularity = _powers(self.n_topics, POPULARITY)
        n_rare, n_full, n_pairs = self.n_rare_queries, self.n_full_queries, round(self.n_images * QUERIES_PER_IMAGE)
        sizes = np.concatenate([_full_sizes(n_full, n_pairs - n_rare), np.ones(n_rare, dtype=np.int64)])
        topics = np.concatenate([_spread_over(popularity, n_full, random), _spread_over(popularity, n_rare, random)])
        shuffled = random.permutation(len(sizes))
        sizes, topics = sizes[shuffled], topics[shuffled]
        slots = random.permutation(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))
        main_query, further = slots[: self.n_images].copy(), slots[self.n_images :]
        image, kept = _further_images(further, main_query, topics, random)
        query = np.concatenate([main_query, further[kept]])
        images = np.concatenate([np.arange(self.n_images, dtype=np.int32), image[kept]])
        order = np.lexsort((images, query))
        clicks = np.floor((1.0 - random.random(len(order))) ** (-1.0 / CLICK_EXPONENT))
        relevance = np.minimum(clicks, MAX_CLICKS).astype(np.float32)
        return WebLog(query[order], images[order], relevance, main_query, topics, topics[main_query])

    def is_test(self) -> Truths:
        """Say of every image whether it is in the test set, whose size is fixed and whose images are random."""
        order = generator(self.seed, "web", "test").permutation(self.n_images)
        return np.isin(np.arange(self.n_images), order[: round(self.n_images * TEST_SHARE)])

    @cached_property
    def _tables(self) -> Tables:
        frequency = _powers(self.words, ZIPF)
        # the numbers of a real codebook's words say nothing about how frequent they are
        numbers = generator(self.seed, "web", "words").permutation(self.words).astype(np.uint32)
        topics = self._sparse_tables("topics", self.n_topics, self.topic_words, frequency, numbers)
        styles = self._sparse_tables("styles", self.styles, self.style_words, frequency, numbers)
        places = generator(self.seed, "web", "queries").random((len(self.log.query_topic), OWN_WORDS))
        chosen = np.minimum(np.searchsorted(np.cumsum(frequency), places), self.words - 1)
        return Tables((numbers, *_alias_table(frequency)), topics, styles, numbers[chosen])

    def _sparse_tables(self, name: str, n: int, n_words: int, frequency: Doubles, numbers: Words) -> WordTables:
        """Choose the words of each topic or style, without repeats and by their frequency, and how common they are."""
        words = np.empty((n, n_words), dtype=np.uint32)
        for row in range(n):
            random = generator(self.seed, "web", name, row)
            # the first to happen among processes of these rates: a sample without replacement
            first = random.standard_exponential(self.words) / frequency
            chosen = np.argpartition(first, n_words)[:n_words]
            words[row] = numbers[random.permutation(chosen)]
        threshold, other = _alias_table(_powers(n_words, WORD_DECAY))
        return words, np.tile(threshold, (n, 1)), np.tile(other, (n, 1))

    @cached_property
    def n_terms(self) -> float:
        """Return the mean number of terms of an image that gives `nonzeros` distinct ones, fitted on a sample."""
        size = min(self.n_images, SAMPLE)

        def excess(n_terms: float) -> float:
            indptr, _, _ = self._sample(0, size, n_terms)
            return float(indptr[-1] / size - self.nonzeros)

        if excess(MOST_TERMS) < 0.0:
            raise LookalikeError(
                f"simulated web data: no number of terms gives {self.nonzeros:g} distinct words; "
                "choose fewer nonzeros, more words or smaller shares of topic and style"
            )
        # each call takes the same streams, so the excess is a step function of the number of terms: enough is enough
        return float(brentq(excess, 1.0, MOST_TERMS, xtol=0.01))

    def _sample(self, first: int, stop: int, n_terms: float, room: int = 0) -> tuple[Longs, Words, Bytes]:
        """Sample images first..stop-1 with so many terms on average; without room for words, count these alone."""
        log, tables = self.log, self._tables
        shares = Shares(float(self.topic_share), QUERY_SHARE, float(self.style_share), n_terms, LENGTH_SPREAD)
        key = np.uint64(generator(self.seed, "web", "images").integers(2**63))
        indptr = np.empty(stop - first + 1, dtype=np.int64)
        words, counts = np.empty(room, dtype=np.uint32), np.empty(room, dtype=np.uint8)
        images = log.image_topic[first:stop], log.main_query[first:stop]
        _sample_images(key, first, *images, shares, tables, self.words, (indptr, words, counts))
        return indptr, words, counts

    def visterms(self, first: int, stop: int) -> Matrix:
        """Return the raw visterm counts of images first..stop-1: CSR of uint8, indices sorted."""
        indptr, _, _ = self._sample(first, stop, self.n_terms)
        indptr, words, counts = self._sample(first, stop, self.n_terms, int(indptr[-1]))
        visterms = sp.csr_array((counts, words.view(np.int32), indptr), shape=(stop - first, self.words))
        visterms.sort_indices()
        return visterms

    def query_log(self) -> QueryLog:
        """Return the log as learners take it."""
        return QueryLog(*self.log[:3], len(self.log.query_topic), self.n_images)

    def write_images(self, path: PathLike) -> None:
        """Write `image_id` int32 and `part` ("train" or "test"), as Parquet or CSV."""
        part = np.where(self.is_test(), "test", "train").astype(object)
        ids = np.arange(self.n_images, dtype=np.int32)
        write_table(pd.DataFrame({"image_id": ids, "part": part}), path)


def _powers(n: int, exponent: float) -> Doubles:
    """Return shares that fall with a power of their rank, sum 1."""
    weights = np.arange(1.0, n + 1.0) ** -exponent
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _full_sizes(n: int, total: int) -> Longs:
    """Return the sizes of the full queries: quantiles of a log-normal law, rounded so that they sum to `total`."""
    shares = np.exp(SIZE_SPREAD * ndtri((np.arange(n) + 0.5) / n))
    ends = np.rint(np.cumsum(shares) * (total / shares.sum())).astype(np.int64)
    sizes: Longs = np.diff(ends, prepend=0)
    return sizes


def _spread_over(popularity: Doubles, n: int, random: np.random.Generator) -> Ints:
    """Return topics of n queries by systematic sampling, so that each topic has its share of them to within one."""
    places = (np.arange(n) + random.random()) / max(n, 1)
    topics = np.searchsorted(np.cumsum(popularity), places, side="right")
    return np.minimum(topics, len(popularity) - 1).astype(np.int32)


def _further_images(
    further: Ints, main_query: Ints, query_topic: Ints, random: np.random.Generator
) -> tuple[Ints, Truths]:
    """Choose an image for each further place of a query, mostly of its topic; say which are new to the query."""
    n_images, image_topic = len(main_query), query_topic[main_query]
    by_topic = np.argsort(image_topic, kind="stable").astype(np.int32)
    n_of_topic = np.bincount(image_topic, minlength=int(query_topic.max()) + 1)
    start = np.cumsum(n_of_topic) - n_of_topic
    topic = query_topic[further]
    image = np.empty(len(further), dtype=np.int32)
    kept = np.zeros(len(further), dtype=np.bool_)
    for _ in range(REDRAWS):
        missing = np.flatnonzero(~kept)
        if not len(missing):
            break
        u = random.random((len(missing), 2))
        of_topic = n_of_topic[topic[missing]]
        same = (u[:, 0] < SAME_TOPIC) & (of_topic > 0)
        place = np.where(same, start[topic[missing]] + np.floor(u[:, 1] * of_topic), np.floor(u[:, 1] * n_images))
        chosen = place.astype(np.int64)
        image[missing] = np.where(same, by_topic[chosen], chosen)
        kept[missing] = main_query[image[missing]] != further[missing]
        pairs = further.astype(np.int64) * n_images + image
        candidates = np.flatnonzero(kept)
        _, first = np.unique(pairs[candidates], return_index=True)
        kept[:] = False
        kept[candidates[first]] = True
    return image, kept


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
    """Sample a place of an alias table: the high half of `bits` chooses the place, the low half its owner."""
    place = _below(bits, threshold.shape[0])
    if (bits & _LOW) < threshold[place]:
        return place
    return np.int64(other[place])


@njit(cache=True, nogil=True)
def _sample_images(
    key: np.uint64, first: int, topics: Ints, queries: Ints, shares: Shares, tables: Tables, n_words: int, csr: Csr
) -> None:
    """Sample the visterms of images from `first` on into an unsorted CSR with room; without, `indptr` alone."""
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


def _alias_table(weights: Doubles) -> tuple[States, Ints]:
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
