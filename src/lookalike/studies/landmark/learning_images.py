"""The images that each landmark is learned from; studies/landmark/protocol.py says what the paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lookalike.core.arrays import Integers
from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_table
from lookalike.core.seeds import generator
from lookalike.studies.landmark.results import JUNK


def write_queries(
    queries: pd.DataFrame, relevance: pd.DataFrame, manifest: pd.DataFrame, files: Any, settings: Mapping[str, Any]
) -> None:
    """Write queries, what is relevant to them, and the images that each landmark is learned from."""
    images = manifest.loc[manifest["status"] == "ok", "image_id"].to_numpy()
    sizes = {name: settings["learning"][name] for name in ("positives", "negatives", "draws")}
    given = queries, relevance, images, settings["landmarks"]
    drawn = sample_learning_images(*given, **sizes, seed=settings["seed"])
    print(f"{len(queries)} queries of {queries['landmark'].nunique()} landmarks")
    write_table(queries, files.queries)
    write_table(relevance, files.relevance)
    write_table(drawn, files.learning_images)


def sample_learning_images(
    queries: pd.DataFrame,
    relevance: pd.DataFrame,
    image_ids: ArrayLike,
    landmarks: Sequence[str],
    *,
    positives: int,
    negatives: int,
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """Choose each landmark's positives and negatives, so many times; each time by the seed and landmark alone."""
    images = np.unique(np.asarray(image_ids, dtype=np.int32))
    tables = []
    for landmark in landmarks:
        candidates = _candidates(queries, relevance, images, landmark, positives, negatives)
        roles = tuple(zip(("positive", "negative"), candidates, (positives, negatives), strict=True))
        for draw in range(draws):
            rng = generator(seed, "landmark", landmark, "draw", draw, "images")
            for role, images_of_role, n in roles:
                drawn = np.sort(rng.choice(images_of_role, n, replace=False))
                tables.append(pd.DataFrame({"landmark": landmark, "draw": draw, "image_id": drawn, "role": role}))
    table = pd.concat(tables, ignore_index=True)
    return table.astype({"draw": np.int32, "image_id": np.int32})


def _candidates(
    queries: pd.DataFrame, relevance: pd.DataFrame, images: Integers, landmark: str, n_positives: int, n_negatives: int
) -> tuple[Integers, Integers]:
    """Return the images that can be drawn as positives and as negatives of a landmark, ascending; refuse too few."""
    own = queries[queries["landmark"] == landmark]
    if own.empty:
        known = ", ".join(sorted(set(queries["landmark"].tolist())))
        raise LookalikeError(f"there is no query of landmark {landmark!r}; there are landmarks: {known}")
    asked = own["image_id"].to_numpy()
    # images of other landmarks, their queries too, are negatives like any other
    judged = relevance[relevance["query"].isin(own["query"])]
    wanted = judged.loc[judged["relevance"] != JUNK, "image_id"].to_numpy()
    junk = judged.loc[judged["relevance"] == JUNK, "image_id"].to_numpy()
    # junk for one query and good for another is neither
    positives = np.setdiff1d(np.intersect1d(images, wanted), np.concatenate([asked, junk]))
    negatives = np.setdiff1d(images, np.concatenate([asked, wanted, junk]))
    if len(positives) <= n_positives:
        raise LookalikeError(
            f"landmark {landmark} has {len(positives)} good or ok images besides its queries, and learning from "
            f"{n_positives} needs one more than that, to be found: lower learning.positives, or list the other "
            "landmarks under `landmarks`"
        )
    if len(negatives) < n_negatives:
        raise LookalikeError(
            f"landmark {landmark} has {len(negatives)} images that are neither good, ok nor junk of it, fewer than the "
            f"{n_negatives} negatives to learn from: set learning.negatives to at most {len(negatives)}, or add "
            "images"
        )
    return positives, negatives
