"""QPAO, the batch baseline of the landmark study: one weight per visual word from a convex quadratic programme."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from lookalike.core.seeds import RandomState, as_seed
from lookalike.learners._diagonal import DiagonalLearner
from lookalike.learners._progress import Progress
from lookalike.learners._qpao_blocks import BlockProgramme, Hinges
from lookalike.learners.triplet_products import TripletProducts
from lookalike.learners.triplet_products import warm_up as warm_up  # all that it has compiled
from lookalike.learners.triplets import TripletSampler

Floats = NDArray[np.float64]

LARGEST_GAP = 1e-6
"""Share of the objective that a block may be above its minimum in a descent that has converged."""


class QPAO(DiagonalLearner):
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

    A block's programme is solved through its dual, with L-BFGS-B of SciPy on the few hinges near their kink, and with
    Newton steps where the duality gap shows that it ended early; weights at a bound are there exactly. Of rows longer
    than about 10 it can end far from the minimum, and says so (``gap_``, ``converged_``).

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

    def __init__(
        self,
        C: float = 1.0,
        lower: float = 0.0,
        upper: float | None = None,
        n_blocks: int = 50,
        *,
        n_triplets: int = 21_000,
        tol: float = 1e-5,
        max_sweeps: int = 100,
        verbose: int = 0,
        random_state: RandomState = None,
    ) -> None:
        self.C = C
        self.lower = lower
        self.upper = upper
        self.n_blocks = n_blocks
        self.n_triplets = n_triplets
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from labelled rows with randomly drawn triplets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows, for instance tf-idf weights of visual words.
        y : array-like of shape (n,)
            Class labels.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On NaN or infinity, a single class, no class with two rows, values so large that their squares overflow,
            or a parameter out of its range.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            When `max_sweeps` end the descent, or ``gap_`` is above 1e-6.
        """
        self._check_parameters()
        X, y = self._check_labelled(X, y)
        seed = as_seed(self.random_state)
        triplets = TripletSampler(y, seed).draw(int(self.n_triplets))
        return self._descend(TripletProducts(X, triplets), seed)

    def fit_triplets(self, X: Any, triplets: Any) -> Self:
        """Learn from exactly these triplets; their order does not matter but for rounding.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
        triplets : array-like of shape (m, 3)
            Row numbers (query, positive, negative) of X. One that occurs k times counts k times. ``n_triplets`` is not
            used.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        return self._descend(TripletProducts(X, triplets), as_seed(self.random_state))

    def fit_products(self, products: TripletProducts) -> Self:
        """Learn from rows and triplets that are prepared already, as `fit_triplets` on those, bit for bit.

        Parameters
        ----------
        products : TripletProducts
            With triplets. It serves any number of learners.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            When they were made without triplets, or a parameter is out of its range.
        """
        self._check_parameters()
        self._see_features(products)
        return self._descend(products, as_seed(self.random_state))

    def _never_negative(self) -> bool:
        return self.lower >= 0

    def _check_parameters(self) -> None:
        if not 0 < self.C < np.inf:
            raise ValueError(f"C must be a number larger than 0, not {self.C!r}")
        if not -np.inf < self.lower < np.inf:
            raise ValueError(f"lower must be a number, not {self.lower!r}")
        if self.upper is not None and not self.lower < self.upper:
            raise ValueError(f"upper must be None or larger than lower={self.lower!r}, not {self.upper!r}")
        for name, least in (("n_blocks", 1), ("n_triplets", 0), ("max_sweeps", 1)):
            value = getattr(self, name)
            if not value >= least or int(value) != value:
                raise ValueError(f"{name} must be a whole number, {least} or more, not {value!r}")
        if not self.tol >= 0:
            raise ValueError(f"tol must be a number that is not negative, not {self.tol!r}")

    def _descend(self, products: TripletProducts, seed: int) -> Self:
        d = products.n_features
        upper = float(max(d, self.lower + 1) if self.upper is None else self.upper)
        descent = BlockDescent(products, float(self.C), (float(self.lower), upper), int(self.n_blocks), seed)
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


class BlockDescent:
    """Block-coordinate descent on the weights that triplets can change.

    Parameters
    ----------
    products : TripletProducts
    C : float
    box : (float, float)
        Bounds of every weight.
    n_blocks : int
        At most; never more than weights.
    seed : int
        Of the blocks.

    Attributes
    ----------
    features : numpy.ndarray of shape (c,), int64
        The features that occur in a product of a pair.
    weights : numpy.ndarray of shape (c,), float64
        Theirs.
    n_blocks : int
    """

    def __init__(self, products: TripletProducts, C: float, box: tuple[float, float], n_blocks: int, seed: int) -> None:
        rows, numbers = stacked_products(products)
        occurring = np.unique(rows.indices)
        self.features = np.asarray(products.columns[occurring])
        self._by_column = sp.csc_array(rows.tocsc()[:, occurring])
        self._hinges = distinct_hinges(numbers, self._by_column.shape[0], C)
        self._box, self._d = box, products.n_features
        self.weights = np.full(len(self.features), self._untouched())
        self.n_blocks = min(n_blocks, len(self.features))
        self._random = np.random.default_rng([seed, 1])

    def sweep(self) -> float:
        """Minimise over every block of a random partition once; return the largest duality gap of a block."""
        scores = self._by_column @ self.weights
        order = self._random.permutation(len(self.weights))
        return max(self._minimise(np.sort(block), scores) for block in np.array_split(order, self.n_blocks))

    def objective(self) -> float:
        """Return the objective over all d weights."""
        scores = self._by_column @ self.weights
        losses = np.maximum(1.0 - scores[self._hinges.positive] + scores[self._hinges.negative], 0.0)
        others = (self._d - len(self.weights)) * (self._untouched() - 1.0) ** 2
        return float(0.5 * (((self.weights - 1.0) ** 2).sum() + others) + self._hinges.cost @ losses)

    def all_weights(self) -> Floats:
        """Return the d weights."""
        weights: Floats = np.full(self._d, self._untouched())
        weights[self.features] = self.weights
        return weights

    def _untouched(self) -> float:
        return float(np.clip(1.0, *self._box))

    def _minimise(self, block: NDArray[np.int64], scores: Floats) -> float:
        """Minimise over one block, in `weights` and in the `scores` of all pairs; return the duality gap."""
        products, before = self._by_column[:, block].tocsr(), self.weights[block]
        others = scores - products @ before
        targets = 1.0 - others[self._hinges.positive] + others[self._hinges.negative]
        found = BlockProgramme(products, self._hinges, targets, *self._box).minimum(before)
        self.weights[block] = found.weights
        scores[:] = others + products @ found.weights
        return found.gap


def stacked_products(products: TripletProducts) -> tuple[sp.csr_array, NDArray[np.int64]]:
    """Return the products of pairs as rows, and the numbers of every triplet's two rows.

    Parameters
    ----------
    products : TripletProducts

    Returns
    -------
    rows : scipy.sparse.csr_array of shape (p, c), float64
        Over ``products.columns``; no zeros are stored.
    numbers : numpy.ndarray of shape (m, 2), int64
        Rows of the positive and of the negative pair.
    """
    width = len(products.columns)
    parts, numbers, first = [sp.csr_array((0, width))], [np.empty((0, 2), dtype=np.int64)], 0
    for part, pairs in products.blocks(products.examples) if products.n_triplets else _nothing():
        end = int(part.starts[-1])
        arrays = (part.values[:end], part.places[:end].astype(np.int32), part.starts)
        parts.append(sp.csr_array(arrays, shape=(len(part.starts) - 1, width)))
        numbers.append(pairs.astype(np.int64) + first)
        first += len(part.starts) - 1
    rows = sp.csr_array(sp.vstack(parts, format="csr"))
    rows.eliminate_zeros()
    return rows, np.concatenate(numbers)


def _nothing() -> Iterator[Any]:
    yield from ()


def distinct_hinges(numbers: NDArray[np.int64], n_pairs: int, C: float) -> Hinges:
    """Return one hinge for all triplets of the same two products; it costs C times as much as there are such.

    Parameters
    ----------
    numbers : numpy.ndarray of shape (m, 2), int64
    n_pairs : int
        Above every number.
    C : float
    """
    codes, counts = np.unique(numbers[:, 0] * max(n_pairs, 1) + numbers[:, 1], return_counts=True)
    positive, negative = np.divmod(codes, max(n_pairs, 1))
    return Hinges(positive, negative, C * counts)
