"""What the queries of a run retrieved, and how precisely."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from lookalike.core.arrays import Doubles, Integers, Reals, Texts
from lookalike.core.files import PathLike, write_npz

MAP, MAP_FULL, SPARSITY = "map", "map_full", "sparsity"
"""Metrics of a run: mean average precision by the query's rectangle and by its whole image, share of zero weights."""
JUNK = "junk"
"""What neither counts as found nor as wrong; what else is judged is good or ok."""


@dataclass(frozen=True, eq=False)
class LandmarkRankings:
    """What each query of a run retrieved among the images that were not learned from, its own image in its place."""

    queries: Texts
    """Names, shape (n_queries,)."""
    average_precision: Doubles
    """As of the Oxford benchmark, by the rectangle and by the whole image, shape (2, n_queries); NaN without a
    positive."""
    top: Integers
    """The first images of each ranking by the rectangle: image ids, int32, shape (n_queries, n_top)."""
    top_scores: Reals
    """Their similarities: float32, shape (n_queries, n_top)."""

    def save(self, path: PathLike) -> None:
        """Write ``.npz``; the same rankings give the same bytes."""
        write_npz(vars(self), path)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(**arrays)

    @classmethod
    def none(cls) -> Self:
        """Return the rankings of no query, which stand where a learner has no result."""
        top = np.empty((0, 0), dtype=np.int32)
        return cls(np.empty(0, dtype=np.str_), np.empty((2, 0)), top, top.astype(np.float32))


def read_top_images(files: Iterable[PathLike]) -> pd.DataFrame:
    """Return the first images that queries found by their rectangles, from ``{landmark}/{method}/{draw}/ranks.npz``."""
    tables = []
    for file in files:
        landmark, method, draw = Path(file).parts[-4:-1]
        found = LandmarkRankings.load(file)
        n_top = found.top.shape[1]
        columns = {
            "method": method,
            "landmark": landmark,
            "draw": int(draw),
            "query": np.repeat(found.queries, n_top),
            "average_precision": np.repeat(found.average_precision[0], n_top),
            "rank": np.tile(np.arange(1, n_top + 1), len(found.queries)),
            "image_id": found.top.ravel(),
            "score": found.top_scores.ravel(),
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)
