"""Dense SIFT: descriptors on a regular grid at several sizes, shared by the SIFT-like and Fisher descriptions.

Descriptors are OpenCV's (Lowe 2004, section 6.1), upright; flat patches, whose orientations are noise, give zeros.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, NamedTuple

import cv2
import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from lookalike.core.arrays import Array, Bytes, Doubles, Floats, Longs
from lookalike.core.errors import LookalikeError
from lookalike.core.images import luma
from lookalike.features.describers import Describer, NotNegative, Positive, check_places
from lookalike.features.keypoints import N_FEATURES, as_vectors

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
        Whether descriptors become RootSIFT (`lookalike.features.keypoints.as_vectors`).
    least_contrast : float, default=2.0
        Patches of less contrast (a standard deviation, of grey values in 0..255) are flat.
    n_per_image : int, default=100
        Descriptors that are learned from at most of an image.
    n_descriptors : int, default=100_000
        Descriptors that are learned from at most.
    """

    longest_side: NotNegative = 256
    step: Positive = 8
    sizes: Annotated[tuple[Annotated[int, Field(ge=BINS, le=1024)], ...], Field(min_length=1)] = (16, 24, 32)
    root: bool = True
    least_contrast: Annotated[float, Field(ge=0, le=255)] = 2.0
    n_per_image: Positive = 100
    n_descriptors: Positive = 100_000

    def descriptors(self, image: Bytes) -> tuple[Floats, Doubles]:
        """Describe patches size by size, each row by row: vectors, and x and y of centres as shares of the sides."""
        grey, grid, textured = self._patches(image)
        vectors = np.zeros((len(grid.keypoints), N_FEATURES), np.uint8)
        vectors[textured] = sift(grey, grid.keypoints[textured])
        return as_vectors(vectors, self.root), grid.places

    def sample(self, images: Iterable[Bytes], seed: int) -> Floats:
        """Draw textured patches' descriptors, uniformly within an image and then among what was drawn."""
        random = np.random.Generator(np.random.PCG64(seed))
        drawn = [np.empty((0, N_FEATURES), np.float32)]
        for image in images:
            grey, grid, textured = self._patches(image)
            chosen = random.choice(textured, size=min(self.n_per_image, len(textured)), replace=False)
            # described are those that were drawn alone, which is most of the time of learning
            drawn.append(as_vectors(sift(grey, grid.keypoints[np.sort(chosen)]), self.root))
        joined = np.concatenate(drawn)
        if not len(joined):
            raise LookalikeError("there is no textured patch to learn SIFT words from: give more images")
        if len(joined) > self.n_descriptors:
            joined = joined[np.sort(random.choice(len(joined), size=self.n_descriptors, replace=False))]
        return joined

    def _patches(self, image: Bytes) -> tuple[Bytes, PatchGrid, Longs]:
        """Return grey values, the grid of patches, and the numbers of those that are not flat, by their deviation."""
        grey = luma(image)
        grid = patch_grid(grey.shape, self.sizes, self.step)
        smooth = np.asarray(cv2.blur(grey.astype(np.float32), (CONTRAST_BLOCK, CONTRAST_BLOCK)), dtype=np.float32)
        return grey, grid, np.flatnonzero(patch_contrast(smooth, grid.corners) >= self.least_contrast)


class PatchGrid(NamedTuple):
    """The patches of images of one shape: OpenCV's keypoints, left, top, right and bottom, and centres as shares."""

    keypoints: Array
    corners: Longs
    places: Doubles


@lru_cache(maxsize=64)
def patch_grid(shape: tuple[int, ...], sizes: tuple[int, ...], step: int) -> PatchGrid:
    """Lay the patches of every size on a centred grid, each row by row."""
    check_places(shape, step, len(sizes))
    height, width = shape
    centres = [_centres(shape, size, step) for size in sizes]
    side, joined = np.repeat(sizes, [len(grid) for grid in centres])[:, None], np.concatenate(centres)
    diameters = (side[:, 0] / (BINS * BIN_PER_SIZE)).tolist()
    points = [cv2.KeyPoint(x, y, size, 0.0) for (x, y), size in zip(joined.tolist(), diameters, strict=True)]
    first = np.rint(joined - (side - 1) / 2).astype(np.int64)
    corners = np.hstack([np.maximum(first, 0), np.minimum(first + side, (width, height))])
    return PatchGrid(np.array(points, dtype=object), corners, (joined + 0.5) / (width, height))


def _centres(shape: tuple[int, ...], size: int, step: int) -> Doubles:
    """Return x and y of the centres of a size's patches, shape (n, 2)."""
    centres = []
    for room in (shape[1] - size, shape[0] - size):
        # without room there is one patch in the middle
        starts = np.arange(room % step // 2, room + 1, step) if room >= 0 else np.array([room / 2])
        centres.append(starts + (size - 1) / 2)
    xs, ys = np.meshgrid(*centres)
    return np.column_stack([xs.ravel(), ys.ravel()])


def patch_contrast(grey: Floats, corners: Longs) -> Doubles:
    """Return the standard deviation of the grey values of patches, from sums over rectangles."""
    sums, squares = (np.asarray(table, np.float64) for table in cv2.integral2(grey, sdepth=cv2.CV_64F))
    left, top, right, bottom = corners.T

    def total(table: Doubles) -> Doubles:
        return np.asarray(table[bottom, right] - table[bottom, left] - table[top, right] + table[top, left])

    area = (right - left) * (bottom - top)
    mean = total(sums) / area
    return np.asarray(np.sqrt(np.maximum(total(squares) / area - mean**2, 0)))


def sift(grey: Bytes, keypoints: Array) -> Bytes:
    """Return OpenCV's descriptor of each keypoint, shape (n, 128)."""
    if not len(keypoints):
        return np.empty((0, N_FEATURES), np.uint8)
    return np.asarray(cv2.SIFT.create().compute(grey, list(keypoints))[1]).astype(np.uint8)


def textured(vectors: Floats) -> Floats:
    """Return the descriptors that are not of flat patches."""
    return vectors[vectors.any(axis=1)]
