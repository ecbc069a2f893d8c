"""Random streams: one root seed for a whole workflow, an independent stream for every job.

A stream is named by what it is for (``"category", "var10", "fold", 3``), never by when it runs, so the same job has
the same numbers whatever ran before it and however many jobs run beside it.
"""

from __future__ import annotations

import hashlib

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None
"""What a learner takes as ``random_state``."""


def seed_sequence(root: int, *names: str | int) -> np.random.SeedSequence:
    """Return the seeds of the stream that `names` name under the root seed; strings are hashed, so spelling matters."""
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


def as_seed(random_state: RandomState) -> int:
    """Return a seed: an integer stays as it is, a generator gives its next number, None gives a fresh one."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if random_state is None or isinstance(random_state, np.random.Generator):
        return int(np.random.default_rng(random_state).integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise TypeError(
        f"random_state must be an integer, a numpy Generator or RandomState, or None, not {type(random_state).__name__}"
    )
