"""The numbers of a finished web study: what its jobs wrote, in the one form of all studies, and times beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lookalike.studies.metrics import metrics_frame

VISTERMS, TEST = "visterms", "test"
"""Representation and subset of the study's numbers; counts of the training part have the subset ``train``."""
RUNTIME_TYPES = {
    "learner": str,
    "n_images": np.int64,
    "repeat": np.int32,
    "steps": np.int64,
    "seconds": np.float64,
    "cpu_seconds": np.float64,
    "stopped": str,
    "n_threads": np.int32,
    "lower_bound": bool,
    "own_run": bool,
}
"""Columns of ``runtime.parquet``; ``lower_bound``: not at its end yet; ``own_run``: the study's own training."""


def study_metrics(precision: pd.DataFrame, counts: pd.DataFrame) -> pd.DataFrame:
    """Join the numbers of a study in the one form; `precision` has it already."""
    counted = counts.rename(columns={"part": "subset", "quantity": "metric"}).assign(representation=VISTERMS)
    return pd.concat([precision, metrics_frame(counted)], ignore_index=True)


def timed_run(
    learner: str, n_images: int, steps: int, times: Sequence[float], stopped: str, lower_bound: bool
) -> dict[str, Any]:
    """Row of ``runtime.parquet`` of one timed run; times are by the clock and of the processor."""
    return dict(zip(RUNTIME_TYPES, (learner, n_images, 0, steps, *times, stopped, 1, lower_bound, False), strict=True))


def runtime_of_ranker(fit: Mapping[str, Any], curve: pd.DataFrame) -> dict[str, Any]:
    """Return the row of the runtime study that the study's own training gives: time up to the chosen step."""
    steps = int(fit["chosen_step"])
    seconds = float(curve.loc[curve["step"] == steps, "seconds"].iloc[0])
    times = seconds, seconds / max(fit["seconds_fit"], 1e-9) * fit["cpu_seconds_fit"]
    # held-out images are part of what the run was given, as at the other sizes
    n_images = int(fit["n_train"] + fit["n_validation"])
    # the best score was the last one that there was time for
    is_bound = fit["stopped"] == "limit" and steps == fit["n_steps"]
    row = timed_run("OASIS", n_images, steps, times, fit["stopped"], is_bound)
    return row | {"repeat": int(fit["ranker"]), "n_threads": int(fit["n_threads"]), "own_run": True}


def runtime_table(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows of timed runs as ``runtime.parquet`` has them: by learner, images and repeat."""
    table = pd.DataFrame(list(rows), columns=list(RUNTIME_TYPES)).astype(RUNTIME_TYPES)
    return table.sort_values(["learner", "n_images", "repeat"], kind="stable", ignore_index=True)
