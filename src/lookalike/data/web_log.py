"""The simulated query log: which images were found through which query.

Rare queries have one image, full ones share all the others (why, `lookalike.data.web_simulation` says).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

REDRAWS = 20
SAME_TOPIC = 0.9
"""How often an image's further query is of the image's own topic; else of any."""
CLICK_EXPONENT = 1.2
MAX_CLICKS = 100_000


@dataclass(frozen=True, eq=False)
class WebLog:
    """Pairs of a query and an image, each once, sorted by both, and what the images and queries were made from."""

    query: NDArray[np.int32]
    image: NDArray[np.int32]
    relevance: NDArray[np.float32]
    """Simulated click counts, 1 or more."""
    n_queries: int
    n_images: int
    main_query: NDArray[np.int32]
    """Of each image: the query through which it was collected."""
    query_topic: NDArray[np.int32]
    image_topic: NDArray[np.int32]
    """That of the main query."""


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

    `n_rare` queries have one image. Of the `n_pairs`, what is beyond `n_images` are further queries of images that have
    one; a few are lost where an image would be in a query twice. `size_spread` is the standard deviation of the
    logarithm of the sizes of full queries, `popularity` the topics' shares of the queries.
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
