"""Rows and triplets for the tests of diagonal learners."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from lookalike.learners import TripletSampler


def sparse_rows(n: int = 40, d: int = 150, n_classes: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of length 1 and their classes: words of all classes, few of them frequent, and 8 of each class.

    Every seventh row is empty, as that of an image without descriptors is.
    """
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    chance = np.tile(np.minimum(0.5, 2.0 / np.arange(1, d + 1) ** 0.8), (n_classes, 1))
    for own in chance:
        own[random.choice(d, 8, replace=False)] = 0.6
    X = random.exponential(size=(n, d)) * (random.random((n, d)) < chance[y])
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    X[5::7] = 0
    return X, y


def triplets_of(y: np.ndarray, n: int, seed: int = 0) -> np.ndarray:
    return TripletSampler(y, seed).draw(n)


def landmark_like(n_positives: int = 4, n_negatives: int = 25, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    """Return rows and every triplet of a few positives among many negatives, in random order: pairs of rows repeat."""
    X, _ = sparse_rows(n_positives + n_negatives, 120, 1, seed)
    random = np.random.default_rng(seed)
    X[:n_positives, random.choice(120, 10, replace=False)] += 0.3
    triplets = [
        (query, positive, negative)
        for query in range(n_positives)
        for positive in range(n_positives)
        for negative in range(n_positives, len(X))
        if query != positive
    ]
    return sp.csr_array(X), random.permutation(np.array(triplets))
