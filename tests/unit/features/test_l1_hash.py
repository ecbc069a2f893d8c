"""Weighted minhash against exact weighted Jaccard similarities, and kernel PCA against its definition."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import KernelPCA

from lookalike.features.l1_hash import L1HashKPCA, agreement, l1_visual_features, weighted_minhash


def jaccard(X):
    return np.array([[np.minimum(a, b).sum() / np.maximum(a, b).sum() for b in X] for a in X])


def sparse_rows(n, d, seed=0):
    random = np.random.default_rng(seed)
    return random.exponential(size=(n, d)) * (random.random((n, d)) < 0.5)


@pytest.mark.parametrize("scale", [1e-6, 1e4])
def test_hashes_agree_as_often_as_the_weighted_jaccard_says(scale):
    X = sparse_rows(8, 30) * scale
    X[1] = X[0] * 1.7  # the same features in other amounts: only the amounts tell them apart
    exact = jaccard(X)
    signatures = weighted_minhash(X, 4_000, 3)
    error = (agreement(signatures, signatures) - exact) / np.sqrt(exact * (1 - exact) / 4_000 + 1e-12)
    above = error[np.triu_indices(8, 1)]
    assert np.abs(above).max() < 4
    # chi-square of 28 (dependent) deviates: a wrong distribution is far off
    assert (above**2).mean() < 2.2
    assert (np.diag(error) == 0).all()


def test_samples_depend_on_the_row_and_the_seed_alone():
    X = np.vstack([sparse_rows(7, 20), np.zeros((2, 20))])
    full = weighted_minhash(X, 40, 5)
    np.testing.assert_array_equal(full, weighted_minhash(sp.csr_array(X), 40, 5))
    np.testing.assert_array_equal(full[3:], weighted_minhash(X[3:], 40, 5))
    np.testing.assert_array_equal(full[:, :21], weighted_minhash(X, 21, 5))
    assert (full != weighted_minhash(X, 40, 6))[:7].mean() > 0.7
    np.testing.assert_array_equal(agreement(full[7:], full), [[0] * 7 + [1, 1]] * 2)
    for value in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="not negative"):
            weighted_minhash([[1.0, value]], 4, 0)


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_joined_features_keep_l1_distances(seed):
    random = np.random.default_rng(seed)
    signed, counts = random.normal(size=(5, 7)), random.exponential(size=(5, 4)) + 0.01
    joined = l1_visual_features({"signed": signed, "counts": counts, "no": counts}, {"signed": 2.0, "counts": 0.5})
    assert (joined.shape, joined.min() >= 0) == ((5, 18), True)
    np.testing.assert_allclose(joined.sum(axis=1), 2.5, rtol=1e-5)
    signed /= np.abs(signed).sum(axis=1, keepdims=True)
    counts /= counts.sum(axis=1, keepdims=True)
    expected = 2 * np.abs(signed[0] - signed[1]).sum() + 0.5 * np.abs(counts[0] - counts[1]).sum()
    np.testing.assert_allclose(np.abs(joined[0] - joined[1]).sum(), expected, rtol=1e-4)
    # of rows with the same norm, the Jaccard similarity is a falling function of the L1 distance
    np.testing.assert_allclose(jaccard(joined)[0, 1], (5 - expected) / (5 + expected), rtol=1e-4)
    # unusable rows stay, and features come in the order of names
    block = np.array([[1.0, 3.0], [np.nan, np.nan], [0.0, 0.0]])
    joined = l1_visual_features({"b": block, "a": np.ones((3, 1))}, {"b": 4.0, "a": 1.0})
    np.testing.assert_allclose(joined, [[1, 1, 3], [1, np.nan, np.nan], [1, 0, 0]])


@pytest.mark.parametrize("n", [40, 25])  # of 40
def test_vectors_are_the_kernel_pca_of_the_agreements_with_landmarks(n):
    X, other = sparse_rows(40, 40), sparse_rows(9, 40, seed=5)
    model, few = (L1HashKPCA(k, n_hashes=200, n_landmarks=n, random_state=1).fit(X) for k in (1000, 6))
    kernel = agreement(model.signatures_, model.signatures_)
    centring = np.eye(n) - 1 / n
    vectors = model.transform(X[model.landmarks_])
    assert (len(set(model.landmarks_)), vectors.shape) == (n, (n, n - 1))
    np.testing.assert_allclose(vectors @ vectors.T, centring @ kernel @ centring, atol=1e-5)
    np.testing.assert_allclose(model.eigenvalues_, np.diag(vectors.T @ vectors), rtol=1e-4)
    agreements = agreement(weighted_minhash(other, 200, 1), model.signatures_)
    expected = KernelPCA(6, kernel="precomputed").fit(kernel).transform(agreements)
    np.testing.assert_allclose(np.abs(few.transform(other)), np.abs(expected), atol=1e-4)
    np.testing.assert_array_equal(few.transform(other)[:4], few.transform(other[:4]))
    with pytest.raises(ValueError, match="no direction"):
        L1HashKPCA().fit(np.ones((4, 3)))


def test_held_out_landmarks_are_like_rows_that_were_not_there():
    X = sparse_rows(25, 30)
    model = L1HashKPCA(n_hashes=500, random_state=1).fit(X)
    kernel = agreement(model.signatures_, model.signatures_)
    # products of a held-out landmark with the others are as before; with itself, only what the others span is left
    others = np.arange(25) != 4
    weights = np.linalg.solve(kernel[np.ix_(others, others)], kernel[others, 4])
    changed = np.where(others, kernel[4], kernel[4, others] @ weights)
    expected = (changed - changed.mean() - kernel.mean(axis=0) + kernel.mean()) @ model.components_
    np.testing.assert_allclose(model.held_out_vectors_[4], expected, atol=1e-4)
    lengths = [np.linalg.norm(vectors, axis=1) for vectors in (model.held_out_vectors_, model.transform(X))]
    assert (lengths[0] < lengths[1]).all()
