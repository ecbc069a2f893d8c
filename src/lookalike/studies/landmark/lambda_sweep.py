"""Sparsity against retrieval over a list of lambdas; the paper fixes one (1e-5 SOML-TG, 1e-6 SOML-DA)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from lookalike.learners.triplet_products import TripletProducts
from lookalike.studies.fits import fold_seed, make_learner
from lookalike.studies.landmark.protocol import (
    LandmarkData,
    draws_of,
    landmark_task,
    metrics_of,
    rank_task,
    sparsity_of,
)
from lookalike.studies.landmark.rankings import MAP, SPARSITY, SWEEP
from lookalike.studies.metrics import metrics_frame


def sweep_lambdas(
    data: LandmarkData,
    learning_images: pd.DataFrame,
    landmarks: Sequence[str],
    method_specs: Mapping[str, Mapping[str, Any]],
    lambdas: Sequence[float],
    *,
    seed: int,
    representation: str,
) -> pd.DataFrame:
    """Fit methods with every lambda to every draw: mAP by rectangle and sparsity (`SWEEP`); ``x`` is lambda."""
    rows: list[dict[str, Any]] = []
    for landmark, draw in draws_of(learning_images, landmarks):
        task = landmark_task(data, learning_images, landmark, draw, seed=seed)
        products = TripletProducts(task.X, task.triplets)
        for method, spec in method_specs.items():
            for value in lambdas:
                learner = make_learner(spec, fold_seed(seed, landmark, draw, "fit"), {"regularization": float(value)})
                # to the bit what fit_triplets learns
                model = learner.fit_products(products)
                sparsity = sparsity_of(model)
                measured = metrics_of(rank_task(model, data, task, n_top=1), sparsity).set_index("metric")["value"]
                names = {"representation": representation, "subset": landmark, "fold": draw, "method": method}
                for metric, number in ((MAP, measured["map"]), (SPARSITY, sparsity)):
                    rows.append({**names, "metric": SWEEP[metric], "x": float(value), "value": number})
    return metrics_frame(rows)
