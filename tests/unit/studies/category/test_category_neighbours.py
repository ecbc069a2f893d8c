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
from lookalike.learners import Euclidean
from lookalike.ranking.rankings import Rankings, rank_leave_one_out
from lookalike.studies.category import neighbours
from lookalike.studies.category.study import CategoryStudy

# rows are in an order of their own, so that rows are no image ids
IDS = np.random.default_rng(0).permutation(np.arange(100, 124, 2)).astype(np.int32)
LABELS = np.array(["001.mug", "002.dog", "003.fern"])[(IDS - 100) // 8]


@pytest.fixture
def study(tmp_path):
    """Twelve images of three classes: before learning neighbours are random, after it those of the class."""
    paths = [f"{id}.png" for id in IDS]
    for path in paths:
        Image.new("RGB", (40, 30), "teal").save(tmp_path / path)
    write_table(pd.DataFrame({"image_id": IDS, "path": paths, "label": LABELS}), tmp_path / "manifest.parquet")
    write_json({"root": str(tmp_path)}, tmp_path / "images.json")
    noise = np.random.default_rng(3).random((12, 4))
    for method, X in (("euclidean", noise), ("oasis", np.hstack([0.1 * noise, LABELS[:, None] == np.unique(LABELS)]))):
        rank_leave_one_out(Euclidean().fit(X), X, LABELS, query_ids=IDS).save(tmp_path / f"{method}.npz")
    settings = {"dataset": "toys", "seed": 7, "titles": {}, "neighbours": {"subset": "three", "fold": 0}}
    files = {"manifest": str(tmp_path / "manifest.parquet"), "images": str(tmp_path / "images.json")}
    return CategoryStudy(settings, {**files, "ranks": [str(tmp_path / f"{of}.npz") for of in ("euclidean", "oasis")]})


def test_it_shows_what_the_rankings_have_and_counts_all_queries(study):
    gallery = neighbours.neighbours(study)
    assert len(gallery.entries) == 12
    rankings, name_of = [Rankings.load(file) for file in study.files["ranks"]], dict(zip(IDS, LABELS, strict=True))
    for entry in gallery.entries:
        assert entry.words == name_of[int(Path(entry.image).stem)][4:]
        for shown, ranked in zip(entry.rankings, rankings, strict=True):
            row = ranked.query_ids.tolist().index(int(Path(entry.image).stem))
            nearest = ranked.query_ids[ranked.neighbours[row, :10]].tolist()
            assert [int(Path(one.image).stem) for one in shown.found] == nearest
            right = [one.words == entry.words for one in shown.found]
            assert [one.mark.sign == RIGHT.sign for one in shown.found] == right
            share, precision = 100 * sum(right) / len(right), 100 * ranked.average_precision()[row]
            told = f"{sum(right)} of {len(right)} of its class ({share:.0f} %); average precision {precision:.1f} %"
            assert shown.summary == told
    assert gallery.entries[0].rankings[1].title == "After learning: OASIS"
    where, how, _ = gallery.notes
    assert where.startswith("Subset three, partition 1: each of its 12 test images")
    gains = rankings[1].average_precision() - rankings[0].average_precision()
    assert f"{(gains > 0).sum()} gain, {(gains < 0).sum()} lose" in how
    assert "(seed 7)" in how


def test_a_learner_without_a_result_is_said_and_without_neighbours_refused(study):
    ranked, none = Rankings.load(study.files["ranks"][1]), np.empty(0, dtype=np.int32)
    Rankings(ranked.offsets, ranked.ranks, ranked.n_gallery, ranked.query_ids).save(study.files["ranks"][1])
    with pytest.raises(LookalikeError, match="these rankings have no neighbours"):
        neighbours.neighbours(study)
    Rankings(np.zeros(1, dtype=np.int64), none, 0, none).save(study.files["ranks"][1])
    gallery = neighbours.neighbours(study)
    assert (gallery.entries, gallery.notes) == ((), ("Not drawn: OASIS has no result here.",))
