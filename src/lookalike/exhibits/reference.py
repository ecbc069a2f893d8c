"""What exhibits stand on beside our own numbers: the numbers that the papers print.

`load` reads ``workflow/resources/reference-values.csv`` and works out how far each number was printed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("paper", "exhibit", "dataset", "setting", "method", "metric", "value", "spread", "unit", "note")

PAPERS = {
    "oasis-jmlr-2010": "Chechik, Sharma, Shalit and Bengio, JMLR 11 (2010)",
    "oasis-2009-draft": "Chechik, Sharma, Shalit and Bengio, draft of 2009",
}
"""How captions name the source of an exhibit of the category study."""
ALL_PAPERS = {
    **PAPERS,
    "oasis-nips-2009": "Chechik, Shalit, Sharma and Bengio, NIPS 2009",
    "soml-aaai-2014": "Gao, Hoi, Zhang, Wan and Li, AAAI 2014",
    "deep-ranking-cvpr-2014": "Wang, Song, Leung, Rosenberg, Wang, Philbin, Chen and Wu, CVPR 2014",
}
"""The same for all studies, in the order in which an index lists the papers."""

PRINTED_TABLE = {"oasis-jmlr-2010": "table4", "oasis-2009-draft": "table1"}
"""The table that prints the numbers which the curves of the same paper show."""


def load(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read the printed numbers.

    Parameters
    ----------
    path : path-like
        ``reference-values.csv``: columns `COLUMNS`, numbers as printed.

    Returns
    -------
    DataFrame
        The same rows: text columns as str ("" where empty), ``value`` and ``spread`` as float64 (NaN where the paper
        prints none, such as "did not converge"), and ``last_digit``: the worth of the last printed digit, in the
        unit of ``value``.

    Raises
    ------
    LookalikeError
        When the file is missing or lacks a column.
    """
    import pandas as pd

    if not Path(path).is_file():
        raise LookalikeError(f"no printed numbers at {path}: the file is part of the project; restore it")
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    missing = [column for column in COLUMNS if column not in table.columns]
    if missing:
        raise LookalikeError(f"{path} lacks the columns {', '.join(missing)}: restore the file")
    digits = table["value"].map(last_digit)
    # An exhibit prints all percentages of one metric equally far, so the number printed furthest tells for all of them.
    furthest = digits.groupby([table["paper"], table["exhibit"], table["metric"]]).transform("min")
    table["last_digit"] = digits.where(table["unit"] != "percent", furthest).astype(np.float64)
    for column in ("value", "spread"):
        table[column] = pd.to_numeric(table[column].replace("", None)).astype(np.float64)
    return table


def last_digit(text: str) -> float:
    """Worth of the last digit of a printed number: 0.01 for ``0.33``, 1 for ``33``.

    ``33.0`` counts as ``33``: a trailing ``.0`` comes from writing an integer column with gaps, or 0.33 as percent.
    Zeros that end an integer of 1,000 or more were not read off anything (``35000`` steps: 1,000).

    Parameters
    ----------
    text : str
        The number as the file has it; "" where none was printed.

    Returns
    -------
    float
        NaN for "".
    """
    text = text.removesuffix(".0")
    if not text:
        return float("nan")
    whole, _, decimals = text.partition(".")
    if decimals:
        return float(f"1e-{len(decimals)}")
    zeros = len(whole) - len(whole.rstrip("0"))
    return float(10**zeros) if re.fullmatch(r"[1-9]\d{3,}", whole) else 1.0


def printed_number(
    reference: pd.DataFrame, paper: str, exhibit: str, setting: str, method: str, metric: str
) -> pd.Series | None:
    """Return the row of one printed number, or None where the paper prints no such cell."""
    rows = reference[
        (reference["paper"] == paper)
        & (reference["exhibit"] == exhibit)
        & (reference["setting"] == setting)
        & (reference["method"] == method)
        & (reference["metric"] == metric)
    ]
    return None if rows.empty else rows.iloc[0]


def reason_in_print(row: pd.Series) -> str:
    """Why a printed cell has no number, without remarks on how we read it; "" where no reason is known."""
    return str(row["note"]).partition(" (our reading")[0]
