"""What every study that fits learners shares: its clock, compiled kernels before it starts, and the model's files."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import integer_seed
from lookalike.core.settings.methods import Fit
from lookalike.learners.base import SimilarityLearner
from lookalike.learners.model_io import save_reason
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


@cache
def warm_up(learner: str) -> None:
    """Load what a learner has compiled, so that no fit is timed with it."""
    module = import_module(learner_class(learner).__module__)
    if hasattr(module, "warm_up"):
        module.warm_up()


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


def write_model(
    model: SimilarityLearner | None, fit: Mapping[str, object], path: Path, names: Mapping[str, object]
) -> None:
    """Write a run's model file, or in its place one with the reason of `fit` for it."""
    if model is not None:
        model.save(path, made_by=names)
    else:
        save_reason(str(fit["not_converged"]), path, names)
