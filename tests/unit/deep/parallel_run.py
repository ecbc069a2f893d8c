"""What every process of the parallel test does under torchrun: ``parallel_run.py FOLDER``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
from made_networks import sampler, source, tiny

from lookalike.deep import devices
from lookalike.deep.loop import Trained
from lookalike.deep.network import DeepRankingNetwork
from lookalike.deep.ranking import train_ranking
from lookalike.deep.settings import RankingSettings

ONE_STEP = RankingSettings(
    n_steps=1, batch=4, learning_rate=0.1, momentum=0.0, regularisation=0.0, schedule="constant", keep="last", gap=1.0
)
STEPS = RankingSettings(n_steps=40, batch=4, learning_rate=0.05, validation_interval=13, gap=0.5)
HELD_OUT = np.array([[0, 3, 1], [1, 4, 2], [2, 5, 0], [6, 9, 12]])


def train(settings: RankingSettings, **options: Any) -> Trained:
    """Train on triplets of this process's own."""
    draws = sampler(10 + devices.rank())
    network = DeepRankingNetwork(tiny(), random_state=2)
    return train_ranking(network, source(), draws, settings, random_state=4, device="cpu", **options)


def main(folder: Path) -> None:
    with devices.process_group(devices.choose_device("cpu")):
        running, halfway = folder / "run.pt", folder / "halfway.pt"

        def keep(done: int, total: int) -> None:
            """Keep what a kill at this step would leave (the first process alone is asked)."""
            if done == 33:
                shutil.copy(running, halfway)

        runs = {"one": train(ONE_STEP), "whole": train(STEPS, validation=HELD_OUT)}
        train(STEPS, validation=HELD_OUT, checkpoint=running, checkpoint_seconds=0.0, progress=keep)
        runs["resumed"] = train(STEPS, validation=HELD_OUT, checkpoint=halfway, checkpoint_seconds=1000.0)
        assert (runs["resumed"].fit["resumed"], runs["resumed"].fit["n_processes"]) == (1, 2)
        for name, trained in runs.items():
            weights = {key: tensor.numpy() for key, tensor in trained.network.state_dict().items()}
            np.savez(folder / f"{name}-{devices.rank()}.npz", **weights, n_rows=len(trained.curve))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
