"""Saved networks and checkpoints: the same bits back, what is refused, and what a full disk leaves."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from lookalike.core.errors import LookalikeError  # noqa: E402
from lookalike.deep.checkpoints import Checkpoint  # noqa: E402
from lookalike.deep.configuration import SMALL, small  # noqa: E402
from lookalike.deep.model_io import load_network, read_about, save_network  # noqa: E402
from lookalike.deep.network import ClassificationNetwork, DeepRankingNetwork  # noqa: E402

STATE = {"step": 3, "weights": torch.arange(5.0), "curve": [{"loss": math.inf}], "best": None}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_network(DeepRankingNetwork(SMALL, random_state=1), tmp_path / "model.npz", {"gap": 0.5})
    return tmp_path / "model.npz"


@pytest.mark.parametrize(
    "network",
    [DeepRankingNetwork(SMALL), DeepRankingNetwork(small(multiscale=False, keep_probability=0.9)),
     ClassificationNetwork(SMALL, 9)],
)  # fmt: skip
def test_a_network_comes_back_bit_for_bit(tmp_path: Path, network: DeepRankingNetwork | ClassificationNetwork) -> None:
    network.set_input_statistics((101.0, 102.5, 99.25), 61.5)
    save_network(network, tmp_path / "model.npz", {"classes": ["a", "é"]})
    save_network(network.to(memory_format=torch.channels_last), tmp_path / "same.npz", {"classes": ["a", "é"]})
    assert (tmp_path / "same.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()
    loaded = load_network(tmp_path / "model.npz")
    assert type(loaded) is type(network)
    assert loaded.configuration == network.configuration
    assert not loaded.training
    theirs = loaded.state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in network.state_dict().items())
    assert theirs["input.mean"].tolist() == [101.0, 102.5, 99.25]
    assert read_about(tmp_path / "model.npz") == {"classes": ["a", "é"]}


@pytest.mark.parametrize(
    ("values", "message"),
    [({"format_version": 2}, "format version 2 and this lookalike reads version 1"),
     ({"format": "other"}, "not a network of lookalike"), ({"configuration": {"name": "x"}}, "do not fit"),
     ({"configuration": asdict(small(multiscale=False))}, "do not fit"), ({"kind": "classification"}, "do not fit"),
     ({"configuration": asdict(small(embedding_width=7))}, "do not fit"),
     ({"weights/linear.bias": np.zeros(3, np.float32)}, "do not fit")],
)  # fmt: skip
def test_what_is_not_a_network_of_this_version_is_refused(saved: Path, values: dict, message: str) -> None:
    with np.load(saved) as stored:
        arrays = {name: stored[name] for name in stored.files}
    description = json.loads(str(arrays["description"]))
    changed = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    description |= {name: value for name, value in values.items() if name not in changed}
    np.savez(saved, **(arrays | changed | {"description": np.array(json.dumps(description))}))
    with pytest.raises(LookalikeError, match=message):
        load_network(saved)


def test_foreign_and_broken_files_are_refused_and_nothing_of_them_is_executed(tmp_path: Path, saved: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (str(tmp_path / "executed"),)

    np.savez(tmp_path / "trap.npz", description=np.array([Trap()], dtype=object))
    np.savez(tmp_path / "foreign.npz", x=np.zeros(3))
    (tmp_path / "text.npz").write_text("weights")
    (tmp_path / "half.npz").write_bytes(saved.read_bytes()[:20_000])
    whole = dict.fromkeys(("trap.npz", "text.npz", "half.npz"), "not a whole")
    others = {"foreign.npz": "not a network of lookalike", "none.npz": "no network file", "model.pt": "ends in .npz"}
    for name, told in (whole | others).items():
        for read in (load_network, read_about):
            with pytest.raises(LookalikeError, match=told):
                read(tmp_path / name)
    assert not (tmp_path / "executed").exists()
    with pytest.raises(LookalikeError, match=r"ends in \.npz"):
        save_network(DeepRankingNetwork(SMALL), tmp_path / "model.pt")
    with pytest.raises(ValueError, match="float32"):
        save_network(DeepRankingNetwork(SMALL).double(), tmp_path / "model.npz")


def test_a_checkpoint_comes_back_or_is_of_another_run(tmp_path: Path) -> None:
    file = tmp_path / "a" / "run.pt"
    assert Checkpoint(file, 60, {}).resume() == (None, "")
    Checkpoint(file, 60, {"batch": 2, "gap": 1.0}).save(STATE)
    state, sentence = Checkpoint(file, 60, {"batch": 2, "gap": 1.0}).resume()
    assert state is not None
    assert torch.equal(state.pop("weights"), STATE["weights"])
    assert state == {name: value for name, value in STATE.items() if name != "weights"}
    assert "step 3" in sentence
    assert [path.name for path in file.parent.iterdir()] == ["run.pt"]
    state, sentence = Checkpoint(file, 60, {"batch": 4, "gap": 1.0}).resume()
    assert state is None
    assert "other batch:" in sentence
    nothing = Checkpoint(None, 0, {})
    nothing.save(STATE)
    assert (nothing.resume(), nothing.is_due) == ((None, ""), False)


def test_a_checkpoint_that_is_damaged_or_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, checkpoint = tmp_path / "run.pt", Checkpoint(tmp_path / "run.pt", 60, {})
    checkpoint.save(STATE)
    whole = file.read_bytes()

    def full(path: Path, content: bytes) -> None:
        with open("/dev/full", "wb", buffering=0) as stream:
            stream.write(content)

    with monkeypatch.context() as disk:
        disk.setattr(Path, "write_bytes", full)
        with pytest.raises(LookalikeError, match="No space left"):
            checkpoint.save(STATE | {"step": 4})
    assert file.read_bytes() == whole  # the old one stays
    assert list(tmp_path.iterdir()) == [file]
    torch.save({"format_version": Path("/")}, file)  # a class, which is not loaded
    for content in (file.read_bytes(), whole[:-200], b"not a checkpoint"):
        file.write_bytes(content)
        with pytest.raises(LookalikeError, match="remove that file to start anew"):
            Checkpoint(file, 60, {}).resume()
