"""Graded relevance of training images: how like each other the images of one category are.

What the learners of the fine-grained study are taught with: the triplet sampler draws from it, the golden feature fits
its weights to it. It holds training images alone, never those of the rated evaluation triplets.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing


class RelevanceData:
    """Pairwise relevance r(p_i, p_j) of images, within categories only (Deep Ranking, section 5.1).

    Parameters
    ----------
    image_id : array-like of int, shape (n,)
        Rows of the manifest, each once, in any order.
    category : array-like of int, shape (n,)
        Places in `category_names`.
    category_names : array-like of str, shape (n_categories,)
        Different from each other.
    relevance : sparse or dense, shape (n, n)
        Symmetric, finite, not negative, in arbitrary units that are the same everywhere; what is not stored is 0. The
        diagonal must be empty, and so must be all pairs of two categories.

    Attributes
    ----------
    image_id, category : numpy.ndarray of int32, shape (n,)
    category_names : numpy.ndarray of str, shape (n_categories,)
    relevance : scipy.sparse.csr_array of float32, shape (n, n)
        Sorted, without explicit zeros.

    Raises
    ------
    ValueError
        When shapes do not fit or one of these rules is broken.

    Examples
    --------
    >>> data = RelevanceData.from_pairs([7, 8, 9], ["cat", "cat", "cat"], [7, 7], [8, 9], [1.0, 0.5])
    >>> data.total.tolist()
    [1.5, 1.0, 0.5]
    """

    def __init__(self, image_id: ArrayLike, category: ArrayLike, category_names: ArrayLike, relevance: Any) -> None:
        self.image_id = _whole_numbers(image_id, "image_id")
        self.category = _whole_numbers(category, "category")
        self.category_names = np.asarray(category_names, dtype=np.str_).reshape(-1)
        self.relevance = _canonical(relevance)
        self._check()

    @classmethod
    def from_pairs(
        cls, image_id: ArrayLike, labels: ArrayLike, first: ArrayLike, second: ArrayLike, relevance: ArrayLike
    ) -> Self:
        """Return the data of a list of rated pairs of image ids; pairs that are not listed have relevance 0.

        `labels` are the categories of the images. A pair may come once or more, in either order.

        Raises
        ------
        ValueError
            When a pair names an unknown image, an image with itself or two categories, or comes with two relevances.
        """
        ids = _whole_numbers(image_id, "image_id")
        values = np.asarray(relevance, dtype=np.float32).reshape(-1)
        one, other = _rows(ids, first), _rows(ids, second)
        if not len(one) == len(other) == len(values):
            raise ValueError(
                f"first, second and relevance must be equally long, not {len(one)}, {len(other)} and {len(values)}"
            )
        if not np.isfinite(values).all():
            raise ValueError("a relevance is not a finite number: mend the pair or leave it out")
        rows, columns = np.concatenate([one, other]), np.concatenate([other, one])
        key = rows.astype(np.int64) * max(len(ids), 1) + columns
        key, place, group = np.unique(key, return_index=True, return_inverse=True)
        both = np.concatenate([values, values])
        wrong = np.flatnonzero(both != both[place][group])
        if len(wrong):
            a, b = ids[rows[wrong[0]]], ids[columns[wrong[0]]]
            raise ValueError(f"images {a} and {b} come with two relevances: list the pair once")
        shape = (len(ids), len(ids))
        matrix = sp.csr_array((both[place], (rows[place], columns[place])), shape=shape)
        return cls(ids, *_codes(labels), matrix)

    @classmethod
    def from_blocks(cls, image_id: ArrayLike, labels: ArrayLike, blocks: Mapping[str, ArrayLike]) -> Self:
        """Return the data of one dense matrix per category, of its images in the order that they have in `image_id`.

        Diagonals are not read; a category without a block has relevance 0 throughout.
        """
        ids = _whole_numbers(image_id, "image_id")
        category, names = _codes(labels)
        unknown = sorted(set(blocks) - set(names.tolist()))
        if unknown:
            raise ValueError(f"there is a block for {unknown[0]!r}, which no image has as its category")
        rows, columns, values = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        for code, name in enumerate(names.tolist()):
            if name not in blocks:
                continue
            members = np.flatnonzero(category == code)
            block = np.array(blocks[name], dtype=np.float32)
            if block.shape != (len(members), len(members)):
                raise ValueError(f"the block of {name!r} must be of {len(members)} images, not of shape {block.shape}")
            np.fill_diagonal(block, 0)
            i, j = np.nonzero(block)
            rows.append(members[i])
            columns.append(members[j])
            values.append(block[i, j])
        shape = (len(ids), len(ids))
        places = (np.concatenate(rows), np.concatenate(columns))
        return cls(ids, category, names, sp.csr_array((np.concatenate(values), places), shape=shape))

    @classmethod
    def from_labels(cls, image_id: ArrayLike, labels: ArrayLike) -> Self:
        """Return the data of labels alone: relevance 1 within a category.

        Equation 8 can then hold for no in-class negative, so triplets need out-of-class ones alone.
        """
        category, names = _codes(labels)
        sizes = np.bincount(category, minlength=len(names))
        return cls.from_blocks(
            image_id, labels, {str(name): np.ones((m, m), np.float32) for name, m in zip(names, sizes, strict=True)}
        )

    @classmethod
    def empty(cls) -> Self:
        """Return the data of no image: what a data set without training images has."""
        return cls([], [], [], sp.csr_array((0, 0), dtype=np.float32))

    @property
    def n_images(self) -> int:
        """Number of images."""
        return len(self.image_id)

    @property
    def n_categories(self) -> int:
        """Number of categories, those without an image too."""
        return len(self.category_names)

    @property
    def n_pairs(self) -> int:
        """Number of pairs of images with a relevance above 0, each counted once."""
        return int(self.relevance.nnz) // 2

    @property
    def labels(self) -> NDArray[np.str_]:
        """Name of each image's category: str, shape (n,)."""
        return np.asarray(self.category_names[self.category], dtype=np.str_)

    @cached_property
    def total(self) -> NDArray[np.float64]:
        """Total relevance r_i of each image (equation 6): the sum of its relevance to all others; shape (n,)."""
        return np.asarray(self.relevance.astype(np.float64).sum(axis=1), dtype=np.float64).reshape(-1)

    def rows_of(self, image_id: ArrayLike) -> NDArray[np.int32]:
        """Return the rows that hold these images, or raise ValueError when there is no such image."""
        return _rows(self.image_id, image_id)

    def subset(self, rows: ArrayLike) -> Self:
        """Return the data of some rows alone, in the order given; categories that lose all images are dropped."""
        kept = np.asarray(rows, dtype=np.int64).reshape(-1)
        used, category = np.unique(self.category[kept], return_inverse=True)
        return type(self)(self.image_id[kept], category, self.category_names[used], self.relevance[kept][:, kept])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write ``.npz``; the same data give the same bytes."""
        arrays = {
            "image_id": self.image_id,
            "category": self.category,
            "category_names": self.category_names,
            "indptr": self.relevance.indptr.astype(np.int64),
            "indices": self.relevance.indices.astype(np.int32),
            "data": self.relevance.data,
        }
        with replacing(path) as part, part.open("wb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote, or raise LookalikeError when the file is damaged or breaks a rule of the class."""
        try:
            with np.load(path, allow_pickle=False) as arrays:
                n = len(arrays["image_id"])
                parts = (arrays["data"], arrays["indices"], arrays["indptr"])
                matrix = sp.csr_array(parts, shape=(n, n))
                matrix.check_format(full_check=True)
                return cls(arrays["image_id"], arrays["category"], arrays["category_names"], matrix)
        except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise LookalikeError(f"{path} is no file of relevance data ({error}): make it again") from error

    def _check(self) -> None:
        n, matrix = self.n_images, self.relevance
        if len(self.category) != n or matrix.shape != (n, n):
            raise ValueError(
                f"{n} images need {n} categories and relevance of shape {(n, n)}, "
                f"not {len(self.category)} and {matrix.shape}"
            )
        if len(np.unique(self.image_id)) != n:
            raise ValueError("an image id comes twice: list every image once")
        if len(np.unique(self.category_names)) != self.n_categories:
            raise ValueError("a category name comes twice: name every category once")
        if n and (self.category.min() < 0 or self.category.max() >= self.n_categories):
            raise ValueError(f"categories must be places in category_names, 0 to {self.n_categories - 1}")
        if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
            raise ValueError("relevance must be finite and not negative: scale it, or leave pairs out")
        rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
        if (rows == matrix.indices).any():
            raise ValueError("an image has a relevance to itself: leave the diagonal empty")
        across = np.flatnonzero(self.category[rows] != self.category[matrix.indices])
        if len(across):
            a, b = self.image_id[rows[across[0]]], self.image_id[matrix.indices[across[0]]]
            raise ValueError(f"images {a} and {b} have a relevance but not one category: leave such pairs out")
        mirrored = matrix.T.tocsr()
        mirrored.sort_indices()
        if not (np.array_equal(mirrored.indices, matrix.indices) and np.array_equal(mirrored.data, matrix.data)):
            raise ValueError("relevance must be symmetric: give r(p, q) and r(q, p) the same number")


def _canonical(relevance: Any) -> sp.csr_array[Any, tuple[int, int]]:
    dense = None if sp.issparse(relevance) else np.asarray(relevance, dtype=np.float32)
    matrix: Any = sp.csr_array(relevance if dense is None else dense, dtype=np.float32, copy=True)
    if matrix.ndim != 2:
        raise ValueError("relevance must be a square matrix, a row and a column for every image")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    square: sp.csr_array[Any, tuple[int, int]] = matrix
    return square


def _whole_numbers(values: ArrayLike, name: str) -> NDArray[np.int32]:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise ValueError(f"{name} must be whole numbers, a 1-D array, not {array.dtype} of shape {array.shape}")
    if array.size and np.abs(array).max() > np.iinfo(np.int32).max:
        raise ValueError(f"{name} must fit 32 bits: number the images from 0 on")
    return array.astype(np.int32)


def _codes(labels: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.str_]]:
    names, codes = np.unique(np.asarray(labels, dtype=np.str_), return_inverse=True)
    return codes.astype(np.int32), names


def _rows(ids: NDArray[np.int32], wanted: ArrayLike) -> NDArray[np.int32]:
    images = np.asarray(wanted, dtype=np.int64).reshape(-1)
    order = np.argsort(ids, kind="stable")
    places = np.searchsorted(ids, images, sorter=order)
    known = places < len(ids)
    known[known] = ids[order[places[known]]] == images[known]
    if not known.all():
        raise ValueError(
            f"there is no image {images[~known][0]} among the {len(ids)} images: list its id and label too"
        )
    return order[places].astype(np.int32)
