"""The script that makes ground truth of class folders, on images of our own and on the real ones."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lookalike.data.ground_truth import landmarks_of, read_ground_truth, read_lists
from lookalike.data.scan import scan_photographs

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "class_ground_truth.py"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)], capture_output=True, text=True, timeout=60
    )


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    for number, label in enumerate(("001.ak47", "002.american-flag"), start=1):
        folder = tmp_path / "images" / label
        folder.mkdir(parents=True)
        for image in range(9):
            pixels = np.full((40, 50 + image, 3), 20 * image, np.uint8)
            Image.fromarray(pixels).save(folder / f"{number:03d}_{image:04d}.png")
    return tmp_path / "images"


def test_each_class_is_a_landmark(classes: Path, tmp_path: Path) -> None:
    done = run(classes, tmp_path / "out", "--ok", "0.5")
    assert done.returncode == 0, done.stderr
    assert "10 queries of 2 classes" in done.stdout
    assert landmarks_of(tmp_path / "out") == ["ak47", "american_flag"]
    queries, relevance = read_ground_truth(tmp_path / "out", scan_photographs(classes))
    assert Counter(relevance.loc[relevance["query"] == "ak47_1", "relevance"]) == {"good": 7, "ok": 2}
    assert queries["image_id"].is_unique
    assert (queries[["x_min", "y_min"]] == 0).all(axis=None)
    assert set(queries["x_max"] - 50) <= set(range(9))
    assert (queries["y_max"] == 40).all()
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    (tmp_path / "again").mkdir()
    assert run(classes, tmp_path / "again", "--ok", "0.5").returncode == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == before
    assert run(classes, tmp_path / "other", "--seed", "1").returncode == 0
    assert read_lists(tmp_path / "other") != read_lists(tmp_path / "out")


def test_a_class_that_is_too_small_is_one_sentence(classes: Path, tmp_path: Path) -> None:
    done = run(classes, tmp_path / "out", "--queries", "9")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ak47 has 9 usable images")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--queries", "0"], "--queries is 0: give 1 or more"),
        (["--ok", "1.5"], "--ok is 1.5: give a share between 0 and 1"),
        (["--ok", "nan"], "--ok is nan"),
    ],
)
def test_numbers_out_of_range_are_one_sentence(classes: Path, tmp_path: Path, arguments: list[str], words: str) -> None:
    done = run(classes, tmp_path / "out", *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(f"error: {words}")
    assert not (tmp_path / "out").exists()


def test_files_are_not_mixed_with_others(classes: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old_1_query.txt").write_text("x")
    done = run(classes, tmp_path / "out")
    assert done.returncode == 1
    assert "out is there and not an empty folder" in done.stderr
    assert len(list((tmp_path / "out").iterdir())) == 1


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("001.ak47", "003.\u98de\u673a", "the class folder 003.\u98de\u673a has no letter from A to Z and no digit"),
        ("001.ak47", "003.american flag", "two class folders are called american_flag"),
        ("001.ak47/001_0000.png", "001.ak47/001 0000.png", "001.ak47/001 0000.png has a blank in its name"),
        ("001.ak47/001_0000.png", "001.ak47/002_0000.png", "are both called 002_0000 in ground truth"),
    ],
)
def test_names_that_ground_truth_cannot_hold(classes: Path, tmp_path: Path, old: str, new: str, words: str) -> None:
    (classes / old).rename(classes / new)
    done = run(classes, tmp_path / "out")
    assert done.returncode == 1
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_inside_a_class_is_of_that_class(classes: Path, tmp_path: Path) -> None:
    (classes / "001.ak47" / "deep").mkdir()
    (classes / "001.ak47" / "001_0000.png").rename(classes / "001.ak47" / "deep" / "001_0000.png")
    assert run(classes, tmp_path / "out").returncode == 0
    assert len(read_lists(tmp_path / "out").relevance["ak47_1"]) == 9


def test_help_says_what_it_does() -> None:
    done = run("--help")
    assert done.returncode == 0
    for word in ("IMAGES", "OUTPUT", "--queries", "--ok", "--seed"):
        assert word in done.stdout


def test_the_real_classes(real_images: Path, tmp_path: Path) -> None:
    done = run(real_images, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    n_classes = sum(path.is_dir() for path in real_images.iterdir())
    assert len(landmarks_of(tmp_path / "out")) == n_classes
    assert len(read_lists(tmp_path / "out").queries) == 5 * n_classes
