"""Rules about the claims of SOML (AAAI 2014), by codebook, decided by what other landmarks would show.

Draws of one landmark share its queries and most of its images, so differences are averaged over draws first. Two
intervals then have to agree: that of the t-test over landmarks, and that of a bootstrap clustered by landmark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.seeds import generator
from lookalike.exhibits import verdicts
from lookalike.exhibits.model import Table
from lookalike.exhibits.printed import times_over
from lookalike.ranking.comparison import LEVEL, clustered_bootstrap, corrected_t_test, holm
from lookalike.studies.landmark.rankings import MAP, SPARSITY
from lookalike.studies.landmark.study import (
    LANDMARKS,
    N_TRIPLETS,
    NONZEROS,
    PRINTED_CODEBOOKS,
    TABLE_METHODS,
    TRAIN_TIME,
    TRIPLET_TIME,
    LandmarkStudy,
)
from lookalike.studies.landmark.times import ALIKE
from lookalike.studies.metrics import select

DENSE = 0.005
"""A sparsity in percent below this is printed as 0.00."""
GROWS = 1.3
"""A time that does not even grow this many times from the smallest codebook to the largest does not grow."""
SHORTEST = 1e-9
"""Seconds that a time counts as at least, which has a logarithm."""
TIMES = (TRAIN_TIME, TRIPLET_TIME)
"""Metrics of which ratios are told, and not differences."""
ON_AVERAGE, NOT_ON_AVERAGE = "as claimed on average", "not on average"
ON_MOST, NOT_ON_MOST = "as claimed on most landmarks", "not on most landmarks"
SIMULATED, OF_FITS = "simulated rows", "this study's fits"
BOUNDS = "within the bounds"
"""Words of a rule's description in whose place the table says which bounds a claim has."""

Methods = str | Sequence[str]
"""Ids, or ``learned``: the paper's learning methods that were run."""


@dataclass(frozen=True)
class Difference:
    """Two methods, or two codebooks, held against each other."""

    name: str
    of_landmarks: npt.NDArray[np.float64]
    """First minus second, a mean over draws for each landmark; of times the logarithm of first over second."""
    intervals: tuple[verdicts.Interval, ...]
    """The 95% intervals of their mean, of the t-test and of the bootstrap; NaN with a single landmark."""

    @property
    def mean(self) -> float:
        """Mean over landmarks."""
        return float(self.of_landmarks.mean())

    @property
    def widest(self) -> verdicts.Interval:
        """Lowest and highest end of both intervals."""
        return min(low for low, _ in self.intervals), max(high for _, high in self.intervals)


def difference_within(
    study: LandmarkStudy,
    first: Methods,
    second: Methods,
    metric: str = MAP,
    low: float = 0.0,
    high: float = math.inf,
    most: bool = False,
) -> verdicts.Finding:
    """Holds if the whole interval of each difference lies within the bounds; fails if one lies outside."""
    # in points, of times the logarithm of their ratio; `most`: about most landmarks, not about the mean over them
    pairs = [pair for pair in product(_methods(study, first), _methods(study, second)) if pair[0] != pair[1]]
    if metric == TRAIN_TIME:
        return _longer(study, pairs, low, high)
    return _decided([compare(study, *pair, metric) for pair in pairs], metric, low, high, most=most)


def is_dense(study: LandmarkStudy, method: str) -> verdicts.Finding:
    """Holds if its sparsity rounds to 0.00% on every landmark, as in print; fails if it does not."""
    rows = _rows(study, method, SPARSITY)
    if rows.empty:
        return _missing(study, method)
    of_landmarks = rows.groupby("subset")["value"].mean()
    evidence = f"at most {of_landmarks.max():.2f}% of the weights of a landmark"
    average = ON_AVERAGE if of_landmarks.mean() < DENSE else NOT_ON_AVERAGE
    return verdicts.Finding(verdicts.HOLDS if of_landmarks.max() < DENSE else verdicts.FAILS, evidence, average)


def grows_with_codebook(
    study: LandmarkStudy, methods: Sequence[str], metric: str, grows: bool = True
) -> verdicts.Finding:
    """Holds if each step to the next larger codebook changes it as claimed, with its whole interval, or else fails."""
    if len(study.codebooks) < 2:
        return verdicts.Finding(verdicts.OPEN, "one codebook alone was run")
    found: list[Difference | verdicts.Finding] = []
    for method in methods:
        for small, large in pairwise(study.codebooks):
            first, second = (_rows(study.at(codebook), method, metric) for codebook in (large, small))
            name = f"{study.title_of(method)}, {small.title} to {large.title} words"
            test = _difference(study, name, first, second, f"{method} {small.id} {large.id}", metric)
            found.append(test or _missing(study, method))
    return _decided(found, metric, *((0.0, math.inf) if grows else (-math.inf, 0.0)))


def time_over_words(study: LandmarkStudy, methods: Sequence[str], grows: bool) -> verdicts.Finding:
    """Holds if each takes, as claimed, more than 1.3 times as long with the most visterms as with the fewest, or not.

    Times are of simulated rows, else of the study's own fits.
    """
    found = {study.title_of(method): _growth(study, method, grows=grows) for method in methods}
    all_of = verdicts.together(list(found.values()))
    against = [title for title, decision in found.items() if decision.by_numbers == NOT_ON_AVERAGE]
    average = ON_AVERAGE if all(decision.by_numbers for decision in found.values()) else ""
    if against:
        average = NOT_ON_AVERAGE if len(found) == 1 else f"{NOT_ON_AVERAGE} ({', '.join(against)})"
    return verdicts.Finding(all_of.verdict, all_of.evidence, average)


def _longer(study: LandmarkStudy, pairs: Sequence[tuple[str, str]], low: float, high: float) -> verdicts.Finding:
    """Decide a claim about the first time of each pair over the second, in total and by the triplet."""
    total, by_triplet = (
        _decided([compare(study, *pair, metric) for pair in pairs], metric, low, high) for metric in TIMES
    )
    if study.is_print:
        # it prints no counts of triplets
        return total
    methods = dict.fromkeys(method for pair in pairs for method in pair)
    means = {method: [_rows(study, method, metric)["value"].mean() for metric in (N_TRIPLETS, TRAIN_TIME)]
             for method in methods}  # fmt: skip
    told = ", ".join(verdicts.triplets_seen(study.title_of(method), *of) for method, of in means.items() if of[0] > 0)
    found = verdicts.both_ways(total, by_triplet)
    return replace(found, evidence=f"{found.evidence}; seen: {told}") if told else found


def _methods(study: LandmarkStudy, named: Methods) -> list[str]:
    if named == "learned":
        return [method for method in TABLE_METHODS[1:] if method in study.methods]
    return [named] if isinstance(named, str) else list(named)


def _codebook(study: LandmarkStudy) -> str:
    """Id of the codebook at hand; "" where a claim is about all."""
    return study.codebook.id if study.codebook is not None else ""


def _rows(study: LandmarkStudy, method: str, metric: str) -> pd.DataFrame:
    """One number of a method with the codebook at hand, by landmark and draw."""
    return select(study.values, representation=_codebook(study), method=method, metric=metric)


def _missing(study: LandmarkStudy, method: str) -> verdicts.Finding:
    return verdicts.Finding(verdicts.OPEN, f"{study.title_of(method)} has no result here")


def compare(study: LandmarkStudy, first: str, second: str, metric: str) -> Difference | verdicts.Finding:
    """First minus second with the codebook at hand, or why there is no such difference."""
    titles = [study.title_of(method) for method in (first, second)]
    # of a method that lacks landmarks, the others would be the easier ones
    stopped = {method for codebook, _, method in study.not_converged if codebook == _codebook(study)}
    for method, title in zip((first, second), titles, strict=True):
        if method in stopped:
            return verdicts.Finding(verdicts.LEFT_OUT, f"{title} did not end within its time limit")
    rows = [_rows(study, method, metric) for method in (first, second)]
    for method, of in zip((first, second), rows, strict=True):
        if of.empty:
            return _missing(study, method)
    name = f"{titles[0]} {'over' if metric in TIMES else 'minus'} {titles[1]}"
    found = _difference(study, name, rows[0], rows[1], f"{_codebook(study)} {first} {second}", metric)
    return found or verdicts.Finding(verdicts.OPEN, f"{titles[0]} and {titles[1]} share no draw")


def _difference(
    study: LandmarkStudy, name: str, first: pd.DataFrame, second: pd.DataFrame, stream: str, metric: str
) -> Difference | None:
    """First minus second over landmarks and draws that both have; None without any. `stream` names the bootstrap's."""
    keys = ["subset", "fold"]
    both = first[[*keys, "value"]].merge(second[[*keys, "value"]], on=keys, suffixes=("_first", "_second"))
    if both.empty:
        return None
    values = both[["value_first", "value_second"]].to_numpy(dtype=np.float64)
    if metric in TIMES:
        # times differ by factors
        values = np.log(np.maximum(values, SHORTEST))
    table = both.assign(difference=values[:, 0] - values[:, 1])
    of_landmarks = table.groupby("subset", sort=True)["difference"].mean().to_numpy(dtype=np.float64)
    # landmarks are not partitions of one set of images, so there is nothing to correct: the ordinary paired test
    t = corrected_t_test(of_landmarks, n_train=1, n_test=0)
    random = generator(study.settings["seed"], "landmark claims", study.dataset, stream, metric)
    bootstrap = clustered_bootstrap(table.rename(columns={"subset": "image_id"}), random_state=random)
    return Difference(name, of_landmarks, ((t.low, t.high), (bootstrap.low, bootstrap.high)))


def _decided(
    found: Sequence[Difference | verdicts.Finding], metric: str, low: float, high: float, *, most: bool = False
) -> verdicts.Finding:
    """Decide a claim by several differences, each of which has to lie within the bounds, and why some are not there."""
    tests = [one for one in found if isinstance(one, Difference)]
    others = [one for one in found if isinstance(one, verdicts.Finding)]
    # one of several that lies beyond its bound by chance does not refute a claim
    bounds = [low if abs(test.mean - low) <= abs(test.mean - high) else high for test in tests]
    nearer = zip(tests, bounds, strict=True)
    p_values = holm([corrected_t_test(test.of_landmarks - bound, n_train=1, n_test=0).p for test, bound in nearer])
    findings = []
    for test, p in zip(tests, p_values, strict=True):
        inside = verdicts.within(test.intervals, low, high)
        refuted = inside is False and p < LEVEL
        verdict = verdicts.HOLDS if inside else verdicts.FAILS if refuted else verdicts.OPEN
        findings.append(verdicts.Finding(verdict, f"{test.name} {_in_words(test, metric)}"))
    all_of = verdicts.together([*findings, *others])
    incomplete = any(other.verdict == verdicts.OPEN for other in others)
    average = _on_average(tests, low, high, most=most, incomplete=incomplete)
    verdict = verdicts.OPEN if all_of.verdict == verdicts.LEFT_OUT else all_of.verdict
    return verdicts.Finding(verdict, all_of.evidence, average)


def _in_words(test: Difference, metric: str) -> str:
    """``+3.4 [1.2, 5.6] (above 0 on 6 of 7 landmarks)`` of points; ``12x [8.1x, 17x]`` of times."""
    n, (low, high) = len(test.of_landmarks), test.widest
    if metric in TIMES:
        interval = f"[{times_over(math.exp(low))}, {times_over(math.exp(high))}]"
        return f"{times_over(math.exp(test.mean))} {interval if n > 1 else '(one landmark)'}"
    if n == 1:
        return f"{test.mean:+.1f} (one landmark)"
    above = f"above 0 on {np.count_nonzero(test.of_landmarks > 0)} of {n} landmarks"
    return f"{test.mean:+.1f} [{low:.1f}, {high:.1f}] ({above})"


def _on_average(tests: Sequence[Difference], low: float, high: float, *, most: bool, incomplete: bool) -> str:
    """What the landmarks at hand say; nothing for a claim that a difference which is not there might still break."""
    counts = [int(np.count_nonzero((test.of_landmarks > low) & (test.of_landmarks <= high))) for test in tests]
    if most:
        met = [2 * count > len(test.of_landmarks) for count, test in zip(counts, tests, strict=True)]
    else:
        met = [low < test.mean <= high for test in tests]
    if not tests or (incomplete and all(met)):
        return ""
    if most:
        # what a method is compared with is the same for all, and the evidence says it
        told = [f"{test.name.partition(' minus ')[0]} {count} of {len(test.of_landmarks)}"
                for test, count in zip(tests, counts, strict=True)]  # fmt: skip
        return f"{ON_MOST if all(met) else NOT_ON_MOST} ({', '.join(told)})"
    against = [test.name for test, is_met in zip(tests, met, strict=True) if not is_met]
    return f"{NOT_ON_AVERAGE} ({', '.join(against)})" if against else ON_AVERAGE


def _growth(study: LandmarkStudy, method: str, *, grows: bool) -> verdicts.Finding:
    """Decide whether a time grows from the smallest codebook to the largest whose rows have as many non-zeros."""
    title = study.title_of(method)
    times, of = _times(study, method)
    if times["n_words"].nunique() < 2:
        return verdicts.Finding(verdicts.OPEN, f"{title}: no times at several sizes")
    nonzeros = times.groupby("n_words")["nonzeros"].mean()
    # a cost that follows non-zeros would seem to grow with words where non-zeros do
    beside_largest = nonzeros / nonzeros.iloc[-1]
    unknown = bool(nonzeros.isna().any())
    alike = nonzeros.index[unknown | (np.maximum(beside_largest, 1 / beside_largest) <= ALIKE)]
    if len(alike) < 2:
        told = ", ".join(f"{mean:,.0f} at {words:,}" for words, mean in nonzeros.items())
        return verdicts.Finding(
            verdicts.OPEN, f"{title}: rows of different sizes are unlike, with non-zeros of {told} words ({of})"
        )
    smallest, largest = int(alike.min()), int(alike.max())
    ratio, low, high = _ratios(times, smallest, largest, paired=of != SIMULATED)
    spread = "" if math.isnan(low) else f" [{times_over(low)}, {times_over(high)}]"
    mean = times.loc[times["n_words"].isin(alike), "nonzeros"].mean()
    told = "rows whose non-zeros are not known" if unknown else f"about {mean:,.0f} non-zeros"
    evidence = f"{title} {times_over(ratio)}{spread} from {smallest:,} to {largest:,} words, of {told} ({of})"
    ends = times[times["n_words"].isin([smallest, largest])].groupby("n_words")[["n_triplets", "seconds"]].mean()
    if ends["n_triplets"].gt(0).all():
        # as many at every size, so that the time by the triplet grows alike
        seen = [verdicts.triplets_seen(f"{words:,} words", *ends.loc[words]) for words in (smallest, largest)]
        evidence += f", seen: {', '.join(seen)}"
    verdict = verdicts.HOLDS if (low > GROWS) is grows else verdicts.FAILS
    if unknown or math.isnan(low) or low <= GROWS < high:
        verdict = verdicts.OPEN
        evidence += "; one repeat, whose spread is not known" if math.isnan(low) else ""
    return verdicts.Finding(verdict, evidence, ON_AVERAGE if (ratio > GROWS) is grows else NOT_ON_AVERAGE)


def _times(study: LandmarkStudy, method: str) -> tuple[pd.DataFrame, str]:
    """``n_words``, ``unit`` (a repeat or a landmark), CPU ``seconds`` and ``nonzeros``, and what they are of."""
    columns = ["n_words", "unit", "seconds", "nonzeros", "n_triplets"]
    if study.has("dimensions"):
        rows = select(study.table("dimensions"), learner=method).drop(columns="seconds")
        rows = rows.rename(columns={"n_features": "n_words", "repeat": "unit", "cpu_seconds": "seconds"})
        rows = rows[rows["seconds"].notna()]
        if rows["n_words"].nunique() > 1:
            return rows[columns], SIMULATED
    parts = [pd.DataFrame(columns=columns)]
    for codebook in study.codebooks:
        numbers = {
            name: _rows(study.at(codebook), method, metric).groupby("subset")["value"].mean()
            for name, metric in (("seconds", TRAIN_TIME), ("nonzeros", NONZEROS), ("n_triplets", N_TRIPLETS))
        }
        if len(numbers["seconds"]):
            of_codebook = pd.DataFrame(numbers).rename_axis("unit").reset_index().assign(n_words=codebook.n_words)
            parts.append(of_codebook[columns].dropna(subset="seconds"))
    return pd.concat(parts[1:] or parts, ignore_index=True), "as printed" if study.is_print else OF_FITS


def _ratios(times: pd.DataFrame, smallest: int, largest: int, *, paired: bool) -> tuple[float, float, float]:
    """Time at the largest size over that at the smallest, and its least and largest; these are NaN with one repeat."""
    seconds = times.assign(seconds=times["seconds"].clip(lower=SHORTEST)).set_index("unit")
    small, large = (seconds.loc[seconds["n_words"] == size, "seconds"] for size in (smallest, largest))
    if paired:
        of_landmarks = (large / small).dropna()
        ratio, n = large.mean() / small.mean(), len(of_landmarks)
        low, high = of_landmarks.min(), of_landmarks.max()
    else:
        ratio, n = large.median() / small.median(), min(len(small), len(large))
        low, high = large.min() / small.max(), large.max() / small.min()
    return (float(ratio), float(low), float(high)) if n > 1 else (float(ratio), math.nan, math.nan)


def claims_table(study: LandmarkStudy, rules: Mapping[str, verdicts.Rule]) -> Table:
    """Every claim with its verdict, by codebook or for all together; beside it what the printed numbers say."""
    printed = study.as_printed()
    records = []
    for claim in verdicts.claims_of(study.claim_rows):
        about = [setting.partition("=")[2] for setting in claim.settings]
        for codebook in [one for one in study.codebooks if one.printed in about] if about else [None]:
            ours = verdicts.decide(claim, study.at(codebook), rules)
            beside = None if codebook is None else printed.codebooks[codebook.place]
            # no limit of ours and no gate stands before the printed numbers
            theirs = rules[claim.rule](printed.at(beside), **claim.parameters) if claim.rule else ours
            records.append({
                "id": claim.id, "paper": claim.paper, "place": claim.place, "claim": claim.text,
                "representation": "" if codebook is None else codebook.id,
                "verdict": ours.verdict, "evidence": ours.evidence, "on_average": ours.by_numbers,
                "printed_on_average": theirs.by_numbers, "printed_verdict": theirs.verdict,
                "printed_evidence": theirs.evidence, "gate": ours.gate,
                "simulated": "yes" if SIMULATED in ours.evidence else "", "rule": claim.rule,
                "decided_by": _decided_by(claim, rules),
            })  # fmt: skip
    frame = pd.DataFrame(records)
    heads = {"place": "place", "claim": "claim", "representation": "words", "verdict": "verdict",
             "evidence": "evidence", "on_average": "our means", "printed_on_average": "printed means",
             "decided_by": "decided by"}  # fmt: skip
    titles = {"representation": {"": "all", **{codebook.id: codebook.title for codebook in study.codebooks}}}
    return Table(frame, shown=heads, titles=titles, notes=_notes(study, frame))


def _decided_by(claim: verdicts.Claim, rules: Mapping[str, verdicts.Rule]) -> str:
    """Description of a claim's rule, with the claim's own bounds."""
    low, high = claim.parameters.get("low", 0), claim.parameters.get("high", math.inf)
    bounds = f"above {low:g} points" if high == math.inf else f"within {low:g} and {high:g} points"
    if claim.parameters.get("metric") == TRAIN_TIME:
        # of a ratio of times, whose logarithm is the difference
        bounds = f"above {math.exp(low):g} as a ratio"
    return verdicts.sentence_of(rules.get(claim.rule)).replace(BOUNDS, bounds)


def _notes(study: LandmarkStudy, frame: pd.DataFrame) -> tuple[str, ...]:
    """How many claims hold, what the intervals are of, and what the means are beside them."""
    counts = frame["verdict"].value_counts()
    holds, fails, open_, untested = (int(counts.get(verdict, 0)) for verdict in verdicts.VERDICTS)
    of_map = frame[frame["rule"].eq(difference_within.__name__) & frame["printed_evidence"].ne("")]
    undecided = int((of_map["printed_verdict"] == verdicts.OPEN).sum())
    words = ", ".join(f"{words:,}" for words in list(PRINTED_CODEBOOKS)[: len(study.codebooks)])
    return (
        f"Of {len(frame)} verdicts {holds} hold, {fails} do not, {open_} are undecided and {untested} were not tested.",
        f"A verdict asks whether other landmarks would show the same. The paper's own numbers, of {len(LANDMARKS)} "
        f"landmarks, would leave {undecided} of {len(of_map)} comparisons of methods undecided.",
        *study.of_printed_sign(),
        "Our means: what the means of our landmarks say without intervals, or, if a claim is about most cases, on how "
        f"many landmarks it is so. Printed means: the same of the paper's numbers ({words} words).",
        "Differences are in points. Brackets span two 95% intervals: that of a t-test over landmarks, after averaging "
        "the draws of each, and that of a bootstrap over landmarks.",
        "Both intervals have to lie on one side of the bound, or else the claim is undecided; few landmarks make them "
        "wide. A claim about several methods holds if it holds for all of them. It fails if it fails for one, with p "
        "below 0.05 after Holm's adjustment.",
        "Times are processor time.",
    )
