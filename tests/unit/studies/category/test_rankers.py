"""Rankers of their own streams, and what their average is."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.learners import AveragedOASIS
from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.studies.category.folds import Fold
from lookalike.studies.category.rankers import average_rankers, train_ranker

RANKERS = {"steps": 600, "points": 4, "aggressiveness": 0.2, "averages": [2, 3]}


def test_a_ranker_is_oasis_with_a_stream_of_its_own(study):
    fold = Fold(*study, 0, 5, "toy")
    kept = [train_ranker(fold, ranker, RANKERS) for ranker in range(3)]
    assert [sorted(one) for one in kept] == [sorted(kept[0])] * 3
    assert max(kept[0]) == 600
    assert 0 not in kept[0]
    assert not np.array_equal(kept[0][600], kept[1][600])
    table = average_rankers(fold, kept, RANKERS)
    assert set(table["metric"]) == {"ranker_map"}
    assert set(table["method"]) == {"ranker 0", "ranker 1", "ranker 2", "average of 2", "average of 3"}
    assert table.loc[table["x"] == 0, "value"].nunique() == 1
    last = table[table["x"] == 600].set_index("method")["value"]
    alone = average_rankers(fold, kept[1:2], {**RANKERS, "averages": []})
    assert alone.loc[alone["x"] == 600, "value"].item() == last["ranker 1"]
    mean = {step: (kept[0][step].astype(float) + kept[1][step]) / 2 for step in kept[0]}
    of_mean = average_rankers(fold, [mean], {**RANKERS, "averages": []})
    assert last["average of 2"] == pytest.approx(of_mean.loc[of_mean["x"] == 600, "value"].item(), abs=1e-6)


def test_the_average_is_that_of_the_estimator(study):
    fold = Fold(*study, 0, 5, "toy")
    kept = [train_ranker(fold, ranker, RANKERS) for ranker in range(2)]
    table = average_rankers(fold, kept, {**RANKERS, "averages": [2]})
    X_train, X_test = fold.rows("train", "test")
    model = AveragedOASIS(aggressiveness=0.2, n_steps=600, n_rankers=2, random_state=fold.seed("rankers")).fit(
        X_train, fold.images["train"].labels
    )
    expected = rank_leave_one_out(model, X_test, fold.images["test"].labels).mean_average_precision()
    last = table[(table["x"] == 600) & (table["method"] == "average of 2")]["value"].item()
    assert last == pytest.approx(expected, abs=1e-12)
