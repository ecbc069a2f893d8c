"""What tables of times of several studies share."""

from __future__ import annotations

from lookalike.exhibits.printed import times_over as times_over

TRAIN_TIME = "train_time"
"""Metric of the printed times."""
OTHER_MACHINE = "other machine and implementation"
