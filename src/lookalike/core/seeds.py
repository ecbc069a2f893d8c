"""Random streams: one root seed for a whole workflow, an independent stream for every job.

A stream is named by what it is for (``"category", "var10", "fold", 3``), never by when it runs, so the same job draws
the same numbers whatever ran before it and however many jobs run beside it.
"""

from __future__ import annotations

import hashlib

import numpy as np


def seed_sequence(root: int, *names: str | int) -> np.random.SeedSequence:
    """Seed sequence of the stream that `names` name under the root seed.

    Parameters
    ----------
    root : int
        The root seed (``seed`` in config.yaml), non-negative.
    *names : str or int
        What the stream is for; strings are hashed, so order and spelling matter, length does not.

    Returns
    -------
    numpy.random.SeedSequence
    """
    key = tuple(
        name if isinstance(name, int) else int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
        for name in names
    )
    return np.random.SeedSequence(root, spawn_key=key)


def generator(root: int, *names: str | int) -> np.random.Generator:
    """Return a PCG64 generator of the stream that `names` name under the root seed."""
    return np.random.Generator(np.random.PCG64(seed_sequence(root, *names)))


def integer_seed(root: int, *names: str | int) -> int:
    """Return a 31-bit integer seed of the same stream, for libraries that take no generator."""
    return int(seed_sequence(root, *names).generate_state(1)[0] >> 1)
