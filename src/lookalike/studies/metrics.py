"""The one form of a study's table of numbers: ``results/{dataset}/{study}/metrics.parquet``.

One row a number. Exhibits of all studies read it; times are never in it, so that it is the same bytes each time.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.files import read_table, write_table

KEYS = ("representation", "subset", "fold", "method", "metric", "x")
"""What names a number. ``subset`` is the landmark of the landmark study, ``fold`` its draw; ``x`` is what a curve runs
along, such as k or the training step, and NaN elsewhere."""
COLUMNS = (*KEYS, "value", "low", "high")
"""``low`` and ``high`` are an interval of the value, and NaN where it has none."""
_NUMBERS = ("x", "value", "low", "high")


def metrics_frame(rows: Any) -> pd.DataFrame:
    """Return numbers in the one form.

    Parameters
    ----------
    rows : DataFrame, or sequence of mapping
        Columns of `COLUMNS`; a text column that is left out is "", ``fold`` 0, a number NaN.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`: str, ``fold`` as int64, numbers as float64.
    """
    table = pd.DataFrame(rows)
    unknown = sorted(set(table.columns) - set(COLUMNS))
    if unknown:
        raise ValueError(f"a table of numbers has no column {unknown[0]}: it has {', '.join(COLUMNS)}")
    for column in COLUMNS:
        if column not in table:
            table[column] = np.nan if column in _NUMBERS else 0 if column == "fold" else ""
    kinds = {column: np.float64 if column in _NUMBERS else np.int64 if column == "fold" else str for column in COLUMNS}
    return table[list(COLUMNS)].astype(kinds)


def gather(files: Iterable[str | Path], target: str | Path) -> None:
    """Put the tables of many runs into one file, in the order of the files."""
    write_table(metrics_frame(pd.concat([read_table(file) for file in files], ignore_index=True)), target)


def select(metrics: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Rows with these values, such as ``metric="map", subset="var10"``; a list of values lets each of them pass."""
    for column, value in values.items():
        wanted = metrics[column].isin(value) if isinstance(value, (list, tuple, set)) else metrics[column] == value
        metrics = metrics[wanted]
    return metrics
