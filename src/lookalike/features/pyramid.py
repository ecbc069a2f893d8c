"""Where the blocks of an image lie: overlapping squares at several scales (JMLR 2010, section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import prod

import numpy as np
from PIL import Image

from lookalike.core.arrays import Bytes

BLOCK = 64
"""Side of a block, in pixels of its level."""
STRIDE = 32
"""Distance between the corners of neighbouring blocks, in pixels of their level."""
SCALE = Fraction(5, 4)
"""Each level is this many times smaller than the one before; sizes are decided with integers, alike on any platform."""
MIN_BLOCKS = 10
"""A level with fewer blocks is not used, and none after it."""


def grid_shape(width: int, height: int) -> tuple[int, int]:
    """Return (rows, columns) of the 64x64 blocks, 32 pixels apart, that lie wholly inside `width` x `height` pixels."""
    rows, columns = (max(0, (length - BLOCK) // STRIDE + 1) for length in (height, width))
    return rows, columns


def level_sizes(width: int, height: int) -> list[tuple[int, int]]:
    """Return (width, height) of the pyramid levels, full size first, until one has fewer than 10 blocks."""
    # each side is rounded, half up, from the original rather than from the level before: rounding does not build up
    sizes: list[tuple[int, int]] = []
    size = width, height
    while is_large_enough(*size):
        sizes.append(size)
        scale = SCALE ** len(sizes)
        size = int(width / scale + Fraction(1, 2)), int(height / scale + Fraction(1, 2))
    return sizes


def is_large_enough(width: int, height: int) -> bool:
    """Tell whether an image of `width` x `height` pixels has at least one level."""
    return prod(grid_shape(width, height)) >= MIN_BLOCKS


def count_blocks(width: int, height: int) -> int:
    """Return the number of blocks of an image over all its levels."""
    return sum(prod(grid_shape(*size)) for size in level_sizes(width, height))


def levels(image: Bytes) -> Iterator[Bytes]:
    """Yield the image at each pyramid level, full size first, each resampled from the original."""
    # Pillow's box filter averages the area that a pixel covers, in fixed point: the same bytes on every machine
    picture = Image.fromarray(image)
    for size in level_sizes(*picture.size):
        yield np.asarray(picture.resize(size, Image.Resampling.BOX))
