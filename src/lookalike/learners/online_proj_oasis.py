"""Online-Proj-OASIS, OASIS with a step that keeps W symmetric (Chechik et al., JMLR 2010, section 6.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.core.seeds import RandomState
from lookalike.learners._passive_aggressive import TripletLearner
from lookalike.learners._training_rows import TrainingRows


class OnlineProjOASIS(TripletLearner):
    """OASIS whose W is made symmetric after every step (JMLR section 6.1; draft section 5.2.4).

    The loss l and the length of the step tau are those of `OASIS`; the step is the symmetric part of its step,
    W += tau (V + V') / 2 with V = p (p+ - p-)'. From W = I, W stays symmetric to the bit. With the same random_state
    both learn from the same triplets. (Proj-OASIS, made symmetric once at the end, is
    ``OASIS(projection="symmetric")``.)

    Parameters
    ----------
    aggressiveness : float, default=0.1
        C of JMLR eq. 9, larger than 0: the longest step.
    n_steps : int, default=35_000
        Triplets that `fit` draws; the most of them with early stopping. `fit_triplets` ignores it.
    early_stopping : bool, default=False
        Choose the number of steps by mean average precision on held-out rows, as `OASIS` does.
    validation_fraction : float, default=0.2
        Share of every class that is held out.
    trace_points : int, default=60
        Points of the learning curve, evenly spaced in the logarithm of the steps.
    dtype : {"float32", "float64"}, default="float32"
        Of W and of the arithmetic of a step.
    projection : {None, "psd"}, default=None
        ``"psd"``: at the end of every fit, set the negative eigenvalues of W to zero (JMLR section 6.2), which gives
        the model a `transform`.
    verbose : int, default=0
        Above 0: a progress bar with steps per second and the share of steps that had a loss.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Of the triplets and of the held-out rows, as for `OASIS`.

    Attributes
    ----------
    W_ : numpy.ndarray of shape (d, d)
        The learned matrix, symmetric to the bit.
    n_steps_ : int
        Steps taken, those of `partial_fit_triplets` included.
    n_updates_ : int
        Those that changed W.
    n_projections_ : int
        Projections onto the positive semidefinite cone, one at the end of every fit with ``projection="psd"``.
    curve_ : dict of numpy.ndarray
        Of the last pass: ``step``, ``loss_rate`` and whatever the trace gave.
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
    >>> W = OnlineProjOASIS(n_steps=200, random_state=0).fit(X, y).W_
    >>> bool((W == W.T).all())
    True
    """

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
        return rows.symmetric_steps(self.W_, examples, float(self.aggressiveness), dissimilarity=False)


def warm_up() -> None:
    """Compile the symmetric kernel, Dissim-OASIS's too, for both dtypes, or load it from numba's cache."""
    X = sp.csr_array(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    for dtype in ("float32", "float64"):
        OnlineProjOASIS(dtype=dtype).fit_triplets(X, [[0, 2, 1]])
