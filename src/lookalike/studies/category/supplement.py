"""What the OASIS papers talk about and never show: new classes, other values of C, and the minima of competitors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import pandas as pd

from lookalike.exhibits.model import Figure, Panel, Table
from lookalike.exhibits.printed import MISSING, plus_minus, significant
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, Look, looks_of
from lookalike.studies.category.curves import ASIDE, LOG_STEPS, MAP, aside, figure, joined, mean_curve, panel, series
from lookalike.studies.category.section import Side, Traces
from lookalike.studies.category.study import CategoryStudy, Subset
from lookalike.studies.category.training import traced_at
from lookalike.studies.metrics import select

VALIDATION_MAP = replace(MAP, label="Validation mAP")
GRID = (Look(BLUE, "s"), Look(SKY, "v"), Look(GREEN, "^"), Look(ORANGE, "D"), Look(VERMILLION, "o"), Look(PURPLE, "P"))
"""Looks of values of C, from the smallest; `looks_of` has more."""
HALVES = {"learned": "learned from", "new": "new"}
"""Half of the classes, as metrics name it, to its title."""
HALF_METRICS = {"map": "Mean avg. prec.", "p@k": "Top 10 prec."}
DESCENTS = {"mcml": "mcml-factor", "lmnn": "lmnn-factor"}
"""Method that descends as in the papers to the one that goes to the minimum of the same objective."""
ENDS = {"early": "at best validation mAP", "own": "at its own end", "minimum": "at its minimum"}


@exhibit(
    "learning/transfer",
    title="Classes that OASIS did not learn from",
    needs=("metrics",),
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
    return Table(pd.DataFrame(cells), ("classes", "metric"), "column", "subset", titles=titles, notes=notes)


def beside(keys: Mapping[str, str], **folds: pd.Series) -> list[dict[str, object]]:
    """Cells of two numbers of each fold, and of the second minus the first."""
    first, second = folds.values()
    cells = {name: percent("ours", values) for name, values in folds.items()}
    cells["gain"] = percent("ours", second - first, "+")
    return [{**keys, "column": name, **cell} for name, cell in cells.items()]


@exhibit(
    "learning/aggressiveness",
    title="Aggressiveness against steps",
    needs=("fits", "selections"),
    when=lambda study: "oasis" in study.traced_methods(),
)
def aggressiveness_curves(study: CategoryStudy) -> Figure:
    """Which aggressiveness C is best, and after how many steps: validation mAP of OASIS for each C that was tried."""
    frame = joined([_candidate_rows(study, subset) for subset in study.parts])
    names = sorted(set(frame["series"]), key=lambda name: float(name.removeprefix("C = ")))
    looks = dict(zip(names, GRID, strict=False)) | looks_of(names[len(GRID) :])

    def draw(subset: Subset, own: pd.DataFrame) -> Panel:
        drawn = [
            series(subset, name, name, looks[name], aside=aside(place, len(names))) for place, name in enumerate(names)
        ]
        return panel(study, subset, own, drawn, x=LOG_STEPS, y=VALIDATION_MAP, why="nothing was chosen here")

    best = frame.loc[frame.groupby(["subset", "series"], sort=False)["map"].idxmax()].itertuples()
    peaks = [
        f"{row.map:.3f} with {row.series} at step {row.step:,.0f} ({study.titles[str(row.subset)]})" for row in best
    ]
    return figure(study, frame, draw, notes=(f"The highest means over folds: {', '.join(peaks)}.", ASIDE))


def _candidate_rows(study: CategoryStudy, subset: Subset) -> pd.DataFrame:
    """A curve of each C, from the first step on: the axis is logarithmic."""
    rows = select(study.own(study.table("selections")), subset=subset.id, method="oasis")
    rows = rows[rows["step"] > 0].rename(columns={"step": "x", "map": "value"})
    curves = rows.groupby("aggressiveness") if "aggressiveness" in rows else ()
    return joined([mean_curve(subset, f"C = {C:g}", own) for C, own in curves])


@exhibit(
    "learning/fixed_aggressiveness",
    title="A fixed C beside the chosen one",
    needs=("metrics", "fits"),
    when=lambda study: "oasis" in study.traced_methods(),
)
def fixed_aggressiveness(study: CategoryStudy) -> Table:
    """Whether choosing C matters: test mAP, in percent, with the C of the papers' figures and with the chosen C."""
    cells: list[dict[str, object]] = []
    notes = ["Both are stopped where validation mAP is highest for their C."]
    for subset in study.parts:
        fits = select(study.fits, subset=subset.id, method="oasis").set_index("fold")
        curves = study.curves(subset, "oasis")
        stops = fits.get("stop_at_traced_aggressiveness", pd.Series(dtype=float)).dropna()
        if curves is None or stops.empty:
            continue
        counts = fits["aggressiveness"].value_counts().sort_index()
        chosen = ", ".join(f"{C:g} ({n})" for C, n in counts.items())
        cells.append({"subset": subset.id, "column": "C", "ours_cell": chosen})
        cells += beside({"subset": subset.id}, fixed=at(curves, stops), chosen=study.values(subset, "oasis"))
        steps = f"{stops.mean():,.0f} at {traced_at(study)}, {fits['n_steps'].mean():,.0f} at the chosen C"
        notes.append(f"Mean steps over folds ({subset.title}): {steps}.")
    columns = {"C": "C chosen (folds)", "fixed": traced_at(study), "chosen": "C chosen", "gain": "chosen minus fixed"}
    titles = {"subset": study.titles, "column": columns}
    return Table(pd.DataFrame(cells), ("subset",), "column", titles=titles, notes=tuple(notes))


@exhibit(
    "learning/minimum",
    title="MCML and LMNN stopped early and at their minimum",
    needs=("metrics", "fits"),
    asks=(Traces(tuple(DESCENTS)),),
    when=lambda study: study.minima,
)
def minima(study: CategoryStudy) -> Table:
    """Where MCML and LMNN rank best: their mAP where early stopping ends them, at their own end, and at the minimum."""
    records = [row for subset, method in product(study.parts, DESCENTS) for row in _end_rows(study, subset, method)]
    heads = {"method": "", "end": "stopped", "steps_cell": "iterations", "objective": "objective, % of start"}
    heads |= {"train_cell": "mAP, training images, %", "ours_cell": "mAP, test images, %"}
    titles = {"subset": study.titles, "end": ENDS, "method": {method: study.title_of(method) for method in DESCENTS}}
    notes = (
        "The best validation mAP is looked for up to the learner's own end, and not beyond it.",
        "The papers' descent makes the first two rows of a method (LMNN's with an active set). The minimum of the same "
        "objective is found by L-BFGS on a factor of M. With fewer images than words many matrices reach it.",
        "Early stopping has the default omega of LMNN. The other rows have the omega that each fold chose.",
    )
    numbers = frozenset(heads) - {"method", "end"}
    return Table(pd.DataFrame(records), heads=heads, blocks="subset", titles=titles, numbers=numbers, notes=notes)


def _end_rows(study: CategoryStudy, subset: Subset, method: str) -> list[dict[str, object]]:
    """Numbers of a method at its three ends; none where it was not traced."""
    metrics = ("traced_map", "traced_train_map", "traced_validation_map", "objective")
    test, train, validation, objective = (study.curves(subset, method, metric) for metric in metrics)
    if test is None or train is None or validation is None or objective is None:
        return []
    early = validation.reindex(test.index).where(test.notna()).idxmax()
    folds = {"early": (early, at(objective / objective.loc[0], early), at(train, early), at(test, early))}
    for end, run in (("own", method), ("minimum", DESCENTS[method])):
        shares = study.recorded(subset, run, "objective_share")
        precision = study.values(subset, run, "train_map"), study.values(subset, run)
        folds[end] = (study.recorded(subset, run, "n_steps"), shares, *precision)
    return [
        {"subset": subset.id, "method": method, "end": end}
        | {"objective": significant(100 * shares.mean()) if len(shares) else MISSING}
        | {"steps_cell": significant(steps.mean()).removesuffix(".0")}
        | percent("train", seen)
        | percent("ours", new)
        for end, (steps, shares, seen, new) in folds.items()
        if len(new)
    ]


def at(curves: pd.DataFrame, steps: pd.Series) -> pd.Series:
    """Number of each fold at its own step."""
    return pd.Series({fold: curves.at[step, fold] for fold, step in steps.items()})


def percent(name: str, folds: pd.Series, sign: str = "") -> dict[str, object]:
    """Mean and standard deviation over folds in percent, as numbers and as a cell."""
    mean, std = 100 * folds.mean(), 100 * folds.std()
    cell = plus_minus(mean, std, f"{sign}.1f", ".1f")
    return {name: mean, f"{name}_std": std, f"{name}_cell": cell, "n_folds": len(folds), "unit": "percent"}
