"""The inner loops of block description and word assignment, compiled by numba.

Everything here is single-threaded and exact: what is compared are integers, so one image gives the same counts on
every machine, and words are settled in double precision. The public modules `lbp`, `palette`,
`descriptors` and `codebook` say what the numbers mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.kernels import njit
from lookalike.features.pyramid import STRIDE

Bytes = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.uint16]
Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int32]

CELL = STRIDE  # a block is 2 x 2 cells, so each pixel is counted once instead of up to four times


@njit(cache=True, nogil=True)
def luma_padded(image: Bytes) -> Bytes:
    """Return the BT.601 luma of an RGB image (Pillow's "L" in integers) with its border replicated two pixels wide."""
    height, width = image.shape[0], image.shape[1]
    padded = np.empty((height + 4, width + 4), np.uint8)
    for y in range(height):
        source = image[y]
        row = padded[y + 2]
        for x in range(width):
            red, green, blue = np.uint32(source[x, 0]), np.uint32(source[x, 1]), np.uint32(source[x, 2])
            row[x + 2] = np.uint8(
                (red * np.uint32(19595) + green * np.uint32(38470) + blue * np.uint32(7471) + np.uint32(0x8000))
                >> np.uint32(16)
            )
    replicate_border(padded)
    return padded


@njit(cache=True, nogil=True)
def replicate_border(padded: Bytes) -> None:
    """Copy the outermost pixels of the inner image into the frame, two pixels wide, around it."""
    height, width = padded.shape[0] - 4, padded.shape[1] - 4
    for y in range(2, height + 2):
        padded[y, 0] = padded[y, 2]
        padded[y, 1] = padded[y, 2]
        padded[y, width + 2] = padded[y, width + 1]
        padded[y, width + 3] = padded[y, width + 1]
    for x in range(width + 4):
        padded[0, x] = padded[2, x]
        padded[1, x] = padded[2, x]
        padded[height + 2, x] = padded[height + 1, x]
        padded[height + 3, x] = padded[height + 1, x]


@njit(cache=True, nogil=True, inline="always")
def _diagonal(near: Any, side: Any, other: Any, far: Any, centre: Any) -> Any:
    """Return 1 where the bilinear value at distance 2 on a diagonal is at least the centre, else 0, exactly.

    The point lies sqrt(2) away along both axes, so the value minus the centre is P + Q sqrt(2) with integer P and Q;
    its sign is that of P|P| + 2 Q|Q|, which needs integers only.
    """
    sides = side + other
    p = np.int32(6) * near - np.int32(4) * sides + np.int32(3) * far - centre
    q = np.int32(3) * sides - np.int32(4) * near - np.int32(2) * far
    return np.int32(p * abs(p) + np.int32(2) * q * abs(q) >= np.int32(0))


@njit(cache=True, nogil=True)
def lbp_row(above2: Bytes, above: Bytes, middle: Bytes, below: Bytes, below2: Bytes, codes: Bytes) -> None:
    """Write the 8-bit LBP(8, 2) code of each pixel of one row; inputs are rows of a padded image."""
    for x in range(codes.shape[0]):
        c = np.int32(middle[x + 2])
        nw, ne = np.int32(above[x + 1]), np.int32(above[x + 3])
        sw, se = np.int32(below[x + 1]), np.int32(below[x + 3])
        code = np.int32(np.int32(middle[x + 4]) >= c)
        code |= _diagonal(ne, np.int32(above[x + 4]), np.int32(above2[x + 3]), np.int32(above2[x + 4]), c) << 1
        code |= np.int32(np.int32(above2[x + 2]) >= c) << 2
        code |= _diagonal(nw, np.int32(above[x]), np.int32(above2[x + 1]), np.int32(above2[x]), c) << 3
        code |= np.int32(np.int32(middle[x]) >= c) << 4
        code |= _diagonal(sw, np.int32(below[x]), np.int32(below2[x + 1]), np.int32(below2[x]), c) << 5
        code |= np.int32(np.int32(below2[x + 2]) >= c) << 6
        code |= _diagonal(se, np.int32(below[x + 4]), np.int32(below2[x + 3]), np.int32(below2[x + 4]), c) << 7
        codes[x] = np.uint8(code)


@njit(cache=True, nogil=True)
def lbp_codes(padded: Bytes) -> Bytes:
    """Return the 8-bit LBP(8, 2) codes of an image that comes with a replicated border two pixels wide."""
    height, width = padded.shape[0] - 4, padded.shape[1] - 4
    codes = np.empty((height, width), np.uint8)
    for y in range(height):
        lbp_row(padded[y], padded[y + 1], padded[y + 2], padded[y + 3], padded[y + 4], codes[y])
    return codes


@njit(cache=True, nogil=True)
def nearest_colours(pixels: Bytes, keys: Integers, planes: Integers, nearest: Bytes) -> None:
    """Write the index of the nearest palette colour of each pixel of a row, ties to the lowest index.

    A colour's squared distance (in eighths of a grey level, less the pixel's own squared length) and its index share
    one integer, distance * 128 + index, so that the nearest is a plain minimum that the compiler vectorises.

    Parameters
    ----------
    pixels : ndarray of shape (n, 3), uint8
    keys : ndarray of shape (n_colours, 4), int32
        What `palette.palette_keys` returns.
    planes : ndarray of shape (4, >= n), int32
        Scratch: the three channels and the best key so far.
    nearest : ndarray of shape (n,), uint8
        Written here.
    """
    n = nearest.shape[0]
    reds, greens, blues, best = planes[0], planes[1], planes[2], planes[3]
    for x in range(n):
        reds[x] = pixels[x, 0]
        greens[x] = pixels[x, 1]
        blues[x] = pixels[x, 2]
        best[x] = 2147483647
    for k in range(keys.shape[0]):
        red, green, blue, offset = keys[k, 0], keys[k, 1], keys[k, 2], keys[k, 3]
        for x in range(n):  # the sum may wrap on its way, its value fits
            best[x] = min(best[x], np.int32(offset + red * reds[x] + green * greens[x] + blue * blues[x]))
    for x in range(n):
        nearest[x] = best[x] & 127


@njit(cache=True, nogil=True)
def nearest_colour_image(image: Bytes, keys: Integers) -> Bytes:
    """Return the index of the nearest palette colour of each pixel of an image."""
    height, width = image.shape[0], image.shape[1]
    planes = np.empty((4, width), np.int32)
    nearest = np.empty((height, width), np.uint8)
    for y in range(height):
        nearest_colours(image[y], keys, planes, nearest[y])
    return nearest


@njit(cache=True, nogil=True)
def count_level(image: Bytes, bins: Bytes, n_lbp: int, keys: Integers, counts: Counts) -> None:
    """Count LBP bins and palette colours in every block of one pyramid level.

    Parameters
    ----------
    image : ndarray of shape (height, width, 3), uint8
    bins : ndarray of shape (256,), uint8
        Histogram bin of each 8-bit code.
    n_lbp : int
        Number of LBP bins; colours are counted after them.
    keys : ndarray of shape (n_colours, 4), int32
        The palette as `nearest_colours` takes it.
    counts : ndarray of shape (rows * columns, n_lbp + n_colours), uint16
        Written here, blocks row by row.
    """
    rows, columns = image.shape[0] // CELL - 1, image.shape[1] // CELL - 1
    width = (columns + 1) * CELL
    padded = luma_padded(image)
    codes = np.empty(width, np.uint8)
    nearest = np.empty(width, np.uint8)
    planes = np.empty((4, width), np.int32)
    upper = np.zeros((columns + 1, counts.shape[1]), np.uint16)  # cells of the row above
    for row in range(rows + 1):
        lower = np.zeros_like(upper)
        for y in range(row * CELL, (row + 1) * CELL):
            lbp_row(padded[y], padded[y + 1], padded[y + 2], padded[y + 3], padded[y + 4], codes)
            nearest_colours(image[y, :width], keys, planes, nearest)
            for column in range(columns + 1):
                cell = lower[column]
                for x in range(column * CELL, (column + 1) * CELL):
                    cell[bins[codes[x]]] += np.uint16(1)
                    cell[n_lbp + nearest[x]] += np.uint16(1)
        if row > 0:
            for column in range(columns):
                block = counts[(row - 1) * columns + column]
                for k in range(counts.shape[1]):
                    block[k] = upper[column, k] + upper[column + 1, k] + lower[column, k] + lower[column + 1, k]
        upper = lower


@njit(cache=True, nogil=True)
def settle_nearest(
    scores: Floats, highest: Floats, slack: Floats, descriptors: Floats, codebook: Floats, words: Integers
) -> None:
    """Choose the nearest word of each descriptor among those whose score is within rounding of the highest.

    A matrix product rounds differently with the batch, the library and the processor. Words that its rounding could
    have swapped are compared again by their squared distance, summed in order in double precision; ties go to the
    lowest index.

    Parameters
    ----------
    scores : ndarray of shape (n, n_words), float32
        x . c - |c|^2 / 2, up to rounding.
    highest : ndarray of shape (n,), float32
        The highest score of each row.
    slack : ndarray of shape (n,), float32
        Twice the bound on a score's rounding error.
    descriptors : ndarray of shape (n, d), float32
    codebook : ndarray of shape (n_words, d), float32
    words : ndarray of shape (n,), int32
        Written here.
    """
    for i in range(scores.shape[0]):
        threshold = highest[i] - slack[i]
        row = scores[i]
        best = np.inf
        for j in range(row.shape[0]):
            if row[j] >= threshold:
                distance = 0.0
                for k in range(descriptors.shape[1]):
                    difference = np.float64(descriptors[i, k]) - np.float64(codebook[j, k])
                    distance += difference * difference
                if distance < best:
                    best = distance
                    words[i] = j
