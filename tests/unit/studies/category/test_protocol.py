"""One fold from counts to rankings: which rows are seen, that seeds are named, and that nothing leaks."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lookalike.core.errors import LookalikeError
from lookalike.core.machine import processor_name
from lookalike.core.seeds import integer_seed
from lookalike.features.visterms import TfidfVisterms
from lookalike.learners import OASIS, Euclidean, load
from lookalike.ranking.rankings import Rankings, rank_leave_one_out
from lookalike.studies.category.folds import Fold
from lookalike.studies.category.protocol import metrics_of, run_fold, write_fold
from lookalike.studies.metrics import COLUMNS

OASIS_SPEC = {
    "title": "OASIS",
    "learner": "OASIS",
    "parameters": {"dtype": "float32"},
    "select": {"aggressiveness": [0.03, 0.3]},
    "trace": {"steps": 2000, "points": 6},
}
EUCLIDEAN_SPEC = {"title": "Euclidean", "learner": "Euclidean"}
NAMES = {"dataset": "toys", "representation": "words40", "subset": "toy", "method": "oasis", "fold": 0}


def oasis_fold(study, fold=0, seed=5, **changes):
    return run_fold(Fold(*study, fold, seed, "toy"), {**OASIS_SPEC, **changes})


def test_euclidean_needs_no_selection_and_ranks_only_test_images(study):
    counts, split = study
    result = run_fold(Fold(counts, split, 1, 5, "toy"), EUCLIDEAN_SPEC)
    assert result.selection.empty
    test = split[(split.fold == 1) & (split.role == "test")].sort_values("image_id")
    train = split[(split.fold == 1) & (split.role == "train")]
    np.testing.assert_array_equal(np.sort(result.rankings.query_ids), test.image_id)
    labels = test.set_index("image_id").label[result.rankings.query_ids].tolist()
    assert labels != sorted(labels), "ties keep the order of the rows, which must not know the classes"
    assert result.rankings.n_gallery == 19
    weights = TfidfVisterms().fit(counts[np.sort(train.image_id.to_numpy())])
    X = weights.transform(counts[result.rankings.query_ids])
    expected = rank_leave_one_out(Euclidean().fit(X), X, np.array(labels))
    np.testing.assert_array_equal(result.rankings.ranks, expected.ranks)
    assert result.fit["n_train"] == 40
    assert result.fit["n_test"] == 20
    assert result.fit["n_classes"] == 4
    assert set(result.fit["seconds"]) == set(result.fit["cpu_seconds"]) == {"features", "selection", "fit", "rank"}
    assert result.fit["processor"] == processor_name() != ""
    assert result.fit["not_converged"] == ""
    X_train = weights.transform(counts[np.sort(train.image_id.to_numpy())])
    by_image = train.sort_values("image_id").label.to_numpy(dtype=str)
    expected = rank_leave_one_out(Euclidean().fit(X), X_train, by_image).mean_average_precision()
    # another order of the rows decides ties otherwise
    assert result.train_map == pytest.approx(expected, abs=0.01)


def test_oasis_is_selected_on_the_cut_and_refitted_on_all(study):
    counts, split = study
    result = oasis_fold(study)
    assert list(result.selection.columns) == ["aggressiveness", "step", "map", "loss_rate"]
    assert set(result.selection["aggressiveness"]) == {0.03, 0.3}
    best = result.selection["map"].max()
    chosen = result.selection[
        (result.selection["aggressiveness"] == result.fit["aggressiveness"])
        & (result.selection["step"] == result.fit["n_steps"])
    ]
    assert chosen["map"].tolist() == [best]
    fold = split[split.fold == 0].sort_values("image_id")
    train = fold[fold.role == "train"]
    X = TfidfVisterms().fit_transform(counts[train.image_id.to_numpy()])
    expected = OASIS(
        aggressiveness=result.fit["aggressiveness"],
        n_steps=result.fit["n_steps"],
        dtype="float32",
        random_state=integer_seed(5, "category", "toy", "fold", 0, "fit"),
    ).fit(X, train.label.to_numpy(dtype=str))
    np.testing.assert_array_equal(result.model.W_, expected.W_)
    assert result.fit["n_updates"] == expected.n_updates_
    assert result.fit["parameters"]["dtype"] == "float32"
    json.dumps(result.fit)


def test_selection_never_sees_test_images(study):
    counts, split = study
    changed = counts.toarray()
    test = split[(split.fold == 0) & (split.role == "test")].image_id.to_numpy()
    changed[test] = changed[test][:, ::-1]
    result, other = oasis_fold(study), oasis_fold((sp.csr_array(changed), split))
    pd.testing.assert_frame_equal(result.selection, other.selection)
    np.testing.assert_array_equal(result.model.W_, other.model.W_)


def test_same_seed_same_bits_whatever_the_order_of_the_table(study):
    counts, split = study
    result, again = oasis_fold(study), oasis_fold((counts, split.iloc[::-1]))
    np.testing.assert_array_equal(result.model.W_, again.model.W_)
    np.testing.assert_array_equal(result.rankings.ranks, again.rankings.ranks)
    other = oasis_fold(study, seed=6)
    assert other.fit["seeds"] != result.fit["seeds"]
    assert not np.array_equal(other.selection["loss_rate"], result.selection["loss_rate"], equal_nan=True)


@pytest.mark.parametrize(
    "changes",
    [
        {"select": {}, "trace": None, "parameters": {"aggressiveness": 0.2, "n_steps": 300}},
        {"select": {"aggressiveness": [0.2]}, "trace": None, "parameters": {"n_steps": 300}},
        # a trace that does not stop leaves the learner to its own end
        {"select": {}, "trace": {"steps": 500, "points": 4, "stop": False},
         "parameters": {"aggressiveness": 0.2, "n_steps": 300}},
    ],
)  # fmt: skip
def test_where_nothing_is_to_be_chosen_parameters_are_used_as_they_are(study, changes):
    fit = oasis_fold(study, **changes)
    assert fit.selection.empty
    assert (fit.fit["n_steps"], fit.fit["aggressiveness"]) == (300, 0.2)


def test_mistakes_say_what_to_do(study):
    with pytest.raises(LookalikeError, match=r"folds \[0, 1\]"):
        oasis_fold(study, fold=7)
    with pytest.raises(LookalikeError, match="no learner 'NoSuch'"):
        oasis_fold(study, learner="NoSuch")


def test_a_fit_that_takes_too_long_leaves_every_file_and_says_why(study, tmp_path):
    result = oasis_fold(study, select={}, trace=None, parameters={"n_steps": 2_000_000_000}, time_limit=0.2)
    assert (result.model, result.rankings) == (None, None)
    assert np.isnan(result.train_map)
    assert result.fit["not_converged"] == "the final fit took more than 0.2 s of processor time"
    assert result.fit["cpu_seconds"]["fit"] < 5
    write_fold(result, tmp_path, NAMES)
    names = {"model.npz", "model.json", "fit.json", "selection.parquet", "metrics.parquet", "ranks.npz"}
    assert {path.name for path in tmp_path.iterdir()} == names
    metrics = pd.read_parquet(tmp_path / "metrics.parquet")
    assert metrics.empty
    assert tuple(metrics.columns) == COLUMNS
    assert Rankings.load(tmp_path / "ranks.npz").n_queries == 0
    assert "took more than 0.2 s" in json.loads((tmp_path / "fit.json").read_text())["not_converged"]
    with pytest.raises(LookalikeError, match=r"holds no model: the final fit took more than 0.2 s"):
        load(tmp_path / "model.npz")


def test_a_candidate_that_takes_too_long_ends_the_selection(study):
    grids = {"select": {"n_steps": [300, 2_000_000_000]}, "trace": None, "parameters": {}, "time_limit": 0.5}
    result = oasis_fold(study, **grids)
    assert result.model is None
    assert result.selection.empty
    assert result.fit["not_converged"] == (
        "the selection's fit with n_steps=2000000000 took more than 0.5 s of processor time"
    )


def test_a_limit_that_was_reached_is_recorded_for_every_method(study):
    spec = {
        "learner": "LEGO",
        "select": {"regularization": [0.01, 0.02, 0.32]},
        "trace": {"steps": 40, "points": 4, "first": 10},
    }
    fit = run_fold(Fold(*study, 0, 5, "toy"), spec).fit
    assert fit["at_last_step"] == (fit["n_steps"] == 40)
    assert fit["at_grid_edge"] == (fit["selected"]["regularization"] != 0.02)
    assert fit["at_last_step"] or fit["at_grid_edge"], "40 pairs are too few"
    free = oasis_fold(study, select={}, trace=None, parameters={"n_steps": 300}).fit
    assert not free["at_last_step"]
    assert not free["at_grid_edge"]
    assert free["selected"] == {}


def test_selection_learns_idf_and_model_from_its_own_share_alone(study):
    counts, split = study
    result = oasis_fold(study)
    fold = split[(split.fold == 0) & (split.role == "train")].sort_values("image_id")
    learn = fold[~fold.validation]
    X = TfidfVisterms().fit_transform(counts[learn.image_id.to_numpy()])
    expected = OASIS(
        0.03, 2000, dtype="float32", random_state=integer_seed(5, "category", "toy", "fold", 0, "selection")
    ).fit(X, learn.label.to_numpy(dtype=str), trace_steps=[int(step) for step in result.selection["step"].unique()])
    chosen = result.selection[result.selection["aggressiveness"] == 0.03]
    np.testing.assert_array_equal(chosen["loss_rate"], expected.curve_["loss_rate"])


def test_metrics_are_map_and_precision_at_every_k(study):
    result = run_fold(Fold(*study, 0, 5, "toy"), EUCLIDEAN_SPEC)
    metrics = metrics_of(result)
    assert metrics["metric"].tolist() == ["map", "train_map", *["p@k"] * 19]
    assert metrics["x"].tolist()[2:] == list(range(1, 20))
    assert metrics["value"].iloc[0] == result.rankings.mean_average_precision()
    assert metrics["value"].iloc[1] == result.train_map
    np.testing.assert_allclose(metrics["value"].iloc[2:], result.rankings.precision_at(range(1, 20)).mean(axis=0))
    assert metrics["value"].dtype == np.float64


def test_a_fold_is_written_as_the_contract_says(study, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        write_fold(oasis_fold(study), folder, NAMES)
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
    result = run_fold(Fold(*study, 0, 5, "toy"), EUCLIDEAN_SPEC)
    write_fold(result, tmp_path, NAMES)
    selection = pd.read_parquet(tmp_path / "selection.parquet")
    assert selection.empty
    assert {"fold", "step", "map", "loss_rate"} <= set(selection.columns)
