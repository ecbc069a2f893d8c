"""Dense SIFT: descriptors on a regular grid at several sizes, what the SIFT-like and Fisher descriptions share.

Descriptors are OpenCV's (Lowe 2004, section 6.1), upright, at points that nobody detected. Flat patches, whose
orientations are noise, are descriptors of zeros, as in other dense implementations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np
import numpy.typing as npt
import PIL.Image

from lookalike.core.errors import LookalikeError
from lookalike.features.describers import Describer, Floats, Image
from lookalike.features.keypoints import N_FEATURES, as_vectors

Doubles = npt.NDArray[np.float64]

BINS = 4
"""A descriptor has so many spatial bins in each direction."""
BIN_PER_SIZE = 1.5
"""Pixels of OpenCV's spatial bins per pixel of a keypoint's ``size`` (its diameter): 3 per standard deviation."""
CONTRAST_BLOCK = 3
"""Grey values are averaged over so many pixels before their contrast is measured, to leave out noise."""


@dataclass(kw_only=True, eq=False)
class DenseSift(Describer):
    """What describers by dense SIFT share: where and how densely an image is described, and what is learned from.

    Parameters
    ----------
    longest_side : int, default=256
        Pixels; larger images are shrunk.
    step : int, default=8
        Pixels between patches, in both directions.
    sizes : sequence of int, default=(16, 24, 32)
        Sides of the square patches, in pixels.
    root : bool, default=True
        Whether descriptors become RootSIFT (`lookalike.features.keypoints.root_sift`).
    least_contrast : float, default=2.0
        Patches of less contrast (a standard deviation, of grey values in 0..255) are flat.
    n_per_image : int, default=100
        Descriptors that are learned from at most of an image.
    n_descriptors : int, default=100_000
        Descriptors that are learned from at most.
    """

    needs_fit: ClassVar[bool] = True
    longest_side: int = 256
    step: int = 8
    sizes: Sequence[int] = (16, 24, 32)
    root: bool = True
    least_contrast: float = 2.0
    n_per_image: int = 100
    n_descriptors: int = 100_000

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        self.sizes = tuple(self.sizes)
        if self.step < 1 or not self.sizes or min(self.sizes) < BINS:
            raise LookalikeError(
                f"dense SIFT needs a `step` of at least 1 pixel and `sizes` of at least {BINS}, not {self.step} and "
                f"{list(self.sizes)}: correct them"
            )
        if not self.least_contrast >= 0:
            raise LookalikeError("`least_contrast` of dense SIFT must not be negative: set it to 2")

    def descriptors(self, image: Image) -> tuple[Floats, Doubles]:
        """Describe patches on a grid, size by size, each row by row; there is at least one patch of every size.

        The grid of a size is centred, and its patches lie inside the image; a size that is larger than the image gives
        one patch in its middle.

        Returns
        -------
        vectors : ndarray of shape (n, 128), float32
            SIFT (0..255) or RootSIFT (rows of unit length); rows of zeros where the patch is flat.
        places : ndarray of shape (n, 2), float64
            x and y of the patches' centres as shares of the image's width and height, between 0 and 1.
        """
        grey = np.asarray(PIL.Image.fromarray(image).convert("L"))
        grids = [_grid(grey.shape, size, self.step) for size in self.sizes]
        points = [
            cv2.KeyPoint(float(x), float(y), size / (BINS * BIN_PER_SIZE), 0.0)
            for grid, size in zip(grids, self.sizes, strict=True)
            for x, y in grid
        ]
        descriptors = np.asarray(cv2.SIFT.create().compute(grey, points)[1]).astype(np.uint8)
        smooth = np.asarray(cv2.blur(grey.astype(np.float32), (CONTRAST_BLOCK, CONTRAST_BLOCK)), dtype=np.float32)
        contrast = [_contrast(smooth, grid, size) for grid, size in zip(grids, self.sizes, strict=True)]
        descriptors[np.concatenate(contrast) < self.least_contrast] = 0
        height, width = grey.shape
        return as_vectors(descriptors, self.root), (np.concatenate(grids) + 0.5) / (width, height)

    def sample(self, images: Iterable[Image], seed: int) -> Floats:
        """Draw descriptors of many images to learn from, flat patches left out.

        They are uniform without replacement within an image, and then among what was drawn.
        """
        random = np.random.Generator(np.random.PCG64(seed))
        drawn = [np.empty((0, N_FEATURES), np.float32)]
        for image in images:
            vectors = textured(self.descriptors(image)[0])
            chosen = random.choice(len(vectors), size=min(self.n_per_image, len(vectors)), replace=False)
            drawn.append(vectors[np.sort(chosen)])
        joined = np.concatenate(drawn)
        if not len(joined):
            raise LookalikeError("there is no textured patch to learn SIFT words from: give more images")
        if len(joined) > self.n_descriptors:
            joined = joined[np.sort(random.choice(len(joined), size=self.n_descriptors, replace=False))]
        return joined


def textured(vectors: Floats) -> Floats:
    """Return the descriptors that are not of flat patches."""
    return vectors[vectors.any(axis=1)]


def _grid(shape: tuple[int, ...], size: int, step: int) -> Doubles:
    """Return x and y of the centres of a size's patches, shape (n, 2)."""
    starts = []
    for side in (shape[1], shape[0]):
        room = side - size
        if room < 0:
            starts.append(np.array([(side - 1) / 2]))
            continue
        offset = (room % step) // 2
        starts.append(np.arange(offset, room + 1, step) + (size - 1) / 2)
    xs, ys = np.meshgrid(*starts)
    return np.column_stack([xs.ravel(), ys.ravel()])


def _contrast(grey: Floats, centres: Doubles, size: int) -> Doubles:
    """Return the standard deviation of the grey values of patches, from sums over rectangles."""
    height, width = grey.shape
    sums, squares = cv2.integral2(grey, sdepth=cv2.CV_64F)
    corners = np.rint(centres - (size - 1) / 2).astype(np.int64)
    left, top = np.maximum(corners, 0).T
    right, bottom = np.minimum(corners + size, (width, height)).T

    def total(table: Doubles) -> Doubles:
        return np.asarray(table[bottom, right] - table[bottom, left] - table[top, right] + table[top, left])

    area = (right - left) * (bottom - top)
    mean = total(np.asarray(sums)) / area
    return np.asarray(np.sqrt(np.maximum(total(np.asarray(squares)) / area - mean**2, 0)))
