"""Limits of ours that ended fits or their choice, as rows of results tell them: for cells, contrasts and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

import numpy as np
import pandas as pd

from lookalike.core.arrays import Reals
from lookalike.exhibits.contrasts import GRID, ITERATIONS, LIMITED, NO_RESULT, STEPS, TIME
from lookalike.exhibits.printed import STAR
from lookalike.exhibits.results import GRID_END, LAST_STEP, TIMED_OUT, UNFINISHED

METRICS = {TIME: TIMED_OUT, ITERATIONS: UNFINISHED, GRID: GRID_END, STEPS: LAST_STEP}
"""Limit to the metric that tells of each fit whether it ended the fit, or its choice."""
EDGE = "Chosen at the edge of what was tried"
SAID = {
    TIME: (f"{STAR} marks a fit that did not end within its time limit", ""),
    ITERATIONS: ("Fits were stopped at the limit of iterations", ""),
    GRID: (EDGE, "at an end of its grid "),
    STEPS: (EDGE, "at the last traced step "),
}
"""Limit to the head of its note, and to what that says of a method."""
NONE = np.empty(0)


class Limits:
    """Which fits of a study a limit ended, by part of the study and method.

    `part_of` names the part of a setting, "" for one that is no fit; `is_ours` tells of a limit, a part and a method
    whether it is ours: what a paper stops at, too, is not.
    """

    def __init__(
        self,
        results: pd.DataFrame,
        part_of: Callable[[str], str] = str,
        is_ours: Callable[[str, str, str], bool] = lambda limit, part, method: True,
    ) -> None:
        self._is_ours = is_ours
        rows = results[results["metric"].isin(METRICS.values())]
        groups = rows.groupby([rows["setting"].map(part_of), "method", "metric"], sort=False)["value"]
        self._flags = {tuple(map(str, key)): flags.to_numpy() for key, flags in groups if key[0]}

    def ended(self, limit: str, part: str, method: str) -> Reals:
        """Tell of each fit, as 0 or 1, whether a limit ended it; none of a limit that is not ours."""
        flags = self._flags.get((part, method, METRICS[limit]), NONE)
        return flags if len(flags) and self._is_ours(limit, part, method) else NONE

    def has_lost(self, part: str, method: str) -> bool:
        """Tell whether a fit ran into its time limit, ours or a paper's: what is left is of the easier ones."""
        return bool(self._flags.get((part, method, TIMED_OUT), NONE).any())

    def codes(self, part: str, method: str) -> Iterator[str]:
        """Yield why a method has no number on a part, and the limits that ended many of its fits there."""
        if self.has_lost(part, method):
            yield NO_RESULT
        for limit in METRICS:
            ended = self.ended(limit, part, method)
            if ended.sum() >= max(1, LIMITED * len(ended)):
                yield limit

    def notes(self, methods: Mapping[str, str], parts: Mapping[str, str]) -> list[str]:
        """Say how many fits each limit ended, by method and part, which are given with their titles."""
        found: dict[str, list[str]] = {}
        for (limit, (head, words)), (part, where), (method, name) in product(
            SAID.items(), parts.items(), methods.items()
        ):
            lost = limit == TIME and self.has_lost(part, method)
            flags = self._flags[part, method, TIMED_OUT] if lost else self.ended(limit, part, method)
            if flags.any():
                counted = f"{words}in {flags.sum():.0f} of {len(flags)} fits"
                found.setdefault(head, []).append(f"{name} {counted} ({where})")
        return [f"{head}: {'; '.join(parts)}." for head, parts in found.items()]
