"""What the rules about the claims of the landmark study stand on: differences over landmarks, and times over words.

Draws of one landmark share its queries and most of its images, so they are no independent evidence: the differences of
a landmark are averaged over its draws first, and two intervals say what other landmarks would show, that of the t-test
over landmarks and that of a bootstrap in which a landmark's draws are drawn together or not at all. Beside this verdict
stands what the paper itself goes by: the mean over the landmarks at hand, or on how many of them a claim is met. The
paper's own numbers go through the same rules. What each claim needs is in `lookalike.exhibits.landmark_claims`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.seeds import generator
from lookalike.exhibits.claim_evidence import FAILS, HOLDS, LEFT_OUT, OPEN, Finding, together, within
from lookalike.exhibits.landmark_context import (
    LANDMARKS,
    PAPER,
    PRINTED_CODEBOOKS,
    PRINTED_METHOD,
    TABLE_METHODS,
    Codebook,
    LandmarkContext,
    landmark_title,
)
from lookalike.exhibits.landmark_figures import ALIKE, method_of_learner
from lookalike.exhibits.landmark_tables import MEAN, NONZEROS, QUANTITIES
from lookalike.exhibits.runtime import TRAIN_TIME, times_over
from lookalike.ranking.comparison import LEVEL, clustered_bootstrap, corrected_t_test, holm

if TYPE_CHECKING:
    import pandas as pd

GROWS = 1.3
"""A time that does not even grow this many times from the smallest codebook to the largest does not grow."""
SHORTEST = 1e-9
"""Seconds that a time counts as at least, which has a logarithm."""
ON_AVERAGE, NOT_ON_AVERAGE = "as claimed on average", "not on average"
ON_MOST, NOT_ON_MOST = "as claimed on most landmarks", "not on most landmarks"
SIMULATED, OF_FITS = "simulated rows", "this study's fits"


class Study(NamedTuple):
    """What rules decide by."""

    values: pd.DataFrame
    """From `lookalike.exhibits.landmark_tables.values_of`."""
    dimensions: pd.DataFrame | None
    context: LandmarkContext
    printed: bool = False
    """Whether these are the paper's numbers, of which nothing of ours is to be said."""


class Decision(NamedTuple):
    """What a rule finds."""

    verdict: str
    """Whether other landmarks would agree: one of `lookalike.exhibits.landmark_claims.VERDICTS`."""
    evidence: str
    """The figures, or why there are none."""
    on_average: str = ""
    """What the means over these landmarks say by themselves, or on how many a claim is met; "" without numbers."""


class Difference(NamedTuple):
    """Two methods, or two codebooks, held against each other."""

    of_landmarks: npt.NDArray[np.float64]
    """First minus second, a mean over draws for each landmark; of times the logarithm of first over second."""
    intervals: tuple[tuple[float, float], ...]
    """The 95% intervals of their mean, of the t-test and of the bootstrap; NaN with a single landmark."""

    @property
    def mean(self) -> float:
        """Mean over landmarks."""
        return float(self.of_landmarks.mean())


def printed_study(reference: pd.DataFrame, context: LandmarkContext) -> Study:
    """Return the paper's own numbers as a study: seven landmarks, one draw, three codebooks.

    Parameters
    ----------
    reference : DataFrame
        Printed numbers, from `lookalike.exhibits.reference.load`.
    context : LandmarkContext
        Ours, which gives the seed of the bootstrap.
    """
    import pandas as pd

    rows = reference[(reference["paper"] == PAPER) & reference["metric"].isin(QUANTITIES) & reference["value"].notna()]
    setting = rows["setting"].str.extract(r"^codebook=(?P<representation>[^;]+);landmark=(?P<landmark>.+)$")
    ours = {printed: method for method, printed in PRINTED_METHOD.items()}
    columns = {"method": rows["method"].replace(ours), "draw": 0, "metric": rows["metric"], "value": rows["value"]}
    values = pd.DataFrame({**setting, **columns}, index=rows.index)
    codebooks = tuple(
        Codebook(id=name, title=f"{words:,}", n_words=words, place=place)
        for place, (words, name) in enumerate(PRINTED_CODEBOOKS.items())
    )
    printed = replace(
        context,
        codebooks=codebooks,
        landmarks={landmark: landmark_title(landmark) for landmark in LANDMARKS},
        methods=TABLE_METHODS,
        not_run=None,
        not_converged={},
        stopped_at_limit={},
        method_titles={},
    )
    return Study(values[values["landmark"] != MEAN], None, printed, printed=True)


def of_pairs(
    study: Study,
    codebook: Codebook,
    pairs: Sequence[tuple[str, str]],
    metric: str,
    low: float = 0.0,
    high: float = math.inf,
    *,
    in_most_cases: bool = False,
) -> Decision:
    """Decide a claim about several pairs of methods, first minus second (times: first over second).

    Parameters
    ----------
    study : Study
    codebook : Codebook
    pairs : sequence of tuple of str
    metric : str
        Percentages, or ``train_time``.
    low, high : float
        Bounds of the difference, in points; of the logarithm of a ratio of times.
    in_most_cases : bool
        Whether the claim is about most landmarks, not about the mean over them.
    """
    context = study.context
    names, tests, findings = [], [], []
    for first, second in pairs:
        failed = next((method for method in (first, second) if did_not_end(context, codebook, method)), None)
        if failed is not None:
            findings.append(Finding(LEFT_OUT, f"{context.title_of(failed)} did not end within its time limit"))
            continue
        rows = [rows_of(study, codebook, method, metric) for method in (first, second)]
        absent = next((method for method, of in zip((first, second), rows, strict=True) if of.empty), None)
        if absent is not None:
            findings.append(Finding(*missing(context, absent)[:2]))
            continue
        test = difference(study, rows[0], rows[1], f"{codebook.id} {first} {second}", metric)
        if test is None:
            findings.append(Finding(OPEN, f"{context.title_of(first)} and {context.title_of(second)} share no draw"))
            continue
        sign = "over" if metric == TRAIN_TIME else "minus"
        names.append(f"{context.title_of(first)} {sign} {context.title_of(second)}")
        tests.append(test)
    return decided(names, tests, metric, low, high, findings, in_most_cases=in_most_cases)


def decided(
    names: Sequence[str],
    tests: Sequence[Difference],
    metric: str,
    low: float,
    high: float,
    others: Sequence[Finding] = (),
    *,
    in_most_cases: bool = False,
) -> Decision:
    """Decide a claim by several differences, each of which has to lie within the bounds.

    Parameters
    ----------
    names, tests : sequence
        The differences and what they are of.
    metric : str
    low, high : float
    others : sequence of Finding
        Of what has no difference.
    in_most_cases : bool
        As of `of_pairs`.
    """
    # one of several that lies beyond its bound by chance does not refute a claim
    p_values = holm([_p_of_nearer_bound(test, low, high) for test in tests])
    findings = []
    for name, test, p in zip(names, tests, p_values, strict=True):
        inside = within(test.intervals, low, high)
        refuted = inside is False and p < LEVEL
        verdict = HOLDS if inside else FAILS if refuted else OPEN
        findings.append(Finding(verdict, f"{name} {_told(test, metric)}"))
    verdict, evidence = together([*findings, *others])
    incomplete = any(other.verdict == OPEN for other in others)
    descriptive = _on_average(names, tests, low, high, in_most_cases=in_most_cases, incomplete=incomplete)
    return Decision(OPEN if verdict == LEFT_OUT else verdict, evidence, descriptive)


def all_of(decisions: Mapping[str, Decision]) -> Decision:
    """Decide a claim about several methods by the decision on each, by title."""
    verdict, evidence = together([Finding(*decision[:2]) for decision in decisions.values()])
    told = [decision.on_average for decision in decisions.values()]
    against = [title for title, decision in decisions.items() if decision.on_average == NOT_ON_AVERAGE]
    if against:
        return Decision(verdict, evidence, f"{NOT_ON_AVERAGE} ({', '.join(against)})")
    return Decision(verdict, evidence, ON_AVERAGE if told and all(told) else "")


def outlasts(study: Study, codebook: Codebook, method: str, others: Sequence[str]) -> Decision:
    """Decide whether a method, some of whose fits were broken off at their time limit, is slower than all others.

    What a fit took until its limit is the least that it takes. The claim holds where that is more, on every landmark
    and for every draw, than any fit of another method took there, and is not decidable otherwise.
    """
    context = study.context
    reason = f"{context.title_of(method)} did not end within its time limit: {did_not_end(context, codebook, method)}"
    unknown = [other for other in others if did_not_end(context, codebook, other)]
    times = {one: rows_of(study, codebook, one, TRAIN_TIME).groupby("landmark")["value"] for one in (method, *others)}
    least = times[method].min().reindex(list(context.landmarks))
    most = [times[other].max().reindex(list(context.landmarks)) for other in others]
    if unknown or least.isna().any() or any(of.isna().any() for of in most):
        return Decision(OPEN, f"{reason}; not all times are known")
    if all((least > of).all() for of in most):
        return Decision(HOLDS, f"{reason}; each of its fits took longer than any other method's there", ON_AVERAGE)
    return Decision(OPEN, f"{reason}; not each of its fits took longer than any other method's there")


def difference(study: Study, first: pd.DataFrame, second: pd.DataFrame, name: str, metric: str) -> Difference | None:
    """Return first minus second over landmarks and draws that both have; None where there are none.

    Times are taken as logarithms, since they differ by factors. `name` tells the streams of the bootstrap apart.
    """
    keys = ["landmark", "draw"]
    both = first[[*keys, "value"]].merge(second[[*keys, "value"]], on=keys, suffixes=("_first", "_second"))
    if both.empty:
        return None
    values = both[["value_first", "value_second"]].to_numpy(dtype=np.float64)
    if metric == TRAIN_TIME:
        values = np.log(np.maximum(values, SHORTEST))
    table = both.assign(difference=values[:, 0] - values[:, 1])
    of_landmarks = table.groupby("landmark", sort=True)["difference"].mean().to_numpy(dtype=np.float64)
    # landmarks are not partitions of one set of images, so there is nothing to correct: the ordinary paired test
    t = corrected_t_test(of_landmarks, n_train=1, n_test=0)
    stream = generator(study.context.seed, "landmark claims", study.context.dataset, name, metric)
    clusters = table.rename(columns={"landmark": "image_id", "draw": "fold"})
    bootstrap = clustered_bootstrap(clusters, random_state=stream)
    return Difference(of_landmarks, ((t.low, t.high), (bootstrap.low, bootstrap.high)))


def growth(study: Study, method: str, *, grows: bool) -> Decision:
    """Decide whether a time grows from the smallest codebook to the largest whose rows have as many non-zeros.

    Taken from simulated rows, else from the study's own fits. A cost that follows the non-zeros of rows would seem to
    grow, or not to, with words where it does with them, so sizes of other rows are left out. The spread of the ratio
    is that from the slowest repeat of the one size to the quickest of the other, and the other way round; of fits it is
    that over landmarks.
    """
    title = study.context.title_of(method)
    times, of = _times(study, method)
    if times["n_words"].nunique() < 2:
        return Decision(OPEN, f"{title}: no times at several sizes")
    kept = _of_alike_rows(times)
    if kept["n_words"].nunique() < 2:
        told = ", ".join(f"{nonzeros:,.0f} at {words:,}" for words, nonzeros in _mean_nonzeros(times).items())
        return Decision(OPEN, f"{title}: rows of different sizes are unlike, with non-zeros of {told} words ({of})")
    smallest, largest = int(kept["n_words"].min()), int(kept["n_words"].max())
    ratio, low, high = _ratios(kept, smallest, largest, paired=of != SIMULATED)
    spread = "" if math.isnan(low) else f" [{times_over(low)}, {times_over(high)}]"
    evidence = f"{title} {times_over(ratio)}{spread} from {smallest:,} to {largest:,} words"
    nonzeros = kept["nonzeros"].mean()
    if math.isnan(nonzeros):
        evidence += f", of rows whose non-zeros are not known ({of})"
    else:
        evidence += f", of about {nonzeros:,.0f} non-zeros ({of})"
    if math.isnan(nonzeros) or math.isnan(low) or low <= GROWS < high:
        verdict = OPEN
        evidence += "; one repeat, whose spread is not known" if math.isnan(low) else ""
    else:
        verdict = HOLDS if (low > GROWS) is grows else FAILS
    return Decision(verdict, evidence, ON_AVERAGE if (ratio > GROWS) is grows else NOT_ON_AVERAGE)


def rows_of(study: Study, codebook: Codebook, method: str, metric: str) -> pd.DataFrame:
    """Rows of one number of a method, with ``landmark``, ``draw`` and ``value``."""
    values = study.values
    chosen = (values["representation"] == codebook.id) & (values["method"] == method) & (values["metric"] == metric)
    return values[chosen]


def did_not_end(context: LandmarkContext, codebook: Codebook, method: str) -> str:
    """Why a method lacks landmarks, whose others would be the easier ones; "" where it has all."""
    reasons = (
        reason for (name, _, failed), reason in context.not_converged.items() if (name, failed) == (codebook.id, method)
    )
    return next(reasons, "")


def missing(context: LandmarkContext, method: str) -> Decision:
    """Decision where a method has no number."""
    return Decision(OPEN, f"{context.title_of(method)} has no result here")


def _on_average(
    names: Sequence[str],
    tests: Sequence[Difference],
    low: float,
    high: float,
    *,
    in_most_cases: bool,
    incomplete: bool,
) -> str:
    """What the landmarks at hand say; nothing for a claim that a difference which is not there might still break."""
    counts = [int(np.count_nonzero((test.of_landmarks > low) & (test.of_landmarks <= high))) for test in tests]
    if in_most_cases:
        met = [2 * count > len(test.of_landmarks) for count, test in zip(counts, tests, strict=True)]
    else:
        met = [low < test.mean <= high for test in tests]
    if not tests or (incomplete and all(met)):
        return ""
    if in_most_cases:
        # what a method is compared with is the same for all, and the evidence says it
        told = ", ".join(
            f"{name.partition(' minus ')[0]} {count} of {len(test.of_landmarks)}"
            for name, count, test in zip(names, counts, tests, strict=True)
        )
        return f"{ON_MOST if all(met) else NOT_ON_MOST} ({told})"
    against = [name for name, is_met in zip(names, met, strict=True) if not is_met]
    return f"{NOT_ON_AVERAGE} ({', '.join(against)})" if against else ON_AVERAGE


def _p_of_nearer_bound(test: Difference, low: float, high: float) -> float:
    """p-value of the t-test that the mean is the bound that it is closer to; NaN with a single landmark."""
    bound = low if abs(test.mean - low) <= abs(test.mean - high) else high
    return corrected_t_test(test.of_landmarks - bound, n_train=1, n_test=0).p


def _told(test: Difference, metric: str) -> str:
    """``+3.4 [1.2, 5.6] (6 of 7 above 0)`` of points; ``12x [8.1x, 17x]`` of times."""
    n = len(test.of_landmarks)
    low, high = min(interval[0] for interval in test.intervals), max(interval[1] for interval in test.intervals)
    if metric == TRAIN_TIME:
        interval = f"[{times_over(math.exp(low))}, {times_over(math.exp(high))}]"
        return f"{times_over(math.exp(test.mean))} {interval if n > 1 else '(one landmark)'}"
    if n == 1:
        return f"{test.mean:+.1f} (one landmark)"
    above = f"{np.count_nonzero(test.of_landmarks > 0)} of {n} above 0"
    return f"{test.mean:+.1f} [{low:.1f}, {high:.1f}] ({above})"


def _times(study: Study, method: str) -> tuple[pd.DataFrame, str]:
    """``n_words``, ``unit`` (a repeat or a landmark), CPU ``seconds`` and ``nonzeros``, and what they are of."""
    import pandas as pd

    columns = ["n_words", "unit", "seconds", "nonzeros"]
    if study.dimensions is not None and not study.dimensions.empty:
        rows = study.dimensions[method_of_learner(study.dimensions) == method]
        if "nonzeros" not in rows:
            rows = rows.assign(nonzeros=math.nan)
        rows = rows.rename(columns={"n_features": "n_words", "repeat": "unit", "cpu_seconds": "seconds_of_cpu"})
        rows = rows.drop(columns="seconds", errors="ignore").rename(columns={"seconds_of_cpu": "seconds"})
        rows = rows[rows["seconds"].notna()]
        if rows["n_words"].nunique() > 1:
            return rows[columns], SIMULATED
    parts = [pd.DataFrame(columns=columns)]
    for codebook in study.context.codebooks:
        numbers = {
            name: rows_of(study, codebook, method, metric).groupby("landmark")["value"].mean()
            for name, metric in (("seconds", TRAIN_TIME), ("nonzeros", NONZEROS))
        }
        if len(numbers["seconds"]):
            of_codebook = pd.DataFrame(numbers).rename_axis("unit").reset_index().assign(n_words=codebook.n_words)
            parts.append(of_codebook[columns].dropna(subset="seconds"))
    return pd.concat(parts[1:] or parts, ignore_index=True), "as printed" if study.printed else OF_FITS


def _mean_nonzeros(times: pd.DataFrame) -> pd.Series:
    """Mean non-zeros of a row by number of words."""
    means: pd.Series = times.groupby("n_words")["nonzeros"].mean()
    return means


def _of_alike_rows(times: pd.DataFrame) -> pd.DataFrame:
    """Times at the sizes whose rows have about as many non-zeros as those of the largest; all where none is known."""
    nonzeros = _mean_nonzeros(times)
    if nonzeros.isna().any():
        return times.assign(nonzeros=math.nan)
    ratio = nonzeros / nonzeros.iloc[-1]
    alike = nonzeros.index[np.maximum(ratio, 1 / ratio) <= ALIKE]
    return times[times["n_words"].isin(alike)]


def _ratios(times: pd.DataFrame, smallest: int, largest: int, *, paired: bool) -> tuple[float, float, float]:
    """Time at the largest size over that at the smallest, and its least and largest; these are NaN with one repeat."""
    small, large = (times[times["n_words"] == size].set_index("unit")["seconds"] for size in (smallest, largest))
    if paired:
        of_landmarks = (large / small).dropna()
        spread = of_landmarks.min(), of_landmarks.max()
        return float(large.mean() / small.mean()), *_spread(spread, len(of_landmarks))
    spread = large.min() / small.max(), large.max() / small.min()
    return float(large.median() / small.median()), *_spread(spread, min(len(small), len(large)))


def _spread(bounds: tuple[Any, Any], n: int) -> tuple[float, float]:
    return (float(bounds[0]), float(bounds[1])) if n > 1 else (math.nan, math.nan)
