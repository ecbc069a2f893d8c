"""What exhibits stand on beside our own numbers: the papers' printed numbers, and what the data set at hand is.

`load` reads ``workflow/resources/reference-values.csv`` and works out how far each number was printed; `Context` says
which data the numbers of an exhibit come from and whether they may be compared with print at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lookalike.errors import LookalikeError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("paper", "exhibit", "dataset", "setting", "method", "metric", "value", "spread", "unit", "note")

PAPERS = {
    "oasis-jmlr-2010": "Chechik, Sharma, Shalit and Bengio, JMLR 11 (2010)",
    "oasis-2009-draft": "Chechik, Sharma, Shalit and Bengio, draft of 2009",
}
"""How captions name the source of an exhibit."""

PRINTED_TABLE = {"oasis-jmlr-2010": "table4", "oasis-2009-draft": "table1"}
"""The table that prints the numbers which the curves of the same paper show."""


@dataclass(frozen=True)
class SubsetInfo:
    """One subset of classes, as exhibits name it."""

    id: str
    """Name in file names and tables (``var10``)."""
    title: str
    """Name in captions (``Var10``)."""
    n_classes: int
    """Classes that were really used; 0 where nothing was run and their number is not known."""
    printed: Mapping[str, str] = field(default_factory=dict)
    """Paper id to the ``setting`` of its printed numbers (``{"oasis-jmlr-2010": "classes=10"}``)."""


@dataclass(frozen=True)
class Context:
    """Which data an exhibit shows, and whether its numbers may stand beside the printed ones."""

    dataset: str
    title: str
    synthetic: bool
    comparable: bool
    subsets: tuple[SubsetInfo, ...]
    """The subsets to draw, in order: panels of a figure, blocks of a table."""
    methods: tuple[str, ...]
    """Methods that were run, in order."""
    representation: str
    n_folds: int
    n_train: int
    """Training images per class."""
    n_test: int
    """Test images per class."""
    reason: str = ""
    """Why the numbers are not comparable (``synthetic images``, ``other classes``)."""
    not_run: str | None = None
    """What to do to run it (``put 256_ObjectCategories.tar at data/caltech256``), or None where it was run."""
    method_titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of methods that differ from `lookalike.exhibits.style.METHOD_TITLES`."""
    selected_steps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Subset to the step that OASIS stopped at in each fold."""

    @property
    def not_run_sentence(self) -> str | None:
        """``not run: put X at Y``, or None where it was run."""
        if self.not_run is None:
            return None
        return "not run: " + self.not_run.removeprefix("not run:").strip()

    @property
    def why_not_comparable(self) -> str:
        """The reason given, or the plain fact that images are synthetic."""
        return self.reason or ("synthetic images" if self.synthetic else "other data than the paper's")

    def own(self, table: pd.DataFrame | None) -> pd.DataFrame | None:
        """Rows of a metrics or curve table that belong here; None when there are none."""
        if table is None or self.not_run is not None:
            return None
        for column, value in (("dataset", self.dataset), ("representation", self.representation)):
            if column in table.columns:
                table = table[table[column] == value]
        return None if table.empty else table


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


def printed(
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
