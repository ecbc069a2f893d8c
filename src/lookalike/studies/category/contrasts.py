"""What the category study contrasts: mAP of each pair of methods, and curves along training (JMLR 5.3).

Numbers are in percent, and their differences in points. Intervals over folds are of the corrected t-test (Nadeau and
Bengio 2003), those over images of a bootstrap; an end is infinite where a longer trace could move it on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import pandas as pd

from lookalike.exhibits.contrasts import LIMITED, REAL, SYNTHETIC, Contrast
from lookalike.ranking.comparison import average_precisions, class_jackknife, compare_methods, corrected_t_test, holm
from lookalike.ranking.rankings import Rankings
from lookalike.studies.category.section import FEW
from lookalike.studies.category.study import K_MAX, PRINTED_TABLE, CategoryStudy, Subset
from lookalike.studies.metrics import rows_in, select

FOLDS, IMAGES, CLASSES = "folds", "images", "jackknife over classes"
AFTER_PEAK = 2
"""A decline can be called slow only where the trace goes on to so many times the step of the peak."""
NEAR = 1.5
"""Up to so many times a validation stop, or a part of it, a traced step stands for it."""
NO_DECLINE = 0.01
"""Curves that have lost less of their peak by the last traced step do not decline."""
AT_STOP, BEST_STOP, SINGLE, DECLINE = "map at stop", "best stop", "single", "decline after the peak"


class Columns(TypedDict, total=False):
    """Columns of a row besides its key."""

    mean: float
    low: float
    high: float
    p: float
    n: int
    interval: str
    printed: float


Gaps = Mapping[tuple[str, str, str, str], float]
"""Paper, its setting and two methods to their printed difference in points."""


def contrasts(study: CategoryStudy) -> list[Contrast]:
    """Every contrast of a study."""
    by_images, gaps_in_print = image_by_image(study), in_print(study)
    parts = (precisions, symmetry, along_training, rankers, transfers, projections, few_images)
    rows = [row for subset in study.all_subsets for row in maps(study, subset, by_images, gaps_in_print)]
    return rows + [row for subset in study.all_subsets for part in parts for row in part(study, subset)]


def row_of(
    study: CategoryStudy, subset: Subset, metric: str, first: str, second: str = "", **columns: Unpack[Columns]
) -> Contrast:
    """A row with the limits of its sides."""
    codes = [f"{side}:{code}" for side in (first, second) for code in study.limits.get((subset.id, side), ())]
    data = SYNTHETIC if study.synthetic else REAL
    return Contrast(subset.id, metric, first, second, data=data, limits=";".join(codes), **columns)


def over_folds(
    study: CategoryStudy,
    subset: Subset,
    metric: str,
    names: tuple[str, str],
    folds: pd.Series,
    **columns: Unpack[Columns],
) -> Contrast:
    """First minus second over the folds that have a difference, given as fractions, in points.

    The folds of a study of halves are the halves, and its interval is a jackknife over their classes.
    """
    known, splits = folds.dropna(), study.splits
    if not len(known):
        return row_of(study, subset, metric, *names, **columns)
    values, n, interval = known.to_numpy(dtype=np.float64), len(known), FOLDS
    if study.halves is None:
        test = corrected_t_test(values, splits.train, splits.test)
    else:
        held = [study.classes_of_half[half] for half in known.index]
        test, n, interval = class_jackknife(values, held), len(set().union(*held)), CLASSES
    ends: Columns = {"mean": 100 * test.mean, "low": 100 * test.low, "high": 100 * test.high}
    given: Columns = {**ends, "p": test.p, "n": n, "interval": interval, **columns}
    return row_of(study, subset, metric, *names, **given)


# Precision ------------------------------------------------------------------------------------------------------------


def oasis_first(study: CategoryStudy, methods: Collection[str]) -> list[str]:
    """Return those of some methods that are run, OASIS first: comparisons and margins are of OASIS minus another."""
    return sorted((method for method in study.run_methods() if method in methods), key="oasis".__ne__)


def compared(study: CategoryStudy) -> pd.DataFrame:
    """Each pair of methods held against each other image by image and fold by fold, from the rankings of every run."""
    names = {file: Path(file).parts[-4:-1] for file in study.files.get("rankings", ())}
    rankings = [
        ({"subset": subset, "method": method, "fold": int(fold)}, Rankings.load(file))
        for file, (subset, method, fold) in names.items()
    ]
    if not rankings:
        return pd.DataFrame({"difference": []})
    averages = average_precisions(rankings)
    known = oasis_first(study, set(averages["method"]))
    sizes = {"n_train": study.splits.train, "n_test": study.splits.test}
    tables = [
        compare_methods(averages, first, methods=known[place:], random_state=study.seed, **sizes)
        for place, first in enumerate(known, 1)
    ]
    return pd.concat(tables, ignore_index=True)


def image_by_image(study: CategoryStudy) -> dict[tuple[str, str, str], dict[str, Any]]:
    """A method minus another with both intervals, by subset and the two; none where a fit of either did not end."""
    table = compared(study)
    rows: Any = table[table["difference"].notna()].to_dict("records")
    # a mean over the folds that happened to end would be of the easier ones
    stopped = set(study.not_converged)
    return {
        (row["subset"], row["reference"], row["method"]): row
        for row in rows
        if not {(row["subset"], row["method"]), (row["subset"], row["reference"])} & stopped
    }


def maps(
    study: CategoryStudy, subset: Subset, by_images: Mapping[tuple[str, str, str], Any], printed_gaps: Gaps
) -> Iterator[Contrast]:
    """Mean average precision of each pair of methods; where rankings are at hand a second interval is over images."""
    for first, second in combinations(oasis_first(study, subset.methods), 2):
        printed, both = printed_gap(printed_gaps, subset, first, second), by_images.get((subset.id, first, second))
        if both is None:
            differences = study.values(subset, first) - study.values(subset, second)
            yield over_folds(study, subset, "map", (first, second), differences, printed=printed)
            continue
        mean, counts = 100 * both["difference"], {FOLDS: int(both["n_folds"]), IMAGES: int(both["n_images"])}
        for interval, kind in ((FOLDS, "t"), (IMAGES, "bootstrap")):
            low, high = (100 * float(both[f"{kind}_{end}"]) for end in ("low", "high"))
            tested: Columns = {"p": float(both["p"])} if interval == FOLDS else {}
            ends: Columns = {"mean": mean, "low": low, "high": high, "n": counts[interval], "interval": interval}
            columns: Columns = {**ends, **tested, "printed": printed}
            yield row_of(study, subset, "map", first, second, **columns)


def printed_gap(gaps: Gaps, subset: Subset, first: str, second: str) -> float:
    """The printed difference of two methods on a subset, which the papers print alike; NaN where none is printed."""
    for setting in subset.printed.items():
        if (*setting, first, second) in gaps:
            return gaps[*setting, first, second]
        if (*setting, second, first) in gaps:
            return -gaps[*setting, second, first]
    return math.nan


def in_print(study: CategoryStudy) -> Gaps:
    """Printed mAP of each method minus each other one, by paper, its setting and the two methods."""
    rows = pd.concat([study.printed_in(table, paper) for paper, table in PRINTED_TABLE.items()])
    rows = rows[(rows["metric"] == "map") & rows["value"].notna()]
    pairs = [
        pair for _, own in rows.groupby(["paper", "setting"], sort=False) for pair in combinations(rows_in(own), 2)
    ]
    return {
        (first.paper, first.setting, first.method, second.method): first.value - second.value for first, second in pairs
    }


def precisions(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Precision at every k of OASIS minus each method, and on average over k; p is adjusted over all k."""
    for method in study.methods:
        if method == "oasis" or not {method, "oasis"} <= set(subset.methods):
            continue
        names = ("oasis", method)
        oasis, other = (study.curves(subset, method, "p@k") for method in names)
        # it may have ended in some folds; a mean over these would be of the easier ones
        if oasis is None or other is None or {(subset.id, method) for method in names} & set(study.not_converged):
            yield row_of(study, subset, "p@k", *names)
            continue
        differences = (oasis - other).T.dropna(axis=0, how="all").dropna(axis=1)
        # at the size of the gallery all rankings have the same images
        last = int(max(oasis.index.max(), other.index.max()))
        counts = [k for k in range(1, min(K_MAX, last - 1) + 1) if k in differences]
        yield over_folds(study, subset, "p@k", names, differences[counts].mean(axis=1))
        rows = [over_folds(study, subset, "p@k", names, differences[k], interval=f"folds, k = {k}") for k in counts]
        adjusted = holm([row.p for row in rows])
        yield from (replace(row, p=float(p)) for row, p in zip(rows, adjusted, strict=True))


# Along training -------------------------------------------------------------------------------------------------------


def is_rising(curve: pd.Series) -> bool:
    """Tell whether the peak of a curve is its last traced step, so that a longer trace might have a higher one."""
    return int(curve.argmax()) == len(curve) - 1


def symmetry(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Yield how symmetric W - I is, which is what OASIS learned."""
    index = study.recorded(subset, "oasis", "learned_symmetry").astype(np.float64)
    if len(index):
        # an index between 0 and 1
        found = over_folds(study, subset, "symmetry of what was learned", ("oasis", ""), index / 100)
        yield replace(found, unit="")


def along_training(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Yield how the test curve of OASIS declines after its peak, and the best stop on it beside that of validation."""
    curves = study.traced(subset, "oasis")
    if curves.empty:
        return
    mean = curves.mean(axis=1)
    rising = is_rising(mean)
    lost = over_folds(study, subset, DECLINE, ("oasis", ""), 1 - curves.ffill().iloc[-1] / curves.max())
    # what is lost soon after the peak may be the beginning of more
    too_soon = rising or mean.index[-1] < AFTER_PEAK * mean.index[int(mean.argmax())]
    yield replace(lost, unit="percent").so_far(above=too_soon)
    stopped = over_folds(study, subset, "map", ("oasis", BEST_STOP), study.values(subset, "oasis") - curves.max())
    # the best stop of a curve that still rises may be higher
    yield stopped.so_far(below=rising)


def rankers(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Averages of rankers beside single ones (JMLR 5.4): their mAP, and how single ones differ.

    "map of rankers" is the mean over all traced steps, and over the single rankers of a fold.
    """
    rows = select(study.numbers, subset=subset.id, metric="ranker_map")
    rows = rows[rows["x"] > 0]
    if rows.empty:
        return
    rows = rows.assign(series=rows["method"].where(rows["method"].isin(study.averages), SINGLE))
    averages = sorted(set(rows["series"]) - {SINGLE}, key=study.averages.__getitem__)
    means = rows.pivot_table(index="fold", columns="series", values="value", aggfunc="mean")
    for average in averages:
        yield over_folds(study, subset, "map of rankers", (average, SINGLE), means[average] - means[SINGLE])
    last = rows[(rows["series"] == SINGLE) & (rows["x"] == rows["x"].max())]
    yield over_folds(study, subset, "standard deviation of rankers", (SINGLE, ""), last.groupby("fold")["value"].std())


def transfers(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Yield the gain of OASIS over the Euclidean distance on the half of the classes that it did not learn from."""
    rows = select(study.numbers, subset=subset.id, metric="new_map")
    if len(rows):
        folds = rows.pivot(index="fold", columns="method", values="value")
        found = over_folds(
            study, subset, "map of new classes", ("oasis", "euclidean"), folds["oasis"] - folds["euclidean"]
        )
        # its own validation images choose its steps
        yield replace(found, limits="")


def projections(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Ways of projecting onto positive matrices (JMLR 6.2): at the validation stop, at their peaks, and after it."""
    traced = [method for method in ("oasis", *study.projected) if study.curves(subset, method) is not None]
    for first, second in combinations(traced, 2):
        yield from at_validation_stop(study, subset, first, second)
        curves = [study.traced(subset, method) for method in (first, second)]
        # on common steps alone, a peak between them would be lost
        end = min(curve.index.max() for curve in curves)
        cut = [curve[curve.index <= end] for curve in curves]
        lost, peaks = [1 - curve.ffill().iloc[-1] / curve.max() for curve in cut], [curve.max() for curve in cut]
        for metric, (own, other) in ((DECLINE, lost), ("map at the peak", peaks)):
            found = over_folds(study, subset, metric, (first, second), own - other)
            unknown = any(is_rising(curve.mean(axis=1)) for curve in cut) or (
                metric != "map at the peak" and max(float(curve.mean()) for curve in lost) < NO_DECLINE
            )
            yield found.so_far(below=unknown, above=unknown)


def at_validation_stop(study: CategoryStudy, subset: Subset, first: str, second: str) -> Iterator[Contrast]:
    """Test mAP of two traced methods at the traced step nearest to the mean validation stop of OASIS."""
    stops = study.stops(subset)
    curves = [study.traced(subset, method) for method in (first, second)]
    steps = curves[0].index.intersection(curves[1].index).to_numpy(dtype=np.int64)
    if stops.empty or not len(steps):
        return
    at_end = study.late_stops(subset)
    nearest = int(steps[np.abs(steps - stops.mean()).argmin()])
    if {first, second} <= set(study.projected):
        given = [study.spec(method).parameters.get("projection_interval") or math.inf for method in (first, second)]
        # until its first projection on the way, a scheme is the one that projects at the end alone
        if min(given) > nearest:
            return
    found = over_folds(study, subset, AT_STOP, (first, second), curves[0].T[nearest] - curves[1].T[nearest])
    late = at_end.sum() >= max(1, LIMITED * len(at_end))
    known = not late and stops.mean() / NEAR <= nearest <= stops.mean() * NEAR
    # a way of projecting that still rises may have its best stop later than OASIS
    known = known and (first == "oasis" or not any(is_rising(curve.mean(axis=1)) for curve in curves))
    yield found.so_far(below=not known, above=not known)


def few_images(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Test mAP of each pair of methods that learn from fewer images of each class."""
    rows = select(study.numbers, subset=subset.id, metric="map of few images")
    for n_images in sorted(map(float, set(rows["x"]))):
        values = select(rows, x=n_images).pivot(index="fold", columns="method", values="value")
        known = [method for method in study.learned_in(FEW) if method in values]
        for names in combinations(known, 2):
            metric, differences = f"map of {n_images:.0f} images a class", values[names[0]] - values[names[1]]
            yield over_folds(study, subset, metric, names, differences)
