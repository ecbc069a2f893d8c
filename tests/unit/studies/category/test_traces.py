"""Curves along training: where they start, where they end, and what they are curves of."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.studies.category.protocol import run_fold
from lookalike.studies.category.traces import CURVE_COLUMNS, trace_fold

OASIS_SPEC = {"learner": "OASIS", "trace": {"steps": 2000, "points": 5, "aggressiveness": 0.3}}
EUCLIDEAN_SPEC = {"learner": "Euclidean"}


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


def test_a_learner_that_stops_by_itself_is_traced_past_its_stop(study):
    spec = {"learner": "MCML", "parameters": {"max_iter": 4}, "trace": {"steps": 30, "points": 9, "first": 1}}
    curve = trace_fold(*study, 0, spec, seed=5, subset="toy", method="mcml")
    test = curve[curve["images"] == "test"]
    assert test["step"].iloc[0] == 0
    assert test["step"].iloc[-1] == 30
    assert test["aggressiveness"].isna().all()
    assert (np.diff(test["objective"]) <= 0).all()
    own = run_fold(*study, 0, spec | {"trace": {**spec["trace"], "stop": False}}, seed=5, subset="toy", method="mcml")
    assert own.fit["n_steps"] == 4
    at_stop = test.loc[test["step"] == 4, "map"].item()
    assert at_stop == pytest.approx(own.rankings.mean_average_precision(), abs=1e-12)


def test_a_trace_that_takes_too_long_has_no_rows(study):
    curve = oasis_curve(study, trace={"steps": 2_000_000_000, "points": 3}, time_limit=0.2)
    assert curve.empty
    assert tuple(curve.columns) == CURVE_COLUMNS


def test_training_images_are_ranked_in_an_order_that_knows_no_classes(study):
    curve = oasis_curve(study)
    start = curve[(curve["images"] == "train") & (curve["step"] == 0)]["map"].item()
    final = run_fold(
        *study, 0, {"learner": "OASIS", "parameters": {"n_steps": 0}}, seed=5, subset="toy", method="oasis"
    )
    assert final.train_map == start
