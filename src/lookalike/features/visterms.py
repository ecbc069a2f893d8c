"""Weights of visterms: from raw counts to the sparse vectors that every learner of the category study takes.

A transformer of scikit-learn, because inverse document frequencies must come from a run's own training rows alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows

if TYPE_CHECKING:
    from sklearn.utils import Tags


class TfidfVisterms(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Weight visterm counts by inverse document frequency and scale rows to unit length.

    The weight of visterm i in an image is f_i d_i / ||f d||, with f_i the number of its occurrences there and
    d_i = -log(r_i), r_i the share of training images that contain it (OASIS 2009 draft, equation 15; JMLR 2010,
    section 3). A visterm that no training image contains has weight 0, and so has one that all contain.

    Parameters
    ----------
    dtype : {"float32", "float64"}
        Type of the result; weights are computed in double precision.

    Attributes
    ----------
    idf_ : ndarray of shape (n_words,), float64
        The d_i.
    n_features_in_ : int
        Number of words.
    """

    def __init__(self, dtype: Literal["float32", "float64"] = "float32") -> None:
        self.dtype = dtype

    def fit(self, X: npt.ArrayLike | sp.csr_array, y: object = None) -> Self:
        """Learn inverse document frequencies from the counts of training images, (n_images, n_words), none negative."""
        if self.dtype not in ("float32", "float64"):
            raise ValueError(f'dtype must be "float32" or "float64", got {self.dtype!r}')
        self.idf_ = inverse_document_frequencies(self._validated(X, reset=True))
        return self

    def transform(self, X: npt.ArrayLike | sp.csr_array) -> sp.csr_array:
        """Weight raw counts: rows of unit length, or empty, as a csr_array of type `dtype` without stored zeros."""
        check_is_fitted(self)
        return tfidf_rows(self._validated(X, reset=False), self.idf_, self.dtype)

    def _validated(self, X: npt.ArrayLike | sp.csr_array, *, reset: bool) -> sp.csr_array:
        """Return the counts as CSR of doubles with sorted indices, each place stored once."""
        checked = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset, ensure_non_negative=True)
        counts = sp.csr_array(checked, copy=sp.issparse(checked))
        counts.sum_duplicates()
        counts.eliminate_zeros()
        return counts

    def __sklearn_tags__(self) -> Tags:
        """Tell that it takes sparse input, and only counts; the type of the result is a parameter."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []
        return tags
