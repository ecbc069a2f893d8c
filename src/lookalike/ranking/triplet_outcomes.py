"""Systems and rated triplets (Deep Ranking, section 6.3): which pairs a system measures, and what it has right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lookalike.core.arrays import Ints, Longs, Truths
from lookalike.core.errors import LookalikeError

K = 30
"""The K of score at top K that the paper prints."""
SIDES = ("query", "positive", "negative")

PAIR_COLUMNS = ("text_query", "query", "candidate", "in_pool", "content")
OUTCOME_COLUMNS = ("system", "triplet", "margin", "outcome", "in_top")


def candidate_pairs(triplets: pd.DataFrame, pool: pd.DataFrame, manifest: pd.DataFrame) -> pd.DataFrame:
    """List the pairs of images that every system must measure: `PAIR_COLUMNS`, sorted by the first three.

    For each query image these are its text query's `pool` without copies of it (``in_pool``), and the positives and
    negatives of its triplets. ``content`` is the least id of the images that are copies of the candidate.
    """
    content = contents_of(manifest)
    named = np.unique(np.concatenate([*(triplets[side].to_numpy() for side in SIDES), pool["image_id"].to_numpy()]))
    unknown = [image for image in named.tolist() if not (0 <= image < len(content) and content[image] >= 0)]
    if unknown:
        raise LookalikeError(f"image {unknown[0]} is not in the manifest: read the triplets again")
    pools = {str(name): np.unique(ids.to_numpy()) for name, ids in pool.groupby("text_query", sort=False)["image_id"]}
    parts: list[tuple[str, int, NDArray[np.integer], Truths]] = []
    for name, rated in triplets.groupby("text_query", sort=True):
        if str(name) not in pools:
            raise LookalikeError(f"the text query {name!r} has triplets but no pool: make the pools again")
        pool_images, asked = pools[str(name)], rated[list(SIDES)].to_numpy()
        for query in np.unique(asked[:, 0]).tolist():
            others = pool_images[content[pool_images] != content[query]]
            candidates = np.union1d(others, asked[asked[:, 0] == query, 1:])
            parts.append((str(name), query, candidates, np.isin(candidates, others)))
    sizes = np.array([len(part[2]) for part in parts], dtype=np.int64)
    candidates = np.concatenate([np.empty(0, np.int32), *(part[2] for part in parts)]).astype(np.int32)
    columns = {
        "text_query": pd.Series([part[0] for part in parts], dtype="str").repeat(sizes.tolist()).reset_index(drop=True),
        "query": np.repeat([part[1] for part in parts], sizes).astype(np.int32),
        "candidate": candidates,
        "in_pool": np.concatenate([np.empty(0, bool), *(part[3] for part in parts)]),
        "content": content[candidates],
    }
    return pd.DataFrame(columns)


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
    being more alike. Of `OUTCOME_COLUMNS`, all triplets of one system after those of the other, ``margin`` is how much
    nearer the positive is than the negative, ``outcome`` 1 where that is above 0, 0.5 for a tie, else 0.
    """
    if k < 1:
        raise LookalikeError(f"score at top {k} counts nothing: K must be at least 1")
    places = _places(triplets, pairs)
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
        margin = measured[places.negative].astype(np.float64) - measured[places.positive]
        frames.append(
            pd.DataFrame(
                {
                    "system": pd.Series([system], dtype="str").repeat(len(triplets)).to_numpy(),
                    "triplet": triplets["triplet"].to_numpy().astype(np.int32),
                    "margin": margin.astype(np.float32),
                    "outcome": ((np.sign(margin) + 1) / 2).astype(np.float32),
                    "in_top": _n_nearer(places, measured) < k,
                }
            )
        )
    if not frames:
        raise LookalikeError("there is no system to compare: measure the distances of one at least")
    return pd.concat(frames, ignore_index=True)


class _Places(NamedTuple):
    """Places in the pairs of each triplet's positive, negative and their copies (-1: none), and of pools by group."""

    group: Longs
    positive: Longs
    negative: Longs
    positive_copy: Longs
    negative_copy: Longs
    pool: Longs
    pool_group: Longs
    pool_start: Longs


def _places(triplets: pd.DataFrame, pairs: pd.DataFrame) -> _Places:
    asked = pd.MultiIndex.from_frame(pairs[["text_query", "query"]])
    queries = asked.drop_duplicates()
    group_of_pair = queries.get_indexer(asked)
    group = queries.get_indexer(pd.MultiIndex.from_frame(triplets[["text_query", "query"]]))
    measured = _keys(group_of_pair, pairs["candidate"])
    pool = np.flatnonzero(pairs["in_pool"].to_numpy())
    in_pool = _keys(group_of_pair[pool], pairs["content"].iloc[pool])
    first_copies = ~in_pool.duplicated()
    content = pairs["content"].to_numpy()
    at, copies = {}, {}
    for side in ("positive", "negative"):
        at[side] = measured.get_indexer(_keys(group, triplets[side]))
        if (group < 0).any() or (at[side] < 0).any():
            raise LookalikeError("a triplet is not among the pairs: list the pairs of these triplets")
        copy = in_pool[first_copies].get_indexer(_keys(group, content[at[side]]))
        copies[side] = np.append(pool[first_copies], -1)[copy]  # none is -1: the entry appended
    sizes = np.bincount(group_of_pair[pool], minlength=len(queries))
    start = np.concatenate([[0], np.cumsum(sizes)])
    return _Places(
        group, at["positive"], at["negative"], copies["positive"], copies["negative"], pool, group_of_pair[pool], start
    )


def _keys(groups: Longs, images: object) -> pd.Index:
    """Return an index of one whole number for a group and an image of it."""
    keys: pd.Index = pd.Index((groups.astype(np.int64) << 32) + np.asarray(images, dtype=np.int64))
    return keys


def _n_nearer(places: _Places, distances: NDArray[np.floating]) -> Longs:
    """Count the images of the pool that are strictly nearer to the query than the nearer of positive and negative."""
    # distances become whole numbers of the same order, so that group and distance make one sortable key
    steps, ranks = np.unique(distances, return_inverse=True)
    keys = np.sort(places.pool_group * len(steps) + ranks[places.pool])
    sides = []
    for at, copy in ((places.positive, places.positive_copy), (places.negative, places.negative_copy)):
        below = np.searchsorted(keys, places.group * len(steps) + ranks[at]) - places.pool_start[places.group]
        sides.append(below - ((copy >= 0) & (ranks[copy] < ranks[at])))
    return np.asarray(np.minimum(*sides))
