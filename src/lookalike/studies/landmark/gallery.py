"""Queries of the landmark study with their first results before and after learning, chosen by a rule."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lookalike.core.files import read_json
from lookalike.exhibits.image_grid import JUNK, RIGHT, WRONG
from lookalike.exhibits.model import Entry, Found, Gallery, Ranking
from lookalike.exhibits.neighbours import (
    Candidate,
    ChosenQuery,
    change_text,
    choice_note,
    choose,
    gallery_of,
    score_text,
    share_text,
)
from lookalike.studies.landmark.rankings import read_top_images
from lookalike.studies.landmark.study import LandmarkStudy, landmark_title
from lookalike.studies.metrics import rows_in, select

N_QUERIES, N_FOUND = 14, 10
"""Queries, and images of each ranking."""
MARKS = {"good": RIGHT, "ok": RIGHT, "junk": JUNK, "wrong": WRONG}
KEYS = ["landmark", "query", "draw"]


def first_results_of(study: LandmarkStudy) -> Gallery:
    """Return queries of the first draw that both methods ranked, with what each found."""
    found = read_top_images(study.files["ranks"])
    each = found.drop_duplicates([*KEYS, "method"])
    methods = [method for method in study.compared_methods() or () if method in set(each["method"])]
    precision = each.set_index([*KEYS, "method"])["average_precision"].unstack("method")[methods]
    pairs = precision.dropna().sort_index().reset_index()
    if len(methods) < 2 or pairs.empty:
        titles = " and ".join(map(study.title_of, study.compared_methods() or ()))
        return gallery_of([], (f"no query has rankings by both {titles}",))
    pairs = pairs[pairs["draw"] == pairs["draw"].min()]
    gains = pairs[methods[1]] - pairs[methods[0]]
    rows = zip(pairs.index, pairs["landmark"], gains, strict=True)
    candidates = [Candidate(key, str(landmark), float(gain)) for key, landmark, gain in rows]
    choices = choose(candidates, N_QUERIES, seed=study.seed, dataset=study.dataset)
    results = _with_relevance(study, found, methods)
    entries = [_entry(study, results, pairs.loc[choice.key].to_dict(), methods, choice) for choice in choices]
    notes = (
        choice_note(candidates, choices, seed=study.seed, groups="landmarks", measure="average precision"),
        f"Queries of one draw, with {study.words_of([*study.codebook_ids][-1])}. Images to learn from are not ranked, "
        "and the query's own image is left out. Right is what the ground truth calls good or ok. The rectangle is the "
        "part that asks.",
    )
    return gallery_of(sorted(entries, key=lambda entry: entry.words), notes)


def _with_relevance(study: LandmarkStudy, found: pd.DataFrame, methods: list[str]) -> pd.DataFrame:
    """Return every image that a method found with its ``relevance``, a key of `MARKS`, without the query's own."""
    own_image = study.table("queries").set_index("query")["image_id"]
    found = found[found["method"].isin(methods) & (found["image_id"] != found["query"].map(own_image))]
    found = found.merge(study.table("relevance"), on=["query", "image_id"], how="left")
    return found.fillna({"relevance": "wrong"}).sort_values("rank", kind="stable")


def _entry(
    study: LandmarkStudy, results: pd.DataFrame, pair: Mapping[Hashable, Any], methods: list[str], choice: ChosenQuery
) -> Entry:
    """Return a query with its rectangle, and the first images that each method found; junk does not count."""
    images, root = study.table("manifest").set_index("image_id"), Path(read_json(study.path("images"))["root"])
    landmark, rankings, n_right = landmark_title(pair["landmark"]), [], []
    for when, method in zip(("Before", "After"), methods, strict=True):
        rows = select(results, query=pair["query"], draw=pair["draw"], method=method).head(N_FOUND)
        n_right.append(int(rows["relevance"].isin(["good", "ok"]).sum()))
        n_counted = int((rows["relevance"] != "junk").sum())
        # what other images show, the ground truth does not say
        words = {kind: f"{landmark}, {kind}" for kind in MARKS} | {"wrong": ""}
        found = (
            Found(
                str(root / images["path"][row.image_id]),
                words[row.relevance],
                MARKS[row.relevance],
                score_text(row.score),
            )
            for row in rows_in(rows)
        )
        summary = share_text(n_right[-1], n_counted, "landmark", pair[method])
        rankings.append(Ranking(f"{when} learning: {study.title_of(method)}", tuple(found), summary))
    query = study.table("queries").set_index("query").loc[pair["query"]]
    image = images.loc[query["image_id"]]
    left, top, right, bottom = query[["x_min", "y_min", "x_max", "y_max"]] / image[["width", "height"] * 2].to_numpy()
    change = change_text(n_right[1] - n_right[0], "images of its landmark")
    box = (left, top, right, bottom)
    return Entry(str(root / image["path"]), landmark, tuple(rankings), choice.chosen, change, box, choice.gain)
