"""The registry of learners: which name is which class in which file.

The modules are named as text: none is imported before it is asked for, and an edited learner reruns its own jobs alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    from lookalike.learners.base import SimilarityLearner

MODULES = {
    "Euclidean": "euclidean",
    "MCML": "mcml",
    "LMNN": "lmnn",
    "OASIS": "oasis",
    "OnlineProjOASIS": "oasis",
    "DissimOASIS": "oasis",
    "AveragedOASIS": "oasis",
    "LEGO": "lego",
    "RCA": "rca",
    "MMC": "mmc",
    "TFIDF": "diagonal",
    "SOMLTG": "soml",
    "SOMLDA": "soml",
    "DiagonalOASIS": "diagonal",
    "QPAO": "qpao",
    "LDA": "classifiers",
    "LogisticRegression": "classifiers",
}
"""Class name to module of `lookalike.learners`."""


def learner_module(name: str) -> str:
    """Return the file that defines a learner, relative to the package."""
    if name not in MODULES:
        raise LookalikeError(f"there is no learner {name!r}; there are: {', '.join(sorted(MODULES))}")
    return f"learners/{MODULES[name]}.py"


def learner_class(name: str) -> type[SimilarityLearner]:
    """Return a learner's class, importing its module."""
    file = learner_module(name)
    module = importlib.import_module("lookalike." + file.removesuffix(".py").replace("/", "."))
    learner: type[SimilarityLearner] = getattr(module, name)
    return learner
