"""The checks of numbers that name rows, images or queries, and of rows' labels, wherever they come from."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lookalike.core.arrays import Labels, Longs


def row_numbers(values: ArrayLike, n: int, name: str) -> Longs:
    """Return whole numbers from 0 to n - 1 as int64; raise ValueError for others, which `name` says what they are."""
    array = np.asarray(values)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must be whole numbers, not values of type {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= n):
        raise ValueError(f"{name} must be numbers from 0 to {n - 1}; found {array.min()} to {array.max()}")
    return array.astype(np.int64)


def refuse_missing_labels(labels: Labels) -> None:
    """Raise ValueError for None, NaN and pandas' NA; in a list of texts, NumPy would make a class "nan" of one."""
    array = labels if isinstance(labels, np.ndarray) else np.asarray(labels, dtype=object)
    for row, label in enumerate(array.ravel() if array.ndim and array.dtype.kind in "OfMm" else ()):
        # pandas, which need not be installed, leaves open whether its NA equals itself
        if label is None or type(label).__name__ == "NAType" or np.any(label != label):
            raise ValueError(f"row {row} has no label, only {label}: give each row a label, or leave it out")
