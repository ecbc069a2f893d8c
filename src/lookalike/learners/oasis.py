"""OASIS, the online passive-aggressive learner of a bilinear similarity (Chechik et al., JMLR 2010, section 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.core.seeds import RandomState
from lookalike.learners._passive_aggressive import TripletLearner
from lookalike.learners._projections import project_psd
from lookalike.learners._training_rows import TrainingRows


class OASIS(TripletLearner):
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

    projections = (None, "symmetric", "psd")
    W_: NDArray[Any]

    def __init__(
        self,
        aggressiveness: float = 0.1,
        n_steps: int = 35_000,
        *,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        trace_points: int = 60,
        dtype: str = "float32",
        projection: str | None = None,
        projection_interval: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ) -> None:
        self.aggressiveness = aggressiveness
        self.n_steps = n_steps
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.trace_points = trace_points
        self.dtype = dtype
        self.projection = projection
        self.projection_interval = projection_interval
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        interval = self.projection_interval
        if interval is None:
            return
        if interval < 1 or int(interval) != interval:
            raise ValueError(
                f"projection_interval must be None or a whole number of steps, at least 1, not {interval!r}"
            )
        if self.projection != "psd":
            raise ValueError(
                f"projection_interval={interval!r} needs projection='psd', not {self.projection!r}: "
                "set that too, or leave the interval out"
            )

    def _room(self) -> int:
        if self.projection_interval is None:
            return self.chunk
        interval = int(self.projection_interval)
        return min(self.chunk, interval - self.n_steps_ % interval)

    def _take(self, rows: TrainingRows, examples: NDArray[np.int32]) -> tuple[int, int]:
        losses, updates = rows.oasis_steps(self.W_, examples, float(self.aggressiveness))
        if self.projection_interval is not None and (self.n_steps_ + len(examples)) % self.projection_interval == 0:
            self._refuse_overflow()
            # in place and in whatever order the features are: eigenvalues do not depend on it
            self.W_[:] = project_psd(self.W_)[0]
            self.n_projections_ += 1
        return losses, updates


def warm_up() -> None:
    """Compile the kernels for both dtypes (or load them from numba's cache), so that timed runs do not."""
    X = sp.csr_array(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    for dtype in ("float32", "float64"):
        OASIS(dtype=dtype).fit_triplets(X, [[0, 2, 1]])
