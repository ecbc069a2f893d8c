"""Figures of the landmark study: S-TG and S-DA minus OASIS over words and features, and queries before and after."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pandas as pd

from lookalike.exhibits.drawing import Chart, Curve, lettered, ruler
from lookalike.exhibits.image_grid import JUNK, RIGHT, WRONG
from lookalike.exhibits.model import Axis, Drawn, Entry, Found, NothingToShowError, Ranking
from lookalike.exhibits.neighbours import choice_note, choose, entry_of, gallery_of, score_text
from lookalike.exhibits.results import rows_in, select
from lookalike.exhibits.style import looks_of
from lookalike.studies.landmark.results import FEATURES, MAP_FULL, read_top_images
from lookalike.studies.landmark.study import LEADING, PAIRS, LandmarkStudy, landmark_title

N_QUERIES, N_FOUND = 14, 10
"""Queries of the gallery, and images of each ranking."""
MARKS = {"good": RIGHT, "ok": RIGHT, "junk": JUNK, "wrong": WRONG}
KEYS = ["landmark", "query", "draw"]
NOTES = (
    "Whole images are queries. Intervals are 95%, the wider of a t-test over landmarks and a bootstrap over landmarks "
    "and samples.",
    "Means are over {draws} samples, with chosen constants over {chosen_draws}. Chosen constants are the best of eight "
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


def lead_over_features(study: LandmarkStudy) -> Drawn:
    """Draw how far S-TG and S-DA are above OASIS in mAP, by visual words and features of a photograph."""
    points = lead_points(study)
    looks = looks_of([f"{words:,} words" for words in dict.fromkeys(points["words"])])
    sizes = list(zip(dict.fromkeys(points["words"]), looks.items(), strict=True))
    ticks = tuple((row.n_features, row.features) for row in rows_in(points.drop_duplicates("features")))
    x = Axis("Features of a photograph, at most", "log", ticks=ticks, text="{:,.0f} features on average")
    room = 0.05 * (points["high"].max() - points["low"].min())
    ends = {"low": points["low"].min() - room, "high": points["high"].max() + room}
    columns = list(product(("printed", "chosen"), LEADING))
    titles = lettered([f"{study.title_of(method)}, {constants} constants" for constants, method in columns])
    chart = Chart(len(columns), n_columns=len(LEADING), size=(3.4, 2.6))
    for (constants, method), title in zip(columns, titles, strict=True):
        own = select(points, constants=constants, method=method)
        curves = [
            Curve(name, replace(look, shift=0.025 * (place - 1)), select(own, words=words), "n_features")
            for place, (words, (name, look)) in enumerate(sizes)
        ]
        y = Axis(f"{study.title_of(method)} minus OASIS (points of mAP)", **ends, text="{:+.1f}")
        chart.panel(title, x, y, curves).axhline(0, label="OASIS", **ruler())
    draws = {"draws": study.learning.draws, "chosen_draws": study.lead.chosen_draws if study.lead else 0}
    names = {"method": {method: study.title_of(method) for method in LEADING}}
    return chart.drawn(points, notes=[note.format(**draws) for note in NOTES], titles=names)


def first_results(study: LandmarkStudy) -> Drawn:
    """Draw the first results before learning (TF-IDF) and after it."""
    found = read_top_images(study.paths("ranks"))
    each = found.drop_duplicates([*KEYS, "method"])
    methods = [method for method in study.compared_methods() or () if method in set(each["method"])]
    precision = each.set_index([*KEYS, "method"])["average_precision"].unstack("method")[methods]
    pairs = precision.dropna().sort_index().reset_index()
    if len(methods) < 2 or pairs.empty:
        titles = " and ".join(map(study.title_of, study.compared_methods() or ()))
        raise NothingToShowError(f"no query has rankings by both {titles}")
    pairs = pairs[pairs["draw"] == pairs["draw"].min()]
    gains = pairs[methods[1]] - pairs[methods[0]]
    candidates = pd.DataFrame({"group": pairs["landmark"], "gain": gains})
    choices = choose(candidates, N_QUERIES, seed=study.seed, dataset=study.dataset)
    results = _with_relevance(study, found, methods)
    entries = [
        _entry(study, results, pairs.loc[choice.Index].to_dict(), methods, choice) for choice in choices.itertuples()
    ]
    notes = (
        choice_note(candidates, choices, seed=study.seed, groups="landmarks", measure="average precision"),
        f"Queries of one sample, with {study.words_of([*study.codebook_ids][-1])}. Images to learn from are not "
        "ranked, and the query's own image is left out. A tick marks what the ground truth calls good or ok. The query "
        "is the part inside the rectangle.",
    )
    return gallery_of(sorted(entries, key=lambda entry: entry.words), notes)


def _with_relevance(study: LandmarkStudy, found: pd.DataFrame, methods: list[str]) -> pd.DataFrame:
    """Return every image that a method found with its ``relevance``, a key of `MARKS`, without the query's own."""
    own_image = study.table("queries").set_index("query")["image_id"]
    found = found[found["method"].isin(methods) & (found["image_id"] != found["query"].map(own_image))]
    found = found.merge(study.table("relevance"), on=["query", "image_id"], how="left")
    return found.fillna({"relevance": "wrong"}).sort_values("rank", kind="stable")


def _entry(
    study: LandmarkStudy, results: pd.DataFrame, pair: Mapping[Hashable, Any], methods: list[str], choice: Any
) -> Entry:
    """Return a query with its rectangle, and the first images that each method found."""
    images, root = study.table("manifest").set_index("image_id"), study.images_root
    landmark, sides = landmark_title(pair["landmark"]), list[Ranking]()
    # what other images show, the ground truth does not say
    words = {kind: f"{landmark}, {kind}" for kind in MARKS} | {"wrong": ""}
    for method in methods:
        rows = select(results, query=pair["query"], draw=pair["draw"], method=method).head(N_FOUND)
        rows = rows.assign(path=rows["image_id"].map(images["path"]))
        found = (
            Found(str(root / row.path), words[row.relevance], MARKS[row.relevance], score_text(row.score))
            for row in rows_in(rows)
        )
        sides.append(Ranking(study.title_of(method), tuple(found)))
    query = study.table("queries").set_index("query").loc[pair["query"]]
    image = images.loc[query["image_id"]]
    left, top, right, bottom = query[["x_min", "y_min", "x_max", "y_max"]] / image[["width", "height"] * 2].to_numpy()
    precisions = [pair[method] for method in methods]
    return entry_of(root / image["path"], landmark, sides, precisions, choice, "landmark", (left, top, right, bottom))
