"""The files of one run of the landmark study: model, how it was made, metrics and ranks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lookalike.core.files import write_json, write_table
from lookalike.studies.fits import write_model
from lookalike.studies.landmark.protocol import LandmarkResult
from lookalike.studies.landmark.rankings import LandmarkRankings
from lookalike.studies.metrics import metrics_frame


def write_landmark(
    result: LandmarkResult, folder: str | os.PathLike[str], *, dataset: str, representation: str
) -> None:
    """Write what a run left behind: ``model.npz`` (and ``.json``), ``fit.json``, ``metrics.parquet``, ``ranks.npz``.

    Times are in ``fit.json`` alone, so that all the others are the same bytes each time. Without a model the same files
    are there: no metrics, no ranks, and a sidecar that says why. In all of them ``subset`` is the landmark, ``fold``
    the draw.
    """
    folder = Path(folder)
    names: dict[str, Any] = {
        "dataset": dataset,
        "representation": representation,
        "subset": result.landmark,
        "method": result.method,
        "fold": int(result.draw),
    }
    write_model(result.model, result.fit, folder / "model.npz", names)
    write_json({**result.fit, **names}, folder / "fit.json")
    keys = {name: names[name] for name in ("representation", "subset", "method", "fold")}
    write_table(metrics_frame(result.metrics.assign(**keys)), folder / "metrics.parquet")
    (result.rankings or LandmarkRankings.none()).save(folder / "ranks.npz")
