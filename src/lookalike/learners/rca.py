"""RCA, whitening by the covariance within classes (Bar-Hillel, Hertz, Shental and Weinshall, 2003), after a PCA.

The papers tried it and set it aside (JMLR section 5.3.1); here it is an optional row of the comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from lookalike.core.arrays import Array, Doubles, Longs, Matrix
from lookalike.learners.base import SimilarityLearner, class_deviations, refuse_overflow
from lookalike.learners.centring import powers_of_two
from lookalike.learners.parameters import PositiveCount
from lookalike.learners.span import RANK_TOLERANCE, Span, principal_axes
from lookalike.learners.triplets import class_codes

Classes = tuple[Longs, Longs]
"""Class numbers of rows, and the sizes of classes."""
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
        Principal directions that are kept, at least 1; `fit` raises ValueError for more than P'CP has an inverse for.
        None: as many as it has one for, which is n - n_classes
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
    metric_, n_features_in_
        As of `MCML`.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [2.0, 1.0], [8.0, 0.0], [10.0, 1.0], [0.0, 4.0], [2.0, 3.0]], [0, 0, 1, 1, 2, 2]
    >>> RCA().fit(X, y).M_.round(9).tolist()
    [[1.125, -0.75], [-0.75, 4.5]]
    """

    accepts = frozenset({"labels"})

    n_components: PositiveCount | None = None

    def _learn(self, X: Matrix, y: Array) -> None:
        refuse_overflow(X)
        span, classes = Span(X), class_codes(y)
        whole = whiten_all(span.coordinates, classes) if self.n_components in (None, span.rank) else None
        inner = whole if whole is not None else self._whiten_leading(span.coordinates, classes)
        self.components_ = np.ascontiguousarray(span.basis @ inner)
        self.M_ = self.components_ @ self.components_.T
        self.n_components_ = inner.shape[1]
        self.metric_ = "sqeuclidean"

    def _whiten_leading(self, rows: Doubles, classes: Classes) -> Doubles:
        """Return L with LL' = P (P'CP)^-1 P'."""
        most = None if self.n_components is None else int(self.n_components)
        directions, lengths = principal_axes(rows, rows)
        directions, lengths = directions[:, :most], lengths[:most] / np.sqrt(len(rows))
        # in units of the lengths, a pivot is what the directions before leave of the variance within classes
        deviations = class_deviations(rows @ directions, *classes) / lengths
        factor, n_positive = cholesky(deviations.T @ deviations / len(rows))
        small = np.flatnonzero(np.diag(factor)[:n_positive] ** 2 <= LEAST_SHARE)
        kept = self._number_kept(int(small[0]) if len(small) else n_positive, len(lengths))
        inverse = scipy.linalg.solve_triangular(factor[:kept, :kept], np.eye(kept), lower=True)
        return np.asarray(directions[:, :kept] @ (inverse.T / lengths[:kept, None]))

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


def whiten_all(rows: Doubles, classes: Classes) -> Doubles | None:
    """Return L with LL' = C^-1, which needs no PCA; None where C may lack an inverse in some principal direction."""
    codes, sizes = classes
    if not rows.shape[1] or len(rows) - len(sizes) < rows.shape[1]:
        return None
    scales = powers_of_two(np.sqrt(np.square(rows).mean(axis=0)))
    rows = rows * scales
    deviations = class_deviations(rows, codes, sizes)
    factor, n_positive = cholesky(deviations.T @ deviations / len(rows))
    if n_positive < len(factor):
        return None
    inverse = scipy.linalg.lapack.dtrtri(factor, lower=1)[0].T
    firsts = np.unique(codes, return_index=True)[1]
    means = rows[firsts] - deviations[firsts]
    # no direction has more variance between classes than this, in terms of that within
    between = float(sizes @ ((means @ inverse) ** 2).sum(axis=1)) / len(rows)
    least_variance = 1 / float(np.vdot(inverse, inverse))
    varies = least_variance > RANK_TOLERANCE * float(np.vdot(rows, rows)) / len(rows)
    return scales[:, None] * inverse if varies and 1 + between < 1 / LEAST_SHARE else None


def cholesky(matrix: Doubles) -> tuple[Doubles, int]:
    """Return the lower factor of a symmetric matrix, and of how many of its leading rows it is one."""
    if not len(matrix):
        return matrix, 0
    factor, failed = scipy.linalg.lapack.dpotrf(matrix, lower=1)
    return factor, failed - 1 if failed else len(matrix)
