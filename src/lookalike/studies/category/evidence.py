"""What rules about claims share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd

from lookalike.exhibits import verdicts
from lookalike.ranking.comparison import CorrectedT, corrected_t_test
from lookalike.studies.category.study import CategoryStudy, Subset


class UndecidedError(Exception):
    """Raised with a verdict and the evidence for it, where a subset or a method cannot be decided."""


def attempt(decide: verdicts.Rule, *given: Any, **parameters: Any) -> verdicts.Finding:
    """What a function finds, or why it cannot decide."""
    try:
        return decide(*given, **parameters)
    except UndecidedError as error:
        return verdicts.Finding(*error.args)


def each(decide: verdicts.Rule, cases: Iterable[Any]) -> verdicts.Finding:
    """One finding of several cases, such as methods, each decided by itself."""
    return verdicts.together([attempt(decide, case) for case in cases])


def subset_rule(decide: verdicts.Rule) -> verdicts.Rule:
    """Make a rule of what decides one subset: one finding of all subsets, each under its title."""

    @wraps(decide)
    def of_all(study: CategoryStudy, **parameters: Any) -> verdicts.Finding:
        return verdicts.of_parts(
            {subset.title: attempt(decide, study, subset, **parameters) for subset in study.subsets}
        )

    return of_all


def missing(study: CategoryStudy, subset: Subset, methods: Sequence[str], what: str) -> UndecidedError:
    """Why methods cannot be decided on a subset: one did not converge, was not run, or lacks `what`."""
    for method in methods:
        if (subset.id, method) in study.not_converged:
            return UndecidedError(verdicts.LEFT_OUT, f"{study.title_of(method)} did not converge")
    not_run = [study.title_of(method) for method in methods if method not in subset.methods]
    if not_run:
        return UndecidedError(verdicts.NOT_TESTED, f"{' and '.join(not_run)} not run")
    return UndecidedError(verdicts.OPEN, f"{' and '.join(map(study.title_of, methods))}: no {what}")


def by_t(
    study: CategoryStudy,
    differences: pd.Series,
    names: str,
    lacking: UndecidedError,
    bounds: verdicts.Interval | None = None,
) -> verdicts.Finding:
    """What an interval over folds says: within bounds or, without them, above 0; with fewer than two, `lacking`."""
    test = t_test(study, differences)
    if test is None:
        raise lacking
    interval = [(test.low, test.high)]
    verdict = verdicts.superior(interval) if bounds is None else verdicts.verdict_of(verdicts.within(interval, *bounds))
    return verdicts.Finding(verdict, f"{names} {in_points(test)}")


def t_test(study: CategoryStudy, differences: pd.Series) -> CorrectedT | None:
    """Corrected t-test over the folds that have a difference; None with fewer than two."""
    known, splits = differences.dropna().to_numpy(dtype=np.float64), study.settings["splits"]
    return corrected_t_test(known, splits["train"], splits["test"]) if len(known) > 1 else None


def in_points(test: CorrectedT) -> str:
    """``+4.0 points [+2.1, +5.9]``: a mean difference and its 95% interval by the corrected t-test."""
    return f"{100 * test.mean:+.1f} points [{100 * test.low:+.1f}, {100 * test.high:+.1f}]"
