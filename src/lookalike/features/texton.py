"""Textons in a spatial pyramid with max pooling: the "SPMK texton 1024 max" of the fine-grained study.

Deep Ranking (section 6.4) names the spatial pyramid of Lazebnik, Schmid and Ponce (CVPR 2006) and no filters. Here
pixels are described by the MR8 filter bank (Varma and Zisserman, "A statistical approach to texture classification from
single images", IJCV 2005), clustered to textons, assigned softly to the nearest few (Liu, Wang and Liu, "In defense of
soft-assignment coding", ICCV 2011) and pooled by their maximum (Boureau et al., CVPR 2010) in each cell of the pyramid.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import cv2
import faiss
import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from lookalike.core.arrays import Bytes, Floats, Longs
from lookalike.core.errors import LookalikeError
from lookalike.core.images import MIN_SIDE
from lookalike.features.codebook import learn_codebook
from lookalike.features.describers import Describer, NotNegative, Positive, check_places

N_RESPONSES = 8
"""Numbers that describe a pixel: edges and bars at three scales, one Gaussian and its Laplacian."""
N_ORIENTATIONS = 6

_SCALES = ((1.0, 3.0), (2.0, 6.0), (4.0, 12.0))  # standard deviations across and along, in pixels
_ROUND_SCALE = 10.0  # of the Gaussian and the Laplacian
_RADIUS = 24  # filters are 49 x 49
_WEBER = 0.03
_BATCH = 512  # pixels at a time: their neighbourhoods are 5 MB, which caches hold


def mr8_filters() -> Floats:
    """Return MR8: edges, then bars, in six orientations at three scales, a Gaussian, a Laplacian: (38, 49, 49)."""
    y, x = np.mgrid[-_RADIUS : _RADIUS + 1, -_RADIUS : _RADIUS + 1].astype(np.float64)
    edges, bars = [], []
    for across, along in _SCALES:
        for angle in np.pi * np.arange(N_ORIENTATIONS) / N_ORIENTATIONS:
            u, v = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
            bell = np.exp(-(u**2) / (2 * across**2) - v**2 / (2 * along**2))
            edges.append(-u * bell)
            bars.append((u**2 - across**2) * bell)
    square = (x**2 + y**2) / _ROUND_SCALE**2
    bell = np.exp(-square / 2)
    bank = np.array([*edges, *bars, bell, (square - 2) * bell])
    derivatives = np.arange(len(bank)) != len(bank) - 2
    bank[derivatives] -= bank[derivatives].mean(axis=(1, 2), keepdims=True)
    return np.asarray(bank / np.abs(bank).sum(axis=(1, 2), keepdims=True), dtype=np.float32)


@dataclass(kw_only=True, eq=False)
class TextonPyramid(Describer, system="spmk-texton-1024-max", distance="l1", learned=("textons", "variance")):
    """Largest soft assignment to each texton in every cell of 1 x 1, 2 x 2 and 4 x 4; sums to one.

    Grey values are made to have mean 0 and standard deviation 1 in each image. Of an edge's or bar's six orientations
    the largest response counts (an edge's by its absolute value: its sign is that of the direction, of which only half
    the circle is filtered), and the eight that remain are scaled by Weber's law, as Varma and Zisserman do.
    Cells are weighted by level like Lazebnik's (1/4, 1/4, 1/2), so half the L1 distance of two vectors is one minus
    their pyramid match (histogram intersection) kernel.

    Parameters
    ----------
    longest_side : int, default=256
        Pixels of the longer side at most; larger images are shrunk.
    n_textons : int, default=1024
    step : int, default=4
        Every so many pixels in each direction one is assigned to textons.
    n_nearest : int, default=5
        Textons that a pixel is shared between. Its weights fall with the squared distance like a Gaussian whose
        variance is the mean squared distance of learning pixels to their textons; they sum to one.
    n_levels : int, default=3
        Levels of the pyramid; level l has 2^l x 2^l cells.
    pixels_per_image : int, default=200
        Random pixels that are taken of each learning image.
    n_learning_pixels : int, default=200_000
        Of those, so many at most are clustered.
    """

    longest_side: NotNegative = 256
    n_textons: Positive = 1024
    step: Positive = 4
    n_nearest: Positive = 5
    n_levels: Annotated[int, Field(ge=1, le=6)] = 3
    pixels_per_image: Positive = 200
    n_learning_pixels: Positive = 200_000

    def __post_init__(self) -> None:
        """Refuse cells without a pixel, and make the filters."""
        if self.step << (self.n_levels - 1) > MIN_SIDE:
            why = f"a step of {self.step} pixels leaves cells of {self.n_levels} levels empty"
            raise LookalikeError(f"{why} in images of {MIN_SIDE} pixels: take a smaller `step` or `n_levels`")
        self.n_nearest = min(self.n_nearest, self.n_textons)
        self._filters = np.ascontiguousarray(mr8_filters().reshape(-1, (2 * _RADIUS + 1) ** 2).T)

    @property
    def n_dimensions(self) -> int:
        """Return the number of textons in each cell of each level."""
        return self.n_textons * (((1 << 2 * self.n_levels) - 1) // 3)  # 1 + 4 + 16 + ... cells

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"textons": (self.n_textons, N_RESPONSES), "variance": ()}

    def responses(self, image: Bytes, rows: Longs, columns: Longs) -> Floats:
        """Describe pixels by MR8, float32 (n, 8): edges, bars (fine to coarse), Gaussian, Laplacian; 0 in one grey."""
        grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32)
        grey = (grey - grey.mean()) / max(float(grey.std()), 1e-3)
        padded = cv2.copyMakeBorder(grey, _RADIUS, _RADIUS, _RADIUS, _RADIUS, cv2.BORDER_REFLECT_101)
        side = 2 * _RADIUS + 1
        windows = np.lib.stride_tricks.sliding_window_view(padded, (side, side))
        found = np.empty((len(rows), N_RESPONSES), np.float32)
        # only where pixels are asked for: a convolution of the whole image takes several times as long
        for start in range(0, len(rows), _BATCH):
            part = slice(start, start + _BATCH)
            all38 = windows[rows[part], columns[part]].reshape(-1, side * side) @ self._filters
            oriented = all38[:, :-2].reshape(-1, 2, len(_SCALES), N_ORIENTATIONS)
            found[part, :3] = np.abs(oriented[:, 0]).max(axis=2)
            found[part, 3:6] = oriented[:, 1].max(axis=2)
            found[part, 6:] = all38[:, -2:]
        size = np.sqrt(np.einsum("ij,ij->i", found, found))
        found *= (np.log1p(size / _WEBER) / np.maximum(size, 1e-6))[:, None]
        return found

    def _fit(self, images: Iterator[Bytes], seed: int) -> None:
        """Cluster random pixels of the images."""
        rng = np.random.default_rng(seed)
        parts = [np.empty((0, N_RESPONSES), np.float32)]
        for image in images:
            rows = rng.integers(image.shape[0], size=self.pixels_per_image)
            parts.append(self.responses(image, rows, rng.integers(image.shape[1], size=self.pixels_per_image)))
        pixels = np.concatenate(parts)
        if len(pixels) > self.n_learning_pixels:
            pixels = pixels[np.sort(rng.permutation(len(pixels))[: self.n_learning_pixels])]
        start = int(rng.integers(2**31))
        self.textons = learn_codebook(pixels, self.n_textons, start)
        self.variance = float(np.maximum(faiss.knn(pixels, self.textons, 1)[0], 0).mean())

    def _describe(self, image: Bytes) -> Floats:
        """Return the cells row by row from the whole image to the smallest, the textons of a cell side by side."""
        check_places(image.shape, self.step)
        height, width = image.shape[:2]
        y, x = (np.arange(self.step // 2, side, self.step) for side in (height, width))
        rows, columns = (grid.ravel() for grid in np.meshgrid(y, x, indexing="ij"))
        squares, textons = faiss.knn(self.responses(image, rows, columns), self.textons, self.n_nearest)
        squares = np.maximum(squares, 0)
        # relative to the nearest, which leaves the shares as they are and keeps them from 0 / 0
        shares = np.exp((squares[:, :1] - squares) / max(2 * self.variance, 1e-12))
        shares /= shares.sum(axis=1, keepdims=True)
        n = 2 ** (self.n_levels - 1)
        cells = (rows * n // height) * n + columns * n // width
        pooled = np.zeros((n * n, self.n_textons), np.float32)
        np.maximum.at(pooled.ravel(), (cells[:, None] * self.n_textons + textons).ravel(), shares.ravel())
        # the levels from the finest on, weighted; together they sum to one
        levels, top = [], self.n_levels - 1
        for level in range(top, -1, -1):
            levels.append(pooled.ravel() * np.float32(0.5 ** (top - max(level, 1) + 1)))
            if level:
                pooled = pooled.reshape(2 ** (level - 1), 2, 2 ** (level - 1), 2, self.n_textons).max(axis=(1, 3))
        vector = np.concatenate(levels[::-1])
        return np.asarray(vector / vector.sum(dtype=np.float64), dtype=np.float32)
