"""What the human study contrasts: OASIS beside its raters (JMLR 5.2.3, NIPS 4.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import pandas as pd

from lookalike.core.arrays import Truths
from lookalike.exhibits.contrasts import TOO_FEW, Contrast
from lookalike.studies.human.statistics import OASIS, RANDOM
from lookalike.studies.human.study import NIPS, HumanStudy

PAPERS = ("oasis-jmlr-2010", "oasis-2009-draft", NIPS)
"""Papers with raters, each a setting of its own: JMLR and the draft have the same ones."""
QUERIES, RANDOM_IMAGES = "queries", "random images"
MARGIN = 0.05
"""About as precise as the mean rater is up to so much less."""


def contrasts(study: HumanStudy) -> list[Contrast]:
    """Every contrast of a study."""
    return [row for paper in PAPERS for row in of_raters(study, paper)]


def of_raters(study: HumanStudy, paper: str) -> Iterator[Contrast]:
    """On how many queries OASIS reaches the raters of a paper, beyond those on which random images do."""
    row = partial(Contrast, paper, first="oasis", second=RANDOM_IMAGES, unit="points", data=study.origin)
    for rater, (oasis, random) in queries_that_reach(study, paper).items():
        metric = f"queries that reach the {rater}"
        if len(oasis):
            mean, low, high = (100 * end for end in paired_shares(oasis, random))
            yield row(metric, mean=mean, low=low, high=high, n=len(oasis), interval=QUERIES)
        else:
            yield row(metric, interval="raters", limits=f"oasis:{TOO_FEW}")


def queries_that_reach(study: HumanStudy, paper: str) -> dict[str, tuple[Truths, Truths]]:
    """Tell of each query with raters whether OASIS reaches them, and whether random images do.

    Random images are judged by the same raters of the same queries. They reach raters where these hardly agree, so a
    ranker's precision is near that of people by what it reaches beyond them.
    """
    levels = study.curve("query range", "raters", paper)
    bars = {"mean rater": levels["value"] - MARGIN, "lowest rater": levels["low"]}
    precision = pd.DataFrame({name: study.curve("query precision", name, paper)["value"] for name in (OASIS, RANDOM)})
    known = {rater: precision.assign(bar=bar).dropna() for rater, bar in bars.items()}
    return {
        rater: ((table[OASIS] >= table["bar"]).to_numpy(), (table[RANDOM] >= table["bar"]).to_numpy())
        for rater, table in known.items()
    }


def paired_shares(first: Truths, second: Truths) -> tuple[float, float, float]:
    """Return the share of queries that the first reaches minus that of the second, with its 95% interval.

    The interval adds half a query to each of the four kinds (Agresti and Min, Statistics in Medicine 24, 2005), so that
    it is not empty where all queries are alike.
    """
    n, gained, lost = len(first), int((first & ~second).sum()), int((second & ~first).sum())
    middle = (gained - lost) / (n + 2)
    reach = 1.959964 * math.sqrt((gained + lost + 1) / (n + 2) ** 2 - middle**2 / (n + 2))
    return (gained - lost) / n, middle - reach, middle + reach
