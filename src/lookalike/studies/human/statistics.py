"""The numbers of the human evaluation (JMLR 5.2.3, Figures 3B to 3D; NIPS 4.1, Figure 1a) from a table of ratings.

The last step after `lookalike.studies.human.collect` or `lookalike.studies.human.panel`, whose table every function
here takes. Three rules hold throughout: only "good" counts as relevant ("can't say" and what was left unanswered do
not), precision is over the retrieved candidates, in the order of their ranks, and a query's raters are those who have
done it, as raters may have done different queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    import pandas as pd

FloatArray = npt.NDArray[np.floating[Any]]

SELECTED = (1, 6, 11, 16, 21)
"""Ranks, by mean average precision, of the queries in JMLR Figure 3C."""

OASIS, HUMAN = "oasis", "human"


def precision_curves(ratings: pd.DataFrame) -> pd.DataFrame:
    """Precision at k of every query and rater: the share of good ones among the first k retrieved candidates.

    Parameters
    ----------
    ratings : DataFrame
        From `read_ratings` or `simulated_panel`.

    Returns
    -------
    DataFrame
        ``query``, ``query_image``, ``rater``, ``k`` (int64, 1..), ``precision`` (float64, 0..1).

    Raises
    ------
    LookalikeError
        When there are no ratings of retrieved candidates.
    """
    retrieved = _retrieved(ratings)
    cumulative = retrieved.groupby(["query", "rater"], sort=False)["good"].cumsum()
    retrieved["precision"] = cumulative / retrieved["rank"]
    return retrieved.rename(columns={"rank": "k"})[["query", "query_image", "rater", "k", "precision"]]


def mean_precision_curve(ratings: pd.DataFrame) -> pd.DataFrame:
    """Mean precision at k over all queries and raters (JMLR Figure 3B).

    Parameters
    ----------
    ratings : DataFrame

    Returns
    -------
    DataFrame
        ``k``, ``precision``, ``standard_error`` (of the mean over all pairs of query and rater, as the caption reads),
        ``standard_error_queries`` (of the mean over the queries' own means, which is wider, because raters of one query
        agree: the honest one for other queries), ``n_queries``, ``n_raters``. An error of a single value is NaN.
    """
    curves = precision_curves(ratings)
    pairs = curves.groupby("k")["precision"].agg(precision="mean", standard_error="sem")
    queries = curves.groupby(["k", "query"])["precision"].mean().groupby("k").sem()
    table: pd.DataFrame = pairs.assign(standard_error_queries=queries).reset_index()
    return table.assign(n_queries=curves["query"].nunique(), n_raters=curves["rater"].nunique())


def average_precisions(ratings: pd.DataFrame) -> pd.DataFrame:
    """Average precision of every query and rater: the mean of precision at r over the ranks r of the good ones.

    Parameters
    ----------
    ratings : DataFrame

    Returns
    -------
    DataFrame
        ``query``, ``query_image``, ``rater``, ``average_precision`` (0..1; 0 where the rater called no retrieved
        candidate good), ``n_good`` (int64). The mean is over the good ones among the retrieved, as nothing is known of
        others.
    """
    table = precision_curves(ratings)
    table["good"] = _retrieved(ratings)["good"]
    table["counted"] = table["precision"] * table["good"]
    sums = table.groupby(["query", "query_image", "rater"], as_index=False).agg(
        counted=("counted", "sum"), n_good=("good", "sum")
    )
    sums["average_precision"] = sums["counted"] / sums["n_good"].clip(lower=1)
    return sums[["query", "query_image", "rater", "average_precision", "n_good"]]


def selected_query_curves(ratings: pd.DataFrame, positions: Sequence[int] = SELECTED) -> pd.DataFrame:
    """Precision at k of single queries that span the range of mean average precision (JMLR Figure 3C).

    Parameters
    ----------
    ratings : DataFrame
    positions : sequence of int
        Ranks of the queries by falling mean average precision over raters, 1 the best; queries that tie keep the order
        of the plan, and ranks beyond the number of queries are left out.

    Returns
    -------
    DataFrame
        ``position``, ``query``, ``query_image``, ``map``, ``k``, ``precision`` (mean over raters), ``standard_error``
        (over raters; NaN with one), ``n_raters``.
    """
    import pandas as pd

    by_query = average_precisions(ratings).groupby(["query", "query_image"], as_index=False)
    maps = _falling(by_query.agg(map=("average_precision", "mean")), "map")
    maps.insert(0, "position", range(1, len(maps) + 1))
    curves = (
        precision_curves(ratings)
        .groupby(["query", "k"], as_index=False)["precision"]
        .agg(precision="mean", standard_error="sem", n_raters="count")
    )
    return pd.DataFrame(maps[maps["position"].isin(list(positions))].merge(curves, on="query", validate="1:m"))


def leave_one_rater_out(ratings: pd.DataFrame) -> pd.DataFrame:
    """Precision of OASIS and of each rater, with the raters' fractions as ground truth (JMLR Figure 3D, NIPS Fig. 1a).

    An image counts with the fraction of raters who called it good. The precision of OASIS on a query is the mean of
    these fractions over the retrieved candidates, all raters counted. A rater's is the mean, over the candidates that
    this rater called good (retrieved or random), of the fraction of the other raters who did so too.

    Parameters
    ----------
    ratings : DataFrame

    Returns
    -------
    DataFrame
        ``query``, ``query_image``, ``system`` ("oasis" or "human"), ``rater`` (empty for OASIS), ``precision``
        (float64, 0..1; NaN for a rater who called nothing good there, or who has no others), ``n_images`` (int64, how
        many the mean is over).
    """
    import pandas as pd

    table = _good(ratings)
    retrieved = _retrieved(ratings)
    oasis = retrieved.groupby(["query", "query_image"], as_index=False).agg(
        precision=("good", "mean"), n_images=("image", "nunique")
    )
    oasis = oasis.assign(system=OASIS, rater="")
    all_good = table.groupby(["query", "position"])["good"].transform("sum")
    table["agreed"] = table["good"] * (all_good - table["good"])
    sums = table.groupby(["query", "query_image", "rater"], as_index=False).agg(
        agreed=("agreed", "sum"), n_images=("good", "sum")
    )
    # only who has done a query can agree about it
    others = sums.groupby("query")["rater"].transform("nunique") - 1
    possible = sums["n_images"] * others
    sums["precision"] = sums["agreed"] / possible.where(possible > 0)
    human = sums.assign(system=HUMAN)
    columns = ["query", "query_image", "system", "rater", "precision", "n_images"]
    both = pd.concat([oasis[columns], human[columns]], ignore_index=True)
    order = both["system"].eq(HUMAN).astype(int)
    return both.assign(order=order).sort_values(["query", "order", "rater"], ignore_index=True)[columns]


def coherence_per_query(ratings: pd.DataFrame) -> pd.DataFrame:
    """Precision of OASIS and of the raters' mean per query, sorted (the curves of JMLR Figure 3D and NIPS Figure 1a).

    Parameters
    ----------
    ratings : DataFrame

    Returns
    -------
    DataFrame
        ``order`` (1.., by falling precision of OASIS), ``query``, ``query_image``, ``oasis``, ``human`` (mean over the
        raters who called something good there), ``human_standard_error``, ``human_minimum``, ``human_maximum``,
        ``n_raters`` (how many those are).
    """
    points = leave_one_rater_out(ratings)
    table = points[points["system"] == OASIS][["query", "query_image", "precision"]]
    table = _falling(table.rename(columns={"precision": OASIS}), OASIS)
    human = (
        points[points["system"] == HUMAN]
        .groupby("query")["precision"]
        .agg(human="mean", human_standard_error="sem", human_minimum="min", human_maximum="max", n_raters="count")
    )
    table = table.merge(human.reset_index(), on="query", validate="1:1")
    table.insert(0, "order", range(1, len(table) + 1))
    return table


def map_deviations(ratings: pd.DataFrame) -> pd.DataFrame:
    """How much average precision varies over queries and over raters (JMLR 5.2.3, the numbers in the text).

    Parameters
    ----------
    ratings : DataFrame

    Returns
    -------
    DataFrame
        Two rows: ``quantity`` "over_queries" (each rater's standard deviation over the queries, their mean over raters)
        and "over_raters" (each query's standard deviation over the raters, their mean over queries),
        ``mean_standard_deviation`` (ddof = 1; NaN where there is one query or rater), ``n_queries``, ``n_raters``.
    """
    import pandas as pd

    table = average_precisions(ratings)
    spread = [
        ("over_queries", table.groupby("rater")["average_precision"].std().mean()),
        ("over_raters", table.groupby("query")["average_precision"].std().mean()),
    ]
    return pd.DataFrame(spread, columns=["quantity", "mean_standard_deviation"]).assign(
        n_queries=table["query"].nunique(), n_raters=table["rater"].nunique()
    )


def summary(ratings: pd.DataFrame) -> pd.DataFrame:
    """Everything in single numbers, for a text or a table.

    Parameters
    ----------
    ratings : DataFrame

    Returns
    -------
    DataFrame
        ``quantity`` and ``value`` (float64): n_raters, n_queries, precision_at_1, precision_at_{last k}, precision_peak
        and its precision_peak_k, map, standard_deviation_over_queries, standard_deviation_over_raters, human_precision
        (mean over queries), random_good, answered_share, cant_say_share, simulated (1 where the raters are simulated).
    """
    import pandas as pd

    curve = mean_precision_curve(ratings)
    peak = int(curve["precision"].to_numpy().argmax())
    last = int(curve["k"].iloc[-1])
    deviations = map_deviations(ratings).set_index("quantity")["mean_standard_deviation"]
    values = {
        "n_raters": curve["n_raters"].iloc[0],
        "n_queries": curve["n_queries"].iloc[0],
        "precision_at_1": curve["precision"].iloc[0],
        f"precision_at_{last}": curve["precision"].iloc[-1],
        "precision_peak": curve["precision"].iloc[peak],
        "precision_peak_k": curve["k"].iloc[peak],
        "map": average_precisions(ratings)["average_precision"].mean(),
        "standard_deviation_over_queries": deviations["over_queries"],
        "standard_deviation_over_raters": deviations["over_raters"],
        "human_precision": coherence_per_query(ratings)["human"].mean(),
        "random_good": _good(ratings).query("role == 'random'")["good"].mean(),
        "answered_share": ratings["answered"].mean(),
        "cant_say_share": (ratings["answer"] == "cant_say").mean(),
        "simulated": ratings["simulated"].any(),
    }
    return pd.DataFrame({"quantity": list(values), "value": np.array(list(values.values()), dtype=np.float64)})


def _good(ratings: pd.DataFrame) -> pd.DataFrame:
    """A copy with ``good`` as 0 or 1."""
    return ratings.assign(good=(ratings["answer"] == "good").astype(np.int64))


def _retrieved(ratings: pd.DataFrame) -> pd.DataFrame:
    """The retrieved candidates, by query, rater and rank, with ``good``."""
    table = _good(ratings[ratings["role"] == "retrieved"])
    if table.empty:
        raise LookalikeError("there are no ratings of retrieved candidates: rate the page of a plan that has some")
    return table.sort_values(["query", "rater", "rank"], ignore_index=True)


def _falling(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Sort by falling values; equal ones (to rounding) keep the order of the queries."""
    rounded: FloatArray = -table[column].to_numpy().round(12)
    return table.iloc[np.lexsort((table["query"].to_numpy(), rounded))].reset_index(drop=True)
