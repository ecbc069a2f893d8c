"""What rules hand to systems of the fine-grained study, and write of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json
from lookalike.data.rated_triplets import codebook_images
from lookalike.data.scan import image_paths
from lookalike.studies.finegrained.files import SystemResult, vectors_by_system, write_system


def manifest(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["path", "part", "status"])


def test_codebooks_see_training_images_and_others_only_without_any() -> None:
    mixed = manifest(("a", "evaluation", "ok"), ("b", "training", "ok"), ("c", "training", "unreadable"))
    rows, told = codebook_images(mixed)
    assert rows.tolist() == [1]
    assert told == "training images"
    rows, told = codebook_images(mixed[mixed["part"] == "evaluation"])
    assert rows.tolist() == [0]
    assert "without their ratings" in told
    with pytest.raises(LookalikeError, match="no image of the manifest can be used"):
        codebook_images(mixed.iloc[2:])


def test_images_that_cannot_be_used_have_no_path() -> None:
    paths = image_paths(manifest(("a/1.jpg", "training", "ok"), ("a/2.jpg", "training", "unreadable")), "folder")
    assert paths == [Path("folder/a/1.jpg"), None]


def test_a_system_is_written_by_the_names_of_its_files(tmp_path: Path) -> None:
    vectors = np.eye(2, dtype=np.float32)
    result = SystemResult(vectors, np.float32([0.5]), {"seconds": 1.0})
    files = [tmp_path / "hog" / name for name in ("vectors.npy", "distances.npy", "fit.json", "model.npz")]
    write_system(result, files, model=lambda path: path.write_text("network") and None)
    np.testing.assert_array_equal(vectors_by_system(files[:1])["hog"], vectors)
    assert np.load(files[1]).tolist() == [0.5]
    assert read_json(files[2]) == {"seconds": 1.0}
    assert files[3].read_text() == "network"


def test_what_a_system_does_not_have_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nothing to write to vectors\.npy"):
        write_system(SystemResult(None, np.float32([0.5]), {}), [tmp_path / "oasis" / "vectors.npy"])
