"""What the human study contrasts: precision beside print, and OASIS beside its raters (JMLR 5.2.3, NIPS 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from lookalike.exhibits.contrasts import REAL, SIMULATED, SYNTHETIC, TOO_FEW, Contrast
from lookalike.studies.human.study import NIPS, HumanStudy

PAPERS = ("oasis-jmlr-2010", "oasis-2009-draft", NIPS)
"""Papers with raters, each a setting of its own: JMLR and the draft have the same ones."""
K = 10
"""First images whose precision the papers print."""
MARGIN = 0.05
"""About as precise as the mean rater is up to so much less."""


def contrasts(study: HumanStudy) -> list[Contrast]:
    """Every contrast of a study."""
    return [row for paper in PAPERS for row in of_raters(study, paper)]


def time_contrasts(study: HumanStudy) -> list[Contrast]:
    """Return none: no claim about raters is about times."""
    return []


def of_raters(study: HumanStudy, paper: str) -> Iterator[Contrast]:
    """Precision of the first images by the raters of a paper, and on how many queries OASIS reaches them."""
    data = SIMULATED if study.simulated else SYNTHETIC if study.synthetic else REAL
    row = partial(Contrast, paper, first="oasis", second="", unit="percent", data=data)
    without = partial(row, limits=f"oasis:{TOO_FEW}")
    metric, printed = f"precision of the first {K} by raters", 100 * study.printed_share(f"human_p@{K}", paper)
    curve = study.curve("p@k by query", paper=paper)
    if K in curve.index:
        mean, high = (100 * float(curve[end].loc[K]) for end in ("value", "high"))
        low, high = mean - 2 * (high - mean), mean + 2 * (high - mean)
        n_queries = int(study.number("n_queries", paper))
        yield row(metric, mean=mean, low=low, high=high, n=n_queries, interval="queries", printed=printed)
    else:
        yield without(metric, interval="rated images", printed=printed)
    oasis, human = (study.curve(*names, paper) for names in (("query precision", "oasis"), ("query range", "raters")))
    for rater, levels in (("mean rater", human["value"] - MARGIN), ("lowest rater", human["low"])):
        metric, known = f"queries on which OASIS reaches the {rater}", levels.dropna()
        if len(known):
            share = 100 * float((oasis.loc[known.index, "value"] >= known).mean())
            yield row(metric, mean=share, low=share, high=share, n=len(known))
        else:
            yield without(metric, interval="raters")
