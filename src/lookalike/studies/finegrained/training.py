"""What the systems that learn from training relevance share: triplets of image ids, folds, images that have vectors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lookalike.core.arrays import Array, Floats, Ints, Longs, Truths
from lookalike.core.errors import LookalikeError
from lookalike.core.settings.networks import Sampler
from lookalike.data.relevance import RelevanceData
from lookalike.learners.relevance_triplets import RelevanceTripletSampler

Features = Mapping[str, Floats]
"""System id of a hand-crafted feature to its vectors (N, d), a row per image id, NaN where there is none."""
BLOCK = 1_000
"""Rows that are read at a time."""


def draw_triplets(relevance: RelevanceData, n: int, sampling: Sampler, seed: int) -> Ints:
    """Draw triplets of image ids from training relevance."""
    given = sampling.given("out_of_class", "positive_threshold", "margin")
    try:
        return relevance.image_id[RelevanceTripletSampler(relevance, **given, random_state=seed).draw(n)]
    except ValueError as error:
        raise LookalikeError(f"training triplets cannot be drawn: {error}") from error


def usable_rows(features: Features) -> Truths:
    """Return which images have a vector of every feature, shape (N,)."""
    masks = [
        np.concatenate([np.isfinite(vectors[rows]).all(axis=1) for rows in blocks_of(len(vectors))])
        for vectors in features.values()
    ]
    return np.asarray(np.logical_and.reduce(masks))


def blocks_of(n: int) -> list[slice]:
    """Return parts of n rows, so that not all vectors are in memory at a time."""
    return [slice(start, start + BLOCK) for start in range(0, n, BLOCK)]


def stratified_folds(category: Array, n_folds: int, random: np.random.Generator) -> Longs:
    """Deal the images of every category into folds in turn, in random order: every n-th image to the same fold."""
    folds = np.empty(len(category), dtype=np.int64)
    for label in np.unique(category):
        members = random.permutation(np.flatnonzero(category == label))
        folds[members] = np.arange(len(members)) % n_folds
    return folds
