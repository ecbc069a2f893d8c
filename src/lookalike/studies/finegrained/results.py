"""The fine-grained study's rows of results: what every training scores, its curve, and sizes that its paper tells.

A setting is ``triplets=all`` or a kind of negatives, and of curves ``images=training`` or ``images=validation``. A
repeat is the seed of a network; whatever else is measured has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from lookalike.exhibits.results import results_frame
from lookalike.ranking import triplet_metrics
from lookalike.ranking.triplet_metrics import K
from lookalike.studies.finegrained.systems import DEEP, EMBEDDED, PER_TRIPLET, PRECISION, SCORE, system_and_seed

COUNTED = {"n_triplets": "triplets", "n_queries": "queries", "median_pool": "pool"}
"""What is counted, to its metric of no system: triplets, query images that differ, and the median size of a pool."""
FINISHED = "finished"
"""1 where a training ended because held-out images no longer improved, else 0."""
KEPT = "kept"
"""What a training had seen at the step whose weights are kept."""
UNITS = {PRECISION: "percent", SCORE: "triplets", PER_TRIPLET: "percent"}
OF_CURVES = {
    "loss": ("loss", "training", 1.0),
    "validation_loss": ("loss", "validation", 1.0),
    "accuracy": ("accuracy", "training", 100.0),
    "validation_accuracy": ("accuracy", "validation", 100.0),
    "triplet_accuracy": ("precision", "training", 100.0),
    "validation_precision": ("precision", "validation", 100.0),
}
"""Column of a curve to its metric, the images that it is of, and what it is multiplied by: to percent."""
Row = dict[str, Any]


def results_of(
    outcomes: pd.DataFrame,
    triplets: pd.DataFrame,
    pairs: pd.DataFrame,
    manifest: pd.DataFrame,
    fits: Mapping[str, Mapping[str, Any]],
    curves: Mapping[str, pd.DataFrame],
    k: int = K,
) -> pd.DataFrame:
    """Return the rows of all trainings; `fits` and `curves` are by folder of a training."""
    bootstrap = triplet_metrics.Bootstrap(0, k, 1, manifest)
    levels = triplet_metrics.intervals(outcomes, triplets, pairs, bootstrap)
    fitted = pd.DataFrame(list(of_fits(fits, len(triplets))))
    parts = [of_levels(levels, k), fitted, *(of_curve(name, curve) for name, curve in curves.items())]
    return results_frame(pd.concat(parts, ignore_index=True).assign(study="finegrained"))


def of_levels(levels: pd.DataFrame, k: int) -> pd.DataFrame:
    """Return what every training scores (Deep Ranking, section 6.3), and what that is counted over."""
    metrics = levels["metric"].map(dict(zip(triplet_metrics.metric_names(k), UNITS, strict=True)))
    trainings = levels["system"].map(system_and_seed)
    names = {"method": trainings.str[0], "repeat": trainings.str[1].astype(str)}
    scores = levels.assign(setting="triplets=" + levels["subset"], metric=metrics, unit=metrics.map(UNITS), **names)
    sizes = scores.drop_duplicates("setting").set_index("setting")[list(COUNTED)].rename(columns=COUNTED)
    return pd.concat([scores, pd.DataFrame({"value": sizes.rename_axis(columns="metric").stack()}).reset_index()])


def of_fits(fits: Mapping[str, Mapping[str, Any]], n_triplets: int) -> Iterator[Row]:
    """Yield how trainings of networks ended, and the sizes that the paper tells in its text."""
    drawn, dimensions = [], []
    for name, fit in fits.items():
        system, seed = system_and_seed(name)
        row, batch = {"method": system, "repeat": str(seed)}, fit.get("settings", {}).get("batch")
        if "finished" in fit:
            yield row | {"metric": FINISHED, "value": float(fit["finished"])}
        if batch is not None:
            # a linear embedding records no step but the one that is kept
            yield row | {"metric": KEPT, "value": fit.get("kept_step", fit["n_steps"]) * batch}
        drawn += [fit["n_steps"] * batch] if system == DEEP and batch is not None else []
        dimensions += [fit["dimensions"]] if system == EMBEDDED else []
    text = {"training_triplets": drawn, "evaluation_triplets": [n_triplets], "embedding_dimensions": dimensions}
    yield from ({"metric": metric, "value": float(np.median(found))} for metric, found in text.items() if found)


def of_curve(name: str, curve: pd.DataFrame) -> pd.DataFrame:
    """Return the points of one training's curve."""
    system, seed = system_and_seed(name)
    parts = []
    for column, (metric, images, scale) in OF_CURVES.items():
        if column in curve:
            points = curve[["seen", column]].dropna().sort_values("seen", kind="stable")
            values = {"x": points["seen"], "value": scale * points[column]}
            parts.append(pd.DataFrame({"setting": f"images={images}", "metric": metric, **values}))
    return pd.concat(parts, ignore_index=True).assign(method=system, repeat=str(seed))
