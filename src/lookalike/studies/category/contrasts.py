"""What the category study contrasts: pairs of methods over folds and images, and curves along training (JMLR 5.3).

Numbers are in percent, and their differences in points. Intervals over folds are of the corrected t-test (Nadeau and
Bengio 2003), those over images of a bootstrap; an end is infinite where a longer trace could move it on.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.seeds import generator
from lookalike.exhibits.contrasts import LIMITED, Contrast, over_folds
from lookalike.exhibits.results import LAST_STEP, select
from lookalike.ranking.comparison import class_jackknife, clustered_bootstrap, holm, paired
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
from lookalike.studies.contrasts import Compared, differences, limits_of

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
OF_CLASSES = [f"{metric} of {half} classes" for half in ("learned", "new") for metric in ("map", "top 10")]
Precisions = Mapping[tuple[str, str], Mapping[int, pd.Series]]
"""Subset and method, and fold, to the average precision of each query."""


def contrasts(study: CategoryStudy) -> list[Contrast]:
    """Return every contrast of a study."""
    compared = (part for subset in study.all_subsets for part in pairs_of(study, subset))
    parts = product(study.all_subsets, (along_training, projections))
    traced = (row for subset, part in parts for row in part(study, subset))
    return [*differences(study, compared, partial(tested, study, precisions_of_queries(study))), *traced]


def pairs_of(study: CategoryStudy, subset: Subset) -> Iterator[Compared]:
    """Yield the pairs of methods, or of rankers, that are compared on a subset in numbers of each fold."""
    every, equal = select(study.results, setting=subset.id), study.equal_choices
    # of a method that lost a fit, the folds that ended are the easier ones
    lost = [method for method in every["method"].unique() if study.limits.has_lost(subset.id, method)]
    known = every[~every["method"].isin(lost)]

    def compared(metric: str, pairs: Iterable[tuple[str, str]], **about: Any) -> Compared:
        return Compared(subset.id, metric, pairs, select(known, metric=metric), **about)

    run = [name for name in study.run_methods() if name in subset.methods and name not in study.equal_runs.values()]
    # comparisons are of OASIS minus another
    yield compared("map", combinations(sorted(run, key="oasis".__ne__), 2), printed=in_print(study, subset))
    yield compared("map, equal", combinations(equal, 2), runs=equal, is_optional=True)
    others = [method for method in study.methods if method != "oasis" and {method, "oasis"} <= set(subset.methods)]
    yield compared("p@k", product(["oasis"], others))
    yield compared(SYMMETRY, [("oasis", "")], is_optional=True)
    yield compared(OF_RANKERS, product(study.averages, [SINGLE]), is_optional=True)
    yield compared(SPREAD_OF_RANKERS, [(SINGLE, "")], is_optional=True)
    for metric in OF_CLASSES:  # its own validation images choose its steps
        yield compared(metric, [("oasis", "euclidean")], runs={"oasis": "", "euclidean": ""}, is_optional=True)
    for n_images in study.few_images.images if study.few_images is not None else ():
        own = select(every, metric=FEW_IMAGES, x=n_images).drop(columns="x")
        pairs = combinations([method for method in study.learned_in(FEW) if method in set(own["method"])], 2)
        yield Compared(subset.id, f"map of {n_images} images a class", pairs, own)


def in_print(study: CategoryStudy, subset: Subset) -> dict[str, float]:
    """Return the printed mAP of each method on a subset; papers that print both do so alike."""
    found: dict[str, float] = {}
    for paper, setting in reversed([*subset.printed.items()]):
        rows = select(study.printed_in(PRINTED_TABLE[paper], paper), setting=setting, metric="map")
        rows = rows.dropna(subset="value")
        found |= dict(zip(rows["method"], rows["value"], strict=True))
    return found


def precisions_of_queries(study: CategoryStudy) -> Precisions:
    """Return average precision by query image of each subset and method, and fold, from the rankings of every run."""
    found: dict[tuple[str, str], dict[int, pd.Series]] = defaultdict(dict)
    for file in study.paths("rankings"):
        (subset, method, fold), rankings = file.parts[-4:-1], Rankings.load(file)
        found[subset, method][int(fold)] = pd.Series(rankings.average_precision(), rankings.query_ids)
    return found


def tested(study: CategoryStudy, queries: Precisions, row: Contrast, gaps: pd.Series) -> list[Contrast]:
    """Return a row with its intervals: over folds and, where rankings are at hand, over images; or at every k."""
    if row.metric == "p@k":
        return at_every_k(study, row, gaps)
    over, first, second = over_repeats(study, row, gaps), *((row.setting, name) for name in (row.first, row.second))
    if row.metric != "map" or not {first, second} <= queries.keys():
        return [over]
    table = paired(queries[first], queries[second])
    # the pair is sorted so that exchanging the two only turns the sign
    stream = generator(study.seed, "comparison", row.setting, *sorted((row.first, row.second)))
    low, high = (100 * end for end in clustered_bootstrap(table, random_state=stream)[1:])
    return [over, replace(over, low=low, high=high, p=math.nan, n=table["image_id"].nunique(), interval=IMAGES)]


def at_every_k(study: CategoryStudy, row: Contrast, gaps: pd.Series) -> list[Contrast]:
    """Return a row on average over k, and one at each k, whose p is adjusted over all k."""
    by_k: Any = gaps.unstack("x")
    # at the size of the gallery all rankings have the same images
    by_k = by_k[[k for k in by_k if k <= min(K_MAX, max(by_k) - 1)]].dropna(axis=1)
    rows = [replace(over_repeats(study, row, by_k[k]), interval=f"folds, k = {k:.0f}") for k in by_k]
    adjusted = zip(rows, holm([row.p for row in rows]), strict=True)
    return [over_repeats(study, row, by_k.mean(axis=1)), *(replace(row, p=float(p)) for row, p in adjusted)]


def over_repeats(study: CategoryStudy, row: Contrast, values: pd.Series) -> Contrast:
    """Return a row with its interval over the repeats that have a value; without one, as it is."""
    known = values.dropna()
    if known.empty:
        return row
    if study.halves is None:
        return over_folds(row, known, study.splits.train, study.splits.test)
    held = [study.classes_of_half[int(half)] for half in known.index]
    test, n = class_jackknife(known.to_numpy(), held), len(set().union(*held))
    return replace(row, mean=test.mean, low=test.low, high=test.high, p=test.p, n=n, interval=CLASSES)


def contrast(study: CategoryStudy, subset: Subset, metric: str, first: str, second: str, values: pd.Series) -> Contrast:
    """Return what the values of its repeats, which are fractions, say in points."""
    limits = limits_of(study, [subset.id], first, second)
    row = Contrast(subset.id, metric, first, second, data=study.origin, limits=limits)
    return over_repeats(study, row, 100 * values)


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
    lost = contrast(study, subset, DECLINE, "oasis", "", study.values(subset.id, "oasis", DECLINE))
    # what is lost soon after the peak may be the beginning of more
    too_soon = rising or mean.index[-1] < AFTER_PEAK * mean.index[int(mean.argmax())]
    yield replace(lost, unit="percent").left_open(above=too_soon)
    gaps = study.values(subset.id, "oasis") - study.values(subset.id, "oasis", PEAK)
    # the best stop of a curve that still rises may be higher
    yield contrast(study, subset, "map", "oasis", BEST_STOP, gaps).left_open(below=rising)


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
            found = contrast(study, subset, metric, first, second, own - other)
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
    found = contrast(study, subset, AT_STOP, first, second, own.T[nearest] - other.T[nearest])
    yield found.left_open(below=not known, above=not known)
