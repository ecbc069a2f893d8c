"""Recipes of the data sets whose images are made by code, by the kind of the data set."""

from __future__ import annotations

from collections.abc import Callable

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.schema import Shared
from lookalike.data.painted_categories import PaintedCategories
from lookalike.data.painted_landmarks import PaintedLandmarks
from lookalike.data.painted_triplets import PaintedTriplets
from lookalike.data.painter import Recipe

RECIPES: dict[str, Callable[..., Recipe]] = {
    "synthetic": PaintedCategories,
    "synthetic_landmarks": PaintedLandmarks,
    "synthetic_triplets": PaintedTriplets,
}


def recipe_of(shared: Shared, dataset: str) -> Recipe:
    """Return the recipe of a synthetic data set; a `LookalikeError` where its images cannot be painted."""
    data = shared.datasets[dataset]
    try:
        return RECIPES[data.kind](**dict(getattr(data, data.kind)), seed=shared.drawing_seed(dataset))
    except LookalikeError as error:
        raise LookalikeError(f"config: datasets.{dataset}.{data.kind}: {error}") from error


def painted_folder(shared: Shared, dataset: str) -> str:
    """Return the folder of a synthetic data set's images; other settings paint into another one."""
    return f"results/{dataset}/images/{recipe_of(shared, dataset).fingerprint()}"
