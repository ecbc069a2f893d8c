"""OASIS in the span of its rows: W = I + X'AX, so that a step needs the rows' inner products and no feature.

With G = XX' and T = (AG)', a triplet (p, a, b) scores G[p, a] - G[p, b] + G[p] (T[a] - T[b])', and an update of length
tau adds tau (G[a] - G[b])' to column p of T, whatever the number of features.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from lookalike.core.arrays import Array, Doubles, Ints, Longs, Matrix
from lookalike.core.kernels import njit
from lookalike.learners.base import SimilarityLearner
from lookalike.learners.centring import FAR, NEAR, centre_of, is_sparse, less, squared_distances
from lookalike.learners.kernels import DISSIM, ONLINE_PROJ, PLAIN, Compressed, canonical_csr, refuse_infinity
from lookalike.learners.projections import nearest_psd
from lookalike.ranking.rankings import Rankings, rank_leave_one_out, rank_scores

LARGEST_BYTES = 2**30
"""Of G, and of T and the log of updates of every ranker."""
LARGEST_ON_PRODUCTS = 10_000
"""C up to which steps are taken on products: of longer ones T keeps too few digits between nearly equal rows."""
LOST = 1e-3
"""Squared distances below this share of the squared lengths of both rows come from the rows and not from products."""
SPARSE_BELOW = 0.25
"""Share of values that are not zero below which dense rows are taken as sparse, and dual_coef are held so."""
LATER_FROM = 2**21
"""Bytes of T, more than near caches have, from which plain steps too leave an update to the next step on a row."""
IN_A_CACHE_LINE = 8
"""Numbers of T, at least."""
TILE = 1_024
"""Columns of W that are formed at a time."""

# Seconds which `is_faster` compares, from benchmarks/oasis_steps.py; of dense rows with 128 to 2,048 features in place
# of its 768. They are constants, so that machines decide alike.
PRODUCT_SECONDS, DENSE_PRODUCT_SECONDS = 0.2e-9, 0.014e-9
"""Of G, for each row and value: of sparse rows those that are not zero, of dense ones all."""
STEP_SECONDS = 2.1e-9
"""Of a step on G, for each row."""
HEAD_SECONDS = 70e-9
"""Of a step on W, for each value of p that is not zero: the frequent features."""
TAIL_SECONDS = (0.7e-9, 0.73e-12, 5.3e-9)
"""Of a step on W, for each pair of values: at least, for each feature, and at most (memory instead of cache)."""
DENSE_SECONDS = (0.9e-6, 5e-9, 0.058e-9)
"""Of a step on W with dense rows: for itself, for each feature, and for each number of W."""
DENSE_FROM = 128
"""Features from which dense rows are faster taken in blocks of steps."""
Moment = tuple[int, int, sp.csr_array]
"""Updates so far, those before the last projection, and the dual_coef that this left."""


def is_dense(X: Matrix) -> bool:
    """Tell whether rows are an array of which many values are not zero."""
    return not is_sparse(X) and np.count_nonzero(X) >= SPARSE_BELOW * X.size


def is_faster(X: Matrix, n_steps: int) -> bool:
    """Tell whether so many steps on these rows cost less on their inner products, G included, than on W."""
    (n, d), per_row_and_value = X.shape, PRODUCT_SECONDS
    n_values = int(X.nnz if is_sparse(X) else np.count_nonzero(X))
    values = n_values / max(1, n)
    least, per_feature, most = TAIL_SECONDS
    on_W = values * (HEAD_SECONDS + min(max(least, per_feature * d), most) * min(2 * values, d))
    if is_dense(X):
        n_values, per_row_and_value = X.size, DENSE_PRODUCT_SECONDS
        itself, of_feature, of_number = DENSE_SECONDS
        on_W = min(on_W, itself + of_feature * d + of_number * d * d)
    on_products = per_row_and_value * n * n_values + n_steps * n * STEP_SECONDS
    return bool(on_products < n_steps * on_W)


def bytes_of_products(n_rows: int, n_steps: int, dtype: DTypeLike, n_rankers: int) -> int:
    """Return the memory that so many steps on inner products take."""
    size = int(np.dtype(dtype).itemsize)
    return (1 + n_rankers) * n_rows * n_rows * size + n_rankers * n_steps * (12 + size)


class Gram:
    """Rows in the dtype of learning and their inner products, made once for all that learns from these rows.

    Only differences of products count, and of rows that are far from the origin float32 leaves nothing of these: their
    products are in float64.
    """

    def __init__(
        self, X: Matrix, dtype: DTypeLike, is_dense: bool, centre: Doubles | None = None, is_far: bool = False
    ) -> None:
        self._given, self._dtype, self._is_dense = X, np.dtype(dtype), is_dense
        self._centre, self._is_far = centre, is_far
        # W is made of the rows as the dtype holds them, so steps are taken on these
        self.rows = self._stored(less(X, centre))
        self.n_rows = int(X.shape[0])

    @classmethod
    def copied(cls, X: Matrix, dtype: DTypeLike) -> Gram:
        """Copy rows in a dtype, as CSR unless many of their values are not zero."""
        return cls(X, dtype, is_dense(X), is_far=centre_of(X, FAR) is not None)

    @cached_property
    def of_distances(self) -> Gram:
        """Return the rows less their centre alone, which is all that distances need."""
        centre = centre_of(self._given, NEAR if self._is_dense else FAR)
        return Gram(self._given, self._dtype, self._is_dense, centre, self._is_far)

    def like(self, X: Matrix) -> Gram:
        """Return other rows, stored and moved as these."""
        return Gram(X, self._dtype, self._is_dense, self._centre, self._is_far)

    @cached_property
    def products(self) -> Array:
        """Return G = XX'."""
        return self.products_with(self)

    def products_with(self, other: Gram) -> Array:
        """Return the products of these rows with others."""
        wide, others = self._wide, other._wide
        with np.errstate(over="ignore"):
            return product_of_rows(wide, wide if other is self else others)

    @property
    def _wide(self) -> Matrix:
        return self.rows.astype(np.float64, copy=False) if self._is_far else self.rows

    def squared_distances(self, triplets: Ints) -> Doubles:
        """Return the squared distances of p+ and p-, from the rows where products tell too little of them."""
        lengths: Doubles = np.empty(len(triplets))
        _distances(self.products, triplets, lengths)
        lost = np.flatnonzero(np.isnan(lengths))
        if len(lost):
            lengths[lost] = squared_distances(self.rows, *triplets[lost, 1:].T)
        return lengths

    @cached_property
    def roots(self) -> Doubles:
        """Return C of shape (n, n) with CC' = G: the rows in coordinates of their span."""
        values, vectors = np.linalg.eigh(self.products.astype(np.float64))
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def _stored(self, X: Matrix) -> Matrix:
        if not self._is_dense:
            return canonical_csr(X, self._dtype)
        with np.errstate(over="ignore"):
            return refuse_infinity(np.array(X.toarray() if is_sparse(X) else X, dtype=self._dtype, order="C"))


def product_of_rows(left: Matrix, right: Matrix, columns: Compressed | None = None) -> Array:
    """Return the inner products of rows of one dtype; those of CSR rows by the `columns` of the right ones."""
    if not is_sparse(left) or not is_sparse(right):
        products = left @ right.T
        return np.asarray(products.toarray() if is_sparse(products) else products)
    products = np.zeros((left.shape[0], right.shape[0]), right.dtype)
    columns = Compressed.from_scipy(right.tocsc()) if columns is None else columns
    _add_product(Compressed.from_scipy(left), columns, products, left is right)
    return products


class ValidationRows:
    """Rows that models are scored on again and again, along a curve: products with training rows are made once."""

    def __init__(self, rows: Matrix) -> None:
        self.rows = rows
        self._products: tuple[Gram, Array, Array] | None = None

    def products(self, gram: Gram) -> tuple[Array, Array]:
        """Return the inner products of the rows of `gram` with these rows, and of these with each other."""
        if self._products is None or self._products[0] is not gram:
            own = gram.like(self.rows)
            self._products = gram, gram.products_with(own), own.products
        return self._products[1:]

    def scores(self, model: SimilarityLearner) -> Array:
        """Return the similarities of all pairs of the rows."""
        scores = model.scores_among(self)
        return np.asarray(model.similarity(self.rows, self.rows) if scores is None else scores)

    def rankings(self, model: SimilarityLearner, y: ArrayLike) -> Rankings:
        """Let the rows query each other (`rank_leave_one_out`), by products of rows where the model learns on those."""
        scores = model.scores_among(self) if hasattr(model, "scores_among") else None
        if scores is None:
            return rank_leave_one_out(model, self.rows, y, n_neighbours=0)
        return rank_scores(scores, y)


class DualForm:
    """A learned W = I + X'AX: `rows` X and `dual_coef` A of them. W is formed when somebody asks for it."""

    rows: Matrix
    dual_coef: sp.csr_array
    goes_through_rows: bool
    """Whether `project` is cheaper than a product with W."""
    gram: Gram | None = None
    """While it learns: all rows, of which those numbered `used` have a coefficient."""
    used: Longs

    def __init__(self, rows: Matrix, dual_coef: Matrix) -> None:
        n, d = rows.shape
        if not is_sparse(dual_coef) or dual_coef.shape != (n, n) or rows.dtype not in (np.float32, np.float64):
            raise ValueError(f"{n} rows of {rows.dtype} have no coefficients of shape {dual_coef.shape}")
        self.rows, self.dual_coef, self.dtype = rows, dual_coef, rows.dtype
        # by shapes alone, so that a model gives the same bits whether or not somebody has asked for W
        self.goes_through_rows = 4 * n <= d

    @classmethod
    def identity(cls, d: int, dtype: str) -> DualForm:
        """Return the form of W = I, which has no rows."""
        return cls(sp.csr_array((0, d), dtype=dtype), sp.csr_array((0, 0), dtype=np.float64))

    def __reduce__(self) -> tuple[object, ...]:
        """Leave out what can be made again, and what it was learned on."""
        return DualForm, (self.rows, self.dual_coef)

    @cached_property
    def matrix(self) -> Array:
        """Return W, read-only; where A is symmetric, W is so to the bit."""
        rows, A = self.rows, self.dual_coef
        is_symmetric = not abs(A - A.T).sum()
        W = np.eye(rows.shape[1], dtype=self.dtype)
        if is_sparse(rows):
            products = np.zeros(rows.shape)
            _add_product(Compressed.from_scipy(A), Compressed.from_scipy(rows), products, False)
            _add_in_tiles(W, self._columns, products.astype(self.dtype, copy=False), is_symmetric)
        elif is_symmetric:  # of rows that are far from the origin, large parts cancel
            W = W + rows.T.astype(np.float64) @ (A @ rows)
            W = ((W + W.T) / 2).astype(self.dtype, copy=False)
        else:
            W += rows.T @ (A @ rows).astype(self.dtype, copy=False)
        W.flags.writeable = False
        return W

    def project(self, queries: Matrix) -> Matrix:
        """Return QW, as Q + ((QX')A)X, where that is cheaper."""
        queries = queries.astype(self.dtype, copy=False)
        products = product_of_rows(queries, self.rows, self._columns if is_sparse(self.rows) else None)
        weights = (products @ self._weights).astype(self.dtype, copy=False)
        return np.asarray(queries + weights @ self.rows)

    def products_among(self, seen: ValidationRows) -> Array | None:
        """Return x'Wy of all pairs of seen rows, where products of rows are there for it."""
        if self.gram is None:
            return None
        products, own = seen.products(self.gram)
        products = products[self.used]
        return np.asarray(own + (products.T @ self._weights).astype(products.dtype, copy=False) @ products)

    def sums(self) -> tuple[float, float, float]:
        """Return the trace of W, the sum of W_ij^2, and the sum of W_ij W_ji."""
        if self.gram is None:
            products = product_of_rows(self.rows, self.rows)
        else:
            products = self.gram.products[np.ix_(self.used, self.used)]
        G, A = products.astype(np.float64), self._weights
        AG, GA = A @ G, G @ A
        trace, d = float(np.trace(AG)), self.rows.shape[1]
        return d + trace, d + 2 * trace + float(np.vdot(AG, GA)), d + 2 * trace + float(np.sum(AG * AG.T))

    def symmetric(self) -> DualForm:
        """Return (W + W') / 2."""
        return self._with((self.dual_coef + self.dual_coef.T) / 2)

    def nearest_psd(self) -> DualForm | Array:
        """Return the positive semidefinite matrix nearest to W (JMLR section 6.2)."""
        if self.gram is None or 2 * self.gram.n_rows > self.rows.shape[1]:
            return nearest_psd(self.matrix)
        return self._with(nearest_psd_dual_coef(self.dual_coef, self.gram.roots[self.used]))

    def _with(self, dual_coef: Matrix) -> DualForm:
        """Return other dual_coef of the same rows."""
        form = DualForm(self.rows, sp.csr_array(dual_coef))
        form.gram, form.used = self.gram, self.used
        return form

    @cached_property
    def _columns(self) -> Compressed:
        """Return CSR rows column by column."""
        return Compressed.from_scipy(self.rows.tocsc())

    @cached_property
    def _weights(self) -> Matrix:
        """Return A as products take it fastest."""
        A = self.dual_coef
        return A if A.nnz < SPARSE_BELOW * A.shape[0] ** 2 else A.toarray()


def nearest_psd_dual_coef(dual_coef: sp.csr_array, C: Doubles) -> Doubles:
    """Return symmetric dual_coef A that make I + X'AX positive semidefinite and nearest to what it was; CC' = XX'."""
    # X'AX of a symmetric A has the eigenvalues of K = C'AC. Where Ku = mu u and w = ACu / mu, X'w is its eigenvector of
    # length 1. Only 1 + mu < 0 is taken away, so that nothing small is divided by.
    A = (dual_coef + dual_coef.T).toarray() / 2
    AC = A @ C
    K = C.T @ AC
    values, vectors = scipy.linalg.eigh((K + K.T) / 2, subset_by_value=(-np.inf, -1.0))
    w = (AC @ vectors) / values
    positive = A - (w * (1 + values)) @ w.T
    return np.asarray((positive + positive.T) / 2)


class LearningForm(DualForm):
    """The mean of rankers' forms while they learn: read from their steps when asked for, as it was at this moment."""

    def __init__(self, rankers: list[DualSteps], moments: list[Moment], is_symmetric: bool = False) -> None:
        self._rankers, self._moments, self._is_symmetric = rankers, moments, is_symmetric
        self.gram, self.dtype = rankers[0].gram, rankers[0].gram.rows.dtype

    def __getattr__(self, name: str) -> object:
        """Read from the steps what is not there yet."""
        if name not in ("rows", "dual_coef", "used", "goes_through_rows"):
            raise AttributeError(name)
        A = mean([ranker.dual_coef(moment) for ranker, moment in zip(self._rankers, self._moments, strict=True)])
        A = sp.csr_array((A + A.T) / 2) if self._is_symmetric else A
        A.eliminate_zeros()
        self.used = np.union1d(np.flatnonzero(np.diff(A.indptr)), A.indices)
        super().__init__(self._rankers[0].gram.rows[self.used], sp.csr_array(A[self.used][:, self.used]))
        return self.__dict__[name]

    def products_among(self, seen: ValidationRows) -> Array | None:
        """Return x'Wy of all pairs of seen rows: while steps have not gone on, from these."""
        if [ranker.moment for ranker in self._rankers] != self._moments:
            return super().products_among(seen)
        products = mean([ranker.products_among(seen) for ranker in self._rankers])
        return np.asarray((products + products.T) / 2 if self._is_symmetric else products)

    def symmetric(self) -> DualForm:
        """Return (W + W') / 2."""
        return LearningForm(self._rankers, self._moments, True)


def mean(parts: list[Any]) -> Any:
    """Return the mean of matrices, dense or sparse."""
    return parts[0] if len(parts) == 1 else sum(parts) / len(parts)


class DualSteps:
    """The steps of one learner on inner products: T, which they read, and the log of updates, of which A is made."""

    def __init__(self, gram: Gram, kind: int, aggressiveness: float, n_steps: int) -> None:
        n, dtype = gram.n_rows, gram.products.dtype
        self.gram, self._kind, self._aggressiveness = gram, kind, aggressiveness
        self._log = Log(np.empty((n_steps, 3), np.uint32), np.empty(n_steps, dtype))
        self.n_updates = self._n_projected = 0
        self._projected = sp.csr_array((n, n), dtype=np.float64)
        # an update writes columns of T, whose numbers are far apart in memory, and a step reads one row or two: so a
        # row gets its updates when a step reads it
        self._T, self._current, self._squares = np.zeros((n, n), dtype), np.zeros(n, np.int64), np.zeros(n)
        self._seen: dict[ValidationRows, tuple[Array, int]] = {}

    def take(self, triplets: Ints) -> tuple[int, int]:
        """Take one step a triplet; return how many had a loss, and how many an update."""
        before = self.n_updates
        if before + len(triplets) > len(self._log.taus):
            raise ValueError(f"{len(triplets):,} steps are more than the log has room for")
        lengths = self.gram.squared_distances(triplets)
        state = self._T, self._current, self._squares, self.gram.products, self._log, before
        losses, self.n_updates = dual_steps(*state, triplets, lengths, self._aggressiveness, self._kind)
        return losses, self.n_updates - before

    def project(self) -> None:
        """Set W of plain steps to the nearest positive semidefinite matrix, for at most d / 2 rows of d features."""
        if self.n_updates > self._n_projected:  # else W is so, and a moment has one W
            A = nearest_psd_dual_coef(self.dual_coef(self.moment), self.gram.roots)
            self._projected, self._n_projected = sp.csr_array(A), self.n_updates
            self._T[:], self._current[:] = self.gram.products @ A, self.n_updates
            self._seen = {}

    @property
    def moment(self) -> Moment:
        """Return the version of W: what makes it."""
        return self.n_updates, self._n_projected, self._projected

    def dual_coef(self, moment: Moment) -> sp.csr_array:
        """Return A of a moment, its sums in double precision; A of symmetric steps is so to the bit."""
        n_updates, n_projected, projected = moment
        p, a, b = self._log.triplets[n_projected:n_updates].T.astype(np.int32)
        taus, n = self._log.taus[n_projected:n_updates].astype(np.float64), self.gram.n_rows
        places = np.concatenate([p, p]), np.concatenate([a, b])
        sums = sp.csr_array(sp.coo_array((np.concatenate([taus, -taus]), places), shape=(n, n)))
        if self._kind == PLAIN:
            return sp.csr_array(projected + sums)
        both = sp.csr_array(sums + sums.T)
        if self._kind == ONLINE_PROJ:
            return sp.csr_array(both / 2)
        # bb' - aa' has -1 at (p+, p+) and 1 at (p-, p-), where the columns of a step have 1 and -1
        return sp.csr_array(both - sp.diags_array(sums.sum(axis=0)))

    def products_among(self, seen: ValidationRows) -> Array:
        """Return x'Wy of all pairs of seen rows, of which T takes the updates since it was last asked for."""
        products, own = seen.products(self.gram)
        if seen not in self._seen:
            T = (products.T @ self._projected).astype(products.dtype, order="F")
            self._seen[seen] = T, self._n_projected
        T, n_added = self._seen[seen]
        add_updates(T, products, self._log, n_added, self.n_updates, self._kind)
        self._seen[seen] = T, self.n_updates
        return np.asarray(own + products.T @ T.T)

    def has_overflowed(self) -> bool:
        """Tell whether a number is too large for the dtype."""
        catch_up_all(self._T, self._current, self.gram.products, self._log, self.n_updates, self._kind)
        return not (is_finite(self.gram.products) and is_finite(self._T))


def is_finite(matrix: Array) -> bool:
    """Tell whether all numbers of a matrix are finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(matrix.sum(dtype=np.float64)))


class Log(NamedTuple):
    """The triplet and the length of every update."""

    triplets: NDArray[np.uint32]
    taus: Array


@njit(cache=True, nogil=True)
def dual_steps(
    T: Array,
    current: Longs,
    squares: Doubles,
    G: Array,
    log: Log,
    n_updates: int,
    triplets: Ints,
    lengths: Doubles,
    aggressiveness: float,
    kind: int,
) -> tuple[int, int]:
    """Take one step a triplet as `take_steps` does; return how many had a loss, and the new length of the log.

    `lengths` are the squared distances of p+ and p-; `squares` are x'(M - I)x of all rows, for steps of a distance.
    """
    losses, aa, bb, product = 0, 0.0, 0.0, 0.0
    is_later = kind != PLAIN or T.nbytes > LATER_FROM
    for t in range(triplets.shape[0]):
        p, a, b = triplets[t, 0], triplets[t, 1], triplets[t, 2]
        pp, pa, pb = float(G[p, p]), float(G[p, a]), float(G[p, b])
        for row in (a, b) if kind == PLAIN else (p, p):
            if is_later and current[row] < n_updates:
                catch_up(T, row, current, G, log, n_updates, kind)
        if kind == PLAIN:
            score = pa - pb + _dot(G[p], T[a], T[b])
        elif kind == ONLINE_PROJ:  # A is symmetric, so that one row of T is enough
            score = pa - pb + _dot(T[p], G[a], G[b])
        else:  # s'Mv, s = 2p - p+ - p- and v = p+ - p-
            aa, bb = float(G[a, a]), float(G[b, b])
            product = 2 * (pa - pb) - aa + bb
            score = product + 2 * _dot(T[p], G[a], G[b]) - squares[a] + squares[b]
        loss = 1.0 - score
        if loss <= 0.0:
            continue
        losses += 1

        norm = lengths[t] * pp
        if kind == DISSIM:
            squared = 4 * (pp - pa - pb) + aa + bb + 2 * float(G[a, b])  # of s
            norm = 0.5 * (lengths[t] * max(squared, 0.0) + product * product)
        if norm == 0.0 or lengths[t] == 0.0:
            continue
        update = log.triplets[n_updates]
        update[0], update[1], update[2], log.taus[n_updates] = p, a, b, min(aggressiveness, loss / norm)
        if kind == DISSIM:
            for j in range(squares.shape[0]):
                to_a, to_b = float(G[p, j]) - float(G[a, j]), float(G[p, j]) - float(G[b, j])
                squares[j] += log.taus[n_updates] * (to_b * to_b - to_a * to_a)
        n_updates += 1
        if not is_later:
            add_updates(T, G, log, n_updates - 1, n_updates, kind)
    if not is_later:
        current[:] = n_updates
    return losses, n_updates


@njit(cache=True, nogil=True)
def catch_up(T: Array, row: int, current: Longs, G: Array, log: Log, n_updates: int, kind: int) -> None:
    """Add the updates of the log to a row of T that it does not have yet."""
    share, own = T.dtype.type(0.5 if kind == ONLINE_PROJ else 1.0), T.dtype.type(kind == DISSIM)
    line, products = T[row], G[row]
    # touch each line of the cache: what is read in order arrives from memory in a fraction of the time
    total = line.dtype.type(0)
    for k in range(0, line.shape[0], IN_A_CACHE_LINE):
        total += line[k] + products[k]
    if total != total:
        line[0] = total  # an overflow, which stays; without a use of it the compiler would leave the loop out
    for s in range(current[row], n_updates):
        p, a, b = log.triplets[s, 0], log.triplets[s, 1], log.triplets[s, 2]
        tau = share * log.taus[s]
        line[p] += tau * (products[a] - products[b])
        if kind != PLAIN:
            line[a] += tau * (products[p] - own * products[a])
            line[b] -= tau * (products[p] - own * products[b])
    current[row] = n_updates


@njit(cache=True, nogil=True)
def catch_up_all(T: Array, current: Longs, G: Array, log: Log, n_updates: int, kind: int) -> None:
    """Add the updates of the log to all rows of T that do not have them yet."""
    for row in range(T.shape[0]):
        if current[row] < n_updates:
            catch_up(T, row, current, G, log, n_updates, kind)


@njit(cache=True, nogil=True)
def add_updates(T: Array, products: Array, log: Log, start: int, stop: int, kind: int) -> None:
    """Add updates of the log to T of some rows, given the products of all learned rows with them."""
    share = T.dtype.type(0.5 if kind == ONLINE_PROJ else 1.0)
    own = T.dtype.type(kind == DISSIM)
    for s in range(start, stop):
        p, a, b = log.triplets[s, 0], log.triplets[s, 1], log.triplets[s, 2]
        tau, with_p, with_a, with_b = share * log.taus[s], products[p], products[a], products[b]
        for j in range(T.shape[0]):
            T[j, p] += tau * (with_a[j] - with_b[j])
        if kind != PLAIN:
            for j in range(T.shape[0]):
                T[j, a] += tau * (with_p[j] - own * with_a[j])
                T[j, b] -= tau * (with_p[j] - own * with_b[j])


@njit(cache=True, nogil=True)
def _distances(products: Array, triplets: Ints, lengths: Doubles) -> None:
    """Write squared distances of rows; NaN where they are so short that products have lost their digits."""
    for t in range(lengths.shape[0]):
        a, b = triplets[t, 1], triplets[t, 2]
        squares = float(products[a, a]) + float(products[b, b])
        length = squares - 2 * float(products[a, b])
        lengths[t] = length if length > LOST * squares else np.nan


# fastmath lets the compiler sum in vector lanes: another order than one by one, the same on every run of a machine.
@njit(cache=True, nogil=True, fastmath=True)
def _dot(left: Array, right: Array, without: Array) -> float:
    """Return left (right - without)'."""
    total = left.dtype.type(0)
    for k in range(left.shape[0]):
        total += left[k] * (right[k] - without[k])
    return float(total)


@njit(cache=True, nogil=True)
def _add_product(left: Compressed, right: Compressed, product: Array, is_symmetric: bool) -> None:
    """Add the product of two CSR matrices to a dense one; of a symmetric product half is computed."""
    first = right.indptr[:-1].copy()
    for i in range(product.shape[0]):
        row = product[i]
        for k in range(left.indptr[i], left.indptr[i + 1]):
            number, value = left.indices[k], left.data[k]
            for c in range(first[number], right.indptr[number + 1]):
                row[right.indices[c]] += value * right.data[c]
            if is_symmetric:
                first[number] += 1  # so that what is left of the diagonal is left out
    if is_symmetric:
        _mirror(product)


@njit(cache=True, nogil=True)
def _add_in_tiles(W: Array, columns: Compressed, products: Array, is_symmetric: bool) -> None:
    """Add X' times dense rows to W, one tile of columns after the other; of a symmetric sum only one half."""
    d = W.shape[0]
    for left in range(0, d, TILE):
        for feature in range(d):
            start, stop = max(left, feature) if is_symmetric else left, min(d, left + TILE)
            if start >= stop:
                continue
            row = W[feature, start:stop]
            for c in range(columns.indptr[feature], columns.indptr[feature + 1]):
                value, added = columns.data[c], products[columns.indices[c], start:stop]
                for k in range(row.shape[0]):
                    row[k] += value * added[k]
    if is_symmetric:
        _mirror(W)


@njit(cache=True, nogil=True)
def _mirror(matrix: Array) -> None:
    """Copy the upper half of a matrix to the lower one, in tiles."""
    n = matrix.shape[0]
    for top in range(0, n, 64):
        for left in range(top, n, 64):
            for i in range(top, min(n, top + 64)):
                for j in range(max(left, i + 1), min(n, left + 64)):
                    matrix[j, i] = matrix[i, j]
