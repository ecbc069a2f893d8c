"""Batches of a training by number of step, which go on exactly where a checkpoint stands.

A window's shift is a function of the seed and the step alone; only a triplet sampler has a state to keep.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lookalike.deep.checkpoints import checksum, pack, unpack
from lookalike.deep.images import ImageSource

BLOCK = 16
"""Batches of triplets that are drawn at once: the sampler's state is copied once a block."""

_ORDER, _SHIFT = 0, 1

Batch = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Requests of shape (b, 3), and the target: labels of shape (b,), or triplets of places in the batch."""


class Sampler(Protocol):
    """Draws triplets (query, positive, negative), such as `RelevanceTripletSampler`; its state decides what comes."""

    def draw(self, n: int) -> NDArray[np.int32]: ...  # noqa: D102

    def get_state(self) -> dict[str, np.ndarray]: ...  # noqa: D102

    def set_state(self, state: Mapping[str, np.ndarray]) -> None: ...  # noqa: D102


class LabelStream:
    """Images of `rows` with their labels, in an order that is shuffled anew for every pass."""

    def __init__(
        self, source: ImageSource, labels: NDArray[np.int64], rows: NDArray[np.int64], batch: int, seed: int
    ) -> None:
        self._source, self._labels, self._rows, self._batch, self._seed = source, labels, rows, batch, seed

    def batches(self, first: int, end: int) -> Iterator[Batch]:
        """Yield the batches of steps `first` to ``end - 1``."""
        n, epoch, order = len(self._rows), -1, self._rows
        for step in range(first, end):
            places = np.arange(step * self._batch, (step + 1) * self._batch)
            rows = np.empty(self._batch, dtype=np.int64)
            for number in range(places[0] // n, places[-1] // n + 1):
                if number != epoch:
                    epoch, order = number, _random(self._seed, _ORDER, number).permutation(self._rows)
                part = places // n == number
                rows[part] = order[places[part] % n]
            yield self._source.shifted(rows, _random(self._seed, _SHIFT, step)), self._labels[rows]

    def state(self, step: int) -> dict[str, Any]:
        """Return nothing: every batch is a function of the seed and the step."""
        return {}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Do nothing."""

    def fingerprint(self) -> int:
        """Return a checksum of the seed, the rows and their labels."""
        return checksum([np.array([self._seed]), self._rows, self._labels[self._rows]])


class TripletStream:
    """Triplets of a sampler, by `rows` of the source; each image of a batch is asked for once. `seed` is of shifts."""

    def __init__(self, source: ImageSource, sampler: Sampler, rows: NDArray[np.int64], batch: int, seed: int) -> None:
        self._source, self._sampler, self._rows, self._batch, self._seed = source, sampler, rows, batch, seed
        self._first = 0
        """Step of the block that the sampler draws next."""
        self._drawn: deque[tuple[int, dict[str, np.ndarray]]] = deque()
        """First step of every block that is not used up, and the sampler's state before it."""

    def batches(self, first: int, end: int) -> Iterator[Batch]:
        """Yield the batches of steps `first` to ``end - 1``; `first` lies in the block that is drawn next."""
        while self._first < end:
            start = self._first
            self._drawn.append((start, self._sampler.get_state()))
            drawn = self._sampler.draw(BLOCK * self._batch)
            self._first = start + BLOCK
            for step in range(max(start, first), min(start + BLOCK, end)):
                triplets = self._rows[drawn[(step - start) * self._batch : (step - start + 1) * self._batch]]
                images, places = np.unique(triplets, return_inverse=True)
                yield self._source.shifted(images, _random(self._seed, _SHIFT, step)), places.reshape(-1, 3)

    def state(self, step: int) -> dict[str, Any]:
        """Return the sampler's state before the block that holds `step`, and the block's first step."""
        # not its present state: processes that read ahead draw batches ahead too
        while self._drawn and self._drawn[0][0] + BLOCK <= step:
            self._drawn.popleft()
        first, state = self._drawn[0] if self._drawn else (self._first, self._sampler.get_state())
        return {"first": first, "sampler": pack(state)}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go to where a kept state stands."""
        self._first = state["first"]
        self._drawn.clear()
        self._sampler.set_state(unpack(state["sampler"]))

    def fingerprint(self) -> int:
        """Return a checksum of the seed, the rows, the sampler's state and the next triplets."""
        state = self._sampler.get_state()
        triplets = self._sampler.draw(64)
        self._sampler.set_state(state)
        return checksum([np.array([self._seed]), self._rows, triplets, *(state[name] for name in sorted(state))])


def _random(seed: int, *key: int) -> np.random.Generator:
    """Return the generator of one purpose and number under the seed."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


Stream = LabelStream | TripletStream
