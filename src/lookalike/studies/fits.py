"""What every study that fits learners shares: its clock, compiled kernels before it starts, and the model's files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.core.files import replacing, write_json
from lookalike.learners.registry import learner_module


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


def warm_up(learner: str) -> None:
    """Load what a learner has compiled, so that no fit is timed with it."""
    module = import_module("lookalike." + learner_module(learner).removesuffix(".py").replace("/", "."))
    if hasattr(module, "warm_up"):
        module.warm_up()


def plain_number(value: Any) -> Any:
    """Plain Python number for JSON."""
    return value.item() if isinstance(value, np.generic) else value


def write_model(model: Any, fit: dict[str, Any], path: Path, names: dict[str, Any]) -> None:
    """Write a fitted learner, or in its place an empty archive and a sidecar with the reason why there is none.

    Parameters
    ----------
    model : estimator or None
    fit : dict
        How it was made, with the reason under ``not_converged``.
    path : Path
        ``model.npz``.
    names : dict
        What the sidecar says it was made by.
    """
    if model is not None:
        model.save(path, made_by=names)
        return
    with replacing(path) as part, part.open("wb") as stream:
        np.savez(stream, allow_pickle=False)
    write_json({"format": "no model", "reason": fit["not_converged"], "made_by": names}, path.with_suffix(".json"))
