"""How well similarities rank rows of one's own, beside each other: neighbours, labels to find, and triplets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lookalike.app.learning import MIXED
from lookalike.app.rows import Rows
from lookalike.core.arrays import Array, Ints, Matrix, Truths
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.learners.base import SimilarityLearner
from lookalike.ranking.evaluation import by_query, intervals
from lookalike.ranking.rankings import MEMORY_BYTES, ordered, rank_leave_one_out
from lookalike.ranking.rankings import Similarity as Comparer

MOST_QUERYING, QUERYING = 100_000, 10_000
"""Labelled rows that all query each other, and of more rows so many, chosen by the seed: 1,000,000 take minutes."""
Compared = tuple[Comparer, Matrix]
"""What compares rows, and these rows."""


def nearest(
    learner: SimilarityLearner, queries: tuple[Rows, Matrix], gallery: tuple[Rows, Matrix], k: int
) -> Iterator[list[dict[str, Any]]]:
    """Rank at most `k` rows of a gallery for each query, those of its own content left out; each with its vectors."""
    (wanted, query_rows), (found, gallery_rows) = queries, gallery
    copies = Counter(found.contents.tolist())
    most = max(copies[content] for content in wanted.contents.tolist())
    places, scores = learner.rank(query_rows, gallery_rows, min(k + most, len(found)))
    for query, content, columns, values in zip(wanted.ids, wanted.contents, places, scores, strict=True):
        others = np.flatnonzero(found.contents[columns] != content)[:k]
        if not len(others):
            raise LookalikeError(f"the gallery holds only the query {query}: name another one")
        best = columns[others]
        parts = found.ids[best], values[others].astype(np.float64), found.labels[best]
        rows = enumerate(zip(*(part.tolist() for part in parts), strict=True), 1)
        yield [{"rank": rank, found.key: name, "score": score, "label": label} for rank, (name, score, label) in rows]


def choose_evaluated(
    found: Rows, seen: Truths, answers: Truths, *, everything: bool = False
) -> tuple[Array, Ints | None, dict[str, object]]:
    """Pass over what was `seen` in learning while other queries are left; return rows, triplets of them, counts."""
    numbers: Array = np.arange(len(seen))
    triplets = found.triplets
    places: Ints | None = None
    counts: dict[str, object] = {}
    if triplets is None:
        others = np.unique(found.labels[~seen], return_counts=True)[1]
        usable = not everything and len(others) > 1 and bool((others > 1).any())
        rows = np.flatnonzero(~seen) if usable else numbers
        queries, asked = numbers, rows
    else:
        queries = triplets[:, 0]
        passed_over = np.zeros(len(triplets), bool) if everything or seen[queries].all() else seen[queries]
        kept, whole = triplets[~passed_over], seen[triplets[passed_over]].all(axis=1) & ~answers[passed_over]
        n_answers = int((answers & passed_over).sum())
        asked, rows = kept[:, 0], np.unique(kept)
        places = np.searchsorted(rows, kept).astype(np.int32)
        reasons = {
            f"of {found.noun}s that the model has learned from": int(whole.sum()),
            "held out of questions about what it has learned from": n_answers,
            MIXED.format(noun=found.noun): int((~whole).sum()) - n_answers,
            **found.triplets_left_out,
        }
        counts = {"triplets": len(kept), "triplets_passed_over": int(passed_over.sum())}
        counts["triplets_partly_learned"] = int((seen[kept].any(axis=1) & ~seen[kept[:, 0]]).sum())
        counts["triplets_left_out"] = {reason: n for reason, n in reasons.items() if n}
    known, evaluated = seen & np.isin(numbers, queries), np.isin(numbers, asked)
    passed = {"learned_from": int((known & evaluated).sum()), "passed_over": int((known & ~evaluated).sum())}
    return rows, places, {f"{found.noun}s": len(rows), **passed, **counts}


def compare_on_labels(
    compared: Mapping[str, Compared], labels: Array, ks: Sequence[int] = (), seed: int = 0, *, noun: str = "image"
) -> pd.DataFrame:
    """Let each row query all others; those of its class are what it should find (JMLR section 5.1).

    Of more than `MOST_QUERYING` rows, `QUERYING` do. Intervals are over those that do.
    """
    if not len(labels) or np.unique(labels, return_counts=True)[1].max() < 2:
        raise LookalikeError(f"no class has two {noun}s that can be evaluated: give more labelled {noun}s")
    asked, memory = None, MEMORY_BYTES
    if len(labels) > MOST_QUERYING:
        memory *= 4  # each batch of queries goes through all rows
        asked = np.sort(generator(seed, "own images", "queries").choice(len(labels), QUERYING, replace=False))
    values: dict[tuple[str, str], Array] = {}
    for method, (learner, rows) in compared.items():
        try:
            ranked = rank_leave_one_out(learner, rows, labels, asked=asked, n_neighbours=0, memory_bytes=memory)
            found = by_query(ranked, ks)
        except ValueError as error:  # any order is right
            raise LookalikeError(str(error)) from error
        values |= {(method, measure): column for measure, column in found.items()}
    n_asked = len(labels) if asked is None else len(asked)
    table = _table(values, np.arange(n_asked), seed)
    table.attrs["rows_querying"] = n_asked
    return table


def compare_on_triplets(compared: Mapping[str, Compared], triplets: Ints, seed: int = 0) -> pd.DataFrame:
    """Measure how often the positive of a triplet comes before its negative; a tie counts one half."""
    name = "triplets ordered"
    values = {(method, name): ordered(learner, rows, triplets) for method, (learner, rows) in compared.items()}
    return _table(values, triplets[:, 0], seed)


def agreement(triplets: Ints) -> tuple[float, int]:
    """Return how often answers to one question, which of two is nearer, agree: a mean; and how many have several."""
    others = np.sort(triplets[:, 1:], axis=1)
    question = np.unique(np.column_stack([triplets[:, 0], others]), axis=0, return_inverse=True)[1].ravel()
    n, first = np.bincount(question), np.bincount(question, triplets[:, 1] == others[:, 0])
    again = n > 1
    pairs = first * (first - 1) + (n - first) * (n - first - 1)
    return float(np.mean(pairs[again] / (n[again] * (n[again] - 1)))) if again.any() else np.nan, int(again.sum())


def _table(values: Mapping[tuple[str, str], Array], queries: Array, seed: int) -> pd.DataFrame:
    """Return means and intervals of values by query, and as ``gains`` those of the first method over the best other."""
    methods, measures = (list(dict.fromkeys(names)) for names in zip(*values, strict=True))
    columns = ["value", "low", "high", "queries"]
    over = max(methods[1:], key=lambda method: np.nanmean(values[method, measures[0]]))
    gains = {("", measure): values[methods[0], measure] - values[over, measure] for measure in measures}
    found = intervals({**values, **gains}, queries, generator(seed, "own images", "intervals"))
    table = pd.DataFrame([(*key, *found[key]) for key in values], columns=["method", "measure", *columns])
    named = {key[1]: dict(zip(columns, found[key], strict=True)) for key in gains}
    table.attrs["gains"] = [{"measure": measure, "over": over} | gain for measure, gain in named.items()]
    return table
