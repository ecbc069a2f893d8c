"""The one form of a table of numbers."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from lookalike.core.files import write_table
from lookalike.studies.metrics import COLUMNS, gather, metrics_frame, select


def test_what_is_left_out_is_filled_columns_are_in_order_and_others_are_refused():
    (row,) = metrics_frame([{"method": "oasis", "metric": "map", "value": 1}]).itertuples(index=False)
    assert row._fields == COLUMNS
    assert (row.fold, row.subset, row.value) == (0, "", 1.0)
    assert math.isnan(row.x)
    with pytest.raises(ValueError, match="no column seconds"):
        metrics_frame([{"seconds": 1.0}])


def test_tables_of_runs_are_gathered_in_their_order(tmp_path):
    files = [tmp_path / f"{name}.parquet" for name in "ba"]
    for x, file in enumerate(files):
        write_table(metrics_frame([{"subset": file.stem, "metric": "p@k", "x": x, "value": x}]), file)
    gather(files, tmp_path / "all.parquet")
    table = pd.read_parquet(tmp_path / "all.parquet")
    assert table["subset"].tolist() == ["b", "a"]
    assert select(table, subset=["a"], metric="p@k", x=1.0)["value"].tolist() == [1.0]
