"""Exact retrieval among sparse images: time of ours beside SciPy's products, on the same synthetic rows, in one run.

The rows are synthetic: 70 non-zeros each, words by Zipf's law (exponent 0.8), weights of L2 length 1, as JMLR
describes its visterms; W is a random float32 matrix, or the identity (the Euclidean baseline). Ways to the first k:

- ours: `ranking.exact_search.top_k`, in one thread and in all;
- scipy: q'W by SciPy, scores by its product of the sparse gallery with 64 dense queries at a time, `argpartition` of
  them; one thread, as SciPy's sparse products have no other;
- scikit-learn: `NearestNeighbors` by brute force, cosine distances of q'W to the sparse gallery, one thread;
- rank: `SimilarityLearner.rank` of a learner that holds the same W, one thread;
- faiss: `IndexFlatIP`, which takes dense rows only, over the first 20,000 of the gallery, and ours over the same.

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
from typing import Any

import faiss
import limits
import numpy as np
import scipy.sparse as sp
from sklearn.metrics import average_precision_score
from sklearn.neighbors import NearestNeighbors

from lookalike.learners import Euclidean
from lookalike.learners.base import SimilarityLearner
from lookalike.ranking.exact_search import average_precision, top_k, warm_up

WORDS_OF_IMAGE = 70
ZIPF_EXPONENT = 0.8
PAPER_QUERIES = 10_000
VALIDATION_ROWS = DENSE_ROWS = 20_000
RELEVANT = 100
SCIPY_QUERIES = 64


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


def timed(function: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Return wall and processor seconds, and what the function returned."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}, result


def for_the_paper(spent: dict[str, float], n_queries: int) -> dict[str, float]:
    """Return the same seconds, and what they would be for the paper's number of queries."""
    return spent | {f"{name}_10000_queries": PAPER_QUERIES / n_queries * value for name, value in spent.items()}


def measure_top_k(
    W: np.ndarray | None, gallery: sp.csr_array, n_queries: int, n_peer: int, k: int
) -> Iterator[dict[str, object]]:
    """Yield a row for each way to the first k."""
    matrix = "identity" if W is None else "random"
    queries = gallery[:n_queries]
    few = queries[:n_peer]
    # the same estimator in both cases: the identity needs no product in the peers either
    learner: Any = Euclidean().fit(few) if W is None else FixedMatrix(W)

    def row(way: str, n_threads: int, n: int, spent: dict[str, float], found: np.ndarray) -> dict[str, object]:
        same = float(np.mean([len(np.intersect1d(a, b)) for a, b in zip(found, truth, strict=False)]) / k)
        size = {"queries": n, "gallery": gallery.shape[0], "k": k}
        what = {"task": f"top k, {matrix} W", "way": way, "threads": n_threads}
        return what | size | for_the_paper(spent, n) | {"same": same}

    spent, truth = timed(lambda: scipy_top_k(W, few, gallery, k))
    yield row("scipy", 1, n_peer, spent, truth)
    spent, found = timed(lambda: learner.rank(few, gallery, k)[0])
    yield row("rank", 1, n_peer, spent, found)
    neighbours = NearestNeighbors(n_neighbors=k, algorithm="brute", metric="cosine").fit(gallery)
    spent, found = timed(lambda: neighbours.kneighbors(few if W is None else few @ W, return_distance=False))
    yield row("scikit-learn", 1, n_peer, spent, found)
    for n_threads in sorted({1, os.cpu_count() or 1}):
        spent, found = timed(lambda n_threads=n_threads: top_k(W, queries, gallery, k, n_threads=n_threads)[0])
        yield row("ours", n_threads, n_queries, spent, found)


def measure_dense(W: np.ndarray, gallery: sp.csr_array, n_queries: int, k: int) -> Iterator[dict[str, object]]:
    """Yield a row for faiss, which searches a dense gallery, and for ours."""
    faiss.omp_set_num_threads(1)
    index, queries = faiss.IndexFlatIP(gallery.shape[1]), gallery[:n_queries]
    index.add(gallery.toarray())
    ways = {"faiss": lambda: index.search(queries @ W, k)[1], "ours": lambda: top_k(W, queries, gallery, k)[0]}
    truth = ways["faiss"]()
    for way, search in ways.items():
        spent, found = timed(search)
        same = float(np.mean([len(np.intersect1d(a, b)) for a, b in zip(found, truth, strict=True)]) / k)
        size = {"queries": n_queries, "gallery": gallery.shape[0], "k": k}
        what = {"task": "top k, sparse rows made dense for faiss", "way": way, "threads": 1}
        yield what | size | for_the_paper(spent, n_queries) | {"same": same}


def ratios(rows: list[dict[str, Any]], words_of_row: float) -> list[limits.Row]:
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


def measure_average_precision(
    W: np.ndarray, rows: sp.csr_array, n_queries: int, n_peer: int, random: np.random.Generator
) -> Iterator[dict[str, object]]:
    """Yield a row for each way to the mean average precision."""
    n = rows.shape[0]
    queries = np.arange(n_queries)
    relevant = [np.setdiff1d(random.choice(n, RELEVANT, replace=False), [query]) for query in queries]
    indptr = np.cumsum([0] + [len(members) for members in relevant])

    def peer() -> list[float]:
        values = []
        for query, scores in enumerate(scipy_scores(W, rows[:n_peer], rows)):
            truth = np.zeros(n, dtype=bool)
            truth[relevant[query]] = True
            values.append(average_precision_score(np.delete(truth, query), np.delete(scores, query)))
        return values

    def row(way: str, n_threads: int, n_done: int, spent: dict[str, float], values: Any) -> dict[str, object]:
        same = float(np.isclose(values[:n_peer], truth, rtol=1e-3).mean())
        size = {"queries": n_done, "gallery": n, "k": 0}
        what = {"task": "average precision", "way": way, "threads": n_threads}
        return what | size | for_the_paper(spent, n_done) | {"same": same}

    spent, truth = timed(peer)
    yield row("scikit-learn", 1, n_peer, spent, truth)
    for n_threads in sorted({1, os.cpu_count() or 1}):
        spent, found = timed(
            lambda n_threads=n_threads: average_precision(
                W, rows, indptr, np.concatenate(relevant), queries, n_threads=n_threads
            )
        )
        yield row("ours", n_threads, n_queries, spent, found)


def main() -> None:
    parser = limits.argument_parser(__doc__)
    parser.add_argument("--gallery", type=int, default=402_164)
    parser.add_argument("--dimensions", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--peer-queries", type=int, default=128)
    parser.add_argument("--k", type=int, default=100)
    arguments = parser.parse_args()
    random = np.random.default_rng(0)
    gallery = limits.zipf_rows(arguments.gallery, arguments.dimensions, WORDS_OF_IMAGE, ZIPF_EXPONENT, random)
    gallery = gallery.astype(np.float32)
    W = random.standard_normal((arguments.dimensions, arguments.dimensions), dtype=np.float32)
    warm_up()
    print(f"{limits.processor()}, {os.cpu_count()} cores")
    print(f"{arguments.dimensions} words, {gallery.nnz / gallery.shape[0]:.1f} non-zeros a row")
    validation = gallery[:VALIDATION_ROWS]
    n_validation = min(arguments.queries, validation.shape[0])
    rows = [
        *measure_top_k(W, gallery, arguments.queries, arguments.peer_queries, arguments.k),
        *measure_top_k(None, gallery, arguments.queries, arguments.peer_queries, arguments.k),
        *measure_average_precision(W, validation, n_validation, arguments.peer_queries, random),
        *measure_dense(W, gallery[:DENSE_ROWS], arguments.peer_queries, arguments.k),
    ]
    limits.print_table(rows)
    beside = ratios(rows, gallery.nnz / gallery.shape[0])
    limits.print_table(beside)
    limits.write(arguments.output, beside, ways=rows, data="synthetic")


if __name__ == "__main__":
    main()
