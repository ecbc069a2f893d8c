"""Where a data set's images are: in place as a folder or an archive, on a server, or nowhere."""

import hashlib
import os
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from made_archives import make_tar, member
from project import ROOT

from lookalike.core.errors import LookalikeError
from lookalike.data import locate
from lookalike.data.archives import load_archives
from lookalike.data.locate import (
    absent_archives,
    listing_fingerprint,
    obtain,
    remove_other_paintings,
    why_not_obtainable,
)

RESOURCES = ROOT / "workflow" / "resources"
FILES = {
    "caltech256": ["001.ak47/1.jpg", "001.ak47/2.jpg", "056.dog/greg/1.jpg", "056.dog/RENAME2"],
    "oxford5k_images": ["hall_000001.jpg", "hall_000002.jpg"],
    "oxford5k_ground_truth": [f"hall_1_{kind}.txt" for kind in ("query", "good", "ok", "junk")],
    "oxford5k_words": ["hall_000001.txt"],
}


class Place:
    """A folder in which a user puts data, and small archives like the published ones that no server has."""

    def __init__(self, root):
        self.folder, self.packed, self.counts = root / "data", root / "made", root / "counts.csv"
        self.folder.mkdir()
        self.counts.write_text("folder,images\n001.ak47,2\n056.dog,1\n")
        self.archives = {}
        for name, published in load_archives(RESOURCES / "archives.yaml").items():
            top = f"{published.top_folder}/" if name == "caltech256" else ""
            members = [member(f"{top}{file}", b"abc") for file in FILES[name]]
            content = make_tar(self.packed / published.filename, *members, mode="w:gz").read_bytes()
            self.archives[name] = replace(
                published,
                url=f"http://127.0.0.1:9/{published.filename}",
                md5=hashlib.md5(content).hexdigest(),
                size=None if published.size is None else len(content),
                files=len(FILES[name]) if published.files else 0,
            )

    def put(self, *names):
        for name in names:
            shutil.copy(self.packed / self.archives[name].filename, self.folder)

    def asked(self, kind, fetch=False, **options):
        """Why a data set is not there, and how to obtain it."""
        data = {"kind": kind, "path": str(self.folder), "fetch": fetch}
        options |= {"class_counts": self.counts} if kind == "caltech256" else {}
        return [partial(call, data, self.archives, **options) for call in (why_not_obtainable, obtain)]


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def refused(call):
    with pytest.raises(LookalikeError, match=r"^.*$") as caught:
        call()
    return str(caught.value)


def test_an_archive_is_unpacked_once_and_its_folder_used_while_it_is_whole(place):
    archive, (why, get) = place.archives["caltech256"], place.asked("caltech256")
    place.put("caltech256")
    assert why() == ""
    root = place.folder / archive.top_folder
    assert get() == {"root": root.as_posix()} == obtain({"kind": "caltech256", "path": str(root)}, place.archives)
    for words, *gone in (
        ("2 of caltech256's 2 class folders and 2 of its 3 images (the first that lacks some is 0", "001.ak47/2.jpg"),
        ("1 of caltech256's 2 class folders and 1 of its 3 images", "056.dog/greg/1.jpg", "056.dog/RENAME2"),
    ):
        for file in map(root.joinpath, gone):
            file.rename(file.with_name(".DS_Store"))  # made by a file manager
            file.with_name(f"{file.stem}.link.jpg").symlink_to(root / "nowhere")
        message = refused(get)
        assert why() == f"not run: {message}"
        for what in (words, str(place.folder), "complete it", "`classes` of the data set"):
            assert what in message


def test_of_named_classes_alone_the_folders_need_to_be_there(place):
    archive, data = place.archives["caltech256"], {"kind": "caltech256", "path": str(place.folder), "fetch": False}
    why = partial(why_not_obtainable, archives=place.archives, class_counts=place.counts)
    assert absent_archives(data, place.archives) == [archive]
    (place.folder / archive.top_folder / "056.dog").mkdir(parents=True)
    dog = data | {"classes": ["056.dog"]}
    assert "holds no image of 056.dog: complete it" in why(dog)
    (place.folder / archive.top_folder / "056.dog/1.jpg").touch()
    assert why(dog) == ""
    assert "1 of caltech256's 2 class folders" in why(data)
    assert "no class folder 056.cat: name one of those in" in why(data | {"classes": ["056.dog", "056.cat"]})
    assert absent_archives(data, place.archives) == []
    assert [archive.about for archive in place.archives.values()][1] == "oxbuild_images-v1.tgz (2.0 GB)"


def test_what_is_not_there_is_asked_for_unless_its_host_answers(place, monkeypatch):
    (why, get), (why_not_fetched, _) = place.asked("caltech256"), place.asked("caltech256", fetch=True)
    put_it = place.archives["caltech256"].put_in_place(place.folder)
    assert why() == why_not_fetched() == f"not run: {put_it}"
    assert refused(get).endswith(f"may not be downloaded (fetch: false): {put_it}")
    monkeypatch.setattr(locate, "is_reachable", lambda archive: True)
    assert (why_not_fetched(), why()) == ("", f"not run: {put_it}")


def test_landmarks_in_place_are_verified_and_unpacked_once(place):
    why, get = place.asked("oxford5k")
    truth, images = place.folder / "gt_files_170407", place.folder / "oxbuild_images-v1"
    assert (why().count("put "), "or oxbuild_images.tgz or its folder into" in why()) == (2, True)
    place.put("oxford5k_images", "oxford5k_ground_truth")
    for name, planned, words in (
        ("oxford5k_ground_truth", "bytes instead of", "bytes instead of"),
        ("oxford5k_images", "", f"{images}.tgz has md5"),  # its size is not published
    ):
        file = place.folder / place.archives[name].filename
        os.truncate(file, file.stat().st_size - 5)
        assert planned in why()
        assert (why() == "") == (planned == "")
        assert words in refused(get)
        place.put(name)
    assert not images.exists()

    assert why() == ""
    assert get() == {"root": images.as_posix(), "ground_truth": truth.as_posix()}
    assert {path.name for path in images.iterdir()} == set(FILES["oxford5k_images"])
    # under its former name the file has no published MD5, and is known by what it holds
    shutil.rmtree(images)
    Path(f"{images}.tgz").unlink()
    make_tar(place.folder / "oxbuild_images.tgz", member("more.jpg"), mode="w:gz")
    assert "oxbuild_images.tgz holds 1 files instead of 2; get a good copy of it" in refused(get)
    files = map(member, ["more.jpg", *FILES["oxford5k_images"]])
    former = make_tar(place.folder / "oxbuild_images.tgz", *files, mode="w:gz").with_suffix("")
    assert (why(), get()["root"], images.exists()) == ("", former.as_posix(), False)
    (truth / "hall_1_ok.txt").unlink()
    for message in (refused(get), why()):
        assert "3 of oxford5k_ground_truth's 4 files" in message


def test_words_are_fetched_only_where_they_are_wanted(place, monkeypatch):
    asked = []

    def fetch(archive, path):
        asked.append(archive.name)
        place.put(archive.name)
        return Path(path, archive.filename)

    monkeypatch.setattr(locate, "fetch_archive", fetch)
    assert "words" not in place.asked("oxford5k", fetch=True)[1]()
    assert asked == ["oxford5k_ground_truth", "oxford5k_images"]
    words = place.archives["oxford5k_words"]
    assert place.asked("oxford5k", wants_words=True)[0]() == f"not run: {words.put_in_place(place.folder)}"
    found = place.asked("oxford5k", fetch=True, wants_words=True)[1]()
    assert found["words"] == (place.folder / words.top_folder).as_posix()
    assert asked[2:] == ["oxford5k_words"]


def test_own_data(tmp_path):
    whats = {"folder": "class folders", "class_triplets": "class folders", "triplets": "rated triplets"}
    for kind, what in whats.items():
        assert why_not_obtainable({"kind": kind, "path": tmp_path}, {}) == ""
        missing = f"not run: put a folder of {what} at {tmp_path}/x"
        assert why_not_obtainable({"kind": kind, "path": tmp_path / "x"}, {}) == missing
    images, truth = tmp_path / "images", tmp_path / "truth"
    data = {"kind": "landmarks", "path": str(images), "ground_truth": str(truth)}
    assert why_not_obtainable(data, {}) == f"not run: put a folder of photographs at {images}"
    images.mkdir()
    truth.mkdir()
    assert why_not_obtainable(data, {}).startswith("not run: put a folder of ground-truth files (<landmark>")
    assert str(truth) in refused(partial(obtain, data, {}))
    (truth / "hall_1_query.txt").write_text("a 1 2 3 4\n")
    assert why_not_obtainable(data, {}) == why_not_obtainable({"kind": "synthetic_landmarks"}, {}) == ""
    assert obtain(data, {}) == {"root": images.as_posix(), "ground_truth": truth.as_posix()}
    folders = {"kind": "landmarks", "path": str(images)}
    assert (why_not_obtainable(folders, {}), obtain(folders, {})) == ("", {"root": images.as_posix()})


def test_other_drawings_and_their_ground_truth_go_and_nothing_else(tmp_path):
    gone = ("images/.bb.0.parts", "images/bb", "ground_truth/bb", "ground_truth/cc")
    for name in (*gone, "images/aa", "ground_truth/aa", "other/x"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "1.jpg").write_bytes(b"x")
    (tmp_path / "images" / "note.txt").write_text("kept")
    (tmp_path / "images" / "link").symlink_to(tmp_path / "other")
    remove_other_paintings(str(tmp_path / "images" / "aa"))
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*"))
    assert left == ["ground_truth/aa", "images/aa", "images/link", "images/note.txt", "other/x"]
    assert (tmp_path / "other" / "x" / "1.jpg").is_file()
    for folder in ("other/x", "images/absent"):
        with pytest.raises(LookalikeError, match="nothing beside it was deleted"):
            remove_other_paintings(tmp_path / folder)


def test_a_listing_changes_with_names_sizes_and_times(tmp_path):
    assert listing_fingerprint(tmp_path / "nowhere") == ""
    seen = []
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
    assert len(set(seen)) == 5
