"""The numbers of the human evaluation (JMLR 5.2.3, Figures 3B to 3D; NIPS 4.1, Figure 1a) from a table of ratings.

Only "good" counts as relevant, precision is over the retrieved candidates, and a query's raters are those who did it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.studies.metrics import metrics_frame

OASIS, RATERS, RANDOM = "oasis", "raters", "random"


def rating_metrics(ratings: pd.DataFrame, *, representation: str, subset: str, fold: int) -> pd.DataFrame:
    """Every number of the study, in the one form (`lookalike.studies.metrics`), of ratings of one run of OASIS."""
    curves, human = precision_curves(ratings), leave_one_rater_out(ratings).groupby("query")
    retrieved = _retrieved(ratings)
    by_pair = curves.groupby("k")["precision"].agg(["mean", "sem"])
    # wider than by pair, because raters of one query agree: the honest error for other queries
    by_query = curves.groupby(["k", "query"])["precision"].mean().groupby("k").sem()
    parts = [
        _rows("p@k", by_pair["mean"], by_pair["sem"]),
        _rows("p@k by query", by_pair["mean"], by_query),
        _rows("query image", ratings.groupby("query")["query_image"].first(), method=""),
        _rows("query map", average_precisions(ratings).groupby("query").mean()),
        _rows("query raters", ratings.groupby("query")["rater"].nunique()),
        _rows("query raters", human.count(), method=RATERS),
        # an image counts with the share of raters who call it good
        _rows("query precision", retrieved.groupby("query")["good"].mean()),
        _rows("query precision", _random(ratings).groupby("query")["good"].mean(), method=RANDOM),
        _rows("query precision", human.mean(), human.sem(), method=RATERS),
        _rows("query range", human.mean(), method=RATERS).assign(
            low=human.min().to_numpy(), high=human.max().to_numpy()
        ),
    ]
    for k, rows in curves.groupby("k"):
        means = rows.groupby("query")["precision"].agg(["mean", "sem"])
        parts.append(_rows(f"query p@{k}", means["mean"], means["sem"]))
    random = ratings[ratings["role"] == "random"].drop_duplicates(["query", "position"])
    singles = summary(ratings) | {"n_random": len(random) // ratings["query"].nunique()}
    parts.append(pd.DataFrame([{"metric": name, "value": value} for name, value in singles.items()]))
    table = pd.concat(parts, ignore_index=True).fillna({"method": ""})
    return metrics_frame(table.assign(representation=representation, subset=subset, fold=fold))


def _rows(metric: str, values: pd.Series, errors: pd.Series | None = None, method: str = OASIS) -> pd.DataFrame:
    """Rows of one metric, with the index as x and plus and minus the errors as interval."""
    rows = values.rename_axis("x").rename("value").reset_index().assign(metric=metric, method=method)
    error = np.nan if errors is None else errors.to_numpy()
    return rows.assign(low=rows["value"] - error, high=rows["value"] + error)


def precision_curves(ratings: pd.DataFrame) -> pd.DataFrame:
    """Share of good ones among the first k retrieved candidates: columns ``query, rater, k, precision, good``."""
    retrieved = _retrieved(ratings).rename(columns={"rank": "k"})
    found = retrieved.groupby(["query", "rater"], sort=False)["good"].cumsum()
    return retrieved.assign(precision=found / retrieved["k"])[["query", "rater", "k", "precision", "good"]]


def average_precisions(ratings: pd.DataFrame) -> pd.Series:
    """Average precision by query and rater over the good ones among the retrieved; 0 where none is good."""
    curves = precision_curves(ratings)
    curves["precision"] *= curves["good"]
    sums = curves.groupby(["query", "rater"])[["precision", "good"]].sum()
    average: pd.Series = sums["precision"] / sums["good"].clip(lower=1)
    return average


def leave_one_rater_out(ratings: pd.DataFrame) -> pd.Series:
    """Precision of each rater by query and rater, the other raters being the truth (JMLR Figure 3D, NIPS Figure 1a)."""
    table = _good(ratings)
    all_good = table.groupby(["query", "position"])["good"].transform("sum")
    table["agreed"] = table["good"] * (all_good - table["good"])
    sums = table.groupby(["query", "rater"])[["agreed", "good"]].sum()
    # only who has done a query can agree about it
    others = sums.groupby("query")["good"].transform("size") - 1
    possible = sums["good"] * others
    precision: pd.Series = sums["agreed"] / possible.where(possible > 0)
    return precision


def summary(ratings: pd.DataFrame) -> dict[str, float]:
    """Everything in single numbers, for a text or a table."""
    curve = precision_curves(ratings).groupby("k")["precision"].mean()
    average = average_precisions(ratings)
    values: dict[str, Any] = {
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
        "random_good": _random(ratings)["good"].mean(),
        "answered_share": ratings["answered"].mean(),
        "cant_say_share": (ratings["answer"] == "cant_say").mean(),
        "simulated": ratings["simulated"].any(),
    }
    return {name: float(value) for name, value in values.items()}


def _good(ratings: pd.DataFrame) -> pd.DataFrame:
    return ratings.assign(good=(ratings["answer"] == "good").astype(np.int64))


def _random(ratings: pd.DataFrame) -> pd.DataFrame:
    """The random candidates, with ``good``."""
    return _good(ratings[ratings["role"] == "random"])


def _retrieved(ratings: pd.DataFrame) -> pd.DataFrame:
    """The retrieved candidates, by query, rater and rank, with ``good``."""
    table = _good(ratings[ratings["role"] == "retrieved"])
    if table.empty:
        raise LookalikeError("there are no ratings of retrieved candidates: rate the page of a plan that has some")
    return table.sort_values(["query", "rater", "rank"], ignore_index=True)
