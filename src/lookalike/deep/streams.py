"""Batches of a training by number of step, which go on exactly where a checkpoint stands.

They are a function of the seed and the step alone: a run that goes on draws the triplets of the steps before once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lookalike.deep.checkpoints import checksum
from lookalike.deep.images import ImageSource

BLOCK = 16
"""Batches of triplets that are drawn at once."""
_ORDER, _SHIFT = 0, 1

Batch = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Requests of shape (b, 3), and the target: labels of shape (b,), or triplets of places in the batch."""


class TripletSource(Protocol):
    """Draws triplets (query, positive, negative), such as `RelevanceTripletSampler`."""

    def sample(self, n: int) -> NDArray[np.int32]:
        """Draw the next `n` triplets, rows of shape (n, 3)."""
        ...

    def fingerprint(self) -> int:
        """Return a number that tells samplers of other triplets apart."""
        ...


@dataclass(frozen=True)
class LabelStream:
    """Images of `rows` with their labels, in a new order for every pass."""

    source: ImageSource
    labels: NDArray[np.int64]
    rows: NDArray[np.int64]
    batch: int
    seed: int

    def batches(self, first: int, end: int) -> Iterator[Batch]:
        """Yield the batches of steps `first` to ``end - 1``."""
        n, epoch, order = len(self.rows), -1, self.rows
        for step in range(first, end):
            places = np.arange(step * self.batch, (step + 1) * self.batch)
            rows = np.empty(self.batch, dtype=np.int64)
            for number in range(places[0] // n, places[-1] // n + 1):
                if number != epoch:
                    epoch, order = number, _random(self.seed, _ORDER, number).permutation(self.rows)
                part = places // n == number
                rows[part] = order[places[part] % n]
            yield self.source.shifted(rows, _random(self.seed, _SHIFT, step)), self.labels[rows]

    def fingerprint(self) -> int:
        """Return a checksum of the seed, the rows and their labels."""
        return checksum([np.array([self.seed]), self.rows, self.labels[self.rows]])


@dataclass
class TripletStream:
    """Triplets of a sampler, by `rows` of the source; each image of a batch is asked for once. `seed` is of shifts."""

    source: ImageSource
    sampler: TripletSource
    rows: NDArray[np.int64]
    batch: int
    seed: int
    next_block: int = 0
    """Step of the block that the sampler draws next."""

    def batches(self, first: int, end: int) -> Iterator[Batch]:
        """Yield the batches of steps `first` to ``end - 1``; none of them lies in a block that was drawn before."""
        while self.next_block < end:
            start = self.next_block
            drawn = self.sampler.sample(BLOCK * self.batch).reshape(BLOCK, self.batch, 3)
            self.next_block = start + BLOCK
            for step in range(max(start, first), min(start + BLOCK, end)):
                images, places = np.unique(self.rows[drawn[step - start]], return_inverse=True)
                yield self.source.shifted(images, _random(self.seed, _SHIFT, step)), places.reshape(-1, 3)

    def fingerprint(self) -> int:
        """Return a checksum of the seed, the rows and what decides the triplets."""
        return checksum([np.array([self.seed, self.sampler.fingerprint()]), self.rows])


def _random(seed: int, *key: int) -> np.random.Generator:
    """Return the generator of one purpose and number under the seed."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


Stream = LabelStream | TripletStream
