"""Distances between the vectors of images, by name; smaller is more alike.

Sums run in float32 over short stretches, several entries at a time, and in float64 over the stretches.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core.arrays import Floats, Longs
from lookalike.core.errors import LookalikeError
from lookalike.core.kernels import njit
from lookalike.core.row_numbers import row_numbers

if TYPE_CHECKING:
    import pandas as pd  # the learners measure distances without it


DISTANCES = ("l1", "l2", "chi2", "cosine")
"""The sum of |a - b|; Euclid's, with its root; the sum of (a - b)^2 / (a + b) over the entries that are not both 0, for
histograms; and 1 - cos(a, b), where two zero rows have distance 0 and a zero row has distance 1 to any other."""
STRETCH = 256
"""Entries that are summed in float32; their rounding is below that of the entries."""

# sums may be regrouped, and nothing else: a NaN stays one
_REGROUPED = {"reassoc", "contract", "nsz"}


def distances_of_rows(vectors: NDArray[np.floating], left: ArrayLike, right: ArrayLike, name: str) -> Floats:
    """Return the distance of pairs of rows of one array, memory-mapped or not; a row with a NaN has distance NaN.

    "chi2" takes negative entries too, and measures the positive and the negative parts side by side.
    """
    first, second = (row_numbers(rows, len(vectors), "rows") for rows in (left, right))
    result = np.empty(len(first), dtype=np.float32)
    _KERNELS[name](np.ascontiguousarray(vectors, dtype=np.float32), first, second, result)
    return result


def pair_distances(vectors: NDArray[np.floating], pairs: pd.DataFrame, distance: str) -> Floats:
    """Return the distance of each pair of images; `vectors` has a row an image id, NaN for one without a vector."""
    queries, candidates = pairs["query"].to_numpy(), pairs["candidate"].to_numpy()
    if len(queries) and max(queries.max(), candidates.max()) >= len(vectors):
        raise LookalikeError(
            f"the pairs name image {max(queries.max(), candidates.max())} but there are vectors of {len(vectors)} "
            "images: describe the images of this manifest"
        )
    if distance == "chi2" and (vectors[np.unique(np.concatenate([queries, candidates]))] < 0).any():
        raise ValueError("chi2 compares histograms, which have no negative entry: use another distance")
    result = distances_of_rows(vectors, queries, candidates, distance)
    wrong = ~np.isfinite(result)
    if wrong.any():
        named = np.unique(np.concatenate([queries[wrong], candidates[wrong]])).tolist()
        images = [image for image in named if not np.isfinite(vectors[image]).all()]
        if not images:
            raise LookalikeError(f"{np.count_nonzero(wrong)} distances overflow: scale the vectors down")
        raise LookalikeError(
            f"{len(images)} images of the triplets or their pools have no vector, the first is image {images[0]}: "
            "describe them, or drop their triplets and take them out of the pools"
        )
    return result


@njit(cache=True, nogil=True, fastmath=_REGROUPED)
def sums(name: int, rows: Floats, left: Longs, right: Longs, result: Floats) -> None:
    """Write the sums of |a - b| (name 0), of (a - b)^2, with their root (1), and of (a - b)^2 / (|a| + |b|) (2)."""
    d = rows.shape[1]
    smallest = np.float32(1.1754944e-38)  # of normal numbers: 0 / 0 comes to 0
    for pair in range(len(left)):
        x, y = rows[left[pair]], rows[right[pair]]
        total = 0.0
        for start in range(0, d, STRETCH):
            part = np.float32(0)
            for j in range(start, min(start + STRETCH, d)):
                difference = x[j] - y[j]
                if name == 0:
                    part += abs(difference)
                elif name == 1:
                    part += difference * difference
                else:  # of amounts: a negative entry is another amount than a positive one
                    part += difference * (difference / (abs(x[j]) + abs(y[j]) + smallest))
            total += float(part)
        result[pair] = np.sqrt(total) if name == 1 else total


@njit(cache=True, nogil=True, fastmath=_REGROUPED)
def cosine(rows: Floats, left: Longs, right: Longs, result: Floats) -> None:
    """Write 1 - cos(a, b); 0 for two zero rows and for equal rows, 1 for a zero row and another."""
    d = rows.shape[1]
    for pair in range(len(left)):
        x, y = rows[left[pair]], rows[right[pair]]
        product, norm_x, norm_y = 0.0, 0.0, 0.0
        n_different = 0
        for start in range(0, d, STRETCH):
            part, part_x, part_y = np.float32(0), np.float32(0), np.float32(0)
            for j in range(start, min(start + STRETCH, d)):
                part += x[j] * y[j]
                part_x += x[j] * x[j]
                part_y += y[j] * y[j]
                n_different += x[j] != y[j]
            product += float(part)
            norm_x += float(part_x)
            norm_y += float(part_y)
        norms = np.sqrt(norm_x) * np.sqrt(norm_y)
        if np.isnan(norms):
            result[pair] = np.nan
        elif n_different == 0:  # rounding: a row and its copy are at distance 0, and not a hair above
            result[pair] = 0
        elif norms == 0:
            result[pair] = 1
        else:
            result[pair] = max(0.0, 1 - product / norms)


_KERNELS = {name: partial(sums, place) for place, name in enumerate(DISTANCES[:3])} | {"cosine": cosine}
