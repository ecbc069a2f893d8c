"""Fixtures that every test may use: where the real images are, and one tiny finished workflow run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with the real images and ground truth; skips where there is none."""
    folder = Path(os.environ.get("LOOKALIKE_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real images at {folder}: set LOOKALIKE_TEST_DATA to the folder that holds caltech256/")
    return folder


@pytest.fixture(scope="session")
def real_images(shared_data: Path) -> Path:
    """The class folders of the real Caltech-256 images."""
    folder = shared_data / "caltech256" / "256_ObjectCategories"
    if not folder.is_dir():
        pytest.skip(f"no Caltech-256 classes at {folder}: set LOOKALIKE_TEST_DATA")
    return folder
