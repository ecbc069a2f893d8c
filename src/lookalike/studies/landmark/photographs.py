"""SOML's methods on photographs: published visterms, with each class in the place of a landmark.

A control. These bags of words are sparse, and of real photographs; the constants and the number of triplets are the
paper's.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lookalike.core.files import PathLike
from lookalike.core.seeds import generator
from lookalike.core.settings.methods import Fit
from lookalike.data.visterm_folder import read_visterm_folder
from lookalike.studies.landmark import protocol
from lookalike.studies.landmark.rankings import MAP, NONZEROS, PHOTOGRAPHS, SPARSITY, UPDATE_SHARE
from lookalike.studies.landmark.settings import Photographs
from lookalike.studies.metrics import metrics_frame


def class_queries(images: pd.DataFrame, n_queries: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw the images of each class that ask, whose class is what they look for: tables of queries and relevance."""
    queries, relevance = [], []
    for label, own in images.groupby("label"):
        ids = own["image_id"].to_numpy()
        asked = np.sort(generator(seed, "landmark", PHOTOGRAPHS, str(label)).choice(ids, n_queries, replace=False))
        for number, image in enumerate(asked, start=1):
            query = f"{label}_{number}"
            queries.append((query, label, image))
            relevance += [(query, member, "good") for member in ids]
    asked_for = pd.DataFrame(queries, columns=["query", "landmark", "image_id"])
    return asked_for, pd.DataFrame(relevance, columns=["query", "image_id", "relevance"])


def learn_photographs(
    folder: PathLike, photographs: Photographs, specs: Mapping[str, Fit], *, seed: int
) -> pd.DataFrame:
    """Learn every method on every class: mean average precision, sparsity, non-zeros and share of updates."""
    manifest, pool, counts = read_visterm_folder(folder, photographs.words)
    # the codebook was learned from the pool
    images = manifest[(manifest["status"] == "ok") & ~manifest["image_id"].isin(pool["image_id"])]
    queries, relevance = class_queries(images, photographs.queries, seed)
    data = protocol.landmark_data(
        counts, counts[queries["image_id"].to_numpy()], queries, relevance, images["image_id"]
    )
    classes, learning, rows = sorted(set(queries["landmark"])), photographs.learning, []
    drawn = protocol.draw_learning_images(queries, relevance, data.image_ids, classes, learning, seed=seed)
    for method, spec in specs.items():
        for draw in range(learning.draws):
            own = (data, drawn, classes, draw, spec)
            chosen = protocol.chosen_constants(*own, seed=seed, passes=learning.passes)
            for label in classes:
                given = (data, drawn, label, draw, spec)
                result = protocol.run_landmark(*given, seed=seed, method=method, chosen=chosen, passes=learning.passes)
                numbers = {metric: result.metrics[metric] for metric in (MAP, SPARSITY) if metric in result.metrics}
                n_steps = getattr(result.model, "n_steps_", 0)
                if n_steps:
                    numbers[UPDATE_SHARE] = getattr(result.model, "n_updates_", 0) / n_steps
                names = {"subset": label, "fold": draw, "method": method}
                rows += [{**names, "metric": metric, "value": value} for metric, value in numbers.items()]
    rows.append(
        {"subset": "", "fold": 0, "method": "", "metric": NONZEROS, "value": data.rows.nnz / data.rows.shape[0]}
    )
    return metrics_frame(rows).assign(representation=PHOTOGRAPHS)
