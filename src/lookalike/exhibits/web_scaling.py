"""How training time grows with the number of images: a power law, a polynomial, and durations as people say them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FIT_FROM = 100
"""Size from which LMNN's times are continued: below, fixed costs hide how they grow."""
LEAST_SIZES = 3
"""Sizes of at least `FIT_FROM` without which nothing is continued."""
MINUTE, HOUR, DAY, YEAR = 60.0, 3600.0, 86_400.0, 365.25 * 86_400.0


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


def human_time(seconds: float) -> str:
    """Return a duration as people say it, to two digits.

    Examples
    --------
    >>> [human_time(s) for s in (0.0041, 0.25, 9, 300, 5400, 172800, 16416000, 1e9)]
    ['4.1 ms', '0.25 s', '9 s', '5 min', '1.5 h', '2 days', '190 days', '32 years']
    """
    if math.isnan(seconds):
        return ""
    units = [(0.1, "ms", 0.001), (MINUTE, "s", 1.0), (HOUR, "min", MINUTE), (DAY, "h", HOUR)]
    units += [(YEAR, "days", DAY), (math.inf, "years", YEAR)]
    # 59.9 s are 1 min, not 60 s
    values = ((float(f"{seconds / worth:.1e}"), unit, worth, below) for below, unit, worth in units)
    value, unit = next((value, unit) for value, unit, worth, below in values if value * worth < below)
    one = {"days": "day", "years": "year"}
    return f"{value:,g} {one.get(unit, unit) if value == 1 else unit}"


def short_count(value: float) -> str:
    """Return a number of images or steps as axes print it: ``600``, ``10K``, ``2.3M``."""
    for worth, unit in ((1e6, "M"), (1e3, "K")):
        if abs(value) >= worth:
            return f"{value / worth:g}{unit}"
    return f"{value:g}"


def polynomial(coefficients: np.ndarray, n_images: float | np.ndarray) -> np.ndarray:
    """Return the seconds (float64, shape of `n_images`) that coefficients of `second_degree` say."""
    return np.asarray(np.polynomial.polynomial.polyval(np.asarray(n_images, dtype=np.float64), coefficients))
