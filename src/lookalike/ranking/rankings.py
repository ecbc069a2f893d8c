"""From a similarity to ranks: every image of a set queries all others, and only the ranks of its positives are kept.

All measures of the category study follow from those ranks, so that a new measure never needs a model again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core.arrays import Array, Doubles, Integers, Ints, Longs, Matrix, Reals
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, write_npz

MEMORY_BYTES = 500_000_000
"""That the scores of one batch may take."""
ORDERED_AT_A_TIME = 256
"""Queries."""
GROUPS = 4
"""Times k that `top_k` divides a row into."""
# The scores and what they were made of, and for neighbours also those without the diagonal, sorted, and two masks.
BLOCKS_ALIVE, WITH_NEIGHBOURS = 2, 4


class Similarity(Protocol):
    """Anything that scores rows against rows, such as every learner of `lookalike.learners`."""

    def similarity(self, A: Matrix, B: Matrix) -> Matrix:
        """Return the (n_a, n_b) similarities; a larger value means more alike."""
        ...


class Checked(NamedTuple):
    """Compares rows that are checked already."""

    similarity: Callable[[Matrix, Matrix], Array]


@dataclass(frozen=True, eq=False)
class Rankings:
    """The ranks at which each query finds its positives (JMLR section 5.1).

    Rows of equal similarity have no order, so every measure is the expected one over all orders of them.
    """

    offsets: Integers
    """int64, (n_queries + 1,): the ranks of query i are ``ranks[offsets[i]:offsets[i + 1]]``."""
    ranks: Integers
    """int32: of positives among the gallery, from 1, ascending within a query; equal similarities share the first."""
    n_gallery: int
    """How many images each query ranks; the query itself is not among them."""
    query_ids: Integers
    """int32, (n_queries,): which image each query is (``image_id`` in the workflow)."""
    neighbours: Integers | None = None
    """int32, (n_queries, n_neighbours): the first of each ranking as rows of the gallery; where each row queries the
    others, `query_ids` turns them into image ids."""
    neighbour_scores: Reals | None = None
    """float32: their similarities."""
    ties: Integers | None = None
    """int32, as `ranks`: how many rows share the similarity of each positive, itself among them; None: it alone."""

    @property
    def n_queries(self) -> int:
        """Return the number of queries, with or without a positive."""
        return len(self.offsets) - 1

    @cached_property
    def n_positives(self) -> Integers:
        """Return the number of positives of each query: int64, shape (n_queries,)."""
        return np.diff(self.offsets)

    @property
    def n_without_positive(self) -> int:
        """Return the number of queries without any positive; they are left out of every mean."""
        return int(np.count_nonzero(self.n_positives == 0))

    def average_precision(self) -> Reals:
        """Return of each query the mean of precision at r over the ranks r of its positives; NaN without a positive."""
        result = np.full(self.n_queries, np.nan)
        has = self.n_positives > 0
        starts = np.repeat(self.offsets[:-1], self.n_positives)
        if self.ties is None:
            precision: Reals = (np.arange(1, len(self.ranks) + 1) - starts) / self.ranks
        else:
            keys = self._query_of_positive * (self.n_gallery + 1) + self.ranks
            first, end = keys.searchsorted(keys), keys.searchsorted(keys, "right")
            precision = mean_over_ties(first - starts + 1, end - first, self.ranks, self.ties)
        if has.any():
            result[has] = np.add.reduceat(precision, self.offsets[:-1][has]) / self.n_positives[has]
        return result

    def mean_average_precision(self) -> float:
        """Return the mean of `average_precision` over the queries that have a positive; some must."""
        self.check()
        return float(np.nanmean(self.average_precision()))

    def precision_at(self, ks: Sequence[int] | Integers) -> Reals:
        """Return the share of positives among the first k images, a row a query; NaN for one without a positive."""
        ks = np.asarray(ks)
        if not np.isin(ks, np.arange(1, self.n_gallery + 1)).all():
            raise ValueError(f"precision at k needs whole numbers from 1 to {self.n_gallery}, the gallery; got {ks}")
        query = self._query_of_positive
        result = np.empty((self.n_queries, len(ks)))
        for column, k in enumerate(ks):
            near = self.ranks <= k
            share = None if self.ties is None else np.minimum((k + 1 - self.ranks[near]) / self.ties[near], 1)
            result[:, column] = np.bincount(query[near], share, self.n_queries) / k
        result[self.n_positives == 0] = np.nan
        return result

    def mean_precision_curve(self) -> Reals:
        """Return precision at k = 1, 2, ..., `n_gallery`, averaged over the queries that have a positive."""
        self.check()
        at, n_ranks = self.ranks, self.n_gallery + 2
        if self.ties is None:
            found = np.bincount(at, minlength=n_ranks)
        else:  # a positive is found at each of the ranks that it shares with the same probability
            begun, ended = (np.bincount(ends, 1 / self.ties, n_ranks) for ends in (at, at + self.ties))
            found = np.cumsum(begun - ended)
        hits = np.cumsum(found[1:-1])
        return np.asarray(hits / (np.arange(1, self.n_gallery + 1) * (self.n_queries - self.n_without_positive)))

    def nearest(self, query: int, n: int) -> tuple[list[int], list[float]]:
        """Return the ids of the first `n` images of a ranking and their scores, where each row queries the others."""
        if self.neighbours is None or self.neighbour_scores is None:
            raise LookalikeError(f"these rankings have no neighbours: rank again with n_neighbours of {n} or more")
        return self.query_ids[self.neighbours[query, :n]].tolist(), self.neighbour_scores[query, :n].tolist()

    def save(self, path: PathLike) -> None:
        """Write ``.npz``; the same rankings give the same bytes."""
        kinds: dict[str, type] = {"offsets": np.int64, "n_gallery": np.int64, "neighbour_scores": np.float32}
        given = {name: getattr(self, name) for name in self.__match_args__ if getattr(self, name) is not None}
        write_npz({name: np.asarray(value, kinds.get(name, np.int32)) for name, value in given.items()}, path)

    @classmethod
    def load(cls, path: PathLike) -> Rankings:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(**{name: arrays[name] for name in arrays} | {"n_gallery": int(arrays["n_gallery"])})

    def check(self) -> None:
        """Refuse rankings that any similarity would get right: no query has something to find and something else."""
        if self.n_without_positive == self.n_queries:
            raise ValueError("no query has another row of its own class to find: give at least two rows of some class")
        if (self.n_positives % self.n_gallery == 0).all():
            raise ValueError(
                "every query ranks rows of its own class only, so any order is right: give rows of two classes or more "
                "(in cross-validation: cv=StratifiedKFold(...), or KFold(..., shuffle=True))"
            )

    @property
    def _query_of_positive(self) -> Integers:
        return np.repeat(np.arange(self.n_queries), self.n_positives)


def mean_over_ties(found: Integers, n_relevant: Integers, ranks: Integers, ties: Integers) -> Reals:
    """Return of each relevant row the mean of (relevant rows so far) / rank over all orders of the rows tied with it.

    Up to the first of those tied with it, this one among them, `found` relevant rows are there; of its `ties`, itself
    among them, `n_relevant` are relevant, and the mean is over these too. `ranks` are the first of those they share.
    """
    plain = found / ranks
    if (ties == 1).all():
        return np.asarray(plain)
    # At the i-th of n ranks from s on, of which r are of relevant rows, found + (i - 1) (r - 1) / (n - 1) are expected.
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1.0, (ranks + ties).max()))])
    inverses = harmonic[ranks + ties - 1] - harmonic[ranks - 1]
    rise = (n_relevant - 1) / np.maximum(ties - 1, 1)
    return np.where(ties == 1, plain, (found * inverses + rise * (ties - ranks * inverses)) / ties)


def rank_leave_one_out(
    model: Similarity,
    X: Matrix,
    y: ArrayLike,
    *,
    query_ids: Integers | None = None,
    asked: Integers | None = None,
    n_neighbours: int = 50,
    memory_bytes: int = MEMORY_BYTES,
) -> Rankings:
    """Let each row query all other rows; rows of the same class are its positives (JMLR section 5.1).

    Among equal similarities the lower row is the first neighbour, and measures take all orders. A NaN counts as a
    mistake, with a warning: a positive comes last, and another row first.

    `model` is asked on batches of rows X, dense or CSR, of shape (n, d), against all rows; the scores of a batch may
    take about `memory_bytes`. `y` has the classes, (n,), and `query_ids` what is kept as ids, row numbers by default.
    With row numbers `asked`, only these rows query, and still all others. `n_neighbours` nearest ones are kept with
    their scores. Fewer than two rows, and lengths that differ, are a ValueError.
    """
    X, labels = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X), np.asarray(y)
    n = X.shape[0]
    if labels.shape != (n,):
        raise ValueError(f"{n} images need {n} class labels; got an array of shape {labels.shape}")
    if n < 2:
        raise ValueError("ranking needs at least two images: each queries the others")
    ids = np.arange(n, dtype=np.int32) if query_ids is None else np.asarray(query_ids, dtype=np.int32)
    if ids.shape != (n,):
        raise ValueError(f"{n} images need {n} query ids; got an array of shape {ids.shape}")
    codes = np.asarray(np.unique(labels, return_inverse=True)[1])
    own, queries = np.arange(n), (X, codes)
    if asked is not None:
        own, queries, ids = np.asarray(asked), (X[asked], codes[asked]), ids[asked]
    return _ranked(model, queries, (X, codes), ids, own, n_neighbours, memory_bytes)


def rank_scores(scores: Array, y: ArrayLike) -> Rankings:
    """Rank rows that query each other by similarities that are there."""
    given = Checked(lambda A, B: scores[A, B.T])
    return rank_leave_one_out(given, np.arange(len(scores))[:, None], y, n_neighbours=0)


def rank_gallery(
    model: Similarity, queries: Matrix, gallery: Matrix, query_labels: ArrayLike, gallery_labels: ArrayLike
) -> Rankings:
    """Let each query rank all rows of a gallery; rows of its class are its positives, and ties as in leave one out."""
    n, m = queries.shape[0], gallery.shape[0]
    mine, theirs = np.asarray(query_labels), np.asarray(gallery_labels)
    if mine.shape != (n,) or theirs.shape != (m,):
        raise ValueError(f"{n} queries and {m} gallery rows need as many labels; got {mine.shape} and {theirs.shape}")
    codes = np.unique(np.concatenate([mine, theirs]), return_inverse=True)[1]
    return _ranked(model, (queries, codes[:n]), (gallery, codes[n:]), np.arange(n, dtype=np.int32))


def _ranked(
    model: Similarity,
    queries: tuple[Matrix, Longs],
    gallery: tuple[Matrix, Longs],
    query_ids: Integers,
    own: Longs | None = None,
    n_neighbours: int = 0,
    memory: int = MEMORY_BYTES,
) -> Rankings:
    """Let rows rank others, both with class numbers; where they are rows `own` of these, all but themselves."""
    (asked_rows, asked), (rows, codes) = queries, gallery
    n, m = asked_rows.shape[0], rows.shape[0]
    is_own, own = own is not None, np.full(n, -1) if own is None else own
    kept = min(n_neighbours, m - is_own)
    neighbours, neighbour_scores = np.empty((n, kept), dtype=np.int32), np.empty((n, kept), dtype=np.float32)
    found: list[tuple[Ints, Ints]] = []
    sizes = np.bincount(codes, minlength=int(asked.max()) + 1)
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes))
    alive = WITH_NEIGHBOURS if kept else BLOCKS_ALIVE
    batch = max(1, memory // (m * np.dtype(np.float64).itemsize * alive))
    for start in range(0, n, batch):
        scores = _checked(model.similarity(asked_rows[start : start + batch], rows), (min(batch, n - start), m))
        part, mine = slice(start, start + batch), own[start : start + batch]
        relevant = (members[code][members[code] != row] for code, row in zip(asked[part], mine, strict=True))
        found.append(sorted_ranks_and_ties(scores, relevant, mine)[1:])
        if kept:
            others = scores[mine[:, None] != np.arange(m)].reshape(len(scores), m - 1)
            if np.isnan(others).any():
                others = np.where(np.isnan(others), -np.inf, others)
            first, neighbour_scores[part] = top_k(others, kept)
            neighbours[part] = first + (first >= mine[:, None])
    ranks, ties = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Rankings(
        offsets=np.concatenate([[0], np.cumsum(sizes[asked] - is_own)]).astype(np.int64),
        ranks=ranks,
        n_gallery=m - is_own,
        query_ids=query_ids,
        neighbours=neighbours if kept else None,
        neighbour_scores=neighbour_scores if kept else None,
        ties=None if (ties == 1).all() else ties,
    )


def _checked(scores: Matrix, shape: tuple[int, int]) -> Reals:
    dense: Reals = np.asarray(scores.toarray() if hasattr(scores, "toarray") else scores)
    if dense.shape != shape:
        raise ValueError(f"similarity has shape {dense.shape}; expected {shape}")
    return dense


def ranks_and_ties(scores: Reals, relevant: Sequence[Longs]) -> Iterator[tuple[Ints, Ints]]:
    """Yield for each row the ranks of its relevant columns, and how many of its columns have the score of each.

    Ranks count from 1 by falling score, and equal scores have the first of their ranks. NaN counts as a mistake.
    """
    starts, *found = sorted_ranks_and_ties(scores, relevant, np.full(len(scores), -1))
    for row, columns, *parts in zip(scores, relevant, *(np.split(part, starts[1:-1]) for part in found), strict=True):
        place = np.argsort(np.argsort(-row[columns]))
        ranks, ties = (part[place] for part in parts)
        yield ranks, ties


def sorted_ranks_and_ties(scores: Reals, relevant: Iterable[Longs], own: Longs) -> tuple[Longs, Ints, Ints]:
    """Return where each row's part starts, ranks that ascend within it, and ties, without the column `own` (-1: none).

    All else is as of `ranks_and_ties`.
    """
    from lookalike.ranking.ranks import ranks_of_rows  # numba, which `top_k` does without

    is_lost = np.isnan(scores)
    is_lost[np.flatnonzero(own >= 0), own[own >= 0]] = False
    scores = np.ascontiguousarray(scores, np.result_type(scores.dtype, np.float32))
    if n_lost := int(is_lost.sum()):
        n = scores.size - int((own >= 0).sum())
        warnings.warn(f"{n_lost:,} of {n:,} similarities are NaN: each counts as a mistake", stacklevel=5)
        scores = np.where(is_lost, np.inf, scores)
    parts = []
    for row, lost, columns in zip(scores, is_lost, relevant, strict=True):
        if n_lost:
            row[columns[lost[columns]]] = -np.inf
        parts.append(np.sort(row[columns])[::-1])  # numba would compile its own sort for seconds
    starts = np.cumsum([0, *map(len, parts)])
    ranks, ties = np.empty((2, starts[-1]), dtype=np.int32)
    ranks_of_rows(scores, own, np.concatenate(parts), starts, ranks, ties)
    return starts, ranks, ties


def ordered(model: Similarity, X: Matrix, triplets: Ints) -> Doubles:
    """Return 1 for a triplet whose positive is more similar to the query than the negative, 0.5 for a tie, else 0.

    `triplets` are rows (query, positive, negative) of row numbers of X; so many queries are compared at a time.
    """
    won, block = np.empty(len(triplets)), ORDERED_AT_A_TIME
    queries, query_of = np.unique(triplets[:, 0], return_inverse=True)
    by_query = np.argsort(query_of, kind="stable")
    ends = np.searchsorted(query_of[by_query], np.arange(0, len(queries), block)[1:])
    for start, mine in zip(range(0, len(queries), block), np.split(by_query, ends), strict=False):
        others, place = np.unique(triplets[mine, 1:], return_inverse=True)
        scores = np.asarray(model.similarity(X[queries[start : start + block]], X[others]))
        positive, negative = scores[query_of[mine] - start, place.reshape(-1, 2).T]
        margin = positive - negative
        won[mine] = np.where(margin > 0, 1.0, np.where(margin == 0, 0.5, 0.0))
    return won


def top_k(scores: Array, k: int) -> tuple[Longs, Array]:
    """Return columns and values of the k largest of each row, as a stable descending sort would, without one.

    No score is NaN. Whole numbers become float.
    """
    scores = scores.astype(np.result_type(scores.dtype, np.float32), copy=False)
    n, m = scores.shape
    groups = GROUPS * k
    if n and k and m >= 2 * groups:
        # the k-th largest of the maxima of groups is no more than the k-th largest score, and few scores are above it
        maxima = scores[:, : m - m % groups].reshape(n, -1, groups).max(axis=1)
        least = np.partition(maxima, groups - k, axis=1)[:, groups - k, None]
        columns, values = _chosen(scores, scores >= least)
        if columns.shape[1] <= groups and not np.isnan(least).any():
            return best_first(columns, values, k)
    if k < m:
        least = np.partition(scores, m - k, axis=1)[:, m - k, None]
        chosen = scores > least
        equal = scores == least
        room = k - chosen.sum(axis=1, keepdims=True)
        if (equal.sum(axis=1, keepdims=True) > room).any():
            equal &= np.cumsum(equal, axis=1) <= room
        return best_first(*_chosen(scores, chosen | equal), k)
    return best_first(np.broadcast_to(np.arange(m), (n, m)), scores, k)


def with_better(best: tuple[Longs, Array], scores: Array, start: int, k: int) -> tuple[Longs, Array]:
    """Return the k best of each row among those so far and scores of columns from `start` on, which come after them.

    Of the new scores only those above the k-th best are looked at: after a few blocks they are few. An equal one comes
    too late.
    """
    columns, values = best
    if values.shape[1] < k:
        new, found = top_k(scores, min(k, scores.shape[1]))
    else:
        new, found = _chosen(scores, scores > values[:, -1:])
    return best_first(np.hstack([columns, new + start]), np.hstack([values, found]), k) if new.size else best


def _chosen(scores: Array, chosen: NDArray[np.bool_]) -> tuple[Longs, Array]:
    """Return columns and values of the chosen scores of each row, and -inf after those of a row that has fewer."""
    # a tenth of the time of np.nonzero of the matrix
    row, column = np.divmod(np.flatnonzero(chosen), scores.shape[1])
    counts = np.bincount(row, minlength=len(scores))
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = len(scores), counts.max(initial=0)
    columns, values = np.zeros(shape, np.int64), np.full(shape, -np.inf, scores.dtype)
    columns[row, place], values[row, place] = column, scores[row, column]
    return columns, values


def best_first(columns: Longs, values: Array, k: int) -> tuple[Longs, Array]:
    """Return the k best of each row; equal values stay in their order."""
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(columns, order, 1).astype(np.int64), np.take_along_axis(values, order, 1)


def recall(found: Integers, exact: Integers) -> float:
    """Return the share of the exact nearest rows (a row a query) that were found, in any order; -1 is nothing found."""
    hits = [len(np.intersect1d(mine, truth)) for mine, truth in zip(found, exact, strict=True)]
    return float(np.sum(hits) / exact.size)
