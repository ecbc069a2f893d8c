"""Figures of the fine-grained study (Deep Ranking, CVPR 2014, section 6); `pictures` has those of images."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from textwrap import wrap

import numpy as np
import pandas as pd

from lookalike.exhibits.drawing import Chart, Curve, ruler
from lookalike.exhibits.model import Axis, Drawn
from lookalike.exhibits.results import rows_in, select
from lookalike.exhibits.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, Look
from lookalike.studies.finegrained.results import KEPT
from lookalike.studies.finegrained.study import FinegrainedStudy
from lookalike.studies.finegrained.systems import (
    DEEP,
    GOLDEN,
    PRECISION,
    SCORE,
    UNIFORM,
    WEIGHTED,
    ordered_systems,
    sampled_share,
    system_title,
)

SAMPLING_LOOKS = {WEIGHTED: Look(VERMILLION, "o"), UNIFORM: Look(BLUE, "D", "", kind="points")}
PHASES = {
    "classification": {"precision": "Right (%)", "loss": "Cross-entropy"},
    "ranking": {"precision": "Right (%)", "loss": "Hinge loss"},
}
"""Phase of training to what its panels show of each quantity."""
CURVES = {"training": "training", "validation": "held out"}
"""Part of a curve to its name."""
SEED_COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, SKY, PURPLE)


def sampling(study: FinegrainedStudy) -> Drawn:
    """Draw precision and score over the share of training triplets with an out-of-class negative."""
    rows = []
    for system in study.measured:
        # DeepRanking stands for the network of its share
        share = sampled_share(system, study.chosen_percent)
        levels = [study.level(system, metric) for metric in (PRECISION, SCORE)] if share else []
        rows += [(*(share or ()), system, row.metric, row.mean, row.low, row.high) for row in levels]
    frame = pd.DataFrame(rows, columns=["series", "percent", "system", "metric", "value", "low", "high"])
    frame = frame.sort_values(["metric", "series", "percent"], ascending=[False, False, True], ignore_index=True)
    titles = {PRECISION: "Similarity precision (%)", SCORE: f"Score at top {study.score.k} (triplets)"}
    percent, chart = study.chosen_percent, Chart(len(titles))
    x = Axis("Out-of-class negatives (%)", low=-4, high=104, text="{:.0f}% out-of-class")
    for metric, title in titles.items():
        # weighted sampling is a line in its band
        curves = [
            Curve(f"{name} sampling", replace(look, band=name == WEIGHTED and len(own) > 1), own, "percent", "value")
            for name, look in SAMPLING_LOOKS.items()
            if len(own := select(frame, metric=metric, series=name))
        ]
        panel = chart.panel("", x, Axis(title, text="{:,.1f}"), curves)
        panel.axvline(percent, label=f"share of DeepRanking ({percent}%)", **ruler(line=":"))
    about = "Weighted sampling draws images by their relevance, uniform sampling draws all alike."
    names = {"series": {name: f"{name} sampling" for name in SAMPLING_LOOKS}}
    return chart.drawn(frame, notes=(about, "The printed curves have no numbers."), titles=names)


def training_curves(study: FinegrainedStudy) -> Drawn:
    """Draw what each network has right and its loss, on triplets that it learns from and on held-out ones."""
    frame = _curve_rows(study)
    systems = ordered_systems(frame["system"])
    pairs = [*product(systems, PHASES["ranking"])]
    chart = Chart(len(pairs), n_columns=4, size=(1.95, 1.55))
    for system, quantity in pairs:
        _draw_curves(chart, study, frame, system, quantity)
    whose = f"the relevance that {study.title_of(GOLDEN)} makes" if study.golden.ratings else "training relevance"
    notes = (
        "Training: the triplets that a network learns from, in its own mix of negatives, as they go by. Held out: "
        "triplets of other training images. A training ends when their loss no longer falls at the last of its "
        "learning rates, or after all its steps, and is then unfinished. Stars: the step whose weights are kept.",
        f"Right: the share of triplets ordered as by {whose}. It is not similarity precision, which is of "
        "rated triplets (Tables 1 and 2).",
        "ConvNet classifies images: its curve is the share of images that it classifies correctly, and its loss is "
        "cross-entropy. A ranking network starts from its weights.",
        "A name such as weighted 60% says how triplets were drawn, and how many of them have out-of-class negatives; "
        f"{study.title_of(DEEP)} is weighted {study.chosen_percent}%.",
    )
    names = {"system": {system: study.title_of(system) for system in systems}}
    return chart.drawn(frame, notes=notes, titles=names)


def _curve_rows(study: FinegrainedStudy) -> pd.DataFrame:
    """Every curve, with the points that are kept; one with an accuracy is of classification."""
    rows = study.results[study.results["x"].notna()]
    classifies = rows["method"].isin(rows.loc[rows["metric"] == "accuracy", "method"])
    kept = {(row.method, row.repeat): row.value for row in rows_in(select(study.results, metric=KEPT))}
    at = [kept.get(training) for training in zip(rows["method"], rows["repeat"], strict=True)]
    frame = pd.DataFrame(
        {
            "system": rows["method"],
            "seed": rows["repeat"].astype(np.int64),
            "phase": np.where(classifies, "classification", "ranking"),
            "seen": rows["x"].astype(np.int64),
            "quantity": rows["metric"].replace({"accuracy": "precision"}),
            "part": rows["images"],
            "value": rows["value"],
            "kept": rows["images"].eq("validation") & rows["x"].eq(pd.Series(at, index=rows.index, dtype="float64")),
        }
    )
    return frame.reset_index(drop=True)


def _draw_curves(chart: Chart, study: FinegrainedStudy, frame: pd.DataFrame, system: str, quantity: str) -> None:
    """Draw one quantity of one network, a line a seed, on the axis that all networks of its phase share."""
    phase = frame.loc[frame["system"] == system, "phase"].iloc[0]
    alike = frame.loc[(frame["phase"] == phase) & (frame["quantity"] == quantity), "value"]
    low, high = float(alike.min()), float(alike.max())
    low = 0.0 if low < high / 2 else low - 0.05 * (high - low)
    own = frame[(frame["system"] == system) & (frame["quantity"] == quantity)]
    seeds, curves = sorted(set(own["seed"])), []
    for part, seed in product([part for part in CURVES if part in set(own["part"])], seeds):
        is_training = part == "training"
        colour = SEED_COLOURS[(seed - 1) % len(SEED_COLOURS)]
        look = Look(GREY, "o", kind="thin") if is_training else Look(colour, "o")
        name = CURVES[part] if is_training or len(seeds) == 1 else f"{CURVES[part]}, seed {seed}"
        curves.append(Curve(name, look, select(own, part=part, seed=seed), "seen", "value", None))
    if own["kept"].any():
        curves.append(Curve("kept", Look(BLACK, "*", kind="points"), own[own["kept"]], "seen", "value", None))
    unfinished = " (unfinished)" if system in study.unfinished else ""
    title = "\n".join(wrap(f"{system_title(system, short=True)}{unfinished}", 22))
    chart.panel(
        title if quantity == "precision" else "",
        Axis("Images seen" if phase == "classification" else "Triplets seen", low=0, tick_form="short"),
        Axis(PHASES[phase][quantity], low=low, high=high + 0.05 * (high - low)),
        curves,
        empty="" if curves else "not recorded",
    )
