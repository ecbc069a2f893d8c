"""Steps at which a run of learning has a point of its curve: a leaf that learners and their evaluation both import."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def log_spaced_steps(n_max: int, n_points: int = 60, first: int = 100) -> NDArray[np.int64]:
    """Step numbers at which a run is scored, evenly spaced on a logarithmic scale.

    Parameters
    ----------
    n_max : int
        The last step, always in the result.
    n_points : int
        How many; fewer come back where rounding makes two the same.
    first : int
        The first step; `n_max` if that is smaller.

    Returns
    -------
    ndarray of int64, shape (<= n_points,)
        Unique, ascending, ending at `n_max`.

    Raises
    ------
    ValueError
        When a number is below 1.
    """
    if min(n_max, n_points, first) < 1:
        raise ValueError(f"steps, points and the first step must be at least 1; got {n_max}, {n_points} and {first}")
    steps = np.geomspace(min(first, n_max), n_max, n_points)
    steps[-1] = n_max
    return np.unique(np.rint(steps).astype(np.int64))


def traced_steps(trace_steps: Iterable[int] | None) -> set[int] | None:
    """Return the steps that get a row of the curve of a learner that may end by itself, 0 among them; None for None.

    Such a learner cannot know which steps it will reach, so any are taken and those that it does not reach are not
    looked at.

    Raises
    ------
    ValueError
        When a step is negative.
    """
    if trace_steps is None:
        return None
    steps = {0, *(int(step) for step in trace_steps)}
    if min(steps) < 0:
        raise ValueError(f"trace_steps must not be negative: {sorted(steps)}")
    return steps
