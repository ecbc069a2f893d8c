"""What the runs of the landmark study leave: rows of results, by landmark and as means over all, and rankings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from lookalike.core.arrays import Doubles, Integers, Reals, Texts
from lookalike.core.files import PathLike, write_npz
from lookalike.exhibits.results import TIMED_OUT, UNFINISHED, results_frame, with_parts

MAP, MAP_FULL, SPARSITY = "map", "map_full", "sparsity"
"""Metrics of a run: mean average precision by the query's rectangle and by its whole image, share of zero weights."""
JUNK = "junk"
"""What neither counts as found nor as wrong; what else is judged is good or ok."""
FEATURES = "features of a photograph"
"""Metric: how many features a photograph has on average."""
TRAIN_TIME = "train_time"
"""Seconds of processor time to learn."""
MEAN = "mean"
"""Landmark of the mean over all landmarks, which is taken within each draw."""


def codebook_name(words: int) -> str:
    """Name a codebook by its size, as the paper's settings do: ``10k``, ``1m``."""
    for worth, letter in ((1_000_000, "m"), (1000, "k")):
        if words % worth == 0:
            return f"{words // worth}{letter}"
    return str(words)


def names_of(fit: Mapping[str, Any]) -> dict[str, object]:
    """Return what names the rows of a run, from its record."""
    setting = f"codebook={codebook_name(fit['n_words'])};landmark={fit['subset']}"
    return {"study": "landmark", "setting": setting, "method": fit["method"], "repeat": str(fit["fold"])}


def rows_of_run(metrics: Mapping[str, float], fit: Mapping[str, Any]) -> list[dict[str, object]]:
    """Return the numbers of a run in percent, and whether a limit ended its fit."""
    names = names_of(fit)
    numbers = [
        {**names, "metric": metric, "value": 100 * value, "unit": "percent"} for metric, value in metrics.items()
    ]
    limits = {TIMED_OUT: bool(fit["not_converged"]), UNFINISHED: fit["converged"] is False}
    return numbers + [{**names, "metric": limit, "value": float(reached)} for limit, reached in limits.items()]


def results_of(rows: pd.DataFrame, fits: Sequence[Mapping[str, Any]], n_landmarks: int, n_images: int) -> pd.DataFrame:
    """Return the rows of all runs with their means over landmarks, and the numbers that the paper says in its text."""
    # OASIS draws as many triplets as it takes steps
    triplets = [fit["n_triplets"] for fit in fits if fit["method"] != "oasis-diagonal"]
    text = {"images": n_images, "triplets_per_landmark": pd.Series(triplets, dtype="float64").median()}
    text["retrieved_images"] = pd.Series([fit["n_test"] for fit in fits]).median()
    said = ({"study": "landmark", "metric": metric, "value": value} for metric, value in text.items())
    # the means of what timed out tell which means leave out a fit that did not end
    means = means_over_landmarks(rows[rows["metric"] != UNFINISHED], n_landmarks)
    return pd.concat([rows, means, results_frame(said)], ignore_index=True)


def times_of(fits: Sequence[Mapping[str, Any]], n_landmarks: int) -> pd.DataFrame:
    """Return the times of all runs in the same form; they differ between any two runs."""
    of_fits = ({"metric": TRAIN_TIME, "value": fit["cpu_seconds"]["fit"], "unit": "seconds"} for fit in fits)
    times = results_frame({**names_of(fit), **time} for fit, time in zip(fits, of_fits, strict=True))
    return pd.concat([times, means_over_landmarks(times, n_landmarks)], ignore_index=True)


def means_over_landmarks(rows: pd.DataFrame, n_landmarks: int) -> pd.DataFrame:
    """Return means over landmarks, of draws that have all of them, so that their spread is one over draws too."""
    groups = with_parts(rows).groupby(["codebook", "method", "metric", "repeat", "unit"], sort=False)["value"]
    means = groups.agg(value="mean", n="count").reset_index()
    means = means[means["n"] == n_landmarks]
    return results_frame(means.assign(study="landmark", setting="codebook=" + means["codebook"] + f";landmark={MEAN}"))


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
