"""Steps on a logarithmic scale, the grid, and how the best candidate is chosen."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.learners import OASIS, Euclidean
from lookalike.ranking.rankings import mean_average_precision
from lookalike.studies.selection import best_candidate, grid, log_spaced_steps, trace_candidates


def make_oasis(parameters, seed):
    return OASIS(**parameters, random_state=seed)


def toy(seed, per_class=8, n_classes=4, d=12):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, d))
    y = np.repeat(np.arange(n_classes), per_class)
    X = centres[y] + 1.2 * rng.normal(size=(len(y), d))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@settings(deadline=None, max_examples=60)
@given(n_max=st.integers(1, 10**6), n_points=st.integers(1, 80), first=st.integers(1, 5000))
def test_steps_are_unique_and_ascending_and_end_at_the_last(n_max, n_points, first):
    steps = log_spaced_steps(n_max, n_points, first)
    assert steps.dtype == np.int64
    assert steps[-1] == n_max
    assert 1 <= len(steps) <= n_points
    assert np.all(np.diff(steps) > 0)
    assert steps[0] >= min(first, n_max)


def test_steps_are_evenly_spaced_in_the_logarithm():
    steps = log_spaced_steps(250_000, 60, 100)
    assert len(steps) == 60
    assert steps[0] == 100
    ratios = steps[1:] / steps[:-1]
    assert ratios.max() / ratios.min() < 1.02


@pytest.mark.parametrize("bad", [(0, 5, 1), (10, 0, 1), (10, 5, 0)])
def test_steps_below_one_are_refused(bad):
    with pytest.raises(ValueError, match="at least 1"):
        log_spaced_steps(*bad)


def test_grid_is_every_combination_in_order():
    assert grid({}) == [{}]
    assert grid({"a": [1, 2], "b": ["x", "y"]}) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]


def curve(rows):
    return pd.DataFrame(rows, columns=["aggressiveness", "step", "map", "loss_rate"])


def test_the_best_map_wins():
    assert best_candidate(curve([(0.1, 10, 0.2, 0.5), (0.3, 20, 0.4, 0.5), (0.1, 30, 0.3, 0.5)])) == (
        {"aggressiveness": 0.3},
        20,
    )


def test_ties_go_to_fewer_steps_then_to_smaller_aggressiveness():
    rows = [(0.01, 30, 0.4, 0.1), (1.0, 20, 0.4, 0.1), (0.3, 20, 0.4, 0.1), (0.1, 5, 0.3, 0.1)]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]):
        assert best_candidate(curve([rows[i] for i in order])) == ({"aggressiveness": 0.3}, 20)


def test_several_validation_cuts_are_averaged():
    table = curve([(0.1, 10, 0.9, 0.5), (0.1, 10, 0.1, 0.5), (0.3, 10, 0.6, 0.5), (0.3, 10, 0.6, 0.5)])
    assert best_candidate(table)[0] == {"aggressiveness": 0.3}


def test_steps_alone_can_be_chosen():
    table = pd.DataFrame({"step": [10, 20], "map": [0.2, 0.3], "loss_rate": np.nan})
    assert best_candidate(table) == ({}, 20)


def test_nothing_to_choose_from_is_an_error():
    with pytest.raises(ValueError, match="nothing to choose from"):
        best_candidate(curve([]))
    with pytest.raises(ValueError, match="nothing to choose from"):
        best_candidate(curve([(0.1, 10, np.nan, 0.5)]))


def test_traced_candidates_are_scored_on_validation_images_alone():
    (X, y), (X_val, y_val) = toy(0), toy(0, per_class=3)
    steps = np.array([50, 400])
    candidates = grid({"aggressiveness": [0.1, 1.0]})
    make = functools.partial(make_oasis, seed=7)
    table = trace_candidates(make, candidates, X, y, X_val, y_val, steps)
    assert list(table.columns) == ["aggressiveness", "step", "map", "loss_rate"]
    assert table["aggressiveness"].tolist() == [0.1] * 3 + [1.0] * 3
    assert table["step"].tolist() == [0, 50, 400] * 2
    assert table["loss_rate"].isna().tolist() == [True, False, False] * 2
    model = OASIS(aggressiveness=1.0, n_steps=400, random_state=7).fit(X, y)
    expected = mean_average_precision(model.similarity(X_val, X_val), y_val)
    assert table["map"].iloc[-1] == pytest.approx(expected, abs=1e-12)


def test_learners_without_steps_give_one_row_a_candidate():
    (X, y), (X_val, y_val) = toy(0), toy(1)
    table = trace_candidates(lambda parameters: Euclidean(), grid({"omega": [0.125, 0.5]}), X, y, X_val, y_val, None)
    assert table["omega"].tolist() == [0.125, 0.5]
    assert table["step"].tolist() == [0, 0]
    assert best_candidate(table) == ({"omega": 0.125}, 0)
