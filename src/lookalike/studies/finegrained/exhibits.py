"""Tables and figures of the fine-grained study (Deep Ranking, CVPR 2014, section 6); `pictures` has those of images."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from lookalike.exhibits.in_text import Fact, numbers_in_text
from lookalike.exhibits.margins import margin
from lookalike.exhibits.model import Axis, Figure, Line, Margin, Panel, Series, Table
from lookalike.exhibits.printed import MISSING, beside_print
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, Look
from lookalike.exhibits.words import listed
from lookalike.studies.finegrained import pictures as pictures
from lookalike.studies.finegrained import sampler_drawing as sampler_drawing
from lookalike.studies.finegrained.numbers import COUNTS
from lookalike.studies.finegrained.study import FORMS, PAPER_POOL, FinegrainedStudy, has
from lookalike.studies.finegrained.systems import (
    ALL,
    DEEP,
    EMBEDDED,
    FEATURES,
    GOLDEN,
    PAPER,
    PAPER_K,
    PER_TRIPLET,
    PRECISION,
    SCORE,
    SINGLE,
    TABLE1,
    TABLE2,
    UNIFORM,
    WEIGHTED,
    ordered_systems,
    sampled_share,
    system_title,
)

BESIDE = ("pool", "fits")
"""What tables of systems show, or note, where it is there."""
SPREAD_OF_INTERVAL = 2 * 1.959963985
"""Standard errors between the ends of a 95% interval."""
BEST: Mapping[str, Any] = {"compared": "system", "best": dict.fromkeys((PRECISION, SCORE, PER_TRIPLET), max)}
SAMPLING_LOOKS = {WEIGHTED: Look(VERMILLION, "o"), UNIFORM: Look(BLUE, "D", "")}
KIND_OF_RIVAL = dict.fromkeys(FEATURES, "hand-crafted") | {GOLDEN: "partly learned from labels"}
"""What has to be known of a rival: the golden feature mixes in three embeddings of training categories."""
PHASES = {
    "classification": {"precision": "Right (%)", "loss": "Cross-entropy"},
    "ranking": {"precision": "Right (%)", "loss": "Hinge loss"},
}
"""Phase of training to what its panels show of each quantity."""
CURVES = {"training": "training", "validation": "held out"}
"""Part of a curve to its name."""
SEED_COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, SKY, PURPLE)


@exhibit(
    f"{PAPER}/table1", title="Hand-crafted features and what is learned", needs=("metrics",), optional=BESIDE, shows=()
)
def features_beside_learning(study: FinegrainedStudy) -> Table:
    """How well hand-crafted features and what is learned order rated triplets: similarity precision and score-30."""
    table = systems_table(study, TABLE1)
    return replace(table, notes=(*study.overrated(), *table.notes))


@exhibit(
    f"{PAPER}/table2",
    title="Architectures of networks",
    needs=("metrics",),
    optional=BESIDE,
    when=has(DEEP),
    condition="networks",
    shows=(),
)
def architectures(study: FinegrainedStudy) -> Table:
    """How well each architecture of networks orders rated triplets: similarity precision and score-30."""
    return systems_table(study, TABLE2)


@exhibit(
    f"{PAPER}/fig6",
    title="Out-of-class negatives",
    needs=("metrics",),
    optional=("pool",),
    when=lambda study: study.samples_shares(),
    condition="a `sampling_study` of networks with two seeds or more",
    shows=("sampling_study",),
)
def sampling(study: FinegrainedStudy) -> Figure:
    """How the share of training triplets with an out-of-class negative changes similarity precision and score-30."""
    columns = ["series", "system", "percent", "metric", "value", "low", "high", "n_triplets", "n_queries"]
    frame = pd.DataFrame(_sampled(study), columns=columns)
    titles = {PRECISION: "Similarity precision (%)", SCORE: f"Score at top {study.k} (triplets)"}
    panels = [_sampling_panel(study, frame[frame["metric"] == metric], title) for metric, title in titles.items()]
    notes = [*_metric_notes(study), *study.trainings_notes(frame["system"])]
    if (frame["series"] == UNIFORM).any():
        notes.append("Weighted sampling draws images by their relevance, uniform sampling draws all alike.")
    return Figure(frame, tuple(panels), notes=(*notes, "The printed curves have no numbers."))


@exhibit(f"{PAPER}/text", title="Numbers in its text", needs=("fits", "metrics"), shows=())
def numbers_of_text(study: FinegrainedStudy) -> Table:
    """What the paper says in its text: triplets that train a network, those that judge it, and an embedding's size."""
    fits, drawn = study.table("fits"), triplets_drawn(study).get(DEEP, pd.Series(dtype=np.float64))
    embedded = fits.loc[fits["system"] == EMBEDDED, "dimensions"]
    facts = [
        Fact("training_triplets", f"Triplets that {study.title_of(DEEP)} draws, in the median", float(drawn.median())),
        Fact("evaluation_triplets", "Rated triplets", study.n_triplets),
        Fact("embedding_dimensions", "Dimensions of L1HashKPCA", float(embedded.median())),
    ]
    return numbers_in_text(study, facts)


@exhibit(
    "finegrained/curves",
    title="Training of the networks",
    needs=("metrics",),
    optional=("fits",),
    when=has(DEEP),
    condition="networks",
)
def training_curves(study: FinegrainedStudy) -> Figure:
    """How each network learns: what it has right and its loss, on triplets that it learns from and on held-out ones."""
    frame = _curve_rows(study)
    systems = ordered_systems(frame["system"])
    panels = [_curve_panel(study, frame, system, quantity) for system, quantity in product(systems, PHASES["ranking"])]
    drops = {study.networks.pretraining.drops, study.networks.ranking.drops}
    rates = "at its only learning rate" if drops == {0} else "at the last of its learning rates"
    whose = f"the relevance that {study.title_of(GOLDEN)} makes" if study.golden.ratings else "training relevance"
    notes = (
        "Training: the triplets that a network learns from, in its own mix of negatives, as they go by. Held out: "
        f"triplets of other training images. A training ends when their loss no longer falls {rates}, "
        "or after all its steps, and is then unfinished. Stars: the step whose weights are kept.",
        f"Right: the share of triplets ordered as by {whose}. It is not similarity precision, which is of "
        "rated triplets (Tables 1 and 2).",
        "ConvNet classifies images: its curve is the share of images that it classifies rightly, and its loss is "
        "cross-entropy. A ranking network starts from its weights.",
        "A step follows the gradient of all its triplets at once. The paper's machines update the weights "
        "asynchronously (section 5), each with a gradient of older weights.",
        _sampling_names(study),
    )
    return Figure(frame, tuple(panels), n_columns=4, size=(1.95, 1.55), notes=notes)


def systems_table(study: FinegrainedStudy, systems: Sequence[str]) -> Table:
    """Both metrics of some systems, ours beside the paper's, and what scores are counted over."""
    k = study.k
    heads = {PRECISION: "Precision (%)", SCORE: f"Score-{k}", f"{SCORE}_per_triplet": f"Score-{k} a triplet (%)"}
    heads |= {"n_in_top": f"in top {k}", "median_pool": "pool"}
    rows = [_system_row(study, system, metric) for system, metric in product(systems, heads)]
    printed = study.printed_in().rename(columns={"method": "system"})
    cells = beside_print(pd.DataFrame(rows), printed, on=("system", "metric"))
    found = zip(cells["printed"], cells["metric"], cells["is_printed"], strict=True)
    cells["printed_cell"] = [f"{value:{FORMS[metric]}}" if is_printed else "" for value, metric, is_printed in found]
    titles = {"metric": heads, "system": {system: study.title_of(system) for system in systems}}
    notes = _system_notes(study, set(systems) & study.measured)
    margins = tuple(margin for metric in (PRECISION, SCORE) for margin in _margins(study, systems, metric))
    return Table(cells, ("system",), "metric", titles=titles, notes=notes, margins=margins, **BEST)


def _margins(study: FinegrainedStudy, systems: Sequence[str], metric: str) -> list[Margin]:
    """DeepRanking minus the best others of a table, in print, here and of features; none where unmeasured."""
    theirs = study.printed_study()
    ours, printed = ({system: side.value(system, metric).value for system in systems} for side in (study, theirs))
    others = [system for system in systems if system != DEEP and not math.isnan(ours[system] + printed[system])]
    name = "precision" if metric == PRECISION else f"score-{study.k}"
    rivals = [max(others, key=found.__getitem__) for found in (printed, ours) if others]
    # the best of those that learned nothing too, wherever what learned is ahead of it
    rivals += sorted(set(others) & set(FEATURES), key=ours.__getitem__)[-1:]
    contrasts = {other: study.contrasts.intervals(ALL, metric, DEEP, other) for other in rivals}
    titled = {"setting": "", "metric": name, "interval": f"95%, of a paired bootstrap over {study.resampled}"}
    return [
        margin(study, rows, ours, printed, kind=KIND_OF_RIVAL.get(other, ""), **titled)
        for other, rows in contrasts.items()
        if rows
    ]


def _system_row(study: FinegrainedStudy, system: str, metric: str) -> dict[str, Any]:
    """One number of a system, or one that its score is counted over."""
    found = study.value(system, metric if metric in FORMS else SCORE)
    row: dict[str, Any] = {"system": system, "metric": metric}
    row |= dict(zip(("ours", "low", "high", *COUNTS), found, strict=True))
    row["ours_std"] = (found.high - found.low) / SPREAD_OF_INTERVAL
    row["unit"] = {SCORE: "triplets", "n_in_top": "triplets", "median_pool": "images"}.get(metric, "percent")
    if metric in FORMS:
        return row | {"ours_cell": study.cell(found, metric, system)}
    ours = row[metric] if not math.isnan(found.value) else math.nan
    row |= dict.fromkeys(("low", "high", "ours_std"), math.nan)
    return row | {"ours": ours, "ours_cell": MISSING if math.isnan(ours) else f"{ours:,}"}


def _system_notes(study: FinegrainedStudy, there: set[str]) -> tuple[str, ...]:
    """Return what columns are, what is ranked, and what to know of single systems."""
    ties = any(study.value(system, PRECISION).n_ties for system in there)
    notes = _metric_notes(study, "; a tie counts half" if ties else "")
    notes += [f"The paper ranks {PAPER_POOL:,} images."] if study.median_pool else []
    notes += [f"The paper's scores are of the top {PAPER_K}."] if study.k != PAPER_K else []
    notes.append(f"In top {study.k}: how many triplets a score counts. A triplet: the score divided by all triplets.")
    if GOLDEN in there and study.golden.ratings:
        makes = "" if study.surroundings.no_training else " They made the training relevance."
        notes.append(f"Golden Features learned from ratings that are not evaluated.{makes}")
    elif GOLDEN in there:
        notes.append("Golden Features learn from the same training relevance as the others; in the paper they made it.")
    if {SINGLE, DEEP} <= there:
        notes += study.trainings_notes(there)
        notes.append("The single-scale network has no linear layer, so its last activations are its features.")
    return (*notes, *_learning_notes(study, there))


def _learning_notes(study: FinegrainedStudy, there: set[str]) -> list[str]:
    """Say how many triplets each system learned from, and how many the trainings of networks drew."""
    fits, drawn, counts = study.table("fits") if study.has("fits") else pd.DataFrame(), triplets_drawn(study), []
    for system in ordered_systems(there) if "n_triplets" in fits else ():
        learned = fits.loc[fits["system"] == system, "n_triplets"].dropna()
        more = f" (kept; {_by_seed(drawn[system])} drawn)" if system in drawn else ""
        counts += [f"{study.title_of(system)} {_by_seed(learned)}{more}"] if len(learned) else []
    return [f"Triplets that each learned from, by seed: {'; '.join(counts)}."] if counts else []


def triplets_drawn(study: FinegrainedStudy) -> dict[str, pd.Series]:
    """Return how many triplets each training of a ranking network drew, also after the step whose weights are kept."""
    fits = study.table("fits") if study.has("fits") else pd.DataFrame()
    if not {"kept_step", "n_steps", "settings_batch", "n_triplets"} <= set(fits):
        return {}
    rows = fits.dropna(subset=["kept_step", "n_triplets"])
    return {str(system): own["n_steps"] * own["settings_batch"] for system, own in rows.groupby("system")}


def _by_seed(counts: pd.Series) -> str:
    """Return ``20,800, 16,000 and 12,800``; one number where all are alike."""
    numbers = [f"{count:,.0f}" for count in counts]
    return listed(numbers if len(set(numbers)) > 1 else numbers[:1])


def _metric_notes(study: FinegrainedStudy, ties: str = "") -> list[str]:
    """Return what both metrics are, and what scores rank."""
    k, pool = study.k, study.median_pool
    notes = [
        f"Similarity precision: the share of triplets whose positive is nearer to the query than the negative{ties}.",
        f"Score-{k}: triplets ordered rightly minus those ordered wrongly, of those with an image in the query's top "
        f"{k}.",
    ]
    whose = "the pool of the query" if study.has_pool else "the images of the query's triplets, as there is no pool"
    share = f", so that the top {k} are {k / pool:.0%} of them" if k < pool else ""
    return notes + ([f"It ranks {whose}: {pool:,} images in the median{share}."] if pool else [])


def _sampled(study: FinegrainedStudy) -> list[tuple[Any, ...]]:
    """Both series by share; DeepRanking stands for the network of its share."""
    found: dict[tuple[bool, bool, int], tuple[Any, ...]] = {}
    for system in sorted(study.measured, key=lambda system: system != DEEP):
        share = sampled_share(system, study.chosen_percent)
        for metric in (PRECISION, SCORE):
            number = study.value(system, metric)
            if share is not None and not math.isnan(number.value):
                key = (metric != PRECISION, share[0] != WEIGHTED, share[1])
                found.setdefault(key, (share[0], system, share[1], metric, *number[:5]))
    return [found[key] for key in sorted(found)]


def _sampling_panel(study: FinegrainedStudy, rows: pd.DataFrame, title: str) -> Panel:
    """Weighted sampling as a line in its band, uniform as points, and the chosen share."""
    percent = study.chosen_percent
    n_weighted = int((rows["series"] == WEIGHTED).sum())
    where = {"metric": rows["metric"].iloc[0]} if len(rows) else {}
    columns, series = ("percent", "value"), []
    for name, look in SAMPLING_LOOKS.items():
        if (rows["series"] == name).any():
            points = Series(f"{name} sampling", where | {"series": name}, *columns, look, "low", "high", kind="points")
            is_line = name == WEIGHTED
            series.append(replace(points, kind="line", band=n_weighted > 1) if is_line else points)
    chosen = Line(f"share of DeepRanking ({percent}%)", percent, Look(BLACK, "", ":"), upright=True)
    x = Axis("Out-of-class negatives (%)", low=-4, high=104, text="{:.0f}% out-of-class")
    return Panel("", x, Axis(title, text="{:,.1f}"), tuple(series), (chosen,))


def _sampling_names(study: FinegrainedStudy) -> str:
    return (
        "A name such as weighted 60% says how triplets were drawn, and how many of them have out-of-class negatives; "
        f"{study.title_of(DEEP)} is weighted {study.chosen_percent}%."
    )


def _curve_rows(study: FinegrainedStudy) -> pd.DataFrame:
    """Every curve, with the points that are kept; one with an accuracy is of classification."""
    curves = study.numbers[study.numbers["x"].notna()]
    classifies = curves["method"].isin(curves.loc[curves["metric"] == "accuracy", "method"])
    frame = curves.rename(columns={"method": "system", "subset": "part", "fold": "seed"}).assign(
        phase=np.where(classifies, "classification", "ranking"),
        seen=curves["x"].astype(np.int64),
        quantity=curves["metric"].replace({"accuracy": "precision"}),
    )
    frame["kept"] = frame["part"].eq("validation") & frame["seen"].eq(_kept_at(study, frame))
    return frame[["system", "seed", "phase", "seen", "quantity", "part", "value", "kept"]].reset_index(drop=True)


def _kept_at(study: FinegrainedStudy, frame: pd.DataFrame) -> pd.Series:
    """Return what its training had seen, for each row of curves, at the step whose weights are kept."""
    fits = study.table("fits") if study.has("fits") else pd.DataFrame()
    if not {"repeat", "kept_step", "n_steps", "settings_batch"} <= set(fits):
        return pd.Series(math.nan, index=frame.index)
    # a linear embedding records no step but the one that is kept
    seen = fits["kept_step"].fillna(fits["n_steps"]) * fits["settings_batch"]
    kept = fits.assign(at=seen).dropna(subset=["repeat"]).set_index(["system", "repeat"])["at"]
    return kept.reindex(list(zip(frame["system"], frame["seed"], strict=True))).set_axis(frame.index)


def _curve_panel(study: FinegrainedStudy, frame: pd.DataFrame, system: str, quantity: str) -> Panel:
    """One quantity of one network, a line a seed, on the axis that all networks of its phase share."""
    phase = frame.loc[frame["system"] == system, "phase"].iloc[0]
    alike = frame.loc[(frame["phase"] == phase) & (frame["quantity"] == quantity), "value"]
    low, high = float(alike.min()), float(alike.max())
    low = 0.0 if low < high / 2 else low - 0.05 * (high - low)
    own = frame[(frame["system"] == system) & (frame["quantity"] == quantity)]
    where = {"system": system, "quantity": quantity}
    seeds, series = sorted(set(own["seed"])), []
    for part, seed in product([part for part in CURVES if part in set(own["part"])], seeds):
        is_training, which = part == "training", {"part": part, "seed": seed}
        look = Look(GREY if is_training else SEED_COLOURS[(seed - 1) % len(SEED_COLOURS)], "o")
        name = CURVES[part] if is_training or len(seeds) == 1 else f"{CURVES[part]}, seed {seed}"
        series.append(Series(name, where | which, "seen", "value", look, thin=is_training))
    if own["kept"].any():
        series.append(Series("kept", where | {"kept": True}, "seen", "value", Look(BLACK, "*"), kind="points"))
    unfinished = " (unfinished)" if system in study.unfinished else ""
    title = "\n".join(wrap(f"{system_title(system, short=True)}{unfinished}", 22))
    return Panel(
        title if quantity == "precision" else "",
        Axis("Images seen" if phase == "classification" else "Triplets seen", low=0, tick_form="short"),
        Axis(PHASES[phase][quantity], low=low, high=high + 0.05 * (high - low)),
        tuple(series),
        empty="" if series else "not recorded",
    )
