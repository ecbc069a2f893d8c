"""Curves along training steps or iterations (JMLR Figures 5, 7 and 9, draft Figure 3).

Numbers are means over folds, error bars standard errors of the mean. Where curves lie close together the vertical axis
does not start at 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from lookalike.exhibits.drawing import lettered
from lookalike.exhibits.model import Axis, Figure, Line, Panel, Series
from lookalike.exhibits.printed import NOT_COMPARABLE, beside_print
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import BLACK, BLUE, GREEN, GREY, LOOKS, ORANGE, PURPLE, VERMILLION, Look, looks_of
from lookalike.ranking.statistics import summarise
from lookalike.studies.category.precision import JMLR, main_cells
from lookalike.studies.category.study import CategoryStudy, Subset
from lookalike.studies.metrics import select

STEPS = Axis("Training steps", low=0, tick_form="thousands")
MAP = Axis("Mean average precision", told="{:.4f}")
NOT_FROM_ZERO = "The vertical axis does not start at 0."
STOP_IS_NO_SATURATION = "the paper reads saturation off its test curve; ours is the validation stop"
AVERAGES = (Look(BLUE, "s"), Look(VERMILLION, "o"))
"""Looks of averages of rankers, from the smallest; `looks_of` has more."""
COMPARATORS = {"I": Look(BLACK, "X"), "W": Look(BLUE, "s"), "W / 2": Look(GREEN, "^"), "2 W": Look(PURPLE, "D")}
"""Looks of the bounds by the matrix U."""

Settings = Mapping[str, Any]


def traces_oasis(settings: Settings) -> bool:
    """Whether a study traces OASIS along training."""
    return "oasis" in settings["traced"]


@exhibit("oasis-jmlr-2010/fig5", "oasis-2009-draft/fig3", title="Mean average precision along training",
         needs=("metrics", "fits", "oasis_traces"), when=traces_oasis)  # fmt: skip
def training_curves(study: CategoryStudy) -> Figure:
    """Mean average precision (mAP) of OASIS over training and test images as a function of its training steps."""
    frame = _joined([part for subset in study.subsets for part in _training_rows(study, subset)])
    cells = _training_cells(study)
    frame = _joined([frame, _printed_map(study, cells, frame)])
    notes = _stop_notes(study)
    return Figure(frame, _panels(study, lambda *of: _training_panel(study, frame, *of)), cells, notes)


def _training_rows(study: CategoryStudy, subset: Subset) -> list[pd.DataFrame]:
    """Both curves, the level of the Euclidean baseline, and where validation stops OASIS."""
    stops = study.stops(subset)
    curves = [
        curve(study, subset, "oasis", f"traced{of}_map", name) for name, of in (("train", "_train"), ("test", ""))
    ]
    stop = [_rows(subset, "validation stop", step=[stops.mean()], n_folds=[len(stops)])] if len(stops) else []
    return [*curves, _euclidean_rows(study, subset, "oasis"), *stop]


def _training_panel(study: CategoryStudy, frame: pd.DataFrame, subset: Subset, title: str) -> Panel:
    names = {"train": ("OASIS, training images", Look(BLUE, "s")), "test": ("OASIS, test images", LOOKS["oasis"])}
    series = [_series(subset, of, name, look) for of, (name, look) in names.items()]
    for method in ("oasis", "euclidean"):
        name = f"{study.title_of(method)}, printed"
        series.append(_series(subset, f"{method}, printed", name, LOOKS[method], kind="points", hollow=True))
    own = frame[frame["subset"] == subset.id]
    last, stop = own.loc[own["series"] == "test", "step"].max(), own.loc[own["series"] == "validation stop", "step"]
    C = f"{study.settings['traced_aggressiveness']:g}"
    lines = [Line(f"validation stop at C = {C}", float(at), Look(GREY, "", ":"), upright=True) for at in stop]
    # the value stands at the end of the dashed line that is farther from the dotted one
    lines += _euclidean_line(own, label_left=bool((stop > last / 2).any()))
    return _panel(study, subset, title, own, series, lines, y=replace(MAP, low=0, high=_top(own)))


def _training_cells(study: CategoryStudy) -> pd.DataFrame:
    """What is printed about the curves: where they start, where they stop, and after how many steps."""
    cells = main_cells(study, study.subsets)
    cells = cells[(cells["status"] != "") & cells["method"].isin(("oasis", "euclidean")) & (cells["metric"] == "map")]
    return _joined([cells, _stop_cells(study)])


def _stop_cells(study: CategoryStudy) -> pd.DataFrame:
    """The step at which validation stops OASIS beside the printed one at which test precision saturates, on Var10.

    The two are not the same quantity, so there is no verdict.
    """
    stops = {
        subset: study.stops(subset) for subset in study.subsets if study.setting_of(subset) in ("classes=10", "var10")
    }
    keys = {"method": "oasis", "metric": "var10_saturation_steps"}
    rows = [
        {"subset": subset.id, "setting": study.setting_of(subset), **keys, "ours": at.mean(), "ours_std": at.std()}
        for subset, at in stops.items()
    ]
    ours = pd.DataFrame(rows, columns=["subset", "setting", "method", "metric", "ours", "ours_std"])
    ours = ours.astype({"ours": np.float64, "ours_std": np.float64})
    cells = beside_print(
        ours,
        study.printed_in("text", JMLR),
        on=("method", "metric"),
        judge=lambda cell: None if math.isnan(cell["ours"]) else (NOT_COMPARABLE, STOP_IS_NO_SATURATION),
    )
    return cells[cells["status"] != ""].assign(metric="saturation_steps", unit="steps")


def _printed_map(study: CategoryStudy, cells: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Printed test mAP where it may be held against ours, at the mean validation stop."""
    parts = []
    for subset in study.subsets:
        rows = cells[(cells["subset"] == subset.id) & (cells["metric"] == "map") & cells["printed"].notna()]
        at = study.stops(subset).mean() if len(study.stops(subset)) else frame["step"].max()
        for row in rows.to_dict("records") if not subset.why_not_comparable else ():
            level, std = row["printed"] / 100, row["printed_std"] / 100
            parts.append(_rows(subset, f"{row['method']}, printed", step=[at], map=[level], low=[level - std],
                               high=[level + std], n_folds=[0]))  # fmt: skip
    return _joined(parts)


def _stop_notes(study: CategoryStudy) -> tuple[str, ...]:
    """How many folds' validation stop at the traced C is the last traced step."""
    flags = [flag for subset in study.subsets for flag in study.recorded(subset, "oasis", "traced_stop_at_last_step")]
    stop = f"the validation stop at C = {study.settings['traced_aggressiveness']:g}"
    return (f"In {sum(flags)} of {len(flags)} folds {stop} is the last traced step.",) if any(flags) else ()


@exhibit("oasis-jmlr-2010/fig7", title="Rankers trained in parallel and averaged", needs=("metrics", "fits", "rankers"),
         when=lambda settings: settings["ranker_aggressiveness"] is not None)  # fmt: skip
def ranker_curves(study: CategoryStudy) -> Figure:
    """Mean average precision on the test images of single OASIS rankers, and of the averages of their W."""
    frame = _joined([_ranker_rows(study, subset) for subset in study.subsets])
    n_rankers = frame.loc[frame["series"] == "single", "ranker"].nunique()
    C = f"C = {study.settings['ranker_aggressiveness']:g}"
    told = (f"{n_rankers} rankers a fold, each on triplets of its own, {C}.",
            "A thin line is the mean of one ranker over the folds.", NOT_FROM_ZERO)  # fmt: skip
    return Figure(frame, _panels(study, lambda *of: _ranker_panel(study, frame, *of)), notes=told)


def _ranker_rows(study: CategoryStudy, subset: Subset) -> pd.DataFrame:
    """A curve of each single ranker, and of each average, whose ``ranker`` is -1."""
    rows = select(study.numbers, subset=subset.id, metric="ranker_map")
    parts = []
    for method in dict.fromkeys(rows["method"]):
        is_single = method.startswith("ranker ")
        number = int(method.rpartition(" ")[2])
        told = curve(study, subset, method, "ranker_map", "single" if is_single else method)
        parts.append(told.assign(n_rankers=1 if is_single else number, ranker=number if is_single else -1))
    return _joined(parts).assign(aggressiveness=study.settings["ranker_aggressiveness"])


def _ranker_panel(study: CategoryStudy, frame: pd.DataFrame, subset: Subset, title: str) -> Panel:
    own = frame[frame["subset"] == subset.id]
    averages = [series for series in dict.fromkeys(own["series"]) if series != "single"]
    looks = dict(zip(averages, AVERAGES, strict=False)) | looks_of(averages[len(AVERAGES) :])
    single = Series(
        "single rankers", {"subset": subset.id, "series": "single"}, "step", "map", Look(GREY, ""), thin=True
    )
    rankers = sorted(set(own.loc[own["series"] == "single", "ranker"]))
    series = [replace(single, where={**single.where, "ranker": int(ranker)}) for ranker in rankers]
    series += [_series(subset, name, f"{name} rankers", looks[name]) for name in averages]
    x = replace(STEPS, label="Training steps of each ranker")
    return _panel(study, subset, title, own, series, x=x, why="no ranker was run here")


@exhibit("oasis-jmlr-2010/fig9", title="Projections onto the positive semidefinite cone",
         needs=("metrics", "fits", "oasis_traces", "projected_traces"),
         when=lambda settings: bool(set(settings["projected"]) & set(settings["traced"])))  # fmt: skip
def projection_curves(study: CategoryStudy) -> Figure:
    """Mean average precision of OASIS on the test images along training, without and with projections of W."""
    methods = ["oasis", *study.settings["projected"]]
    parts = [curve(study, subset, method, "traced_map", method) for subset in study.subsets for method in methods]
    frame, looks = _joined(parts), looks_of(methods)
    names = {"oasis": "OASIS, not projected"}

    def panel(subset: Subset, title: str) -> Panel:
        series = [
            _series(subset, method, names.get(method, study.title_of(method)), looks[method]) for method in methods
        ]
        return _panel(study, subset, title, frame[frame["subset"] == subset.id], series)

    C = f"C = {study.settings['traced_aggressiveness']:g}"
    told = f"{C}; each point is the test mAP of the model that a fit of so many steps gives."
    return Figure(frame, _panels(study, panel), notes=(told, NOT_FROM_ZERO))


@exhibit("learning/mcml", title="MCML along its iterations", needs=("metrics", "fits", "mcml_traces"),
         when=lambda settings: "mcml" in settings["traced"])  # fmt: skip
def mcml_curves(study: CategoryStudy) -> Figure:
    """Mean average precision of MCML over training and test images as a function of its iterations.

    The curve goes on past the iteration after which MCML ends by itself.
    """
    frame = _joined([part for subset in study.subsets for part in _mcml_rows(study, subset)])
    ends = {subset.title: study.recorded(subset, "mcml", "n_steps") for subset in study.subsets}
    told = [f"{steps.mean():,.0f} ({title})" for title, steps in ends.items() if len(steps)]
    notes = (f"Iterations after which it ends by itself, mean over folds: {', '.join(told)}.",) if told else ()
    return Figure(frame, _panels(study, lambda *of: _mcml_panel(study, frame, *of)), notes=notes)


def _mcml_rows(study: CategoryStudy, subset: Subset) -> list[pd.DataFrame]:
    parts = []
    for name, metric in (("train", "traced_train_map"), ("test", "traced_map")):
        curves = study.curves(subset, "mcml", metric)
        if curves is not None:
            parts.append(_mean_of_all(subset, name, kept_after_the_end(curves)))
    ends = study.recorded(subset, "mcml", "n_steps")
    if parts and len(ends):
        parts.append(_rows(subset, "end", step=[ends.mean()], n_folds=[len(ends)]))
    return [*parts, _euclidean_rows(study, subset, "mcml")] if parts else []


def kept_after_the_end(curves: pd.DataFrame) -> pd.DataFrame:
    """Curves of folds, steps x folds, where each fold has a number or has ended and keeps its last.

    A fold ends where no step lowers the objective any more; so the mean is always over the same folds.
    """
    ends = curves.apply(lambda fold: fold.last_valid_index())
    ended = np.asarray(curves.index)[:, None] > ends.to_numpy()[None, :]
    kept: pd.DataFrame = curves.ffill()[(curves.notna().to_numpy() | ended).all(axis=1)]
    return kept


def _mean_of_all(subset: Subset, series: str, curves: pd.DataFrame) -> pd.DataFrame:
    """Mean over folds of curves without gaps."""
    mean, sem = curves.mean(axis=1), curves.std(axis=1) / math.sqrt(curves.shape[1])
    return _rows(subset, series, step=curves.index, map=mean, low=mean - sem, high=mean + sem, sem=sem,
                 n_folds=curves.shape[1])  # fmt: skip


def _mcml_panel(study: CategoryStudy, frame: pd.DataFrame, subset: Subset, title: str) -> Panel:
    own = frame[frame["subset"] == subset.id]
    series = [_series(subset, "train", "MCML, training images", Look(ORANGE, "^")),
              _series(subset, "test", "MCML, test images", LOOKS["mcml"])]  # fmt: skip
    lines = [Line("MCML ends by itself, mean over folds", float(at), Look(GREY, "", ":"), upright=True)
             for at in own.loc[own["series"] == "end", "step"]]  # fmt: skip
    lines += _euclidean_line(own, label_left=True)
    last = max(10.0, 1.1 * own["step"].max()) if len(own) else 10.0
    x, y = Axis("Iterations", "start and log", low=0, high=last), replace(MAP, low=0, high=_top(own))
    return _panel(study, subset, title, own, series, lines, x=x, y=y, method="mcml")


@exhibit(
    "learning/symmetry",
    title="Symmetry of W along training",
    needs=("metrics", "fits", "oasis_traces"),
    when=traces_oasis,
)
def symmetry_curves(study: CategoryStudy) -> Figure:
    """Share of W that is symmetric, ||sym W|| / ||W||, as a function of the training steps of OASIS from W = I."""
    parts = [curve(study, subset, "oasis", "symmetry_index", "oasis", "symmetry_index") for subset in study.subsets]
    text = study.printed_in("text", JMLR)
    index = text.loc[text["metric"] == "symmetry_index", "value"]
    shown = [subset for subset in study.subsets if subset.printed.get(JMLR) and not subset.why_not_comparable]
    printed = [
        _rows(subset, "oasis, printed", symmetry_index=[level], n_folds=[0]) for subset in shown for level in index
    ]
    frame = _joined([*parts, *printed])

    def panel(subset: Subset, title: str) -> Panel:
        levels = frame.loc[(frame["subset"] == subset.id) & (frame["series"] == "oasis, printed"), "symmetry_index"]
        lines = [Line("OASIS, printed (JMLR section 6.1)", float(level), Look(VERMILLION, "", ":"), label=f"{level:g}")
                 for level in levels]  # fmt: skip
        series = [replace(_series(subset, "oasis", "OASIS", LOOKS["oasis"]), y="symmetry_index")]
        y = Axis("Symmetry index of W", told="{:.4f}")
        return _panel(study, subset, title, frame[frame["subset"] == subset.id], series, lines, y=y)

    C = f"C = {study.settings['traced_aggressiveness']:g}."
    return Figure(frame, _panels(study, panel), notes=(C, NOT_FROM_ZERO))


@exhibit("learning/loss_bound", title="Mistakes of OASIS and the bound on them", needs=("metrics", "fits", "mistakes"),
         when=lambda settings: settings["bounds_mistakes"])  # fmt: skip
def bound_curves(study: CategoryStudy) -> Figure:
    """Triplets that OASIS ranks wrongly before it learns from them, and the bounds on their number of JMLR Theorem 1.

    The theorem holds for every matrix U that OASIS is compared with, so every bound must lie above the mistakes; a
    bound above the number of triplets says nothing.
    """
    frame = _joined([part for subset in study.subsets for part in _bound_rows(study, subset)])
    told = ("W: the matrix after the last triplet; I: the identity.", *_bound_notes(study, frame))
    return Figure(frame, _panels(study, lambda *of: _bound_panel(study, frame, *of)), notes=told)


def _bound_rows(study: CategoryStudy, subset: Subset) -> list[pd.DataFrame]:
    """Every bound, then the mistakes and the triplets seen; of bounds also their ratio to the mistakes."""
    mistakes = study.curves(subset, "oasis", "mistakes")
    if mistakes is None:
        return []
    names = dict.fromkeys(select(study.numbers, subset=subset.id, metric="bound")["method"])
    parts = []
    for name in names:
        bound = study.curves(subset, name, "bound")
        if bound is not None:
            ratio = (bound / mistakes.where(mistakes > 0)).mean(axis=1, skipna=False)
            below = (bound < mistakes).sum(axis=1)
            parts.append(_range_over_folds(subset, f"bound, U = {name}", bound).assign(
                ratio=ratio.to_numpy(), n_folds_below=below.to_numpy()))  # fmt: skip
    counted = _range_over_folds(subset, "mistakes", mistakes).assign(n_folds_below=0)
    seen = counted.assign(series="triplets", **dict.fromkeys(("value", "low", "high"), counted["step"]))
    return [*parts, counted, seen]


def _range_over_folds(subset: Subset, series: str, folds: pd.DataFrame) -> pd.DataFrame:
    """Mean over folds, and the least and the largest of them."""
    numbers = {"value": folds.mean(axis=1), "low": folds.min(axis=1), "high": folds.max(axis=1)}
    return _rows(subset, series, step=folds.index, **numbers, n_folds=folds.count(axis=1))


def _bound_panel(study: CategoryStudy, frame: pd.DataFrame, subset: Subset, title: str) -> Panel:
    own = frame[frame["subset"] == subset.id]
    bounds = [name for name in dict.fromkeys(own["series"]) if name.startswith("bound")]
    looks = looks_of(bounds) | {f"bound, U = {name}": look for name, look in COMPARATORS.items()}
    shown = [*((name, name, looks[name]) for name in bounds), ("mistakes", "mistakes of OASIS", LOOKS["oasis"]),
             ("triplets", "triplets seen", Look(GREY, "", ":"))]  # fmt: skip
    series = [replace(_series(subset, of, name, look), y="value", band=True) for of, name, look in shown]
    x, y = Axis("Triplets seen", "log", told="{:,.0f}"), Axis("Mistakes, bound on mistakes", "log", told="{:,.0f}")
    return _panel(study, subset, title, own, series, x=x, y=y, why="mistakes were not counted here")


def _bound_notes(study: CategoryStudy, frame: pd.DataFrame) -> list[str]:
    """Whether every bound holds, and how far the tightest is from the mistakes after the last triplet."""
    bounds = frame[frame["series"].str.startswith("bound")]
    if bounds.empty:
        return []
    n_below, n_points = int(bounds["n_folds_below"].sum()), int(bounds["n_folds"].sum())
    told = [f"Bounds that lie below the mistakes: {n_below} of {n_points} points of single folds."]
    for subset in study.subsets:
        rows = bounds[bounds["subset"] == subset.id]
        ends = rows[rows["step"] == rows["step"].max()].sort_values("value", kind="stable").to_dict("records")
        for end in ends[:1]:
            times = "" if math.isnan(end["ratio"]) else f", {end['ratio']:.1f} times the mistakes"
            told.append(f"After the last triplet the tightest is that of {end['series'][7:]}{times} ({subset.title}).")
    return told


def curve(
    study: CategoryStudy, subset: Subset, method: str, metric: str, series: str, value: str = "map"
) -> pd.DataFrame:
    """Mean over folds of a number along training, with standard errors, as rows of a figure's frame."""
    rows = select(study.numbers, subset=subset.id, method=method, metric=metric)
    summary = summarise(rows, by=("x",)).sort_values("x")
    mean, sem = summary["mean"], summary["sem"]
    told = {value: mean, "low": mean - sem, "high": mean + sem, "sem": sem, "n_folds": summary["n_folds"]}
    return _rows(subset, series, step=summary["x"], **told)


def _rows(subset: Subset, series: str, **columns: Any) -> pd.DataFrame:
    """Rows of a figure's frame, with a number of steps that a reader can copy."""
    plain = {name: np.asarray(values) if np.ndim(values) else values for name, values in columns.items()}
    return pd.DataFrame({"subset": subset.id, "series": series, **plain})


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Parts below each other, without those that are empty; the columns of a curve where all are."""
    full = [part for part in parts if len(part)]
    columns = ["subset", "series", "step", "map", "low", "high", "sem", "n_folds"]
    return pd.concat(full, ignore_index=True) if full else pd.DataFrame(columns=columns)


def _euclidean_rows(study: CategoryStudy, subset: Subset, method: str) -> pd.DataFrame:
    """Level of the Euclidean baseline on test images: its own mAP, else the method's before its first step."""
    values = study.values(subset, "euclidean")
    start = study.curves(subset, method)
    if values.empty and start is not None:
        values = start[start.index == 0].iloc[0].dropna() if (start.index == 0).any() else values
    if values.empty:
        return _joined([])
    sem = values.std() / math.sqrt(len(values))
    return _rows(subset, "euclidean", map=[values.mean()], sem=[sem], n_folds=[len(values)])


def _euclidean_line(own: pd.DataFrame, *, label_left: bool) -> list[Line]:
    levels = list(own.loc[own["series"] == "euclidean", "map"]) if "map" in own else []
    return [Line("Euclidean, test images", float(level), Look(BLACK, "", "--"), label=f"{level:.2f}",
                 label_left=label_left) for level in levels]  # fmt: skip


def _top(own: pd.DataFrame) -> float:
    """Where an axis of precision that starts at 0 ends."""
    highest = own["high"].fillna(own["map"]).max() if len(own) else math.nan
    return 1.0 if math.isnan(highest) else min(1.0, 1.08 * float(highest))


def _series(subset: Subset, series: str, name: str, look: Look, **more: Any) -> Series:
    return Series(name, {"subset": subset.id, "series": series}, "step", "map", look, "low", "high", **more)


def _panels(study: CategoryStudy, make: Any) -> tuple[Panel, ...]:
    """A panel of each subset."""
    titles = lettered([study.block_title(subset) for subset in study.subsets])
    return tuple(make(subset, title) for subset, title in zip(study.subsets, titles, strict=True))


def _panel(
    study: CategoryStudy,
    subset: Subset,
    title: str,
    own: pd.DataFrame,
    series: Sequence[Series],
    lines: Sequence[Line] = (),
    *,
    x: Axis = STEPS,
    y: Axis = MAP,
    method: str = "oasis",
    why: str = "",
) -> Panel:
    """A panel of those of the series that have points, or why there are none."""
    names = set(own["series"])
    shown = tuple(one for one in series if one.where["series"] in names)
    empty = "" if shown else why or why_empty(study, subset, method)
    if x.high is None and shown and x.scale == "linear":
        x = replace(x, high=1.02 * float(own["step"].max()))
    return Panel(title, x, y, shown, tuple(lines), empty=empty)


def why_empty(study: CategoryStudy, subset: Subset, method: str) -> str:
    """Why a panel of one method has nothing to show: it did not end in time, or it was not run."""
    ended = (subset.id, method) not in study.not_converged
    return f"{study.title_of(method)} {'was not run here' if ended else 'did not end within its time limit (*)'}"
