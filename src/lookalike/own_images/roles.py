"""Which images are learned from and which are held out for `ImageSimilarity.evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.own_images.image_set import ImageSet

TRAIN, HELD_OUT = "train", "held-out"


def choose_roles(found: ImageSet, hold_out: float, seed: int) -> npt.NDArray[np.str_]:
    """Decide which images are learned from.

    Parameters
    ----------
    found : ImageSet
    hold_out : float
        Share of every class, or of the query images of triplets; from 0 to below 1.
    seed : int

    Returns
    -------
    ndarray of shape (n,), str
        `TRAIN` or `HELD_OUT` for every image.

    Raises
    ------
    LookalikeError
        When nothing can be learned from what is there, or nothing is left to learn from.
    """
    from lookalike.core.seeds import generator
    from lookalike.learners.online import held_out_rows

    roles = np.full(len(found.images), TRAIN, dtype="U8")
    rng = generator(seed, "own images", "held out")
    if found.triplets is None:
        labels = found.images["label"].to_numpy(str)
        _check_classes(labels, found.root)
        if hold_out:
            try:
                roles[held_out_rows(labels, hold_out, rng)] = HELD_OUT
            except ValueError:
                raise LookalikeError(
                    "no class has four images, two to hold out and two to learn from: give more, or hold none out"
                ) from None
    elif hold_out:
        queries = np.unique(found.triplets[:, 0])
        roles[rng.permutation(queries)[: max(1, round(hold_out * len(queries)))]] = HELD_OUT
        kept = (roles[found.triplets] == TRAIN).all(axis=1)
        if not kept.any():
            raise LookalikeError(
                "no triplet is left to learn from once queries are held out: give more, or hold fewer out"
            )
        # an image that only held-out triplets name is not learned from either
        rest = np.setdiff1d(np.arange(len(roles)), found.triplets[kept])
        roles[rest] = HELD_OUT
    return roles


def _check_classes(labels: npt.NDArray[Any], root: Path) -> None:
    """Refuse labels that nothing can be learned from."""
    names, sizes = np.unique(labels, return_counts=True)
    if len(names) < 2:
        only = f"only {names[0]}" if len(names) else "none"
        raise LookalikeError(f"a similarity is learned from two classes or more, and {root} has {only}: add another")
    if sizes.max() < 2:
        raise LookalikeError(f"every class of {root} has a single image: give at least two images of some class")
