"""OASIS, the online passive-aggressive learner of a bilinear similarity (Chechik et al., JMLR 2010), and its variants.

These take symmetric steps, learn a distance, or average several (JMLR sections 5.4 and 6; draft, section 2.2).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from lookalike.core.arrays import Array, Doubles, Ints, Matrix
from lookalike.core.seeds import RandomState, as_seed
from lookalike.learners.base import psd_factor
from lookalike.learners.curve import UNTRACED, Traced
from lookalike.learners.dense_steps import DenseSteps
from lookalike.learners.dual import (
    DENSE_FROM,
    LARGEST_BYTES,
    LARGEST_ON_PRODUCTS,
    DualForm,
    DualSteps,
    Gram,
    LearningForm,
    ValidationRows,
    bytes_of_products,
    is_dense,
    is_faster,
    is_finite,
)
from lookalike.learners.kernels import DISSIM, ONLINE_PROJ, PLAIN, OrderedRows, take_steps
from lookalike.learners.online import Draw, OnlineTripletLearner
from lookalike.learners.parameters import Count, Positive, PositiveCount, Precision, require
from lookalike.learners.projections import nearest_psd
from lookalike.learners.triplets import TripletSampler


@dataclass(eq=False, repr=False)
class PassiveAggressive(OnlineTripletLearner[list[Any]]):
    """Base of OASIS and its variants: passive-aggressive steps on a d x d matrix from W = I, and projections of it."""

    aggressiveness: Positive = 0.1
    n_steps: Count = 35_000
    _: KW_ONLY
    dtype: Precision = "float32"
    projection: Literal[None, "symmetric", "psd"] = None
    solver: Literal["auto", "gram", "rows"] = "auto"

    kind: ClassVar[int] = PLAIN
    """Of its steps."""
    n_rankers = 1
    """Whose mean is learned; a parameter of `AveragedOASIS`."""
    matrix_name: ClassVar[str] = "W_"
    """Attribute that holds the matrix."""
    metric_name: ClassVar[str] = "inner_product"
    compiled_for: ClassVar = {"dtype": ("float32", "float64"), "solver": ("gram", "rows")}

    def _why_no(self, method: str) -> str | None:
        # of a fitted model, whatever the parameters have been set to since
        projection = self.projection if method == "fit_transform" else getattr(self, "projection_", self.projection)
        if projection == "psd":
            return None
        name = self.matrix_name.rstrip("_")
        return (
            f"{type(self).__name__} with projection={projection!r} has no transform, because its {name} need not "
            f"be positive semidefinite: learn with projection='psd', or use similarity and rank, which take any {name}"
        )

    def share(self, gram: Gram) -> Self:
        """Take inner products of the rows of the next fit from ``Gram.copied(X, dtype)``, as other fits do too."""
        self._shared = gram
        return self

    def rankers(self) -> Iterator[Self]:
        """Yield the model of each ranker as it is, within a trace; of most learners there is one."""
        for steps in self._work:
            ranker = copy.copy(self)
            ranker._show([steps])
            yield ranker

    def sums(self) -> tuple[float, float, float]:
        """Return the trace of the learned matrix W, the sum of W_ij^2, and the sum of W_ij W_ji."""
        if isinstance(self._learned, DualForm) and self._learned.rows.shape[0] <= self.n_features_in_:
            return self._learned.sums()
        W = self._matrix().astype(np.float64, copy=False)
        return float(np.trace(W)), float(np.vdot(W, W)), float(np.sum(W * W.T))

    def scores_among(self, seen: ValidationRows) -> Array | None:
        """Return the similarities of seen rows to each other, within a trace that learns on products of rows."""
        products = self._learned.products_among(seen) if isinstance(self._learned, DualForm) else None
        if products is None or self.metric_ == "inner_product":
            return products
        lengths = np.diag(products)
        return np.asarray(2 * products - lengths[:, None] - lengths)

    def _hold(self, learned: Array | DualForm) -> None:
        """Keep W, or what it is made of; its root is found when it is first asked for."""
        self._learned, self._roots = learned, list[Doubles]()

    def _start(self, d: int) -> None:
        self.metric_ = self.metric_name
        self._hold(DualForm.identity(d, self.dtype))
        super()._start(d)
        self.n_projections_ = 0
        self.projection_: str | None = None

    def _prepare(self, X: Matrix, n_steps: int) -> list[Any]:
        """Return what takes the steps of each ranker: `DualSteps`, `DenseSteps` or `RowSteps`; most have one."""
        shared, C, n_rankers = self.__dict__.pop("_shared", None), float(self.aggressiveness), int(self.n_rankers)
        starts_from_identity = isinstance(self._learned, DualForm) and not self._learned.rows.shape[0]
        if starts_from_identity and self._takes_products(X, n_steps):
            gram = Gram.copied(X, self.dtype) if shared is None else shared
            if (gram.rows.shape, gram.rows.dtype) != (X.shape, self.dtype):
                raise ValueError(f"gram is of {gram.n_rows:,} other rows: share Gram.copied(X, {self.dtype!r})")
            gram = gram.of_distances if self.kind == DISSIM else gram
            return [DualSteps(gram, self.kind, C, n_steps) for _ in range(n_rankers)]
        super()._refuse_large_matrix()
        if is_dense(X) and X.shape[1] >= DENSE_FROM:
            return [DenseSteps(X, self._matrix(), self.kind, C, n_steps) for _ in range(n_rankers)]
        rows = OrderedRows(X, self._learned.dtype)
        if starts_from_identity:  # which is the same in every order of features
            return [RowSteps(rows, np.eye(X.shape[1], dtype=self.dtype), self.kind, C) for _ in range(n_rankers)]
        return [RowSteps(rows, rows.ordered(self._matrix()), self.kind, C)]

    def _takes_products(self, X: Matrix, n_steps: int) -> bool:
        """Decide about `solver`; raise ValueError where inner products were asked for and take too much memory."""
        if self.aggressiveness > LARGEST_ON_PRODUCTS:
            allowed = f"'auto' or 'rows' with C above {LARGEST_ON_PRODUCTS:,}"
            require(self, self.solver != "gram", "solver", allowed)
            return False
        n = X.shape[0]
        needed = bytes_of_products(n, n_steps, self.dtype, int(self.n_rankers))
        if self.solver == "gram" and needed > LARGEST_BYTES:
            raise ValueError(
                f"solver='gram' would take {needed / 2**30:,.1f} GiB for {n:,} rows and {n_steps:,} steps, and at most "
                f"{LARGEST_BYTES / 2**30:.0f} GiB is used: give solver='auto'"
            )
        if self.solver != "auto":
            return self.solver == "gram"
        return needed <= LARGEST_BYTES and is_faster(X, n_steps)

    def _take(self, work: list[Any], examples: Ints) -> tuple[float, int]:
        counts: tuple[int, int] = work[0].take(examples)
        return counts

    def _train(self, work: list[Any], draw: Draw, n_steps: int, traced: Traced = UNTRACED) -> Self:
        self._work = work
        try:
            return super()._train(work, draw, n_steps, traced)
        finally:
            if isinstance(self._learned, DualForm):
                self._hold(copy.copy(self._learned))  # without what it was learned on
            del self._work

    def _show(self, work: list[Any]) -> None:
        if isinstance(work[0], DualSteps):
            self._hold(LearningForm(work, [steps.moment for steps in work]))
        else:
            self._hold(work[0].matrix() if len(work) == 1 else average_matrices(steps.matrix() for steps in work))

    def _finish(self, work: list[Any] | None = None) -> None:
        self._refuse_overflow(work or [])
        self.projection_, learned = self.projection, self._learned
        if self.projection == "symmetric":
            self._hold(learned.symmetric() if isinstance(learned, DualForm) else (learned + learned.T) / 2)
        elif self.projection == "psd":
            self._hold(learned.nearest_psd() if isinstance(learned, DualForm) else nearest_psd(learned))
            self.n_projections_ += work is not None

    def _refuse_overflow(self, work: list[Any]) -> None:
        if any(steps.has_overflowed() for steps in work):
            name = self.matrix_name.rstrip("_")
            raise ValueError(f"{name} overflowed during learning: scale the rows of X, for instance to length 1")

    @property
    def rows_(self) -> Matrix:
        """Return the rows X of W = I + X'AX, where W was learned in this form."""
        return self._dual_form().rows

    @property
    def dual_coef_(self) -> Matrix:
        """Return the dual_coef A of W = I + X'AX, where W was learned in this form."""
        return self._dual_form().dual_coef

    def _dual_form(self) -> DualForm:
        check_is_fitted(self, "_learned")
        if not isinstance(self._learned, DualForm):
            raise AttributeError(f"{type(self).__name__} has rows_ and dual_coef_ where solver='gram' was used")
        return self._learned

    @property
    def components_(self) -> Doubles:
        """Return L with LL' = W (or M), found when it is first asked for."""
        if getattr(self, "projection_", None) != "psd":
            raise AttributeError(f"{type(self).__name__} has components_ after a fit with projection='psd'")
        super()._refuse_large_matrix()
        if not self._roots:
            self._roots.append(psd_factor(self._matrix()))
        return self._roots[0]

    def _blend(self, share: float) -> None:
        if isinstance(self._learned, DualForm):  # W of which is I + X'(share A)X
            self._hold(DualForm(self._learned.rows, share * self._learned.dual_coef))
        else:
            super()._blend(share)

    def _matrix(self) -> Array:
        """Return the learned matrix, which is formed when it is first asked for."""
        check_is_fitted(self, "_learned")
        if not isinstance(self._learned, DualForm):
            return self._learned
        super()._refuse_large_matrix()
        return self._learned.matrix

    def _set_matrix(self, matrix: ArrayLike) -> None:
        array, d = np.asarray(matrix), getattr(self, "n_features_in_", None)
        if d and array.shape != (d, d):
            raise ValueError(f"{self.matrix_name} must be of shape {(d, d)}, not {array.shape}")
        self._hold(array)

    def _matrix_dtype(self) -> np.dtype:
        return self._learned.dtype

    def _project(self, rows: Matrix) -> Matrix:
        if isinstance(self._learned, DualForm) and self._learned.goes_through_rows:
            return self._learned.project(rows)
        return super()._project(rows)

    def _refuse_large_matrix(self) -> None:
        """Leave it to steps on W, and to who asks for W."""

    def _fitted_values(self) -> dict[str, object]:
        names = ("rows_", "dual_coef_") if isinstance(self._learned, DualForm) else (self.matrix_name,)
        return super()._fitted_values() | {name: getattr(self, name) for name in names}

    def _restore(self, values: dict[str, object]) -> None:
        if "rows_" in values:
            older = values.pop("strengths_", None)  # by its name in files of 1.1
            self._hold(DualForm(values.pop("rows_"), values.pop("dual_coef_", older)))
            if self.rows_.shape[1] != values["n_features_in_"]:
                raise ValueError(f"the rows do not have {values['n_features_in_']} features")
        values.setdefault("projection_", self.projection)  # of files of 1.1
        super()._restore(values)


learned_matrix = property(PassiveAggressive._matrix, PassiveAggressive._set_matrix)
"""``W_`` or ``M_`` of a learner, whichever its `matrix_name` is; to set it drops the form that was learned."""


class RowSteps:
    """The steps of one learner on W, with its features in the order of some rows."""

    def __init__(self, rows: OrderedRows, W: Array, kind: int, aggressiveness: float) -> None:
        self._rows, self._W, self._kind, self._aggressiveness = rows, W, kind, aggressiveness

    def take(self, triplets: Ints) -> tuple[int, int]:
        """Take one step a triplet; return how many had a loss, and how many an update."""
        return take_steps(self._W, self._rows.rows, triplets, self._aggressiveness, self._kind)

    def matrix(self) -> Array:
        """Return W, in the user's order of features."""
        return self._rows.restored(self._W)

    def project(self) -> None:
        """Set W to the nearest positive semidefinite matrix."""
        self._W[:] = nearest_psd(self._W)

    def has_overflowed(self) -> bool:
        """Tell whether a number is too large for the dtype."""
        return not is_finite(self._W)


@dataclass(eq=False, repr=False, kw_only=True)
class OASIS(PassiveAggressive):
    """Online learning of a bilinear similarity S(a, b) = a'Wb from triplets (JMLR section 2.1, Figure 1).

    From W = I, each step takes a triplet (p, p+, p-) with hinge loss l = max(0, 1 - p'W(p+ - p-)) (eq. 4) and adds
    tau V to W, where V = p (p+ - p-)' (eq. 7) and tau = min(C, l / ||V||^2) (eq. 9). A step whose V is zero (p+ = p-
    as rows, or p = 0) has a loss of 1 that no W can mend; it counts as a loss and changes nothing.

    Parameters
    ----------
    aggressiveness : float, default=0.1
        C of eq. 9, larger than 0: the longest step.
    n_steps : int, default=35_000
        Triplets that `fit` samples; the most of them with early stopping. `fit_triplets` ignores it.
    early_stopping : bool, default=False
        Choose the number of steps by mean average precision on held-out rows (JMLR section 5.3.2): train on the rest,
        let the held-out rows rank each other along the way, take the best number of steps (the smallest among equals),
        then train on all rows for so many steps. With a `projection`, W is scored as a fit of so many steps would
        project it.
    validation_fraction : float, default=0.2
        Share of every class that is held out.
    trace_points : int, default=60
        Points of the learning curve, evenly spaced in the logarithm of the steps.
    dtype : {"float32", "float64"}, default="float32"
        Of W and of the arithmetic of a step.
    projection : {None, "symmetric", "psd"}, default=None
        What is done to W at the end of every fit: nothing; W := (W + W') / 2; or that with negative eigenvalues set
        to zero (JMLR section 6), which gives the model a `transform`.
    solver : {"auto", "gram", "rows"}, default="auto"
        What steps work on; W is the same up to rounding. ``"rows"``: W itself, the more work the more words a row has.
        ``"gram"``: the inner products of all pairs of rows, the more work the more rows there are; W = I + X'AX is
        formed of rows X and A when it is asked for. ``"auto"``: what costs less by prices that were measured once:
        at 35,000 steps ``"gram"`` up to 2,900 rows of 1,000 words, 73 of them not zero, 7,500 of 10,000, and 6,100
        dense rows of 768 features. Inner products and the log of updates take at most 1 GiB (11,500 rows in float32).
        Beyond, with a `projection_interval` on more than d / 2 rows, and for C above 10,000, where products keep too
        few digits between nearly equal rows, ``"auto"`` takes ``"rows"`` and ``"gram"`` raises ValueError. To go on
        from what was learned always takes ``"rows"``.
    projection_interval : int, optional
        With ``projection="psd"``: project W after every so many steps too, counted from the first (JMLR section 6.2 and
        Figure 9), an eigendecomposition each time: of n x n numbers on inner products of n rows. A trace sees W as it
        is in training. Default: only at the end, which the paper found to be best.
    verbose : int, default=0
        Above 0: a progress bar with steps per second and the share of steps that had a loss.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Of the triplets and of the held-out rows. With an integer s and no early stopping, `fit` is the same as
        `fit_triplets` on ``TripletSampler(y, s).sample(n_steps)``, bit for bit.

    Attributes
    ----------
    W_ : numpy.ndarray of shape (d, d)
        The learned matrix; not symmetric unless projected. Formed when it is first asked for, and read-only where it
        is made of `rows_`: set it to another array to change it.
    rows_, dual_coef_ : CSR or numpy.ndarray of shape (m, d), CSR of shape (m, m)
        X and A of W = I + X'AX, where W was learned so: the m rows that took part in an update, and their coefficients
        (float64). Files hold them instead of W. `similarity` and `rank` work with them where d is at least 4 m.
    n_steps_ : int
        Steps taken, those of `partial_fit_triplets` included.
    n_updates_ : int
        Those that changed W.
    projection_ : {None, "symmetric", "psd"}
        What was done to W at the end of the last fit, which decides whether there is a `transform`.
    n_projections_ : int
        Projections onto the positive semidefinite cone, the one at the end of every fit included.
    curve_ : dict of numpy.ndarray
        Of the last pass: ``step``, ``loss_rate`` (share of the steps since the last point that had a loss, NaN at
        step 0) and whatever the trace gave.
    validation_curve_ : dict of numpy.ndarray
        With early stopping: the curve of the selection pass, with ``map``.
    metric_ : str
        ``"inner_product"``.
    components_ : numpy.ndarray of shape (d, r), float64
        With ``projection="psd"``: L with LL' = W, found when it is first asked for, an eigenproblem of d x d numbers.
    n_features_in_ : int
        Number of features d.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(4) + 0.1, [0, 0, 1, 1]
    >>> model = OASIS(n_steps=200, random_state=0).fit(X, y)
    >>> model.rank(X[:1], X[1:], k=1)[0].tolist()
    [[0]]
    """

    projection_interval: PositiveCount | None = None

    W_ = learned_matrix

    def _check_parameters(self) -> None:
        super()._check_parameters()
        fits = self.projection == "psd" or self.projection_interval is None
        require(self, fits, "projection", "'psd' with a projection_interval")

    def _takes_products(self, X: Matrix, n_steps: int) -> bool:
        if self.projection_interval is None or 2 * X.shape[0] <= X.shape[1]:
            return super()._takes_products(X, n_steps)
        allowed = f"'auto' or 'rows' with a projection_interval on more than {X.shape[1] // 2:,} rows, half of d"
        require(self, self.solver != "gram", "solver", allowed)
        return False

    def _room(self) -> int:
        if self.projection_interval is None:
            return self.chunk
        interval = int(self.projection_interval)
        return min(self.chunk, interval - self.n_steps_ % interval)

    def _take(self, work: list[Any], examples: Ints) -> tuple[float, int]:
        counts = super()._take(work, examples)
        interval = self.projection_interval
        if interval and (self.n_steps_ + len(examples)) % interval == 0:
            self._refuse_overflow(work)
            work[0].project()
            self.n_projections_ += 1
        return counts


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
    """

    projection: Literal[None, "psd"]

    kind = ONLINE_PROJ
    W_ = learned_matrix


class DissimOASIS(PassiveAggressive):
    """Online learning of a similarity S(a, b) = -(a - b)'M(a - b) from triplets (JMLR section 6.1, draft section 2.2).

    From M = I, where S is minus the squared Euclidean distance, each step takes a triplet (p, p+, p-) with hinge loss
    l = max(0, 1 - S(p, p+) + S(p, p-)) and subtracts tau V from M, where V = (p - p+)(p - p+)' - (p - p-)(p - p-)' is
    the gradient of the loss and tau = min(C, l / ||V||^2) (draft eq. 12). M stays symmetric to the bit, but need not
    be positive semidefinite, so that S may be positive. A zero V, and the triplets, are as for `OASIS`. It is LMNN's
    push term, one triplet at a time (draft section 2.2).

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
    """

    projection: Literal[None, "psd"]

    kind = DISSIM
    matrix_name = "M_"
    metric_name = "sqeuclidean"
    M_ = learned_matrix


@dataclass(eq=False, repr=False, kw_only=True)
class AveragedOASIS(PassiveAggressive):
    """Several `OASIS` rankers, each on triplets of its own, and the mean of their W (JMLR section 5.4, Figure 7).

    The objective that OASIS minimises is convex in W, so the mean of several W is at least as good by it as they are on
    average. Ranker r is ``OASIS(random_state=ranker_seeds(random_state, n_rankers)[r])``: with ``solver="rows"``,
    `average_matrices` of the W of rankers trained one by one gives the same bits.

    Parameters
    ----------
    n_steps : int, default=35_000
        Triplets that `fit` samples for each ranker; the most of them with early stopping.
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
    """

    n_rankers: PositiveCount = 5
    n_jobs: int | None = None

    accepts: ClassVar = frozenset({"labels"})
    W_ = learned_matrix

    def _learn_from(self, *given: object, **options: object) -> Self:
        raise self._refusal("cannot learn from triplets")

    def _sampler(self, X: Matrix, y: Array, seed: int) -> Draw:
        samplers = [TripletSampler(y, ranker) for ranker in ranker_seeds(seed, int(self.n_rankers))]

        def draw(n: int) -> Ints:
            """Return n examples, each of which is one triplet for every ranker: shape (n, n_rankers, 3)."""
            return np.stack([sampler.sample(n) for sampler in samplers], axis=1)

        return draw

    def _take(self, work: list[Any], examples: Ints) -> tuple[float, int]:
        # threads: the compiled steps release Python's lock, and change the rankers in place
        counts = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(ranker.take)(np.ascontiguousarray(examples[:, number])) for number, ranker in enumerate(work)
        )
        return sum(losses for losses, _ in counts) / len(counts), sum(updates for _, updates in counts)


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
