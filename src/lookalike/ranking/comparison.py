"""Is one method better than another? Two views of the same differences of average precision.

The partitions of a subset overlap in their training images, and test images come back in several folds. The corrected
resampled t-test asks whether another partition would agree, a bootstrap clustered by image whether other images would.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lookalike.core.arrays import Doubles
from lookalike.ranking.statistics import resampled_counts

CONFIDENCE = 0.95


class CorrectedT(NamedTuple):
    """What `corrected_t_test` finds; the mean, `std` and the interval are in the unit of the differences."""

    mean: float
    std: float
    statistic: float
    p: float
    low: float
    high: float


def corrected_t_test(differences: ArrayLike, n_train: float, n_test: float) -> CorrectedT:
    """Make the corrected resampled t-test of "the mean difference is 0" (Nadeau & Bengio, Machine Learning 52, 2003).

    Random partitions share training images, which makes s^2 / J too small for the variance of the mean. With their
    approximation of the correlation between partitions, n_test / (n_train + n_test), it becomes
    (1 / J + n_test / n_train) s^2; the degrees of freedom are J - 1.

    `differences`, one a partition, may be in any unit; of the sizes of the training and test set only the ratio counts,
    so images per class will do (`n_test` 0 is the ordinary paired t-test). ``std`` has ddof = 1, ``p`` is two-sided,
    ``low`` and ``high`` are the 95% interval. A single difference has no spread: all but the mean are NaN. Differences
    that are all equal take the limit of a vanishing spread: the interval is the mean alone, and p = 0, or 1 where that
    mean is 0.
    """
    values = np.asarray(differences, dtype=np.float64)
    if not len(values) or not np.isfinite(values).all():
        raise ValueError("the t-test needs one finite difference per fold; leave out folds that one method lacks")
    n_folds = len(values)
    if n_folds == 1:
        return CorrectedT(float(values[0]), np.nan, np.nan, np.nan, np.nan, np.nan)
    # Equality is asked of the values, because the rounded std of equal numbers need not be 0.
    if np.ptp(values) == 0:
        return _t_test(float(values[0]), 0.0, 0.0, n_folds - 1)
    mean, std = float(values.mean()), float(values.std(ddof=1))
    return _t_test(mean, std, float(std * np.sqrt(1 / n_folds + n_test / n_train)), n_folds - 1)


def class_jackknife(differences: ArrayLike, classes: Sequence[Collection[str]]) -> CorrectedT:
    """Make the t-test of "the mean difference is 0" over sets of classes that overlap, leaving out a class at a time.

    `differences` has one number for each set, in any unit, and `classes` the classes of that set. The mean without a
    class is over the sets that do not hold it; of n classes these means have the variance (n - 1) / n times the sum of
    squares around their own mean, and the test has n - 1 degrees of freedom. It speaks of sets of these n classes.

    ``std`` is the standard deviation (ddof = 1) over sets, all else as `corrected_t_test` returns it. Every class must
    be missing in one set at least.
    """
    values = np.asarray(differences, dtype=np.float64)
    names = sorted(set().union(*classes))
    without = [np.array([name not in held for held in classes], dtype=bool) for name in names]
    if len(names) < 2 or not np.isfinite(values).all() or not all(map(np.any, without)):
        raise ValueError("the jackknife needs finite differences, and for each class a set that does not hold it")
    means, n = np.array([values[chosen].mean() for chosen in without]), len(names)
    error = float(np.sqrt((n - 1) / n * np.sum((means - means.mean()) ** 2)))
    return _t_test(float(values.mean()), float(values.std(ddof=1)), error, n - 1)


def _t_test(mean: float, std: float, error: float, degrees: int) -> CorrectedT:
    """Make the t-test of a mean with a standard error."""
    # heavy, and every plan imports this module with the rules about claims
    from scipy import special

    if error == 0:
        return CorrectedT(mean, std, np.copysign(np.inf, mean) if mean else 0.0, 0.0 if mean else 1.0, mean, mean)
    reach = float(special.stdtrit(degrees, (1 + CONFIDENCE) / 2) * error)
    p = float(2 * special.stdtr(degrees, -abs(mean / error)))
    return CorrectedT(mean, std, mean / error, p, mean - reach, mean + reach)


def clustered_bootstrap(
    table: pd.DataFrame, n_draws: int = 2000, *, random_state: int | np.random.Generator
) -> tuple[float, float, float]:
    """Bootstrap the mean difference, with images as clusters: all folds of an image are drawn together.

    Return the mean difference of the table itself, and the 2.5% and 97.5% percentiles, NaN with a single image.

    The statistic is the mean over folds of each fold's mean, which tables print. Models and ranked images stay as they
    are: the interval speaks about other queries, not about other partitions. `table` has ``image_id``, ``fold`` and
    ``difference``, in any order. A fold of which a draw holds no image is left out of the mean of that draw.
    """
    differences = table["difference"].to_numpy(dtype=np.float64)
    if not len(differences) or not np.isfinite(differences).all():
        raise ValueError("the bootstrap needs rows with finite differences; leave out queries without a positive")
    images, image = np.unique(table["image_id"].to_numpy(), return_inverse=True)
    folds, fold = np.unique(table["fold"].to_numpy(), return_inverse=True)
    # of each image in each fold
    sums, counts = np.zeros((2, len(images), len(folds)))
    np.add.at(sums, (image, fold), differences)
    np.add.at(counts, (image, fold), 1)
    estimate = float(np.mean(sums.sum(axis=0) / counts.sum(axis=0)))
    if len(images) == 1:
        return estimate, np.nan, np.nan
    both, means = np.hstack([sums, counts]), []
    for times in resampled_counts(np.random.default_rng(random_state), len(images), n_draws):
        totals, n = np.split(times @ both, 2, axis=1)
        fold_means = np.divide(totals, n, out=np.zeros_like(n), where=n > 0)
        means.append(fold_means.sum(axis=1) / (n > 0).sum(axis=1))
    low, high = np.quantile(np.concatenate(means), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return estimate, float(low), float(high)


def holm(p_values: ArrayLike) -> Doubles:
    """Adjust p-values step-down, which keeps the family-wise error at a level (Holm 1979); NaN, no test, stays NaN."""
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    ascending = tested[np.argsort(p[tested], kind="stable")]
    steps = p[ascending] * np.arange(len(ascending), 0, -1)
    adjusted[ascending] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def paired(first: Mapping[int, pd.Series], second: Mapping[int, pd.Series]) -> pd.DataFrame:
    """Return first minus second, query by query, of the folds that both have, for `clustered_bootstrap`.

    `first` and `second` have a fold's average precision by query image; queries without a positive, of which that is
    NaN, are left out. Two methods with different queries in the same fold, and a query that occurs twice, are a
    ValueError.
    """
    parts = [pd.DataFrame({"fold": [], "image_id": [], "difference": []})]
    for fold in sorted(first.keys() & second.keys()):
        ours, theirs = (side[fold].dropna().sort_index() for side in (first, second))
        if not ours.index.equals(theirs.index) or not ours.index.is_unique:
            raise ValueError(f"fold {fold} has different queries of both, or one twice; rank the same images with both")
        difference = (ours - theirs).rename_axis("image_id").rename("difference")
        parts.append(difference.reset_index().assign(fold=fold))
    return pd.concat(parts, ignore_index=True).astype({"fold": np.int64, "image_id": np.int64})
