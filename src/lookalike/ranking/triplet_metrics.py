"""Metrics of rated triplets: similarity precision and score at top K (Deep Ranking, section 6.3), with intervals.

A system is right on a triplet when it puts the positive nearer to the query than the negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from lookalike.core.arrays import Doubles, Truths
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.ranking.statistics import repeat_weights, resampled_counts
from lookalike.ranking.triplet_outcomes import K, contents_of

RESAMPLES = 2_000
LEVEL = 95
"""Percent of an interval."""
ALL = "all"
"""Name of the subset of all triplets; the others are named after the kinds of triplets."""
_COUNTS = ("n_triplets", "n_queries", "n_ties", "median_pool", "n_in_top", "n_seeds")
INTERVAL_COLUMNS = ("system", "subset", "metric", "value", "low", "high", *_COUNTS)
CONTRAST_COLUMNS = ("system_a", "system_b", "subset", "metric", "difference", "low", "high", "p_value", "n_queries")


class Bootstrap(NamedTuple):
    """What resamples are made of: query images, and seeds of the `trainings` of a system."""

    seed: int
    k: int = K
    """Of outcomes."""
    n_resamples: int = RESAMPLES
    manifest: pd.DataFrame | None = None
    """Where it is given, copies of one query image are resampled as one."""
    trainings: Mapping[str, Sequence[str]] = MappingProxyType({})
    """System to the names that its trainings with several seeds have in outcomes, in the order of the seeds."""


def metric_names(k: int = K) -> tuple[str, str, str]:
    """Return the names of precision in percent, score at top `k` in triplets, and that in percent of all triplets."""
    return "similarity_precision", f"score@{k}", f"score@{k}_per_triplet"


def intervals(
    outcomes: pd.DataFrame, triplets: pd.DataFrame, pairs: pd.DataFrame, bootstrap: Bootstrap
) -> pd.DataFrame:
    """Compute metrics of every system with bootstrap intervals over query images, in the columns `INTERVAL_COLUMNS`.

    Triplets of one query image are not independent, so query images are resampled with all their triplets; every system
    sees the same resamples. A tie counts one half in similarity precision and nothing in the score. `outcomes` has all
    triplets for every system, made with the same K; `pairs` tell the size of the pools. A system of several trainings
    gets their mean, and seeds are resampled too.

    There is a row for each system, subset ("all", and each kind of triplets where there are two or more) and metric
    (`metric_names`); ``low`` and ``high`` are 2.5 and 97.5 percentiles, NaN for a single query image; ``n_triplets``,
    ``n_queries``, ``n_ties`` and ``n_in_top`` count the subset's, ``median_pool`` (int) is the median over its query
    images of the pool they are ranked in, and ``n_seeds`` is how many trainings there are.
    """
    in_pool = pairs[["text_query", "query"]][pairs["in_pool"].to_numpy()]
    pool_sizes = in_pool.groupby(["text_query", "query"], sort=False).size()
    rows = []
    for part in _parts(outcomes, triplets, bootstrap):
        named = triplets.loc[part.chosen, ["text_query", "query"]].drop_duplicates()
        sizes = pool_sizes.reindex(pd.MultiIndex.from_frame(named), fill_value=0)
        for place, (system, metrics) in enumerate(part.metrics.items()):
            own = part.places[system]
            n_ties, n_in_top = (
                round(float(found[own].sum()) / len(own)) for found in (part.outcome == 0.5, part.in_top)
            )
            sums = (int(part.chosen.sum()), part.n_queries, n_ties, int(np.median(sizes)), n_in_top, len(own))
            for metric, (value, resampled) in metrics.items():
                low, high = _percentiles(resampled, part.n_queries)
                rows.append((place, system, part.subset, metric, value, low, high, *sums))
    frame = pd.DataFrame(rows, columns=["place", *INTERVAL_COLUMNS])
    return frame.sort_values("place", kind="stable", ignore_index=True)[list(INTERVAL_COLUMNS)]


def contrasts(
    outcomes: pd.DataFrame,
    triplets: pd.DataFrame,
    pairs_of_systems: Sequence[tuple[str, str]],
    bootstrap: Bootstrap,
) -> pd.DataFrame:
    """Compare systems with each other by a paired bootstrap over query images, on the resamples of `intervals`.

    Systems of equally many trainings are paired by their seeds too.

    Of `CONTRAST_COLUMNS`, ``difference`` is a minus b, and ``p_value`` is two-sided: twice the smaller share of
    resamples on or beyond 0, the observed sample counted as one of them, at most 1; NaN for a single query image.
    """
    rows = []
    for part in _parts(outcomes, triplets, bootstrap):
        for a, b in pairs_of_systems:
            for system in {a, b} - set(part.metrics):
                raise LookalikeError(f"there are no outcomes of {system!r}: run it, or leave it out of the comparison")
            for metric, (value, resampled) in part.metrics[a].items():
                other, other_resampled = part.metrics[b][metric]
                differences = resampled - other_resampled
                low, high = _percentiles(differences, part.n_queries)
                beyond = min(int((differences <= 0).sum()), int((differences >= 0).sum()))
                p_value = min(1.0, 2 * (beyond + 1) / (len(differences) + 1)) if part.n_queries > 1 else np.nan
                rows.append((a, b, part.subset, metric, value - other, low, high, p_value, part.n_queries))
    return pd.DataFrame(rows, columns=list(CONTRAST_COLUMNS))


class _Part(NamedTuple):
    """A subset of the triplets: outcomes, a row a training, and by system and metric its value and resampled ones."""

    subset: str
    chosen: Truths
    n_queries: int
    outcome: Doubles
    in_top: Truths
    places: dict[str, list[int]]
    """System to the rows of its trainings."""
    metrics: dict[str, dict[str, tuple[float, Doubles]]]


def _parts(outcomes: pd.DataFrame, triplets: pd.DataFrame, bootstrap: Bootstrap) -> Iterator[_Part]:
    """Yield all triplets, and each kind where there are two or more."""
    seed, k, n_resamples, manifest, trainings = bootstrap
    wanted, kinds = triplets["triplet"].to_numpy(), triplets["kind"].astype(str).to_numpy()
    by_system = {str(name): rows.set_index("triplet") for name, rows in outcomes.groupby("system", sort=False)}
    for system, rows in by_system.items():
        if not rows.index.is_unique or len(rows) != len(wanted) or not rows.index.isin(wanted).all():
            raise LookalikeError(f"{system} has outcomes of other triplets than these: measure it again")
    place_of = {name: place for place, name in enumerate(by_system)}
    system_of = {name: system for system, names in trainings.items() for name in names}
    systems = dict.fromkeys(system_of.get(name, name) for name in by_system)
    places = {system: [place_of[name] for name in trainings.get(system, [system])] for system in systems}
    draws = {
        n: repeat_weights(generator(seed, "triplets", "seeds"), n, n_resamples)
        for n in {len(own) for own in places.values()}
    }
    images = triplets["query"].to_numpy() if manifest is None else contents_of(manifest)[triplets["query"].to_numpy()]
    subsets = {ALL: np.ones(len(triplets), dtype=bool)} if len(triplets) else {}
    if len(names := sorted(set(kinds.tolist()))) > 1:
        subsets |= {name: kinds == name for name in names}
    for subset, chosen in subsets.items():
        _, image = np.unique(images[chosen], return_inverse=True)
        n_queries = int(image.max()) + 1
        outcome = np.array([rows["outcome"].loc[wanted[chosen]] for rows in by_system.values()], dtype=np.float64)
        in_top = np.array([rows["in_top"].loc[wanted[chosen]] for rows in by_system.values()], dtype=bool)
        # a column of sums a system for each metric, and the number of triplets in the last
        per_triplet = np.concatenate([outcome, (2 * outcome - 1) * in_top, np.ones((1, len(image)))])
        sums = np.stack([np.bincount(image, row, minlength=n_queries) for row in per_triplet], axis=1)
        # how often an image was drawn weighs its row: no table is resampled
        random = generator(seed, "triplets", "bootstrap", subset)
        resampled = np.concatenate([counts @ sums for counts in resampled_counts(random, n_queries, n_resamples)])
        both = np.vstack([sums.sum(axis=0), resampled])
        metrics = {}
        for system, own in places.items():
            weights = np.vstack([np.full(len(own), 1 / len(own)), draws[len(own)]])
            right, score = (
                np.einsum("ij,ij->i", both[:, [first + place for place in own]], weights)
                for first in (0, len(by_system))
            )
            n = both[:, -1]
            values = zip(metric_names(k), (100 * right / n, score, 100 * score / n), strict=True)
            metrics[system] = {metric: (float(value[0]), value[1:]) for metric, value in values}
        yield _Part(subset, chosen, n_queries, outcome, in_top, places, metrics)


def _percentiles(resampled: Doubles, n_queries: int) -> tuple[float, float]:
    if n_queries < 2:
        return float("nan"), float("nan")
    low, high = np.percentile(resampled, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return float(low), float(high)
