"""A small plan, its images, and a study of more ratings."""

import numpy as np
import pytest
from made_human import PATHS, draw, make_ratings, make_study
from PIL import Image


@pytest.fixture(scope="session")
def plan():
    return draw()


@pytest.fixture
def images(tmp_path):
    rng = np.random.default_rng(0)
    for path in PATHS:
        (tmp_path / "images" / path).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)).save(tmp_path / "images" / path)
    return tmp_path / "images"


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("study"), ratings=make_ratings())
