"""Edges: uniform local binary patterns, the texture half of a block's descriptor.

LBP(8, 2) (Ojala et al. 2002; JMLR 2010, section 3 and Figure 2) compares each pixel with eight points on a circle of
radius 2 around it. Those between pixels are interpolated bilinearly, which involves sqrt(2); comparisons are decided
with integers, whose rounding no machine changes. Patterns with more than two changes share one bin, which leaves 59.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from lookalike.core.arrays import Bytes
from lookalike.core.kernels import njit

N_POINTS = 8
RADIUS = 2
N_BINS = N_POINTS * (N_POINTS - 1) + 3
"""58 uniform patterns and one bin for all others: 59."""


@cache
def pattern_bins() -> Bytes:
    """Return the bin of each of the 256 patterns, in the order of scikit-image's ``nri_uniform``."""
    # a uniform pattern is one run of ones: its bin is given by the run's length and by where it starts
    bins = np.full(256, N_BINS - 1, np.uint8)
    for pattern in range(256):
        bits = [pattern >> i & 1 for i in range(N_POINTS)]
        starts = [i for i in range(N_POINTS) if bits[i] and not bits[i - 1]]
        n_ones = sum(bits)
        if n_ones == 0:
            bins[pattern] = 0
        elif n_ones == N_POINTS:
            bins[pattern] = N_BINS - 2
        elif len(starts) == 1:
            # scikit-image's own order of rotations, kept to be comparable
            rotation = n_ones - bits.index(0) if bits[0] else N_POINTS - bits.index(1)
            bins[pattern] = 1 + (n_ones - 1) * N_POINTS + rotation
    return bins


def lbp_patterns(grey: Bytes) -> Bytes:
    """Return the 8-bit LBP(8, 2) pattern of every pixel; bit i is the point at 45 degrees times i, anticlockwise."""
    if grey.ndim != 2 or grey.dtype != np.uint8 or grey.size == 0:
        raise ValueError(f"expected uint8 grey values of shape (height, width), not {grey.dtype} {grey.shape}")
    rows, patterns = padded(grey), np.empty(grey.shape, np.uint8)
    for y, row in enumerate(patterns):
        lbp_row(rows[y], rows[y + 1], rows[y + 2], rows[y + 3], rows[y + 4], row)
    return patterns


def padded(grey: Bytes) -> Bytes:
    """Replicate the border `RADIUS` pixels wide: zeros would put an edge along every side."""
    return np.pad(grey, RADIUS, mode="edge")


@njit(cache=True, nogil=True, inline="always")
def _diagonal(near: np.int32, side: np.int32, other: np.int32, far: np.int32, centre: np.int32) -> np.int32:
    """Return 1 where the bilinear value at distance 2 on a diagonal is at least the centre, else 0, exactly."""
    # the point lies sqrt(2) away along both axes: value less centre is P + Q sqrt(2), of the sign of P|P| + 2 Q|Q|
    sides = side + other
    p = np.int32(6) * near - np.int32(4) * sides + np.int32(3) * far - centre
    q = np.int32(3) * sides - np.int32(4) * near - np.int32(2) * far
    return np.int32(p * abs(p) + np.int32(2) * q * abs(q) >= np.int32(0))


@njit(cache=True, nogil=True)
def lbp_row(above2: Bytes, above: Bytes, middle: Bytes, below: Bytes, below2: Bytes, patterns: Bytes) -> None:
    """Write the 8-bit LBP(8, 2) pattern of each pixel of one row; inputs are rows of a padded image."""
    for x in range(patterns.shape[0]):
        c = np.int32(middle[x + 2])
        nw, ne = np.int32(above[x + 1]), np.int32(above[x + 3])
        sw, se = np.int32(below[x + 1]), np.int32(below[x + 3])
        pattern = np.int32(np.int32(middle[x + 4]) >= c)
        pattern |= _diagonal(ne, np.int32(above[x + 4]), np.int32(above2[x + 3]), np.int32(above2[x + 4]), c) << 1
        pattern |= np.int32(np.int32(above2[x + 2]) >= c) << 2
        pattern |= _diagonal(nw, np.int32(above[x]), np.int32(above2[x + 1]), np.int32(above2[x]), c) << 3
        pattern |= np.int32(np.int32(middle[x]) >= c) << 4
        pattern |= _diagonal(sw, np.int32(below[x]), np.int32(below2[x + 1]), np.int32(below2[x]), c) << 5
        pattern |= np.int32(np.int32(below2[x + 2]) >= c) << 6
        pattern |= _diagonal(se, np.int32(below[x + 4]), np.int32(below2[x + 3]), np.int32(below2[x + 4]), c) << 7
        patterns[x] = np.uint8(pattern)
