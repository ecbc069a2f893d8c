"""What studies that fit learners share: choices of candidates, kernels compiled before a clock starts, time limits."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.learners.curve import log_spaced_steps
from lookalike.learners.registry import MODULES
from lookalike.studies.fits import TimeLimitReachedError, cpu_time_limit
from lookalike.studies.selection import best_candidate

FITS = """
import json, os, sys
import numpy as np
import scipy.sparse as sp
from lookalike.learners.registry import MODULES, learner_class
from lookalike.studies.fits import warm_up

def compiled():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("lookalike.")]
    values = [value for module in modules for value in vars(module).values()]
    kernels = [value for value in values if type(value).__name__ == "CPUDispatcher"]
    return {(kernel.__name__, str(types)) for kernel in kernels for types in kernel.signatures}

def compiled_by_a_fit(name):
    warm_up(name)
    before, learner = compiled(), learner_class(name)()
    few = {"n_steps": 20, "max_iter": 2, "n_blocks": 1}
    learner.set_params(**{key: value for key, value in few.items() if key in learner.get_params()})
    learner.fit(rows, ["a"] * 10 + ["b"] * 10)
    return sorted(compiled() - before)

random = np.random.default_rng(0)
rows = sp.csr_matrix(random.random((20, 12)) * (random.random((20, 12)) > 0.5))
for name in MODULES:
    learner_class(name)
for name in MODULES:
    # a child of its own: what one learner compiles, another must not find
    if not os.fork():
        print(json.dumps([name, compiled_by_a_fit(name)]), flush=True)
        os._exit(0)
    os.wait()
"""


def test_after_the_warm_up_a_fit_compiles_nothing():
    done = subprocess.run([sys.executable, "-c", FITS], capture_output=True, text=True, check=False)
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    assert found == {learner: [] for learner in MODULES}, done.stderr


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


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def swallow_once(seconds):
    try:
        burn(seconds)
    except TimeLimitReachedError:
        burn(seconds)


@pytest.mark.parametrize("work", [burn, swallow_once])
def test_work_that_takes_too_long_is_broken_off_and_nothing_is_left_behind(work):
    before, start = signal.getsignal(signal.SIGPROF), time.process_time()
    with (
        pytest.raises(TimeLimitReachedError, match=r"^the fit took more than 0.3 s of processor time$"),
        cpu_time_limit(0.3, "the fit"),
    ):
        work(5)
    # the timer counts ticks of the kernel, of which some come early on a loaded machine
    assert 0.2 < time.process_time() - start < 3
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_waiting_is_not_work_and_without_a_limit_there_is_none():
    with cpu_time_limit(0.05, "the fit"):
        time.sleep(0.1)
    with cpu_time_limit(None, "the fit"):
        burn(0.05)
