"""The facts about published archives."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookalike.core.errors import LookalikeError
from lookalike.data.sources import load_archives

RESOURCES = Path(__file__).resolve().parents[3] / "workflow" / "resources"


def test_caltech256_is_the_published_record() -> None:
    archive = load_archives(RESOURCES / "archives.yaml")["caltech256"]
    assert archive.name == "caltech256"
    assert archive.url == "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar"
    assert archive.url == f"{archive.page}/files/{archive.filename}"
    assert archive.size == 1_183_006_720
    assert archive.md5 == "67b4f42ca05d46448c6bb8ecd2220f6d"
    assert archive.top_folder == "256_ObjectCategories"
    assert (archive.licence, archive.doi) == ("CC BY 4.0", "10.22002/D1.20087")


def test_the_oxford_buildings_are_the_published_files() -> None:
    archives = load_archives(RESOURCES / "archives.yaml")
    images, truth, words = (archives[f"oxford5k_{name}"] for name in ("images", "ground_truth", "words"))
    assert (images.md5, images.size) == ("8f0017cc5d671f35011d6968269fbf47", None)
    assert (truth.md5, truth.size, truth.files) == ("06c4dee0ad954f6ee122c82390548537", 8_174, 220)
    assert (words.md5, words.size) == ("0734e6023f6bf2140b9531af22ce7953", 304_646_902)
    for archive in (images, truth, words):
        assert archive.url == f"{archive.page}/{archive.filename}"
        assert archive.filename == f"{archive.top_folder}.tgz"
        assert archive.flat
        assert archive.max_bytes == archive.unpacked_limit


def test_an_archive_needs_a_bound_on_what_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "archives.yaml"
    path.write_text("x: {url: u, filename: f, size: 1, md5: m, top_folder: t, page: p}\n")
    assert load_archives(path)["x"].max_bytes == 2
    path.write_text("x: {url: u, filename: f, md5: m, top_folder: t, page: p}\n")
    with pytest.raises(LookalikeError, match="x needs its size or an unpacked_limit"):
        load_archives(path)
