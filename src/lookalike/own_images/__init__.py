"""A similarity of one's own images, from a folder to a model file: what the commands ``fit`` to ``info`` do."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Import `ImageSimilarity` when it is first asked for: the command line's ``--help`` and ``info`` stay fast."""
    if name == "ImageSimilarity":
        from lookalike.own_images.similarity import ImageSimilarity

        return ImageSimilarity
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
