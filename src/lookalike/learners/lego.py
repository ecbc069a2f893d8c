"""LEGO, an online learner of a Mahalanobis distance with LogDet steps (Jain, Kulis, Dhillon and Grauman, 2008).

OASIS is compared with it (JMLR section 5.3.1): both take one step an example, LEGO in the LogDet divergence, so that
its matrix stays positive definite by itself, and OASIS in the Frobenius norm.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import hypot, sqrt
from typing import ClassVar, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike

from lookalike.core.arrays import Array, Doubles, Ints, Matrix
from lookalike.core.kernels import njit
from lookalike.core.seeds import as_seed
from lookalike.learners.centring import FAR, centre_of, is_sparse, less, squared_distances
from lookalike.learners.kernels import Compressed, Rows, add_dense, longest_row, room_for, sparse_dot, subtract_rows
from lookalike.learners.online import Draw, OnlineLearner, feed
from lookalike.learners.parameters import Count, PositiveFinite, Precision, is_number, require
from lookalike.learners.span import Span
from lookalike.learners.triplets import PairSampler, check_pairs

RANDOM_PAIRS = 10_000
"""Pairs of rows, drawn at random, whose distances set the targets."""
BLOCK = 32
"""Steps whose vectors are kept beside the matrix before one matrix product takes them in: a step that wrote its
c (Az)(Az)' to A at once would move all of A through memory."""
SMALLEST_DISTANCE = 1e-12
"""Distances below this share of the two rows' squared lengths are rounding: such a pair is left alone."""


@dataclass(eq=False, repr=False)
class LEGO(OnlineLearner["_LazyMatrix"]):
    """Online learning of a distance (a - b)'M(a - b) from pairs with LogDet regularisation.

    From M = I, each step takes a pair with z = x_i - x_j at the distance yh = z'Mz and solves

        argmin over M' of  D(M', M) + eta (z'M'z - y)^2 / 2

    where D is the LogDet divergence and y the target of the pair. The solution is
    M' = (M^-1 + eta (yb - y) zz')^-1 with yb = z'M'z, the positive root of a quadratic equation; M' is positive
    definite for every eta. A pair of equal rows has a distance of 0 that no M can mend; it changes nothing.

    The papers do not print the targets: here u, for pairs of one class, and l, for pairs of two, are percentiles of the
    squared distances between random rows.

    Parameters
    ----------
    regularization : float, default=0.08
        eta, larger than 0: how much of the way to its target a pair is taken. The papers choose among 0.02, 0.08 and
        0.32 (JMLR section 5.3.2).
    n_steps : int, default=20_000
        Pairs that `fit` samples; the most of them with early stopping. `fit_pairs` ignores it.
    relative : bool, default=True
        The variant that OASIS is compared with (JMLR section 5.3.1): a pair of one class is led to u only if it is
        farther apart, a pair of two classes to l only if it is closer. False: the main variant of the original, in
        which every pair is led to its target.
    percentiles : tuple of two floats, default=(5, 95)
        Those of the distances that give u and l, 0 to 100, the first smaller.
    dtype : {"float32", "float64"}, default="float64"
        Of M. The arithmetic is in double precision either way, because single precision loses the positive eigenvalues.
    early_stopping, validation_fraction, trace_points, verbose
        As of `OASIS`.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Of the pairs, the targets and the held-out rows. With an integer s and no early stopping, `fit` is the same as
        `fit_pairs` on ``PairSampler(y, s).sample(n_steps)``, bit for bit.

    Attributes
    ----------
    M_ : numpy.ndarray of shape (d, d)
        The learned matrix, symmetric positive definite.
    u_, l_ : float
        Targets of pairs of one class and of two, squared distances.
    metric_ : str
        ``"sqeuclidean"``.
    n_steps_, n_updates_, curve_, validation_curve_, n_features_in_
        As of `OASIS`; ``loss_rate`` is the share of the steps whose pair was off its target.

    Notes
    -----
    A pair costs one pass over a small part of a matrix of size m x m, and a matrix product every 32 updates. With fewer
    rows than features, or than twice the non-zeros of one, m is n: XMX' follows the recursion of M, with unit vectors
    in the place of rows, and the weights of pairs give M when it is asked for. Otherwise m is d.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(4) + 0.1, [0, 0, 1, 1]
    >>> model = LEGO(n_steps=200, random_state=0).fit(X, y)
    >>> model.rank(X[:1], X[1:], k=1)[0].tolist()
    [[0]]
    """

    accepts = frozenset({"labels", "pairs", "online"})
    chunk: ClassVar[int] = 4_096

    regularization: PositiveFinite = 0.08
    n_steps: Count = 20_000
    _: KW_ONLY
    relative: bool = True
    percentiles: tuple[float, float] = (5, 95)
    dtype: Precision = "float64"

    def fit_pairs(self, X: Matrix, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Learn from exactly these pairs, once each and in this order.

        Parameters
        ----------
        X : array-like, CSR matrix or DataFrame of shape (n, d)
        pairs : array-like of shape (m, 2), or DataFrame or dict of the columns i and j
            Row numbers of X, or ids of its index.
        same : array-like of shape (m,)
            True where the two rows belong together, False where they do not.

        Raises
        ------
        ValueError
            As of `fit`, for rows that X does not have, or a regularization so large that M does not stay positive
            definite up to rounding.
        """
        return self._learn_pairs(X, pairs, same, afresh=True)

    def partial_fit_pairs(self, X: Matrix, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Go on from the matrix and the targets that are there (or start, on a new model) with more pairs.

        The parameters are those of `fit_pairs`; X may be other rows than before, with the same features.
        """
        return self._learn_pairs(X, pairs, same, afresh=not hasattr(self, "M_"))

    def _learn_pairs(self, X: Matrix, pairs: ArrayLike, same: ArrayLike, afresh: bool) -> Self:
        self._check_parameters()
        examples = check_pairs(pairs, same, X)
        X = self._check_rows(X, reset=afresh, ensure_min_samples=1 + afresh)
        if afresh:
            self._set_targets(X, as_seed(self.random_state))
            self._start(X.shape[1])
        return self._train_on(X, feed(examples), len(examples))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = self.percentiles
        two = np.iterable(given) and len(given) == 2 and all(map(is_number, given)) and 0 <= given[0] < given[1] <= 100
        require(self, two, "percentiles", "two of 0 to 100, the first smaller")

    def _set_targets(self, X: Matrix, seed: int) -> None:
        _squared_lengths(X)  # before distances can overflow
        distances = random_distances(X, RANDOM_PAIRS, np.random.default_rng([seed, 3]))
        lower, upper = np.percentile(distances, self.percentiles)
        self.u_, self.l_ = float(lower), float(upper)

    def _start(self, d: int) -> None:
        self.metric_ = "sqeuclidean"
        self.M_ = np.eye(d, dtype=self.dtype)
        super()._start(d)

    def _sampler(self, X: Matrix, y: Array, seed: int) -> Draw:
        draw = PairSampler(y, seed).sample
        self._set_targets(X, seed)
        return draw

    def _prepare(self, X: Matrix, n_steps: int) -> _LazyMatrix:
        n, d = X.shape
        X = less(X, centre_of(X, FAR))  # distances stay, and so do most zeros
        # z'Mz of d x d takes the square of its non-zeros, up to twice a row's, and of n x n four numbers
        non_zeros = (X.nnz if is_sparse(X) else np.count_nonzero(X)) / n
        if self.n_steps_ == 0 and (n < d or n <= 2 * non_zeros):
            return _RowProducts(X)
        return _LazyMatrix(X, self.M_, _squared_lengths(X))

    def _take(self, work: _LazyMatrix, examples: Ints) -> tuple[int, int]:
        return work.steps(examples, (self.l_, self.u_), bool(self.relative), float(self.regularization))

    def _show(self, work: _LazyMatrix) -> None:
        self.M_ = work.matrix().astype(self.dtype, copy=False)


class _LazyMatrix:
    """Rows, a d x d matrix from M on, and the vectors of recent steps that are still to be taken off it."""

    def __init__(self, rows: Matrix, matrix: Array, squared_lengths: Doubles, n_weights: int = 0) -> None:
        rows = sp.csr_array(rows, dtype=np.float64, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        self._matrix = np.array(matrix, dtype=np.float64)
        self._recent = np.empty((BLOCK, len(matrix)))
        self._factors = np.empty(BLOCK)
        self._n_recent = 0
        self._weights = np.zeros((n_weights, n_weights))
        self._rows = Rows(*Compressed.from_scipy(rows), squared_lengths)

    def steps(
        self, pairs: Ints, targets: tuple[float, float], relative: bool, regularization: float
    ) -> tuple[int, int]:
        """Take one step per pair (i, j, same); return how many pairs were off target, and how many were changed."""
        losses = updates = taken = 0
        while taken < len(pairs):
            state = (self._matrix, self._recent, self._factors, self._n_recent, self._weights)
            new, new_losses, new_updates = lego_steps(
                *state, self._rows, pairs[taken:], targets, relative, regularization
            )
            self._n_recent += new_updates
            taken += new
            losses += new_losses
            updates += new_updates
            if self._n_recent == BLOCK:
                _subtract(self._matrix, self._recent, self._factors)
                self._n_recent = 0
        return losses, updates

    def matrix(self) -> Doubles:
        """Return the d x d matrix as it is now, symmetric to the bit; what comes after is not changed by it."""
        matrix = self._matrix.copy()
        _subtract(matrix, self._recent[: self._n_recent], self._factors[: self._n_recent])
        matrix = (matrix + matrix.T) / 2
        _cholesky(matrix)
        return matrix


class _RowProducts(_LazyMatrix):
    """The same from M = I for fewer rows than features: XMX' follows the recursion of M, with unit vectors as rows."""

    def __init__(self, X: Matrix) -> None:
        squared_lengths = _squared_lengths(X)  # refuses what overflows, before the span is sought
        self._span = Span(X)
        coordinates, n = self._span.coordinates, X.shape[0]
        super().__init__(sp.eye_array(n), coordinates @ coordinates.T, squared_lengths, n)

    def matrix(self) -> Doubles:
        # M = (I + X'DX)^-1, with D the sum of the pairs' weights
        coordinates = self._span.coordinates
        inverse = coordinates.T @ (self._weights @ coordinates)
        inverse[np.diag_indices_from(inverse)] += 1.0
        half = scipy.linalg.solve_triangular(_cholesky(inverse), np.eye(len(inverse)), lower=True, check_finite=False)
        return self._span.full_matrix(half.T @ half)


def random_distances(X: Matrix, n_pairs: int, random: np.random.Generator) -> Doubles:
    """Return the squared Euclidean distances of `n_pairs` pairs of different rows, drawn with replacement."""
    n = X.shape[0]
    first = random.integers(n, size=n_pairs)
    second = (first + random.integers(1, n, size=n_pairs)) % n
    return squared_distances(X, first, second)


def _squared_lengths(X: Matrix) -> Doubles:
    # of a copy, because SciPy's power sorts the indices of its matrix
    with np.errstate(over="ignore"):
        lengths: Doubles = np.asarray(sp.csr_array(X, dtype=np.float64, copy=True).power(2).sum(axis=1)).ravel()
    if not np.isfinite(lengths.sum()):
        raise ValueError("X has rows whose squared length overflows: scale its rows, for instance to length 1")
    return lengths


def _cholesky(matrix: Doubles) -> Doubles:
    """Return the lower Cholesky factor of M or its inverse, which both are positive definite in exact arithmetic."""
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "M is not positive definite any more up to rounding: learn with a smaller regularization, or scale the "
            "rows of X, for instance to length 1"
        ) from error


def _subtract(matrix: Doubles, vectors: Doubles, factors: Doubles) -> None:
    """Take the sum of ``factors[k] * outer(vectors[k], vectors[k])`` off a matrix, in place."""
    if len(vectors):
        # the transposes are column-major views, so BLAS works in place and no second matrix is made
        scaled = (vectors * factors[:, None]).T
        scipy.linalg.blas.dgemm(-1.0, vectors.T, scaled, 1.0, matrix.T, trans_b=True, overwrite_c=True)


@njit(cache=True, nogil=True)
def lego_steps(
    A: Doubles,
    recent: Doubles,
    factors: Doubles,
    n_recent: int,
    inverse_weights: Doubles,
    rows: Rows,
    pairs: Ints,
    targets: tuple[float, float],
    relative: bool,
    regularization: float,
) -> tuple[int, int, int]:
    """Take one step a pair until all are taken or `recent` is full; return steps, pairs off target, and updates."""
    # in force is A, which is only read, less the sum of factors[k] outer(recent[k], recent[k]) over k < n_recent
    room, products = room_for(2 * longest_row(rows), A), np.empty(recent.shape[0])
    losses = updates = 0
    for p in range(pairs.shape[0]):
        if n_recent == recent.shape[0]:
            return p, losses, updates
        i, j, same = pairs[p, 0], pairs[p, 1], pairs[p, 2]
        z = subtract_rows(rows, i, j, room)
        distance = 0.0
        for k in range(z.places.shape[0]):
            distance += z.values[k] * sparse_dot(A[z.places[k]], z)
        for k in range(n_recent):
            products[k] = factors[k] * sparse_dot(recent[k], z)
            distance -= products[k] * products[k] / factors[k]
        target = targets[same]
        # the distance of a row to itself may come out a rounding below 0
        error = max(distance, 0.0) - target
        if error == 0.0 or (relative and (error < 0.0) == (same == 1)):
            continue
        losses += 1
        if distance <= SMALLEST_DISTANCE * (rows.squared_norms[i] + rows.squared_norms[j]):
            continue
        after, weight = logdet_step(distance, target, regularization)
        if weight == 0.0:
            continue
        updates += 1
        direction = recent[n_recent]
        direction[:] = 0.0
        for k in range(z.places.shape[0]):
            add_dense(direction, z.values[k], A[z.places[k]])
        for k in range(n_recent):
            add_dense(direction, -products[k], recent[k])
        # yb / yh = 1 / (1 + weight yh): the rank-one form of adding weight zz' to the inverse
        factors[n_recent] = weight * after / distance
        n_recent += 1
        # the inverse gains X' inverse_weights X
        if inverse_weights.shape[0] > 0:
            inverse_weights[i, i] += weight
            inverse_weights[j, j] += weight
            inverse_weights[i, j] -= weight
            inverse_weights[j, i] -= weight
    return pairs.shape[0], losses, updates


@njit(cache=True, nogil=True)
def logdet_step(distance: float, target: float, regularization: float) -> tuple[float, float]:
    """Return the distance yb after the step, and the weight eta (yb - y) that zz' gets in the inverse of A."""
    # yb is the positive root of eta yh yb^2 - (eta y yh - 1) yb - yh = 0; so nothing cancels, and nothing overflows
    half = 0.5 * (target - 1.0 / (regularization * distance))
    root = hypot(half, 1.0 / sqrt(regularization))
    after = half + root if half > 0.0 else 1.0 / (regularization * (root - half))
    # both weights are equal, and one of the two differences is exact
    if abs(after - target) > abs(distance - after):
        return after, regularization * (after - target)
    return after, (distance - after) / distance / after
