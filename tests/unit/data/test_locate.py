"""Where a data set's images are: in place, in an archive, or nowhere."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import tarfile
from pathlib import Path

import pytest

from lookalike.core.errors import LookalikeError
from lookalike.data import locate
from lookalike.data.locate import listing_fingerprint, obtain_archive, remove_other_drawings
from lookalike.data.sources import Archive, load_archives

RESOURCES = Path(__file__).resolve().parents[3] / "workflow" / "resources"


def archive_in(folder: Path) -> Archive:
    """A small archive of the right shape, put in place by the user."""
    source = folder / "source" / "001.ak47"
    source.mkdir(parents=True)
    (source / "001_0001.jpg").write_bytes(b"not really an image")
    folder.joinpath("data").mkdir()
    path = folder / "data" / "toys.tar"
    with tarfile.open(path, "w") as tar:
        tar.add(folder / "source", arcname="toys")
    content = path.read_bytes()
    return toys(size=len(content), md5=hashlib.md5(content).hexdigest())


def toys(size: int = 10, md5: str = "0" * 32) -> Archive:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    return Archive("toys", f"http://127.0.0.1:{port}/toys.tar", "toys.tar", size, md5, "toys", "http://127.0.0.1/")


def test_an_unpacked_folder_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "data" / "toys").mkdir(parents=True)
    record = obtain_archive(toys(), tmp_path / "data", may_download=False)
    assert record == {"root": (tmp_path / "data" / "toys").as_posix()}


def test_an_archive_in_place_is_verified_and_unpacked_once(tmp_path: Path) -> None:
    archive = archive_in(tmp_path)
    record = obtain_archive(archive, tmp_path / "data", may_download=False)
    assert record["archive"] == "toys.tar"
    assert record["md5"] == archive.md5
    assert (Path(record["root"]) / "001.ak47" / "001_0001.jpg").is_file()
    assert obtain_archive(archive, tmp_path / "data", may_download=False)["root"] == record["root"]


def test_what_may_not_be_downloaded_is_one_sentence(tmp_path: Path) -> None:
    archive = toys(size=1_234)
    with pytest.raises(LookalikeError, match="may not be downloaded") as caught:
        obtain_archive(archive, tmp_path / "data", may_download=False)
    for word in (archive.url, "1,234", archive.md5, "toys.tar", str(tmp_path / "data")):
        assert word in str(caught.value)


@pytest.fixture
def class_counts(tmp_path: Path) -> Path:
    """What the toy archive holds, as its publisher counts."""
    path = tmp_path / "counts.csv"
    path.write_text("folder,images\n001.ak47,2\n056.dog,1\n198.spider,1\n")
    return path


def whole_toys(folder: Path) -> Path:
    """The unpacked toy archive, with the odd things that Caltech-256 has: a file and empty folders in excess."""
    root = folder / "data" / "toys"
    (root / "056.dog" / "greg" / "empty").mkdir(parents=True)
    for name in ("001.ak47/1.jpg", "001.ak47/2.jpg", "056.dog/greg/1.jpg", "198.spider/1.jpg", "198.spider/RENAME2"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"x")
    return root


def test_a_whole_folder_may_hold_more_than_is_published(tmp_path: Path, class_counts: Path) -> None:
    root = whole_toys(tmp_path)
    record = obtain_archive(toys(), tmp_path / "data", class_counts=class_counts, may_download=False)
    assert record == {"root": root.as_posix()}


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        ("001.ak47/2.jpg", "3 of toys's 3 class folders and 3 of its 4 images (the first that lacks some is 001.ak47"),
        ("056.dog/greg/1.jpg", "2 of toys's 3 class folders and 3 of its 4 images (the first that lacks some is 056"),
    ],
)
def test_a_part_of_an_archive_is_not_taken_for_the_whole(
    tmp_path: Path, class_counts: Path, gone: str, words: str
) -> None:
    root = whole_toys(tmp_path)
    (root / gone).unlink()
    (root / gone).with_name(".DS_Store").write_bytes(b"made by a file manager")
    (root / gone).with_name("link.jpg").symlink_to(root / "198.spider" / "1.jpg")
    with pytest.raises(LookalikeError) as caught:
        obtain_archive(toys(), tmp_path / "data", class_counts=class_counts, may_download=False)
    message = str(caught.value)
    assert words in message
    assert "\n" not in message
    for what in (str(root), "complete it", "kind: folder (docs/own-images.md)"):
        assert what in message


def test_a_folder_beside_nothing_holds_nothing(tmp_path: Path, class_counts: Path) -> None:
    (tmp_path / "data" / "toys").mkdir(parents=True)
    with pytest.raises(LookalikeError, match="0 of toys's 3 class folders and 0 of its 4 images"):
        obtain_archive(toys(), tmp_path / "data", class_counts=class_counts)


def test_the_twelve_real_classes_are_no_archive(real_images: Path, tmp_path: Path) -> None:
    (tmp_path / "256_ObjectCategories").symlink_to(real_images)
    archive = load_archives(RESOURCES / "archives.yaml")["caltech256"]
    with pytest.raises(LookalikeError, match=r"12 of caltech256's 257 class folders and 1,\d{3} of its 30,607 images"):
        obtain_archive(archive, tmp_path, class_counts=RESOURCES / "caltech256-class-counts.csv")


def test_a_download_shows_its_progress_where_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = archive_in(tmp_path)
    seen = []

    def fetch(archive: Archive, folder: Path, *, progress: object) -> Path:
        seen.append(progress)
        return folder / archive.filename

    monkeypatch.setattr(locate, "fetch_archive", fetch)
    terminal = io.StringIO()
    obtain_archive(archive, tmp_path / "data", progress=terminal)
    assert seen == [terminal]


def test_other_drawings_go_and_nothing_else(tmp_path: Path) -> None:
    images = tmp_path / "results" / "demo" / "images"
    for name in ("aaaaaaaaaaaa/001.cat", "bbbbbbbbbbbb/001.cat", ".bbbbbbbbbbbb.0.parts"):
        (images / name).mkdir(parents=True)
        (images / name / "1.jpg").write_bytes(b"x")
    (images / "note.txt").write_text("kept")
    (images / "link").symlink_to(tmp_path / "results")
    assert remove_other_drawings(images / "aaaaaaaaaaaa") == [".bbbbbbbbbbbb.0.parts", "bbbbbbbbbbbb"]
    assert sorted(path.name for path in images.iterdir()) == ["aaaaaaaaaaaa", "link", "note.txt"]
    assert (images / "aaaaaaaaaaaa" / "001.cat" / "1.jpg").is_file()
    assert remove_other_drawings(str(images / "aaaaaaaaaaaa")) == []


def test_ground_truth_of_other_drawings_goes_too(tmp_path: Path) -> None:
    for name in (
        "images/aaaa",
        "images/bbbb",
        "ground_truth/aaaa",
        "ground_truth/bbbb",
        "ground_truth/cccc",
        "other/x",
    ):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "hall_1_query.txt").write_text("x")
    (tmp_path / "ground_truth" / "note.txt").write_text("kept")
    removed = remove_other_drawings(tmp_path / "images" / "aaaa")
    assert removed == ["bbbb", "ground_truth/bbbb", "ground_truth/cccc"]
    assert sorted(path.name for path in (tmp_path / "ground_truth").iterdir()) == ["aaaa", "note.txt"]
    assert (tmp_path / "ground_truth" / "aaaa" / "hall_1_query.txt").is_file()
    assert (tmp_path / "other" / "x").is_dir()


@pytest.mark.parametrize("folder", ["photos/mine", "images/absent"])
def test_drawings_are_deleted_only_beside_a_folder_of_images(tmp_path: Path, folder: str) -> None:
    for name in ("photos/mine", "photos/other", "images/other"):
        (tmp_path / name).mkdir(parents=True)
    with pytest.raises(LookalikeError, match="nothing beside it was deleted"):
        remove_other_drawings(tmp_path / folder)
    assert (tmp_path / "photos" / "other").is_dir()
    assert (tmp_path / "images" / "other").is_dir()


def test_a_listing_changes_with_names_sizes_and_times(tmp_path: Path) -> None:
    assert listing_fingerprint(tmp_path / "nowhere") == ""
    image = tmp_path / "cat" / "1.jpg"
    image.parent.mkdir()
    image.write_bytes(b"abc")
    os.utime(image, ns=(0, 1_000_000_000))
    seen = [listing_fingerprint(tmp_path)]
    assert listing_fingerprint(tmp_path) == seen[0]
    image.write_bytes(b"xyz")  # another image of the same name and size
    os.utime(image, ns=(0, 1_000_000_001))
    seen.append(listing_fingerprint(tmp_path))
    image.write_bytes(b"abcd")
    os.utime(image, ns=(0, 1_000_000_001))
    seen.append(listing_fingerprint(tmp_path))
    (tmp_path / "cat" / "2.jpg").write_bytes(b"abc")
    seen.append(listing_fingerprint(tmp_path))
    (tmp_path / "empty").mkdir()
    seen.append(listing_fingerprint(tmp_path))
    assert len(set(seen)) == len(seen)


def test_a_dangling_link_does_not_stop_the_listing(tmp_path: Path) -> None:
    (tmp_path / "gone.jpg").symlink_to(tmp_path / "nowhere")
    assert listing_fingerprint(tmp_path) != ""
