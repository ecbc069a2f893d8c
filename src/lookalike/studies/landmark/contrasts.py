"""What the landmark study contrasts: methods over landmarks, and sparsity and times over codebooks (SOML, AAAI 2014).

Draws of one landmark share its queries and most of its images, and landmarks of one draw share chosen constants. Each
difference has two intervals: of a t-test over landmarks, whose draws are averaged first, and of a bootstrap that draws
landmarks and draws. Times are contrasted as ratios. The paper's numbers, of seven landmarks and one draw, give rows of
their own in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, product

import numpy as np
import pandas as pd

from lookalike.core.seeds import generator
from lookalike.exhibits.contrasts import NO_RESULT, PRINT, RANGE, SIMULATED, Contrast, printed_setting
from lookalike.ranking.comparison import CONFIDENCE, CorrectedT, corrected_t_test
from lookalike.ranking.statistics import repeat_weights, resampled_counts
from lookalike.studies.landmark.rankings import MAP, NONZEROS, SPARSITY
from lookalike.studies.landmark.section import AS_IN_PRINT, CHOSEN
from lookalike.studies.landmark.study import (
    PAPER,
    RANKED,
    TABLE_METHODS,
    TIMES,
    TRAIN_TIME,
    LandmarkStudy,
    Vocabulary,
)
from lookalike.studies.landmark.times import ALIKE
from lookalike.studies.metrics import select

LANDMARKS, BOOTSTRAP = "landmarks", "landmarks and draws"
RESAMPLES = 2000
LEAST_TO_LARGEST = f"{{}}, {RANGE}"
LARGEST = "largest {} of a landmark"
OVER_CODEBOOKS, OVER_WORDS = "sparsity over codebooks", "training time over words"
SHORTEST = 1e-9
"""Seconds that a time counts as at least, which has a logarithm."""


def contrasts(study: LandmarkStudy) -> list[Contrast]:
    """Every contrast of a study but those of times."""
    return beside_print(study, precision_and_sparsity)


def time_contrasts(study: LandmarkStudy) -> list[Contrast]:
    """Training time of each pair of methods, in total and by the triplet seen, and of each over numbers of words."""
    return beside_print(study, training_times)


def beside_print(study: LandmarkStudy, rows_of: Callable[[LandmarkStudy], Iterable[Contrast]]) -> list[Contrast]:
    """Return our rows, each with its printed number, and then the rows of the paper's numbers."""
    in_print = list(rows_of(study.as_printed()))
    printed = {row.key: row.mean for row in in_print}
    places = {
        codebook.id: printed_setting(PAPER, codebook.setting)
        for codebook in study.vocabularies
        if codebook.n_words == codebook.printed_words
    }
    found = []
    for row in rows_of(study):
        first, second = (AS_IN_PRINT.get(side, side) for side in (row.first, row.second))
        key = (places.get(row.setting, ""), row.metric, first, second)
        found.append(replace(row, printed=printed.get(key, math.nan)))
    return found + in_print


def row_of(
    study: LandmarkStudy, codebooks: Sequence[Vocabulary], metric: str, first: str, second: str = "", setting: str = ""
) -> Contrast:
    """Return a row without a number yet, of one codebook or of several under a name, with the limits of its sides."""
    sides = product((first, second), codebooks)
    codes = [f"{side}:{code}" for side, codebook in sides for code in study.limits.get((codebook.id, side), ())]
    limits = ";".join(dict.fromkeys(codes))
    if study.is_print:
        setting = printed_setting(PAPER, setting or codebooks[0].setting)
        return Contrast(setting, metric, first, second, data=PRINT, limits=limits)
    return Contrast(setting or codebooks[0].id, metric, first, second, data=study.origin, limits=limits)


def ran(study: LandmarkStudy, methods: Sequence[str]) -> list[str]:
    """Return the study's methods in an order; its variants stand before those that they vary."""
    ordered = (*methods, *(CHOSEN[method] for method in methods if method in CHOSEN))
    return [*study.variants, *(method for method in ordered if method in study.methods)]


def pairs_of(study: LandmarkStudy, methods: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs that are contrasted: of printed constants, of chosen ones, and each beside what it varies."""
    ordered = [method for method in methods if method in study.methods]
    alike = [CHOSEN.get(method, method) for method in ordered]
    beside = [(variant, method) for method in ordered for variant in study.variants if variant.startswith(method)]
    beside += [(CHOSEN[method], method) for method in ordered if method in CHOSEN]
    pairs = dict.fromkeys((*beside, *combinations(ordered, 2), *combinations(alike, 2)))
    return [pair for pair in pairs if {*pair} <= {*study.run_methods()}]


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
        numbers = [float(of_landmarks.mean()), *ends]
        mean, low, high = map(math.exp, numbers) if row.unit == "ratio" else numbers
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
    if metric in TIMES:
        # times differ by factors
        first, second = (np.log(times.clip(lower=SHORTEST)) for times in (first, second))
    gaps = first - second
    # of a method that lacks landmarks, the others would be the easier ones
    is_whole = not any(NO_RESULT in study.limits.get((codebook.id, method), ()) for method in pair)
    return gaps.where(np.isfinite(gaps) & is_whole).dropna()


# Precision and sparsity -----------------------------------------------------------------------------------------------


def precision_and_sparsity(study: LandmarkStudy) -> Iterator[Contrast]:
    """Contrast methods in mAP, and those that learn in the share of weights that they make zero."""
    learned = [method for method in ran(study, RANKED) if method != "tfidf"]
    compared = ((MAP, RANKED), (SPARSITY, RANKED[:-1]))
    for codebook, (metric, methods) in product(study.vocabularies, compared):
        for pair in pairs_of(study, methods):
            row, gaps = row_of(study, [codebook], metric, *pair), gaps_of(study, codebook, metric, *pair)
            yield from over_landmarks(study, row, gaps, " ".join((codebook.id, *pair)), metric)
    for codebook, method in product(study.vocabularies, learned):
        of_landmarks = study.number(codebook, method, SPARSITY).groupby(level="subset").mean()
        row = replace(row_of(study, [codebook], LARGEST.format(SPARSITY), method), unit="percent")
        yield level(row, of_landmarks.max(), len(of_landmarks))
    for method in learned:
        yield from sparsity_over_codebooks(study, method)


def level(row: Contrast, value: float, n: int) -> Contrast:
    """Return a row of a number that nothing varies."""
    return replace(row, mean=float(value), low=float(value), high=float(value), n=n)


def sparsity_over_codebooks(study: LandmarkStudy, method: str) -> Iterator[Contrast]:
    """Contrast each codebook with the next smaller one; one codebook alone gives a row without a number."""
    if len(study.vocabularies) < 2:
        yield row_of(study, study.vocabularies, OVER_CODEBOOKS, method)
    for small, large in pairwise(study.vocabularies):
        row = row_of(study, [small, large], OVER_CODEBOOKS, method, setting=f"{small.title} to {large.title} words")
        gaps = study.number(large, method, SPARSITY) - study.number(small, method, SPARSITY)
        yield from over_landmarks(study, row, gaps.dropna(), f"{method} {small.id} {large.id}", SPARSITY)


# Times ----------------------------------------------------------------------------------------------------------------


def training_times(study: LandmarkStudy) -> Iterator[Contrast]:
    """Contrast the times of methods that learn with each other, and those of each over numbers of words."""
    learned = ran(study, TABLE_METHODS[1:])
    for codebook, pair, metric in product(study.vocabularies, pairs_of(study, TABLE_METHODS[1:]), TIMES):
        # the paper prints no counts of triplets
        if metric == TRAIN_TIME or not study.is_print:
            row, gaps = row_of(study, [codebook], TIMES[metric], *pair), gaps_of(study, codebook, metric, *pair)
            yield from over_landmarks(study, replace(row, unit="ratio"), gaps, " ".join((codebook.id, *pair)), metric)
    for method in learned:
        yield time_over_words(study, method)


def time_over_words(study: LandmarkStudy, method: str) -> Contrast:
    """Contrast the time with the most words with that with the fewest whose rows have as many non-zeros."""
    times, is_simulated = times_by_words(study, method)
    nonzeros = times.groupby("n_words")["nonzeros"].mean()
    # a cost that follows non-zeros would seem to grow with words where non-zeros do
    beside_largest = nonzeros / nonzeros.iloc[-1] if len(nonzeros) else nonzeros
    is_known = bool(nonzeros.notna().all())
    is_alike = np.maximum(beside_largest, 1 / beside_largest) <= ALIKE
    alike = nonzeros.index[is_alike] if is_known else nonzeros.index
    setting = " to ".join(f"{words:,}" for words in alike[[0, -1]]) + " words" if len(alike) else ""
    row = row_of(study, study.vocabularies, OVER_WORDS, method, setting=setting)
    row = replace(row, unit="ratio", limits="", data=SIMULATED if is_simulated else row.data)
    if len(alike) < 2:
        return row
    small, large = (times[times["n_words"] == words].set_index("unit")["seconds"] for words in alike[[0, -1]])
    if is_simulated:
        ratio, n, name = large.median() / small.median(), min(len(small), len(large)), "repeats"
        low, high = large.min() / small.max(), large.max() / small.min()
    else:
        of_landmarks = (large / small).dropna()
        ratio, n, name = large.mean() / small.mean(), len(of_landmarks), LANDMARKS
        low, high = of_landmarks.min(), of_landmarks.max()
    row = replace(row, mean=float(ratio), n=n, interval=LEAST_TO_LARGEST.format(name))
    # one repeat has no spread, and of rows that may be unlike nothing follows
    return replace(row, low=float(low), high=float(high)) if n > 1 and is_known else row


def times_by_words(study: LandmarkStudy, method: str) -> tuple[pd.DataFrame, bool]:
    """Return CPU seconds and non-zeros by words and repeat, or landmark; and whether they are of simulated rows."""
    if study.has("dimensions"):
        # the time of a step is that of the printed constants
        rows = select(study.table("dimensions"), learner=AS_IN_PRINT.get(method, method)).drop(columns="seconds")
        rows = rows.rename(columns={"n_features": "n_words", "repeat": "unit", "cpu_seconds": "seconds"})
        rows = rows.dropna(subset="seconds")
        if rows["n_words"].nunique() > 1:
            return rows.assign(seconds=rows["seconds"].clip(lower=SHORTEST)), True
    rows = select(study.values, method=method, metric=[TRAIN_TIME, NONZEROS])
    means = rows.pivot_table(index=["representation", "subset"], columns="metric", values="value")
    table = means.reindex(columns=[TRAIN_TIME, NONZEROS]).rename_axis(["representation", "unit"]).reset_index()
    words = table["representation"].map({codebook.id: codebook.n_words for codebook in study.vocabularies})
    times = table.assign(n_words=words, seconds=table[TRAIN_TIME].clip(lower=SHORTEST), nonzeros=table[NONZEROS])
    return times.dropna(subset="seconds"), False
