"""Curves along training steps or iterations (JMLR Figures 5, 7 and 9, draft Figure 3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from lookalike.exhibits.drawing import lettered
from lookalike.exhibits.model import Axis, Figure, Line, Panel
from lookalike.exhibits.printed import PARTITIONS, beside_print
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import BLACK, BLUE, GREY, LOOKS, TRAINING, VERMILLION, Look, looks_of
from lookalike.studies.category.curves import (
    ASIDE,
    LOG_STEPS,
    STEPS,
    aside,
    curve,
    euclidean_rows,
    figure,
    joined,
    mean_curve,
    panel,
    printed_points,
    rows_of,
    series,
)
from lookalike.studies.category.precision import main_cells
from lookalike.studies.category.section import Side, Traces
from lookalike.studies.category.study import JMLR, TEN_CLASSES, CategoryStudy, Subset
from lookalike.studies.metrics import select

PARTS = {"test": "test images", "train": "training images"}
"""Series of the images that are ranked along training, to what they are called."""
EASY10 = "The caption of the paper's figure names Var10 and Var20; its text tells of Easy10 as well (section 5.2.3)."
MEAN_OF_STEPS = "The claim that averages are more precise is decided by the mean over traced steps, without the start."
AVERAGES = (Look(BLUE, "s"), Look(VERMILLION, "o"))
"""Looks of averages of rankers, from the smallest; `looks_of` has more."""


def traced_at(study: CategoryStudy) -> str:
    """``C = 0.1``."""
    return f"C = {study.traced_aggressiveness:g}"


@exhibit(
    "oasis-jmlr-2010/fig5",
    "oasis-2009-draft/fig3",
    title="Mean average precision along training",
    needs=("metrics", "fits"),
    asks=(Traces(("oasis",)),),
    shows=("oasis", "euclidean"),
    when=lambda study: "oasis" in study.traced_methods(),
)
def training_curves(study: CategoryStudy) -> Figure:
    """When OASIS stops improving: its mean average precision (mAP) on training and on test images along training."""

    def draw(subset: Subset, own: pd.DataFrame, part: str) -> Panel:
        drawn = [series(subset, part, f"OASIS, {PARTS[part]}", TRAINING if part == "train" else LOOKS["oasis"])]
        last, stop = own.loc[own["series"] == "test", "step"].max(), own.loc[own["series"] == "validation stop", "step"]
        name = f"validation stop at {traced_at(study)}"
        lines = [Line(name, float(at), Look(GREY, "", ":"), upright=True) for at in stop]
        if part == "test":
            drawn += [printed_points(subset, key, study.title_of(key), LOOKS[key]) for key in ("oasis", "euclidean")]
            # the value stands at the end of the dashed line that is farther from the dotted one
            lines += _euclidean_line(own, label_left=bool((stop > last / 2).any()))
        return panel(study, subset, own, drawn, lines)

    frame = joined([part for subset in study.parts for part in _training_rows(study, subset)])
    cells = main_cells(study)
    cells = cells[cells["is_printed"] & cells["method"].isin(("oasis", "euclidean")) & (cells["metric"] == "map")]
    cells = joined([cells, _stop_cells(study)])
    frame = joined([frame, _printed_map(study, cells, frame)])
    return replace(_apart(study, frame, draw), cells=cells, notes=_stop_notes(study))


def _apart(study: CategoryStudy, frame: pd.DataFrame, draw: Callable[[Subset, pd.DataFrame, str], Panel]) -> Figure:
    """Return a figure with a panel of test images and one of training images of each subset: each has its own scale."""
    pairs = [*product(study.parts, PARTS)]
    titles = lettered([f"{study.block_title(subset)}: {PARTS[part]}" for subset, part in pairs])
    panels = [draw(subset, frame[frame["subset"] == subset.id], part) for subset, part in pairs]
    titled = [replace(panel, title=title) for panel, title in zip(panels, titles, strict=True)]
    return Figure(frame, tuple(titled), n_columns=2)


def _training_rows(study: CategoryStudy, subset: Subset) -> list[pd.DataFrame]:
    """Both curves, the level of the Euclidean baseline, and where validation stops OASIS."""
    stops = study.stops(subset)
    curves = [
        curve(study, subset, "oasis", f"traced{part}_map", name) for name, part in (("train", "_train"), ("test", ""))
    ]
    stop = [rows_of(subset, "validation stop", step=[stops.mean()], n_folds=[len(stops)])] if len(stops) else []
    return [*curves, euclidean_rows(study, subset, "oasis"), *stop]


def _stop_cells(study: CategoryStudy) -> pd.DataFrame:
    """The step at which validation stops OASIS beside the printed one at which test precision saturates, on Var10."""
    keys = ("oasis", "var10_saturation_steps")
    rows = [
        (subset.id, study.setting_of(subset), *keys, study.stops(subset).mean(), study.stops(subset).std())
        for subset in study.parts
        if study.setting_of(subset) in TEN_CLASSES
    ]
    ours = pd.DataFrame(rows, columns=["subset", "setting", "method", "metric", "ours", "ours_std"])
    cells = beside_print(
        ours.astype({"ours": np.float64, "ours_std": np.float64}),
        study.printed_in("text", JMLR),
        on=("method", "metric"),
    )
    return cells[cells["is_printed"]].assign(metric="saturation_steps", unit="steps")


def _printed_map(study: CategoryStudy, cells: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Printed test mAP where it may be held against ours, at the mean validation stop."""
    parts = []
    for subset in (subset for subset in study.parts if not subset.why_not_comparable):
        rows = cells[(cells["subset"] == subset.id) & (cells["metric"] == "map") & cells["printed"].notna()]
        at = study.stops(subset).mean() if len(study.stops(subset)) else frame["step"].max()
        for row in rows.to_dict("records"):
            # standard deviations are printed, and all error bars are standard errors
            level, sem = row["printed"] / 100, row["printed_std"] / 100 / math.sqrt(PARTITIONS)
            ends = {"low": [level - sem], "high": [level + sem], "sem": [sem]}
            parts.append(rows_of(subset, f"{row['method']}, printed", step=[at], map=[level], **ends, n_folds=[0]))
    return joined(parts)


def _stop_notes(study: CategoryStudy) -> tuple[str, ...]:
    """Count the folds whose validation stop is the last traced step, and say where print differs from print."""
    flags = [flag for subset in study.parts for flag in study.late_stops(subset)]
    stop, settings = f"the validation stop at {traced_at(study)}", set(map(study.setting_of, study.parts))
    notes = [f"In {sum(flags)} of {len(flags)} folds {stop} is the last traced step."] if any(flags) else []
    steps = [study.printed_number(name) for name in ("var10_saturation_steps", "saturation_steps_in_caption")]
    if settings & TEN_CLASSES and not any(map(math.isnan, steps)):
        notes.append(
            "In print test precision saturates after {:,.0f} steps by the text, {:,.0f} by the caption.".format(*steps)
        )
    return (*notes, *([EASY10] if "easy10" in settings else []))


@exhibit(
    "oasis-jmlr-2010/fig7",
    title="Rankers trained in parallel and averaged",
    needs=("metrics", "fits"),
    asks=(Side("rankers"),),
    shows=("oasis", "euclidean"),
    when=lambda study: "rankers" in study.sides,
)
def ranker_curves(study: CategoryStudy) -> Figure:
    """Whether averaging helps: test mAP of single OASIS rankers, and of averages of their W, along training."""
    frame = joined([_ranker_rows(study, subset) for subset in study.parts])
    n_rankers = frame.loc[frame["series"] == "single", "ranker"].nunique()
    C = f"C = {study.sides['rankers'].aggressiveness:g}"
    each = f"Each fold has {n_rankers} rankers with {C}, each trained on triplets of its own."
    x = replace(STEPS, label="Training steps of each ranker")
    return figure(
        study,
        frame,
        lambda subset, own: _ranker_panel(study, subset, own, x),
        notes=(each, "A thin line is one ranker.", MEAN_OF_STEPS),
    )


def _ranker_panel(study: CategoryStudy, subset: Subset, own: pd.DataFrame, x: Axis) -> Panel:
    """Curves of single rankers, thin, and of their averages, along steps."""
    averages = [average for average in dict.fromkeys(own["series"]) if average != "single"]
    looks = dict(zip(averages, AVERAGES, strict=False)) | looks_of(averages[len(AVERAGES) :])
    single = replace(series(subset, "single", "single rankers", Look(GREY, "")), thin=True, low="", high="")
    rankers = sorted(set(own.loc[own["series"] == "single", "ranker"]))
    drawn = [replace(single, where={**single.where, "ranker": int(ranker)}) for ranker in rankers]
    # averages may lie on each other
    shift = 0.008 * float(own["step"].max() if len(own) else 0)
    drawn += [
        series(subset, average, f"{average} rankers", looks[average], aside=place * shift)
        for place, average in enumerate(averages)
    ]
    return panel(study, subset, own, drawn, x=x, why="no ranker was run here")


def _ranker_rows(study: CategoryStudy, subset: Subset) -> pd.DataFrame:
    """A curve of each single ranker, and of each average, whose ``ranker`` is -1."""
    rows = select(study.numbers, subset=subset.id, metric="ranker_map")
    parts = []
    # single rankers stand in their order
    singles = iter(range(len(rows)))
    for method in dict.fromkeys(rows["method"]):
        n_rankers = study.averages.get(method, 1)
        name, number = (method, -1) if method in study.averages else ("single", next(singles))
        rows_drawn = curve(study, subset, method, "ranker_map", name)
        parts.append(rows_drawn.assign(n_rankers=n_rankers, ranker=number))
    return joined(parts).assign(aggressiveness=study.sides["rankers"].aggressiveness)


@exhibit(
    "oasis-jmlr-2010/fig9",
    title="Projections onto the positive semidefinite cone",
    needs=("metrics", "fits"),
    asks=(Traces(("oasis",)), Traces()),
    shows=("oasis", "projected"),
    when=lambda study: set(study.projected) & set(study.traced_methods()),
)
def projection_curves(study: CategoryStudy) -> Figure:
    """Whether projecting W onto positive semidefinite matrices helps: test mAP along the training of OASIS."""
    methods = ["oasis", *study.projected]
    looks, names = looks_of(methods), {"oasis": "OASIS, not projected"}
    frame = joined([curve(study, subset, method, "traced_map", method) for subset in study.parts for method in methods])

    def draw(subset: Subset, own: pd.DataFrame) -> Panel:
        drawn = [
            series(subset, key, names.get(key, study.title_of(key)), looks[key], aside=aside(place, len(methods)))
            for place, key in enumerate(methods)
        ]
        return panel(study, subset, own, drawn, x=LOG_STEPS)

    notes = (
        f"All have {traced_at(study)}. Each point is the model that a fit of so many steps gives.",
        "The paper's text does not print how often it projects; the intervals here are ours.",
        ASIDE,
    )
    return figure(study, frame, draw, notes=notes)


@exhibit(
    "learning/mcml",
    title="MCML along its iterations",
    needs=("metrics", "fits"),
    asks=(Traces(("mcml",)),),
    when=lambda study: "mcml" in study.traced_methods(),
)
def mcml_curves(study: CategoryStudy) -> Figure:
    """Whether MCML overfits: its mean average precision (mAP) on training and on test images along its iterations."""
    frame = joined([part for subset in study.parts for part in _mcml_rows(study, subset)])
    ends = {subset.title: study.recorded(subset, "mcml", "n_steps") for subset in study.parts}
    means = [f"{steps.mean():,.0f} ({title})" for title, steps in ends.items() if len(steps)]
    notes = [f"Mean number of iterations after which MCML ends by itself: {', '.join(means)}."] if means else []
    notes += [note for subset in study.parts for note in _mcml_peak(study, subset, frame)]

    def draw(subset: Subset, own: pd.DataFrame, part: str) -> Panel:
        drawn = [series(subset, part, f"MCML, {PARTS[part]}", TRAINING if part == "train" else LOOKS["mcml"])]
        end, steps = "MCML ends by itself, mean over folds", own.loc[own["series"] == "end", "step"]
        lines = [Line(end, float(step), Look(GREY, "", ":"), upright=True) for step in steps]
        # its value would stand on the curves
        lines += [replace(line, label="") for line in _euclidean_line(own) if part == "test"]
        last = max(10.0, 1.1 * own["step"].max()) if len(own) else 10.0
        x = replace(LOG_STEPS, label="Iterations", high=last)
        return panel(study, subset, own, drawn, lines, x=x, method="mcml")

    return replace(_apart(study, frame, draw), notes=tuple(notes))


def _mcml_peak(study: CategoryStudy, subset: Subset, frame: pd.DataFrame) -> list[str]:
    """Say after which iteration MCML ranks test images best, and how well, beside OASIS where validation stops it."""
    test, oasis = select(frame, subset=subset.id, series="test"), study.values(subset, "oasis")
    if test.empty:
        return []
    best = test.set_index("step")["map"]
    other = "" if oasis.empty else f"; OASIS where validation stops it reaches {100 * oasis.mean():.1f}%"
    place = f"after {best.index[int(best.argmax())]:,.0f} iterations, which test images choose"
    return [f"Mean test mAP of MCML is highest {place}, {100 * best.max():.1f}%{other} ({subset.title})."]


def _mcml_rows(study: CategoryStudy, subset: Subset) -> list[pd.DataFrame]:
    """Both curves, the mean iteration at which MCML ends, and the level of the Euclidean baseline."""
    parts = []
    for name, metric in (("train", "traced_train_map"), ("test", "traced_map")):
        curves = study.curves(subset, "mcml", metric)
        if curves is not None:
            kept = kept_after_the_end(curves).rename_axis("x").reset_index().melt("x")
            parts.append(mean_curve(subset, name, kept))
    ends = study.recorded(subset, "mcml", "n_steps")
    if parts and len(ends):
        parts.append(rows_of(subset, "end", step=[ends.mean()], n_folds=[len(ends)]))
    return [*parts, euclidean_rows(study, subset, "mcml")] if parts else []


def kept_after_the_end(curves: pd.DataFrame) -> pd.DataFrame:
    """Curves, steps x folds, where each fold has a number or has ended and keeps its last: always the same folds."""
    # a fold ends where no step lowers the objective any more
    ends = curves.apply(lambda fold: fold.last_valid_index())
    ended = np.asarray(curves.index)[:, None] > ends.to_numpy()[None, :]
    kept: pd.DataFrame = curves.ffill()[(curves.notna().to_numpy() | ended).all(axis=1)]
    return kept


def _euclidean_line(own: pd.DataFrame, *, label_left: bool = False) -> list[Line]:
    levels = list(own.loc[own["series"] == "euclidean", "map"]) if "map" in own else []
    name, look = "Euclidean, test images", Look(BLACK, "", "--")
    return [Line(name, float(level), look, label=f"{level:.2f}", label_left=label_left) for level in levels]
