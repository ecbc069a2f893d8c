"""What every learner shares: checks of rows, and `similarity`, `rank`, `transform` and `save` of what it learned."""

from __future__ import annotations

import copy
import inspect
import itertools
import numbers
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import MethodType
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.core.arrays import Array, Doubles, Labels, Longs, Matrix
from lookalike.core.files import PathLike
from lookalike.core.row_numbers import labels_of
from lookalike.learners.centring import FAR, NEAR, centre_of, less, powers_of_two
from lookalike.learners.centring import is_sparse as is_sparse
from lookalike.learners.curve import UNTRACED, Trace, Traced
from lookalike.learners.model_io import is_fitted_name, save
from lookalike.learners.parameters import check_parameters, is_number
from lookalike.learners.registry import MODULES, learner_class
from lookalike.learners.triplets import check_triplets
from lookalike.ranking.rankings import Checked, Similarity, ordered, rank_leave_one_out, top_k, with_better

if TYPE_CHECKING:
    from sklearn.utils import Tags

Learner = TypeVar("Learner", bound="SimilarityLearner")
GALLERY_BLOCK = 4_096
"""Gallery rows whose scores are in memory at a time: few enough to stay near the processor."""
QUERY_BLOCK = 1_024
FEW, IN_CACHE = 8, 2**20
"""Queries whose scores of a whole gallery may be in memory, and bytes that stay in a processor's cache."""
CENTRED_BY = 1_000
"""Gallery rows, spread over all, whose centre is taken off rows before distances: any point near them will do."""
LARGEST = 1e70
"""Of a value in a row: its fourth power, of which learners form sums, is still a number."""
MUCH_SMALLER, LARGEST_DECOMPOSED = 8, 2_000
"""Of a larger matrix, so many times fewer singular values are found without the others."""
IN_FLOAT32 = (1e-15, 1e15)
"""Smallest and largest of the largest values of rows whose products are summed in float32."""
MAY_LACK = ("transform", "fit_transform", "get_feature_names_out")
"""Methods that an instance may lack."""
PIPELINE_QUESTIONS = ("_validate_steps", "_can_transform", "_can_fit_transform")
"""Where scikit-learn's Pipeline asks whether a step has such a method."""


class _WithReason:
    """A method that an instance lacks as long as its `_why_no` gives a reason, which the error says."""

    # scikit-learn's `available_if` makes an AttributeError without the reason of whatever its check raises, and where a
    # Pipeline asks by hasattr, nothing is left of it; TransformerMixin's wrapper for `set_output` would take its place

    def __init__(self, method: Callable[..., Matrix]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: SimilarityLearner | None, owner: type | None = None) -> Callable[..., Matrix]:
        if instance is None:
            return self.method
        reason = instance._why_no(self.method.__name__)
        if reason is not None:
            # any other error than AttributeError passes through hasattr, and reaches the user of a Pipeline
            asked_by_pipeline = sys._getframe(1).f_code.co_name in PIPELINE_QUESTIONS
            raise (TypeError if asked_by_pipeline else AttributeError)(reason)
        return MethodType(self.method, instance)


def _with_reasons(learner: type[Learner]) -> type[Learner]:
    """Let instances of a class lack what they have a reason for, after scikit-learn has wrapped it for `set_output`."""
    for name in MAY_LACK:
        if not isinstance(inspect.getattr_static(learner, name), _WithReason):
            setattr(learner, name, _WithReason(getattr(learner, name)))
    return learner


@_with_reasons
class SimilarityLearner(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of all learners.

    A subclass names what it can learn from in `accepts`, sets ``metric_`` and one of ``W_`` (bilinear: similarity
    a'Wb) or ``M_`` (Mahalanobis: similarity -(a - b)'M(a - b)) in `_learn`, and inherits the rest. One without a
    matrix overrides `_project`.

    Attributes
    ----------
    accepts : frozenset of str
        Of the class: any of ``"labels"`` (`fit` with y), ``"pairs"`` (`fit_pairs`), ``"triplets"`` (`fit_triplets`) and
        ``"online"`` (`partial_fit_pairs` or `partial_fit_triplets`, whichever of the two it accepts).
    needs_labels : bool
        Of the class: whether `fit` looks at y.
    learns_matrix : bool
        Of the class: whether it has d x d numbers; the others have d, or none.
    metric_ : str
        After `fit`: ``"inner_product"`` or ``"sqeuclidean"``, the metric of the rows that `transform`,
        `transform_queries` and `transform_gallery` give, which an index built over them must use.
    """

    accepts: ClassVar[frozenset[str]] = frozenset()
    needs_labels: ClassVar[bool] = True
    learns_matrix: ClassVar[bool] = True
    compiled_for: ClassVar[dict[str, tuple[object, ...]]] = {}
    """Values of parameters that decide which kernels are compiled: `warm_up` fits with each."""
    keeps_features: ClassVar[bool] = False
    """Whether `transform` gives a column for each feature."""
    can_blend: ClassVar[bool] = True
    """Whether `blended` works."""
    is_linear: ClassVar[bool] = True
    """Whether an index needs of the learner only what queries, and under a distance rows, are multiplied by."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        _with_reasons(cls)

    def fit(self, X: Matrix, y: Labels = None) -> Self:
        """Learn from labelled rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows, for instance tf-idf visterms.
        y : array-like of shape (n,)
            Class labels.

        Raises
        ------
        ValueError
            On NaN or infinity, a single class, no class with two rows, values too large to be squared, or a parameter
            out of its range.
        """
        self._check_parameters()
        self._learn(*self._check_labelled(X, y))
        return self

    def _learn(self, X: Matrix, y: Array) -> None:
        """Learn from labelled rows, which are checked."""
        raise NotImplementedError

    def fit_triplets(self, X: Matrix, triplets: ArrayLike) -> Self:
        """Learn from triplets (query, positive, negative) of row numbers or ids, where the learner accepts them."""
        raise self._refusal("cannot learn from triplets")

    def partial_fit_triplets(self, X: Matrix, triplets: ArrayLike) -> Self:
        """Learn on from more triplets, where the learner is online."""
        raise self._refusal("is not an online learner")

    def fit_pairs(self, X: Matrix, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Learn from pairs of row numbers of X and whether each belongs together, where the learner accepts pairs."""
        raise self._refusal("cannot learn from pairs")

    def partial_fit_pairs(self, X: Matrix, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Learn on from more pairs, where the learner is online and accepts pairs."""
        raise self._refusal("cannot learn on from pairs")

    def similarity(self, A: Matrix, B: Matrix) -> Array:
        """Return the similarity of every row of A to every row of B; larger is more alike.

        Parameters
        ----------
        A : array-like or CSR matrix of shape (n_a, d)
            Queries (the left side of a'Wb; W need not be symmetric).
        B : array-like or CSR matrix of shape (n_b, d)

        Returns
        -------
        numpy.ndarray of shape (n_a, n_b)
        """
        return self._compare(*self._comparable(A, B))

    def checked(self, *given: Matrix) -> tuple[Similarity, list[Matrix]]:
        """Return what compares rows that are checked already, and these rows, checked once: names of features too."""
        return Checked(self._compare), self._comparable(*given)

    def blended(self, share: float) -> Self:
        """Return a fitted copy whose matrix is (1 - share) I + share W (or M, or the diagonal w).

        On new classes, a little of W may rank better than W, and than no learning. A blend compares and exports; of
        learners of one weight a feature, learning on goes on from before it.

        Parameters
        ----------
        share : float
            0, which is no learning, to 1.

        Raises
        ------
        ValueError, TypeError
            For a share out of its range; of a learner that learns no matrix.
        """
        check_is_fitted(self)
        if not (is_number(share) and 0 <= share <= 1):
            raise ValueError(f"share must be a number from 0 to 1, not {share!r}")
        blend = copy.copy(self)
        blend._blend(float(share))
        return blend

    def _blend(self, share: float) -> None:
        """Do as `blended` says, in place."""
        name = next((name for name in ("W_", "M_", "w_") if hasattr(self, name)), None)
        if name is None:
            raise TypeError(f"{type(self).__name__} has no matrix to blend with no learning")
        learned = getattr(self, name)
        identity = np.ones(len(learned)) if name == "w_" else np.eye(len(learned))
        setattr(self, name, ((1 - share) * identity + share * learned).astype(learned.dtype))
        self.__dict__.pop("components_", None)  # of the matrix before

    def _compare(self, A: Matrix, B: Matrix) -> Array:
        lengths = self._lengths(B)
        starts = range(0, A.shape[0], QUERY_BLOCK)
        blocks = [self._scores(*self._left(A[i : i + QUERY_BLOCK]), B, lengths) for i in starts]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def rank(
        self, queries: Matrix, gallery: Matrix, k: int = 10, *, batch_size: int = QUERY_BLOCK
    ) -> tuple[Longs, Array]:
        """Find the k gallery rows most similar to each query, best first; equal scores by gallery row number.

        Parameters
        ----------
        queries : array-like or CSR matrix of shape (n_q, d)
        gallery : array-like or CSR matrix of shape (n_g, d)
        k : int, default=10
            Cut to n_g where it is larger.
        batch_size : int, default=1024
            Queries at a time. Memory is O(batch_size * (4,096 + d + k)), never O(n_q * n_g).

        Returns
        -------
        indices : numpy.ndarray of shape (n_q, k), int64
            Row numbers of the gallery.
        scores : numpy.ndarray of shape (n_q, k)
            Their similarities, falling.
        """
        if not all(isinstance(number, numbers.Integral) and number >= 1 for number in (k, batch_size)):
            raise ValueError(f"k and batch_size must be whole numbers from 1 on, not k={k}, batch_size={batch_size}")
        few = self._rank_few(queries, gallery, k)
        if few is not None:
            return few
        queries, gallery = self._comparable(queries, gallery)
        lengths = self._lengths(gallery)
        batches = (queries[i : i + batch_size] for i in range(0, queries.shape[0], batch_size))
        found = [self._rank_batch(batch, gallery, lengths, min(k, gallery.shape[0])) for batch in batches]
        indices, scores = zip(*found, strict=True)
        return np.concatenate(indices), np.concatenate(scores)

    def score(self, X: Matrix, y: Labels = None, *, triplets: ArrayLike | None = None) -> float:
        """Measure how well the learned similarity ranks rows, 0 to 1, for `GridSearchCV` and `cross_val_score`.

        Parameters
        ----------
        X : array-like, CSR matrix or DataFrame of shape (n, d)
        y : array-like of shape (n,), optional
            Class labels, as `fit` takes them.
        triplets : array-like of shape (m, 3), optional
            Instead of labels, as `fit_triplets` takes them.

        Returns
        -------
        float
            With labels, mean average precision: each row queries all others, and those of its class are right (JMLR
            section 5.1). With triplets, the share whose positive is more similar to the query than the negative; a tie
            counts one half.

        Raises
        ------
        ValueError
            Without labels or triplets, with both, where no class has two rows, where all rows are of one class, as in
            folds of sorted rows, or where a triplet names a row twice.

        Notes
        -----
        With labels all pairs of rows are compared: about 4 s for 10,000 rows of 768 features.
        """
        if (y is None) == (triplets is None):
            raise ValueError("score needs labels y, or triplets=...: give one of the two")
        compared, (rows,) = self.checked(X)
        if triplets is not None:
            named = check_triplets(triplets, X)
            if not len(named):
                raise ValueError("score needs triplets of three different rows, and there is none")
            if (named == np.roll(named, 1, axis=1)).any():
                raise ValueError("score needs triplets of three different rows: leave out those that name a row twice")
            return float(ordered(compared, rows, named).mean())
        return rank_leave_one_out(compared, rows, labels_of(y, X), n_neighbours=0).mean_average_precision()

    def pair_score(self, pairs: ArrayLike) -> Array:
        """Return the similarity of the two rows of every pair, by metric-learn's name.

        Parameters
        ----------
        pairs : array-like of shape (m, 2, d)
            Another shape is a ValueError.

        Returns
        -------
        numpy.ndarray of shape (m,)
            Larger is more alike; minus the squared distance where `metric_` is ``"sqeuclidean"``.
        """
        given = np.asarray(pairs)
        if given.ndim != 3 or given.shape[1] != 2:
            raise ValueError(f"pairs must be of shape (m, 2, d), two rows each, not {given.shape}")
        left, right = self._comparable(given[:, 0], given[:, 1])
        if self.metric_ == "inner_product":
            return _row_dots(self._project(left), right)
        return -_row_dots(self._project(left - right), left - right)

    def get_mahalanobis_matrix(self) -> Array:
        """Return M of the squared distance (a - b)'M(a - b), of shape (d, d), by metric-learn's name.

        A learner whose similarity is an inner product raises AttributeError.
        """
        check_is_fitted(self)
        if self.metric_ == "inner_product":
            raise AttributeError(f"{type(self).__name__} learns an inner product and no distance: use similarity")
        return np.array(self._project(np.eye(self.n_features_in_)))

    def get_metric(self) -> Callable[..., float]:
        """Return the learned distance as ``distance(u, v, squared=False)`` of two vectors, by metric-learn's name.

        It can be a metric of scikit-learn's or SciPy's, and does not change with the learner. A learner whose
        similarity is an inner product raises AttributeError.
        """
        M = self.get_mahalanobis_matrix()

        def distance(u: ArrayLike, v: ArrayLike, squared: bool = False) -> float:
            """Return the distance of two vectors of d numbers."""
            difference = np.asarray(u) - np.asarray(v)
            square = max(float(difference @ M @ difference), 0.0)
            return square if squared else square**0.5

        return distance

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the columns that `transform` gives, for `set_output`, where there is a `transform`.

        They are the class's name in small letters and a number; where a column is a feature, the feature's name.
        `input_features` are those of `fit`, where they are given.
        """
        namer = OneToOneFeatureMixin if self.keeps_features else ClassNamePrefixFeaturesOutMixin
        return np.asarray(namer.get_feature_names_out(self, input_features))

    @property
    def _n_features_out(self) -> int:
        return int(self._factor().shape[1])

    def transform(self, X: Matrix) -> Array:
        """Map rows to X L with LL' = W (or M), so that plain `metric_` between them is the learned similarity.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)

        Returns
        -------
        numpy.ndarray of shape (n, r)
            In the dtype of X; r is the rank of the matrix.

        Raises
        ------
        ValueError
            When the matrix is not symmetric positive semidefinite: no such L exists.

        Notes
        -----
        JMLR section 6 describes this use of a positive W. Learners without a stored factor ``components_`` decompose
        the matrix on each call, O(d^3): transform many rows at once. Classifiers map rows to numbers of unit length.
        """
        check_is_fitted(self)
        embedded: Array = self._embedded(self._check_rows(X))
        return embedded

    def transform_queries(self, Q: Matrix, rank: int | None = None) -> Matrix:
        """Map queries to what an index of `transform_gallery` is asked with, by inner product or Euclidean distance.

        Parameters
        ----------
        Q : array-like or CSR matrix of shape (n, d)
        rank : int, optional
            Dimensions to keep, 1 to d: the largest singular values of W, or the longest directions of L. Neighbours are
            then those of the nearest matrix of this rank, and no longer exact.

        Returns
        -------
        numpy.ndarray or CSR matrix of shape (n, d) or (n, min(rank, r))
            QW where `metric_` is ``"inner_product"``, QL with LL' = M where it is ``"sqeuclidean"``; with a rank,
            Q U S^(1/2), where USV' is the truncated singular value decomposition of W (r = d), or of L as `transform`
            gives it, of r columns.
            Of learners of one weight a feature, the features of the largest weights, sparse where Q is.

        Raises
        ------
        ValueError
            Where a distance has no L, because M need not be positive semidefinite; or for a rank out of its range, and
            any rank of a learner that learns nothing.

        Notes
        -----
        ``transform_queries(Q) @ transform_gallery(G).T`` is ``similarity(Q, G)`` for inner products; for distances the
        squared distances of the two are ``-similarity(Q, G)``. Each call with a rank decomposes a matrix, O(d^3):
        transform many rows at once, or the identity, whose rows then are the map.
        """
        return self._for_index(Q, 0, rank)

    def transform_gallery(self, G: Matrix, rank: int | None = None) -> Matrix:
        """Map gallery rows to what an index holds, for queries of `transform_queries`.

        Parameters
        ----------
        G : array-like or CSR matrix of shape (n, d)
        rank : int, optional
            As of `transform_queries`, and so are errors.

        Returns
        -------
        numpy.ndarray or CSR matrix of shape (n, d) or (n, min(rank, r))
            G itself where `metric_` is ``"inner_product"``, GL where it is ``"sqeuclidean"``; with a rank, G V S^(1/2).
        """
        return self._for_index(G, 1, rank)

    def save(self, path: PathLike, made_by: Mapping[str, object] | None = None) -> None:
        """Write the fitted learner as a model file, which `lookalike.load` reads.

        Parameters
        ----------
        path : str or path
            Ends in ``.lookalike``.
        made_by : dict, optional
            Whatever the reader should know of how the model was made; JSON values.
        """
        check_is_fitted(self)
        save(self, path, made_by)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self.needs_labels
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_parameters(self) -> None:
        """Raise ValueError for a parameter out of its range; subclasses add what one type cannot say."""
        check_parameters(self)

    def _why_no(self, method: str) -> str | None:
        """Return why an instance lacks one of `MAY_LACK`, or None (of `fit_transform` by its parameters alone)."""
        return None

    def _for_index(self, X: Matrix, side: int, rank: int | None) -> Matrix:
        """Return rows as queries (side 0) or as the gallery (1) of an index."""
        check_is_fitted(self)
        X, d = self._check_rows(X), self.n_features_in_
        if self.metric_ != "inner_product" and (reason := self._why_no("transform")) is not None:
            raise ValueError(reason.replace("transform", "map to an index"))
        if rank is not None:
            if not (is_number(rank) and 1 <= rank <= d and int(rank) == rank):
                raise ValueError(f"rank must be a whole number from 1 to {d}, not {rank!r}")
            return self._of_rank(X, side, int(rank))
        if self.metric_ == "inner_product":
            return X if side else self._project(X)
        return self._embedded(X)

    def _of_rank(self, X: Matrix, side: int, rank: int) -> Matrix:
        """Do as `_for_index` in so many dimensions."""
        if self.metric_ == "inner_product":
            factor = truncated_svd(self._matrix(), rank)[side]
        else:
            left = truncated_svd(self._factor(), rank)[0]
            factor = left * np.linalg.norm(left, axis=0)
        return np.asarray(X @ factor.astype(X.dtype, copy=False))

    def _embedded(self, X: Matrix) -> Matrix:
        """Return X L."""
        return np.asarray(X @ self._factor()).astype(X.dtype, copy=False)

    def _factor(self) -> Doubles:
        """Return L with LL' = W (or M)."""
        factor: Doubles | None = getattr(self, "components_", None)
        return psd_factor(self._matrix(), type(self).__name__) if factor is None else factor

    def _matrix(self) -> Array:
        """Return the learned d x d matrix, in the user's order of features."""
        matrix: Array = self.W_ if hasattr(self, "W_") else self.M_
        return matrix

    def _matrix_dtype(self) -> np.dtype:
        return self._matrix().dtype

    def _fitted_values(self) -> dict[str, object]:
        """Return what is saved by name: attributes that are fitted ones by scikit-learn's convention."""
        return {name: value for name, value in vars(self).items() if is_fitted_name(name)}

    def _restore(self, values: dict[str, object]) -> None:
        """Take what `_fitted_values` returned."""
        for name, value in values.items():
            setattr(self, name, value)

    def _project(self, rows: Matrix) -> Matrix:
        """Multiply rows by the learned matrix from the right."""
        matrix = self._matrix()
        return rows.astype(matrix.dtype, copy=False) @ matrix

    def _refusal(self, what: str) -> TypeError:
        return TypeError(f"{type(self).__name__} {what}; it accepts {', '.join(sorted(self.accepts)) or 'nothing'}")

    def _check_labelled(self, X: Matrix, y: Labels) -> tuple[Matrix, Array]:
        """Return the rows and labels of a `fit`, checked."""
        rows, labels = validate_data(
            self, X, labels_of(y, X), accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        check_classification_targets(labels)
        self._refuse_large_matrix()
        return rows, labels

    def _check_rows(self, X: Matrix, reset: bool = False, **options: object) -> Matrix:
        """Return rows, checked: for a fitted model, or with `reset` for one that is to be fitted to them."""
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset, **options)
        if reset:
            self._refuse_large_matrix()
        return X

    def _refuse_large_matrix(self) -> None:
        """Raise ValueError, before anything is allocated, for more features than a d x d matrix can have here."""
        if self.learns_matrix:
            refuse_large_matrix(self.n_features_in_, getattr(self, "dtype", "float64"), type(self).__name__)

    def _comparable(self, *given: Matrix, lazily: bool = False) -> list[Matrix]:
        """Return rows, checked, for a fitted model, in numbers that can hold their products.

        Where the metric is a distance, all are less a centre of the last of them: far from the origin, products leave
        nothing of a distance. With `lazily`, the numbers of the last are left for `are_ordinary`.
        """
        check_is_fitted(self)
        rows = [self._check_rows(X) for X in given[:-1]]
        rows.append(self._check_rows(given[-1], ensure_all_finite=not lazily))
        largest = [largest_value(X) for X in (rows[:-1] if lazily else rows)]
        if all(value == 0 or IN_FLOAT32[0] <= value <= IN_FLOAT32[1] for value in largest):
            return self._centred(rows)
        if self.learns_matrix and self._matrix_dtype() == np.float32:
            raise ValueError(
                f"X has values up to {max(largest):.3g}, whose products float32 cannot hold: scale its rows, for "
                "instance to length 1, or learn with dtype='float64'"
            )
        for X in rows:
            refuse_overflow(X)
        return self._centred([X.astype(np.float64, copy=False) for X in rows])

    def _centred(self, rows: list[Matrix]) -> list[Matrix]:
        if self.metric_ == "inner_product":
            return rows
        gallery = rows[-1]
        some = gallery[:: -(-gallery.shape[0] // CENTRED_BY)]
        centre = centre_of(some, FAR if any(map(is_sparse, rows)) else NEAR)
        return rows if centre is None else [less(X, centre).astype(X.dtype, copy=False) for X in rows]

    def _left(self, rows: Matrix) -> tuple[Matrix, Array | None]:
        """Return rows multiplied by the matrix, and a'Ma of every row where the metric is a distance, else None."""
        projected = self._project(rows)
        return projected, None if self.metric_ == "inner_product" else _row_dots(projected, rows)

    def _lengths(self, rows: Matrix) -> Array | None:
        """Return b'Mb of every row where the metric is a distance, else None."""
        if self.metric_ == "inner_product":
            return None
        blocks = (rows[i : i + QUERY_BLOCK] for i in range(0, rows.shape[0], QUERY_BLOCK))
        return np.concatenate([_row_dots(self._project(block), block) for block in blocks])

    def _scores(self, projected: Matrix, own: Array | None, gallery: Matrix, lengths: Array | None) -> Array:
        """Return the similarities of rows, given as by `_left`, to gallery rows of these `_lengths`."""
        scores = _products(projected, gallery)
        if lengths is not None and own is not None:
            scores *= 2
            scores -= own[:, None]
            scores -= lengths[None, :]
        return scores

    def _rank_few(self, queries: Matrix, gallery: Matrix, k: int) -> tuple[Longs, Array] | None:
        """Return `rank` of few queries in a dense gallery; None of others, or where a number is not ordinary.

        To look at every number of a gallery takes longer than to rank it. Here each part is looked at just before its
        product, which then finds it in the processor's cache.
        """
        check_is_fitted(self)
        are_few = np.ndim(queries) == 2 and np.shape(queries)[0] <= FEW
        if not are_few or self.metric_ != "inner_product" or not isinstance(gallery, np.ndarray):
            return None
        queries, gallery = self._comparable(queries, gallery, lazily=True)
        left, _ = self._left(queries)
        size, parts = max(1, IN_CACHE // gallery[0].nbytes), []
        for start in range(0, gallery.shape[0], size):
            block = gallery[start : start + size]
            if not are_ordinary(block):
                return None
            parts.append(_products(left, block))
        return top_k(np.hstack(parts), min(k, gallery.shape[0]))

    def _rank_batch(self, queries: Matrix, gallery: Matrix, lengths: Array | None, k: int) -> tuple[Longs, Array]:
        """Return the columns and scores of the first k of every query, a block of the gallery at a time."""
        left = self._left(queries)
        best: tuple[Longs, Array] | None = None
        for start in range(0, gallery.shape[0], GALLERY_BLOCK):
            block = slice(start, start + GALLERY_BLOCK)
            scores = self._scores(*left, gallery[block], None if lengths is None else lengths[block])
            best = top_k(scores, min(k, scores.shape[1])) if best is None else with_better(best, scores, start, k)
        assert best is not None
        return best


class TracedLearner(SimilarityLearner):
    """Base of the learners with a curve along which the caller may look at the model."""

    def fit(
        self, X: Matrix, y: Labels = None, *, trace: Trace | None = None, trace_steps: Iterable[int] | None = None
    ) -> Self:
        """Learn from labelled rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows, for instance tf-idf visterms.
        y : array-like of shape (n,)
            Class labels.
        trace : callable (model, step) -> dict of str to float, optional
            Called at step 0 and at `trace_steps`, with the model as it is then; what it returns becomes columns of
            ``curve_``. It must not change the model. The result is the same bits with and without it.
        trace_steps : iterable of int, optional
            Steps that get a row of ``curve_``, besides 0 and, of learners that end by `tol`, the last; those after the
            end get none. Default: `trace_points` steps, evenly spaced in the logarithm; of LMNN 60; of others all.

        Raises
        ------
        ValueError
            On NaN or infinity, a single class, no class with two rows, values too large to be squared, a trace step
            below 0 or beyond `n_steps`, or a parameter out of its range.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            When `max_iter` steps end the fit, and not `tol`.
        """
        self._check_parameters()
        self._learn(*self._check_labelled(X, y), Traced(trace, trace_steps))
        return self

    def _learn(self, X: Matrix, y: Array, traced: Traced = UNTRACED) -> None:
        raise NotImplementedError


def warm_up(*names: str, like: SimilarityLearner | None = None) -> None:
    """Compile the kernels of some learners (all by default), or load them from numba's cache, so that fits need not.

    With `like`, only those of a fit of this learner on sparse rows.
    """
    y = np.arange(80) % 2
    X = 10.0 * y[:, None] + np.random.default_rng(0).random((80, 2))
    few = {"n_steps": 2, "max_iter": 50, "tol": 1e-9, "n_triplets": 2, "n_blocks": 1, "early_stopping": True}
    few |= {"random_state": 0}  # of two triplets at random, some would leave a kernel out
    for learner in [type(like)] if like else map(learner_class, names or MODULES):
        known = learner().get_params()
        chosen: dict[str, tuple[object, ...]] = {name: (value,) for name, value in few.items() if name in known}
        # a parameter such as "auto" may turn out to be any of them
        for name, possible in learner.compiled_for.items():
            chosen[name] = (getattr(like, name),) if getattr(like, name, None) in possible else possible
        for rows, *values in itertools.product([sp.csr_array(X)] + [X] * (not like), *chosen.values()):
            with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
                model = learner().set_params(**dict(zip(chosen, values, strict=True))).fit(rows, y)
            model.similarity(X, X)


def class_deviations(rows: Array, codes: Longs, sizes: Longs) -> Array:
    """Return every row minus the mean of its class, which `class_codes` numbers."""
    # a product with an indicator of classes, as np.add.at takes ten times as long
    members = sp.csr_array((np.ones(len(codes)), codes, np.arange(len(codes) + 1)), shape=(len(codes), len(sizes)))
    deviations: Array = (members.T @ rows / -sizes[:, None])[codes]
    deviations += rows
    return deviations


def largest_value(X: Matrix) -> float:
    """Return the largest absolute value of some rows."""
    values = X.data if is_sparse(X) else X
    # abs of a CSR matrix would sort its indices in place, and that of an array copy it
    return max(float(values.max(initial=0)), -float(values.min(initial=0)))


def are_ordinary(rows: Array) -> bool:
    """Tell by the sum of squares whether values are finite and within `IN_FLOAT32`; False where it does not tell."""
    values = rows.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(values @ values)
    return IN_FLOAT32[0] ** 2 * values.size <= squares <= IN_FLOAT32[1] ** 2


def refuse_overflow(X: Matrix) -> None:
    """Raise ValueError when products of squared lengths could overflow, or a square of every value would be 0."""
    largest = largest_value(X)
    if largest > LARGEST or 0 < largest < 1 / LARGEST**2:
        size = "large" if largest > 1 else "small"
        raise ValueError(f"X has values too {size} to be squared: scale its rows, for instance to length 1")


def refuse_large_matrix(d: int, dtype: str, name: str) -> None:
    """Raise ValueError when a d x d matrix, and a copy to learn with, are more than this machine's memory."""
    needed = 2 * d * d * np.dtype(dtype).itemsize
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise ValueError(
            f"{name} learns a matrix of {d:,} x {d:,} numbers, which takes {needed / 1e9:,.0f} GB of memory, and this "
            f"machine has {there / 1e9:,.0f}: use DiagonalOASIS, SOMLTG or SOMLDA, which learn one number a feature, "
            "or give rows of fewer features"
        )


def truncated_svd(matrix: Array, rank: int) -> tuple[Array, Array]:
    """Return U S^(1/2) and V S^(1/2) of the `rank` largest singular values of a matrix, USV' = matrix."""
    if MUCH_SMALLER * rank < min(matrix.shape) > LARGEST_DECOMPOSED:
        # some twenty products with so many columns, and no decomposition of d x d numbers
        u, s, vt = randomized_svd(np.asarray(matrix), rank, n_iter=7, random_state=0)
    else:
        u, s, vt = scipy.linalg.svd(np.asarray(matrix, dtype=np.float64), full_matrices=False)
    root = np.sqrt(s[:rank])
    return u[:, :rank] * root, vt[:rank].T * root


def psd_factor(matrix: Array, name: str = "the learner") -> Doubles:
    """Return L of shape (d, r) with LL' = matrix, r its rank; refuse a matrix that is not positive semidefinite."""
    tolerance = 1e-5 if matrix.dtype == np.float32 else 1e-10
    hint = "learn with projection='psd' where the learner has that option"
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=tolerance * float(np.abs(matrix).max(initial=0.0))):
        raise ValueError(f"transform needs a symmetric matrix, and that of {name} is not: {hint}, or use similarity")
    # in units in which every feature weighs alike, so that none is left out because another's unit is small; where
    # that makes rounding of a matrix large, in the units that are given
    factors = powers_of_two(np.sqrt(np.maximum(np.diag(matrix), 0.0)))
    for scales in (factors, np.ones(len(matrix))):
        scaled = np.asarray(matrix, dtype=np.float64) * scales * scales[:, None]
        values, vectors = np.linalg.eigh(scaled)
        largest = float(values.max(initial=0.0))
        if values.min(initial=0.0) >= -tolerance * len(values) * max(largest, float(np.abs(scaled).max(initial=0.0))):
            kept = values > tolerance * largest
            return np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]) / scales[:, None])
    raise ValueError(
        f"transform needs a positive semidefinite matrix, and that of {name} has eigenvalue {values[0]:.3g}: "
        f"{hint}, or use similarity"
    )


def _products(left: Matrix, right: Matrix) -> Array:
    """Return left right' as a dense array, whichever of the two is sparse."""
    right = right.astype(left.dtype, copy=False)
    # the transpose of sparse rows is sorted anew, which takes as long as they are many
    if is_sparse(right) and (not is_sparse(left) or left.shape[0] < right.shape[0]):
        product = (right @ left.T).T
    else:
        product = left @ right.T
    return np.ascontiguousarray(product.toarray() if is_sparse(product) else product)


def _row_dots(left: Matrix, right: Matrix) -> Array:
    if is_sparse(right):
        return np.asarray(right.multiply(left).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", left, right))
