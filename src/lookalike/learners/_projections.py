"""Projection of a matrix onto the positive semidefinite cone, which gives the learner that has it a transform."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def project_psd(W: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the positive semidefinite matrix that is nearest to W, and a factor of it (JMLR section 6.2).

    The symmetric part of W with its negative eigenvalues set to zero; where there are none, the symmetric part as it
    is, to the bit.

    Parameters
    ----------
    W : numpy.ndarray of shape (d, d)
        Finite, symmetric or not.

    Returns
    -------
    projected : numpy.ndarray of shape (d, d)
        In the dtype of W, symmetric to the bit; its eigenvalues are not negative up to the rounding of that dtype.
    factor : numpy.ndarray of shape (d, r), float64
        L with LL' = projected up to rounding; r is the number of positive eigenvalues.
    """
    symmetric = (W + W.T) / 2
    values, vectors = np.linalg.eigh(symmetric.astype(np.float64))
    kept = values > 0
    factor = np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))
    if not values.size or values[0] >= 0:
        return symmetric, factor
    projected = factor @ factor.T
    # which BLAS routine multiplies decides whether the product is symmetric to the bit
    return ((projected + projected.T) / 2).astype(W.dtype), factor
