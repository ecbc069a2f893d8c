"""The check of numbers that name rows, images or queries, wherever they come from."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def row_numbers(values: ArrayLike, n: int, name: str) -> NDArray[np.int64]:
    """Return whole numbers from 0 to n - 1 as int64; raise ValueError for others, which `name` says what they are."""
    array = np.asarray(values)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must be whole numbers, not values of type {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= n):
        raise ValueError(f"{name} must be numbers from 0 to {n - 1}; found {array.min()} to {array.max()}")
    return array.astype(np.int64)
