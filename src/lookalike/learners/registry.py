"""The registry of learners: which name is which class in which file, without importing any before it is asked for.

The workflow, `lookalike.load` and the contract tests know a learner by its name here. The modules are named as text, so
that editing one learner reruns that learner's jobs and no other's.
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
    "OnlineProjOASIS": "oasis_variants",
    "DissimOASIS": "oasis_variants",
    "AveragedOASIS": "oasis_variants",
    "LEGO": "lego",
    "RCA": "rca",
    "MMC": "mmc",
    "TFIDF": "tfidf",
    "SOMLTG": "soml",
    "SOMLDA": "soml",
    "DiagonalOASIS": "diagonal_oasis",
    "QPAO": "qpao",
}
"""Class name to module of `lookalike.learners`."""


def learner_module(name: str) -> str:
    """Return the file that defines a learner, relative to the package.

    Raises
    ------
    LookalikeError
        When there is no such learner.
    """
    if name not in MODULES:
        raise LookalikeError(f"there is no learner {name!r}; there are: {', '.join(sorted(MODULES))}")
    return f"learners/{MODULES[name]}.py"


def learner_class(name: str) -> type[SimilarityLearner]:
    """Return a learner's class, importing its module.

    Raises
    ------
    LookalikeError
        When there is no such learner.
    """
    learner_module(name)
    module = importlib.import_module(f"lookalike.learners.{MODULES[name]}")
    learner: type[SimilarityLearner] = getattr(module, name)
    return learner
