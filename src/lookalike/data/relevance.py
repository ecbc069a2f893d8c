"""Graded relevance of training images (never of rated ones): how like each other the images of one category are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from lookalike.core.arrays import Doubles, Ints, Matrix, Texts
from lookalike.core.files import PathLike, reading_npz, write_npz


class RelevanceData:
    """Pairwise relevance r(p_i, p_j) of images, within categories only (Deep Ranking, section 5.1).

    Images are rows of the manifest, each once, in any order; `category` holds their places in `category_names`. The
    relevance (n, n) is symmetric, finite and not negative, 0 on the diagonal, across categories and where it is not
    stored; it is kept as a sorted CSR of float32. Who makes it sees to that.

    Examples
    --------
    >>> data = RelevanceData.from_pairs([7, 8, 9], ["cat", "cat", "cat"], [7, 7], [8, 9], [1.0, 0.5])
    >>> data.total.tolist()
    [1.5, 1.0, 0.5]
    """

    def __init__(self, image_id: ArrayLike, category: ArrayLike, category_names: ArrayLike, relevance: Matrix) -> None:
        self.image_id: Ints = np.asarray(image_id, dtype=np.int32)
        self.category: Ints = np.asarray(category, dtype=np.int32)
        self.category_names: Texts = np.asarray(category_names, dtype=np.str_)
        self.relevance: Matrix = sp.csr_array(relevance, dtype=np.float32, copy=True)
        self.relevance.sum_duplicates()
        self.relevance.eliminate_zeros()
        self.n_images, self.n_categories = len(self.image_id), len(self.category_names)
        self.n_pairs = int(self.relevance.nnz) // 2

    @classmethod
    def from_pairs(
        cls, image_id: ArrayLike, labels: ArrayLike, first: ArrayLike, second: ArrayLike, relevance: ArrayLike
    ) -> Self:
        """Return the data of rated pairs of image ids, each once in either order; others have relevance 0."""
        ids, values = np.asarray(image_id, dtype=np.int32), np.asarray(relevance, dtype=np.float32)
        low, high = _rows(ids, first), _rows(ids, second)
        places = (np.concatenate([low, high]), np.concatenate([high, low]))
        matrix = sp.csr_array((np.tile(values, 2), places), shape=(len(ids), len(ids)))
        return cls(ids, *_codes(labels), matrix)

    @classmethod
    def from_blocks(cls, image_id: ArrayLike, labels: ArrayLike, blocks: Mapping[str, ArrayLike]) -> Self:
        """Return the data of one matrix per category, in the images' order; diagonals are not read, the rest is 0."""
        category, names = _codes(labels)
        sizes = zip(names.tolist(), np.bincount(category, minlength=len(names)), strict=True)
        parts = [np.array(blocks.get(name, np.zeros((n, n))), dtype=np.float32) for name, n in sizes]
        for block in parts:
            np.fill_diagonal(block, 0)
        place = np.argsort(np.argsort(category, kind="stable"))
        matrix: Matrix = sp.block_diag(parts, format="csr")[place][:, place] if parts else np.zeros((0, 0))
        return cls(image_id, category, names, matrix)

    @classmethod
    def from_labels(cls, image_id: ArrayLike, labels: ArrayLike) -> Self:
        """Return the data of labels alone, relevance 1 within a category: equation 8 has no in-class negative then."""
        names, sizes = np.unique(np.asarray(labels, dtype=np.str_), return_counts=True)
        blocks = {str(name): np.ones((n, n), np.float32) for name, n in zip(names, sizes, strict=True)}
        return cls.from_blocks(image_id, labels, blocks)

    @property
    def labels(self) -> Texts:
        """Name of each image's category: str, shape (n,)."""
        return np.asarray(self.category_names[self.category], dtype=np.str_)

    @cached_property
    def total(self) -> Doubles:
        """Sum the relevance of each image to all others, r_i of equation 6; shape (n,)."""
        return np.asarray(self.relevance.astype(np.float64).sum(axis=1), dtype=np.float64).reshape(-1)

    def rows_of(self, image_id: ArrayLike) -> Ints:
        """Return the rows that hold these images, or raise KeyError when there is no such image."""
        return _rows(self.image_id, image_id)

    def subset(self, rows: ArrayLike) -> Self:
        """Return the data of some rows alone, in the order given; categories that lose all images are dropped."""
        kept = np.asarray(rows, dtype=np.int64).reshape(-1)
        used, category = np.unique(self.category[kept], return_inverse=True)
        return type(self)(self.image_id[kept], category, self.category_names[used], self.relevance[kept][:, kept])

    def save(self, path: PathLike) -> None:
        """Write ``.npz``; the same data give the same bytes."""
        images = {name: getattr(self, name) for name in ("image_id", "category", "category_names")}
        indptr, indices = self.relevance.indptr.astype(np.int64), self.relevance.indices.astype(np.int32)
        write_npz(images | {"indptr": indptr, "indices": indices, "data": self.relevance.data}, path)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote, or raise LookalikeError when the file is damaged."""
        with reading_npz(path, "make the relevance data again") as arrays:
            ids = arrays["image_id"]
            matrix = sp.csr_array(tuple(arrays[name] for name in ("data", "indices", "indptr")), shape=2 * ids.shape)
            return cls(ids, arrays["category"], arrays["category_names"], matrix)


def _codes(labels: ArrayLike) -> tuple[Ints, Texts]:
    names, codes = np.unique(np.asarray(labels, dtype=np.str_), return_inverse=True)
    return codes.astype(np.int32), names


def _rows(ids: Ints, images: ArrayLike) -> Ints:
    """Return the places of images among ids."""
    images = np.ravel(images).astype(np.int64)
    order = np.argsort(ids, kind="stable")
    found = order[np.searchsorted(ids, images, sorter=order).clip(max=len(ids) - 1)]
    if unknown := images[ids[found] != images].tolist():
        raise KeyError(f"no image {unknown[0]} among {len(ids)}")
    return np.asarray(found, dtype=np.int32)
