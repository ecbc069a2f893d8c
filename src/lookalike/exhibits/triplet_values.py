"""The numbers of the fine-grained study as its exhibits read them, and their statuses beside printed ones.

Our intervals are those of a bootstrap over query images. The paper prints none, so that a printed number agrees where
it lies within ours. What is drawn from these numbers is in `lookalike.exhibits.triplet_tables`, ``triplet_figures`` and
``triplet_claims``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from lookalike.exhibits import compare as compared
from lookalike.exhibits.reference import printed_number
from lookalike.exhibits.tables import MISSING, NOT_RUN, plus_minus
from lookalike.exhibits.triplet_context import (
    ALL,
    PAPER,
    PER_TRIPLET,
    PRECISION,
    SCORE,
    TABLE1,
    TABLE2,
    TripletContext,
    is_learned,
    ordered_systems,
)

if TYPE_CHECKING:
    import pandas as pd

SYSTEMS_OF = {"table1": TABLE1, "table2": TABLE2}
"""Table of the paper to its rows."""
METRICS = {PRECISION: ".1f", SCORE: ",.0f", PER_TRIPLET: ".1f"}
"""Metric to the format of its cells; the paper prints the first two."""
PRINTED_METRICS = (PRECISION, SCORE)
RULE = (
    "Agrees: the printed number lies within our 95% interval (bootstrap over query images), widened by half its last "
    "printed digit; the paper prints no interval. Precision in percent, score in triplets."
)
NO_INTERVAL = "too few query images for an interval"
OTHER_DATA = "learned from other images than the paper's"
SPREAD_OF_INTERVAL = 2 * 1.959963985
"""Standard errors between the ends of a 95% interval."""


class Measured(NamedTuple):
    """One number of a system with its 95% interval, and what it was counted over."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n_triplets: int = 0
    n_queries: int = 0
    n_ties: int = 0
    median_pool: int = 0
    n_in_top: int = 0


NOTHING = Measured()
Values = Mapping[tuple[str, str, str], Measured]


def named_alike(frame: pd.DataFrame) -> pd.DataFrame:
    """Return intervals or contrasts with scores called ``score@30``, however many images the study counts."""
    return frame.assign(metric=frame["metric"].str.replace(r"^score@\d+", SCORE, regex=True))


def measured(intervals: pd.DataFrame | None, context: TripletContext) -> dict[tuple[str, str, str], Measured]:
    """Numbers by system, subset and metric; empty where nothing was run.

    Parameters
    ----------
    intervals : DataFrame or None
        ``system``, ``subset``, ``metric``, ``value``, ``low``, ``high`` (precision and score per triplet in percent,
        score in triplets), ``n_triplets``, ``n_queries``, ``n_ties``, ``median_pool``, ``n_in_top``.
    context : TripletContext
    """
    if intervals is None or context.not_run is not None:
        return {}
    fields = ("value", "low", "high", "n_triplets", "n_queries", "n_ties", "median_pool", "n_in_top")
    rows: Iterable[Any] = named_alike(intervals).itertuples()
    found = {}
    for row in rows:
        value, low, high, *counts = (float(getattr(row, name)) for name in fields)
        # counts that a metric does not have, such as a pool of a precision, are missing numbers
        whole = [0 if math.isnan(count) else round(count) for count in counts]
        found[str(row.system), str(row.subset), str(row.metric)] = Measured(value, low, high, *whole)
    return found


def compare_systems(
    intervals: pd.DataFrame | None, context: TripletContext, reference: pd.DataFrame, exhibit: str
) -> pd.DataFrame:
    """Set every number that Table 1 or 2 prints beside ours.

    Parameters
    ----------
    intervals, context, reference, exhibit
        As in `system_table`.

    Returns
    -------
    DataFrame
        Columns `lookalike.exhibits.compare.COLUMNS`; ``ours_std`` is the standard error that the interval spans.
    """
    values = measured(intervals, context)
    rows = []
    for system in SYSTEMS_OF[exhibit]:
        for metric in PRINTED_METRICS:
            row = printed_number(reference, PAPER, exhibit, "", system, metric)
            if row is not None:
                ours = values.get((system, ALL, metric), NOTHING)
                error = (ours.high - ours.low) / SPREAD_OF_INTERVAL
                rows.append(compared.compared_row(row, ALL, ours.value, error, *judged(row, ours, context)))
    return compared.comparison_frame(rows)


def judged(row: pd.Series, ours: Measured, context: TripletContext) -> tuple[str, str]:
    """Status of a printed number, and why it is no verdict or what to know about it.

    Parameters
    ----------
    row : Series
        The printed number, from `lookalike.exhibits.reference.printed_number`.
    ours : Measured
    context : TripletContext

    Returns
    -------
    tuple of (status, reason)
        The status is ``agrees``, ``higher``, ``lower``, ``not comparable``, ``no result``, or ``not run: ...``.
    """
    system, metric = str(row["method"]), str(row["metric"])
    if math.isnan(ours.value):
        not_run = context.why_not_run(system)
        if not_run is not None:
            return not_run, "nothing was run"
        return compared.NO_RESULT, f"this run has no {metric} of {context.title_of(system)}"
    reason = context.why_not_comparable(metric)
    if reason or math.isnan(ours.low) or math.isnan(ours.high):
        return compared.NOT_COMPARABLE, reason or NO_INTERVAL
    return status_by_interval(ours, float(row["value"]), float(row["last_digit"])), (
        OTHER_DATA if is_learned(system) else ""
    )


def status_by_interval(ours: Measured, printed: float, last_digit: float) -> str:
    """``agrees``, ``higher`` or ``lower`` (ours is), by where the printed number lies beside our interval.

    Examples
    --------
    >>> [status_by_interval(Measured(62.0, 61.0, 63.0), printed, 0.1) for printed in (63.05, 63.2, 60.9)]
    ['agrees', 'lower', 'higher']
    """
    # rounding in the last bits must not decide for a number at the very end
    half = last_digit / 2 + 1e-9 * abs(printed)
    if ours.low - half <= printed <= ours.high + half:
        return compared.AGREES
    return compared.HIGHER if ours.low > printed else compared.LOWER


def with_interval(found: Measured, form: str) -> str:
    """Return ``61.8 [60.9, 62.7]``, the value alone without an interval, ``-`` without a value."""
    if math.isnan(found.value) or math.isnan(found.low) or math.isnan(found.high):
        return plus_minus(found.value, math.nan, form)
    return f"{found.value:{form}} [{found.low:{form}}, {found.high:{form}}]"


def cell_of(found: Measured, metric: str, system: str, context: TripletContext) -> str:
    """Cell of ours with its interval; ``not run`` where there is a reason for it, else ``-``, without a number."""
    if math.isnan(found.value):
        return MISSING if context.why_not_run(system) is None else NOT_RUN
    return with_interval(found, METRICS[metric])


def not_run_sentences(systems: Iterable[str], context: TripletContext) -> list[str]:
    """``ConvNet, DeepRanking: not run: do X.``, systems with one reason together; nothing where all were run."""
    if context.not_run is not None:
        return []
    reasons: dict[str, list[str]] = {}
    for system in ordered_systems(systems):
        reason = context.why_not_run(system)
        if reason is not None:
            reasons.setdefault(reason, []).append(context.title_of(system))
    return [f"{', '.join(titles)}: {reason}." for reason, titles in reasons.items()]
