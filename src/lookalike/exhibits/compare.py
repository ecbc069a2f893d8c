"""Ours beside the papers': one row for every number that a paper prints, with a two-sided status.

Higher than the paper is a difference too. Tables and figures print these rows beside themselves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

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
PRINTED_TITLES = {
    "oasis-matlab": "OASIS (Matlab)",
    "oasis-matlab+c": "OASIS (Matlab+C)",
    "dissim-oasis-matlab": "Dissim-OASIS (Matlab)",
    "lmnn-naive": "LMNN (naive)",
    "fast-lmnn": "LMNN (active set)",
}
"""Titles of methods that only the printed tables name so."""


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
