"""Queries of the landmark study with their first results before and after learning, as thumbnails.

Which queries are shown is a rule and no choice: in the picture the one that gains the most average precision by
learning and the one that loses the most, on the report's page besides some that are drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from lookalike.core.files import read_json
from lookalike.exhibits.image_grid import JUNK, RIGHT, WRONG, tile_of
from lookalike.exhibits.model import Entry, Found, Gallery, Ranking, Tile
from lookalike.exhibits.neighbours import Candidate, change_text, choice_note, choose, extremes, score_text
from lookalike.studies.landmark.rankings import read_top_images
from lookalike.studies.landmark.study import LandmarkStudy, landmark_title

COLUMNS = ("chosen_as", "query", "landmark", "draw", "method", "average_precision", "place", "rank", "image_id",
           "relevance")  # fmt: skip
BEFORE, AFTER = "tfidf", "soml-da"
N_RESULTS, N_ENTRIES, N_FOUND = 8, 14, 10
"""Results of a row of the picture; queries on the report's page, and results of each there."""
MARKS = {"good": RIGHT, "ok": RIGHT, "junk": JUNK, "wrong": WRONG}
OWN = "images of its landmark"

Box = tuple[float, float, float, float]
Rows = dict[Any, dict[Any, Any]]
"""Id to the columns of its row."""


def compared(methods: Sequence[str]) -> tuple[str, str] | None:
    """Which two methods are shown: TF-IDF, and S-DA or else the last learned one; None where there are not two."""
    learned = [method for method in methods if method != BEFORE]
    if BEFORE not in methods or not learned:
        return None
    return BEFORE, AFTER if AFTER in learned else learned[-1]


class Material:
    """What the pictures are made from: rankings of both methods, images, ground truth."""

    def __init__(self, study: LandmarkStudy) -> None:
        self.study = study
        self.root = Path(read_json(study.path("images"))["root"])
        self.images: Rows = study.table("manifest").set_index("image_id").to_dict("index")
        self.queries: Rows = study.table("queries").set_index("query").to_dict("index")
        self.relevance = study.table("relevance").set_index(["query", "image_id"])["relevance"].to_dict()

    @cached_property
    def results(self) -> pd.DataFrame:
        """First images of every ranking, from `lookalike.studies.landmark.rankings.read_top_images`."""
        return read_top_images(self.study.files["ranks"])

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Average precision of each query and draw, a column a method; those that have both alone."""
        keys = ["landmark", "query", "draw"]
        each = self.results.drop_duplicates([*keys, "method"])
        methods = [method for method in compared(self.study.methods) or () if method in set(each["method"])]
        table = each.set_index([*keys, "method"])["average_precision"].unstack("method")[methods]
        return table.dropna().sort_index().reset_index()

    def pair(self, key: int) -> Any:
        """One row of `pairs` by column."""
        return self.pairs.loc[key].to_dict()

    @property
    def methods(self) -> list[str]:
        """The two methods, those of them that have rankings."""
        return [str(column) for column in self.pairs.columns[3:]]

    def path(self, image_id: int) -> Path:
        """File of an image."""
        return self.root / str(self.images[image_id]["path"])

    def image_of(self, query: str) -> int:
        """Image of a query."""
        return int(self.queries[query]["image_id"])

    def box(self, query: str) -> Box:
        """Rectangle of a query as shares of its image's width and height: left, top, right, bottom."""
        row, image = self.queries[query], self.images[self.image_of(query)]
        width, height = image["width"], image["height"]
        return (row["x_min"] / width, row["y_min"] / height, row["x_max"] / width, row["y_max"] / height)

    def found(self, pair: Mapping[str, Any], method: str, n: int) -> list[Any]:
        """First images of one ranking, the query's own left out, each with its ``kind``, a key of `MARKS`."""
        results, query = self.results, pair["query"]
        own = results[(results["query"] == query) & (results["draw"] == pair["draw"]) & (results["method"] == method)]
        own = own[own["image_id"] != self.image_of(query)].sort_values("rank").head(n)
        kinds = [self.relevance.get((query, image), "wrong") for image in own["image_id"]]
        return list(own.assign(kind=kinds).itertuples())


def montage(study: LandmarkStudy) -> Gallery:
    """The query that learning helps most and the one that it harms most, each before and after.

    Returns
    -------
    Gallery
        Frame columns `COLUMNS`, a row a thumbnail; ``place`` counts thumbnails from 1, ``rank`` images of the ranking.
        Without two rankings of a query it has no row, and a note says why.
    """
    material = Material(study)
    pairs = material.pairs
    if pairs.empty or len(material.methods) < 2:
        return Gallery(pd.DataFrame(columns=list(COLUMNS)), (), notes=(why_empty(study),))
    rows, titles, records = [], [], []
    for choice in extremes(candidates(pairs, material.methods)):
        pair = material.pair(choice.key)
        for method in material.methods:
            shown = material.found(pair, method, N_RESULTS)
            query = query_tile(material, pair, choice.chosen, first=method == material.methods[0])
            rows.append((query, *(result_tile(material, one) for one in shown)))
            titles.append(f"{study.title_of(method)} AP {100 * pair[method]:.1f} %")
            records += list(_records(choice.chosen, pair, method, shown))
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    entries, how = chosen_entries(material)
    return Gallery(frame, tuple(rows), tuple(titles), notes=(*notes(material, frame), how), entries=entries, tile=0.85)


def candidates(pairs: pd.DataFrame, methods: Sequence[str]) -> list[Candidate]:
    """Queries by their place in `pairs`, with what they gain by learning."""
    gains = pairs[methods[1]] - pairs[methods[0]]
    return [Candidate(key, str(landmark), float(gain))
            for key, landmark, gain in zip(pairs.index, pairs["landmark"], gains, strict=True)]  # fmt: skip


def query_tile(material: Material, pair: Mapping[str, Any], chosen: str, *, first: bool) -> Tile:
    """The query with its rectangle before the first of its two rows, and why it is shown before the second."""
    if not first:
        return Tile(None, f"{chosen}, draw {pair['draw']}")
    words = landmark_title(pair["query"])
    return tile_of(material.path(material.image_of(pair["query"])), words, box=material.box(pair["query"]))


def result_tile(material: Material, one: Any) -> Tile:
    """One image that was found, with its rank."""
    return tile_of(material.path(one.image_id), mark=MARKS[one.kind], corner=str(one.rank))


def _records(chosen: str, pair: Mapping[str, Any], method: str, shown: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
    key = (chosen, pair["query"], pair["landmark"], int(pair["draw"]), method, float(pair[method]))
    for place, one in enumerate(shown, start=1):
        yield (*key, place, int(one.rank), int(one.image_id), one.kind)


def why_empty(study: LandmarkStudy) -> str:
    """Why a study that was run has no two rankings to show: one of the methods has no result."""
    methods = compared(study.methods) or ()
    reasons = study.not_converged.items() if study.has("fits") else ()
    reason = next((why for (_, _, method), why in reasons if method in methods), "")
    titles = " and ".join(study.title_of(method) for method in methods)
    return f"no query has rankings by both {titles}{f': {reason}' if reason else ''}"


def notes(material: Material, frame: pd.DataFrame) -> list[str]:
    """By which rule the queries of the picture were chosen, and what is left out."""
    study, (before, after) = material.study, material.methods
    told = []
    for chosen, rows in frame.groupby("chosen_as", sort=False):
        values = " to ".join(f"{100 * value:.1f}" for value in rows.drop_duplicates("method")["average_precision"])
        told.append(f"{chosen}: {rows['query'].iloc[0]}, average precision from {values} %")
    return [
        f"Queries of the picture by rule, of all {len(material.pairs)} pairs of a query and a draw, "
        f"{study.codebooks[-1].title} words, {study.title_of(before)} against {study.title_of(after)}: "
        f"{'; '.join(told)}.",
        "Images to learn from are not in the rankings, and the query's own image, which is, is not shown; AP: average "
        "precision; small numbers: ranks. Right is what the ground truth calls good or ok.",
    ]


def chosen_entries(material: Material) -> tuple[list[Entry], str]:
    """Queries of the report's page, by name, and how they were chosen: of the first draw that has rankings."""
    seed, pairs = int(material.study.settings["seed"]), material.pairs
    asked = candidates(pairs[pairs["draw"] == pairs["draw"].min()], material.methods)
    choices = choose(asked, N_ENTRIES, seed=seed, dataset=material.study.dataset)
    entries = [_entry(material, material.pair(choice.key), choice.chosen) for choice in choices]
    how = choice_note(asked, choices, seed=seed, groups="landmarks", measure="average precision")
    return sorted(entries, key=lambda entry: entry.words), how


def _entry(material: Material, pair: Mapping[str, Any], chosen: str) -> Entry:
    found = [material.found(pair, method, N_FOUND) for method in material.methods]
    rankings = tuple(
        _ranking(material, pair, f"{when} learning: ", method, shown)
        for when, method, shown in zip(("Before", "After"), material.methods, found, strict=True)
    )
    before, after = (sum(MARKS[one.kind] is RIGHT for one in shown) for shown in found)
    query = pair["query"]
    image, words = str(material.path(material.image_of(query))), landmark_title(pair["landmark"])
    return Entry(image, words, rankings, chosen, change_text(after - before, OWN), material.box(query))


def _ranking(material: Material, pair: Mapping[str, Any], when: str, method: str, shown: Sequence[Any]) -> Ranking:
    """What one method found: junk does not count."""
    n_right = sum(MARKS[one.kind] is RIGHT for one in shown)
    n_counted = sum(one.kind != "junk" for one in shown)
    share = f"{n_right} of {n_counted} of its landmark ({100 * n_right / n_counted if n_counted else 0:.0f} %)"
    landmark = landmark_title(pair["landmark"])
    found = [
        # what other images show, the ground truth does not say
        Found(str(material.path(one.image_id)), "" if one.kind == "wrong" else f"{landmark}, {one.kind}",
              MARKS[one.kind], score_text(one.score))
        for one in shown
    ]  # fmt: skip
    summary = f"{share}; average precision {100 * pair[method]:.1f} %"
    return Ranking(f"{when}{material.study.title_of(method)}", tuple(found), summary)
