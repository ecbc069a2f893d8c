"""The first k of dense rows by a learned W: time of `rank` beside FAISS's exact search, on synthetic rows, in one run.

Rows are random directions in float32, and W is a random matrix. FAISS gets q'W of the same queries, and this product is
part of its time; its index is made before, as `rank` needs none. One thread each, taking turns. Both look at every row
of the gallery; `rank` also looks whether its numbers are finite, which FAISS leaves to the caller.

    python benchmarks/dense_search.py [--gallery 100000] [--queries 1000] [--output J]
"""

from __future__ import annotations

import faiss
import limits
import numpy as np
from web_retrieval import FixedMatrix

FEATURES = (256, 768)
NEIGHBOURS = (10, 100)


def measured(gallery: np.ndarray, W: np.ndarray, n_queries: int, k: int) -> limits.Row:
    """Return a row of seconds for some queries, at least 0.1 s of them by each."""
    learner, index, queries = FixedMatrix(W), faiss.IndexFlatIP(len(W)), gallery[:n_queries]
    index.add(gallery)
    ways = {"ours": lambda: learner.rank(queries, gallery, k)[0], "faiss": lambda: index.search(queries @ W, k)[1]}
    same = np.mean(ways["ours"]() == ways["faiss"]())
    assert same > 0.99, f"only {same:.1%} of the neighbours are the same"  # float32 sums in another order
    seconds = {way: min(found) for way, found in limits.take_turns(ways, repeat=3 if n_queries > 1 else 50).items()}
    size = f"{n_queries:,} {'query' if n_queries == 1 else 'queries'} of {len(gallery):,} x {len(W)}, k = {k}"
    needed = {"bytes_read": gallery.nbytes} if n_queries == 1 else {"operations": 2 * n_queries * gallery.size}
    pair = seconds["ours"], seconds["faiss"]
    return limits.beside("first k of dense rows", size, "FAISS", pair, **needed, dtype="float32")


def main() -> None:
    arguments = limits.options(__doc__, gallery=(100_000, "rows"), queries=(1_000, "in a batch"))
    faiss.omp_set_num_threads(1)
    random, rows = np.random.default_rng(0), []
    for d in FEATURES:
        gallery = random.standard_normal((arguments.gallery, d), dtype=np.float32)
        gallery /= np.linalg.norm(gallery, axis=1, keepdims=True)
        W = random.standard_normal((d, d), dtype=np.float32)
        rows += [measured(gallery, W, n, k) for n in (1, arguments.queries) for k in NEIGHBOURS]
    limits.keep(arguments.output, rows, data="synthetic")


if __name__ == "__main__":
    main()
