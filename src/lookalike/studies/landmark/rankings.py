"""What a run keeps of its rankings, in which a query's own image has its place: every measure follows from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from lookalike.core.arrays import Integers, Reals, Texts
from lookalike.core.files import PathLike, write_npz
from lookalike.ranking.oxford import average_precision

MAP, MAP_FULL, SPARSITY = "map", "map_full", "sparsity"
"""Metrics of a run: mean average precision by the query's rectangle and by its whole image, share of zero weights."""
REGIONS = ("box", "full")
"""What of a query's image asks: its rectangle, or all of it."""
JUNK = "junk"
RELEVANCE = ("good", "ok", JUNK)
"""What an image can be for a query; ``LandmarkRankings.relevance`` numbers them."""


@dataclass(frozen=True, eq=False)
class LandmarkRankings:
    """Ranks of each query's ground truth among images not learned from: from 1, with junk; 0: not in the gallery.

    Images of equal similarity share the first of their ranks.
    """

    queries: Texts
    """Names, shape (n_queries,)."""
    query_ids: Integers
    """Their images: int32, shape (n_queries,)."""
    n_gallery: int
    """How many images each query ranks, its own among them."""
    top: Integers
    """The first images of each ranking by the rectangle: image ids, int32, shape (n_queries, n_top)."""
    top_scores: Reals
    """Their similarities: float32, shape (n_queries, n_top)."""
    offsets: Integers
    """The ground truth of query i is ``[offsets[i]:offsets[i + 1]]`` of the arrays below: int64, (n_queries + 1,)."""
    image_ids: Integers
    """Images of the ground truth, ascending within a query: int32."""
    relevance: Integers
    """What they are: int8, numbers of `RELEVANCE`."""
    ranks: Integers
    """Their ranks, a row for each of `REGIONS`: int32."""
    ties: Integers
    """How many images share the similarity of each, itself among them, a row for each of `REGIONS`: int32."""

    def average_precision(self, region: str = "box") -> Reals:
        """Return the Oxford average precision of each query by one of `REGIONS`; NaN without a positive."""
        row, result = REGIONS.index(region), np.empty(len(self.queries))
        for query, (start, stop) in enumerate(pairwise(self.offsets)):
            ranks, junk = self.ranks[row, start:stop], self.relevance[start:stop] == RELEVANCE.index(JUNK)
            found = ranks > 0
            wanted, n_missing = ~junk & found, int(np.count_nonzero(~junk & ~found))
            tied = self.ties[row, start:stop][wanted]
            result[query] = average_precision(ranks[wanted], ranks[junk & found], n_missing=n_missing, ties=tied)
        return result

    def save(self, path: PathLike) -> None:
        """Write ``.npz``; the same rankings give the same bytes."""
        write_npz({"n_gallery": self.n_gallery, **vars(self)}, path)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(**{**arrays, "n_gallery": int(arrays["n_gallery"])})

    @classmethod
    def none(cls) -> Self:
        """Return the rankings of no query, which stand where a learner has no result."""
        ints, grid = np.empty(0, dtype=np.int32), np.empty((0, 0), dtype=np.int32)
        names, start, none = np.empty(0, dtype=np.str_), np.zeros(1, dtype=np.int64), np.empty((2, 0), dtype=np.int32)
        return cls(names, ints, 0, grid, grid.astype(np.float32), start, ints, ints.astype(np.int8), none, none)


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
            "average_precision": np.repeat(found.average_precision(), n_top),
            "rank": np.tile(np.arange(1, n_top + 1), len(found.queries)),
            "image_id": found.top.ravel(),
            "score": found.top_scores.ravel(),
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)
