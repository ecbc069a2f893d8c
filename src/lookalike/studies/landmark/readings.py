"""What simulated bags of words say of SOML: in which order methods come, and which reading is near print."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import pandas as pd

from lookalike.studies.landmark.rankings import MAP, SPARSITY
from lookalike.studies.landmark.settings import gamma_setting, setting_of

if TYPE_CHECKING:
    from lookalike.studies.landmark.study import LandmarkStudy

IN_ORDER, TIED = "S-TG and S-DA above OASIS, and OASIS above TF-IDF, as in print", "not told apart from print's order"
SOME_BELOW, NONE_HELPS = "OASIS above S-TG or S-DA", "TF-IDF above a method that learns"
ORDERS = (IN_ORDER, TIED, SOME_BELOW, NONE_HELPS)
"""What differences beyond their intervals say of the order of methods; print's own S-TG and S-DA change places."""
ABOVE = (("soml-da", "oasis-diagonal"), ("soml-tg", "oasis-diagonal"), ("oasis-diagonal", "tfidf"))
"""Pairs in print's order; S-TG and S-DA are above TF-IDF too."""


def level_of(study: LandmarkStudy, setting: str, metric: str, method: str) -> float:
    """Return a number that contrasts hold; NaN where there is none."""
    rows = study.contrasts.intervals(setting, metric, method)
    return rows[0].mean if rows else math.nan


def order_at(study: LandmarkStudy, with_gamma: str, setting: str, varied: str) -> str:
    """Return which of `ORDERS` the methods have, where one of them has some gamma."""

    def side(first: str, second: str) -> int:
        found = study.contrasts.intervals(with_gamma if varied in (first, second) else setting, MAP, first, second)
        return sum((row.low > 0) - (row.high < 0) for row in found)

    if min(side(method, "tfidf") for method in ("soml-da", "soml-tg", "oasis-diagonal")) < 0:
        return NONE_HELPS
    sides = [side(*pair) for pair in ABOVE]
    return SOME_BELOW if min(sides) < 0 else IN_ORDER if min(sides) > 0 else TIED


def distance_from_print(study: LandmarkStudy, metric: str, method: str, burstiness: float) -> float:
    """Return the mean distance of a method's numbers from the printed ones over codebooks, in points."""
    sizes = study.readings.words if study.readings is not None else []
    cells = [study.contrasts.intervals(setting_of(size, burstiness), metric, method) for size in sizes]
    return float(pd.Series([abs(rows[0].mean - rows[0].printed) for rows in cells if rows]).mean())


def nearest_burstiness(study: LandmarkStudy, metric: str, method: str) -> float:
    """Return the burstiness with which a method is nearest to print."""
    every = study.readings.burstiness if study.readings is not None else [math.nan]
    distances = {burstiness: distance_from_print(study, metric, method, burstiness) for burstiness in every}
    return min(every, key=lambda burstiness: (math.isnan(distances[burstiness]), distances[burstiness]))


def both_nearest(study: LandmarkStudy) -> tuple[float, float]:
    """Return the burstiness nearest to print by S-TG's sparsity, whose readings hardly differ, and by TF-IDF's mAP."""
    return nearest_burstiness(study, SPARSITY, "soml-tg"), nearest_burstiness(study, MAP, "tfidf")


def distance_words(study: LandmarkStudy) -> list[str]:
    """Say how far each reading is from the printed sparsities, with the burstiness that is nearest to print."""
    methods, found = study.readings.methods if study.readings is not None else [], []
    for burstiness, base in product(dict.fromkeys(both_nearest(study)), ("soml-tg", "soml-da")):
        own = [method for method in methods if method.startswith(base)]
        gaps = {method: distance_from_print(study, SPARSITY, method, burstiness) for method in own}
        said = ", ".join(f"{study.title_of(name)} {gaps[name]:.1f}" for name in sorted(own, key=gaps.__getitem__))
        found.append(f"Mean distance from the printed sparsities in points, burstiness {burstiness:g}: {said}.")
    return found


def order_words(study: LandmarkStudy) -> list[str]:
    """Say in how many cells of the diagram methods have each order."""
    readings = study.readings
    if readings is None or not readings.gamma:
        return []
    cells = [(setting_of(*cell), gamma) for cell in readings.cells() for gamma in readings.gamma]
    orders = [order_at(study, gamma_setting(cell, gamma), cell, readings.varied) for cell, gamma in cells]
    said = "; ".join(f"{order}: {orders.count(order)}" for order in ORDERS)
    return [f"In {len(orders)} cells of codebook, burstiness and gamma, by 95% intervals: {said}."]
