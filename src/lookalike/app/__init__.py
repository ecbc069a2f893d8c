"""What the package does for a user's own images or vectors: a similarity, its model file, and the commands."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

SIMILARITY_NAME = "lookalike image similarity"
"""What the model file of one's own images or vectors says that it is."""


def load(path: str | os.PathLike[str]) -> Any:
    """Load a learner, or a similarity of one's own images or vectors; a `LookalikeError` if the file cannot be used.

    Parameters
    ----------
    path : path-like
        A ``.lookalike`` file; one of a similarity is an ImportError without the extra ``images``.

    Returns
    -------
    SimilarityLearner, Similarity or ImageSimilarity
    """
    if import_module("lookalike.core.model_file").read_about(path)["format"] == SIMILARITY_NAME:
        return similarity_class("Similarity").load(path)
    return import_module("lookalike.learners.model_io").load(path)


def similarity_class(name: str) -> Any:
    """Return `Similarity` or `ImageSimilarity`, or say which library of the extra `images` it lacks."""
    try:
        return getattr(import_module("lookalike.app.similarity"), name)
    except ModuleNotFoundError as error:
        raise ImportError(extra_needed(error, "similarities of images or vectors need it")) from None


def extra_needed(error: ModuleNotFoundError, why: str) -> str:
    """Say that a library of the extra `images` is missing; a missing module of ours is an error as it is."""
    missing = (error.name or "lookalike").partition(".")[0]
    if missing == "lookalike":
        raise error
    return f'{missing} is not installed, and {why}: pip install "lookalike[images]"'
