"""Rankers of their own streams, and what their average is."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.learners import AveragedOASIS
from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.studies.category.rankers import RANKER_COLUMNS, average_rankers, train_ranker
from lookalike.studies.folds import fold_seed, images_of, tfidf_rows

RANKERS = {"steps": 600, "points": 4, "aggressiveness": 0.2, "averages": [2, 3]}


def test_a_ranker_is_oasis_with_a_stream_of_its_own(study):
    names = {"seed": 5, "subset": "toy"}
    kept = [train_ranker(*study, 0, ranker, RANKERS, **names) for ranker in range(3)]
    assert [sorted(one) for one in kept] == [sorted(kept[0])] * 3
    assert max(kept[0]) == 600
    assert 0 not in kept[0]
    assert not np.array_equal(kept[0][600], kept[1][600])
    table = average_rankers(*study, 0, kept, RANKERS, **names)
    assert tuple(table.columns) == RANKER_COLUMNS
    assert set(table["series"]) == {"single", "average of 2", "average of 3"}
    start = table.loc[table["step"] == 0, "map"]
    assert start.nunique() == 1
    last = table[table["step"] == 600]
    alone = average_rankers(*study, 0, kept[1:2], {**RANKERS, "averages": []}, **names)
    single = last[(last["series"] == "single") & (last["ranker"] == 1)]["map"].item()
    assert alone.loc[alone["step"] == 600, "map"].item() == single
    mean = {step: (kept[0][step].astype(float) + kept[1][step]) / 2 for step in kept[0]}
    of_mean = average_rankers(*study, 0, [mean], {**RANKERS, "averages": []}, **names)
    expected = of_mean.loc[of_mean["step"] == 600, "map"].item()
    assert last.loc[last["series"] == "average of 2", "map"].item() == pytest.approx(expected, abs=1e-6)


def test_the_average_is_that_of_the_estimator(study):
    counts, split = study
    kept = [train_ranker(*study, 0, ranker, RANKERS, seed=5, subset="toy") for ranker in range(2)]
    table = average_rankers(*study, 0, kept, {**RANKERS, "averages": [2]}, seed=5, subset="toy")
    images = images_of(split, 0, 5, "toy")
    X_train, X_test = tfidf_rows(counts, images["train"].rows, images["test"].rows)
    model = AveragedOASIS(
        aggressiveness=0.2, n_steps=600, n_rankers=2, random_state=fold_seed(5, "toy", 0, "rankers")
    ).fit(X_train, images["train"].labels)
    expected = rank_leave_one_out(model, X_test, images["test"].labels).mean_average_precision()
    last = table[(table["step"] == 600) & (table["series"] == "average of 2")]["map"].item()
    assert last == pytest.approx(expected, abs=1e-12)
