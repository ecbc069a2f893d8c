"""Two processes of torch's own launcher: gradients are means, weights are equal, and a kill changes no bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

import parallel_run  # noqa: E402
from made_networks import tiny  # noqa: E402

from lookalike.deep import devices  # noqa: E402
from lookalike.deep.network import DeepRankingNetwork  # noqa: E402

Weights = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with what both processes wrote."""
    written = tmp_path_factory.mktemp("parallel")
    script = Path(parallel_run.__file__)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.run(
        [*launcher, str(script), str(written)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(script.parent), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return written


def weights(path: Path) -> Weights:
    with np.load(path) as arrays:
        return dict(arrays)


def assert_equal(one: Weights, other: Weights) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def test_gradients_are_the_mean_of_those_of_single_processes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = {name: tensor.numpy() for name, tensor in DeepRankingNetwork(tiny(), random_state=2).state_dict().items()}
    alone = []
    for rank in (0, 1):
        monkeypatch.setattr(devices, "rank", lambda rank=rank: rank)  # streams of that process, nothing else
        network = parallel_run.one_step().network
        alone.append({name: start[name] - tensor.numpy() for name, tensor in network.state_dict().items()})
    assert np.abs(alone[0]["linear.weight"] - alone[1]["linear.weight"]).max() > 1e-3
    together = weights(folder / "one-0.npz")
    for name, before in start.items():
        np.testing.assert_allclose(before - together[name], (alone[0][name] + alone[1][name]) / 2, atol=2e-7)


@pytest.mark.parametrize("run", ["one", "whole", "resumed"])
def test_all_processes_end_with_equal_weights(folder: Path, run: str) -> None:
    assert_equal(weights(folder / f"{run}-0.npz"), weights(folder / f"{run}-1.npz"))
    curves = [(folder / f"{run}-{number}.csv").read_text().splitlines() for number in (0, 1)]
    assert len(curves[0]) == len(curves[1])


def test_a_killed_run_of_two_goes_on_to_the_same_bits(folder: Path) -> None:
    assert_equal(weights(folder / "whole-0.npz"), weights(folder / "resumed-0.npz"))


def test_only_one_process_writes(folder: Path) -> None:
    assert sorted(path.name for path in folder.glob("*.pt")) == ["halfway.pt", "run.pt"]
    assert not list(folder.glob(".*"))
