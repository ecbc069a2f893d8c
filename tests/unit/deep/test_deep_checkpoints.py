"""Checkpoint files: what they hold, when they are ignored, and what a damaged one or a full disk is told as."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from lookalike.core.errors import LookalikeError  # noqa: E402
from lookalike.deep.checkpoints import Checkpoint  # noqa: E402
from lookalike.deep.loop import Curve  # noqa: E402
from lookalike.deep.settings import PretrainingSettings, RankingSettings  # noqa: E402

STATE = {"step": 3, "weights": torch.arange(5.0), "curve": [{"loss": math.inf}], "best": None}


def test_a_state_comes_back(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "a" / "run.pt", 60, {"batch": 2}).save(STATE)
    state, sentence = Checkpoint(tmp_path / "a" / "run.pt", 60, {"batch": 2}).resume()
    assert state is not None
    assert torch.equal(state.pop("weights"), STATE["weights"])
    assert state == {name: value for name, value in STATE.items() if name != "weights"}
    assert "step 3" in sentence
    assert [file.name for file in (tmp_path / "a").iterdir()] == ["run.pt"]


def test_that_of_another_run_is_ignored_with_a_sentence(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "run.pt", 60, {"batch": 2, "gap": 1.0}).save(STATE)
    state, sentence = Checkpoint(tmp_path / "run.pt", 60, {"batch": 4, "gap": 1.0}).resume()
    assert state is None
    assert "other batch:" in sentence


def test_there_is_nothing_to_go_on_from(tmp_path: Path) -> None:
    assert Checkpoint(tmp_path / "run.pt", 60, {}).resume() == (None, "")
    keeps_nothing = Checkpoint(None, 0, {})
    keeps_nothing.save(STATE)
    assert (keeps_nothing.resume(), keeps_nothing.is_due) == ((None, ""), False)


@pytest.mark.parametrize("damage", ["cut", "text", "pickle"])
def test_a_damaged_file_says_what_to_do(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "run.pt"
    Checkpoint(file, 60, {}).save(STATE)
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-200])
    elif damage == "text":
        file.write_text("not a checkpoint")
    else:
        torch.save({"format_version": Path("/")}, file)  # a class, which is not loaded
    with pytest.raises(LookalikeError, match="remove that file to start anew"):
        Checkpoint(file, 60, {}).resume()


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = Checkpoint(tmp_path / "run.pt", 60, {})
    checkpoint.save(STATE)
    before = (tmp_path / "run.pt").read_bytes()

    def full(path: Path, content: bytes) -> None:
        with open("/dev/full", "wb", buffering=0) as stream:
            stream.write(content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(LookalikeError, match="No space left"):
        checkpoint.save(STATE | {"step": 4})
    assert (tmp_path / "run.pt").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_curve_knows_its_best_row() -> None:
    curve = Curve("accuracy", "validation_accuracy")
    assert curve.add(0, 0.0, (math.nan, math.nan), (1.0, 0.5))
    assert curve.add(10, 1.0, (0.9, 0.6), (0.8, 0.7))
    assert not curve.add(20, 2.0, (0.8, 0.6), (0.7, 0.7))
    assert curve.table()["step"].tolist() == [0, 10, 20]
    assert list(curve.table().columns) == curve.columns
    with pytest.raises(LookalikeError, match="learning_rate smaller"):
        curve.add(30, 3.0, (math.nan, 0.0), None)
    alone = Curve("accuracy", "validation_accuracy")
    assert [alone.add(step, 0.0, (1.0, 0.5), None) for step in (0, 10)] == [True, True]


def test_the_learning_rate_warms_up_and_falls() -> None:
    settings = PretrainingSettings(n_steps=110, warm_up=10, learning_rate=0.5)
    rates = [settings.learning_rate_at(step) for step in range(110)]
    assert rates[0] == pytest.approx(0.5 / 11)
    assert (np.diff(rates[:11]) > 0).all()
    assert rates[10] == 0.5
    assert rates[60] == pytest.approx(0.25)
    assert (np.diff(rates[10:]) < 0).all()
    assert 0 < rates[-1] < 0.001
    assert PretrainingSettings(schedule="constant").learning_rate_at(1999) == 0.01


@pytest.mark.parametrize(
    "change",
    [{"n_steps": 0}, {"batch": 0}, {"learning_rate": 0}, {"momentum": 1.0}, {"regularisation": -1}, {"warm_up": -1},
     {"schedule": "step"}, {"keep": "first"}, {"precision": "half"}, {"gap": 0}],
)  # fmt: skip
def test_impossible_settings_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        RankingSettings(**change)
