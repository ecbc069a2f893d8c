"""Contrasts: what a study's numbers say of one method, or of one beside another, each a row with its interval.

The job that gathers a study's numbers makes them, once. Claims, the tables of comparisons and all pages are views of
these rows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd

from lookalike.core.arrays import Reals
from lookalike.exhibits.printed import STAR
from lookalike.exhibits.results import GRID_END, LAST_STEP, TIMED_OUT, UNFINISHED

Unit = Literal["points", "small points", "percent", "count", "triplets", "% of triplets", ""]

REAL, SYNTHETIC, SIMULATED = "real", "synthetic", "simulated"
"""What a row is of."""
TIME, ITERATIONS, STEPS, GRID = "time", "iterations", "steps", "grid"
"""Limits of ours that ended a fit or its choice early."""
TRAINING, SEEDS = "training", "seeds"
"""Limits of ours that leave a network's training unfinished, or to the chance of too few seeds."""
LEFT_OPEN = "so far"
"""Interval of what a limit of ours leaves open."""
LIMITED = 0.4
"""A limit of ours counts that ended at least this share of the fits of a method: 2 of 5 folds."""
NO_RESULT, NOT_RUN, TOO_FEW = "no result", "not run", "too few"
"""Why a row has no number: a fit did not end in time, there is no fit, or too few of what its interval is over."""


@dataclass(frozen=True)
class Contrast:
    """One row of ``contrasts.parquet``."""

    setting: str
    """The part of the study: a subset, a codebook, a kind of triplets."""
    metric: str
    first: str
    """The method, or what else it is a number of."""
    second: str
    """What is taken from the first; "" where the row is a level of the first alone."""
    mean: float = math.nan
    """First minus second. NaN where there is no number."""
    low: float = math.nan
    high: float = math.nan
    """Ends of the 95% interval; equal to the mean where nothing varies, an infinity where a limit of ours leaves it
    open, NaN where one repeat has no spread."""
    p: float = math.nan
    """Two-sided p-value of no difference, adjusted (Holm) where its study tests a family; NaN without a test."""
    n: int = 0
    """Repeats that the interval is over."""
    interval: str = ""
    """What the repeats are, such as ``folds``; "" where nothing varies."""
    unit: Unit = "points"
    printed: float = math.nan
    """The same in print."""
    data: str = REAL
    limits: str = ""
    """``method:limit`` of each limit that ended a side early, or that left it without a number, apart by ``;``."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return what names it; several intervals of one difference have one key."""
        return self.setting, self.metric, self.first, self.second

    @property
    def codes(self) -> list[tuple[str, str]]:
        """Each method or part with what limited it."""
        pairs = [code.rpartition(":") for code in self.limits.split(";") if code]
        return [(method, limit) for method, _, limit in pairs]

    @property
    def has_interval(self) -> bool:
        """Tell whether it has an interval over repeats, of chance and not of what a limit leaves open."""
        return self.interval not in ("", LEFT_OPEN) and math.isfinite(self.low + self.high)

    @property
    def has_width(self) -> bool:
        """Tell whether both ends of its interval are known, and differ."""
        return math.isfinite(self.low + self.high) and self.low < self.high

    @property
    def is_left_open(self) -> bool:
        """Tell whether a limit leaves an end of its interval open."""
        return math.isinf(self.low) or math.isinf(self.high)

    def left_open(self, *, below: bool = False, above: bool = False) -> Contrast:
        """Return the row with the ends open beyond which a longer trace or time limit could move it."""
        low, high = -math.inf if below else self.low, math.inf if above else self.high
        return replace(self, low=low, high=high, interval=LEFT_OPEN) if below or above else self

    def reversed(self) -> Contrast:
        """Return the second minus the first."""
        mean, high, low, printed = (-number for number in (self.mean, self.low, self.high, self.printed))
        return replace(self, first=self.second, second=self.first, mean=mean, low=low, high=high, printed=printed)


def widest(rows: Sequence[Contrast]) -> Contrast:
    """Return one contrast of all its intervals, with the widest of them."""
    lows, highs = (
        [end for end in ends if not math.isnan(end)]
        for ends in zip(*((row.low, row.high) for row in rows), strict=True)
    )
    return replace(rows[0], low=min(lows, default=math.nan), high=max(highs, default=math.nan))


COLUMNS = tuple(field.name for field in fields(Contrast))
TEXT = ("setting", "metric", "first", "second", "interval", "unit", "data", "limits")


def contrasts_frame(rows: Iterable[Contrast]) -> pd.DataFrame:
    """Return rows as the table that is kept."""
    frame = pd.DataFrame([astuple(row) for row in rows], columns=list(COLUMNS))
    kinds = {name: "str" if name in TEXT else "int64" if name == "n" else "float64" for name in COLUMNS}
    return frame.astype(kinds)


class Contrasts:
    """The rows of a study, found by what they contrast, in whichever order that stands."""

    def __init__(self, rows: Iterable[Contrast]) -> None:
        self.rows = list(rows)
        self._found: dict[tuple[str, str, str, str], list[Contrast]] = defaultdict(list)
        for row in self.rows:
            self._found[row.key].append(row)

    @classmethod
    def read(cls, frame: pd.DataFrame) -> Contrasts:
        """Read the table that `contrasts_frame` makes."""
        return cls(Contrast(*row) for row in frame[list(COLUMNS)].itertuples(index=False))

    def intervals(self, setting: str, metric: str, first: str, second: str = "") -> list[Contrast]:
        """Return every interval of one difference, or of a level; empty where there is no such row."""
        found = self._found.get((setting, metric, first, second))
        if found is None:
            found = [row.reversed() for row in self._found.get((setting, metric, second, first), ())]
        return found


def over_folds(row: Contrast, gaps: pd.Series, n_train: float, n_test: float) -> Contrast:
    """Return a row with the corrected t-test over folds of the sizes given, in the unit of the gaps."""
    # heavy, and every plan imports this module
    from lookalike.ranking.comparison import corrected_t_test

    test = corrected_t_test(gaps.to_numpy(dtype="float64"), n_train, n_test)
    return replace(row, mean=test.mean, low=test.low, high=test.high, p=test.p, n=len(gaps), interval="folds")


# Limits ---------------------------------------------------------------------------------------------------------------

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
