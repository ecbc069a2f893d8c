"""Approximate retrieval through a faiss index, for models that are positive semidefinite or made so.

JMLR section 6 names what a positive W would allow: W = LL', so images can be mapped to x'L once and searched for by
plain inner products. Here L has only the leading dimensions, and an index searches the mapped images; how many of the
true first k that still finds is measured against `lookalike.ranking.exact_search.top_k`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import faiss
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh

from lookalike.core.arrays import Array, Floats, Ints, Matrix
from lookalike.features.clustering import one_thread
from lookalike.ranking.exact_search import top_k, warm_up
from lookalike.ranking.rankings import recall

Found = tuple[Ints, Floats]

APPROXIMATE_COLUMNS = ("index", "rank", "parameter", "k", "recall", "milliseconds", "n_queries", "n_gallery")

DENSE_UP_TO = 1_000
"""Up to so many features, or where more than a quarter of the dimensions is wanted, all eigenvectors are computed."""
TIMINGS = 3
"""Searches that are timed, after one that is not, for the median of `compare_indices`."""


class IndexSetting(NamedTuple):
    """An index for `compare_indices`: as ``faiss.index_factory`` reads it, over rows mapped to `rank` dimensions."""

    factory: str
    rank: int
    parameters: Sequence[int] = (0,)

    @property
    def search_parameter(self) -> str | None:
        """``"nprobe"`` of an inverted file, ``"efSearch"`` of a graph, None of another index."""
        if "IVF" in self.factory:
            return "nprobe"
        return "efSearch" if "HNSW" in self.factory else None


class ProjectedIndex:
    """A faiss index of inner products a'LL'b over rows in CSR, built by one thread, so that it is always the same."""

    def __init__(self, factor: Floats, gallery: Matrix, factory: str = "Flat") -> None:
        self._factor = factor
        mapped = np.asarray(gallery @ factor)
        self.n_gallery, self.rank = mapped.shape
        self._index = build_index(mapped, factory, faiss.METRIC_INNER_PRODUCT)

    def search(self, queries: Matrix, k: int, own: NDArray[np.integer], **parameters: int) -> Found:
        """Find about the k most similar gallery rows of each query, best first; return them and their inner products.

        `own` is the gallery row that is the query itself and is left out. `parameters` are of the search, as
        ``faiss.ParameterSpace`` names them: ``nprobe`` lists of an inverted file, ``efSearch`` candidates of a graph.
        They stay as they are set until the next search that names them. Where the index found fewer than k, the row is
        -1 and the product -inf.
        """
        space = faiss.ParameterSpace()
        for name, value in parameters.items():
            space.set_index_parameter(self._index, name, value)
        with one_thread():
            # one more, because the query itself may come back; where it does not, the last of them is dropped
            scores, rows = self._index.search(np.asarray(queries @ self._factor), k + 1)
        scores = np.where(rows < 0, -np.inf, scores)
        order = np.argsort(rows == own[:, None], axis=1, kind="stable")[:, :k]
        found = np.take_along_axis(rows, order, 1), np.take_along_axis(scores, order, 1)
        return found[0].astype(np.int32), found[1].astype(np.float32)


def build_index(rows: Floats, factory: str, metric: int) -> faiss.Index:
    """Build an index, as ``faiss.index_factory`` reads its name, of rows or none yet; a ValueError tells why not."""
    with one_thread():
        try:
            if re.search(r"(?<!\d)0+(?!\d)", factory):  # some end the program when they are used
                raise RuntimeError("no number in its name may be 0")
            index = faiss.index_factory(rows.shape[1], factory, metric)
            if "IVF" in factory:
                # fewer images than 39 a list are learned from without a warning: small galleries are no mistake
                faiss.extract_index_ivf(index).cp.min_points_per_centroid = 1
            if len(rows):
                if not index.is_trained:
                    index.train(rows)
                index.add(rows)
        except RuntimeError as error:
            # what faiss has to say, without the place in its source
            reason = " ".join(str(error).split()).rsplit(".cpp:", 1)[-1].split(": ", 1)[-1]
            raise ValueError(
                f"no index {factory!r} can be built of {len(rows) or 'any'} rows of {rows.shape[1]} dimensions, so "
                f"choose another one or one of fewer cells: {reason}"
            ) from error
    return index


def projection(W: Array, rank: int) -> Floats:
    """Return L, float32 of shape (d, rank), such that LL' is the nearest to W + W' over 2 of its rank (Frobenius norm).

    Columns stand by falling eigenvalue, each with its largest entry positive, so that the same W gives the same L;
    there are fewer where fewer eigenvalues are positive. The antisymmetric part of W is lost.
    """
    d = W.shape[0]
    symmetric = W + W.T
    symmetric *= W.dtype.type(0.5)
    if d <= DENSE_UP_TO or rank > d // 4:
        values, vectors = np.linalg.eigh(symmetric)
    else:
        # ARPACK would draw its own start, another one in every run
        start = np.random.default_rng(0).standard_normal((d,)).astype(W.dtype)
        values, vectors = eigsh(symmetric, k=rank, which="LA", v0=start, tol=1e-4)
    order = np.argsort(-values, kind="stable")[:rank]
    order = order[values[order] > 0]
    if not len(order):
        raise ValueError("W has no positive eigenvalue, so no index can stand for it: rank with top_k instead")
    factor = vectors[:, order] * np.sqrt(values[order])
    largest = factor[np.abs(factor).argmax(axis=0), np.arange(len(order))]
    return np.ascontiguousarray(factor * np.sign(largest), dtype=np.float32)


def compare_indices(
    W: Array,
    queries: Matrix,
    gallery: Matrix,
    ks: Sequence[int],
    settings: Sequence[IndexSetting],
    own: NDArray[np.integer],
) -> pd.DataFrame:
    """Measure recall and time of indices beside exact retrieval, in one thread, in the columns `APPROXIMATE_COLUMNS`.

    Recall is measured among the first of each of `ks` rows. First comes a row for each of `ks` with ``index`` "exact"
    and rank 0 (the full W), then one for each setting, value of its search parameter and k. ``rank`` is that of the
    mapped rows, less than asked for where W has fewer positive eigenvalues (L is computed once, for the largest rank;
    smaller ones are its leading columns); ``parameter`` is ``nprobe`` of an index with IVF in its name, ``efSearch`` of
    one with HNSW, else 0; ``milliseconds`` are wall time a query, mapping it included, of a search for the largest k:
    the median of `TIMINGS` searches after a first one that is not timed. It is a ValueError when `ks` is empty or
    beyond the gallery, when a search parameter is given to an index that has none, or not to one that has, or when
    faiss can build no such index.
    """
    if not len(ks):
        raise ValueError("ks is empty: name at least one k")
    n_others = gallery.shape[0] - 1
    if not 1 <= min(ks) <= max(ks) <= n_others:
        raise ValueError(f"ks must be from 1 to {n_others}, the rows that a query can find, not {list(ks)}")
    for setting in settings:
        if any((value > 0) != (setting.search_parameter is not None) for value in setting.parameters or (0,)):
            raise ValueError(
                f"parameters of {setting.factory} must be "
                + (f"values of {setting.search_parameter}, from 1" if setting.search_parameter else "(0,)")
            )
    rows: list[tuple[object, ...]] = []
    n_queries, n_gallery = queries.shape[0], gallery.shape[0]

    def measure(name: str, rank: int, parameter: int, search: Callable[[], Found]) -> Ints:
        found = search()[0]
        seconds = []
        for _ in range(TIMINGS):
            start = time.perf_counter()
            search()
            seconds.append(time.perf_counter() - start)
        milliseconds = 1e3 * float(np.median(seconds)) / n_queries
        truth = found if rank == 0 else exact
        rows.extend(
            (name, rank, parameter, k, recall(found[:, :k], truth[:, :k]), milliseconds, n_queries, n_gallery)
            for k in ks
        )
        return found

    warm_up()
    exact = measure("exact", 0, 0, partial(top_k, W, queries, gallery, max(ks), own=own))
    factor = projection(W, max(setting.rank for setting in settings)) if settings else None
    for setting in settings:
        assert factor is not None
        part = np.ascontiguousarray(factor[:, : setting.rank])
        index = ProjectedIndex(part, gallery, setting.factory)
        for value in setting.parameters or (0,):
            options = {setting.search_parameter: value} if setting.search_parameter else {}
            search = partial(index.search, queries, max(ks), own, **options)
            measure(setting.factory, index.rank, value, search)
    table = pd.DataFrame(rows, columns=list(APPROXIMATE_COLUMNS))
    return table.astype({"rank": np.int32, "parameter": np.int32, "k": np.int32})
