"""The gallery of neighbours before and after learning shows what the rankings have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_json, write_table
from lookalike.exhibits.image_grid import RIGHT
from lookalike.ranking.rankings import Rankings, rank_leave_one_out
from lookalike.studies.category import neighbours
from lookalike.studies.category.study import CategoryStudy

IDS, LABELS = np.arange(100, 124, 2), np.repeat(["001.mug", "002.dog", "003.fern"], 4)
METHODS = ("euclidean", "oasis")


class Scores:
    """A learner whose similarities are known beforehand."""

    def __init__(self, scores: np.ndarray) -> None:
        self.scores = scores

    def similarity(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return self.scores[A[:, 0].astype(int)][:, B[:, 0].astype(int)]


@pytest.fixture
def study(tmp_path: Path) -> CategoryStudy:
    """Twelve images of three classes: before learning neighbours are random, after it those of the class."""
    paths = [f"{label}/{id}.png" for id, label in zip(IDS, LABELS, strict=True)]
    for path in paths:
        (tmp_path / "images" / path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 30), "teal").save(tmp_path / "images" / path)
    write_table(pd.DataFrame({"image_id": IDS, "path": paths, "label": LABELS}), tmp_path / "manifest.parquet")
    write_json({"root": str(tmp_path / "images")}, tmp_path / "images.json")
    chance = np.random.default_rng(3).random((12, 12))
    alike = (LABELS[:, np.newaxis] == LABELS) + chance / 10
    # rows are in an order of their own, so that rows are no image ids
    order = np.random.default_rng(0).permutation(12)
    rows = np.arange(12, dtype=float)[:, np.newaxis]
    for method, scores in zip(METHODS, (chance - 1, alike), strict=True):
        learner = Scores(scores[np.ix_(order, order)])
        rank_leave_one_out(learner, rows, LABELS[order], query_ids=IDS[order].astype(np.int32)).save(
            tmp_path / f"{method}.npz"
        )
    settings = {"dataset": "toys", "seed": 7, "titles": {}, "neighbours": {"subset": "three", "fold": 0}}
    files = {"manifest": str(tmp_path / "manifest.parquet"), "images": str(tmp_path / "images.json")}
    return CategoryStudy(settings, {**files, "ranks": [str(tmp_path / f"{method}.npz") for method in METHODS]})


def test_it_shows_what_the_rankings_have(study: CategoryStudy) -> None:
    gallery = neighbours.neighbours(study)
    labels = {f"{id}.png": label.partition(".")[2] for id, label in zip(IDS, LABELS, strict=True)}
    assert len(gallery.entries) == 12
    for entry in gallery.entries:
        assert entry.words == labels[Path(entry.image).name]
        for ranking, file in zip(entry.rankings, study.files["ranks"], strict=True):
            ranked = Rankings.load(file)
            row = ranked.query_ids.tolist().index(int(Path(entry.image).stem))
            assert ranked.neighbours is not None
            nearest = ranked.query_ids[ranked.neighbours[row, :10]].tolist()
            assert [int(Path(one.image).stem) for one in ranking.found] == nearest
            right = [one.words == entry.words for one in ranking.found]
            assert [one.mark is not None and one.mark.sign == RIGHT.sign for one in ranking.found] == right
            precision = f"average precision {100 * ranked.average_precision()[row]:.1f} %"
            n = len(nearest)
            assert ranking.summary == f"{sum(right)} of {n} of its class ({100 * sum(right) / n:.0f} %); {precision}"
    assert gallery.entries[0].rankings[1].title == "After learning: OASIS"


def test_its_notes_count_all_queries(study: CategoryStudy) -> None:
    where, how, _ = neighbours.neighbours(study).notes
    assert where.startswith("Subset three, partition 1: each of its 12 test images")
    before, after = (Rankings.load(file).average_precision() for file in study.files["ranks"])
    gains = after - before
    assert f"{(gains > 0).sum()} gain, {(gains < 0).sum()} lose" in how
    assert "(seed 7)" in how


def test_a_learner_without_a_result_is_said(study: CategoryStudy) -> None:
    none = np.empty(0, dtype=np.int32)
    Rankings(np.zeros(1, dtype=np.int64), none, 0, none).save(study.files["ranks"][1])
    gallery = neighbours.neighbours(study)
    assert gallery.entries == ()
    assert gallery.notes == ("Not drawn: OASIS has no result here.",)


def test_rankings_without_neighbours_are_one_sentence(study: CategoryStudy) -> None:
    for file in study.files["ranks"]:
        ranked = Rankings.load(file)
        Rankings(ranked.offsets, ranked.ranks, ranked.n_gallery, ranked.query_ids).save(file)
    with pytest.raises(LookalikeError, match="these rankings have no neighbours"):
        neighbours.neighbours(study)
