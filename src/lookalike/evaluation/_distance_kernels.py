"""Kernels of `lookalike.evaluation.distances`: one pass over two rows, and no array for every step of a formula.

Rows are named by number, so that no pair of them is copied. Sums run in float32 over short stretches, where the
compiler may take several at a time, and in float64 over the stretches.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

STRETCH = 256
"""Entries that are summed in float32; their rounding is below that of the entries."""

# sums may be regrouped, and nothing else: a NaN stays one
_REGROUPED = {"reassoc", "contract", "nsz"}


@numba.njit(cache=True, nogil=True, fastmath=_REGROUPED)
def l1(a: Floats, left: Rows, b: Floats, right: Rows, result: Floats) -> None:
    """Sum of |a - b|."""
    d = a.shape[1]
    for pair in range(len(left)):
        x, y = a[left[pair]], b[right[pair]]
        total = 0.0
        for start in range(0, d, STRETCH):
            part = np.float32(0)
            for j in range(start, min(start + STRETCH, d)):
                part += abs(x[j] - y[j])
            total += float(part)
        result[pair] = total


@numba.njit(cache=True, nogil=True, fastmath=_REGROUPED)
def l2(a: Floats, left: Rows, b: Floats, right: Rows, result: Floats) -> None:
    """Root of the sum of (a - b)^2."""
    d = a.shape[1]
    for pair in range(len(left)):
        x, y = a[left[pair]], b[right[pair]]
        total = 0.0
        for start in range(0, d, STRETCH):
            part = np.float32(0)
            for j in range(start, min(start + STRETCH, d)):
                difference = x[j] - y[j]
                part += difference * difference
            total += float(part)
        result[pair] = np.sqrt(total)


@numba.njit(cache=True, nogil=True, fastmath=_REGROUPED)
def chi2(a: Floats, left: Rows, b: Floats, right: Rows, result: Floats) -> None:
    """Sum of (a - b)^2 / (|a| + |b|): of amounts, a negative entry is another amount than a positive one."""
    d = a.shape[1]
    smallest = np.float32(1.1754944e-38)  # of normal numbers: 0 / 0 comes to 0
    for pair in range(len(left)):
        x, y = a[left[pair]], b[right[pair]]
        total = 0.0
        for start in range(0, d, STRETCH):
            part = np.float32(0)
            for j in range(start, min(start + STRETCH, d)):
                difference = x[j] - y[j]
                part += difference * (difference / (abs(x[j]) + abs(y[j]) + smallest))
            total += float(part)
        result[pair] = total


@numba.njit(cache=True, nogil=True, fastmath=_REGROUPED)
def cosine(a: Floats, left: Rows, b: Floats, right: Rows, result: Floats) -> None:
    """1 - cos(a, b); 0 for two zero rows and for equal rows, 1 for a zero row and another."""
    d = a.shape[1]
    for pair in range(len(left)):
        x, y = a[left[pair]], b[right[pair]]
        product, of_x, of_y = 0.0, 0.0, 0.0
        n_different = 0
        for start in range(0, d, STRETCH):
            part, part_x, part_y = np.float32(0), np.float32(0), np.float32(0)
            for j in range(start, min(start + STRETCH, d)):
                part += x[j] * y[j]
                part_x += x[j] * x[j]
                part_y += y[j] * y[j]
                n_different += x[j] != y[j]
            product += float(part)
            of_x += float(part_x)
            of_y += float(part_y)
        norms = np.sqrt(of_x) * np.sqrt(of_y)
        if np.isnan(norms):
            result[pair] = np.nan
        elif n_different == 0:  # rounding: a row and its copy are at distance 0, and not a hair above
            result[pair] = 0
        elif norms == 0:
            result[pair] = 1
        else:
            result[pair] = max(0.0, 1 - product / norms)
