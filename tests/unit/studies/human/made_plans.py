"""A small plan of query images of three classes, for the tests of this folder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lookalike.studies.human.questionnaire import draw_plan

LABELS = np.repeat(["boat", "tree", "house"], 8)
PATHS = [f"{label}/{number:04d}.png" for number, label in enumerate(LABELS)]
IDS = np.arange(len(PATHS)) + 100


def neighbours_of(queries: np.ndarray, n: int = 4) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.array([rng.permutation(IDS[query != IDS])[:n] for query in queries])


RELATED = {image: set(IDS[label == LABELS].tolist()) for image, label in zip(IDS.tolist(), LABELS, strict=True)}


def draw(seed: int = 0, **changes: Any) -> pd.DataFrame:
    queries = IDS[:6]
    arguments: dict[str, Any] = {
        "neighbours": dict(zip(queries.tolist(), neighbours_of(queries).tolist(), strict=True)),
        "paths": dict(zip(IDS.tolist(), PATHS, strict=True)), "related": RELATED,
        "n_queries": 3, "n_retrieved": 4, "n_random": 4,
    }  # fmt: skip
    return draw_plan(**{**arguments, **changes}, seed=seed)
