"""Distances between the vectors of images, each under one name for the whole fine-grained study.

A hand-crafted feature states by name which of them it is compared with; `lookalike.ranking.triplet_metrics` ranks by
what comes out. Smaller is more alike. A kernel takes one pass over two rows, and no array for every step of a formula.
Rows are named by number, so that no pair of them is copied. Sums run in float32 over short stretches, where the
compiler may take several at a time, and in float64 over the stretches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core.errors import LookalikeError
from lookalike.core.kernels import njit

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

DISTANCES = ("l1", "l2", "chi2", "cosine")
"""Names of `rowwise_distances`."""

STRETCH = 256
"""Entries that are summed in float32; their rounding is below that of the entries."""

# sums may be regrouped, and nothing else: a NaN stays one
_REGROUPED = {"reassoc", "contract", "nsz"}


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
    a, b = np.asarray(A, dtype=np.float32), np.asarray(B, dtype=np.float32)
    if a.ndim != 2 or a.shape != b.shape:
        raise ValueError(f"both sides need the same number of rows and columns, not {a.shape} and {b.shape}")
    if name == "chi2" and ((a < 0).any() or (b < 0).any()):
        raise ValueError("chi2 compares histograms, which have no negative entry: use another distance")
    rows = np.arange(len(a))
    return _measure(a, rows, b, rows, name)


def distances_of_rows(vectors: NDArray[np.floating], left: ArrayLike, right: ArrayLike, name: str) -> Floats:
    """Return the distance of pairs of rows of one array, none of which is copied.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n_images, d)
        Also a memory-mapped one.
    left, right : array-like of int, shape (n_pairs,)
        Row numbers.
    name : str
        As of `rowwise_distances`. "chi2" takes negative entries too: it is then that of the positive and the negative
        parts side by side, the sum of (a - b)^2 / (|a| + |b|).

    Returns
    -------
    ndarray of float32, shape (n_pairs,)

    Raises
    ------
    ValueError
        When the name is unknown, or a row is not there.
    """
    first, second = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
    if len(first) and not (min(first.min(), second.min()) >= 0 and max(first.max(), second.max()) < len(vectors)):
        raise ValueError(f"rows must be numbers from 0 to {len(vectors) - 1}")
    array = np.asarray(vectors, dtype=np.float32)
    return _measure(array, first, array, second, name)


def pair_distances(vectors: NDArray[np.floating], pairs: pd.DataFrame, distance: str) -> Floats:
    """Return the distance of each pair of images.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n_images, d)
        Row = image id. Images without a vector have NaN.
    pairs : DataFrame
        Columns ``query`` and ``candidate``: image ids.
    distance : str
        A name of `rowwise_distances`.

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
    if distance == "chi2" and (vectors[np.unique(np.concatenate([queries, candidates]))] < 0).any():
        raise ValueError("chi2 compares histograms, which have no negative entry: use another distance")
    result = distances_of_rows(vectors, queries, candidates, distance)
    _check_finite(result, vectors, queries, candidates)
    return result


def warm_up() -> None:
    """Compile every kernel, so that the jobs that follow find them in the cache."""
    for name in DISTANCES:
        rowwise_distances(np.zeros((1, 2)), np.ones((1, 2)), name)


def _measure(a: Floats, left: NDArray[np.int64], b: Floats, right: NDArray[np.int64], name: str) -> Floats:
    """Distances by a kernel, which takes contiguous rows."""
    if name not in DISTANCES:
        raise ValueError(f"there is no distance {name!r}: use one of {', '.join(DISTANCES)}")
    result = np.empty(len(left), dtype=np.float32)
    _KERNELS[name](np.ascontiguousarray(a), left, np.ascontiguousarray(b), right, result)
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


@njit(cache=True, nogil=True, fastmath=_REGROUPED)
def l1(a: Floats, left: Rows, b: Floats, right: Rows, result: Floats) -> None:
    """Sum of |a - b|."""
    d = a.shape[1]
    for pair in range(len(left)):
        x, y = a[left[pair]], b[right[pair]]
        total = 0.0
        for start in range(0, d, STRETCH):
            part = np.float32(0)
            for j in range(start, min(start + STRETCH, d)):
                part += abs(x[j] - y[j])
            total += float(part)
        result[pair] = total


@njit(cache=True, nogil=True, fastmath=_REGROUPED)
def l2(a: Floats, left: Rows, b: Floats, right: Rows, result: Floats) -> None:
    """Root of the sum of (a - b)^2."""
    d = a.shape[1]
    for pair in range(len(left)):
        x, y = a[left[pair]], b[right[pair]]
        total = 0.0
        for start in range(0, d, STRETCH):
            part = np.float32(0)
            for j in range(start, min(start + STRETCH, d)):
                difference = x[j] - y[j]
                part += difference * difference
            total += float(part)
        result[pair] = np.sqrt(total)


@njit(cache=True, nogil=True, fastmath=_REGROUPED)
def chi2(a: Floats, left: Rows, b: Floats, right: Rows, result: Floats) -> None:
    """Sum of (a - b)^2 / (|a| + |b|): of amounts, a negative entry is another amount than a positive one."""
    d = a.shape[1]
    smallest = np.float32(1.1754944e-38)  # of normal numbers: 0 / 0 comes to 0
    for pair in range(len(left)):
        x, y = a[left[pair]], b[right[pair]]
        total = 0.0
        for start in range(0, d, STRETCH):
            part = np.float32(0)
            for j in range(start, min(start + STRETCH, d)):
                difference = x[j] - y[j]
                part += difference * (difference / (abs(x[j]) + abs(y[j]) + smallest))
            total += float(part)
        result[pair] = total


@njit(cache=True, nogil=True, fastmath=_REGROUPED)
def cosine(a: Floats, left: Rows, b: Floats, right: Rows, result: Floats) -> None:
    """1 - cos(a, b); 0 for two zero rows and for equal rows, 1 for a zero row and another."""
    d = a.shape[1]
    for pair in range(len(left)):
        x, y = a[left[pair]], b[right[pair]]
        product, of_x, of_y = 0.0, 0.0, 0.0
        n_different = 0
        for start in range(0, d, STRETCH):
            part, part_x, part_y = np.float32(0), np.float32(0), np.float32(0)
            for j in range(start, min(start + STRETCH, d)):
                part += x[j] * y[j]
                part_x += x[j] * x[j]
                part_y += y[j] * y[j]
                n_different += x[j] != y[j]
            product += float(part)
            of_x += float(part_x)
            of_y += float(part_y)
        norms = np.sqrt(of_x) * np.sqrt(of_y)
        if np.isnan(norms):
            result[pair] = np.nan
        elif n_different == 0:  # rounding: a row and its copy are at distance 0, and not a hair above
            result[pair] = 0
        elif norms == 0:
            result[pair] = 1
        else:
            result[pair] = max(0.0, 1 - product / norms)


_KERNELS = {"l1": l1, "l2": l2, "chi2": chi2, "cosine": cosine}
