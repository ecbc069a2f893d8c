"""What the human study contrasts: queries on which OASIS reaches its raters (JMLR 5.2.3, NIPS 4.1)."""

from __future__ import annotations

import math

import pandas as pd

from lookalike.core.arrays import Truths
from lookalike.exhibits.contrasts import TOO_FEW, Contrast
from lookalike.studies.human.statistics import OASIS, RANDOM, RATERS
from lookalike.studies.human.study import PAPERS, HumanStudy

MARGIN = 0.05
"""About as precise as the mean rater is up to so much less."""


def contrasts(study: HumanStudy) -> list[Contrast]:
    """On how many queries OASIS reaches the raters of each paper, beyond those on which random images do.

    Random images are judged by the same raters of the same queries. They reach raters where these hardly agree, so a
    ranker's precision is near that of people by what it reaches beyond them.
    """
    rows = []
    for paper in PAPERS:
        levels = study.curve("query range", RATERS, paper)
        precision = {name: study.curve("query precision", name, paper)["precision"] for name in (OASIS, RANDOM)}
        for rater, bar in (("mean rater", levels["precision"] - MARGIN), ("lowest rater", levels["low"])):
            known = pd.DataFrame({**precision, "bar": bar}).dropna()
            reached = [(known[name] >= known["bar"]).to_numpy() for name in (OASIS, RANDOM)]
            names = (paper, f"queries that reach the {rater}", OASIS, "random images")
            if len(known):
                mean, low, high = (100 * end for end in paired_shares(*reached))
                found = Contrast(*names, mean, low, high, n=len(known), interval="queries", data=study.origin)
            else:
                found = Contrast(*names, interval="raters", data=study.origin, limits=f"{OASIS}:{TOO_FEW}")
            rows.append(found)
    return rows


def paired_shares(first: Truths, second: Truths) -> tuple[float, float, float]:
    """Return the share of queries that the first reaches minus that of the second, with its 95% interval.

    The interval adds half a query to each of the four kinds (Agresti and Min, Statistics in Medicine 24, 2005), so that
    it is not empty where all queries are alike.
    """
    n, gained, lost = len(first), int((first & ~second).sum()), int((second & ~first).sum())
    middle = (gained - lost) / (n + 2)
    reach = 1.959964 * math.sqrt((gained + lost + 1) / (n + 2) ** 2 - middle**2 / (n + 2))
    return (gained - lost) / n, middle - reach, middle + reach
