"""The landmark study's rows of results: what its runs measured, landmark by landmark and as means over landmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from lookalike.exhibits.results import TIMED_OUT, UNFINISHED, results_frame, with_parts

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
