"""What MCML, MMC and LMNN share: from M = I, step by step down (or up) an objective of all rows, in their span."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lookalike.core.arrays import Array, Doubles, Matrix
from lookalike.learners.base import TracedLearner, refuse_overflow
from lookalike.learners.curve import UNTRACED, Progress, Traced, columns_of, log_spaced_steps
from lookalike.learners.span import Span


class Point(NamedTuple):
    """A matrix M = LL' on the way, and the objective there; both matrices are formed when they are asked for."""

    objective: float
    root: Callable[[], Doubles]
    known: Doubles | None = None
    """M, where it is known to more digits than by its root."""
    finished: bool = False
    recorded: Callable[[], float] | None = None
    """What the curve has in place of the objective."""

    @property
    def factor(self) -> Doubles:
        """Return L."""
        return self.root()

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
    max_iter: int
    tol: float
    verbose: int

    @abstractmethod
    def _descend(self, span: Span, y: Array) -> Iterator[Point]:
        """Yield M = I, then a point a step: `matrix` M, `factor` L with LL' = M, `objective`, and if `finished`."""

    def _components(self, span: Span, point: Point) -> Doubles:
        return span.full_factor(point.factor)

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

    def _check_parameters(self) -> None:
        self._require_whole(0, "max_iter")
        self._require_number("tol", "a number that is not negative", lambda tol: tol >= 0)
