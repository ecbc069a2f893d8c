"""Variants of OASIS: symmetric steps, a distance, and the average of several (JMLR sections 5.4 and 6; draft, 2.2)."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from lookalike.core.arrays import Array, Doubles, Ints, Matrix
from lookalike.core.seeds import RandomState, as_seed
from lookalike.learners.dual import Form, LearningForm, Moment, ValidationRows
from lookalike.learners.kernels import DISSIM, ONLINE_PROJ
from lookalike.learners.oasis import PassiveAggressive, Steps, learned_matrix
from lookalike.learners.online import UNTRACED, Draw, Traced
from lookalike.learners.triplets import TripletSampler


class OnlineProjOASIS(PassiveAggressive):
    """OASIS whose W is made symmetric after every step (JMLR section 6.1; draft section 5.2.4).

    The loss l and the length of the step tau are those of `OASIS`; the step is the symmetric part of its step,
    W += tau (V + V') / 2 with V = p (p+ - p-)'. From W = I, W stays symmetric to the bit. With the same random_state
    both learn from the same triplets. (Proj-OASIS, made symmetric once at the end, is
    ``OASIS(projection="symmetric")``.)

    Parameters
    ----------
    aggressiveness, n_steps, early_stopping, validation_fraction, trace_points, dtype, solver, verbose, random_state
        As of `OASIS`.
    projection : {None, "psd"}, default=None
        ``"psd"``: at the end of every fit, set the negative eigenvalues of W to zero (JMLR section 6.2), which gives
        the model a `transform`.

    Attributes
    ----------
    W_ : numpy.ndarray of shape (d, d)
        The learned matrix, symmetric to the bit.
    rows_, dual_coef_, n_steps_, n_updates_, n_projections_, curve_, validation_curve_, components_
        As of `OASIS`.
    projection_, n_features_in_
        As of `OASIS`.
    metric_ : str
        ``"inner_product"``.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(4) + 0.1, [0, 0, 1, 1]
    >>> W = OnlineProjOASIS(n_steps=200, random_state=0).fit(X, y).W_
    >>> bool((W == W.T).all())
    True
    """

    kind = ONLINE_PROJ
    W_ = learned_matrix


class DissimOASIS(PassiveAggressive):
    """Online learning of a similarity S(a, b) = -(a - b)'M(a - b) from triplets (JMLR section 6.1, draft section 2.2).

    From M = I, where S is minus the squared Euclidean distance, each step takes a triplet (p, p+, p-) with hinge loss
    l = max(0, 1 - S(p, p+) + S(p, p-)) and subtracts tau V from M, where V = (p - p+)(p - p+)' - (p - p-)(p - p-)' is
    the gradient of the loss and tau = min(C, l / ||V||^2) (draft eq. 12). M stays symmetric to the bit, but need not
    be positive semidefinite, so that S may be positive. A step whose V is zero has a loss of 1 that no M can mend; it
    counts as a loss and changes nothing. With the same random_state as `OASIS` it learns from the same triplets. It is
    LMNN's push term, one triplet at a time (draft section 2.2).

    Parameters
    ----------
    aggressiveness, n_steps, early_stopping, validation_fraction, trace_points, dtype, solver, verbose, random_state
        As of `OASIS`.
    projection : {None, "psd"}, default=None
        As of `OnlineProjOASIS`, for M.

    Attributes
    ----------
    M_ : numpy.ndarray of shape (d, d)
        The learned matrix, symmetric to the bit.
    rows_, dual_coef_, n_steps_, n_updates_, n_projections_, curve_, validation_curve_, components_
        As of `OASIS`.
    projection_, n_features_in_
        As of `OASIS`; `rows_` far from the origin are less a centre.
    metric_ : str
        ``"sqeuclidean"``.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(4) + 0.1, [0, 0, 1, 1]
    >>> model = DissimOASIS(n_steps=200, random_state=0).fit(X, y)
    >>> model.rank(X[:1], X[1:], k=1)[0].tolist()
    [[0]]
    """

    kind = DISSIM
    matrix_name = "M_"
    metric_name = "sqeuclidean"
    M_ = learned_matrix


@dataclass(eq=False, repr=False, kw_only=True)
class AveragedOASIS(PassiveAggressive):
    """Several `OASIS` rankers, each on triplets of its own, and the mean of their W (JMLR section 5.4, Figure 7).

    The objective that OASIS minimises is convex in W, so the mean of several W is at least as good by it as they are on
    average, and the rankers can be trained in parallel.

    Ranker r is the same as ``OASIS(random_state=ranker_seeds(random_state, n_rankers)[r])`` with the other parameters
    alike, so the rankers may as well be trained one by one and their W given to `average_matrices`: with
    ``solver="rows"`` that gives the same bits.

    Parameters
    ----------
    n_steps : int, default=35_000
        Triplets that `fit` draws for each ranker; the most of them with early stopping.
    n_rankers : int, default=5
        Rankers to average; the paper shows 5 and 10. While they learn there are so many matrices in memory, of d x d
        numbers, or of n x n for n rows (see `solver`).
    projection : {None, "symmetric", "psd"}, default=None
        What is done to the mean at the end of a fit, and where early stopping scores it.
    n_jobs : int, optional
        Threads that train rankers side by side; -1 for all cores. It changes no bit of the result. Default: one.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Of the rankers' seeds (see `ranker_seeds`) and of the held-out rows.
    aggressiveness, early_stopping, validation_fraction, trace_points, dtype, solver, verbose
        As of `OASIS`.

    Attributes
    ----------
    W_ : numpy.ndarray of shape (d, d)
        Mean of the rankers' matrices.
    n_steps_ : int
        Steps that each ranker took.
    n_updates_ : int
        Steps that changed a ranker's matrix, those of all rankers together.
    curve_ : dict of numpy.ndarray
        ``step`` (of each ranker), ``loss_rate`` (of all rankers' steps since the last point) and whatever the trace
        gave, which saw the mean as it was then.
    rows_, dual_coef_, projection_, n_projections_, validation_curve_, metric_, components_, n_features_in_
        As of `OASIS`.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(4) + 0.1, [0, 0, 1, 1]
    >>> model = AveragedOASIS(n_steps=200, n_rankers=3, random_state=0).fit(X, y)
    >>> model.rank(X[:1], X[1:], k=1)[0].tolist()
    [[0]]
    """

    n_rankers: int = 5
    n_jobs: int | None = None

    accepts: ClassVar = frozenset({"labels"})
    projections: ClassVar = (None, "symmetric", "psd")
    W_ = learned_matrix

    def _learn_from(self, *given: object, **options: object) -> Self:
        raise self._refusal("cannot learn from triplets")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._require_whole(1, "n_rankers")

    def _sampler(self, X: Matrix, y: Array, seed: int) -> Draw:
        samplers = [TripletSampler(y, ranker) for ranker in ranker_seeds(seed, int(self.n_rankers))]

        def draw(n: int) -> Ints:
            """Return n examples, each of which is one triplet for every ranker: shape (n, n_rankers, 3)."""
            return np.stack([sampler.draw(n) for sampler in samplers], axis=1)

        return draw

    def rankers(self) -> Iterator[Self]:
        """Yield the model of each ranker as it is, within a trace."""
        for steps in self._work.rankers:
            ranker = copy.copy(self)
            ranker._form = steps.form()
            yield ranker

    def _prepare(self, X: Matrix, n_steps: int) -> Steps:
        self._work = AveragedSteps(self._rankers(X, n_steps), self.n_jobs)
        return self._work

    def _train(self, work: Steps, draw: Draw, n_steps: int, traced: Traced = UNTRACED) -> Self:
        try:
            return super()._train(work, draw, n_steps, traced)
        finally:
            del self._work


class AveragedSteps:
    """The steps of several rankers, each on triplets of its own."""

    def __init__(self, rankers: Sequence[Any], n_jobs: int | None) -> None:
        self.rankers, self._n_jobs, self.gram = rankers, n_jobs, getattr(rankers[0], "gram", None)

    def take(self, triplets: Ints) -> tuple[float, int]:
        """Take one step a triplet and ranker; return how many had a loss on average, and all updates."""
        # threads: the compiled steps release Python's lock, and change the rankers in place
        counts = Parallel(n_jobs=self._n_jobs, require="sharedmem")(
            delayed(ranker.take)(np.ascontiguousarray(triplets[:, number]))
            for number, ranker in enumerate(self.rankers)
        )
        return sum(losses for losses, _ in counts) / len(counts), sum(updates for _, updates in counts)

    def form(self) -> Form:
        """Return the mean of what the rankers learned so far."""
        if self.gram is not None:
            return LearningForm(self, self.moment)
        return Form(self.rankers[0].rows.restored(average_matrices(ranker.W for ranker in self.rankers)))

    @property
    def moment(self) -> list[Moment]:
        """Return what tells W of now from W of another time."""
        return [ranker.moment for ranker in self.rankers]

    def dual_coef(self, moments: list[Moment]) -> Matrix:
        """Return the mean of the rankers' dual_coef of a moment."""
        dual_coef = (ranker.dual_coef(moment) for ranker, moment in zip(self.rankers, moments, strict=True))
        return sum(dual_coef) / len(self.rankers)

    def products_among(self, seen: ValidationRows) -> Array:
        """Return the mean of the rankers' x'Wy, which is that of the mean of their W."""
        return np.asarray(sum(ranker.products_among(seen) for ranker in self.rankers) / len(self.rankers))

    def has_overflowed(self) -> bool:
        """Tell whether a ranker's numbers are too large for the dtype."""
        return any(ranker.has_overflowed() for ranker in self.rankers)


def ranker_seeds(random_state: RandomState, n: int) -> list[int]:
    """Return the seeds of n rankers, 31 bits of each child of the seed; the first of them are the same for every n."""
    children = np.random.SeedSequence(as_seed(random_state)).spawn(n)
    return [int(child.generate_state(1)[0] >> 1) for child in children]


def average_matrices(matrices: Iterable[Array]) -> Array:
    """Return the mean of matrices of one shape, taken one at a time, in the dtype of the first."""
    total: Doubles | None = None
    count = 0
    for matrix in matrices:
        if total is None:
            total, dtype = np.zeros(matrix.shape), matrix.dtype
        elif matrix.shape != total.shape:
            raise ValueError(f"matrices to average must have one shape, not {total.shape} and {matrix.shape}")
        total += matrix
        count += 1
    if total is None:
        raise ValueError("there is no matrix to average: give at least one")
    total /= count
    return total.astype(dtype)
