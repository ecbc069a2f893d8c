"""What the landmark study contrasts: methods over landmarks, and sparsity over codebooks (SOML, AAAI 2014).

Draws of one landmark share its queries and most of its images, and landmarks of one draw may share constants. Each
difference has two intervals: of a t-test over landmarks, whose draws are averaged first, and of a bootstrap that draws
landmarks and draws. The paper's numbers, of seven landmarks and one draw, are contrasted in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, product

import numpy as np
import pandas as pd

from lookalike.core.seeds import generator
from lookalike.exhibits.contrasts import NO_RESULT, Contrast
from lookalike.ranking.comparison import CONFIDENCE, CorrectedT, corrected_t_test
from lookalike.ranking.statistics import repeat_weights, resampled_counts
from lookalike.studies.landmark.lead import leads
from lookalike.studies.landmark.rankings import MAP, MAP_FULL, SPARSITY
from lookalike.studies.landmark.study import RANKED, LandmarkStudy, Vocabulary

LANDMARKS, BOOTSTRAP = "landmarks", "landmarks and draws"
RESAMPLES = 2000
OVER_CODEBOOKS = "sparsity over codebooks"


def contrasts(study: LandmarkStudy) -> list[Contrast]:
    """Every contrast of a study, each with its printed number."""
    printed = {row.key: row.mean for row in precision_and_sparsity(study.as_printed())}
    places = {codebook.id: codebook.setting for codebook in study.vocabularies if codebook.setting}
    found = []
    for row in precision_and_sparsity(study):
        key = (places.get(row.setting, ""), row.metric, row.first, row.second)
        found.append(replace(row, printed=printed.get(key, math.nan)))
    return found + list(lead_contrasts(study))


def row_of(
    study: LandmarkStudy, codebooks: Sequence[Vocabulary], metric: str, first: str, second: str = "", setting: str = ""
) -> Contrast:
    """Return a row without a number yet, of one codebook or of several under a name, with the limits of its sides."""
    sides = product((first, second), codebooks)
    codes = [f"{side}:{code}" for side, codebook in sides for code in study.limits.get((codebook.id, side), ())]
    limits = ";".join(dict.fromkeys(codes))
    setting = setting or (codebooks[0].setting if study.is_print else codebooks[0].id)
    return Contrast(setting, metric, first, second, data=study.origin, limits=limits)


def ran(study: LandmarkStudy, methods: Sequence[str]) -> list[str]:
    """Return the study's methods in an order."""
    return [method for method in methods if method in study.methods]


def pairs_of(study: LandmarkStudy, methods: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs that are contrasted."""
    return list(combinations(ran(study, methods), 2))


def over_landmarks(study: LandmarkStudy, row: Contrast, gaps: pd.Series, stream: str, metric: str) -> list[Contrast]:
    """Return both intervals of a mean over landmarks, or the row alone without one; `stream` names the draws."""
    if gaps.empty:
        return [row]
    of_landmarks = gaps.groupby(level="subset").mean()
    test = t_test(of_landmarks)
    random = generator(study.seed, "landmark claims", study.dataset, stream, metric)
    sampled = bootstrap(gaps.unstack("fold"), random)
    rows = []
    for interval, ends in ((LANDMARKS, (test.low, test.high)), (BOOTSTRAP, sampled)):
        mean, low, high = float(of_landmarks.mean()), *ends
        rows.append(replace(row, mean=mean, low=low, high=high, n=len(of_landmarks), interval=interval))
    return rows


def bootstrap(gaps: pd.DataFrame, random: np.random.Generator) -> tuple[float, float]:
    """Return the 95% interval of a mean over landmarks and draws, both drawn; NaN ends with a single landmark.

    What one draw has for all landmarks, such as chosen constants, no number of landmarks averages out.
    """
    grid = gaps.T.fillna(gaps.mean(axis=1)).T.to_numpy()
    n_landmarks, n_draws = grid.shape
    if n_landmarks == 1:
        return math.nan, math.nan
    counts = np.concatenate([*resampled_counts(random, n_landmarks, RESAMPLES)]) / n_landmarks
    means = ((counts @ grid) * repeat_weights(random, n_draws, RESAMPLES)).sum(axis=1)
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def t_test(of_landmarks: pd.Series) -> CorrectedT:
    """Return the ordinary paired test: landmarks are not partitions of one set of images that it had to correct for."""
    return corrected_t_test(of_landmarks, n_train=1, n_test=0)


def gaps_of(study: LandmarkStudy, codebook: Vocabulary, metric: str, *pair: str) -> pd.Series:
    """Return first minus second on each landmark and draw that both have; none where a fit of either did not end."""
    first, second = (study.number(codebook, method, metric) for method in pair)
    gaps = first - second
    # of a method that lacks landmarks, the others would be the easier ones
    is_whole = not any(NO_RESULT in study.limits.get((codebook.id, method), ()) for method in pair)
    return gaps.where(np.isfinite(gaps) & is_whole).dropna()


def precision_and_sparsity(study: LandmarkStudy) -> Iterator[Contrast]:
    """Contrast methods in mAP, and those that learn in the share of weights that they make zero."""
    learned = [method for method in ran(study, RANKED) if method != "tfidf"]
    compared = ((MAP, RANKED), (SPARSITY, RANKED[:-1]))
    for codebook, (metric, methods) in product(study.vocabularies, compared):
        for pair in pairs_of(study, methods):
            row, gaps = row_of(study, [codebook], metric, *pair), gaps_of(study, codebook, metric, *pair)
            yield from over_landmarks(study, row, gaps, " ".join((codebook.id, *pair)), metric)
    for method in learned:
        yield from sparsity_over_codebooks(study, method)


def sparsity_over_codebooks(study: LandmarkStudy, method: str) -> Iterator[Contrast]:
    """Contrast each codebook with the next smaller one."""
    for small, large in pairwise(study.vocabularies):
        row = row_of(study, [small, large], OVER_CODEBOOKS, method, setting=f"{small.title} to {large.title} words")
        gaps = study.number(large, method, SPARSITY) - study.number(small, method, SPARSITY)
        yield from over_landmarks(study, row, gaps.dropna(), f"{method} {small.id} {large.id}", SPARSITY)


# S-TG and S-DA minus OASIS over words and features --------------------------------------------------------------------


def lead_contrasts(study: LandmarkStudy) -> Iterator[Contrast]:
    """Contrast S-TG and S-DA with OASIS on each codebook of the lead, with printed and with chosen constants."""
    for setting, pair, gaps in leads(study.table("results")) if study.lead is not None else ():
        row = Contrast(setting, MAP_FULL, *pair, data=study.origin)
        yield from over_landmarks(study, row, gaps, " ".join((setting, *pair)), MAP_FULL)
