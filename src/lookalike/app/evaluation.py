"""What a learner makes of images: the neighbours of a query, and how well labelled images or triplets are ordered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.app.learning import margins_won
from lookalike.app.sources import ImageSet
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.ranking.rankings import rank_leave_one_out

RESAMPLES = 2000
"""Bootstrap samples of the queries that an interval is made of."""

Side = tuple[Any, Any]
"""A learner, and the rows that it compares."""


def nearest(learner: Any, queries: tuple[pd.DataFrame, Any], gallery: tuple[pd.DataFrame, Any], k: int) -> pd.DataFrame:
    """Rank a gallery's images for each query, those of the query's own content left out; at most `k` of each.

    Queries and gallery are `lookalike.app.sources.COLUMNS` of images, and the rows that the learner takes.
    """
    (wanted, query_rows), (images, gallery_rows) = queries, gallery
    contents = images["sha256"].to_numpy(str)
    parts: list[pd.DataFrame] = []
    for number, (path, sha256) in enumerate(zip(wanted["path"], wanted["sha256"], strict=True)):
        others = np.flatnonzero(contents != sha256)
        if not len(others):
            raise LookalikeError(f"the gallery holds no image but the query {path}: give a folder of others")
        places, scores = learner.rank(query_rows[[number]], gallery_rows[others], min(k, len(others)))
        best = images.iloc[others[places[0]]][["path", "label"]].reset_index(drop=True)
        part = best.assign(query=path, rank=range(1, len(best) + 1), score=scores[0].astype(np.float64))
        parts.append(part[["query", "rank", "path", "score", "label"]])
    return pd.concat(parts, ignore_index=True)


def choose_evaluated(
    found: ImageSet, seen: npt.NDArray[np.bool_], *, everything: bool = False
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32] | None, dict[str, int]]:
    """Pass over images, or triplets whose query, was `seen` in learning, as long as others can be evaluated.

    Returns row numbers of images, triplets of places in them, and counts: ``images``; of them (of triplets: of their
    queries) ``learned_from``, and others that are ``passed_over``; with triplets their numbers too.
    """
    everyone = np.arange(len(seen))
    if found.triplets is None:
        usable = not everything and bool((found.images["label"][~seen].value_counts() > 1).any())
        rows = np.flatnonzero(~seen) if usable else everyone
        return rows, None, _counts(rows, seen, rows)
    queries_seen = seen[found.triplets[:, 0]]
    usable = not everything and not bool(queries_seen.all())
    kept = found.triplets[~queries_seen] if usable else found.triplets
    rows = np.unique(kept)
    counts = _counts(rows, seen & np.isin(everyone, found.triplets[:, 0]), kept[:, 0])
    counts |= {"triplets": len(kept), "triplets_passed_over": len(found.triplets) - len(kept)}
    return rows, np.searchsorted(rows, kept).astype(np.int32), counts


def _counts(rows: npt.NDArray[np.intp], seen: npt.NDArray[np.bool_], queries: npt.NDArray[Any]) -> dict[str, int]:
    """Return how many images there are, and of how many queries the model has learned or not."""
    evaluated = np.isin(np.arange(len(seen)), queries)
    return {
        "images": len(rows),
        "learned_from": int((seen & evaluated).sum()),
        "passed_over": int((seen & ~evaluated).sum()),
    }


def compare_on_labels(
    sides: Mapping[str, Side], labels: npt.NDArray[Any], ks: Sequence[int], seed: int = 0
) -> pd.DataFrame:
    """Let each image query all others; those of its class are what it should find (JMLR section 5.1).

    Returns ``method``, ``measure`` (``map``, ``precision@1``...), ``value`` (0..1), ``low`` and ``high`` (95% interval
    over resampled queries), ``queries``: those that have another image of their class.
    """
    if len(labels) < 2 or np.unique(labels, return_counts=True)[1].max() < 2:
        raise LookalikeError("no class has two images that can be evaluated: give more labelled images")
    values: dict[tuple[str, str], npt.NDArray[Any]] = {}
    for method, (learner, rows) in sides.items():
        rankings = rank_leave_one_out(learner, rows, labels, n_neighbours=0)
        values[method, "map"] = rankings.average_precision()
        within = [k for k in ks if k <= rankings.n_gallery]
        for k, column in zip(within, rankings.precision_at(within).T, strict=True):
            values[method, f"precision@{k}"] = column
    return _table(values, np.arange(len(labels)), seed)


def compare_on_triplets(sides: Mapping[str, Side], triplets: npt.NDArray[np.int32], seed: int = 0) -> pd.DataFrame:
    """Measure how often the positive of a triplet comes before its negative; a tie counts one half.

    Returns what `compare_on_labels` does; the only measure is ``triplets ordered``.
    """
    values = {
        (method, "triplets ordered"): margins_won(learner, rows, triplets) for method, (learner, rows) in sides.items()
    }
    return _table(values, triplets[:, 0], seed)


def _table(values: Mapping[tuple[str, str], npt.NDArray[Any]], queries: npt.NDArray[Any], seed: int) -> pd.DataFrame:
    """Return means and intervals of values by query."""
    defined = ~np.isnan(next(iter(values.values())))
    groups = np.unique(queries[defined], return_inverse=True)[1]
    n = int(groups.max()) + 1
    # the same resamples for all: differences between methods are differences on the same queries
    rng = generator(seed, "own images", "intervals")
    weights = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)
    sizes = weights @ np.bincount(groups).astype(np.float64)
    rows = []
    for (method, measure), numbers in values.items():
        known = numbers[defined]
        low, high = np.quantile(weights @ np.bincount(groups, known) / sizes, [0.025, 0.975])
        rows.append((method, measure, float(known.mean()), float(low), float(high), n))
    return pd.DataFrame(rows, columns=["method", "measure", "value", "low", "high", "queries"])
