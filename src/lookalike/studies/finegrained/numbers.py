"""The study's numbers in the one form (`lookalike.studies.metrics`): what every system scores, and training curves."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from lookalike.studies.metrics import metrics_frame

REPRESENTATION = "images"
COUNTS = ("n_triplets", "n_queries", "n_ties", "median_pool", "n_in_top")
"""What the metrics of `lookalike.ranking.triplet_metrics.intervals` are counted over, metrics of their own."""
OF_CURVES = {
    "loss": ("loss", "training", 1.0),
    "validation_loss": ("loss", "validation", 1.0),
    "accuracy": ("accuracy", "training", 100.0),
    "validation_accuracy": ("accuracy", "validation", 100.0),
    "triplet_accuracy": ("precision", "training", 100.0),
    "validation_precision": ("precision", "validation", 100.0),
}
"""Column of a curve to its metric, the images that it is of, and what it is multiplied by: to percent."""


def metrics_of(intervals: pd.DataFrame, curves: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every number, from `lookalike.ranking.triplet_metrics.intervals` and curves (``x``: what was seen) by system."""
    scores = intervals.rename(columns={"system": "method"})
    keys = ["subset", "method"]
    counts = scores[[*keys, *COUNTS]].drop_duplicates(keys).melt(keys, var_name="metric", value_name="value")
    parts = [scores[[*keys, "metric", "value", "low", "high"]], counts]
    parts += [_curve_rows(system, curve) for system, curve in curves.items()]
    return metrics_frame(pd.concat(parts, ignore_index=True).assign(representation=REPRESENTATION, fold=0))


def _curve_rows(system: str, curve: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for column, (metric, part, scale) in OF_CURVES.items():
        if column in curve:
            points = curve[["seen", column]].dropna().sort_values("seen", kind="stable")
            values = {"x": points["seen"], "value": scale * points[column]}
            parts.append(pd.DataFrame({"method": system, "metric": metric, "subset": part, **values}))
    return pd.concat(parts, ignore_index=True)
