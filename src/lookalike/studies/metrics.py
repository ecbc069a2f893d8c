"""The one form of a study's numbers; times are never in it, so that it is the same bytes each time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
EMPTY: dict[str, str | float] = dict.fromkeys(COLUMNS, "") | {"fold": 0}
EMPTY |= dict.fromkeys(("x", "value", "low", "high"), np.nan)


def metrics_frame(rows: pd.DataFrame | Iterable[Mapping[str, object]]) -> pd.DataFrame:
    """Return numbers in the one form: a text column that is left out is "", ``fold`` 0, a number NaN."""
    table = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    table = table.assign(**{name: EMPTY[name] for name in COLUMNS if name not in table})[list(COLUMNS)]
    return table.astype({name: type(value) for name, value in EMPTY.items()})


def gather(files: Iterable[str | Path], target: str | Path) -> None:
    """Put the tables of many runs into one file, in the order of the files."""
    write_table(metrics_frame(pd.concat([read_table(file) for file in files], ignore_index=True)), target)


def results_rows(files: Iterable[str | Path], study: str) -> pd.DataFrame:
    """Return the tables of many runs as rows of results (`lookalike.exhibits.results`); all values are fractions."""
    table: pd.DataFrame = pd.concat([read_table(file) for file in files], ignore_index=True)
    renamed = table.rename(columns={"subset": "setting", "fold": "repeat"})
    return renamed.assign(study=study, repeat=renamed["repeat"].astype(str), unit="fraction")


def not_converged(fits: pd.DataFrame, keys: Sequence[str], parts: str) -> dict[Any, str]:
    """Return keys of fits to why they have no result, and of how many ``parts``, where one ran into its time limit."""
    reasons: dict[Any, str] = {}
    for key, rows in fits.groupby(list(keys), sort=False):
        failed = rows.loc[rows["not_converged"].fillna("") != "", "not_converged"]
        if len(failed):
            of_parts = f" ({len(failed)} of {len(rows)} {parts})" if len(rows) > 1 else ""
            reasons[key] = f"{failed.iloc[0]}{of_parts}"
    return reasons


def rows_in(frame: pd.DataFrame) -> Iterable[Any]:
    """Return the rows of a frame as named tuples."""
    return frame.itertuples(index=False)


def select(metrics: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Return the rows with these values, such as ``metric="map", subset="var10"``; of a list each value passes."""
    for column, value in values.items():
        wanted = metrics[column].isin(value) if isinstance(value, (list, tuple, set)) else metrics[column] == value
        metrics = metrics[wanted]
    return metrics
