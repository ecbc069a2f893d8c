"""The landmark study's rows of results: what its jobs measured, landmark by landmark and as means over landmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from lookalike.exhibits.results import TIMED_OUT, UNFINISHED, results_frame
from lookalike.studies.landmark.rankings import MAP, MAP_FULL, SPARSITY

FEATURES = "features of a photograph"
"""Metric: how many features a photograph has on average."""
MEAN = "mean"
"""Landmark of the mean over all landmarks, which is taken within each draw."""
TRAIN_TIME = "train_time"
"""Seconds of processor time to learn."""
UNITS = {MAP: "percent", MAP_FULL: "percent", SPARSITY: "percent", TRAIN_TIME: "seconds"}
"""Metrics of which there is a mean over landmarks, and their units."""


def codebook_name(words: int) -> str:
    """Name a codebook by its size, as the paper's settings do: ``10k``, ``1m``."""
    for worth, letter in ((1_000_000, "m"), (1000, "k")):
        if words % worth == 0:
            return f"{words // worth}{letter}"
    return str(words)


def repeat_name(landmark: str, draw: int) -> str:
    """Name a landmark and a draw as a repeat."""
    return f"landmark={landmark};draw={draw}"


def results_of(
    metrics: pd.DataFrame,
    fits: pd.DataFrame,
    codebooks: Mapping[str, int],
    landmarks: Sequence[str],
    n_images: int,
) -> pd.DataFrame:
    """Return the rows of results of all runs, but for their times.

    `metrics` and `fits` are their numbers and records, one below the other; `codebooks` has the words of each. The
    mean over landmarks is one of each draw that has all of them, so that its spread is one over draws too.
    """
    metrics = metrics[metrics["metric"].isin(UNITS)].assign(value=lambda rows: 100 * rows["value"])
    recorded = {
        TIMED_OUT: fits["not_converged"].fillna("").ne("").astype(float),
        UNFINISHED: fits["converged"].eq(False).astype(float),
    }
    flags = [fits.assign(metric=metric, value=value) for metric, value in recorded.items()]
    numbers, lost = (pd.concat(parts, ignore_index=True) for parts in ([metrics], flags))
    # the means of the flags tell which means leave out a fit that did not end
    rows = [numbers, _means(numbers, landmarks), lost, _means(lost[lost["metric"] == TIMED_OUT], landmarks)]
    # OASIS draws as many triplets as it takes steps
    seen = fits.loc[fits["method"] != "oasis-diagonal", "n_triplets"].median()
    text = {"images": n_images, "triplets_per_landmark": seen, "retrieved_images": fits["n_test"].median()}
    text_rows = ({"study": "landmark", "metric": metric, "value": value} for metric, value in text.items())
    return pd.concat([_named(rows, codebooks), results_frame(text_rows)], ignore_index=True)


def times_of(fits: pd.DataFrame, codebooks: Mapping[str, int], landmarks: Sequence[str]) -> pd.DataFrame:
    """Return the times of all runs in the same form; they differ between any two runs."""
    times = fits.assign(metric=TRAIN_TIME, value=fits["cpu_seconds_fit"]).dropna(subset="value")
    return _named([times, _means(times, landmarks)], codebooks)


def _means(rows: pd.DataFrame, landmarks: Sequence[str]) -> pd.DataFrame:
    """Return means over landmarks, of draws that have all of them."""
    groups = rows.groupby(["representation", "method", "metric", "fold"], sort=False)["value"]
    means = groups.agg(value="mean", n="count").reset_index()
    return means[means["n"] == len(landmarks)].assign(subset=MEAN)


def _named(parts: Sequence[pd.DataFrame], codebooks: Mapping[str, int]) -> pd.DataFrame:
    """Return rows of runs as rows of results."""
    columns = ["representation", "subset", "method", "metric", "fold", "value"]
    rows = pd.concat([part[columns] for part in parts], ignore_index=True)
    names = rows["representation"].map({id: codebook_name(words) for id, words in codebooks.items()})
    rows = rows.assign(setting="codebook=" + names + ";landmark=" + rows["subset"], repeat=rows["fold"].astype(str))
    return results_frame(rows.assign(study="landmark", unit=rows["metric"].map(UNITS).fillna("")))
