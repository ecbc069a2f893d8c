"""Wavelet signatures: an image as the signs of its largest Haar coefficients (Jacobs, Finkelstein and Salesin 1995).

The oldest of the hand-crafted baselines of the fine-grained study. "Fast multiresolution image querying" (SIGGRAPH
1995) takes the *standard* decomposition: every row is decomposed to the end, then every column of the result. It has
basis functions that are long in one direction and short in the other; the nonstandard one, PyWavelets' ``wavedec2``,
has none of them, and is another description.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pywt
from pydantic import Field
from pydantic.dataclasses import dataclass

from lookalike.core.arrays import Bytes, Doubles, Floats
from lookalike.core.errors import LookalikeError
from lookalike.core.images import MIN_SIDE
from lookalike.features.describers import Describer, Positive

YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])
"""RGB in 0..1 to the NTSC colour space; the rows of I and Q sum to zero, so grey has neither."""
WEIGHTS = np.array(
    [
        [5.00, 19.21, 34.37],
        [0.83, 1.26, 0.36],
        [1.01, 0.44, 0.45],
        [0.52, 0.53, 0.14],
        [0.47, 0.28, 0.18],
        [0.30, 0.14, 0.27],
    ]
)
"""Weights of a coefficient by bin (row) and of Y, I, Q (column), for scanned queries, as the paper tabulates them."""
_NOISE = 1e-9  # the smallest true coefficient of 8-bit pixels is above 1e-7, rounding stays below 1e-13


def standard_haar(image: Doubles) -> Doubles:
    """Return H A H' of each channel, H the orthonormal Haar transform; (0, 0) is n times the mean, coarse first."""
    # a detail is positive where the earlier half of its support is the brighter one;
    # wavedec2 would be the nonstandard decomposition, rows and columns in turn
    coefficients: Doubles = pywt.fswavedecn(image, "haar", mode="periodization", axes=(0, 1)).coeffs
    return coefficients


@dataclass(kw_only=True, eq=False)
class Wavelet(Describer, system="wavelet", distance="l1"):
    """Average colour and signs of the largest standard Haar coefficients, in YIQ, weighted by bin.

    The score of the paper between a query Q and an image T is, for each channel,

        w[0] |Q[0, 0] - T[0, 0]| + sum of w[bin(i, j)] over the (i, j) kept of Q where the signs of Q and T differ,

    with bin(i, j) = min(max(i, j), 5) and average colours in 0..1. It looks at the coefficients kept of the query
    only, so it is not symmetric. Entry (0, 0) of the vectors here is w[0] times the average, any other is w / 2 times
    the sign that was kept (-1, 0, 1): their L1 distance is the mean of the paper's score from Q to T and from T to Q,
    exactly. Two things differ: that mean, and that signs outside the coarsest `kept` x `kept` coefficients are left
    out of the vector after the `n_coefficients` largest were chosen (of 200 photographs of Caltech-256, 1.2% of Y and
    I and 1.7% of Q lie outside 64 x 64; `kept` = `side` keeps all, with four times as many numbers).
    Aspect is not kept: the paper rescales to a square.

    Parameters
    ----------
    side : int, default=128
        Images are rescaled to side x side pixels; a power of two.
    n_coefficients : int, default=60
        Coefficients kept of each channel: the paper's 60 for scanned queries (it has 40 for painted ones).
    kept : int, default=64
        Coarsest rows and columns of coefficients that are part of the vector.

    Examples
    --------
    >>> Wavelet().describe(np.zeros((90, 60, 3), np.uint8)).shape
    (12288,)
    """

    side: Annotated[int, Field(ge=MIN_SIDE, le=1024)] = 128
    n_coefficients: Positive = 60
    kept: Positive = 64

    def __post_init__(self) -> None:
        """Refuse a side that cannot be halved to the end, and more coefficients than there are."""
        if self.side & (self.side - 1):
            raise LookalikeError("`side` of the wavelet must be a power of two, such as 128: correct it")
        if self.n_coefficients >= self.side**2:
            raise LookalikeError("`n_coefficients` of the wavelet must be fewer than pixels: set it to 60")
        self.kept = min(self.kept, self.side)
        index = np.arange(self.kept)
        bins = np.minimum(np.maximum(index[:, None], index[None, :]), len(WEIGHTS) - 1)
        self._weights = np.moveaxis(WEIGHTS[bins], 2, 0)
        self._weights[:, 1:, :] /= 2  # each of two images brings half of a difference
        self._weights[:, 0, 1:] /= 2

    @property
    def n_dimensions(self) -> int:
        """Return the size of three channels of `kept` x `kept` coefficients."""
        return 3 * self.kept**2

    def _describe(self, image: Bytes) -> Floats:
        """Return the three channels one after the other, each row by row."""
        coefficients = standard_haar((image / 255.0) @ YIQ.T)
        averages = coefficients[0, 0] / self.side
        coefficients[0, 0] = 0
        signs = np.zeros((3, self.side**2))
        for channel, values in enumerate(coefficients.reshape(-1, 3).T):
            sizes = np.abs(values)
            # a cut at the m-th largest size, then the first of those that tie there: the same for every image
            threshold = np.partition(sizes, -self.n_coefficients)[-self.n_coefficients]
            largest = np.flatnonzero(sizes >= max(threshold, _NOISE))
            largest = largest[np.argsort(-sizes[largest], kind="stable")][: self.n_coefficients]
            signs[channel, largest] = np.sign(values[largest])
        vector = signs.reshape(3, self.side, self.side)[:, : self.kept, : self.kept].copy()
        vector[:, 0, 0] = averages
        return np.ravel(vector * self._weights).astype(np.float32)
