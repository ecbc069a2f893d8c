"""What the landmark study contrasts: methods over landmarks, and sparsity over codebooks (SOML, AAAI 2014).

Draws of one landmark share its queries and most of its images, and landmarks of one draw may share constants. Each
difference has two intervals: of a t-test over landmarks, whose draws are averaged first, and of a bootstrap that draws
landmarks and draws. Printed differences are means over the paper's landmarks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise

import numpy as np
import pandas as pd

from lookalike.core.seeds import generator
from lookalike.exhibits.contrasts import Contrast
from lookalike.exhibits.results import select
from lookalike.ranking.comparison import CONFIDENCE, corrected_t_test
from lookalike.ranking.statistics import repeat_weights, resampled_counts
from lookalike.studies.contrasts import Compared, differences, limits_of
from lookalike.studies.landmark.results import MAP, MAP_FULL, MEAN, SPARSITY
from lookalike.studies.landmark.study import PAIRS, LandmarkStudy

LANDMARKS, BOOTSTRAP = "landmarks", "landmarks and samples"
RESAMPLES = 2000
OVER_CODEBOOKS = "growth of sparsity over codebooks"
RANKED = ("soml-da", "soml-tg", "qpao", "oasis-diagonal", "tfidf")
"""Order in which the paper's claims take one method's number from another's."""
REPEATS = ["landmark", "repeat"]
COMPARED = {MAP: RANKED, SPARSITY: RANKED[:-1]}


def contrasts(study: LandmarkStudy) -> list[Contrast]:
    """Return every contrast of a study, each with its printed number."""
    own = differences(study, precision_and_sparsity(study), partial(over_landmarks, study))
    leading = differences(study, leads(study), partial(over_landmarks, study))
    return [*own, *sparsity_over_codebooks(study), *leading]


def precision_and_sparsity(study: LandmarkStudy) -> Iterator[Compared]:
    """Compare methods in mAP, and those that learn in the share of weights that they make zero."""
    for codebook in study.codebook_ids:
        setting = f"codebook={codebook}"
        # of a method that lacks landmarks, the others would be the easier ones
        known = [method for method in study.methods if not study.limits.has_lost(setting, method)]
        for metric, ranked in COMPARED.items():
            pairs = combinations([method for method in ranked if method in study.methods], 2)
            rows = _single(study.results, codebook=codebook, metric=metric, method=known)
            printed = _single(study.printed_numbers, codebook=codebook, metric=metric).groupby("method")["value"].mean()
            yield Compared(setting, metric, pairs, rows, dict(printed))


def leads(study: LandmarkStudy) -> Iterator[Compared]:
    """Compare S-TG and S-DA with OASIS on each codebook of the lead, with printed and with chosen constants."""
    rows = study.results[(study.results["metric"] == MAP_FULL) & study.results["setting"].str.startswith("words=")]
    for (words, features), own in rows.groupby(["words", "features"], sort=False) if len(rows) else ():
        yield Compared(f"words={words};features={features}", MAP_FULL, PAIRS, own)


def sparsity_over_codebooks(study: LandmarkStudy) -> Iterator[Contrast]:
    """Contrast the sparsity of each codebook with that of the next smaller one."""
    rows = _single(study.results, metric=SPARSITY)
    printed = _single(study.printed_numbers, metric=SPARSITY).groupby(["method", "codebook"])["value"].mean()
    for method in (name for name in RANKED[:-1] if name in study.methods):
        own = rows[rows["method"] == method].pivot_table(index=REPEATS, columns="codebook", values="value")
        for small, large in pairwise(study.codebook_ids):
            setting = f"{study.words_of(small)} to {study.words_of(large)}"
            limits = limits_of(study, [f"codebook={name}" for name in (small, large)], method)
            ends = [float(printed.get((method, name), math.nan)) for name in (small, large)]
            row = Contrast(setting, OVER_CODEBOOKS, method, "", data=study.origin, limits=limits)
            row = replace(row, printed=ends[1] - ends[0])
            gaps = (own[large] - own[small]).dropna() if {small, large} <= set(own) else own.iloc[:0].sum(axis=1)
            stream = f"{method} {study.codebook_ids[small]} {study.codebook_ids[large]}"
            yield from over_landmarks(study, row, gaps, stream, SPARSITY) if len(gaps) else [row]


def _single(rows: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Return rows of single landmarks that have these values."""
    if "landmark" not in rows:
        return rows.iloc[:0].assign(landmark="", codebook="")
    return select(rows[rows["landmark"].notna() & (rows["landmark"] != MEAN)], **values)


def over_landmarks(
    study: LandmarkStudy, row: Contrast, gaps: pd.Series, stream: str = "", metric: str = ""
) -> list[Contrast]:
    """Return both intervals of a mean over landmarks; `stream` and `metric` name what the bootstrap draws."""
    of_landmarks = gaps.groupby(level="landmark").mean()
    # landmarks are not partitions of one set of images that the t-test had to correct for
    test = corrected_t_test(of_landmarks, n_train=1, n_test=0)
    part = study.codebook_ids.get(row.setting.removeprefix("codebook="), row.setting)
    stream = stream or " ".join((part, row.first, row.second))
    random = generator(study.seed, "landmark claims", study.dataset, stream, metric or row.metric)
    sampled = bootstrap(gaps.unstack("repeat"), random)
    mean, n = float(of_landmarks.mean()), len(of_landmarks)
    intervals = ((LANDMARKS, (test.low, test.high)), (BOOTSTRAP, sampled))
    return [replace(row, mean=mean, low=low, high=high, n=n, interval=kind) for kind, (low, high) in intervals]


def bootstrap(gaps: pd.DataFrame, random: np.random.Generator) -> tuple[float, float]:
    """Return the 95% interval of a mean over landmarks and draws, both drawn; NaN ends with a single landmark."""
    # what one draw has for all landmarks, such as chosen constants, no number of landmarks averages out
    grid = gaps.T.fillna(gaps.mean(axis=1)).T.to_numpy()
    n_landmarks, n_draws = grid.shape
    if n_landmarks == 1:
        return math.nan, math.nan
    counts = np.concatenate([*resampled_counts(random, n_landmarks, RESAMPLES)]) / n_landmarks
    means = ((counts @ grid) * repeat_weights(random, n_draws, RESAMPLES)).sum(axis=1)
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
