"""A folder of painted images: three classes that differ in colour, with noise."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lookalike import ImageSimilarity
from lookalike.app import representations

COLOURS = {"blue": (30, 60, 200), "green": (40, 180, 60), "red": (200, 40, 30)}

FEW_PIXELS = 4000


def paint(path: Path, colour: tuple[int, int, int], seed: int, size: tuple[int, int] = (72, 60)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(-40, 41, (size[1], size[0], 3))
    Image.fromarray(np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)).save(path)


@pytest.fixture(autouse=True)
def few_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn the colours of visterms from fewer pixels than in earnest, which is most of the time of a fit."""
    monkeypatch.setattr(representations, "N_PIXELS", FEW_PIXELS)


@pytest.fixture(scope="session")
def painted_photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("painted") / "photos"
    for number, (name, colour) in enumerate(COLOURS.items()):
        for image in range(8):
            paint(root / name / f"{image}.png", colour, 100 * number + image)
    return root


@pytest.fixture
def photos(painted_photos: Path, tmp_path: Path) -> Path:
    """Eight images of each class, too small for the pyramid as they are; a copy that a test may change."""
    return shutil.copytree(painted_photos, tmp_path / "photos")


@pytest.fixture(scope="session")
def model_file(painted_photos: Path) -> Path:
    """A model of visterms of these images, a quarter of them held out."""
    path = painted_photos.parent / "photos.lookalike"
    settings = {"n_steps": 400}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(representations, "N_PIXELS", FEW_PIXELS)
        ImageSimilarity(words=20, hold_out=0.25, jobs=2, parameters=settings).fit(painted_photos).save(path)
    return path


@pytest.fixture
def model_file_copy(model_file: Path, tmp_path: Path) -> Path:
    """Alone in its folder."""
    (tmp_path / "alone").mkdir()
    return shutil.copy(model_file, tmp_path / "alone" / "copy.lookalike")


@pytest.fixture
def painted() -> Callable[..., None]:
    return paint
