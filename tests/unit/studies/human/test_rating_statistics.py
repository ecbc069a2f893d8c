"""Against numbers worked out by hand: two queries, two raters, three retrieved and one random candidate each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.studies.human.statistics import leave_one_rater_out, rating_metrics, summary
from lookalike.studies.metrics import select

# answers at rank 1, 2, 3 and of the random candidate: g good, n not good, c can't say, . left at the default
ANSWERS = {
    (1, "Ada"): "ngcn",
    (1, "Bob"): "gggg",
    (2, "Ada"): "g...",
    (2, "Bob"): "nnn.",
}
WORDS = {"g": "good", "n": "not_good", "c": "cant_say", ".": "not_good"}
# the random candidate is shown second, and ranks are not in the order shown
POSITIONS = (4, 1, 3, 2)


def numbers(ratings: pd.DataFrame, metric: str, method: str = "oasis") -> pd.DataFrame:
    """Value, low and high of one metric by x."""
    made = rating_metrics(ratings, representation="words", subset="ten", fold=2)
    assert made[["representation", "subset", "fold"]].drop_duplicates().to_numpy().tolist() == [["words", "ten", 2]]
    return select(made, metric=metric, method=method).set_index("x")[["value", "low", "high"]]


@pytest.fixture
def ratings() -> pd.DataFrame:
    rows = [
        (rater, query, 10 * query, position, 10 * query + place, "random" if place == 4 else "retrieved", place % 4,
         WORDS[sign], sign != ".", False)
        for (query, rater), signs in ANSWERS.items()
        for place, (sign, position) in enumerate(zip(signs, POSITIONS, strict=True), start=1)
    ]  # fmt: skip
    columns = ["rater", "query", "query_image", "position", "image", "role", "rank", "answer", "answered", "simulated"]
    return pd.DataFrame(rows, columns=columns).sort_values(["rater", "query", "position"], ignore_index=True)


def test_precision_at_k_of_each_query_and_its_error_over_raters(ratings: pd.DataFrame) -> None:
    # query 1: Ada 0, 1/2, 1/3 (can't say counts as not good) and Bob 1, 1, 1; query 2: Ada 1, 1/2, 1/3 and Bob 0, 0, 0
    for k, means in ((1, [1 / 2, 1 / 2]), (2, [3 / 4, 1 / 4]), (3, [2 / 3, 1 / 6])):
        assert numbers(ratings, f"query p@{k}")["value"].tolist() == pytest.approx(means)
    error = np.std([0, 1], ddof=1) / np.sqrt(2)
    assert numbers(ratings, "query p@1").loc[1, "high"] == pytest.approx(1 / 2 + error)


def test_mean_curve_and_its_errors(ratings: pd.DataFrame) -> None:
    pairs, queries = numbers(ratings, "p@k"), numbers(ratings, "p@k by query")
    assert pairs.index.tolist() == [1, 2, 3]
    assert pairs["value"].tolist() == pytest.approx([1 / 2, 1 / 2, (1 / 3 + 1 + 1 / 3 + 0) / 4])
    assert pairs["value"].tolist() == queries["value"].tolist()
    assert pairs.loc[1, "high"] - 1 / 2 == pytest.approx(np.std([0, 1, 1, 0], ddof=1) / 2)
    assert 1 / 2 - pairs.loc[1, "low"] == pytest.approx(np.std([0, 1, 1, 0], ddof=1) / 2)
    assert queries.loc[1, "high"] == 1 / 2, "both queries have a mean of one half"
    error = np.std([2 / 3, 1 / 6], ddof=1) / np.sqrt(2)
    assert queries.loc[3, "high"] - queries.loc[3, "value"] == pytest.approx(error)


def test_average_precision_of_each_query(ratings: pd.DataFrame) -> None:
    # Ada 1/2 and Bob 1; Ada 1 and Bob, who calls nothing good, 0
    assert numbers(ratings, "query map")["value"].to_dict() == {1: 0.75, 2: 0.5}
    assert numbers(ratings, "query image", "")["value"].to_dict() == {1: 10, 2: 20}


def test_deviations_are_means_of_standard_deviations(ratings: pd.DataFrame) -> None:
    values = summary(ratings)
    spread = (np.std([0.5, 1], ddof=1) + np.std([1, 0], ddof=1)) / 2
    assert values["standard_deviation_over_queries"] == pytest.approx(spread)
    assert values["standard_deviation_over_raters"] == pytest.approx(spread)
    third = ratings[(ratings["rater"] == "Bob") & (ratings["query"] == 1)].assign(query=3)
    more = summary(pd.concat([ratings, third, third.assign(rater="Ada")]))
    spread = np.mean([np.std([0.5, 1, 1], ddof=1), np.std([1, 0, 1], ddof=1)])
    assert more["standard_deviation_over_queries"] == pytest.approx(spread)
    raters = [np.std([0.5, 1], ddof=1), np.std([1, 0], ddof=1), 0]
    assert more["standard_deviation_over_raters"] == pytest.approx(np.mean(raters))


def test_leaving_one_rater_out(ratings: pd.DataFrame) -> None:
    human = leave_one_rater_out(ratings)
    assert human[1, "Ada"] == 1, "Bob agrees with her only good one"
    assert human[1, "Bob"] == pytest.approx(1 / 4), "of his four, Ada calls one good"
    assert human[2, "Ada"] == 0
    assert np.isnan(human[2, "Bob"])


def test_oasis_and_raters_on_each_query(ratings: pd.DataFrame) -> None:
    # an image counts with the share of raters who call it good: 1/2, 1, 1/2 of query 1; 1/2, 0, 0 of query 2
    assert numbers(ratings, "query precision")["value"].tolist() == pytest.approx([2 / 3, 1 / 6])
    human, bounds = numbers(ratings, "query precision", "raters"), numbers(ratings, "query range", "raters")
    assert human["value"].tolist() == pytest.approx([5 / 8, 0])
    assert human.loc[1, "high"] - 5 / 8 == pytest.approx(np.std([1, 1 / 4], ddof=1) / np.sqrt(2))
    assert bounds[["low", "high"]].to_numpy().tolist() == [[0.25, 1], [0, 0]]
    assert numbers(ratings, "query raters")["value"].tolist() == [2, 2]
    assert numbers(ratings, "query raters", "raters")["value"].tolist() == [2, 1], "Bob called nothing good"


def test_raters_may_have_done_different_queries(ratings: pd.DataFrame) -> None:
    carl = ratings[(ratings["rater"] == "Ada") & (ratings["query"] == 1)].assign(rater="Carl")
    mixed = pd.concat([ratings, carl], ignore_index=True)
    assert numbers(mixed, "p@k").loc[1, "value"] == pytest.approx((0 + 1 + 1 + 0 + 0) / 5)
    third = [(1 / 3 + 1 + 1 / 3) / 3, 1 / 6]
    row = numbers(mixed, "p@k by query").loc[3]
    assert row["high"] - row["value"] == pytest.approx(np.std(third, ddof=1) / np.sqrt(2))
    human = leave_one_rater_out(mixed)
    assert human[1, "Ada"] == 1, "Bob and Carl agree"
    assert human[1, "Bob"] == pytest.approx(2 / 8)
    # Carl has not done query 2: nobody but Bob can agree there, who does not
    pd.testing.assert_series_equal(human[2], leave_one_rater_out(ratings)[2])
    swapped = mixed.assign(answer=mixed["answer"].where(mixed["query"] == 1, "good"))
    assert leave_one_rater_out(swapped)[2].tolist() == [1, 1], "of two raters, one other is all others"
    before, values = summary(ratings), summary(mixed)
    over_queries = "standard_deviation_over_queries"
    assert values[over_queries] == before[over_queries], "one query has no deviation"
    spread = [np.std([0.5, 1, 0.5], ddof=1), np.std([1, 0], ddof=1)]
    assert values["standard_deviation_over_raters"] == pytest.approx(np.mean(spread))
    assert numbers(mixed, "query raters", "raters")["value"].to_dict() == {1: 3, 2: 1}


def test_the_summary(ratings: pd.DataFrame) -> None:
    values = summary(ratings)
    assert values["n_raters"] == values["n_queries"] == 2
    assert values["precision_at_3"] == pytest.approx(5 / 12)
    assert (values["precision_peak"], values["precision_peak_k"]) == (0.5, 1)
    assert values["map"] == pytest.approx(0.625)
    assert values["random_good"] == 0.25
    assert values["answered_share"] == pytest.approx(12 / 16)
    assert values["cant_say_share"] == pytest.approx(1 / 16)
    assert values["human_precision"] == pytest.approx(5 / 16)
    assert values["simulated"] == 0
    made = rating_metrics(ratings, representation="words", subset="ten", fold=0)
    singles = select(made, method="").dropna(subset="value").set_index("metric")["value"]
    assert all(singles[name] == value for name, value in values.items())
    assert singles["n_random"] == 1


def test_a_single_rater_has_no_spread_and_no_others(ratings: pd.DataFrame) -> None:
    alone = ratings[ratings["rater"] == "Ada"]
    assert leave_one_rater_out(alone).isna().all()
    assert numbers(alone, "query p@1")["high"].isna().all()
    values = summary(alone)
    assert np.isnan(values["standard_deviation_over_raters"])
    assert values["precision_at_1"] == 0.5


def test_ratings_without_retrieved_candidates_are_refused(ratings: pd.DataFrame) -> None:
    with pytest.raises(LookalikeError, match="no ratings of retrieved candidates"):
        summary(ratings[ratings["role"] == "random"])
