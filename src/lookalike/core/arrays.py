"""Names of array types, by what their numbers are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = Any
"""A dense array or a CSR matrix of SciPy's."""
Frame = Any
"""An array-like, or a table or column of pandas or polars, which need not be installed; or a dict of these."""
Array = NDArray[Any]
Truths = NDArray[np.bool_]
Texts = NDArray[np.str_]
Bytes = NDArray[np.uint8]
Shorts = NDArray[np.uint16]
Words = NDArray[np.uint32]
States = NDArray[np.uint64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Integers = NDArray[np.integer[Any]]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Reals = NDArray[np.floating[Any]]
Labels = ArrayLike | None
"""Of the classes of rows, where there are any."""
