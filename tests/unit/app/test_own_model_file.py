"""Model files of strangers, damaged ones, and a full disk on the way to one; and the same file from the same seed."""

from __future__ import annotations

import errno
import io
import json
import struct
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lookalike import ImageSimilarity
from lookalike.app import model_file as stored_model
from lookalike.app.model_file import read_about
from lookalike.core.errors import LookalikeError

Members = dict[str, bytes]


def rewritten(path: Path, change: Callable[[Members], Any], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def said(members: Members, name: str = "model.json", **values: Any) -> None:
    members[name] = json.dumps(json.loads(members[name]) | values).encode()


def part(members: Members, name: str, **values: Any) -> None:
    said(members, **{name: json.loads(members["model.json"])[name] | values})


def nothing(members: Members) -> None:
    """Leave all as it is."""


def larger_inside(members: Members) -> None:
    """A learner whose own list of contents says far more than there is."""
    content = bytearray(members["learner.npz"])
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = struct.pack("<I", 0xFFFFFFFE)
    members["learner.npz"] = bytes(content)


def not_to_be_read(*_: Any, **__: Any) -> None:
    raise AssertionError("something was unpacked")


@pytest.mark.parametrize(
    ("change", "method", "sentence"),
    [
        (nothing, zipfile.ZIP_DEFLATED, "learner.npz is packed twice"),
        (nothing, zipfile.ZIP_BZIP2, "compressed in a way that lookalike does not write"),
        (larger_inside, zipfile.ZIP_STORED, "would take 4.0 GB of memory"),
    ],
)
def test_sizes_are_compared_before_a_learner_is_unpacked(
    model_file_copy: Path,
    change: Callable[[Members], None],
    method: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = rewritten(model_file_copy, change, method)
    monkeypatch.setattr(stored_model, "_check_header", not_to_be_read)
    with pytest.raises(LookalikeError, match=sentence):
        ImageSimilarity.load(path)


@pytest.mark.parametrize("limit", ["LARGEST", "LARGEST_JSON"])
def test_nothing_is_read_of_a_file_that_lists_too_much(
    model_file_copy: Path, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_model, limit, 1000)
    monkeypatch.setattr(zipfile.ZipFile, "open", not_to_be_read)
    for read in (ImageSimilarity.load, read_about):
        with pytest.raises(LookalikeError, match="more than any model"):
            read(model_file_copy)


def test_a_member_that_says_less_than_it_holds_is_not_unpacked_whole(model_file_copy: Path) -> None:
    import tracemalloc

    with zipfile.ZipFile(model_file_copy, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b" " * 50_000_000)
    content = bytearray(model_file_copy.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = struct.pack("<I", 100)
    model_file_copy.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(LookalikeError, match="is not a whole model file"):
            read_about(model_file_copy)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_no_model_is_written_that_could_not_be_read(model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ImageSimilarity.load(model_file)
    monkeypatch.setattr(stored_model, "LARGEST_JSON", 1000)
    with pytest.raises(LookalikeError, match="learn from fewer images"):
        model.save(model_file.parent / "large.lookalike")
    assert not (model_file.parent / "large.lookalike").exists()


def test_a_full_temporary_folder_is_told_as_the_disk(
    model_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    model = ImageSimilarity.load(model_file)
    with monkeypatch.context() as patch:
        patch.setattr("shutil.copyfileobj", full)
        with pytest.raises(
            LookalikeError, match=r"photos.lookalike cannot be opened: .* No space left on device; free"
        ):
            ImageSimilarity.load(model_file)
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
        for use in (ImageSimilarity.load, model.save):
            with pytest.raises(LookalikeError, match=r"photos.lookalike cannot be (opened|written): .* TMPDIR"):
                use(model_file)


@pytest.mark.parametrize(
    "change",
    [
        lambda members: said(members, "learner.json", learner="Strange"),
        lambda members: said(members, "learner.json", parameters={"strange": 1}),
        lambda members: said(members, "learner.json", format_version=9),
        lambda members: said(members, "learner.json", arrays={}),
        lambda members: said(members, "learner.json", parameters=[]),
        lambda members: said(members, "learner.json", learner=[]),
        lambda members: said(members, "learner.json", fitted=3),
        lambda members: members.update({"learner.json": b"{"}),
    ],
)
def test_what_is_wrong_with_the_learner_is_told_of_the_model(
    model_file_copy: Path, change: Callable[[Members], None]
) -> None:
    with pytest.raises(LookalikeError) as told:
        ImageSimilarity.load(rewritten(model_file_copy, change))
    assert str(model_file_copy) in str(told.value)
    assert str(told.value).count(tempfile.gettempdir()) == str(model_file_copy).count(tempfile.gettempdir())


@pytest.mark.parametrize(
    "change",
    [
        lambda members: said(members, made_by="me"),
        lambda members: said(members, made_by={"time": 3}),
        lambda members: said(members, n_triplets="many"),
        lambda members: said(members, n_images=17),
        lambda members: said(members, n_held_out=-1),
        lambda members: said(members, n_left_out=True),
        lambda members: said(members, classes={"red": 18}),
        lambda members: said(members, images={"path": [], "label": [], "sha256": [], "role": ["train"]}),
        lambda members: said(members, left_out={"path": [1], "reason": ["x"]}),
        lambda members: said(members, seconds={"learning": "long"}),
        lambda members: part(members, "learner", n_steps="many"),
        lambda members: part(members, "learner", parameters="none"),
        lambda members: part(members, "learner", parameters={"n_steps": {}}),
        lambda members: part(members, "representation", dimensions="20"),
        lambda members: part(members, "representation", settings=[]),
    ],
)
def test_wrong_values_are_one_sentence_for_load_and_info(
    model_file_copy: Path, change: Callable[[Members], None]
) -> None:
    rewritten(model_file_copy, change)
    for read in (ImageSimilarity.load, read_about):
        with pytest.raises(LookalikeError, match="lacks a part of a model, or its parts do not fit"):
            read(model_file_copy)


def changed_parameter(members: Members) -> None:
    parameters = json.loads(members["learner.json"])["parameters"] | {"aggressiveness": "much"}
    said(members, "learner.json", parameters=parameters)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (changed_parameter, "aggressiveness of OASIS cannot be 'much'"),
        (lambda members: part(members, "learner", n_steps=7), "what it says of itself is not what it holds"),
        (lambda members: part(members, "representation", dimensions=21), "what it says of itself is not what it holds"),
        (lambda members: said(members, learned_from="triplets"), "what it says of itself is not what it holds"),
    ],
)
def test_what_a_file_says_is_what_it_holds(
    model_file_copy: Path, change: Callable[[Members], None], sentence: str
) -> None:
    with pytest.raises(LookalikeError, match=sentence):
        ImageSimilarity.load(rewritten(model_file_copy, change))


@pytest.mark.parametrize("learner", ["OASIS", "AveragedOASIS", "RCA"])
def test_the_same_seed_gives_the_same_file_but_for_its_times(photos: Path, tmp_path: Path, learner: str) -> None:
    settings = {} if learner == "RCA" else {"n_steps": 60}
    found = []
    for jobs in (1, 2):
        path = tmp_path / f"{jobs}.lookalike"
        model = ImageSimilarity("color", learner, hold_out=0.25, jobs=jobs, parameters=settings).fit(photos)
        model.save(path)
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
            dates = {member.date_time for member in archive.infolist()}
        about = json.loads(members.pop("model.json"))
        assert set(about.pop("seconds")) == {"reading images", "describing images", "learning"}
        assert about["made_by"].pop("time")
        found.append((members, about, dates))
    assert found[0] == found[1]
    assert np.load(io.BytesIO(found[0][0]["learner.npz"])).files


def array(members: Members, name: str, value: Any, pickled: bool = False) -> None:
    stream = io.BytesIO()
    np.save(stream, value, allow_pickle=pickled)
    members[name] = stream.getvalue()


def huge(members: Members) -> None:
    """A header that says more than there is."""
    content = members["arrays/representation.codebook.npy"]
    members["arrays/representation.codebook.npy"] = content.replace(b"(20, ", b"(20000000, ", 1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda m: said(m, format_version=99), "format version 99, and this lookalike reads version 1"),
        (lambda m: said(m, format="other"), "is not a model of lookalike"),
        (lambda m: m.pop("model.json"), "is not a model of lookalike"),
        (lambda m: m.pop("learner.npz"), "is not a whole model file"),
        (lambda m: m.pop("arrays/representation.codebook.npy"), "is not a whole model file"),
        (lambda m: array(m, "arrays/representation.codebook.npy", np.zeros((3, 3), np.float32)), "not of the size"),
        (lambda m: array(m, "arrays/representation.codebook.npy", np.array([{}]), True), "not a whole model file"),
        (huge, "does not hold what its header says"),
        (lambda m: said(m, images={}), "lacks a part of a model"),
        (lambda m: said(m, representation={"name": "hog", "settings": {}}), "lacks a part of a model"),
        (lambda m: said(m, learner=3), "lacks a part of a model"),
        (lambda m: m.update({"model.json": b"{"}), "is not a whole model file"),
    ],
)
def test_a_file_that_is_no_whole_model_is_one_sentence(
    model_file_copy: Path, change: Callable[[Members], None], sentence: str
) -> None:
    with pytest.raises(LookalikeError, match=sentence):
        ImageSimilarity.load(rewritten(model_file_copy, change))


def test_a_file_that_is_cut_short_or_foreign_is_one_sentence(model_file_copy: Path, tmp_path: Path) -> None:
    path = model_file_copy
    whole = path.read_bytes()
    assert read_about(path)["seed"] == 0
    for content in (whole[: len(whole) // 2], b"", b"text", whole[:200] + b"?" * 50 + whole[250:]):
        path.write_bytes(content)
        with pytest.raises(LookalikeError, match=r"copy\.lookalike"):
            ImageSimilarity.load(path)
    with pytest.raises(LookalikeError, match="there is no model"):
        ImageSimilarity.load(tmp_path / "none.lookalike")
    with pytest.raises(LookalikeError, match=r"ends in \.lookalike"):
        ImageSimilarity.load(tmp_path / "m.npz")
