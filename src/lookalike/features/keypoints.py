"""Local features: SIFT keypoints of an image, and the files that hold those of many images.

This is the step between pixels and visual words in the landmark study (AAAI 2014, Experiments). Descriptors are stored
as the detector gives them, 128 bytes each, with the place and size of their keypoints; `root_sift` is applied when they
are read. OpenCV runs in one thread, so the files are the same bytes whatever ``--cores`` says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing
from lookalike.features.descriptors import shard_of

if TYPE_CHECKING:
    import pandas as pd

N_FEATURES = 128
"""Numbers in a SIFT descriptor."""

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class SiftSettings:
    """What SIFT is asked for.

    Parameters
    ----------
    n_max : int
        The strongest so many keypoints of an image are kept; 0 keeps all.
    contrast_threshold : float
        Keypoints of less contrast are left out. OpenCV divides it by the 3 layers of an octave: its own value, 0.04,
        asks for a difference of Gaussians of 0.0133 at least, for grey values in 0..1. The 0.03 that Lowe (2004),
        section 4, asks for would be 0.09 here, which keeps fewer.
    max_side : int
        Images with a longer side, in pixels, are shrunk to it first; 0 describes them at full size.
    """

    n_max: int = 0
    contrast_threshold: float = 0.04
    max_side: int = 0

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        if self.n_max < 0 or self.max_side < 0:
            raise LookalikeError(
                "`n_max` and `max_side` of the keypoints must be 0 (no limit) or positive: correct them"
            )
        if not self.contrast_threshold >= 0:
            raise LookalikeError("`contrast_threshold` of the keypoints must not be negative: set it to 0.04")


class Keypoints(NamedTuple):
    """Keypoints of one image.

    Attributes
    ----------
    descriptors : ndarray of shape (n, 128), uint8
    positions : ndarray of shape (n, 2), float32
        x and y in pixels of the full-size image; the centre of the upper left pixel is (0, 0).
    sizes : ndarray of shape (n,), float32
        Diameter of the neighbourhood, in pixels of the full-size image.
    """

    descriptors: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.float32]
    sizes: npt.NDArray[np.float32]


class KeypointShard(NamedTuple):
    """Keypoints of several images: what one ``keypoints-NNN.npz`` holds.

    Attributes
    ----------
    image_ids : ndarray of shape (n_images,), int32
    offsets : ndarray of shape (n_images + 1,), int64
        Rows ``offsets[i]`` to ``offsets[i + 1]`` of the other arrays belong to image i; the range of an image without a
        keypoint is empty.
    descriptors : ndarray of shape (n, 128), uint8
    positions : ndarray of shape (n, 2), float32
    sizes : ndarray of shape (n,), float32
    """

    image_ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    descriptors: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.float32]
    sizes: npt.NDArray[np.float32]


def extract_keypoints(image: npt.NDArray[np.uint8], settings: SiftSettings | None = None) -> Keypoints:
    """Detect and describe the SIFT keypoints of one image (Lowe 2004, by OpenCV), in one thread.

    Grey values are BT.601 luma in 8 bits, as everywhere in this package. The ground truth of the Oxford buildings
    gives rectangles as x and y of their corners in pixels of the full-size image, x to the right and y downwards from
    the upper left corner; positions are given in the same way. Whether that ground truth counts the first pixel as 0
    or as 1 is not documented; nothing here depends on a pixel.

    Parameters
    ----------
    image : ndarray of shape (height, width, 3), uint8
        RGB pixels.
    settings : SiftSettings, optional

    Returns
    -------
    Keypoints
        Sorted by x, y, size and angle. A place with two main orientations gives two keypoints (Lowe 2004, section 5).
    """
    import cv2

    settings = SiftSettings() if settings is None else settings
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise ValueError(f"expected uint8 RGB pixels of shape (height, width, 3), not {image.dtype} {image.shape}")
    grey, scale = _grey(image, settings.max_side)
    with _one_opencv_thread():
        # without the precise upscaling, OpenCV's positions are about a quarter of a pixel off
        sift = cv2.SIFT.create(contrastThreshold=settings.contrast_threshold, enable_precise_upscale=True)
        points, descriptors = sift.detectAndCompute(grey, None)
    if not points:
        return Keypoints(np.empty((0, N_FEATURES), np.uint8), np.empty((0, 2), np.float32), np.empty(0, np.float32))
    # x, y, size, angle, response; a small pixel's centre is the centre of the `scale` pixels that it was made of
    table = np.array([(*point.pt, point.size, point.angle, point.response) for point in points])
    table[:, :2] = (table[:, :2] + 0.5) * scale - 0.5
    table[:, 2] *= scale.mean()
    order = np.lexsort(table.T[[3, 2, 1, 0]])
    if settings.n_max:
        strongest = np.lexsort((*table.T[[3, 2, 1, 0]], -table[:, 4]))[: settings.n_max]
        order = order[np.isin(order, strongest)]
    return Keypoints(
        descriptors[order].astype(np.uint8), table[order, :2].astype(np.float32), table[order, 2].astype(np.float32)
    )


def _grey(image: npt.NDArray[np.uint8], max_side: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64]]:
    """Return the luma, shrunk where it is too large, and the pixels of the image per pixel of it, in x and y."""
    from PIL import Image

    grey = Image.fromarray(image).convert("L")
    width, height = grey.size
    if max_side and max(width, height) > max_side:
        factor = max_side / max(width, height)
        size = (max(1, round(width * factor)), max(1, round(height * factor)))
        grey = grey.resize(size, Image.Resampling.BOX)
    return np.asarray(grey), np.array([width / grey.size[0], height / grey.size[1]])


@contextmanager
def _one_opencv_thread() -> Iterator[None]:
    """Limit OpenCV to one thread within the block, and give it back what it had after it."""
    import cv2

    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def extract_shard(
    root: PathLike,
    manifest: pd.DataFrame,
    shard: int,
    n_shards: int,
    settings: SiftSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> KeypointShard:
    """Extract the keypoints of one shard of a manifest.

    Parameters
    ----------
    root : path
        Folder that the paths are relative to.
    manifest : pandas.DataFrame
        Columns `image_id`, `path`, `width`, `height`, `status`.
    shard, n_shards : int
        Which of how many, from 0, as `descriptors.shard_of` splits them.
    settings : SiftSettings, optional
    progress : callable, optional
        Called after each image with the number done and the number of all.

    Returns
    -------
    KeypointShard
        In the order of the rows. All of a shard is in memory: about 140 bytes a keypoint, half a megabyte for a
        photograph of 1024x768.

    Raises
    ------
    LookalikeError
        When an image cannot be read, or has another size than in the manifest.
    """
    from lookalike.core.images import load_rgb

    rows = shard_of(manifest, shard, n_shards)
    sizes = list(zip(rows["width"].astype(int), rows["height"].astype(int), strict=True))
    images = []
    for row, path in enumerate(rows["path"]):
        image = load_rgb(Path(root) / path)
        if (image.shape[1], image.shape[0]) != sizes[row]:
            raise LookalikeError(
                f"{Path(root) / path} has another size than when the folder was scanned: "
                "delete the data set's manifest.parquet and run the same command again"
            )
        images.append(extract_keypoints(image, settings))
        if progress is not None:
            progress(row + 1, len(sizes))
    return join_keypoints(rows["image_id"].to_numpy(np.int32), images)


def join_keypoints(image_ids: npt.NDArray[np.int32], images: Sequence[Keypoints]) -> KeypointShard:
    """Join the keypoints of several images.

    Parameters
    ----------
    image_ids : ndarray of shape (n_images,), int32
    images : sequence of Keypoints
        In the same order.

    Returns
    -------
    KeypointShard
    """
    offsets = np.zeros(len(images) + 1, np.int64)
    np.cumsum([len(image.sizes) for image in images], out=offsets[1:])
    return KeypointShard(
        np.asarray(image_ids, np.int32),
        offsets,
        np.concatenate([np.empty((0, N_FEATURES), np.uint8), *(image.descriptors for image in images)]),
        np.concatenate([np.empty((0, 2), np.float32), *(image.positions for image in images)]),
        np.concatenate([np.empty(0, np.float32), *(image.sizes for image in images)]),
    )


def root_sift(descriptors: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Turn SIFT into RootSIFT: divided by its sum, then the square root (Arandjelovic and Zisserman 2012, section 2).

    Euclidean distances between the results are Hellinger distances between the histograms.

    Parameters
    ----------
    descriptors : ndarray of shape (n, 128), uint8

    Returns
    -------
    ndarray of shape (n, 128), float32
        Rows of unit length; a row of zeros stays as it is.
    """
    roots = descriptors.astype(np.float32)
    roots /= np.maximum(roots.sum(axis=1, keepdims=True), 1)
    return np.sqrt(roots, out=roots)


def save_keypoints(keypoints: KeypointShard, path: PathLike) -> None:
    """Write the keypoints of a shard as ``.npz``, the same bytes each time.

    Not compressed: descriptors hardly shrink, and the files are read once an iteration of k-means.

    Parameters
    ----------
    keypoints : KeypointShard
    path : path
        Ends in ``.npz``.
    """
    with replacing(path) as part:
        np.savez(
            part,
            image_ids=keypoints.image_ids.astype(np.int32),
            offsets=keypoints.offsets.astype(np.int64),
            descriptors=keypoints.descriptors.astype(np.uint8),
            positions=keypoints.positions.astype(np.float32),
            sizes=keypoints.sizes.astype(np.float32),
        )


def load_keypoints(path: PathLike) -> KeypointShard:
    """Read what `save_keypoints` wrote.

    Returns
    -------
    KeypointShard
    """
    with np.load(path, allow_pickle=False) as file:
        return KeypointShard(*(file[name] for name in KeypointShard._fields))


def load_keypoint_index(path: PathLike) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Read which images a keypoint file holds, without its descriptors.

    Returns
    -------
    image_ids : ndarray of shape (n_images,), int32
    offsets : ndarray of shape (n_images + 1,), int64
    """
    with np.load(path, allow_pickle=False) as file:
        return file["image_ids"], file["offsets"]


def load_descriptors(path: PathLike) -> npt.NDArray[np.uint8]:
    """Read the descriptors of a keypoint file alone.

    Returns
    -------
    ndarray of shape (n, 128), uint8
    """
    with np.load(path, allow_pickle=False) as file:
        descriptors: npt.NDArray[np.uint8] = file["descriptors"]
    return descriptors


def as_vectors(descriptors: npt.NDArray[np.uint8], root: bool) -> npt.NDArray[np.float32]:
    """Return descriptors as the vectors that codebooks are made of: RootSIFT, or SIFT as it is.

    Parameters
    ----------
    descriptors : ndarray of shape (n, 128), uint8
    root : bool
        Whether to take `root_sift`.

    Returns
    -------
    ndarray of shape (n, 128), float32
    """
    return root_sift(descriptors) if root else descriptors.astype(np.float32)
