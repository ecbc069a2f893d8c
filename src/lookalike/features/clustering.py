"""Clustering, and one thread for what must come out the same whatever ``--cores`` says.

BLAS and OpenMP split sums by thread, and a sum's last bits depend on where it is split.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_limits

from lookalike.core.arrays import Floats, Reals

if TYPE_CHECKING:
    from sklearn.decomposition import PCA


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS, OpenMP and faiss to one thread within the block, and give them back what they had after it."""
    before = _set_faiss_threads(1)
    with threadpool_limits(limits=1):
        try:
            yield
        finally:
            _set_faiss_threads(before)


@cache
def blas_of_numpy() -> ThreadpoolController:
    """Find NumPy's BLAS once; `threadpool_limits` looks through all libraries at each call, which takes 3 ms."""
    return ThreadpoolController()


def one_faiss_thread() -> None:
    """Limit faiss to one thread, where it is in use: OpenMP keeps its number by thread, and each is told."""
    _set_faiss_threads(1)


def _set_faiss_threads(n: int) -> int:
    """Set the threads of faiss, and return how many there were; what is not imported is not imported for that."""
    faiss = sys.modules.get("faiss")
    before: int = n if faiss is None else faiss.omp_get_max_threads()
    if faiss is not None:
        faiss.omp_set_num_threads(n)
    return before


def cluster(points: Floats, n_centres: int, seed: int, n_iterations: int, n_redo: int = 1) -> Floats:
    """Cluster points by k-means (faiss) in one thread; of `n_redo` starts, the one of smallest distortion is kept.

    No centre is outside the range of the points: faiss moves the halves of a centre that it splits by 1/1024 of it.
    """
    import faiss  # slow to import, and describing an image needs none

    # all points: faiss keeps 256 a centre otherwise
    points_of_centre = {"min_points_per_centroid": 1, "max_points_per_centroid": -(-len(points) // n_centres)}
    options = {"niter": n_iterations, "nredo": n_redo, "seed": seed, **points_of_centre}
    with one_thread():
        kmeans = faiss.Kmeans(points.shape[1], n_centres, **options)
        kmeans.train(points := np.ascontiguousarray(points, dtype=np.float32))
    return np.asarray(kmeans.centroids).clip(points.min(axis=0), points.max(axis=0))


def principal_components(vectors: Reals, n: int, solver: str, seed: int | None = None) -> PCA:
    """Fit a PCA in float64; vectors that are all equal, as those of flat images are, have any axes."""
    from sklearn.decomposition import PCA  # slow to import

    with np.errstate(invalid="ignore"):  # the shares of their variance, which nobody reads, are 0 / 0
        return PCA(n, svd_solver=solver, random_state=seed).fit(vectors.astype(np.float64))
