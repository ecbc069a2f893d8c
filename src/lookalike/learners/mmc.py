"""MMC, distances learned from similar and dissimilar pairs (Xing, Ng, Jordan and Russell, 2003), full matrix version.

The papers found it too slow for their experiments (JMLR section 5.3.1); here it is an optional row of the comparison,
off by default in the workflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.learners.base import class_deviations
from lookalike.learners.batch import BatchLearner
from lookalike.learners.projections import project_psd
from lookalike.learners.span import Span
from lookalike.learners.triplets import class_codes

Array = NDArray[np.float64]

RANK_TOLERANCE = 1e-10
"""Directions with less than this share of the largest variance within classes have none."""
FIRST_STEP = 0.1
"""Length of the first step tried, as a share of the norm of the matrix."""
LENGTHENED, SHORTENED = 1.05, 0.5
PROJECTIONS = 100
EXCESS = 0.01
"""Alternating projections end, at most `PROJECTIONS` of them, where the constraint is kept up to this share; what is
left of it is scaled away."""


@dataclass(eq=False, repr=False)
class MMC(BatchLearner):
    """Move rows of different classes apart while those of the same class stay, on average, as near as they are.

    Maximises the mean of sqrt(z'Mz) over the pairs of different classes subject to: the mean of z'Mz over the pairs of
    the same class is not above its value at M = I, and M is positive semidefinite. This is the problem of Xing et al.
    (section 2, eqs. 3-5), who sum instead of taking means and bound the second sum by 1: the same solution but for a
    factor, chosen here so that M = I is a feasible start with the bound reached.

    Parameters
    ----------
    max_iter : int, default=100
        The most steps; 0 leaves M = I.
    tol : float, default=0.001
        Learning stops when the step to be tried is shorter than this share of the norm of the matrix, not negative.
    verbose : int, default=0
        Above 0: a progress bar with the objective.

    Attributes
    ----------
    M_ : numpy.ndarray of shape (d, d), float64
        The learned matrix, symmetric positive semidefinite.
    components_ : numpy.ndarray of shape (d, d), float64
        L with LL' = M.
    objective_ : float
        Mean distance (not squared) of pairs of different classes at M.
    converged_ : bool
        Whether learning stopped by `tol`, before `max_iter` steps.
    n_steps_, n_iter_, curve_, metric_, n_features_in_
        As of `MCML`.

    Notes
    -----
    Projected gradient ascent (Xing et al., Figure 1): a step goes along the part of the gradient that leaves the
    constraint's sum as it is, then projections onto the constraint and onto the positive semidefinite matrices
    alternate until both hold. A step that does not raise the objective is taken back and tried at half the length; one
    that does makes the next 1.05 times as long.

    In a direction in which no class varies the constraint holds nothing back and the objective has no upper bound. With
    more features than rows there always are such directions. M is the identity in them, and learned in the others only.

    A step costs O(n^2 r + r^3) for each length tried, with r = min(n, d) or less, and memory of O(n^2 + d^2).

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0, 1.0], [3.0, 1.2], [1.0, 1.1], [0.0, 2.0], [3.0, 2.1], [1.0, 2.2]]), [0, 0, 0, 1, 1, 1]
    >>> model = MMC().fit(X, y)
    >>> bool(model.M_[0, 0] < 1 < model.M_[1, 1])
    True
    """

    max_iter: int = 100
    tol: float = 0.001
    _: KW_ONLY
    verbose: int = 0

    def _descend(self, span: Span, y: NDArray[Any]) -> Iterator[Point]:
        return ascend(SpreadingProblem(span.coordinates, y), self.tol)


class SpreadingProblem:
    """The objective, its gradient, and the constraint <matrix, similar> <= bound, in directions where classes vary."""

    def __init__(self, coordinates: Array, y: NDArray[Any]) -> None:
        codes, sizes = class_codes(y)
        deviations = class_deviations(coordinates, codes, sizes)
        # over the pairs of a class, zz' sums to its size times its scatter around its mean
        n_pairs = float((sizes * (sizes - 1) / 2).sum())
        similar: Array = (deviations * (sizes[codes] / n_pairs)[:, None]).T @ deviations
        similar = (similar + similar.T) / 2
        variances, vectors = np.linalg.eigh(similar)
        squared_scale = float(np.vdot(coordinates, coordinates)) / len(coordinates)
        self.directions: Array = vectors[:, variances > RANK_TOLERANCE * squared_scale]
        self.similar: Array = self.directions.T @ similar @ self.directions
        self.similar = (self.similar + self.similar.T) / 2
        self.bound = float(np.trace(self.similar))
        centred = coordinates - coordinates.mean(axis=0)
        self._rows = centred @ self.directions
        self._different = codes[:, None] != codes
        self._n_different = int(self._different.sum())
        # what the directions that are not learned add to every squared distance
        rest = centred - self._rows @ self.directions.T
        self._constant = np.maximum(_squared_distances(rest, rest), 0.0)

    def value(self, matrix: Array) -> float:
        """Return the mean distance, not squared, over pairs of different classes."""
        return float(np.sqrt(self._distances(matrix)).sum()) / self._n_different

    def gradient(self, matrix: Array) -> Array:
        """Return the gradient of `value`, the mean of zz' / (2 distance); pairs at distance 0 have none, and add 0."""
        distances = np.sqrt(self._distances(matrix))
        smallest = 1e-8 * distances.max(initial=0.0)
        weights = np.divide(0.5, distances, out=np.zeros_like(distances), where=distances > smallest)
        # every pair is in the weights twice, and its zz' in the Laplacian once
        weights /= self._n_different / 2
        gradient = (self._rows * weights.sum(axis=1)[:, None]).T @ self._rows - self._rows.T @ (weights @ self._rows)
        return np.asarray(gradient + gradient.T) / 2

    def feasible(self, matrix: Array) -> Array:
        """Return a feasible matrix near a symmetric one, by alternating projections."""
        size = float(np.vdot(self.similar, self.similar))
        for _ in range(PROJECTIONS):
            excess = float(np.vdot(matrix, self.similar)) - self.bound
            if excess > 0:
                matrix = matrix - (excess / size) * self.similar
            matrix = project_psd(matrix)[0]
            used = float(np.vdot(matrix, self.similar))
            if used <= (1 + EXCESS) * self.bound:
                break
        return matrix * min(1.0, self.bound / used) if used > 0 else matrix

    def in_span(self, matrix: Array) -> Array:
        """Return the r x r matrix that is `matrix` in the learned directions and the identity in the others."""
        full = self.directions @ (matrix - np.eye(len(matrix))) @ self.directions.T
        full[np.diag_indices_from(full)] += 1.0
        return np.asarray(full + full.T) / 2

    def _distances(self, matrix: Array) -> Array:
        """Squared distances of pairs of different classes, 0 for the other pairs."""
        distances = _squared_distances(self._rows @ matrix, self._rows) + self._constant
        return np.where(self._different, np.maximum((distances + distances.T) / 2, 0.0), 0.0)


@dataclass(frozen=True, eq=False)
class Point:
    """A feasible matrix of the learned directions on the way up, and the objective there."""

    problem: SpreadingProblem
    learned: Array
    objective: float
    finished: bool = False

    @property
    def matrix(self) -> Array:
        """The matrix in the span."""
        return self.problem.in_span(self.learned)

    @property
    def factor(self) -> Array:
        """Its symmetric square root."""
        values, vectors = np.linalg.eigh(self.learned)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return self.problem.in_span(np.asarray(root + root.T) / 2)


def ascend(problem: SpreadingProblem, tol: float) -> Iterator[Point]:
    """Yield the identity and then a feasible point of higher objective after every step, until none reaches `tol`."""
    matrix = np.eye(len(problem.similar))
    found: tuple[Array, float, float] | None = matrix, problem.value(matrix), FIRST_STEP
    while found is not None:
        matrix, value, share = found
        yield Point(problem, matrix, value)
        found = _better(problem, matrix, value, share, tol)


def _better(
    problem: SpreadingProblem, matrix: Array, value: float, share: float, tol: float
) -> tuple[Array, float, float] | None:
    """Return a feasible matrix of higher objective, that, and the next step's length; None if no step reaches tol."""
    if not len(matrix):
        return None
    gradient, similar = problem.gradient(matrix), problem.similar
    # the part of the gradient that leaves <matrix, similar> as it is
    direction = gradient - (float(np.vdot(gradient, similar)) / float(np.vdot(similar, similar))) * similar
    norm, size = float(np.linalg.norm(direction)), float(np.linalg.norm(matrix))
    # what is left of a gradient that is a multiple of the constraint's is rounding
    if norm <= 1e-14 * np.linalg.norm(gradient):
        return None
    while share >= max(tol, np.finfo(np.float64).eps):
        candidate = problem.feasible(matrix + (share * size / norm) * direction)
        candidate_value = problem.value(candidate)
        if candidate_value > value:
            return candidate, candidate_value, share * LENGTHENED
        share *= SHORTENED
    return None


def _squared_distances(mapped: Array, rows: Array) -> Array:
    """Return (a - b)'M(a - b) for all pairs of rows, given them and their products with M."""
    products = mapped @ rows.T
    own = np.diag(products)
    return np.asarray(own[:, None] + own - 2 * products)
