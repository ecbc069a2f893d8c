"""Rows, triplets and a score for the tests of large-scale training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from made_stores import write_store

from lookalike.features.visterm_store import VistermStore
from lookalike.learners.compact_rows import CompactRows

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
