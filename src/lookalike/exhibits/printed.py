"""Ours beside print: the numbers that the papers print, joined to ours, with a status each.

Printed numbers are facts with their source in ``workflow/resources/reference-values.csv``. One join by exhibit,
setting, method and metric sets ours beside them; nothing else compares.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lookalike.exhibits.statuses import Status

COLUMNS = ("paper", "exhibit", "dataset", "setting", "method", "metric", "value", "spread", "unit", "note")
"""Columns of reference-values.csv."""
CELLS = ("ours", "ours_std", "ours_cell", "printed", "printed_std", "printed_cell", "unit", "status", "reason")
"""Columns of a number beside print, besides the keys that name it."""
MINUTE, HOUR, DAY, YEAR = 60.0, 3600.0, 86_400.0, 365.25 * 86_400.0
"""In seconds."""
PARTITIONS = 5
"""Partitions of the same images that a printed mean is taken over (JMLR section 5.3.2)."""
RULE = (
    "Agrees: |ours - printed| <= 2 sqrt(s_ours^2 / n + s_printed^2 / 5) + half the last printed digit. "
    "Close: <= 2 sqrt(s_ours^2 + s_printed^2) + half the last printed digit. "
    "s: standard deviation over folds; n: our number of folds, 5 in the papers."
)
"""Rule of a status, for a reader of the comparison."""


def printed_numbers(rows: Iterable[Mapping[str, str]]) -> pd.DataFrame:
    """Return rows of reference-values.csv with ``last_digit``, the worth of the last printed digit of ``value``."""
    table = pd.DataFrame(list(rows), columns=list(COLUMNS), dtype=str)
    digits = table["value"].map(last_digit).astype(np.float64)
    # an exhibit prints all percentages of one metric equally far, so the number printed furthest tells for all of them
    furthest = digits.groupby([table["paper"], table["exhibit"], table["metric"]]).transform("min")
    table["last_digit"] = digits.where(table["unit"] != "percent", furthest)
    for column in ("value", "spread"):
        table[column] = pd.to_numeric(table[column].replace("", None)).astype(np.float64)
    return table


def last_digit(text: str) -> float:
    """Return the worth of the last digit of a printed number: 0.01 for ``0.33``, 1 for ``33``; NaN for "".

    ``33.0`` counts as ``33``: a trailing ``.0`` comes from writing an integer column with gaps, or 0.33 as percent.
    Zeros that end an integer of 1,000 or more were not read off anything (``35000`` steps: 1,000).
    """
    text = text.removesuffix(".0")
    if not text:
        return float("nan")
    whole, _, decimals = text.partition(".")
    if decimals:
        return float(f"1e-{len(decimals)}")
    zeros = len(whole) - len(whole.rstrip("0"))
    return float(10**zeros) if re.fullmatch(r"[1-9]\d{3,}", whole) else 1.0


Cell = Mapping[Any, Any]
"""A row of a table of numbers beside print, by column."""
Judge = Callable[[Cell], tuple[str, str] | None]


def beside_print(
    ours: pd.DataFrame,
    printed: pd.DataFrame,
    *,
    on: Sequence[str] = ("setting", "method", "metric"),
    judge: Judge = lambda cell: None,
) -> pd.DataFrame:
    """Set our numbers beside the printed ones.

    Ours has one row a number: the key columns `on`, ``ours`` and ``ours_std`` in printed units (NaN where there is
    none), and whatever else the exhibit needs; `printed` has the rows of one printed table or figure. Given a row,
    `judge` answers with the status and reason where there is no verdict, such as `not comparable`, else with None.

    Returned is `ours` in its order with ``printed``, ``printed_std``, ``note``, ``status`` and ``reason``; the last two
    are "" where the paper has no such cell.
    """
    keys = list(on)
    found = printed[[*keys, "value", "spread", "last_digit", "note"]].drop_duplicates(keys)
    cells = ours.merge(found, on=keys, how="left", indicator=True)
    cells = cells.rename(columns={"value": "printed", "spread": "printed_std"})
    judged = [_judged(row, judge) for row in cells.to_dict("records")]
    cells["status"], cells["reason"] = [status for status, _ in judged], [reason for _, reason in judged]
    cells["note"] = cells["note"].fillna("")
    return cells.drop(columns="_merge")


def _judged(row: Cell, judge: Judge) -> tuple[str, str]:
    """Return the status and reason of a number."""
    if row["_merge"] != "both":
        return "", ""
    verdict = judge(row)
    if verdict is not None:
        return verdict
    if math.isnan(row["printed"]):
        return Status.NO_PRINTED_VALUE, str(row["note"]) or "the paper prints no number"
    if math.isnan(row["ours"]):
        return Status.NO_RESULT, "this run has no such number"
    ours_std, printed_std = (0.0 if math.isnan(row[name]) else row[name] for name in ("ours_std", "printed_std"))
    n_folds = row.get("n_folds", PARTITIONS)
    n_folds = n_folds if n_folds > 0 else 1
    return status_of(row["ours"], row["printed"], ours_std, printed_std, row["last_digit"], n_folds), ""


def status_of(
    ours: float, printed: float, ours_std: float, printed_std: float, last_digit: float, n_folds: float = PARTITIONS
) -> Status:
    """Return the status of a printed number, all in printed units (docs/methods.md, "Status of a printed number").

    Both are means over partitions of the same images. Two standard errors of their difference and half of the last
    printed digit: ``agrees``; two standard deviations: ``close``; beyond: ``higher`` or ``lower``.
    """
    error = math.hypot(ours_std / math.sqrt(n_folds), printed_std / math.sqrt(PARTITIONS))
    difference = ours - printed
    for spread, status in ((error, Status.AGREES), (math.hypot(ours_std, printed_std), Status.CLOSE)):
        # on the boundary it does; rounding in the last bits must not decide
        if abs(difference) <= (2 * spread + last_digit / 2) * (1 + 1e-12) + 1e-12 * abs(printed):
            return status
    return Status.HIGHER if difference > 0 else Status.LOWER


def count_statuses(cells: pd.DataFrame | None) -> dict[Status, int]:
    """Return how many printed numbers have each status."""
    if cells is None or "status" not in cells:
        return {}
    statuses = cells.loc[cells["status"] != "", "status"]
    return {Status(str(status)): int(count) for status, count in statuses.value_counts(sort=False).items()}


def state_of(statuses: Mapping[Status, int]) -> Status:
    """Return the status of an exhibit that was run, from the statuses of its printed numbers.

    The first that fits: no printed number; other classes or not comparable (no number is decided); agrees or close (all
    decided ones do or are at least close); higher or lower (all others are on one side); mixed.
    """
    found = {status for status, count in statuses.items() if count}
    if found <= {Status.NO_PRINTED_VALUE}:
        return Status.NO_PRINTED_NUMBER
    differ = found & {Status.HIGHER, Status.LOWER}
    if not differ:
        known = (Status.CLOSE, Status.AGREES, Status.OTHER_CLASSES)
        return next((status for status in known if status in found), Status.NOT_COMPARABLE)
    return Status.MIXED if len(differ) == 2 else differ.pop()


def swapped(ours: Mapping[str, float], printed: Mapping[str, float]) -> list[tuple[str, str]] | None:
    """Return pairs of methods that come the other way round than in print; None where print orders no two of ours."""
    pairs = _pairs(ours, printed)
    # methods whose printed numbers are equal may come in any order
    return [(a, b) for a, b in pairs if (printed[a] - printed[b]) * (ours[a] - ours[b]) < 0] if pairs else None


def pairs_in_order(ours: Mapping[str, float], printed: Mapping[str, float]) -> tuple[int, int]:
    """Count the pairs of methods that come in the printed order, and all pairs; 0 and 0 without print."""
    n_pairs = len(_pairs(ours, printed))
    return n_pairs - len(swapped(ours, printed) or ()), n_pairs


def _pairs(ours: Mapping[str, float], printed: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return all pairs of methods that have a number here and in print."""
    both = [name for name in printed if not math.isnan(printed[name] + ours.get(name, math.nan))]
    return list(combinations(both, 2))


def plus_minus(mean: float, std: float, form: str, std_form: str = "") -> str:
    """Return ``mean ± std`` in the given formats, `mean` alone for a NaN `std`, ``-`` for a NaN `mean`."""
    if math.isnan(mean):
        return MISSING
    return format(mean, form) + ("" if math.isnan(std) else f" ± {format(std, std_form or form)}")


MISSING = "-"
"""Cell of what was not run here."""
STAR = "*"
"""Cell of what did not converge, in the paper or here."""


def significant(value: float, std: float = math.nan) -> str:
    """Return ``mean ± std`` to two significant digits of the mean, whole numbers in full; ``-`` for a NaN `value`.

    A `std` has the decimals of the mean, or as many more as show its own first digit.

    Examples
    --------
    >>> significant(0.00213, 0.00031), significant(0.12, 0.0004), significant(1835.2, 209.6), significant(42, 15)
    ('0.0021 ± 0.0003', '0.12 ± 0.0004', '1,835 ± 210', '42 ± 15')
    """
    if math.isnan(value):
        return MISSING
    decimals = max(0, 1 - _magnitude(value))
    std_decimals = max(decimals, -_magnitude(std))
    return plus_minus(value, std, f",.{decimals}f", f",.{std_decimals}f")


def times_over(ratio: float) -> str:
    """Return a ratio to two significant digits: ``1,200x``, ``0.31x``; "" for a NaN."""
    return "" if math.isnan(ratio) else f"{significant(float(f'{ratio:.1e}'))}x"


def minutes_text(mean: float, std: float = math.nan) -> str:
    """Return minutes as ``42 ± 15 min``, below a tenth in seconds: ``0.46 ± 0.32 s``; ``-`` for a NaN `mean`."""
    if math.isnan(mean):
        return MISSING
    return f"{significant(60 * mean, 60 * std)} s" if mean < 0.1 else f"{significant(mean, std)} min"


def human_time(seconds: float) -> str:
    """Return a duration as people say it, to two digits.

    Examples
    --------
    >>> [human_time(s) for s in (0.0041, 0.25, 9, 300, 5400, 172800, 16416000, 1e9)]
    ['4.1 ms', '0.25 s', '9 s', '5 min', '1.5 h', '2 days', '190 days', '32 years']
    """
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
