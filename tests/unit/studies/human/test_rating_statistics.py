"""Against numbers worked out by hand: two queries, two raters, three retrieved and one random candidate each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.studies.human.statistics import (
    average_precisions,
    coherence_per_query,
    leave_one_rater_out,
    map_deviations,
    mean_precision_curve,
    precision_curves,
    selected_query_curves,
    summary,
)

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


def test_precision_at_k(ratings: pd.DataFrame) -> None:
    table = precision_curves(ratings).set_index(["query", "rater", "k"])["precision"]
    assert table[1, "Ada"].tolist() == pytest.approx([0, 1 / 2, 1 / 3])  # can't say counts as not good
    assert table[1, "Bob"].tolist() == [1, 1, 1]
    assert table[2, "Ada"].tolist() == pytest.approx([1, 1 / 2, 1 / 3])
    assert table[2, "Bob"].tolist() == [0, 0, 0]


def test_mean_curve_and_its_errors(ratings: pd.DataFrame) -> None:
    table = mean_precision_curve(ratings).set_index("k")
    assert table["precision"].tolist() == pytest.approx([1 / 2, 1 / 2, (1 / 3 + 1 + 1 / 3 + 0) / 4])
    assert table.loc[1, "standard_error"] == pytest.approx(np.std([0, 1, 1, 0], ddof=1) / 2)
    assert table.loc[1, "standard_error_queries"] == 0  # both queries have a mean of one half
    third = [2 / 3, 1 / 6]
    assert table.loc[3, "standard_error_queries"] == pytest.approx(np.std(third, ddof=1) / np.sqrt(2))
    assert table["n_queries"].unique().tolist() == table["n_raters"].unique().tolist() == [2]


def test_average_precision(ratings: pd.DataFrame) -> None:
    table = average_precisions(ratings).set_index(["query", "rater"])
    assert table["average_precision"].to_dict() == {(1, "Ada"): 0.5, (1, "Bob"): 1, (2, "Ada"): 1, (2, "Bob"): 0}
    assert table["n_good"].to_dict() == {(1, "Ada"): 1, (1, "Bob"): 3, (2, "Ada"): 1, (2, "Bob"): 0}


def test_deviations_are_means_of_standard_deviations(ratings: pd.DataFrame) -> None:
    table = map_deviations(ratings).set_index("quantity")["mean_standard_deviation"]
    assert table["over_queries"] == pytest.approx((np.std([0.5, 1], ddof=1) + np.std([1, 0], ddof=1)) / 2)
    assert table["over_raters"] == pytest.approx((np.std([0.5, 1], ddof=1) + np.std([1, 0], ddof=1)) / 2)
    third = ratings[(ratings["rater"] == "Bob") & (ratings["query"] == 1)].assign(query=3)
    more = map_deviations(pd.concat([ratings, third, third.assign(rater="Ada")])).set_index("quantity")
    spread = [np.std([0.5, 1, 1], ddof=1), np.std([1, 0, 1], ddof=1)]
    assert more["mean_standard_deviation"]["over_queries"] == pytest.approx(np.mean(spread))
    raters = [np.std([0.5, 1], ddof=1), np.std([1, 0], ddof=1), 0]
    assert more["mean_standard_deviation"]["over_raters"] == pytest.approx(np.mean(raters))


def test_selected_queries_are_sorted_by_falling_map(ratings: pd.DataFrame) -> None:
    table = selected_query_curves(ratings)
    assert table["position"].unique().tolist() == [1]  # there are two queries: ranks 6 to 21 do not exist
    assert table["query"].unique().tolist() == [1]
    assert table["map"].iloc[0] == 0.75
    assert table["precision"].tolist() == pytest.approx([1 / 2, 3 / 4, 2 / 3])
    assert table["standard_error"].iloc[0] == pytest.approx(np.std([0, 1], ddof=1) / np.sqrt(2))
    assert selected_query_curves(ratings, (2,))["query"].unique().tolist() == [2]


def test_leaving_one_rater_out(ratings: pd.DataFrame) -> None:
    table = leave_one_rater_out(ratings).set_index(["query", "system", "rater"])
    oasis = table.xs("oasis", level="system")["precision"]
    # query 1: fractions 1/2, 1, 1/2; query 2: 1/2, 0, 0
    assert oasis.tolist() == pytest.approx([2 / 3, 1 / 6])
    human = table.xs("human", level="system")
    assert human.loc[(1, "Ada"), "precision"] == 1  # Bob agrees with her only good one
    assert human.loc[(1, "Bob"), "precision"] == pytest.approx(1 / 4)  # of his four, Ada calls one good
    assert human.loc[(2, "Ada"), "precision"] == 0
    assert np.isnan(human.loc[(2, "Bob"), "precision"])
    assert human["n_images"].tolist() == [1, 4, 1, 0]


def test_coherence_is_sorted_by_the_precision_of_oasis(ratings: pd.DataFrame) -> None:
    swapped = ratings.assign(query=3 - ratings["query"])
    table = coherence_per_query(swapped)
    assert table["order"].tolist() == [1, 2]
    assert table["query"].tolist() == [2, 1]
    assert table["oasis"].tolist() == pytest.approx([2 / 3, 1 / 6])
    assert table["human"].tolist() == pytest.approx([5 / 8, 0])
    assert table["human_minimum"].tolist() == [0.25, 0]
    assert table["human_maximum"].tolist() == [1, 0]
    assert table["n_raters"].tolist() == [2, 1]


def test_raters_may_have_done_different_queries(ratings: pd.DataFrame) -> None:
    carl = ratings[(ratings["rater"] == "Ada") & (ratings["query"] == 1)].assign(rater="Carl")
    mixed = pd.concat([ratings, carl], ignore_index=True)
    curve = mean_precision_curve(mixed).set_index("k")
    assert curve.loc[1, "precision"] == pytest.approx((0 + 1 + 1 + 0 + 0) / 5)
    third = [(1 / 3 + 1 + 1 / 3) / 3, 1 / 6]
    assert curve.loc[3, "standard_error_queries"] == pytest.approx(np.std(third, ddof=1) / np.sqrt(2))
    human = leave_one_rater_out(mixed).query("system == 'human'").set_index(["query", "rater"])["precision"]
    assert human[1, "Ada"] == 1  # Bob and Carl agree
    assert human[1, "Bob"] == pytest.approx(2 / 8)
    # Carl has not done query 2: nobody but Bob can agree there, who does not
    before = leave_one_rater_out(ratings).query("system == 'human'").set_index(["query", "rater"])["precision"]
    pd.testing.assert_series_equal(human[2], before[2])
    swapped = mixed.assign(answer=mixed["answer"].where(mixed["query"] == 1, "good"))
    human = leave_one_rater_out(swapped).query("system == 'human'").set_index(["query", "rater"])["precision"]
    assert human[2].tolist() == [1, 1], "of two raters, one other is all others"
    spread = map_deviations(mixed).set_index("quantity")["mean_standard_deviation"]
    assert spread["over_queries"] == map_deviations(ratings)["mean_standard_deviation"][0], "one query has no deviation"
    assert spread["over_raters"] == pytest.approx(np.mean([np.std([0.5, 1, 0.5], ddof=1), np.std([1, 0], ddof=1)]))
    assert coherence_per_query(mixed).set_index("query")["n_raters"].to_dict() == {1: 3, 2: 1}


def test_the_summary(ratings: pd.DataFrame) -> None:
    values = summary(ratings).set_index("quantity")["value"]
    assert values["n_raters"] == values["n_queries"] == 2
    assert values["precision_at_3"] == pytest.approx(5 / 12)
    assert (values["precision_peak"], values["precision_peak_k"]) == (0.5, 1)
    assert values["map"] == pytest.approx(0.625)
    assert values["random_good"] == 0.25
    assert values["answered_share"] == pytest.approx(12 / 16)
    assert values["cant_say_share"] == pytest.approx(1 / 16)
    assert values["human_precision"] == pytest.approx(5 / 16)
    assert values["simulated"] == 0


def test_a_single_rater_has_no_spread_and_no_others(ratings: pd.DataFrame) -> None:
    alone = ratings[ratings["rater"] == "Ada"]
    human = leave_one_rater_out(alone).query("system == 'human'")
    assert human["precision"].isna().all()
    assert selected_query_curves(alone)["standard_error"].isna().all()
    assert np.isnan(map_deviations(alone).set_index("quantity")["mean_standard_deviation"]["over_raters"])
    values = summary(alone).set_index("quantity")["value"]
    assert values["precision_at_1"] == 0.5


def test_ratings_without_retrieved_candidates_are_refused(ratings: pd.DataFrame) -> None:
    with pytest.raises(LookalikeError, match="no ratings of retrieved candidates"):
        precision_curves(ratings[ratings["role"] == "random"])
