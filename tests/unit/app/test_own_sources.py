from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from lookalike.app.sources import (
    LABEL_COLUMNS,
    read_class_folders,
    read_csv,
    read_files,
    read_images,
    read_labels,
    read_triplets,
)
from lookalike.core.errors import LookalikeError


def test_what_cannot_be_used_is_named_with_its_reason(photos: Path, painted: Callable[..., None]) -> None:
    (photos / "red" / "broken.png").write_bytes((photos / "red" / "0.png").read_bytes()[:200])
    (photos / "red" / "notes.txt").write_text("no image")
    shutil.copy(photos / "red" / "0.png", photos / "red" / "copy.png")
    shutil.copy(photos / "red" / "1.png", photos / "blue" / "red.png")
    painted(photos / "red" / "tiny.png", (1, 2, 3), 0, (20, 200))
    found = read_class_folders(photos, n_threads=2)
    reasons = dict(found.left_out.itertuples(index=False, name=None))
    assert "damaged" in reasons["red/broken.png"]
    assert "not an image" in reasons["red/notes.txt"]
    assert reasons["red/copy.png"] == "the same file as red/0.png"
    assert reasons["red/1.png"] == reasons["blue/red.png"] == "its file lies in several classes"
    assert "red/tiny.png" in reasons
    assert len(reasons) == 6
    assert len(found.images) == 23
    assert found.images["path"].is_monotonic_increasing


def test_labels_of_a_table(photos: Path) -> None:
    table = photos.parent / "labels.csv"
    table.write_text(
        "label, path ,note\nwarm,red/0.png,x\nwarm,red/1.png,\ncold,blue/0.png,\n,blue/1.png,\n"
        "cold,blue/2.png,\nwarm,blue/2.png,\ncold,blue/missing.png,\n"
    )
    found = read_labels(photos, table)
    assert found.images[["path", "label"]].to_numpy().tolist() == [
        ["blue/0.png", "cold"],
        ["red/0.png", "warm"],
        ["red/1.png", "warm"],
    ]
    reasons = dict(found.left_out.itertuples(index=False, name=None))
    assert reasons["blue/1.png"] == "it has no label"
    assert reasons["blue/2.png"] == "it has two labels"
    assert "No such file" in reasons["blue/missing.png"]


def test_triplets_of_a_table(photos: Path) -> None:
    shutil.copy(photos / "red" / "0.png", photos / "same.png")
    table = pd.DataFrame(
        [
            ("red/0.png", "red/1.png", "blue/0.png"),
            ("same.png", "red/2.png", "blue/1.png"),
            ("red/0.png", "same.png", "blue/0.png"),  # one image twice, under two names
            ("red/0.png", "red/1.png", "gone.png"),
        ],
        columns=["query", "positive", "negative"],
    )
    found = read_triplets(photos, table)
    assert found.triplets is not None
    paths = found.images["path"].to_numpy()[found.triplets].tolist()
    assert paths == [["red/0.png", "red/1.png", "blue/0.png"], ["red/0.png", "red/2.png", "blue/1.png"]]
    assert found.triplets_left_out == 2
    assert found.left_out["path"].tolist() == ["gone.png"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("path,kind\na,b\n", "lacks the column label: it needs path, label"),
        ("path,label\n", "has no rows"),
        ("path,label\nnowhere.png,a\n", "names no image that can be used"),
    ],
)
def test_a_table_that_cannot_be_used_is_one_sentence(photos: Path, content: str, sentence: str) -> None:
    table = photos.parent / "labels.csv"
    table.write_text(content)
    with pytest.raises(LookalikeError, match=sentence):
        read_labels(photos, table)


def test_wrong_places_are_one_sentence(photos: Path) -> None:
    with pytest.raises(LookalikeError, match="there is no folder"):
        read_labels(photos / "nowhere", photos / "labels.csv")
    with pytest.raises(LookalikeError, match="there is no file"):
        read_triplets(photos, photos / "triplets.csv")
    with pytest.raises(LookalikeError, match=r"query .*nobody.jpg cannot be used"):
        read_files([photos / "nobody.jpg"])
    with pytest.raises(LookalikeError, match="there is no folder"):
        read_images(photos / "nowhere")


def test_a_gallery_keeps_copies_and_knows_folders(photos: Path) -> None:
    shutil.copy(photos / "red" / "0.png", photos / "top.png")
    images = read_images(photos).images.set_index("path")
    assert len(images) == 25
    assert images.loc["top.png", "label"] == ""
    assert images.loc["red/0.png", "label"] == "red"
    assert images.loc["red/0.png", "sha256"] == images.loc["top.png", "sha256"]


def linked(photos: Path) -> Path:
    """A folder of class folders that hold links to images and nothing else."""
    folder = photos.parent / "linked"
    for image in photos.glob("*/[0-2].png"):
        link = folder / image.relative_to(photos)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(image)
    return folder


def test_links_in_a_folder_are_left_out_by_name_and_a_folder_may_be_one(photos: Path) -> None:
    (photos / "red" / "link.png").symlink_to(photos / "red" / "0.png")
    (photos / "green" / "nowhere.png").symlink_to(photos / "gone.png")
    (photos / "pink").symlink_to(photos / "red")
    (photos.parent / "link").symlink_to(photos)
    for read in (read_class_folders, read_images):
        found = read(photos.parent / "link")
        assert len(found.images) == 24
        reasons = dict(found.left_out.itertuples(index=False, name=None))
        assert set(reasons) == {"red/link.png", "green/nowhere.png", "pink"}
        assert all(reason.startswith("a link, and links") for reason in reasons.values())


def test_where_all_are_links_one_sentence_says_so(photos: Path) -> None:
    folder = linked(photos)
    for read in (read_class_folders, read_images):
        with pytest.raises(LookalikeError, match=r"holds links and no file of its own, .* copy or move the images"):
            read(folder)
    (folder / "red" / "notes.txt").write_text("no image")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "link").symlink_to(photos)
    for read in (read_class_folders, read_images):
        with pytest.raises(LookalikeError, match=r"that can be read: .*\(9 links in it are not followed\)"):
            read(folder)
    with pytest.raises(LookalikeError, match=r"holds no class folders: [^(]*$"):
        read_class_folders(photos / "red")


def test_a_table_names_images_through_links_too(photos: Path) -> None:
    table = pd.DataFrame([("red/0.png", "warm"), ("blue/0.png", "cold")], columns=["path", "label"])
    assert read_labels(linked(photos), table).images["path"].tolist() == ["blue/0.png", "red/0.png"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"path;label\na;b,c\nd;e,f,g\n", "separates its columns by semicolons"),
        (b"path\tlabel\na\tb\n", "separates its columns by tabs"),
        ("path,label\na,b\n".encode("utf-16"), "is written in UTF-16: export it as UTF-8"),
        ("path,label\na,b\n".encode("utf-16-le"), "holds zero bytes, as UTF-16"),
        ("path,label\na,b\nc,\u00fc\n".encode("latin-1"), r"is not written in UTF-8 \(line 3\)"),
        (b"", "is empty"),
        (b"\xef\xbb\xbf \n\n", "is empty"),
        (b"PK\x03\x04rest", "is a spreadsheet or a zip"),
        (b"\x1f\x8brest", "is compressed"),
        (b"path,label\na,b\na,b,c,d\n", "Expected 2 fields in line 3, saw 4; mend it"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "labels.csv").write_bytes(content)
    with pytest.raises(LookalikeError, match=rf"labels\.csv {sentence}|labels\.csv cannot be read as CSV: {sentence}"):
        read_csv(tmp_path / "labels.csv", LABEL_COLUMNS)


def test_places_that_are_no_files_are_said(tmp_path: Path) -> None:
    with pytest.raises(LookalikeError, match="is a folder: name a CSV file"):
        read_csv(tmp_path, LABEL_COLUMNS)
    with pytest.raises(LookalikeError, match="there is no list "):
        read_csv(tmp_path / "none.csv", LABEL_COLUMNS, what="list")
    for address in ("https://localhost/labels.csv", Path("https://localhost/labels.csv"), "file:///etc/hostname"):
        with pytest.raises(LookalikeError, match="is an address, and nothing is fetched"):
            read_csv(address, LABEL_COLUMNS)
        with pytest.raises(LookalikeError, match="is an address, and nothing is fetched"):
            read_labels(tmp_path, address)


def test_a_file_with_a_mark_and_blanks_is_read(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_bytes("\ufeffpath , label\na;b,\u00fc\n".encode())
    table = read_csv(tmp_path / "labels.csv", LABEL_COLUMNS)
    assert table.to_dict(orient="list") == {"path": ["a;b"], "label": ["\u00fc"]}
