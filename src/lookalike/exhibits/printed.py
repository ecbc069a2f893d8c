"""Numbers that the papers print (workflow/resources/reference-values.csv) joined to ours, and how both are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

COLUMNS = ("paper", "exhibit", "dataset", "setting", "method", "metric", "value", "spread", "unit", "note")
"""Columns of reference-values.csv."""
MINUTE, HOUR, DAY, YEAR = 60.0, 3600.0, 86_400.0, 365.25 * 86_400.0
"""In seconds."""
PARTITIONS = 5
"""Partitions of the same images that a printed mean is taken over (JMLR section 5.3.2)."""


def printed_numbers(rows: Iterable[Mapping[str, str]]) -> pd.DataFrame:
    """Return rows of reference-values.csv with their numbers as such; NaN where none is printed."""
    table = pd.DataFrame(list(rows), columns=list(COLUMNS), dtype=str)
    for column in ("value", "spread"):
        table[column] = pd.to_numeric(table[column].replace("", None)).astype(np.float64)
    return table


def with_printed(ours: pd.DataFrame, printed: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Set our numbers, a row each, beside the rows of one printed table, by key columns.

    Returned is `ours` in its order with ``printed``, ``printed_std``, ``note``, and ``is_printed``, which tells where
    the paper has such a cell.
    """
    # a study whose settings have names of its own says which printed setting each is
    named = [name for name in ("printed_setting",) if name in printed]
    found = printed.reindex(columns=[*keys, *named, "value", "spread", "note"]).drop_duplicates(keys)
    cells = ours.merge(found, on=keys, how="left", indicator="is_printed")
    cells = cells.rename(columns={"value": "printed", "spread": "printed_std"})
    return cells.assign(note=cells["note"].astype("object").fillna(""), is_printed=cells["is_printed"] == "both")


def plus_minus(mean: float, std: float, form: str, std_form: str = "") -> str:
    """Return ``mean ± std`` in the given formats, `mean` alone for a NaN `std`, ``-`` for a NaN `mean`."""
    if math.isnan(mean):
        return MISSING
    return format(mean, form) + ("" if math.isnan(std) else f" ± {format(std, std_form or form)}")


def bracketed(value: float, low: float, high: float, form: str) -> str:
    """Return ``61.8 [60.9, 62.7]``, the value alone without an interval, ``-`` for a NaN `value`."""
    interval = "" if math.isnan(low + high) else f" [{low:{form}}, {high:{form}}]"
    return plus_minus(value, math.nan, form) + ("" if math.isnan(value) else interval)


MISSING = "-"
"""Cell of what was not run here."""
STAR = "*"
"""Cell of what did not converge, in the paper or here."""


def significant(value: float, std: float = math.nan) -> str:
    """Return ``0.0021 ± 0.0003``: two significant digits of the mean, whole numbers in full; ``-`` for a NaN `value`.

    A `std` has the decimals of the mean, or as many more as show its own first digit.
    """
    if math.isnan(value):
        return MISSING
    decimals = max(0, 1 - _magnitude(value))
    std_decimals = max(decimals, -_magnitude(std))
    return plus_minus(value, std, f",.{decimals}f", f",.{std_decimals}f")


def times_over(ratio: float) -> str:
    """Return a ratio to two significant digits: ``1,200x``, ``0.31x``; "" for a NaN."""
    return "" if math.isnan(ratio) else f"{significant(float(f'{ratio:.1e}'))}x"


def human_time(seconds: float) -> str:
    """Return a duration as people say it, to two digits: ``4.1 ms``, ``5 min``, ``1.5 h``, ``190 days``."""
    if math.isnan(seconds):
        return ""
    units = [(0.1, "ms", 0.001), (MINUTE, "s", 1.0), (HOUR, "min", MINUTE), (DAY, "h", HOUR)]
    units += [(YEAR, "days", DAY), (math.inf, "years", YEAR)]
    # 59.9 s are 1 min, not 60 s
    values = ((float(f"{seconds / worth:.1e}"), unit, worth, below) for below, unit, worth in units)
    value, unit = next((value, unit) for value, unit, worth, below in values if value * worth < below)
    singular = {"days": "day", "years": "year"}
    return f"{value:,g} {singular.get(unit, unit) if value == 1 else unit}"


def p_value(p: float) -> str:
    """Return a p-value as tables and claims print it: ``0.012``, ``< 0.001``, ``-`` for a NaN."""
    if math.isnan(p):
        return MISSING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _magnitude(value: float) -> int:
    """Return the power of ten of the first digit once rounded to two; 0 for a number that has none."""
    if value == 0 or not math.isfinite(value):
        return 0
    return math.floor(math.log10(abs(float(f"{value:.1e}"))))
