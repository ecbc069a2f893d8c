"""The study's numbers in the one form (`lookalike.studies.metrics`): what every system scores, and training curves."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pandas as pd

from lookalike.studies.finegrained.systems import ALL, system_and_seed
from lookalike.studies.metrics import metrics_frame

REPRESENTATION = "images"
COUNTS = ("n_triplets", "n_queries", "n_ties", "median_pool", "n_in_top", "n_seeds")
"""What the metrics of `lookalike.ranking.triplet_metrics.intervals` are counted over, metrics of their own."""
FINISHED = "finished"
"""Metric of one training: 1 where it ended because held-out images no longer improved, else 0."""
OF_CURVES = {
    "loss": ("loss", "training", 1.0),
    "validation_loss": ("loss", "validation", 1.0),
    "accuracy": ("accuracy", "training", 100.0),
    "validation_accuracy": ("accuracy", "validation", 100.0),
    "triplet_accuracy": ("precision", "training", 100.0),
    "validation_precision": ("precision", "validation", 100.0),
}
"""Column of a curve to its metric, the images that it is of, and what it is multiplied by: to percent."""


def metrics_of(
    intervals: pd.DataFrame,
    curves: Mapping[str, pd.DataFrame],
    finished: Mapping[str, bool] = MappingProxyType({}),
) -> pd.DataFrame:
    """Return every number, from `lookalike.ranking.triplet_metrics.intervals` and curves (``x``: what was seen).

    Curves, and whether a training ended because held-out images no longer improved, are by folder of a training; their
    ``fold`` is the number of the seed, and 0 where all seeds are together.
    """
    scores = intervals.rename(columns={"system": "method"}).assign(fold=0)
    keys = ["subset", "method", "fold"]
    counts = scores[[*keys, *COUNTS]].drop_duplicates(keys).melt(keys, var_name="metric", value_name="value")
    parts = [scores[[*keys, "metric", "value", "low", "high"]], counts]
    trainings = [(*system_and_seed(name), value) for name, value in finished.items()]
    ends = [{"method": system, "fold": seed, "value": float(value)} for system, seed, value in trainings]
    parts.append(pd.DataFrame(ends).assign(subset=ALL, metric=FINISHED))
    parts += [_curve_rows(*system_and_seed(name), curve) for name, curve in curves.items()]
    return metrics_frame(pd.concat(parts, ignore_index=True).assign(representation=REPRESENTATION))


def _curve_rows(system: str, seed: int, curve: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for column, (metric, part, scale) in OF_CURVES.items():
        if column in curve:
            points = curve[["seen", column]].dropna().sort_values("seen", kind="stable")
            values = {"x": points["seen"], "value": scale * points[column]}
            parts.append(pd.DataFrame({"method": system, "fold": seed, "metric": metric, "subset": part, **values}))
    return pd.concat(parts, ignore_index=True)
