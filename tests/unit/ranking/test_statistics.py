"""Means, standard deviations and standard errors over folds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lookalike.ranking.statistics import summarise


def table(values, **columns):
    return pd.DataFrame({"fold": range(len(values)), "metric": "map", "value": values, **columns})


def test_numbers_over_folds():
    values = [0.30, 0.34, 0.31, 0.35, 0.33]
    summary = summarise(table(values, method="oasis", subset="var10"))
    row = summary.iloc[0]
    assert row["mean"] == pytest.approx(np.mean(values))
    assert row["std"] == pytest.approx(np.std(values, ddof=1))
    assert row["sem"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(5))
    assert row["n_folds"] == 5
    assert list(summary.columns) == ["subset", "method", "metric", "mean", "std", "sem", "n_folds"]


def test_one_fold_has_no_spread():
    row = summarise(table([0.3])).iloc[0]
    assert row["mean"] == 0.3
    assert np.isnan(row["std"])
    assert np.isnan(row["sem"])


def test_groups_keep_their_order_of_appearance():
    both = pd.concat([table([0.3, 0.4], method="oasis"), table([0.1, 0.2], method="euclidean")])
    assert summarise(both)["method"].tolist() == ["oasis", "euclidean"]
    assert summarise(both)["mean"].tolist() == pytest.approx([0.35, 0.15])


def test_other_columns_can_be_named():
    curve = pd.DataFrame({"step": [0, 0, 10], "map": [0.2, 0.4, 0.5], "fold": [0, 1, 0]})
    summary = summarise(curve, by=("step",), value="map")
    assert summary["mean"].tolist() == pytest.approx([0.3, 0.5])
    assert summary["n_folds"].tolist() == [2, 1]
