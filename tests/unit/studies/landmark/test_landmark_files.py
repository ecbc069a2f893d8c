"""The files of a run of the landmark study: what they hold, and that they are the same bytes each time."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from made_landmarks import made_study

from lookalike.core.errors import LookalikeError
from lookalike.learners import TFIDF, load
from lookalike.studies.landmark.protocol import draw_learning_images, landmark_data, run_landmark, write_landmark
from lookalike.studies.landmark.rankings import LandmarkRankings, read_top_images
from lookalike.studies.metrics import COLUMNS

SPEC = {"learner": "SOMLDA", "parameters": {"gamma": 1e-4, "rho": 1.0, "regularization": 1e-6}}


def one_run(**changes):
    study = made_study()
    images = np.arange(study.counts.shape[0])
    drawn = draw_learning_images(
        study.queries, study.relevance, images, ["bridge"], n_positives=5, n_negatives=40, n_draws=2, seed=3
    )
    return run_landmark(landmark_data(*study), drawn, "bridge", 1, {**SPEC, **changes}, seed=3, method="soml-da")


def test_a_run_is_written_as_the_contract_says(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        write_landmark(one_run(), folder, dataset="toys", representation="words600")
    result = one_run()
    assert {path.name for path in first.iterdir()} == {
        "model.npz",
        "model.json",
        "fit.json",
        "metrics.parquet",
        "ranks.npz",
    }
    for name in ("model.npz", "model.json", "metrics.parquet", "ranks.npz"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    metrics = pd.read_parquet(first / "metrics.parquet")
    assert tuple(metrics.columns) == COLUMNS
    names = metrics[["representation", "subset", "method", "fold"]].drop_duplicates().to_numpy().tolist()
    assert names == [["words600", "bridge", "soml-da", 1]]
    assert metrics["metric"].tolist() == ["map", "map_full", "sparsity", "ap:bridge_1", "ap:bridge_2", "ap:bridge_3"]
    np.testing.assert_array_equal(metrics["value"], result.metrics["value"])
    fit = json.loads((first / "fit.json").read_text())
    assert fit["dataset"] == "toys"
    assert fit["sparsity"] == result.fit["sparsity"]
    assert fit["seconds"].keys() == {"features", "fit", "rank"}
    np.testing.assert_array_equal(load(first / "model.npz").w_, result.model.w_)
    assert json.loads((first / "model.json").read_text())["made_by"]["subset"] == "bridge"


def test_rankings_come_back_as_they_were(tmp_path):
    rankings = one_run().rankings
    rankings.save(tmp_path / "ranks.npz")
    again = LandmarkRankings.load(tmp_path / "ranks.npz")
    for name, value in vars(rankings).items():
        np.testing.assert_array_equal(getattr(again, name), value, err_msg=name)
        assert np.asarray(getattr(again, name)).dtype == np.asarray(value).dtype
    assert again.queries.tolist() == ["bridge_1", "bridge_2", "bridge_3"]
    assert again.top.shape == (3, 50)
    for region in ("box", "full"):
        np.testing.assert_array_equal(again.average_precision(region), rankings.average_precision(region))


class Endless(TFIDF):
    """Learns for ever."""

    def fit_triplets(self, X, triplets):
        while True:
            pass


def test_a_run_without_a_result_leaves_every_file_and_no_number(tmp_path, monkeypatch):
    monkeypatch.setattr("lookalike.studies.fits.learner_class", lambda name: Endless)
    write_landmark(one_run(parameters={}, time_limit=0.1), tmp_path, dataset="toys", representation="words600")
    assert {path.name for path in tmp_path.iterdir()} == {
        "model.npz",
        "model.json",
        "fit.json",
        "metrics.parquet",
        "ranks.npz",
    }
    metrics = pd.read_parquet(tmp_path / "metrics.parquet")
    assert metrics.empty
    assert tuple(metrics.columns) == COLUMNS
    assert LandmarkRankings.load(tmp_path / "ranks.npz").n_queries == 0
    assert "took more than 0.1 s" in json.loads((tmp_path / "fit.json").read_text())["not_converged"]
    with pytest.raises(LookalikeError, match=r"holds no model: the fit took more than 0.1 s"):
        load(tmp_path / "model.npz")


def test_the_first_images_of_runs_are_read_back_with_their_names(tmp_path):
    result = one_run()
    folder = tmp_path / "bridge" / "soml-da" / "1"
    write_landmark(result, folder, dataset="toys", representation="words600")
    found = read_top_images([folder / "ranks.npz"])
    assert set(found["draw"]) == {1}
    assert set(zip(found["landmark"], found["method"], strict=True)) == {("bridge", "soml-da")}
    own = found[found["query"] == "bridge_2"]
    assert own["rank"].tolist() == list(range(1, len(own) + 1))
    np.testing.assert_array_equal(own["image_id"], result.rankings.top[1])
    np.testing.assert_array_equal(own["score"], result.rankings.top_scores[1])
    assert own["average_precision"].unique().tolist() == [result.rankings.average_precision()[1]]
