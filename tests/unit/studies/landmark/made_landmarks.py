"""A small landmark study made by hand: counts of words, queries with rectangles, and a ground truth with junk."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

LANDMARKS = ("abbey", "bridge", "castle")
N_WORDS = 600
GOOD, OK, JUNK, OTHERS, QUERIES = 14, 6, 4, 130, 3
KINDS = (("good", GOOD, 10), ("ok", OK, 6), ("junk", JUNK, 2))
"""What images are, how many of each landmark there are, and how many of its words they show."""


class Study(NamedTuple):
    """What `landmark_data` takes, in its order."""

    counts: sp.csr_array
    query_counts: sp.csr_array
    queries: pd.DataFrame
    relevance: pd.DataFrame


def made_study(seed: int = 0) -> Study:
    """Three landmarks of 20 positives and 4 junk images, and 130 others: 202 images, sorted by name.

    Each landmark has 12 words of its own, few among the many of a scene (sky, street, lawn), of which landmarks and
    other images alike show one: tf-idf confuses scenes, and a metric can learn to leave their words out.
    """
    rng = np.random.default_rng(seed)
    scenes = [rng.choice(N_WORDS - 100, 60, replace=False) for _ in range(4)]
    own = {name: N_WORDS - 100 + 12 * i + np.arange(12) for i, name in enumerate(LANDMARKS)}
    counts, queries, query_counts, relevance = [], [], [], []

    def image(name: str | None, n_own: int) -> int:
        words = [rng.choice(scenes[rng.integers(4)], 40), rng.integers(0, N_WORDS, 20)]
        if name is not None:
            words.append(rng.choice(own[name], n_own))
        counts.append(np.bincount(np.concatenate(words), minlength=N_WORDS))
        return len(counts) - 1

    for name in LANDMARKS:
        members = {kind: [image(name, n_own) for _ in range(n)] for kind, n, n_own in KINDS}
        for number in range(QUERIES):
            asked = members["good"][number]
            queries.append((f"{name}_{number + 1}", name, asked))
            inside = counts[asked].copy()
            inside[: N_WORDS - 100] = rng.binomial(inside[: N_WORDS - 100], 0.5)
            query_counts.append(inside)
            relevance += [(f"{name}_{number + 1}", i, kind) for kind, ids in members.items() for i in ids]
    for _ in range(OTHERS):
        image(None, 0)
    ids = {"image_id": np.int32}
    judged = pd.DataFrame(relevance, columns=["query", "image_id", "relevance"]).astype(ids)
    return Study(
        counts=sp.csr_array(np.array(counts, dtype=np.int32)),
        query_counts=sp.csr_array(np.array(query_counts, dtype=np.int32)),
        queries=pd.DataFrame(queries, columns=["query", "landmark", "image_id"]).astype(ids),
        relevance=judged.sort_values(["query", "image_id"], ignore_index=True),
    )
