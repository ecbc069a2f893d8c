"""Edges: uniform local binary patterns, the texture half of a block's descriptor.

LBP(8, 2) (Ojala et al. 2002; JMLR 2010, section 3 and Figure 2) compares each pixel with eight points on a circle of
radius 2 around it. Points between pixels are interpolated bilinearly, so for the four diagonal ones the comparison
involves sqrt(2); it is decided with integers (see `_kernels`), never with floats whose rounding would differ between
machines. Patterns with more than two changes around the circle share one bin, which leaves 59.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

N_POINTS = 8
RADIUS = 2
N_BINS = N_POINTS * (N_POINTS - 1) + 3
"""58 uniform patterns and one bin for all others: 59."""


def pattern_bins() -> npt.NDArray[np.uint8]:
    """Return the bin of each of the 256 patterns, in the order of scikit-image's ``nri_uniform``.

    Bit i of a pattern is the point at angle 45 degrees times i, anticlockwise from the right. A uniform pattern is one
    run of ones around the circle; its bin is given by the run's length and by where it starts. The last bin takes the
    patterns with more than one run.

    Returns
    -------
    ndarray of shape (256,), uint8
    """
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
            bins[pattern] = 1 + (n_ones - 1) * N_POINTS + _rotation(bits)
    return bins


def _rotation(bits: list[int]) -> int:
    """Return scikit-image's rotation index of a pattern with one run of ones: its own order, kept to be comparable."""
    first_one = bits.index(1)
    first_zero = bits.index(0)
    n_ones = sum(bits)
    return n_ones - first_zero if first_one == 0 else N_POINTS - first_one


def luma(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the BT.601 luma of an RGB image, in integers as Pillow's mode "L" computes it.

    Parameters
    ----------
    image : ndarray of shape (height, width, 3), uint8

    Returns
    -------
    ndarray of shape (height, width), uint8
    """
    from lookalike.features import _kernels

    return _kernels.luma_padded(image)[2:-2, 2:-2]


def lbp_patterns(grey: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the 8-bit LBP(8, 2) pattern of every pixel.

    Bit i is set where the value at angle 45 degrees times i on the circle of radius 2 is at least the centre's.
    Borders are replicated, not filled with zeros: zeros would put an edge along every side.

    Parameters
    ----------
    grey : ndarray of shape (height, width), uint8

    Returns
    -------
    ndarray of shape (height, width), uint8
    """
    from lookalike.features import _kernels

    if grey.ndim != 2 or grey.dtype != np.uint8:
        raise ValueError(f"LBP needs a uint8 grey image of two dimensions, not {grey.dtype} of {grey.ndim}")
    return _kernels.lbp_codes(np.pad(grey, RADIUS, mode="edge"))


def lbp_bins(grey: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the histogram bin, 0 to 58, of every pixel of a grey image.

    Parameters
    ----------
    grey : ndarray of shape (height, width), uint8

    Returns
    -------
    ndarray of shape (height, width), uint8
    """
    return pattern_bins()[lbp_patterns(grey)]
