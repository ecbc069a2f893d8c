"""L1HashKPCA: a short vector whose products stand for L1 distances of long ones (Deep Ranking, section 6.4).

Long non-negative vectors are sketched by weighted minhash (Ioffe, "Improved consistent weighted sampling, weighted
minhash and L1 sketching", ICDM 2010), and kernel PCA of the share of hashes that agree makes vectors of them, without
labels. The golden feature's `select_l1` weights the features before it, and OASIS learns on top of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, inv

from lookalike.core.arrays import Array, Doubles, Floats, Ints, Longs, Matrix, Words
from lookalike.core.kernels import mix, njit
from lookalike.core.seeds import RandomState, as_seed

BLOCK = 16
"""Hashes at a time: their random numbers for one feature fill a few cache lines."""
EMPTY = np.uint32(0xFFFFFFFF)
"""Sample of a row without a positive value."""
RANK_TOLERANCE = 1e-9
"""Directions with less than this share of the largest eigenvalue are no directions."""
RIDGE = 1e-6
"""Added to the agreements' diagonal before they are inverted: rows that are the same make them singular."""
SMALLEST = np.finfo(np.float32).tiny
"""Smaller values count as zeros: they are what is left of one after a subtraction."""
SMALLEST_RATE = 1e-6
"""Drawn once in 2e12 times or less; keeps steps within what float32 and 64-bit integers hold."""
TRANSFORM_ROWS = 4_096
"""Rows whose agreements with the landmarks are in memory at a time."""


def l1_visual_features(
    blocks: Mapping[str, Array], weights: Mapping[str, float], signed: Collection[str] = ()
) -> Floats:
    """Join the vectors of several features into the non-negative ones that `L1HashKPCA` takes.

    Every block is divided by the L1 norm of its row and multiplied by its weight, which is above 0. A block with
    negative values anywhere (Fisher vectors, wavelet signs) is split into its positive and its negative part, two
    blocks of its width, which keeps L1 distances: |a - b| = |a+ - b+| + |a- - b-|. All rows then have the same L1 norm,
    so that the weighted Jaccard similarity falls as the L1 distance grows. A row of NaN (an unusable image) in one
    block is a row of NaN in the result. Features without a weight are left out; blocks stand in the order of the
    features' names, so that the result does not depend on that of the mappings. Where rows come in parts, `signed`
    names the features that have negative values in any part.
    """
    parts = (_unit_block(blocks[name], name in signed) * np.float32(weights[name]) for name in sorted(weights))
    return np.hstack(list(parts))


def _unit_block(block: Array, is_signed: bool) -> Floats:
    block = np.asarray(block, dtype=np.float32)
    if is_signed or (block < 0).any():
        block = np.hstack([np.maximum(block, 0), np.maximum(-block, 0)])
    norms = block.sum(axis=1, dtype=np.float64, keepdims=True)
    return np.asarray(np.divide(block, np.where(norms > 0, norms, np.where(norms == 0, 1, np.nan))), dtype=np.float32)


def weighted_minhash(X: Matrix, n_hashes: int, random_state: RandomState = None) -> Words:
    """Draw consistent weighted samples of non-negative rows, dense or CSR (Ioffe 2010, algorithm 1).

    Two rows have the same sample at a hash with probability sum_k min(a_k, b_k) / sum_k max(a_k, b_k), their weighted
    Jaccard similarity; for rows of the same L1 norm s this is (2 s - l) / (2 s + l), l being their L1 distance. The
    32 mixed bits of two different samples are equal once in 4 billion. The same integer as seed gives a row the same
    samples, whatever rows are beside it and however many hashes follow.
    """
    rows: Matrix = sp.csr_array(X, dtype=np.float64, copy=True)
    if not np.isfinite(rows.data).all() or (rows.data < 0).any():
        raise ValueError("minhash takes finite values that are not negative: split signed blocks by l1_visual_features")
    rows.sum_duplicates()
    rows.data[rows.data < SMALLEST] = 0
    rows.eliminate_zeros()
    indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
    logarithms = np.log(rows.data).astype(np.float32)
    signatures = np.empty((rows.shape[0], int(n_hashes)), dtype=np.uint32)
    seed, shape = as_seed(random_state), (rows.shape[1], BLOCK)
    for first in range(0, int(n_hashes), BLOCK):
        # what a block of hashes needs of every feature: r, 1 / r, beta and ln(c) - r, r and c from Gamma(2, 1)
        random = np.random.Generator(np.random.PCG64([seed, first]))
        rates, scores = (np.maximum(random.standard_gamma(2.0, shape), SMALLEST_RATE) for _ in range(2))
        drawn = (rates, 1 / rates, random.random(shape), np.log(scores) - rates)
        tables = tuple(np.asarray(table, dtype=np.float32) for table in drawn)
        sample_block(indptr, indices, logarithms, tables, signatures, first)
    return signatures


@njit(cache=True, nogil=True)
def sample_block(
    indptr: Longs, indices: Ints, log_values: Floats, tables: tuple[Floats, ...], signatures: Words, first: int
) -> None:
    """Draw the consistent weighted samples of a block of hashes for every row (Ioffe 2010, algorithm 1).

    With t = floor(ln(S) / r + beta), ln(a) = ln(c) - r (t - beta) - r; the feature with the smallest a is the sample,
    together with its t.
    """
    # r, 1 / r, beta and ln(c) - r, a row of hashes per feature: the inner loop runs over neighbours
    rates, inverse_rates, shifts, log_scores = tables
    width = min(BLOCK, signatures.shape[1] - first)
    best = np.empty(BLOCK, np.float32)
    steps = np.empty(BLOCK, np.float32)
    chosen = np.empty(BLOCK, np.int32)
    for row in range(len(indptr) - 1):
        for h in range(BLOCK):
            best[h] = np.float32(np.inf)
            steps[h] = np.float32(0)
            chosen[h] = -1
        for at in range(indptr[row], indptr[row + 1]):
            feature = np.uint32(indices[at])  # unsigned: no test for negative indices in the inner loop
            logarithm = log_values[at]
            for h in range(BLOCK):
                step = np.floor(logarithm * inverse_rates[feature, h] + shifts[feature, h])
                score = log_scores[feature, h] - rates[feature, h] * (step - shifts[feature, h])
                if score < best[h]:
                    best[h] = score
                    steps[h] = step
                    chosen[h] = np.int32(feature)
        for h in range(width):
            if chosen[h] < 0:
                signatures[row, first + h] = EMPTY
                continue
            # the step may be negative: its 64 bits are taken as they are
            word = mix(np.uint64(chosen[h])) ^ np.uint64(np.int64(steps[h]))
            signatures[row, first + h] = np.uint32(mix(word) >> np.uint64(32))


def agreement(left: Words, right: Words) -> Doubles:
    """Return the share of equal samples of rows, (n, m): an unbiased estimate of their weighted Jaccard similarity."""
    counts = np.empty((len(left), len(right)), dtype=np.int32)
    count_agreements(np.ascontiguousarray(left), np.ascontiguousarray(right), counts)
    return np.asarray(counts / left.shape[1])


@njit(cache=True, nogil=True)
def count_agreements(left: Words, right: Words, counts: Ints) -> None:
    """Count, for every pair of rows of `left` and `right`, the hashes at which both have the same sample."""
    for i in range(left.shape[0]):
        for j in range(right.shape[0]):
            count = np.int32(0)
            for h in range(left.shape[1]):
                count += np.int32(left[i, h] == right[j, h])
            counts[i, j] = count


@dataclass(eq=False)
class L1HashKPCA:
    """Kernel PCA of the agreement of weighted minhashes, an embedding of L1 distances (Deep Ranking, section 6.4).

    It is made from landmarks, rows that are drawn without replacement where there are more (Nystroem): its time grows
    with their cube and its memory with their square. For them, products of vectors of all components are the centred
    kernel, exactly. Other rows are projected onto the same directions. A row agrees with itself at every hash, with any
    other at the share that the two have in common, so `transform` gives landmarks longer vectors in the last directions
    than rows that were not there. What is learned on top of landmarks, such as OASIS, must not see that:
    `held_out_vectors_` has only the part of a landmark that the other landmarks span. Of its agreement with itself, 1,
    the rest is 1 / (K^-1)_ii with K the agreements.
    """

    n_components: int = 1000
    """Numbers in a vector, as in the paper; fewer where there are fewer landmarks or directions."""
    n_hashes: int = 1024
    """Samples of a row. An agreement j has a standard error of sqrt(j (1 - j) / n_hashes), 0.016 at most here."""
    n_landmarks: int = 4000
    random_state: RandomState = None

    landmarks_: Longs = field(init=False)
    """Rows that kernel PCA was made from, ascending."""
    signatures_: Words = field(init=False)
    """Their samples, (n_landmarks, n_hashes)."""
    eigenvalues_: Doubles = field(init=False)
    """Of the centred kernel of the landmarks, falling."""
    components_: Doubles = field(init=False)
    """Eigenvectors as columns, divided by the roots of their eigenvalues."""
    held_out_vectors_: Floats = field(init=False)
    """What the landmarks' vectors would be if each had not been a landmark."""

    def fit(self, rows: Matrix) -> Self:
        """Make the directions from rows, two at least and none negative, such as `l1_visual_features` gives."""
        self._seed = as_seed(self.random_state)
        self.landmarks_ = np.arange(rows.shape[0])
        if rows.shape[0] > self.n_landmarks:
            random = np.random.Generator(np.random.PCG64([self._seed, self.n_hashes]))
            self.landmarks_ = np.sort(random.choice(rows.shape[0], int(self.n_landmarks), replace=False, shuffle=False))
        self.signatures_ = weighted_minhash(rows[self.landmarks_], self.n_hashes, self._seed)
        kernel = agreement(self.signatures_, self.signatures_)
        self._column_means = kernel.mean(axis=0)
        n, wanted = len(kernel), min(int(self.n_components), len(kernel) - 1)
        values, vectors = eigh(self._centred(kernel), subset_by_index=[n - wanted, n - 1])
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = values > RANK_TOLERANCE * max(float(values[0]), RANK_TOLERANCE)
        if not kept.any():
            raise ValueError("all rows have the same samples, so there is no direction: give rows that differ")
        values, vectors = values[kept], vectors[:, kept]
        # an eigenvector's sign is free: its largest entry is made positive
        vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
        self.eigenvalues_, self.components_ = values, vectors / np.sqrt(values)
        rest = 1 / np.diag(inv(kernel + RIDGE * np.eye(len(kernel))))
        self.held_out_vectors_ = (self._centred(kernel - np.diag(rest)) @ self.components_).astype(np.float32)
        return self

    def transform(self, rows: Matrix) -> Floats:
        """Map rows, which must not be negative, to vectors, float32 of shape (n, n_components)."""
        vectors = np.empty((rows.shape[0], len(self.eigenvalues_)), dtype=np.float32)
        for start in range(0, rows.shape[0], TRANSFORM_ROWS):
            signatures = weighted_minhash(rows[start : start + TRANSFORM_ROWS], self.n_hashes, self._seed)
            kernel = agreement(signatures, self.signatures_)
            vectors[start : start + TRANSFORM_ROWS] = self._centred(kernel) @ self.components_
        return vectors

    def _centred(self, kernel: Doubles) -> Doubles:
        """Return products with the landmarks' mean subtracted on both sides (Schoelkopf et al. 1998, appendix A)."""
        means = self._column_means
        return np.asarray(kernel - means[None, :] - kernel.mean(axis=1, keepdims=True) + means.mean())
