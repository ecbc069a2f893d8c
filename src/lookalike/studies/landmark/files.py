"""The files of one run of the landmark study: model, how it was made, metrics and ranks."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.files import write_json, write_table
from lookalike.studies.fits import write_model
from lookalike.studies.landmark.protocol import LandmarkResult
from lookalike.studies.landmark.rankings import LandmarkRankings

if TYPE_CHECKING:
    import pandas as pd


def write_landmark(
    result: LandmarkResult, folder: str | os.PathLike[str], *, dataset: str, representation: str
) -> None:
    """Write what a run left behind.

    ``model.npz`` (and ``.json``), ``fit.json``, ``metrics.parquet``, ``ranks.npz``; times are in ``fit.json`` alone,
    so that all the others are the same bytes each time. Without a model the same files are there: no metrics, no
    ranks, and a sidecar that says why.

    Parameters
    ----------
    result : LandmarkResult
        From `run_landmarks`.
    folder : path-like
        ``results/{dataset}/runs/{representation}/{landmark}/{method}/{draw}``.
    dataset, representation
        Names that go into every table, beside the run's own (``subset`` is the landmark, ``fold`` the draw).
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
    metrics = result.metrics.copy()
    for position, (column, value) in enumerate(names.items()):
        metrics.insert(position, column, value)
    write_table(metrics, folder / "metrics.parquet")
    (result.rankings or LandmarkRankings.none()).save(folder / "ranks.npz")


def read_top_images(files: Iterable[str | os.PathLike[str]]) -> pd.DataFrame:
    """Put the first images that queries found, by their rectangles, into one table.

    Parameters
    ----------
    files : iterable of path-like
        ``.../{landmark}/{method}/{draw}/ranks.npz`` of any runs.

    Returns
    -------
    DataFrame
        A row for each image found, best first: ``method``, ``landmark``, ``draw`` (int), ``query``,
        ``average_precision`` (of the query), ``rank`` (from 1), ``image_id``.
    """
    import pandas as pd

    tables = []
    for file in files:
        landmark, method, draw = Path(file).parts[-4:-1]
        found = LandmarkRankings.load(file)
        n_top = found.top.shape[1]
        columns: dict[str, Any] = {
            "method": method,
            "landmark": landmark,
            "draw": int(draw),
            "query": np.repeat(found.queries, n_top),
            "average_precision": np.repeat(found.average_precision(), n_top),
            "rank": np.tile(np.arange(1, n_top + 1), found.n_queries),
            "image_id": found.top.ravel(),
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)
