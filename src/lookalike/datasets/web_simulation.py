"""Simulated web data: a query log and visterm vectors with the marginals that the OASIS papers print of theirs.

The papers' 2.7 million images and 150 thousand queries are proprietary (JMLR 2010, section 5.2). Here, queries and
images share latent topics. An image is collected through a query, takes its topic, and mixes four kinds of words:
those of the topic, those of the query, those of a visual style that has nothing to do with either, and any. Counting
common words finds images of one style; which words go together within a topic has to be learned. Two images that share
a query are relevant to each other, so relevance is a sparse, partial label of the topic, as the papers' is of meaning.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing, write_table
from lookalike.core.seeds import generator
from lookalike.datasets import _web_kernels as kernels
from lookalike.datasets._web_log import WebLog, make_log
from lookalike.features.visterm_store import word_type, write_arrays

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse as sp

RECIPE = 1
"""Version of how the data are drawn: to be raised whenever the same settings come to give others."""

MAX_IMAGES = 2_700_000
IMAGES_PER_TOPIC = 100
"""At least so many images a topic: small data sets have fewer topics."""
QUERIES_PER_TOPIC = 4
"""At least so many full queries a topic: small data sets have smaller queries."""
POPULARITY = 0.5
"""Exponent of the topics' popularity, which falls with a power of their rank."""
OWN_WORDS = 10
"""Words of a query's own."""
WORD_DECAY = 0.5
"""Exponent of how the words of a topic or style fall with their rank there."""
SAMPLE = 20_000
"""Images on which the number of terms is fitted to `WebSimulation.nonzeros`."""
MAX_TERMS = 1024.0


class _Tables(NamedTuple):
    """What words are drawn from: alias tables of all words, of each topic and of each style, and queries' own words."""

    background: tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.int32]]
    topics: tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.int32]]
    styles: tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.int32]]
    query_words: NDArray[np.uint32]


@dataclass(frozen=True)
class WebSimulation:
    """What a simulated web data set is like; everything follows from these numbers, whatever shards it is made in.

    The defaults of `test_share`, `rare_queries` and `full_queries` are what `_web_log.calibrate` finds for Table 1 of
    the JMLR paper. Below 500,000 images, full queries are smaller than at full size (and more, for the same number of
    images), so that a topic still has several of them.

    Parameters
    ----------
    n_images : int
        Training and test images together, 60 to 2,700,000; the papers' number is the default.
    seed : int
        Seed of this data set, 0 or more; the workflow derives it from its root seed.
    words : int
        Size of the codebook, 200 to 1,000,000.
    nonzeros : float
        Mean number of distinct words of an image, 5 to 200 and at most a tenth of the words.
    zipf : float
        Exponent of word frequency: the word of rank r is drawn with a probability that falls as r**-zipf, 0 to 1.5.
    topics : int
        Latent topics, 2 to 20,000; no more than one for every 100 images are made.
    test_share : float
        Share of the images in the test set, 0.01 to 0.5; which ones is chosen at random.
    rare_queries : float
        Queries of one image, for each image of the set, 0 to 0.5.
    full_queries : float
        Other queries, for each image of the set, 0.001 to 0.2.
    queries_per_image : float
        Mean number of queries of an image, 1 to 3: what is above 1 are further queries, nine in ten of the same topic.
    size_spread : float
        Standard deviation of the logarithm of the sizes of full queries, 0 to 1.
    length_spread : float
        Standard deviation of the logarithm of an image's number of terms, 0 to 1.
    topic_share, query_share, style_share : float
        Mean shares of an image's terms from its topic, its main query and its style, each 0 to 1; the rest is
        background. The topic's share differs among images, evenly between none and twice the mean, and at twice the
        mean there must still be some background.
    topic_words, style_words : int
        Distinct words of a topic or a style, 5 to a tenth of the words; they are chosen by their frequency.
    styles : int
        Number of styles, 1 to 20,000, all as common.

    Raises
    ------
    LookalikeError
        When a number is out of range.
    """

    n_images: int = 2_694_423
    seed: int = 0
    words: int = 10_000
    nonzeros: float = 70.0
    zipf: float = 0.8
    topics: int = 1_000
    test_share: float = 0.1492579
    rare_queries: float = 0.0518847
    full_queries: float = 0.0077979
    queries_per_image: float = 1.03
    size_spread: float = 0.2
    length_spread: float = 0.35
    topic_share: float = 0.14
    query_share: float = 0.02
    style_share: float = 0.3
    topic_words: int = 80
    style_words: int = 60
    styles: int = 300

    def __post_init__(self) -> None:
        for name, low, high in (
            ("n_images", 60, MAX_IMAGES),
            ("seed", 0, 2**63 - 1),
            ("words", 200, 1_000_000),
            ("nonzeros", 5, min(200.0, self.words / 10)),
            ("zipf", 0, 1.5),
            ("topics", 2, 20_000),
            ("test_share", 0.01, 0.5),
            ("rare_queries", 0, 0.5),
            ("full_queries", 0.001, 0.2),
            ("queries_per_image", 1, 3),
            ("size_spread", 0, 1),
            ("length_spread", 0, 1),
            ("topic_share", 0, 1),
            ("query_share", 0, 1),
            ("style_share", 0, 1),
            ("topic_words", 5, self.words // 10),
            ("style_words", 5, self.words // 10),
            ("styles", 1, 20_000),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise LookalikeError(f"simulated web data: {name} is {value}; choose a value between {low} and {high}")
        mixed = kernels.STRENGTHS * self.topic_share + self.query_share + self.style_share
        if mixed >= 1.0:
            raise LookalikeError(
                "simulated web data: twice topic_share, query_share and style_share come to "
                f"{mixed:g}; choose shares that leave some for the background, below 1"
            )

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], seed: int) -> WebSimulation:
        """Make it from a data set's entry in config.yaml.

        Parameters
        ----------
        settings : mapping
            Any of the parameters but the seed, under their names.
        seed : int
            Seed of the data set, not the root seed.

        Raises
        ------
        LookalikeError
            When a number is out of range, or there is a setting of another name.
        """
        known = {field.name for field in fields(cls)} - {"seed"}
        if unknown := sorted(set(settings) - known):
            raise LookalikeError(
                f"simulated web data: there is no setting {unknown[0]}; choose from {', '.join(sorted(known))}"
            )
        return cls(seed=seed, **settings)

    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that any other number of this object, or `RECIPE`, would change."""
        facts = {name: float(value) if name != "seed" else value for name, value in asdict(self).items()}
        return hashlib.sha256(json.dumps(facts | {"recipe": RECIPE}, sort_keys=True).encode()).hexdigest()[:12]

    # Sizes ------------------------------------------------------------------------------------------------------------

    @property
    def n_test(self) -> int:
        """Number of test images."""
        return round(self.n_images * self.test_share)

    @property
    def n_train(self) -> int:
        """Number of training images."""
        return self.n_images - self.n_test

    @property
    def n_topics(self) -> int:
        """Number of topics, at most one for every `IMAGES_PER_TOPIC` images, two at least."""
        return min(self.topics, max(2, self.n_images // IMAGES_PER_TOPIC))

    @property
    def n_rare_queries(self) -> int:
        """Number of queries of one image."""
        return round(self.n_images * self.rare_queries)

    @property
    def n_full_queries(self) -> int:
        """Number of the other queries: in proportion to the images, and `QUERIES_PER_TOPIC` for each topic at least."""
        return max(round(self.n_images * self.full_queries), QUERIES_PER_TOPIC * self.n_topics)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.n_rare_queries + self.n_full_queries

    # The log ----------------------------------------------------------------------------------------------------------

    @cached_property
    def _log(self) -> WebLog:
        return make_log(
            self.n_images,
            self.n_rare_queries,
            self.n_full_queries,
            round(self.n_images * self.queries_per_image),
            self.size_spread,
            _powers(self.n_topics, POPULARITY),
            generator(self.seed, "web", "log"),
        )

    def log(self) -> WebLog:
        """Return the query log of all images (about 100 MB at full size); it is drawn once and kept."""
        return self._log

    def topics_of_images(self) -> NDArray[np.int32]:
        """Return the latent topic of every image, int32 of shape (n_images,): for evaluation, never for a learner."""
        return self._log.image_topic

    def is_test(self) -> NDArray[np.bool_]:
        """Say of every image whether it is in the test set: exactly `n_test` are, chosen at random."""
        chosen = np.zeros(self.n_images, dtype=np.bool_)
        chosen[generator(self.seed, "web", "test").permutation(self.n_images)[: self.n_test]] = True
        return chosen

    # Words ------------------------------------------------------------------------------------------------------------

    @cached_property
    def _tables(self) -> _Tables:
        frequency = _powers(self.words, self.zipf)
        # the numbers of a real codebook's words say nothing about how frequent they are
        numbers = generator(self.seed, "web", "words").permutation(self.words).astype(np.uint32)
        topics = self._sparse_tables("topics", self.n_topics, self.topic_words, frequency, numbers)
        styles = self._sparse_tables("styles", self.styles, self.style_words, frequency, numbers)
        threshold, other = kernels.alias_table(frequency[None, :])
        places = generator(self.seed, "web", "queries").random((self.n_queries, OWN_WORDS))
        drawn = np.minimum(np.searchsorted(np.cumsum(frequency), places), self.words - 1)
        return _Tables((numbers, threshold[0], other[0]), topics, styles, numbers[drawn])

    def _sparse_tables(
        self, name: str, n: int, n_words: int, frequency: NDArray[np.float64], numbers: NDArray[np.uint32]
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.int32]]:
        """Choose the words of each topic or style, without repeats and by their frequency, and how common they are."""
        words = np.empty((n, n_words), dtype=np.uint32)
        for row in range(n):
            random = generator(self.seed, "web", name, row)
            # the first to happen among processes of these rates: a draw without replacement
            first = random.standard_exponential(self.words) / frequency
            chosen = np.argpartition(first, n_words)[:n_words]
            words[row] = numbers[random.permutation(chosen)]
        threshold, other = kernels.alias_table(np.tile(_powers(n_words, WORD_DECAY), (n, 1)))
        return words, threshold, other

    @cached_property
    def n_terms(self) -> float:
        """Mean number of terms of an image that gives `nonzeros` distinct ones on average, fitted on a sample.

        Raises
        ------
        LookalikeError
            When no number of terms does.
        """
        from scipy.optimize import brentq

        size = min(self.n_images, SAMPLE)

        def excess(n_terms: float) -> float:
            indptr, _, _ = self._draw(0, size, n_terms, count_only=True)
            return float(indptr[-1] / size - self.nonzeros)

        if excess(MAX_TERMS) < 0.0:
            raise LookalikeError(
                f"simulated web data: no number of terms gives {self.nonzeros:g} distinct words; "
                "choose fewer nonzeros, more words or smaller shares of topic and style"
            )
        # each call draws the same streams, so the excess is a step function of the number of terms: enough is enough
        return float(brentq(excess, 1.0, MAX_TERMS, xtol=0.01))

    def _draw(
        self, first: int, stop: int, n_terms: float, count_only: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint8]]:
        """Draw images first..stop-1 with so many terms on average."""
        log, tables = self._log, self._tables
        recipe = np.array([self.topic_share, self.query_share, self.style_share, n_terms, self.length_spread])
        key = np.uint64(generator(self.seed, "web", "images").integers(2**63))
        indptr = np.empty(stop - first + 1, dtype=np.int64)
        room = 0 if count_only else round((stop - first) * n_terms * 1.1) + 4096
        while True:
            words, counts = np.empty(room, dtype=np.uint32), np.empty(room, dtype=np.uint8)
            done = kernels.draw_images(
                key,
                first,
                log.image_topic[first:stop],
                log.main_query[first:stop],
                recipe,
                tables.background,
                tables.topics,
                tables.styles,
                tables.query_words,
                self.words,
                indptr,
                words,
                counts,
            )
            if done:
                n = 0 if count_only else int(indptr[-1])
                return indptr, words[:n], counts[:n]
            room *= 2

    def visterms(self, first: int, stop: int) -> sp.csr_array:
        """Draw the raw visterm counts of images first..stop-1.

        Returns
        -------
        csr_array of shape (stop - first, words), uint8, indices sorted

        Raises
        ------
        LookalikeError
            When there are no such images.
        """
        import scipy.sparse as sp

        if not 0 <= first <= stop <= self.n_images:
            raise LookalikeError(
                f"simulated web data: there are no images {first} to {stop - 1}; choose from 0 to {self.n_images - 1}"
            )
        indptr, words, counts = self._draw(first, stop, self.n_terms)
        return sp.csr_array((counts, words.astype(np.int32), indptr), shape=(stop - first, self.words))

    # Files ------------------------------------------------------------------------------------------------------------

    def shard_bounds(self, shard: int, n_shards: int) -> tuple[int, int]:
        """Return the first image of a shard and the first one after it.

        Raises
        ------
        LookalikeError
            When there is no such shard.
        """
        if not (1 <= n_shards <= self.n_images and 0 <= shard < n_shards):
            raise LookalikeError(
                f"simulated web data: there is no shard {shard} of {n_shards}; count shards from 0, "
                f"1 to {self.n_images} of them"
            )
        return self.n_images * shard // n_shards, self.n_images * (shard + 1) // n_shards

    def write_shard(self, shard: int, n_shards: int, folder: str | os.PathLike[str]) -> int:
        """Draw and write the visterms of a shard as a visterm store (`lookalike.features.visterm_store`).

        Returns
        -------
        int
            Number of images written.

        Raises
        ------
        LookalikeError
            When there is no such shard, or the disk is full.
        """
        first, stop = self.shard_bounds(shard, n_shards)
        indptr, words, counts = self._draw(first, stop, self.n_terms)
        write_arrays(folder, indptr, words.astype(word_type(self.words)), counts)
        return stop - first

    def write_log(self, path: str | os.PathLike[str]) -> None:
        """Write the query log as ``.npz``: `query`, `image`, `relevance`, `n_queries` and `n_images`.

        Raises
        ------
        LookalikeError
            When the disk is full.
        """
        log = self._log
        with replacing(path) as part:
            np.savez_compressed(
                part,
                query=log.query,
                image=log.image,
                relevance=log.relevance,
                n_queries=np.int64(log.n_queries),
                n_images=np.int64(log.n_images),
            )

    def images_table(self) -> pd.DataFrame:
        """Table of the images: `image_id` int32, `part` ("train" or "test") and latent `topic` int32."""
        import pandas as pd

        part = np.where(self.is_test(), "test", "train").astype(object)
        ids = np.arange(self.n_images, dtype=np.int32)
        return pd.DataFrame({"image_id": ids, "part": part, "topic": self.topics_of_images()})

    def write_images(self, path: str | os.PathLike[str]) -> None:
        """Write `images_table` as Parquet or CSV, by the suffix of `path`."""
        write_table(self.images_table(), path)


def _powers(n: int, exponent: float) -> NDArray[np.float64]:
    """Shares that fall with a power of their rank, sum 1."""
    weights = np.arange(1.0, n + 1.0) ** -exponent
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def warm_up() -> None:
    """Compile the kernels (or load them from numba's cache), so that timed runs do not."""
    WebSimulation(n_images=60, words=200, nonzeros=5, topic_words=5, style_words=5, styles=1).visterms(0, 2)
