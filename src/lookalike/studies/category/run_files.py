"""The files of one run of the category study: model, how it was made, selection, metrics and ranks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lookalike.core.files import write_json, write_table
from lookalike.ranking.rankings import Rankings
from lookalike.studies.category.protocol import FoldResult, run_fold
from lookalike.studies.fits import write_model
from lookalike.studies.metrics import metrics_frame

if TYPE_CHECKING:
    import scipy.sparse as sp


def make(
    counts: sp.csr_array, splits: pd.DataFrame, spec: Mapping[str, Any], folder: Path, *, seed: int, **names: Any
) -> str:
    """Run a fold, write its files, and return a line about it; `names` as of `write_fold`."""
    chosen = {name: names[name] for name in ("subset", "method")}
    result = run_fold(counts, splits, names["fold"], spec, seed=seed, **chosen)
    write_fold(result, folder, **names)
    done = f"mAP {result.rankings.mean_average_precision():.4f}" if result.rankings else result.fit["not_converged"]
    return f"{done}, {result.fit['seconds']}"


def write_fold(
    result: FoldResult,
    folder: str | os.PathLike[str],
    *,
    dataset: str,
    representation: str,
    subset: str,
    method: str,
    fold: int,
) -> None:
    """Write what a fold left behind.

    ``model.npz`` (and ``.json``), ``fit.json``, ``selection.parquet``, ``metrics.parquet``, ``ranks.npz``; times are
    in ``fit.json`` alone, so that all the others are the same bytes each time. Without a model the same files are
    there: no metrics, no ranks, and a sidecar that says why.

    Parameters
    ----------
    result : FoldResult
        From `run_fold`.
    folder : path-like
        ``results/{dataset}/runs/{representation}/{subset}/{method}/{fold}``.
    dataset, representation, subset, method, fold
        The names that go into every table, so that tables of many runs can be put together.
    """
    folder = Path(folder)
    names: dict[str, Any] = {"representation": representation, "subset": subset, "method": method, "fold": int(fold)}
    write_model(result.model, result.fit, folder / "model.npz", {"dataset": dataset, **names})
    write_json({**result.fit, "dataset": dataset, **names}, folder / "fit.json")
    write_table(result.selection.assign(**names), folder / "selection.parquet")
    write_table(metrics_frame(metrics_of(result).assign(**names)), folder / "metrics.parquet")
    (result.rankings or _NO_RANKINGS).save(folder / "ranks.npz")


def metrics_of(result: FoldResult) -> pd.DataFrame:
    """Mean average precision and mean precision at every k of one fold.

    Returns
    -------
    DataFrame
        ``metric`` ("map", "train_map" over the training images, and "p@k" with ``x`` = k, up to the size of the
        gallery) and ``value`` (float64, 0..1); no rows where the fold has no result.
    """
    if result.rankings is None:
        return pd.DataFrame({"metric": pd.Series(dtype=str), "x": [], "value": []})
    curve = result.rankings.mean_precision_curve()
    means = [result.rankings.mean_average_precision(), result.train_map]
    return pd.DataFrame(
        {
            "metric": ["map", "train_map", *["p@k"] * len(curve)],
            "x": [np.nan, np.nan, *range(1, len(curve) + 1)],
            "value": [*means, *curve],
        }
    )


_NO_RANKINGS = Rankings(
    offsets=np.zeros(1, dtype=np.int64),
    ranks=np.empty(0, dtype=np.int32),
    n_gallery=0,
    query_ids=np.empty(0, dtype=np.int32),
)
