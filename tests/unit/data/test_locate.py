"""Where a data set's images are: in place as a folder or an archive, on a server, or nowhere."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from lookalike.core.errors import LookalikeError
from lookalike.data import locate
from lookalike.data.archives import Archive, load_archives
from lookalike.data.locate import (
    listing_fingerprint,
    obtain_archive,
    obtain_landmarks,
    own_landmarks,
    remove_other_drawings,
    why_landmarks_not_obtainable,
    why_not_obtainable,
)

RESOURCES = Path(__file__).resolve().parents[3] / "workflow" / "resources"
FILES = {
    "caltech256": ["001.ak47/1.jpg", "001.ak47/2.jpg", "056.dog/greg/1.jpg", "056.dog/RENAME2"],
    "oxford5k_images": ["hall_000001.jpg", "hall_000002.jpg"],
    "oxford5k_ground_truth": [f"hall_1_{kind}.txt" for kind in ("query", "good", "ok", "junk")],
    "oxford5k_words": ["hall_000001.txt"],
}
LANDMARKS = ("oxford5k_images", "oxford5k_ground_truth")


@pytest.fixture
def archives(tmp_path: Path) -> dict[str, Archive]:
    """Small archives with the facts that the published ones have, at an address where nothing answers."""
    small = {}
    for name, published in load_archives(RESOURCES / "archives.yaml").items():
        path = tmp_path / "made" / published.filename
        path.parent.mkdir(exist_ok=True)
        with tarfile.open(path, "w:gz") as tar:
            for file in FILES[name]:
                info = tarfile.TarInfo(file if published.flat else f"{published.top_folder}/{file}")
                info.size = 3
                tar.addfile(info, io.BytesIO(b"abc"))
        content = path.read_bytes()
        small[name] = replace(
            published,
            url=f"http://127.0.0.1:9/{published.filename}",
            md5=hashlib.md5(content).hexdigest(),
            size=None if published.size is None else len(content),
            files=len(FILES[name]) if published.files else 0,
        )
    return small


@pytest.fixture
def class_counts(tmp_path: Path) -> Path:
    path = tmp_path / "counts.csv"
    path.write_text("folder,images\n001.ak47,2\n056.dog,1\n")
    return path


def put(archives: dict[str, Archive], tmp_path: Path, *names: str, unpacked: bool = False) -> Path:
    """Put archives or their folders in place, as a user does."""
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    for name in names:
        if unpacked:
            for file in FILES[name]:
                path = folder / archives[name].top_folder / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"abc")
        else:
            (folder / archives[name].filename).write_bytes((tmp_path / "made" / archives[name].filename).read_bytes())
    return folder


def refused(call: partial) -> str:
    with pytest.raises(LookalikeError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_archive_is_unpacked_once_and_a_folder_used_as_it_is(
    tmp_path: Path, archives: dict[str, Archive], class_counts: Path
) -> None:
    archive = archives["caltech256"]
    folder = put(archives, tmp_path, "caltech256")
    assert why_not_obtainable(archive, folder, class_counts, may_download=False) == ""
    obtain = partial(obtain_archive, archive, folder, class_counts=class_counts, may_download=False)
    record = obtain()
    assert record == {
        "root": (folder / archive.top_folder).as_posix(), "archive": archive.filename, "md5": archive.md5
    }  # fmt: skip
    assert (Path(record["root"]) / "056.dog" / "greg" / "1.jpg").is_file()
    assert obtain() == {"root": record["root"]}
    assert obtain_archive(archive, folder / archive.top_folder, may_download=False) == {"root": record["root"]}


@pytest.mark.parametrize("fetch", [False, True])
def test_what_is_not_there_is_asked_for(tmp_path: Path, archives: dict[str, Archive], fetch: bool) -> None:
    archive, folder = archives["caltech256"], tmp_path / "data"
    assert why_not_obtainable(archive, folder, None, fetch) == f"not run: {archive.put_in_place(folder)}"
    message = refused(partial(obtain_archive, archive, folder, may_download=False))
    assert message.endswith(f"may not be downloaded (fetch: false): {archive.put_in_place(folder)}")


def test_a_host_that_answers_is_enough_to_plan(
    tmp_path: Path, archives: dict[str, Archive], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locate, "is_reachable", lambda archive: True)
    assert why_not_obtainable(archives["caltech256"], tmp_path, None, may_download=True) == ""
    assert why_not_obtainable(archives["caltech256"], tmp_path, None, may_download=False) != ""


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        (["001.ak47/2.jpg"], "2 of caltech256's 2 class folders and 2 of its 3 images (the first that lacks some is 0"),
        (["056.dog/greg/1.jpg", "056.dog/RENAME2"], "1 of caltech256's 2 class folders and 2 of its 3 images"),
    ],
)
def test_a_part_of_an_archive_is_not_taken_for_the_whole(
    tmp_path: Path, archives: dict[str, Archive], class_counts: Path, gone: list[str], words: str
) -> None:
    archive, folder = archives["caltech256"], put(archives, tmp_path, "caltech256", unpacked=True)
    for file in gone:
        path = folder / archive.top_folder / file
        path.unlink()
        path.with_name(".DS_Store").write_bytes(b"made by a file manager")
        path.with_name("link.jpg").symlink_to(folder / archive.top_folder / "001.ak47" / "1.jpg")
    message = refused(partial(obtain_archive, archive, folder, class_counts=class_counts))
    assert message in why_not_obtainable(archive, folder, class_counts, may_download=True)
    for what in (words, str(folder), "complete it", "kind: folder (docs/own-images.md)"):
        assert what in message


def test_the_twelve_real_classes_are_no_archive(real_images: Path, tmp_path: Path) -> None:
    (tmp_path / "256_ObjectCategories").symlink_to(real_images)
    archive = load_archives(RESOURCES / "archives.yaml")["caltech256"]
    with pytest.raises(LookalikeError, match=r"12 of caltech256's 257 class folders and 1,\d{3} of its 30,607 images"):
        obtain_archive(archive, tmp_path, class_counts=RESOURCES / "caltech256-class-counts.csv")


def test_landmarks_in_place_are_verified_and_unpacked_once(tmp_path: Path, archives: dict[str, Archive]) -> None:
    folder = put(archives, tmp_path, *LANDMARKS)
    why = partial(why_landmarks_not_obtainable, {"kind": "oxford5k", "path": str(folder), "fetch": False}, archives)
    assert why() == ""
    assert why(wants_words=True) == f"not run: {archives['oxford5k_words'].put_in_place(str(folder))}"
    obtain = partial(obtain_landmarks, archives, folder, may_download=False)
    record = {
        "root": (folder / "oxbuild_images-v1").as_posix(),
        "ground_truth": (folder / "gt_files_170407").as_posix(),
        "archives": {archives[name].filename: archives[name].md5 for name in LANDMARKS},
    }
    assert obtain() == record
    assert {path.name for path in Path(record["root"]).iterdir()} == set(FILES["oxford5k_images"])
    assert obtain() == record | {"archives": {}}
    put(archives, tmp_path, "oxford5k_words", unpacked=True)
    words = (folder / archives["oxford5k_words"].top_folder).as_posix()
    assert obtain(wants_words=True) == record | {"archives": {}, "words": words}
    (folder / "gt_files_170407" / "hall_1_ok.txt").unlink()
    assert "3 of oxford5k_ground_truth's 4 files" in refused(obtain)
    assert "3 of oxford5k_ground_truth's 4 files" in why()


def test_what_is_wrong_or_lacking_of_landmarks_is_one_sentence(tmp_path: Path, archives: dict[str, Archive]) -> None:
    folder = put(archives, tmp_path)
    why = partial(why_landmarks_not_obtainable, {"kind": "oxford5k", "path": str(folder), "fetch": True}, archives)
    assert why().count("put ") == 2
    put(archives, tmp_path, *LANDMARKS)
    truth, images = folder / "gt_files_170407.tgz", folder / "oxbuild_images-v1.tgz"
    truth.write_bytes(truth.read_bytes()[:-5])
    assert why().startswith(f"not run: {truth} has ")
    assert "bytes instead of" in refused(partial(obtain_landmarks, archives, folder))
    put(archives, tmp_path, *LANDMARKS)
    images.write_bytes(images.read_bytes()[:-5])  # its size is not published
    assert why() == ""
    assert f"{images} has md5" in refused(partial(obtain_landmarks, archives, folder))
    assert not (folder / "oxbuild_images-v1").exists()


def test_words_are_fetched_only_where_they_are_wanted(
    tmp_path: Path, archives: dict[str, Archive], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, object]] = []

    def fetch(archive: Archive, folder: Path, progress: object) -> Path:
        asked.append((archive.name, progress))
        return put(archives, tmp_path, archive.name) / archive.filename

    monkeypatch.setattr(locate, "fetch_archive", fetch)
    terminal = io.StringIO()
    assert "words" not in obtain_landmarks(archives, tmp_path / "data", progress=terminal)
    assert asked == [("oxford5k_ground_truth", terminal), ("oxford5k_images", terminal)]
    assert "words" in obtain_landmarks(archives, tmp_path / "data", wants_words=True)
    assert [name for name, _ in asked[2:]] == ["oxford5k_words"]


def test_own_photographs(tmp_path: Path, archives: dict[str, Archive]) -> None:
    images, truth = tmp_path / "images", tmp_path / "truth"
    data = {"kind": "landmarks", "path": str(images), "ground_truth": str(truth)}
    why = partial(why_landmarks_not_obtainable, data, archives)
    assert why() == f"not run: put a folder of photographs at {images}"
    images.mkdir()
    truth.mkdir()
    assert why().startswith("not run: put a folder of ground-truth files (<landmark>")
    assert str(truth) in refused(partial(own_landmarks, images, truth))
    (truth / "hall_1_query.txt").write_text("a 1 2 3 4\n")
    assert why() == ""
    assert own_landmarks(images, truth) == {"root": images.as_posix(), "ground_truth": truth.as_posix()}
    assert why_landmarks_not_obtainable({"kind": "synthetic_landmarks"}, archives) == ""


def test_other_drawings_and_their_ground_truth_go_and_nothing_else(tmp_path: Path) -> None:
    gone = ("images/.bb.0.parts", "images/bb", "ground_truth/bb", "ground_truth/cc")
    for name in (*gone, "images/aa", "ground_truth/aa", "other/x"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "1.jpg").write_bytes(b"x")
    (tmp_path / "images" / "note.txt").write_text("kept")
    (tmp_path / "images" / "link").symlink_to(tmp_path / "other")
    assert remove_other_drawings(str(tmp_path / "images" / "aa")) == [name.removeprefix("images/") for name in gone]
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*"))
    assert left == ["ground_truth/aa", "images/aa", "images/link", "images/note.txt", "other/x"]
    assert (tmp_path / "other" / "x" / "1.jpg").is_file()
    for folder in ("other/x", "images/absent"):
        with pytest.raises(LookalikeError, match="nothing beside it was deleted"):
            remove_other_drawings(tmp_path / folder)


def test_a_listing_changes_with_names_sizes_and_times(tmp_path: Path) -> None:
    assert listing_fingerprint(tmp_path / "nowhere") == ""
    image = tmp_path / "cat" / "1.jpg"
    image.parent.mkdir()
    seen = []
    for content, time in ((b"abc", 0), (b"xyz", 1), (b"abcd", 1)):
        image.write_bytes(content)
        os.utime(image, ns=(0, time))
        seen += [listing_fingerprint(tmp_path)]
        assert listing_fingerprint(tmp_path) == seen[-1]
    (tmp_path / "cat" / "2.jpg").symlink_to(tmp_path / "nowhere")
    seen.append(listing_fingerprint(tmp_path))
    (tmp_path / "empty").mkdir()
    seen.append(listing_fingerprint(tmp_path))
    assert len(set(seen)) == 5
