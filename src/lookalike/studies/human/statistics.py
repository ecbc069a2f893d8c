"""The numbers of the human evaluation (JMLR 5.2.3, Figures 3B to 3D; NIPS 4.1, Figure 1a) from a table of ratings.

Only "good" counts as relevant, precision is over the retrieved candidates, and a query's raters are those who did it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.results import results_frame

OASIS, RATERS, RANDOM = "oasis", "raters", "random"
KEYS = ["query", "rater"]


def results_of(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return rows of results, a repeat a rater: numbers of each query, and those of all together."""
    curves, random = precision_curves(ratings), ratings[ratings["role"] == "random"]
    parts: dict[tuple[str, str], pd.Series] = {
        ("p@k", OASIS): curves.set_index([*KEYS, "k"])["precision"].rename_axis([*KEYS, "x"]),
        ("ap", OASIS): average_precisions(curves),
        ("precision", RATERS): leave_one_rater_out(ratings),
        ("precision", RANDOM): random.assign(good=_good(random)).groupby(KEYS)["good"].mean(),
    }
    named = [part.rename("value").reset_index().assign(metric=name[0], method=name[1]) for name, part in parts.items()]
    rows = pd.concat(named, ignore_index=True)
    rows = rows.assign(setting="query=" + rows["query"].astype(str), repeat=rows["rater"], unit="fraction")
    singles = pd.DataFrame(summary(ratings).items(), columns=["metric", "value"])
    return results_frame(pd.concat([rows, singles], ignore_index=True).assign(study="human"))


def precision_curves(ratings: pd.DataFrame) -> pd.DataFrame:
    """Share of good ones among the first k retrieved candidates: columns ``query, rater, k, precision, good``."""
    found = ratings[ratings["role"] == "retrieved"].rename(columns={"rank": "k"})
    if found.empty:
        raise LookalikeError("there are no ratings of retrieved candidates: rate the page of a plan that has some")
    found = found.assign(good=_good(found)).sort_values([*KEYS, "k"], ignore_index=True)
    n_good = found.groupby(KEYS, sort=False)["good"].cumsum()
    return found.assign(precision=n_good / found["k"])[[*KEYS, "k", "precision", "good"]]


def average_precisions(curves: pd.DataFrame) -> pd.Series:
    """Average precision by query and rater over the good ones among the retrieved; 0 where none is good."""
    hits = curves.assign(precision=curves["precision"] * curves["good"]).groupby(KEYS)
    average: pd.Series = hits["precision"].sum() / hits["good"].sum().clip(lower=1)
    return average


def leave_one_rater_out(ratings: pd.DataFrame) -> pd.Series:
    """Precision of each rater by query and rater, the other raters being the truth (JMLR Figure 3D, NIPS Figure 1a)."""
    table = ratings.assign(good=_good(ratings))
    all_good = table.groupby(["query", "position"])["good"].transform("sum")
    sums = table.assign(agreed=table["good"] * (all_good - table["good"])).groupby(KEYS)
    good, agreed = sums["good"].sum(), sums["agreed"].sum()
    # only who has done a query can agree about it
    possible = good * (good.groupby("query").transform("size") - 1)
    precision: pd.Series = agreed / possible.where(possible > 0)
    return precision


def summary(ratings: pd.DataFrame) -> dict[str, float]:
    """Everything in single numbers, for a text or a table."""
    curves = precision_curves(ratings)
    curve, average = curves.groupby("k")["precision"].mean(), average_precisions(curves)
    values = {
        "n_raters": ratings["rater"].nunique(),
        "n_queries": ratings["query"].nunique(),
        "precision_at_1": curve.iloc[0],
        f"precision_at_{curve.index[-1]}": curve.iloc[-1],
        "precision_peak": curve.max(),
        "precision_peak_k": curve.round(12).idxmax(),  # rounding errors must not break a tie
        "map": average.mean(),
        "standard_deviation_over_queries": average.groupby("rater").std().mean(),
        "standard_deviation_over_raters": average.groupby("query").std().mean(),
        "human_precision": leave_one_rater_out(ratings).groupby("query").mean().mean(),
        "random_good": _good(ratings[ratings["role"] == "random"]).mean(),
        "answered_share": ratings["answered"].mean(),
        "cant_say_share": (ratings["answer"] == "cant_say").mean(),
        "simulated": ratings["simulated"].any(),
    }
    return {name: float(value) for name, value in values.items()}


def _good(ratings: pd.DataFrame) -> pd.Series:
    """Tell of each rating whether it calls the image good, as 0 or 1."""
    return (ratings["answer"] == "good").astype(np.int64)
