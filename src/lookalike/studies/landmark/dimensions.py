"""Seconds of learning against the number of words, on simulated rows: the SOML paper's Tables 7-9 as a curve.

A codebook of a million words takes hours to make, and seconds depend on sizes alone: words, non-zeros, shared ones.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lookalike.core.arrays import Doubles, Ints
from lookalike.core.machine import processor_name
from lookalike.core.seeds import integer_seed
from lookalike.core.settings.methods import Fit
from lookalike.learners.base import SimilarityLearner
from lookalike.learners.triplet_products import TripletProducts
from lookalike.studies.fits import Clock, fold_seed, make_learner, warm_up
from lookalike.studies.landmark.protocol import landmark_triplets, triplets_for
from lookalike.studies.landmark.settings import Dimensions, LearningImages
from lookalike.studies.time_limit import TimeLimitReachedError, cpu_time_limit

LEAST_SECONDS, MOST_FITS = 0.1, 100
"""Processor time that a short fit is repeated for, up to so many times: 25 ticks of 4 ms."""
EXPONENT = 1.0
"""Of Zipf's law: the j-th most frequent word has a share proportional to 1 / j^EXPONENT."""


class Timing(NamedTuple):
    """What one fit took; of one that did not end, or was not run, there are no times."""

    n_triplets: int = 0
    seconds: float = math.nan
    cpu_seconds: float = math.nan
    pair_cpu_seconds: float = math.nan
    """Of these the products of pairs, where the learner takes them ready."""
    reason: str = ""
    """Why there are no times."""


COLUMNS = ("learner", "n_features", "n_triplets", "nonzeros", "repeat", *Timing._fields[1:], "data", "processor")
"""``nonzeros``: mean of the rows."""


def simulated_rows(n_features: int, n_rows: int, nonzeros: int, seed: int) -> sp.csr_array:
    """Simulate tf-idf rows of unit length: few words of many, drawn by Zipf's law, about `nonzeros` different ones."""
    rng = np.random.Generator(np.random.PCG64(seed))
    shares = 1 / np.arange(1, n_features + 1) ** EXPONENT
    shares /= shares.sum()
    # frequent words have random numbers, as a codebook has them
    number = rng.permutation(n_features)
    n_drawn = _draws_for(shares, nonzeros)
    columns = np.searchsorted(np.cumsum(shares), rng.random((n_rows, n_drawn)), side="right").clip(max=n_features - 1)
    rows = np.repeat(np.arange(n_rows), n_drawn)
    counts = sp.csr_array((np.ones(columns.size), (rows, number[columns.ravel()])), shape=(n_rows, n_features))
    counts.sum_duplicates()
    idf = np.empty(n_features)
    idf[number] = -np.log(_share_of_images(shares, n_drawn))
    values = counts.data * idf[counts.indices]
    of_row = np.repeat(np.arange(n_rows), np.diff(counts.indptr))
    lengths = np.sqrt(np.bincount(of_row, values**2, minlength=n_rows))
    return sp.csr_array((values / lengths[of_row], counts.indices, counts.indptr), shape=counts.shape)


def _share_of_images(shares: Doubles, n_drawn: int) -> Doubles:
    """Return the expected share of images that have each word, less than 1 so that no weight is 0."""
    return np.asarray(np.minimum(-np.expm1(n_drawn * np.log1p(-shares)), 1 - 1e-12))


def _draws_for(shares: Doubles, nonzeros: int) -> int:
    """Return the smallest number of draws that is expected to give so many different words, by bisection."""
    high = nonzeros
    while _share_of_images(shares, high).sum() < nonzeros:
        high *= 2
    return bisect_left(range(high), nonzeros, key=lambda n_drawn: _share_of_images(shares, n_drawn).sum())


def time_learners(
    specs: Mapping[int, Mapping[str, Fit]], dimensions: Dimensions, learning: LearningImages, *, seed: int
) -> pd.DataFrame:
    """Time learners (by number of words, then by name) on simulated rows with the study's triplets; see `COLUMNS`."""
    for learner in sorted({spec.learner for own in specs.values() for spec in own.values()}):
        warm_up(learner)
    n_positives, n_negatives = learning.positives, learning.negatives
    given_up: dict[str, str] = {}
    rows = []
    for n_features, own in sorted(specs.items()):
        names = ("landmark", "dimensions", n_features)
        seeds = {purpose: integer_seed(seed, *names, purpose) for purpose in ("rows", "triplets", "steps")}
        # positives have no more in common than negatives, so that most steps have a loss: the most work there can be
        nonzeros = min(dimensions.nonzeros, n_features // 2)
        X = simulated_rows(n_features, n_positives + n_negatives, nonzeros, seeds["rows"])
        triplets = landmark_triplets(n_positives, n_negatives, seeds["triplets"])
        sizes = {"n_features": n_features, "nonzeros": X.nnz / X.shape[0]}
        for name, spec in own.items():
            limit = min(dimensions.time_limit, math.inf if spec.time_limit is None else spec.time_limit)
            for repeat in range(dimensions.repeats):
                if name in given_up:
                    timing = Timing(reason=given_up[name])
                else:
                    model = make_learner(spec, fold_seed(seed, "dimensions", 0, "fit"))
                    seen = triplets_for(model, triplets, seeds["steps"], learning.passes)
                    timing = _time_fit(model, X, seen, limit)
                rows.append({"learner": name, "repeat": repeat, **sizes, **timing._asdict()})
                if name not in given_up and timing.reason:
                    given_up[name] = f"took more than {limit:g} s of processor time at {n_features} words"
                if name in given_up:
                    break
    table = pd.DataFrame(rows).assign(data="simulated", processor=processor_name())
    return table[list(COLUMNS)].astype({"n_features": np.int64, "n_triplets": np.int64, "repeat": np.int32})


def _time_fit(learner: SimilarityLearner, X: sp.csr_array, triplets: Ints, limit: float) -> Timing:
    """Fit as a run does, with the products of pairs timed apart where the learner takes them ready.

    A short fit is repeated, and its time is the mean: where a limit is set, some systems count in milliseconds.
    """
    try:
        with cpu_time_limit(None if limit == math.inf else limit, "the fit"):
            timing = _time_fits(learner, X, triplets, 1)
    except TimeLimitReachedError as error:
        return Timing(len(triplets), reason=str(error))
    n_fits = math.ceil(LEAST_SECONDS / max(timing.cpu_seconds, LEAST_SECONDS / MOST_FITS))
    return timing if n_fits == 1 else _time_fits(learner, X, triplets, n_fits)


def _time_fits(learner: SimilarityLearner, X: sp.csr_array, triplets: Ints, n_fits: int) -> Timing:
    """Return the mean times of equal fits, on one clock for all of them."""
    clock, fit = Clock(), partial(learner.fit_triplets, X, triplets)
    if hasattr(learner, "fit_products"):
        with clock("pairs"):
            for _ in range(n_fits):
                products = TripletProducts(X, triplets)
        fit = partial(learner.fit_products, products)
    with clock("steps"):
        for _ in range(n_fits):
            fit()
    seconds, cpu_seconds = (sum(times.values()) / n_fits for times in (clock.seconds, clock.cpu_seconds))
    return Timing(len(triplets), seconds, cpu_seconds, clock.cpu_seconds.get("pairs", math.nan) / n_fits)
