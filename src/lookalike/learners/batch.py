"""What MCML, MMC and LMNN share: from M = I, step by step down (or up) an objective of all rows, in their span.

L-BFGS on the factor L of M = LL' reaches the minimum, and no step of it needs eigenvalues.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lookalike.core.arrays import Array, Doubles, Matrix
from lookalike.learners.base import TracedLearner, refuse_overflow
from lookalike.learners.curve import UNTRACED, Progress, Traced, columns_of, log_spaced_steps
from lookalike.learners.parameters import Count, NotNegative
from lookalike.learners.span import Span

Objective = Callable[[Array], "tuple[float, Array, float]"]
"""What is minimised at L, its gradient in the shape and dtype of L, and the objective that stands for it in a curve."""
Stages = Iterable[tuple[type[np.floating], Objective]]
"""Objectives to minimise one after the other, each in a dtype; the last is meant."""
Pair = tuple[Array, Array, float]
"""A step, how it bent the gradient, and the inner product of both."""
MEMORY = 10
"""Steps from which L-BFGS knows how the gradient bends."""
SUFFICIENT_DECREASE, STEEPEST = 1e-4, 0.9
"""Shares of the slope at which a line search starts: of the decrease along it that is enough, and of what may be left
of it at the end (Wolfe's conditions)."""
MOST_TRIALS = 25
"""Lengths that a line search tries."""
FIRST_STEP = 0.1
"""Share of its own length by which the first trial changes L."""
STEPS_COMPARED = 3
"""Steps that must together lower the objective by too little before a descent ends, as one alone may be short."""
NEGLIGIBLE = 1e-4
"""Share of the objective at the start, or at M = 0 if that is less, below which decreases are compared with it."""
SINGLE = 1e-6
"""Smallest relative decrease that float32 tells from rounding."""
LEVEL = 0.3
"""Share of the mean variance that is added to all before the rows are scaled to equal ones."""
IN_SINGLE = 1e15
"""Largest squared length of rows, and of its inverse, that float32 has room for."""


class Point(NamedTuple):
    """A matrix M = LL' on the way, and the objective there; both matrices are formed when they are asked for."""

    objective: float
    root: Callable[[], Doubles]
    """Returns L."""
    known: Doubles | None = None
    """M, where it is known to more digits than by its root."""
    finished: bool = False
    recorded: Callable[[], float] | None = None
    """What the curve has in place of the objective."""

    @property
    def matrix(self) -> Doubles:
        """Return M, symmetric to the bit."""
        if self.known is not None:
            return self.known
        # BLAS rounds the product of one array with itself in another way than that of two
        matrix = self.root() @ self.root().T
        return np.asarray((matrix + matrix.T) / 2)


class BatchLearner(TracedLearner):
    """Base of the learners of a Mahalanobis matrix that see all rows in every step; a subclass defines `_descend`."""

    accepts = frozenset({"labels"})
    n_curve_points: ClassVar[int | None] = None
    """Rows of the curve that are asked for by default; None: one for every step."""
    max_iter: Count
    tol: NotNegative
    verbose: int

    @abstractmethod
    def _descend(self, span: Span, y: Array) -> Iterator[Point]:
        """Yield M = I, then a point after every step."""

    def _components(self, span: Span, point: Point) -> Doubles:
        return span.full_factor(point.root())

    def _learn(self, X: Matrix, y: Array, traced: Traced = UNTRACED) -> None:
        trace, trace_steps = traced
        if trace_steps is None and self.n_curve_points is not None:
            trace_steps = log_spaced_steps(max(int(self.max_iter), 1), self.n_curve_points, first=1).tolist()
        # a learner that may end by itself cannot know what steps it reaches
        wanted = None if trace_steps is None else {0, *(int(step) for step in trace_steps)}
        if wanted is not None and min(wanted) < 0:
            raise ValueError(f"trace_steps must not be negative: {sorted(wanted)}")
        refuse_overflow(X)
        span = Span(X)
        self.metric_ = "sqeuclidean"
        self.__dict__.pop("components_", None)  # of an earlier fit, which must not serve the trace
        curve: list[dict[str, float]] = []

        def record(step: int, point: Point) -> None:
            self.n_steps_ = self.n_iter_ = step
            self.objective_ = float(point.objective if point.recorded is None else point.recorded())
            row = {"step": step, "objective": self.objective_}
            if trace is not None:
                self.M_ = span.full_matrix(point.matrix)
                row |= trace(self, step)
            curve.append(row)

        with Progress(int(self.max_iter), self.verbose, type(self).__name__) as progress:
            for step, point in enumerate(islice(self._descend(span, y), int(self.max_iter) + 1)):
                if step:
                    progress.advance(objective=point.objective)
                if wanted is None or step in wanted:
                    record(step, point)
        if curve[-1]["step"] != step:
            record(step, point)
        self.M_ = span.full_matrix(point.matrix)
        self.components_ = self._components(span, point)
        self.converged_ = point.finished or step < self.max_iter
        self.curve_ = columns_of(curve)
        if step and not self.converged_:
            name, advice = type(self).__name__, "give a larger max_iter, or a larger tol"
            warnings.warn(f"{name} had not converged after {step} steps: {advice}", ConvergenceWarning, stacklevel=3)


def conditioned(coordinates: Doubles) -> tuple[Doubles, Doubles]:
    """Return rows around their mean in a `basis` B in which they vary alike in all directions, X B, and B."""
    # with 750 and 2,000 rows L-BFGS takes fewer evaluations there, with 400 it depends on the rows
    centred = coordinates - coordinates.mean(axis=0)
    variances, vectors = np.linalg.eigh(centred.T @ centred)
    scales = np.sqrt(np.maximum(variances, 0.0) / (variances.sum() / max(len(variances), 1) or 1.0) + LEVEL)
    basis = np.asarray((vectors / scales) @ vectors.T)
    return centred @ basis, basis


def precisions(rows: Doubles) -> list[type[np.floating]]:
    """Return the dtypes to minimise in, one after the other: float32 where it can hold the rows, and float64."""
    largest = float(np.einsum("ij,ij->i", rows, rows).max(initial=0.0))
    fits = largest == 0 or 1 / IN_SINGLE < largest < IN_SINGLE
    return [np.float32, np.float64] if fits else [np.float64]


def descend(stages: Stages, basis: Array, tol: float, at_zero: float) -> Iterator[Point]:
    """Yield L = I, and a point after every step of L-BFGS on one objective after another.

    An objective is left when three steps together lower it by no more than `tol` of it, or when no step lowers it. It
    is `at_zero` where M = 0: long rows may start far above. Those in float64 are left out where float32 was enough.
    """
    factor, scale, is_reached = np.linalg.solve(basis, np.eye(len(basis))), None, False
    for dtype, objective in stages:
        if is_reached and dtype is np.float64 and tol >= SINGLE:
            return
        least = max(tol, SINGLE) if dtype is np.float32 else tol
        values: list[float] = []
        for reached, value, recorded in quasi_newton(objective, factor.astype(dtype)):
            # a stage starts where the one before has ended
            if values or scale is None:
                yield Point(recorded, partial(np.matmul, basis, reached))
            factor = reached
            values.append(value)
            scale = min(value, at_zero or value) if scale is None else scale
            lowered = values[-1 - STEPS_COMPARED] - value if len(values) > STEPS_COMPARED else np.inf
            is_reached = lowered <= least * max(value, NEGLIGIBLE * scale)
            if is_reached:
                break
        else:  # no step lowers it
            is_reached = scale is not None and abs(values[-1]) < NEGLIGIBLE * scale


def quasi_newton(objective: Objective, factor: Array) -> Iterator[tuple[Array, float, float]]:
    """Yield L, the value there and the one to record, at the start and after every step of L-BFGS that lowers it."""
    value, gradient, recorded = objective(factor)
    yield factor, value, recorded
    pairs: deque[Pair] = deque(maxlen=MEMORY)
    while gradient.any():
        direction = _newton_direction(gradient, pairs)
        # without a memory there is no scale yet
        length = 1.0 if pairs else FIRST_STEP * float(np.linalg.norm(factor) / np.linalg.norm(gradient))
        found = _line_search(objective, factor, direction, value, float(np.vdot(direction, gradient)), length)
        if found is None:
            return
        trial, value, slopes, recorded = found
        moved, bent = trial - factor, slopes - gradient
        curvature = float(np.vdot(moved, bent))
        if curvature > 0:
            pairs.append((moved, bent, curvature))
        factor, gradient = trial, slopes
        yield factor, value, recorded


def _newton_direction(gradient: Array, pairs: deque[Pair]) -> Array:
    """Return minus the gradient by the inverse Hessian that the pairs of moves and bends say (two-loop recursion)."""
    direction = -gradient
    shares = []
    for moved, bent, curvature in reversed(pairs):
        share = float(np.vdot(moved, direction)) / curvature
        direction -= share * bent
        shares.append(share)
    if pairs:
        _, bent, curvature = pairs[-1]
        direction *= curvature / float(np.vdot(bent, bent))
    for (moved, bent, curvature), share in zip(pairs, reversed(shares), strict=True):
        direction += (share - float(np.vdot(bent, direction)) / curvature) * moved
    return direction


def _line_search(
    objective: Objective, factor: Array, direction: Array, value: float, slope: float, length: float
) -> tuple[Array, float, Array, float] | None:
    """Return L at a step that keeps Wolfe's conditions, and what the objective is there; None if none is found.

    Bisection, which kinks do not mislead (Lewis and Overton 2013, "Nonsmooth optimization via quasi-Newton methods").
    """
    shortest, longest = 0.0, np.inf
    for _ in range(MOST_TRIALS if slope < 0 else 0):
        trial = factor + factor.dtype.type(length) * direction
        new_value, gradient, recorded = objective(trial)
        if not new_value <= value + SUFFICIENT_DECREASE * length * slope:
            longest = length
        elif float(np.vdot(gradient, direction)) < STEEPEST * slope:
            shortest = length
        else:
            return trial, new_value, gradient, recorded
        length = (shortest + longest) / 2 if longest < np.inf else 2 * length
    return None
