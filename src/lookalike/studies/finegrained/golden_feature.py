"""The golden feature: a non-negative weighted sum of distances, its weights by max margin (Deep Ranking, section 6.1).

The paper mixes twenty-seven "features", each with a setting and a distance of its own, some of them learned from
annotated images, and learns the weights from rated triplets. Here a `Component` is vectors with a distance; where they
come from is said in `lookalike.studies.finegrained.golden`. `select_l1` gives the features that `L1HashKPCA` hashes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from lookalike.core.kernels import njit
from lookalike.core.seeds import RandomState, as_seed
from lookalike.learners.triplets import check_triplets
from lookalike.ranking.distances import distances_of_rows


class Component(NamedTuple):
    """Vectors of images, a row each, under the name of a feature, and the distance that compares them.

    The distance is one of `lookalike.ranking.distances`. For ``chi2``, vectors with negative values are split into
    their positive and their negative part, because it compares amounts.
    """

    feature: str
    vectors: NDArray[np.float32]
    distance: str


def component_distances(
    components: Sequence[Component], left_rows: ArrayLike, right_rows: ArrayLike
) -> NDArray[np.float64]:
    """Distances of n pairs of rows by every component, float64 of shape (n, number of components)."""
    left, right = np.asarray(left_rows, dtype=np.int64), np.asarray(right_rows, dtype=np.int64)
    table = np.empty((len(left), len(components)))
    for column, (_, vectors, distance) in enumerate(components):
        table[:, column] = distances_of_rows(vectors, left, right, distance)
    return table


class GoldenFeature(BaseEstimator):  # type: ignore[misc]
    """Non-negative weights of distances by max margin: w'(d(q, p-) - d(q, p+)) >= 1 for triplets (q, p+, p-).

    Distances are divided by their median over the pairs of the triplets, so that weights can be compared. The weights
    minimise 1/2 |w|^2 + C times the mean over triplets of max(0, 1 - w'(d(q, p-) - d(q, p+))), with w >= 0.

    Parameters
    ----------
    C : float, default=1.0
        Above 0. The larger, the less the weights are held back.
    tol : float, default=0.001
        Learning stops where the gap between the objective and its dual is below this share of the objective.
    max_iter : int, default=1000
        Passes over the triplets at most.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Of the order of triplets in a pass; the optimum does not depend on it.

    Attributes
    ----------
    weights_, scales_ : ndarray of shape (number of components,), float64
        Weights of the distances once divided by their scales, at least 0; and these.
    features_, distance_names_ : list of str
        Of the components.
    objective_, gap_, n_iter_, converged_
        Where learning stopped, after how many passes, and whether the gap was below the tolerance.

    Notes
    -----
    Dual coordinate descent (Hsieh et al., "A dual coordinate descent method for large-scale linear SVM", ICML 2008)
    with weights that are kept from being negative; without a bias, since a triplet has none. The dual has one bounded
    variable a triplet, so the gap is known at every pass.

    Examples
    --------
    >>> import numpy as np
    >>> shade = Component("shade", np.array([[0.0], [1.0], [3.0]], np.float32), "l1")
    >>> noise = Component("noise", np.array([[0.0], [5.0], [1.0]], np.float32), "l1")
    >>> model = GoldenFeature(C=100.0, random_state=0).fit([shade, noise], [[0, 1, 2]])
    >>> bool(model.weights_[0] > 0), float(model.weights_[1])
    (True, 0.0)
    """

    def __init__(
        self, C: float = 1.0, *, tol: float = 0.001, max_iter: int = 1000, random_state: RandomState = None
    ) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, components: Sequence[Component], triplets: Any) -> Self:
        """Learn the weights from triplets (query, positive, negative) of row numbers of the components' vectors."""
        if not components:
            raise ValueError("there is nothing to weigh: give at least one component")
        rows = check_triplets(triplets, min(len(component.vectors) for component in components))
        nearer = component_distances(components, rows[:, 0], rows[:, 1])
        farther = component_distances(components, rows[:, 0], rows[:, 2])
        names = [(component.feature, component.distance) for component in components]
        return self.fit_distances(names, nearer, farther)

    def fit_distances(
        self,
        names: Sequence[tuple[str, str]],
        nearer: NDArray[np.float64],
        farther: NDArray[np.float64],
        scales: NDArray[np.float64] | None = None,
    ) -> Self:
        """Learn the weights from d(q, p+) and d(q, p-) of every triplet, a column a component.

        `names` are the feature and the distance of each column; `scales` stands for `distance_scales` of these.
        """
        self._check_parameters()
        if nearer.shape != farther.shape or nearer.ndim != 2 or nearer.shape[1] != len(names) or not len(nearer):
            raise ValueError(
                f"distances to positives {nearer.shape} and negatives {farther.shape} must be a row per triplet, at "
                f"least one, and a column for each of the {len(names)} components"
            )
        if not (np.isfinite(nearer).all() and np.isfinite(farther).all()):
            raise ValueError("some distances are NaN or infinite: leave out triplets of images that have no vector")
        self.features_ = [feature for feature, _ in names]
        self.distance_names_ = [distance for _, distance in names]
        self.scales_ = distance_scales(np.vstack([nearer, farther])) if scales is None else np.asarray(scales)
        self._descend((farther - nearer) / self.scales_)
        return self

    def distances(
        self, components: Sequence[Component], left_rows: ArrayLike, right_rows: ArrayLike
    ) -> NDArray[np.float64]:
        """Return the weighted sum of distances of pairs of rows, by the components of `fit` with any vectors."""
        check_is_fitted(self)
        if [(c.feature, c.distance) for c in components] != list(
            zip(self.features_, self.distance_names_, strict=True)
        ):
            raise ValueError("these are not the components that the weights belong to: give those of fit, in its order")
        used = np.flatnonzero(self.weights_)
        table = component_distances([components[int(i)] for i in used], left_rows, right_rows)
        return np.asarray(table @ (self.weights_[used] / self.scales_[used]))

    def accuracy(self, nearer: NDArray[np.float64], farther: NDArray[np.float64]) -> float:
        """Return the share of triplets whose positive is nearer by the weighted sum; a tie counts as half."""
        check_is_fitted(self)
        margins = (farther - nearer) @ (self.weights_ / self.scales_)
        return float(np.mean((margins > 0) + 0.5 * (margins == 0)))

    def _check_parameters(self) -> None:
        if not (np.isfinite(self.C) and self.C > 0):
            raise ValueError(f"C must be above 0 and finite, not {self.C!r}")
        if not self.tol > 0:
            raise ValueError(f"tol must be above 0, not {self.tol!r}")
        if self.max_iter < 1 or int(self.max_iter) != self.max_iter:
            raise ValueError(f"max_iter must be a whole number of at least 1, not {self.max_iter!r}")

    def _descend(self, differences: NDArray[np.float64]) -> None:
        rows = np.ascontiguousarray(differences, dtype=np.float64)
        squares = np.einsum("ij,ij->i", rows, rows)
        largest = float(self.C) / len(rows)
        dual, sums = np.zeros(len(rows)), np.zeros(rows.shape[1])
        random = np.random.Generator(np.random.PCG64(as_seed(self.random_state)))
        # equal distances to both: their dual variable is at its bound whatever the weights are
        dual[squares == 0] = largest
        self.n_iter_ = 0
        while self.n_iter_ < self.max_iter:
            self.n_iter_ += 1
            dual_pass(rows, squares, random.permutation(len(rows)), largest, dual, sums)
            weights = np.maximum(sums, 0)
            half = 0.5 * float(weights @ weights)
            objective = half + largest * float(np.maximum(1 - rows @ weights, 0).sum())
            gap = objective - (float(dual.sum()) - half)
            if gap <= self.tol * objective:
                break
        self.weights_, self.objective_, self.gap_ = weights, objective, gap
        self.converged_ = gap <= self.tol * objective


@njit(cache=True, nogil=True)
def dual_pass(
    rows: NDArray[np.float64],
    squares: NDArray[np.float64],
    order: NDArray[np.int64],
    largest: float,
    dual: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Take one step on the dual variable of every row, in the given order.

    The dual of min 1/2 |w|^2 + largest sum_i max(0, 1 - x_i'w), w >= 0, is max sum_i a_i - 1/2 |[sum_i a_i x_i]_+|^2
    with 0 <= a_i <= largest, and w = [sum_i a_i x_i]_+. A step on a_i takes |x_i|^2 for the curvature, which is an
    upper bound, reached where all weights are above zero, so that no step lowers the dual. `dual` and `sums`, the sum
    of a_i x_i, change in place.
    """
    n_features = rows.shape[1]
    for i in order:
        if squares[i] == 0.0:
            continue
        margin = 0.0
        for k in range(n_features):
            margin += rows[i, k] * max(sums[k], 0.0)
        new = min(max(dual[i] + (1.0 - margin) / squares[i], 0.0), largest)
        change = new - dual[i]
        if change != 0.0:
            dual[i] = new
            for k in range(n_features):
                sums[k] += change * rows[i, k]


def distance_scales(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the medians of columns, which distances are divided by; where one is 0 the mean, or else 1."""
    medians, means = np.median(distances, axis=0), distances.mean(axis=0)
    return np.where(medians > 0, medians, np.where(means > 0, means, 1.0))


def select_l1(model: GoldenFeature, norms: Mapping[str, float] | None = None) -> dict[str, float]:
    """Features whose L1 distance has a weight, with weights of sum 1 for `features.l1_hash.l1_visual_features`.

    Vectors are divided by their norms before they are hashed; `norms`, the mean L1 norm of each feature, make up for
    that.
    """
    check_is_fitted(model)
    found = {
        feature: float(weight / scale) * (1.0 if norms is None else norms[feature])
        for feature, distance, weight, scale in zip(
            model.features_, model.distance_names_, model.weights_, model.scales_, strict=True
        )
        if distance == "l1" and weight > 0
    }
    total = sum(found.values())
    return {feature: weight / total for feature, weight in found.items() if weight > 0}


def warm_up() -> None:
    """Compile the kernel, or load it from numba's cache, so that timed runs do not."""
    GoldenFeature(max_iter=1, random_state=0).fit_distances([("a", "l1")], np.zeros((1, 1)), np.ones((1, 1)))
