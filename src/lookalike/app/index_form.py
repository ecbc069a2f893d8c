"""A learned similarity as engines of vector search take it: maps of queries and of the gallery, and a plain metric.

Engines compare vectors by inner products or by squared Euclidean distances. A learned similarity S(q, g) = q'Wg is the
inner product of q'W with g, and a learned distance is the plain one between rows multiplied by L, where LL' = M.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lookalike.core.arrays import Floats, Matrix
from lookalike.core.errors import LookalikeError
from lookalike.core.model_file import Arrays

if TYPE_CHECKING:
    from lookalike.learners.base import SimilarityLearner


class IndexForm:
    """A learned similarity as two maps of rows, which an engine then compares by a plain metric.

    Parameters
    ----------
    learner : SimilarityLearner
        Fitted.
    rank : int, optional
        Dimensions to keep, those in which the similarity is largest; by default all.

    Attributes
    ----------
    metric : str
        ``"inner_product"`` or ``"squared_euclidean"``.
    query_map : dict of str to ndarray
        ``matrix`` (d, r), which queries are multiplied by, or ``weights`` (d,) where a diagonal says it all.
    """

    def __init__(self, learner: SimilarityLearner, rank: int | None = None) -> None:
        from scipy.sparse import eye_array  # slow to import, and a query of an index needs none

        self._learner, self._rank = learner, rank
        self.metric = "inner_product" if learner.metric_ == "inner_product" else "squared_euclidean"
        try:
            # what is linear is known by what it makes of unit vectors
            unit = learner.transform_queries(eye_array(learner.n_features_in_, format="csr"), rank)
        except ValueError as error:
            raise LookalikeError(f"what {type(learner).__name__} learned cannot be served so: {error}") from error
        # a distance may stretch one direction 10,000 times as much as another: rounded first, it loses neighbours
        kind = np.float32 if self.metric == "inner_product" else np.float64
        if hasattr(unit, "indptr") and rank is None:
            self.query_map: Arrays = {"weights": unit.diagonal().astype(kind)}
        else:
            dense = unit.toarray() if hasattr(unit, "indptr") else unit
            self.query_map = {"matrix": np.ascontiguousarray(dense, dtype=kind)}

    def queries(self, rows: Matrix) -> Matrix:
        """Return rows, as the learner takes them, as queries of an index: (n, r), float32, CSR where they stay so."""
        return mapped(rows, self.query_map)

    def vectors(self, rows: Matrix) -> Matrix:
        """Return rows, as the learner takes them, as rows of an index: (n, r), float32, CSR where they stay so."""
        return self._learner.transform_gallery(rows, self._rank).astype(np.float32, copy=False)


def mapped(rows: Matrix, query_map: Arrays) -> Matrix:
    """Return rows as queries of an index, float32: times its ``matrix``, or the ``weights`` of dimensions."""
    if "matrix" in query_map:
        asked = rows @ query_map["matrix"]
    else:
        weights = query_map["weights"]
        asked = rows.multiply(weights).tocsr() if hasattr(rows, "indptr") else rows * weights
    return asked.astype(np.float32, copy=False)


def engine_scores(metric: str, queries: Matrix, gallery: Matrix) -> Floats:
    """Return what an engine computes: inner products, or squared distances below 0; dense, a row a query."""
    products = (gallery @ queries.T).T if hasattr(gallery, "indptr") else queries @ gallery.T
    scores: Floats = products.toarray() if hasattr(products, "indptr") else np.asarray(products)
    if metric == "inner_product":
        return scores
    own, theirs = (np.asarray((rows * rows).sum(axis=1)).ravel() for rows in (queries, gallery))
    return np.asarray(2 * scores - own[:, None] - theirs)
