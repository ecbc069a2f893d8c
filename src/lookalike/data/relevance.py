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
from lookalike.core.row_numbers import refuse_missing_labels, row_numbers


class RelevanceData:
    """Pairwise relevance r(p_i, p_j) of images, within categories only (Deep Ranking, section 5.1).

    Images are rows of the manifest, each once, in any order; `category` holds their places in `category_names`. The
    relevance (n, n), sparse or dense, is symmetric, finite and not negative, 0 on the diagonal, across categories and
    where it is not stored; it is kept as a sorted CSR of float32. What breaks one of these rules is a ValueError.

    Examples
    --------
    >>> data = RelevanceData.from_pairs([7, 8, 9], ["cat", "cat", "cat"], [7, 7], [8, 9], [1.0, 0.5])
    >>> data.total.tolist()
    [1.5, 1.0, 0.5]
    """

    def __init__(self, image_id: ArrayLike, category: ArrayLike, category_names: ArrayLike, relevance: Matrix) -> None:
        self.category_names = np.asarray(category_names, dtype=np.str_).reshape(-1)
        self.n_categories = len(self.category_names)
        self.image_id = _ids(image_id)
        self.n_images = len(self.image_id)
        self.category = row_numbers(category, self.n_categories, "places in category_names").astype(np.int32)
        self.relevance: Matrix = sp.csr_array(relevance, dtype=np.float32, copy=True)
        if [len(self.category), *self.relevance.shape] != 3 * [self.n_images]:
            raise ValueError(
                f"{self.n_images} images need as many categories and rows and columns of relevance, "
                f"not {len(self.category)} and {self.relevance.shape}"
            )
        self.relevance.sum_duplicates()
        self.relevance.eliminate_zeros()
        self.relevance.sort_indices()
        self.n_pairs = int(self.relevance.nnz) // 2
        self._check()

    @classmethod
    def from_pairs(
        cls, image_id: ArrayLike, labels: ArrayLike, first: ArrayLike, second: ArrayLike, relevance: ArrayLike
    ) -> Self:
        """Return the data of rated pairs of image ids, each once or more in either order; others have relevance 0."""
        ids, values = _ids(image_id), np.asarray(relevance, dtype=np.float32).reshape(-1)
        ends = _rows(ids, first), _rows(ids, second)
        low, high = np.minimum(*ends), np.maximum(*ends)
        _, place, group = np.unique(low.astype(np.int64) * len(ids) + high, return_index=True, return_inverse=True)
        stated = values[place][group]
        for twice in np.flatnonzero((values != stated) & ~(np.isnan(values) & np.isnan(stated))):
            pair = f"images {ids[low[twice]]} and {ids[high[twice]]}"
            raise ValueError(f"{pair} come with two relevances: list the pair once")
        low, high = low[place], high[place]
        places = (np.concatenate([low, high]), np.concatenate([high, low]))
        matrix = sp.csr_array((np.tile(values[place], 2), places), shape=(len(ids), len(ids)))
        return cls(ids, *_codes(labels), matrix)

    @classmethod
    def from_blocks(cls, image_id: ArrayLike, labels: ArrayLike, blocks: Mapping[str, ArrayLike]) -> Self:
        """Return the data of one matrix per category, in the images' order; diagonals are not read, the rest is 0."""
        ids = _ids(image_id)
        category, names = _codes(labels)
        for unknown in sorted(set(blocks) - set(names.tolist())):
            raise ValueError(f"there is a block for {unknown!r}, which no image has as its category")
        sizes = zip(names.tolist(), np.bincount(category, minlength=len(names)), strict=True)
        parts = [np.array(blocks.get(name, np.zeros((n, n))), dtype=np.float32) for name, n in sizes]
        for block in parts:
            np.fill_diagonal(block, 0)
        place = np.argsort(np.argsort(category, kind="stable"))
        matrix: Matrix = sp.block_diag(parts, format="csr")[place][:, place] if parts else np.zeros((0, 0))
        return cls(ids, category, names, matrix)

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
        """Return the rows that hold these images, or raise ValueError when there is no such image."""
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
        """Read what `save` wrote, or raise LookalikeError when the file is damaged or breaks a rule of the class."""
        with reading_npz(path, "make the relevance data again") as arrays:
            ids = arrays["image_id"]
            matrix = sp.csr_array(tuple(arrays[name] for name in ("data", "indices", "indptr")), shape=2 * ids.shape)
            matrix.check_format(full_check=True)
            return cls(ids, arrays["category"], arrays["category_names"], matrix)

    def _check(self) -> None:
        """Refuse what breaks one of the rules of the class."""
        matrix, values = self.relevance, self.relevance.data
        rows, columns = matrix.nonzero()
        across = np.flatnonzero(self.category[rows] != self.category[columns])[:1]
        pair = " and ".join(str(image) for end in (rows, columns) for image in self.image_id[end[across]])
        is_number = np.isfinite(values).all() and not (values < 0).any()
        rules = [
            (len(np.unique(self.image_id)) == self.n_images, "an image id comes twice: list every image once"),
            (len(np.unique(self.category_names)) == self.n_categories, "a category name comes twice: name each once"),
            (is_number, "relevance must be finite and not negative: scale it, or leave pairs out"),
            (not matrix.diagonal().any(), "an image has a relevance to itself: leave the diagonal empty"),
            (not pair, f"images {pair} have a relevance but not one category: leave such pairs out"),
            (not (matrix != matrix.T).nnz, "relevance must be symmetric: give r(p, q) and r(q, p) the same number"),
        ]
        for words in (words for is_kept, words in rules if not is_kept):
            raise ValueError(words)


def _ids(images: ArrayLike) -> Ints:
    return row_numbers(images, 2**31, "image ids").astype(np.int32)


def _codes(labels: ArrayLike) -> tuple[Ints, Texts]:
    refuse_missing_labels(labels)
    names, codes = np.unique(np.asarray(labels, dtype=np.str_), return_inverse=True)
    return codes.astype(np.int32), names


def _rows(ids: Ints, wanted: ArrayLike) -> Ints:
    """Return the places of images, or raise ValueError for the first that is not there."""
    images = np.asarray(wanted, dtype=np.int64).reshape(-1)
    order = np.argsort(ids, kind="stable")
    places = np.searchsorted(ids, images, sorter=order)
    known = places < len(ids)
    known[known] = ids[order[places[known]]] == images[known]
    if not known.all():
        unknown = images[~known][0]
        raise ValueError(f"there is no image {unknown} among the {len(ids)} images: list its id and label too")
    return order[places].astype(np.int32)
