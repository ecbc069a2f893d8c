"""OASIS, the online passive-aggressive learner of a bilinear similarity (Chechik et al., JMLR 2010, section 2)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookalike.core.kernels import njit
from lookalike.learners.base import Matrix
from lookalike.learners.online import OnlineTripletLearner
from lookalike.learners.projections import nearest_psd, project_psd
from lookalike.learners.sparse_rows import (
    OrderedRows,
    Rows,
    add_to_row,
    bilinear,
    empty_head,
    fill_head,
    longest_row,
    row_of,
    squared_norm,
    subtract_rows,
)


@dataclass(eq=False, repr=False)
class PassiveAggressive(OnlineTripletLearner):
    """Base of OASIS and its variants: passive-aggressive steps on a d x d matrix from W = I, and projections of it."""

    aggressiveness: float = 0.1
    n_steps: int = 35_000
    _: KW_ONLY
    dtype: str = "float32"
    projection: str | None = None

    matrix_name: ClassVar[str] = "W_"
    """Attribute that holds the matrix."""
    metric_name: ClassVar[str] = "inner_product"
    projections: ClassVar[tuple[str | None, ...]] = (None, "psd")
    """Values that ``projection`` may have."""

    def _why_no_transform(self) -> str | None:
        if self.projection == "psd":
            return None
        name = self.matrix_name.rstrip("_")
        return (
            f"{type(self).__name__} with projection={self.projection!r} has no transform, because its {name} need not "
            f"be positive semidefinite: learn with projection='psd', or use similarity and rank, which take any {name}"
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._require(self.aggressiveness > 0, "aggressiveness", "larger than 0")
        self._require(self.projection in self.projections, "projection", " or ".join(map(repr, self.projections)))

    def _start(self, d: int) -> None:
        self.__dict__.pop("components_", None)  # of an earlier fit
        self.metric_ = self.metric_name
        setattr(self, self.matrix_name, np.eye(d, dtype=self.dtype))
        self.n_steps_ = self.n_updates_ = self.n_projections_ = 0

    def _prepare(self, X: Matrix) -> tuple[OrderedRows, Any]:
        rows = OrderedRows(X, self._matrix().dtype)
        return rows, rows.ordered(self._matrix())

    def _show(self, work: tuple[OrderedRows, Any]) -> None:
        rows, W = work
        setattr(self, self.matrix_name, rows.restored(W))

    def _finish(self, traced: bool = False) -> None:
        matrix = self._matrix()
        self._refuse_overflow(matrix)
        if self.projection == "symmetric":
            matrix = (matrix + matrix.T) / 2
        elif self.projection == "psd" and traced:
            matrix = nearest_psd(matrix)
        elif self.projection == "psd":
            matrix, self.components_ = project_psd(matrix)
            self.n_projections_ += 1
        setattr(self, self.matrix_name, matrix)

    def _refuse_overflow(self, matrix: NDArray[Any]) -> None:
        with np.errstate(invalid="ignore", over="ignore"):
            finite = bool(np.isfinite(matrix.sum(dtype=np.float64)))
        if not finite:
            name = self.matrix_name.rstrip("_")
            raise ValueError(f"{name} overflowed during learning: scale the rows of X, for instance to length 1")


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
        Triplets that `fit` draws; the most of them with early stopping. `fit_triplets` ignores it.
    early_stopping : bool, default=False
        Choose the number of steps by mean average precision on held-out rows (JMLR section 5.3.2): train on the rest,
        score the held-out rows against each other along the way, take the best number of steps (the smallest among
        equals), then train on all rows for so many steps. With a `projection`, what is scored is W as a fit of so many
        steps would project it, one projection for every point of the curve.
    validation_fraction : float, default=0.2
        Share of every class that is held out.
    trace_points : int, default=60
        Points of the learning curve, evenly spaced in the logarithm of the steps.
    dtype : {"float32", "float64"}, default="float32"
        Of W and of the arithmetic of a step.
    projection : {None, "symmetric", "psd"}, default=None
        What is done to W at the end of every fit: nothing; W := (W + W') / 2; or that with negative eigenvalues set
        to zero (JMLR section 6), which gives the model a `transform`.
    projection_interval : int, optional
        With ``projection="psd"``: project W after every so many steps of the training too, counted from the first
        (JMLR section 6.2 and Figure 9), an eigendecomposition each time. A trace sees W as it is in training: just
        projected only at multiples of the interval. Default: only at the end, which the paper found to be best.
    verbose : int, default=0
        Above 0: a progress bar with steps per second and the share of steps that had a loss.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Of the triplets and of the held-out rows. With an integer s and no early stopping, `fit` is the same as
        `fit_triplets` on ``TripletSampler(y, s).draw(n_steps)``, bit for bit.

    Attributes
    ----------
    W_ : numpy.ndarray of shape (d, d)
        The learned matrix; not symmetric unless projected.
    n_steps_ : int
        Steps taken, those of `partial_fit_triplets` included.
    n_updates_ : int
        Those that changed W.
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
        With ``projection="psd"``: L with LL' = W.
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

    projection_interval: int | None = None

    projections: ClassVar = (None, "symmetric", "psd")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.projection_interval is not None:
            self._require_whole(1, "projection_interval")
            self._require(self.projection == "psd", "projection", "'psd' with a projection_interval")

    def _room(self) -> int:
        if self.projection_interval is None:
            return self.chunk
        interval = int(self.projection_interval)
        return min(self.chunk, interval - self.n_steps_ % interval)

    def _take(self, work: tuple[OrderedRows, NDArray[Any]], examples: NDArray[np.int32]) -> tuple[int, int]:
        rows, W = work
        losses, updates = oasis_steps(W, rows.rows, examples, float(self.aggressiveness), np.empty(0))
        if self.projection_interval is not None and (self.n_steps_ + len(examples)) % self.projection_interval == 0:
            self._refuse_overflow(W)
            W[:] = nearest_psd(W)
            self.n_projections_ += 1
        return losses, updates


@njit(cache=True, nogil=True)
def oasis_steps(
    W: NDArray[Any], rows: Rows, triplets: NDArray[np.int32], aggressiveness: float, margins: NDArray[np.float64]
) -> tuple[int, int]:
    """Take JMLR Figure 1's steps, one a triplet, on W in the order of `rows`; return how many had a loss, an update."""
    v_index = np.empty(2 * longest_row(rows), dtype=np.uint32)
    v_value = np.empty(v_index.shape[0], dtype=W.dtype)
    head = empty_head(W)
    losses = updates = 0
    for t in range(triplets.shape[0]):
        query, positive, negative = triplets[t, 0], triplets[t, 1], triplets[t, 2]
        p_index, p_value = row_of(rows, query)
        n = subtract_rows(rows, positive, negative, v_index, v_value)
        n_head = fill_head(v_index[:n], v_value[:n], head)
        tail_index, tail_value = v_index[n_head:n], v_value[n_head:n]

        score = bilinear(W, p_index, p_value, head, tail_index, tail_value)
        if margins.shape[0] > 0:  # S(p, p+) - S(p, p-) before the step, where it is asked for
            margins[t] = score
        loss = 1.0 - score
        if loss <= 0.0:
            continue
        losses += 1

        norm = squared_norm(v_value[:n]) * rows.squared_norms[query]
        if norm == 0.0:
            continue
        updates += 1
        tau = min(aggressiveness, loss / norm)
        for k in range(p_index.shape[0]):
            add_to_row(W[p_index[k]], W.dtype.type(tau * float(p_value[k])), head, tail_index, tail_value)
    return losses, updates


def warm_up() -> None:
    """Compile the kernels for both dtypes (or load them from numba's cache), so that timed runs do not."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    for dtype in ("float32", "float64"):
        OASIS(dtype=dtype).fit_triplets(X, [[0, 2, 1]])
