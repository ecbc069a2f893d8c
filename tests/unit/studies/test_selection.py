"""Steps on a logarithmic scale, the grid, and how the best candidate is chosen."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.learners.curve import log_spaced_steps
from lookalike.studies.selection import best_candidate

COLUMNS = ["aggressiveness", "step", "map", "loss_rate"]


@settings(deadline=None, max_examples=40)
@given(n_max=st.integers(1, 10**6), n_points=st.integers(1, 80), first=st.integers(1, 5000))
@example(n_max=250_000, n_points=60, first=100)
def test_steps_ascend_evenly_in_the_logarithm_and_end_at_the_last(n_max, n_points, first):
    steps = log_spaced_steps(n_max, n_points, first)
    assert (steps.dtype, steps[-1]) == (np.int64, n_max)
    assert 1 <= len(steps) <= n_points
    assert np.all(np.diff(steps) > 0)
    # every point of the scale is there, rounded to a whole step
    exact = np.geomspace(min(first, n_max), n_max, n_points) if n_points > 1 else np.array([n_max])
    assert np.abs(steps - exact[:, None]).min(axis=1).max() <= 0.501
    for bad in ((0, 5, 1), (10, 0, 1), (10, 5, 0)):
        with pytest.raises(ValueError, match="at least 1"):
            log_spaced_steps(*bad)


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [
        ([(0.1, 10, 0.2), (0.3, 20, 0.4), (0.1, 30, 0.3)], (0.3, 20)),
        # ties go to fewer steps, then to the smaller aggressiveness
        ([(0.01, 30, 0.4), (1.0, 20, 0.4), (0.3, 20, 0.4), (0.1, 5, 0.3)], (0.3, 20)),
        # several validation cuts are averaged
        ([(0.1, 10, 0.9), (0.1, 10, 0.1), (0.3, 10, 0.6), (0.3, 10, 0.6)], (0.3, 10)),
    ],
)
def test_the_best_mean_map_wins_in_any_order(rows, chosen):
    for order in (rows, rows[::-1], sorted(rows)):
        table = pd.DataFrame([(*row, 0.5) for row in order], columns=COLUMNS)
        assert best_candidate(table) == ({"aggressiveness": chosen[0]}, chosen[1])
    assert best_candidate(table.drop(columns="aggressiveness"))[0] == {}
