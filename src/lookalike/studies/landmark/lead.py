"""S-TG and S-DA minus OASIS over words and features: how results name it, and the differences."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from lookalike.studies.landmark.rankings import MAP_FULL
from lookalike.studies.landmark.settings import CHOSEN

OVER = "oasis-diagonal"
LEADING = ("soml-tg", "soml-da")
PAIRS = [(method, OVER) for method in LEADING] + [(CHOSEN[method], CHOSEN[OVER]) for method in LEADING]
"""Methods whose difference is shown, with printed and then with chosen constants."""
FEATURES = "features of a photograph"
"""Metric: how many features a photograph has on average."""


def repeat_name(landmark: str, draw: int) -> str:
    """Name a landmark and a draw as a repeat in the table of results."""
    return f"landmark={landmark};draw={draw}"


def leads(results: pd.DataFrame) -> Iterator[tuple[str, tuple[str, str], pd.Series]]:
    """Yield setting, pair of methods, and first minus second on each landmark (``subset``) and draw (``fold``)."""
    rows = results[results["metric"] == MAP_FULL]
    rows = rows.join(rows["repeat"].str.extract("landmark=(?P<subset>.+);draw=(?P<fold>.+)"))
    for setting, own in rows.groupby("setting", sort=False):
        values = own.pivot_table(index=["subset", "fold"], columns="method", values="value")
        for first, second in PAIRS:
            if {first, second} <= set(values):
                yield str(setting), (first, second), (values[first] - values[second]).dropna()
