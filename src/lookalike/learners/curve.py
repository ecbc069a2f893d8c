"""Steps at which a run of learning has a point of its curve, and the progress bar beside it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np

from lookalike.core.arrays import Array, Longs
from lookalike.core.progress import progress_lines

Trace = Callable[..., "dict[str, float]"]
"""``trace(model, step)``: what it returns becomes columns of ``curve_``."""


class Traced(NamedTuple):
    """What is called along a pass, and the steps at which the curve has a point (None: a learner's own)."""

    trace: Trace | None = None
    steps: Iterable[int] | None = None


UNTRACED = Traced()
SECONDS = 5.0
"""Between two lines of progress where there is no bar."""


def log_spaced_steps(n_max: int, n_points: int = 60, first: int = 100) -> Longs:
    """Return at most `n_points` ascending steps, evenly spaced in the logarithm, from `first` to `n_max`."""
    if min(n_max, n_points, first) < 1:
        raise ValueError(f"steps, points and the first step must be at least 1; got {n_max}, {n_points} and {first}")
    steps = np.geomspace(min(first, n_max), n_max, n_points)
    steps[-1] = n_max
    return np.unique(np.rint(steps).astype(np.int64))


def curve_points(n_steps: int, trace_steps: Iterable[int] | None, n_points: int) -> list[int]:
    """Return the steps at which a pass of `n_steps` has a point of its curve, 0 always among them."""
    if trace_steps is None:
        return [0, *log_spaced_steps(n_steps, n_points).tolist()] if n_steps else [0]
    points = sorted({0, *(int(step) for step in trace_steps)})
    if points[0] < 0 or points[-1] > n_steps:
        raise ValueError(f"trace_steps must be between 0 and the number of steps, {n_steps}: {points}")
    return points


def columns_of(records: Sequence[dict[str, float]]) -> dict[str, Array]:
    """Return the points of a curve by column."""
    return {name: np.array([record[name] for record in records]) for name in records[0]}


class Progress:
    """A bar with the present values of what is learned (lines where tqdm is not installed), nothing at `verbose` 0."""

    def __init__(self, total: int, verbose: int, title: str, *, many: bool = False) -> None:
        self._done, self._total = 0, total
        self._bar, self._tell = None, None
        if verbose > 0:
            try:
                from tqdm import tqdm

                self._bar = tqdm(total=total, unit="step", unit_scale=many, desc=title)
            except ModuleNotFoundError:
                self._tell = progress_lines(title, SECONDS, sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, steps: int = 1, **values: float) -> None:
        """Move on by so many steps, and show these values."""
        self._done += steps
        if self._tell is not None:
            self._tell(self._done, self._total)
        if self._bar is not None:
            self._bar.set_postfix({name: f"{value:.4g}" for name, value in values.items()}, refresh=False)
            self._bar.update(steps)
