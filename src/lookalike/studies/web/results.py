"""The web study's rows of results: precision by the log, what its collection counts, and times over its size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from lookalike.exhibits.results import UNFINISHED, results_frame

PRECISION, STANDARD_ERROR = "p@k", "standard error of p@k"
"""Metrics of a method over the query images; x is k."""
N_QUERIES, N_GALLERY = "query images", "images of the gallery"
TRAIN_TIME, SPEED = "train_time", "steps_per_second"
"""Metrics of a training: its processor time up to the step that early stopping chooses, and its steps a second."""
SIZES = "sizes"
"""Setting of trainings on collections of several sizes, x of which is the size; the study's own training has none."""

Row = dict[str, object]


def counted(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the counts of each part of the collection as rows of results."""
    rows = counts.rename(columns={"quantity": "metric"})
    return results_frame(rows.assign(study="web", setting="part=" + rows["part"]))


def timed_run(
    method: str, n_images: int, seconds: float, stopped: str, *, setting: str = SIZES, repeat: str = ""
) -> list[Row]:
    """Return the time of a training, and whether it ended at a limit of steps or time and not by its own rule."""
    names = {"study": "web", "setting": setting, "method": method, "repeat": repeat, "x": n_images}
    return [
        {**names, "metric": TRAIN_TIME, "value": seconds, "unit": "seconds"},
        {**names, "metric": UNFINISHED, "value": float(stopped in ("limit", "time limit"))},
    ]


def times_of_ranker(fit: Mapping[str, Any], curve: pd.DataFrame) -> list[Row]:
    """Return what the study's own training of a ranker took."""
    elapsed = float(curve.loc[curve["step"] == int(fit["best_step"]), "seconds"].iloc[0])
    seconds = elapsed / max(fit["seconds"], 1e-9) * fit["cpu_seconds"]
    # held-out images are part of what it was given, as at the other sizes
    n_images, names = int(fit["n_train"] + fit["n_validation"]), {"setting": "", "repeat": str(fit["ranker"])}
    speed = {"study": "web", "method": "oasis", **names, "metric": SPEED, "value": fit["steps_per_second"]}
    return [*timed_run("oasis", n_images, seconds, fit["stopped"], **names), speed]
