"""What the package does for a user's own images: a similarity, its model file, and the commands."""

from __future__ import annotations

import os
from typing import Any


def load(path: str | os.PathLike[str]) -> Any:
    """Load a learner (``.npz``) or a similarity of one's own images (``.lookalike``).

    Parameters
    ----------
    path : path-like

    Returns
    -------
    SimilarityLearner or ImageSimilarity

    Raises
    ------
    LookalikeError
        When there is no such file, or it cannot be used.
    """
    if os.fspath(path).endswith(".lookalike"):
        from lookalike.app.similarity import ImageSimilarity

        return ImageSimilarity.load(path)
    from lookalike.learners.model_io import load as load_learner

    return load_learner(path)
