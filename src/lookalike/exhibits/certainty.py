"""How sure a verdict is, from the intervals behind it.

A 95% interval gives those of other levels: it is as many standard errors wide as its t or normal distribution says, on
the scale of logarithms for ratios. docs/explanation/statistics.md has the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from lookalike.exhibits.contrasts import Contrast

LEVEL = 0.05
"""A p-value below it is small, and intervals are of 1 minus it."""
LOST = {"folds": 1, "landmarks": 1, "seeds": 1, "sizes": 2}
"""Intervals that are of a t distribution to how many degrees of freedom fewer than repeats it has."""
NO_CHANCE = 1e-100
"""What holds at this level too is left to no chance."""
HALVINGS = 45
"""So often is a level looked for between two: to 12 digits."""
LARGEST = 700.0
"""Logarithm of the largest ratio."""


def quantile(row: Contrast, probability: float) -> float:
    """Return a quantile, in standard errors, of the distribution that the interval of a row is of."""
    # heavy, and every plan imports this module
    from scipy import special

    freedom = row.n - LOST.get(row.interval, row.n)
    return float(special.stdtrit(freedom, probability) if freedom > 0 else special.ndtri(probability))


def share_below(row: Contrast, errors: float) -> float:
    """Return how much of that distribution lies below so many standard errors."""
    from scipy import special

    freedom = row.n - LOST.get(row.interval, row.n)
    return float(special.stdtr(freedom, errors) if freedom > 0 else special.ndtr(errors))


def varies(row: Contrast) -> bool:
    """Tell whether a row has an interval with two ends that other levels follow from."""
    return math.isfinite(row.mean + row.low + row.high) and row.low < row.high and row.is_of_chance


def at_level(row: Contrast, level: float) -> Contrast:
    """Return a row with the interval of another level, and p such that `LEVEL` stands for that level."""
    row = replace(row, p=row.p * LEVEL / level)
    if not varies(row):
        return row
    times = quantile(row, level / 2) / quantile(row, LEVEL / 2)
    if row.unit != "ratio":
        low, high = (row.mean + times * (end - row.mean) for end in (row.low, row.high))
    elif row.low > 0:
        centre = math.log(row.mean)
        ends = (centre + times * (math.log(end) - centre) for end in (row.low, row.high))
        low, high = (math.exp(min(max(end, -LARGEST), LARGEST)) for end in ends)
    else:
        low, high = row.low, row.high
    return replace(row, low=low, high=high)


def smallest_level(is_decided: Callable[[float], bool]) -> float:
    """Return the smallest level of intervals, a p-value, at which a claim is decided as it is at `LEVEL`, or at all.

    NaN where chance has no part in it: it is decided at every level, or at none.
    """
    at, decided = (NO_CHANCE, LEVEL) if is_decided(LEVEL) else (LEVEL, 1.0)
    if is_decided(NO_CHANCE) or not is_decided(decided):
        return math.nan
    at, decided = math.log(at), math.log(decided)
    for _ in range(HALVINGS):
        middle = (at + decided) / 2
        at, decided = (at, middle) if is_decided(math.exp(middle)) else (middle, decided)
    return math.exp(decided)
