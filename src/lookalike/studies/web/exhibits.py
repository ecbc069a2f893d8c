"""Tables and figures of the web study: OASIS, JMLR 5.2, its draft (5.3) and its NIPS version (4.1)."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.exhibits.margins import margin
from lookalike.exhibits.model import Axis, Figure, Line, Margin, Panel, Series, Table
from lookalike.exhibits.printed import MISSING, beside_print, human_time, plus_minus, times_over
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import BLACK, GREY, LOOKS, Look, looks_of
from lookalike.studies.metrics import rows_in, select
from lookalike.studies.web.numbers import VALIDATION
from lookalike.studies.web.runtime_figure import JMLR, paper_images
from lookalike.studies.web.study import PARTS, WebStudy

Floats = npt.NDArray[np.float64]
QUANTITIES = {
    "queries": ("Number of Queries", ",.0f"),
    "images": ("Number of Images", ",.0f"),
    "pairs": ("Query-image pairs", ",.0f"),
    "nonzeros_per_image": ("Non-zeros an image", ",.1f"),
    "relevant_per_image": ("Relevant images an image", ",.1f"),
}
"""Counted quantity to its heading and format; the first two are the papers' columns, the last two in running text."""
IN_TABLE = ("queries", "images")
ABOUT_RELEVANT = "about 100 (JMLR section 5.2.1)"
"""Words of the text for the mean number of relevant images."""
PAPER_WORDS = 10_000
"""Visterms of the papers' images (JMLR section 3)."""
MARGIN_K = (1, 10)
"""Numbers of neighbours at which OASIS is set beside the Euclidean distance."""


@exhibit(
    "oasis-jmlr-2010/table1",
    "oasis-2009-draft/table3",
    title="Statistics of the collection",
    needs=("metrics",),
    shows=(),
)
def collection(study: WebStudy) -> Table:
    """How large the collection is: its queries and images, and the visterms and relevant images that an image has."""
    ours = pd.DataFrame(list(product(PARTS, QUANTITIES)), columns=["part", "metric"])
    ours.insert(1, "setting", ours["part"].map(PARTS).where(ours["metric"].isin(IN_TABLE), ""))
    ours["ours"] = [study.counts.get(place, math.nan) for place in zip(ours["part"], ours["metric"], strict=True)]
    printed = select(study.printed, paper=study.paper or JMLR, exhibit=["table1", "table3", "text"])
    cells = beside_print(ours.assign(ours_std=math.nan), printed, on=("setting", "metric"), judge=study.judge)
    values = zip(cells["ours"], cells["metric"], strict=True)
    cells["ours_cell"] = [plus_minus(value, math.nan, QUANTITIES[quantity][1]) for value, quantity in values]
    cells["printed_cell"] = ["" if math.isnan(value) else f"{value:,.10g}" for value in cells["printed"]]
    parts = {part: name.capitalize() for part, name in PARTS.items()}
    headings = {quantity: heading for quantity, (heading, _) in QUANTITIES.items()}
    notes = [
        "Non-zeros: how many different visterms an image has. The paper prints the mean of all (JMLR section 3).",
        "Relevant images share a query with an image and are of its part. They are counted for a sample where there "
        f"are many; the paper says {ABOUT_RELEVANT}.",
    ]
    titles = {"part": parts, "metric": headings}
    return Table(cells, rows=("part",), columns="metric", titles=titles, notes=tuple(notes))


@exhibit("oasis-jmlr-2010/fig3a", "oasis-2009-draft/fig6", title="Precision at top k", needs=("metrics",), shows=())
def precision_by_log(study: WebStudy) -> Figure:
    """How many of the first k images are relevant, that is, share a query of the log with the query image."""
    images, relevant = (study.counts["test", quantity] for quantity in ("images", "relevant_per_image"))
    chance = 100 * relevant / (images - 1)
    printed = study.printed[study.printed["metric"] == "web_p@1"].replace({"web_p@1": "p@1"})
    levels = [("chance", chance, int(images)), *(("oasis, printed", value, 0) for value in printed["value"])]
    beside = pd.DataFrame(levels, columns=["series", "precision", "n_gallery"]).assign(k=1, n_queries=0)
    ours = {"setting": "", "method": "oasis", "metric": "p@1", "ours": study.precision_at("oasis", 1)[0]}
    cells = beside_print(pd.DataFrame([ours | {"ours_std": math.nan}]), printed, judge=study.judge)
    notes = (
        "One shared query is enough: the papers' threshold theta on relevance is 0 here.",
        "The papers' figure shows OASIS alone: it has no curve of Euclidean and none of averaged models.",
        f"Chance is {chance:.2g}%, the share of relevant images among all.",
        *(
            f"JMLR section 5.2.2 prints {value:g}% at top 1, by the log of a real search engine. It is not drawn, "
            "because it says nothing beside these curves. The printed curves have no numbers."
            for value in printed["value"]
        ),
    )
    frame = pd.concat([study.precision("p@k"), beside], ignore_index=True)
    figure = precision_figure(study, frame, "Precision at top k (%)", cells, notes)
    return replace(figure, margins=tuple(margin_at(study, k) for k in MARGIN_K))


def margin_at(study: WebStudy, k: int) -> Margin:
    """OASIS minus Euclidean distance in precision at top k; print has the curve of OASIS alone."""
    ours = {method: study.precision_at(method, k)[0] for method in study.methods}
    rows = study.contrasts.intervals("", f"p@{k}", "oasis", "euclidean")
    interval = "two standard errors over test images, not paired"
    return margin(
        study, rows, ours, {}, setting="", metric=f"P@{k}", interval=interval, kind="not in the paper's figure"
    )


def precision_figure(
    study: WebStudy, frame: pd.DataFrame, label: str, cells: pd.DataFrame | None = None, notes: tuple[str, ...] = ()
) -> Figure:
    """Precision of each method over k with bands of a standard error, and the level of chance."""
    precision = frame.groupby("series", sort=False)["precision"].first()
    methods = [method for method in study.methods if method in precision]
    series = [
        Series(study.title_of(method), {"series": method}, "k", "precision", look, "low", "high", band=True)
        for method, look in looks_of(methods).items()
    ]
    chance = [Line("chance", level, Look(GREY, "", "--")) for level in precision[precision.index == "chance"].tolist()]
    x = Axis("Number of neighbours k", low=0, high=1.03 * float(frame["k"].max()), text="k = {:.0f}")
    panel = Panel("", x, Axis(label, low=0, text="{:.1f}%"), tuple(series), tuple(chance))
    common = (
        f"Each of {study.size_of('n_queries'):,} query images, drawn from the test images, ranks all other "
        f"{study.size_of('n_gallery') - 1:,} of them. Bands: ± standard error over query images.",
        "The gap between OASIS and Euclidean is no evidence about the papers. It comes from the simulation, whose "
        "images share styles that mean nothing to queries.",
    )
    return Figure(frame, (panel,), cells, (*common, *notes), size=(4.3, 2.85))


@exhibit("web/learning", title="Training", needs=("metrics", "curve_times", "fits"))
def learning(study: WebStudy) -> Figure:
    """How OASIS improves while it learns: its mAP (mean average precision) on held-out images, and its loss."""
    curves = ranker_curves(study)
    stops = study.table("fits")[["ranker", "chosen_step", "stopped"]].rename(columns={"chosen_step": "step"})
    frame = pd.concat([curves, mean_curve(curves), stops.assign(series="stop")], ignore_index=True)
    panels = (
        learning_panel(frame, "map", Axis("Validation mAP (%)", text="{:.2f}%")),
        learning_panel(frame, "loss_rate", Axis("Steps with a loss (%)", low=0, text="{:.2f}%")),
    )
    notes = learning_notes(study, curves, stops)
    return Figure(frame, panels, notes=tuple(notes), n_columns=1, size=(4.6, 2.0))


def ranker_curves(study: WebStudy) -> pd.DataFrame:
    """Validation mAP and rate of losses of every ranker in percent, with the hours that it had learned until then."""
    metrics = select(study.table("metrics"), subset=VALIDATION).rename(columns={"fold": "ranker", "x": "step"})
    numbers = 100 * metrics.pivot(index=["ranker", "step"], columns="metric", values="value")
    table = study.table("curve_times").merge(numbers.reset_index(), on=["ranker", "step"])
    notes = [f"{human_time(seconds)} of training" for seconds in table["seconds"]]
    table = table.assign(series="ranker", hours=table["seconds"] / 3600, map=table["validation_map"], note=notes)
    return table[["series", "ranker", "step", "hours", "map", "loss_rate", "note"]]


def mean_curve(curves: pd.DataFrame) -> pd.DataFrame:
    """Mean of several rankers at the steps that all of them have; no row of one alone."""
    n_rankers = curves["ranker"].nunique()
    by_step = curves.groupby("step")
    means = by_step[["hours", "map", "loss_rate"]].mean()[by_step.size() == n_rankers]
    return means.reset_index().assign(series="mean", ranker=-1).head(len(means) if n_rankers > 1 else 0)


def learning_panel(frame: pd.DataFrame, quantity: str, y: Axis) -> Panel:
    """Single rankers thin behind their mean, and the step whose matrix each keeps; one ranker alone is a line."""
    rankers = sorted(set(frame.loc[frame["series"] == "ranker", "ranker"].astype(int).tolist()))
    alone = len(rankers) == 1
    name, look = ("OASIS", LOOKS["oasis"]) if alone else (f"{len(rankers)} rankers", Look(LOOKS["oasis"].colour, ""))
    series = [
        Series(name, {"series": "ranker", "ranker": ranker}, "step", quantity, look, thin=not alone, note="note")
        for ranker in rankers
    ]
    if not alone:
        series.append(Series("mean of the rankers' curves", {"series": "mean"}, "step", quantity, LOOKS["oasis"]))
    steps = sorted(set(frame.loc[frame["series"] == "stop", "step"]))
    stops = [Line("best step of a ranker", float(step), Look(BLACK, "", ":"), upright=True) for step in steps]
    last = 1.04 * float(frame["step"].max())
    x = Axis("Training steps", low=0, high=last, tick_form="short", text="{:,.0f} training steps")
    return Panel("", x, y, tuple(series), tuple(stops))


def learning_notes(study: WebStudy, curves: pd.DataFrame, stops: pd.DataFrame) -> list[str]:
    """Say which images mAP is of, what is thin and thick, which step is kept, and how long it took."""
    held_out, n_rankers = int(study.table("fits")["n_validation"].max()), curves["ranker"].nunique()
    steps = ", ".join(f"{step:,}" for step in sorted(set(stops["step"])))
    last = curves[curves["ranker"] == curves["ranker"].min()].iloc[-1]
    notes = [
        f"Validation mAP is over {held_out:,} training images that are held out.",
        f"Dotted: the step with the best validation mAP, whose matrix is kept ({steps}).",
        f"Ranker {last['ranker']} took {human_time(3600 * last['hours'])} for {last['step']:,} steps, not counting "
        "validation.",
    ]
    if n_rankers > 1:
        notes.append(
            f"A ranker is one OASIS model. Thin: {n_rankers} rankers, each on triplets of its own; thick: the mean of "
            "their curves, which is no model."
        )
    limited = sorted(stops.loc[stops["stopped"] == "limit", "ranker"])
    if limited:
        notes.append(
            f"Training of ranker{'s' * (len(limited) > 1)} {' and '.join(map(str, limited))} ended at its limit of "
            "steps, while mAP could still grow."
        )
    return notes


SPEEDS = {
    "n_threads": ("threads", ".0f"),
    "n_rankers": ("rankers", ".0f"),
    "n_train": ("images", ",.0f"),
    "n_words": ("words", ",.0f"),
    "n_steps": ("steps", ",.0f"),
    "steps_per_second": ("steps/s", ",.0f"),
    "steps_per_cpu_second": ("steps/CPU s", ",.0f"),
    "over_printed": ("over the paper's", ""),
    "hours": ("time", ""),
    "peak_memory_gigabytes": ("peak memory (GB)", ".2f"),
    "loss_rate": ("steps with a loss (%)", ".1f"),
    "resumed": ("resumed", ".0f"),
}


@exhibit("web/speed", title="Speed of training", needs=("fits",), optional=("metrics",))
def speed(study: WebStudy) -> Table:
    """How fast OASIS trains, and how much time and memory it takes, beside what the paper prints."""
    ours, printed = study.speeds().assign(n_words=study.words, source="ours"), printed_speed(study)
    ours["training"] = [study.title_of(row.method) for row in rows_in(ours)]
    alike = study.words == PAPER_WORDS and printed
    ours["over_printed"] = ours["steps_per_second"] / printed["steps_per_second"] if alike else math.nan
    records = pd.concat([ours, pd.DataFrame([printed] if printed else [])], ignore_index=True)
    records = records.reindex(columns=["source", "training", *SPEEDS])
    frame = records.melt(["source", "training"], var_name="metric", ignore_index=False).sort_index(kind="stable")
    frame["ours_cell"] = [
        speed_cell(value, metric) for value, metric in zip(frame["value"], frame["metric"], strict=True)
    ]
    titles = {"metric": {metric: heading for metric, (heading, _) in SPEEDS.items()}}
    frame, notes = frame.reset_index(drop=True), speed_notes(study)
    return Table(frame, rows=("training",), columns="metric", titles=titles, notes=notes)


def speed_cell(value: float, metric: str) -> str:
    """A quantity as the table of speed prints it."""
    if math.isnan(value):
        return MISSING
    if metric == "over_printed":
        return times_over(value)
    return human_time(3600 * value) if metric == "hours" else format(value, SPEEDS[metric][1])


def printed_speed(study: WebStudy) -> dict[str, Any]:
    """Return what JMLR section 5.2.1 prints, triplets and minutes on one CPU; empty where that is not at hand."""
    values = dict(zip(study.printed["metric"], study.printed["value"], strict=True))
    if not {"web_triplets", "web_training_time"} <= set(values):
        return {}
    steps, hours = values["web_triplets"], values["web_training_time"] / 60
    sizes = {"n_threads": 1, "n_rankers": 1, "n_train": paper_images(study), "n_words": PAPER_WORDS, "n_steps": steps}
    return {"source": "printed", "training": "JMLR", **sizes, "hours": hours, "steps_per_second": steps / hours / 3600}


def speed_notes(study: WebStudy) -> tuple[str, ...]:
    """Say what rows are means of, and on what machine."""
    notes = [
        "A row is the mean over its rankers, each one OASIS model. Time is by the clock, from the first triplet to the "
        "last, without validation; steps/CPU s is by processor time; memory is the largest peak of a process."
    ]
    if study.words != PAPER_WORDS:
        notes.append(f"Speeds are compared with the paper's for {PAPER_WORDS:,} words only, the paper's number.")
    if (per_query := study.training.triplets_per_query) > 1:
        notes.append(f"{per_query} triplets in a row share their query image; in the paper, each has one of its own.")
    if study.processors:
        notes.append(f"Ours ran on {study.processors}.")
    return (*notes, "The paper's run (JMLR section 5.2.1) was on one processor that it does not name: no verdict.")
