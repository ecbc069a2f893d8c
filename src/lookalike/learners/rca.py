"""RCA, whitening by the covariance within classes (Bar-Hillel, Hertz, Shental and Weinshall, 2003), after a PCA.

The papers tried it and set it aside (JMLR section 5.3.1); here it is an optional row of the comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from lookalike.learners.base import SimilarityLearner, class_deviations, refuse_overflow
from lookalike.learners.span import Span
from lookalike.learners.triplets import class_codes

Array = NDArray[np.float64]

LEAST_SHARE = 1e-8
"""A principal direction whose variance within classes, beside the directions before it, is less than this share of its
variance has none that could be told from rounding."""


@dataclass(eq=False, repr=False)
class RCA(SimilarityLearner):
    """Relevant component analysis with the classes as chunklets: M is the inverse of the covariance within classes.

    The covariance C is that of the rows around the means of their classes, all classes pooled (Bar-Hillel et al.,
    section 2). It has an inverse only in n - n_classes dimensions or fewer, so the rows go through a PCA first, as in
    the papers: M = P (P'CP)^-1 P' with the leading principal directions P. Unlike for the learners that start from the
    identity, M is 0 outside of them: what the PCA leaves out plays no part in a distance. There is no regularisation.

    Parameters
    ----------
    n_components : int or None, default=None
        Principal directions that are kept, at least 1. None: as many as P'CP has an inverse for, which is n - n_classes
        where rows are in general position and features are many. So near to the limit the last directions are mostly
        noise that the inverse makes large: a smaller number, chosen on held-out rows, ranks better.

    Attributes
    ----------
    M_ : numpy.ndarray of shape (d, d), float64
        The learned matrix, symmetric, of rank ``n_components_``.
    components_ : numpy.ndarray of shape (d, n_components_), float64
        L with LL' = M.
    n_components_ : int
        Principal directions kept; 0 where all rows are equal.
    metric_ : str
        ``"sqeuclidean"``.
    n_features_in_ : int
        Number of features d.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [2.0, 1.0], [8.0, 0.0], [10.0, 1.0], [0.0, 4.0], [2.0, 3.0]], [0, 0, 1, 1, 2, 2]
    >>> RCA().fit(X, y).M_.round(9).tolist()
    [[1.125, -0.75], [-0.75, 4.5]]
    """

    accepts = frozenset({"labels"})

    n_components: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn M from labelled rows, in closed form.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows, for instance tf-idf visterms. Worked on in float64.
        y : array-like of shape (n,)
            Class labels.

        Raises
        ------
        ValueError
            On NaN or infinity, a single class, no class with two rows, values too large to be squared, or more
            components than the covariance within classes has an inverse for.
        """
        if self.n_components is not None:
            self._require_whole(1, "n_components")
        X, y = self._check_labelled(X, y)
        refuse_overflow(X)
        span = Span(X)
        directions, variances = principal_directions(span.coordinates)
        deviations = class_deviations(span.coordinates, *class_codes(y)) @ directions
        covariance = deviations.T @ deviations / len(deviations)
        most = _leading_regular(covariance, variances)
        kept = self._number_kept(most, len(variances))
        factor = np.linalg.cholesky(covariance[:kept, :kept])
        inverse_factor = scipy.linalg.solve_triangular(factor, np.eye(kept), lower=True).T
        self.components_ = np.ascontiguousarray(span.basis @ (directions[:, :kept] @ inverse_factor))
        matrix = self.components_ @ self.components_.T
        self.M_ = (matrix + matrix.T) / 2
        self.n_components_ = kept
        self.metric_ = "sqeuclidean"
        return self

    def _number_kept(self, most: int, rank: int) -> int:
        if rank > 0 and most == 0:
            raise ValueError(
                "the rows of a class do not differ along the first principal direction, so that the covariance within "
                "classes has no inverse there: give more, or more different, rows per class"
            )
        if self.n_components is None or rank == 0:
            return most
        if self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components} is too many: the covariance within classes has an inverse in the "
                f"first {most} principal directions only; choose at most {most}, or give more rows per class"
            )
        return int(self.n_components)


def principal_directions(coordinates: Array) -> tuple[Array, Array]:
    """Return the directions in which rows vary, as columns, and the variances along them, largest first."""
    centred = coordinates - coordinates.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    values, vectors = values[::-1], vectors[:, ::-1]
    scale = np.einsum("ij,ij->", coordinates, coordinates) / len(coordinates)
    kept = values > 1e-12 * scale
    return vectors[:, kept], values[kept]


def _leading_regular(covariance: Array, variances: Array) -> int:
    """Count the leading directions for which the covariance has an inverse, by Gaussian elimination."""
    lengths = np.sqrt(variances)
    rest = covariance / lengths[:, None] / lengths
    for k in range(len(rest)):
        if rest[k, k] <= LEAST_SHARE:
            return k
        rest[k + 1 :, k + 1 :] -= np.outer(rest[k + 1 :, k], rest[k, k + 1 :] / rest[k, k])
    return len(rest)
