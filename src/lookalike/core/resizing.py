"""Images in another size, by OpenCV: apart from `lookalike.core.images`, because pages and figures do without it."""

from __future__ import annotations

import cv2
import numpy as np

from lookalike.core.arrays import Bytes
from lookalike.core.images import MIN_SIDE


def fit_within(image: Bytes, longest_side: int) -> Bytes:
    """Shrink an image until its longer side has so many pixels (0: any), and stretch a side below `MIN_SIDE` to it."""
    height, width = image.shape[:2]
    scale = min(1.0, longest_side / max(height, width)) if longest_side else 1.0
    return resize(image, max(MIN_SIDE, round(height * scale)), max(MIN_SIDE, round(width * scale)))


def resize(image: Bytes, height: int, width: int) -> Bytes:
    """Resize RGB pixels: areas are averaged where it shrinks, bilinear where it grows; C-contiguous."""
    if image.shape[:2] == (height, width):
        return np.ascontiguousarray(image)
    source = np.ascontiguousarray(image)
    # OpenCV takes INTER_AREA for nearest neighbours as soon as one side grows, so the sides go one after the other
    for size in ((width, source.shape[0]), (width, height)):
        grows = size[0] > source.shape[1] or size[1] > source.shape[0]
        if size != (source.shape[1], source.shape[0]):
            resized = cv2.resize(source, size, interpolation=cv2.INTER_LINEAR if grows else cv2.INTER_AREA)
            source = np.asarray(resized, dtype=np.uint8)
    return source
