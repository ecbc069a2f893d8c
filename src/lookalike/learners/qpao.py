"""QPAO, the batch baseline of the landmark study: one weight per visual word from a convex quadratic programme."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve
from scipy.optimize import Bounds, minimize
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from lookalike.core.arrays import Doubles, Labels, Longs, Matrix, Truths
from lookalike.core.seeds import RandomState, as_seed
from lookalike.learners.base import is_number
from lookalike.learners.curve import Progress
from lookalike.learners.diagonal import ProductsLearner
from lookalike.learners.triplet_products import TripletProducts
from lookalike.learners.triplet_products import warm_up as warm_up  # all that it has compiled
from lookalike.learners.triplets import TripletSampler

LARGEST_GAP = 1e-6
"""Share of the objective that a block may be above its minimum in a descent that has converged."""
NEAR = 1e-7
"""Hinges whose margin is so close to the kink at the start are in the first working set."""
SLACK = 1e-10
"""How far past its kink a hinge that is taken for a line may be."""
SMALLEST_GRADIENT, SMALLEST_GAP = 1e-9, 1e-12
"""The dual ascent is at its end with a projected gradient (a margin), or a share of the objective as gap, so small."""
MOST_EVALUATIONS, MOST_ROUNDS, MOST_NEWTON_STEPS, MOST_HALVINGS = 20_000, 3, 50, 40
"""Of the dual ascent; limits that are hardly ever met."""
LIMITS = {"ftol": 0.0, "gtol": SMALLEST_GRADIENT, "maxiter": MOST_EVALUATIONS, "maxfun": MOST_EVALUATIONS}
ASCENT: Any = {"method": "L-BFGS-B", "options": LIMITS}
MOST_FREE, RIDGE, ROUNDING = 1500, 1e-11, 1e-13
"""Of a Newton step: most multipliers (its cost is their cube), the share of the curvature that is added to it, and the
share of the dual within which two values of it are the same."""
PART_BYTES = 16 * 2**20
"""Memory that dense differences of pair products may take while the curvature is summed up."""


@dataclass(eq=False, repr=False)
class QPAO(ProductsLearner):
    """Quadratic programming with alternating optimisation: large-margin weights of visual words. Reconstructed.

    Minimises, over weights lower <= w_j <= upper,

        1/2 ||w - 1||^2 + C * sum over triplets (x, x+, x-) of max(0, 1 - w.(x * x+) + w.(x * x-)),

    by exact minimisation over one random block of weights after the other. The method is that of Cai, Yan & Mikolajczyk
    (CVPR 2010) as far as SOML (AAAI 2014, section "Experiments") tells of it: codebook weights from a quadratic
    programme, alternating optimisation over subsets of weights (50, 50 and 500 of them at 1e4, 1e5 and 1e6 words),
    L = 0, M = the codebook size. The objective and the blocks' choice are a reconstruction: neither is printed there,
    and the first paper's text was not at hand.

    Parameters
    ----------
    C : float, default=1.0
        What a unit of loss costs, larger than 0. Rows of length 1 with many non-zeros have small products, so that at
        C = 1 a large codebook may leave every triplet with a loss; then w - 1 grows in proportion to C.
    lower : float, default=0.0
        L, the smallest weight.
    upper : float, optional
        M, the largest. Default: the number of features, as in SOML.
    fixed_sum : bool, default=False
        Keep the sum of all weights, those that no triplet can change too, at the number of features, which `upper` then
        bounds by itself. Every block keeps its sum, and ``lower <= 1 <= upper`` is needed.
    n_blocks : int, default=50
        Blocks of a sweep; with 1, the minimum is found in one step. Weights that no triplet can change are in none.
    n_triplets : int, default=21_000
        Triplets that `fit` draws; `fit_triplets` ignores it.
    tol : float, default=1e-5
        The descent ends with a sweep that lowers the objective by less than this share of it.
    max_sweeps : int, default=100
        Most sweeps over all blocks.
    verbose : int, default=0
        Above 0: a progress bar with the objective.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Of the triplets and of the blocks, which are drawn anew for every sweep. With an integer s, `fit` is the same
        as `fit_triplets` on ``TripletSampler(y, s).draw(n_triplets)``, bit for bit.

    Attributes
    ----------
    w_ : numpy.ndarray of shape (d,), float64
        The weights; 1 (or the bound nearest to it) for words that no pair of a triplet shares; with `fixed_sum` such
        words have one weight, which may be another.
    objective_ : float
        At the end.
    gap_ : float
        The largest share of the objective by which a block of the last sweep can have missed its minimum, as its dual
        proves. With ``n_blocks=1`` that holds for all weights together.
    n_sweeps_ : int
        Sweeps taken; ``n_iter_`` is the same by scikit-learn's name.
    n_blocks_ : int
        Blocks of a sweep: at most one per weight that a triplet can change; with `fixed_sum` at most one per weight.
    converged_ : bool
        Whether the descent ended by `tol`, and not by `max_sweeps`, and ``gap_`` is at most 1e-6.
    curve_ : dict of numpy.ndarray
        ``sweep``, from 0 on, and ``objective`` after it.
    metric_ : str
        ``"inner_product"``.
    n_features_in_ : int
        Number of features d.

    Notes
    -----
    The sum of hinges is neither smooth nor a sum over blocks, so a point that no block can improve need not be the
    minimum. Blocks drawn anew every sweep lead closer to it than fixed ones. On synthetic landmarks (1,000 and 10,000
    words, C = 1 and 10, 50 blocks) the descent ended above the minimum that ``n_blocks=1`` finds by 1e-7 to 4e-5 of it.

    With all other weights fixed, few hinges are at their kink at a block's minimum. Every other is a straight line
    there, either 0 or sloping, and only shifts the centre 1. A block's programme is solved through the dual of those
    few, with L-BFGS-B of SciPy, and Newton steps where the duality gap shows that it ended early; weights at a bound
    are there exactly. Of rows longer than about 10 it can end far from the minimum, and says so (``gap_``,
    ``converged_``).

    With p distinct pairs of rows and n non-zeros of their products, a sweep costs O(n + n_blocks * (p + m)) for m
    triplets, besides those ascents; memory is O(n + m + d), and at most 200 MB more within a Newton step.

    Examples
    --------
    >>> X, triplets = [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]]
    >>> QPAO(C=0.25, random_state=0).fit_triplets(X, triplets).w_.tolist()
    [1.25, 0.75, 1.0]
    """

    accepts = frozenset({"labels", "triplets"})
    remedy = "learn with lower=0"

    C: float = 1.0
    lower: float = 0.0
    upper: float | None = None
    n_blocks: int = 50
    _: KW_ONLY
    fixed_sum: bool = False
    n_triplets: int = 21_000
    tol: float = 1e-5
    max_sweeps: int = 100
    verbose: int = 0
    random_state: RandomState = None

    def fit(self, X: Matrix, y: Labels = None) -> Self:
        """Learn from labelled rows with randomly drawn triplets; X, y and errors as of `MCML.fit`.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            When `max_sweeps` end the descent, or ``gap_`` is above 1e-6.
        """
        self._check_parameters()
        X, y = self._check_labelled(X, y)
        seed = as_seed(self.random_state)
        triplets = TripletSampler(y, seed).draw(int(self.n_triplets))
        return self._learn(TripletProducts(X, triplets), seed)

    def _never_negative(self) -> bool:
        return self.lower >= 0

    def _check_parameters(self) -> None:
        self._require_number("C", "a number larger than 0", lambda C: 0 < C < np.inf)
        self._require_number("lower", "a number", lambda lower: -np.inf < lower < np.inf)
        upper = np.inf if self.upper is None else self.upper
        self._require(is_number(upper) and self.lower < upper, "upper", f"None or larger than lower={self.lower!r}")
        if self.fixed_sum:
            self._require(self.lower <= 1, "lower", "at most 1 where the sum is fixed")
            self._require(upper >= 1, "upper", "at least 1 where the sum is fixed")
        self._require_whole(1, "n_blocks", "max_sweeps")
        self._require_whole(0, "n_triplets")
        self._require_number("tol", "a number that is not negative", lambda tol: tol >= 0)

    def _learn(self, products: TripletProducts, seed: int | None = None) -> Self:
        d = products.n_features
        upper = float(max(d, self.lower + 1) if self.upper is None else self.upper)
        seed = as_seed(self.random_state) if seed is None else seed
        bounds = Bounded(float(self.lower), upper, 0.0 if self.fixed_sum else None)
        descent = BlockDescent(products, float(self.C), bounds, int(self.n_blocks), seed)
        objectives = [descent.objective()]
        # a single block is at the minimum of all weights after one sweep
        limit = 1 if descent.n_blocks == 1 else int(self.max_sweeps)
        self.gap_, ended = 0.0, descent.n_blocks == 0
        # the linear algebra within L-BFGS-B is of a few numbers at a time, which more threads make several times slower
        with Progress(limit, self.verbose, "QPAO") as progress, threadpool_limits(limits=1):
            while len(objectives) <= limit and not ended:
                largest = descent.sweep()
                objectives.append(descent.objective())
                self.gap_ = largest / max(objectives[-1], np.finfo(float).tiny)
                decrease = objectives[-2] - objectives[-1]
                ended = descent.n_blocks == 1 or bool(decrease <= self.tol * objectives[-1])
                progress.advance(objective=objectives[-1])
        self.metric_ = "inner_product"
        self.w_ = descent.all_weights()
        self.objective_ = objectives[-1]
        self.n_sweeps_ = self.n_iter_ = len(objectives) - 1
        self.n_blocks_ = descent.n_blocks
        self.curve_ = {"sweep": np.arange(len(objectives)), "objective": np.array(objectives)}
        self.converged_ = ended and bool(self.gap_ <= LARGEST_GAP)
        if not ended:
            reason = f"was still descending after {self.n_sweeps_} sweeps: give a larger max_sweeps, or a larger tol"
        elif not self.converged_:
            reason = (
                f"left a block up to {self.gap_:.1e} of the objective above its minimum: scale the rows of X to length "
                "1, or give more n_blocks, which makes them smaller"
            )
        if not self.converged_:
            warnings.warn(f"QPAO {reason}", ConvergenceWarning, stacklevel=3)
        return self


class Bounded(NamedTuple):
    """Where the weights of a block may be: between two bounds, and with a sum, unless `total` is None."""

    lower: float
    upper: float
    total: float | None

    def nearest(self, centre: Doubles) -> Doubles:
        """Return the weights that are nearest to some others: all moved alike where they have a sum, then clipped."""
        if self.total is None:
            return np.clip(centre, self.lower, self.upper)
        # variables are fixed at the bounds on whose side more is missing, until none is past a bound (Bitran and Hax)
        free, rest, move = centre, self.total, 0.0
        while len(free):
            move = (rest - free.sum()) / len(free)
            moved = free + move
            below, above = np.maximum(self.lower - moved, 0.0).sum(), np.maximum(moved - self.upper, 0.0).sum()
            if not below and not above:
                break
            at, kept = (self.lower, moved > self.lower) if below >= above else (self.upper, moved < self.upper)
            free, rest = free[kept], rest - at * np.count_nonzero(~kept)
        return np.clip(centre + move, self.lower, self.upper)

    def within(self, weights: Doubles) -> Longs:
        """Return which weights are at no bound."""
        return np.flatnonzero((weights > self.lower) & (weights < self.upper))


class Hinges(NamedTuple):
    """Hinges ``cost * max(0, target - w.v)`` of weights w, with v = ``products[positive] - products[negative]``."""

    products: Matrix
    """Pair products as sparse rows, (p, b)."""
    positive: Longs
    negative: Longs
    cost: Doubles
    targets: Doubles

    def shortfalls(self, weights: Doubles) -> Doubles:
        """Return target - w.v of every hinge; it has a loss where that is above 0."""
        scores = self.products @ weights
        return np.asarray(self.targets - scores[self.positive] + scores[self.negative])

    def pair_sums(self, multipliers: Doubles) -> Doubles:
        """Return what multiplies every pair product in sum_t multiplier_t v_t."""
        n_pairs = self.products.shape[0]
        sums = np.bincount(self.positive, multipliers, n_pairs) - np.bincount(self.negative, multipliers, n_pairs)
        return np.asarray(sums, dtype=np.float64)

    def some(self, chosen: Longs) -> Hinges:
        """Return some of the hinges, over the pairs that they need."""
        pairs = np.concatenate([self.positive[chosen], self.negative[chosen]])
        pairs, numbers = np.unique(pairs, return_inverse=True)
        positive, negative = numbers[: len(chosen)], numbers[len(chosen) :]
        return Hinges(self.products[pairs], positive, negative, self.cost[chosen], self.targets[chosen])


def distinct_hinges(products: TripletProducts, C: float) -> Hinges:
    """Return one hinge of target 1 for all triplets of the same two products; it costs C for each of them."""
    width = len(products.columns)
    parts, numbers, n_pairs = [sp.csr_array((0, width))], [np.empty((0, 2), dtype=np.int64)], 0
    for part, pairs in products.blocks(products.examples):
        end = int(part.indptr[-1])
        arrays = (part.data[:end], part.indices[:end].astype(np.int32), part.indptr)
        parts.append(sp.csr_array(arrays, shape=(len(part.indptr) - 1, width)))
        numbers.append(pairs.astype(np.int64) + n_pairs)
        n_pairs += len(part.indptr) - 1
    rows = sp.csr_array(sp.vstack(parts, format="csr"))
    rows.eliminate_zeros()
    positive, negative = np.concatenate(numbers).T
    codes, counts = np.unique(positive * max(n_pairs, 1) + negative, return_counts=True)
    positive, negative = np.divmod(codes, max(n_pairs, 1))
    return Hinges(rows, positive, negative, np.asarray(C * counts, dtype=np.float64), np.ones(len(codes)))


class BlockDescent:
    """Block descent, within bounds, on the weights of features in some product, or where their sum is fixed on all.

    Every sweep draws its blocks anew; where the sum of all is fixed, that of every block stays as it is.
    """

    def __init__(self, products: TripletProducts, C: float, bounds: Bounded, n_blocks: int, seed: int) -> None:
        hinges = distinct_hinges(products, C)
        occurring = np.unique(hinges.products.indices)
        self.features = np.asarray(products.columns[occurring])
        own = hinges.products.tocsc()[:, occurring]
        self._bounds, self._d = bounds, products.n_features
        if bounds.total is not None and len(occurring):
            starts = np.searchsorted(self.features, np.arange(self._d + 1))
            own = sp.csc_array((own.data, own.indices, own.indptr[starts]), shape=(own.shape[0], self._d))
            self.features = np.arange(self._d)
        self._hinges = hinges._replace(products=sp.csc_array(own))
        self._untouched = float(np.clip(1.0, bounds.lower, bounds.upper))
        self.weights = np.full(len(self.features), self._untouched)
        self.n_blocks = min(n_blocks, len(self.features))
        self._random = np.random.default_rng([seed, 1])

    def sweep(self) -> float:
        """Minimise over every block of a random partition once; return the largest duality gap of a block."""
        scores = self._hinges.products @ self.weights
        order = self._random.permutation(len(self.weights))
        return max(self._minimise(np.sort(block), scores) for block in np.array_split(order, self.n_blocks))

    def objective(self) -> float:
        """Return the objective over all d weights."""
        losses = np.maximum(self._hinges.shortfalls(self.weights), 0.0)
        others = (self._d - len(self.weights)) * (self._untouched - 1.0) ** 2
        return float(0.5 * (((self.weights - 1.0) ** 2).sum() + others) + self._hinges.cost @ losses)

    def all_weights(self) -> Doubles:
        """Return the d weights."""
        weights: Doubles = np.full(self._d, self._untouched)
        weights[self.features] = self.weights
        return weights

    def _minimise(self, block: Longs, scores: Doubles) -> float:
        """Minimise over one block, in `weights` and in the `scores` of all pairs; return the duality gap."""
        hinges, before = self._hinges, self.weights[block]
        products = hinges.products[:, block].tocsr()
        others = scores - products @ before
        targets = 1.0 - others[hinges.positive] + others[hinges.negative]
        bounds = self._bounds if self._bounds.total is None else self._bounds._replace(total=float(before.sum()))
        weights, gap = block_minimum(hinges._replace(products=products, targets=targets), bounds, before)
        self.weights[block] = weights
        scores[:] = others + products @ weights
        return gap


def block_minimum(hinges: Hinges, bounds: Bounded, start: Doubles) -> tuple[Doubles, float]:
    """Minimise 1/2 ||w - 1||^2 plus the hinges over one block, from `start` on; return weights and duality gap."""
    # Hinges start as the lines that they are at `start`. With the kinks of the working set only, a lower bound is
    # minimised. Hinges beyond their kink join the set; where there are none, bound and objective are equal.
    shortfalls = hinges.shortfalls(start)
    sloping = shortfalls > 0
    working = np.abs(shortfalls) <= NEAR
    multipliers = np.where(sloping, hinges.cost, 0.0)
    multipliers[working] = hinges.cost[working] / 2
    while True:
        weights, gap = _relaxed_minimum(hinges, bounds, multipliers, working)
        found = hinges.shortfalls(weights)
        crossed = ~working & np.where(sloping, found < -SLACK, found > SLACK)
        if not crossed.any():
            break
        working |= crossed
        multipliers[crossed] = hinges.cost[crossed] / 2
    centre = np.ones(1)
    before = _objective(start, centre, hinges.cost, np.maximum(shortfalls, 0.0))
    if _objective(weights, centre, hinges.cost, np.maximum(found, 0.0)) > before:  # by rounding, at the minimum already
        weights = start
    return weights, gap


def _relaxed_minimum(hinges: Hinges, bounds: Bounded, multipliers: Doubles, working: Truths) -> tuple[Doubles, float]:
    """Minimise with kinks in the working set only; set its multipliers, return weights and duality gap."""
    centre = 1.0 + hinges.products.T @ hinges.pair_sums(np.where(working, 0.0, multipliers))
    chosen = np.flatnonzero(working)
    if not len(chosen):
        return bounds.nearest(centre), 0.0
    dual = Dual(hinges.some(chosen), centre, bounds)
    multipliers[chosen] = dual.maximum(multipliers[chosen])
    weights = dual.weights(multipliers[chosen])
    return weights, dual.gap(weights, multipliers[chosen])


class Dual:
    """The dual of a block's programme: max over 0 <= alpha <= cost of min over w within bounds of the Lagrangian."""

    def __init__(self, hinges: Hinges, centre: Doubles, bounds: Bounded) -> None:
        # the gradient, target_t - w(alpha).v_t with w(alpha) nearest to centre + sum_t alpha_t v_t, is continuous
        self.hinges, self.centre, self.bounds = hinges, centre, bounds
        self._transposed = hinges.products.T.tocsr()

    def weights(self, alpha: Doubles) -> Doubles:
        """Return w(alpha)."""
        return self.bounds.nearest(self.centre + self._transposed @ self.hinges.pair_sums(alpha))

    def gap(self, weights: Doubles, alpha: Doubles) -> float:
        """Return primal less dual objective at w(alpha) and alpha."""
        shortfalls = self.hinges.shortfalls(weights)
        return float((self.hinges.cost * np.maximum(shortfalls, 0.0) - alpha * shortfalls).sum())

    def negative(self, alpha: Doubles) -> tuple[float, Doubles]:
        """Return minus the dual, and the gradient of that."""
        weights = self.weights(alpha)
        shortfalls = self.hinges.shortfalls(weights)
        return -_objective(weights, self.centre, alpha, shortfalls), -shortfalls

    def maximum(self, start: Doubles) -> Doubles:
        """Return the multipliers at the maximum: from `start` by L-BFGS-B, then Newton steps where it ends early."""
        alpha, bounds = start, Bounds(np.zeros_like(start), self.hinges.cost)
        for _ in range(MOST_ROUNDS):
            found = minimize(self.negative, alpha, jac=True, bounds=bounds, **ASCENT)
            alpha = np.asarray(found.x)
            if self._is_maximum(alpha):
                break
            # the dual is piecewise quadratic, so few steps are needed
            alpha = self._newton(alpha)
            if self._is_maximum(alpha):
                break
        return alpha

    def _is_maximum(self, alpha: Doubles) -> bool:
        return self.gap(self.weights(alpha), alpha) <= SMALLEST_GAP * (1.0 + abs(self.negative(alpha)[0]))

    def _newton(self, alpha: Doubles) -> Doubles:
        """Return multipliers after projected Newton steps on those that are free to move."""
        cost = self.hinges.cost
        for _ in range(MOST_NEWTON_STEPS):
            value, gradient = self.negative(alpha)
            free = np.flatnonzero(((alpha > 0) | (gradient < 0)) & ((alpha < cost) | (gradient > 0)))
            if not len(free) or len(free) > MOST_FREE or np.abs(gradient[free]).max() <= SMALLEST_GRADIENT:
                break
            weights = self.weights(alpha)
            gap = self.gap(weights, alpha)
            curvature = self._curvature(free, self.bounds.within(weights))
            # products of a few rows are often linearly dependent
            curvature[np.diag_indices_from(curvature)] += RIDGE * (1.0 + np.trace(curvature) / len(free))
            step = np.zeros_like(alpha)
            step[free] = solve(curvature, -gradient[free], assume_a="pos")
            for length in 0.5 ** np.arange(MOST_HALVINGS):
                trial = np.clip(alpha + length * step, 0.0, cost)
                # close to the maximum the dual changes by less than its rounding, and the gap tells more
                ascent = value - self.negative(trial)[0]
                if ascent > ROUNDING * abs(value) or (
                    ascent > -ROUNDING * abs(value) and self.gap(self.weights(trial), trial) < gap
                ):
                    break
            else:
                break
            alpha = trial
        return alpha

    def _curvature(self, free: Longs, inside: Longs) -> Doubles:
        """Return all inner products of these hinges' v, at these weights; the v are made dense a part at a time."""
        curvature, sums = np.zeros((len(free), len(free))), np.zeros(len(free))
        width = max(1, PART_BYTES // (8 * len(free)))
        for first in range(0, len(inside), width):
            columns = self.hinges.products[:, inside[first : first + width]]
            directions = (columns[self.hinges.positive[free]] - columns[self.hinges.negative[free]]).toarray()
            curvature += directions @ directions.T
            sums += directions.sum(axis=1)
        # where their sum is fixed, all weights inside move by what a step would add to it
        return curvature if self.bounds.total is None else curvature - np.outer(sums, sums) / max(1, len(inside))


def _objective(weights: Doubles, centre: Doubles, costs: Doubles, losses: Doubles) -> float:
    away = weights - centre
    return float(0.5 * (away @ away) + costs @ losses)
