"""The checks of numbers and ids that name rows, images or queries, and of rows' labels, wherever they come from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from lookalike.core.arrays import Array, Frame, Labels, Longs


def row_numbers(values: ArrayLike, n: int, name: str) -> Longs:
    """Return whole numbers from 0 to n - 1 as int64; raise ValueError for others, which `name` says what they are."""
    array = np.asarray(values)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must be whole numbers, not values of type {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= n):
        raise ValueError(f"{name} must be numbers from 0 to {n - 1}; found {array.min()} to {array.max()}")
    return array.astype(np.int64)


def named_rows(examples: Frame, X: Frame, name: str, columns: str) -> Longs:
    """Return row numbers (m, k) of X for examples, or raise ValueError: rows of row numbers, or of ids of its index.

    Examples are an array, or a DataFrame or dict with `columns`, as in ``"query, positive, negative"``. Whole numbers
    are row numbers; anything else is an id, where X is a DataFrame of pandas'. `name` is what a sentence calls them.
    """
    names = columns.split(", ")
    given = set(getattr(examples, "columns", examples if isinstance(examples, Mapping) else ()))
    if given and not given.issuperset(names) and (isinstance(examples, Mapping) or len(given) != len(names)):
        raise ValueError(f"{name} have the columns {', '.join(sorted(map(str, given)))}: name them {columns}")
    # by name where there are names, and else in the order that they stand in
    by_name = given.issuperset(names)
    array = np.stack([np.asarray(examples[key]) for key in names], axis=1) if by_name else np.asarray(examples)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise ValueError(f"{name} must be rows ({columns}), an array of shape (m, {len(names)}), not {array.shape}")
    if array.dtype.kind in "OUT" and array.size:
        array = _numbers_of_ids(array.astype(object), X, name)
    return row_numbers(array, _n_rows(X), f"{name}, rows of X,")


def _numbers_of_ids(ids: Array, X: Frame, name: str) -> Longs:
    """Return the row numbers of ids of the index of X."""
    index: Frame = getattr(X, "index", None)
    if not hasattr(index, "get_indexer"):
        raise ValueError(
            f"{name}, rows of X, must be whole numbers, not ids such as {ids.flat[0]!r}: "
            "give X as a DataFrame of pandas whose index holds the ids"
        )
    if not index.is_unique:
        raise ValueError(f"the index of X has {index[index.duplicated()][0]!r} twice: give each row an id of its own")
    numbers = np.asarray(index.get_indexer(ids.ravel())).reshape(ids.shape)
    unknown = np.argwhere(numbers < 0)
    if len(unknown):
        row, column = unknown[0]
        raise ValueError(
            f"row {row} of {name} names {ids[row, column]!r}, which the index of X does not have, as "
            f"{len(np.unique(unknown[:, 0])):,} of {len(ids):,} rows do: leave them out, or add rows to X"
        )
    return numbers


def labels_of(y: Frame, X: Frame) -> Frame:
    """Return the label of each row of X, checked; raise ValueError for a row that has none.

    A dict has the label of each id of the index of X, or of each row number where X has no index; it may have more.
    """
    index: Frame = getattr(X, "index", None)
    other: Frame = getattr(y, "index", None)
    has_ids = hasattr(index, "get_indexer")
    if isinstance(y, Mapping):
        try:
            y = [y[key] for key in (index if has_ids else range(_n_rows(X)))]
        except KeyError as error:
            raise ValueError(f"y has no label for row {error.args[0]!r} of X: give each row a label") from None
    elif has_ids and hasattr(other, "get_indexer") and not other.equals(index) and set(other) == set(index):
        raise ValueError("y has the ids of X in another order: give y.loc[X.index]")
    refuse_missing_labels(y)
    return y.to_numpy() if hasattr(y, "to_numpy") else y


def _n_rows(X: Frame) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def refuse_missing_labels(labels: Labels) -> None:
    """Raise ValueError for None, NaN and pandas' NA; in a list of texts, NumPy would make a class "nan" of one."""
    array = labels if isinstance(labels, np.ndarray) else np.asarray(labels, dtype=object)
    for row, label in enumerate(array.ravel() if array.ndim and array.dtype.kind in "OfMm" else ()):
        # pandas, which need not be installed, leaves open whether its NA equals itself
        if label is None or type(label).__name__ == "NAType" or np.any(label != label):
            raise ValueError(f"row {row} has no label, only {label}: give each row a label, or leave it out")
