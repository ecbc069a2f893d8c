"""OASIS in the span of its rows: W = I + X'AX, so that a step needs the rows' inner products and no feature.

With G = XX' and T = (AG)', a triplet (p, a, b) scores G[p, a] - G[p, b] + G[p] (T[a] - T[b])', and an update of length
tau adds tau (G[a] - G[b])' to column p of T, whatever the number of features.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.core.kernels import njit
from lookalike.learners.base import Matrix, is_sparse, largest_value, psd_factor
from lookalike.learners.projections import nearest_psd
from lookalike.learners.sparse_rows import canonical_csr, permuted, refuse_infinity
from lookalike.ranking.rankings import Rankings, rank_leave_one_out

PLAIN, ONLINE_PROJ, DISSIM = range(3)
"""Kinds of steps: by V = p (p+ - p-)', by its symmetric part, and that of a distance (see `symmetric_steps`)."""

LARGEST_BYTES = 2**30
"""Of G and all T together."""
LOG_LENGTH = 2**20
"""Updates that are remembered one by one; more are summed."""
SPARSE_BELOW = 0.25
"""Share of values that are not zero below which dense rows are taken as sparse."""
TILE = 1_024
"""Columns of W that are formed at a time."""

# Seconds measured by benchmarks/oasis_steps.py, which `pays` compares: constants, so that every machine decides alike.
DIRECT_ROWS = 512
"""Rows up to which an update is written to T at once."""
PRODUCT_SECONDS = 0.2e-9
"""Of G, for each row and value that is not zero."""
STEP_SECONDS = (1.2e-9, 0.6e-12)
"""Of a step on G, for each row, and for each pair of rows."""
HEAD_SECONDS = 70e-9
"""Of a step on W, for each value of p that is not zero: the frequent features."""
TAIL_SECONDS = (0.7e-9, 0.73e-12, 5.3e-9)
"""Of a step on W, for each pair of values: at least, for each feature, and at most (memory instead of cache)."""

NO_MARGINS = np.empty(0)

Followed = tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]
"""T of rows, their products with the learned rows, and where in the log each row of T is."""
Parts = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[Any]]
"""Starts, numbers and values of a CSR or CSC matrix, as kernels take them."""


def pays(n_rows: int, n_values: int, d: int, n_steps: int) -> bool:
    """Tell whether so many steps cost less on inner products of rows, G included, than on W."""
    values = n_values / max(1, n_rows)
    least, per_feature, most = TAIL_SECONDS
    tail = min(max(least, per_feature * d), most) * min(2 * values, d)
    per_row, per_pair = STEP_SECONDS
    on_products = PRODUCT_SECONDS * n_rows * n_values + n_steps * n_rows * (per_row + per_pair * n_rows)
    return on_products < n_steps * values * (HEAD_SECONDS + tail)


def bytes_of_products(n_rows: int, dtype: Any, n_rankers: int) -> int:
    """Return the memory of G and of T for each ranker."""
    return (1 + n_rankers) * n_rows * n_rows * int(np.dtype(dtype).itemsize)


def may_overflow(values: Matrix, width: int, n_updates: int, aggressiveness: float) -> bool:
    """Tell whether a bound leaves it open that sums of `width` terms grew too large, so that they must be looked at."""
    largest = max(1.0, largest_value(values))
    size = 4 * width * (largest * largest)  # of products of rows or their differences
    return not ((1 + n_updates * aggressiveness * size) * size < np.finfo(values.dtype).max and size * size < 1e300)


def is_finite(matrix: NDArray[Any]) -> bool:
    """Tell whether all numbers of a matrix are finite, and their sum."""
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(matrix.sum(dtype=np.float64)))


class Gram:
    """Rows in the dtype of learning and their inner products, made once for all that learns from these rows."""

    def __init__(self, rows: Matrix) -> None:
        self.rows = rows
        self.n_rows = int(rows.shape[0])

    @classmethod
    def of(cls, X: Matrix, dtype: Any) -> Gram:
        """Copy rows in a dtype, as CSR unless many of their values are not zero."""
        if is_sparse(X) or np.count_nonzero(X) < SPARSE_BELOW * X.size:
            return cls(canonical_csr(X, np.dtype(dtype)))
        with np.errstate(over="ignore"):
            return cls(refuse_infinity(np.array(X, dtype=dtype, order="C")))

    @cached_property
    def products(self) -> NDArray[Any]:
        """Return G = XX'."""
        with np.errstate(over="ignore"):
            return self.block(self.rows)

    @cached_property
    def twins(self) -> NDArray[np.int32]:
        """Return of each row the first one that equals it: rounding must not tell them apart."""
        first: dict[bytes, int] = {}
        return np.array([first.setdefault(key, i) for i, key in enumerate(_bytes_of_rows(self.rows))], dtype=np.int32)

    @cached_property
    def roots(self) -> NDArray[np.float64]:
        """Return C of shape (n, n) with CC' = G: the rows in coordinates of their span."""
        values, vectors = np.linalg.eigh(self.products.astype(np.float64))
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    @cached_property
    def columns(self) -> Parts:
        """Return the parts of CSR rows column by column."""
        return _parts(self.rows.tocsc())

    def block(self, rows: Matrix) -> NDArray[Any]:
        """Return the inner products of some rows with these."""
        if not is_sparse(rows) or not is_sparse(self.rows):
            products = rows @ self.rows.T
            return np.asarray(products.toarray() if is_sparse(products) else products)
        products = np.zeros((rows.shape[0], self.n_rows), self.rows.dtype)
        _add_products(*_parts(rows), *self.columns, products, rows is self.rows)
        return products


Source = tuple[Gram, NDArray[np.int64]]
"""All rows that were learned on, and the numbers of those that are kept."""


class Seen:
    """Rows that models are scored on again and again, along a curve: products with training rows are made once."""

    def __init__(self, rows: Matrix) -> None:
        self.rows = rows
        self._products: tuple[Gram, NDArray[Any], NDArray[Any]] | None = None

    def products(self, gram: Gram) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the inner products of these rows with the rows of `gram`, and with each other."""
        if self._products is None or self._products[0] is not gram:
            own = Gram.of(self.rows, gram.rows.dtype)
            self._products = gram, gram.block(own.rows), own.products
        return self._products[1:]

    def scores(self, model: Any) -> NDArray[Any]:
        """Return the similarities of all pairs of the rows."""
        scores = model.scores_among(self)
        return np.asarray(model.similarity(self.rows, self.rows) if scores is None else scores)

    def rankings(self, model: Any, y: Any) -> Rankings:
        """Let the rows query each other (`rank_leave_one_out`), by products of rows where the model learns on those."""
        scores = model.scores_among(self) if hasattr(model, "scores_among") else None
        if scores is None:
            return rank_leave_one_out(model, self.rows, y, n_neighbours=0)
        return rank_scores(scores, y)


def rank_scores(scores: NDArray[Any], y: Any) -> Rankings:
    """Rank rows that query each other by similarities that are there."""
    return rank_leave_one_out(_Scores(scores), np.arange(len(scores))[:, None], y, n_neighbours=0)


class _Scores:
    """Similarities that are there, of rows which are given by number."""

    def __init__(self, scores: NDArray[Any]) -> None:
        self._scores = scores

    def similarity(self, A: NDArray[np.int64], B: NDArray[np.int64]) -> NDArray[Any]:
        """Return the similarities of some rows to others."""
        return np.asarray(self._scores[A, B.T])


class Form:
    """A learned matrix in the form that learning left it in."""

    overflowed = False
    goes_through_rows = False
    """Whether `project` is used instead of the matrix."""
    dtype: np.dtype[Any]

    @property
    @abstractmethod
    def matrix(self) -> NDArray[Any]:
        """Return the matrix in the user's order of features."""

    @cached_property
    def components(self) -> NDArray[np.float64]:
        """Return L with LL' = W."""
        return psd_factor(self.matrix)

    def project(self, queries: Matrix) -> Matrix:
        """Return QW."""
        return queries.astype(self.dtype, copy=False) @ self.matrix

    def products_among(self, seen: Seen) -> NDArray[Any] | None:
        """Return x'Wy of all pairs of seen rows, where products of rows are there for it."""
        return None

    def sums(self) -> tuple[float, float, float]:
        """Return the trace of W, the sum of W_ij^2, and the sum of W_ij W_ji."""
        W = self.matrix.astype(np.float64, copy=False)
        return float(np.trace(W)), float(np.vdot(W, W)), float(np.sum(W * W.T))

    def frozen(self) -> Form:
        """Return the same, which steps that go on do not change."""
        return self

    def settled(self) -> Form:
        """Return the same without what it was learned on."""
        return self

    @abstractmethod
    def symmetric(self) -> Form:
        """Return (W + W') / 2."""

    def nearest_psd(self) -> Form:
        """Return the positive semidefinite matrix nearest to W (JMLR section 6.2)."""
        return WholeForm(nearest_psd(self.matrix))


class WholeForm(Form):
    """W itself, perhaps in another order of features; it is brought into the user's when somebody asks for it."""

    def __init__(self, W: NDArray[Any], place: NDArray[np.int64] | None = None) -> None:
        self._W, self._place, self.dtype = W, place, W.dtype

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        return vars(WholeForm(self.matrix))

    @property
    def matrix(self) -> NDArray[Any]:
        """Return W in the user's order of features."""
        if self._place is not None:
            self._W, self._place = permuted(self._W, self._place), None
        return self._W

    def frozen(self) -> WholeForm:
        """Return the same, with an array of its own."""
        return WholeForm(self.matrix)

    def symmetric(self) -> WholeForm:
        """Return (W + W') / 2."""
        return WholeForm((self.matrix + self.matrix.T) / 2)


class RowForm(Form):
    """W = I + X'AX as it was learned: `rows` X and `strengths` A of them. W is formed when somebody asks for it."""

    def __init__(self, rows: Matrix, strengths: sp.csr_array, source: Source | None = None) -> None:
        n, d = rows.shape
        if not is_sparse(strengths) or strengths.shape != (n, n) or rows.dtype not in (np.float32, np.float64):
            raise ValueError(f"{n} rows of {rows.dtype} have no strengths of shape {strengths.shape}")
        self.rows, self.strengths, self.dtype, self._source = rows, strengths, rows.dtype, source
        # a rule of shapes alone, so that a model gives the same bits whether or not somebody has asked for W
        self.goes_through_rows = 4 * n <= d

    @classmethod
    def of(cls, gram: Gram, strengths: sp.csr_array) -> RowForm:
        """Keep the rows that have a strength."""
        strengths.eliminate_zeros()
        is_used = np.diff(strengths.indptr) > 0
        is_used[strengths.indices] = True
        used = np.flatnonzero(is_used)
        return cls(gram.rows[used], sp.csr_array(strengths[used][:, used]), (gram, used))

    @classmethod
    def identity(cls, d: int, dtype: str) -> RowForm:
        """Return the form of W = I, which has no rows."""
        return cls(sp.csr_array((0, d), dtype=dtype), sp.csr_array((0, 0), dtype=np.float64))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        return vars(RowForm(self.rows, self.strengths))

    @cached_property
    def matrix(self) -> NDArray[Any]:
        """Return W, read-only; where A is symmetric, W is so to the bit."""
        rows, A = self.rows, self.strengths
        is_symmetric = not abs(A - A.T).sum()
        W = np.eye(rows.shape[1], dtype=self.dtype)
        products = (A @ rows).astype(self.dtype)
        if is_sparse(rows):
            _add_in_tiles(W, *self._gram.columns, products.toarray(), is_symmetric)
        else:
            W += rows.T @ products
            W = (W + W.T) / 2 if is_symmetric else W
        W.flags.writeable = False
        return W

    def project(self, queries: Matrix) -> Matrix:
        """Return QW, as Q + ((QX')A)X where that is cheaper."""
        if not self.goes_through_rows:
            return super().project(queries)
        queries = queries.astype(self.dtype, copy=False)
        weights = (self._gram.block(queries) @ self.strengths).astype(self.dtype, copy=False)
        return np.asarray(queries + weights @ self.rows)

    def products_among(self, seen: Seen) -> NDArray[Any] | None:
        """Return x'Wy of all pairs of seen rows, where products of rows are there for it."""
        if self._source is None:
            return None
        gram, used = self._source
        with_rows, own = seen.products(gram)
        with_rows = with_rows[:, used]
        weights = (with_rows @ self.strengths).astype(self.dtype, copy=False)
        return np.asarray(own + weights @ with_rows.T)

    def sums(self) -> tuple[float, float, float]:
        """Return the trace of W, the sum of W_ij^2, and the sum of W_ij W_ji."""
        if not self.goes_through_rows:
            return super().sums()
        G, A = self._gram.products.astype(np.float64), self.strengths
        AG, GA = A @ G, G @ A
        d, trace = self.rows.shape[1], float(np.trace(AG))
        return d + trace, d + 2 * trace + float(np.vdot(AG, GA)), d + 2 * trace + float(np.vdot(AG, AG.T))

    def settled(self) -> RowForm:
        """Return the same without what it was learned on."""
        return RowForm(self.rows, self.strengths)

    def symmetric(self) -> RowForm:
        """Return (W + W') / 2."""
        return RowForm(self.rows, sp.csr_array((self.strengths + self.strengths.T) / 2), self._source)

    def nearest_psd(self) -> Form:
        """Return the positive semidefinite matrix nearest to W (JMLR section 6.2)."""
        gram, used = self._source or (self._gram, np.arange(self.rows.shape[0]))
        if 2 * gram.n_rows > self.rows.shape[1]:
            return super().nearest_psd()
        # X'AX of a symmetric A has the eigenvalues of K = C'AC, CC' = XX'. Where Ku = mu u and w = ACu / mu, X'w is its
        # eigenvector of length 1. Only 1 + mu < 0 is taken away, so that nothing small is divided by.
        symmetric, C = self.symmetric(), gram.roots[used]
        AC = symmetric.strengths @ C
        K = C.T @ AC
        values, vectors = scipy.linalg.eigh((K + K.T) / 2, subset_by_value=(-np.inf, -1.0))
        if not len(values):
            return symmetric
        w = (AC @ vectors) / values
        positive = symmetric.strengths.toarray() - (w * (1 + values)) @ w.T
        return RowForm(self.rows, sp.csr_array((positive + positive.T) / 2), self._source)

    @cached_property
    def _gram(self) -> Gram:
        return Gram(self.rows)


class LearningForm:
    """W = I + X'AX while it is learned: products of seen rows come from the steps, and A when somebody asks for it."""

    def __init__(self, steps: Any, plain: LearningForm | None = None) -> None:
        self._steps, self._plain, self.overflowed = steps, plain, steps.has_overflowed()
        self._read: RowForm | None = None

    def products_among(self, seen: Seen) -> NDArray[Any]:
        """Return x'Wy of all pairs of seen rows."""
        products = self._steps.products_among(seen)
        return np.asarray(products if self._plain is None else (products + products.T) / 2)

    def symmetric(self) -> LearningForm:
        """Return (W + W') / 2."""
        return LearningForm(self._steps, self)

    def frozen(self) -> RowForm:
        """Return what was learned so far; where it is still asked for later, this must be called before steps go on."""
        if self._read is None and self._plain is not None:
            self._read = self._plain.frozen().symmetric()
        elif self._read is None:
            self._read = RowForm.of(self._steps.gram, self._steps.strengths())
        return self._read


class GramSteps:
    """The steps of one learner on inner products: T, and the log of updates that a row of T takes when it is read."""

    def __init__(self, gram: Gram, kind: int, aggressiveness: float) -> None:
        n, dtype = gram.n_rows, gram.rows.dtype
        self.gram, self._kind, self._aggressiveness = gram, kind, aggressiveness
        self._T, self._is_lazy = np.zeros((n, n), dtype), kind != PLAIN or n > DIRECT_ROWS
        self._log, self._taus = np.empty((LOG_LENGTH, 3), np.uint32), np.empty(LOG_LENGTH, dtype)
        self._logged, self._caught_up = 0, np.zeros(n, np.int64)
        self._sums, self._n_summed = sp.csr_array((n, n), dtype=np.float64), 0
        self._followed: dict[Seen, Followed] = {}

    def take(self, triplets: NDArray[np.int32], margins: NDArray[np.float64] = NO_MARGINS) -> tuple[int, int]:
        """Take one step a triplet; return how many had a loss, and how many an update."""
        losses, before, done = 0, self.n_updates, 0
        G, T, log, taus, C = self.gram.products, self._T, self._log, self._taus, self._aggressiveness
        twins, caught_up, kind, lazy = self.gram.twins, self._caught_up, self._kind, self._is_lazy
        while done < len(triplets):
            taken, with_loss, self._logged = gram_steps(
                G, T, twins, triplets[done:], margins[done:], log, taus, caught_up, C, kind, lazy, self._logged
            )
            done, losses = done + taken, losses + with_loss
            if self._logged == LOG_LENGTH:
                self._sum_log()
        return losses, self.n_updates - before

    def form(self) -> LearningForm:
        """Return what was learned so far."""
        return LearningForm(self)

    @property
    def n_updates(self) -> int:
        """Return the number of updates so far."""
        return self._n_summed + self._logged

    def strengths(self) -> sp.csr_array:
        """Return A as it is now, its sums in double precision; A of symmetric steps is so to the bit."""
        return self._strengths_of(sp.csr_array(self._sums + self._sums_of_log()))

    def products_among(self, seen: Seen) -> NDArray[Any]:
        """Return x'Wy of all pairs of seen rows, of which T goes on with the log as that of the learned rows does."""
        products, own = seen.products(self.gram)
        if seen not in self._followed:
            T = np.ascontiguousarray((products @ self._strengths_of(self._sums).T).astype(products.dtype))
            self._followed[seen] = T, products, np.zeros(len(T), np.int64)
        self._bring_up_to_date(*self._followed[seen])
        return np.asarray(own + products @ self._followed[seen][0].T)

    def has_overflowed(self) -> bool:
        """Tell whether a number is too large for the dtype; a bound mostly spares a look at all."""
        rows = self.gram.rows
        is_open = may_overflow(rows, rows.shape[1] * self.gram.n_rows, self.n_updates, self._aggressiveness)
        return is_open and not (is_finite(self.gram.products) and is_finite(self._T))

    def _strengths_of(self, sums: sp.csr_array) -> sp.csr_array:
        """Return A of the sums of steps, at (p, p+) and with the other sign at (p, p-)."""
        if self._kind == PLAIN:
            return sums
        both = sp.csr_array(sums + sums.T)
        if self._kind == ONLINE_PROJ:
            return sp.csr_array(both / 2)
        # bb' - aa' has -1 at (p+, p+) and 1 at (p-, p-), where the columns of a step have 1 and -1
        return sp.csr_array(both - sp.diags_array(sums.sum(axis=0)))

    def _sums_of_log(self) -> sp.csr_array:
        p, a, b = self._log[: self._logged].T.astype(np.int32)
        taus = self._taus[: self._logged].astype(np.float64)
        places = np.concatenate([p, p]), np.concatenate([a, b])
        return sp.csr_array(sp.coo_array((np.concatenate([taus, -taus]), places), shape=self._sums.shape))

    def _sum_log(self) -> None:
        """Begin a new log, when all have taken what they missed from this one."""
        if self._is_lazy:
            self._bring_up_to_date(self._T, self.gram.products, self._caught_up)
        for followed in self._followed.values():
            self._bring_up_to_date(*followed)
            followed[2][:] = 0
        self._sums = sp.csr_array(self._sums + self._sums_of_log())
        self._n_summed += self._logged
        self._logged, self._caught_up[:] = 0, 0

    def _bring_up_to_date(self, T: NDArray[Any], products: NDArray[Any], caught_up: NDArray[np.int64]) -> None:
        _catch_up_all(T, products, caught_up, self._log, self._taus, self._logged, self._kind)


def _parts(matrix: Any) -> Parts:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32), matrix.data


def _bytes_of_rows(rows: Matrix) -> list[bytes]:
    if not is_sparse(rows):
        return [row.tobytes() for row in rows]
    spans = [slice(*bounds) for bounds in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]
    return [rows.indices[span].tobytes() + rows.data[span].tobytes() for span in spans]


@njit(cache=True, nogil=True)
def gram_steps(
    G: NDArray[Any],
    T: NDArray[Any],
    twins: NDArray[np.int32],
    triplets: NDArray[np.int32],
    margins: NDArray[np.float64],
    log: NDArray[np.uint32],
    taus: NDArray[Any],
    caught_up: NDArray[np.int64],
    aggressiveness: float,
    kind: int,
    is_lazy: bool,
    logged: int,
) -> tuple[int, int, int]:
    """Take one step a triplet until the log is full; return the steps taken, those with a loss, and the log's end."""
    losses = 0
    for t in range(triplets.shape[0]):
        if logged == log.shape[0]:
            return t, losses, logged
        p, a, b = triplets[t, 0], triplets[t, 1], triplets[t, 2]
        if is_lazy:  # A of Online-Proj is symmetric, so that one row of T is enough
            for j in (p, p) if kind == ONLINE_PROJ else (a, b):
                _catch_up(T[j], G[j], log, taus, caught_up[j], logged, kind)
                caught_up[j] = logged
        pp, pa, pb = float(G[p, p]), float(G[p, a]), float(G[p, b])
        aa, ab, bb = float(G[a, a]), float(G[a, b]), float(G[b, b])
        if kind == PLAIN:
            score = pa - pb + _dot(G[p], T[a], T[b])
        elif kind == ONLINE_PROJ:
            score = pa - pb + _dot(T[p], G[a], G[b])
        else:  # s'Mv, s = 2p - p+ - p- and v = p+ - p-
            product = 2 * (pa - pb) - aa + bb
            score = product + 2 * _dot(G[p], T[a], T[b]) - _dot(G[a], T[a], T[b]) - _dot(G[b], T[a], T[b])
        if margins.shape[0] > 0:  # S(p, p+) - S(p, p-) before the step, where it is asked for
            margins[t] = score
        loss = 1.0 - score
        if loss <= 0.0:
            continue
        losses += 1

        if twins[a] == twins[b] or (pp == 0.0 and kind != DISSIM):
            continue
        norm = aa - 2 * ab + bb
        if kind == DISSIM:
            norm = 0.5 * ((4 * (pp - pa - pb) + aa + bb + 2 * ab) * norm + product * product)
        else:
            norm *= pp
        # rows that nearly cancel may leave a length of rounding below 0
        tau = min(aggressiveness, loss / norm) if norm > 0.0 else aggressiveness
        log[logged, 0], log[logged, 1], log[logged, 2], taus[logged] = p, a, b, tau
        logged += 1
        if not is_lazy:
            _write_column(T, p, G[a], G[b], taus[logged - 1])
    return triplets.shape[0], losses, logged


@njit(cache=True, nogil=True)
def _catch_up(
    row: NDArray[Any], g: NDArray[Any], log: NDArray[np.uint32], taus: NDArray[Any], start: int, stop: int, kind: int
) -> None:
    """Add the updates `start` to `stop` of the log to one row of T; `g` is the row of G of the same number."""
    if kind == PLAIN:
        for s in range(start, stop):
            row[log[s, 0]] += taus[s] * (g[log[s, 1]] - g[log[s, 2]])
        return
    share = row.dtype.type(0.5 if kind == ONLINE_PROJ else 1.0)
    own = row.dtype.type(kind == DISSIM)
    for s in range(start, stop):
        p, a, b = log[s, 0], log[s, 1], log[s, 2]
        tau, of_p, of_a, of_b = share * taus[s], g[p], g[a], g[b]
        row[p] += tau * (of_a - of_b)
        row[a] += tau * (of_p - own * of_a)
        row[b] -= tau * (of_p - own * of_b)


@njit(cache=True, nogil=True)
def _catch_up_all(
    T: NDArray[Any],
    products: NDArray[Any],
    caught_up: NDArray[np.int64],
    log: NDArray[np.uint32],
    taus: NDArray[Any],
    logged: int,
    kind: int,
) -> None:
    """Bring all rows of T up to the end of the log; `products` are those of the same rows with the learned ones."""
    for j in range(T.shape[0]):
        _catch_up(T[j], products[j], log, taus, caught_up[j], logged, kind)
        caught_up[j] = logged


@njit(cache=True, nogil=True)
def _write_column(T: NDArray[Any], p: int, of_a: NDArray[Any], of_b: NDArray[Any], tau: Any) -> None:
    """Add one update of OASIS to all rows of T; `of_a` and `of_b` are rows of G."""
    for j in range(T.shape[0]):
        T[j, p] += tau * (of_a[j] - of_b[j])


# fastmath lets the compiler sum in vector lanes: another order than one by one, the same on every run of a machine.
@njit(cache=True, nogil=True, fastmath=True)
def _dot(left: NDArray[Any], right: NDArray[Any], without: NDArray[Any]) -> float:
    """Return left (right - without)'."""
    total = left.dtype.type(0)
    for k in range(left.shape[0]):
        total += left[k] * (right[k] - without[k])
    return float(total)


@njit(cache=True, nogil=True)
def _add_products(
    starts: NDArray[np.int64],
    indices: NDArray[np.uint32],
    values: NDArray[Any],
    column_starts: NDArray[np.int64],
    column_rows: NDArray[np.uint32],
    column_values: NDArray[Any],
    products: NDArray[Any],
    is_symmetric: bool,
) -> None:
    """Add the inner products of CSR rows with rows given column by column, which may be the same rows."""
    first = column_starts[:-1].copy()
    for i in range(products.shape[0]):
        row = products[i]
        for k in range(starts[i], starts[i + 1]):
            feature, value = indices[k], values[k]
            for c in range(first[feature], column_starts[feature + 1]):
                row[column_rows[c]] += value * column_values[c]
            if is_symmetric:
                first[feature] += 1  # so that rows above this one are left out
    if is_symmetric:
        _mirror(products)


@njit(cache=True, nogil=True)
def _add_in_tiles(
    W: NDArray[Any],
    column_starts: NDArray[np.int64],
    column_rows: NDArray[np.uint32],
    column_values: NDArray[Any],
    products: NDArray[Any],
    is_symmetric: bool,
) -> None:
    """Add X' times dense rows to W, one tile of columns after the other; of a symmetric sum only one half."""
    d = W.shape[0]
    for left in range(0, d, TILE):
        for feature in range(d):
            start, stop = max(left, feature) if is_symmetric else left, min(d, left + TILE)
            if start >= stop:
                continue
            row = W[feature, start:stop]
            for c in range(column_starts[feature], column_starts[feature + 1]):
                value, added = column_values[c], products[column_rows[c], start:stop]
                for k in range(row.shape[0]):
                    row[k] += value * added[k]
    if is_symmetric:
        _mirror(W)


@njit(cache=True, nogil=True)
def _mirror(matrix: NDArray[Any]) -> None:
    """Copy the upper half of a matrix to the lower one, in tiles."""
    n = matrix.shape[0]
    for top in range(0, n, 64):
        for left in range(top, n, 64):
            for i in range(top, min(n, top + 64)):
                for j in range(max(left, i + 1), min(n, left + 64)):
                    matrix[j, i] = matrix[i, j]
