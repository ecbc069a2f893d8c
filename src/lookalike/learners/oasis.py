"""OASIS, the online passive-aggressive learner of a bilinear similarity (Chechik et al., JMLR 2010, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from lookalike.evaluation.ranking import rank_leave_one_out
from lookalike.evaluation.selection import log_spaced_steps
from lookalike.learners._training_rows import TrainingRows
from lookalike.learners.base import Matrix, SimilarityLearner
from lookalike.learners.triplets import RandomState, TripletSampler, as_seed, check_triplets

Trace = Callable[["OASIS", int], "dict[str, float]"]

CHUNK = 16_384


class OASIS(SimilarityLearner):
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
        equals), then train on all rows for so many steps.
    validation_fraction : float, default=0.2
        Share of every class that is held out.
    trace_points : int, default=60
        Points of the learning curve, evenly spaced in the logarithm of the steps.
    dtype : {"float32", "float64"}, default="float32"
        Of W and of the arithmetic of a step.
    projection : {None, "symmetric", "psd"}, default=None
        What is done to W at the end of every fit: nothing; W := (W + W') / 2; or that with negative eigenvalues set
        to zero (JMLR section 6), which gives the model a `transform`.
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

    accepts = frozenset({"labels", "triplets", "online"})

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

    def fit(
        self, X: Any, y: Any = None, *, trace: Trace | None = None, trace_steps: Iterable[int] | None = None
    ) -> Self:
        """Learn W from labelled rows with randomly drawn triplets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows, for instance tf-idf visterms.
        y : array-like of shape (n,)
            Class labels.
        trace : callable (model, step) -> dict of str to float, optional
            Called during the one training pass at step 0 and at `trace_steps`, with the model as it is then; what it
            returns becomes columns of ``curve_``. It must not change the model. The triplets and W are the same bits
            with and without it.
        trace_steps : iterable of int, optional
            Default: `trace_points` steps, evenly spaced in the logarithm.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On NaN or infinity, a single class, no class with two rows, or a parameter out of its range.
        """
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_classification_targets(y)
        seed = as_seed(self.random_state)
        sampler = TripletSampler(y, seed)
        self.__dict__.pop("validation_curve_", None)  # of an earlier fit
        n_steps = self._best_step(X, y, seed) if self.early_stopping else int(self.n_steps)
        self._start(X.shape[1])
        return self._train(TrainingRows(X, self.W_.dtype), sampler.draw, n_steps, trace, trace_steps)

    def fit_triplets(self, X: Any, triplets: Any) -> Self:
        """Learn W from exactly these triplets, once each and in this order.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
        triplets : array-like of shape (m, 3)
            Row numbers (query, positive, negative) of X. ``n_steps``, ``early_stopping`` and ``random_state`` are not
            used.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        triplets = check_triplets(triplets, X.shape[0])
        self._start(X.shape[1])
        return self._train(TrainingRows(X, self.W_.dtype), _feed(triplets), len(triplets))

    def partial_fit_triplets(self, X: Any, triplets: Any) -> Self:
        """Go on from the W that is there (from W = I on a new model) with more triplets.

        The parameters are those of `fit_triplets`; X may be other rows than before, with the same features. A
        projection is made at the end of every call.
        """
        if not hasattr(self, "W_"):
            return self.fit_triplets(X, triplets)
        self._check_parameters()
        X = self._check_rows(X)
        triplets = check_triplets(triplets, X.shape[0])
        return self._train(TrainingRows(X, self.W_.dtype), _feed(triplets), len(triplets))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _why_no_transform(self) -> str | None:
        if self.projection == "psd":
            return None
        return (
            f"OASIS with projection={self.projection!r} has no transform, because its W need not be positive "
            "semidefinite: learn with projection='psd', or use similarity and rank, which take any W"
        )

    def _check_parameters(self) -> None:
        if not self.aggressiveness > 0:
            raise ValueError(f"aggressiveness must be larger than 0, not {self.aggressiveness!r}")
        if self.n_steps < 0 or int(self.n_steps) != self.n_steps:
            raise ValueError(f"n_steps must be a whole number that is not negative, not {self.n_steps!r}")
        if not 0 < self.validation_fraction < 1:
            raise ValueError(f"validation_fraction must be between 0 and 1, not {self.validation_fraction!r}")
        if self.trace_points < 1:
            raise ValueError(f"trace_points must be at least 1, not {self.trace_points!r}")
        if self.dtype not in ("float32", "float64"):
            raise ValueError(f"dtype must be 'float32' or 'float64', not {self.dtype!r}")
        if self.projection not in (None, "symmetric", "psd"):
            raise ValueError(f"projection must be None, 'symmetric' or 'psd', not {self.projection!r}")

    def _start(self, d: int) -> None:
        self.__dict__.pop("components_", None)  # of an earlier fit
        self.metric_ = "inner_product"
        self.W_ = np.eye(d, dtype=self.dtype)
        self.n_steps_ = 0
        self.n_updates_ = 0

    def _train(
        self,
        rows: TrainingRows,
        draw: Callable[[int], NDArray[np.int32]],
        n_steps: int,
        trace: Trace | None = None,
        trace_steps: Iterable[int] | None = None,
    ) -> Self:
        """Take `n_steps` steps on triplets that `draw` gives, with a point of the curve at each trace step."""
        points = self._curve_points(n_steps, trace_steps)
        curve: list[dict[str, float]] = []
        taken = 0
        with rows.internal_order(self.W_), _Progress(n_steps, self.verbose) as progress:
            for point in [*points, n_steps]:
                losses, before = 0, taken
                while taken < point:
                    triplets = draw(min(CHUNK, point - taken))
                    new_losses, updates = rows.oasis_steps(self.W_, triplets, float(self.aggressiveness))
                    losses += new_losses
                    taken += len(triplets)
                    self.n_steps_ += len(triplets)
                    self.n_updates_ += updates
                    progress.advance(len(triplets), new_losses)
                if len(curve) < len(points):
                    record = {"step": point, "loss_rate": losses / (point - before) if point > before else np.nan}
                    if trace is not None:
                        with rows.user_order(self.W_):
                            record |= trace(self, point)
                    curve.append(record)
        self.curve_ = {name: np.array([record[name] for record in curve]) for name in curve[0]}
        self._project_matrix()
        return self

    def _curve_points(self, n_steps: int, trace_steps: Iterable[int] | None) -> list[int]:
        if trace_steps is None:
            return [0, *log_spaced_steps(n_steps, self.trace_points).tolist()] if n_steps else [0]
        points = sorted({0, *(int(step) for step in trace_steps)})
        if points[0] < 0 or points[-1] > n_steps:
            raise ValueError(f"trace_steps must be between 0 and the number of steps, {n_steps}: {points}")
        return points

    def _project_matrix(self) -> None:
        with np.errstate(invalid="ignore"):
            finite = bool(np.isfinite(self.W_.sum(dtype=np.float64)))
        if not finite:
            raise ValueError("W overflowed during learning: scale the rows of X, for instance to length 1")
        if self.projection is None:
            return
        symmetric = (self.W_ + self.W_.T) / 2
        if self.projection == "psd":
            values, vectors = np.linalg.eigh(symmetric.astype(np.float64))
            values = np.maximum(values, 0.0)
            symmetric = ((vectors * values) @ vectors.T).astype(self.W_.dtype)
            self.components_ = np.ascontiguousarray((vectors * np.sqrt(values))[:, values > 0])
        self.W_ = symmetric

    def _best_step(self, X: Matrix, y: NDArray[Any], seed: int) -> int:
        """Choose the number of steps by mean average precision on held-out rows (JMLR section 5.3.2)."""
        held_out = held_out_rows(y, self.validation_fraction, np.random.default_rng([seed, 1]))
        seen, labels = X[held_out], y[held_out]
        model = clone(self).set_params(early_stopping=False, random_state=seed, projection=None)

        def score(model: OASIS, step: int) -> dict[str, float]:
            return {"map": rank_leave_one_out(model, seen, labels, n_neighbours=0).mean_average_precision()}

        model.fit(X[~held_out], y[~held_out], trace=score)
        self.validation_curve_ = model.curve_
        return int(model.curve_["step"][np.argmax(model.curve_["map"])])


class _Progress:
    """A progress bar with steps per second and the present loss rate, or nothing."""

    def __init__(self, total: int, verbose: int) -> None:
        self.bar = None
        if verbose > 0:
            from tqdm import tqdm

            self.bar = tqdm(total=total, unit="step", unit_scale=True, desc="OASIS")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def advance(self, steps: int, losses: int) -> None:
        if self.bar is not None:
            self.bar.set_postfix(loss_rate=f"{losses / steps:.3f}", refresh=False)
            self.bar.update(steps)


def held_out_rows(y: NDArray[Any], fraction: float, random: np.random.Generator) -> NDArray[np.bool_]:
    """Mark `fraction` of every class, rounded: at least two of it, and at least two left to learn from.

    A class of fewer than four rows, too small for that, is learned from only.

    Raises
    ------
    ValueError
        When every class has fewer than four rows, so that nothing is held out.
    """
    held_out = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        if len(members) >= 4:
            count = min(max(2, round(fraction * len(members))), len(members) - 2)
            held_out[random.permutation(members)[:count]] = True
    if not held_out.any():
        raise ValueError(
            "early_stopping needs a class with at least four rows, two to hold out and two to learn from: "
            "give more rows per class, or use early_stopping=False"
        )
    return held_out


def warm_up() -> None:
    """Compile the kernels for both dtypes (or load them from numba's cache), so that timed runs do not."""
    X = sp.csr_array(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    for dtype in ("float32", "float64"):
        OASIS(dtype=dtype).fit_triplets(X, [[0, 2, 1]])


def _feed(triplets: NDArray[np.int32]) -> Callable[[int], NDArray[np.int32]]:
    """Give the rows of a fixed list in order, as a sampler would."""
    position = 0

    def draw(n: int) -> NDArray[np.int32]:
        nonlocal position
        position += n
        return triplets[position - n : position]

    return draw
