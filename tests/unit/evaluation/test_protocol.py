"""One fold from counts to rankings: which rows are seen, that seeds are named, and that nothing leaks."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lookalike.errors import LookalikeError
from lookalike.evaluation.protocol import CURVE_COLUMNS, metrics_of, run_fold, trace_fold, write_fold
from lookalike.evaluation.ranking import rank_leave_one_out
from lookalike.features.visterms import TfidfVisterms
from lookalike.learners import OASIS, Euclidean, load
from lookalike.seeds import integer_seed

N_WORDS = 40
OASIS_SPEC = {
    "title": "OASIS",
    "learner": "OASIS",
    "parameters": {"dtype": "float32"},
    "select": {"aggressiveness": [0.03, 0.3]},
    "trace": {"steps": 2000, "points": 6},
}
EUCLIDEAN_SPEC = {"title": "Euclidean", "learner": "Euclidean"}


@pytest.fixture(scope="module")
def study():
    """Counts of 4 classes x 20 images, in which words tell classes apart a little, and two folds of 10 + 5 images."""
    rng = np.random.default_rng(0)
    labels = np.repeat([f"{c:03d}.class" for c in range(4)], 20)
    topics = rng.dirichlet(np.full(N_WORDS, 0.5), size=4)
    common = np.full(N_WORDS, 1 / N_WORDS)
    counts = np.stack([rng.multinomial(40, 0.5 * topics[i // 20] + 0.5 * common) for i in range(80)])
    rows = []
    for fold in range(2):
        for c in range(4):
            images = 20 * c + rng.permutation(20)[:15]
            for position, image in enumerate(images):
                role = "train" if position < 10 else "test"
                rows.append((fold, image, labels[image], role, role == "train" and position < 2))
    split = pd.DataFrame(rows, columns=["fold", "image_id", "label", "role", "validation"])
    split = split.sample(frac=1, random_state=1).astype({"fold": np.int8, "image_id": np.int32})
    return sp.csr_array(counts.astype(np.int32)), split


def oasis_fold(study, fold=0, seed=5, **changes):
    return run_fold(*study, fold, {**OASIS_SPEC, **changes}, seed=seed, subset="toy", method="oasis")


def test_euclidean_needs_no_selection_and_ranks_only_test_images(study):
    counts, split = study
    result = run_fold(counts, split, 1, EUCLIDEAN_SPEC, seed=5, subset="toy", method="euclidean")
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
    assert set(result.fit["seconds"]) == {"features", "fit", "rank"}


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


def test_without_a_trace_parameters_are_fixed(study):
    result = oasis_fold(study, select={}, trace=None, parameters={"aggressiveness": 0.2, "n_steps": 300})
    assert result.selection.empty
    assert result.fit["n_steps"] == 300
    assert result.fit["aggressiveness"] == 0.2


def test_a_grid_of_one_without_a_trace_is_used_as_it_is(study):
    result = oasis_fold(study, select={"aggressiveness": [0.2]}, trace=None, parameters={"n_steps": 300})
    assert result.selection.empty
    assert result.fit["aggressiveness"] == 0.2


def test_curve_starts_at_euclidean_and_follows_the_final_fit(study):
    counts, split = study
    curve = trace_fold(
        *study, 0, OASIS_SPEC, seed=5, subset="toy", method="oasis", aggressiveness=0.3, n_steps=2000, n_points=5
    )
    assert tuple(curve.columns) == CURVE_COLUMNS
    assert set(curve["images"]) == {"train", "test"}
    for _, part in curve.groupby("images"):
        assert part["step"].is_monotonic_increasing
        assert part["step"].iloc[0] == 0
        assert part["step"].iloc[-1] == 2000
        assert part["loss_rate"].isna().tolist() == [True] + [False] * (len(part) - 1)
    euclidean = run_fold(counts, split, 0, EUCLIDEAN_SPEC, seed=5, subset="toy", method="euclidean")
    test = curve[curve["images"] == "test"]
    assert test["map"].iloc[0] == pytest.approx(euclidean.rankings.mean_average_precision(), abs=1e-6)
    final = oasis_fold(study, select={}, trace=None, parameters={"aggressiveness": 0.3, "n_steps": 2000})
    assert test["map"].iloc[-1] == pytest.approx(final.rankings.mean_average_precision(), abs=1e-12)


def test_metrics_are_map_and_precision_at_every_k(study):
    result = run_fold(*study, 0, EUCLIDEAN_SPEC, seed=5, subset="toy", method="euclidean")
    metrics = metrics_of(result.rankings)
    assert metrics["metric"].tolist() == ["map", *(f"p@{k}" for k in range(1, 20))]
    assert metrics["value"].iloc[0] == result.rankings.mean_average_precision()
    np.testing.assert_allclose(metrics["value"].iloc[1:], result.rankings.precision_at(range(1, 20)).mean(axis=0))
    assert metrics["value"].dtype == np.float64


def test_mistakes_say_what_to_do(study):
    with pytest.raises(LookalikeError, match=r"folds \[0, 1\]"):
        oasis_fold(study, fold=7)
    with pytest.raises(LookalikeError, match="no learner 'NoSuch'"):
        oasis_fold(study, learner="NoSuch")


def test_a_fold_is_written_as_the_contract_says(study, tmp_path):
    names = {"dataset": "toys", "representation": "words40", "subset": "toy", "method": "oasis", "fold": 0}
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        write_fold(oasis_fold(study), folder, **names)
    result = oasis_fold(study)
    metrics = pd.read_parquet(first / "metrics.parquet")
    assert list(metrics.columns) == ["dataset", "representation", "subset", "method", "fold", "metric", "value"]
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
