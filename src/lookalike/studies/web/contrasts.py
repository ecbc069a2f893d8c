"""What the web study contrasts: precision of methods, and how training times grow with the number of images (JMLR 5.2).

Intervals of precision are two standard errors over test images; those of growth are of the slope of a line through
logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

import pandas as pd

from lookalike.exhibits.contrasts import SIMULATED, TOO_FEW, Contrast
from lookalike.studies.web.numbers import GAIN, IRRELEVANT
from lookalike.studies.web.runtime_figure import LMNN, OASIS, PowerLaw, growth, measured_times
from lookalike.studies.web.study import WebStudy

TEST_IMAGES, RETRIEVED, SIZES = "test images", "retrieved images", "sizes"
K = 10
"""First images that claims and margins ask about, also where fewer are retrieved."""


def contrasts(study: WebStudy) -> list[Contrast]:
    """Precision at every k of each pair of methods, and of OASIS beside its twin with irrelevant negatives alone."""
    return [*precisions(study), *twins(study)]


def precisions(study: WebStudy) -> Iterator[Contrast]:
    """One method minus another, as if their errors were independent."""
    for first, second in combinations(study.methods, 2):
        ours, other = (at_every_k(study, "p@k", method) for method in (first, second))
        errors = map(math.hypot, ours["standard_error"], other["standard_error"])
        yield from over_images(study, first, second, ours["precision"] - other["precision"], errors)


def twins(study: WebStudy) -> Iterator[Contrast]:
    """The first ranker minus its twin, by the differences of single queries."""
    if IRRELEVANT in set(study.table("metrics")["method"]):
        gains = at_every_k(study, GAIN, IRRELEVANT)
        yield from over_images(study, "oasis", IRRELEVANT, gains["precision"], gains["standard_error"])


def at_every_k(study: WebStudy, metric: str, method: str) -> pd.DataFrame:
    """Precision by k, with a row of `K` in any case."""
    table = study.precision(metric, [method]).set_index("k")
    return table.reindex(sorted({*table.index, K}))


def over_images(
    study: WebStudy, first: str, second: str, gaps: pd.Series, errors: Iterable[float]
) -> Iterator[Contrast]:
    """Differences by k with intervals of two standard errors on both sides."""
    n = study.size_of("n_queries")
    for k, gap, error in zip(gaps.index, gaps, errors, strict=True):
        names = ("", f"p@{k}", first, second)
        if math.isnan(gap):
            yield Contrast(*names, interval=RETRIEVED, data=SIMULATED, limits=f"{first}:{TOO_FEW}")
        else:
            ends = (gap, gap - 2 * error, gap + 2 * error)
            yield Contrast(*names, *ends, n=n, interval=TEST_IMAGES, data=SIMULATED)


def time_contrasts(study: WebStudy) -> list[Contrast]:
    """The power of the number of images by which a training time grows, and by how much more that of LMNN."""
    runtime = study.table("runtime")
    timed, measured = set(runtime["learner"]), measured_times(runtime)
    laws = {learner: growth(measured, learner) for learner in (LMNN, OASIS) if learner in timed}
    names = [*((learner,) for learner in laws), *combinations(laws, 2)]
    return [of_powers({learner: laws[learner] for learner in learners}) for learners in names]


def of_powers(laws: Mapping[str, PowerLaw | None]) -> Contrast:
    """The power of a law, or of the first less that of the second; without a number where too few sizes give none."""
    first, second, *_ = (*map(str.lower, laws), "")
    few = [f"{learner.lower()}:{TOO_FEW}" for learner, law in laws.items() if law is None]
    row = Contrast("", "growth of time", first, second, interval=SIZES, unit="", data=SIMULATED, limits=";".join(few))
    if few:
        return row
    known = [law for law in laws.values() if law is not None]
    mean = known[0].exponent - sum(law.exponent for law in known[1:])
    reach = math.hypot(*(law.half_width for law in known))
    return replace(row, mean=mean, low=mean - reach, high=mean + reach, n=min(law.n_sizes for law in known))
