"""What the web study contrasts: precision of methods (JMLR 5.2); intervals are two standard errors over images."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import pandas as pd

from lookalike.exhibits.contrasts import SIMULATED, TOO_FEW, Contrast
from lookalike.studies.web.study import WebStudy

TEST_IMAGES, RETRIEVED = "test images", "retrieved images"
K = 10
"""First images that margins ask about, also where fewer are retrieved."""


def contrasts(study: WebStudy) -> list[Contrast]:
    """Precision at every k of each pair of methods, as if their errors were independent."""
    return [row for pair in combinations(study.methods, 2) for row in differences(study, *pair)]


def differences(study: WebStudy, first: str, second: str) -> Iterator[Contrast]:
    """One method minus another by k, with intervals of two standard errors on both sides."""
    ours, other = (at_every_k(study, method) for method in (first, second))
    errors = map(math.hypot, ours["standard_error"], other["standard_error"])
    n = study.size_of("n_queries")
    for k, gap, error in zip(ours.index, ours["precision"] - other["precision"], errors, strict=True):
        names = ("", f"p@{k}", first, second)
        if math.isnan(gap):
            yield Contrast(*names, interval=RETRIEVED, data=SIMULATED, limits=f"{first}:{TOO_FEW}")
        else:
            ends = (gap, gap - 2 * error, gap + 2 * error)
            yield Contrast(*names, *ends, n=n, interval=TEST_IMAGES, data=SIMULATED)


def at_every_k(study: WebStudy, method: str) -> pd.DataFrame:
    """Precision by k, with a row of `K` in any case."""
    table = study.precision("p@k", [method]).set_index("k")
    return table.reindex(sorted({*table.index, K}))
