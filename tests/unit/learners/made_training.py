"""A small training run for the tests of large-scale training, and a script that kills it at random."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from lookalike.features.visterm_store import VistermStore, write_store
from lookalike.learners import large_scale
from lookalike.learners.compact_rows import CompactRows
from lookalike.learners.large_scale import TrainingPlan, TrainingRun, train

N_IMAGES = 60
BLOCK = 8
INTERVAL = 4 * BLOCK


class Source:
    """Triplets of any rows, by seed and number."""

    def __init__(self, seed: int = 0, n_rows: int = N_IMAGES) -> None:
        self.seed, self.n_rows = seed, n_rows

    def chunk(self, number: int, n: int) -> np.ndarray:
        return np.random.default_rng([self.seed, number]).integers(0, self.n_rows, (n, 3), dtype=np.int32)


def made_counts(n_words: int, seed: int = 0) -> sp.csr_array:
    random = np.random.default_rng(seed)
    present = random.random((N_IMAGES, n_words)) < 0.3 * random.random(n_words)
    return sp.csr_array((random.integers(1, 5, present.shape) * present).astype(np.uint8))


def made_rows(folder: Path, n_words: int = 30, seed: int = 0) -> CompactRows:
    write_store(folder / "store", made_counts(n_words, seed))
    return CompactRows.build(VistermStore(folder / "store", n_words), np.arange(N_IMAGES), folder / "rows")


def wavy(W: np.ndarray) -> float:
    """Return a score that goes up and down while W learns, by W alone."""
    return float(np.sin(40 * np.abs(W).sum(dtype=np.float64)))


def long_run(rows: CompactRows, checkpoint: Path | None) -> TrainingRun:
    """Train for a while, with a checkpoint as often as can be."""
    large_scale.SEGMENT = 1
    plan = TrainingPlan(n_steps=40 * INTERVAL, interval=INTERVAL, patience=0, block=BLOCK)
    return train(rows, Source(), plan, wavy, checkpoint=checkpoint, checkpoint_seconds=0, n_threads=2)


def main(rows_folder: str, checkpoint: str, result: str, seed: str) -> None:
    """Start a long run, kill it at a random moment, start it again, and so on until one comes to its end."""
    rows = CompactRows(rows_folder)
    large_scale.warm_up()
    long_run(rows, None)
    random = np.random.default_rng(int(seed))
    kills = 0
    while True:
        process = os.fork()
        if process == 0:
            run = long_run(rows, Path(checkpoint))
            np.save(result, run.W)
            os._exit(0)
        # the first few are killed early, the others later and later, so that there is an end
        deadline = time.monotonic() + random.uniform(0.0, 0.06 * (1 + kills / 4))
        while not (ended := os.waitpid(process, os.WNOHANG))[0] and time.monotonic() < deadline:
            time.sleep(0.001)
        if ended[0]:
            if ended[1] != 0:
                raise SystemExit("a start ended with an error")
            print(kills)
            return
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        if status == 0:
            print(kills)
            return
        kills += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
