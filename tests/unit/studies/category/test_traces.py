"""Curves along training: where they start, where they end, and what they are curves of."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.studies.category.folds import Fold
from lookalike.studies.category.protocol import run_fold
from lookalike.studies.category.traces import trace_fold
from lookalike.studies.metrics import COLUMNS, select

OASIS_SPEC = {"learner": "OASIS", "trace": {"steps": 2000, "points": 5, "aggressiveness": 0.3}}
EUCLIDEAN_SPEC = {"learner": "Euclidean"}


def oasis_curve(study, **changes):
    return trace_fold(Fold(*study, 0, 5, "toy"), {**OASIS_SPEC, **changes})


def fixed(study, **parameters):
    spec = {"learner": "OASIS", "parameters": parameters}
    return run_fold(Fold(*study, 0, 5, "toy"), spec).rankings.mean_average_precision()


def traced(curve, metric="traced_map"):
    """A traced number by step."""
    return select(curve, metric=metric).set_index("x")["value"]


def test_curve_starts_at_euclidean_and_follows_the_final_fit(study):
    curve = oasis_curve(study)
    assert tuple(curve.columns) == COLUMNS
    assert set(curve["metric"]) == {"traced_map", "traced_train_map", "loss_rate", "symmetry_index"}
    steps = traced(curve).index
    assert (steps[0], steps[-1]) == (0, 2000)
    assert steps.is_monotonic_increasing
    assert traced(curve, "traced_train_map").index.equals(steps)
    # no step before the first has a loss
    assert traced(curve, "loss_rate").index.equals(steps[1:])
    assert traced(curve, "symmetry_index")[0] == 1
    assert (traced(curve, "symmetry_index")[1:] < 1).all()
    euclidean = run_fold(Fold(*study, 0, 5, "toy"), EUCLIDEAN_SPEC)
    assert traced(curve)[0] == pytest.approx(euclidean.rankings.mean_average_precision(), abs=1e-6)
    assert traced(curve)[2000] == pytest.approx(fixed(study, aggressiveness=0.3, n_steps=2000), abs=1e-12)


def test_a_projected_curve_is_that_of_models_that_stop_there(study):
    curve = oasis_curve(study, parameters={"projection": "psd"})
    test = traced(curve)
    for step in (test.index[2], 2000):
        expected = fixed(study, aggressiveness=0.3, n_steps=int(step), projection="psd")
        assert test[step] == pytest.approx(expected, abs=1e-12)
    assert (traced(curve, "symmetry_index") == 1).all()
    assert not np.allclose(traced(oasis_curve(study)), test, atol=1e-6)


def test_a_learner_that_stops_by_itself_is_traced_past_its_stop(study):
    spec = {"learner": "MCML", "parameters": {"max_iter": 4}, "trace": {"steps": 30, "points": 9, "first": 1}}
    curve = trace_fold(Fold(*study, 0, 5, "toy"), spec)
    test = traced(curve)
    assert (test.index[0], test.index[-1]) == (0, 30)
    assert (np.diff(traced(curve, "objective")) <= 0).all()
    own = run_fold(Fold(*study, 0, 5, "toy"), spec | {"trace": {**spec["trace"], "stop": False}})
    assert own.fit["n_steps"] == 4
    assert test[4] == pytest.approx(own.rankings.mean_average_precision(), abs=1e-12)


def test_a_trace_that_takes_too_long_has_no_rows(study):
    curve = oasis_curve(study, trace={"steps": 2_000_000_000, "points": 3}, time_limit=0.2)
    assert curve.empty
    assert tuple(curve.columns) == COLUMNS


def test_training_images_are_ranked_in_an_order_that_knows_no_classes(study):
    spec = {"learner": "OASIS", "parameters": {"n_steps": 0}}
    final = run_fold(Fold(*study, 0, 5, "toy"), spec)
    assert final.train_map == traced(oasis_curve(study), "traced_train_map")[0]
