"""Principal components of long descriptions: a learned matrix has the square of their number, so there are not many."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.own_images.dense import unit_rows

Arrays = dict[str, npt.NDArray[Any]]
Vectors = Any

MOST_COMPONENTS = 256
"""Principal components that long dense descriptions are brought to before learning: W has their square."""

_MOST_ROWS = 2000  # that principal components are found from


def fit_components(vectors: Vectors, seed: int) -> Arrays:
    """Find the principal components of long dense rows; sparse and short ones are learned from as they are.

    Parameters
    ----------
    vectors : csr_array or ndarray of shape (n, d), float32
    seed : int
        Draws the rows that components are found from, where there are more than enough.

    Returns
    -------
    dict of ndarray
        ``mean`` of shape (d,) and ``components`` of shape (m, d), float32; empty where rows stay as they are.
    """
    if hasattr(vectors, "indptr") or vectors.shape[1] <= MOST_COMPONENTS:
        return {}
    from sklearn.decomposition import PCA

    from lookalike.core.seeds import generator
    from lookalike.features._clustering import one_thread

    order = generator(seed, "own images", "components").permutation(len(vectors))
    chosen = vectors[np.sort(order[:_MOST_ROWS])]
    with one_thread():
        found = PCA(min(MOST_COMPONENTS, len(chosen) - 1), svd_solver="full").fit(chosen.astype(np.float64))
    return {
        "mean": found.mean_.astype(np.float32),
        "components": np.ascontiguousarray(found.components_, dtype=np.float32),
    }


def onto_components(rows: Vectors, reduction: Arrays) -> Vectors:
    """Bring rows to the components that `fit_components` found, at unit length; with none, return them as they are."""
    if not reduction:
        return rows
    return unit_rows((rows - reduction["mean"]) @ reduction["components"].T)
