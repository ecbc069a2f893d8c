"""Figures with a panel of each subset: numbers are means over folds, error bars standard errors of the mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.exhibits.drawing import lettered
from lookalike.exhibits.model import Axis, Figure, Line, Panel, Series
from lookalike.exhibits.style import Look
from lookalike.ranking.statistics import summarise
from lookalike.studies.category.study import CategoryStudy, Subset
from lookalike.studies.metrics import select

STEPS = Axis("Training steps", low=0, tick_form="short")
LOG_STEPS = Axis("Training steps", "log", tick_form="short", text="{:,.0f}")
ASIDE = "Curves stand a little beside each other, so that their error bars do not cover each other."
MAP = Axis("Mean average precision", text="{:.4f}")
COLUMNS = ("subset", "series", "step", "map", "low", "high", "sem", "n_folds")


def figure(
    study: CategoryStudy,
    frame: pd.DataFrame,
    draw: Callable[[Subset, pd.DataFrame], Panel],
    cells: pd.DataFrame | None = None,
    notes: Sequence[str] = (),
    parts: Sequence[Subset] | None = None,
) -> Figure:
    """Return a figure whose panels, of all subsets or of some, are ``draw(subset, its rows of the frame)``."""
    subsets = study.parts if parts is None else parts
    titles = lettered([study.block_title(subset) for subset in subsets])
    panels = [draw(subset, frame[frame["subset"] == subset.id]) for subset in subsets]
    titled = tuple(replace(panel, title=title) for panel, title in zip(panels, titles, strict=True))
    return Figure(frame, titled, cells, tuple(notes))


def panel(
    study: CategoryStudy,
    subset: Subset,
    own: pd.DataFrame,
    series: Sequence[Series],
    lines: Sequence[Line] = (),
    *,
    x: Axis = STEPS,
    y: Axis = MAP,
    method: str = "oasis",
    why: str = "",
) -> Panel:
    """Return a panel of those of the series that have points, or why there are none."""
    names = set(own["series"])
    drawn = tuple(line for line in series if line.where["series"] in names)
    ended = (subset.id, method) not in study.not_converged
    no_result = f"{study.title_of(method)} {'was not run here' if ended else 'did not end within its time limit (*)'}"
    if x.high is None and drawn and x.scale == "linear":
        x = replace(x, high=1.02 * float(own["step"].max()))
    return Panel("", x, y, drawn, tuple(lines), empty="" if drawn else why or no_result)


def series(
    subset: Subset, key: str, name: str, look: Look, x: str = "step", y: str = "map", aside: float = 0
) -> Series:
    """Return a series of the frame, with its errors."""
    return Series(name, {"subset": subset.id, "series": key}, x, y, look, "low", "high", aside=aside)


def printed_points(subset: Subset, key: str, name: str, look: Look, x: str = "step", y: str = "map") -> Series:
    """Return what a paper prints of a series, as hollow points."""
    return replace(series(subset, f"{key}, printed", f"{name}, printed", look, x, y), kind="points", hollow=True)


def aside(place: int, n: int) -> float:
    """Return how far one of several curves along logarithmic steps stands aside."""
    return 0.03 * (place - (n - 1) / 2)


def top(highest: pd.Series) -> float:
    """Return the end of an axis of precision that starts at 0."""
    return 1.0 if highest.isna().all() else min(1.0, 1.08 * float(highest.max()))


def curve(study: CategoryStudy, subset: Subset, method: str, metric: str, key: str, value: str = "map") -> pd.DataFrame:
    """Mean over folds of a number of the study along training, as rows of a figure's frame."""
    rows = select(study.numbers, subset=subset.id, method=method, metric=metric)
    return mean_curve(subset, key, rows, value)


def mean_curve(subset: Subset, key: str, rows: pd.DataFrame, value: str = "map") -> pd.DataFrame:
    """Mean over folds of what stands at each ``x``, with standard errors, as rows of a figure's frame."""
    summary = summarise(rows, by=("x",)).sort_values("x")
    mean, sem = summary["mean"], summary["sem"]
    columns = {value: mean, "low": mean - sem, "high": mean + sem, "sem": sem, "n_folds": summary["n_folds"]}
    return rows_of(subset, key, step=summary["x"], **columns)


def rows_of(subset: Subset, key: str, **columns: npt.ArrayLike) -> pd.DataFrame:
    """Rows of a figure's frame."""
    plain = {name: np.asarray(values) if np.ndim(values) else values for name, values in columns.items()}
    return pd.DataFrame({"subset": subset.id, "series": key, **plain})


def joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Parts below each other, without those that are empty; the columns of a curve where all are."""
    full = [part for part in parts if len(part)]
    return pd.concat(full, ignore_index=True) if full else pd.DataFrame(columns=list(COLUMNS))


def euclidean_rows(study: CategoryStudy, subset: Subset, method: str) -> pd.DataFrame:
    """Level of the Euclidean baseline on test images: its own mAP, else the method's before its first step."""
    values = study.values(subset, "euclidean")
    start = study.curves(subset, method)
    if values.empty and start is not None:
        values = start.T[0].dropna()
    if values.empty:
        return joined([])
    sem = values.std() / math.sqrt(len(values))
    return rows_of(subset, "euclidean", map=[values.mean()], sem=[sem], n_folds=[len(values)])
