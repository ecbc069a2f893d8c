"""Rules that decide the papers' claims about human ratings (JMLR 5.2.3, NIPS 4.1)."""

from __future__ import annotations

from lookalike.exhibits.verdicts import FAILS, HOLDS, OPEN, Finding
from lookalike.studies.human.study import HumanStudy


def precision_is_as_printed(study: HumanStudy, paper: str, k: int) -> Finding:
    """Holds where the printed precision at top k is within two standard errors, over queries, of ours."""
    curve, printed = study.curve("p@k by query", paper=paper), study.printed_share(f"human_p@{k}", paper)
    if k not in curve.index:
        return Finding(OPEN, f"raters saw {study.n_retrieved} images, not {k}")
    mean, high = (float(curve[end].loc[[k]].iloc[0]) for end in ("value", "high"))
    ours = f"{100 * mean:.1f} ± {100 * (high - mean):.1f}% of the first {k} (± standard error)"
    verdict = HOLDS if abs(mean - printed) <= 2 * (high - mean) else FAILS
    return Finding(verdict, f"{ours}, printed {100 * printed:g}%")


def reaches_raters(study: HumanStudy, paper: str, raters: str, share: float, margin: float = 0.0) -> Finding:
    """Holds where OASIS is as precise as the mean rater less 0.05 on 8% of the queries, or as the lowest on 25%."""
    oasis, human = (study.curve(*of, paper) for of in (("query precision", "oasis"), ("query range", "raters")))
    level = (human["value"] - margin if raters == "mean" else human["low"]).dropna()
    if level.empty:
        return Finding(OPEN, "no query has two raters")
    met = int((oasis.loc[level.index, "value"] >= level).sum())
    less = f" less {margin:g}" if margin else ""
    told = f"OASIS at least as precise as the {raters} rater{less} on {met} of {len(level)} queries"
    return Finding(HOLDS if met >= share * len(level) else FAILS, told)
