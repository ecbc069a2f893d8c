"""The files of a run: what they hold, that they are the same bytes each time, and what is left without a result."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.learners import load
from lookalike.ranking.rankings import Rankings
from lookalike.studies.category.protocol import run_fold
from lookalike.studies.category.run_files import metrics_of, write_fold
from lookalike.studies.metrics import COLUMNS

OASIS_SPEC = {
    "learner": "OASIS",
    "select": {"aggressiveness": [0.03, 0.3]},
    "trace": {"steps": 2000, "points": 6},
}
EUCLIDEAN_SPEC = {"learner": "Euclidean"}


def oasis_fold(study, **changes):
    return run_fold(*study, 0, {**OASIS_SPEC, **changes}, seed=5, subset="toy", method="oasis")


def test_metrics_are_map_and_precision_at_every_k(study):
    result = run_fold(*study, 0, EUCLIDEAN_SPEC, seed=5, subset="toy", method="euclidean")
    metrics = metrics_of(result)
    assert metrics["metric"].tolist() == ["map", "train_map", *["p@k"] * 19]
    assert metrics["x"].tolist()[2:] == list(range(1, 20))
    assert metrics["value"].iloc[0] == result.rankings.mean_average_precision()
    assert metrics["value"].iloc[1] == result.train_map
    np.testing.assert_allclose(metrics["value"].iloc[2:], result.rankings.precision_at(range(1, 20)).mean(axis=0))
    assert metrics["value"].dtype == np.float64


def test_a_fold_is_written_as_the_contract_says(study, tmp_path):
    names = {"dataset": "toys", "representation": "words40", "subset": "toy", "method": "oasis", "fold": 0}
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        write_fold(oasis_fold(study), folder, **names)
    result = oasis_fold(study)
    metrics = pd.read_parquet(first / "metrics.parquet")
    assert tuple(metrics.columns) == COLUMNS
    assert metrics["fold"].dtype == np.int64
    assert metrics["value"].iloc[0] == result.rankings.mean_average_precision()
    fit = json.loads((first / "fit.json").read_text())
    assert fit["representation"] == "words40"
    assert fit["seconds"].keys() == result.fit["seconds"].keys()
    assert {"subset", "aggressiveness", "step", "map"} <= set(pd.read_parquet(first / "selection.parquet").columns)
    np.testing.assert_array_equal(load(first / "model.npz").W_, result.model.W_)
    for name in ("metrics.parquet", "selection.parquet", "ranks.npz", "model.npz"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_a_fold_without_selection_is_written_with_an_empty_table(study, tmp_path):
    result = run_fold(*study, 0, EUCLIDEAN_SPEC, seed=5, subset="toy", method="euclidean")
    write_fold(result, tmp_path, dataset="d", representation="r", subset="toy", method="euclidean", fold=0)
    selection = pd.read_parquet(tmp_path / "selection.parquet")
    assert selection.empty
    assert {"fold", "step", "map", "loss_rate"} <= set(selection.columns)


def test_a_fold_without_a_result_leaves_every_file_and_no_number(study, tmp_path):
    result = oasis_fold(study, select={}, trace=None, parameters={"n_steps": 2_000_000_000}, time_limit=0.2)
    write_fold(result, tmp_path, dataset="d", representation="r", subset="toy", method="oasis", fold=0)
    names = {"model.npz", "model.json", "fit.json", "selection.parquet", "metrics.parquet", "ranks.npz"}
    assert {path.name for path in tmp_path.iterdir()} == names
    metrics = pd.read_parquet(tmp_path / "metrics.parquet")
    assert metrics.empty
    assert tuple(metrics.columns) == COLUMNS
    assert Rankings.load(tmp_path / "ranks.npz").n_queries == 0
    assert "took more than 0.2 s" in json.loads((tmp_path / "fit.json").read_text())["not_converged"]
    with pytest.raises(LookalikeError, match=r"holds no model: the final fit took more than 0.2 s"):
        load(tmp_path / "model.npz")
