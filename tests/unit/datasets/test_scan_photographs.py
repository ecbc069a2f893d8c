"""Photographs that lie anywhere: the manifest of a landmark data set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.datasets.scan import scan_folder, scan_photographs, summary


def picture(path: Path, size: tuple[int, int] = (64, 48)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    shade = np.arange(size[0] * size[1], dtype=np.uint32).reshape(size[1], size[0])
    Image.fromarray((shade % 251).astype(np.uint8)).save(path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "photographs"
    picture(root / "hall_000001.jpg")
    picture(root / "tower" / "old" / "tower_000002.png", (32, 32))
    picture(root / "small.png", (200, 31))
    cut = picture(root / "cut.png")
    cut.write_bytes(cut.read_bytes()[:150])
    (root / "README").write_text("a note\n")
    (root / "link.jpg").symlink_to(root / "hall_000001.jpg")
    picture(root / ".cache" / "hall_000001.jpg")
    (root / "empty").mkdir()
    return root


def test_flat_and_deep_photographs_and_what_is_none(folder: Path) -> None:
    manifest = scan_photographs(folder)
    rows = {row.path: (row.label, row.status, row.width, row.height) for row in manifest.itertuples()}
    assert rows == {
        ".cache/hall_000001.jpg": (".cache", "not_an_image", 0, 0),
        "README": ("", "not_an_image", 0, 0),
        "cut.png": ("", "unreadable", 0, 0),
        "hall_000001.jpg": ("", "ok", 64, 48),
        "link.jpg": ("", "not_an_image", 0, 0),
        "small.png": ("", "too_small", 200, 31),
        "tower/old/tower_000002.png": ("tower/old", "ok", 32, 32),
    }
    reasons = manifest.set_index("path")["reason"]
    assert reasons["small.png"] == "200 x 31 pixels, and a photograph has 32 or more a side"
    assert "damaged" in reasons["cut.png"]
    assert "link" in reasons["link.jpg"]
    assert list(manifest["image_id"]) == list(range(7))
    assert summary(manifest)["ok"].sum() == 2


def test_the_same_table_as_of_class_folders(folder: Path, tmp_path: Path) -> None:
    picture(tmp_path / "classes" / "001.cat" / "1.png", (300, 200))
    by_class, without = scan_folder(tmp_path / "classes"), scan_photographs(tmp_path / "classes")
    assert by_class.equals(without)
    assert scan_photographs(folder).dtypes.equals(by_class.dtypes)


def test_threads_change_nothing_and_progress_is_told(folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    many = scan_photographs(folder, n_threads=4, progress=lambda done, total: seen.append((done, total)))
    assert many.equals(scan_photographs(folder))
    assert seen == [(done, 7) for done in range(1, 8)]


@pytest.mark.parametrize("other", ["deep/hall_000001.png", "hall_000001.png"])
def test_two_images_of_one_name_are_two_rows(folder: Path, other: str) -> None:
    picture(folder / other)
    manifest = scan_photographs(folder).set_index("path")
    assert list(manifest.loc[["hall_000001.jpg", other], "status"]) == ["ok", "ok"]


def test_folders_without_photographs(tmp_path: Path) -> None:
    with pytest.raises(LookalikeError, match="there is no folder"):
        scan_photographs(tmp_path / "nowhere")
    with pytest.raises(LookalikeError, match="holds no photograph"):
        scan_photographs(tmp_path)
    with pytest.raises(LookalikeError, match="is a file"):
        scan_photographs(picture(tmp_path / "a.png"))


def test_real_class_folders_are_photographs_too(real_images: Path) -> None:
    label = sorted(path.name for path in real_images.iterdir() if path.is_dir())[0]
    manifest = scan_photographs(real_images / label, n_threads=2)
    assert (manifest["status"] == "ok").sum() > 50
    assert set(manifest["label"]) == {""}
