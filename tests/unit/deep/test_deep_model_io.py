"""Saved networks: the same bits back, the same bytes each time, and what is refused."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from lookalike.core.errors import LookalikeError  # noqa: E402
from lookalike.deep.configuration import SMALL, small  # noqa: E402
from lookalike.deep.embedding import embed  # noqa: E402
from lookalike.deep.model_io import load_network, read_about, save_network  # noqa: E402
from lookalike.deep.network import ClassificationNetwork, DeepRankingNetwork  # noqa: E402

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 64, 64, 3), dtype=np.uint8)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_network(DeepRankingNetwork(SMALL, random_state=1), tmp_path / "model.npz", {"gap": 0.5})
    return tmp_path / "model.npz"


@pytest.mark.parametrize(
    "network",
    [
        DeepRankingNetwork(SMALL, random_state=1),
        DeepRankingNetwork(small(multiscale=False, keep_probability=0.9), random_state=2),
        ClassificationNetwork(SMALL, 9, random_state=3),
    ],
)
def test_a_network_comes_back_bit_for_bit(tmp_path: Path, network: DeepRankingNetwork | ClassificationNetwork) -> None:
    network.set_input_statistics((101.0, 102.5, 99.25), 61.5)
    save_network(network, tmp_path / "model.npz", {"classes": ["a", "é"]})
    loaded = load_network(tmp_path / "model.npz")
    assert type(loaded) is type(network)
    assert loaded.configuration == network.configuration
    assert not loaded.training
    theirs = loaded.state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in network.state_dict().items())
    assert theirs["input.mean"].tolist() == [101.0, 102.5, 99.25]
    assert np.array_equal(embed(loaded, IMAGES), embed(network, IMAGES))
    assert read_about(tmp_path / "model.npz") == {"classes": ["a", "é"]}


def test_the_same_network_makes_the_same_bytes(tmp_path: Path, saved: Path) -> None:
    other = DeepRankingNetwork(SMALL, random_state=1).to(memory_format=torch.channels_last).eval()
    save_network(other, tmp_path / "other.npz", {"gap": 0.5})
    assert (tmp_path / "other.npz").read_bytes() == saved.read_bytes()
    save_network(DeepRankingNetwork(SMALL, random_state=2), tmp_path / "other.npz", {"gap": 0.5})
    assert (tmp_path / "other.npz").read_bytes() != saved.read_bytes()


def changed(path: Path, **values: object) -> None:
    """Write the file again with other values in its description, or other arrays."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    description = json.loads(str(arrays["description"]))
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            description[name] = value
    np.savez(path, **(arrays | {"description": np.array(json.dumps(description))}))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format_version": 2}, "format version 2 and this lookalike reads version 1"),
        ({"format": "other"}, "not a network of lookalike"),
        ({"configuration": {"name": "x"}}, "do not fit"),
        ({"configuration": asdict(small(multiscale=False))}, "do not fit"),
        ({"kind": "classification"}, "do not fit"),
        ({"configuration": asdict(small(embedding_width=7))}, "do not fit"),
        ({"weights/linear.bias": np.zeros(3, np.float32)}, "do not fit"),
    ],
)
def test_what_is_not_a_network_of_this_version_is_refused(saved: Path, values: dict, message: str) -> None:
    changed(saved, **values)
    with pytest.raises(LookalikeError, match=message):
        load_network(saved)


def test_foreign_and_broken_files_are_refused(tmp_path: Path, saved: Path) -> None:
    np.savez(tmp_path / "foreign.npz", x=np.zeros(3))
    with pytest.raises(LookalikeError, match="not a network of lookalike"):
        load_network(tmp_path / "foreign.npz")
    (tmp_path / "text.npz").write_text("weights")
    with pytest.raises(LookalikeError, match="not a whole"):
        load_network(tmp_path / "text.npz")
    (tmp_path / "half.npz").write_bytes(saved.read_bytes()[:20_000])
    with pytest.raises(LookalikeError, match="not a whole"):
        read_about(tmp_path / "half.npz")
    with pytest.raises(LookalikeError, match="no network file"):
        load_network(tmp_path / "none.npz")
    with pytest.raises(LookalikeError, match=r"ends in \.npz"):
        load_network(tmp_path / "model.pt")
    with pytest.raises(LookalikeError, match=r"ends in \.npz"):
        save_network(DeepRankingNetwork(SMALL), tmp_path / "model.pt")
    with pytest.raises(ValueError, match="float32"):
        save_network(DeepRankingNetwork(SMALL).double(), tmp_path / "model.npz")


def test_nothing_of_a_file_is_executed(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (str(tmp_path / "executed"),)

    np.savez(tmp_path / "trap.npz", description=np.array([Trap()], dtype=object))
    with pytest.raises(LookalikeError):
        load_network(tmp_path / "trap.npz")
    assert not (tmp_path / "executed").exists()
