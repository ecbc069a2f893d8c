"""MMC, distances learned from similar and dissimilar pairs (Xing, Ng, Jordan and Russell, 2003), full matrix version.

The papers found it too slow for their experiments (JMLR section 5.3.1), and no study runs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cache, partial

import numpy as np

from lookalike.core.arrays import Array, Doubles
from lookalike.learners.base import class_deviations
from lookalike.learners.batch import BatchLearner, Point, quasi_newton
from lookalike.learners.centring import all_squared_distances
from lookalike.learners.parameters import Count, NotNegative
from lookalike.learners.span import Span, principal_axes
from lookalike.learners.triplets import class_codes


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
        Not negative. Learning stops when a bound proves that the objective is within this share of its maximum.
    verbose : int, default=0
        Above 0: a progress bar with the objective.

    Attributes
    ----------
    objective_ : float
        Mean distance (not squared) of pairs of different classes at M.
    converged_ : bool
        Whether learning stopped by `tol` before `max_iter` steps.
    M_, components_, n_steps_, n_iter_, curve_, metric_, n_features_in_
        As of `MCML`.

    Notes
    -----
    The problem is concave, and its constraint is a bound on the trace where the covariance within classes is I.
    This sets M = LL' there and climbs in L, whose length is fixed, by limited-memory BFGS: no step needs an
    eigenvalue. The largest eigenvalue of the gradient bounds how far the maximum can be, which is where `tol` stops.

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

    max_iter: Count = 100
    tol: NotNegative = 0.001
    _: KW_ONLY
    verbose: int = 0

    def _descend(self, span: Span, y: Array) -> Iterator[Point]:
        return ascend(SpreadingProblem(span.coordinates, y), self.tol)


class SpreadingProblem:
    """The objective and its gradient in the directions where classes vary, scaled to a covariance within them of I."""

    def __init__(self, coordinates: Doubles, y: Array) -> None:
        codes, sizes = class_codes(y)
        by_class = np.argsort(codes, kind="stable")
        rows = (coordinates - coordinates.mean(axis=0))[by_class]
        deviations = class_deviations(rows, codes[by_class], sizes)
        # over the pairs of a class, zz' sums to its size times its scatter around its mean
        deviations *= np.sqrt(sizes[codes[by_class]] / float((sizes * (sizes - 1) / 2).sum()))[:, None]
        self.directions, lengths = principal_axes(rows / np.sqrt(len(rows)), deviations)
        self.scaled: Doubles = self.directions / lengths
        self.identity: Doubles = np.diag(lengths)
        self.bound = float(lengths @ lengths)
        self._rows = rows @ self.scaled
        # what the directions that are not learned add to every squared distance
        rest = rows - (rows @ self.directions) @ self.directions.T
        self._constant = 0.0 if len(lengths) == rows.shape[1] else all_squared_distances(rest, rest)
        ends = np.cumsum(sizes)
        self._classes = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        self._n_different = len(rows) ** 2 - int((sizes**2).sum())

    def value(self, factor: Doubles) -> tuple[float, Doubles]:
        """Return the mean distance, not squared, over pairs of different classes, and all of them, 0 within classes."""
        mapped = self._rows @ factor
        distances = all_squared_distances(mapped, mapped)
        distances += self._constant
        np.sqrt(distances, out=distances)
        for own in self._classes:
            distances[own, own] = 0.0
        return float(distances.sum()) / self._n_different, distances

    def gradient(self, value: float, distances: Doubles) -> Doubles:
        """Return the gradient by the matrix, the mean of zz' / (2 distance); it overwrites what `value` returned."""
        # pairs of one class, or at distance 0, have none and add 0
        distances[distances <= 1e-8 * value] = np.inf
        weights = np.divide(1.0, distances, out=distances)
        # every pair is in the weights twice, and its zz' in the Laplacian once
        pulled = weights.sum(axis=1)[:, None] * self._rows - weights @ self._rows
        return np.asarray(self._rows.T @ pulled) / self._n_different

    def in_span(self, factor: Doubles) -> Doubles:
        """Return a factor of the matrix in the span, which is the identity in directions that are not learned."""
        embedded = (self.scaled @ factor - self.directions) @ self.directions.T
        embedded[np.diag_indices_from(embedded)] += 1.0
        return np.asarray(embedded)

    def scaled_to_bound(self, factor: Doubles) -> Doubles:
        """Return a factor as long as the constraint allows."""
        return np.asarray(factor * (np.sqrt(self.bound) / np.linalg.norm(factor)))

    def in_factor(self, factor: Doubles) -> tuple[float, Doubles, float]:
        """Return minus the logarithm of the objective at a factor scaled to the bound, its gradient, the objective."""
        feasible = self.scaled_to_bound(factor)
        value, distances = self.value(feasible)
        self._gradient = self.gradient(value, distances)
        pull = self._gradient @ feasible
        self._used = float(np.vdot(pull, feasible))
        slope = (2 / (self.bound * value)) * (self.bound * pull - self._used * feasible)
        return -np.log(value), -slope * (np.linalg.norm(feasible) / np.linalg.norm(factor)), value

    def is_maximal(self, value: float, tol: float) -> bool:
        """Tell whether no feasible matrix has an objective higher by more than this share than where it was last."""
        # by more than bound * largest eigenvalue - used there is none, as the objective is concave
        try:
            np.linalg.cholesky((self._used + tol * value) * np.eye(len(self._gradient)) - self.bound * self._gradient)
        except np.linalg.LinAlgError:
            return False
        return True


def ascend(problem: SpreadingProblem, tol: float) -> Iterator[Point]:
    """Yield the identity and then a point of higher objective after every step, until it is certainly within `tol`."""
    if not problem.bound:  # no class varies in any direction
        identity = problem.identity
        yield Point(problem.value(identity)[0], cache(partial(problem.in_span, identity)), finished=True)
        return
    for factor, _, value in quasi_newton(problem.in_factor, problem.identity):
        feasible, finished = problem.scaled_to_bound(factor), problem.is_maximal(value, tol)
        yield Point(value, cache(partial(problem.in_span, feasible)), finished=finished)
        if finished:
            return
