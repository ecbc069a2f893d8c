"""Which queries the galleries show, and their pictures: the papers picked theirs by hand, here a rule does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.image_grid import RIGHT, WRONG, class_name, tile_of
from lookalike.exhibits.model import Gallery, Tile
from lookalike.studies.human.study import HumanStudy

Cases = Literal["best", "worst"]

N_RESULTS = 5
"""Images shown of each ranking, as in the papers' tables."""
COLUMNS = ("row", "role", "image_id", "file", "class", "rank", "score", "relevant", "average_precision")
OWN = replace(RIGHT, meaning="of the query's class")
OTHER = replace(WRONG, meaning="of another class")


def gallery(study: HumanStudy, cases: Cases, n: int) -> Gallery:
    """Queries in rows, each with the first images that OASIS finds; without a query, the reason."""
    queries, n_candidates = choose_queries(study, cases, n)
    drawn = [_row(study, place, query) for place, query in enumerate(queries, start=1)]
    frame = pd.DataFrame([record for records, _ in drawn for record in records], columns=list(COLUMNS))
    if not queries:
        return Gallery(frame, (), notes=(f"Not drawn: {_why_empty(study, cases)}.",))
    heads = ("query", *(f"rank {rank}" for rank in range(1, N_RESULTS + 1)))
    rows, rule = tuple(tiles for _, tiles in drawn), _rule(cases, n, len(queries), n_candidates)
    return Gallery(frame, rows, heads=heads, notes=(rule,))


def choose_queries(study: HumanStudy, cases: Cases, n: int) -> tuple[list[Any], int]:
    """Best or worst queries, as many as there are of `n`, at most one a class; and among how many they were chosen."""
    found = study.rankings
    queries = pd.DataFrame({"image_id": found.query_ids, "average_precision": found.average_precision()}).dropna()
    queries = queries.rename_axis("row").reset_index()
    if cases == "worst":
        queries = queries[found.ranks[found.offsets[queries["row"]]] > N_RESULTS]
    queries["class"] = study.images["label"].loc[queries["image_id"]].to_numpy()
    ordered = queries.sort_values(["average_precision", "image_id"], ascending=[cases == "worst", True])
    return list(ordered.drop_duplicates("class").head(n).itertuples()), len(queries)


def _row(study: HumanStudy, place: int, query: Any) -> tuple[list[tuple[Any, ...]], tuple[Tile, ...]]:
    """The query with its average precision and the images that it finds with their marks: records, and tiles."""
    rankings, images = study.rankings, study.images
    if rankings.neighbours is None or rankings.neighbour_scores is None:
        raise LookalikeError("these rankings have no neighbours: rank again with n_neighbours of 5 or more")
    own, id, precision = images["label"][query.image_id], query.image_id, query.average_precision
    records = [(place, "query", id, images["path"][id], own, 0, float("nan"), "", precision)]
    tiles = [tile_of(images["file"][id], f"{class_name(own)}\nAP {100 * precision:.1f}%")]
    found = rankings.query_ids[rankings.neighbours[query.row, :N_RESULTS]].tolist()
    scores = rankings.neighbour_scores[query.row, :N_RESULTS].tolist()
    for rank, (image, score) in enumerate(zip(found, scores, strict=True), start=1):
        label = images["label"][image]
        right, mark = ("yes", OWN) if label == own else ("no", OTHER)
        records.append((place, "result", image, images["path"][image], label, rank, score, right, precision))
        tiles.append(tile_of(images["file"][image], class_name(label), mark))
    return records, tuple(tiles)


def _why_empty(study: HumanStudy, cases: Cases) -> str:
    if study.rankings.n_queries == 0:
        return f"{study.title_of('oasis')} has no result here"
    if cases == "worst":
        return f"every query has an image of its class among its first {N_RESULTS}"
    return "no query has another image of its class"


def _rule(cases: Cases, n: int, n_shown: int, n_candidates: int) -> str:
    """By which rule the queries were chosen, among how many, and where there were too few."""
    among = "all" if cases == "best" else "those without an image of their class among the first five"
    which = "highest" if cases == "best" else "lowest"
    few = "" if n_shown == n else f"; the paper shows {n}"
    return (
        f"No query was picked by hand: of {among} ({n_candidates:,}), these are the {n_shown} of {which} average "
        f"precision (AP), at most one of each class{few}. Of equal ones, the one with the lower image id is shown."
    )
