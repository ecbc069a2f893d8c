"""Local features: SIFT keypoints of an image (AAAI 2014, Experiments), and the files that hold those of many images.

Descriptors are stored as OpenCV gives them in one thread, 128 bytes each; RootSIFT is made when they are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import cv2
import numpy as np

from lookalike.core.arrays import Bytes, Floats, Ints, Longs
from lookalike.core.files import PathLike
from lookalike.core.images import luma, shrink
from lookalike.core.progress import Progress
from lookalike.core.settings.schema import SiftSettings
from lookalike.features.describers import one_opencv_thread
from lookalike.features.shards import join_images, read_images, shard_of

if TYPE_CHECKING:
    import pandas as pd

N_FEATURES = 128
"""Numbers in a SIFT descriptor."""


class Keypoints(NamedTuple):
    """Keypoints of one image.

    Positions are x and y in pixels of the full-size image, whose upper left pixel has its centre at (0, 0); sizes are
    diameters of the neighbourhoods in such pixels. The ground truth of the Oxford buildings gives its rectangles so;
    whether that counts the first pixel as 0 or as 1 is not documented, and nothing here depends on a pixel.
    """

    descriptors: Bytes
    positions: Floats
    sizes: Floats


class KeypointShard(NamedTuple):
    """Keypoints of several images, as `lookalike.features.shards` keeps them: what one ``keypoints-NNN.npz`` holds."""

    image_ids: Ints
    offsets: Longs
    descriptors: Bytes
    positions: Floats
    sizes: Floats


NO_KEYPOINTS = Keypoints(np.empty((0, N_FEATURES), np.uint8), np.empty((0, 2), np.float32), np.empty(0, np.float32))


def extract_keypoints(image: Bytes, settings: SiftSettings | None = None) -> Keypoints:
    """Detect and describe the SIFT keypoints of one image (Lowe 2004, by OpenCV), by x, y, size and angle."""
    settings, full = settings or SiftSettings(), luma(image)
    grey = shrink(full, settings.max_side) if settings.max_side else full
    # pixels of the image per pixel of the grey one, in x and y
    scale = np.divide(full.shape[::-1], grey.shape[::-1])
    with one_opencv_thread():
        # without the precise upscaling, OpenCV's positions are about a quarter of a pixel off
        sift = cv2.SIFT.create(contrastThreshold=settings.contrast_threshold, enable_precise_upscale=True)
        points, descriptors = sift.detectAndCompute(grey, None)
    if not points:
        return NO_KEYPOINTS
    # a place with two main orientations gives two keypoints (Lowe 2004, section 5)
    # x, y, size, angle, response; a small pixel's centre is the centre of the `scale` pixels that it was made of
    table = np.array([(*point.pt, point.size, point.angle, point.response) for point in points])
    table[:, :2] = (table[:, :2] + 0.5) * scale - 0.5
    table[:, 2] *= scale.mean()
    order = np.lexsort(table.T[[3, 2, 1, 0]])
    if settings.n_max:
        strongest = np.lexsort((*table.T[[3, 2, 1, 0]], -table[:, 4]))[: settings.n_max]
        order = order[np.isin(order, strongest)]
    places = table[order].astype(np.float32)
    return Keypoints(descriptors[order].astype(np.uint8), places[:, :2].copy(), places[:, 2].copy())


def extract_shard(
    root: PathLike,
    manifest: pd.DataFrame,
    shard: int,
    n_shards: int,
    settings: SiftSettings | None = None,
    progress: Progress | None = None,
) -> KeypointShard:
    """Extract the keypoints of one shard of a manifest whose paths are relative to `root`; about 140 bytes each."""
    rows = shard_of(manifest, shard, n_shards)
    images = [extract_keypoints(image, settings) for image in read_images(rows, root, progress)]
    return join_images(KeypointShard, rows["image_id"], NO_KEYPOINTS, images)


def load_descriptors(path: PathLike) -> Bytes:
    """Read the descriptors of a keypoint file alone."""
    with np.load(path, allow_pickle=False) as file:
        return np.asarray(file["descriptors"])


def as_vectors(descriptors: Bytes, root: bool) -> Floats:
    """Return descriptors as the vectors that codebooks are made of: RootSIFT, or SIFT as it is."""
    vectors = descriptors.astype(np.float32)
    if root:  # the square root of its shares (Arandjelovic and Zisserman 2012, section 2)
        vectors /= np.maximum(vectors.sum(axis=1, keepdims=True), 1)
        np.sqrt(vectors, out=vectors)
    return vectors
