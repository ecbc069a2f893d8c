"""The query log: which images answer which text queries, how well, and the relevance of two images that follows.

The image-image matrix of the papers is never built: it grows with the square of the images of a query. What a caller
asks of an image is collected through its queries (JMLR section 5.2.1).
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lookalike.core.arrays import Array, Doubles, Ints, Longs, Matrix, Truths
from lookalike.core.files import PathLike, reading_npz, write_npz
from lookalike.core.row_numbers import row_numbers
from lookalike.core.seeds import generator
from lookalike.data import query_kernels as kernels
from lookalike.data.query_kernels import Incidence

SAMPLE = 20_000  # images of each part whose relevant images are counted


class QueryLog:
    """A query-image incidence R_QI with real-valued relevance, as CSR by query and by image.

    Pr(q, p) = R(q, p) / S with S, here `total`, the sum of R over everything, and
    Pr(p1, p2) = sum over q of Pr(p1 | q) Pr(p2 | q) Pr(q) (JMLR section 5.2.1; 2009 draft, equations 18 and 19).
    Relevance is finite and above zero. Numbers of images that are out of range are refused with a ValueError.

    Examples
    --------
    >>> log = QueryLog([0, 0, 1, 1], [0, 1, 1, 2], [1.0, 1.0, 3.0, 3.0])
    >>> log.joint([0, 0], [1, 2])
    array([0.0625, 0.    ])
    """

    def __init__(
        self,
        query: ArrayLike,
        image: ArrayLike,
        relevance: ArrayLike | None = None,
        n_queries: int | None = None,
        n_images: int | None = None,
    ) -> None:
        """Take pairs in any order, each once, of relevance 1 if none is given.

        Without `n_queries` or `n_images` there is one more than the largest number; float32 is kept, all else float64.
        """
        queries, images = np.asarray(query, dtype=np.int64), np.asarray(image, dtype=np.int64)
        weights = np.ones(len(queries), dtype=np.float32) if relevance is None else np.asarray(relevance)
        self.n_queries = int(queries.max(initial=-1)) + 1 if n_queries is None else n_queries
        self.n_images = int(images.max(initial=-1)) + 1 if n_images is None else n_images
        self.n_pairs = len(queries)
        by_query = np.argsort(queries * max(self.n_images, 1) + images, kind="stable")
        self.query_start = _starts(queries, self.n_queries)
        self.query_images = images[by_query].astype(np.int32)
        self.query_weights = weights[by_query].astype(np.float32 if weights.dtype == np.float32 else np.float64)
        # stable: the pairs come query by query, so an image's queries stay ascending
        by_image = np.argsort(self.query_images, kind="stable")
        of_query = self.pairs()[0]
        self.image_start = _starts(self.query_images, self.n_images)
        self.image_queries = of_query[by_image]
        self.image_weights = self.query_weights[by_image]
        # bincount adds in double precision, but gives integers where there is nothing to add
        sums = np.bincount(of_query, weights=self.query_weights, minlength=self.n_queries)
        self._query_sums = sums.astype(np.float64)
        self.total = float(self._query_sums.sum())

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote, or raise LookalikeError when the file is missing or no such file."""
        with reading_npz(path, "make the query log again") as arrays:
            sizes = int(arrays["n_queries"]), int(arrays["n_images"])
            return cls(arrays["query"], arrays["image"], arrays["relevance"], *sizes)

    def save(self, path: PathLike) -> None:
        """Write the log as ``log.npz``: pairs sorted by (query, image), the same bytes for the same log."""
        query, image, relevance = self.pairs()
        sizes = {"n_queries": np.int64(self.n_queries), "n_images": np.int64(self.n_images)}
        write_npz({"query": query, "image": image, "relevance": relevance, **sizes}, path)

    def pairs(self) -> tuple[Ints, Ints, Array]:
        """Return query, image and relevance of every pair, sorted by (query, image)."""
        query = np.repeat(np.arange(self.n_queries, dtype=np.int32), self.images_per_query())
        return query, self.query_images, self.query_weights

    def of_images(self, image_ids: ArrayLike) -> QueryLog:
        """Return the log of some images, each once, numbered in the order given; queries without images are dropped."""
        ids = self._images(image_ids).ravel()
        new = np.full(self.n_images, -1, dtype=np.int64)
        new[ids] = np.arange(len(ids))
        query, image, relevance = self.pairs()
        kept = new[image] >= 0
        used, renumbered = np.unique(query[kept], return_inverse=True)
        return QueryLog(renumbered, new[image[kept]], relevance[kept], len(used), len(ids))

    def joint(self, p1: ArrayLike, p2: ArrayLike) -> Doubles:
        """Return Pr(p1, p2), not cut, of image pairs in arrays that broadcast (draft equation 19)."""
        first, second = np.broadcast_arrays(self._images(p1), self._images(p2))
        values = kernels.relevance_of_pairs(self.incidence(), first.ravel(), second.ravel())
        return np.asarray(values, dtype=np.float64).reshape(first.shape)

    def relevant(self, image: int, theta: float = 0.0) -> tuple[Ints, Doubles]:
        """Return the other images whose Pr(p1, p2) is above `theta` (JMLR equation 10), ascending, and these values."""
        images, values = kernels.relevant_to(self.incidence(), int(self._images(image)), theta)
        return images, values

    def are_relevant(self, queries: ArrayLike, candidates: ArrayLike, theta: float = 0.0) -> Truths:
        """Return whether candidates (n, k) of each query image (n,), not itself, have a Pr(p1, p2) above `theta`."""
        images, others = self._images(queries), self._images(candidates)
        above = self.joint(images[:, None], others) > theta
        return np.asarray(above & (others != images[:, None]), dtype=np.bool_)

    def relevant_per_image(self, theta: float = 0.0, images: ArrayLike | None = None) -> Longs:
        """Return how many other images are above `theta`, for all images or those given; collected image by image."""
        chosen = np.arange(self.n_images) if images is None else self._images(images).ravel()
        return np.asarray(kernels.count_positives(self.incidence(), chosen, theta)[0], dtype=np.int64)

    def images_per_query(self) -> Longs:
        """Return how many images each query has."""
        return np.diff(self.query_start)

    def incidence(self, relevance: Literal["joint", "co_clicks"] = "joint") -> Incidence:
        """Return the log as the compiled kernels take it, in double precision, for Pr(p1, p2) or C'C of click counts.

        The former is that of JMLR equation 10, the latter that of NIPS section 4.1.
        """
        joint = self._incidence
        return joint if relevance == "joint" else joint._replace(factor=np.ones(self.n_queries))

    @cached_property
    def _incidence(self) -> Incidence:
        # kept: `relevant` is asked image by image
        factor = np.ones(self.n_queries)
        np.divide(1.0, self._query_sums * self.total, out=factor, where=self._query_sums > 0)
        by_query = self.query_start, self.query_images, self.query_weights.astype(np.float64)
        by_image = self.image_start, self.image_queries, self.image_weights.astype(np.float64)
        return Incidence(*by_query, *by_image, factor)

    def _images(self, numbers: ArrayLike) -> Longs:
        return row_numbers(numbers, self.n_images, "image")


def _starts(rows: Array, n_rows: int) -> Longs:
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))]).astype(np.int64)


def measure_marginals(log: QueryLog, parts: Array, visterms: Matrix, seed: int) -> pd.DataFrame:
    """Count what the papers print of their own data, in each part: columns ``part, quantity, value``.

    It is images, queries and their pairs (JMLR 2010, Table 1), and means of an image: relevant images (section 5.2.1),
    counted for `SAMPLE` images, and non-zeros (section 3).
    """
    lengths, counts = np.diff(visterms.indptr), []
    for part in ("train", "test"):
        images = np.flatnonzero(parts == part)
        own = log.of_images(images)  # queries count that have an image in the part, relevant images of the same part
        sample = np.sort(generator(seed, "web", "marginals", part).permutation(len(images))[:SAMPLE])
        found = {
            "images": len(images),
            "queries": np.count_nonzero(own.images_per_query()),
            "pairs": own.n_pairs,
            "nonzeros_per_image": lengths[images].mean(),
            "relevant_per_image": own.relevant_per_image(images=sample).mean(),
        }
        counts += [{"part": part, "quantity": name, "value": float(n)} for name, n in found.items()]
    return pd.DataFrame(counts)
