"""Where a data set's images are: in place as a folder or an archive, on a server, or nowhere."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from made_archives import make_tar, member

from lookalike.core.errors import LookalikeError
from lookalike.data import locate
from lookalike.data.archives import Archive, load_archives
from lookalike.data.locate import (
    listing_fingerprint,
    obtain,
    remove_other_drawings,
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
Archives = dict[str, Archive]


@pytest.fixture
def folder(tmp_path):
    """The folder in which a user puts data."""
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def archives(tmp_path):
    """Small archives beside that folder, like the published ones, at an address where nothing answers."""
    small = {}
    for name, published in load_archives(RESOURCES / "archives.yaml").items():
        top = "" if published.flat else f"{published.top_folder}/"
        members = [member(f"{top}{file}", b"abc") for file in FILES[name]]
        content = make_tar(tmp_path / "made" / published.filename, *members, mode="w:gz").read_bytes()
        small[name] = replace(
            published,
            url=f"http://127.0.0.1:9/{published.filename}",
            md5=hashlib.md5(content).hexdigest(),
            size=None if published.size is None else len(content),
            files=len(FILES[name]) if published.files else 0,
        )
    return small


@pytest.fixture
def class_counts(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("folder,images\n001.ak47,2\n056.dog,1\n")
    return path


def put(archives, folder, *names):
    """Put archives in place, as a user does."""
    for file in (archives[name].filename for name in names):
        shutil.copy(folder.parent / "made" / file, folder)


def refused(call):
    with pytest.raises(LookalikeError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def settings(kind, folder, fetch=False):
    return {"kind": kind, "path": str(folder), "fetch": fetch}


def test_an_archive_is_unpacked_once_and_a_folder_used_as_it_is(folder, archives, class_counts):
    archive, data = archives["caltech256"], settings("caltech256", folder)
    put(archives, folder, "caltech256")
    assert why_not_obtainable(data, archives, class_counts) == ""
    root = {"root": (folder / archive.top_folder).as_posix()}
    assert obtain(data, archives, class_counts) == root | {"archive": archive.filename, "md5": archive.md5}
    assert (folder / archive.top_folder / "056.dog" / "greg" / "1.jpg").is_file()
    assert obtain(data, archives, class_counts) == root
    assert obtain(settings("caltech256", folder / archive.top_folder), archives) == root


def test_what_is_not_there_is_asked_for_unless_its_host_answers(folder, archives, monkeypatch):
    mine, fetched = (settings("caltech256", folder, fetch) for fetch in (False, True))
    put_it = archives["caltech256"].put_in_place(folder)
    assert why_not_obtainable(mine, archives) == why_not_obtainable(fetched, archives) == f"not run: {put_it}"
    assert refused(partial(obtain, mine, archives)).endswith(f"may not be downloaded (fetch: false): {put_it}")
    monkeypatch.setattr(locate, "is_reachable", lambda archive: True)
    assert why_not_obtainable(fetched, archives) == ""
    assert why_not_obtainable(mine, archives) != ""


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        (["001.ak47/2.jpg"], "2 of caltech256's 2 class folders and 2 of its 3 images (the first that lacks some is 0"),
        (["056.dog/greg/1.jpg", "056.dog/RENAME2"], "1 of caltech256's 2 class folders and 2 of its 3 images"),
    ],
)
def test_a_part_of_an_archive_is_not_taken_for_the_whole(folder, archives, class_counts, gone, words):
    data = settings("caltech256", folder)
    put(archives, folder, "caltech256")
    root = Path(obtain(data, archives, class_counts)["root"])
    for file in gone:
        (root / file).unlink()
        (root / file).with_name(".DS_Store").write_bytes(b"made by a file manager")
        (root / file).with_name("link.jpg").symlink_to(root / "001.ak47" / "1.jpg")
    message = refused(partial(obtain, data, archives, class_counts))
    assert why_not_obtainable(data, archives, class_counts) == f"not run: {message}"
    for what in (words, str(folder), "complete it", "kind: folder (docs/own-images.md)"):
        assert what in message


def test_landmarks_in_place_are_verified_and_unpacked_once(folder, archives):
    why, get = (partial(call, settings("oxford5k", folder), archives) for call in (why_not_obtainable, obtain))
    truth, images = folder / "gt_files_170407", folder / "oxbuild_images-v1"
    assert why().count("put ") == 2
    put(archives, folder, *LANDMARKS)
    for archive, planned, words in (
        (archives["oxford5k_ground_truth"], "bytes instead of", "bytes instead of"),
        (archives["oxford5k_images"], "", f"{images}.tgz has md5"),  # its size is not published
    ):
        file = folder / archive.filename
        file.write_bytes(file.read_bytes()[:-5])
        assert planned in why()
        assert (why() == "") == (planned == "")
        assert words in refused(get)
        put(archives, folder, archive.name)
    assert not images.exists()

    assert why() == ""
    record = {"root": images.as_posix(), "ground_truth": truth.as_posix(), "archives": {}}
    images_md5 = {archives["oxford5k_images"].filename: archives["oxford5k_images"].md5}
    assert get() == record | {"archives": images_md5}  # the ground truth was unpacked before the images failed
    assert {path.name for path in images.iterdir()} == set(FILES["oxford5k_images"])
    assert get() == record
    (truth / "hall_1_ok.txt").unlink()
    for message in (refused(get), why()):
        assert "3 of oxford5k_ground_truth's 4 files" in message


def test_words_are_fetched_only_where_they_are_wanted(folder, archives, monkeypatch):
    asked: list[tuple[str, object]] = []

    def fetch(archive, path, progress):
        asked.append((archive.name, progress))
        put(archives, folder, archive.name)
        return Path(path, archive.filename)

    monkeypatch.setattr(locate, "fetch_archive", fetch)
    terminal = io.StringIO()
    get = partial(obtain, settings("oxford5k", folder, fetch=True), archives)
    assert "words" not in get(progress=terminal)
    assert asked == [("oxford5k_ground_truth", terminal), ("oxford5k_images", terminal)]
    missing = why_not_obtainable(settings("oxford5k", folder), archives, wants_words=True)
    assert missing == f"not run: {archives['oxford5k_words'].put_in_place(str(folder))}"
    assert get(wants_words=True)["words"] == (folder / archives["oxford5k_words"].top_folder).as_posix()
    assert [name for name, _ in asked[2:]] == ["oxford5k_words"]


def test_own_data(tmp_path):
    whats = {"folder": "class folders", "class_triplets": "class folders", "triplets": "rated triplets"}
    for kind, what in whats.items():
        assert why_not_obtainable(settings(kind, tmp_path), {}) == ""
        why = why_not_obtainable(settings(kind, tmp_path / "x"), {})
        assert why == f"not run: put a folder of {what} at {tmp_path}/x"
    images, truth = tmp_path / "images", tmp_path / "truth"
    data = settings("landmarks", images) | {"ground_truth": str(truth)}
    assert why_not_obtainable(data, {}) == f"not run: put a folder of photographs at {images}"
    images.mkdir()
    truth.mkdir()
    assert why_not_obtainable(data, {}).startswith("not run: put a folder of ground-truth files (<landmark>")
    assert str(truth) in refused(partial(obtain, data, {}))
    (truth / "hall_1_query.txt").write_text("a 1 2 3 4\n")
    assert why_not_obtainable(data, {}) == why_not_obtainable({"kind": "synthetic_landmarks"}, {}) == ""
    assert obtain(data, {}) == {"root": images.as_posix(), "ground_truth": truth.as_posix()}


def test_other_drawings_and_their_ground_truth_go_and_nothing_else(tmp_path):
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


def test_a_listing_changes_with_names_sizes_and_times(tmp_path):
    seen = [listing_fingerprint(tmp_path / "nowhere")]
    assert seen == [""]
    image = tmp_path / "cat" / "1.jpg"
    image.parent.mkdir()
    for content, time in ((b"abc", 0), (b"xyz", 1), (b"abcd", 1)):
        image.write_bytes(content)
        os.utime(image, ns=(0, time))
        seen.append(listing_fingerprint(tmp_path))
        assert listing_fingerprint(tmp_path) == seen[-1]
    (tmp_path / "cat" / "2.jpg").symlink_to(tmp_path / "nowhere")
    seen.append(listing_fingerprint(tmp_path))
    (tmp_path / "empty").mkdir()
    seen.append(listing_fingerprint(tmp_path))
    assert len(set(seen)) == 6
