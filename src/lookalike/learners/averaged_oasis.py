"""The average of OASIS rankers trained in parallel on independent triplets (Chechik et al., JMLR 2010, section 5.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from lookalike.core.seeds import RandomState, as_seed
from lookalike.learners._online import Draw
from lookalike.learners._passive_aggressive import PassiveAggressive
from lookalike.learners._training_rows import TrainingRows
from lookalike.learners.base import Matrix
from lookalike.learners.oasis import warm_up as warm_up  # both step through one kernel
from lookalike.learners.triplets import TripletSampler


class AveragedOASIS(PassiveAggressive):
    """Several `OASIS` rankers, each on triplets of its own, and the mean of their W (JMLR section 5.4, Figure 7).

    The objective that OASIS minimises is convex in W, so the mean of several W is at least as good by it as they are on
    average, and the rankers can be trained in parallel.

    Ranker r is the same, bit for bit, as ``OASIS(random_state=ranker_seeds(random_state, n_rankers)[r])`` with the
    other parameters alike, whatever `n_rankers` and `n_jobs` are; so the rankers may as well be trained one by one, in
    separate jobs, and their W given to `average_matrices`.

    Parameters
    ----------
    aggressiveness : float, default=0.1
        C of JMLR eq. 9, larger than 0: the longest step.
    n_steps : int, default=35_000
        Triplets that `fit` draws for each ranker; the most of them with early stopping.
    n_rankers : int, default=5
        Rankers to average; the paper shows 5 and 10. While they learn there are so many d x d matrices in memory.
    early_stopping : bool, default=False
        Choose the number of steps by mean average precision of the averaged ranker, projected where
        `projection` says so, on held-out rows, as `OASIS` does.
    validation_fraction : float, default=0.2
        Share of every class that is held out.
    trace_points : int, default=60
        Points of the learning curve, evenly spaced in the logarithm of the steps.
    dtype : {"float32", "float64"}, default="float32"
        Of W and of the arithmetic of a step.
    projection : {None, "symmetric", "psd"}, default=None
        What is done to the mean at the end of a fit, as for `OASIS`.
    n_jobs : int, optional
        Threads that train rankers side by side; -1 for all cores. It changes no bit of the result. Default: one.
    verbose : int, default=0
        Above 0: a progress bar with steps per second of a ranker and the share of steps that had a loss.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Of the rankers' seeds (see `ranker_seeds`) and of the held-out rows.

    Attributes
    ----------
    W_ : numpy.ndarray of shape (d, d)
        Mean of the rankers' matrices.
    n_steps_ : int
        Steps that each ranker took.
    n_updates_ : int
        Steps that changed a ranker's matrix, those of all rankers together.
    n_projections_ : int
        Projections onto the positive semidefinite cone: one with ``projection="psd"``.
    curve_ : dict of numpy.ndarray
        ``step`` (of each ranker), ``loss_rate`` (of all rankers' steps since the last point) and whatever the trace
        gave, which saw the mean as it was then.
    validation_curve_ : dict of numpy.ndarray
        With early stopping: the curve of the selection pass, with ``map``.
    metric_ : str
        ``"inner_product"``.
    components_ : numpy.ndarray of shape (d, r), float64
        With ``projection="psd"``: L with LL' = W.
    n_features_in_ : int
        Number of features d.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(4) + 0.1, [0, 0, 1, 1]
    >>> model = AveragedOASIS(n_steps=200, n_rankers=3, random_state=0).fit(X, y)
    >>> model.rank(X[:1], X[1:], k=1)[0].tolist()
    [[0]]
    """

    accepts = frozenset({"labels"})
    projections = (None, "symmetric", "psd")
    W_: NDArray[Any]

    def __init__(
        self,
        aggressiveness: float = 0.1,
        n_steps: int = 35_000,
        *,
        n_rankers: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        trace_points: int = 60,
        dtype: str = "float32",
        projection: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ) -> None:
        self.aggressiveness = aggressiveness
        self.n_steps = n_steps
        self.n_rankers = n_rankers
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.trace_points = trace_points
        self.dtype = dtype
        self.projection = projection
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_rankers < 1 or int(self.n_rankers) != self.n_rankers:
            raise ValueError(f"n_rankers must be a whole number, at least 1, not {self.n_rankers!r}")

    def _sampler(self, X: Matrix, y: NDArray[Any], seed: int) -> Draw:
        samplers = [TripletSampler(y, ranker) for ranker in ranker_seeds(seed, int(self.n_rankers))]

        def draw(n: int) -> NDArray[np.int32]:
            """Return n examples, each of which is one triplet for every ranker: shape (n, n_rankers, 3)."""
            return np.stack([sampler.draw(n) for sampler in samplers], axis=1)

        return draw

    @contextmanager
    def _internal(self, rows: TrainingRows) -> Iterator[None]:
        # from the identity, which is the same in every order of features
        self._rankers = [self.W_.copy() for _ in range(int(self.n_rankers))]
        try:
            yield
        finally:
            self._average(rows)
            del self._rankers

    @contextmanager
    def _usable(self, rows: TrainingRows) -> Iterator[None]:
        self._average(rows)
        yield

    def _average(self, rows: TrainingRows) -> None:
        self.W_ = average_matrices(self._rankers)
        rows.restore_order(self.W_)

    def _take(self, rows: TrainingRows, examples: NDArray[np.int32]) -> tuple[float, int]:
        # threads: the compiled steps release Python's lock, and change the matrices in place
        counts = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(rows.oasis_steps)(W, np.ascontiguousarray(examples[:, ranker]), float(self.aggressiveness))
            for ranker, W in enumerate(self._rankers)
        )
        return sum(losses for losses, _ in counts) / len(counts), sum(updates for _, updates in counts)


def ranker_seeds(random_state: RandomState, n: int) -> list[int]:
    """Return the seeds of n rankers; the first of them are the same for every n.

    Parameters
    ----------
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        An integer fixes the seeds; a generator gives one number that fixes them.
    n : int
        How many, not negative.

    Returns
    -------
    list of int
        Of 31 bits each: the first word of each child that ``np.random.SeedSequence(random_state).spawn(n)`` gives.
    """
    children = np.random.SeedSequence(as_seed(random_state)).spawn(n)
    return [int(child.generate_state(1)[0] >> 1) for child in children]


def average_matrices(matrices: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Return the mean of matrices of one shape, summed in the order given and in double precision.

    Parameters
    ----------
    matrices : iterable of numpy.ndarray of shape (d, d)
        Such as the W of several learners; taken one at a time, so a generator that loads them needs memory for one.

    Returns
    -------
    numpy.ndarray of shape (d, d)
        In the dtype of the first.

    Raises
    ------
    ValueError
        When there is no matrix, or one has another shape than the first.
    """
    total: NDArray[np.float64] | None = None
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
