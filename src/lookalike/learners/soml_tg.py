"""SOML-TG, sparse online learning of a diagonal metric by truncated gradients (Gao et al., AAAI 2014, Algorithm 1)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lookalike.core.seeds import RandomState
from lookalike.learners._diagonal_kernels import truncated, truncated_gradient_steps
from lookalike.learners._diagonal_online import Compact, OnlineDiagonalLearner
from lookalike.learners.triplet_products import Products


class SOMLTG(OnlineDiagonalLearner):
    """Sparse online learning of S_w(a, b) = sum_j w_j a_j b_j from triplets, by truncated gradients (Algorithm 1).

    From w = 0, each step takes a triplet (x, x+, x-) with hinge loss max(0, 1 - S_w(x, x+) + S_w(x, x-)) (eq. 7). Where
    it is above 0, eta times the subgradient -x * (x+ - x-) is taken off w, and every weight moves towards 0 by
    eta * lambda, not past it (eqs. 10 and 11).

    Equation 12 and Algorithm 1 print the subgradient with its sign turned round. Taken literally, each step pushes the
    margin further below 0 and every triplet stays violated: ``literal_sign=True`` shows it.

    The cost of a step follows the non-zeros of its rows: a weight makes up for the truncations of the steps that did
    not touch it when it is next read. It does not grow with d.

    Parameters that are changed between two calls of `partial_fit_triplets` hold for the steps that follow: the second
    goes on from ``w_`` as the first left it.

    Parameters
    ----------
    learning_rate : float, default=1.0
        eta, larger than 0.
    regularization : float, default=1e-5
        lambda, not negative: larger is sparser.
    n_steps : int, default=21_000
        Triplets that `fit` draws; the most of them with early stopping. `fit_triplets` ignores it.
    literal_sign : bool, default=False
        Take the step of eq. 12 as it is printed.
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
        Those that had a loss, and so changed w.
    state_ : dict of numpy.ndarray
        What `partial_fit_triplets` goes on from, for the features that steps have touched.
    alpha_ : float
        eta * lambda of the last pass, which the truncations that are yet to be made up for go by.
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
    >>> SOMLTG(regularization=0.25).fit_triplets(X, [[0, 1, 2]]).w_.tolist()
    [0.75, -0.75, 0.0]
    """

    fields: ClassVar = {"weight": 0.0, "current_at": 0}
    alpha_: float

    def __init__(
        self,
        learning_rate: float = 1.0,
        regularization: float = 1e-5,
        *,
        n_steps: int = 21_000,
        literal_sign: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        trace_points: int = 60,
        projection: str | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.n_steps = n_steps
        self.literal_sign = literal_sign
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.trace_points = trace_points
        self.projection = projection
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not 0 < self.learning_rate < np.inf:
            raise ValueError(f"learning_rate must be larger than 0 and finite, not {self.learning_rate!r}")
        if not 0 <= self.regularization < np.inf:
            raise ValueError(f"regularization must be 0 or larger and finite, not {self.regularization!r}")

    def _start(self, d: int) -> None:
        super()._start(d)
        self.alpha_ = self._amount()

    def _settle(self) -> None:
        if self.alpha_ != self._amount():  # else later truncations add up with those missed, to the bit of one pass
            settled: Compact = {"weight": self._weights(self.state_)}
            settled["current_at"] = np.full(len(settled["weight"]), self.n_updates_)
            self.state_ |= settled
            self.alpha_ = self._amount()

    def _weights(self, state: Compact) -> NDArray[np.float64]:
        missed = self.n_updates_ - state["current_at"]
        return truncated(state["weight"], self.alpha_ * missed)

    def _steps(
        self, state: Compact, products: Products, triplets: NDArray[np.int32], n_steps: int, n_updates: int
    ) -> tuple[int, int]:
        rate = float(-self.learning_rate if self.literal_sign else self.learning_rate)
        losses = truncated_gradient_steps(
            state["weight"], state["current_at"], n_updates, *products, triplets, rate, self.alpha_
        )
        return losses, losses

    def _amount(self) -> float:
        return float(self.learning_rate) * float(self.regularization)


def warm_up() -> None:
    """Compile the kernels (or load them from numba's cache), so that timed runs do not."""
    SOMLTG().fit_triplets([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [[0, 1, 2]])
