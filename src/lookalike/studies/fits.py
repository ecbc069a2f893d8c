"""What every study that fits learners shares: its clock, a limit on the time of a fit, and the model's files."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from lookalike.core.arrays import Matrix
from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_json
from lookalike.core.instructions import processor_name
from lookalike.core.seeds import integer_seed
from lookalike.core.settings.methods import Fit
from lookalike.exhibits.results import write_results
from lookalike.learners import base
from lookalike.learners.model_io import save
from lookalike.learners.registry import learner_class

# a study records whether a fit has converged, and its exhibits say it
warnings.filterwarnings("ignore", category=ConvergenceWarning, module=r"lookalike\.studies\.")


@dataclass
class Clock:
    """Seconds of the clock and of the processor that each named part took."""

    seconds: dict[str, float] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Add the time that the block takes to a part."""
        start, cpu_start = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - start
            self.cpu_seconds[name] = time.process_time() - cpu_start


LEAST_SECONDS = 0.2
"""A shorter time limit breaks off nothing before; of what ends sooner, the time is compared."""


class TimeLimitReachedError(LookalikeError):
    """The work took more processor time than it was given."""


@contextmanager
def cpu_time_limit(seconds: float | None, what: str) -> Iterator[None]:
    """Break off what runs inside the block after so much processor time: the papers give up after days (`*`)."""
    # of all threads and not by the clock: what else runs on the machine does not decide whether a method has a result
    if seconds is None:
        yield
        return

    # signals reach the main thread alone, a second limit would lift the first, and compiled calls are not interrupted:
    # of what ends before its signal comes, the time is compared
    def reached(*_: object) -> None:
        raise TimeLimitReachedError(f"{what} took more than {seconds:g} s of processor time")

    before, start = signal.signal(signal.SIGPROF, reached), time.process_time()
    try:
        # an exception in a finaliser is swallowed, so the signal comes again; in the first moments of a fit it may meet
        # compiled code that is being set up, which an exception has broken
        signal.setitimer(signal.ITIMER_PROF, max(seconds, LEAST_SECONDS), 1.0)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        if time.process_time() - start > seconds:
            reached()
    finally:
        signal.signal(signal.SIGPROF, before)


def warm_up(spec: Fit) -> None:
    """Compile what a method's fits on sparse rows need, or load it, so that none is timed with it."""
    learner = make_learner(spec, 0)
    _warm_up(spec.learner, tuple((name, getattr(learner, name)) for name in learner.compiled_for))


@cache
def _warm_up(learner: str, parameters: tuple[tuple[str, object], ...]) -> None:
    base.warm_up(like=learner_class(learner)(**dict(parameters)))


def fold_seed(root: int, subset: str, fold: int, purpose: str) -> int:
    """Return the seed of what a fold draws for a purpose, the same for every method: variants see the same triplets."""
    return integer_seed(root, "category", subset, "fold", int(fold), purpose)


def make_learner(spec: Fit, seed: int, parameters: Mapping[str, object] | None = None) -> Any:
    """Return a method's learner, with its own and further parameters."""
    arguments = {**spec.parameters, **(parameters or {})}
    make = learner_class(spec.learner)
    known = make().get_params()
    unknown = sorted(set(arguments) - set(known))
    if unknown:
        raise LookalikeError(
            f"{spec.learner} has no parameter {unknown[0]!r}, which the configuration sets or selects; "
            f"it has: {', '.join(sorted(known))}"
        )
    return make(**arguments | ({"random_state": seed} if "random_state" in known else {}))


def plain_number(value: object) -> object:
    """Return a number of NumPy's as one of Python, for JSON."""
    return value.item() if isinstance(value, np.generic) else value


@dataclass
class Run:
    """What a fit of a method, and the ranking by it, leave behind."""

    model: Any
    """The fitted learner; None where it did not end within its time limit."""
    fit: dict[str, Any]
    """The content of ``fit.json``: parameters, steps, sizes, seeds, and (only here) seconds of the clock and of the
    processor, the processor's name, and why there is no model, if there is none."""
    metrics: dict[str, float]
    """Mean average precision and other single numbers; none without a model."""
    rankings: Any
    """Ranks of what the queries found; of no query without a model."""
    selection: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Validation mAP of every candidate at every traced step, where the study keeps it."""

    def write(self, folder: Path, rows: pd.DataFrame | Iterable[Mapping[str, object]], names: Mapping[str, Any]) -> str:
        """Write the files of a run; `names` tells its data set, subset, method and fold. Return a line about it."""
        save(self.fit["not_converged"] if self.model is None else self.model, folder / "model.lookalike", names)
        # times are here alone, so that all other files are the same bytes each time
        write_json({**self.fit, **names}, folder / "fit.json")
        write_results(rows, folder / "results.parquet")
        self.rankings.save(folder / "ranks.npz")
        done = f"mAP {self.metrics['map']:.4f}" if self.metrics else self.fit["not_converged"]
        return f"{done}, {self.fit['seconds']}"


def record_of(
    spec: Fit, chosen: Mapping[str, Any], model: object, X: Matrix, clock: Clock, not_converged: str
) -> dict[str, Any]:
    """Return what the fits of all studies record: of the method, of its model or why there is none, and of its time."""
    recorded = ("n_steps", "n_updates", "objective", "converged")
    return {
        "n_train": int(X.shape[0]),
        "n_words": int(X.shape[1]),
        "learner": spec.learner,
        "parameters": {**spec.parameters, **chosen},
        "selected": dict(chosen),
        **{name: plain_number(getattr(model, f"{name}_", None)) for name in recorded},
        "not_converged": not_converged,
        "seconds": clock.seconds,
        "cpu_seconds": clock.cpu_seconds,
        "processor": processor_name(),
    }
