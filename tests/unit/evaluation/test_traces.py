"""Curves along training: where they start and end, rankers and their averages, and the bound on mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.evaluation.folds import fold_seed
from lookalike.evaluation.protocol import run_fold
from lookalike.evaluation.ranking import Rankings
from lookalike.evaluation.traces import (
    BOUND_COLUMNS,
    CURVE_COLUMNS,
    RANKER_COLUMNS,
    average_precisions,
    average_rankers,
    bound_fold,
    trace_fold,
    train_ranker,
)

OASIS_SPEC = {"learner": "OASIS", "trace": {"steps": 2000, "points": 5, "aggressiveness": 0.3}}
EUCLIDEAN_SPEC = {"learner": "Euclidean"}
RANKERS = {"steps": 600, "points": 4, "aggressiveness": 0.2, "averages": [2, 3]}


def oasis_curve(study, **changes):
    return trace_fold(*study, 0, {**OASIS_SPEC, **changes}, seed=5, subset="toy", method="oasis")


def fixed(study, **parameters):
    spec = {"learner": "OASIS", "parameters": parameters}
    return run_fold(*study, 0, spec, seed=5, subset="toy", method="oasis").rankings.mean_average_precision()


def test_curve_starts_at_euclidean_and_follows_the_final_fit(study):
    curve = oasis_curve(study)
    assert tuple(curve.columns) == CURVE_COLUMNS
    assert set(curve["images"]) == {"train", "test"}
    for _, part in curve.groupby("images"):
        assert part["step"].is_monotonic_increasing
        assert part["step"].iloc[0] == 0
        assert part["step"].iloc[-1] == 2000
        assert part["loss_rate"].isna().tolist() == [True] + [False] * (len(part) - 1)
        assert part["symmetry_index"].iloc[0] == 1
        assert (part["symmetry_index"].iloc[1:] < 1).all()
        assert part["objective"].isna().all()
    euclidean = run_fold(*study, 0, EUCLIDEAN_SPEC, seed=5, subset="toy", method="euclidean")
    test = curve[curve["images"] == "test"]
    assert test["map"].iloc[0] == pytest.approx(euclidean.rankings.mean_average_precision(), abs=1e-6)
    assert test["map"].iloc[-1] == pytest.approx(fixed(study, aggressiveness=0.3, n_steps=2000), abs=1e-12)


def test_a_projected_curve_is_that_of_models_that_stop_there(study):
    curve = oasis_curve(study, parameters={"projection": "psd"})
    test = curve[curve["images"] == "test"]
    for step in (test["step"].iloc[2], 2000):
        expected = fixed(study, aggressiveness=0.3, n_steps=int(step), projection="psd")
        assert test.loc[test["step"] == step, "map"].item() == pytest.approx(expected, abs=1e-12)
    assert (test["symmetry_index"] == 1).all()
    plain = oasis_curve(study)
    assert not np.allclose(plain.loc[plain["images"] == "test", "map"], test["map"], atol=1e-6)


def test_a_learner_of_iterations_is_traced_to_its_own_end(study):
    spec = {"learner": "MCML", "parameters": {"max_iter": 7}, "trace": {"steps": 50, "points": 9, "first": 1}}
    curve = trace_fold(*study, 0, spec, seed=5, subset="toy", method="mcml")
    test = curve[curve["images"] == "test"]
    assert test["step"].iloc[0] == 0
    assert test["step"].iloc[-1] <= 7
    assert test["aggressiveness"].isna().all()
    assert (np.diff(test["objective"]) <= 0).all()
    final = run_fold(*study, 0, spec | {"trace": {**spec["trace"], "stop": False}}, seed=5, subset="toy", method="mcml")
    assert test["map"].iloc[-1] == pytest.approx(final.rankings.mean_average_precision(), abs=1e-12)


def test_a_ranker_is_oasis_with_a_stream_of_its_own(study):
    names = {"seed": 5, "subset": "toy"}
    kept = [train_ranker(*study, 0, ranker, RANKERS, **names) for ranker in range(3)]
    assert [sorted(one) for one in kept] == [sorted(kept[0])] * 3
    assert max(kept[0]) == 600
    assert 0 not in kept[0]
    assert not np.array_equal(kept[0][600], kept[1][600])
    assert fold_seed(5, "toy", 0, "ranker 0") != fold_seed(5, "toy", 0, "fit")
    table = average_rankers(*study, 0, kept, RANKERS, **names)
    assert tuple(table.columns) == RANKER_COLUMNS
    assert set(table["series"]) == {"single", "average of 2", "average of 3"}
    start = table.loc[table["step"] == 0, "map"]
    assert start.nunique() == 1
    last = table[table["step"] == 600]
    alone = average_rankers(*study, 0, kept[1:2], {**RANKERS, "averages": []}, **names)
    single = last[(last["series"] == "single") & (last["ranker"] == 1)]["map"].item()
    assert alone.loc[alone["step"] == 600, "map"].item() == single
    mean = {step: (kept[0][step].astype(float) + kept[1][step]) / 2 for step in kept[0]}
    of_mean = average_rankers(*study, 0, [mean], {**RANKERS, "averages": []}, **names)
    expected = of_mean.loc[of_mean["step"] == 600, "map"].item()
    assert last.loc[last["series"] == "average of 2", "map"].item() == pytest.approx(expected, abs=1e-6)


def test_mistakes_stay_below_the_bound(study):
    table = bound_fold(*study, 0, {"steps": 800, "points": 5, "aggressiveness": 0.1}, seed=5, subset="toy")
    assert tuple(table.columns) == BOUND_COLUMNS
    assert set(table["comparator"]) == {"I", "W", "W / 2", "2 W"}
    assert (table["mistakes"] <= table["bound"]).all()
    for _, rows in table.groupby("comparator"):
        assert rows["step"].iloc[-1] == 800
        assert (np.diff(rows["mistakes"]) >= 0).all()
        assert rows["mistakes"].iloc[-1] > 0


def test_average_precisions_of_runs_stand_in_one_table():
    ranks = Rankings(
        offsets=np.array([0, 1, 2]), ranks=np.array([1, 2]), n_gallery=3, query_ids=np.array([7, 9], dtype=np.int32)
    )
    names = {"subset": "toy", "method": "oasis", "fold": 1}
    table = average_precisions([(names, ranks), ({**names, "fold": 2}, ranks)])
    assert table["average_precision"].tolist() == [1.0, 0.5, 1.0, 0.5]
    assert table["image_id"].tolist() == [7, 9, 7, 9]
    assert table["fold"].tolist() == [1, 1, 2, 2]
