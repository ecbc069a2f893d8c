"""Queries of the landmark study with their first results before and after learning, chosen by a rule."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lookalike.core.files import read_json
from lookalike.exhibits.image_grid import JUNK, RIGHT, WRONG, tile_of
from lookalike.exhibits.model import Entry, Found, Gallery, Ranking, Tile
from lookalike.exhibits.neighbours import Candidate, ChosenQuery, change_text, choice_note, choose, extremes, score_text
from lookalike.studies.landmark.rankings import read_top_images
from lookalike.studies.landmark.study import LandmarkStudy, landmark_title
from lookalike.studies.metrics import rows_in, select

COLUMNS = ["chosen_as", "query", "landmark", "draw", "method", "average_precision", "place", "rank", "image_id"]
COLUMNS += ["relevance"]
N_RESULTS, N_ENTRIES, N_FOUND = 8, 14, 10
"""Results of a row of the picture; queries on the report's page, and results of each there."""
MARKS = {"good": RIGHT, "ok": RIGHT, "junk": JUNK, "wrong": WRONG}

Pair = Mapping[Hashable, Any]
"""A query and a draw, with the average precision of both methods."""


class Material:
    """What the pictures are made from: rankings of both methods, images, ground truth."""

    def __init__(self, study: LandmarkStudy) -> None:
        self.study = study
        self.root = Path(read_json(study.path("images"))["root"])
        self.images = study.table("manifest").set_index("image_id")[["path", "width", "height"]]
        self.queries = study.table("queries").join(self.images, on="image_id").set_index("query")
        corners, sizes = (
            self.queries[columns].to_numpy()
            for columns in (["x_min", "y_min", "x_max", "y_max"], ["width", "height", "width", "height"])
        )
        self.boxes = dict(zip(self.queries.index, (corners / sizes).tolist(), strict=True))
        """Rectangles of queries as shares of width and height."""
        found = read_top_images(study.files["ranks"])
        keys = ["landmark", "query", "draw"]
        each = found.drop_duplicates([*keys, "method"])
        self.methods = [method for method in study.compared_methods() or () if method in set(each["method"])]
        precision = each.set_index([*keys, "method"])["average_precision"].unstack("method")[self.methods]
        self.pairs = precision.dropna().sort_index().reset_index()
        """Average precision of each query and draw, a column a method; those that have both alone."""
        found = found.merge(study.table("relevance"), on=["query", "image_id"], how="left")
        found = found[found["image_id"] != found["query"].map(self.queries["image_id"])]
        self.found = found.fillna({"relevance": "wrong"})
        """Every image that was found with its ``relevance``, a key of `MARKS`; the query's own is left out."""

    def path(self, image_id: int) -> Path:
        """Return the file of an image."""
        return self.root / str(self.images["path"][image_id])

    def query(self, name: str) -> tuple[Path, tuple[float, float, float, float]]:
        """Return a query's image, and its rectangle: left, top, right, bottom."""
        left, top, right, bottom = self.boxes[name]
        return self.root / str(self.queries["path"][name]), (left, top, right, bottom)

    def first(self, pair: Pair, method: str, n: int) -> pd.DataFrame:
        """Return the first images of one ranking."""
        own = select(self.found, query=pair["query"], draw=pair["draw"], method=method)
        return own.sort_values("rank").head(n)


def montage(study: LandmarkStudy) -> Gallery:
    """Show the query that learning helps most and the one that it harms most, before and after."""
    material = Material(study)
    pairs = material.pairs
    if pairs.empty or len(material.methods) < 2:
        return Gallery(pd.DataFrame(columns=COLUMNS), (), notes=(why_empty(study),))
    rows, titles, frames = [], [], []
    for choice in extremes(candidates(pairs, material.methods)):
        pair = pairs.loc[choice.key].to_dict()
        words = f"{landmark_title(pair['query'])}\n{choice.chosen}\n(draw {pair['draw']})"
        path, box = material.query(pair["query"])
        # the query with its rectangle before the first of its two rows
        for query, method in zip((tile_of(path, words, box=box), Tile(None)), material.methods, strict=True):
            found = material.first(pair, method, N_RESULTS)
            results = (
                tile_of(material.path(row.image_id), mark=MARKS[row.relevance], corner=str(place))
                for place, row in enumerate(rows_in(found), start=1)
            )
            rows.append((query, *results))
            titles.append(f"{study.title_of(method)}\nAP {100 * pair[method]:.1f}%")
            frames.append(found.assign(chosen_as=choice.chosen, place=range(1, len(found) + 1))[COLUMNS])
    frame = pd.concat(frames, ignore_index=True)
    entries, how = chosen_entries(material)
    return Gallery(frame, tuple(rows), tuple(titles), notes=(*notes(material, frame), how), entries=entries, tile=0.85)


def candidates(pairs: pd.DataFrame, methods: Sequence[str]) -> list[Candidate]:
    """Return queries by their place in `pairs`, with what they gain by learning."""
    gains = pairs[methods[1]] - pairs[methods[0]]
    rows = zip(pairs.index, pairs["landmark"], gains, strict=True)
    return [Candidate(key, str(landmark), float(gain)) for key, landmark, gain in rows]


def why_empty(study: LandmarkStudy) -> str:
    """Say why a study that was run has no two rankings to show: one of the methods has no result."""
    titles = " and ".join(map(study.title_of, study.compared_methods() or ()))
    return f"no query has rankings by both {titles}"


def notes(material: Material, frame: pd.DataFrame) -> list[str]:
    """Say by which rule the queries of the picture were chosen, and what is left out."""
    study, (before, after) = material.study, material.methods
    words = study.words_of([*study.codebook_ids][-1])
    choices = []
    for chosen, rows in frame.groupby("chosen_as", sort=False):
        values = " to ".join(f"{100 * value:.1f}" for value in rows.drop_duplicates("method")["average_precision"])
        choices.append(f"{chosen}: {rows['query'].iloc[0]}, average precision (AP) from {values}%")
    return [
        f"A rule chose the queries of the picture, of all {len(material.pairs)} pairs of a query and a draw, with "
        f"{words}, by what {study.title_of(after)} gains over {study.title_of(before)}: "
        f"{'; '.join(choices)}.",
        "Numbers are ranks, without the query's own image; images to learn from are not ranked. Right is what the "
        "ground truth calls good or ok. The rectangle is the part that asks.",
    ]


def chosen_entries(material: Material) -> tuple[list[Entry], str]:
    """Return queries of the report's page, by name, and how they were chosen: of the first draw that has rankings."""
    seed, pairs = material.study.seed, material.pairs
    asked = candidates(pairs[pairs["draw"] == pairs["draw"].min()], material.methods)
    choices = choose(asked, N_ENTRIES, seed=seed, dataset=material.study.dataset)
    entries = [_entry(material, pairs.loc[choice.key].to_dict(), choice) for choice in choices]
    how = choice_note(asked, choices, seed=seed, groups="landmarks", measure="average precision")
    return sorted(entries, key=lambda entry: entry.words), how


def _entry(material: Material, pair: Pair, choice: ChosenQuery) -> Entry:
    found = [material.first(pair, method, N_FOUND) for method in material.methods]
    before, after = (int(rows["relevance"].isin(["good", "ok"]).sum()) for rows in found)
    change = change_text(after - before, "images of its landmark")
    parts = zip(("Before", "After"), material.methods, found, strict=True)
    rankings = tuple(_ranking(material, pair, f"{when} learning: ", method, rows) for when, method, rows in parts)
    path, box = material.query(pair["query"])
    return Entry(str(path), landmark_title(pair["landmark"]), rankings, choice.chosen, change, box, choice.gain)


def _ranking(material: Material, pair: Pair, when: str, method: str, rows: pd.DataFrame) -> Ranking:
    """Return what one method found: junk does not count."""
    n_right, n_counted = rows["relevance"].isin(["good", "ok"]).sum(), (rows["relevance"] != "junk").sum()
    share = f"{n_right} of {n_counted} of its landmark ({100 * n_right / n_counted if n_counted else 0:.0f} %)"
    words = {kind: f"{landmark_title(pair['landmark'])}, {kind}" for kind in MARKS}
    # what other images show, the ground truth does not say
    words["wrong"] = ""
    found = (
        Found(str(material.path(row.image_id)), words[row.relevance], MARKS[row.relevance], score_text(row.score))
        for row in rows_in(rows)
    )
    summary = f"{share}; average precision {100 * pair[method]:.1f} %"
    return Ranking(f"{when}{material.study.title_of(method)}", tuple(found), summary)
