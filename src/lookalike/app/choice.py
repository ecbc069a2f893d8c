"""Which learner suits some rows, by their number, dimensions, density and what relates them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from lookalike.core.arrays import Array, Matrix
from lookalike.learners.base import is_sparse
from lookalike.learners.dual import LARGEST_BYTES, bytes_of_products
from lookalike.learners.online import can_hold_out
from lookalike.learners.registry import learner_class

DENSE = 0.25
"""Share of values that are not zero from which on rows of an array count as dense; those of a CSR matrix never do."""
OF_ALL_PAIRS, MOST_PAIRS = ("MCML", "LMNN", "MMC"), 3e10
"""Learners that compare all pairs of rows, and how many pairs times dimensions MCML compares in about a minute."""
MOST_STEPS, FEWEST_STEPS, PASSES = 300_000, 35_000, (4, 40)
"""Of OASIS: at most, at least, and for each sparse and each dense row."""
LONGEST = 25.0
"""Seconds that the steps of OASIS may take; stopping early takes them twice."""
LARGEST_MATRIX = 20_000
"""Dimensions of a matrix that is formed (1.6 GB, twice while it is learned)."""
SCORED_ROWS, SCORED_TIMES, FEW_ROWS = 2_000, 20, 10_000
"""Rows that are held out to choose the number of steps, and how often they are ranked on the way, of more than few."""


@dataclass(frozen=True)
class Choice:
    """A learner, its settings, and why it was chosen (a sentence)."""

    name: str
    parameters: dict[str, object]
    reason: str

    def __str__(self) -> str:
        return f"{self.name}, because {self.reason}"


def choose_learner(X: Matrix, y: Array | None = None, triplets: Array | None = None) -> Choice:
    """Choose a learner that takes about a minute at most, where there is one; every machine chooses alike.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
        The rows that are learned from, as the learner takes them.
    y : ndarray of shape (n,), optional
        Their labels.
    triplets : ndarray of shape (m, 3), optional
        Instead of labels.

    Returns
    -------
    Choice

    Notes
    -----
    MCML compares all pairs of rows and ranks new dense rows best where it is fast enough: on digits (64 dimensions) it
    has a mean average precision of 0.86, OASIS 0.84 and no learning 0.68; on HOG of photographs of twenty classes, in
    256 principal components, 0.33, 0.29 and 0.25 (rows centred and of length 1, half of them held out).
    OASIS takes triplets, and its time does not grow with the number of pairs. On sparse rows it is the better of the
    two, as in JMLR Table 4. Where its matrix is too large, one weight a dimension is learned.
    """
    n, d = X.shape
    values = float(X.nnz if is_sparse(X) else np.count_nonzero(X)) / max(1, n)
    is_dense = not is_sparse(X) and values >= DENSE * d
    shape = f"{n:,} rows of {d:,} dimensions" + ("" if is_dense else f", {values / max(1, d):.1%} of them not zero")
    if triplets is None and is_dense and n * n * min(n, d) <= MOST_PAIRS:
        return Choice("MCML", {}, f"{shape} are few enough to compare all pairs of them")
    n_steps = min(MOST_STEPS, max(FEWEST_STEPS, PASSES[is_dense] * max(n, 0 if triplets is None else len(triplets))))
    needed = bytes_of_products(n, n_steps, "float32", 1)
    on_products = needed <= LARGEST_BYTES and (d <= LARGEST_MATRIX or 4 * n <= d)
    if d > LARGEST_MATRIX and not on_products:
        why = f"{shape} are too many for a matrix of all pairs of dimensions, so each has one weight"
        return Choice("DiagonalOASIS", _steps(n_steps, n, y), why)
    # seconds of a step on the matrix, and on products of rows
    taken = [70e-9 * max(1.0, values) + 0.6e-9 * values**2] if d <= LARGEST_MATRIX else []
    taken += [2e-9 * n + 0.2e-12 * n**2] if on_products else []
    if triplets is not None:
        why = f"triplets of {shape} are learned from one by one"
    elif is_dense:
        why = f"comparing all pairs of {shape}, as MCML does, would take too long"
    else:
        why = f"it ranks sparse rows best ({shape})"
    return Choice("OASIS", _steps(min(n_steps, int(LONGEST / min(taken))), n, y), why)


def _steps(n_steps: int, n: int, y: Array | None) -> dict[str, object]:
    """Return how many steps a learner takes at most, and how it chooses; nothing where that is what it does anyhow."""
    if n_steps == FEWEST_STEPS and n <= FEW_ROWS:
        return {}
    steps: dict[str, object] = {"n_steps": n_steps, "trace_points": SCORED_TIMES}
    if y is None:
        return steps | {"early_stopping": True}
    return steps | {"early_stopping": can_hold_out(y), "validation_fraction": min(0.2, SCORED_ROWS / n)}


def too_long(name: str, X: Matrix, other: Choice) -> str | None:
    """Say before a learner that was named starts that it takes long, and what to do."""
    n, d = X.shape
    if name not in OF_ALL_PAIRS or n * n * min(n, d) <= MOST_PAIRS:
        return None
    return (
        f"{name} compares all pairs of {n:,} rows of {d:,} dimensions, which takes minutes or more: "
        f"leave --learner out to take {other.name}"
    )


def worse_than_none(table: pd.DataFrame) -> str | None:
    """Say of a table of measures, first of what was learned, that rows are surely ranked worse after learning."""
    name = table["method"].iloc[0]
    if not table.attrs["gains"][0]["high"] < 0 or not learner_class(name).needs_labels:
        return None
    learned, before = values_of(table)
    return (
        f"{name} ranks rows that it has not learned from worse than no learning does: {learned}, "
        f"and {before}; take another learner (--learner), other settings, or more rows"
    )


def worse_on_new_classes(table: pd.DataFrame) -> str | None:
    """Say of a table of `Similarity.evaluate_new_classes` that what was learned is surely worse than no learning."""
    if not table.attrs["gains"][0]["high"] < 0 or not learner_class(table["method"].iloc[0]).needs_labels:
        return None
    learned, before = values_of(table)
    return (
        "On classes that it has not learned from, the learned similarity is worse than no learning: "
        f"{learned}, and {before}"
    )


def values_of(table: pd.DataFrame) -> tuple[str, str]:
    """Return the first measure of what was learned, and of the better of the others, as people read them."""
    gain = table.attrs["gains"][0]
    values = table[table["measure"] == gain["measure"]].set_index("method")["value"]
    measure = "mAP" if gain["measure"] == "map" else "share of triplets in order"
    return f"{measure} {values.iloc[0]:.3f}", f"{values[gain['over']]:.3f} by {gain['over']}"
