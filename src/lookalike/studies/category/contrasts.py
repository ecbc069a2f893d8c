"""What the category study contrasts: pairs of methods over folds and images, and curves along training (JMLR 5.3).

Numbers are in percent, and their differences in points. Intervals over folds are of the corrected t-test (Nadeau and
Bengio 2003), those over images of a bootstrap; an end is infinite where a longer trace could move it on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lookalike.exhibits.contrasts import LIMITED, Contrast, over_folds
from lookalike.exhibits.results import LAST_STEP
from lookalike.ranking.comparison import average_precisions, class_jackknife, compare_methods, holm
from lookalike.ranking.rankings import Rankings
from lookalike.studies.category.results import (
    DECLINE,
    FEW_IMAGES,
    OF_RANKERS,
    PEAK,
    SINGLE,
    SPREAD_OF_RANKERS,
    SYMMETRY,
    VALIDATION_STOP,
)
from lookalike.studies.category.study import FEW, PRINTED_TABLE, CategoryStudy, Subset

IMAGES, CLASSES = "images", "jackknife over classes"
K_MAX = 60
"""Neighbours that precision curves show; the papers' text does not say how many they show."""
AFTER_PEAK = 2
"""A decline can be called slow only where the trace goes on to so many times the step of the peak."""
NEAR = 1.5
"""Up to so many times a validation stop, or a part of it, a traced step stands for it."""
NO_DECLINE = 1.0
"""Curves that have lost less of their peak, in percent, by the last traced step do not decline."""
AT_STOP, BEST_STOP = "map at stop", "best stop"
HALVES = ("learned", "new")
Gaps = Mapping[tuple[str, str], float]
"""Two methods to their printed difference in points."""


def contrasts(study: CategoryStudy) -> list[Contrast]:
    """Return every contrast of a study."""
    by_images = image_by_image(study)
    parts = (single_numbers, precisions_at_k, along_training, projections)
    rows = [row for subset in study.all_subsets for row in maps(study, subset, by_images)]
    return rows + [row for subset in study.all_subsets for part in parts for row in part(study, subset)]


def row_of(study: CategoryStudy, subset: Subset, metric: str, first: str, second: str = "") -> Contrast:
    """Return a row without a number, with the limits of its methods."""
    codes = [f"{side}:{code}" for side in (first, second) for code in study.limits_of(subset.id, side)]
    return Contrast(subset.id, metric, first, second, data=study.origin, limits=";".join(codes))


def tested(study: CategoryStudy, row: Contrast, values: pd.Series) -> Contrast:
    """Return a row with the interval over the folds that have a number, given as fractions, in points.

    The repeats of a study of halves are the halves, and its interval is a jackknife over their classes.
    """
    known = 100 * values.dropna()
    if known.empty:
        return row
    if study.halves is None:
        return over_folds(row, known, study.splits.train, study.splits.test)
    held = [study.classes_of_half[int(half)] for half in known.index]
    test, n = class_jackknife(known.to_numpy(), held), len(set().union(*held))
    return replace(row, mean=test.mean, low=test.low, high=test.high, p=test.p, n=n, interval=CLASSES)


def gap(study: CategoryStudy, subset: Subset, metric: str, first: str, second: str, name: str = "") -> Contrast:
    """Return first minus second in a metric of single numbers, called by its name."""
    values = [study.values(subset.id, method, metric) for method in (first, second)]
    return tested(study, row_of(study, subset, name or metric, first, second), values[0] - values[1])


# Precision ------------------------------------------------------------------------------------------------------------


def oasis_first(methods: Iterable[str]) -> list[str]:
    """Return methods, OASIS first: comparisons are of OASIS minus another."""
    return sorted(methods, key="oasis".__ne__)


def image_by_image(study: CategoryStudy) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return a method minus another with both intervals, by subset and the two, from the rankings of every run.

    There is none where a fit of either did not end: a mean over the folds that ended would be of the easier ones.
    """
    names = {file: file.parts[-4:-1] for file in study.paths("rankings")}
    rankings = [
        ({"subset": subset, "method": method, "fold": int(fold)}, Rankings.load(file))
        for file, (subset, method, fold) in names.items()
    ]
    if not rankings:
        return {}
    averages = average_precisions(rankings)
    again = {*study.equal_runs.values()}
    known = oasis_first(name for name in study.run_methods() if name in set(averages["method"]) - again)
    sizes = {"n_train": study.splits.train, "n_test": study.splits.test}
    tables = [
        compare_methods(averages, first, methods=known[place:], random_state=study.seed, **sizes)
        for place, first in enumerate(known, 1)
    ]
    rows: Any = pd.concat(tables, ignore_index=True).dropna(subset="difference").to_dict("records")
    keyed = {(row["subset"], row["reference"], row["method"]): row for row in rows}
    return {
        (subset, *pair): row
        for (subset, *pair), row in keyed.items()
        if not any(study.limits.has_lost(subset, method) for method in pair)
    }


def maps(
    study: CategoryStudy, subset: Subset, by_images: Mapping[tuple[str, str, str], Mapping[str, Any]]
) -> Iterator[Contrast]:
    """Mean average precision of each pair of methods; where rankings are at hand a second interval is over images."""
    printed = in_print(study, subset)
    again = {*study.equal_runs.values()}
    run = [method for method in study.run_methods() if method in subset.methods and method not in again]
    for first, second in combinations(oasis_first(run), 2):
        row = replace(row_of(study, subset, "map", first, second), printed=printed.get((first, second), math.nan))
        both = by_images.get((subset.id, first, second))
        if both is None:
            yield tested(study, row, study.values(subset.id, first) - study.values(subset.id, second))
            continue
        for interval, kind, n in (("folds", "t", "n_folds"), (IMAGES, "bootstrap", "n_images")):
            low, high = (100 * float(both[f"{kind}_{end}"]) for end in ("low", "high"))
            p = float(both["p"]) if kind == "t" else math.nan
            yield replace(
                row, mean=100 * both["difference"], low=low, high=high, p=p, n=int(both[n]), interval=interval
            )
    for first, second in combinations(study.methods if study.equal_runs else (), 2):
        found = gap(study, subset, "map, equal", first, second)
        if found.n:
            limits = row_of(
                study, subset, "map", *(study.equal_runs.get(name, name) for name in (first, second))
            ).limits
            yield replace(found, limits=limits)


def in_print(study: CategoryStudy, subset: Subset) -> Gaps:
    """Return the printed mAP of each method minus each other one on a subset; papers that print both do so alike."""
    found: dict[tuple[str, str], float] = {}
    for paper, setting in reversed([*subset.printed.items()]):
        rows = study.printed_in(PRINTED_TABLE[paper], paper)
        rows = rows[(rows["setting"] == setting) & (rows["metric"] == "map") & rows["value"].notna()]
        levels = dict(zip(rows["method"], rows["value"], strict=True))
        found |= {(first, second): levels[first] - levels[second] for first in levels for second in levels}
    return found


def precisions_at_k(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Precision at every k of OASIS minus each method, and on average over k; p is adjusted over all k."""
    others = [method for method in study.methods if method != "oasis" and {method, "oasis"} <= set(subset.methods)]
    for method in others:
        row = row_of(study, subset, "p@k", "oasis", method)
        oasis, other = (study.curves(subset.id, name, "p@k") for name in ("oasis", method))
        # it may have ended in some folds; a mean over these would be of the easier ones
        if oasis.empty or other.empty or any(study.limits.has_lost(subset.id, name) for name in ("oasis", method)):
            yield row
            continue
        differences = (oasis - other).T.dropna(axis=0, how="all").dropna(axis=1)
        # at the size of the gallery all rankings have the same images
        last = int(max(oasis.index.max(), other.index.max()))
        counts = [k for k in range(1, min(K_MAX, last - 1) + 1) if k in differences]
        yield tested(study, row, differences[counts].mean(axis=1))
        rows = [replace(tested(study, row, differences[k]), interval=f"folds, k = {k}") for k in counts]
        adjusted = holm([row.p for row in rows])
        yield from (replace(row, p=float(p)) for row, p in zip(rows, adjusted, strict=True))


def single_numbers(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Yield what one number of each fold says: symmetry, rankers, new classes, few images."""
    symmetry = study.values(subset.id, "oasis", SYMMETRY)
    if len(symmetry):  # an index between 0 and 1
        yield replace(tested(study, row_of(study, subset, SYMMETRY, "oasis"), symmetry / 100), unit="")
    for average in study.averages:
        found = gap(study, subset, OF_RANKERS, average, SINGLE)
        if found.n:
            yield found
    spread = study.values(subset.id, SINGLE, SPREAD_OF_RANKERS)
    if len(spread):
        yield tested(study, row_of(study, subset, SPREAD_OF_RANKERS, SINGLE), spread)
    for half in HALVES:
        for metric in (f"map of {half} classes", f"top 10 of {half} classes"):
            found = gap(study, subset, metric, "oasis", "euclidean")
            if found.n:  # its own validation images choose its steps
                yield replace(found, limits="")
    curves = {method: study.curves(subset.id, method, FEW_IMAGES) for method in study.learned_in(FEW)}
    for n_images in study.few_images.images if study.few_images is not None else ():
        known = {method: curve.T[n_images] for method, curve in curves.items() if n_images in curve.index}
        for first, second in combinations(known, 2):
            row = row_of(study, subset, f"map of {n_images} images a class", first, second)
            yield tested(study, row, known[first] - known[second])


# Along training -------------------------------------------------------------------------------------------------------


def is_rising(curves: pd.DataFrame) -> bool:
    """Tell whether a mean curve has its peak at the last step, so that a longer trace might have a higher one."""
    mean = curves.mean(axis=1)
    return int(mean.argmax()) == len(mean) - 1


def along_training(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Yield how the test curve of OASIS declines after its peak, and the best stop on it beside that of validation."""
    curves = study.curves(subset.id, "oasis")
    if curves.empty:
        return
    mean, rising = curves.mean(axis=1), is_rising(curves)
    lost = tested(study, row_of(study, subset, DECLINE, "oasis"), study.values(subset.id, "oasis", DECLINE))
    # what is lost soon after the peak may be the beginning of more
    too_soon = rising or mean.index[-1] < AFTER_PEAK * mean.index[int(mean.argmax())]
    yield replace(lost, unit="percent").left_open(above=too_soon)
    gaps = study.values(subset.id, "oasis") - study.values(subset.id, "oasis", PEAK)
    # the best stop of a curve that still rises may be higher
    yield tested(study, row_of(study, subset, "map", "oasis", BEST_STOP), gaps).left_open(below=rising)


def projections(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Ways of projecting onto positive matrices (JMLR 6.2): at the validation stop, at their peaks, and after it."""
    curves = {method: study.curves(subset.id, method) for method in ("oasis", *study.projected)}
    traced = [method for method, curve in curves.items() if len(curve)]
    for first, second in combinations(traced, 2):
        pair = {method: curves[method] for method in (first, second)}
        yield from at_validation_stop(study, subset, pair)
        # on common steps alone, a peak between them would be lost
        end = min(curve.index.max() for curve in pair.values())
        cut = [curve[curve.index <= end] for curve in pair.values()]
        peaks, lost = [curve.max() for curve in cut], [1 - curve.ffill().iloc[-1] / curve.max() for curve in cut]
        is_open = any(map(is_rising, cut))
        for metric, (own, other) in ((PEAK, peaks), (DECLINE, lost)):
            found = tested(study, row_of(study, subset, metric, first, second), own - other)
            yield found.left_open(below=is_open, above=is_open)
            is_open |= max(100 * float(share.mean()) for share in lost) < NO_DECLINE


def at_validation_stop(study: CategoryStudy, subset: Subset, curves: Mapping[str, pd.DataFrame]) -> Iterator[Contrast]:
    """Yield test mAP of two traced methods at the traced step nearest to the mean validation stop of OASIS."""
    stops = study.values(subset.id, "oasis", VALIDATION_STOP)
    (first, own), (second, other) = curves.items()
    steps = own.index.intersection(other.index).to_numpy(dtype=np.int64)
    if stops.empty or not len(steps):
        return
    nearest = int(steps[np.abs(steps - stops.mean()).argmin()])
    if {first, second} <= set(study.projected):
        given = [study.spec(method).parameters.get("projection_interval") or math.inf for method in curves]
        # until its first projection on the way, a scheme is the one that projects at the end alone
        if min(given) > nearest:
            return
    at_end = study.values(subset.id, "oasis", LAST_STEP).reindex(stops.index)
    late = at_end.sum() >= max(1, LIMITED * len(at_end))
    known = not late and stops.mean() / NEAR <= nearest <= stops.mean() * NEAR
    # a way of projecting that still rises may have its best stop later than OASIS
    known = known and (first == "oasis" or not any(map(is_rising, curves.values())))
    found = tested(study, row_of(study, subset, AT_STOP, first, second), own.T[nearest] - other.T[nearest])
    yield found.left_open(below=not known, above=not known)
