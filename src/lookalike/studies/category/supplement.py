"""What the OASIS papers talk about and never show: new classes, values of C, few images, and training time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import pandas as pd

from lookalike.exhibits.margins import margin
from lookalike.exhibits.model import Axis, Figure, Line, Margin, Panel, Table
from lookalike.exhibits.printed import plus_minus
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import BLUE, GREEN, LOOKS, ORANGE, PURPLE, SKY, VERMILLION, Look, looks_of
from lookalike.exhibits.words import signed
from lookalike.studies.category.comparison import T_INTERVAL
from lookalike.studies.category.curves import ASIDE, MAP, aside, figure, joined, mean_curve, panel, series
from lookalike.studies.category.section import FEW, Side
from lookalike.studies.category.study import CategoryStudy, Subset
from lookalike.studies.metrics import rows_in, select

VALIDATION_MAP = replace(MAP, label="Validation mAP")
GRID = (Look(BLUE, "s"), Look(SKY, "v"), Look(GREEN, "^"), Look(ORANGE, "D"), Look(VERMILLION, "o"), Look(PURPLE, "P"))
"""Looks of values of C, from the smallest; `looks_of` has more."""
HALVES = {"learned": "learned from", "new": "new"}
"""Half of the classes, as metrics name it, to its title."""
HALF_METRICS = {"map": "Mean avg. prec.", "p@k": "Top 10 prec."}


@exhibit(
    "learning/transfer",
    title="Classes that OASIS did not learn from",
    needs=("metrics", "contrasts"),
    asks=(Side("transfer"),),
    when=lambda study: "transfer" in study.sides,
)
def transfer(study: CategoryStudy) -> Table:
    """Whether OASIS helps on new classes: precision, in percent, on the half that it learned from and on the other."""
    cells: list[dict[str, object]] = []
    for subset, which, metric in product(study.parts, HALVES, HALF_METRICS):
        rows = select(study.numbers, subset=subset.id, metric=f"{which}_{metric}")
        folds = {method: select(rows, method=method).set_index("fold")["value"] for method in ("euclidean", "oasis")}
        cells += beside({"subset": subset.id, "classes": which, "metric": metric}, **folds)
    columns = {"euclidean": "Euclidean", "oasis": "OASIS", "gain": "OASIS minus Euclidean"}
    titles = {"classes": HALVES, "metric": HALF_METRICS, "column": columns, "subset": study.titles}
    C = study.sides["transfer"].aggressiveness
    notes = (
        f"OASIS learns from each half in turn, with C = {C:g}; validation images of that half choose the steps.",
        "Test images are ranked among those of their half: these are fewer classes, so precision is higher than in "
        "JMLR Table 4.",
    )
    margins = tuple(_new_classes(study))
    return Table(
        pd.DataFrame(cells), ("classes", "metric"), "column", "subset", titles=titles, notes=notes, margins=margins
    )


def _new_classes(study: CategoryStudy) -> Iterator[Margin]:
    """Yield OASIS minus Euclidean distance on the half of the classes that it did not learn from, on every subset."""
    for subset in study.parts:
        pair = ("oasis", "euclidean")
        rows = study.contrasts.intervals(subset.id, "map of new classes", *pair)
        numbers = select(study.numbers, subset=subset.id, metric="new_map")
        ours = {name: 100 * select(numbers, method=name)["value"].mean() for name in pair}
        if rows:
            metric = "mAP on classes that it did not learn from"
            yield margin(study, rows, ours, {}, setting=subset.title, metric=metric, interval=T_INTERVAL)


def beside(keys: Mapping[str, str], **folds: pd.Series) -> list[dict[str, object]]:
    """Cells of two numbers of each fold, and of the second minus the first."""
    first, second = folds.values()
    cells = {name: percent("ours", values) for name, values in folds.items()}
    cells["gain"] = percent("ours", second - first, "+")
    return [{**keys, "column": name, **cell} for name, cell in cells.items()]


@exhibit(
    "learning/few_images",
    title="Few training images",
    needs=("metrics", "fits"),
    asks=(Side(FEW),),
    when=lambda study: study.few_images,
)
def few_images(study: CategoryStudy) -> Figure:
    """Whether constraints on W help when images are few: test mAP of each method over training images of a class."""
    methods = study.learned_in(FEW)
    looks, frame = looks_of(methods), joined([_few_rows(study, *pair) for pair in product(study.parts, methods)])
    counts = sorted(set(frame["step"]))
    ticks = tuple((float(n), f"{n:.0f}") for n in counts)

    def draw(subset: Subset, own: pd.DataFrame) -> Panel:
        drawn = [
            series(subset, method, study.title_of(method), looks[method], aside=aside(place, len(methods)) / 3)
            for place, method in enumerate(methods)
        ]
        x = Axis("Training images of a class", "log", ticks=ticks, text="{:.0f}")
        return panel(study, subset, own, drawn, x=x, why="not run here")

    notes = (
        "Each method chooses as in Table 4. Smaller sets are parts of larger ones, and test images are the same.",
        "A fifth of the images chooses, and at least two of each class.",
        *(note for subset in study.parts for note in _psd_gains(subset, frame)),
        ASIDE,
    )
    return figure(study, frame, draw, notes=notes)


def _psd_gains(subset: Subset, frame: pd.DataFrame) -> list[str]:
    """Say what projecting onto positive matrices gains with each number of images."""
    gains = [select(frame, subset=subset.id, series=name).set_index("step")["map"] for name in ("oasis-psd", "oasis")]
    gain = (100 * (gains[0] - gains[1])).dropna()
    parts = [f"{signed(value)} points with {n:.0f} images" for n, value in gain.items()]
    return [f"PSD-OASIS minus OASIS: {', '.join(parts)} ({subset.title})."] if parts else []


def _few_rows(study: CategoryStudy, subset: Subset, method: str) -> pd.DataFrame:
    """A curve over numbers of images, up to all training images."""
    rows = select(study.numbers, subset=subset.id, method=method, metric="map of few images")
    every = study.values(subset, method).reset_index().assign(x=float(study.splits.train))
    return mean_curve(subset, method, pd.concat([rows[["fold", "x", "value"]], every])) if len(rows) else joined([])


@exhibit(
    "learning/budget",
    title="Precision over training time",
    needs=("fits", "selections"),
    when=lambda study: study.twins,
)
def budget(study: CategoryStudy) -> Figure:
    """How precise each method is after as much training: validation mAP over processor seconds."""
    learned = [method for method in study.methods if study.n_settings(study.twins.get(method, method)) > 1]
    looks, frame = looks_of(learned), joined([_budget_rows(study, *pair) for pair in product(study.parts, learned)])

    def draw(subset: Subset, own: pd.DataFrame) -> Panel:
        drawn = [series(subset, method, study.title_of(method), looks[method], x="seconds") for method in learned]
        # without a step OASIS ranks as the Euclidean distance does
        rows = select(study.table("selections"), subset=subset.id, method=study.twins.get("oasis", "oasis"))
        start = rows.loc[rows["step"] == 0, "map"]
        look = replace(LOOKS["euclidean"], marker="", line="--")
        lines = [Line("Euclidean", float(start.mean()), look)] if len(start) else []
        x = Axis("Processor seconds of training", "log", text="{:.3g}")
        return panel(study, subset, own, drawn, lines, x=x, y=VALIDATION_MAP, why="not run here")

    notes = (
        "Validation images rank each other, and a learner has the other training images. Each fold's curve has the "
        "value of the parameter that the fold chose with equal settings.",
        "Seconds are steps or iterations, each as long as in the method's fit on all training images on average.",
        *(_best_seconds(study, subset, frame) for subset in study.parts if subset.id in set(frame["subset"])),
    )
    return figure(study, frame, draw, notes=notes)


def _best_seconds(study: CategoryStudy, subset: Subset, frame: pd.DataFrame) -> str:
    """Say after which time each method ranks validation images best on average."""
    rows = frame[frame["subset"] == subset.id].sort_values("map").drop_duplicates("series", keep="last")
    times = [f"{study.title_of(row.series)} {row.seconds:.2g}" for row in rows_in(rows.sort_values("seconds"))]
    return f"Seconds to the highest mean, OASIS on inner products: {', '.join(times)} ({subset.title})."


def _budget_rows(study: CategoryStudy, subset: Subset, method: str) -> pd.DataFrame:
    """A curve of the chosen values, from the first step on: the axis is logarithmic."""
    run = study.twins.get(method, method)
    fits = select(study.fits, subset=subset.id, method=method)
    rows = select(study.table("selections"), subset=subset.id, method=run)
    if rows.empty or not fits["n_steps"].sum() > 0:
        return joined([])
    by_fold = select(study.fits, subset=subset.id, method=run).set_index("fold")
    for name in study.spec(run, subset.id).select:
        rows = rows[rows[name] == rows["fold"].map(by_fold[f"selected_{name}"])]
    seconds = fits["cpu_seconds_fit"].sum() / fits["n_steps"].sum()
    curve = mean_curve(subset, method, rows[rows["step"] > 0].rename(columns={"step": "x", "map": "value"}))
    return curve.assign(seconds=seconds * curve["step"])


def percent(name: str, folds: pd.Series, sign: str = "") -> dict[str, object]:
    """Mean and standard deviation over folds in percent, as numbers and as a cell."""
    mean, std = 100 * folds.mean(), 100 * folds.std()
    cell = plus_minus(mean, std, f"{sign}.1f", ".1f")
    return {name: mean, f"{name}_std": std, f"{name}_cell": cell, "n_folds": len(folds), "unit": "percent"}
