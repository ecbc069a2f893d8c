"""Thumbnails and marks of images, as the galleries of studies that are not yet on the image grid draw them."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.exhibits.style import BLUE, GREY, ORANGE

Image = npt.NDArray[np.uint8]
THUMBNAIL = 160
"""Longer side of a thumbnail, in pixels: what the page shows, and little to keep in a PDF."""


class Mark(NamedTuple):
    """How a kind of result is marked."""

    sign: str
    colour: str
    line: Literal["-", "--", ":"]
    meaning: str


MARKS = {
    "good": Mark("✓", BLUE, "-", "good or ok"),
    "ok": Mark("✓", BLUE, "-", "good or ok"),
    "junk": Mark("–", GREY, ":", "junk, which is not counted"),
    "wrong": Mark("✗", ORANGE, "--", "wrong"),
}


def thumbnail(image: Image, side: int = THUMBNAIL) -> tuple[Image, float]:
    """Shrink an image to `side` pixels; return it and by what its coordinates are multiplied."""
    from PIL import Image as Pillow

    height, width = image.shape[:2]
    scale = min(1.0, side / max(height, width))
    if scale == 1.0:
        return image, scale
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(Pillow.fromarray(image).resize(size, Pillow.Resampling.BOX)), scale
