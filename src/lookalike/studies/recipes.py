"""Recipes of the data sets whose images are made by code, by the kind of the data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from lookalike.core.settings.schema import Shared
from lookalike.data.scene import Recipe

_RECIPES = {
    "synthetic": ("painted_categories", "PaintedCategories"),
    "synthetic_landmarks": ("painted_landmarks", "PaintedLandmarks"),
    "synthetic_triplets": ("painted_triplets", "PaintedTriplets"),
}


def recipe_module(kind: str) -> str:
    """Return the module of the recipe of a kind of data set, as code behind a result is named."""
    return f"data/{_RECIPES[kind][0]}.py"


def recipe(kind: str, settings: Mapping[str, float], seed: int) -> Recipe:
    """Return the recipe of a kind of data set; found by name, so that no job depends on how others are painted."""
    module, name = _RECIPES[kind]
    painted: Callable[..., Recipe] = getattr(import_module(f"lookalike.data.{module}"), name)
    return painted(**settings, seed=seed)


def recipe_of(shared: Shared, dataset: str) -> Recipe:
    """Return the recipe of a synthetic data set."""
    data = shared.datasets[dataset]
    return recipe(data.kind, dict(getattr(data, data.kind)), shared.painting_seed(dataset))


def painted_folder(shared: Shared, dataset: str) -> str:
    """Return the folder of a synthetic data set's images; other settings paint into another one."""
    return f"results/{dataset}/images/{recipe_of(shared, dataset).fingerprint()}"
