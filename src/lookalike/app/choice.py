"""Which learner suits some rows, and about how long learning takes: by rows, dimensions, density and what relates them.

Seconds are those of one core, by constants that `benchmarks/learner_times.py` measured: every machine chooses alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from lookalike.app.learning import learner_defaults
from lookalike.core.arrays import Array, Matrix
from lookalike.learners.base import is_sparse
from lookalike.learners.gram import LARGEST_BYTES, bytes_of_products
from lookalike.learners.online import can_hold_out
from lookalike.learners.registry import learner_class

LONGEST = 60.0
"""Seconds that a learner which nobody named may take."""
DENSE = 0.25
"""Share of values that are not zero from which on rows of an array count as dense; those of a CSR matrix never do."""
MOST_STEPS, FEWEST_STEPS, PASSES = 300_000, 35_000, (4, 40)
"""Of OASIS: at most, at least, and for each sparse and each dense row."""
SCORED_ROWS, SCORED_TIMES, FEW_ROWS = 2_000, 20, 10_000
"""Rows that are held out to choose the number of steps, and how often they are ranked on the way, of more than few."""

# Seconds, for the terms that `seconds` adds up.
PAIR = {"MCML": 2.0e-9, "LMNN": 40e-9, "MMC": 3.0e-9}
"""Of a fit that compares all pairs of rows, for each pair and dimension."""
CUBE = (0.15e-9, 0.05e-9)
"""Of RCA's decomposition of d x d numbers, for each d^3, and of its covariance, for each row and d^2."""
PRODUCT = 0.05e-9
"""Of inner products of all pairs of rows, for each pair and value that is not zero; 4 times as much where few are."""
STEP_ON_PRODUCTS = (2.0e-9, 0.2e-12)
"""Of a step on inner products, for each row, and for each pair of rows."""
STEP_ON_MATRIX = (70e-9, 0.6e-9)
"""Of a step on a matrix, for each value of a row, and for each pair of values."""
STEP_ON_WEIGHTS = 20e-9
"""Of a step on one weight a dimension, for each value of a row."""
SCORE = (0.05e-9, 15e-9)
"""Of ranking held-out rows, for each pair of them and dimension, and for each pair."""
STEP_OF_LEGO = 0.25e-9
"""Of a step of LEGO, for each pair of dimensions."""
SWEEPS_OF_QPAO, BLOCK_OF_QPAO = 10, (1.2e-3, 0.5e-6)
"""Sweeps that QPAO takes, about; and seconds of a block in one, at least, and more for each triplet."""
PASS_OF = {"OASIS": 1, "OnlineProjOASIS": 2, "DissimOASIS": 4, "AveragedOASIS": 1}
"""Learners that take steps on a matrix, and what a step costs beside that of OASIS."""
LARGEST_MATRIX = 20_000
"""Dimensions of a matrix that is formed: 1.6 GB, and as much again while it is learned."""
STOPPING: dict[str, object] = {"early_stopping": True}
ON_WEIGHTS = ("DiagonalOASIS", "SOMLTG", "SOMLDA")


class Shape(NamedTuple):
    """What decides about time: rows, dimensions, values of a row that are not zero, and triplets (0: labels)."""

    n: int
    d: int
    values: float
    n_triplets: int = 0
    is_dense: bool = True

    @classmethod
    def taken_from(cls, X: Matrix, triplets: Array | None = None) -> Shape:
        """Look at rows, and at triplets of them."""
        n, d = X.shape
        values = float(X.nnz if is_sparse(X) else np.count_nonzero(X)) / max(1, n)
        n_triplets = 0 if triplets is None else len(triplets)
        return cls(n, d, values, n_triplets, not is_sparse(X) and values >= DENSE * d)

    def __str__(self) -> str:
        share = "" if self.is_dense else f", {self.values / max(1, self.d):.1%} of them not zero"
        return f"{self.n:,} rows of {self.d:,} dimensions{share}"


@dataclass(frozen=True)
class Choice:
    """A learner, its settings, why it was chosen (a sentence), and the seconds that learning takes, about."""

    name: str
    parameters: dict[str, object]
    reason: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.name}, because {self.reason}; learning takes about {duration(self.seconds)}"


def choose_learner(X: Matrix, y: Array | None = None, triplets: Array | None = None) -> Choice:
    """Choose a learner that takes at most a minute, where there is one.

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
    shape = Shape.taken_from(X, triplets)
    pairs = seconds("MCML", {}, shape)
    if triplets is None and shape.is_dense and pairs <= LONGEST:
        return Choice("MCML", {}, f"{shape} are few enough to compare all pairs of them", pairs)
    n_steps = min(MOST_STEPS, max(FEWEST_STEPS, PASSES[shape.is_dense] * max(shape.n, shape.n_triplets)))
    for share in (1, 2, 4, 8, 16, 32):
        steps = _steps(n_steps // share, shape, y)
        taken = seconds("OASIS", steps or STOPPING, shape)
        if taken > LONGEST:
            continue
        if triplets is not None:
            why = f"triplets of {shape} are learned from one by one"
        elif shape.is_dense:
            why = f"comparing all pairs of {shape}, as MCML does, would take {duration(pairs)}"
        else:
            why = f"it ranks sparse rows best ({shape})"
        return Choice("OASIS", steps, why, taken)
    weights = _steps(n_steps, shape, y)
    why = f"{shape} are too many for a matrix of all pairs of dimensions, so each has one weight"
    return Choice("DiagonalOASIS", weights, why, seconds("DiagonalOASIS", weights or STOPPING, shape))


def _steps(n_steps: int, shape: Shape, y: Array | None) -> dict[str, object]:
    """Return how many steps a learner takes at most, and how it chooses; nothing where that is what it does anyhow."""
    if n_steps == FEWEST_STEPS and shape.n <= FEW_ROWS:
        return {}
    steps: dict[str, object] = {"n_steps": n_steps, "trace_points": SCORED_TIMES}
    if y is None:
        return steps | {"early_stopping": True}
    return steps | {"early_stopping": can_hold_out(y), "validation_fraction": min(0.2, SCORED_ROWS / shape.n)}


def seconds(name: str, parameters: Mapping[str, object], shape: Shape) -> float:
    """Estimate the seconds of learning on one core.

    Parameters
    ----------
    name : str
        Of the registry.
    parameters : mapping
        Of the learner; others are at their default.
    shape : Shape
    """
    n, d, values = shape[:3]
    settings = learner_defaults(name) | dict(parameters)
    if name in ("Euclidean", "TFIDF"):
        return 0.0
    if name == "RCA":
        return CUBE[0] * min(n, d) ** 3 + CUBE[1] * n * d * min(n, d)
    if name in PAIR:
        return PAIR[name] * n * n * min(n, d)
    if name == "QPAO":
        m, blocks = shape.n_triplets or int(settings["n_triplets"]), min(int(settings["n_blocks"]), d)
        return SWEEPS_OF_QPAO * blocks * (BLOCK_OF_QPAO[0] + BLOCK_OF_QPAO[1] * m)
    n_steps, rankers = int(settings["n_steps"]), int(settings.get("n_rankers", 1))
    if name in ON_WEIGHTS:
        once = n_steps * values * STEP_ON_WEIGHTS
    elif name == "LEGO":
        once = n_steps * d * d * STEP_OF_LEGO
    else:
        once = _on_matrix(shape, n_steps, rankers) * PASS_OF[name]
    if not settings["early_stopping"]:
        return once
    scored = min(n, max(2.0, float(settings["validation_fraction"]) * n))
    per_value, per_pair = SCORE
    return 2 * once + int(settings["trace_points"]) * scored * scored * (per_value * values + per_pair)


def _on_matrix(shape: Shape, n_steps: int, rankers: int) -> float:
    """Estimate so many steps on a d x d matrix, or on inner products of rows where these fit and cost less."""
    n, d, values = shape[:3]
    per_value, per_pair = STEP_ON_MATRIX
    is_small = d <= LARGEST_MATRIX
    on_matrix = rankers * n_steps * values * (per_value + per_pair * values) if is_small else float("inf")
    if bytes_of_products(n, n_steps, "float32", rankers) > LARGEST_BYTES or not (is_small or 4 * n <= d):
        return on_matrix
    per_row, per_two = STEP_ON_PRODUCTS
    products = PRODUCT * (1 if shape.is_dense else 4) * n * n * values
    return min(on_matrix, products + rankers * n_steps * n * (per_row + per_two * n))


def too_long(name: str, expected: float, other: Choice, shape: Shape) -> str | None:
    """Say before a learner that was named starts that it takes longer than a minute, and what takes less."""
    if expected <= LONGEST:
        return None
    advice = f"leave --learner out to take {other.name}, about {duration(other.seconds)}"
    if other.name == name:
        advice = "give fewer rows or dimensions, or fewer steps (--set n_steps=...)"
    return f"{name} takes about {duration(expected)} for {shape}: {advice}"


def duration(expected: float) -> str:
    """Return seconds as people say them."""
    for unit, size in (("hour", 3600), ("minute", 60)):
        if expected >= 1.5 * size:
            return f"{expected / size:,.0f} {unit}s"
    return f"{max(1.0, expected):.0f} s"


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
