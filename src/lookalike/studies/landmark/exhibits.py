"""Figures of the landmark study: S-TG and S-DA minus OASIS over words and features, and the montage."""

from __future__ import annotations

from itertools import product

import pandas as pd

from lookalike.exhibits.drawing import lettered
from lookalike.exhibits.model import Axis, Figure, Gallery, Line, Panel, Series
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import BLACK, Look, looks_of
from lookalike.studies.landmark.gallery import first_results_of
from lookalike.studies.landmark.rankings import MAP_FULL
from lookalike.studies.landmark.results import FEATURES
from lookalike.studies.landmark.settings import LEADING, PAIRS
from lookalike.studies.landmark.study import LandmarkStudy
from lookalike.studies.metrics import rows_in, select

NOTES = (
    "Whole images are queries. Intervals are 95%, the wider of a t-test over landmarks and a bootstrap over landmarks "
    "and draws.",
    "Means are over {draws} draws, with chosen constants over {chosen_draws}. Chosen constants are the best of eight "
    "settings of each method, by images held out of those to learn from.",
)


def lead_points(study: LandmarkStudy) -> pd.DataFrame:
    """Return S-TG and S-DA minus OASIS in points of mAP: a row a codebook, method, and printed or chosen constants."""
    pairs = zip(product(("printed", "chosen"), LEADING), PAIRS, strict=True)
    records = []
    for codebook, ((constants, method), pair) in product(rows_in(select(study.results, metric=FEATURES)), [*pairs]):
        if rows := study.contrasts.intervals(codebook.setting, MAP_FULL, *pair):
            names = {"words": int(codebook.words), "features": codebook.features, "n_features": codebook.value}
            ends = {"low": min(row.low for row in rows), "high": max(row.high for row in rows)}
            names |= {"method": method, "constants": constants, "mean": rows[0].mean, **ends, "n": rows[0].n}
            records.append(names)
    return pd.DataFrame(records).sort_values(["words", "n_features"], kind="stable", ignore_index=True)


@exhibit(
    "landmark/lead",
    title="SOML minus OASIS over words and features",
    needs=("results",),
    when=lambda study: study.lead is not None,
)
def lead_over_features(study: LandmarkStudy) -> Figure:
    """How far S-TG and S-DA are above OASIS in mean average precision, by visual words and features of a photograph."""
    points = lead_points(study)
    looks = looks_of([f"{words:,} words" for words in dict.fromkeys(points["words"])])
    sizes = list(zip(dict.fromkeys(points["words"]), looks.items(), strict=True))
    ticks = tuple((row.n_features, row.features) for row in rows_in(points.drop_duplicates("features")))
    x = Axis("Features of a photograph, at most", "log", ticks=ticks, text="{:,.0f} features on average")
    room = 0.05 * (points["high"].max() - points["low"].min())
    ends = {"low": points["low"].min() - room, "high": points["high"].max() + room}
    columns = list(product(("printed", "chosen"), LEADING))
    titles = lettered([f"{study.title_of(method)}, {constants} constants" for constants, method in columns])
    panels = []
    for (constants, method), title in zip(columns, titles, strict=True):
        own = {"constants": constants, "method": method}
        series = [
            Series(name, {**own, "words": words}, "n_features", "mean", look, "low", "high", shift=0.025 * (place - 1))
            for place, (words, (name, look)) in enumerate(sizes)
        ]
        y = Axis(f"{study.title_of(method)} minus OASIS (points of mAP)", **ends, text="{:+.1f}")
        panels.append(Panel(title, x, y, tuple(series), (Line("OASIS", 0, Look(BLACK, "", "--")),)))
    draws = {"draws": study.learning.draws, "chosen_draws": study.lead.chosen_draws if study.lead else 0}
    notes = tuple(note.format(**draws) for note in NOTES)
    return Figure(points, tuple(panels), notes=notes, n_columns=len(LEADING), size=(3.4, 2.6))


@exhibit(
    "landmark/montage",
    title="First results before and after learning",
    needs=("manifest", "queries", "relevance", "images", "ranks"),
    when=lambda study: study.compared_methods(),
)
def first_results(study: LandmarkStudy) -> Gallery:
    """Whether learning finds more images of a landmark: first results before it (TF-IDF) and after it."""
    return first_results_of(study)
