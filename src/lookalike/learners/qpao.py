"""QPAO, the batch baseline of the landmark study: one weight per visual word from a convex quadratic programme."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from lookalike.core.arrays import Array, Doubles, Longs, Matrix, Words
from lookalike.core.kernels import njit
from lookalike.core.seeds import RandomState, as_seed
from lookalike.learners.curve import Progress
from lookalike.learners.diagonal import ProductsLearner
from lookalike.learners.kernels import Compressed
from lookalike.learners.parameters import (
    Count,
    Finite,
    NotNegative,
    PositiveCount,
    PositiveFinite,
    is_number,
    require,
)
from lookalike.learners.triplet_products import TripletProducts
from lookalike.learners.triplets import TripletSampler, check_triplets

LARGEST_GAP = 1e-6
"""Share of the objective that a block may be above its minimum in a descent that has converged."""
SMALLEST_GAP = 1e-10
"""A block counts as minimised when it is above its minimum by no more than this share of the objective."""
MOST_ASCENTS, MOST_PASSES = 200, 100
"""Ascents of a block's dual, and passes of each over the hinges that are not at their best: limits that only rows much
longer than 1 meet."""
TINY = 1e-300
"""In place of the curvature of a hinge that no weight of a block changes."""


@dataclass(eq=False, repr=False)
class QPAO(ProductsLearner):
    """Quadratic programming with alternating optimisation: large-margin weights of visual words. Reconstructed.

    Minimises, over weights lower <= w_j <= upper,

        1/2 ||w - 1||^2 + C * sum over triplets (x, x+, x-) of max(0, 1 - w.(x * x+) + w.(x * x-)),

    by exact minimisation over one random block of weights after the other. The method is that of Cai, Yan & Mikolajczyk
    (CVPR 2010), whose text was not at hand, as far as SOML (AAAI 2014, section "Experiments") tells of it: codebook
    weights from a quadratic programme, alternating optimisation over subsets of weights (50, 50 and 500 of them at
    1e4, 1e5 and 1e6 words), L = 0, M = the codebook size. The objective and the choice of blocks are reconstructed.

    Parameters
    ----------
    C : float, default=1.0
        What a unit of loss costs, larger than 0. Rows of length 1 with many non-zeros have small products, so that at
        C = 1 a large codebook may leave every triplet with a loss; then w - 1 grows in proportion to C.
    lower : float, default=0.0
        L, the smallest weight.
    upper : float, optional
        M, the largest. Default: the number of features, as in SOML.
    n_blocks : int, default=50
        Blocks of a sweep; with 1, the minimum is found in one step. Weights that no triplet can change are in none.
    n_triplets : int, default=21_000
        Triplets that `fit` samples; `fit_triplets` ignores it.
    tol : float, default=1e-5
        The descent ends with a sweep that lowers the objective by less than this share of it.
    max_sweeps : int, default=100
        Most sweeps over all blocks.
    verbose : int, default=0
        Above 0: a progress bar with the objective.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Of the triplets and of the blocks, of which every sweep has new ones. With an integer s, `fit` is the same
        as `fit_triplets` on ``TripletSampler(y, s).sample(n_triplets)``, bit for bit.

    Attributes
    ----------
    w_ : numpy.ndarray of shape (d,), float64
        The weights; 1 (or the bound nearest to it) for words that no pair of a triplet shares.
    objective_ : float
        At the end.
    gap_ : float
        The largest share of the objective by which a block of the last sweep can have missed its minimum, as its dual
        proves. With ``n_blocks=1`` that holds for all weights together.
    n_sweeps_ : int
        Sweeps taken; ``n_iter_`` is the same by scikit-learn's name.
    n_blocks_ : int
        Blocks of a sweep: at most one per weight that a triplet can change.
    converged_ : bool
        Whether the descent ended by `tol`, and not by `max_sweeps`, and ``gap_`` is at most 1e-6; else a fit warns
        (``sklearn.exceptions.ConvergenceWarning``).
    curve_ : dict of numpy.ndarray
        ``sweep``, from 0 on, and ``objective`` after it.
    metric_ : str
        ``"inner_product"``.
    n_features_in_ : int
        Number of features d.

    Notes
    -----
    A point that no block can improve need not be the minimum; new blocks in every sweep lead closer to it than fixed
    ones. On counts of visual words (10,000 words, 7 positives, 500 negatives, C = 10) the descent over 50 blocks ended
    7e-7 to 3e-5 above the minimum, which ``n_blocks=1`` finds in half of the time.

    A block is minimised through its dual, one multiplier per hinge, by coordinate ascent, which passes over those at a
    bound. Of rows much longer than 1 it can end far from the minimum, and says so (``gap_``, ``converged_``). With n
    non-zeros of the products of distinct pairs of rows, a sweep costs O(n + n_blocks * m) for m triplets, besides those
    ascents; memory is O(n + m + d).

    Examples
    --------
    >>> X, triplets = [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]]
    >>> QPAO(C=0.25, random_state=0).fit_triplets(X, triplets).w_.tolist()
    [1.25, 0.75, 1.0]
    """

    accepts = frozenset({"labels", "triplets"})
    remedy = "learn with lower=0"

    C: PositiveFinite = 1.0
    lower: Finite = 0.0
    upper: float | None = None
    n_blocks: PositiveCount = 50
    _: KW_ONLY
    n_triplets: Count = 21_000
    tol: NotNegative = 1e-5
    max_sweeps: PositiveCount = 100
    verbose: int = 0
    random_state: RandomState = None

    def _learn(self, X: Matrix, y: Array) -> None:
        seed = as_seed(self.random_state)
        triplets = TripletSampler(y, seed).sample(int(self.n_triplets))
        self._learn_products(TripletProducts(X, triplets), seed)

    def fit_triplets(self, X: Matrix, triplets: ArrayLike) -> Self:
        """Learn from exactly these triplets; one that occurs k times counts k times.

        X, triplets and errors are as of `OASIS.fit_triplets`; ``n_triplets`` is not used.
        """
        self._check_parameters()
        triplets = check_triplets(triplets, X)
        return self._learn_products(TripletProducts(self._check_rows(X, reset=True), triplets))

    def _never_negative(self) -> bool:
        return self.lower >= 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        is_above = self.upper is None or (is_number(self.upper) and self.lower < self.upper)
        require(self, is_above, "upper", f"None or larger than lower={self.lower!r}")

    def _learn_products(self, products: TripletProducts, seed: int | None = None) -> Self:
        seed = as_seed(self.random_state) if seed is None else seed
        upper = float(max(products.n_features, self.lower + 1) if self.upper is None else self.upper)
        descent = BlockDescent(products, float(self.C), (float(self.lower), upper), seed)
        self.n_blocks_ = min(int(self.n_blocks), len(descent.movable))
        objectives = [descent.objective()]
        # a single block is at the minimum of all weights after one sweep
        limit = 1 if self.n_blocks_ == 1 else int(self.max_sweeps)
        self.gap_, ended = 0.0, self.n_blocks_ == 0
        with Progress(limit, self.verbose, "QPAO") as progress:
            while len(objectives) <= limit and not ended:
                largest = descent.sweep(self.n_blocks_, SMALLEST_GAP * objectives[-1])
                objectives.append(descent.objective())
                self.gap_ = largest / max(objectives[-1], np.finfo(float).tiny)
                decrease = objectives[-2] - objectives[-1]
                ended = self.n_blocks_ == 1 or bool(decrease <= self.tol * objectives[-1])
                progress.advance(objective=objectives[-1])
        self.metric_ = "inner_product"
        self.w_ = descent.weights
        self.objective_ = objectives[-1]
        self.n_sweeps_ = self.n_iter_ = len(objectives) - 1
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


class Hinges(NamedTuple):
    """Hinges ``cost * max(0, 1 - w.(product[positive] - product[negative]))``: numbers of pairs, and costs."""

    positive: Words
    negative: Words
    cost: Doubles


class Dual(NamedTuple):
    """Where the dual of a block's programme is, whose multipliers alpha are one per hinge, from 0 to its cost.

    They stand for the weights within bounds that are nearest to the centre 1 + sum_t alpha_t v_t, with v_t the
    difference of hinge t's two products. Where the dual is largest, these are the block's minimum.
    """

    others: Doubles
    """Scores of all pairs by the weights outside the block."""
    multipliers: Doubles
    sums: Doubles
    """Of every pair: multipliers of the hinges in which it is the positive, less those in which it is the negative."""


def distinct_hinges(products: TripletProducts, C: float) -> tuple[sp.csr_array, Hinges]:
    """Return the products of pairs as rows, and one hinge for all triplets of the same two, which costs C for each."""
    width = len(products.columns)
    parts, numbers, n_pairs = [sp.csr_array((0, width))], [np.empty((0, 2), dtype=np.int64)], 0
    for part, pairs in products.blocks(products.examples):
        end = int(part.indptr[-1])
        arrays = (part.data[:end], part.indices[:end].astype(np.int32), part.indptr)
        parts.append(sp.csr_array(arrays, shape=(len(part.indptr) - 1, width)))
        numbers.append(pairs.astype(np.int64) + n_pairs)
        n_pairs += len(part.indptr) - 1
    pairs, counts = np.unique(np.concatenate(numbers), axis=0, return_counts=True)
    positive, negative = np.ascontiguousarray(pairs.T, dtype=np.uint32)
    cost = np.asarray(C * counts, dtype=np.float64)
    return sp.csr_array(sp.vstack(parts, format="csr")), Hinges(positive, negative, cost)


class BlockDescent:
    """Block descent, within bounds, on the weights of features in some product; every sweep draws new blocks."""

    def __init__(self, products: TripletProducts, C: float, bounds: tuple[float, float], seed: int) -> None:
        rows, self._hinges = distinct_hinges(products, C)
        found, d = rows.tocsc(), products.n_features
        starts = found.indptr[np.searchsorted(products.columns, np.arange(d + 1))]
        self._products = sp.csc_array((found.data, found.indices, starts), shape=(rows.shape[0], d))
        self._columns = Compressed.from_scipy(self._products)
        self._bounds, self.movable = bounds, np.flatnonzero(np.diff(starts))
        self.weights = np.full(d, np.clip(1.0, *bounds))
        self._multipliers = self._hinges.cost.copy()
        self._random = np.random.default_rng([seed, 1])

    def sweep(self, n_blocks: int, enough: float) -> float:
        """Minimise over every block of a random partition once, up to gaps of `enough`; return the largest gap."""
        positive, negative, _ = self._hinges
        scores = self._products @ self.weights
        sums = np.asarray(np.bincount(positive, self._multipliers, len(scores)), dtype=np.float64)
        sums -= np.bincount(negative, self._multipliers, len(scores))
        dual = Dual(scores, self._multipliers, sums)
        parts = np.array_split(self._random.permutation(len(self.movable)), n_blocks)
        return max(self._minimise(self.movable[np.sort(part)], dual, enough) for part in parts)

    def _minimise(self, block: Longs, dual: Dual, enough: float) -> float:
        """Minimise over one block, in `weights` and in the dual; return the duality gap."""
        own = self.weights[block]
        add_scores(dual.others, self._columns, block, -own)
        centre = centre_of_block(self._columns, block, dual.sums)
        np.clip(centre, *self._bounds, out=own)
        rows, gaps = None, np.empty_like(dual.multipliers)
        for n_ascents in range(MOST_ASCENTS + 1):
            scores = dual.others.copy()
            add_scores(scores, self._columns, block, own)
            gap = measure(gaps, self._hinges, dual.multipliers, scores)
            if gap <= enough or n_ascents == MOST_ASCENTS:
                break
            rows = rows_of_block(self._columns, block, len(scores)) if rows is None else rows
            ascend(rows, self._hinges, np.flatnonzero(gaps), self._bounds, own, centre, dual, enough / 2)
        self.weights[block] = own
        dual.others[:] = scores
        return float(gap)

    def objective(self) -> float:
        """Return the objective over all d weights."""
        scores, (positive, negative, cost) = self._products @ self.weights, self._hinges
        losses = np.maximum(1.0 - scores[positive] + scores[negative], 0.0)
        return float(0.5 * ((self.weights - 1.0) ** 2).sum() + cost @ losses)


@njit(cache=True, nogil=True)
def centre_of_block(columns: Compressed, block: Longs, sums: Doubles) -> Doubles:
    """Return 1 + sum_t alpha_t v_t at a block's features, from the pairs' sums of multipliers alpha."""
    centre = np.ones(len(block))
    for j in range(len(block)):
        for k in range(columns.indptr[block[j]], columns.indptr[block[j] + 1]):
            centre[j] += sums[columns.indices[k]] * columns.data[k]
    return centre


@njit(cache=True, nogil=True)
def ascend(
    rows: Compressed,
    hinges: Hinges,
    chosen: Longs,
    bounds: tuple[float, float],
    own: Doubles,
    centre: Doubles,
    dual: Dual,
    enough: float,
) -> None:
    """Raise the dual along one multiplier of the chosen hinges after the other, until their gap is `enough`."""
    others, multipliers, sums = dual
    lower, upper = bounds
    curvature = squared_lengths(rows, hinges, chosen, len(own))
    n_chosen = len(chosen)
    for _ in range(MOST_PASSES):
        gap, kept = 0.0, 0
        for place in range(n_chosen):
            t = chosen[place]
            cost, multiplier = hinges.cost[t], multipliers[t]
            positive, negative = hinges.positive[t], hinges.negative[t]
            shortfall = 1.0 - others[positive] - score(rows, positive, own)
            shortfall += others[negative] + score(rows, negative, own)
            step = min(max(multiplier + shortfall / curvature[place], 0.0), cost) - multiplier
            if step == 0.0:
                continue  # it is at a bound, and passed over until all are measured again
            gap += gap_of(shortfall, multiplier, cost)
            chosen[kept], curvature[kept] = t, curvature[place]
            kept += 1
            multipliers[t] = multiplier + step
            for pair, change in ((positive, step), (negative, -step)):
                sums[pair] += change
                for k in range(rows.indptr[pair], rows.indptr[pair + 1]):
                    j = rows.indices[k]
                    centre[j] += change * rows.data[k]
                    own[j] = min(max(centre[j], lower), upper)
        n_chosen = kept
        if gap <= enough:
            break


# fastmath lets the compiler sum in vector lanes: another order than one by one, the same on every run of a machine
@njit(cache=True, nogil=True, fastmath=True)
def measure(gaps: Doubles, hinges: Hinges, multipliers: Doubles, scores: Doubles) -> float:
    """Set what every hinge adds to the duality gap; return the sum."""
    gap = 0.0
    for t in range(len(gaps)):
        shortfall = 1.0 - scores[hinges.positive[t]] + scores[hinges.negative[t]]
        gaps[t] = gap_of(shortfall, multipliers[t], hinges.cost[t])
        gap += gaps[t]
    return gap


@njit(cache=True, nogil=True)
def gap_of(shortfall: float, multiplier: float, cost: float) -> float:
    """Return the loss of a hinge less its multiplier times its shortfall: 0 at the best multiplier, else above 0."""
    return ((cost if shortfall > 0.0 else 0.0) - multiplier) * shortfall


@njit(cache=True, nogil=True)
def add_scores(scores: Doubles, columns: Compressed, block: Longs, own: Doubles) -> None:
    """Add what a block's weights give to the scores of all pairs, in place."""
    for j in range(len(block)):
        for k in range(columns.indptr[block[j]], columns.indptr[block[j] + 1]):
            scores[columns.indices[k]] += own[j] * columns.data[k]


@njit(cache=True, nogil=True)
def score(rows: Compressed, pair: int, own: Doubles) -> float:
    """Return what a block's weights give to the score of one pair."""
    total = 0.0
    for k in range(rows.indptr[pair], rows.indptr[pair + 1]):
        total += rows.data[k] * own[rows.indices[k]]
    return total


@njit(cache=True, nogil=True)
def rows_of_block(columns: Compressed, block: Longs, n_pairs: int) -> Compressed:
    """Return the products of pairs at a block's features, as rows."""
    starts = np.zeros(n_pairs + 1, dtype=np.int64)
    for feature in block:
        for k in range(columns.indptr[feature], columns.indptr[feature + 1]):
            starts[columns.indices[k] + 1] += 1
    for pair in range(n_pairs):
        starts[pair + 1] += starts[pair]
    ends, places, values = starts.copy(), np.empty(starts[-1], dtype=np.uint32), np.empty(starts[-1])
    for j in range(len(block)):
        for k in range(columns.indptr[block[j]], columns.indptr[block[j] + 1]):
            pair = columns.indices[k]
            places[ends[pair]], values[ends[pair]] = j, columns.data[k]
            ends[pair] += 1
    return Compressed(starts, places, values)


@njit(cache=True, nogil=True)
def squared_lengths(rows: Compressed, hinges: Hinges, chosen: Longs, size: int) -> Doubles:
    """Return the squared length of the difference of two products, for each of some hinges."""
    lengths, difference = np.full(len(chosen), TINY), np.zeros(size)
    for place in range(len(chosen)):
        positive, negative = hinges.positive[chosen[place]], hinges.negative[chosen[place]]
        for k in range(rows.indptr[positive], rows.indptr[positive + 1]):
            difference[rows.indices[k]] = rows.data[k]
        for k in range(rows.indptr[negative], rows.indptr[negative + 1]):
            difference[rows.indices[k]] -= rows.data[k]
        for pair in (positive, negative):
            for k in range(rows.indptr[pair], rows.indptr[pair + 1]):
                lengths[place] += difference[rows.indices[k]] ** 2
                difference[rows.indices[k]] = 0.0
    return lengths
