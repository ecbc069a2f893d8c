"""Contrasts of the studies of methods: one pass over the pairs that a study compares, repeat by repeat."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

import pandas as pd

from lookalike.exhibits.contrasts import Contrast, Unit
from lookalike.studies.method_study import MethodStudy

REPEATS = ("landmark", "repeat", "x")
"""Columns that name a repeat in rows of results: those of landmarks alone have the first, and curves the last."""


class Compared(NamedTuple):
    """Pairs of methods that are compared in one metric on one setting."""

    setting: str
    metric: str
    pairs: Iterable[tuple[str, str]]
    """Without a second, they are levels of the first."""
    rows: pd.DataFrame
    """Rows of results with their numbers; fractions are compared in points."""
    printed: Mapping[str, float] = MappingProxyType({})
    """Method to its number in print."""
    runs: Mapping[str, str] = MappingProxyType({})
    """Method to the run whose limits count, where that is another one; "" for none."""
    is_optional: bool = False
    """Whether a pair without a number has no row."""


def differences(
    study: MethodStudy, compared: Iterable[Compared], intervals: Callable[[Contrast, pd.Series], Iterable[Contrast]]
) -> Iterator[Contrast]:
    """Yield first minus second of every pair, with `intervals` over the repeats that have both."""
    for setting, metric, pairs, rows, printed, runs, is_optional in compared:
        repeats, units = [name for name in REPEATS if name in rows and rows[name].notna().all()], set(rows["unit"])
        wide = rows.pivot_table(index=repeats, columns="method", values="value")
        scale = 100 if "fraction" in units else 1
        for first, second in pairs:
            known = {first, second} - {""} <= set(wide)
            gaps = (wide[first] - (wide[second] if second else 0)).dropna() if known else pd.Series(dtype="float64")
            limits = limits_of(study, [setting], *(runs.get(method, method) for method in (first, second)))
            gap = float(printed.get(first, math.nan) - printed.get(second, math.nan))
            unit: Unit = "" if units == {""} else "points"
            row = Contrast(setting, metric, first, second, unit=unit, data=study.origin, limits=limits, printed=gap)
            if len(gaps):
                yield from intervals(row, scale * gaps)
            elif not is_optional:
                yield row


def limits_of(study: MethodStudy, settings: Iterable[str], *methods: str) -> str:
    """Return what limits methods on settings, as rows of contrasts have it."""
    pairs = product(methods, settings)
    codes = (f"{method}:{code}" for method, setting in pairs for code in study.limits_of(setting, method))
    return ";".join(dict.fromkeys(codes))
