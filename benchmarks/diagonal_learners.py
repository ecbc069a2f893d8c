"""Seconds of the diagonal learners at 10,000 to a million visual words: ours, the paper's, and a dense recursion's.

The triplets are those of one landmark of the SOML paper: 7 positives and 500 negatives, 7 x 6 x 500 = 21,000 triplets,
once each; OASIS takes 100,000 steps over them, as the paper does. The rows are simulated: about 2,000 words of each
image, drawn by Zipf's law, in tf-idf weights of L2 length 1. Positives have no
more in common than negatives, so that most steps have a loss and change w: the most work that a step can be. The peers
are the same two algorithms written out in NumPy with a dense w, which is what their pseudocode says; where they are too
slow, the first steps are timed and scaled to all. Each must learn the weights that ours learns. Of public packages
scikit-learn's SGDClassifier comes nearest to SOML-TG: the same hinge and step, and an L1 term that is truncated, though
by a rule of its own. It is given the rows x * (x+ - x-), which are part of its time.

Learners take turns, and seconds are those of the processor that the one thread had, so that what else runs on the
machine weighs little. The paper's seconds (Tables 7-9) are means over its 7 landmarks, on a machine of its time.

    python benchmarks/diagonal_learners.py --output diagonal_learners.json
"""

from __future__ import annotations

import csv
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import limits
import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from lookalike.exhibits.printed import printed_numbers
from lookalike.learners import QPAO, SOMLDA, SOMLTG, TFIDF, DiagonalOASIS, TripletProducts, warm_up
from lookalike.studies.landmark.protocol import landmark_triplets

REFERENCE = Path(__file__).resolve().parents[1] / "workflow" / "resources" / "reference-values.csv"
POSITIVES, NEGATIVES = 7, 500
OASIS_STEPS = 100_000
CODEBOOKS = {10_000: "10k", 100_000: "100k", 1_000_000: "1m"}
PAPER_NAMES = {"SOMLTG": "soml-tg", "SOMLDA": "soml-da", "DiagonalOASIS": "oasis", "QPAO": "qpao"}
QPAO_COST = 10.0
"""C of QPAO in the landmark study; the paper prints none."""
BLOCK = 50
"""Steps of a peer between two looks at the clock."""


def printed_seconds() -> dict[tuple[str, int], float]:
    """Return the paper's mean over landmarks (Tables 7-9) of every learner and number of words."""
    with REFERENCE.open(newline="", encoding="utf-8") as file:
        table = printed_numbers(csv.DictReader(file))
    table = table[(table["paper"] == "soml-aaai-2014") & (table["metric"] == "train_time")]
    return {
        (learner, d): float(rows["value"].mean())
        for learner, name in PAPER_NAMES.items()
        for d, codebook in CODEBOOKS.items()
        if len(rows := table[(table["method"] == name) & table["setting"].str.startswith(f"codebook={codebook};")])
    }


# The peers -----------------------------------------------------------------------------------------------------------


def sparse_gradients(X: sp.csr_array, triplets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield places and values of x * (x+ - x-) of every triplet (a place may come twice: add, do not assign)."""
    dense = np.zeros(X.shape[1])
    rows = [(X.indices[a:b], X.data[a:b]) for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
    for query, positive, negative in triplets:
        dense[rows[query][0]] = rows[query][1]
        (plus, plus_values), (minus, minus_values) = rows[positive], rows[negative]
        places = np.concatenate([plus, minus])
        yield places, dense[places] * np.concatenate([plus_values, -minus_values])
        dense[rows[query][0]] = 0


def dense_truncated_gradient(X: sp.csr_array, triplets: np.ndarray, w: np.ndarray) -> Iterator[int]:
    """Algorithm 1 with a dense w, which is changed in place; yield after every step."""
    eta, alpha = 1.0, 1e-5
    for step, (places, values) in enumerate(sparse_gradients(X, triplets), start=1):
        if 1 - w[places] @ values > 0:
            np.add.at(w, places, eta * values)
            w[:] = np.where(w >= 0, np.maximum(0, w - alpha), np.minimum(0, w + alpha))
        yield step


def dense_dual_averaging(X: sp.csr_array, triplets: np.ndarray, w: np.ndarray) -> Iterator[int]:
    """Algorithm 2 with a dense w, changed in place, and a dense mean of true subgradients; yield after every step."""
    gamma, rho, regularization = 1e-4, 1.0, 1e-6
    mean = np.zeros_like(w)
    for t, (places, values) in enumerate(sparse_gradients(X, triplets), start=1):
        loss = 1 - w[places] @ values
        mean *= (t - 1) / t
        if loss > 0:
            np.add.at(mean, places, -values / t)
            threshold = regularization + gamma * rho / np.sqrt(t)
            w[:] = np.where(abs(mean) <= threshold, 0, -np.sqrt(t) / gamma * (mean - threshold * np.sign(mean)))
        yield t


PEERS: dict[str, tuple[Callable[[sp.csr_array, np.ndarray, np.ndarray], Iterator[int]], type[Any]]] = {
    "dense recursion of SOML-TG": (dense_truncated_gradient, SOMLTG),
    "dense recursion of SOML-DA": (dense_dual_averaging, SOMLDA),
}


def measure_peer(name: str, X: sp.csr_array, triplets: np.ndarray, limit: float) -> dict[str, Any]:
    """Run a peer for at most so many seconds, check its weights, and scale its seconds to all triplets."""
    recursion, learner = PEERS[name]
    w = np.zeros(X.shape[1])
    step, start = 0, time.process_time()
    for step in recursion(X, triplets, w):
        if step % BLOCK == 0 and time.process_time() - start > limit:
            break
    seconds = time.process_time() - start
    expected = learner().fit_triplets(X, triplets[:step]).w_
    if not np.allclose(w, expected, rtol=0, atol=1e-9 * max(1.0, np.abs(expected).max())):
        raise SystemExit(f"the {name} learns other weights than lookalike: its speed means nothing")
    return {"seconds": seconds * len(triplets) / step, "steps_timed": step, "seconds_timed": seconds}


def scikit_learn_seconds(X: sp.csr_array, triplets: np.ndarray) -> float:
    """Seconds of scikit-learn's truncated gradient over all triplets, once each."""

    def fit() -> None:
        query, positive, negative = (X[column] for column in triplets.T)
        rows = sp.csr_array(query.multiply(positive - negative))
        rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)  # it takes no others
        model = SGDClassifier(penalty="l1", alpha=1e-5, learning_rate="constant", eta0=1.0, fit_intercept=False)
        model.partial_fit(rows, np.ones(len(triplets)), classes=[-1, 1])

    return min(limits.take_turns({"SGD": fit})["SGD"])


# Ours ----------------------------------------------------------------------------------------------------------------


def fit(learner: Any, X: sp.csr_array, triplets: np.ndarray) -> tuple[float, float | None]:
    """Fit as `fit_triplets` does; return the seconds, and those of them after the products of pairs are there."""
    if not hasattr(learner, "fit_products"):
        return limits.timed(lambda: learner.fit_triplets(X, triplets))[0], None
    before, products = limits.timed(lambda: TripletProducts(X, triplets))
    after, _ = limits.timed(lambda: learner.fit_products(products))
    return before + after, after


def benchmark(d: int, arguments: Namespace) -> dict[str, Any]:
    """Measure all learners at d words."""
    n_rows = POSITIVES + arguments.negatives
    X = limits.zipf_rows(n_rows, d, min(arguments.nonzeros, d // 2), 1.0, np.random.default_rng(0))
    triplets = landmark_triplets(POSITIVES, arguments.negatives, 0)
    drawn = triplets[np.random.default_rng(0).integers(len(triplets), size=OASIS_STEPS * arguments.negatives // 500)]
    # what the landmark study sets of QPAO at d words
    parameters = {"QPAO": {"C": QPAO_COST, "n_blocks": 50 if d <= 100_000 else 500}}
    learners: dict[str, tuple[Any, np.ndarray]] = {
        "TFIDF": (TFIDF(), triplets),
        "SOMLTG": (SOMLTG(), triplets),
        "SOMLDA": (SOMLDA(), triplets),
        "SOMLDA, average_every_step": (SOMLDA(average_every_step=True), triplets),
        "DiagonalOASIS": (DiagonalOASIS(), drawn),
    }
    turns = [
        {name: fit(learner, X, steps) for name, (learner, steps) in learners.items()} for _ in range(arguments.repeat)
    ]
    if arguments.qpao:
        learners["QPAO"] = (QPAO(**parameters["QPAO"], random_state=0), triplets)
        turns[0]["QPAO"] = fit(learners["QPAO"][0], X, triplets)
    result: dict[str, Any] = {}
    for name, (learner, _) in learners.items():
        values = [turn[name] for turn in turns if name in turn]
        after = [value for _, value in values if value is not None]
        result[name] = {
            "seconds": median(value for value, _ in values),
            "seconds_after_products": median(after) if after else None,
            "all": values,
            "updates": getattr(learner, "n_updates_", None),
            "sparsity": learner.sparsity(),
            "parameters": parameters.get(name, {}),  # those that are not the learner's own
        }
    result |= {name: measure_peer(name, X, triplets, arguments.peer_seconds) for name in PEERS}
    result["scikit-learn's SGD"] = {"seconds": scikit_learn_seconds(X, triplets)}
    return {
        "dimensions": d,
        "rows": n_rows,
        "mean_non_zeros": X.nnz / n_rows,
        "triplets": len(triplets),
        "data": "simulated",
        "learners": result,
    }


def ratios(results: list[dict[str, Any]]) -> list[limits.Row]:
    """Return a row for each SOML beside each peer; at least, every triplet's products are read from memory once."""
    rows = []
    pairs = [("SOMLTG", "dense recursion of SOML-TG"), ("SOMLTG", "scikit-learn's SGD")]
    pairs.append(("SOMLDA", "dense recursion of SOML-DA"))
    for result in results:
        products = (POSITIVES * (POSITIVES - 1) + POSITIVES * (result["rows"] - POSITIVES)) * result["mean_non_zeros"]
        size = f"{result['triplets']:,} triplets, {result['dimensions']:,} words"
        for names in pairs:
            ours, theirs = (result["learners"][name]["seconds"] for name in names)
            rows.append(limits.beside(names[0], size, names[1], (ours, theirs), bytes_read=12 * products))
    return rows


def growth(results: list[dict[str, Any]]) -> dict[str, float]:
    """Return how many times as long SOML takes at the most words as at the fewest."""
    few, many = results[0]["learners"], results[-1]["learners"]
    return {name: many[name]["seconds"] / few[name]["seconds"] for name in ("SOMLTG", "SOMLDA")}


def main() -> None:
    arguments = limits.options(
        __doc__,
        dimensions=(sorted(CODEBOOKS), "words d"),
        nonzeros=(2_000, "different words of a row, about"),
        negatives=(NEGATIVES, "negatives; 42 triplets each"),
        repeat=(5, "fits of each learner"),
        peer_seconds=(15.0, "seconds for each peer, then scaled"),
        qpao=(False, "also QPAO, once, as in the study: it takes minutes"),
    )
    warm_up()
    printed = printed_seconds()
    results = [benchmark(d, arguments) for d in sorted(arguments.dimensions)]
    for result in results:
        words, learners = result["dimensions"], result["learners"].items()
        print(f"{result['triplets']:,} triplets of simulated rows of {words:,} words, seconds of one core")
        papers = {name: value for (name, d), value in printed.items() if d == words}
        limits.print_table([{"learner": n, "paper": papers.get(n, ""), **figures} for n, figures in learners], ["all"])
    paper = [{"learner": name, "dimensions": d, "seconds": value} for (name, d), value in printed.items()]
    whole: dict[str, Any] = {"results": results, "paper": paper}
    if len(results) > 1:
        whole["seconds_at_most_over_fewest_words"] = growth(results)
        print("seconds at the most words over those at the fewest")
        limits.print_table([growth(results)])
    limits.keep(arguments.output, ratios(results), **whole)


if __name__ == "__main__":
    main()
