"""Gallery of the report: what entries become, and a page that holds together by itself."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from made_report import made_results

from lookalike.report.gallery import SIDE, galleries_of
from lookalike.report.results import Results
from lookalike.report.site import write_report

SIDECAR = "demo/exhibits/learning/neighbours.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_results(tmp_path_factory.mktemp("work"))


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """Results that a test may change."""
    return Path(shutil.copytree(made, tmp_path / "results"))


@pytest.fixture
def page(folder: Path, tmp_path: Path) -> str:
    write_report(Results(folder), None, tmp_path / "report")
    return (tmp_path / "report" / "gallery.html").read_text(encoding="utf-8")


def test_entries_become_queries_with_their_rankings(folder: Path) -> None:
    (gallery,), left_out = galleries_of(Results(folder))
    assert left_out == []
    labels = [query.entry.words for query in gallery.queries]
    assert labels == ["class 0", "class 0", "class 1", "class 1"], "by label"
    assert gallery.labels == ["class 0", "class 1"]
    query = gallery.queries[3]
    assert (query.entry.chosen, query.box) == ("largest gain", (28.0, 21.0, 56.0, 42.0))
    assert [mark.meaning for mark in gallery.marks] == ["same class", "other class"]
    pictures = [one.thumbnail.picture for one in gallery.queries]
    assert {(one.width, one.height) for one in pictures} == {(SIDE, SIDE * 3 // 4)}
    assert not gallery.square


def test_every_picture_is_embedded_once_and_used(page: str) -> None:
    ids = re.findall(r'<image id="([^"]+)"', page)
    assert len(ids) == len(set(ids)) == 4
    assert set(re.findall(r'<use href="#([^"]+)"', page)) == set(ids)
    assert page.count("data:image/webp;base64,") == len(ids)


def test_every_picture_of_a_ranking_says_rank_and_what_it_is(page: str) -> None:
    shown = re.findall(r'<li class="gallery-of-(\w+)">(.*?)</li>', page, re.DOTALL)
    assert len(shown) == 4 * (3 + 4)
    for kind, text in shown:
        assert re.search(r'role="img" aria-label="Rank \d+: [^"]+"', text)
        found = re.search(r'aria-hidden="true">(.)</span> ([^<]+)</span>', text)
        assert found
        assert (kind, *found.groups()) in {("same", "✓", "same class"), ("other", "✗", "other class")}


def test_a_damaged_image_leaves_a_place_and_is_no_query(folder: Path, tmp_path: Path) -> None:
    (folder / "demo" / "images" / "0.png").write_bytes(b"no image")
    (gallery,), _ = galleries_of(Results(folder))
    assert len(gallery.queries) == 3
    write_report(Results(folder), None, tmp_path / "report")
    assert "picture cannot be read" in (tmp_path / "report" / "gallery.html").read_text(encoding="utf-8")


def test_images_are_found_after_a_move_and_told_where_they_are_gone(folder: Path, tmp_path: Path) -> None:
    folder = folder.rename(folder.parent / "elsewhere")
    assert len(galleries_of(Results(folder))[0][0].queries) == 4
    shutil.rmtree(folder / "demo" / "images")
    told = "demo title: its images are not in place any more; put them back."
    assert galleries_of(Results(folder)) == ([], [told])
    write_report(Results(folder), None, tmp_path / "report")
    page = (tmp_path / "report" / "gallery.html").read_text(encoding="utf-8")
    assert "There is no gallery" in page
    assert told in page
