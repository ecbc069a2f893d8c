"""A small plan and its images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_plans import PATHS, draw
from PIL import Image


@pytest.fixture(scope="session")
def plan() -> pd.DataFrame:
    return draw()


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for path in PATHS:
        (folder / path).parent.mkdir(exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)).save(folder / path)
    return folder
