"""Dissim-OASIS, OASIS for a Mahalanobis distance (Chechik et al., JMLR 2010, section 6.1, and draft, section 2.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.seeds import RandomState
from lookalike.learners._passive_aggressive import TripletLearner
from lookalike.learners._training_rows import TrainingRows
from lookalike.learners.online_proj_oasis import warm_up as warm_up  # both step through one kernel


class DissimOASIS(TripletLearner):
    """Online learning of a similarity S(a, b) = -(a - b)'M(a - b) from triplets (JMLR section 6.1, draft section 2.2).

    From M = I, where S is minus the squared Euclidean distance, each step takes a triplet (p, p+, p-) with hinge loss
    l = max(0, 1 - S(p, p+) + S(p, p-)) and subtracts tau V from M, where V = (p - p+)(p - p+)' - (p - p-)(p - p-)' is
    the gradient of the loss and tau = min(C, l / ||V||^2) (draft eq. 12). M stays symmetric to the bit, but need not
    be positive semidefinite, so that S may be positive. A step whose V is zero has a loss of 1 that no M can mend; it
    counts as a loss and changes nothing. With the same random_state as `OASIS` it learns from the same triplets. It is
    LMNN's push term, one triplet at a time (draft section 2.2).

    Parameters
    ----------
    aggressiveness : float, default=0.1
        C of draft eq. 12, larger than 0: the longest step.
    n_steps : int, default=35_000
        Triplets that `fit` draws; the most of them with early stopping. `fit_triplets` ignores it.
    early_stopping : bool, default=False
        Choose the number of steps by mean average precision on held-out rows, as `OASIS` does.
    validation_fraction : float, default=0.2
        Share of every class that is held out.
    trace_points : int, default=60
        Points of the learning curve, evenly spaced in the logarithm of the steps.
    dtype : {"float32", "float64"}, default="float32"
        Of M and of the arithmetic of a step.
    projection : {None, "psd"}, default=None
        ``"psd"``: at the end of every fit, set the negative eigenvalues of M to zero (JMLR section 6.2), which gives
        the model a `transform`.
    verbose : int, default=0
        Above 0: a progress bar with steps per second and the share of steps that had a loss.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Of the triplets and of the held-out rows, as for `OASIS`.

    Attributes
    ----------
    M_ : numpy.ndarray of shape (d, d)
        The learned matrix, symmetric to the bit.
    n_steps_ : int
        Steps taken, those of `partial_fit_triplets` included.
    n_updates_ : int
        Those that changed M.
    n_projections_ : int
        Projections onto the positive semidefinite cone, one at the end of every fit with ``projection="psd"``.
    curve_ : dict of numpy.ndarray
        Of the last pass: ``step``, ``loss_rate`` and whatever the trace gave.
    validation_curve_ : dict of numpy.ndarray
        With early stopping: the curve of the selection pass, with ``map``.
    metric_ : str
        ``"sqeuclidean"``.
    components_ : numpy.ndarray of shape (d, r), float64
        With ``projection="psd"``: L with LL' = M.
    n_features_in_ : int
        Number of features d.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(4) + 0.1, [0, 0, 1, 1]
    >>> model = DissimOASIS(n_steps=200, random_state=0).fit(X, y)
    >>> model.rank(X[:1], X[1:], k=1)[0].tolist()
    [[0]]
    """

    matrix_name = "M_"
    metric_name = "sqeuclidean"
    M_: NDArray[Any]

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
        self.verbose = verbose
        self.random_state = random_state

    def _take(self, rows: TrainingRows, examples: NDArray[np.int32]) -> tuple[int, int]:
        return rows.symmetric_steps(self.M_, examples, float(self.aggressiveness), dissimilarity=True)
