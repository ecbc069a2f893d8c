"""What every learner from labels asks of its rows and labels, in the same words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.learners.base import Matrix, _is_sparse

LARGEST = 1e70
"""Its fourth power, of which learners form sums, is still a number."""


def class_codes(y: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the classes and count their rows.

    Parameters
    ----------
    y : numpy.ndarray of shape (n,)
        Class labels.

    Returns
    -------
    codes : numpy.ndarray of shape (n,), int64
        Class numbers from 0 on, in the order of the labels.
    sizes : numpy.ndarray of shape (number of classes,), int64

    Raises
    ------
    ValueError
        When there is one class only, or none of two rows.
    """
    labels, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    if len(labels) < 2:
        raise ValueError("y has fewer than two classes: give rows of at least two classes")
    if sizes.max() < 2:
        raise ValueError("no class of y has two rows: give at least two rows of some class")
    return np.asarray(codes, dtype=np.int64), np.asarray(sizes, dtype=np.int64)


def refuse_overflow(X: Matrix) -> None:
    """Raise ValueError when products of squared lengths could overflow.

    Parameters
    ----------
    X : numpy.ndarray or CSR matrix of shape (n, d)
        Not changed: ``abs`` of a CSR matrix would sort its indices in place.
    """
    if float(np.abs(X.data if _is_sparse(X) else X).max(initial=0.0)) > LARGEST:
        raise ValueError("X has values too large to be squared: scale its rows, for instance to length 1")
