"""Weights of visterms: from raw counts to the sparse vectors that every learner of a study takes.

The weight of visterm i in an image is f_i d_i / ||f d||, with f_i the number of its occurrences there and
d_i = -log(r_i), r_i the share of a run's own training images that contain it (OASIS 2009 draft, equation 15; JMLR 2010,
section 3).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from lookalike.core.arrays import Doubles


def inverse_document_frequencies(counts: sp.csr_array) -> Doubles:
    """Return d_i of each word by its share of the images, 0 of a word that none or all of them have."""
    n_images_with = np.bincount(counts.indices[counts.data > 0], minlength=counts.shape[1])
    idf = np.zeros(counts.shape[1])
    found = (n_images_with > 0) & (n_images_with < counts.shape[0])
    idf[found] = -np.log(n_images_with[found] / counts.shape[0])
    return idf


def tfidf_rows(counts: sp.csr_array, idf: Doubles, dtype: str = "float32") -> sp.csr_array:
    """Weight counts, each place stored once, by idf: rows of unit length, or empty, without stored zeros."""
    values = counts.data * idf[counts.indices]
    # of arrays of its own, which lose entries in place
    weights = sp.csr_array((values, counts.indices, counts.indptr), shape=counts.shape, copy=True)
    weights.eliminate_zeros()
    rows = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    lengths = np.sqrt(np.bincount(rows, weights.data**2, minlength=weights.shape[0]))
    scaled = (weights.data / lengths[rows]).astype(dtype)
    return sp.csr_array((scaled, weights.indices, weights.indptr), shape=weights.shape)
