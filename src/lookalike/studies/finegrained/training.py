"""What the systems that learn from training relevance share: triplets of image ids, folds, images that have vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import Array
from lookalike.core.errors import LookalikeError
from lookalike.core.settings.model import Section
from lookalike.data.relevance import RelevanceData
from lookalike.learners.relevance_triplets import RelevanceTripletSampler
from lookalike.studies.finegrained.settings import Sampler

Floats = npt.NDArray[np.float32]
Features = Mapping[str, Floats]
"""System id of a hand-crafted feature to its vectors (N, d), a row per image id, NaN where there is none."""


BLOCK = 1_000
"""Rows that are read at a time."""
NO_VECTOR = "a pair names an image without a vector: make pairs.parquet again from usable images"


def recorded(settings: Section, sampling: Sampler) -> dict[str, object]:
    """Return what decided a fit, its sampling too, as ``fit.json`` keeps it."""
    own = {name: value for name, value in settings if value is not None}
    return own | {name: getattr(sampling, name) for name in ("out_of_class", "margin", "positive_threshold")}


def draw_triplets(relevance: RelevanceData, n: int, sampling: Sampler, seed: int) -> npt.NDArray[np.int32]:
    """Draw triplets of image ids from training relevance."""
    try:
        sampler = RelevanceTripletSampler(
            relevance,
            out_of_class=sampling.out_of_class,
            positive_threshold=math.inf if sampling.positive_threshold is None else sampling.positive_threshold,
            margin=sampling.margin,
            random_state=seed,
        )
        return relevance.image_id[sampler.draw(n)]
    except ValueError as error:
        raise LookalikeError(f"training triplets cannot be drawn: {error}") from error


def with_vectors(relevance: RelevanceData, usable: npt.NDArray[np.bool_]) -> RelevanceData:
    """Return the relevance of images that have vectors; `usable` has a place for every image id."""
    kept = np.flatnonzero(usable[relevance.image_id])
    if not len(kept):
        raise LookalikeError(
            "there is no training image with a relevance and a vector: put training images and their relevance in place"
        )
    return relevance if len(kept) == relevance.n_images else relevance.subset(kept)


def usable_rows(features: Features) -> npt.NDArray[np.bool_]:
    """Return which images have a vector of every feature, shape (N,)."""
    masks = [
        np.concatenate([np.isfinite(vectors[rows]).all(axis=1) for rows in blocks_of(len(vectors))])
        for vectors in features.values()
    ]
    return np.asarray(np.logical_and.reduce(masks))


def blocks_of(n: int) -> list[slice]:
    """Return parts of n rows, so that not all vectors are in memory at a time."""
    return [slice(start, start + BLOCK) for start in range(0, max(n, 1), BLOCK)]


def stratified_folds(category: Array, n_folds: float, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Deal the images of every category into folds in turn, in random order: every n-th image to the same fold."""
    folds = np.empty(len(category), dtype=np.int64)
    for label in np.unique(category):
        members = random.permutation(np.flatnonzero(category == label))
        folds[members] = np.arange(len(members)) % max(2, round(n_folds))
    return folds
