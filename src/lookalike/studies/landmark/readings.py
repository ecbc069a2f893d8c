"""What simulated bags of words say of SOML: in which order methods come, and which reading is near print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import pandas as pd

from lookalike.exhibits.contrasts import Contrast
from lookalike.studies.landmark.rankings import MAP, SPARSITY
from lookalike.studies.landmark.settings import gamma_setting, setting_of

if TYPE_CHECKING:
    from lookalike.studies.landmark.study import LandmarkStudy

ORDERS = {
    "S-DA > S-TG > OASIS > TF-IDF (Tables 2 and 3)": ("soml-da", "soml-tg", "oasis-diagonal", "tfidf"),
    "S-TG > S-DA > OASIS > TF-IDF (Table 1)": ("soml-tg", "soml-da", "oasis-diagonal", "tfidf"),
}
"""Orders of the paper's means, best first."""
SOME_BELOW, NONE_HELPS = "OASIS above S-TG or S-DA, TF-IDF last", "TF-IDF not last"


def level_of(study: LandmarkStudy, setting: str, metric: str, method: str) -> float:
    """Return a number that contrasts hold; NaN where there is none."""
    rows = study.contrasts.intervals(setting, metric, method)
    return rows[0].mean if rows else math.nan


def order_at(study: LandmarkStudy, with_gamma: str, setting: str, varied: str) -> tuple[str, list[Sequence[Contrast]]]:
    """Return which of `ORDERS` the means have, where S-DA has some gamma, and the rows of neighbours."""

    def rows_of(first: str, second: str) -> Sequence[Contrast]:
        return study.contrasts.intervals(with_gamma if varied in (first, second) else setting, MAP, first, second)

    every = {method: level_of(study, setting, MAP, method) for method in ORDERS[next(iter(ORDERS))]}
    (beside,) = rows_of(varied, "tfidf")
    every[varied] = every["tfidf"] + beside.mean
    ordered = tuple(sorted(every, key=lambda method: -every[method]))
    found = [name for name, order in ORDERS.items() if order == ordered]
    order = found[0] if found else SOME_BELOW if ordered[-1] == "tfidf" else NONE_HELPS
    return order, [rows_of(*pair) for pair in pairwise(ordered)]


def distance_from_print(study: LandmarkStudy, method: str, burstiness: float) -> float:
    """Return the mean distance of a reading's sparsities from the printed ones over codebooks, in points."""
    sizes = study.readings.words if study.readings is not None else []
    cells = [study.contrasts.intervals(setting_of(size, burstiness), SPARSITY, method) for size in sizes]
    return float(pd.Series([abs(rows[0].mean - rows[0].printed) for rows in cells if rows]).mean())


def nearest_burstiness(study: LandmarkStudy) -> float:
    """Return the burstiness with which S-TG, whose readings hardly differ, is nearest to the printed sparsities."""
    every = study.readings.burstiness if study.readings is not None else [math.nan]
    distances = {burstiness: distance_from_print(study, "soml-tg", burstiness) for burstiness in every}
    return min(every, key=lambda burstiness: (math.isnan(distances[burstiness]), distances[burstiness]))


def distance_words(study: LandmarkStudy) -> list[str]:
    """Say with which burstiness S-TG is nearest to the printed sparsities, and how far each reading is from them."""
    nearest, methods = nearest_burstiness(study), study.readings.methods if study.readings is not None else []
    found = []
    for base in ("soml-tg", "soml-da"):
        own = [method for method in methods if method.startswith(base)]
        gaps = {method: distance_from_print(study, method, nearest) for method in own}
        said = ", ".join(f"{study.title_of(name)} {gaps[name]:.1f}" for name in sorted(own, key=gaps.__getitem__))
        found.append(f"Mean distance from the printed sparsities in points, burstiness {nearest:g}: {said}.")
    return found


def order_words(study: LandmarkStudy) -> list[str]:
    """Say in how many cells of the diagram the means have each order."""
    readings = study.readings
    if readings is None or not readings.gamma:
        return []
    cells = [(setting_of(*cell), gamma) for cell in readings.cells() for gamma in readings.gamma]
    orders = [order_at(study, gamma_setting(cell, gamma), cell, readings.varied)[0] for cell, gamma in cells]
    counts = {order: orders.count(order) for order in (*ORDERS, SOME_BELOW, NONE_HELPS)}
    said = "; ".join(f"{order}: {count}" for order, count in counts.items())
    return [f"Orders of the means in {len(orders)} cells of codebook, burstiness and gamma: {said}."]
