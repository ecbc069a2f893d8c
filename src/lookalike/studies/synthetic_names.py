"""Names in data sets whose images are made by code, which are known before any image is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import integer_seed
from lookalike.data.synthetic import SyntheticCategories
from lookalike.data.synthetic_landmarks import SyntheticLandmarks
from lookalike.data.synthetic_triplets import SyntheticTriplets


def synthetic_names(settings: Mapping[str, Any], dataset: str) -> list[str]:
    """Return the names of a synthetic data set's classes or landmarks, after checking that its images can be drawn."""
    data, seed = settings["datasets"][dataset], integer_seed(settings["seed"], "datasets", dataset)
    try:
        if data["kind"] == "synthetic":
            return SyntheticCategories.from_settings(data["synthetic"], seed).class_names()
        if data["kind"] == "synthetic_triplets":
            return SyntheticTriplets.from_settings(data["synthetic_triplets"], seed).category_names()
        return SyntheticLandmarks.from_settings(data["synthetic_landmarks"], seed).landmark_names()
    except LookalikeError as error:
        raise LookalikeError(f"config: datasets.{dataset}.{data['kind']}: {error}") from error
