"""Learners of image similarity: one file per algorithm, all with the same estimator API.

Names are imported when they are first asked for, so that the registry costs nothing and a job imports one learner.
``LEARNERS`` maps the name of every learner in the registry to its class.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lookalike.learners.registry import MODULES, learner_class

if TYPE_CHECKING:
    from lookalike.learners.base import SimilarityLearner as SimilarityLearner
    from lookalike.learners.euclidean import Euclidean as Euclidean
    from lookalike.learners.model_io import load as load
    from lookalike.learners.oasis import OASIS as OASIS
    from lookalike.learners.triplets import TripletSampler as TripletSampler

    LEARNERS: dict[str, type[SimilarityLearner]]

_PARTS = {"SimilarityLearner": "base", "TripletSampler": "triplets", "load": "model_io"}

__all__ = ["LEARNERS", "OASIS", "Euclidean", "SimilarityLearner", "TripletSampler", "load", "warm_up"]


def warm_up() -> None:
    """Compile every kernel, or load it from numba's cache, so that timed runs and parallel jobs need not."""
    import_module("lookalike.learners.oasis").warm_up()


def __getattr__(name: str) -> Any:
    """Import what is asked for (PEP 562)."""
    if name == "LEARNERS":
        return {learner: learner_class(learner) for learner in MODULES}
    if name in MODULES:
        return learner_class(name)
    if name in _PARTS:
        return getattr(import_module(f"lookalike.learners.{_PARTS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
