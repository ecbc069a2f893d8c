"""Recipes of the data sets whose images are made by code, by the kind of the data set."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from lookalike.core.files import sha256_of
from lookalike.core.settings.schema import Shared
from lookalike.data.ground_truth import painted_truth
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


def paint(kind: str, settings: Mapping[str, float], seed: int, folder: str | Path) -> dict[str, int | str]:
    """Paint a data set in place of earlier images and ground truth; return how many images, and a hash of all files."""
    for former in (folder, painted_truth(folder)):
        shutil.rmtree(former, ignore_errors=True)
    painted = recipe(kind, settings, seed)
    n_images = painted.write_images(folder)
    painted.write_beside(folder)
    # with it, what reads the images runs again where they are others
    sums = [sha256_of(file) for file in sorted(Path(folder).rglob("*")) if file.is_file()]
    return {"images": n_images, "sha256": hashlib.sha256("".join(sums).encode()).hexdigest()}
