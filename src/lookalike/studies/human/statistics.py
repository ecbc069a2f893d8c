"""The numbers of the human evaluation (JMLR 5.2.3, Figures 3B to 3D; NIPS 4.1, Figure 1a) from a table of ratings.

Only "good" counts as relevant, precision is over the retrieved candidates, and a query's raters are those who did it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.studies.metrics import metrics_frame

OASIS, RATERS, RANDOM = "oasis", "raters", "random"


def rating_metrics(ratings: pd.DataFrame, *, representation: str, subset: str, fold: int) -> pd.DataFrame:
    """Every number of the study, in the one form (`lookalike.studies.metrics`), of ratings of one run of OASIS."""
    curves, human, by_query = precision_curves(ratings), leave_one_rater_out(ratings), ratings.groupby("query")
    agreed, random = human.groupby("query"), ratings[ratings["role"] == "random"]
    of_pairs = curves.groupby("k")["precision"]
    parts = [
        _rows("p@k", of_pairs.mean(), of_pairs.sem()),
        _rows("query image", by_query["query_image"].first(), method=""),
        _rows("query map", average_precisions(curves).groupby("query").mean()),
        # an image counts with the share of raters who call it good
        _rows("query precision", curves.groupby("query")["good"].mean()),
        _rows("query precision", _good(random).groupby(random["query"]).mean(), method=RANDOM),
        _rows("query precision", agreed.mean(), agreed.sem(), method=RATERS),
        _rows("query range", agreed.mean(), method=RATERS).assign(
            low=agreed.min().to_numpy(), high=agreed.max().to_numpy()
        ),
    ]
    for k, own in curves.groupby("k"):
        of_query = own.groupby("query")["precision"]
        parts.append(_rows(f"query p@{k}", of_query.mean(), of_query.sem()))
    n_random = len(random.drop_duplicates(["query", "position"])) // by_query.ngroups
    singles = summary(ratings) | {"n_random": n_random}
    parts.append(pd.DataFrame({"metric": list(singles), "value": list(singles.values()), "method": ""}))
    table = pd.concat(parts, ignore_index=True)
    return metrics_frame(table.assign(representation=representation, subset=subset, fold=fold))


def _rows(metric: str, values: pd.Series, errors: pd.Series | float = np.nan, method: str = OASIS) -> pd.DataFrame:
    """Rows of one metric, with the index as x and plus and minus the errors as interval."""
    ends = {"value": values, "low": values - errors, "high": values + errors}
    return pd.DataFrame(ends).rename_axis("x").reset_index().assign(metric=metric, method=method)


def precision_curves(ratings: pd.DataFrame) -> pd.DataFrame:
    """Share of good ones among the first k retrieved candidates: columns ``query, rater, k, precision, good``."""
    found = ratings[ratings["role"] == "retrieved"].rename(columns={"rank": "k"})
    if found.empty:
        raise LookalikeError("there are no ratings of retrieved candidates: rate the page of a plan that has some")
    found = found.assign(good=_good(found)).sort_values(["query", "rater", "k"], ignore_index=True)
    n_good = found.groupby(["query", "rater"], sort=False)["good"].cumsum()
    return found.assign(precision=n_good / found["k"])[["query", "rater", "k", "precision", "good"]]


def average_precisions(curves: pd.DataFrame) -> pd.Series:
    """Average precision by query and rater over the good ones among the retrieved; 0 where none is good."""
    hits = curves.assign(precision=curves["precision"] * curves["good"]).groupby(["query", "rater"])
    average: pd.Series = hits["precision"].sum() / hits["good"].sum().clip(lower=1)
    return average


def leave_one_rater_out(ratings: pd.DataFrame) -> pd.Series:
    """Precision of each rater by query and rater, the other raters being the truth (JMLR Figure 3D, NIPS Figure 1a)."""
    table = ratings.assign(good=_good(ratings))
    all_good = table.groupby(["query", "position"])["good"].transform("sum")
    sums = table.assign(agreed=table["good"] * (all_good - table["good"])).groupby(["query", "rater"])
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
