"""Rated triplets (Deep Ranking, section 6.3): the pairs that systems measure, what they have right, with intervals.

A system is right on a triplet when it puts the positive nearer to the query than the negative. Similarity precision and
score at top K sum that up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lookalike.core.arrays import Doubles, Ints, Longs, Truths
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.ranking.statistics import repeat_weights, resampled_counts

K = 30
"""The K of score at top K that the paper prints."""
SIDES = ("query", "positive", "negative")

RESAMPLES = 2_000
LEVEL = 95
"""Percent of an interval."""
ALL = "all"
"""Name of the subset of all triplets; the others are named after the kinds of triplets."""
_COUNTS = ("n_triplets", "n_queries", "n_ties", "median_pool", "n_in_top", "n_seeds")
INTERVAL_COLUMNS = ("system", "subset", "metric", "value", "low", "high", *_COUNTS)
CONTRAST_COLUMNS = ("system_a", "system_b", "subset", "metric", "difference", "low", "high", "p_value", "n_queries")


def candidate_pairs(triplets: pd.DataFrame, pool: pd.DataFrame, manifest: pd.DataFrame) -> pd.DataFrame:
    """List the pairs of images that every system must measure, by ``text_query``, ``query`` and ``candidate``.

    For each query image these are its text query's `pool` without copies of it (``in_pool``), and the positives and
    negatives of its triplets. ``content`` is the least id of the images that are copies of the candidate.
    """
    content = contents_of(manifest)
    named = np.unique(np.concatenate([*(triplets[side].to_numpy() for side in SIDES), pool["image_id"].to_numpy()]))
    unknown = [image for image in named.tolist() if not (0 <= image < len(content) and content[image] >= 0)]
    if unknown:
        raise LookalikeError(f"image {unknown[0]} is not in the manifest: read the triplets again")
    without_pool = sorted(set(triplets["text_query"]) - set(pool["text_query"]))
    if without_pool:
        raise LookalikeError(f"the text query {without_pool[0]!r} has triplets but no pool: make the pools again")
    key = ["text_query", "query", "candidate"]
    rated = triplets.melt(key[:2], SIDES[1:], value_name="candidate")[key]
    pooled = rated[key[:2]].drop_duplicates().merge(pool.rename(columns={"image_id": "candidate"}), on="text_query")
    pooled = pooled[content[pooled["query"]] != content[pooled["candidate"]]]
    pairs: pd.DataFrame = pd.concat([pooled[key].assign(in_pool=True), rated.assign(in_pool=False)])
    # of a pair that is both, the first stays: that of the pool
    pairs = pairs.drop_duplicates(key).sort_values(key, ignore_index=True)
    pairs["content"] = content[pairs["candidate"]]
    return pairs


def contents_of(manifest: pd.DataFrame) -> Ints:
    """Return, by image id, the least id of the images of the same content; -1 for an id that is not in the manifest."""
    ids, checksums = manifest["image_id"].to_numpy(), manifest["sha256"].fillna("")
    least = manifest["image_id"].groupby(checksums.to_numpy()).transform("min").to_numpy()
    content = np.full(int(ids.max()) + 1 if len(ids) else 0, -1, dtype=np.int32)
    content[ids] = np.where(checksums.to_numpy() == "", ids, least)
    return content


def outcomes(
    triplets: pd.DataFrame, pairs: pd.DataFrame, distances: Mapping[str, NDArray[np.floating]], k: int = K
) -> pd.DataFrame:
    """Say of every triplet whether each system ranks it rightly, and whether it counts for score at top `k`.

    A triplet counts when its positive or its negative is among the `k` nearest of the query's pool (section 6.3): when
    fewer than `k` images of the pool are strictly nearer to the query. Images at the very distance of the `k`-th are
    thus all counted in, and an image that is not in the pool itself is ranked as if it were. A copy of the positive or
    negative in the pool does not stand before it.

    `pairs` are what `candidate_pairs` makes of these triplets, and each system has a distance of every pair, smaller
    being more alike. All triplets of one ``system`` stand after those of the other; ``margin`` is how much nearer the
    positive is than the negative, ``outcome`` 1 where that is above 0, 0.5 for a tie, else 0, and ``in_top`` says
    which count.
    """
    if k < 1:
        raise LookalikeError(f"score at top {k} counts nothing: K must be at least 1")
    asked, content = ["text_query", "query"], pairs["content"].to_numpy()
    measured_at = pd.MultiIndex.from_frame(pairs[[*asked, "candidate"]])
    sides = [measured_at.get_indexer(pd.MultiIndex.from_frame(triplets[[*asked, side]])) for side in SIDES[1:]]
    if len(triplets) and np.min(sides) < 0:
        raise LookalikeError("a triplet is not among the pairs: list the pairs of these triplets")
    in_pool = np.flatnonzero(pairs["in_pool"].to_numpy())
    pools = pairs.iloc[in_pool].groupby(asked, sort=False).indices
    queries = [(own, in_pool[pools.get(key, [])]) for key, own in triplets.groupby(asked, sort=False).indices.items()]

    def n_nearer(place: Longs, distances: NDArray[np.floating]) -> Longs:
        """Count the images of the pool that are strictly nearer to the query than one of each triplet, and no copy."""
        counts: Longs = np.zeros(len(triplets), dtype=np.int64)
        for own, pool in queries:
            image = place[own, None]
            counts[own] = ((distances[pool] < distances[image]) & (content[pool] != content[image])).sum(axis=1)
        return counts

    frames = []
    for system, values in distances.items():
        measured = np.asarray(values)
        if measured.shape != (len(pairs),):
            raise LookalikeError(f"{system} has {len(measured)} distances for {len(pairs)} pairs: measure it again")
        missing = np.unique(pairs["candidate"].to_numpy()[~np.isfinite(measured)])
        if len(missing):
            raise LookalikeError(
                f"{system} has no distance to {len(missing)} images, the first is image {missing[0]}: drop the "
                "triplets of unusable images and take them out of the pools"
            )
        margin = measured[sides[1]].astype(np.float64) - measured[sides[0]]
        frames.append(
            pd.DataFrame(
                {
                    "system": pd.Series([system], dtype="str").repeat(len(triplets)).to_numpy(),
                    "triplet": triplets["triplet"].to_numpy().astype(np.int32),
                    "margin": margin.astype(np.float32),
                    "outcome": ((np.sign(margin) + 1) / 2).astype(np.float32),
                    "in_top": np.minimum(*(n_nearer(place, measured) for place in sides)) < k,
                }
            )
        )
    if not frames:
        raise LookalikeError("there is no system to compare: measure the distances of one at least")
    return pd.concat(frames, ignore_index=True)


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
