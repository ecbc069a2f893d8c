"""Numbers of single runs of the category study in one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

EMPTY: dict[str, str | float] = dict.fromkeys(("representation", "subset"), "")
EMPTY |= {"fold": 0, "method": "", "metric": "", "x": np.nan, "value": np.nan}
"""Columns of a number with what stands where one is left out; ``x`` is what a curve runs along, such as the step."""
COLUMNS = tuple(EMPTY)


def metrics_frame(rows: pd.DataFrame | Iterable[Mapping[str, object]]) -> pd.DataFrame:
    """Return numbers in the one form."""
    table = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    table = table.assign(**{name: value for name, value in EMPTY.items() if name not in table})[list(COLUMNS)]
    return table.astype({name: type(value) for name, value in EMPTY.items()})
