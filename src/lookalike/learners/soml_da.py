"""SOML-DA, sparse online learning of a diagonal metric by dual averaging (Gao et al., AAAI 2014, Algorithm 2)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lookalike.core.seeds import RandomState
from lookalike.learners._diagonal_kernels import dual_averaging_steps, truncated
from lookalike.learners._diagonal_online import Compact, OnlineDiagonalLearner
from lookalike.learners.triplet_products import Products


class SOMLDA(OnlineDiagonalLearner):
    """Sparse online learning of S_w(a, b) = sum_j w_j a_j b_j from triplets, by dual averaging (Algorithm 2).

    From w = 0, step t takes a triplet (x, x+, x-) with hinge loss max(0, 1 - S_w(x, x+) + S_w(x, x-)) (eq. 7). Where it
    is above 0, w is worked out anew from g, the mean over all t steps of the loss's subgradients (0 on steps without a
    loss, else -x * (x+ - x-)): with lambda_t = lambda + gamma rho / sqrt(t), w_j = 0 where abs(g_j) <= lambda_t, else
    w_j = -sqrt(t) / gamma (g_j - lambda_t sgn g_j) (eq. 16). A step without a loss leaves w as it is.

    In print two things differ, and are here as options. Equation 15 has x * (x+ - x-) with its sign turned round: taken
    literally, every triplet stays violated (`literal_sign`). And Algorithm 2 averages it on every step, with a loss or
    without (`average_every_step`), which makes steps with a loss rare and w something close to a plain mean.

    The cost of a step follows the non-zeros of its rows: only sums of gradients are kept, and a weight is worked out
    when it is read. It does not grow with d.

    Parameters that are changed between two calls of `partial_fit_triplets` hold from the next step with a loss on,
    which works w out anew from all gradients so far; until then ``w_`` stays as it was.

    Parameters
    ----------
    gamma : float, default=1e-4
        Larger than 0: larger makes smaller weights.
    rho : float, default=1.0
        Not negative: larger is sparser at first.
    regularization : float, default=1e-6
        lambda, not negative: larger is sparser.
    n_steps : int, default=21_000
        Triplets that `fit` draws; the most of them with early stopping. `fit_triplets` ignores it.
    average_every_step : bool, default=False
        Average x * (x+ - x-) over all steps, as Algorithm 2 prints it.
    literal_sign : bool, default=False
        Average the gradient of eq. 15 as it is printed.
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
    last_update_ : int
        The last of them, counted from 1; 0 for none.
    state_ : dict of numpy.ndarray
        What `partial_fit_triplets` goes on from, for the features that steps have touched.
    made_with_ : numpy.ndarray of shape (3,), float64
        gamma, rho and lambda that ``w_`` was worked out with, at step ``last_update_``.
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
    >>> SOMLDA(gamma=0.5, rho=0.5, regularization=0.25).fit_triplets(X, [[0, 1, 2]]).w_.tolist()
    [1.0, -1.0, 0.0]
    """

    fields: ClassVar = {"sum": 0.0, "used": 0.0, "touched_after": -1}
    last_update_: int
    made_with_: NDArray[np.float64]

    def __init__(
        self,
        gamma: float = 1e-4,
        rho: float = 1.0,
        regularization: float = 1e-6,
        *,
        n_steps: int = 21_000,
        average_every_step: bool = False,
        literal_sign: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        trace_points: int = 60,
        projection: str | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ) -> None:
        self.gamma = gamma
        self.rho = rho
        self.regularization = regularization
        self.n_steps = n_steps
        self.average_every_step = average_every_step
        self.literal_sign = literal_sign
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.trace_points = trace_points
        self.projection = projection
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not 0 < self.gamma < np.inf:
            raise ValueError(f"gamma must be larger than 0 and finite, not {self.gamma!r}")
        for name in ("rho", "regularization"):
            value = getattr(self, name)
            if not 0 <= value < np.inf:
                raise ValueError(f"{name} must be 0 or larger and finite, not {value!r}")

    def _start(self, d: int) -> None:
        super()._start(d)
        self.last_update_ = 0
        self.made_with_ = np.array([self.gamma, self.rho, self.regularization], dtype=np.float64)

    def _weights(self, state: Compact) -> NDArray[np.float64]:
        step = self.last_update_
        if step == 0:
            return np.zeros(len(state["sum"]))
        seen = np.where(state["touched_after"] == step, state["used"], state["sum"])
        gamma, rho, regularization = self.made_with_.tolist()
        threshold = step * regularization + gamma * rho * np.sqrt(step)
        # the sums change their sign, and not the quotient, where a zero would get one
        weights: NDArray[np.float64] = truncated(-seen, threshold) / (gamma * np.sqrt(step))
        return weights

    def _steps(
        self, state: Compact, products: Products, triplets: NDArray[np.int32], n_steps: int, n_updates: int
    ) -> tuple[int, int]:
        made_with = self.made_with_.copy()  # that of a copy of the model stays as it is
        losses, self.last_update_ = dual_averaging_steps(
            state["sum"],
            state["used"],
            state["touched_after"],
            n_steps,
            self.last_update_,
            *products,
            triplets,
            made_with,
            float(self.gamma),
            float(self.rho),
            float(self.regularization),
            1.0 if self.literal_sign else -1.0,
            bool(self.average_every_step),
        )
        self.made_with_ = made_with
        return losses, losses


def warm_up() -> None:
    """Compile the kernels (or load them from numba's cache), so that timed runs do not."""
    SOMLDA().fit_triplets([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [[0, 1, 2]])
