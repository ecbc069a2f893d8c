"""Against numbers worked out by hand: two queries, two raters, three retrieved and one random candidate each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_human import IMAGES, LABEL_OF, RATING_COLUMNS, draw

from lookalike.core.errors import LookalikeError
from lookalike.studies.human.collect import COLUMNS
from lookalike.studies.human.panel import same_class, simulated_panel
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


@pytest.fixture
def ratings():
    rows = [
        (rater, query, 10 * query, position, 10 * query + place, "random" if place == 4 else "retrieved", place % 4,
         WORDS[sign], sign != ".", False)
        for (query, rater), signs in ANSWERS.items()
        for place, (sign, position) in enumerate(zip(signs, POSITIONS, strict=True), start=1)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=RATING_COLUMNS).sort_values(["rater", "query", "position"], ignore_index=True)


def numbers(ratings, metric, method="oasis"):
    """Value, low and high of one metric by x."""
    made = rating_metrics(ratings, representation="words", subset="ten", fold=2)
    assert made[["representation", "subset", "fold"]].drop_duplicates().to_numpy().tolist() == [["words", "ten", 2]]
    return select(made, metric=metric, method=method).set_index("x")[["value", "low", "high"]]


def deviation(*values):
    return np.std(values, ddof=1)


def test_numbers_of_each_query(ratings):
    # query 1: Ada 0, 1/2, 1/3 (can't say counts as not good) and Bob 1, 1, 1; query 2: Ada 1, 1/2, 1/3 and Bob 0, 0, 0
    for k, means in ((1, [1 / 2, 1 / 2]), (2, [3 / 4, 1 / 4]), (3, [2 / 3, 1 / 6])):
        assert numbers(ratings, f"query p@{k}")["value"].tolist() == pytest.approx(means)
    assert numbers(ratings, "query p@1").loc[1, "high"] == pytest.approx(1 / 2 + deviation(0, 1) / np.sqrt(2))
    # Ada 1/2 and Bob 1; Ada 1 and Bob, who calls nothing good, 0
    assert numbers(ratings, "query map")["value"].to_dict() == {1: 0.75, 2: 0.5}
    assert numbers(ratings, "query image", "")["value"].to_dict() == {1: 10, 2: 20}
    # an image counts with the share of raters who call it good: 1/2, 1, 1/2 of query 1; 1/2, 0, 0 of query 2
    assert numbers(ratings, "query precision")["value"].tolist() == pytest.approx([2 / 3, 1 / 6])
    human, bounds = numbers(ratings, "query precision", "raters"), numbers(ratings, "query range", "raters")
    assert human["value"].tolist() == pytest.approx([5 / 8, 0])
    assert human.loc[1, "high"] - 5 / 8 == pytest.approx(deviation(1, 1 / 4) / np.sqrt(2))
    assert bounds[["low", "high"]].to_numpy().tolist() == [[0.25, 1], [0, 0]]
    assert numbers(ratings, "query raters")["value"].tolist() == [2, 2]
    assert numbers(ratings, "query raters", "raters")["value"].tolist() == [2, 1], "Bob called nothing good"


def test_mean_curve_and_its_errors(ratings):
    pairs, queries = numbers(ratings, "p@k"), numbers(ratings, "p@k by query")
    assert pairs.index.tolist() == [1, 2, 3]
    assert pairs["value"].tolist() == pytest.approx([1 / 2, 1 / 2, (1 / 3 + 1 + 1 / 3 + 0) / 4])
    assert pairs["value"].tolist() == queries["value"].tolist()
    error = deviation(0, 1, 1, 0) / 2
    assert pairs.loc[1, ["low", "high"]].tolist() == pytest.approx([1 / 2 - error, 1 / 2 + error])
    assert queries.loc[1, "high"] == 1 / 2, "both queries have a mean of one half"
    error = deviation(2 / 3, 1 / 6) / np.sqrt(2)
    assert queries.loc[3, "high"] - queries.loc[3, "value"] == pytest.approx(error)


def test_leaving_one_rater_out(ratings):
    human = leave_one_rater_out(ratings)
    # Bob agrees with Ada's only good one, and of his four, Ada calls one good
    assert human[1].to_dict() == {"Ada": 1, "Bob": 1 / 4}
    assert human[2, "Ada"] == 0
    assert np.isnan(human[2, "Bob"])
    assert leave_one_rater_out(ratings[ratings["rater"] == "Ada"]).isna().all(), "there are no others"


def test_raters_may_have_done_different_queries(ratings):
    carl = ratings[(ratings["rater"] == "Ada") & (ratings["query"] == 1)].assign(rater="Carl")
    mixed = pd.concat([ratings, carl], ignore_index=True)
    assert numbers(mixed, "p@k").loc[1, "value"] == pytest.approx((0 + 1 + 1 + 0 + 0) / 5)
    row = numbers(mixed, "p@k by query").loc[3]
    assert row["high"] - row["value"] == pytest.approx(deviation((1 / 3 + 1 + 1 / 3) / 3, 1 / 6) / np.sqrt(2))
    human = leave_one_rater_out(mixed)
    assert human[1][["Ada", "Bob"]].tolist() == [1, 2 / 8], "Bob and Carl agree with Ada"
    # Carl has not done query 2: nobody but Bob can agree there, who does not
    pd.testing.assert_series_equal(human[2], leave_one_rater_out(ratings)[2])
    before, values = summary(ratings), summary(mixed)
    over_queries, over_raters = ("standard_deviation_over_queries", "standard_deviation_over_raters")
    assert before[over_queries] == before[over_raters] == pytest.approx((deviation(0.5, 1) + deviation(1, 0)) / 2)
    assert values[over_queries] == before[over_queries], "one query has no deviation"
    assert values[over_raters] == pytest.approx(np.mean([deviation(0.5, 1, 0.5), deviation(1, 0)]))
    assert numbers(mixed, "query raters", "raters")["value"].to_dict() == {1: 3, 2: 1}


def test_the_summary(ratings):
    values = summary(ratings)
    expected = {"n_raters": 2, "n_queries": 2, "precision_at_1": 1 / 2, "precision_at_3": 5 / 12,
                "precision_peak": 1 / 2, "precision_peak_k": 1, "map": 0.625, "random_good": 1 / 4,
                "answered_share": 12 / 16, "cant_say_share": 1 / 16, "human_precision": 5 / 16,
                "simulated": 0}  # fmt: skip
    assert {name: values[name] for name in expected} == pytest.approx(expected)
    made = rating_metrics(ratings, representation="words", subset="ten", fold=0)
    singles = select(made, method="").dropna(subset="value").set_index("metric")["value"]
    assert all(singles[name] == value for name, value in values.items())
    assert singles["n_random"] == 1
    alone = summary(ratings[ratings["rater"] == "Ada"])
    assert np.isnan(alone["standard_deviation_over_raters"])
    with pytest.raises(LookalikeError, match="no ratings of retrieved candidates"):
        summary(ratings[ratings["role"] == "random"])


def test_a_simulated_panel_agrees_with_classes_but_not_always():
    plan = draw(n_queries=6)
    same = same_class(plan, pd.DataFrame({"image_id": IMAGES, "label": [LABEL_OF[image] for image in IMAGES]}))
    assert same.tolist() == [LABEL_OF[row.image] == LABEL_OF[row.query_image] for row in plan.itertuples()]
    panel = simulated_panel(plan, same, seed=0)
    assert tuple(panel.columns) == COLUMNS
    assert panel["simulated"].all()
    assert panel.groupby("rater").size().tolist() == [len(plan)] * 20
    of_class = panel.merge(plan.assign(same=same), on=["query", "position"])["same"].to_numpy()
    good = (panel["answer"] == "good").to_numpy()
    assert 0.6 < good[of_class].mean() < 1
    assert 0 < good[~of_class].mean() < 0.25
    # raters differ in strictness, and what was not answered is the default
    assert panel.assign(good=good).groupby("rater")["good"].mean().std() > 0.02
    assert 0 < (panel["answer"] == "cant_say").mean() < 0.1
    assert set(panel.loc[~panel["answered"], "answer"]) == {"not_good"}
    pd.testing.assert_frame_equal(panel, simulated_panel(plan, same, seed=0))
    assert not panel.equals(simulated_panel(plan, same, seed=2))
