"""Distances between the vectors of images, each under one name for the whole fine-grained study.

A hand-crafted feature states by name which of them it is compared with; `lookalike.evaluation.triplet_metrics` ranks by
what comes out. Smaller is more alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.errors import LookalikeError

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float32]

BLOCKS_ALIVE = 5
"""Arrays of the size of a block of rows that are alive at once: both sides, and what a distance makes of them."""


def rowwise_distances(A: ArrayLike, B: ArrayLike, name: str) -> Floats:
    """Return the distance of each row of `A` to the same row of `B`.

    Parameters
    ----------
    A, B : array-like of float32, shape (n, d)
    name : str
        ``"l1"``: the sum of |a - b|. ``"l2"``: Euclid's, with its root. ``"chi2"``: the sum of (a - b)^2 / (a + b) over
        the entries that are not both 0, for histograms. ``"cosine"``: 1 - cos(a, b); two zero rows have distance 0, a
        zero row has distance 1 to any other.

    Returns
    -------
    ndarray of float32, shape (n,)
        A row with a NaN has distance NaN.

    Raises
    ------
    ValueError
        When shapes differ, the name is unknown, or "chi2" meets a negative entry.
    """
    if name not in _DISTANCES:
        raise ValueError(f"there is no distance {name!r}: use one of {', '.join(DISTANCES)}")
    a, b = np.asarray(A, dtype=np.float32), np.asarray(B, dtype=np.float32)
    if a.ndim != 2 or a.shape != b.shape:
        raise ValueError(f"both sides need the same number of rows and columns, not {a.shape} and {b.shape}")
    return _DISTANCES[name](a, b)


def pair_distances(
    vectors: NDArray[np.floating], pairs: pd.DataFrame, distance: str, memory_bytes: int = 64_000_000
) -> Floats:
    """Return the distance of each pair of images.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n_images, d)
        Row = image id; memory-mapped ones are read in blocks. Images without a vector have NaN.
    pairs : DataFrame
        Columns ``query`` and ``candidate``: image ids.
    distance : str
        A name of `rowwise_distances`.
    memory_bytes : int
        About how much memory a block of pairs may take; one row is taken at least.

    Returns
    -------
    ndarray of float32, shape (n_pairs,)

    Raises
    ------
    LookalikeError
        When images that the pairs name have no vector, or a vector is not finite.
    """
    queries, candidates = pairs["query"].to_numpy(), pairs["candidate"].to_numpy()
    if len(queries) and max(queries.max(), candidates.max()) >= len(vectors):
        raise LookalikeError(
            f"the pairs name image {max(queries.max(), candidates.max())} but there are vectors of {len(vectors)} "
            "images: describe the images of this manifest"
        )
    result = np.empty(len(queries), dtype=np.float32)
    block = max(1, memory_bytes // max(1, vectors.shape[1] * 4 * BLOCKS_ALIVE))
    for start in range(0, len(queries), block):
        rows = slice(start, start + block)
        with np.errstate(over="ignore", invalid="ignore"):  # said of all pairs at once, below
            result[rows] = rowwise_distances(vectors[queries[rows]], vectors[candidates[rows]], distance)
    _check_finite(result, vectors, queries, candidates)
    return result


def _check_finite(
    distances: Floats,
    vectors: NDArray[np.floating],
    queries: NDArray[np.integer],
    candidates: NDArray[np.integer],
) -> None:
    wrong = ~np.isfinite(distances)
    if not wrong.any():
        return
    named = np.unique(np.concatenate([queries[wrong], candidates[wrong]])).tolist()
    images = [image for image in named if not np.isfinite(vectors[image]).all()]
    if not images:
        raise LookalikeError(f"{np.count_nonzero(wrong)} distances overflow: scale the vectors down")
    raise LookalikeError(
        f"{len(images)} images of the triplets or their pools have no vector, the first is image {images[0]}: describe "
        "them, or drop their triplets and take them out of the pools"
    )


def _l1(a: Floats, b: Floats) -> Floats:
    difference = a - b
    np.abs(difference, out=difference)
    return np.asarray(difference.sum(axis=1, dtype=np.float64), dtype=np.float32)


def _l2(a: Floats, b: Floats) -> Floats:
    difference = a - b
    np.multiply(difference, difference, out=difference)
    return np.asarray(np.sqrt(difference.sum(axis=1, dtype=np.float64)), dtype=np.float32)


def _chi2(a: Floats, b: Floats) -> Floats:
    if (a < 0).any() or (b < 0).any():
        raise ValueError("chi2 compares histograms, which have no negative entry: use another distance")
    difference, total = a - b, a + b
    np.multiply(difference, difference, out=difference)
    total[total == 0] = 1
    difference /= total
    return np.asarray(difference.sum(axis=1, dtype=np.float64), dtype=np.float32)


def _cosine(a: Floats, b: Floats) -> Floats:
    products = [(x * y).sum(axis=1, dtype=np.float64) for x, y in ((a, b), (a, a), (b, b))]
    norms = np.sqrt(products[1]) * np.sqrt(products[2])
    distances = np.ones(len(a))
    np.divide(products[0], norms, out=distances, where=norms > 0)
    np.subtract(1, distances, out=distances, where=norms > 0)
    distances[(products[1] == 0) & (products[2] == 0)] = 0
    distances[np.isnan(norms)] = np.nan
    # rounding: a row and its copy are at distance 0 and not a hair below or above
    return np.where((a == b).all(axis=1), 0, np.maximum(distances, 0)).astype(np.float32)


_DISTANCES: dict[str, Callable[[Floats, Floats], Floats]] = {"l1": _l1, "l2": _l2, "chi2": _chi2, "cosine": _cosine}
DISTANCES = tuple(_DISTANCES)
"""Names of `rowwise_distances`."""
