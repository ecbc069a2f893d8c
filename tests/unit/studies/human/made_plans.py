"""A small plan of query images of three classes, for the tests of this folder."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookalike.studies.human.plan import draw_rating_plan, same_label

LABELS = np.repeat(["boat", "tree", "house"], 8)
PATHS = [f"{label}/{number:04d}.png" for number, label in enumerate(LABELS)]
IDS = np.arange(len(PATHS)) + 100


def neighbours_of(queries: np.ndarray, n: int = 4) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.array([rng.permutation(IDS[query != IDS])[:n] for query in queries])


def draw(seed: int = 0, **changes: object) -> pd.DataFrame:
    queries = IDS[:6]
    arguments: dict[str, object] = {
        "query_ids": queries, "total_relevance": np.ones(6), "neighbours": neighbours_of(queries), "image_ids": IDS,
        "paths": PATHS, "relevant": same_label(IDS, LABELS), "n_queries": 3, "n_retrieved": 4, "n_random": 4,
    }  # fmt: skip
    return draw_rating_plan(**{**arguments, **changes}, seed=seed)  # type: ignore[arg-type]
