"""A human study made by hand: twelve images of four classes that rank each other, and ratings of some queries."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from lookalike.core.files import write_json, write_table
from lookalike.exhibits.model import Drawn
from lookalike.ranking.rankings import Rankings
from lookalike.studies.human.statistics import rating_metrics
from lookalike.studies.human.study import HumanStudy
from lookalike.studies.rooms import room_exhibits

# image ids are not row numbers: rows 0..11 of the rankings are images 100, 102, ..., three of each of four classes
LABELS = ("001.mug",) * 3 + ("002.dog",) * 3 + ("003.fern",) * 3 + ("004.bus",) * 3
IDS = np.arange(100, 124, 2, dtype=np.int32)
# rank of the two images of its class, of each query
RANKS = ((1, 2), (1, 2), (1, 3), (1, 4), (1, 2), (6, 7), (6, 11), (6, 11), (1, 2), (10, 11), (9, 11), (5, 6))
SETTINGS = {
    "dataset": "toy", "title": "toy", "synthetic": False, "not_run": "", "titles": {}, "representation": "words",
    "subset_title": "Ten", "fold": 0, "n_folds": 5,
}  # fmt: skip
REFERENCE = Path(__file__).parents[4] / "workflow" / "resources" / "reference-values.csv"


def make_rankings(ranks: Any = RANKS) -> Rankings:
    """Rankings in which each query finds the images of its class at given ranks, other images in their order."""
    n, neighbours = len(ranks), []
    for query, own_ranks in enumerate(ranks):
        own = [row for row in range(n) if LABELS[row] == LABELS[query] and row != query]
        others = [row for row in range(n) if LABELS[row] != LABELS[query]]
        neighbours.append([own.pop(0) if rank in own_ranks else others.pop(0) for rank in range(1, n)])
    return Rankings(
        offsets=np.arange(0, 2 * n + 1, 2),
        ranks=np.array(ranks, dtype=np.int32).ravel(),
        n_gallery=n - 1,
        query_ids=IDS[:n],
        neighbours=np.array(neighbours, dtype=np.int32),
        neighbour_scores=np.tile(np.linspace(2, 1, n - 1), (n, 1)).astype(np.float32),
    )


def make_ratings(*, n_queries: int = 22, n_raters: int = 6, n_found: int = 10, simulated: bool = True) -> pd.DataFrame:
    """Ratings of found and random images of each query, the later queries worse."""
    rng = np.random.default_rng(0)
    rows = []
    for query in range(1, n_queries + 1):
        for rater in range(n_raters):
            for position in range(1, 2 * n_found + 1):
                found = position % 2 == 0
                good = rng.random() < (0.95 - 0.03 * query if found else 0.05)
                role, rank = ("retrieved", position // 2) if found else ("random", 0)
                key = (f"rater {rater}", query, 500 + query, position, 1000 * query + position, role, rank)
                rows.append((*key, "good" if good else "not_good", position != 7, simulated))
    columns = ["rater", "query", "query_image", "position", "image", "role", "rank", "answer", "answered", "simulated"]
    return pd.DataFrame(rows, columns=columns)


def make_study(
    folder: Path, *, ratings: pd.DataFrame | None = None, rankings: Rankings | None = None, **settings: Any
) -> HumanStudy:
    """A study whose images, rankings and ratings lie in a folder."""
    rows = []
    for image_id, label in zip(IDS, LABELS, strict=True):
        path = folder / "images" / label / f"{image_id}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((30 + image_id % 7, 40, 3), image_id, dtype=np.uint8)).save(path)
        rows.append((image_id, f"{label}/{image_id}.png", label))
    write_table(pd.DataFrame(rows, columns=["image_id", "path", "label"]), folder / "manifest.parquet")
    write_json({"root": str(folder / "images")}, folder / "images.json")
    (make_rankings() if rankings is None else rankings).save(folder / "ranks.npz")
    ratings = make_ratings(n_queries=2) if ratings is None else ratings
    metrics = rating_metrics(ratings, representation="words", subset="ten", fold=0)
    write_table(metrics, folder / "metrics.parquet")
    names = ("images.json", "manifest.parquet", "ranks.npz", "metrics.parquet")
    files = {name.partition(".")[0]: str(folder / name) for name in names}
    with REFERENCE.open(newline="", encoding="utf-8") as file:
        return HumanStudy({**SETTINGS, **settings}, files, list(csv.DictReader(file)))


def drawn(study: HumanStudy, id: str) -> tuple[Any, HumanStudy]:
    """An exhibit as data, and the study as it is while that is drawn."""
    exhibit = room_exhibits("human")[id]
    study = study.drawing(exhibit)
    made: Drawn = exhibit.draw(study)
    return made, study
