"""Histograms of oriented gradients of a whole image (Dalal and Triggs, CVPR 2005), by OpenCV.

The HOG baseline of the fine-grained study (Deep Ranking, section 6.4). The best settings of Dalal and Triggs' detector
are kept: 8 x 8 pixel cells, blocks of 2 x 2 cells that overlap by half, 9 unsigned orientations, square-root gamma, the
gradient of the colour channel where it is largest, L2-Hys normalisation clipped at 0.2. What they have as a window of
64 x 128 pixels is here the whole image, rescaled to a square, because images of all shapes are compared.
"""

from __future__ import annotations

from typing import Annotated

import cv2
import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from lookalike.core.arrays import Bytes, Floats
from lookalike.core.errors import LookalikeError
from lookalike.core.images import MIN_SIDE
from lookalike.features.describers import Describer, Positive


@dataclass(kw_only=True, eq=False)
class Hog(Describer, system="hog", distance="l2"):
    """Overlapping blocks of gradient histograms of an image rescaled to a square.

    Parameters
    ----------
    side : int, default=128
        Images are rescaled to side x side pixels; a multiple of `cell`.
    cell : int, default=8
        Pixels of a cell's side.
    n_orientations : int, default=9
        Bins of 0 to 180 degrees, or of 0 to 360 where gradients are signed.
    signed : bool, default=False
        Whether gradients of opposite directions differ, which Dalal and Triggs found of use for some classes.
    """

    side: Annotated[int, Field(ge=MIN_SIDE, le=1024)] = 128
    cell: Annotated[int, Field(ge=2, le=512)] = 8
    n_orientations: Positive = 9
    signed: bool = False

    def __post_init__(self) -> None:
        """Refuse a square that is not of whole cells."""
        if self.side < 2 * self.cell or self.side % self.cell:
            raise LookalikeError("`side` of the HOG must be a multiple of `cell`, at least two cells: correct it")

    @property
    def n_dimensions(self) -> int:
        """Return the number of orientations of 4 cells in each block."""
        return (self.side // self.cell - 1) ** 2 * 4 * self.n_orientations

    def _describe(self, image: Bytes) -> Floats:
        """Return the blocks as OpenCV orders them: column by column."""
        side, cell, block = ((length, length) for length in (self.side, self.cell, 2 * self.cell))
        # derivative, sigma, L2-Hys, its clip, gamma and levels; OpenCV's constructor leaves gamma out unless it is told
        rest = (1, -1.0, cv2.HOGDescriptor_L2Hys, 0.2, True, 64, self.signed)
        descriptor = cv2.HOGDescriptor(side, block, cell, cell, self.n_orientations, *rest)
        return np.asarray(descriptor.compute(image), dtype=np.float32).ravel()
