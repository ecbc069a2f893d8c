"""Recipes of the data sets whose images are made by code, by the kind of the data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import integer_seed
from lookalike.data.painted_categories import PaintedCategories
from lookalike.data.painted_landmarks import PaintedLandmarks
from lookalike.data.painted_triplets import PaintedTriplets
from lookalike.data.painter import Recipe

RECIPES: dict[str, type[Recipe]] = {
    "synthetic": PaintedCategories,
    "synthetic_landmarks": PaintedLandmarks,
    "synthetic_triplets": PaintedTriplets,
}


def recipe_of(config: Mapping[str, Any], dataset: str) -> Recipe:
    """Recipe of a synthetic data set; a `LookalikeError` where its images cannot be painted."""
    data, seed = config["datasets"][dataset], integer_seed(config["seed"], "datasets", dataset)
    try:
        return RECIPES[data["kind"]](**data[data["kind"]] | {"seed": seed})
    except LookalikeError as error:
        raise LookalikeError(f"config: datasets.{dataset}.{data['kind']}: {error}") from error


def painted_folder(config: Mapping[str, Any], dataset: str) -> str:
    """Folder of a synthetic data set's images; other settings paint into another one."""
    return f"results/{dataset}/images/{recipe_of(config, dataset).fingerprint()}"
