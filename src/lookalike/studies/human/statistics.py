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
    parts = measured(ratings)
    named = [part.rename("value").reset_index().assign(metric=name[0], method=name[1]) for name, part in parts.items()]
    rows = pd.concat(named, ignore_index=True)
    rows = rows.assign(setting="query=" + rows["query"].astype(str), repeat=rows["rater"], unit="fraction")
    singles = pd.DataFrame(summary(ratings).items(), columns=["metric", "value"])
    return results_frame(pd.concat([rows, singles], ignore_index=True).assign(study="human"))


def measured(ratings: pd.DataFrame) -> dict[tuple[str, str], pd.Series]:
    """Return numbers by query and rater, of each metric and method.

    Those of OASIS are the share of good ones among its first x candidates, and average precision over the good ones, 0
    where none is good. Those of raters are their precision, the other raters being the truth (JMLR Figure 3D, NIPS
    Figure 1a).
    """
    table = ratings.assign(good=_good(ratings), x=ratings["rank"])
    is_found = table["role"] == "retrieved"
    if not is_found.any():
        raise LookalikeError("there are no ratings of retrieved candidates: rate the page of a plan that has some")
    found = table[is_found].sort_values([*KEYS, "x"]).set_index([*KEYS, "x"])["good"]
    precision = found.groupby(KEYS, sort=False).cumsum() / found.index.get_level_values("x")
    n_good = found.groupby(KEYS).sum()
    all_good = table.groupby(["query", "position"])["good"].transform("sum")
    sums = table.assign(agreed=table["good"] * (all_good - table["good"])).groupby(KEYS)
    good, agreed = sums["good"].sum(), sums["agreed"].sum()
    # only who has done a query can agree about it
    possible = good * (good.groupby("query").transform("size") - 1)
    return {
        ("p@k", OASIS): precision,
        ("ap", OASIS): (precision * found).groupby(KEYS).sum() / n_good.clip(lower=1),
        ("precision", RATERS): agreed / possible.where(possible > 0),
        ("precision", RANDOM): table[table["role"] == "random"].groupby(KEYS)["good"].mean(),
    }


def summary(ratings: pd.DataFrame) -> dict[str, float]:
    """Everything in single numbers, for a text or a table."""
    parts = measured(ratings)
    curve, average = parts["p@k", OASIS].groupby("x").mean(), parts["ap", OASIS]
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
        "human_precision": parts["precision", RATERS].groupby("query").mean().mean(),
        "random_good": _good(ratings[ratings["role"] == "random"]).mean(),
        "answered_share": ratings["answered"].mean(),
        "cant_say_share": (ratings["answer"] == "cant_say").mean(),
        "simulated": ratings["simulated"].any(),
    }
    return {name: float(value) for name, value in values.items()}


def _good(ratings: pd.DataFrame) -> pd.Series:
    """Tell of each rating whether it calls the image good, as 0 or 1."""
    return (ratings["answer"] == "good").astype(np.int64)
