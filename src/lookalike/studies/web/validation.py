"""Held-out images of the web study's training part, on which a run of OASIS is scored while it learns (JMLR 5.2.1).

Relevant images share a query, so those held out one by one would hardly have any: whole queries are held out.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from lookalike.core.arrays import Array
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import integer_seed
from lookalike.ranking.exact_search import average_precision
from lookalike.studies.web.settings import HeldOutLog
from lookalike.studies.web.training_rows import TrainingRows

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.data.query_log import QueryLog

Seed = int | np.random.SeedSequence | np.random.Generator
LARGEST_SHARE = 3
"""At most one in so many training images is held out."""


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
