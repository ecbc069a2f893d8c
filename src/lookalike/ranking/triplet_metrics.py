"""Metrics of rated triplets: similarity precision and score at top K (Deep Ranking, section 6.3), with intervals.

Takes the distances of every system (hand-crafted feature, learner or network) to what the tables and figures of the
fine-grained study print. A system is right on a triplet when it puts the positive nearer to the query than the
negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.ranking.distances import pair_distances
from lookalike.ranking.triplet_outcomes import K, candidate_pairs, contents_of, outcomes

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

__all__ = [
    "candidate_pairs",
    "contrasts",
    "intervals",
    "metric_names",
    "outcomes",
    "pair_distances",
]

RESAMPLES = 2_000
LEVEL = 95
"""Percent of an interval."""
ALL = "all"
"""Name of the subset of all triplets; the others are named after the kinds of triplets."""
BLOCK_CELLS = 4_000_000
"""Counts of resampled query images that are alive at once."""

INTERVAL_COLUMNS = (
    "system",
    "subset",
    "metric",
    "value",
    "low",
    "high",
    "n_triplets",
    "n_queries",
    "n_ties",
    "median_pool",
    "n_in_top",
)
CONTRAST_COLUMNS = (
    "system_a",
    "system_b",
    "subset",
    "metric",
    "difference",
    "low",
    "high",
    "p_value",
    "n_queries",
)


def metric_names(k: int = K) -> tuple[str, str, str]:
    """Return the names of the three metrics.

    They are similarity precision in percent of the triplets, score at top `k` in triplets (right minus wrong), and the
    same in percent of all triplets, which collections of different sizes can be compared by.
    """
    return "similarity_precision", f"score@{k}", f"score@{k}_per_triplet"


def intervals(
    outcomes: pd.DataFrame,
    triplets: pd.DataFrame,
    pairs: pd.DataFrame,
    *,
    seed: int,
    k: int = K,
    n_resamples: int = RESAMPLES,
    manifest: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Compute the metrics of every system with bootstrap intervals over query images.

    Triplets of one query image are not independent, so query images are resampled with all their triplets; every
    system sees the same resamples. A tie counts one half in similarity precision and nothing in the score.

    Parameters
    ----------
    outcomes : DataFrame
        As `outcomes` makes it, of all triplets for every system.
    triplets : DataFrame
        ``triplet``, ``query``, ``text_query``, ``kind``.
    pairs : DataFrame
        As `candidate_pairs` makes it, for the size of the pools.
    seed : int
        Root seed.
    k : int
        The K that the outcomes were made with.
    n_resamples : int
    manifest : DataFrame, optional
        ``image_id`` and ``sha256``: copies of one query image are then resampled as one.

    Returns
    -------
    DataFrame
        `INTERVAL_COLUMNS`, a row for each system, subset ("all", and each kind of triplets where there are two or
        more) and metric (`metric_names`); ``low`` and ``high`` are 2.5 and 97.5 percentiles, NaN for a single query
        image; ``n_triplets``, ``n_queries``, ``n_ties`` and ``n_in_top`` count the subset's, ``median_pool`` (int) is
        the median over its query images of the pool they are ranked in.

    Raises
    ------
    LookalikeError
        When a system lacks outcomes of some triplets.
    """
    import pandas as pd

    table = _outcome_table(outcomes, triplets)
    clusters = _query_images(triplets, manifest)
    in_pool = pairs[["text_query", "query"]][pairs["in_pool"].to_numpy()]
    pool_sizes = in_pool.groupby(["text_query", "query"], sort=False).size()
    rows = []
    for subset, chosen in _subsets(triplets).items():
        of_subset = triplets.loc[chosen, ["text_query", "query"]].drop_duplicates()
        sizes = pool_sizes.reindex(pd.MultiIndex.from_frame(of_subset), fill_value=0)
        statistics = _Statistics(table, clusters, chosen, generator(seed, "triplets", "bootstrap", subset), n_resamples)
        for place, system in enumerate(table.systems):
            for metric, value, resampled in statistics.metrics(place, k):
                low, high = _percentiles(resampled, statistics.n_queries)
                rows.append(
                    (
                        system,
                        subset,
                        metric,
                        value,
                        low,
                        high,
                        int(chosen.sum()),
                        statistics.n_queries,
                        int((table.outcome[place, chosen] == 0.5).sum()),
                        int(np.median(sizes)),
                        int(table.in_top[place, chosen].sum()),
                    )
                )
    frame = pd.DataFrame(rows, columns=list(INTERVAL_COLUMNS))
    return frame.sort_values("system", key=lambda names: names.map(table.order), kind="stable").reset_index(drop=True)


def contrasts(
    outcomes: pd.DataFrame,
    triplets: pd.DataFrame,
    *,
    seed: int,
    k: int = K,
    n_resamples: int = RESAMPLES,
    pairs_of_systems: Sequence[tuple[str, str]] | None = None,
    manifest: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Compare systems with each other by a paired bootstrap over query images, on the resamples of `intervals`.

    Parameters
    ----------
    outcomes, triplets, seed, k, n_resamples, manifest
        As in `intervals`.
    pairs_of_systems : sequence of (str, str), optional
        By default every system with every later one.

    Returns
    -------
    DataFrame
        `CONTRAST_COLUMNS`: ``difference`` is a minus b; ``p_value`` is two-sided, twice the smaller share of resamples
        on or beyond 0, the observed sample counted as one of them, at most 1; NaN for a single query image.

    Raises
    ------
    LookalikeError
        When a system is not among the outcomes.
    """
    import pandas as pd

    table = _outcome_table(outcomes, triplets)
    if pairs_of_systems is None:
        pairs_of_systems = [(a, b) for i, a in enumerate(table.systems) for b in table.systems[i + 1 :]]
    for system in {name for pair in pairs_of_systems for name in pair} - set(table.systems):
        raise LookalikeError(f"there are no outcomes of {system!r}: run it, or leave it out of the comparison")
    clusters = _query_images(triplets, manifest)
    rows = []
    for subset, chosen in _subsets(triplets).items():
        statistics = _Statistics(table, clusters, chosen, generator(seed, "triplets", "bootstrap", subset), n_resamples)
        of_system = {name: statistics.metrics(place, k) for place, name in enumerate(table.systems)}
        for a, b in pairs_of_systems:
            for (metric, value_a, resampled_a), (_, value_b, resampled_b) in zip(
                of_system[a], of_system[b], strict=True
            ):
                resampled = resampled_a - resampled_b
                low, high = _percentiles(resampled, statistics.n_queries)
                p_value = _p_value(resampled) if statistics.n_queries > 1 else np.nan
                rows.append((a, b, subset, metric, value_a - value_b, low, high, p_value, statistics.n_queries))
    return pd.DataFrame(rows, columns=list(CONTRAST_COLUMNS))


class _OutcomeTable(NamedTuple):
    """Outcomes as arrays of shape (n_systems, n_triplets), triplets in the order of their table."""

    systems: list[str]
    outcome: Floats
    in_top: NDArray[np.bool_]

    @property
    def order(self) -> dict[str, int]:
        return {system: place for place, system in enumerate(self.systems)}


def _outcome_table(outcomes: pd.DataFrame, triplets: pd.DataFrame) -> _OutcomeTable:
    systems = [str(system) for system in dict.fromkeys(outcomes["system"].tolist())]
    wanted = triplets["triplet"].to_numpy()
    shape = (len(systems), len(wanted))
    outcome, in_top = np.empty(shape), np.empty(shape, dtype=bool)
    for place, (system, rows) in enumerate(outcomes.groupby("system", sort=False)):
        of_triplet = rows.set_index("triplet")
        if not of_triplet.index.is_unique or len(rows) != len(wanted) or not of_triplet.index.isin(wanted).all():
            raise LookalikeError(f"{system} has outcomes of other triplets than these: measure it again")
        outcome[place] = of_triplet["outcome"].loc[wanted].to_numpy()
        in_top[place] = of_triplet["in_top"].loc[wanted].to_numpy()
    return _OutcomeTable(systems, outcome, in_top)


def _query_images(triplets: pd.DataFrame, manifest: pd.DataFrame | None) -> NDArray[Any]:
    queries = triplets["query"].to_numpy()
    return queries if manifest is None else contents_of(manifest)[queries]


def _subsets(triplets: pd.DataFrame) -> dict[str, NDArray[np.bool_]]:
    kinds = triplets["kind"].astype(str).to_numpy()
    subsets = {ALL: np.ones(len(triplets), dtype=bool)} if len(triplets) else {}
    names = sorted(set(kinds.tolist()))
    return subsets | ({name: kinds == name for name in names} if len(names) > 1 else {})


class _Statistics:
    """Sums over the triplets of a subset, and over those of resampled query images."""

    def __init__(
        self,
        table: _OutcomeTable,
        clusters: NDArray[Any],
        chosen: NDArray[np.bool_],
        random: np.random.Generator,
        n_resamples: int,
    ) -> None:
        _, cluster = np.unique(clusters[chosen], return_inverse=True)
        self.n_queries = int(cluster.max()) + 1
        outcome, in_top = table.outcome[:, chosen], table.in_top[:, chosen]
        score = (2 * outcome - 1) * in_top
        n_systems = len(outcome)
        # a column of sums a system for each metric, and the number of triplets in the last
        per_triplet = np.concatenate([outcome, score, np.ones((1, outcome.shape[1]))])
        sums = np.stack([np.bincount(cluster, row, minlength=self.n_queries) for row in per_triplet], axis=1)
        self._right, self._score, self._n = _split(sums.sum(axis=0, keepdims=True), n_systems)
        blocks = [counts @ sums for counts in _resampled_counts(random, self.n_queries, n_resamples)]
        self._right_of, self._score_of, self._n_of = _split(np.concatenate(blocks), n_systems)

    def metrics(self, system: int, k: int) -> list[tuple[str, float, Floats]]:
        """Return name, value and resampled values of each metric of a system."""
        values = []
        for right, score, n in (
            (self._right[:, system], self._score[:, system], self._n),
            (self._right_of[:, system], self._score_of[:, system], self._n_of),
        ):
            values.append((100 * right / n, score, 100 * score / n))
        return [
            (name, float(value[0]), resampled)
            for name, value, resampled in zip(metric_names(k), values[0], values[1], strict=True)
        ]


def _split(sums: Floats, n_systems: int) -> tuple[Floats, Floats, Floats]:
    return sums[:, :n_systems], sums[:, n_systems : 2 * n_systems], sums[:, -1]


def _resampled_counts(random: np.random.Generator, n: int, n_resamples: int) -> Iterator[Floats]:
    """Yield blocks of rows: how often each of n query images is in a resample of n."""
    block = max(1, BLOCK_CELLS // n)
    for start in range(0, n_resamples, block):
        size = min(block, n_resamples - start)
        drawn = random.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def _percentiles(resampled: Floats, n_queries: int) -> tuple[float, float]:
    if n_queries < 2:
        return float("nan"), float("nan")
    low, high = np.percentile(resampled, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return float(low), float(high)


def _p_value(differences: Floats) -> float:
    beyond = min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    return min(1.0, 2 * (beyond + 1) / (len(differences) + 1))
