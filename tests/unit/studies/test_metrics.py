"""The one form of a table of numbers."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from lookalike.studies.metrics import COLUMNS, gather, metrics_frame, select


def test_what_is_left_out_is_filled_and_columns_are_in_order():
    table = metrics_frame([{"method": "oasis", "metric": "map", "value": 1}])
    assert tuple(table.columns) == COLUMNS
    (row,) = table.itertuples(index=False)
    assert (row.fold, row.subset, row.value) == (0, "", 1.0)
    assert math.isnan(row.x)


def test_a_column_of_another_form_is_refused():
    with pytest.raises(ValueError, match="no column seconds"):
        metrics_frame([{"seconds": 1.0}])


def test_tables_of_runs_are_gathered_in_their_order(tmp_path):
    for name, value in (("a", 1.0), ("b", 2.0)):
        metrics_frame([{"subset": name, "metric": "p@k", "x": value, "value": value}]).to_parquet(tmp_path / name)
        (tmp_path / name).rename(tmp_path / f"{name}.parquet")
    gather([tmp_path / "b.parquet", tmp_path / "a.parquet"], tmp_path / "all.parquet")
    table = pd.read_parquet(tmp_path / "all.parquet")
    assert table["subset"].tolist() == ["b", "a"]
    assert select(table, subset=["a"], metric="p@k", x=1.0)["value"].tolist() == [1.0]
