"""How sure a verdict is, and the smallest difference that a run could have told: both from the intervals behind it.

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
POWER = 0.8
"""Chance by which a run is asked to tell the smallest difference."""
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


def detectable(row: Contrast) -> float:
    """Return the smallest difference from a bound, of a ratio the factor, that would be told with `POWER`.

    It is where an interval of this width excludes the bound in that share of runs; NaN for a row without an interval.
    """
    if not varies(row) or (row.unit == "ratio" and row.low <= 0):
        return math.nan
    mean, low, high = (math.log(end) if row.unit == "ratio" else end for end in (row.mean, row.low, row.high))
    reach = max(mean - low, high - mean) * (1 - quantile(row, POWER) / quantile(row, LEVEL / 2))
    return math.exp(reach) if row.unit == "ratio" else reach


def share_between(row: Contrast, low: float, high: float) -> float:
    """Return the share of runs whose interval would lie between two bounds if the truth were midway; 1 without one.

    It is 0 where an interval of this width is wider than they are apart.
    """
    if not varies(row) or (row.unit == "ratio" and min(row.low, low) <= 0):
        return 1.0
    ends = (low, high, row.low, row.high)
    low, high, start, end = map(math.log, ends) if row.unit == "ratio" else ends
    reach, spare = (end - start) / 2, (high - low - (end - start)) / 2
    error = reach / quantile(row, 1 - LEVEL / 2)
    return max(0.0, 2 * share_below(row, spare / error) - 1)


def unsureness(row: Contrast, low: float = -math.inf, high: float = math.inf) -> float:
    """Return how large the smallest difference told is beside that from the nearer bound; 0 without one."""
    is_ratio = row.unit == "ratio"
    bounds = [bound for bound in (low, high) if math.isfinite(bound) and (bound > 0 or not is_ratio)]
    values = (detectable(row), row.mean, *(bounds or [float(is_ratio)]))
    smallest, found, *ends = (math.log(value) if is_ratio else value for value in values)
    distance = min(abs(found - end) for end in ends)
    return abs(smallest) / distance if distance else math.inf


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
