"""OASIS with a diagonal matrix, which is what its row in the tables of SOML can only be (Gao et al., AAAI 2014)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lookalike.core.seeds import RandomState
from lookalike.learners._diagonal_kernels import passive_aggressive_steps
from lookalike.learners._diagonal_online import Compact, OnlineDiagonalLearner
from lookalike.learners.triplet_products import Products


class DiagonalOASIS(OnlineDiagonalLearner):
    """Passive-aggressive learning of S_w(a, b) = sum_j w_j a_j b_j from triplets (JMLR section 2.1, for a diagonal W).

    From w = 1, each step takes a triplet (p, p+, p-) with hinge loss l = max(0, 1 - S_w(p, p+) + S_w(p, p-)) and adds
    tau v to w, where v = p * (p+ - p-), the diagonal of OASIS's V, and tau = min(C, l / ||v||^2). A step whose v is
    zero has a loss of 1 that no w can mend; it counts as a loss and changes nothing.

    The tables of SOML have a row of OASIS at up to a million features, where no full matrix fits into a machine, and
    report that none of its weights is zero: this is the learner that fits that.

    The cost of a step follows the non-zeros of its rows. It does not grow with d.

    Parameters
    ----------
    aggressiveness : float, default=0.1
        C, larger than 0: the longest step.
    n_steps : int, default=100_000
        Triplets that `fit` draws; the most of them with early stopping. `fit_triplets` ignores it.
    early_stopping : bool, default=False
        Choose the number of steps by mean average precision on held-out rows, as `OASIS` does.
    validation_fraction : float, default=0.2
        Share of every class that is held out.
    trace_points : int, default=60
        Points of the learning curve, evenly spaced in the logarithm of the steps.
    projection : {None, "psd"}, default=None
        What is done to w at the end of every fit: nothing; or weights below 0 are set to 0, which gives the model a
        `transform`. Learning goes on from the weights before that.
    verbose : int, default=0
        Above 0: a progress bar with steps per second and the share of steps that had a loss.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Of the triplets and of the held-out rows. With an integer s and no early stopping, `fit` is the same as
        `fit_triplets` on ``TripletSampler(y, s).draw(n_steps)``, bit for bit.

    Attributes
    ----------
    w_ : numpy.ndarray of shape (d,), float64
        Weight of every feature.
    n_steps_ : int
        Steps taken, those of `partial_fit_triplets` included.
    n_updates_ : int
        Those that changed w.
    state_ : dict of numpy.ndarray
        What `partial_fit_triplets` goes on from, for the features that steps have touched.
    curve_ : dict of numpy.ndarray
        Of the last pass: ``step``, ``loss_rate`` (share of the steps since the last point that had a loss, NaN at
        step 0) and whatever the trace gave.
    validation_curve_ : dict of numpy.ndarray
        With early stopping: the curve of the selection pass, with ``map``.
    metric_ : str
        ``"inner_product"``.
    n_features_in_ : int
        Number of features d.

    Examples
    --------
    >>> X = [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    >>> DiagonalOASIS(aggressiveness=0.25).fit_triplets(X, [[0, 1, 2]]).w_.tolist()
    [1.25, 0.75, 1.0]
    """

    fields: ClassVar = {"weight": 1.0}
    untouched = 1.0

    def __init__(
        self,
        aggressiveness: float = 0.1,
        n_steps: int = 100_000,
        *,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        trace_points: int = 60,
        projection: str | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ) -> None:
        self.aggressiveness = aggressiveness
        self.n_steps = n_steps
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.trace_points = trace_points
        self.projection = projection
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not self.aggressiveness > 0:
            raise ValueError(f"aggressiveness must be larger than 0, not {self.aggressiveness!r}")

    def _weights(self, state: Compact) -> NDArray[np.float64]:
        return state["weight"].copy()

    def _steps(
        self, state: Compact, products: Products, triplets: NDArray[np.int32], n_steps: int, n_updates: int
    ) -> tuple[int, int]:
        weights = state["weight"]
        scratch = np.empty(2 * int(np.diff(products.starts).max(initial=0)))
        losses, updates = passive_aggressive_steps(
            weights, *products, triplets, float(self.aggressiveness), np.zeros(len(weights)), scratch
        )
        return losses, updates


def warm_up() -> None:
    """Compile the kernels (or load them from numba's cache), so that timed runs do not."""
    DiagonalOASIS().fit_triplets([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [[0, 1, 2]])
