"""S-TG and S-DA minus OASIS over words and features: how results name it."""

from __future__ import annotations

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
