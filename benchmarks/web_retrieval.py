"""Exact retrieval among sparse images: time of ours beside SciPy's products, on the same synthetic rows, in one run.

The rows are synthetic: 70 non-zeros each, words by Zipf's law (exponent 0.8), weights of L2 length 1, as JMLR
describes its visterms; W is a random float32 matrix, or the identity (the Euclidean baseline). Ways to the first k:

- ours: `ranking.exact_search.top_k`, in one thread and in all;
- scipy: q'W by SciPy, scores by its product of the sparse gallery with 64 dense queries at a time, `argpartition` of
  them; one thread, as SciPy's sparse products have no other;
- scikit-learn: `NearestNeighbors` by brute force, cosine distances of q'W to the sparse gallery, one thread;
- rank: `SimilarityLearner.rank` of a learner that holds the same W, one thread.

Then mean average precision as it is traced during training, some of 20,000 images querying all others: ours beside
scikit-learn's `average_precision_score` of SciPy's scores. The peers get fewer queries. Wall time means something on a
quiet machine only; processor time, of all threads together, stands beside it. `same` is the share of the first k that
are those of scipy: float32 sums in another order may swap neighbours.

    python benchmarks/web_retrieval.py [--gallery 402164] [--queries 1000] [--peer-queries 128] [--output J]
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import limits
import numpy as np
import scipy.sparse as sp
from sklearn.metrics import average_precision_score
from sklearn.neighbors import NearestNeighbors

from lookalike.learners import Euclidean
from lookalike.learners.base import SimilarityLearner
from lookalike.ranking.exact_search import average_precision, top_k

WORDS_OF_IMAGE = 70
ZIPF_EXPONENT = 0.8
PAPER_QUERIES = 10_000
VALIDATION_ROWS = 20_000
RELEVANT = 100
SCIPY_QUERIES = 64
Way = tuple[str, int, int, Callable[[], Any]]
"""Its name, threads and queries, and the search itself."""


class FixedMatrix(SimilarityLearner):
    """A learner whose W was learned before."""

    def __init__(self, W: np.ndarray) -> None:
        self.W_, self.metric_, self.n_features_in_ = W, "inner_product", len(W)


def scipy_scores(W: np.ndarray | None, queries: sp.csr_array, gallery: sp.csr_array) -> np.ndarray:
    projected = queries.toarray() if W is None else queries @ W
    return np.ascontiguousarray((gallery @ np.ascontiguousarray(projected.T)).T)


def scipy_top_k(W: np.ndarray | None, queries: sp.csr_array, gallery: sp.csr_array, k: int) -> np.ndarray:
    found = []
    for start in range(0, queries.shape[0], SCIPY_QUERIES):
        scores = scipy_scores(W, queries[start : start + SCIPY_QUERIES], gallery)
        first = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(scores, first, 1), axis=1, kind="stable")
        found.append(np.take_along_axis(first, order, 1))
    return np.concatenate(found)


def measured(task: str, n_gallery: int, k: int, ways: list[Way]) -> Iterator[limits.Row]:
    """Yield a row for each way to the same: its seconds, and those of the paper's number of queries."""
    truth: Any = None
    for way, n_threads, n, search in ways:
        wall = time.perf_counter()
        cpu_seconds, found = limits.timed(search)
        spent = {"seconds": time.perf_counter() - wall, "cpu_seconds": cpu_seconds}
        truth = found if truth is None else truth
        if k:
            same = np.mean([len(np.intersect1d(a, b)) for a, b in zip(found, truth, strict=False)]) / k
        else:
            same = np.isclose(found[: len(truth)], truth, rtol=1e-3).mean()
        row: limits.Row = {"task": task, "way": way, "threads": n_threads, "queries": n, "gallery": n_gallery, "k": k}
        row |= spent | {f"{name}_10000_queries": PAPER_QUERIES / n * value for name, value in spent.items()}
        yield row | {"same": float(same)}


def in_threads(n_queries: int, search: Callable[[int], Any]) -> list[Way]:
    """Return ours in one thread and in all."""
    return [("ours", n, n_queries, partial(search, n)) for n in sorted({1, os.cpu_count() or 1})]


def measure_top_k(W: np.ndarray | None, gallery: sp.csr_array, n_queries: int, n_peer: int, k: int) -> list[limits.Row]:
    """Return a row for each way to the first k."""
    queries = gallery[:n_queries]
    few = queries[:n_peer]
    # the same estimator in both cases: the identity needs no product in the peers either
    learner: Any = Euclidean().fit(few) if W is None else FixedMatrix(W)
    neighbours = NearestNeighbors(n_neighbors=k, algorithm="brute", metric="cosine").fit(gallery)
    ways: list[Way] = [
        ("scipy", 1, n_peer, lambda: scipy_top_k(W, few, gallery, k)),
        ("rank", 1, n_peer, lambda: learner.rank(few, gallery, k)[0]),
        (
            "scikit-learn",
            1,
            n_peer,
            lambda: neighbours.kneighbors(few if W is None else few @ W, return_distance=False),
        ),
        *in_threads(n_queries, lambda n: top_k(W, queries, gallery, k, n_threads=n)[0]),
    ]
    return [*measured(f"top k, {'identity' if W is None else 'random'} W", gallery.shape[0], k, ways)]


def measure_average_precision(
    W: np.ndarray, rows: sp.csr_array, n_queries: int, n_peer: int, random: np.random.Generator
) -> list[limits.Row]:
    """Return a row for each way to the mean average precision."""
    n = rows.shape[0]
    queries = np.arange(n_queries)
    relevant = [np.setdiff1d(random.choice(n, RELEVANT, replace=False), [query]) for query in queries]
    indptr = np.cumsum([0] + [len(members) for members in relevant])

    def peer() -> list[float]:
        values = []
        for query, scores in enumerate(scipy_scores(W, rows[:n_peer], rows)):
            truth = np.isin(np.delete(np.arange(n), query), relevant[query])
            values.append(average_precision_score(truth, np.delete(scores, query)))
        return values

    def ours(n_threads: int) -> Any:
        return average_precision(W, rows, indptr, np.concatenate(relevant), queries, n_threads=n_threads)

    ways = [("scikit-learn", 1, n_peer, peer), *in_threads(n_queries, ours)]
    return [*measured("average precision", n, 0, ways)]


def ratios(rows: list[limits.Row], words_of_row: float) -> list[limits.Row]:
    """Return a row for ours beside each peer with one thread, by processor seconds of 10,000 queries."""
    one_thread = [row for row in rows if row["threads"] == 1]
    ours = {(row["task"], row["gallery"]): row for row in one_thread if row["way"] == "ours"}
    return [
        limits.beside(
            f"exact search, {row['task']}",
            f"{PAPER_QUERIES:,} queries of {row['gallery']:,}",
            row["way"],
            (own["cpu_seconds_10000_queries"], row["cpu_seconds_10000_queries"]),
            operations=2 * PAPER_QUERIES * row["gallery"] * words_of_row,
            dtype="float32",
        )
        for row in one_thread
        if row["way"] != "ours" and (own := ours[row["task"], row["gallery"]])
    ]


def main() -> None:
    arguments = limits.options(
        __doc__,
        gallery=(402_164, "images"),
        dimensions=(10_000, "words"),
        queries=(1_000, "of ours"),
        peer_queries=(128, "of the peers"),
        k=(100, "images that are found"),
    )
    random, n_peer, k = np.random.default_rng(0), arguments.peer_queries, arguments.k
    gallery = limits.zipf_rows(arguments.gallery, arguments.dimensions, WORDS_OF_IMAGE, ZIPF_EXPONENT, random)
    gallery = gallery.astype(np.float32)
    W = random.standard_normal((arguments.dimensions, arguments.dimensions), dtype=np.float32)
    for matrix in (None, W):  # compiled before they are timed
        top_k(matrix, gallery[:2], gallery, 1)
    average_precision(W, gallery[:2], np.array([0, 1]), np.array([1]), np.array([0]))
    print(f"{limits.processor()}, {os.cpu_count()} cores")
    print(f"{arguments.dimensions} words, {gallery.nnz / gallery.shape[0]:.1f} non-zeros a row")
    validation = gallery[:VALIDATION_ROWS]
    rows = [
        *measure_top_k(W, gallery, arguments.queries, n_peer, k),
        *measure_top_k(None, gallery, arguments.queries, n_peer, k),
        *measure_average_precision(W, validation, min(arguments.queries, validation.shape[0]), n_peer, random),
    ]
    limits.print_table(rows)
    limits.keep(arguments.output, ratios(rows, gallery.nnz / gallery.shape[0]), ways=rows, data="synthetic")


if __name__ == "__main__":
    main()
