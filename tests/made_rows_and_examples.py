"""Rows, and the pairs and triplets of them, for the tests of all learners."""

from itertools import product

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from scipy.stats import chisquare

from lookalike.learners import TripletSampler


def sparse_rows(n=40, d=150, n_classes=4, seed=0):
    """Return rows of length 1 (some empty) and their classes: words of all, few of them frequent, and 8 of each."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    chance = np.tile(np.minimum(0.5, 2.0 / np.arange(1, d + 1) ** 0.8), (n_classes, 1))
    for own in chance:
        own[random.choice(d, 8, replace=False)] = 0.6
    X = random.exponential(size=(n, d)) * (random.random((n, d)) < chance[y])
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    X[5::7] = 0
    return X, y


def odd_csr(X):
    """Return dense rows as CSR with wide indices from right to left, every entry in two halves, and stored zeros."""
    columns = [np.append(np.flatnonzero(row)[::-1].repeat(2), np.flatnonzero(row == 0)[:1]) for row in X]
    values = [row[place] / 2 for row, place in zip(X, columns, strict=True)]
    starts = np.cumsum([0, *map(len, columns)])
    return sp.csr_array((np.concatenate(values), np.concatenate(columns).astype(np.int64), starts), X.shape)


def triplets_of(y, n, seed=0):
    return TripletSampler(y, seed).sample(n)


def landmark_like(n_positives=4, n_negatives=25, seed=0):
    """Return rows and every triplet of a few positives among many negatives, in random order: pairs of rows repeat."""
    X, _ = sparse_rows(n_positives + n_negatives, 120, 1, seed)
    random = np.random.default_rng(seed)
    X[:n_positives, random.choice(120, 10, replace=False)] += 0.3
    positives, negatives = range(n_positives), range(n_positives, len(X))
    triplets = [triplet for triplet in product(positives, positives, negatives) if triplet[0] != triplet[1]]
    return sp.csr_array(X), random.permutation(np.array(triplets))


def noisy_classes(n=24, d=5, n_classes=3, seed=0):
    """Return rows with classes told apart by two features, under noise in all."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = random.normal(size=(n, d))
    X[:, :2] += 2 * random.normal(size=(n_classes, 2))[y]
    return X, y


def few_values(data):
    """Draw rows of few values, often equal, zero or cancelling, and triplets of them."""
    n, d = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 8))
    X = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.0, 1.0, -0.5, 2.0]), min_size=n * d, max_size=n * d)))
    row = st.integers(0, n - 1)
    return X.reshape(n, d), np.array(data.draw(st.lists(st.tuples(row, row, row), min_size=1, max_size=30)))


def assert_drawn_from(drawn, probability):
    """Check that rows are drawn as often as an array with an axis for each column says: some columns and all."""
    counts = np.zeros(probability.shape)
    np.add.at(counts, tuple(drawn.T), 1)
    assert not counts[probability == 0].any()
    for axes in ((1, 2), (2,), (1,), ()):
        seen, wanted = counts.sum(axis=axes).ravel(), probability.sum(axis=axes).ravel() * len(drawn)
        rare = wanted < 5  # count as one
        observed = np.append(seen[~rare], seen[rare].sum())
        expected = np.append(wanted[~rare], wanted[rare].sum())
        possible = expected > 0
        assert chisquare(observed[possible], expected[possible]).pvalue > 0.001, axes
