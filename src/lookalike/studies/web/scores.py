"""Scores of the web study: the share of relevant images among the first k, for a sample of test images.

JMLR section 5.2 and Figure 3A (draft section 5.3). Sits between `lookalike.ranking.exact_search`, which finds the first
k, and the exhibits. Relevance comes from the query log that was kept apart for this, never from the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

PRECISION_COLUMNS = (
    "method",
    "k",
    "precision",
    "standard_error",
    "topic_precision",
    "topic_standard_error",
    "n_queries",
    "n_gallery",
)


class RelevanceLog(Protocol):
    """What tells relevant images, such as `lookalike.datasets.query_log.QueryLog`."""

    def are_relevant(self, queries: Any, candidates: Any, theta: float = 0.0) -> Any:
        """Return which of the candidate images (n, k) are relevant to the query images (n,): bool, shape (n, k)."""
        ...


def draw_query_images(
    image_ids: npt.ArrayLike, n: int, seed: int | np.random.SeedSequence | np.random.Generator
) -> npt.NDArray[np.int32]:
    """Draw the images that query the others, without replacement.

    Parameters
    ----------
    image_ids : array-like of int, shape (n_images,)
        Of the part that is drawn from, each once; their order does not matter.
    n : int
        How many; all of them where there are no more.
    seed : int, SeedSequence or Generator
        Such as `lookalike.core.seeds.generator` gives.

    Returns
    -------
    ndarray of int32, shape (min(n, n_images),)
        Ascending.

    Raises
    ------
    ValueError
        When n is less than 1, or an image is named twice.
    """
    ids = np.unique(np.asarray(image_ids, dtype=np.int32))
    if len(ids) != np.size(image_ids):
        raise ValueError("an image is named twice: name each image of the part once")
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    chosen = np.random.default_rng(seed).choice(len(ids), size=min(n, len(ids)), replace=False, shuffle=False)
    return np.asarray(np.sort(ids[chosen]))


def precision_of_retrieval(
    found_indices: npt.NDArray[np.integer[Any]],
    query_image_ids: npt.ArrayLike,
    gallery_image_ids: npt.ArrayLike,
    log: RelevanceLog,
    topics: npt.ArrayLike,
    ks: Sequence[int],
    *,
    method: str,
) -> pd.DataFrame:
    """Precision at k with its standard error over the query images, by the log and by latent topics.

    An image is relevant to a query image when at least one query of the log leads to both (JMLR section 5.2 with
    theta = 0), and of the same topic when it was made from the same. Every query image counts, also one that has no
    relevant image in the gallery.

    Parameters
    ----------
    found_indices : ndarray of int, shape (n_queries, k_found)
        What `lookalike.ranking.exact_search.top_k` found, best first: positions in `gallery_image_ids`. The query image
        itself must not be among them.
    query_image_ids : array-like of int, shape (n_queries,)
        At least two.
    gallery_image_ids : array-like of int, shape (n_gallery,)
    log : RelevanceLog
        Such as `lookalike.datasets.query_log.QueryLog`.
    topics : array-like of int, shape (n_images,)
        Latent topic of every image, by image id.
    ks : sequence of int
        Each from 1 to k_found.
    method : str
        Name of what ranked, for the table.

    Returns
    -------
    DataFrame
        `PRECISION_COLUMNS`, a row for each of `ks`: ``precision`` and ``topic_precision`` are means over the query
        images, from 0 to 1; standard errors are the sample's standard deviation (n - 1) divided by sqrt(n);
        ``n_gallery`` counts all images of the gallery, the query image too where it is one of them.

    Raises
    ------
    ValueError
        When shapes, ids or ks do not fit, or a query image was found itself.
    """
    import pandas as pd

    queries = np.asarray(query_image_ids, dtype=np.int32)
    gallery = np.asarray(gallery_image_ids, dtype=np.int32)
    topics = np.asarray(topics)
    k_max = _checked_k_max(found_indices, ks, len(queries))
    if found_indices.min() < 0 or found_indices.max() >= len(gallery):
        raise ValueError(f"found indices must be from 0 to {len(gallery) - 1}: search for as many as there are")
    ids = np.concatenate([queries, gallery])
    if ids.min() < 0 or ids.max() >= len(topics):
        raise ValueError(f"image ids must be from 0 to {len(topics) - 1}: give the topics of all images, by image id")
    candidates = gallery[found_indices[:, :k_max]]
    if (candidates == queries[:, None]).any():
        raise ValueError("a query image was found itself: pass its row as `own` to the search")
    at = np.asarray(ks, dtype=np.int64)
    by_log = _shares(np.asarray(log.are_relevant(queries, candidates, theta=0.0)), at)
    by_topic = _shares(topics[candidates] == topics[queries][:, None], at)
    return pd.DataFrame(
        {
            "method": method,
            "k": at.astype(np.int32),
            "precision": by_log.mean(axis=0),
            "standard_error": _standard_error(by_log),
            "topic_precision": by_topic.mean(axis=0),
            "topic_standard_error": _standard_error(by_topic),
            "n_queries": np.int64(len(queries)),
            "n_gallery": np.int64(len(gallery)),
        },
        columns=list(PRECISION_COLUMNS),
    )


def _checked_k_max(found_indices: npt.NDArray[np.integer[Any]], ks: Sequence[int], n_queries: int) -> int:
    if found_indices.ndim != 2 or len(found_indices) != n_queries:
        raise ValueError(f"{n_queries} query images need a row of found indices each, not {found_indices.shape}")
    if n_queries < 2:
        raise ValueError("a standard error needs at least two query images: draw more")
    if len(ks) == 0 or min(ks) < 1 or max(ks) > found_indices.shape[1]:
        raise ValueError(f"ks must be from 1 to {found_indices.shape[1]}, the images found for each query, not {ks}")
    return int(max(ks))


def _shares(hits: npt.NDArray[np.bool_], ks: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Share of hits among the first k, for each k: shape (n_queries, n_ks)."""
    return np.asarray(np.cumsum(hits, axis=1)[:, ks - 1] / ks)


def _standard_error(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values)))
