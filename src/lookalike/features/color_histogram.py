"""Colour histograms: how much of an image has each colour of a grid in CIE L*a*b*.

The "Color (LAB histogram)" baseline of the fine-grained study (Deep Ranking, section 6.4), which prints no sizes. The
joint histogram of 4 x 14 x 14 bins, compared by chi-square, is that of Hays and Efros, "IM2GPS" (CVPR 2008).
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from pydantic.dataclasses import dataclass

from lookalike.core.arrays import Bytes, Floats
from lookalike.features.describers import Describer, NotNegative, Positive

A_RANGE = (-87.0, 99.0)
"""a* of every sRGB colour lies inside (-86.2 to 98.3)."""
B_RANGE = (-108.0, 95.0)
"""b* of every sRGB colour lies inside (-107.9 to 94.5)."""
_SRGB = np.arange(256) / 255
LINEAR_LIGHT = np.where(_SRGB <= 0.04045, _SRGB / 12.92, ((_SRGB + 0.055) / 1.055) ** 2.4).astype(np.float32)
"""Linear light in 0..1 of each 8-bit sRGB value (IEC 61966-2-1)."""


def lab_pixels(image: Bytes) -> Floats:
    """Convert sRGB pixels to CIE L*a*b* (D65) in its own units, within 0.03 of scikit-image."""
    # of uint8, OpenCV gives 255/100 L*, a* + 128 and b* + 128, rounded; of sRGB floats true units from a coarse table,
    # up to 0.4 off; of linear light it computes them
    return np.asarray(cv2.cvtColor(cv2.LUT(image, LINEAR_LIGHT), cv2.COLOR_LRGB2Lab), dtype=np.float32)


@dataclass(kw_only=True, eq=False)
class ColorHistogram(Describer, system="color", distance="chi2"):
    """Joint histogram of L*, a* and b*; sums to one.

    Parameters
    ----------
    longest_side : int, default=256
        Pixels of the longer side at most; larger images are shrunk.
    bins : sequence of three int, default=(4, 14, 14)
        Bins of L*, a* and b*, of equal width over the range of sRGB colours.
    """

    longest_side: NotNegative = 256
    bins: tuple[Positive, Positive, Positive] = (4, 14, 14)

    def __post_init__(self) -> None:
        """Lay the bins over the range of colours."""
        low, high = np.array([(0.0, 100.0), A_RANGE, B_RANGE]).T
        self._low = low.astype(np.float32)
        self._scale = (np.array(self.bins) / (high - low)).astype(np.float32)

    @property
    def n_dimensions(self) -> int:
        """Return the number of bins."""
        return math.prod(self.bins)

    def _describe(self, image: Bytes) -> Floats:
        """Return the histogram, L* slowest and b* fastest."""
        places = (lab_pixels(image).reshape(-1, 3) - self._low) * self._scale
        index = np.zeros(len(places), np.int32)
        for channel, n in enumerate(self.bins):
            # 255 of each channel is L* = 100.00001 or so
            index = index * n + np.clip(places[:, channel].astype(np.int32), 0, n - 1)
        counts = np.bincount(index, minlength=self.n_dimensions).astype(np.float64)
        return (counts / len(places)).astype(np.float32)
