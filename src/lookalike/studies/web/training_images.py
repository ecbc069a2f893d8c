"""Training images of the web study: those that OASIS learns from, and those it is scored on meanwhile (JMLR 5.2.1).

Relevant images share a query, so those held out one by one would hardly have any: whole queries are held out.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from lookalike.core.arrays import Array, Matrix
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import integer_seed
from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows
from lookalike.learners.kernels import Rows, permuted
from lookalike.ranking.exact_search import average_precision
from lookalike.studies.web.settings import HeldOutLog

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.data.query_log import QueryLog

Seed = int | np.random.SeedSequence | np.random.Generator
LARGEST_SHARE = 3
"""At most one in so many training images is held out."""
SLICE = 65_536
"""Images whose counts are weighted at a time, in double precision."""


def hold_out(log: QueryLog, train_ids: npt.ArrayLike, n_images: int, seed: Seed) -> npt.NDArray[np.int32]:
    """Draw whole queries whose images are held out, until there are `n_images` or a few more; ascending ids."""
    ids = np.unique(np.asarray(train_ids, dtype=np.int64))
    free = np.zeros(log.n_images, dtype=np.bool_)
    free[ids] = True
    n_held, most = 0, len(ids) // LARGEST_SHARE
    for query in np.random.default_rng(seed).permutation(log.n_queries):
        if n_held >= min(n_images, most):
            break
        images = log.query_images[log.query_start[query] : log.query_start[query + 1]]
        images = images[free[images]]
        # of two queries an image goes with the first; one that would make them more than a third is passed over
        if n_held + len(images) <= most:
            free[images] = False
            n_held += len(images)
    if not n_held:
        raise LookalikeError(
            f"no query of the log has a third of the {len(ids)} training images or fewer, so that none can be held "
            "out: give a log of more images or smaller queries"
        )
    return ids[~free[ids]].astype(np.int32)


class TrainingRows:
    """Rows of tf-idf weights f_i d_i / ||f d|| of some images (2009 draft, eq. 15), eight bytes an entry.

    `idf` holds d_i of the words in the user's order, from these images alone; words of idf 0 have no entries. The rows
    have their words by falling document frequency.
    """

    def __init__(self, visterms: Matrix, image_ids: npt.ArrayLike) -> None:
        self.image_ids, self.n_features = np.asarray(image_ids, dtype=np.int32), visterms.shape[1]
        self._visterms, counts = visterms, visterms[self.image_ids]
        parts = [slice(start, start + SLICE) for start in range(0, len(self.image_ids), SLICE)]
        self.idf = inverse_document_frequencies(counts)
        frequency = np.bincount(counts.indices[counts.data > 0], minlength=self.n_features)
        self._place = np.argsort(np.argsort(-frequency, kind="stable"))
        weights = [self._ordered(tfidf_rows(counts[part], self.idf)) for part in parts]
        self._weights = sp.vstack(weights, format="csr")
        row = np.repeat(np.arange(len(self)), np.diff(self._weights.indptr))
        self._squared_norms = np.bincount(row, self._weights.data.astype(np.float64) ** 2, len(self))

    def __len__(self) -> int:
        return len(self.image_ids)

    def take(self, rows: npt.NDArray[np.integer]) -> Rows:
        """Return weighted rows, by number in any order, with their words by falling document frequency."""
        taken = self._weights[rows]
        indptr, indices = taken.indptr.astype(np.int64), taken.indices.astype(np.uint32)
        return Rows(indptr, indices, taken.data, self._squared_norms[rows])

    def weighted(self, image_ids: npt.ArrayLike, *, internal: bool = False) -> sp.csr_array:
        """Weigh other images, as float32; `internal`: with the words in the order of `take`."""
        weights = tfidf_rows(self._visterms[image_ids], self.idf)
        return self._ordered(weights) if internal else weights

    def restored(self, W: Array) -> Array:
        """Return a W with words in the order of `take` in the user's order."""
        return permuted(W, self._place)

    def _ordered(self, weights: sp.csr_array) -> sp.csr_array:
        """Put the words of rows into the order of `take`."""
        ordered = sp.csr_array((weights.data, self._place[weights.indices], weights.indptr), shape=weights.shape)
        ordered.sort_indices()
        return ordered


@dataclass(frozen=True, eq=False)
class Validation:
    """Held-out images that query each other: what `lookalike.studies.web.large_scale.train` is given as its score."""

    rows: sp.csr_array
    """tf-idf rows, weighed like those that are learned from; features in the order of `TrainingRows.take`."""
    queries: npt.NDArray[np.int64]
    """Rows that query all others, ascending; each has a relevant one."""
    relevant_indptr: npt.NDArray[np.int64]
    relevant_indices: npt.NDArray[np.int64]
    """``relevant_indices[relevant_indptr[i]:relevant_indptr[i + 1]]`` are the rows relevant to query i, ascending."""
    n_threads: int = 1
    """Of `score`; changes no bit of it."""

    @classmethod
    def make(
        cls,
        rows: TrainingRows,
        log: QueryLog,
        held_out: npt.ArrayLike,
        n_queries: int,
        seed: Seed,
        *,
        theta: float = 0.0,
        n_threads: int = 1,
    ) -> Self:
        """Read held-out images, weigh them as those of `rows`, draw those that query, and collect what is relevant."""
        ids = np.asarray(held_out, dtype=np.int64)
        # relevant: Pr(p1, p2) above theta (JMLR eq. 10) in the log of all training images; held-out ones come first
        training = log.of_images(np.concatenate([ids, rows.image_ids]))
        relevant = [training.relevant(image, theta)[0] for image in range(len(ids))]
        relevant = [images[: np.searchsorted(images, len(ids))] for images in relevant]
        candidates = np.flatnonzero([len(images) for images in relevant])
        if not len(candidates):
            raise LookalikeError(
                "no held-out image has a relevant one among the others: hold out more images or lower theta"
            )
        size = min(n_queries, len(candidates))
        queries = np.sort(np.random.default_rng(seed).choice(candidates, size=size, replace=False, shuffle=False))
        chosen = [relevant[query].astype(np.int64) for query in queries]
        indptr = np.concatenate([[0], np.cumsum([len(images) for images in chosen])]).astype(np.int64)
        weighted = rows.weighted(ids, internal=True)
        return cls(weighted, queries.astype(np.int64), indptr, np.concatenate(chosen), n_threads)

    def score(self, W: Array) -> float:
        """Mean average precision of every query's ranking of the others; W has its features in the order of `rows`."""
        values = average_precision(
            W, self.rows, self.relevant_indptr, self.relevant_indices, self.queries, n_threads=self.n_threads
        )
        return float(values.mean())

    def fingerprint(self) -> int:
        """Return a number that changes with the images, the queries or what is relevant to them."""
        parts = (self.rows.data, self.rows.indices, self.queries, self.relevant_indptr, self.relevant_indices)
        return zlib.crc32(b"".join(np.ascontiguousarray(part).tobytes() for part in parts))


def images_of_part(images: pd.DataFrame, part: str) -> npt.NDArray[np.int32]:
    """Return the image ids of ``"train"`` or ``"test"``, ascending."""
    return np.sort(images.loc[images["part"] == part, "image_id"].to_numpy(np.int32))


def split_training(
    log: QueryLog, images: pd.DataFrame, held_out: HeldOutLog, seed: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the ids of the training images that are learned from, and of those that are held out."""
    training = images_of_part(images, "train")
    chosen = hold_out(log, training, held_out.images, integer_seed(seed, "web", "held_out"))
    return np.setdiff1d(training, chosen), chosen
