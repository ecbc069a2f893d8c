"""lookalike: learning image similarity from relative comparisons."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> Any:
    """Import `load` and the learners when they are first asked for, so that ``import lookalike`` stays fast."""
    # a learner's name starts with a capital: asking for a submodule must not import the learners
    if name == "load" or name[:1].isupper():
        learners = import_module("lookalike.learners")
        if name == "load" or name in learners.MODULES:
            return getattr(learners, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
