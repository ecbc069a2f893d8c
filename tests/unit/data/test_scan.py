"""A folder with everything odd that a class folder can hold, and the manifest that comes of it."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table, write_table
from lookalike.data.scan import STATUSES, scan_folder, scan_photographs, summary
from lookalike.data.subsets import resolve_subset

LARGE = (300, 200)


def picture(path: Path, size: tuple[int, int] = LARGE, **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    shade = np.arange(size[0] * size[1], dtype=np.uint32).reshape(size[1], size[0])
    Image.fromarray((shade % 251).astype(np.uint8)).save(path, **options)
    return path


@pytest.fixture(scope="module")
def odd_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Caltech-256's oddities and some of a user's own."""
    root = tmp_path_factory.mktemp("odd") / "images"
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(root / "001.cat" / "001_0001.jpg")
    picture(root / "001.cat" / "001_0002.jpg", exif=exif)
    picture(root / "001.cat" / "small.png", (128, 128))
    cut = picture(root / "001.cat" / "cut.jpg")
    cut.write_bytes(cut.read_bytes()[:2000])
    picture(root / "056.dog" / "greg" / "vision309" / "056_0100.png")
    (root / "056.dog" / "greg" / "empty").mkdir()
    picture(root / "056.dog" / ".hidden.png")
    picture(root / "056.dog" / "._056_0100.png")
    (root / "198.spider").mkdir()
    (root / "198.spider" / "RENAME2").write_text("#!/bin/sh\n")
    (root / "198.spider" / "Thumbs.db").write_bytes(b"x")
    (root / "198.spider" / "empty.jpg").write_bytes(b"")
    (root / "198.spider" / "link.jpg").symlink_to(root / "001.cat" / "001_0001.jpg")
    (root / "198.spider" / "linked_folder").symlink_to(root / "001.cat")
    (root / "198.spider" / "dangling").symlink_to(root / "nowhere")
    os.mkfifo(root / "198.spider" / "pipe.jpg")
    picture(root / "257.clutter" / "a.png")
    picture(root / "257.clutter" / "b.png", (64, 64))
    picture(root / "beside.png")
    (root / "linked_class").symlink_to(root / "001.cat")
    (root / "empty_class" / "empty_inside").mkdir(parents=True)
    (root / ".empty_hidden").mkdir()
    picture(root / ".cache" / "thumb.png")
    return root


@pytest.fixture(scope="module")
def manifest(odd_folder: Path) -> pd.DataFrame:
    return scan_folder(odd_folder)


def test_every_file_is_a_row_with_its_status(manifest: pd.DataFrame) -> None:
    found = dict(zip(manifest["path"], zip(manifest["label"], manifest["status"], strict=True), strict=True))
    assert found == {
        "001.cat/001_0001.jpg": ("001.cat", "ok"),
        "001.cat/001_0002.jpg": ("001.cat", "ok"),
        "001.cat/small.png": ("001.cat", "too_small"),
        "001.cat/cut.jpg": ("001.cat", "unreadable"),
        "056.dog/greg/vision309/056_0100.png": ("056.dog", "ok"),
        "056.dog/.hidden.png": ("056.dog", "not_an_image"),
        "056.dog/._056_0100.png": ("056.dog", "not_an_image"),
        "198.spider/RENAME2": ("198.spider", "not_an_image"),
        "198.spider/Thumbs.db": ("198.spider", "not_an_image"),
        "198.spider/empty.jpg": ("198.spider", "not_an_image"),
        "198.spider/link.jpg": ("198.spider", "not_an_image"),
        "198.spider/linked_folder": ("198.spider", "not_an_image"),
        "198.spider/dangling": ("198.spider", "not_an_image"),
        "198.spider/pipe.jpg": ("198.spider", "not_an_image"),
        "257.clutter/a.png": ("257.clutter", "clutter"),
        "257.clutter/b.png": ("257.clutter", "too_small"),
        "beside.png": ("", "not_an_image"),
        "empty_class": ("empty_class", "not_an_image"),
        "linked_class": ("linked_class", "not_an_image"),
        ".cache/thumb.png": (".cache", "not_an_image"),
    }


def test_rows_are_numbered_in_path_order_and_typed(manifest: pd.DataFrame) -> None:
    assert list(manifest["path"]) == sorted(manifest["path"])
    assert list(manifest["image_id"]) == list(range(len(manifest)))
    numbers = {name: str(manifest[name].dtype) for name in ("image_id", "width", "height", "bytes")}
    assert numbers == {"image_id": "int32", "width": "int32", "height": "int32", "bytes": "int64"}
    assert list(manifest.columns) == [
        "image_id", "path", "label", "width", "height", "bytes", "sha256", "status", "reason",
    ]  # fmt: skip


def test_facts_of_a_file(manifest: pd.DataFrame, odd_folder: Path) -> None:
    row = manifest.set_index("path").loc["001.cat/001_0001.jpg"]
    content = (odd_folder / "001.cat" / "001_0001.jpg").read_bytes()
    assert (row["width"], row["height"], row["bytes"]) == (*LARGE, len(content))
    assert row["sha256"] == hashlib.sha256(content).hexdigest()
    turned = manifest.set_index("path").loc["001.cat/001_0002.jpg"]
    assert (turned["width"], turned["height"]) == LARGE[::-1]


def test_reasons(manifest: pd.DataFrame) -> None:
    usable = manifest["status"].isin(["ok", "clutter"])
    assert ((manifest["reason"] == "") == usable).all()
    reason = dict(zip(manifest["path"], manifest["reason"], strict=True))
    assert "truncated" in reason["001.cat/cut.jpg"]
    assert reason["198.spider/link.jpg"] == reason["linked_class"]
    assert reason["linked_class"].startswith("a link, and links inside the data set's folder are not followed: copy")
    assert reason["empty_class"] == "an empty class folder"
    assert reason["198.spider/pipe.jpg"] == "not a regular file"
    assert "not an image of a known format" in reason["198.spider/RENAME2"]
    assert reason["056.dog/.hidden.png"] == "hidden"
    assert "128 x 128" in reason["001.cat/small.png"]


def test_class_folders_without_a_file_have_no_facts_and_say_why_when_named(manifest: pd.DataFrame) -> None:
    row = manifest.set_index("path").loc["empty_class"]
    assert (row["bytes"], row["sha256"], row["width"], row["height"]) == (0, "", 0, 0)
    with pytest.raises(LookalikeError, match="empty_class has no usable image: an empty class folder; put images"):
        resolve_subset(["001.cat", "empty_class"], manifest)
    with pytest.raises(LookalikeError, match=r"linked_class has no usable image: a link, .*not followed: copy or move"):
        resolve_subset(["001.cat", "linked class"], manifest)


def test_number_of_threads_and_progress_change_nothing(
    manifest: pd.DataFrame, odd_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[tuple[int, int]] = []
    table = scan_folder(odd_folder, n_threads=4, progress=lambda done, total: calls.append((done, total)))
    pd.testing.assert_frame_equal(table, manifest)
    n_files = len(manifest) - 1  # but for the empty folder
    assert calls == [(done, n_files) for done in range(1, n_files + 1)]
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_root_may_be_a_link_and_a_string(manifest: pd.DataFrame, odd_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(odd_folder)
    pd.testing.assert_frame_equal(scan_folder(str(tmp_path / "link")), manifest)


def test_clutter_labels_can_be_chosen(odd_folder: Path) -> None:
    table = scan_folder(odd_folder, clutter_labels=["056.dog"]).set_index("path")["status"]
    assert table["056.dog/greg/vision309/056_0100.png"] == "clutter"
    assert table["257.clutter/a.png"] == "ok"


def test_name_that_is_no_utf8_is_a_row_that_can_be_stored(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "cat" / "a.png")
    odd = os.fsencode(tmp_path / "images" / "cat") + b"/\xff.png"
    try:
        shutil.copy(os.fsencode(tmp_path / "images" / "cat" / "a.png"), odd)
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    table = scan_folder(tmp_path / "images")
    write_table(table, tmp_path / "manifest.parquet")
    row = read_table(tmp_path / "manifest.parquet").iloc[0]
    assert (row["path"], row["status"]) == ("cat/\\udcff.png", "not_an_image")
    assert "UTF-8" in row["reason"]


def test_summary_counts_every_file_once(manifest: pd.DataFrame) -> None:
    table = summary(manifest)
    assert list(table.columns) == ["label", *STATUSES, "files"]
    assert table["files"].sum() == len(manifest)
    cat = table.set_index("label").loc["001.cat"]
    assert (cat["ok"], cat["too_small"], cat["unreadable"], cat["files"]) == (2, 1, 1, 4)


def test_manifest_survives_writing(manifest: pd.DataFrame, tmp_path: Path) -> None:
    write_table(manifest, tmp_path / "manifest.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "manifest.parquet"), manifest)


def test_wrong_folders_are_explained(tmp_path: Path) -> None:
    with pytest.raises(LookalikeError, match="there is no folder"):
        scan_folder(tmp_path / "none")
    with pytest.raises(LookalikeError, match="is empty"):
        scan_folder(tmp_path)
    flat = picture(tmp_path / "flat" / "a.png")
    with pytest.raises(LookalikeError, match="is a file"):
        scan_folder(flat)
    with pytest.raises(LookalikeError, match="holds no class folders"):
        scan_folder(flat.parent)
    (tmp_path / "texts" / "cat").mkdir(parents=True)
    (tmp_path / "texts" / "cat" / "a.txt").write_text("a")
    with pytest.raises(LookalikeError, match="no image that can be read"):
        scan_folder(tmp_path / "texts")


def test_a_folder_of_links_is_explained(tmp_path: Path) -> None:
    picture(tmp_path / "cat" / "a.png")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "cat").symlink_to(tmp_path / "cat")
    with pytest.raises(LookalikeError, match=r"links instead of class folders, .* not followed: copy or move"):
        scan_folder(tmp_path / "links")


def test_one_level_too_high_is_recognised(tmp_path: Path) -> None:
    picture(tmp_path / "256_ObjectCategories" / "001.cat" / "a.png")
    picture(tmp_path / "256_ObjectCategories" / "002.dog" / "a.png")
    with pytest.raises(LookalikeError, match=r"give .*256_ObjectCategories instead"):
        scan_folder(tmp_path)


def test_one_real_class(real_images: Path, tmp_path: Path) -> None:
    shutil.copytree(real_images / "056.dog", tmp_path / "images" / "056.dog")
    table = scan_folder(tmp_path / "images", n_threads=2)
    assert len(table) == len(list((real_images / "056.dog").iterdir()))
    assert set(table["status"]) <= {"ok", "too_small"}
    assert (table["status"] == "ok").mean() >= 0.95


# Photographs that lie anywhere: the manifest of a landmark data set


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
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


def test_flat_and_deep_photographs_and_what_is_none(photographs: Path) -> None:
    manifest = scan_photographs(photographs)
    rows = {row.path: (row.label, row.status, row.width, row.height) for row in manifest.itertuples()}
    assert rows == {
        ".cache/hall_000001.jpg": (".cache", "not_an_image", 0, 0),
        "README": ("", "not_an_image", 0, 0),
        "cut.png": ("", "unreadable", 0, 0),
        "hall_000001.jpg": ("", "ok", *LARGE),
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


def test_the_same_table_as_of_class_folders(photographs: Path, tmp_path: Path) -> None:
    picture(tmp_path / "classes" / "001.cat" / "1.png", (300, 200))
    by_class, without = scan_folder(tmp_path / "classes"), scan_photographs(tmp_path / "classes")
    assert by_class.equals(without)
    assert scan_photographs(photographs).dtypes.equals(by_class.dtypes)


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
