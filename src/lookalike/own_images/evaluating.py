"""How well a similarity orders images that people have labelled: the learned one beside the one before learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.own_images.image_set import ImageSet

RESAMPLES = 2000
"""Bootstrap samples of the queries that an interval is made of."""

Side = tuple[Any, Any]
"""A learner, and the rows that it compares."""


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What is evaluated of the images that there are.

    Attributes
    ----------
    rows : ndarray of shape (m,), int
        Images, as row numbers of `ImageSet.images`.
    triplets : ndarray of shape (t, 3), int32, or None
        Of places in `rows`.
    counts : dict of str to int
        ``images``; of them (of triplets: of their queries) ``learned_from``, and others that are ``passed_over``
        because they were; with triplets their numbers too.
    """

    rows: npt.NDArray[np.intp]
    triplets: npt.NDArray[np.int32] | None
    counts: dict[str, int]


def choose_evaluated(found: ImageSet, seen: npt.NDArray[np.bool_], *, everything: bool = False) -> Evaluated:
    """Pass over what was learned from, as long as other images can be evaluated.

    Parameters
    ----------
    found : ImageSet
    seen : ndarray of shape (n,), bool
        Which of its images were learned from; of a triplet, what counts is its query.
    everything : bool, default=False
        Pass over nothing.

    Returns
    -------
    Evaluated
    """
    everyone = np.arange(len(seen))
    if found.triplets is None:
        usable = not everything and bool((found.images["label"][~seen].value_counts() > 1).any())
        rows = np.flatnonzero(~seen) if usable else everyone
        return Evaluated(rows, None, _counts(rows, seen, rows))
    queries_seen = seen[found.triplets[:, 0]]
    usable = not everything and not bool(queries_seen.all())
    kept = found.triplets[~queries_seen] if usable else found.triplets
    rows = np.unique(kept)
    counts = _counts(rows, seen & np.isin(everyone, found.triplets[:, 0]), kept[:, 0])
    counts |= {"triplets": len(kept), "triplets_passed_over": len(found.triplets) - len(kept)}
    return Evaluated(rows, np.searchsorted(rows, kept).astype(np.int32), counts)


def _counts(rows: npt.NDArray[np.intp], seen: npt.NDArray[np.bool_], queries: npt.NDArray[Any]) -> dict[str, int]:
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

    Parameters
    ----------
    sides : mapping of str to (learner, rows)
        Methods by name, each with rows in the order of `labels`.
    labels : ndarray of shape (n,)
    ks : sequence of int
        Precision is measured at those below n.
    seed : int, default=0
        Of the intervals.

    Returns
    -------
    DataFrame
        ``method``, ``measure`` (``map``, ``precision@1``...), ``value`` (0..1), ``low`` and ``high`` (95% interval over
        resampled queries), ``queries``: those that have another image of their class.

    Raises
    ------
    LookalikeError
        When no class has two images.
    """
    from lookalike.ranking.rankings import rank_leave_one_out

    if len(labels) < 2 or np.unique(labels, return_counts=True)[1].max() < 2:
        raise LookalikeError("no class has two images that can be evaluated: give more labelled images")
    values: dict[tuple[str, str], npt.NDArray[Any]] = {}
    for method, (learner, rows) in sides.items():
        rankings = rank_leave_one_out(learner, rows, labels, n_neighbours=0)
        values[method, "map"] = rankings.average_precision()
        within = [k for k in ks if k <= rankings.n_gallery]
        for k, column in zip(within, rankings.precision_at(within).T, strict=True):
            values[method, f"precision@{k}"] = column
    return _table(values, seed)


def compare_on_triplets(sides: Mapping[str, Side], triplets: npt.NDArray[np.int32], seed: int = 0) -> pd.DataFrame:
    """Measure how often the positive of a triplet comes before its negative.

    Parameters
    ----------
    sides, seed
        As of `compare_on_labels`.
    triplets : ndarray of shape (m, 3), int32
        Row numbers (query, positive, negative).

    Returns
    -------
    DataFrame
        As of `compare_on_labels`; the only measure is ``triplets ordered``, a tie counts one half; its interval
        resamples query images.
    """
    from lookalike.own_images.learning import margins_won

    groups = np.unique(triplets[:, 0], return_inverse=True)[1]
    values = {
        (method, "triplets ordered"): margins_won(learner, rows, triplets) for method, (learner, rows) in sides.items()
    }
    return _table(values, seed, groups)


def _table(
    values: Mapping[tuple[str, str], npt.NDArray[Any]], seed: int, groups: npt.NDArray[Any] | None = None
) -> pd.DataFrame:
    import pandas as pd

    from lookalike.core.seeds import generator

    first = next(iter(values.values()))
    groups = np.arange(len(first)) if groups is None else groups
    defined = ~np.isnan(first)
    groups = np.unique(groups[defined], return_inverse=True)[1]
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
