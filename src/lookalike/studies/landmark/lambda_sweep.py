"""Sparsity against retrieval: the SOML learners over a list of lambdas, on the draws of the landmark study.

The paper fixes lambda (1e-5 for SOML-TG, 1e-6 for SOML-DA) and prints one sparsity; this sweep shows what it trades.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.learners.triplet_products import TripletProducts
from lookalike.studies.folds import learner_maker
from lookalike.studies.landmark.protocol import (
    LandmarkData,
    draws_of,
    landmark_task,
    metrics_of,
    rank_task,
    sparsity_of,
)

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("representation", "landmark", "draw", "method", "regularization", "map", "sparsity")


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
    """Fit every method with every lambda to every draw; rows, triplets and their order are those of the study.

    Parameters
    ----------
    data : LandmarkData
        From `lookalike.studies.landmark.protocol.landmark_data`.
    learning_images : DataFrame
        From `lookalike.studies.landmark.protocol.draw_learning_images`.
    landmarks : sequence of str
        Which, each in all its draws.
    method_specs : mapping of str to mapping
        Method id to ``learner`` (SOMLTG or SOMLDA) and ``parameters``; ``regularization`` is set to each lambda in
        turn.
    lambdas : sequence of float
        Positive or zero.
    seed : int
        Root seed of the study.
    representation : str
        Id, kept in the table.

    Returns
    -------
    DataFrame
        `COLUMNS`: ``draw`` is int32; ``regularization``, ``map`` (by rectangle, 0..1) and ``sparsity`` (0..1) are
        float64. Sorted as the arguments are: landmark, draw, method, lambda.

    Raises
    ------
    LookalikeError
        When nothing was drawn for a landmark, or a learner has no ``regularization``.
    """
    import pandas as pd

    rows = []
    for landmark, draw in draws_of(learning_images, landmarks):
        task = landmark_task(data, learning_images, landmark, draw, seed=seed)
        products = TripletProducts(task.X, task.triplets)
        for method, spec in method_specs.items():
            for value in lambdas:
                learner = learner_maker(spec, seed, (landmark, draw))("fit")({"regularization": float(value)})
                # to the bit what fit_triplets learns
                model = learner.fit_products(products)
                sparsity = sparsity_of(model)
                measured = metrics_of(rank_task(model, data, task, n_top=1), sparsity).set_index("metric")["value"]
                rows.append((representation, landmark, draw, method, float(value), measured["map"], sparsity))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"draw": np.int32, "regularization": np.float64, "map": np.float64, "sparsity": np.float64})
