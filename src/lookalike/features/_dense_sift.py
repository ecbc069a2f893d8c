"""Dense SIFT: descriptors on a regular grid at several sizes, what the SIFT-like and Fisher descriptions share.

Descriptors are OpenCV's (Lowe 2004, section 6.1), upright, at points that nobody detected. Flat patches, whose
orientations are noise, are descriptors of zeros, as in other dense implementations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.features.keypoints import N_FEATURES, as_vectors

BINS = 4
"""A descriptor has so many spatial bins in each direction."""
BIN_PER_SIZE = 1.5
"""Pixels of OpenCV's spatial bins per pixel of a keypoint's ``size`` (its diameter): 3 per standard deviation."""
CONTRAST_BLOCK = 3
"""Grey values are averaged over so many pixels before their contrast is measured, to leave out noise."""


@dataclass(frozen=True)
class DenseSift:
    """Where and how densely an image is described.

    Parameters
    ----------
    step : int
        Pixels between neighbouring points, in both directions.
    sizes : tuple of int
        Sides of the square patches, in pixels.
    root : bool
        Whether descriptors become RootSIFT (`lookalike.features.keypoints.root_sift`).
    least_contrast : float
        Patches whose grey values (0..255) have a smaller standard deviation are flat.
    """

    step: int = 8
    sizes: tuple[int, ...] = (16, 24, 32)
    root: bool = True
    least_contrast: float = 2.0

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        if self.step < 1 or not self.sizes or min(self.sizes) < BINS:
            raise LookalikeError(
                f"dense SIFT needs a `step` of at least 1 pixel and `sizes` of at least {BINS}, not {self.step} and "
                f"{list(self.sizes)}: correct them"
            )
        if not self.least_contrast >= 0:
            raise LookalikeError("`least_contrast` of dense SIFT must not be negative: set it to 2")


class DenseDescriptors(NamedTuple):
    """Dense descriptors of one image, size by size, each row by row.

    Attributes
    ----------
    vectors : ndarray of shape (n, 128), float32
        SIFT (0..255) or RootSIFT (rows of unit length); rows of zeros where the patch is flat.
    places : ndarray of shape (n, 2), float64
        x and y of the patches' centres as shares of the image's width and height, between 0 and 1.
    """

    vectors: npt.NDArray[np.float32]
    places: npt.NDArray[np.float64]


def dense_descriptors(image: npt.NDArray[np.uint8], settings: DenseSift) -> DenseDescriptors:
    """Describe patches on a grid.

    The grid of a size is centred, and its patches lie inside the image; a size that is larger than the image gives one
    patch in its middle.

    Parameters
    ----------
    image : ndarray of shape (height, width, 3), uint8
        RGB.
    settings : DenseSift

    Returns
    -------
    DenseDescriptors
        At least one patch of every size.
    """
    import cv2
    from PIL import Image

    grey = np.asarray(Image.fromarray(image).convert("L"))
    grids = [_grid(grey.shape, size, settings.step) for size in settings.sizes]
    points = [
        cv2.KeyPoint(float(x), float(y), size / (BINS * BIN_PER_SIZE), 0.0)
        for grid, size in zip(grids, settings.sizes, strict=True)
        for x, y in grid
    ]
    descriptors = np.asarray(cv2.SIFT.create().compute(grey, points)[1]).astype(np.uint8)
    smooth = np.asarray(cv2.blur(grey.astype(np.float32), (CONTRAST_BLOCK, CONTRAST_BLOCK)), dtype=np.float32)
    flat = np.concatenate(
        [
            _contrast(smooth, grid, size) < settings.least_contrast
            for grid, size in zip(grids, settings.sizes, strict=True)
        ]
    )
    descriptors[flat] = 0
    height, width = grey.shape
    places = (np.concatenate(grids) + 0.5) / (width, height)
    return DenseDescriptors(as_vectors(descriptors, settings.root), places)


def sample_descriptors(
    images: Iterable[npt.NDArray[np.uint8]], settings: DenseSift, n_per_image: int, n_descriptors: int, seed: int
) -> npt.NDArray[np.float32]:
    """Draw descriptors of many images for a codebook, flat patches left out.

    Parameters
    ----------
    images : iterable of ndarray of shape (height, width, 3), uint8
        Walked through once.
    settings : DenseSift
    n_per_image, n_descriptors : int
        At most so many of one image, and of all.
    seed : int

    Returns
    -------
    ndarray of shape (n, 128), float32
        Uniform without replacement within an image, and then among what was drawn.

    Raises
    ------
    LookalikeError
        When there is no image, or none has a patch that is not flat.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    drawn = []
    for image in images:
        vectors = textured(dense_descriptors(image, settings).vectors)
        chosen = random.choice(len(vectors), size=min(n_per_image, len(vectors)), replace=False)
        drawn.append(vectors[np.sort(chosen)])
    joined = np.concatenate([np.empty((0, N_FEATURES), np.float32), *drawn])
    if not len(joined):
        raise LookalikeError("there is no textured patch to learn SIFT words from: give more images")
    if len(joined) > n_descriptors:
        joined = joined[np.sort(random.choice(len(joined), size=n_descriptors, replace=False))]
    return joined


def textured(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the descriptors that are not of flat patches."""
    return vectors[vectors.any(axis=1)]


def _grid(shape: tuple[int, ...], size: int, step: int) -> npt.NDArray[np.float64]:
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


def _contrast(grey: npt.NDArray[np.float32], centres: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.float64]:
    """Return the standard deviation of the grey values of patches, from sums over rectangles."""
    import cv2

    height, width = grey.shape
    sums, squares = cv2.integral2(grey, sdepth=cv2.CV_64F)
    corners = np.rint(centres - (size - 1) / 2).astype(np.int64)
    left, top = np.maximum(corners, 0).T
    right, bottom = np.minimum(corners + size, (width, height)).T

    def total(table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray(table[bottom, right] - table[bottom, left] - table[top, right] + table[top, left])

    area = (right - left) * (bottom - top)
    mean = total(np.asarray(sums)) / area
    return np.asarray(np.sqrt(np.maximum(total(np.asarray(squares)) / area - mean**2, 0)))
