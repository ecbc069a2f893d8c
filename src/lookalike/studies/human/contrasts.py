"""What the human study contrasts: queries on which OASIS reaches its raters (JMLR 5.2.3, NIPS 4.1)."""

from __future__ import annotations

import math

from lookalike.core.arrays import Truths
from lookalike.exhibits.contrasts import TOO_FEW, Contrast
from lookalike.studies.human.ratings import OASIS, RANDOM
from lookalike.studies.human.study import HumanStudy

MARGIN = 0.05
"""About as precise as the mean rater is up to so much less."""


def contrasts(study: HumanStudy) -> list[Contrast]:
    """Count queries on which OASIS reaches its raters, beyond those on which random images do, judged by the same."""
    # random images reach raters who hardly agree, so that a ranker is near people by what it reaches beyond them
    table, rows = study.by_query(), []
    for rater, bar in (("mean rater", table["raters"] - MARGIN), ("lowest rater", table["lowest"])):
        known = table[[OASIS, RANDOM]].assign(bar=bar).dropna()
        reached = [(known[name] >= known["bar"]).to_numpy() for name in (OASIS, RANDOM)]
        names = ("", f"queries that reach the {rater}", OASIS, "random images")
        if len(known):
            mean, low, high = (100 * end for end in paired_shares(*reached))
            rows.append(Contrast(*names, mean, low, high, n=len(known), interval="queries", data=study.origin))
        else:
            rows.append(Contrast(*names, interval="raters", data=study.origin, limits=f"{OASIS}:{TOO_FEW}"))
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
