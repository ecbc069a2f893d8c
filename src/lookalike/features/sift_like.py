"""SIFT-like description: a spatial pyramid of words of dense SIFT (Deep Ranking, Table 1, "SIFT-like").

The paper cites SIFT (Lowe 2004) and says no more. This is the plain use of it for whole images: dense descriptors, a
k-means codebook, and word counts of the image and its quarters (Lazebnik, Schmid and Ponce, CVPR 2006).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from lookalike.core.arrays import Bytes, Floats
from lookalike.features.codebook import learn_codebook
from lookalike.features.dense_sift import DenseSift
from lookalike.features.describers import Positive
from lookalike.features.keypoints import N_FEATURES


@dataclass(kw_only=True, eq=False)
class SiftLike(DenseSift, system="sift-like", distance="l1", learned=("words_",)):
    """Shares of dense SIFT words in the cells of a spatial pyramid, compared by L1.

    Half their L1 distance is 1 less the pyramid match of Lazebnik et al. (eq. 3): every level counts as much as there,
    so that the shares of an image sum to 1.

    Parameters
    ----------
    n_words : int, default=400
        Size of the codebook, the larger of the two that Lazebnik et al. use; flat patches are one word more.
    grids : sequence of int, default=(1, 2)
        Cells of a level in each direction, from coarse to fine.
    **others
        Those of `DenseSift`.
    """

    n_words: Positive = 400
    grids: Annotated[tuple[Positive, ...], Field(min_length=1)] = (1, 2)

    @property
    def n_dimensions(self) -> int:
        """Return the length of the vectors: a share for each word, and for flat patches, in each cell."""
        return (self.n_words + 1) * sum(grid**2 for grid in self.grids)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"words_": (self.n_words, N_FEATURES)}

    def _fit(self, images: Iterator[Bytes], seed: int) -> None:
        self.words_ = learn_codebook(self.sample(images, seed), self.n_words, seed)

    def _describe(self, image: Bytes) -> Floats:
        vectors, places = self.descriptors(image)
        # the nearest word of each descriptor; flat patches are one word more
        distances = np.einsum("ij,ij->i", self.words_, self.words_) - 2 * (vectors @ self.words_.T)
        words = np.where(vectors.any(axis=1), np.argmin(distances, axis=1), self.n_words)
        width, finest = self.n_words + 1, len(self.grids) - 1
        # from coarse to fine (Lazebnik et al. 2006, eq. 3); they sum to 1
        weights = [0.5**finest, *(0.5 ** (finest - level) for level in range(finest))]
        levels = []
        for weight, grid in zip(weights, self.grids, strict=True):
            columns, rows = np.minimum((places * grid).astype(np.int64), grid - 1).T
            cells = rows * grid + columns
            levels.append(weight * np.bincount(words + width * cells, minlength=width * grid**2))
        return np.asarray(np.concatenate(levels) / len(words), dtype=np.float32)
