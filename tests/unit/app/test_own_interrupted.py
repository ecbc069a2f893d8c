"""What is left when a fit is interrupted or a disk is full: what was there before, and what was described so far."""

from __future__ import annotations

import errno
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lookalike import ImageSimilarity
from lookalike.app import model_file
from lookalike.app.representations import Described, Visterms, thread_pool
from lookalike.core.errors import LookalikeError


def stop_at(done: int) -> Any:
    """Press Ctrl-C once so many images are described."""

    def progress(what: str, now: int, total: int) -> None:
        if what == "describing images" and now >= done:
            raise KeyboardInterrupt

    return progress


def watched(kind: type[Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the images that are described from now on."""
    described: list[str] = []
    describe = kind._describe

    def noted(self: Any, paths: Sequence[Path]) -> Any:
        described.extend(f"{path.parent.name}/{path.name}" for path in paths)
        return describe(self, paths)

    monkeypatch.setattr(kind, "_describe", noted)
    return described


def test_the_next_fit_takes_what_an_interrupted_one_has_described(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how: dict[str, Any] = {"parameters": {"n_steps": 20}, "jobs": 1}
    whole = ImageSimilarity("color", **how).fit(photos)
    with pytest.raises(KeyboardInterrupt):
        ImageSimilarity("color", cache=tmp_path / "cache", progress=stop_at(16), **how).fit(photos)
    described = watched(Described, monkeypatch)
    model = ImageSimilarity("color", cache=tmp_path / "cache", **how).fit(photos)
    assert described == [f"red/{image}.png" for image in range(8)]  # of 24, in the order of their paths
    assert np.array_equal(model.learner_.W_, whole.learner_.W_)


def test_the_next_fit_takes_the_codebook_too(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    how: dict[str, Any] = {"words": 5, "parameters": {"n_steps": 20}, "jobs": 1, "cache": tmp_path / "cache"}
    for image in photos.glob("*/[3-7].png"):
        image.unlink()
    with pytest.raises(KeyboardInterrupt):
        ImageSimilarity(progress=stop_at(9), **how).fit(photos)
    described = watched(Visterms, monkeypatch)
    monkeypatch.setattr(Visterms, "_learn", None)
    assert ImageSimilarity(**how).fit(photos).representation_.n_dimensions == 5
    assert described == []


def test_an_interruption_waits_for_the_images_begun_and_no_other() -> None:
    begun, go_on = [], threading.Event()

    def work(number: int) -> None:
        begun.append(number)
        go_on.wait(10)

    def interrupted() -> None:
        with thread_pool(1) as pool:
            pool.map(work, range(50))
            threading.Timer(0.05, go_on.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(begun) <= 1


@pytest.mark.parametrize("member", ["model.json", "arrays/representation.codebook.npy", "learner.npz"])
def test_a_full_disk_leaves_the_old_model(model_file_copy: Path, monkeypatch: pytest.MonkeyPatch, member: str) -> None:
    model = ImageSimilarity.load(model_file_copy)
    before = model_file_copy.read_bytes()
    add = model_file._add

    def full(archive: Any, name: str, content: bytes) -> None:
        if name == member:
            raise OSError(errno.ENOSPC, "No space left on device")
        add(archive, name, content)

    monkeypatch.setattr(model_file, "_add", full)
    with pytest.raises(LookalikeError, match=r"cannot write .*copy.lookalike: No space left on device; .* free some"):
        model.save(model_file_copy)
    assert model_file_copy.read_bytes() == before
    assert list(model_file_copy.parent.iterdir()) == [model_file_copy]


def test_a_full_temporary_folder_leaves_the_old_model(model_file_copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ImageSimilarity.load(model_file_copy)
    before = model_file_copy.read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(type(model.learner_), "save", full)
    with pytest.raises(LookalikeError, match="No space left on device"):
        model.save(model_file_copy)
    assert model_file_copy.read_bytes() == before
    assert list(model_file_copy.parent.iterdir()) == [model_file_copy]
