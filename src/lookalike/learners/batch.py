"""What MCML, MMC and LMNN share: from M = I, step by step down (or up) an objective of all rows, in their span."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import ClassVar, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lookalike.core.arrays import Array, Doubles, Labels, Matrix
from lookalike.learners.base import SimilarityLearner, refuse_overflow
from lookalike.learners.curve import Progress, Trace, columns_of, log_spaced_steps
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


class BatchLearner(SimilarityLearner):
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

    def fit(
        self,
        X: Matrix,
        y: Labels = None,
        *,
        trace: Trace | None = None,
        trace_steps: Iterable[int] | None = None,
    ) -> Self:
        """Learn M from labelled rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows, for instance tf-idf visterms. Worked on in float64.
        y : array-like of shape (n,)
            Class labels.
        trace : callable (model, step) -> dict of str to float, optional
            Called at step 0 (M = I) and after `trace_steps`, with the model as it is then; what it returns becomes
            columns of ``curve_``. It must not change the model.
        trace_steps : iterable of int, optional
            Steps that get a row of ``curve_``, besides 0 and the last; not negative. Default: all; LMNN has 60, evenly
            spaced in the logarithm up to `max_iter`. Steps after the last get none.

        Raises
        ------
        ValueError
            On NaN or infinity, a single class, no class with two rows, values too large to be squared, or a parameter
            out of its range.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            When `max_iter` steps end the fit, and not `tol`.
        """
        self._check_parameters()
        X, y = self._check_labelled(X, y)
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
            warnings.warn(f"{name} had not converged after {step} steps: {advice}", ConvergenceWarning, stacklevel=2)
        return self

    def _check_parameters(self) -> None:
        self._require_whole(0, "max_iter")
        self._require_number("tol", "a number that is not negative", lambda tol: tol >= 0)
