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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with what both processes wrote."""
    written, script = tmp_path_factory.mktemp("parallel"), Path(parallel_run.__file__)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(script.parent), *filter(None, sys.path)])}
    command = [*launcher, str(script), str(written)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return written


def test_gradients_are_the_mean_of_those_of_single_processes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = {name: tensor.numpy() for name, tensor in DeepRankingNetwork(tiny(), random_state=2).state_dict().items()}
    alone = []
    for rank in (0, 1):
        monkeypatch.setattr(devices, "rank", lambda rank=rank: rank)  # streams of that process, nothing else
        network = parallel_run.train(parallel_run.ONE_STEP).network
        alone.append({name: start[name] - tensor.numpy() for name, tensor in network.state_dict().items()})
    assert np.abs(alone[0]["linear.weight"] - alone[1]["linear.weight"]).max() > 1e-3
    together = np.load(folder / "one-0.npz")
    for name, before in start.items():
        np.testing.assert_allclose(before - together[name], (alone[0][name] + alone[1][name]) / 2, atol=2e-7)


def test_all_processes_end_with_equal_weights_and_a_kill_changes_none(folder: Path) -> None:
    for one, other in (("one-0", "one-1"), ("whole-0", "whole-1"), ("whole-0", "resumed-0"), ("whole-0", "resumed-1")):
        weights, others = np.load(folder / f"{one}.npz"), np.load(folder / f"{other}.npz")
        assert set(weights) == set(others)
        for name in weights:
            np.testing.assert_array_equal(weights[name], others[name], err_msg=name)
    assert sorted(path.name for path in folder.glob("*.pt")) == ["halfway.pt", "run.pt"]  # one process writes
    assert not list(folder.glob(".*"))
