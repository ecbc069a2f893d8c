"""Large margin nearest neighbours (Weinberger, Blitzer & Saul 2006), a competitor in the OASIS papers' tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from lookalike.core.arrays import Array, Doubles, Longs
from lookalike.core.kernels import njit
from lookalike.learners.base import psd_factor
from lookalike.learners.batch import BatchLearner, Point, Stages, conditioned, descend, precisions
from lookalike.learners.centring import all_squared_distances
from lookalike.learners.parameters import Count, Limit, NotNegative, PositiveCount
from lookalike.learners.projections import without_negative_part
from lookalike.learners.span import Span
from lookalike.learners.triplets import class_codes

Solver = Literal["factor", "active_set", "naive"]
SOLVERS = get_args(Solver)

CANDIDATE_MARGIN = 2.0
"""Impostors up to this margin are in the active set; only those within 1 have a loss."""
GROWTH, BACKTRACK, FIRST_GROWTH = 1.01, 0.5, 1.5
"""What a step size is multiplied by after a success, a failure, and a success before the first failure."""
FIRST_STEP = 0.1
"""Share of M = I by which the first step changes it in the direction in which it changes most."""
SMALLEST_SQUARE = 1e-26
"""Squared distances below this share of the largest in a class are the rounding of equal rows."""
FEW = 1 / 12
"""Fewer negative eigenvalues than this share of all are few."""
BLOCK_ROWS = 256
"""Rows whose distances to others are in memory at a time."""
FEW_PAIRS = 1 / 30
"""Share of a block's pairs with a weight below which a sparse product is faster than a dense one."""
WIDTHS = (1e-2, 1e-3)
"""Widths over which the kink of the hinges is rounded, one after the other: L-BFGS needs a gradient that bends."""


@dataclass(eq=False, repr=False)
class LMNN(BatchLearner):
    """Distance under which the nearest rows of a row's own class are close, and rows of other classes a margin further.

    Minimises, over positive semidefinite M with d(a, b) = (a - b)'M(a - b),

        omega * sum_{i, j} d(i, j) + (1 - omega) * sum_{i, j, l} max(0, 1 + d(i, j) - d(i, l)),

    where j runs over the target neighbours of i, its nearest rows of the same class, and l over all rows of other
    classes (draft eq. 13: omega weighs the pull, 1 - omega the push; other implementations have it the other way
    round). Target neighbours are found once, by Euclidean distance; equal distances go by row number. A class with
    fewer than ``n_neighbors`` + 1 rows uses those that it has.

    The default goes to the minimum; the descents of the papers stop above it. Outside of the span of the rows M stays
    the identity. The papers' rotation to principal components (draft section 5.2.1, number 4) would change nothing.

    Parameters
    ----------
    omega : float, default=0.5
        Of eq. 13, 0 to 1.
    n_neighbors : int, default=3
        Target neighbours of each row, k.
    solver : {"factor", "active_set", "naive"}, default="factor"
        ``"factor"`` minimises over L, M = LL', by L-BFGS, from L = I. The kink of the hinge is rounded off over a width
        of 0.01 and then 0.001, which lowers eq. 13 by at most (1 - omega) / 2 of it for every triplet with a loss.
        Products are in float32, and where `tol` is below 1e-6, or float32 is too coarse for the rows, in float64 at the
        end. With fewer rows than features many matrices reach the minimum: M is then that of this path.
        The others are the papers' projected subgradient descent: M minus a step along the gradient, negative
        eigenvalues to zero. A step that lowers the objective is kept and makes the step size 1.01 times as large; any
        other is taken back and halves it (the rule of Weinberger & Saul's code). It gets stuck at kinks.
        ``"naive"`` recomputes the slacks of all triplets and the whole gradient in every iteration.
        ``"active_set"`` lists the triplets within twice the margin (Weinberger & Saul 2008), every `refresh` iterations
        and whenever the objective has fallen by a tenth, and changes the gradient by those whose loss changed. When it
        lists them, and before the end, it goes back to the list before where triplets that this had left out make the
        objective no lower. So the objective over all triplets, which is in ``curve_``, may rise between two lists.
    max_iter : int, default=1000
        Most iterations: steps of L-BFGS, or steps of the papers' descent, of which one that fails counts.
    tol : float, default=1e-4
        ``"factor"`` ends when three steps together lower the rounded objective by no more than this share of it; 1e-4
        ends a few thousandths above the minimum, or more where some features are a thousand times as long as others.
        The papers' descents end when one iteration lowers the objective by less than this share, or can no longer
        lower it by so much; in Weinberger & Saul's code it is 1e-7.
    refresh : int, default=15
        Iterations after which ``"active_set"`` renews its list.
    verbose : int, default=0
        Above 0: a progress bar with the objective.

    Attributes
    ----------
    objective_ : float
        Of eq. 13, at the end; of ``"factor"`` in the precision of its last steps, six digits in float32.
    converged_ : bool
        Whether the descent ended by its own rule, `tol`, and not by `max_iter`. That of the papers may then be at a
        kink above the minimum.
    M_, components_, n_steps_, n_iter_, curve_, metric_, n_features_in_
        As of `MCML`; iterations that failed are steps too, and ``components_`` has r columns.

    Notes
    -----
    With r <= min(n, d) the rank of X, an iteration costs O(n^2 r) with ``"factor"`` and ``"naive"``, and O(r^3), with
    the papers' descents for eigenvalues. Memory is O(n r + d^2) with ``"factor"``, which has the pairs of 256 rows at a
    time, and O(n^2 + n r + d^2) with the others. Target neighbours take the square of the largest class.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [0.0, 3.0], [1.0, 0.0], [1.0, 3.0]], [0, 0, 1, 1]
    >>> LMNN(n_neighbors=1).fit(X, y).rank([[0.0, 0.0]], X[1:], k=1)[0].tolist()
    [[0]]
    """

    n_curve_points = 60
    compiled_for: ClassVar = {"solver": SOLVERS}

    omega: Annotated[float, Limit("between 0 and 1", lambda omega: 0 <= omega <= 1)] = 0.5
    n_neighbors: PositiveCount = 3
    _: KW_ONLY
    solver: Solver = "factor"
    max_iter: Count = 1000
    tol: NotNegative = 1e-4
    refresh: PositiveCount = 15
    verbose: int = 0

    def _descend(self, span: Span, y: Array) -> Iterator[Point]:
        """Yield the start and the descent after every iteration."""
        coordinates, (classes, _) = span.coordinates, class_codes(y)
        targets = target_neighbours(coordinates, classes, int(self.n_neighbors))
        if self.solver == "factor":
            yield from descend_margins(coordinates, classes, targets, float(self.omega), float(self.tol))
            return
        triplets = _ActiveSet if self.solver == "active_set" else _AllTriplets
        yield from descend_by_subgradients(
            triplets(coordinates, classes, targets, float(self.omega)),
            float(self.tol),
            int(self.refresh),
            int(self.max_iter),
        )

    def _components(self, span: Span, point: Point) -> Doubles:
        full = span.full_factor(psd_factor(point.matrix))
        return np.ascontiguousarray(full[:, full.any(axis=0)])


def target_neighbours(rows: Doubles, classes: Longs, k: int) -> Longs:
    """Return the k nearest rows of the same class of every row, nearest first, (n, k); -1 where a class has too few."""
    targets = np.full((len(rows), min(k, len(rows))), -1, dtype=np.int64)
    for label in range(int(classes.max()) + 1):
        members = np.flatnonzero(classes == label)
        distances: Doubles = cdist(rows[members], rows[members], "sqeuclidean")
        # equal in ten digits, or no more than rounding, they go by row number
        distances[distances < SMALLEST_SQUARE * distances.max()] = 0.0
        digits, exponents = np.frexp(distances)
        distances = np.ldexp(np.round(digits, 10), exponents)
        np.fill_diagonal(distances, np.inf)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, : min(k, len(members) - 1)]
        targets[members, : nearest.shape[1]] = members[nearest]
    return targets


class _Point(NamedTuple):
    """A positive semidefinite matrix M on the way, XM, eq. 13 there, and the weight of every pair in its gradient."""

    matrix: Doubles
    products: Doubles
    objective: float
    weights: Doubles


def descend_by_subgradients(triplets: _AllTriplets, tol: float, refresh: int, max_iter: int) -> Iterator[Point]:
    """Yield M = I and the best point after every step down eq. 13, by the step rule of Weinberger & Saul's code."""
    identity: Doubles = np.eye(triplets.X.shape[1], dtype=np.float64)
    triplets.renew(triplets.X @ identity)
    point = verified = triplets.point(identity)
    gradient = triplets.gradient(point.weights)
    # the spectral norm, as it is the same whether M is of the span or of the whole space
    slope = float(np.abs(np.linalg.eigvalsh(gradient)).max(initial=0.0))
    finished, length = slope == 0.0, FIRST_STEP / slope if slope else 0.0
    since_verified, n_negative, has_failed = 0, 0, False
    yield triplets.reached(point, finished)
    for step in range(1, max_iter + 1):
        if finished:
            return
        moved = point.matrix - length * gradient
        nearest, n_negative = without_negative_part(moved, n_negative < FEW * len(moved))
        trial, before = triplets.point(nearest), point.objective
        since_verified += 1
        if trial.objective < before:
            point = trial
            length *= GROWTH if has_failed else FIRST_GROWTH
            finished = (before - trial.objective) / before < tol
        else:
            length *= BACKTRACK
            has_failed = True
            # a convex objective falls by no more than step |G|^2 when M moves by the step along a subgradient G
            bound = length * float(np.vdot(gradient, gradient))
            finished = bound <= max(tol, np.finfo(float).eps) * before
        stale = since_verified >= refresh or point.objective < 0.9 * verified.objective
        if triplets.partial and (finished or stale or step == max_iter):
            claimed = point.objective
            triplets.renew(point.products)
            point = triplets.point(point.matrix)
            missed = point.objective > claimed * (1 + 1e-10)
            # no lower for it than when last verified: go back there, and take along the impostors that were found
            if missed and point.objective > verified.objective:
                triplets.renew(verified.products, keep=True)
                point = triplets.point(verified.matrix)
                length *= BACKTRACK
            verified, since_verified, finished = point, 0, finished and not missed
        if not finished:
            gradient = triplets.gradient(point.weights)
        yield triplets.reached(point, finished)


class _AllTriplets:
    """Eq. 13 and its gradient from the slacks of all triplets, every time; X: the rows' coordinates in their span."""

    partial = False
    """Whether triplets may be missing between two calls of `renew`."""

    def __init__(self, X: Doubles, classes: Longs, targets: Longs, omega: float) -> None:
        self.X, self.omega, self._targets = X, omega, targets
        self._are_alike = classes[:, None] == classes
        n, k = targets.shape
        self._target_left = np.repeat(np.arange(n), k)
        # where a class has too few, of a row and itself, which nothing looks at
        self._target_right = np.where(targets >= 0, targets, np.arange(n)[:, None]).ravel()
        kept = targets.ravel() >= 0
        self._pull = _pair_gradient(X, self._target_left[kept], targets[targets >= 0], np.ones(kept.sum()))

    def renew(self, products: Doubles, keep: bool = False) -> None:
        """Look at all impostors, given XM: here nothing is left out in the first place."""

    def point(self, matrix: Doubles) -> _Point:
        """Return the point of a matrix, by the triplets as they are now."""
        products = self.X @ matrix
        return _Point(matrix, products, *self.slacks(products))

    def reached(self, point: _Point, finished: bool) -> Point:
        """Return a point with eq. 13 there over all triplets, whatever is in the active set, for the curve."""

        def recorded() -> float:
            return _AllTriplets.slacks(self, point.products)[0]

        return Point(point.objective, partial(psd_factor, point.matrix), point.matrix, finished, recorded)

    def slacks(self, products: Doubles) -> tuple[float, Doubles]:
        """Return eq. 13 and the weight of every pair, given XM."""
        distances, n = all_squared_distances(self.X, products), len(products)
        of_targets = distances[self._target_left, self._target_right]
        np.copyto(distances, np.inf, where=self._are_alike)  # so that rows of one class have no slack
        objective, weights = self._sums(np.append(of_targets, distances), n * np.arange(n + 1))
        of_targets, weights = np.split(weights, [len(of_targets)])
        weights[self._target_left * n + self._target_right] = of_targets
        return objective, weights.reshape(n, n)

    def _sums(self, distances: Doubles, starts: Longs) -> tuple[float, Doubles]:
        """Return eq. 13 and the weights of pairs of targets and impostors, see `pull_and_push`."""
        weights = np.empty_like(distances)
        pull, push = pull_and_push(distances, self._targets, starts, weights)
        return self.omega * pull + (1 - self.omega) * push, weights

    def gradient(self, weights: Doubles) -> Doubles:
        """Return the gradient in M of eq. 13, (r, r), given the weight of every pair."""
        left, right = np.nonzero(weights)
        return self.omega * self._pull + (1 - self.omega) * _pair_gradient(self.X, left, right, weights[left, right])


class _ActiveSet(_AllTriplets):
    """Eq. 13 and its gradient from listed impostors; the gradient changes by the pairs whose weight changed."""

    partial = True

    def __init__(self, X: Doubles, classes: Longs, targets: Longs, omega: float) -> None:
        super().__init__(X, classes, targets, omega)
        self._possible = np.zeros_like(self._are_alike)

    def renew(self, products: Doubles, keep: bool = False) -> None:
        """List the impostors within twice the margin, given XM; `keep` those listed before, too."""
        if not keep:
            self._possible[:] = False
        distances = all_squared_distances(self.X, products)
        reach = np.where(self._targets >= 0, np.take_along_axis(distances, self._targets, 1), -np.inf).max(axis=1)
        within = distances < CANDIDATE_MARGIN + reach[:, None]
        self._possible |= within & ~self._are_alike
        left, right = np.nonzero(self._possible)
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(left, minlength=len(products)))]).astype(np.int64)
        self._left = np.concatenate([self._target_left, left])
        self._right = np.concatenate([self._target_right, right])
        # rounding errors of the changes cannot pile up, as the sum starts again here
        self._weights = np.zeros(len(self._left))
        self._push = np.zeros((self.X.shape[1],) * 2)

    def slacks(self, products: Doubles) -> tuple[float, Doubles]:
        """Do as `_AllTriplets.slacks` over listed impostors; the n k pairs of target neighbours stand before theirs."""
        if len(self._left) > len(products) ** 2 / 20:  # one large product is faster then
            distances = np.asarray(all_squared_distances(self.X, products)[self._left, self._right])
        else:
            distances = np.empty(len(self._left))
            pair_distances(self.X, products, self._left, self._right, distances)
        return self._sums(distances, self._starts)

    def gradient(self, weights: Doubles) -> Doubles:
        """Return the gradient in M of eq. 13 over listed impostors, (r, r)."""
        change = weights - self._weights
        changed = np.flatnonzero(change)
        self._push += _pair_gradient(self.X, self._left[changed], self._right[changed], change[changed])
        self._weights = weights
        return self.omega * self._pull + (1 - self.omega) * self._push


def _pair_gradient(X: Doubles, left: Longs, right: Longs, weights: Doubles) -> Doubles:
    """Return the sum of weight (x_left - x_right)(x_left - x_right)' over pairs, X'LX with L the weights' Laplacian."""
    n = len(X)
    if len(weights) < n:
        differences = X[left] - X[right]
        gradient = differences.T @ (weights[:, None] * differences)
    else:
        graph = sp.csr_array((weights, (left, right)), shape=(n, n))
        graph = graph + graph.T
        degrees: Doubles = np.asarray(graph.sum(axis=1)).ravel()
        product = (graph.toarray() if graph.nnz > n * n / 20 else graph) @ X
        gradient = X.T @ (degrees[:, None] * X - product)
    return np.asarray((gradient + gradient.T) / 2)


# Slacks of triplets (i, j, l), with a target neighbour j of i and an impostor l of another class: 1 + d_ij - d_il. What
# the gradient needs of all triplets is one weight per pair of rows, what the sum of hinges gains per unit of its
# distance.


@njit(cache=True, nogil=True)
def pull_and_push(distances: Doubles, targets: Longs, starts: Longs, weights: Doubles) -> tuple[float, float]:
    """Return the sums of distances to target neighbours and of hinges; overwrite the weights of pairs.

    Distances and weights are of the n k pairs of targets, and then of impostors, whose row i begins at ``starts[i]``.
    """
    n, k = targets.shape
    pull, push = 0.0, 0.0
    for pair in range(weights.shape[0]):
        weights[pair] = 0.0
    for i in range(n):
        furthest = -np.inf
        for t in range(k):
            if targets[i, t] >= 0:
                pull += distances[i * k + t]
                furthest = max(furthest, distances[i * k + t])
        for pair in range(n * k + starts[i], n * k + starts[i + 1]):
            if distances[pair] >= 1.0 + furthest:
                continue
            for t in range(k):
                if targets[i, t] < 0:
                    break
                slack = 1.0 + distances[i * k + t] - distances[pair]
                if slack > 0.0:
                    push += slack
                    weights[i * k + t] += 1.0
                    weights[pair] -= 1.0
    return pull, push


@njit(cache=True, nogil=True)
def pair_distances(X: Doubles, products: Doubles, left: Longs, right: Longs, distances: Doubles) -> None:
    """Write the squared distances (a - b)'M(a - b) of pairs of rows of X, given the products XM; both C-contiguous."""
    for p in range(left.shape[0]):
        distance = _difference_product(X[left[p]], X[right[p]], products[left[p]], products[right[p]])
        distances[p] = max(distance, 0.0)


# fastmath lets the compiler sum in vector lanes: another order than one by one, the same on every run of a machine
@njit(cache=True, nogil=True, fastmath=True)
def _difference_product(a: Doubles, b: Doubles, mapped_a: Doubles, mapped_b: Doubles) -> float:
    total = 0.0
    for c in range(a.shape[0]):
        total += (a[c] - b[c]) * (mapped_a[c] - mapped_b[c])
    return total


def descend_margins(coordinates: Array, classes: Longs, targets: Longs, omega: float, tol: float) -> Iterator[Point]:
    """Yield L = I and a point after every step down eq. 13, until `tol` ends the last stage."""
    rows, basis = conditioned(coordinates)
    n_impostors = len(rows) - np.bincount(classes)[classes]
    at_zero = (1 - omega) * float(n_impostors @ (targets >= 0).sum(axis=1))

    def stages() -> Stages:
        for dtype in precisions(rows):
            margins = MarginObjective(rows.astype(dtype), classes, targets, omega)
            for width in WIDTHS if dtype is np.float32 else WIDTHS[-1:]:
                yield dtype, partial(margins.value_and_gradient, width=width)

    return descend(stages(), basis, tol, at_zero)


class MarginObjective:
    """Eq. 13 of the draft and its gradient in L, in the precision of the rows, with the kink of hinges rounded off."""

    def __init__(self, rows: Array, classes: Longs, targets: Longs, omega: float) -> None:
        self._rows, self._classes, self._omega = rows, classes, omega
        self._targets, self._has_target = targets, targets >= 0
        self._left = np.repeat(np.arange(len(rows)), self._has_target.sum(axis=1))
        self._right = targets[self._has_target]

    def value_and_gradient(self, factor: Array, width: float) -> tuple[float, Array, float]:
        """Return eq. 13 with hinges rounded over `width` at M = LL', its gradient in L, and eq. 13 without rounding."""
        rows, n, push_share = self._rows, len(self._rows), 1 - self._omega
        mapped = rows @ factor
        lengths = np.einsum("ij,ij->i", mapped, mapped)
        differences = mapped[self._left] - mapped[self._right]
        pulls = np.einsum("ij,ij->i", differences, differences)
        reach = np.full(self._targets.shape, -1.0, dtype=rows.dtype)
        reach[self._has_target] = 1 + pulls
        furthest = reach.max(axis=1)
        target_weights, degrees = np.zeros(self._targets.shape), np.zeros(n)
        # The sum of weight (x_i - x_j)(x_i - x_j)' over pairs is X'(D - S - S')X, with S the weights of pairs and D
        # diagonal. Half of it, X'(D / 2 - S)X, is enough, and S is needed above its diagonal only.
        half = np.zeros_like(rows)
        push = exact = 0.0
        for start in range(0, n, BLOCK_ROWS):
            block = slice(start, min(start + BLOCK_ROWS, n))
            pairs = mapped[block] @ mapped[start:].T
            rounded, full, n_weighted = hinges(
                pairs, start, lengths, reach, furthest, self._classes, rows.dtype.type(width), target_weights, degrees
            )
            push, exact = push + rounded, exact + full
            if n_weighted > FEW_PAIRS * pairs.size:
                half[block] += pairs @ rows[start:]
            elif n_weighted:
                half[block] += sp.csr_array(pairs) @ rows[start:]
        half *= push_share
        weights = self._omega + push_share * target_weights[self._has_target]
        degrees *= -push_share
        degrees += np.bincount(self._left, weights, n) + np.bincount(self._right, weights, n)
        graph = sp.csr_array((weights.astype(rows.dtype), (self._left, self._right)), shape=(n, n))
        half -= graph @ rows
        half += (degrees / 2).astype(rows.dtype)[:, None] * rows
        gradient = rows.T @ half
        pull = self._omega * float(pulls.sum(dtype=np.float64))
        return pull + push_share * push, 2 * ((gradient + gradient.T) @ factor), pull + push_share * exact


@njit(cache=True, nogil=True)
def rounded_hinge(slack: float, width: float) -> tuple[float, float]:
    """Return max(0, slack) with its kink rounded over 0 to `width`, at most width / 2 below it, and its slope."""
    if slack <= 0.0:
        return 0.0, 0.0
    if slack >= width:
        return slack - width / 2, 1.0
    return slack * slack / (2 * width), slack / width


@njit(cache=True, nogil=True)
def hinges(
    pairs: Array,
    start: int,
    lengths: Array,
    reach: Array,
    furthest: Array,
    classes: Longs,
    width: float,
    target_weights: Array,
    degrees: Array,
) -> tuple[float, float, int]:
    """Overwrite the products of rows from `start` on with all that follow by the weights of impostors.

    Returns the sums of rounded hinges and of hinges, and the number of pairs with a weight. Adds the weights of target
    neighbours to `target_weights`, and the sum of each row's weights to `degrees`. `reach` is 1 plus the distance of
    every target neighbour, or -1.
    """
    rounded, exact, n_weighted = 0.0, 0.0, 0
    for row in range(pairs.shape[0]):
        i = start + row
        line, own, far = pairs[row], lengths[i], furthest[i]
        zero = own - own  # in the precision of the rows, as all of the next loop
        # distances, or less than any reach where neither row reaches the other: a loop that runs in vector lanes
        for column in range(row + 1, line.shape[0]):
            distance = max(own + lengths[start + column] - (line[column] + line[column]), zero)
            line[column] = distance if distance < max(far, furthest[start + column]) else zero - 1
        for column in range(row + 1):
            line[column] = 0.0
        for column in range(row + 1, line.shape[0]):
            distance = line[column]
            other = start + column
            if distance < 0.0 or classes[other] == classes[i]:
                line[column] = 0.0
                continue
            weight = 0.0
            for target in range(reach.shape[1]):
                for near in (i, other):
                    slack = reach[near, target] - distance
                    if slack > 0.0:
                        value, slope = rounded_hinge(slack, width)
                        rounded += value
                        exact += slack
                        target_weights[near, target] += slope
                        weight += slope
            line[column] = weight
            if weight > 0.0:
                degrees[i] += weight
                degrees[other] += weight
                n_weighted += 1
    return rounded, exact, n_weighted
