"""Ours beside the papers': one row for every number that a paper prints, with a two-sided status.

Higher than the paper is a difference too. Tables and figures print these rows beside themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.exhibits.context import Context, SubsetInfo
from lookalike.exhibits.reference import PRINTED_TABLE, printed_number, reason_in_print
from lookalike.exhibits.style import title_of
from lookalike.ranking.statistics import summarise

if TYPE_CHECKING:
    import pandas as pd

AGREES, HIGHER, LOWER = "agrees", "higher", "lower"
NOT_COMPARABLE = "not comparable"
NO_PRINTED_VALUE = "no printed value"
"""The paper has a row or column for it, and no number (``*``: it did not converge)."""
NO_RESULT = "no result"
"""The paper has a number and this run has none, since the learner was not run or did not converge."""
RULE = (
    "Agrees: |ours - printed| <= 2 sqrt(s_ours^2 + s_printed^2) + half the last printed digit; "
    "s: standard deviation over folds. map and p@k in percent."
)
"""How a status is found, for a reader of the comparison."""

COLUMNS = (
    "subset",
    "printed_setting",
    "method",
    "metric",
    "printed",
    "printed_std",
    "ours",
    "ours_std",
    "difference",
    "difference_in_fold_std",
    "status",
    "reason",
)
TABLE_METHODS = ("oasis", "mcml", "lego", "lmnn", "euclidean")
"""Methods that JMLR Table 4 and draft Table 1 compare, in their order."""
PRINTED_TITLES = {
    "oasis-matlab": "OASIS (Matlab)",
    "oasis-matlab+c": "OASIS (Matlab+C)",
    "dissim-oasis-matlab": "Dissim-OASIS (Matlab)",
    "lmnn-naive": "LMNN (naive)",
    "fast-lmnn": "LMNN (active set)",
}
"""Titles of methods that only the printed tables name so."""
K_MAX = 60
"""Neighbours that precision curves show and rules count; the papers' text does not say how many they show."""
TABLE_METRICS = ("map", "p@1", "p@10", "p@50")
"""Their rows."""
STOP_IS_NO_SATURATION = "the paper reads saturation off its test curve; ours is the validation stop"


def status_of(ours: float, ours_std: float, printed: float, printed_std: float, last_digit: float) -> str:
    """Status of a printed number (docs/methods.md, "Status of a printed number").

    It agrees iff |ours - printed| <= 2 sqrt(ours_std^2 + printed_std^2) + last_digit / 2.

    Parameters
    ----------
    ours, ours_std : float
        Our mean and standard deviation over folds, in printed units. A NaN spread counts as 0.
    printed, printed_std : float
        The paper's. A NaN spread counts as 0.
    last_digit : float
        Worth of the last printed digit, from `lookalike.exhibits.reference.last_digit`.

    Returns
    -------
    str
        ``agrees``, ``higher`` or ``lower`` (ours is).

    Raises
    ------
    ValueError
        When a mean or the last digit is NaN: there is nothing to compare.
    """
    if any(math.isnan(number) for number in (ours, printed, last_digit)):
        raise ValueError("a status needs our number, the printed one and its last digit")
    spread = math.hypot(*(0.0 if math.isnan(s) else s for s in (ours_std, printed_std)))
    tolerance = 2 * spread + last_digit / 2
    difference = ours - printed
    # a difference on the boundary agrees; rounding in the last bits must not decide
    if abs(difference) <= tolerance * (1 + 1e-12) + 1e-12 * abs(printed):
        return AGREES
    return HIGHER if difference > 0 else LOWER


def compare(
    metrics: pd.DataFrame | None,
    reference: pd.DataFrame,
    context: Context,
    *,
    paper: str,
    methods: Sequence[str] = TABLE_METHODS,
    metric_names: Sequence[str] = TABLE_METRICS,
) -> pd.DataFrame:
    """Compare every number that a paper's main table prints for the subsets of the context.

    Parameters
    ----------
    metrics : DataFrame or None
        Tidy metrics (fractions 0..1), or None where nothing was run.
    reference : DataFrame
        From `lookalike.exhibits.reference.load`.
    context : Context
        Data set, subsets and their printed settings.
    paper : str
        Paper id.
    methods, metric_names : sequence of str
        Which columns and rows of the printed table.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`; numbers in printed units (percent). A printed cell without a number keeps its row.
    """
    summary = summary_of(metrics, context)
    rows = []
    for subset in context.subsets:
        setting = subset.printed.get(paper, "")
        for method in methods:
            for metric in metric_names:
                row = printed_number(reference, paper, PRINTED_TABLE[paper], setting, method, metric)
                if row is not None:
                    ours = summary.get((subset.id, method, metric), NO_NUMBER)
                    rows.append(compared_row(row, subset.id, *ours, *_judged(row, context, subset, *ours)))
    return comparison_frame(rows)


def compare_stop(reference: pd.DataFrame, context: Context, *, paper: str) -> pd.DataFrame:
    """Set the step at which validation stops OASIS beside the printed step at which test precision saturates.

    Both papers print it for Var10 (JMLR section 5.3.3, draft section 5.2.3: "around 35K training steps"). The two are
    not the same quantity, so there is no verdict.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`, metric ``saturation_steps``, in steps; no row for subsets without a printed step.
    """
    rows = []
    for subset in context.subsets:
        if subset.printed.get(paper) not in ("classes=10", "var10"):
            continue
        row = printed_number(reference, "oasis-jmlr-2010", "text", "", "oasis", "var10_saturation_steps")
        if row is not None:
            steps = np.asarray(context.selected_steps.get(subset.id, ()), dtype=np.float64)
            mean = float(steps.mean()) if len(steps) else math.nan
            std = float(steps.std(ddof=1)) if len(steps) > 1 else math.nan
            row = row.replace({"var10_saturation_steps": "saturation_steps"})
            row["setting"] = subset.printed[paper]
            judged = without_verdict(row, context, mean) or (NOT_COMPARABLE, STOP_IS_NO_SATURATION)
            rows.append(compared_row(row, subset.id, mean, std, *judged))
    return comparison_frame(rows)


NO_NUMBER = (math.nan, math.nan)


def summary_of(metrics: pd.DataFrame | None, context: Context) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Mean and standard deviation over folds, in percent, by (subset, method, metric), of what the context owns.

    A method that did not converge in some fold of a subset has none: the folds that did end are the easier ones.
    """
    own = context.own(metrics)
    if own is None:
        return {}
    wanted = own[own["metric"].isin(TABLE_METRICS)]
    summary: Iterable[Any] = summarise(wanted, by=("subset", "method", "metric")).itertuples()
    return {
        (row.subset, row.method, row.metric): (100 * row.mean, 100 * row.std)
        for row in summary
        if (row.subset, row.method) not in context.not_converged
    }


def count_statuses(table: pd.DataFrame) -> dict[str, int]:
    """How many rows have each status; ``not run: put X at Y`` counts as ``not run``."""
    kinds = table["status"].str.partition(":")[0] if len(table) else table["status"]
    return {str(kind): int(count) for kind, count in kinds.value_counts(sort=False).items()}


def summary_line(statuses: dict[str, int]) -> str:
    """One line of text, such as ``12 agree, 3 higher``."""
    words = [f"{count} {'agree' if status == AGREES and count > 1 else status}" for status, count in statuses.items()]
    return ", ".join(words) or "nothing printed to compare with"


def compared_row(row: pd.Series, subset: str, ours: float, ours_std: float, status: str, reason: str) -> dict[str, Any]:
    """One row of a comparison.

    Parameters
    ----------
    row : Series
        The printed number, from `lookalike.exhibits.reference.printed_number`.
    subset : str
        Subset that ours is of; "" for a number of the whole data set.
    ours, ours_std : float
        Mean and standard deviation over folds, in printed units.
    status, reason : str
        The verdict, or why there is none.
    """
    difference = ours - row["value"]
    return {
        "subset": subset,
        "printed_setting": row["setting"],
        "method": row["method"],
        "metric": row["metric"],
        "printed": row["value"],
        "printed_std": row["spread"],
        "ours": ours,
        "ours_std": ours_std,
        "difference": difference,
        "difference_in_fold_std": difference / ours_std if ours_std > 0 else math.nan,
        "status": status,
        "reason": reason,
    }


def comparison_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return rows of `compared_row` as a table with the columns `COLUMNS`, also when there are none."""
    import pandas as pd

    numbers = ("printed", "printed_std", "ours", "ours_std", "difference", "difference_in_fold_std")
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({column: (np.float64 if column in numbers else str) for column in COLUMNS})


def without_verdict(
    row: pd.Series, context: Context, ours: float, *, subset: str = "", method: str | None = None
) -> tuple[str, str] | None:
    """Status and reason where a number is missing on either side; None where both are there.

    Parameters
    ----------
    row : Series
        The printed number.
    context : Context
    ours : float
        NaN where this run has none.
    subset : str
        Subset that ours is of; "" for a number of the whole data set.
    method : str, optional
        Our id of the method, where the paper's differs.

    Returns
    -------
    tuple of (status, reason), or None
    """
    if context.not_run_sentence is not None:
        return context.not_run_sentence, "the images are not in place"
    if math.isnan(row["value"]):
        return NO_PRINTED_VALUE, reason_in_print(row) or "the paper prints no number"
    if math.isnan(ours):
        method = method or row["method"]
        if (subset, method) in context.not_converged:
            return NO_RESULT, f"did not converge: {context.not_converged[subset, method]}"
        if method and method not in (*context.methods, *context.variants, *context.timed):
            return NO_RESULT, f"{title_of(method, {**PRINTED_TITLES, **context.method_titles})} was not run"
        return NO_RESULT, f"this run has no {row['metric']}"
    return None


def _judged(row: pd.Series, context: Context, subset: SubsetInfo, ours: float, ours_std: float) -> tuple[str, str]:
    """Status and, where it is no verdict, the reason."""
    missing = without_verdict(row, context, ours, subset=subset.id)
    if missing is not None:
        return missing
    if not subset.comparable:
        return NOT_COMPARABLE, subset.why_not_comparable
    return status_of(ours, ours_std, row["value"], row["spread"], row["last_digit"]), ""
