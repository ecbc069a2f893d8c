"""How training time grows with the number of images: a power law, a polynomial, and durations as people say them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookalike.exhibits.drawing import short_count
from lookalike.exhibits.printed import DAY, HOUR, MINUTE, YEAR, human_time

__all__ = ["DAY", "HOUR", "MINUTE", "YEAR", "human_time", "short_count"]

FIT_FROM = 100
"""Size from which LMNN's times are continued: below, fixed costs hide how they grow."""
LEAST_SIZES = 3
"""Sizes of at least `FIT_FROM` without which nothing is continued."""


@dataclass(frozen=True)
class PowerLaw:
    """``seconds = factor * n ** exponent``, by least squares in logarithms of both."""

    exponent: float
    half_width: float
    """Half of the 95% interval of the exponent (Student's t, sizes - 2 degrees of freedom); NaN of two sizes."""
    factor: float
    n_sizes: int

    def seconds(self, n_images: np.ndarray) -> np.ndarray:
        """Return the fitted times of collections of `n_images` (float64, any shape)."""
        return np.asarray(self.factor * np.asarray(n_images, dtype=np.float64) ** self.exponent)

    @property
    def told(self) -> str:
        """``0.93 ± 0.05``."""
        spread = "" if math.isnan(self.half_width) else f" ± {self.half_width:.2f}"
        return f"{self.exponent:.2f}{spread}"


def power_law(n_images: Sequence[float], seconds: Sequence[float]) -> PowerLaw | None:
    """Fit how time grows with the number of images.

    Parameters
    ----------
    n_images, seconds : sequence of float
        One pair a size, all above 0.

    Returns
    -------
    PowerLaw or None
        None where there are not two different sizes.
    """
    from scipy.stats import t

    x, y = np.log(np.asarray(n_images, dtype=np.float64)), np.log(np.asarray(seconds, dtype=np.float64))
    if len(np.unique(x)) < 2:
        return None
    centred = x - x.mean()
    exponent = float(centred @ y / (centred @ centred))
    residuals = y - y.mean() - exponent * centred
    free = len(x) - 2
    error = math.sqrt(residuals @ residuals / free / (centred @ centred)) if free else math.nan
    half_width = float(t.ppf(0.975, free)) * error if free else math.nan
    return PowerLaw(exponent, half_width, math.exp(y.mean() - exponent * x.mean()), len(x))


def second_degree(n_images: Sequence[float], seconds: Sequence[float]) -> np.ndarray | None:
    """Fit the polynomial of second degree by which LMNN's times are continued.

    Coefficients are not negative, so that time never falls with the number of images, and residuals are relative, so
    that the largest size does not decide alone.

    Parameters
    ----------
    n_images, seconds : sequence of float
        One pair a size; those that `sizes_to_continue` leaves out count for nothing.

    Returns
    -------
    ndarray of shape (3,), float64, or None
        Coefficients of 1, n and n^2; None where nothing is to be continued.
    """
    from scipy.optimize import nnls

    chosen = np.isin(n_images, sizes_to_continue(n_images))
    x, y = (np.asarray(values, dtype=np.float64)[chosen] for values in (n_images, seconds))
    if not len(x):
        return None
    scale = x.max()
    terms = np.stack([np.ones_like(x), x / scale, (x / scale) ** 2], axis=1)
    coefficients, _ = nnls(terms / y[:, None], np.ones_like(y))
    return np.asarray(coefficients / scale ** np.arange(3))


def sizes_to_continue(n_images: Sequence[float]) -> list[float]:
    """Return the sizes through which times may be continued, rising: those from `FIT_FROM`, none if too few.

    Parameters
    ----------
    n_images : sequence of float
        Sizes with a time that is one of the learner's own end.
    """
    large = sorted({size for size in n_images if size >= FIT_FROM})
    return large if len(large) >= LEAST_SIZES else []


def polynomial(coefficients: np.ndarray, n_images: float | np.ndarray) -> np.ndarray:
    """Return the seconds (float64, shape of `n_images`) that coefficients of `second_degree` say."""
    return np.asarray(np.polynomial.polynomial.polyval(np.asarray(n_images, dtype=np.float64), coefficients))
