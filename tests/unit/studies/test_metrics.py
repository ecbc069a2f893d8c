"""The one form of a table of numbers."""

import numpy as np
import pandas as pd

from lookalike.core.files import write_table
from lookalike.studies.metrics import COLUMNS, gather, metrics_frame, select


def test_tables_of_runs_are_filled_and_gathered_in_their_order(tmp_path):
    files = [tmp_path / f"{name}.parquet" for name in "ba"]
    for x, file in enumerate(files):
        write_table(metrics_frame([{"subset": file.stem, "metric": "p@k", "x": x, "value": x}]), file)
    gather(files, tmp_path / "all.parquet")
    table = pd.read_parquet(tmp_path / "all.parquet")
    assert tuple(table.columns) == COLUMNS
    assert table["subset"].tolist() == ["b", "a"]
    (row,) = select(table, subset=["a"], metric="p@k", x=1.0).itertuples(index=False)
    assert (row.fold, row.method, row.value) == (0, "", 1.0)
    assert np.isnan([row.low, row.high]).all()
