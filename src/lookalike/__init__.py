"""lookalike: learning image similarity from relative comparisons."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "1.1.0"


def __dir__() -> list[str]:
    """Return what users call."""
    learners = import_module("lookalike.learners.registry").MODULES
    return sorted(["ImageSimilarity", "Similarity", "evaluate", "load", *learners])


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: ``import lookalike`` stays fast (PEP 562)."""
    if name == "load":
        return import_module("lookalike.app").load
    if name == "evaluate":
        return import_module("lookalike.ranking.evaluation").evaluate
    if name in ("Similarity", "ImageSimilarity"):
        return import_module("lookalike.app").similarity_class(name)
    if not name.startswith("_"):
        registry = import_module("lookalike.learners.registry")
        if name in registry.MODULES:
            return registry.learner_class(name)
    raise AttributeError(f"module 'lookalike' has no attribute {name!r}")
