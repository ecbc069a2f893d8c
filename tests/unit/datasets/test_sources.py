"""The facts about published archives, and what is said about a file of facts that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookalike.core.errors import LookalikeError
from lookalike.datasets.sources import load_archives

RESOURCES = Path(__file__).resolve().parents[3] / "workflow" / "resources"
GOOD = "x: {url: u, filename: f, size: 1, md5: m, top_folder: t, page: p}\n"


def test_caltech256_is_the_published_record() -> None:
    archive = load_archives(RESOURCES / "archives.yaml")["caltech256"]
    assert archive.name == "caltech256"
    assert archive.url == "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar"
    assert archive.url == f"{archive.page}/files/{archive.filename}"
    assert archive.size == 1_183_006_720
    assert archive.md5 == "67b4f42ca05d46448c6bb8ecd2220f6d"
    assert archive.top_folder == "256_ObjectCategories"
    assert (archive.licence, archive.doi) == ("CC BY 4.0", "10.22002/D1.20087")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace(", page: p", ""), "page"),
        (GOOD.replace("page: p", "page: p, sha1: s"), "sha1"),
        (GOOD.replace("size: 1", "size: about 1 GB"), "size of x must be of type int"),
        (GOOD.replace("md5: m", "md5: 12"), "md5 of x must be of type str"),
        ("x: 3\n", "x must map facts"),
        ("[1, 2]\n", "must map names"),
        ("x: {", "not valid YAML"),
    ],
)
def test_wrong_facts_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "archives.yaml"
    path.write_text(text)
    with pytest.raises(LookalikeError, match=message):
        load_archives(path)


def test_good_facts_and_missing_file(tmp_path: Path) -> None:
    (tmp_path / "archives.yaml").write_text(GOOD)
    assert load_archives(tmp_path / "archives.yaml")["x"].size == 1
    with pytest.raises(LookalikeError, match="cannot read"):
        load_archives(tmp_path / "none.yaml")
