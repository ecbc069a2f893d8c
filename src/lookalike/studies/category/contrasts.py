"""What the category study contrasts: mAP of each pair of methods, curves along training, and training times (JMLR 5.3).

Numbers are in percent, and their differences in points. Intervals over folds are of the corrected t-test (Nadeau and
Bengio 2003), those over images of a bootstrap; an end is infinite where a longer trace or time limit could move it on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import pandas as pd

from lookalike.exhibits.contrasts import (
    LIMITED,
    PRINT,
    REAL,
    SO_FAR,
    SYNTHETIC,
    TOO_FEW,
    TRACED_STEPS,
    VACUOUS,
    Contrast,
    Unit,
    printed_setting,
)
from lookalike.ranking.comparison import average_precisions, compare_methods, corrected_t_test, holm
from lookalike.ranking.rankings import Rankings
from lookalike.studies.category.section import FEW
from lookalike.studies.category.study import K_MAX, PRINTED_TABLE, TEN_CLASSES, CategoryStudy, Subset
from lookalike.studies.category.times import ON_ROWS, minutes_of, triplets_of
from lookalike.studies.metrics import rows_in, select

FOLDS, IMAGES = "folds", "images"
SATURATED = 0.95
"""A curve has saturated where it has made this share of its rise."""
AFTER_PEAK = 2
"""A decline can be called slow only where the trace goes on to so many times the step of the peak."""
NEAR = 1.5
"""Up to so many times a validation stop, or a part of it, a traced step stands for it."""
NO_DECLINE = 0.01
"""Curves that have lost less of their peak by the last traced step do not decline."""
BEYOND_BOUND = "mistakes beyond the bound"
AT_ONE_OMEGA = "training time at one omega"
AT_STOP, BEST_STOP, START, SINGLE = "map at stop", "best stop", "OASIS at its start", "single"


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
    """Every contrast of a study but those of times."""
    by_images, gaps_in_print = image_by_image(study), in_print(study)
    along = (along_training, rankers, mistakes, transfers, projections)
    parts = (gains, precisions, *along, choices, few_images, rotations)
    rows = [row for subset in study.all_subsets for row in maps(study, subset, by_images, gaps_in_print)]
    rows += printed_rows(gaps_in_print)
    return rows + [row for subset in study.all_subsets for part in parts for row in part(study, subset)]


def row_of(
    study: CategoryStudy, subset: Subset, metric: str, first: str, second: str = "", **columns: Unpack[Columns]
) -> Contrast:
    """A row with the limits of its sides."""
    # steps on rows are as many as validation gives OASIS
    sides = dict.fromkeys((first, second, *(["oasis"] if ON_ROWS in (first, second) else [])))
    codes = [f"{side}:{code}" for side in sides for code in study.limits.get((subset.id, side), ())]
    data = SYNTHETIC if study.synthetic else REAL
    return Contrast(subset.id, metric, first, second, data=data, limits=";".join(codes), **columns)


def level(
    study: CategoryStudy,
    subset: Subset,
    metric: str,
    sides: str | tuple[str, str],
    value: float,
    unit: Unit = "",
    **columns: Unpack[Columns],
) -> Contrast:
    """A number, of one method or of two, that nothing varies."""
    names = (sides,) if isinstance(sides, str) else sides
    given: Columns = {"mean": value, "low": value, "high": value, **columns}
    return replace(row_of(study, subset, metric, *names, **given), unit=unit)


def over_folds(
    study: CategoryStudy,
    subset: Subset,
    metric: str,
    names: tuple[str, str],
    folds: pd.Series,
    **columns: Unpack[Columns],
) -> Contrast:
    """First minus second over the folds that have a difference, given as fractions, in points."""
    known, splits = folds.dropna().to_numpy(dtype=np.float64), study.splits
    if not len(known):
        return row_of(study, subset, metric, *names, **columns)
    test = corrected_t_test(known, splits.train, splits.test)
    ends: Columns = {"mean": 100 * test.mean, "low": 100 * test.low, "high": 100 * test.high}
    given: Columns = {**ends, "p": test.p, "n": len(known), "interval": FOLDS, **columns}
    return row_of(study, subset, metric, *names, **given)


# Precision ------------------------------------------------------------------------------------------------------------


def oasis_first(study: CategoryStudy, methods: Collection[str]) -> list[str]:
    """Return those of some methods that are run, OASIS first: comparisons and margins are of OASIS minus another."""
    return sorted((method for method in study.run_methods() if method in methods), key="oasis".__ne__)


def compared(study: CategoryStudy) -> pd.DataFrame:
    """Each pair of methods held against each other image by image and fold by fold, from the rankings of every run.

    p-values of OASIS are adjusted over the methods of a family; another pair may be in several claims or none, and
    stands for itself.
    """
    names = {file: Path(file).parts[-4:-1] for file in study.files.get("rankings", ())}
    rankings = [
        ({"subset": subset, "method": method, "fold": int(fold)}, Rankings.load(file))
        for file, (subset, method, fold) in names.items()
    ]
    if not rankings:
        return pd.DataFrame({"difference": []})
    averages = average_precisions(rankings)
    known = oasis_first(study, set(averages["method"]))
    others = {first: {name: [name] for name in known[place:]} for place, first in enumerate(known, 1)}
    sizes = {"n_train": study.splits.train, "n_test": study.splits.test}
    tables = [
        compare_methods(averages, first, families=families, random_state=study.seed, **sizes)
        for first, families in (others | {"oasis": study.families()}).items()
        if families
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
            tested: Columns = {"p": float(both["p_holm"])} if interval == FOLDS else {}
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


def printed_rows(gaps: Gaps) -> Iterator[Contrast]:
    """The printed differences as rows of their own, of the papers' settings."""
    for (paper, setting, first, second), gap in gaps.items():
        names = (printed_setting(paper, setting), "map", first, second)
        yield Contrast(*names, gap, gap, gap, 0.0, printed=gap, data=PRINT)


def gains(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Yield the gains over the Euclidean distance on training images, and how much larger they are than on others."""
    for method in study.methods:
        if method == "euclidean" or method not in subset.methods:
            continue
        names = (method, "euclidean")
        on_training, on_test = (
            study.values(subset, method, metric) - study.values(subset, "euclidean", metric)
            for metric in ("train_map", "map")
        )
        yield over_folds(study, subset, "map of training images", names, on_training)
        yield over_folds(study, subset, "gain on training beyond test images", names, on_training - on_test)


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


def mean_curve(study: CategoryStudy, subset: Subset, metric: str = "traced_map", method: str = "oasis") -> pd.Series:
    """Mean over folds of a traced number, by step; empty where it was not traced."""
    curves = study.curves(subset, method, metric)
    return pd.Series(dtype=float) if curves is None else curves.dropna().mean(axis=1)


def is_rising(curve: pd.Series) -> bool:
    """Tell whether the peak of a curve is its last traced step, so that a longer trace might have a higher one."""
    return int(curve.argmax()) == len(curve) - 1


def along_training(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Yield when the test curve of OASIS saturates, peaks and declines, where validation stops it, and its symmetry."""
    index = study.recorded(subset, "oasis", "symmetry_index").astype(np.float64)
    if len(index):
        printed = study.printed_number("symmetry_index")
        yield level(study, subset, "symmetry index", "oasis", float(index.mean()), n=len(index), printed=printed)
    curve = mean_curve(study, subset)
    if curve.empty:
        return
    start, peak, last = float(curve.iloc[0]), float(curve.max()), int(curve.index[-1])
    rising, peak_step = is_rising(curve), int(curve.index[int(curve.argmax())])
    reached = int(np.argmax(curve.to_numpy() >= start + SATURATED * (peak - start)))
    # it saturates somewhere after the traced step before
    before, step = (float(curve.index[at]) if peak > start else math.inf for at in (max(reached - 1, 0), reached))
    # the papers tell it of ten classes alone
    is_printed = bool({*subset.printed.values()} & {*TEN_CLASSES, "easy10"})
    in_print = study.printed_number("var10_saturation_steps") if is_printed else math.nan
    found = level(study, subset, "saturation", "oasis", step, "steps", printed=in_print)
    found = replace(found, low=before, interval=TRACED_STEPS)
    # a longer trace of a curve that still rises could only saturate later
    yield found.so_far(above=rising)
    n_triplets = study.n_triplets(subset)
    if n_triplets > 0:
        times, in_print = 100 / n_triplets, 100 * in_print / study.printed_number("triplets_of_ten_classes")
        ends: Columns = {"mean": times * step, "low": times * before, "high": times * step, "printed": in_print}
        share = replace(found, metric="share of triplets at saturation", unit="percent", **ends)
        yield share.so_far(above=rising)
    lost = 100 * (1 - float(curve.iloc[-1] / peak))
    # what is lost soon after the peak may be the beginning of more
    too_soon = rising or last < AFTER_PEAK * peak_step
    yield level(study, subset, "decline after the peak", "oasis", lost, "percent").so_far(above=too_soon)
    test_curves = study.traced(subset, "oasis")
    stopped = over_folds(study, subset, "map", ("oasis", BEST_STOP), study.values(subset, "oasis") - test_curves.max())
    # the best stop of a curve that still rises may be higher
    yield stopped.so_far(below=rising)
    at_start = 100 * (test_curves.T[0] - study.values(subset, "euclidean")).dropna()
    if len(at_start):
        apart = float(at_start.abs().max())
        names = (START, "euclidean")
        yield level(study, subset, "largest difference of map", names, apart, "points", n=len(at_start))
    traced = mean_curve(study, subset, "symmetry_index")
    # the paper speaks of the steps until OASIS converges, which is where validation images stop it
    stops = study.recorded(subset, "oasis", "n_steps").astype(np.float64)
    traced = traced[traced.index <= (stops.mean() if len(stops) else math.inf)]
    if len(traced):
        yield level(study, subset, "symmetry index at the start", "oasis", float(traced.iloc[0]))
        change, rise = float(traced.iloc[-1] - traced.iloc[0]), float((traced - traced.cummin()).max())
        # where test mAP still rises, OASIS has not converged, and the index goes on to change
        yield level(study, subset, "change of the symmetry index", "oasis", change).so_far(below=rising, above=rising)
        yield level(study, subset, "rise of the symmetry index", "oasis", rise)


def rankers(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Averages of rankers beside single ones (JMLR 5.4): their mAP, their steps, and how single ones differ.

    "map of rankers" is the mean over all traced steps, and over the single rankers of a fold.
    """
    rows = select(study.numbers, subset=subset.id, metric="ranker_map")
    rows = rows[rows["x"] > 0]
    if rows.empty:
        return
    rows = rows.assign(series=rows["method"].where(rows["method"].isin(study.averages), SINGLE))
    averages = sorted(set(rows["series"]) - {SINGLE}, key=study.averages.__getitem__)
    means = rows.pivot_table(index="fold", columns="series", values="value", aggfunc="mean")
    curves = rows.groupby(["series", "x"])["value"].mean()
    single = curves.loc[SINGLE]
    for average in averages:
        yield over_folds(study, subset, "map of rankers", (average, SINGLE), means[average] - means[SINGLE])
        reached = curves.loc[average][curves.loc[average] >= single.max()].index
        ratio = float(reached[0] / single.idxmax()) if len(reached) else math.inf
        found = level(study, subset, "steps to the best single ranker", (average, SINGLE), ratio, "ratio")
        # the best of rankers that still improve is not known
        found = replace(found, low=0.0, high=math.inf, interval=SO_FAR) if is_rising(single) else found
        times = study.averages[average]
        ends: Columns = {"mean": times * found.mean, "low": times * found.low, "high": times * found.high}
        yield from (found, replace(found, metric="steps of all rankers to the best single ranker", **ends))
    last = rows[(rows["series"] == SINGLE) & (rows["x"] == rows["x"].max())]
    spread = 100 * float(last.groupby("fold")["value"].std().mean())
    yield level(study, subset, "standard deviation of rankers", SINGLE, spread, "points", n=last["method"].nunique())


def mistakes(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Yield the mistakes of OASIS beyond each bound of Theorem 1, the most at any step where the bound is below it."""
    counted = study.curves(subset, "oasis", "mistakes")
    limits = select(study.numbers, subset=subset.id, metric="bound")
    if counted is None or limits.empty:
        return
    for name, own in limits.groupby("method", sort=False):
        names = ("oasis", f"U = {name}")
        steps = zip(own["x"], own["fold"], own["value"], strict=True)
        gaps = [float(counted.loc[x, fold] - bound) for x, fold, bound in steps if bound < x]
        if gaps:
            yield level(study, subset, BEYOND_BOUND, names, max(gaps), "steps", n=len(gaps))
        else:
            yield replace(row_of(study, subset, BEYOND_BOUND, *names), limits=f"{names[1]}:{VACUOUS}")


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
        for metric, (own, other) in (("decline after the peak", lost), ("map at the peak", peaks)):
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


def choices(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """The C that validation chooses, and how much validation mAP varies over folds beside candidates."""
    for run in ("oasis", study.twins.get("oasis", "")):
        chosen = study.recorded(subset, run, "selected_aggressiveness")
        if len(chosen):
            yield level(study, subset, "aggressiveness", run, float(chosen.median()), n=len(chosen))
    if not study.has("selections"):
        return
    selections = select(study.own(study.table("selections")), subset=subset.id)
    named = {"representation", "subset", "method", "fold", "step", "map", "loss_rate"}
    for method, rows in selections.groupby("method", sort=False):
        candidate = [column for column in rows.columns if column not in named and rows[column].nunique() > 1]
        if len(candidate) != 1 or rows["fold"].nunique() < 2:
            continue
        scores = rows.pivot_table(index="fold", columns=candidate[0], values="map", aggfunc="max")
        of_candidates, of_folds = float(scores.mean(axis=0).std()), float(scores.mean(axis=1).std())
        ratio, metric = (
            of_folds / of_candidates if of_candidates else math.inf,
            "standard deviation over folds by candidates",
        )
        yield level(study, subset, metric, str(method), ratio, "ratio", n=len(scores))


def few_images(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Test mAP of each pair of methods that learn from fewer images of each class."""
    rows = select(study.numbers, subset=subset.id, metric="map of few images")
    for n_images in sorted(map(float, set(rows["x"]))):
        values = select(rows, x=n_images).pivot(index="fold", columns="method", values="value")
        known = [method for method in study.learned_in(FEW) if method in values]
        for names in combinations(known, 2):
            metric, differences = f"map of {n_images:.0f} images a class", values[names[0]] - values[names[1]]
            yield over_folds(study, subset, metric, names, differences)


def rotations(study: CategoryStudy, subset: Subset) -> Iterator[Contrast]:
    """Test mAP of LMNN on rotated images minus that on the images as they are."""
    metric, names = "map of rotated images", ("rotated", "lmnn")
    rotated, plain = (study.values(subset, name, metric) for name in names)
    if len(rotated):
        yield over_folds(study, subset, metric, names, rotated - plain)


# Times ----------------------------------------------------------------------------------------------------------------


def time_contrasts(study: CategoryStudy) -> list[Contrast]:
    """Training time of each pair of methods, in total and by the triplet seen, and of each with its choice."""
    minutes, triplets = minutes_of(study), triplets_of(study)
    on_rows = {(subset, ON_ROWS): n for (subset, method), n in triplets.items() if method == "oasis"}
    triplets = {**triplets, **on_rows}
    return [row for subset in study.all_subsets for row in _times(study, subset, minutes, triplets)]


def _times(
    study: CategoryStudy,
    subset: Subset,
    minutes: Mapping[tuple[str, str], tuple[float, float]],
    triplets: Mapping[tuple[str, str], float],
) -> Iterator[Contrast]:
    ran = oasis_first(study, subset.methods)
    for method in ran:
        time = minutes.get((subset.id, method), (math.nan,))[0]
        yield level(study, subset, "training time", method, time, "minutes")
        parts = [study.recorded(subset, method, f"cpu_seconds_{part}") for part in ("selection", "fit")]
        if n_folds := max(map(len, parts)):
            total = sum(float(part.sum()) for part in parts) / n_folds / 60
            stopped = (subset.id, method) in study.not_converged
            yield level(study, subset, "time to choose and train", method, total, "minutes").so_far(above=stopped)
    for first, second in combinations(ran, 2):
        slow, fast = (minutes.get((subset.id, method), (math.nan, 0))[0] for method in (first, second))
        if not (slow > 0 and fast > 0):
            yield level(study, subset, "training time", (first, second), math.nan, "ratio")
            continue
        seen: Sequence[float] = [triplets.get((subset.id, method), math.nan) for method in (first, second)]
        total, by_triplet = slow / fast, slow / fast * seen[1] / seen[0] if 0 not in seen else math.nan
        found = level(study, subset, "training time", (first, second), total, "ratio")
        # of a method that validation lets learn from no triplet no time says anything
        yield replace(found, low=0.0, high=math.inf, interval=SO_FAR) if 0 in seen else found
        if not math.isnan(by_triplet):
            yield level(study, subset, "training time by the triplet", (first, second), by_triplet, "ratio")
        yield from at_one_omega(study, subset, (first, second))


def at_one_omega(study: CategoryStudy, subset: Subset, names: tuple[str, str]) -> Iterator[Contrast]:
    """Yield the training time of the first over the second, in folds in which both chose the same omega of LMNN."""
    if "selected_omega" not in study.fits:
        return
    columns = ["fold", "selected_omega", "cpu_seconds_fit"]
    first, second = (select(study.fits, subset=subset.id, method=name)[columns].dropna() for name in names)
    if first.empty or second.empty:
        return
    alike = first.merge(second, on=["fold", "selected_omega"], suffixes=("", "_second"))
    factors = np.log(alike["cpu_seconds_fit"] / alike["cpu_seconds_fit_second"])
    row = row_of(study, subset, AT_ONE_OMEGA, *names)
    if not len(factors):
        yield replace(row, interval="folds with the same omega", limits=f"{names[0]}:{TOO_FEW}")
        return
    test = corrected_t_test(factors, study.splits.train, study.splits.test)
    mean, low, high = (float(np.exp(end)) for end in (test.mean, test.low, test.high))
    ends: Columns = {"mean": mean, "low": low, "high": high, "p": test.p, "n": len(factors), "interval": FOLDS}
    yield replace(row, **ends, unit="ratio")
