"""MCML, the convex learner of a Mahalanobis matrix that collapses classes (Globerson and Roweis, NIPS 2005).

One of the batch competitors that OASIS is compared with (JMLR section 5.3.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from lookalike.core.arrays import Array, Doubles
from lookalike.learners.base import class_deviations
from lookalike.learners.batch import (
    STEPS_COMPARED,
    SUFFICIENT_DECREASE,
    BatchLearner,
    Point,
    conditioned,
    descend,
    precisions,
)
from lookalike.learners.parameters import Count, NotNegative
from lookalike.learners.projections import project_psd
from lookalike.learners.span import Span
from lookalike.learners.triplets import class_codes

BLOCK_ENTRIES = 4_194_304
"""Of the n x n matrix of neighbour probabilities, this many are in memory at a time."""
MOST_HALVINGS = 60


@dataclass(eq=False, repr=False)
class MCML(BatchLearner):
    """Maximally collapsing metric learning: rows of a class together, all others far away.

    Row i picks another row j with probability p(j|i) proportional to exp(-(x_i - x_j)'M(x_i - x_j)). The ideal picks
    the others of its class with equal probability p0(j|i) = 1 / (class size - 1). MCML minimises the mean over rows of
    the Kullback-Leibler divergence KL(p0(.|i) || p(.|i)), in nats, which is convex, over positive semidefinite M
    (Globerson and Roweis, section 2; theirs is the sum, without the constant log(class size - 1)). 0 is a class
    collapsed to a point with all others infinitely far. A row alone in its class can be picked and has no term.

    Notes
    -----
    Projected gradient descent from M = I. A step goes along -gradient, which is the sum of (p0 - p)(j|i) z z' with
    z = x_i - x_j, and then to the nearest positive semidefinite matrix (negative eigenvalues to 0). Its length follows
    the last two matrices and gradients by the two formulas of Barzilai and Borwein in turn, and is halved until the
    objective falls. Doubling on success and halving on failure takes four to six times as many steps on 400 rows.

    Learning stops after `max_iter` steps, when the last three steps together lowered the objective by no more than
    `tol` times its value at M = I, or when no step lowers it. With the default `tol` that is far above the minimum.
    Mean average precision on unseen rows is at its best after a few steps and falls while the objective does: a curve
    (`trace`) shows it, and `max_iter` is the parameter to choose.

    A step costs O(n^2 r + r^3) with r = min(n, d) or less, and memory of O(n r + d^2).

    Parameters
    ----------
    max_iter : int, default=100
        The most steps; 0 leaves M = I.
    tol : float, default=0.01
        Of ``"projected"``: share of the objective at the start, not negative. Of ``"factor"``: three steps together
        that lower the objective by no more than this share of it are the last, as in `LMNN`.
    solver : {"projected", "factor"}, default="projected"
        ``"projected"`` is the descent above, whose early stop is what makes it rank new rows well. ``"factor"`` goes
        on to the minimum, with a `tol` such as 1e-4, by L-BFGS in L with LL' = M, in float32 and, for a `tol` below
        1e-6, in float64 at the end.
    verbose : int, default=0
        Above 0: a progress bar with the objective.

    Attributes
    ----------
    M_ : numpy.ndarray of shape (d, d), float64
        The learned matrix, symmetric positive semidefinite; the identity outside the span of the training rows.
    components_ : numpy.ndarray of shape (d, d), float64
        L with LL' = M.
    n_steps_, n_iter_ : int
        Steps taken, by our name and scikit-learn's.
    objective_ : float
        Mean divergence at M, in nats.
    converged_ : bool
        Whether learning stopped before `max_iter` steps. It does not say that M is near the optimum.
    curve_ : dict of numpy.ndarray
        ``step``, ``objective`` and whatever the trace gave.
    metric_ : str
        ``"sqeuclidean"``.
    n_features_in_ : int
        Number of features d.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 2.0], [1.0, 2.0]]), [0, 0, 1, 1]
    >>> model = MCML(max_iter=20).fit(X, y)
    >>> bool(model.M_[0, 0] < 0.01 < 1 < model.M_[1, 1])
    True
    """

    max_iter: Count = 100
    tol: NotNegative = 0.01
    _: KW_ONLY
    solver: Literal["projected", "factor"] = "projected"
    verbose: int = 0

    def _descend(self, span: Span, y: Array) -> Iterator[Point]:
        coordinates = span.coordinates
        if self.solver == "factor":
            rows, basis = conditioned(coordinates)
            problems = [(dtype, CollapsingObjective(rows, y, dtype)) for dtype in precisions(rows)]
            stages = ((dtype, problem.in_factor) for dtype, problem in problems)
            yield from descend(stages, basis, self.tol, problems[0][1].at_zero)
            return
        objectives: list[float] = []
        for point in descend_by_projections(CollapsingObjective(coordinates, y)):
            yield point
            objectives.append(point.objective)
            recent = objectives[-1 - STEPS_COMPARED :]
            if len(recent) > STEPS_COMPARED and recent[0] - recent[-1] <= self.tol * objectives[0]:
                return


class CollapsingObjective:
    """Mean divergence between the ideal and the actual choice of neighbours, as a function of A in coordinates."""

    def __init__(self, coordinates: Doubles, y: Array, dtype: type[np.floating] = np.float64) -> None:
        codes, sizes = class_codes(y)
        others = np.maximum(sizes - 1, 1)[codes]
        has_target = (sizes > 1)[codes]
        self.weights: Doubles = has_target / has_target.sum()
        self.constant = float(self.weights @ np.log(others))
        self.at_zero = float(np.log(len(codes) - 1)) - self.constant
        # around their mean, where squared distances lose fewest digits
        rows: Doubles = coordinates - coordinates.mean(axis=0)
        # sum over the pairs of a class of z z' is 2 (class size) times its scatter around its own mean
        within = class_deviations(rows, codes, sizes) * np.sqrt(2 * self.weights * sizes[codes] / others)[:, None]
        self.target: Array = (within.T @ within).astype(dtype)
        self.rows: Array = rows.astype(dtype)

    def in_factor(self, factor: Doubles) -> tuple[float, Doubles, float]:
        """Return the objective at A = LL', its gradient in L, and the objective again, which is what is recorded."""
        value, gradient = self.value_and_gradient(factor)
        return value, 2 * gradient @ factor, value

    def value_and_gradient(self, factor: Doubles) -> tuple[float, Doubles]:
        """Return the objective at A = LL', and its gradient in A, the mean of sum_j (p0 - p)(j|i) z z' (section 3)."""
        rows, n = self.rows, len(self.rows)
        # the sum over p is X'diag(row sums + column sums of P)X - X'PX - X'P'X
        mapped = rows @ factor
        lengths = np.einsum("ij,ij->i", mapped, mapped)
        value = float(np.vdot(self.target @ factor, factor)) - self.constant
        chosen = self.weights.copy()
        half = np.zeros_like(self.target)
        per_block = max(1, BLOCK_ENTRIES // n)
        for start in range(0, n, per_block):
            block = slice(start, start + per_block)
            probabilities, log_sums = _neighbour_probabilities(mapped, lengths, block)
            value += float(self.weights[block] @ log_sums)
            probabilities *= self.weights[block, None]
            chosen += probabilities.sum(axis=0)
            half += rows[block].T @ (probabilities @ rows)
        half -= rows.T @ (chosen.astype(rows.dtype)[:, None] * rows) / 2
        return value, self.target + half + half.T


def descend_by_projections(objective: CollapsingObjective) -> Iterator[Point]:
    """Yield A = I and then a point of lower objective after every step, without end unless no step lowers it."""
    matrix: Doubles = np.eye(objective.rows.shape[1])
    value, gradient = objective.value_and_gradient(matrix)
    yield Point(value, matrix.copy, matrix)
    if not gradient.any():
        return
    # the spectral norm, so that the first step, in which some direction changes by as much as A = I, is the same
    # whether A is of the span or of the whole space
    length = 1 / float(np.abs(np.linalg.eigvalsh(gradient)).max())
    step, halvings = 0, 0
    while halvings < MOST_HALVINGS:
        new_matrix, new_factor = project_psd(matrix - length * gradient)
        new_value, new_gradient = objective.value_and_gradient(new_factor)
        moved = new_matrix - matrix
        if not new_value < value + SUFFICIENT_DECREASE * float(np.vdot(gradient, moved)):
            length, halvings = length / 2, halvings + 1
            continue
        step, halvings = step + 1, 0
        length = _next_length(length, moved, new_gradient - gradient, step)
        matrix, value, gradient = new_matrix, new_value, new_gradient
        yield Point(value, new_factor.copy, matrix)


def _next_length(length: float, moved: Doubles, bent: Doubles, step: int) -> float:
    """Return the length of the next step by Barzilai and Borwein's two formulas in turn, the long one first."""
    curvature = float(np.vdot(moved, bent))
    if not curvature > 0:
        return 4 * length
    if step % 2:
        return float(np.vdot(moved, moved)) / curvature
    return curvature / float(np.vdot(bent, bent))


def _neighbour_probabilities(mapped: Doubles, lengths: Doubles, block: slice) -> tuple[Doubles, Doubles]:
    """Return p(j|i) for the rows i of a block, with p(i|i) = 0, and the log of the sum over j of exp(-distance)."""
    # -distance without the part of row i, which its probabilities do not depend on
    logits = mapped[block] @ mapped.T
    logits *= 2
    logits -= lengths
    own = np.arange(len(logits))
    logits[own, own + block.start] = -np.inf
    largest = logits.max(axis=1)
    logits -= largest[:, None]
    np.exp(logits, out=logits)
    sums = logits.sum(axis=1)
    logits /= sums[:, None]
    return logits, largest + np.log(sums) - lengths[block]
