"""The simulated query log: which images were found through which query, with Table 1's counts in expectation.

Under a split of the images at random, Table 1 of the JMLR paper says a lot about its log. A query with a handful of
images or more almost surely has one in the training set, and one with some tens has one in the test set. Since only
three in ten have one in the test set, most queries must have a single image or so: the *rare* queries. All other
images then belong to the others, the *full* queries. `calibrate` solves for both numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import LookalikeError

REDRAWS = 20
SAME_TOPIC = 0.9
"""How often an image's further query is of the image's own topic; else of any."""
CLICK_EXPONENT = 1.2
MAX_CLICKS = 100_000


class Rates(NamedTuple):
    """Numbers of queries per image, and the share of the images in the test set."""

    test_share: float
    rare_queries: float
    full_queries: float


def calibrate(training_queries: int, test_queries: int, training_images: int, test_images: int) -> Rates:
    """Solve for the log whose expected numbers of queries in each part are the printed ones.

    With a share t of the images drawn at random as the test set, R rare queries of one image and F full ones, whose
    chance of missing a part is nil, the expected numbers of queries with an image in a part are
    F + (1 - t) R (training) and F + t R (test): two equations for R and F.

    Parameters
    ----------
    training_queries, test_queries : int
        Queries with an image in the part (JMLR 2010, Table 1).
    training_images, test_images : int
        Images of the part (the same table).

    Returns
    -------
    Rates
        Per image of both parts together.

    Raises
    ------
    LookalikeError
        When no log of this kind has such counts.
    """
    n_images = training_images + test_images
    share = test_images / n_images
    rare = (training_queries - test_queries) / (1.0 - 2.0 * share) if share != 0.5 else 0.0
    full = training_queries - (1.0 - share) * rare
    if rare < 0.0 or full <= 0.0:
        raise LookalikeError(
            f"simulated web data: no query log with a random split has {training_queries} training and {test_queries} "
            f"test queries on {training_images} and {test_images} images; give counts in proportion to Table 1's"
        )
    return Rates(share, rare / n_images, full / n_images)


@dataclass(frozen=True, eq=False)
class WebLog:
    """A query log, and what the images and queries were made from.

    Attributes
    ----------
    query, image : ndarray of shape (E,), int32
        Pairs, sorted by (query, image), each once.
    relevance : ndarray of shape (E,), float32
        Simulated click counts, 1 or more.
    n_queries, n_images : int
    main_query : ndarray of shape (n_images,), int32
        The query through which each image was collected.
    query_topic : ndarray of shape (n_queries,), int32
    image_topic : ndarray of shape (n_images,), int32
        That of the main query.
    """

    query: NDArray[np.int32]
    image: NDArray[np.int32]
    relevance: NDArray[np.float32]
    n_queries: int
    n_images: int
    main_query: NDArray[np.int32]
    query_topic: NDArray[np.int32]
    image_topic: NDArray[np.int32]


def make_log(
    n_images: int,
    n_rare: int,
    n_full: int,
    n_pairs: int,
    size_spread: float,
    popularity: NDArray[np.float64],
    random: np.random.Generator,
) -> WebLog:
    """Draw a log: sizes and topics of the queries, the images of each, and the clicks.

    Parameters
    ----------
    n_images, n_rare, n_full : int
        Images, queries of one image, and the others; at least one of the last.
    n_pairs : int
        Pairs of a query and an image; what is beyond `n_images` are further queries of images that have one. A few
        are lost where an image would be in a query twice.
    size_spread : float
        Standard deviation of the logarithm of the sizes of full queries.
    popularity : ndarray of shape (n_topics,)
        Shares of the queries, sum 1.
    random : numpy.random.Generator
    """
    sizes = np.concatenate([_full_sizes(n_full, n_pairs - n_rare, size_spread), np.ones(n_rare, dtype=np.int64)])
    topics = np.concatenate([_spread_over(popularity, n_full, random), _spread_over(popularity, n_rare, random)])
    shuffled = random.permutation(len(sizes))
    sizes, topics = sizes[shuffled], topics[shuffled]
    slots = random.permutation(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))
    main_query, further = slots[:n_images].copy(), slots[n_images:]
    image_topic = topics[main_query]
    image, kept = _further_images(further, main_query, topics, image_topic, random)
    query = np.concatenate([main_query, further[kept]])
    images = np.concatenate([np.arange(n_images, dtype=np.int32), image[kept]])
    order = np.lexsort((images, query))
    clicks = np.floor((1.0 - random.random(len(order))) ** (-1.0 / CLICK_EXPONENT))
    return WebLog(
        query=query[order],
        image=images[order],
        relevance=np.minimum(clicks, MAX_CLICKS).astype(np.float32),
        n_queries=len(sizes),
        n_images=n_images,
        main_query=main_query,
        query_topic=topics,
        image_topic=image_topic,
    )


def _full_sizes(n: int, total: int, spread: float) -> NDArray[np.int64]:
    """Sizes of the full queries: quantiles of a log-normal law, rounded so that they sum to `total`."""
    from scipy.special import ndtri

    shares = np.exp(spread * ndtri((np.arange(n) + 0.5) / n))
    ends = np.rint(np.cumsum(shares) * (total / shares.sum())).astype(np.int64)
    sizes: NDArray[np.int64] = np.diff(ends, prepend=0)
    return sizes


def _spread_over(popularity: NDArray[np.float64], n: int, random: np.random.Generator) -> NDArray[np.int32]:
    """Topics of n queries by systematic sampling, so that each topic has its share of them to within one."""
    places = (np.arange(n) + random.random()) / max(n, 1)
    topics = np.searchsorted(np.cumsum(popularity), places, side="right")
    return np.minimum(topics, len(popularity) - 1).astype(np.int32)


def _further_images(
    further: NDArray[np.int32],
    main_query: NDArray[np.int32],
    query_topic: NDArray[np.int32],
    image_topic: NDArray[np.int32],
    random: np.random.Generator,
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Draw an image for each further place of a query, mostly of its topic; say which of them are new to the query."""
    n_images = len(main_query)
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
