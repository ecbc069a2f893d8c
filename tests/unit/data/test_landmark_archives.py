"""The Oxford Buildings and a user's own landmarks: in place as archives, in place as folders, or not at all."""

from __future__ import annotations

import hashlib
import io
import socket
import tarfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json
from lookalike.data import locate
from lookalike.data.locate import obtain_landmarks, own_landmarks, why_landmarks_not_obtainable
from lookalike.data.sources import Archive, load_archives

RESOURCES = Path(__file__).resolve().parents[3] / "workflow" / "resources"
FILES = {
    "oxford5k_images": {"hall_000001.jpg": b"one", "hall_000002.jpg": b"two"},
    "oxford5k_ground_truth": {f"hall_1_{kind}.txt": b"" for kind in ("query", "good", "ok", "junk")},
    "oxford5k_words": {"hall_000001.txt": b"1\n2\n"},
}


def make_tgz(path: Path, files: dict[str, bytes], top: str = "") -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(top + name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path.read_bytes()


@pytest.fixture
def archives(tmp_path: Path) -> dict[str, Archive]:
    """Small archives with the facts that the published ones have, at an address where nothing answers."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    small = {}
    for name, files in FILES.items():
        published = load_archives(RESOURCES / "archives.yaml")[name]
        content = make_tgz(tmp_path / "made" / published.filename, files)
        small[name] = replace(
            published,
            url=f"http://127.0.0.1:{port}/{published.filename}",
            md5=hashlib.md5(content).hexdigest(),
            size=None if published.size is None else len(content),
            files=len(files) if published.files else 0,
        )
    return small


def put(archives: dict[str, Archive], tmp_path: Path, *names: str) -> Path:
    """Put archives in place, as a user does."""
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    for name in names:
        content = (tmp_path / "made" / archives[name].filename).read_bytes()
        (folder / archives[name].filename).write_bytes(content)
    return folder


def oxford(folder: Path, fetch: bool = False) -> dict[str, object]:
    return {"kind": "oxford5k", "path": str(folder), "fetch": fetch}


def test_archives_in_place_are_verified_and_unpacked_once(tmp_path: Path, archives: dict[str, Archive]) -> None:
    folder = put(archives, tmp_path, "oxford5k_images", "oxford5k_ground_truth")
    assert why_landmarks_not_obtainable(oxford(folder), archives) == ""
    record = obtain_landmarks(archives, folder, may_download=False, progress=False)
    assert record == {
        "root": (folder / "oxbuild_images-v1").as_posix(),
        "ground_truth": (folder / "gt_files_170407").as_posix(),
        "archives": {
            archives[name].filename: archives[name].md5 for name in ("oxford5k_images", "oxford5k_ground_truth")
        },
    }
    assert {path.name for path in Path(record["root"]).iterdir()} == set(FILES["oxford5k_images"])
    assert read_json(folder / "oxbuild_images-v1.tgz.json")["md5"] == archives["oxford5k_images"].md5
    again = obtain_landmarks(archives, folder, may_download=False, progress=False)
    assert again == record | {"archives": {}}


def test_unpacked_folders_are_used_as_they_are(tmp_path: Path, archives: dict[str, Archive]) -> None:
    folder = put(archives, tmp_path)
    for name, files in FILES.items():
        root = folder / archives[name].top_folder
        root.mkdir()
        for file, content in files.items():
            (root / file).write_bytes(content)
    assert why_landmarks_not_obtainable(oxford(folder), archives) == ""
    record = obtain_landmarks(archives, folder, may_download=False, wants_words=True)
    assert set(record) == {"root", "ground_truth", "words", "archives"}
    assert record["archives"] == {}
    (folder / "gt_files_170407" / "hall_1_ok.txt").unlink()
    with pytest.raises(LookalikeError, match="3 of oxford5k_ground_truth's 4 files"):
        obtain_landmarks(archives, folder, may_download=False)
    assert "3 of oxford5k_ground_truth's 4 files" in why_landmarks_not_obtainable(oxford(folder), archives)


def test_words_that_nothing_wants_are_not_looked_at(tmp_path: Path, archives: dict[str, Archive]) -> None:
    folder = put(archives, tmp_path, "oxford5k_images", "oxford5k_ground_truth", "oxford5k_words")
    file = folder / archives["oxford5k_words"].filename
    file.write_bytes(file.read_bytes()[:-5])
    assert why_landmarks_not_obtainable(oxford(folder), archives) == ""
    reason = why_landmarks_not_obtainable(oxford(folder), archives, wants_words=True)
    assert reason.startswith(f"not run: {file} has ")
    assert "words" not in obtain_landmarks(archives, folder, may_download=False)
    assert not (folder / archives["oxford5k_words"].top_folder).exists()
    with pytest.raises(LookalikeError, match="bytes instead of"):
        obtain_landmarks(archives, folder, may_download=False, wants_words=True)


@pytest.mark.parametrize("fetch", [False, True])
def test_words_that_are_wanted_and_not_there_are_asked_for(
    tmp_path: Path, archives: dict[str, Archive], fetch: bool
) -> None:
    folder = put(archives, tmp_path, "oxford5k_images", "oxford5k_ground_truth")
    reason = why_landmarks_not_obtainable(oxford(folder, fetch), archives, wants_words=True)
    assert reason == f"not run: {archives['oxford5k_words'].put_in_place(str(folder))}"
    with pytest.raises(LookalikeError, match=r"put .*\.tgz from .* into "):
        obtain_landmarks(archives, folder, may_download=False, wants_words=True)


def test_words_are_fetched_only_where_they_are_wanted(
    tmp_path: Path, archives: dict[str, Archive], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(archives, tmp_path, "oxford5k_images", "oxford5k_ground_truth")
    asked: list[str] = []

    def fetch(archive: Archive, folder: Path, *, progress: object) -> Path:
        asked.append(archive.name)
        if not (Path(folder) / archive.filename).exists():
            put(archives, tmp_path, archive.name)
        return Path(folder) / archive.filename

    monkeypatch.setattr(locate, "fetch_archive", fetch)
    assert "words" not in obtain_landmarks(archives, folder)
    assert sorted(asked) == ["oxford5k_ground_truth", "oxford5k_images"]
    assert "words" in obtain_landmarks(archives, folder, wants_words=True)
    assert asked[2:] == ["oxford5k_words"]
    assert "words" not in obtain_landmarks(archives, folder)
    assert "words" in obtain_landmarks(archives, folder, may_download=False, wants_words=True)


@pytest.mark.parametrize("kept", [slice(None, -9), slice(9, None)])
def test_wrong_or_truncated_images_are_refused(tmp_path: Path, archives: dict[str, Archive], kept: slice) -> None:
    folder = put(archives, tmp_path, "oxford5k_images", "oxford5k_ground_truth")
    file = folder / "oxbuild_images-v1.tgz"
    file.write_bytes(file.read_bytes()[kept])
    with pytest.raises(LookalikeError, match="has md5") as caught:
        obtain_landmarks(archives, folder, may_download=False)
    assert str(file) in str(caught.value)
    assert not (folder / "oxbuild_images-v1").exists()


def test_a_truncated_ground_truth_shows_when_the_run_is_planned(tmp_path: Path, archives: dict[str, Archive]) -> None:
    folder = put(archives, tmp_path, "oxford5k_images", "oxford5k_ground_truth")
    file = folder / "gt_files_170407.tgz"
    file.write_bytes(file.read_bytes()[:-5])
    reason = why_landmarks_not_obtainable(oxford(folder), archives)
    assert reason.startswith("not run: ")
    assert str(file) in reason
    with pytest.raises(LookalikeError, match="bytes instead of"):
        obtain_landmarks(archives, folder, may_download=False)


@pytest.mark.parametrize("fetch", [False, True])
def test_what_is_missing_is_one_sentence(tmp_path: Path, archives: dict[str, Archive], fetch: bool) -> None:
    folder = put(archives, tmp_path, "oxford5k_ground_truth")
    reason = why_landmarks_not_obtainable(oxford(folder, fetch), archives)
    assert reason == f"not run: {archives['oxford5k_images'].put_in_place(str(folder))}"
    assert "None" not in reason
    (folder / "gt_files_170407.tgz").unlink()
    both = why_landmarks_not_obtainable(oxford(folder, fetch), archives)
    assert both.count("put ") == 2
    assert "\n" not in both


def test_own_photographs(tmp_path: Path, archives: dict[str, Archive]) -> None:
    images, truth = tmp_path / "images", tmp_path / "truth"
    data = {"kind": "landmarks", "path": str(images), "ground_truth": str(truth)}
    why = partial(why_landmarks_not_obtainable, data, archives)
    assert why() == f"not run: put a folder of photographs at {images}"
    images.mkdir()
    assert why().startswith("not run: put a folder of ground-truth files (<landmark>")
    with pytest.raises(LookalikeError, match="ground-truth files"):
        own_landmarks(images, truth)
    truth.mkdir()
    assert str(truth) in why()
    (truth / "hall_1_query.txt").write_text("a 1 2 3 4\n")
    assert why() == ""
    assert own_landmarks(images, truth) == {"root": images.as_posix(), "ground_truth": truth.as_posix()}
    assert why_landmarks_not_obtainable({"kind": "synthetic_landmarks"}, archives) == ""
