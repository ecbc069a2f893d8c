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
from lookalike.ranking.triplet_outcomes import contents_of
from lookalike.studies.finegrained.systems import (
    ALL,
    DEEP,
    EMBEDDED,
    PER_TRIPLET,
    PRECISION,
    SCORE,
    system_and_seed,
)

COUNTED = "triplets", "queries", "pool"
"""Metrics of no system: triplets, query images that differ, and the median number of images that are ranked for one."""
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
) -> pd.DataFrame:
    """Return the rows of all trainings; `fits` and `curves` are by folder of a training."""
    rows = [*_scores(outcomes, triplets), *_counts(triplets, pairs, manifest), *of_fits(fits, len(triplets))]
    parts = [pd.DataFrame(rows), *(of_curve(name, curve) for name, curve in curves.items())]
    return results_frame(pd.concat(parts, ignore_index=True).assign(study="finegrained"))


def subsets_of(triplets: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield all triplets, and each kind where there are two or more."""
    yield ALL, triplets
    by_kind = triplets.groupby(triplets["kind"].astype(str))
    for kind, own in by_kind if by_kind.ngroups > 1 else ():
        yield f"triplets={kind}", own


def _scores(outcomes: pd.DataFrame, triplets: pd.DataFrame) -> Iterator[Row]:
    """Yield what every training scores on all triplets and on each kind (Deep Ranking, section 6.3)."""
    for name, of_training in outcomes.groupby("system", sort=False):
        system, seed = system_and_seed(str(name))
        by_triplet = of_training.set_index("triplet")
        for setting, own in subsets_of(triplets):
            rows = by_triplet.loc[own["triplet"]]
            right, in_top = rows["outcome"].to_numpy(dtype=np.float64), rows["in_top"].to_numpy(dtype=bool)
            score = float(((2 * right - 1) * in_top).sum())
            values = 100 * float(right.mean()), score, 100 * score / len(own)
            for (metric, unit), value in zip(UNITS.items(), values, strict=True):
                row = {"setting": setting, "method": system, "repeat": str(seed), "metric": metric}
                yield row | {"value": value, "unit": unit}


def _counts(triplets: pd.DataFrame, pairs: pd.DataFrame, manifest: pd.DataFrame) -> Iterator[Row]:
    """Yield what scores are counted over; copies of one query image are one."""
    keys, content = ["text_query", "query"], contents_of(manifest)
    sizes = pairs[pairs["in_pool"]].groupby(keys).size()
    for setting, own in subsets_of(triplets):
        pools = sizes.reindex(pd.MultiIndex.from_frame(own[keys].drop_duplicates()), fill_value=0)
        values = len(own), len(np.unique(content[own["query"]])), int(np.median(pools))
        for metric, value in zip(COUNTED, values, strict=True):
            yield {"setting": setting, "metric": metric, "value": value}


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
