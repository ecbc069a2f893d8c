"""Pictures and tables of the landmark study that are more than rows laid out: its lead over OASIS, and the montage."""

from __future__ import annotations

from itertools import product

import pandas as pd

from lookalike.exhibits import words as wording
from lookalike.exhibits.drawing import lettered
from lookalike.exhibits.model import Axis, Figure, Gallery, Line, Panel, Series, Table
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import BLACK, Look, looks_of
from lookalike.studies.landmark import montage
from lookalike.studies.landmark.rankings import MAP_FULL
from lookalike.studies.landmark.results import FEATURES
from lookalike.studies.landmark.settings import CHOSEN, LEADING, PAIRS
from lookalike.studies.landmark.study import LandmarkStudy
from lookalike.studies.metrics import rows_in, select

AS_IN_PRINT = {chosen: method for method, chosen in CHOSEN.items()}
CONSTANTS = ("printed", "chosen")
INTERVAL = "95%, the wider of a t-test over landmarks and a bootstrap over landmarks and draws"


def _has_lead(study: LandmarkStudy) -> bool:
    return study.lead is not None


def lead_points(study: LandmarkStudy) -> pd.DataFrame:
    """Return S-TG and S-DA minus OASIS in points of mAP: a row a codebook, method, and printed or chosen constants."""
    results = study.table("results")
    features = results[results["metric"] == FEATURES].set_index("setting")["value"]
    records = []
    for (setting, n_features), (first, second) in product(features.items(), PAIRS):
        if rows := study.contrasts.intervals(str(setting), MAP_FULL, first, second):
            parts = dict(part.split("=") for part in str(setting).split(";"))
            names = {"words": int(parts["words"]), "features": parts["features"], "n_features": n_features}
            names |= {"method": AS_IN_PRINT.get(first, first), "constants": CONSTANTS[first in AS_IN_PRINT]}
            ends = {"low": min(row.low for row in rows), "high": max(row.high for row in rows)}
            records.append({**names, "mean": rows[0].mean, **ends, "n": rows[0].n, "ours_cell": wording.gap(rows)})
    return pd.DataFrame(records).sort_values(["words", "n_features"], kind="stable", ignore_index=True)


def lead_notes(study: LandmarkStudy, points: pd.DataFrame) -> tuple[str, ...]:
    """Say where S-TG is below OASIS, what the intervals are of, and how constants were chosen."""
    below = select(points, method="soml-tg", constants=CONSTANTS[False])
    sizes: dict[int, list[str]] = {}
    for row in rows_in(below[below["mean"] < 0]):
        sizes.setdefault(row.words, []).append(row.features)
    places = ", ".join(f"with {words:,} words and {features_title(' or '.join(n))}" for words, n in sizes.items())
    chosen_draws = study.lead.chosen_draws if study.lead is not None else 0
    return (
        f"With printed constants, S-TG is {f'below OASIS {places}' if places else 'above OASIS everywhere'}.",
        f"Whole images are queries. Intervals are {INTERVAL}.",
        f"Means are over {study.learning.draws} draws, with chosen constants over {chosen_draws}. Chosen constants are "
        "the best of eight settings of each method, by images held out of those to learn from.",
    )


def features_title(features: str) -> str:
    """Return ``1,600 features`` of ``1600``; other words stay as they are."""
    return f"{int(features):,} features" if features.isdecimal() else f"{features} features"


def lead_columns(study: LandmarkStudy) -> dict[tuple[str, str], str]:
    """Return kind of constants and method to the title of what they give."""
    pairs = product(CONSTANTS, LEADING)
    return {(constants, method): f"{study.title_of(method)}, {constants} constants" for constants, method in pairs}


@exhibit("landmark/lead", title="SOML minus OASIS over words and features", needs=("results",), when=_has_lead)
def lead_over_features(study: LandmarkStudy) -> Figure:
    """How far S-TG and S-DA are above OASIS in mean average precision, by visual words and features of a photograph."""
    points, columns = lead_points(study), lead_columns(study)
    sizes = list(dict.fromkeys(points["words"]))
    looks = looks_of([f"{words:,} words" for words in sizes])
    counts = points.drop_duplicates("features")
    ticks = tuple((row.n_features, row.features) for row in rows_in(counts))
    x = Axis("Features of a photograph, at most", "log", ticks=ticks, text="{:,.0f} features on average")
    room = 0.05 * (points["high"].max() - points["low"].min())
    ends = {"low": points["low"].min() - room, "high": points["high"].max() + room}
    panels = []
    for (constants, method), title in zip(columns, lettered(list(columns.values())), strict=True):
        own = {"constants": constants, "method": method}
        series = [
            Series(name, {**own, "words": words}, "n_features", "mean", look, "low", "high", aside=0.025 * (place - 1))
            for place, (words, (name, look)) in enumerate(
                zip(dict.fromkeys(points["words"]), looks.items(), strict=True)
            )
        ]
        y = Axis(f"{study.title_of(method)} minus OASIS (points of mAP)", **ends, text="{:+.1f}")
        panels.append(Panel(title, x, y, tuple(series), (Line("OASIS", 0, Look(BLACK, "", "--")),)))
    frame = points.drop(columns="ours_cell")
    return Figure(frame, tuple(panels), notes=lead_notes(study, points), n_columns=len(LEADING), size=(3.4, 2.6))


@exhibit("landmark/lead_numbers", title="SOML minus OASIS, in numbers", needs=("results",), when=_has_lead)
def lead_numbers(study: LandmarkStudy) -> Table:
    """How far S-TG and S-DA are above OASIS in mean average precision, in points, by visual words and features."""
    points, columns = lead_points(study), lead_columns(study)
    titles = {
        "words": {words: f"{words:,} words" for words in points["words"]},
        "features": {name: features_title(name) for name in points["features"]},
        "column": {" ".join(key): title for key, title in columns.items()},
    }
    frame = points.assign(column=points["constants"] + " " + points["method"], ours=points["mean"], unit="points")
    return Table(frame, ("features",), "column", "words", titles=titles, notes=lead_notes(study, points))


@exhibit(
    "landmark/montage",
    title="First results before and after learning",
    needs=("manifest", "queries", "relevance", "images", "ranks"),
    when=lambda study: study.compared_methods(),
)
def first_results(study: LandmarkStudy) -> Gallery:
    """What a query finds before learning (TF-IDF) and after it, where learning gains the most and loses the most."""
    return montage.montage(study)
