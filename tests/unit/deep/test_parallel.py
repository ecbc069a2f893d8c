"""Two processes: gradients are added up, weights are equal, and a kill changes no bit."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from made_networks import sampler, source, tiny, weights  # noqa: E402

from lookalike.deep import devices  # noqa: E402
from lookalike.deep.network import DeepRankingNetwork  # noqa: E402
from lookalike.deep.ranking import train_ranking  # noqa: E402
from lookalike.deep.settings import RankingSettings  # noqa: E402

ONE_STEP = RankingSettings(n_steps=1, batch=4, learning_rate=0.02, momentum=0.0, regularisation=0.0, gap=1.0)
STEPS = RankingSettings(n_steps=40, batch=4, learning_rate=0.01, validation_interval=13, gap=0.5)
HELD_OUT = np.array([[0, 3, 1], [1, 4, 2], [2, 5, 0], [6, 9, 12]])


def train(settings, **options):
    """Train on triplets of this process's own."""
    network = DeepRankingNetwork(tiny(), random_state=2)
    draws = sampler(10 + devices.rank())
    return train_ranking(network, source(), draws, settings, random_state=4, device="cpu", **options)


def run(folder):
    """Do what every process does, and write its weights."""
    with devices.process_group(devices.choose_device("cpu")):
        running, halfway = folder / "run.pt", folder / "halfway.pt"

        def keep(done, total):
            """Keep what a kill at this step would leave (the first process alone is asked)."""
            if done == 33:
                shutil.copy(running, halfway)

        runs = {"one": train(ONE_STEP), "whole": train(STEPS, validation=HELD_OUT)}
        train(STEPS, validation=HELD_OUT, checkpoint=running, checkpoint_seconds=0.0, progress=keep)
        runs["resumed"] = train(STEPS, validation=HELD_OUT, checkpoint=halfway, checkpoint_seconds=1000.0)
        assert (runs["resumed"].fit["resumed"], runs["resumed"].fit["n_processes"]) == (1, 2)
        for name, trained in runs.items():
            np.savez(folder / f"{name}-{devices.rank()}.npz", **weights(trained), n_rows=len(trained.curve))


def test_gradients_are_added_up_weights_are_equal_and_a_kill_changes_none(tmp_path, monkeypatch):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}
    done = subprocess.run([sys.executable, __file__, tmp_path], env=os.environ | address, timeout=300, check=False)
    assert done.returncode == 0
    written = {path.stem: np.load(path) for path in tmp_path.glob("*.npz")}
    for one, other in (("one-0", "one-1"), ("whole-0", "whole-1"), ("whole-0", "resumed-0"), ("whole-0", "resumed-1")):
        for name, array in written[one].items():
            np.testing.assert_array_equal(array, written[other][name], err_msg=f"{other} {name}")
    assert sorted(path.name for path in tmp_path.glob("*.pt")) == ["halfway.pt", "run.pt"]  # one process writes
    alone = []
    for rank in (0, 1):
        monkeypatch.setattr(devices, "rank", lambda rank=rank: rank)  # streams of that process, nothing else
        alone.append(weights(train(ONE_STEP)))
    assert np.abs(alone[0]["linear.weight"] - alone[1]["linear.weight"]).max() > 1e-3
    start = DeepRankingNetwork(tiny(), random_state=2).state_dict()
    for name, before in start.items():
        expected = alone[0][name] + alone[1][name] - before.numpy()
        np.testing.assert_allclose(written["one-0"][name], expected, atol=2e-7)


if __name__ == "__main__":
    child = os.fork()  # before any thread: torch is loaded once for both
    os.environ |= {"RANK": str(int(child == 0)), "LOCAL_RANK": str(int(child == 0))}
    run(Path(sys.argv[1]))
    sys.exit(os.waitpid(child, 0)[1] != 0 if child else 0)
