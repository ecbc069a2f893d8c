"""What the online learners share: steps in chunks, the learning curve, early stopping, given triplets and going on."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from lookalike.core.arrays import Array, Ints, Matrix, Truths
from lookalike.core.seeds import RandomState, as_seed
from lookalike.learners.base import TracedLearner
from lookalike.learners.curve import UNTRACED, Progress, Trace, Traced, columns_of, curve_points
from lookalike.learners.dual import ValidationRows
from lookalike.learners.parameters import Limit, PositiveCount
from lookalike.learners.triplets import TripletSampler, check_triplets

Draw = Callable[[int], Ints]
"""``sample(n)``: the next n examples, rows of row numbers."""
Work = TypeVar("Work")
"""What steps are taken on: the rows, and the matrix as steps want them."""


LEAST_TO_SPLIT = 4
"""Rows of a class of which some can be held out: two, and two are left to learn from."""
TOO_FEW_HELD_OUT = (
    "early_stopping needs two classes with at least four rows, two to hold out and two to learn from: give more rows "
    "per class, or use early_stopping=False"
)


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineLearner(TracedLearner, Generic[Work]):
    """Base of learners that take one step an example; a subclass has the parameters ``n_steps`` and ``dtype`` too."""

    chunk: ClassVar[int] = 16_384
    """Examples drawn at a time, between two of which a fit can be interrupted."""
    early_stopping: bool = False
    validation_fraction: Annotated[float, Limit("between 0 and 1", lambda share: 0 < share < 1)] = 0.2
    trace_points: PositiveCount = 60
    verbose: int = 0
    random_state: RandomState = None

    def _start(self, d: int) -> None:
        """Forget what was learned; subclasses set the matrix to where learning starts."""
        self.n_steps_ = self.n_updates_ = 0
        self.__dict__.pop("validation_curve_", None)

    @abstractmethod
    def _sampler(self, X: Matrix, y: Array, seed: int) -> Draw:
        """Return what draws examples from labelled rows."""

    def _prepare(self, X: Matrix, n_steps: int) -> Work:
        """Return what `_take` works on for so many steps; one that prepares otherwise has a `_train_on` of its own."""
        raise NotImplementedError

    @abstractmethod
    def _take(self, work: Work, examples: Ints) -> tuple[float, int]:
        """Take one step per example; return how many had a loss, and how many changed the matrix."""

    @abstractmethod
    def _show(self, work: Work) -> None:
        """Set the fitted matrix to what was learned so far, in the user's order of features."""

    def _room(self) -> int:
        """Return how many examples `_take` may be given at most from step ``n_steps_`` on."""
        return self.chunk

    def _finish(self, work: Work | None = None) -> None:
        """Do what is done once at the end of every pass, such as a projection; within a trace, there is no `work`."""

    def as_stopped(self) -> Self:
        """Return, within a trace, the model of a fit of so many steps, with what is done at the end of a pass."""
        stopped = copy.copy(self)
        stopped._finish()
        return stopped

    def _learn(self, X: Matrix, y: Array, traced: Traced = UNTRACED) -> None:
        trace_steps = traced.steps
        if trace_steps is not None:
            trace_steps = curve_points(int(self.n_steps), trace_steps, int(self.trace_points))
        seed = as_seed(self.random_state)
        draw = self._sampler(X, y, seed)
        chosen = self._validation_curve(X, y, seed) if self.early_stopping else None
        n_steps = int(self.n_steps) if chosen is None else int(chosen["step"][np.argmax(chosen["map"])])
        if trace_steps is not None:
            trace_steps = [step for step in trace_steps if step <= n_steps]
        self._start(X.shape[1])
        if chosen is not None:
            self.validation_curve_ = chosen
        self._train_on(X, draw, n_steps, Traced(traced.trace, trace_steps))

    def _train_on(self, X: Matrix, draw: Draw, n_steps: int, traced: Traced = UNTRACED) -> Self:
        """Take `n_steps` steps on examples of these rows that `draw` gives."""
        return self._train(self._prepare(X, n_steps), draw, n_steps, traced)

    def _train(self, work: Work, draw: Draw, n_steps: int, traced: Traced = UNTRACED) -> Self:
        """Take `n_steps` steps on examples that `draw` gives, with a point of the curve at each trace step."""
        points = curve_points(n_steps, traced.steps, int(self.trace_points))
        curve: list[dict[str, float]] = []
        taken, last_show = 0, -1
        with Progress(n_steps, self.verbose, type(self).__name__, many=True) as progress:
            try:
                for point in [*points, n_steps]:
                    losses, before = 0.0, taken
                    while taken < point:
                        examples = draw(min(self._room(), point - taken))
                        new_losses, updates = self._take(work, examples)
                        losses += new_losses
                        taken += len(examples)
                        self.n_steps_ += len(examples)
                        self.n_updates_ += updates
                        progress.advance(len(examples), loss_rate=new_losses / len(examples))
                    if len(curve) < len(points):
                        record = {"step": point, "loss_rate": losses / (point - before) if point > before else np.nan}
                        if traced.trace is not None:
                            self._show(work)
                            last_show = taken
                            record |= traced.trace(self, point)
                        curve.append(record)
            finally:  # of an interrupted fit the user keeps what was learned
                if last_show != taken:
                    self._show(work)
        self.curve_ = columns_of(curve)
        self._finish(work)
        return self

    def _validation_curve(self, X: Matrix, y: Array, seed: int) -> dict[str, Array]:
        """Learn from some rows and return the mean average precision on the others along it (JMLR section 5.3.2)."""
        held_out = held_out_rows(y, self.validation_fraction, np.random.default_rng([seed, 1]))
        seen, labels = ValidationRows(X[held_out]), y[held_out]

        def score(model: Self, step: int) -> dict[str, float]:
            return {"map": seen.rankings(model.as_stopped(), labels).mean_average_precision()}

        model = clone(self).set_params(early_stopping=False, random_state=seed)
        model.fit(X[~held_out], y[~held_out], trace=score)
        curve: dict[str, Array] = model.curve_
        return curve


class OnlineTripletLearner(OnlineLearner[Work]):
    """Base of the online learners that take one step a triplet, drawn from labels or given."""

    accepts = frozenset({"labels", "triplets", "online"})

    def fit_triplets(
        self, X: Matrix, triplets: ArrayLike, *, trace: Trace | None = None, trace_steps: Iterable[int] | None = None
    ) -> Self:
        """Learn from exactly these triplets, once each and in this order.

        Parameters
        ----------
        X : array-like, CSR matrix or DataFrame of shape (n, d)
        triplets : array-like of shape (m, 3), or DataFrame or dict of the columns query, positive and negative
            Row numbers of X, or ids of the index of X where it is a DataFrame of pandas; whole numbers are row numbers.
            ``n_steps``, ``early_stopping`` and ``random_state`` are not used.
        trace, trace_steps
            As of `fit`; steps are 0 to m.

        Raises
        ------
        ValueError
            As of `fit`, or for a row or id that X does not have.
        """
        return self._learn_from(X, triplets, True, Traced(trace, trace_steps))

    def partial_fit_triplets(self, X: Matrix, triplets: ArrayLike) -> Self:
        """Go on from what is there (from the beginning on a new model) with more triplets.

        The parameters are those of `fit_triplets`; X may be other rows than before, with the same features. A
        projection is made at the end of every call; where parameters of the model were changed in between, steps taken
        stay as they were.
        """
        return self._learn_from(X, triplets, afresh=not hasattr(self, "n_steps_"))

    def _learn_from(self, X: Matrix, triplets: ArrayLike, afresh: bool, traced: Traced = UNTRACED) -> Self:
        self._check_parameters()
        triplets = check_triplets(triplets, X)
        X = self._check_rows(X, reset=afresh)
        if afresh:
            self._start(X.shape[1])
        return self._train_on(X, feed(triplets), len(triplets), traced)

    def _sampler(self, X: Matrix, y: Array, seed: int) -> Draw:
        return TripletSampler(y, seed).sample


def can_hold_out(y: Array) -> bool:
    """Tell whether `held_out_rows` leaves something to rank: a single class is in order however it is ranked."""
    return int((np.unique(y, return_counts=True)[1] >= LEAST_TO_SPLIT).sum()) >= 2


def held_out_rows(y: Array, fraction: float, random: np.random.Generator) -> Truths:
    """Mark `fraction` of every class, rounded: at least two of it, and at least two left to learn from."""
    if not can_hold_out(y):
        raise ValueError(TOO_FEW_HELD_OUT)
    held_out = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        if len(members) >= LEAST_TO_SPLIT:  # a smaller class is learned from only
            count = min(max(2, round(fraction * len(members))), len(members) - 2)
            held_out[random.permutation(members)[:count]] = True
    return held_out


def feed(examples: Ints) -> Draw:
    """Give the rows of a fixed list in order, as a sampler would."""
    position = 0

    def draw(n: int) -> Ints:
        nonlocal position
        position += n
        return examples[position - n : position]

    return draw
